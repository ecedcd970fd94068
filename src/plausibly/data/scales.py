"""Whether two sets of ratings are on one scale."""

import numpy as np
from jaxtyping import Float

_ENDS = (1, 5, 10, 100)  # of usual scales, from 0 or 1
_APART, _BEYOND = 1.5, 0.25  # times as far from 0, and share of ratings beyond the other's end, of another scale
_FEW = 15  # ratings, below which a scale is not known


def on_other_scale(values: Float[np.ndarray, " rating"], others: Float[np.ndarray, " rating"]) -> bool:
    """Whether two sets of ratings are on different scales, and not only at different ratings of one.

    Then they end at the ends of different scales, and a good part of one is beyond the end of the other.

    Examples
    --------
    >>> people = np.tile([0, 1], 20)
    >>> on_other_scale(np.arange(1, 41), people), on_other_scale(people[::-1], people)
    (True, False)
    """
    if min(len(values), len(others)) < _FEW or values.min() == values.max() or others.min() == others.max():
        return False
    low, high = sorted((np.abs(values), np.abs(others)), key=np.max)
    if (values.min() < 0) == (others.min() < 0) and _end(low.max()) == _end(high.max()):
        return False
    return bool(high.max() >= _APART * low.max() and (high > low.max()).mean() >= _BEYOND)


def ends_of(values: Float[np.ndarray, " rating"]) -> str:
    """Least and greatest rating, in words."""
    return f"{values.min():g} to {values.max():g}"


def _end(most: float) -> float:
    """End of the usual scale that a rating is on."""
    return next((end for end in _ENDS if most <= end), 10.0 ** np.ceil(np.log10(most)))
