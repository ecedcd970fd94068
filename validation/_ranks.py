r"""The statistic of simulation-based calibration, and its test.

If :math:`(\lambda, b)` comes from the joint distribution and :math:`\lambda^{(1)}, \dots, \lambda^{(L)}` are
independent draws from :math:`p(\lambda \mid b)`, then :math:`\lambda` is one more such draw, and for any quantity
:math:`f(\lambda, b)` the rank of :math:`f(\lambda, b)` among the :math:`f(\lambda^{(l)}, b)` is uniform on 0 … L. Here
every pair is a case, so that one call of ``aggregate`` fits them all (simuk, the kept library for this, refits one
pair at a time in a sampler of NumPyro or PyMC, and not in ours). Ties are broken at random and a uniform variable is
added, which makes a **place** of the rank: exactly uniform between 0 and 1.

Places are tested by Kolmogorov and Smirnov's test as SciPy computes it, exactly: as they are (``shift``: draws that are
too small or too large) and folded, :math:`|2u - 1|` (``spread``: draws that lie too close together or too far apart, to
which the first form is not sensitive). The bands in the figures are those of the first form at the level that the
verdict uses, so that a curve leaves its band exactly if its p-value is an alarm. The simultaneous bands of ArviZ are
not used: its two generations compute them in different ways, the newer by simulation, which does not reach this level.

Draws of a Markov chain are not independent. Samplers thin by themselves, and :mod:`validation.calibration` thins again;
the table shows what the effective sample sizes come to.
"""

import numpy as np
from scipy import stats


def places(truth: np.ndarray, draws: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Randomised ranks of (n,) true values among (draw, n) draws, divided by their number.

    Examples
    --------
    >>> u = places(np.array([0.5, 2.0]), np.zeros((3, 2)), np.random.default_rng(0))
    >>> bool((u > 0.75).all())
    True
    """
    less, equal = (draws < truth).sum(0), (draws == truth).sum(0)
    return (less + rng.random(len(truth)) * (equal + 1)) / (len(draws) + 1)


def p_values(places: np.ndarray) -> dict[str, float]:
    """Test numbers for being uniform between 0 and 1."""
    return {
        "shift": float(stats.kstest(places, "uniform").pvalue),
        "spread": float(stats.kstest(np.abs(2 * places - 1), "uniform").pvalue),
    }


def band(n: int, level: float) -> float:
    """How far the share of n places up to u may be from u, for every u at once, with a probability of 1 - ``level``."""
    return float(stats.kstwo.isf(level, n))
