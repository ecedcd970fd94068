"""Evaluate classifiers under uncertain ground truth.

Experts disagree, and a vote over their annotations hides it. Here annotations give a posterior over *plausibilities*,
the class distribution of each case, and classifiers are evaluated against its draws::

    annotations = pb.read_annotations("annotations.json", classes="conditions.txt")
    posterior = pb.aggregate(annotations, model="plackett-luce", reliability=3, seed=0)
    results = pb.evaluate(posterior, {"A": "a.csv", "B": "b.npy"})

The parts, in the order in which data flow: :mod:`plausibly.annotations`, :mod:`plausibly.models`,
:mod:`plausibly.inference`, :mod:`plausibly.posterior`, :mod:`plausibly.diagnostics`, :mod:`plausibly.metrics`,
:mod:`plausibly.annotators`, :mod:`plausibly.audit`, :mod:`plausibly.evaluation`, :mod:`plausibly.sweeps`,
:mod:`plausibly.model_comparison`, :mod:`plausibly.plots`, ``plausibly.report`` and the commands (``plausibly --help``).
Independently of these, :mod:`plausibly.agreement` measures how far :mod:`plausibly.labels` of any type can be trusted,
by the :mod:`plausibly.distances` between them.
"""

from importlib.metadata import version as _version

from plausibly import agreement as agreement
from plausibly import datasets as datasets
from plausibly import distances as distances
from plausibly import distributions as distributions
from plausibly import metrics as metrics
from plausibly import models as models
from plausibly import plots as plots
from plausibly import primitives as primitives
from plausibly.aggregation import aggregate as aggregate
from plausibly.aggregation._inferred_reliability import annotator_reliabilities as annotator_reliabilities
from plausibly.aggregation._inferred_reliability import infer_reliability as infer_reliability
from plausibly.annotations import Annotations as Annotations
from plausibly.annotations import Scores as Scores
from plausibly.annotations import read_annotations as read_annotations
from plausibly.annotations import read_classes as read_classes
from plausibly.annotations import read_risks as read_risks
from plausibly.annotations import write_annotations as write_annotations
from plausibly.annotations import write_rankings as write_rankings
from plausibly.annotators import agreement_correlation as agreement_correlation
from plausibly.annotators import annotator_agreement as annotator_agreement
from plausibly.annotators import annotator_overlap as annotator_overlap
from plausibly.annotators import classifier_overlap as classifier_overlap
from plausibly.audit import audit as audit
from plausibly.diagnostics import diagnose as diagnose
from plausibly.errors import AnnotationError as AnnotationError
from plausibly.errors import ArgumentError as ArgumentError
from plausibly.errors import FileError as FileError
from plausibly.errors import PlausiblyError as PlausiblyError
from plausibly.errors import PlausiblyWarning as PlausiblyWarning
from plausibly.errors import PredictionError as PredictionError
from plausibly.evaluation import evaluate as evaluate
from plausibly.evaluation import summary as summary
from plausibly.evaluation._subgroups import class_weights as class_weights
from plausibly.evaluation._subgroups import risk_weights as risk_weights
from plausibly.evaluation.comparison import differences as differences
from plausibly.evaluation.comparison import probabilities_better as probabilities_better
from plausibly.evaluation.comparison import probability_better as probability_better
from plausibly.evaluation.comparison import rank_probabilities as rank_probabilities
from plausibly.evaluation.comparison import rankings as rankings
from plausibly.evaluation.comparison import variance_split as variance_split
from plausibly.model_comparison import Comparison as Comparison
from plausibly.model_comparison import compare as compare
from plausibly.model_comparison import predictive_check as predictive_check
from plausibly.model_comparison._prior_sensitivity import prior_sensitivity as prior_sensitivity
from plausibly.posterior import dense as dense
from plausibly.posterior import load as load
from plausibly.posterior import save as save
from plausibly.posterior import top_classes as top_classes
from plausibly.predictions import read_predictions as read_predictions
from plausibly.report import report as report
from plausibly.sweeps import Sweep as Sweep
from plausibly.sweeps import sweep as sweep

__version__ = _version("plausibly")
