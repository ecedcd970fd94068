"""The figures of the report, each with a caption that says how to read it."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.aggregation.sweeps import Sweep
from plausibly.app import plots
from plausibly.app.plots.convergence_figures import shown_statistics
from plausibly.app.report._exhibits import Picture
from plausibly.app.report.label_metrics import best_classifiers, truths
from plausibly.app.report.tables import (
    SAME_AS_ACCURACY,
    checks_failed,
    headline_metrics,
    lead,
    representative,
    sampled,
    sizes,
    with_headline,
)
from plausibly.base.bootstrap import width_in_words
from plausibly.base.progress import Progress
from plausibly.evaluation.freed import METRIC
from plausibly.evaluation.truth import truth_in_words
from plausibly.metrics import METRICS
from plausibly.metrics.words import capitalised, metric_name
from plausibly.posterior import case_names
from plausibly.posterior.says import are_shares, has_true_class, learns

SECTIONS = ("classes", "panels", "certainty", "cases", "reliability", "better", "noise", "chains")
MANY = 8  #: classifiers, beyond which figures take the whole width
_FEW_CLASSES = 6  # of which two confusion matrices stand side by side
_MOST_CURVES = 7  # of classes in one figure
_MOST_RUNS = 3  # whose chains are shown

_NEW = "Bands and bars are {} intervals for new cases like these."
_BANDS = "Light bands and bars are {} total intervals, for new cases like these; dark ones, for these cases."
#: metrics that are curves, with a description of their figure and its caption
_CURVES = {
    "roc_curve": (
        "ROC curve of each classifier for {}",
        "Sensitivity for {} at every specificity, and the AUROC in brackets; a marker is the operating point at a "
        "given threshold. {bands} The title says what classifiers are compared with.",
    ),
    "precision_recall_curve": (
        "Precision and recall of each classifier for {}",
        "Precision (PPV) for {} at every recall (sensitivity). {bands}",
    ),
    "calibration_curve": (
        "Calibration of each classifier",
        "How often {} is the truth, by the predicted probability. On the dotted line, probabilities are right; below "
        "it, they are too high. {bands}",
    ),
    "decision_curve": (
        "Net benefit of each classifier for {}",
        "Net benefit of treating the cases whose probability of {} is at least the threshold, per case: true "
        "positives, less false positives times the odds of the threshold. A classifier helps at thresholds where it "
        "lies above treating all and treating none. {bands}",
    ),
}


def drawn(figures: Iterable[Picture], bars: Progress) -> Iterator[Picture]:
    """Draw figures in order."""
    figures = list(figures)
    advance = bars.task("Drawing", sum(len(figure.panels) for figure in figures), "figures")
    return (figure.draw(advance) for figure in figures)


def undrawn(swept: Sweep) -> Iterator[Picture]:
    """All figures of a report, in order."""
    if swept.classifiers:
        best = best_classifiers(swept)
        yield from of_labels([results.sel(classifier=best) for results in truths(swept)])
        yield from _panels(swept)
    yield from _certainty(swept)
    if swept.classifiers:
        yield from _by_reliability(swept)
        yield from _rankings(swept)
        yield from _by_draw(swept)
    yield from _plausibilities(swept)
    yield from _chains(swept)


def _panels(swept: Sweep) -> Iterator[Picture]:
    """Accuracy against panels, and as its limit under the model, unless it is unknown or the truth is no plurality."""
    run = lead(swept)
    drawn = run.results.sizes["draw"] > 1 and are_shares(run.attrs)
    if swept.panels is not None:
        limit = run.results if drawn and METRIC in run.results else None
        yield from of_panels(swept.panels, limit, best_classifiers(swept))


def of_panels(panels: xr.Dataset, limit: xr.Dataset | None, classifiers: Sequence[str]) -> Iterator[Picture]:
    """Accuracy of classifiers against panels of experts, of every size; nothing if no case has several labels."""
    n_cases = panels["panel_accuracy"].attrs["n_cases"]
    if panels.sizes["n"] > 1:
        yield Picture(
            "panels",
            [("", partial(plots.panel_curve, panels.sel(classifier=list(classifiers)), limit))],
            4.0,
            "Agreement of each classifier with panels of experts, by their size",
            f"How often a classifier names what most of a panel of n experts say, on the {n_cases:,} cases with enough "
            "labels. A panel of one is an expert. "
            + ("Dashed: how often a further expert does. " if panels["human_panel"].notnull().sum() > 1 else "")
            + (
                ""
                if limit is None
                else "On the right: accuracy under the model, against what most experts would name. "
            )
            + _NEW.format(width_in_words(panels)),
        )


def of_labels(found: Sequence[xr.Dataset], readers: pd.DataFrame | None = None) -> Iterator[Picture]:
    """Confusion matrices and curves against every truth; the matrices against the first. `readers` are points."""
    if not found:
        return
    first = found[0]
    if "positive" not in first.attrs and "confusion" in first:
        many = first.sizes["true_class"] > _FEW_CLASSES
        yield Picture(
            "classes",
            [("", partial(plots.confusion_matrix, first, str(name))) for name in first["classifier"].values],
            6.2 if many else 4.6,
            f"Confusion matrix of each classifier, against {truth_in_words(first.attrs)}",
            f"Rows are classes by {truth_in_words(first.attrs)}, columns what the classifier names: percentages of the "
            "row, and expected numbers of cases. Off the diagonal are mistakes.",
            wide=many,
        )
    positive = first.attrs.get("positive", "")
    bands = _BANDS if any(results.sizes["draw"] > 1 for results in found) else _NEW
    bands = bands.format(width_in_words(first))
    for metric, (alt, caption) in _CURVES.items():
        if metric in first:
            draw = getattr(plots, metric)
            draw = draw if readers is None or metric != "roc_curve" else partial(draw, readers=readers)
            panels = [(capitalised(truth_in_words(results.attrs)), partial(draw, results)) for results in found]
            of_which = "a case's most probable class"
            if "class_name" in first[metric].dims:  # curves of all classes of one classifier each
                of_which = "each class"
                names = first["classifier"].values if first.sizes["class_name"] <= _MOST_CURVES else ()
                panels = [(str(name), partial(draw, first.sel(classifier=[name]))) for name in names]
            if not panels:
                continue
            yield Picture(
                "classes",
                panels,
                4.4,
                alt.format(positive or "each class"),
                caption.format(positive or of_which, bands=bands),
                folded=metric == "precision_recall_curve",
            )


def _certainty(swept: Sweep) -> Iterator[Picture]:
    models = sampled(swept)
    size = min(
        (int(str(name)[-1]) for name in swept.runs[0].results if str(name).startswith("annotation_certainty")),
        default=0,
    )
    if size and models:
        panels = []
        for name, runs in models.items():
            runs = sorted(runs, key=lambda run: run.reliability)
            labels = ["" if np.isnan(run.reliability) else f"reliability {run.reliability:g}" for run in runs]
            results = dict(zip(labels, (run.results for run in runs), strict=True))
            panels.append((name, partial(plots.certainty_curve, results, size)))
        what = (
            "which class is the most plausible: at 1 all of them, at 0.5 half of them"
            if size == 1
            else f"which {size} classes are the most plausible"
        )
        yield _ambiguity(swept)
        yield Picture(
            "certainty",
            panels,
            3.4,
            f"Top-{size} annotation certainty of all cases, sorted",
            "Cases are sorted from the least to the most certain. The height is the largest share of draws "
            f"that agree on {what}. The further to the right a curve rises, the more cases are unsettled. A greater "
            "assumed reliability moves it to the left.",
        )


def _ambiguity(swept: Sweep) -> Picture:
    runs = [representative(found) for found in sampled(swept).values()]
    learning = [run.label for run in runs if learns(run.attrs)]
    helped = f"; under {' and '.join(learning)}, more labels help there" if learning else ""
    return Picture(
        "certainty",
        [(run.label, partial(plots.ambiguity, run.results)) for run in runs],
        3.6,
        "Ambiguity and uncertainty of all cases",
        f"Every dot is a case. Cases at the top are not settled yet{helped}. Cases on the right are expected to be "
        "ambiguous, by the annotations or, where they are few, by the prior. The most extreme cases are labelled with "
        "their names.",
    )


def _by_reliability(swept: Sweep) -> Iterator[Picture]:
    models, width = list(sampled(swept)) or list(swept.models), width_in_words(lead(swept).results)
    table = swept.metrics
    main = headline_metrics(swept)
    for metric in main:
        own = table[table["metric"] == metric]
        low = own[["lower", "point", "total_lower"]].min(axis=None)
        high = own[["upper", "point", "total_upper"]].max(axis=None)
        margin = 0.08 * (high - low) or 0.01
        words = capitalised(metric_name(metric))
        yield Picture(
            "reliability",
            [("", partial(plots.metric_by_reliability, own, metric, one)) for one in models if one in {*own["model"]}],
            max(3.4, 1 + 0.2 * len(swept.classifiers)),
            f"{words} of each classifier by reliability",
            f"{words} of each classifier: mean over draws, {width} total interval for new cases like these (light "
            "band), and interval for these cases (dark band). Hollow markers on the right are values at the point "
            "estimate, which ignores uncertainty; their distance from the lines shows how much the value changes if "
            "one set of plausibilities is taken as the truth.",
            limits=(low - margin, high + margin),
            wide=len(swept.classifiers) > MANY,
        )
    found = set.intersection(*(set(run.results.data_vars) for run in swept.runs)) - {*SAME_AS_ACCURACY, *main}
    of_lists = (f"top{size}_{name}" for size in sizes(swept.runs[0]) for name in METRICS)
    others = [metric for metric in of_lists if metric in found]
    if others:
        yield Picture(
            "reliability",
            [("", partial(plots.metrics_by_reliability, table, others, model)) for model in models],
            1.4 + 0.5 * len(others),
            "All other metrics of each classifier by reliability",
            "Every row is a metric with its own scale; the numbers below its name are the ends of the scale. "
            "Lines, bands and hollow markers are as above.",
            folded=True,
            wide=len(swept.classifiers) > MANY,
        )


def _rankings(swept: Sweep) -> Iterator[Picture]:
    models = [name for name, runs in sampled(swept).items() if not np.isnan(runs[0].reliability)]
    if not models or len(swept.classifiers) < 2 or checks_failed(swept, "ceiling"):
        return
    for metric in headline_metrics(swept):
        words = metric_name(metric)
        yield Picture(
            "reliability",
            [("", partial(plots.ranking_by_reliability, swept, metric, model)) for model in models],
            1.4 + _row(swept) * len(swept.classifiers),
            f"Rank of each classifier in {words} by reliability",
            f"Rank of each classifier by its mean {words}; hollow markers show the rank at the point estimate. The "
            "larger a marker, the more probable the rank. Shading marks where the ranking changes: there, which "
            "classifier is better depends on how far you trust the annotators.",
        )


def _by_draw(swept: Sweep) -> Iterator[Picture]:
    """Histograms of the metrics, and which classifier is better, under the model that stands for all."""
    runs = with_headline(swept, [representative(found) for found in sampled(swept).values()])
    runs = [run for run in runs if run is lead(swept)] or runs[:1]
    n = len(swept.classifiers)
    overlap = " Histograms may overlap even if one classifier is better in nearly every draw: see the figures above."
    for metric in headline_metrics(swept) if runs else ():
        words = metric_name(metric)
        yield Picture(
            "noise",
            [(run.label, partial(plots.metric_histogram, run.results, metric)) for run in runs],
            1.2 + 1.1 * _row(swept) * n,
            f"Histogram over draws of the {words} of each classifier",
            f"Every draw is one set of plausibilities that fits the annotations, and gives each classifier one value "
            f"of the {words} on these cases (bars). The line below the bars shows the "
            f"{width_in_words(runs[0].results)} total interval, for new cases like these. Diamonds show the values at "
            f"the point estimate.{overlap if n > 1 else ''}",
        )
        if n < 2 or checks_failed(swept, "ceiling"):
            continue
        yield Picture(
            "better",
            [
                (f"{run.label}, {where}", partial(plots.better_matrix, run.results, metric, noise=noise))
                for run in runs
                for where, noise in (("on these cases", "annotation"), ("on new cases like these", "total"))
                if noise == "annotation" or run.results.attrs["clusters"] > 1
            ],
            1.4 + _row(swept) * n,
            f"Probability that one classifier has a higher {words} than another",
            f"Probability that the classifier in the row has a higher {words} than the one in the column and, after =, "
            "that they are equal. Near 1, the better classifier is known. The probability for new cases like these "
            "also reflects that other cases could have been sampled.",
            wide=n > MANY,
        )


def _plausibilities(swept: Sweep) -> Iterator[Picture]:
    if not sampled(swept):
        return
    run = lead(swept)
    yield Picture(
        "cases",
        [("", partial(plots.plausibilities, run.excerpt, name, draws=60)) for name in case_names(run.excerpt)],
        2.7,
        f"Draws of the plausibilities of the least certain cases under {run.label}",
        f"{run.label}: the cases whose most plausible class is least certain. Dots are draws, bars are means, "
        "diamonds are point estimates. "
        + (
            "A mean is the probability that the class is the true one."
            if has_true_class(run.attrs)
            else "If the dots of several classes reach equally far, any of them may be the most plausible class, "
            "whatever the point estimate says. Grey: all unnamed classes together."
        ),
    )


def _row(swept: Sweep) -> float:
    """Height of a classifier's row in inches."""
    return 0.5 if len(swept.classifiers) <= MANY else 0.32


def _chains(swept: Sweep) -> Iterator[Picture]:
    """Diagnostics of the runs that did not converge, or else of one run of each model that has chains."""
    failing = [run for run in swept.runs if run.has_chains and run.not_converged()]
    usual = [representative(runs) for runs in swept.models.values()]
    for run in (failing or [run for run in usual if run.has_chains])[:_MOST_RUNS]:
        yield Picture(
            "chains",
            [("", partial(plots.convergence, run.convergence, name)) for name in shown_statistics(run.convergence)],
            2.8,
            f"Diagnostics of all cases under {run.label}, the worst first",
            f"{run.label}: every diagnostic for all cases, the worst case first; dotted lines are required values. An "
            "R-hat near 1 means that chains agree; it may exceed its line by chance. Effective sample sizes (ESS) say "
            "how many independent draws the chains are worth, in the middle (bulk) and at the ends (tail) of "
            "a distribution. E-BFMI is low if the sampler has trouble with the tails.",
            folded=not failing,
        )
        if run.worst is None:
            continue
        names = [str(name) for name in case_names(run.worst)][: None if failing else 1]
        shown = f"case{'s' if len(names) > 1 else ''} with the worst chains"
        yield Picture(
            "chains",
            [("", partial(draw, run.worst, name)) for name in names for draw in (plots.trace, plots.rank)],
            2.3,
            f"Trace and rank plots of the {shown} under {run.label}",
            f"{run.label}: the {shown}, shown for {'their' if len(names) > 1 else 'its'} class with the worst "
            "diagnostics. The left panels show the draws of "
            "each chain: after convergence, all chains are noise around the same level. The right panels show the "
            "ranks of each chain's draws among all draws: flat if the chains agree, tilted if one differs.",
            folded=not failing,
        )
