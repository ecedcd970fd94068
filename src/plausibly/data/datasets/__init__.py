"""Data for examples and tests: one published case, and simulators of annotations and classifiers.

``published_case`` is a case with published results, against which the package can be checked.
``simulate_differentials`` simulates differential diagnoses, together with their true plausibilities; annotators per
case, blocks per annotation, block sizes and distinct classes per case are modelled on a real data set.
``simulate_classifiers`` simulates classifiers of different quality for any such truth. ``simulate_toy`` is a minimal
problem: three classes on a line, and single labels. ``simulate_label_noise`` and ``simulate_strictness`` simulate
labels by annotators who err, for measures that compare a model with its annotators. ``simulate_labels`` simulates
labels of any type (boxes, spans, text, trees, …) with a given amount of noise, and ``corrupt_labels`` adds such noise
to labels of your own.

All results are determined by their seed. A case's differential diagnoses do not depend on how many cases follow it: a
set of 200 cases is the beginning of the set of 1,000 cases with the same seed. The same holds for single labels, except
for the models of ``simulate_label_noise``, whose accuracy is exact. It does not hold for ``simulate_labels``, whose
noise is drawn from the other cases.
"""

from plausibly.data.datasets._classifiers import simulate_annotators as simulate_annotators
from plausibly.data.datasets._classifiers import simulate_classifiers as simulate_classifiers
from plausibly.data.datasets._differentials import Differentials as Differentials
from plausibly.data.datasets._differentials import simulate_differentials as simulate_differentials
from plausibly.data.datasets._differentials import simulate_risks as simulate_risks
from plausibly.data.datasets._label_noise import LabelNoise as LabelNoise
from plausibly.data.datasets._label_noise import simulate_label_noise as simulate_label_noise
from plausibly.data.datasets._label_noise import simulate_strictness as simulate_strictness
from plausibly.data.datasets._labels import corrupt_labels as corrupt_labels
from plausibly.data.datasets._labels import simulate_labels as simulate_labels
from plausibly.data.datasets._published import PublishedCase as PublishedCase
from plausibly.data.datasets._published import published_case as published_case
from plausibly.data.datasets._toy import ToyProblem as ToyProblem
from plausibly.data.datasets._toy import simulate_toy as simulate_toy
from plausibly.data.datasets._toy import toy_plausibilities as toy_plausibilities
