"""Data to try the package on: one published case, and simulators of annotations and of classifiers.

``published_case`` is the case that the literature prints with its figures, so that a reader can check the package
against paper. ``simulate_differentials`` makes differential diagnoses whose marginals (annotators per case, blocks per
annotation, block sizes, distinct classes per case) are modelled on a real set, together with the true plausibilities
that no real set comes with; ``simulate_classifiers`` makes classifiers of graded quality for any such truth.
``simulate_toy`` is the smallest problem with everything in it: three classes on a line, and single labels.
``simulate_label_noise`` and ``simulate_strictness`` make plain labels by annotators who err, for measures that compare
a model with its annotators. ``simulate_labels`` makes labels of any type (boxes, spans, text, trees, …) with a dial for
noise, and ``corrupt_labels`` turns that dial on labels of your own.

Everything is a function of its seed. A case's differential diagnoses do not depend on how many cases follow it: a set
of 200 cases is the beginning of the set of 1,000 cases with the same seed. So it is with plain labels, but for the
models of ``simulate_label_noise``, which have the accuracy asked for exactly; not with labels of any type, whose noise
is drawn from the other cases.
"""

from plausibly.datasets._annotators import simulate_annotators as simulate_annotators
from plausibly.datasets._classifiers import simulate_classifiers as simulate_classifiers
from plausibly.datasets._differentials import Differentials as Differentials
from plausibly.datasets._differentials import simulate_differentials as simulate_differentials
from plausibly.datasets._label_noise import LabelNoise as LabelNoise
from plausibly.datasets._label_noise import simulate_label_noise as simulate_label_noise
from plausibly.datasets._label_noise import simulate_strictness as simulate_strictness
from plausibly.datasets._labels import corrupt_labels as corrupt_labels
from plausibly.datasets._labels import simulate_labels as simulate_labels
from plausibly.datasets._published import PublishedCase as PublishedCase
from plausibly.datasets._published import published_case as published_case
from plausibly.datasets._risks import simulate_risks as simulate_risks
from plausibly.datasets._toy import ToyProblem as ToyProblem
from plausibly.datasets._toy import simulate_toy as simulate_toy
from plausibly.datasets._toy import toy_plausibilities as toy_plausibilities
