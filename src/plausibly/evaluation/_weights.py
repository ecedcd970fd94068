"""How much cases count, in every draw."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from jax.typing import ArrayLike
from jaxtyping import Float

from plausibly.annotations._names import _show, some
from plausibly.errors import ArgumentError

_LEAST = 1e-20  # of the greatest weight: sums in single precision must neither vanish nor overflow


def _by_name(weights: Any, cases: np.ndarray) -> Any:
    """Put weights that know their cases, a pandas Series or an xarray DataArray, into the order of the cases.

    A Series whose index counts 0, 1, … is in their order already.
    """
    if isinstance(weights, xr.DataArray):
        if "case" not in weights.dims or "case" not in weights.coords:
            return weights
        known, axis = pd.Index(weights["case"].values), weights.dims.index("case")
    elif isinstance(weights, pd.Series) and not weights.index.equals(pd.RangeIndex(len(weights))):
        known, axis = weights.index, 0
    else:
        return weights
    known = known.astype(str)
    if not known.is_unique:
        name = known[known.duplicated()][0]
        raise ArgumentError(f"weights name the case {name!r} several times: give each case one.")
    place = known.get_indexer(pd.Index(cases.astype(object)))
    if (place < 0).any():
        raise ArgumentError(f"there is no weight for case {some(cases[place < 0])}: weigh every case, by its name.")
    if len(known) > len(cases):
        extra = known.difference(pd.Index(cases.astype(object)))
        raise ArgumentError(f"there is a weight for case {some(extra)}, which nobody annotated: remove it.")
    return np.take(np.asarray(weights), place, axis=axis)


def check_weights(weights: ArrayLike, n_draws: int, cases: np.ndarray) -> Float[np.ndarray, "draw case"]:
    """Refuse weights that do not fit; those that are the same in all draws get a single row."""
    n_cases = len(cases)
    weights = _by_name(weights, cases)
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
