"""Figures of posteriors and results.

Every function draws into the axes given (``ax=``) or into a new figure, and returns the axes; those that draw several
panels return their figure. An unknown case, class, metric, model or diagnostic raises :class:`plausibly.ArgumentError`
or :class:`plausibly.AnnotationError`, whose message lists the known names. Colours are safe for colour-blind readers,
and lines and rows are labelled directly.

>>> import xarray as xr
>>> results = xr.Dataset({"annotation_certainty_1": ("case", [1.0, 0.4, 0.7])})
>>> axes = pb.plots.certainty_curve(results)
>>> axes.lines[0].get_ydata().tolist(), pb.plots.certainty_histogram(results, ax=axes) is axes
([0.4, 0.4, 0.7, 1.0], True)

================================  ==============================================================
:func:`certainty_curve`           certainty of the annotations over sorted cases
:func:`certainty_histogram`       number of cases by certainty
:func:`ambiguity`                 ambiguity against uncertainty, a dot per case
:func:`metric_by_reliability`     a metric against reliability, with intervals and its limit
:func:`metrics_by_reliability`    the same for many metrics, a row for each
:func:`ranking_by_reliability`    ranking of classifiers against reliability
:func:`metric_histogram`          a metric over draws, one row per classifier
:func:`better_matrix`             probability that one classifier is better than another
:func:`panel_curve`               accuracy against panels of experts, by their size
:func:`roc_curve`                 sensitivity against specificity, with bands
:func:`precision_recall_curve`    precision against recall, with bands
:func:`calibration_curve`         observed frequencies against predicted probabilities
:func:`decision_curve`            net benefit against the threshold, beside treating all and none
:func:`confusion_matrix`          what a classifier calls the cases of each class
:func:`plausibilities`            draws of one case's plausibilities, and the point estimate
:func:`simplex`                   draws of cases with three classes, in a triangle
:func:`score_density`             predictive density of a case's scores, and the threshold
:func:`convergence`               a diagnostic of all cases, the worst first
:func:`convergence_overview`      all diagnostics side by side
:func:`trace`, :func:`rank`       the chains of one quantity
:func:`worst_chains`              both, for the cases whose chains are worst
:func:`discrepancy_ratios`        how far models and annotators are from the annotators
:func:`discrepancy_curves`        the same along a setting, for several models
:func:`discrepancy_by_threshold`  the same along the threshold of a score
:func:`reliability_by_case`       concordance and weighted reliability, over cases
:func:`annotator_abilities`       abilities under the Rasch model, with intervals
:func:`annotator_reliabilities`   inferred reliabilities, with intervals
:func:`nomogram`                  measured accuracy, reliability of labels, actual accuracy
:func:`agreement_histogram`       distances between annotators, observed and expected by chance
:func:`agreement_histograms`      the same for several distances
:func:`agreement_heatmap`         measures of agreement by several distances
:func:`annotator_heatmap`         mean distances between annotators
:func:`reader_study`              readers as points, and models as ROC curves
:func:`systems`                   systems by people alone, a judge alone, and corrected (PPI++)
:func:`model_comparison`          how well aggregation models predict left-out annotations
:func:`predictive_checks`         statistics of the annotations among those of replicates
:func:`replicate_histogram`       the same for one statistic
:func:`prior_sensitivity`         a metric under other priors and conventions
:func:`prior_sensitivities`       the same for several metrics and all models
================================  ==============================================================
"""

from lazy_loader import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
