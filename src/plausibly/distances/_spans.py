"""Spans: labels that mark stretches of a text, each with a tag.

A span is ``(start, end, tag)``, the end excluded, in tokens or characters; or a mapping with ``start``, ``end`` and
``tag`` or ``label``. A label is a list of spans.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from plausibly.base.checks import check_choice
from plausibly.base.errors import show
from plausibly.distances._base import Counts, Distance, Distances, Indices, as_list, each_label, flat
from plausibly.distances._objects import Lists, by_shape

Rule = Literal["lenient", "strict"]


def spans_of(label: Any) -> list[tuple[Any, Any, Any]]:
    """Read a label of spans: start, end (excluded) and tag of each; raise ValueError for any other."""
    spans = []
    for span in as_list(label, "a label of spans is a list of them", "[(start, end, tag), …]"):
        try:
            if isinstance(span, Mapping):
                start, end, tag = span["start"], span["end"], span.get("tag", span.get("label"))
            else:
                start, end, *tags = span
                (tag,) = tags or [None]
            good = start < end and np.isfinite(end - start)
            hash(tag)
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"a span is (start, end, tag), got {show(span)}; write it so") from None
        if not good:
            raise ValueError(f"a span ends after it starts, got {show(span)}; the end is excluded, so add 1 to it")
        spans.append((start, end, tag))
    return spans


class SpanF1(Distance):
    """One minus F1 between two labels with spans, in [0, 1].

    Precision is a mean over the spans of one label, recall a mean over those of the other.

    Parameters
    ----------
    range
        Score of a span. ``"lenient"``: the share of it that spans of the other label cover; ``"strict"``: 1 if the
        other label has a span with the same start and end, else 0.
    tag
        ``"lenient"``: tags are ignored; ``"strict"``: only spans with the same tag count.
    empty
        Distance between two labels without spans. Between a label without and a label with spans it is 1.

    Examples
    --------
    >>> ours, theirs = [(0, 4, "PER")], [(0, 2, "PER"), (8, 9, "LOC")]
    >>> round(SpanF1()(ours, theirs), 4), SpanF1("strict")(ours, theirs)
    (0.5, 1.0)
    """

    def __init__(self, range: Rule = "lenient", tag: Rule = "strict", *, empty: float = 0.0):
        for name, rule in (("range", range), ("tag", tag)):
            check_choice(name, rule, ("lenient", "strict"))
        self.range, self.tag, self.empty = range, tag, float(empty)
        self.bound = max(1.0, self.empty)
        self.name = f"span_f1_{range}_range_{tag}_tag"

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> tuple[Lists, Lists]:
        """Stack spans, and the ranges that they cover, with the columns start, end and tag."""
        spans = each_label(spans_of, labels)
        tags: dict[Any, int] = {}
        coded = [
            [(low, high, tags.setdefault(tag, len(tags)) if self.tag == "strict" else 0) for low, high, tag in label]
            for label in spans
        ]
        # Under a strict range spans count once each: the same one twice in a label does not match twice.
        covers = [sorted(set(label)) for label in coded] if self.range == "strict" else [_merged(one) for one in coded]
        return Lists.of(coded, _columns), Lists.of(covers, _columns)

    @flat
    def between(self, encoded: tuple[Lists, Lists], left: Indices, right: Indices) -> Distances:
        whole, covers = encoded
        ours = self._covered(whole, covers, left, right)
        theirs = self._covered(whole, covers, right, left)
        total = ours + theirs
        f1 = 2 * ours * theirs / np.where(total > 0, total, 1.0)
        neither = (whole.count[left] == 0) & (whole.count[right] == 0)
        return np.where(neither, self.empty, 1 - f1)

    def _covered(self, whole: Lists, covers: Lists, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Mean over the spans of the left labels of the share that the right ones cover."""
        found = np.zeros(len(left))
        for chosen, m, n in by_shape(whole.count[left], covers.count[right]):
            if not (m and n):
                continue
            a = whole.members[:, whole.start[left[chosen]] + np.arange(m)[:, None, None]]
            b = covers.members[:, covers.start[right[chosen]] + np.arange(n)[None, :, None]]
            same_tag = a[2] == b[2]
            if self.range == "strict":
                found[chosen] = ((a[0] == b[0]) & (a[1] == b[1]) & same_tag).any(axis=1).mean(axis=0)
            else:
                shared = np.minimum(a[1], b[1]) - np.maximum(a[0], b[0])
                share = np.maximum(shared, 0) * same_tag / (a[1] - a[0])
                found[chosen] = share.sum(axis=1).mean(axis=0)
        return found


def _columns(spans: list[tuple[float, float, int]]) -> np.ndarray:
    return np.array(spans, np.float64).reshape(-1, 3).T.copy()


def _merged(spans: list[tuple[float, float, int]]) -> list[tuple[float, float, int]]:
    """Join spans of one tag that overlap, so that nothing is covered twice."""
    found: list[tuple[float, float, int]] = []
    for low, high, tag in sorted(spans, key=lambda span: (span[2], span[0])):
        if found and found[-1][2] == tag and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]), tag)
        else:
            found.append((low, high, tag))
    return found
