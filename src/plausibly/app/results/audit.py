"""Checks of annotations and predictions: what they found."""

import pandas as pd

from plausibly.agreement import odd_annotators
from plausibly.app.screen import Screen, Table, cell
from plausibly.data.annotations import Annotations, Scores
from plausibly.data.audit import serious


def screen(found: pd.DataFrame, annotations: Annotations | Scores) -> Screen:
    """Checks that found something, what is serious first, and which annotators are odd."""
    some, grave = found[found["count"] > 0], serious(found)
    odd = odd_annotators(annotations)
    words = f"; serious: {', '.join(grave)}" if grave else "; nothing serious" if len(some) and not odd else ""
    rows = some.sort_values("check", key=lambda names: ~names.isin(grave), kind="stable")
    meant = dict(zip(rows["check"], rows["meaning"], strict=True))
    notes = [f"{name}: {meant[name].rstrip('.')}." for name in serious(found, told=False)]
    shown = [(row["check"], cell(row["count"]), row["examples"]) for row in rows.to_dict("records")]
    table = Table(("check", "found", "such as"), shown, left=(0, 2))
    told = f"{len(some)} of {len(found)} checks found something" if len(some) else f"{len(found)} checks found nothing"
    return Screen(" ".join([f"{told}{words}.", *odd]), table, notes)
