"""Evaluate classifiers under uncertain ground truth.

Experts disagree, and a vote over their annotations hides it. Here annotations give a posterior over *plausibilities*,
the class distribution of each case, and classifiers are evaluated against its draws::

    annotations = pb.read_annotations("annotations.json", classes="conditions.txt")
    posterior = pb.aggregate(annotations, model="plackett-luce", reliability=3, seed=0)
    results = pb.evaluate(posterior, {"A": "a.csv", "B": "b.npy"})

At the top level are the containers, readers and writers, the errors, and one verb per question:

=========================  =========================================================================
:func:`aggregate`          What do the annotations say about each case?
:func:`infer_reliability`  How reliable are the annotators?
:func:`diagnose`           Did the chains converge?
:func:`evaluate`           How well do classifiers do? (:func:`summary` prints it as a table)
:func:`sweep`              Does the answer depend on the model or the reliability?
:func:`compare`            Which aggregation model predicts annotations best?
:func:`predictive_check`   Does the model reproduce the annotations?
:func:`prior_sensitivity`  Does the prior matter?
:func:`audit`              Is anything odd about the data?
:func:`report`             How do I show all of this to someone?
=========================  =========================================================================

All else is in namespaces: :mod:`~plausibly.comparison` (is one classifier better?), :mod:`~plausibly.evaluation`
(weights of cases), :mod:`~plausibly.annotators`, :mod:`~plausibly.metrics`, :mod:`~plausibly.plots`,
:mod:`~plausibly.models`, :mod:`~plausibly.distributions`, :mod:`~plausibly.primitives`, :mod:`~plausibly.datasets`.
Independently of models, :mod:`~plausibly.agreement` measures how far :mod:`~plausibly.labels` of any type can be
trusted, by the :mod:`~plausibly.distances` between them.
"""

from importlib.metadata import version as _version

from plausibly import agreement as agreement
from plausibly import annotators as annotators
from plausibly import datasets as datasets
from plausibly import diagnostics as diagnostics
from plausibly import distances as distances
from plausibly import distributions as distributions
from plausibly import evaluation as evaluation
from plausibly import labels as labels
from plausibly import metrics as metrics
from plausibly import models as models
from plausibly import plots as plots
from plausibly import posterior as posterior
from plausibly import primitives as primitives
from plausibly.aggregation import aggregate as aggregate
from plausibly.aggregation._inferred_reliability import infer_reliability as infer_reliability
from plausibly.annotations import Annotations as Annotations
from plausibly.annotations import Scores as Scores
from plausibly.annotations import read_annotations as read_annotations
from plausibly.annotations import read_classes as read_classes
from plausibly.annotations import read_risks as read_risks
from plausibly.annotations import write_annotations as write_annotations
from plausibly.audit import audit as audit
from plausibly.diagnostics import diagnose as diagnose
from plausibly.errors import AnnotationError as AnnotationError
from plausibly.errors import ArgumentError as ArgumentError
from plausibly.errors import ClusterError as ClusterError
from plausibly.errors import DistanceError as DistanceError
from plausibly.errors import FileError as FileError
from plausibly.errors import PlausiblyError as PlausiblyError
from plausibly.errors import PlausiblyWarning as PlausiblyWarning
from plausibly.errors import PredictionError as PredictionError
from plausibly.evaluation import comparison as comparison
from plausibly.evaluation import evaluate as evaluate
from plausibly.evaluation import summary as summary
from plausibly.model import Model as Model
from plausibly.model_comparison import compare as compare
from plausibly.model_comparison import predictive_check as predictive_check
from plausibly.model_comparison import prior_sensitivity as prior_sensitivity
from plausibly.posterior import dense as dense
from plausibly.posterior import load as load
from plausibly.posterior import save as save
from plausibly.predictions import read_predictions as read_predictions
from plausibly.report import report as report
from plausibly.sweeps import sweep as sweep

__version__ = _version("plausibly")
