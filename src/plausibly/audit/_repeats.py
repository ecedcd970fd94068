"""What one annotator said of one case several times, under one name or under two."""

from dataclasses import replace

import numpy as np
from jaxtyping import UInt64

from plausibly.annotations import Annotations
from plausibly.annotations._rows import Rows
from plausibly.audit._finding import SHOWN, Finding, known_names
from plausibly.audit._names import numbered_names


def without_repeats(rows: Rows) -> tuple[Rows, Finding]:
    """Leave out rows of a long table that repeat another; of two with the same class the better rank is kept."""
    order = np.lexsort((rows.rank, rows.class_index, rows.annotator, rows.case))
    case, annotator = rows.case[order], rows.annotator[order]
    same = (np.diff(case) == 0) & (np.diff(annotator) == 0)
    again = np.append(False, same & (np.diff(rows.class_index[order]) == 0))
    repeated = [
        f"{rows.cases[rows.case[row]]} / {rows.annotators[rows.annotator[row]]} / {rows.classes[rows.class_index[row]]}"
        for row in np.sort(order[again]).tolist()
    ]
    share = f"{len(repeated) / max(len(order), 1):.0%}".replace("%", " %")
    if repeated:
        kept = np.sort(order[~again])
        fields = {what: getattr(rows, what)[kept] for what in ("case", "annotator", "class_index", "rank")}
        rows = replace(rows, **fields)
    return rows, Finding("repeated rows", len(repeated), len(order), repeated, share)


def repeated_annotations(annotations: Annotations, prints: UInt64[np.ndarray, " annotation"]) -> Finding:
    """Find what one annotator said of one case several times, under two names."""
    seconds = numbered_names(known_names(annotations).tolist())
    who, case = annotations.annotation_annotator, annotations.annotation_case
    second = np.flatnonzero(np.isin(who, list(seconds))) if not annotations.anonymous else np.array([], np.int64)
    keys = case.astype(np.int64) * len(annotations.annotators) + who
    first = np.array([seconds[code] for code in who[second].tolist()], np.int64)
    wanted = case[second].astype(np.int64) * len(annotations.annotators) + first
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    both = keys[at] == wanted
    found = second[both]
    same = int((prints[found] == prints[at[both]]).sum())
    return Finding(
        "repeated annotations",
        len(found),
        0 if annotations.anonymous else annotations.n_annotations,
        [f"{annotations.cases[case[r]]} / {annotations.annotators[who[r]]}" for r in found[:SHOWN]],
        f", and {same:,} of them give the same answer" if same else "",
    )
