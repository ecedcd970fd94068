"""Disagreements δ between two labels, for many pairs at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from plausibly.agreement.pairs import different
from plausibly.base.errors import ArgumentError, DistanceError, show, suggest
from plausibly.data.annotations.io.answers import literal
from plausibly.data.labels.table import to_objects
from plausibly.distances import BY_TYPE, DISTANCES, Distance, Jaccard, LabelRefused, PairRefused, find_distance

Compare: TypeAlias = Callable[[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]], Float[np.ndarray, " pair"]]

NUMERIC = ("squared", "absolute", "hinge")
NAMES = ("nominal", *NUMERIC)

_PART = 1 << 17  # pairs of different labels that a distance compares at a time

#: Distances of labels that have parts, which in a cell of a table are written as text.
_OF_PARTS = tuple(
    {
        type(one)
        for of in ("sets", "vectors", "boxes", "keypoints", "spans", "rankings", "partial rankings")
        for one in BY_TYPE[of].values()
    }
)


@dataclass(frozen=True)
class Delta:
    """A disagreement: a formula, or a distance between two labels.

    A distance is taken to be symmetric; `tolerance` is λ of ``"hinge"``.
    """

    name: str
    distance: Distance | None = None
    tolerance: float = 0.0

    @property
    def is_numeric(self) -> bool:
        """Whether labels have to be numbers."""
        return self.distance is None and self.name in NUMERIC

    @property
    def pairs_of_seconds(self) -> int:
        """Number of pairs that take seconds: by a formula, by arrays of labels' parts, or by a call for each."""
        return 20_000_000 if self.distance is None else 20_000 if self.distance.slow else 500_000

    def compare(self, values: np.ndarray, n_labels: int | None = None) -> Compare:
        """Return a function that gives the disagreements of pairs of these labels, by their indices.

        `values` are codes for ``"nominal"``, float64 for numeric disagreements, else objects; the first `n_labels` of
        them (all if None) are the annotators'. A distance that depends on how frequent labels are (ordinal) counts
        those only, so that no model alters the annotators' disagreement. Raises LabelRefused if a distance cannot take
        a label.
        """
        if self.distance is not None:
            return _by_distance(self.distance, values, len(values) if n_labels is None else n_labels)
        if self.name == "nominal":
            return lambda left, right: (values[left] != values[right]).astype(np.float64)
        if self.name == "squared":
            return lambda left, right: (values[left] - values[right]) ** 2
        return lambda left, right: np.maximum(np.abs(values[left] - values[right]) - self.tolerance, 0.0)


def find_delta(delta: str | Callable[[Any, Any], float], tolerance: float | None = None) -> Delta:
    """Find a disagreement by a name in :data:`NAMES` or in ``plausibly.distances``, or make one of a function.

    `tolerance` is λ of ``"hinge"``, at least 0: the distance of two numbers up to which they do not disagree.
    """
    if tolerance is not None and not (isinstance(delta, str) and delta == "hinge"):
        raise ArgumentError(f"only hinge has a tolerance, but {tolerance!r} was given with {delta!r}: leave it out.")
    if isinstance(delta, str) and delta in NAMES:
        if delta == "hinge" and (tolerance is None or not 0 <= tolerance < np.inf):
            raise ArgumentError(
                f"hinge needs a tolerance of at least 0, but {tolerance!r} was given: pass for example tolerance=1."
            )
        return Delta(delta, None, tolerance or 0.0)
    try:
        distance = find_distance(delta)
    except ArgumentError:
        names = [*dict.fromkeys([*NAMES, *DISTANCES])]
        fix = suggest(delta, names, f"choose from {', '.join(names)}, or pass a function.")
        raise ArgumentError(f"there is no distance {show(delta)}: {fix}") from None
    return Delta(delta if isinstance(delta, str) else distance.name, distance)


def _parsed(value: Any, distance: Distance) -> Any:
    """Read text as what it stands for; a set may also be text such as ``a|b``, which its distance reads."""
    if isinstance(value, str) and (not isinstance(distance, Jaccard) or value.lstrip()[:1] in ("[", "(", "{")):
        return literal(value)
    return value


def _by_distance(distance: Distance, values: np.ndarray, n_labels: int) -> Compare:
    """Compare each pair of different labels once in a call."""
    if isinstance(distance, _OF_PARTS):
        values = to_objects(_parsed(value, distance) for value in values.tolist())
    first, code = different(values)
    distinct = values[first].tolist()
    try:
        encoded = distance.encode(distinct, np.bincount(code[:n_labels], minlength=len(distinct)))
    except LabelRefused as error:
        raise LabelRefused(str(error), int(first[error.position])) from error
    known: dict[int, float] = {}  # of a slow distance, from earlier calls

    def between(keys: np.ndarray) -> np.ndarray:
        a, b = np.divmod(keys, len(distinct))
        try:
            found = distance.between(encoded, a, b)
        except PairRefused as error:
            pair = f"{show(distinct[error.left])} and {show(distinct[error.right])}"
            raise DistanceError(f"{error} on {pair}; correct the function") from error.__cause__
        for bad in np.flatnonzero(~((found >= 0) & (found < np.inf)))[:1]:
            raise ArgumentError(
                f"a disagreement is a finite number of at least 0, but that of {show(distinct[a[bad]])} and "
                f"{show(distinct[b[bad]])} is {found[bad]:g}: correct the function."
            )
        return found

    def compare(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        # Annotators' and models' labels keep their order within a pair.
        keys, place = np.unique(code[left] * len(distinct) + code[right], return_inverse=True)
        if distance.slow:
            new = np.array([key for key in keys.tolist() if key not in known], np.int64)
            known.update(zip(new.tolist(), between(new).tolist(), strict=True))
            return np.array([known[key] for key in keys.tolist()])[place]
        parts = [between(keys[begin : begin + _PART]) for begin in range(0, len(keys), _PART)]
        return np.concatenate([*parts, np.empty(0)])[place]

    return compare
