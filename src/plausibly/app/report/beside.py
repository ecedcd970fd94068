"""Annotators as readers, beside classifiers that are evaluated against gold labels."""

from typing import Any, NamedTuple

import pandas as pd

from plausibly import agreement
from plausibly.base.errors import PlausiblyError
from plausibly.base.names import many
from plausibly.data.annotations import Annotations
from plausibly.data.labels.gold import Gold
from plausibly.metrics.words import metric_name

_METRICS = ("accuracy", "sensitivity", "specificity")  #: of decisions
_REPLICATES = 200  # of weights, where not everybody annotated every case


class Beside(NamedTuple):
    """Annotators against gold labels: a row each, and what they come to."""

    table: pd.DataFrame
    sentence: str


def readers_beside(annotations: Annotations, gold: Gold, positive: str | None, ci_prob: float) -> Beside | None:
    """Measure annotators against gold labels; None if they have no names, are fewer than two, or rank classes."""
    try:
        names = _METRICS if positive is not None else _METRICS[:1]
        asked: dict[str, Any] = {"positive": positive, "ci_prob": ci_prob, "replicates": _REPLICATES}
        found = {name: agreement.reader_study(annotations, gold=gold, metric=name, **asked) for name in names}
    except PlausiblyError:
        return None
    table = next(iter(found.values())).by_reader.drop(columns=["kind", "auroc"], errors="ignore")
    told = []
    for name, study in found.items():
        mean, lower, upper = study.means_of_readers.loc[0, ["effect", "lower", "upper"]]
        ends = "" if pd.isna(lower) else f" ({lower:.2f} to {upper:.2f})"
        told.append(f"{metric_name(name)} {mean:.2f}{ends}")
    return Beside(
        table.rename(columns={"who": "annotator"}),
        f"For comparison, {many(len(table), 'annotator')} against the same gold labels, on average: {', '.join(told)}. "
        "To compare a classifier with them, for other readers and cases, run plausibly readers.",
    )
