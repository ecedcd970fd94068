"""Figures of posteriors and results, one to a module.

Every function draws into the axes given (``ax=``), or into a new figure, and returns the axes. Colours are told apart
by readers who do not see all of them, and what a line or row is stands beside it.

=============================  ============================================================
:func:`certainty_curve`        how certain the annotations are, over cases from least to most
:func:`metric_by_reliability`  a metric against reliability, with its band and its limit
:func:`metric_histogram`       a metric over draws, one row per classifier
:func:`better_matrix`          the probability that one classifier beats another
:func:`plausibilities`         draws of one case's plausibilities against the point estimate
:func:`agreement_histogram`    distances between annotators against those chance would give
:func:`agreement_heatmap`      measures of agreement by several distances
:func:`annotator_heatmap`      mean distances between annotators
=============================  ============================================================
"""

from plausibly.plots._agreement import agreement_heatmap as agreement_heatmap
from plausibly.plots._agreement import agreement_histogram as agreement_histogram
from plausibly.plots._agreement import agreement_histograms as agreement_histograms
from plausibly.plots._agreement import annotator_heatmap as annotator_heatmap
from plausibly.plots._better import better_matrix as better_matrix
from plausibly.plots._certainty import certainty_curve as certainty_curve
from plausibly.plots._histogram import metric_histogram as metric_histogram
from plausibly.plots._plausibilities import plausibilities as plausibilities
from plausibly.plots._reliability import metric_by_reliability as metric_by_reliability
