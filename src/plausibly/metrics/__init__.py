"""Uncertainty-adjusted metrics: pure functions of a classifier's scores and draws of the plausibilities.

A draw λ is one class distribution per case. Write Y_k(λ) for its k most plausible classes and C_k for the k classes
that a classifier scores highest. Then, per draw and case,

* ``top_k_accuracy``: is Y_1(λ) in C_k?
* ``set_accuracy``: is Y_k(λ) = C_k?
* ``overlap``: the share of C_k that is in Y_k(λ), and ``average_overlap``: the mean of the overlaps at 1 … k,
* ``kendall_tau``, ``spearman_footrule``: the distance between the two lists of k classes, from 0 (best) to 1,
* ``coverage``: the plausibility of C_k,
* ``per_draw``: any other function of scores and plausibilities.

The mean over cases is the metric of a data set, one number per draw; the mean over cases and draws is the
uncertainty-adjusted metric. Other functions describe the annotations of each case: ``certainty``, the share of draws in
which given classes are Y_k(λ), and ``annotation_certainty``, the same for the set that leads most often;
``expected_entropy`` and ``mutual_information``, the expected ambiguity of a case and the uncertainty about it;
``risk_certainty``, ``risk_plausibility`` and ``expected_risk``, for classes with risk levels. ``mean_average_overlap``
compares partial rankings without draws; ``panel_shares`` says how often each class wins among n of a case's labels.

Metrics of labels, such as ``sensitivity``, ``auroc`` or ``brier``, compare predictions with a truth that has a weight
for every class of a case: labels as ones and zeros, or the shares of annotators that name a class. They equal the usual
metrics of one row for each case and class, with these weights. Each is declared as a function of sums over cases
(:class:`SumMetric`) or of the order of cases (:class:`OrderMetric`), and so is one of your own;
:func:`plausibly.evaluate` gives all of them intervals, groups and comparisons.

**Ties.** Ties between scores, and between plausibilities, are broken by class order (``break_ties="order"``), the lower
index first; or at random (``break_ties="random"`` with a ``seed``), independently for scores and plausibilities, for
every draw and case. To see how much ties matter, compare the two.

Most metrics depend on λ only through ranked lists of a few classes. :func:`plausibly.evaluate` computes these lists
without ever holding draws × cases × classes numbers in memory; the functions here are for arrays that fit into memory.
They work inside ``jax.jit`` and on any device; under ``jit`` only shapes are checked, because values are not known.

:func:`plausibly.evaluation.scorer` turns a metric and a posterior into a scorer for scikit-learn.

Each metric has its own file, or one with its closest relatives, in which ``list_metric`` or ``label_metric`` declares
it, and a line here.
"""

from typing import NoReturn as _NoReturn

# Metrics of ranked lists, in the order of results.
# isort: off
from plausibly.metrics._overlap import top_k_accuracy as top_k_accuracy
from plausibly.metrics._overlap import set_accuracy as set_accuracy
from plausibly.metrics._overlap import overlap as overlap
from plausibly.metrics._overlap import average_overlap as average_overlap
from plausibly.metrics._overlap import coverage as coverage
from plausibly.metrics._overlap import kendall_tau as kendall_tau
from plausibly.metrics._overlap import spearman_footrule as spearman_footrule


# Metrics of labels, in the order of results.
from plausibly.metrics.by_class import Counts as Counts
from plausibly.metrics.by_class import f1 as f1
from plausibly.metrics.by_class import negative_likelihood_ratio as negative_likelihood_ratio
from plausibly.metrics.by_class import npv as npv
from plausibly.metrics.by_class import positive_likelihood_ratio as positive_likelihood_ratio
from plausibly.metrics.by_class import npv_at_prevalence as npv_at_prevalence
from plausibly.metrics.by_class import ppv as ppv
from plausibly.metrics.by_class import ppv_at_prevalence as ppv_at_prevalence
from plausibly.metrics.by_class import sensitivity as sensitivity
from plausibly.metrics.by_class import specificity as specificity
from plausibly.metrics._of_all_classes import accuracy as accuracy
from plausibly.metrics._of_all_classes import answer_rate as answer_rate
from plausibly.metrics._of_all_classes import selective_accuracy as selective_accuracy
from plausibly.metrics._of_all_classes import balanced_accuracy as balanced_accuracy
from plausibly.metrics._of_all_classes import kappa as kappa
from plausibly.metrics._of_all_classes import mcc as mcc
from plausibly.metrics._probability_scores import brier as brier
from plausibly.metrics._probability_scores import log_score as log_score
from plausibly.metrics._probability_scores import brier_expected as brier_expected
from plausibly.metrics._probability_scores import brier_unavoidable as brier_unavoidable
from plausibly.metrics._probability_scores import brier_excess as brier_excess
from plausibly.metrics._probability_scores import log_score_expected as log_score_expected
from plausibly.metrics._probability_scores import log_score_unavoidable as log_score_unavoidable
from plausibly.metrics._probability_scores import log_score_excess as log_score_excess
from plausibly.metrics._probability_scores import dist_ce as dist_ce
from plausibly.metrics._probability_scores import entropy_ce as entropy_ce
from plausibly.metrics._ordered import mean_absolute_error as mean_absolute_error
from plausibly.metrics._ordered import quadratic_kappa as quadratic_kappa
from plausibly.metrics._ordered import ranked_probability_score as ranked_probability_score
from plausibly.metrics._ordered import within_one as within_one
from plausibly.metrics._calibration import calibration_curve as calibration_curve
from plausibly.metrics._calibration import calibration_error as calibration_error
from plausibly.metrics._calibration import mean_predicted as mean_predicted
from plausibly.metrics._calibration import classwise_calibration_error as classwise_calibration_error
from plausibly.metrics._calibration import calibration_curve_by_class as calibration_curve_by_class
from plausibly.metrics._calibration import mean_predicted_by_class as mean_predicted_by_class
from plausibly.metrics._recalibration import calibration_intercept as calibration_intercept
from plausibly.metrics._recalibration import calibration_slope as calibration_slope
from plausibly.metrics._recalibration import calibration_temperature as calibration_temperature
from plausibly.metrics.decisions import confusion as confusion
from plausibly.metrics.decisions import expected_cost as expected_cost
from plausibly.metrics.decisions import net_benefit as net_benefit
from plausibly.metrics._order import auroc as auroc
from plausibly.metrics._order import average_precision as average_precision
from plausibly.metrics._order import sensitivity_at_specificity as sensitivity_at_specificity
from plausibly.metrics._order import specificity_at_sensitivity as specificity_at_sensitivity
from plausibly.metrics._order import decision_curve as decision_curve
from plausibly.metrics._order import net_benefit_of_all as net_benefit_of_all
from plausibly.metrics._order import precision_recall_curve as precision_recall_curve
from plausibly.metrics._order import roc_curve as roc_curve
from plausibly.metrics.declared import LABEL_METRICS as LABEL_METRICS
from plausibly.metrics.declared import OrderMetric as OrderMetric
from plausibly.metrics.declared import SumMetric as SumMetric

# isort: on
from plausibly.metrics._partial import mean_average_overlap as mean_average_overlap
from plausibly.metrics._partial import soft_permutation as soft_permutation
from plausibly.metrics.certainties import annotation_certainty as annotation_certainty
from plausibly.metrics.certainties import certainty as certainty
from plausibly.metrics.certainties import expected_entropy as expected_entropy
from plausibly.metrics.certainties import mutual_information as mutual_information
from plausibly.metrics.list_metric import METRICS as METRICS
from plausibly.metrics.list_metric import ListMetric as ListMetric
from plausibly.metrics.list_metric import ranked_classes as ranked_classes
from plausibly.metrics.panels import panel_shares as panel_shares
from plausibly.metrics.risk import expected_risk as expected_risk
from plausibly.metrics.risk import risk_certainty as risk_certainty
from plausibly.metrics.risk import risk_plausibility as risk_plausibility
from plausibly.metrics.user import Metric as Metric
from plausibly.metrics.user import per_draw as per_draw


def __getattr__(name: str) -> _NoReturn:
    moved = ": it is pb.evaluation.scorer" if name == "scorer" else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{moved}")
