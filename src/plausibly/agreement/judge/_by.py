"""A judgement by group of cases or of annotators."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from plausibly.agreement.discrepancy._delta import ratio_of
from plausibly.agreement.judge._test_result import AlternativeAnnotatorTest
from plausibly.agreement.judge.judgement import Judgement
from plausibly.base.bootstrap import interval_of_known, resampled_sums
from plausibly.base.errors import AnnotationError, ArgumentError, show
from plausibly.data.groups import crossed
from plausibly.data.labels.container import Labels, by_case
from plausibly.evaluation.summaries import FEW, probability_greatest

By = str | Sequence[str] | Mapping[str, Mapping[str, Any]] | None


def columns_of(by: By) -> list[str]:
    """Names of columns of the labels; none where groups are given as mappings. Refuses anything else."""
    if by is None or isinstance(by, Mapping):
        return []
    names = [by] if isinstance(by, str) else list(by)
    if not names or not all(isinstance(name, str) for name in names):
        raise ArgumentError(
            f"by names columns of the labels, or is a mapping from names to mappings, but {show(by)} was given: write "
            'for example by="language".'
        )
    return names


def by_group(result: Judgement, by: By, fitted: Int[np.ndarray, " case"] | None, *, intersections: bool) -> Judgement:
    """Add numbers by group of cases or of annotators to the judgement of all.

    `fitted` is, for every case of the model of annotators, its index in the labels.
    """
    labels = result.test.comparison.labels
    columns = dict(by) if isinstance(by, Mapping) else dict.fromkeys(columns_of(by))
    of_cases: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    frames = []
    for name, values in columns.items():
        if values is None and (people := _of_annotators(labels, name)) is not None:
            frames.append(_by_annotators(result, name, *people))
        else:
            of_cases[name] = by_case(name if values is None else values, labels, "group")
    if intersections:
        of_cases |= crossed(of_cases)
    frames = [_by_cases(result, name, *found, fitted) for name, found in of_cases.items()] + frames
    return replace(result, by=pd.concat(frames, ignore_index=True))


def _of_annotators(labels: Labels, name: str) -> tuple[np.ndarray, Int[np.ndarray, " annotator"]] | None:
    """The value of each annotator, of a column that varies within cases but not within annotators."""
    names, code = labels.names_of(name)
    first = code[labels.start[:-1][labels.case]]
    if (first == code).all():
        return None
    value = np.full(len(labels.annotators), -1)
    value[labels.annotator] = code
    for label in np.flatnonzero(value[labels.annotator] != code)[:1]:
        raise AnnotationError(
            f"{labels.where(label)}: column {name!r} has several values in this case and for this annotator; groups "
            "are of cases or of annotators, so give each case, or each annotator, one"
        )
    return names, value


def _by_cases(
    result: Judgement, column: str, names: np.ndarray, code: np.ndarray, fitted: np.ndarray | None
) -> pd.DataFrame:
    test, compared = result.test, replace(result.test.comparison, by=(names, code))
    used, n = np.unique(code[compared.included], return_counts=True)
    ratios, statistics = compared.by_group()["ratio"].to_numpy().reshape(len(used), -1), None
    if compared.several_clusters:
        sums = resampled_sums(compared._statistics_by_group(), compared._cluster, result.replicates, result.seed)
        statistics = sums.reshape(len(sums), len(used), -1)
    rows = []
    for number, model in enumerate(result.models):
        frame = pd.DataFrame({"by": column, "group": names[used], "of": "cases", "model": model, "n_cases": n})
        frame["ratio"] = ratios[:, number]
        if statistics is not None:
            own = ratio_of(statistics[..., 2 + number], statistics[..., 1])
            drawn = np.where(statistics[..., 0] > 0, own, np.nan)
            frame["ratio_lower"], frame["ratio_upper"] = interval_of_known(drawn, result.ci_prob)
            frame["p_worst"] = probability_greatest(drawn.T, n < FEW)
        frame["advantage"] = _advantages(test, model, code[test.case], used)
        if model in result.fits and result.fits[model].converged and fitted is not None:
            frame = frame.join(_accuracy(result, model, code[fitted], used, fitted, n < FEW))
        rows.append(frame.assign(few=n < FEW))
    return pd.concat(rows, ignore_index=True)


def _accuracy(
    result: Judgement, model: str, code: np.ndarray, used: np.ndarray, fitted: np.ndarray, few: np.ndarray
) -> pd.DataFrame:
    """Accuracy against the inferred truth by group, and its difference from all other cases."""
    right = result.fits[model].right
    random = np.random.default_rng(result.seed)
    cluster = np.unique(result.test.comparison.clusters[fitted], return_inverse=True)[1]
    weight = random.standard_exponential((len(right), cluster.max() + 1))[:, cluster]
    hit = weight * (random.random(right.shape) < right)
    member = (code[:, None] == used).astype(float)
    n, hits = weight @ member, hit @ member
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = hits / n
        rest = (hits.sum(axis=1, keepdims=True) - hits) / (n.sum(axis=1, keepdims=True) - n)
    frame = pd.DataFrame(index=range(len(used)))
    for name, drawn in (("accuracy", accuracy), ("difference", accuracy - rest)):
        frame[name] = drawn.mean(axis=0)
        frame[f"{name}_lower"], frame[f"{name}_upper"] = interval_of_known(drawn, result.ci_prob)
    return frame.assign(p_least_accurate=probability_greatest(-accuracy.T, few))


def _by_annotators(
    result: Judgement, column: str, names: np.ndarray, code: Int[np.ndarray, " annotator"]
) -> pd.DataFrame:
    test, compared = result.test, result.test.comparison
    sets = compared.label_sets
    counted = compared.included[sets.case]
    tested = np.unique(test.annotator)
    used = np.unique(code[code >= 0])
    rows = []
    for model in result.models:
        frame = pd.DataFrame({"by": column, "group": names[used], "of": "annotators", "model": model})
        own = [counted & (code[sets.annotator] == one) for one in used]
        frame["n_cases"] = [len(np.unique(sets.case[one])) for one in own]
        frame["discrepancy"] = [float(compared.to_sets[model][one].mean()) if one.any() else np.nan for one in own]
        frame["advantage"] = _advantages(test, model, code[test.annotator], used)
        if compared.several_clusters:
            each = test._resampled_advantages(model, result.replicates, result.seed)
            member = (code[tested][:, None] == used).astype(float)
            with np.errstate(invalid="ignore"):
                mean = np.nan_to_num(each) @ member / (~np.isnan(each) @ member)
            frame["advantage_lower"], frame["advantage_upper"] = interval_of_known(mean, result.ci_prob)
            frame["p_worst"] = probability_greatest(-mean.T, np.array(frame["n_cases"]) < FEW)
        frame["few"] = frame["n_cases"] < FEW
        rows.append(frame)
    return pd.concat(rows, ignore_index=True)


def _advantages(
    test: AlternativeAnnotatorTest, model: str, group: Int[np.ndarray, " comparison"], used: np.ndarray
) -> list[float]:
    """Mean over annotators of the share of cases in which the model is at least as close, by group."""
    people = len(test.comparison.labels.annotators)
    cells, cell = np.unique(group * people + test.annotator, return_inverse=True)
    shares = np.bincount(cell, test.differences[model] <= 0) / np.bincount(cell)
    of_group = cells // people
    return [float(shares[of_group == number].mean()) if (of_group == number).any() else np.nan for number in used]
