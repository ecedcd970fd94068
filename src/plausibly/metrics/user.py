"""A metric of the user's own, over all draws and cases."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from plausibly.base.errors import ArgumentError
from plausibly.base.fingerprint import Captured
from plausibly.metrics.inputs import check_better, check_plausibilities, check_predictions

Function = Callable[[Float[Array, " class"], Float[Array, " class"]], Float[Array, ""]]


@dataclass(frozen=True)
class Metric:
    """Metric of one case in one draw, and whether greater or smaller values are better.

    Parameters
    ----------
    function
        Function of a classifier's scores (class,) and of plausibilities (class,) that returns a number; written in JAX.
    better
        Whether a ``"greater"`` or a ``"smaller"`` value is better; or a number, if values near it are.
    takes
        Whether predictions must be ``"probabilities"``, or ``"scores"`` on any scale.

    Raises
    ------
    ArgumentError
        If ``function`` cannot be called, or ``better`` is neither.

    Examples
    --------
    >>> brier = Metric(lambda scores, plausibility: jnp.sum((scores - plausibility) ** 2), better="smaller")
    >>> per_draw(brier, [[0.5, 0.5]], [[[1.0, 0.0]], [[0.5, 0.5]]]).tolist()
    [[0.5], [0.0]]
    """

    function: Function
    better: Literal["greater", "smaller"] | float = "greater"
    takes: Literal["scores", "probabilities"] = "scores"

    def __post_init__(self):
        if not callable(self.function):
            raise ArgumentError(
                f"a metric must be a function of scores and plausibilities, but {self.function!r} was given: "
                "write one, such as lambda scores, plausibility: scores @ plausibility."
            )
        check_better(self.better)
        if self.takes not in ("scores", "probabilities"):
            raise ArgumentError(f'takes must be "scores" or "probabilities", but {self.takes!r} was given: choose one.')


def per_draw(
    metric: Metric | Function,
    predictions: Float[ArrayLike, "case class"],
    plausibilities: Float[ArrayLike, "draw case class"],
) -> Float[Array, "draw case"]:
    """Compute a user-defined metric in every draw of every case.

    The function is compiled once for each shape and mapped over draws and cases.

    Parameters
    ----------
    metric
        Function of one case's scores (class,) and plausibilities (class,) that returns a number.
    predictions
        Finite scores.
    plausibilities
        Draws of the class distributions; finite, not negative.

    Returns
    -------
    Values of the metric.

    Raises
    ------
    ArgumentError
        If shapes do not fit, a value is not finite or a plausibility negative, or the function does not return one
        number.

    Examples
    --------
    >>> per_draw(lambda scores, plausibility: scores @ plausibility, [[1.0, 0.0]], [[[0.25, 0.75]]]).tolist()
    [[0.25]]
    """
    plausibilities = check_plausibilities(plausibilities)
    predictions = check_predictions(predictions, plausibilities.shape[1:])
    function = as_metric(metric).function
    check_function(function, plausibilities.shape[2])
    return map_draws(function, jnp.asarray(predictions), jnp.asarray(plausibilities))


def as_metric(metric: Metric | Function) -> Metric:
    """Take a bare function for a metric of which more is better, and note what either captures now."""
    metric = metric if isinstance(metric, Metric) else Metric(metric)
    return replace(metric, function=Captured(metric.function))


def check_function(function: Function, n_classes: int, name: str = "the metric") -> None:
    """Refuse a function that does not turn two vectors into one number."""
    vector = jax.ShapeDtypeStruct((n_classes,), jnp.float32)
    try:
        found = jax.eval_shape(function, vector, vector)
    except (TypeError, ValueError, LookupError, AttributeError, NameError, ArithmeticError) as error:
        raise ArgumentError(
            f"{name} must be a function of scores (class,) and plausibilities (class,) that JAX can trace, but it "
            f"failed ({str(error).splitlines()[0]}): write it with jax.numpy."
        ) from error
    shape = getattr(found, "shape", None)
    if shape != ():
        raise ArgumentError(
            f"{name} must return one number, but it returns {'no array' if shape is None else f'the shape {shape}'}: "
            "reduce over classes."
        )


@partial(jax.jit, static_argnames="function")
def map_draws(
    function: Function, predictions: Float[Array, "case class"], plausibilities: Float[Array, "draw case class"]
) -> Float[Array, "draw case"]:
    """Map a function over cases, and over draws."""
    over_cases = jax.vmap(function)
    return jax.vmap(over_cases, in_axes=(None, 0))(predictions, plausibilities)
