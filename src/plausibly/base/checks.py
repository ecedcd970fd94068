"""Checks of arguments that several folders share."""

from collections.abc import Iterable, Sequence
from importlib import import_module
from numbers import Integral, Real
from typing import Any

import numpy as np
from jaxtyping import Float

from plausibly.base.errors import ArgumentError


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse an argument that is not one of the choices."""
    if value not in choices:
        *others, last = (f'"{choice}"' for choice in choices)
        raise ArgumentError(f"{name} must be {', '.join(others)} or {last}, but {value!r} was given: choose one.")


def check_library(library: str, extra: str, who: str = "this distance needs") -> None:
    """Refuse to go on without an optional library that someone needs, and name the command that installs it."""
    try:
        import_module(library)
    except ImportError as error:
        raise ArgumentError(
            f"{who} the library {library!r}, which is not installed: run pip install 'plausibly[{extra}]'."
        ) from error


def to_numbers(values: Iterable[Any]) -> Float[np.ndarray, " value"]:
    """Read values as float64; NaN where one is no number."""

    def number(value: Any) -> float:
        try:
            return float(value)
        except (TypeError, ValueError):
            return np.nan

    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return values.astype(np.float64)
    return np.array([number(value) for value in values], np.float64)


def check_whole(name: str, value: object, least: int, fix: str = "") -> int:
    """Refuse a number that is not whole, or less than a limit; return it as int.

    Examples
    --------
    >>> check_whole("n_cases", 3, 1)
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ArgumentError(
            f"{name} must be a whole number of at least {least}, but {value!r} was given: {fix or f'write {least}'}."
        )
    return int(value)


def check_share(name: str, value: object, fix: str = "give a number in between") -> float:
    """Refuse what is no number from 0 to 1; return it as float."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= value <= 1:
        raise ArgumentError(f"{name} must lie between 0 and 1, but {value!r} was given: {fix}.")
    return float(value)


def check_seed(seed: object) -> int:
    """Refuse a seed that is not a whole number of 32 bits.

    Raises
    ------
    ArgumentError
        If it is not a whole number of 32 bits; JAX would reduce it modulo 2**32.
    """
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not (whole and 0 <= seed < 2**32):
        raise ArgumentError(f"seed must be a whole number from 0 to {2**32 - 1}, but {seed!r} was given: write 0.")
    return int(seed)


def are_percentages(values: Float[np.ndarray, "case class"]) -> bool:
    """Whether most rows of numbers sum to about 100, of those that are not all 0.

    Examples
    --------
    >>> are_percentages(np.array([[20, 79.5], [0, 0]])), are_percentages(np.array([[20, 79.5], [1, 0]]))
    (True, False)
    """
    totals = values.sum(axis=1, dtype=float)
    about = np.abs(totals[totals != 0] - 100) <= 1.5
    return bool(len(about) and (values >= 0).all() and about.mean() > 0.5)


def fix_of_sums(values: Float[np.ndarray, "case class"]) -> str:
    """Say how to make probabilities of numbers that do not sum to one in every case.

    Examples
    --------
    >>> fix_of_sums(np.array([[20, 80]])), fix_of_sums(np.array([[0.25, 0.8]]))
    ('divide percentages by 100.', 'if just one class is true of a case, divide its numbers by their sum.')
    """
    if are_percentages(values):
        return "divide percentages by 100."
    if values.min() >= 0 and values.max() <= 1:
        return "if just one class is true of a case, divide its numbers by their sum."
    logits = "mark logits as such (logits=True, --logits) or apply scipy.special.softmax(scores, axis=1)"
    votes = "divide votes by their sum in each case"
    if values.min() >= 0:
        return f"{votes}." if (values == np.round(values)).all() else f"{votes}, or {logits}."
    return f"{logits}."
