"""Tables of scores: a row per case and annotator, in ``.csv`` and ``.parquet`` files and data frames."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly.annotations._names import numbered, to_names
from plausibly.annotations._rows import as_first_shown, places
from plausibly.annotations.io._columns import Columns, to_codes
from plausibly.annotations.io._long_table import numbers_of, rows_of, without_names
from plausibly.errors import AnnotationError


def parse_scores(columns: Columns, anonymous: bool) -> dict[str, Any]:
    """Read the columns of a long table of scores, as fields of :class:`plausibly.annotations.Scores`."""
    anonymous = anonymous or without_names(columns)
    columns = rows_of(columns, "score")
    cases, case = to_codes(columns["case"], "case")
    annotators, annotator = to_codes(columns["annotator"], "annotator")
    pair = case.astype(np.int64) * len(annotators) + annotator
    score = numbers_of(columns, "score")
    _, first, times = np.unique(pair, return_index=True, return_counts=True)
    for row in np.sort(first[times > 1])[:1].tolist():
        raise AnnotationError(
            f"case {str(cases[case[row]])!r}, annotator {str(annotators[annotator[row]])!r}: the case is scored twice; "
            "keep one of the scores, or give a second opinion an annotator name of its own"
        )
    return arrange_scores(to_names(cases, "case"), to_names(annotators, "annotator"), anonymous, case, annotator, score)


def arrange_scores(
    cases: np.ndarray,
    annotators: np.ndarray,
    anonymous: bool,
    case: Int[np.ndarray, " row"],
    annotator: Int[np.ndarray, " row"],
    score: Float[np.ndarray, " row"],
) -> dict[str, Any]:
    """Sort by case and annotator; annotators in the order in which the sorted cases first show them."""
    annotator, names = as_first_shown(case, annotator, annotators)
    order = np.lexsort((annotator, case))
    case, annotator, score = case[order], annotator[order], score[order]
    if anonymous:
        annotator = places(case)
        names = numbered(annotator.max() + 1)
    return {
        "cases": cases,
        "annotators": names,
        "anonymous": anonymous,
        "annotation_case": case,
        "annotation_annotator": annotator,
        "score": score,
    }
