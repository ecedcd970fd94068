"""Figures of posteriors and results, one to a module.

Every function draws into the axes given (``ax=``), or into a new figure, and returns the axes. Colours are told apart
by readers who do not see all of them, and what a line or row is stands beside it.

=============================== ===========================================================
:func:`certainty_curve`         how certain the annotations are, over cases from least to most
:func:`metric_by_reliability`   a metric against reliability, with its band and its limit
:func:`ranking_by_reliability`  where the ranking of classifiers changes
:func:`metric_histogram`        a metric over draws, one row per classifier
:func:`better_matrix`           the probability that one classifier beats another
:func:`plausibilities`          draws of one case's plausibilities against the point estimate
=============================== ===========================================================
"""

from plausibly.plots._better import better_matrix as better_matrix
from plausibly.plots._certainty import certainty_curve as certainty_curve
from plausibly.plots._histogram import metric_histogram as metric_histogram
from plausibly.plots._plausibilities import plausibilities as plausibilities
from plausibly.plots._ranking import ranking_by_reliability as ranking_by_reliability
from plausibly.plots._reliability import metric_by_reliability as metric_by_reliability
