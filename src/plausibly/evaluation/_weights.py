"""How much cases count in every draw, and which of them are resampled together."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Float

from plausibly.annotations._matching import by_name
from plausibly.annotations._names import _show
from plausibly.errors import ArgumentError

_LEAST = 1e-20  # of the greatest weight: sums in single precision must neither vanish nor overflow


def check_clusters(clusters: Any, cases: np.ndarray, what: str = "cluster") -> np.ndarray:
    """Refuse clusters that do not match the cases; return the cluster of each case, its own name if none are given.

    In errors they are called `what`.

    Examples
    --------
    >>> cases = np.array(["p", "q"])
    >>> check_clusters({"q": 1, "p": 2}, cases).tolist(), check_clusters(None, cases).tolist()
    (['2', '1'], ['p', 'q'])
    """
    if clusters is None:
        return cases
    clusters = by_name(clusters, cases, what)
    if isinstance(clusters, str) or not isinstance(clusters, Iterable):
        raise ArgumentError(
            f"{what}s must be one value per case, but {_show(clusters)} was given: give a list of them."
        )
    values = list(clusters)
    if len(values) != len(cases):
        raise ArgumentError(
            f"{what}s must have one value for each of the {len(cases)} cases, but {len(values)} were given: give as "
            "many as there are cases."
        )
    for case, value in zip(cases, values, strict=True):
        if not isinstance(value, Hashable) or value is None or value != value or str(value).strip() == "":
            raise ArgumentError(f"case {str(case)!r} must belong to a {what}, but {value!r} was given: name it.")
    return np.array([str(value) for value in values])


def check_weights(weights: ArrayLike, n_draws: int, cases: np.ndarray) -> Float[np.ndarray, "draw case"]:
    """Refuse weights that do not fit; those that are the same in all draws get a single row."""
    n_cases = len(cases)
    weights = by_name(weights, cases, "weight")
    try:
        values = np.asarray(weights)
    except ValueError as error:
        raise ArgumentError(
            "weights must be an array, but rows differ in length: give all rows the same length."
        ) from error
    if values.dtype.kind not in "biuf":
        raise ArgumentError(f"weights must be numbers, but {_show(weights)} was given: convert them to numbers.")
    if values.shape not in ((n_cases,), (n_draws, n_cases)):
        raise ArgumentError(
            f"weights must have the shape (case,), {(n_cases,)}, or (draw, case), {(n_draws, n_cases)}, but the shape "
            f"is {values.shape}: give one weight per case, or per draw and case."
        )
    wrong = np.argwhere(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        place = tuple(int(at) for at in wrong[0])
        raise ArgumentError(
            f"weights must be finite numbers that are not negative, but {values[place]} stands at {place}: give 0 to "
            "what does not count."
        )
    if not values.any():
        raise ArgumentError("weights must not all be 0, but they are: give weight to at least one case.")
    if not _LEAST <= values.max() <= 1 / _LEAST:
        raise ArgumentError(
            f"the greatest weight must be between {_LEAST:g} and {1 / _LEAST:g}, but it is {values.max()}: scale them, "
            "since only their ratios count."
        )
    return values.astype(np.float32).reshape(-1, n_cases)
