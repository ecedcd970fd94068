"""Strategies of a replay: how urgently each case is to be annotated."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly._arviz import Posterior
from plausibly.annotations._names import _show
from plausibly.errors import ArgumentError
from plausibly.posterior import slots_of, stacked_draws

Strategy = str | Callable[..., Any]
#: Of the posterior of some cases, predictions, numbers of visible annotations, and values; to a number for each case.
Score = Callable[[Posterior, Mapping[str, np.ndarray], np.ndarray, np.ndarray], np.ndarray]


@dataclass(eq=False)
class Seen:
    """What is known of all copies.

    Attributes
    ----------
    mean, variance
        Of the metric of each copy, by row.
    score
        What the strategy says.
    """

    mean: Float[np.ndarray, "row copy"]
    variance: Float[np.ndarray, "row copy"]
    score: Float[np.ndarray, " copy"]

    def update(self, copies: Int[np.ndarray, " chosen"], other: "Seen") -> None:
        """Replace what was known of some copies."""
        self.mean[:, copies], self.variance[:, copies] = other.mean, other.variance
        self.score[copies] = other.score


def entropy_of_means(posterior: Posterior) -> Float[np.ndarray, " case"]:
    """Entropy of the mean plausibilities of each case, in nats; unnamed classes share a remainder equally.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "b"], ["a", "a"]])
    >>> posterior = pb.aggregate(annotations, "dirichlet-categorical", seed=0, progress=False)
    >>> bool(np.greater(*entropy_of_means(posterior)))
    True
    """
    slots = slots_of(posterior)
    mean = stacked_draws(posterior).mean(axis=0, dtype=float)
    terms = -mean * np.log(np.maximum(mean, 1e-300) / slots.n_classes)
    return np.bincount(slots.case, terms, len(slots.start) - 1)


STRATEGIES: dict[str, Score] = {
    "plan": lambda posterior, predictions, visible, value: value,
    "random": lambda posterior, predictions, visible, value: np.zeros(len(visible)),
    "entropy": lambda posterior, predictions, visible, value: entropy_of_means(posterior),
    "fewest labels": lambda posterior, predictions, visible, value: -visible.astype(float),
}


def parse_strategies(given: Strategy | Sequence[Strategy]) -> dict[str, Score]:
    """Strategies by name; functions have their own."""
    listed = [given] if isinstance(given, str) or callable(given) else list(given)
    found: dict[str, Score] = {}
    for one in listed:
        if isinstance(one, str) and one in STRATEGIES:
            found[one] = STRATEGIES[one]
        elif callable(one):
            name = getattr(one, "__name__", type(one).__name__)
            found[name if name not in found else f"{name} {len(found) + 1}"] = _of_function(one)
        else:
            raise ArgumentError(
                f"a strategy must be one of {', '.join(STRATEGIES)} or a function, but {_show(one)} was given."
            )
    if not found:
        raise ArgumentError(f"a replay needs a strategy, but none was given: choose from {', '.join(STRATEGIES)}.")
    return found


def _of_function(function: Callable[..., Any]) -> Score:
    return lambda posterior, predictions, visible, value: function(posterior, predictions)
