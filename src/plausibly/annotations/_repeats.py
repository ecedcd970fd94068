"""Rows of a long table that repeat or contradict another: found, and left out for a look at the rest."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from plausibly.annotations.io._columns import Columns, missing, to_codes
from plausibly.annotations.io._long_table import ORDERINGS, choose_columns, rank_of


@dataclass(frozen=True)
class Repeats:
    """What one annotator said of one case more than once.

    Parameters
    ----------
    n_rows
        Rows of the table.
    repeated
        (case, annotator, class) of every row that repeats an earlier or better one, which is kept.
    unordered
        (case, annotator) of those who named several classes of a case in a table that does not order them.
    n_annotations
        Pairs of a case and an annotator.
    """

    n_rows: int
    repeated: list[tuple[str, ...]]
    unordered: list[tuple[str, ...]]
    n_annotations: int


def without_repeats(columns: Columns) -> tuple[Columns, Repeats | None]:
    """Find the repeats of a long table; return it without them.

    Of two rows by one annotator with the same class of the same case the better rank is kept. A table that cannot be
    read for another reason is returned as it is, for the reader to refuse.

    Parameters
    ----------
    columns
        As for :func:`plausibly.annotations.io._long_table.parse_table`.

    Raises
    ------
    AnnotationError
        If a column is absent, or holds what names no one.
    """
    needed = choose_columns(columns, "class", ORDERINGS)
    n_rows = len(needed["case"])
    if not n_rows or any(len(missing(column)) for column in needed.values()):
        return columns, None
    (cases, case), (annotators, annotator), (classes, code) = (
        to_codes(needed[name], name) for name in ("case", "annotator", "class")
    )
    order = np.lexsort((rank_of(needed), code, annotator, case))
    same_annotation = (np.diff(case[order]) == 0) & (np.diff(annotator[order]) == 0)
    again = np.append(False, same_annotation & (np.diff(code[order]) == 0))
    repeated = np.sort(order[again])
    found = [
        (str(cases[case[row]]), str(annotators[annotator[row]]), str(classes[code[row]])) for row in repeated.tolist()
    ]
    kept = order[~again]
    new = np.append(True, (np.diff(case[kept]) != 0) | (np.diff(annotator[kept]) != 0))
    unordered = []
    if not any(name in needed for name in ORDERINGS):
        several = kept[new][np.diff(np.append(np.flatnonzero(new), len(kept))) > 1]
        unordered = [(str(cases[case[row]]), str(annotators[annotator[row]])) for row in several.tolist()]
    if found:
        keep = pa.array(np.sort(kept))
        columns = {name: column.take(keep) for name, column in columns.items()}
    return columns, Repeats(n_rows, found, unordered, int(new.sum()))
