"""From scores and plausibilities to the two ranked lists that a metric compares."""

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from plausibly.metrics._counts import count, scale
from plausibly.metrics._inputs import BreakTies, check_plausibilities, check_predictions, check_size
from plausibly.metrics._lists import ranked


def place_lists(
    predictions: Float[ArrayLike, "case class"],
    plausibilities: Float[ArrayLike, "draw case class"],
    k: int,
    break_ties: BreakTies,
    seed: int,
) -> tuple[Int[Array, "place 1 case"], Int[Array, "place draw case"]]:
    """Check the arguments that all metrics share and rank both, the place on the first axis."""
    plausibilities = check_plausibilities(plausibilities)
    predictions = check_predictions(predictions, plausibilities.shape[1:])
    k = check_size("k", k, plausibilities.shape[2])
    predicted, plausible = ranked(predictions, k, break_ties, seed, 0), ranked(plausibilities, k, break_ties, seed, 1)
    return jnp.moveaxis(predicted, -1, 0)[:, None], jnp.moveaxis(plausible, -1, 0)


def list_metric(
    metric: str,
    predictions: Float[ArrayLike, "case class"],
    plausibilities: Float[ArrayLike, "draw case class"],
    k: int,
    break_ties: BreakTies,
    seed: int,
) -> Float[Array, "draw case"]:
    """Compute a metric that is a count at one length."""
    predicted, plausible = place_lists(predictions, plausibilities, k, break_ties, seed)
    return count(metric, predicted, plausible, k) / jnp.float32(scale(metric, k))
