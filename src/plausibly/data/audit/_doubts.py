"""What every command says of the annotations, or labels, that it read, where it may make results wrong."""

import warnings
from collections.abc import Iterator

import numpy as np
import scipy.sparse
from jaxtyping import Int, UInt64
from scipy.sparse.csgraph import connected_components

from plausibly.base.errors import AnnotationError, DataWarning
from plausibly.base.names import listed, many, same_names
from plausibly.data.annotations import Annotations
from plausibly.data.audit._annotations import identical
from plausibly.data.audit._finding import fingerprints
from plausibly.data.audit._repeats import pasted
from plausibly.data.labels import Labels


def tell_doubts(read: Annotations | Labels) -> None:
    """Warn of annotators who say the same, of names that look alike, and of a table that was pasted twice.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     tell_doubts(Annotations.from_labels([["wart", "Wart"]]))
    >>> print(told[0].message)
    The classes 'Wart' and 'wart' differ only in capitals, blanks, punctuation or leading zeros: if they mean the \
same, write them in one way.
    """
    for told in _doubts(read):
        warnings.warn(told, DataWarning, stacklevel=2)


def _doubts(read: Annotations | Labels) -> Iterator[str]:
    names = read.annotators
    for group in identical_annotators(read):
        who = listed(names[group].tolist()) if len(group) < len(names) else f"All {many(len(names), 'annotator')}"
        yield (
            f"{who} say the same of each case that they share: if they are one person, or a copy, keep one of them, "
            "since equal answers count as agreement."
        )
    labels = isinstance(read, Labels)
    texts = dict.fromkeys(one for one in read.values.tolist() if isinstance(one, str)) if labels else read.classes
    named = {"labels" if labels else "classes": texts, "cases": read.cases}
    named |= {} if (read.numbered if labels else read.anonymous) else {"annotators": names}
    for what, found in named.items():
        alike: dict[str, list[str]] = {}
        for first, again in same_names(map(str, found)):
            alike.setdefault(first, [first]).append(again)
        if alike:
            shown = listed([*map(repr, next(iter(alike.values())))])
            shown += f" (and {many(len(alike) - 1, 'further group')})" if len(alike) > 1 else ""
            yield (
                f"The {what} {shown} differ only in capitals, blanks, punctuation or leading zeros: if they mean the "
                "same, write them in one way."
            )
    if not labels and (told := pasted(read)) is not None:
        yield told


def identical_annotators(read: Annotations | Labels) -> list[Int[np.ndarray, " annotator"]]:
    """Groups of annotators who agree on all cases that they share, more than good annotators would."""
    n = len(read.annotators)
    if isinstance(read, Annotations):
        if read.anonymous or n < 2:
            return []
        who, case, prints = read.annotation_annotator, read.annotation_case, fingerprints(read)
        single = len(read.entry_class) == read.n_annotations
    else:
        if read.numbered or n < 2:
            return []
        first = np.append(True, (np.diff(read.case) != 0) | (np.diff(read.annotator) != 0))
        who, case, prints = read.annotator[first], read.case[first], _codes(read)[first]
        single = len(np.unique(prints)) < len(prints) / 2
    pairs = identical(who, case, prints, n, single=single)
    if not pairs:
        return []
    graph = scipy.sparse.coo_array((np.ones(len(pairs)), np.transpose(pairs)), shape=(n, n))
    _, group = connected_components(graph, directed=False)
    of = np.unique(group[np.ravel(pairs)])
    return [np.flatnonzero(group == one) for one in of]


def _codes(labels: Labels) -> UInt64[np.ndarray, " label"]:
    """Number of every label, the same for equal ones."""
    try:
        return labels.coded[1].astype(np.uint64)
    except AnnotationError:  # lists and mappings
        return np.unique([repr(one) for one in labels.values.tolist()], return_inverse=True)[1].astype(np.uint64)
