"""Effects where readers read different cases: weights of readers times weights of cases (Owen & Eckles 2012)."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float, Int

from plausibly.agreement.readers._compare import Effect
from plausibly.agreement.readers._figures import Figure

_NUMBERS = 2**22  # weights in memory at once
Parts = tuple[Float[np.ndarray, "*weight reader"], Float[np.ndarray, "*weight reader"]]


def parts_of_readers(
    figure: Figure, truth: np.ndarray, answers: Float[np.ndarray, "reader case"], read: np.ndarray, weights: np.ndarray
) -> Parts:
    """Sums above and below the line of every reader, over the cases that are theirs in `read`."""
    found = [figure.parts(truth[own], one[own], weights[..., own]) for one, own in zip(answers, read, strict=True)]
    above, below = (np.stack(sums, axis=-1) for sums in zip(*found, strict=True))
    return above, below


def product_effect(
    sides: Sequence[Callable[[np.ndarray], Parts]],
    unit: Int[np.ndarray, " case"],
    n_readers: int,
    replicates: int,
    seed: int,
) -> Effect:
    """Effect of the first side, minus the second if there is one, pooled over readers.

    Weights of readers have the Dirichlet distribution under which a weighted mean of J numbers varies by their variance
    over J, and so have weights of cases. Products of both count three times what is due to a single reading; weights of
    readers alone, and of cases alone, count it once each. So twice the sum of the latter two variances, less that of
    products, counts it once; it is no less than either of the two. Degrees of freedom are as in :class:`Effect`: those
    of the readers, times the square of the ratio of the variance to the part that is due to readers.
    """
    random = np.random.default_rng(seed)

    def drawn(n: int, times: int) -> np.ndarray:
        return random.dirichlet(np.full(n, (n - 2) / n), times) * n

    def pooled(parts: Sequence[Parts], of_reader: np.ndarray) -> np.ndarray:
        ratios = [(of_reader * above).sum(axis=-1) / (of_reader * below).sum(axis=-1) for above, below in parts]
        return ratios[0] - ratios[1] if len(ratios) > 1 else ratios[0]

    def variance(values: np.ndarray) -> float:
        return float(np.var(values[np.isfinite(values)], ddof=1))

    n_units = int(unit.max()) + 1
    once = [side(np.ones((1, len(unit)))) for side in sides]
    step = max(1, _NUMBERS // len(unit))
    drawn_parts = []
    for first in range(0, replicates, step):
        of_case = drawn(n_units, min(step, replicates - first))[:, unit]
        drawn_parts.append([np.array(side(of_case)) for side in sides])
    weighted = [np.concatenate(parts, axis=1) for parts in zip(*drawn_parts, strict=True)]
    of_reader = drawn(n_readers, replicates)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_case, by_reader = variance(pooled(weighted, np.ones(n_readers))), variance(pooled(once, of_reader))
        both = variance(pooled(weighted, of_reader))
    spread = max(2 * (by_case + by_reader) - both, by_case, by_reader)
    df = (n_readers - 1) * (spread / by_reader) ** 2 if by_reader else np.inf
    value, unknown = float(pooled(once, np.ones(n_readers))[0]), np.nan
    return Effect(value, unknown, unknown, unknown, n_readers, n_units, (spread**0.5, df))
