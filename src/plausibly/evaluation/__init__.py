"""Evaluation of classifiers against a posterior: every metric by draw, by case and at the point estimate.

Draws are read in ranges of neighbouring cases (``ranges``). ``measure`` runs a compiled program (``program``) over
blocks of these cases, which turns draws into sums and means by case; the sums of all ranges, including those from a
cluster's workers, are added in order. Labels as truth (``of_labels``, ``truth``) are added up by the same sums, with
the same bootstrap weights (``_intervals``). ``metrics`` names the metrics. Those of lists are means of rows; metrics of
labels are functions of sums (``_label_sums``), of the order of cases (``_label_order``), or confusion matrices
(``_label_order``), whose values are in ``_label_results``; ``_values`` names the values of all of them, for all cases
and for groups, and adds annotation to sampling noise (``_intervals``). ``_evaluate`` has the public function,
``summaries`` tabulates, ``curves`` tabulates metrics with several values, and ``verdicts`` says which of two
classifiers is better. ``panel_tables`` needs no posterior: it compares classifiers with the annotations
(``first_choices``) and resamples cases (``_intervals``). ``experts`` draws panels of other experts, and says what other
readers would add; ``few_labels`` how far experts differ. ``checks`` tests what an accuracy rests on, ``evidence`` has
what ``_evaluate`` needs of that, ``freed`` says how far it depends on an assumed shape, and ``cautions`` what
annotations cannot tell, in the sentences of the first screen.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from plausibly.evaluation import comparison as comparison
from plausibly.evaluation._evaluate import evaluate as evaluate
from plausibly.evaluation._evaluate import evaluate_draws as evaluate_draws
from plausibly.evaluation._intervals import total_noise as total_noise
from plausibly.evaluation._scorer import scorer as scorer
from plausibly.evaluation.cautions import limits as limits
from plausibly.evaluation.checks import evidence_checks as evidence_checks
from plausibly.evaluation.curves import curve_points as curve_points
from plausibly.evaluation.curves import largest_confusions as largest_confusions
from plausibly.evaluation.evidence import known_predictions as known_predictions
from plausibly.evaluation.evidence import knows_more as knows_more
from plausibly.evaluation.few_labels import label_spread as label_spread
from plausibly.evaluation.freed import freed_shape as freed_shape
from plausibly.evaluation.metrics import SIZES as SIZES
from plausibly.evaluation.metrics import check_lengths as check_lengths
from plausibly.evaluation.metrics import public_name as public_name
from plausibly.evaluation.metrics import read_metrics as read_metrics
from plausibly.evaluation.panel_tables import panels as panels
from plausibly.evaluation.summaries import by_group as by_group
from plausibly.evaluation.summaries import group_difference as group_difference
from plausibly.evaluation.summaries import summary as summary
from plausibly.evaluation.thresholds import choose_threshold as choose_threshold
from plausibly.evaluation.truth import label_rows as label_rows
from plausibly.evaluation.truth import truth_of_labels as truth_of_labels
from plausibly.evaluation.verdicts import verdict as verdict


def __getattr__(name: str) -> _Any:
    if name == "rating_errors":  # It reads what raters have of their own, of which nothing here may know.
        return _import_module("plausibly.agreement.annotators").rating_errors
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "rating_errors"})
