"""Something known of every case, such as its patient or its group, as a column of labels or a mapping."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Int

from plausibly.errors import AnnotationError, ArgumentError, show
from plausibly.groups import check_clusters
from plausibly.labels._container import Labels


def column_names(*givens: Any) -> list[str]:
    """List the columns that have to be read, of what is a name of a column or a mapping."""
    return [given for given in givens if isinstance(given, str)]


def by_case(given: str | Mapping | None, labels: Labels, what: str) -> tuple[np.ndarray, Int[np.ndarray, " case"]]:
    """Find the value that each case has in a column or a mapping, such as its cluster.

    Returns the distinct values, as text, sorted, and for every case an index into them, −1 for a case without labels.
    `given` is the name of a column that was read with the labels, a mapping from case to value, or None, for which each
    case is its own. A case without labels may lack a value. Raises AnnotationError if a case has two values, and
    ArgumentError if `given` is something else or lacks a case. In errors the value is called `what`.
    """
    there = np.diff(labels.start) > 0
    if given is None:
        return labels.cases, np.arange(len(labels.cases))
    code = np.full(len(labels.cases), -1)
    if isinstance(given, str):
        names, of_label = labels.names_of(given)
        code[there] = of_label[labels.start[:-1][there]]
        for label in np.flatnonzero(code[labels.case] != of_label):
            case = labels.case[label]
            raise AnnotationError(
                f"case {str(labels.cases[case])!r} has two values in column {given!r}, {str(names[code[case]])!r} and "
                f"{str(names[of_label[label]])!r} (row {labels.rows[label] + 1}); a case belongs to one {what}"
            )
        return names, code
    if not isinstance(given, Mapping):
        raise ArgumentError(
            f"a {what} is the name of a column, or a mapping from case to {what}, but {show(given)} was given."
        )
    cases = labels.cases[there]
    found = {str(case): value for case, value in given.items() if str(case) in set(cases.tolist())}
    names, code[there] = np.unique(check_clusters(found, cases, what), return_inverse=True)
    return names, code
