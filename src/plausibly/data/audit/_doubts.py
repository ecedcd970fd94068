"""What every command says of the annotations, or labels, that it read, where it may make results wrong."""

import warnings
from collections import Counter
from collections.abc import Iterator

import numpy as np
import scipy.sparse
from jaxtyping import Int, UInt64
from scipy.sparse.csgraph import connected_components

from plausibly.base.errors import AnnotationError, DataWarning
from plausibly.base.names import listed, many, misspelt, same_names
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.io.source import Source
from plausibly.data.audit._annotations import identical
from plausibly.data.audit._finding import fingerprints
from plausibly.data.audit._repeats import pasted
from plausibly.data.labels import Labels


def tell_doubts(read: Annotations | Labels, source: Source | None = None) -> None:
    """Warn of names that look alike, of annotators who say the same, and of a table that was pasted twice.

    The first label that is spelled in the rarer way is named by its row, if a `source` is a table.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     tell_doubts(Annotations.from_labels([["wart", "wart", "Wart"]]))
    >>> print(told[0].message)
    case '0', annotator '3': the classes 'Wart' and 'wart' differ only in capitals, blanks, punctuation or leading \
zeros: if they mean the same, write them in one way.
    """
    for told in _doubts(read, source):
        warnings.warn(told, DataWarning, stacklevel=2)


def _doubts(read: Annotations | Labels, source: Source | None) -> Iterator[str]:
    names = read.annotators
    labels = isinstance(read, Labels)
    classes, counts = _classes(read)
    what = "labels" if labels else "classes"
    for rare, near in misspelt(classes, counts) if 2 * len(classes) < sum(counts) else ():  # not of texts
        one, other = (f"{classes[at]!r} ({counts[at]:,} of {sum(counts):,})" for at in (rare, near))
        yield (
            f"{_place(read, source, classes[rare])}: {one} looks like {other} misspelt: correct it in the file, since "
            "it counts as another class."
        )
    named = {what: classes, "cases": read.cases}
    named |= {} if (read.numbered if labels else read.anonymous) else {"annotators": names}
    for what, found in named.items():
        alike: dict[str, list[str]] = {}
        for first, again in same_names(map(str, found)):
            alike.setdefault(first, [first]).append(again)
        if alike:
            group = next(iter(alike.values()))
            shown = listed([*map(repr, group)])
            shown += f" (and {many(len(alike) - 1, 'further group')})" if len(alike) > 1 else ""
            of = {one: counts[classes.index(one)] for one in group} if found is classes else {}
            yield (
                f"{_place(read, source, min(of, key=of.__getitem__)) + ': t' if of else 'T'}he {what} {shown} differ "
                "only in capitals, blanks, punctuation or leading zeros: if they mean the same, write them in one way."
            )
    for group in identical_annotators(read):
        who = listed(names[group].tolist()) if len(group) < len(names) else f"All {many(len(names), 'annotator')}"
        yield (
            f"{who} say the same of each case that they share: if they are one person, or a copy, keep one of them, "
            "since equal answers count as agreement."
        )
    if not labels and (told := pasted(read)) is not None:
        yield told


def _classes(read: Annotations | Labels) -> tuple[list[str], list[int]]:
    """Names of classes, or labels that are text, and how often each is given."""
    if isinstance(read, Annotations):
        return read.classes.tolist(), np.bincount(read.entry_class, minlength=read.n_classes).tolist()
    found = Counter(one for one in read.values.tolist() if isinstance(one, str))
    return list(found), list(found.values())


def _place(read: Annotations | Labels, source: Source | None, name: str) -> str:
    """Say where a class, or label, is named first: the row of a table, and the case and the annotator."""
    if isinstance(read, Annotations):
        at = read.entry_annotation[np.flatnonzero(read.classes[read.entry_class] == name)[0]]
        case, who = read.annotation_case[at], read.annotation_annotator[at]
    else:
        at = next(row for row, one in enumerate(read.values.tolist()) if one == name)
        case, who = read.case[at], read.annotator[at]
    place = f"case {str(read.cases[case])!r}, annotator {str(read.annotators[who])!r}"
    table = source if source is None or source.parts is None else source.parts.get(str(read.annotators[who]))
    if table is None or not table.names or table.path is None:
        return place
    rows = [row for cells in table.texts.values() for row in np.flatnonzero(cells == name)]
    return f"{table.path}: " + (f"row {min(rows) + 1} ({place})" if rows else place)


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
