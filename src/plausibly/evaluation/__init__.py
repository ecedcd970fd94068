"""Evaluating classifiers against a posterior: every metric by draw, by case and at the point estimate.

Cases come in ranges, whole shards of them or all at once. ``_ranges`` turns a range into sums over its cases, and into
means by case that are finished; what ranges give is added up in their order, so that it does not matter when each of
them was computed. ``_weights`` says how much a case counts in each draw, ``_metrics`` which metrics there are;
``_evaluate`` is the front door, and ``_summary`` tabulates.
"""

from plausibly.evaluation._evaluate import SIZES as SIZES
from plausibly.evaluation._evaluate import evaluate as evaluate
from plausibly.evaluation._metrics import METRICS as METRICS
from plausibly.evaluation._metrics import SMALLER as SMALLER
from plausibly.evaluation._metrics import check_metrics as check_metrics
from plausibly.evaluation._metrics import metric_digests as metric_digests
from plausibly.evaluation._subgroups import class_weights as class_weights
from plausibly.evaluation._subgroups import risk_weights as risk_weights
from plausibly.evaluation._summary import summary as summary
from plausibly.evaluation._weights import RiskWeights as RiskWeights
