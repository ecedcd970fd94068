r"""Effects over readers and cases, both drawn from those that there are.

Every comparison is a mean over readers: of the model's figure minus that of a reader, of a reader's figure in one
condition minus that in the other, or of a reader's figure alone. With :math:`d_j` the number of reader :math:`j`,
:math:`MS` their variance and :math:`Cov_2` the mean covariance of two of them that is due to cases,

.. math::
   \mathrm{se}^2 = \frac{MS + J \max(Cov_2, 0)}{J}, \qquad
   \mathrm{df} = \frac{(MS + J \max(Cov_2, 0))^2}{MS^2 / (J - 1)}

(Obuchowski & Rockette 1995; Hillis 2007, 2014). Of two conditions, these are half and twice the usual terms,
:math:`MS = 2\,MS(T{:}R)` and :math:`Cov_2 = 2\,(Cov_2 - Cov_3)`, which give the same test.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import nct, norm, t

from plausibly.agreement.readers._figures import Figure


@dataclass(frozen=True)
class Effect:
    """Mean over readers, with what it varies by.

    Attributes
    ----------
    value
        Mean over readers.
    mean_square
        Variance of the readers' numbers.
    error
        Mean variance of one reader's number that is due to cases.
    covariance
        Mean covariance of two readers' numbers that is due to cases.
    n_readers, n_units
        Numbers of readers and of cases (or clusters).
    known
        Standard error and degrees of freedom, if they do not follow from the others.
    """

    value: float
    mean_square: float
    error: float
    covariance: float
    n_readers: int
    n_units: int
    known: tuple[float, float] | None = None

    @property
    def se(self) -> float:
        """Standard error over readers and cases."""
        return self.known[0] if self.known else float(np.sqrt(_total(self) / self.n_readers))

    @property
    def df(self) -> float:
        """Degrees of freedom; infinite if readers do not differ, NaN if nothing varies."""
        if self.known:
            return self.known[1]
        if not self.mean_square:
            return np.inf if _total(self) else np.nan
        return float((_total(self) / self.mean_square) ** 2 * (self.n_readers - 1))

    def ends(self, ci_prob: float) -> tuple[float, float]:
        """Lower and upper end of the interval; NaN if nothing varies, which shows no certainty."""
        half = self.se * t.ppf((1 + ci_prob) / 2, self.df) if self.se > 0 else np.nan
        return self.value - half, self.value + half

    def p_value(self, margin: float | None = None) -> float:
        """p-value of an effect of 0, two-sided; with a margin, of one of at most minus the margin."""
        if not self.se > 0:
            return np.nan
        if margin is None:
            return float(2 * t.sf(abs(self.value) / self.se, self.df))
        return float(t.sf((self.value + margin) / self.se, self.df))

    def of_size(self, n_readers: int, n_units: int) -> "Effect":
        """Effect as another study would measure it (Hillis & Obuchowski 2011): cases alike, in the same mix.

        The variance of true numbers of readers is what their variance exceeds that due to cases by.
        """
        readers = max(self.mean_square - self.error + self.covariance, 0)
        scale = self.n_units / n_units
        error, covariance = self.error * scale, max(self.covariance, 0) * scale
        return Effect(self.value, readers + max(error - covariance, 0), error, covariance, n_readers, n_units)

    def power(self, difference: float, level: float) -> float:
        """Probability that a two-sided test finds a difference."""
        limit, shift = t.ppf(1 - level / 2, self.df), difference / self.se
        return _beyond(limit, self.df, shift) + _beyond(limit, self.df, -shift)

    def power_noninferior(self, margin: float, level: float) -> float:
        """Probability that the one-sided test shows non-inferiority of two that are equal."""
        return _beyond(t.ppf(1 - level, self.df), self.df, margin / self.se)


def _beyond(limit: float, df: float, shift: float) -> float:
    """Probability of a noncentral t beyond a limit; nearly normal (Johnson & Welch 1940) where SciPy has no value."""
    found = float(nct.sf(limit, df, shift))
    return (
        found
        if np.isfinite(found)
        else float(norm.sf((limit * (1 - 1 / (4 * df)) - shift) / np.sqrt(1 + limit**2 / (2 * df))))
    )


def _total(effect: Effect) -> float:
    return effect.mean_square + effect.n_readers * max(effect.covariance, 0)


def effect_of(numbers: Float[np.ndarray, " reader"], rows: Float[np.ndarray, "reader unit"]) -> Effect:
    """Mean over readers of numbers with contributions of cases.

    Examples
    --------
    >>> found = effect_of(np.array([0.1, 0.3]), np.array([[0.1, -0.1], [0.1, -0.1]]))
    >>> round(found.value, 2), round(found.se**2, 3), round(found.df, 1)  # (.02 + 2 · .02) / 2, (.06 / .02)²
    (0.2, 0.03, 9.0)
    """
    n, products = len(numbers), rows @ rows.T
    error = float(np.trace(products)) / n
    covariance = (float(products.sum()) - n * error) / (n * (n - 1))
    spread = float(np.var(numbers, ddof=1))
    return Effect(float(np.mean(numbers)), spread, error, covariance, n, rows.shape[1])


def left_in_turn(
    numbers: Float[np.ndarray, "reader other"], rows: Float[np.ndarray, "reader other unit"]
) -> tuple[Float[np.ndarray, " reader"], Float[np.ndarray, "reader unit"]]:
    """Pseudo-values of the mean over pairs of readers, each left out in turn, and contributions of cases to them.

    The diagonals are not used. Means over pairs vary by readers twice as much as the mean number of each reader does.

    Examples
    --------
    >>> found, _ = left_in_turn(np.array([[0, 1, 1], [1, 0, 4], [1, 4, 0]]), np.zeros((3, 3, 1)))
    >>> found.tolist()  # 3 · 2 − 2 · [4, 1, 1]
    [-2.0, 4.0, 4.0]
    """
    n = len(numbers)
    apart = (~np.eye(n, dtype=bool)).astype(float)

    def pseudo(values: np.ndarray) -> np.ndarray:
        own = np.einsum("jk...,jk->j...", values, apart) + np.einsum("jk...,jk->k...", values, apart)
        total = np.einsum("jk...,jk->...", values, apart)
        return total / (n - 1) - (total - own) / (n - 2)

    return pseudo(numbers), pseudo(rows)


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
