"""Effects where readers read different cases: weights of readers times weights of cases (Owen & Eckles 2012)."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float, Int

from plausibly.agreement.readers._compare import Effect
from plausibly.agreement.readers._figures import Figure

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
    over J, and so have weights of cases. Products of them count what is due to both three times, which errs on the safe
    side. Degrees of freedom are those of the readers.
    """
    random = np.random.default_rng(seed)

    def drawn(n: int) -> np.ndarray:
        return random.gamma((n - 2) / n, size=(replicates, n))

    of_case, of_reader = drawn(int(unit.max()) + 1)[:, unit], drawn(n_readers)

    def pooled(of_case: np.ndarray, of_reader: np.ndarray) -> np.ndarray:
        ratios = []
        for side in sides:
            above, below = side(of_case)
            ratios.append((of_reader * above).sum(axis=-1) / (of_reader * below).sum(axis=-1))
        return ratios[0] - ratios[1] if len(ratios) > 1 else ratios[0]

    with np.errstate(invalid="ignore", divide="ignore"):
        values = pooled(of_case, of_reader)
        value = float(pooled(np.ones((1, len(unit))), np.ones((1, n_readers)))[0])
    spread = float(np.std(values[np.isfinite(values)], ddof=1))
    unknown = np.nan
    return Effect(value, unknown, unknown, unknown, n_readers, int(unit.max()) + 1, (spread, n_readers - 1.0))
