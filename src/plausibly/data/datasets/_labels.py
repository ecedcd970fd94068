"""Labels of every type with a dial for noise: from perfect agreement to none."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from plausibly.base.checks import check_whole
from plausibly.base.errors import ArgumentError

Mixer = Callable[[Any, Any, float, np.random.Generator], Any]

_WORDS = tuple(a + b for a in ("ba", "do", "fi", "gu", "ke", "la", "mo") for b in ("ran", "sel", "tin", "vo", "zu"))
_TAGS, _PHRASES = ("LOC", "ORG", "PER"), ("NP", "PP", "VP")


def corrupt_labels(labels: Sequence[Any], kind: str, noise: float, seed: int = 0) -> list[Any]:
    """Add noise to labels: 0 leaves them as they are, 1 makes them independent of what they were.

    Each label is mixed with another one, drawn at random from all labels: numbers and corners are interpolated; entries
    of vectors, tokens of texts, leaves and categories are exchanged with probability `noise` (larger subtrees with a
    power of it); objects are dropped, and objects from the other label added, with probability `noise` squared;
    rankings are drawn again from a weighted mean of the ranks.

    Parameters
    ----------
    labels
        Labels of the same type, one per annotation.
    kind
        Type of the labels: a key of :data:`plausibly.distances.BY_TYPE`.
    noise
        Amount of noise, between 0 and 1.
    seed
        Random seed.

    Raises
    ------
    ArgumentError
        If there is no such type, or the noise is out of range.

    Examples
    --------
    >>> corrupt_labels([[0, 0], [8, 8]], "vectors", 0.0)
    [[0, 0], [8, 8]]
    """
    mix = _mixer(kind)
    if not 0 <= noise <= 1:
        raise ArgumentError(f"noise must be between 0 and 1, but {noise!r} was given: write 0.3.")
    rng = np.random.default_rng(seed)
    others = rng.integers(0, len(labels), len(labels))
    return [mix(label, labels[other], noise, rng) for label, other in zip(labels, others, strict=True)]


def simulate_labels(
    kind: str, *, noise: float, n_cases: int = 50, n_annotators: int = 4, seed: int = 0
) -> pd.DataFrame:
    """Simulate annotators who label the same cases, with noise.

    Parameters
    ----------
    kind
        Type of the labels: a key of :data:`plausibly.distances.BY_TYPE`.
    noise
        Amount of noise: at 0 all annotators give the truth, at 1 labels have nothing to do with the case
        (:func:`corrupt_labels`).
    n_cases, n_annotators
        Numbers of cases and annotators.
    seed
        Random seed.

    Returns
    -------
    pandas.DataFrame
        Table with the columns ``case``, ``annotator`` and ``label``; every annotator labels every case.

    Raises
    ------
    ArgumentError
        If there is no such type, or a number is out of range.

    Examples
    --------
    >>> simulate_labels("rankings", noise=0.0, n_cases=1, n_annotators=2)["label"].map(len).tolist()
    [10, 10]
    """
    _mixer(kind)
    check_whole("n_cases", n_cases, 1)
    check_whole("n_annotators", n_annotators, 1)
    rng = np.random.default_rng([seed, sorted(_KINDS).index(kind)])
    truth = [_KINDS[kind][0](rng) for _ in range(n_cases)]
    # What noise mixes in comes from other cases, so that its distribution is that of the truth.
    rows = []
    for annotator in range(n_annotators):
        given = corrupt_labels(truth, kind, noise, int(rng.integers(2**31)))
        rows += [(str(case), f"annotator {annotator + 1}", label) for case, label in enumerate(given, 1)]
    table = pd.DataFrame({"case": [row[0] for row in rows], "annotator": [row[1] for row in rows]})
    return table.assign(label=pd.Series([row[2] for row in rows], dtype=object))


def _mixer(kind: str) -> Mixer:
    if kind not in _KINDS:
        raise ArgumentError(f"there is no type of label {kind!r}: choose from {', '.join(_KINDS)}.")
    return _KINDS[kind][1]


def _exchange(a, b, noise, rng):
    return b if rng.random() < noise else a


def _interpolate(a, b, noise, rng):
    return (1 - noise) * a + noise * b


def _each(mix_one: Mixer, kind: type = list) -> Mixer:
    """Mix two labels part by part."""
    return lambda a, b, noise, rng: kind(mix_one(x, y, noise, rng) for x, y in zip(a, b, strict=True))


def _objects(mix_one: Mixer) -> Mixer:
    """Draw objects towards foreign ones; more rarely, drop some and add foreign ones."""

    def mix(a, b, noise, rng):
        kept = [one for one in a if rng.random() >= noise**2]
        towards = rng.integers(0, len(b), len(kept)) if len(b) else None
        moved = [one if towards is None else mix_one(one, b[towards[i]], noise, rng) for i, one in enumerate(kept)]
        return moved + [one for one in b if rng.random() < noise**2]

    return mix


_corners = _each(_interpolate, tuple)


def _span(a, b, noise, rng):
    start, end = (round(_interpolate(x, y, noise, rng)) for x, y in zip(a[:2], b[:2], strict=True))
    return (start, max(end, start + 1), _exchange(a[2], b[2], noise, rng))


def _scores(members, noise):
    return {one: noise * (len(members) - place) / len(members) for place, one in enumerate(members)}


def _order(a, b, noise, rng):
    ours, theirs = _scores(a, 1 - noise), _scores(b, noise)
    total = {one: ours.get(one, 0.0) + theirs.get(one, 0.0) for one in sorted({*a, *b})}
    size = _exchange(len(a), len(b), noise, rng)
    return sorted(total, key=lambda one: -total[one])[:size]


def _blocks(a, b, noise, rng):
    order = iter(_order([x for block in a for x in block], [x for block in b for x in block], noise, rng))
    pattern = [len(block) for block in _exchange(a, b, noise, rng)]
    blocks = [[one for _, one in zip(range(size), order, strict=False)] for size in pattern]
    rest = list(order)
    return [block for block in (*blocks, rest) if block]


def _text(a, b, noise, rng):
    ours, theirs = (label.split() if isinstance(label, str) else list(label) for label in (a, b))
    length = round(_interpolate(len(ours), len(theirs), noise, rng))
    tokens = []
    for place in range(length):
        foreign = place >= len(ours) or (place < len(theirs) and rng.random() < noise)
        tokens.append(theirs[place] if foreign else ours[place])
    return " ".join(tokens) if isinstance(a, str) else tokens


def _tree(a, b, noise, rng):
    """Exchange subtrees, large ones more rarely than small ones."""
    if rng.random() < noise ** _height(a):
        return b
    if isinstance(a, str):
        return a
    below = list(_subtrees(b))
    return (a[0], *(_tree(child, below[rng.integers(len(below))], noise, rng) for child in a[1:]))


def _height(tree) -> int:
    return 1 if isinstance(tree, str) else 1 + max(_height(child) for child in tree[1:])


def _subtrees(tree):
    if not isinstance(tree, str):
        for child in tree[1:]:
            yield child
            yield from _subtrees(child)
    else:
        yield tree


def _draw_box(rng):
    left, top = rng.uniform(0, 60, 2)
    width, height = rng.uniform(15, 40, 2)
    return (float(left), float(top), float(left + width), float(top + height))


def _draw_pose(rng):
    return [tuple(point) for point in (rng.uniform(0, 80, 2) + rng.uniform(0, 20, (5, 2))).tolist()]


def _draw_span(rng):
    start = int(rng.integers(0, 26))
    return (start, start + int(rng.integers(1, 5)), _TAGS[rng.integers(3)])


def _draw_blocks(rng):
    order, ties = rng.permutation(12)[: rng.integers(2, 6)].tolist(), rng.random(6) < 0.2
    blocks: list[list[int]] = []
    for one, tied in zip(order, ties, strict=False):
        if tied and blocks:
            blocks[-1].append(one)
        else:
            blocks.append([one])
    return blocks


def _draw_tree(rng, depth=0):
    if depth == 3 or (depth and rng.random() < 0.3):
        return _WORDS[rng.integers(len(_WORDS))]
    name = _PHRASES[rng.integers(3)] if depth else "S"
    return (name, *(_draw_tree(rng, depth + 1) for _ in range(rng.integers(2, 4))))


def _several(draw, rng):
    return [draw(rng) for _ in range(rng.integers(1, 5))]


#: Of every type of label, a draw of one and the mixture of two.
_KINDS: dict[str, tuple[Callable[[np.random.Generator], Any], Mixer]] = {
    "categories": (lambda rng: int(rng.integers(1, 6)), _exchange),
    "numbers": (lambda rng: float(rng.uniform(0, 100)), _interpolate),
    "sets": (lambda rng: sorted(set(rng.integers(0, 8, rng.integers(1, 5)).tolist())), _objects(_exchange)),
    "vectors": (lambda rng: rng.integers(0, 101, 6).tolist(), _each(_exchange)),
    "boxes": (lambda rng: _several(_draw_box, rng), _objects(_corners)),
    "keypoints": (lambda rng: _several(_draw_pose, rng), _objects(_each(_corners))),
    "spans": (lambda rng: _several(_draw_span, rng), _objects(_span)),
    "rankings": (lambda rng: rng.permutation(30)[:10].tolist(), _order),
    "text": (lambda rng: " ".join(_WORDS[i] for i in rng.integers(0, len(_WORDS), rng.integers(6, 13))), _text),
    "trees": (_draw_tree, _tree),
    "partial rankings": (_draw_blocks, _blocks),
}
