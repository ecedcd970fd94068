"""Checks shared by the metrics on plain arrays: one rule, one sentence."""

from math import isfinite
from numbers import Real
from typing import Any, Literal

import jax
import jax.core
import numpy as np
from jax.typing import ArrayLike

from plausibly.base.errors import ArgumentError

BreakTies = Literal["order", "random"]


def as_array(values: ArrayLike) -> np.ndarray | jax.Array:
    """Leave JAX arrays where they are and make everything else a NumPy array."""
    try:
        return values if isinstance(values, jax.Array) else np.asarray(values)
    except ValueError as error:
        raise ArgumentError("an array is needed, but rows differ in length: give all rows the same length.") from error


def check_break_ties(break_ties: str) -> None:
    """Refuse a treatment of ties other than the two there are."""
    if break_ties not in ("order", "random"):
        raise ArgumentError(
            f'break_ties must be "order" or "random", but {break_ties!r} was given: choose one of them.'
        )


def check_better(better: Any) -> None:
    """Refuse what does not say which values of a metric are better."""
    known = isinstance(better, Real) and not isinstance(better, bool) and isfinite(better)
    if not known and (not isinstance(better, str) or better not in ("greater", "smaller")):
        raise ArgumentError(
            f'better must be "greater", "smaller" or the best value, a number, but {better!r} was given: choose one.'
        )


def check_size(name: str, size: int, n_classes: int) -> int:
    """Refuse a list length that is not a whole number between 1 and the number of classes."""
    whole = isinstance(size, int | np.integer) and not isinstance(size, bool | np.bool_)
    if not whole or not 1 <= size <= n_classes:
        raise ArgumentError(
            f"{name} must be a whole number between 1 and the number of classes, {n_classes}, but {size!r} was given: "
            f"choose a {name} in that range."
        )
    return int(size)


def check_share(name: str, share: float) -> float:
    """Refuse a share that is not a number strictly between 0 and 1."""
    if isinstance(share, bool) or not isinstance(share, Real) or not 0 < share < 1:
        raise ArgumentError(f"{name} must lie between 0 and 1, but {share!r} was given: give for example 0.9.")
    return float(share)


def answered(predictions: Any) -> Any:
    """Say in which cases a classifier gives an answer: scores that are all 0 are none."""
    return (predictions != 0).any(axis=-1)


def check_plausibilities(plausibilities: ArrayLike) -> np.ndarray | jax.Array:
    """Refuse plausibilities that are not finite, not negative and of shape (draw, case, class)."""
    plausibilities = as_array(plausibilities)
    if plausibilities.ndim != 3 or 0 in plausibilities.shape:
        raise ArgumentError(
            f"plausibilities must have the shape (draw, case, class) with none of them empty, but the shape is "
            f"{plausibilities.shape}: a single point estimate becomes one draw by plausibilities[None]."
        )
    _check_values("plausibilities", plausibilities, least=0.0)
    return plausibilities


def check_predictions(predictions: ArrayLike, shape: tuple[int, int]) -> np.ndarray | jax.Array:
    """Refuse predictions that are not finite or not of the plausibilities' (case, class) shape."""
    predictions = as_array(predictions)
    if predictions.shape != shape:
        raise ArgumentError(
            f"predictions must have the shape (case, class) of the plausibilities, {shape}, but the shape is "
            f"{predictions.shape}: give one row of scores per case and one column per class."
        )
    _check_values("predictions", predictions, least=-np.inf)
    return predictions


def _check_values(name: str, values: np.ndarray | jax.Array, least: float) -> None:
    if isinstance(values, jax.core.Tracer):  # inside a transformation there are no values to look at
        return
    values = np.asarray(values)
    if values.dtype.kind not in "fiub":
        raise ArgumentError(f"{name} must be numbers, but an array of type {values.dtype} was given: convert it first.")
    # The extremes of an array with a NaN in it are NaN, so two passes and no temporary find every offender.
    if np.isfinite(values.min()) and np.isfinite(values.max()) and values.min() >= least:
        return
    place = tuple(int(i) for i in np.argwhere(~(np.isfinite(values) & (values >= least)))[0])
    rule = "finite numbers" if least == -np.inf else "finite numbers that are not negative"
    raise ArgumentError(f"{name} must be {rule}, but {values[place]} stands at {place}: fix or leave out that row.")
