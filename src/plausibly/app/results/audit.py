"""Checks of annotations and predictions: what they found."""

import pandas as pd

from plausibly.app.screen import Screen, Table, cell
from plausibly.data.audit import serious


def screen(found: pd.DataFrame, annotators: pd.DataFrame | None = None) -> Screen:
    """Checks that found something, what is serious first; with a table of `annotators`, also who is odd."""
    some, grave = found[found["count"] > 0], serious(found)
    words = f"; serious: {', '.join(grave)}" if grave else "; nothing serious" if len(some) else ""
    rows = some.sort_values("check", key=lambda names: ~names.isin(grave), kind="stable")
    meant = dict(zip(rows["check"], rows["meaning"], strict=True))
    notes = [f"{name}: {meant[name].rstrip('.')}." for name in grave]
    if annotators is not None:
        from plausibly.agreement import annotators_in_words  # with what measures agreement

        notes.append(annotators_in_words(annotators))
    shown = [(row["check"], cell(row["count"]), row["examples"]) for row in rows.to_dict("records")]
    table = Table(("check", "found", "such as"), shown, left=(0, 2))
    told = f"{len(some)} of {len(found)} checks found something" if len(some) else f"{len(found)} checks found nothing"
    return Screen(f"{told}{words}.", table, notes)
