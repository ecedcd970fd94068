"""``plausibly evaluate --require``: requirements on metrics, and whether classifiers meet them."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.aggregation import run_label
from plausibly.aggregation.sweeps import Sweep
from plausibly.app.cli._options import parse_numbers
from plausibly.app.report import alike, lead
from plausibly.app.report.tables import checks_failed
from plausibly.base.bootstrap import check_probability
from plausibly.base.errors import ArgumentError
from plausibly.base.names import some
from plausibly.data.annotations import Annotations
from plausibly.evaluation.cautions import constants
from plausibly.evaluation.comparison import Relation, probability
from plausibly.evaluation.truth import most_common
from plausibly.metrics import LABEL_METRICS
from plausibly.metrics.words import metric_name

REQUIREMENTS = "requirements.csv"
_PROBABILITY = "0.95"  # unless another is required
_FORM = re.compile(rf"(?:(.+):)?([^:<>=@]+)({'|'.join(get_args(Relation))})([^<>=@]+)(?:@(.+))?")
_SHARE = re.compile(r"top\d+_(set_)?(accuracy|coverage)")
_UNKNOWN = "it has no value, no draws, or a single cluster of cases"


class Requirement(NamedTuple):
    """A bound on a metric, and the probability with which it must hold on new cases."""

    text: str
    classifier: str  #: empty for all
    metric: str
    relation: str
    value: float
    required: float


def parse_requirements(texts: Sequence[str] | None) -> list[Requirement]:
    """Read requirements such as ``A:auroc>=0.9@0.95``; of the classifier, and of the probability, there may be none."""
    found = []
    for text in texts or ():
        form = _FORM.fullmatch(text)
        if form is None:
            raise ArgumentError(
                f"--require must be METRIC>=VALUE@PROBABILITY (or >, <=, <), but {text!r} was given: write for example "
                "'auroc>=0.9@0.95', in quotes."
            )
        classifier, metric, relation, value, required = (part and part.strip() for part in form.groups())
        numbers = [
            parse_numbers(given, f"the {what} of --require {text!r}", such_as)
            for given, what, such_as in ((value, "value", "0.9"), (required or _PROBABILITY, "probability", "0.95"))
        ]
        if [len(given) for given in numbers] != [1, 1] or not np.isfinite(numbers[0][0]):
            raise ArgumentError(f"--require {text!r} must have one finite number as its value: write for example 0.9.")
        check_probability(f"the probability of --require {text!r}", numbers[1][0])
        found.append(Requirement(text, classifier or "", metric, relation, numbers[0][0], numbers[1][0]))
    return found


def check_requirements(
    requirements: Sequence[Requirement], classifiers: Collection[str], single: Collection[str], replicates: int | None
) -> None:
    """Refuse requirements on unknown classifiers or on metrics without one value, and those that nothing can fail.

    `single` are the metrics with one value for a classifier.
    """
    if requirements and not classifiers:
        raise ArgumentError("--require is about classifiers, but there are no --predictions: give some.")
    if requirements and replicates == 0:
        raise ArgumentError("--require counts bootstrap replicates, but --replicates 0 was given: leave it out.")
    for one in requirements:
        if one.classifier and one.classifier not in classifiers:
            raise ArgumentError(
                f"--require {one.text!r} names the classifier {one.classifier!r}, but --predictions name "
                f"{some(list(classifiers))}: choose one of them."
            )
        if one.metric not in single:
            raise ArgumentError(
                f"--require {one.text!r} needs a metric with one value for a classifier, but {one.metric!r} is a group "
                "of metrics, a curve, or has a value for each class: name a single one, such as accuracy or "
                "auroc_macro, or the class with --positive."
            )
        least, most = _bounds(one.metric)
        if not least <= one.value <= most:
            raise ArgumentError(
                f"--require {one.text!r} is never or always met, as {one.metric} lies between {least:g} and {most:g}: "
                "give a value between them."
            )


def _bounds(metric: str) -> tuple[float, float]:
    """Least and greatest value of a metric, as far as they are declared."""
    if metric in LABEL_METRICS:
        return LABEL_METRICS[metric].bounds
    return (0.0, 1.0) if _SHARE.fullmatch(metric) else (-np.inf, np.inf)


def requirement_table(swept: Sweep, requirements: Sequence[Requirement], *, panels_first: bool = False) -> pd.DataFrame:
    """Tabulate how probably requirements are met, under every run that counts, or against the panels of the first.

    These are the runs whose prior is from the same source as that of the leading one, and that have draws. A
    probability is unknown, NaN, for classifiers that must have seen the labels, and for metrics that are withheld.
    """
    if not requirements:
        return pd.DataFrame()
    leading, seen = lead(swept), checks_failed(swept, "ceiling")
    runs = [run for run in alike(swept.runs, leading) if run.results.sizes["draw"] > 1] or [leading]
    tables = []
    for one in requirements:
        panels = leading.of_panels if panels_first else None
        of_panels = panels is not None and "top1_" not in one.text and one.metric.removeprefix("top1_") in panels
        one = one._replace(metric=one.metric.removeprefix("top1_")) if of_panels else one
        for run in [leading] if of_panels else runs:
            where = {"model": run.model, "reliability": run.reliability}
            results = panels if of_panels else run.results
            tables.append(requirement_rows(results, [one], where, swept.annotations, seen))
    return pd.concat(tables, ignore_index=True)


def requirement_rows(
    results: xr.Dataset,
    requirements: Sequence[Requirement],
    run: Mapping[str, Any],
    annotations: Annotations,
    seen: Collection[str] = (),
) -> pd.DataFrame:
    """Tabulate how probably requirements are met by each classifier in the results of a run, on new cases.

    What always names the same class meets none on what is named: what is common would be right, whoever looks. Nor does
    anybody meet an accuracy that the most common class would have, as the answer to every case.
    """
    rows, same = [], constants(results)
    common, often = most_common(annotations)
    for one in requirements:
        for_free = one.metric.removeprefix("top1_") == "accuracy" and one.relation[0] == ">" and one.value <= often
        for name in [one.classifier] if one.classifier else map(str, results["classifier"].values):
            own, told = results.sel(classifier=[name]), name in seen and not one.metric.endswith("coverage")
            constant, share = same.get(name) if _of_choices(one.metric) else None, np.nan
            reason = results.attrs.get("withheld", _UNKNOWN).rstrip(".")
            if constant is not None:
                reason = f"it names {constant!r} in every case, whatever the case is"
            elif told:
                reason = "it may have seen these labels"
            elif for_free:
                as_often = f"{common!r} in every case would be right in {100 * often:.0f} %"
                reason = f"{as_often}: ask for more, or balanced_accuracy"
            elif one.metric in own and own[one.metric].notnull().any():
                share = float(probability(own, one.metric, one.relation, one.value, noise="total")[0])
            row = {"requirement": one.text, "classifier": name, "metric": one.metric, "relation": one.relation}
            row |= {"value": one.value, "required": one.required, **run, "probability": share}
            row["against"] = own[one.metric].attrs.get("against", "") if one.metric in own else ""
            row["close"] = abs(share - one.required) < 3 * _error(one.required, own, one.metric)
            rows.append(row | {"met": share >= one.required, "unknown": reason if np.isnan(share) else ""})
    return pd.DataFrame(rows)


def _error(probability: float, results: xr.Dataset, metric: str) -> float:
    """Standard error of a probability as a share of replicates, by which seeds differ; 0 without any."""
    n = results.get(f"{metric}_total", xr.DataArray()).sizes.get("replicate", np.inf)
    return np.sqrt(probability * (1 - probability) / n)


def _of_choices(metric: str) -> bool:
    """Whether a metric looks at the class that is named, not at scores."""
    name = metric.removeprefix("top1_")
    return getattr(LABEL_METRICS.get(name), "takes", "choice" if metric.endswith("accuracy") else "") == "choice"


def requirement_sentences(table: pd.DataFrame) -> Iterator[str]:
    """Say of each requirement and classifier whether it is met, by the run under which that is the least probable."""
    against = ""
    for _, rows in table.groupby(["requirement", "classifier"], sort=False) if len(table) else ():
        row = rows.sort_values("probability", na_position="first", kind="stable").iloc[0]
        what = f"{row['classifier']}: P({metric_name(row['metric'])} {row['relation']} {row['value']:.15g})"
        run = run_label(row["model"], row["reliability"])
        where = f" (lowest of {len(rows)} runs, under {run})" if len(rows) > 1 else ""
        if np.isnan(row["probability"]):
            yield f"{what} is unknown{where}, and {row['required']:g} is required: not met ({row['unknown']})"
        else:
            than, met = ("at least", "met") if row["met"] else ("below", "not met")
            share = _rounded(row["probability"], row["required"])
            against, before = f" against {row['against']}" if row["against"] else "", against
            truth = "" if against == before else against  # which is said once
            close = " (so close that another seed may say otherwise)" if row["close"] else ""
            yield f"{what} = {share}{truth}{where}, {than} the {row['required']:g} required: {met}{close}"


def _rounded(share: float, required: float) -> str:
    """Write a probability with two decimals, or as many as it takes to be on its side of what is required.

    Examples
    --------
    >>> _rounded(0.9712, 0.95), _rounded(0.9496, 0.95)
    ('0.97', '0.9496')
    """
    digits = next((n for n in range(2, 9) if (round(share, n) >= required) == (share >= required)), 9)
    return f"{share:.{digits}f}"
