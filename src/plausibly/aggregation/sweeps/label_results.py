"""Metrics of labels for the report: of classes, of order and of probabilities, as far as the data allow."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from plausibly.base.arviz import Posterior
from plausibly.base.bootstrap import PANEL
from plausibly.evaluation import evaluate, evaluate_draws
from plausibly.evaluation.evidence import known_predictions
from plausibly.evaluation.experts import labels_suffice
from plausibly.evaluation.metrics import ANSWERS, usual_metrics
from plausibly.evaluation.panel_tables import first_choices
from plausibly.evaluation.thresholds import decided
from plausibly.metrics import LABEL_METRICS
from plausibly.metrics.declared import improper
from plausibly.metrics.inputs import answered

if TYPE_CHECKING:
    from plausibly.aggregation.sweeps._plan import Plan

MOST_SHARES = 2**28  #: plausibilities of cases and draws up to which panels are drawn
MOST_CLASSES = 30  #: classes up to which metrics are compared with the most plausible class, too

_OF_TWO = ("sensitivity", "specificity", "ppv", "npv", "confusion")
_OF_MORE = ("balanced_accuracy", "f1_macro", "sensitivity", "ppv", "f1", "confusion")
_OF_PANELS = ("sensitivity", "specificity", "ppv", "npv", "balanced_accuracy", "auroc")
_OF_ORDER = ("auroc", "roc_curve", "precision_recall_curve")
_OF_PROBABILITIES = ("brier", "log_score", "calibration_error", "calibration_curve", "mean_predicted")


def label_metrics(
    two: bool, predictions: Sequence[Float[np.ndarray, "case class"]], *, ordered: bool = False
) -> list[str]:
    """Names of the metrics of labels in the report.

    With ``two``, one class is against all others, so that there is an order of the cases and a decision. Hard labels
    (ones and zeros) have no order, and scores no calibration. Classifiers are wrong by a number of ``ordered`` grades.

    Examples
    --------
    >>> label_metrics(False, [np.array([[0, 1.0], [1, 0]])])
    ['balanced_accuracy', 'f1_macro', 'sensitivity', 'ppv', 'f1', 'confusion']
    >>> label_metrics(True, [np.array([[-1.5, 2.5]])])[-4:]
    ['confusion', 'auroc', 'roc_curve', 'precision_recall_curve']
    """
    names = [*(_OF_TWO if two else _OF_MORE)]
    names += usual_metrics(predictions[0].shape[1], predictions, ordered=True) if ordered else []
    if any(not answered(values).all() for values in predictions):
        return list(dict.fromkeys([*names, *ANSWERS]))
    if any(((values == 0) | (values == 1)).all() for values in predictions):
        return names
    probable = all(improper(values) is None for values in predictions)
    if two and (probable or predictions[0].shape[1] == 2):
        names += _OF_ORDER
    if probable:
        names += _OF_PROBABILITIES
        names += ("decision_curve", "net_benefit_of_all") if two else ()
    return names


def against_most_plausible(plan: "Plan", posterior: Posterior, scheduler: Any) -> xr.Dataset | None:
    """Evaluate classifiers against the most plausible class of every draw; None if classes are many."""
    if not plan.predictions or not (_two(plan) or plan.annotations.n_classes <= MOST_CLASSES):
        return None
    options = {**_options(plan), "k": None, "sizes": 1, "risks": None, "progress": False, "scheduler": scheduler}
    return evaluate_draws(posterior, plan.predictions, **options).drop_dims("case").assign_attrs(ci_prob=plan.ci_prob)


def against_panels(plan: "Plan", posterior: Posterior, scheduler: Any) -> xr.Dataset | None:
    """Evaluate classifiers against panels of other experts, drawn under a posterior that knows the predictions.

    None where it does not, or labels tell what these annotators decide, classes are grades, or there are very many.
    """
    n_draws = posterior["posterior"].sizes["chain"] * posterior["posterior"].sizes["draw"]
    many = plan.annotations.n_cases * plan.annotations.n_classes * n_draws > MOST_SHARES
    if not known_predictions(posterior.attrs) or plan.options["ordered"] or many or not plan.predictions:
        return None
    if labels_suffice(posterior, plan.annotations, PANEL, None):
        return None
    options = {**_options(plan), "k": None, "sizes": (), "progress": False, "scheduler": scheduler, "prevalence": None}
    usual = [name for name in label_metrics(_two(plan), list(plan.predictions.values())) if name in _OF_PANELS]
    asked = {**plan.options["metrics"].sums, **plan.options["metrics"].order}
    asked = [name for name, metric in asked.items() if LABEL_METRICS.get(name) == metric and not metric.along]
    options["metrics"] = list(dict.fromkeys(["accuracy", *usual, *asked]))
    options |= {"of_panels": PANEL}
    found = evaluate_draws(posterior, plan.predictions, **options, by=plan.options["by"]).drop_dims("case")
    return found.assign_attrs(ci_prob=plan.ci_prob)


def against_an_expert(plan: "Plan", *, by_group: bool) -> xr.Dataset:
    """Evaluate classifiers against what one expert would say, without a model; on request, by group, too."""
    by = plan.options["by"] if by_group else None
    options = _options(plan) | {"by": by, "ci_prob": plan.ci_prob}
    return evaluate(plan.annotations, plan.predictions, truth="annotator", **options)


def _two(plan: "Plan") -> bool:
    return plan.annotations.n_classes == 2 or plan.options["positive"] is not None


def _options(plan: "Plan") -> dict[str, Any]:
    names = ("weights", "clusters", "replicates", "break_ties", "positive", "threshold")
    options = {name: plan.options[name] for name in names} | {"seed": plan.seed}
    options["metrics"] = label_metrics(_two(plan), list(plan.predictions.values()), ordered=plan.options["ordered"])
    return options | {"prevalence": plan.options["prevalence"] if _two(plan) else None}


def named_classes(plan: "Plan") -> xr.Dataset:
    """Index of the class that each classifier names in every case, −1 without an answer, and its score.

    Also ``first``, the index of the first choice, which is another only with a threshold. All (classifier, case).
    """
    annotations, predictions = plan.annotations, plan.predictions
    ties = annotations.cases, plan.options["break_ties"], plan.seed
    at = plan.options["threshold"], annotations.classes, plan.options["positive"]
    first, named = (first_choices(list(of.values()), *ties) for of in (predictions, decided(predictions, *at)))
    cases = np.arange(annotations.n_cases)
    scores = np.stack([values[cases, names] for values, names in zip(predictions.values(), named, strict=True)])
    coords = {"classifier": list(predictions), "case": annotations.cases}
    variables = {"named": named, "first": first, "score": scores}
    return xr.Dataset({name: (tuple(coords), values) for name, values in variables.items()}, coords)
