"""Did the chains converge? R-hat, effective sample sizes and divergences by case, and a verdict by a stated rule.

The rule
--------
A case has converged if

* no trajectory diverged (of a sampler that has trajectories);
* every plausibility has a bulk and a tail effective sample size of at least 100 per chain;
* every plausibility has an R-hat of at most 1.01, or of at most what converged chains exceed with a probability of
  0.05 / Q, for the Q plausibilities of all cases together.

The first two and the 1.01 are those of Vehtari et al. (2021), meant for a handful of quantities. Among ten thousand
quantities, dozens exceed 1.01 by chance alone, so the third point allows for the number of tests: between the means of
m independent half-chains, each worth n effective draws, (m − 1) n (R-hat² − 1) is about chi-squared with m − 1 degrees
of freedom. A single chain is taken for two, its halves.
"""

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float
from scipy.stats import chi2

from plausibly._arviz import Posterior, az, to_groups
from plausibly._progress import Progress
from plausibly.annotations import Slots
from plausibly.posterior import check_posterior

R_HAT = 1.01
ESS_PER_CHAIN = 100
FALSE_ALARM = 0.05  #: probability that any of all quantities exceeds its bound on R-hat although all chains converged

_PART = 500  # quantities between two moves of the progress bar


def r_hat_bound(ess: Float[np.ndarray, "*quantity"], chains: int, quantities: int) -> Float[np.ndarray, "*quantity"]:
    """The largest R-hat that passes for converged.

    Parameters
    ----------
    ess
        Bulk effective sample size, over all chains.
    chains
        Number of chains; R-hat compares their halves.
    quantities
        Number of quantities tested together.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), Rank-normalization, folding, and localization, Bayesian
    Analysis 16, for R-hat; the allowance for many quantities is Bonferroni's.

    Examples
    --------
    >>> r_hat_bound(np.array([400.0, 4000.0]), chains=4, quantities=10_000).round(3).tolist()
    [1.053, 1.01]
    """
    halves = 2 * chains
    # R-hat is the larger of two statistics, of location and of scale.
    excess = chi2.isf(FALSE_ALARM / (2 * quantities), halves - 1) / (halves - 1)
    return np.maximum(np.sqrt(1 + excess * halves / np.maximum(ess, 1)), R_HAT)


def convergence(
    plausibility: Float[np.ndarray, "chain draw slot"],
    slots: Slots,
    diverging: Bool[np.ndarray, "chain draw case"] | None,
    *,
    quantities: int | None = None,
    progress: Progress,
) -> xr.Dataset:
    """Apply the rule of this module to draws.

    Parameters
    ----------
    plausibility, slots
        The draws.
    diverging
        Which of them ended a divergent trajectory; None of a sampler that has no trajectories.
    quantities
        How many plausibilities there are in all, if these are not all.
    progress
        Where to report.

    Returns
    -------
    xarray.Dataset
        By case: the largest ``r_hat``, the least ``ess_bulk`` and ``ess_tail`` over its slots, the number
        ``n_diverging``, and ``converged``.
    """
    r_hat, bulk, tail, good = judge(plausibility, quantities=quantities, progress=progress)
    start = slots.start[:-1]
    divergences = np.zeros(len(start), int) if diverging is None else diverging.sum((0, 1))
    by_case = {
        "r_hat": np.maximum.reduceat(r_hat, start),
        "ess_bulk": np.minimum.reduceat(bulk, start),
        "ess_tail": np.minimum.reduceat(tail, start),
        "n_diverging": divergences,
        "converged": np.logical_and.reduceat(good, start) & (divergences == 0),
    }
    return xr.Dataset({name: ("case", values) for name, values in by_case.items()})


def judge(
    draws: Float[np.ndarray, "chain draw quantity"],
    *,
    quantities: int | None = None,
    progress: Progress,
    what: str = "plausibilities",
) -> tuple[
    Float[np.ndarray, " quantity"],
    Float[np.ndarray, " quantity"],
    Float[np.ndarray, " quantity"],
    Bool[np.ndarray, " quantity"],
]:
    """Apply the rule of this module, but for divergences, to quantities of any kind.

    Parameters
    ----------
    draws
        Of all quantities that are tested together, or of some.
    quantities
        How many are tested together, if these are not all.
    progress
        Where to report to.
    what
        What the quantities are.

    Returns
    -------
    R-hat, bulk and tail effective sample size, and whether these pass.
    """
    chains, _, n = draws.shape
    r_hat, bulk, tail = np.ones(n), np.full(n, np.inf), np.full(n, np.inf)
    # A quantity that never moves in any chain, as that of a case's only class, has nothing to converge.
    moving = np.flatnonzero((draws != draws[:1, :1]).any((0, 1)) | ~np.isfinite(draws).all((0, 1)))
    advance = progress.task("Diagnosing", len(moving), what)
    for first in range(0, len(moving), _PART):
        part = moving[first : first + _PART]
        some = xr.Dataset({"p": (("chain", "draw", "slot"), draws[..., part])})
        # Chains that stand still divide by zero, and infinity and NaN say what there is to say of them.
        with np.errstate(divide="ignore", invalid="ignore"):
            r_hat[part] = az.rhat(some if chains > 1 else _halves(some))["p"].values
            bulk[part] = az.ess(some, method="bulk")["p"].values
            tail[part] = az.ess(some, method="tail")["p"].values
        advance(len(part))
    bound = r_hat_bound(bulk, max(chains, 2), max(quantities or len(moving), 1))
    least = ESS_PER_CHAIN * chains
    # Written so that NaN fails; ranks do not notice infinity.
    good = (r_hat <= bound) & (bulk >= least) & (tail >= least) & np.isfinite(draws).all((0, 1))
    return r_hat, bulk, tail, good


def _halves(draws: xr.Dataset) -> xr.Dataset:
    """Make two chains of a single one, since ArviZ gives no R-hat for fewer."""
    values = draws["p"].values
    n = values.shape[1] // 2
    return xr.Dataset({"p": (("chain", "draw", "slot"), values[0, : 2 * n].reshape(2, n, -1))})


def diagnose(posterior: Posterior) -> xr.Dataset:
    """Convergence of every case of a posterior, as computed when it was sampled.

    Parameters
    ----------
    posterior
        From :func:`plausibly.aggregate` or :func:`plausibly.posterior.load`.

    Returns
    -------
    xarray.Dataset
        By case: ``r_hat``, ``ess_bulk``, ``ess_tail``, ``n_diverging``, ``converged``, under the rule of
        :mod:`plausibly.diagnostics`; of exact draws and point estimates, ``converged`` alone, and true.

    Raises
    ------
    ArgumentError
        If it is no posterior.
    """
    # Models of labels, such as Rasch's, carry the verdict, too, and are no posteriors of plausibilities.
    if isinstance(posterior, Posterior) and "convergence" in to_groups(posterior):
        return to_groups(posterior)["convergence"]
    check_posterior(posterior)
    case = to_groups(posterior)["observed_data"]["case"]
    return xr.Dataset({"converged": ("case", np.ones(case.size, bool))}, coords={"case": case})
