"""The rule of :mod:`plausibly.diagnostics`, applied to draws and to trajectories."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int
from scipy.special import chdtri

from plausibly.base.arviz import Posterior, is_posterior, to_groups
from plausibly.base.progress import Progress
from plausibly.data.annotations import Slots
from plausibly.inference import MAX_TREE_DEPTH
from plausibly.posterior._container import check_posterior, slots_of
from plausibly.posterior._files import opened, reading
from plausibly.posterior.diagnostics._many import Diagnostics, r_hat_and_ess
from plausibly.posterior.sites import draws_of_sites

R_HAT = 1.01
ESS_PER_CHAIN = 100
E_BFMI = 0.3
JUDGED = "r_hat", "r_hat_limit", "ess_bulk", "ess_tail"  #: statistics of each quantity
FALSE_ALARM = 0.05  #: greatest probability that any R-hat exceeds its bound although all chains converged

_PART = 500  # quantities or cases that are looked at together


def r_hat_bound(ess: Float[np.ndarray, "*quantity"], chains: int, quantities: int) -> Float[np.ndarray, "*quantity"]:
    """Compute the largest R-hat that counts as converged.

    Parameters
    ----------
    ess
        Effective sample size, over all chains, of what R-hat compares.
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
    excess = chdtri(halves - 1, FALSE_ALARM / (2 * quantities)) / (halves - 1)
    return np.maximum(np.sqrt(1 + excess * halves / np.maximum(ess, 1)), R_HAT)


def convergence(
    plausibility: Float[np.ndarray, "chain draw slot"],
    slots: Slots,
    diverging: Bool[np.ndarray, "chain draw case"] | None,
    *,
    quantities: int | None = None,
    statistics: Mapping[str, np.ndarray] | None = None,
    max_tree_depth: int = MAX_TREE_DEPTH,
    enough: int | None = None,
    further: tuple[Float[np.ndarray, "chain draw quantity"], Int[np.ndarray, " quantity"]] | None = None,
    progress: Progress,
) -> xr.Dataset:
    """Apply the rule of :mod:`plausibly.diagnostics` to draws.

    Parameters
    ----------
    plausibility, slots
        The draws.
    diverging
        Whether the trajectory of each draw diverged; None for a sampler without trajectories.
    quantities
        Number of plausibilities tested together, if these are not all.
    statistics
        Further statistics of the trajectories, see :func:`trajectories`.
    max_tree_depth
        Depth at which trajectories were cut off.
    enough
        Effective sample size of all chains that a plausibility needs, if it is not 100 per chain.
    further
        Draws of further quantities, and the number of the case of each.
    progress
        Progress to report to.

    Returns
    -------
    xarray.Dataset
        For each case: the largest ``r_hat`` over its slots and further quantities, and its limit, the smallest
        ``ess_bulk`` and ``ess_tail``, the number ``n_diverging``, the results of :func:`trajectories`, and
        ``converged``.
    """
    case, n_further = slots.case, 0 if further is None else len(further[1])
    n_quantities = quantities and quantities + n_further
    judged, good = judge(plausibility, quantities=n_quantities, enough=enough, progress=progress)
    if further is not None and n_further:
        n_quantities = n_quantities or len(case) + n_further
        more, more_good = judge(further[0], quantities=n_quantities, enough=enough, progress=progress, what="sites")
        order = np.argsort(np.concatenate([case, further[1]]), kind="stable")
        case = np.concatenate([case, further[1]])[order]
        judged = {name: np.concatenate([column, more[name]])[order] for name, column in judged.items()}
        good = np.concatenate([good, more_good])[order]
    bounds = np.searchsorted(case, np.arange(len(slots.start)))
    start = bounds[:-1]
    highest = np.maximum.reduceat(judged["r_hat"], start)
    of_highest = np.where(judged["r_hat"] == np.repeat(highest, np.diff(bounds)), judged["r_hat_limit"], R_HAT)
    divergences = np.zeros(len(start), int)
    if diverging is not None:
        for first in range(0, len(start), _PART):
            part = slice(first, first + _PART)
            divergences[part] = np.asarray(diverging[..., part]).sum((0, 1))
    found = trajectories({} if statistics is None else statistics, max_tree_depth)
    by_case = {
        "r_hat": highest,
        "r_hat_limit": np.maximum.reduceat(of_highest, start),
        **{name: np.minimum.reduceat(judged[name], start) for name in ("ess_bulk", "ess_tail")},
        "n_diverging": divergences,
        **found,
        "converged": np.logical_and.reduceat(good, start) & (divergences == 0) & enough_energy(found, len(start)),
    }
    attrs = {"chains": plausibility.shape[0], "draws": plausibility.shape[1], "quantities": len(good)}
    attrs |= {} if enough is None else {"enough": enough}
    return xr.Dataset({name: ("case", values) for name, values in by_case.items()}, attrs=attrs)


def trajectories(
    statistics: Mapping[str, np.ndarray], max_tree_depth: int = MAX_TREE_DEPTH
) -> dict[str, Float[np.ndarray, "*case"]]:
    """Summarise the trajectories of each case, as far as they are known.

    Parameters
    ----------
    statistics
        Arrays (chain, draw) or (chain, draw, case) by name, of which ``energy``, ``tree_depth`` and ``n_steps`` are
        used. Cases without a single step have no trajectories.
    max_tree_depth
        Depth at which trajectories were cut off.

    Returns
    -------
    dict
        ``e_bfmi``, the smallest over the chains, and ``at_max_depth``, the share of draws at the greatest depth; NaN
        for cases without trajectories, and no entry if nothing is known.

    References
    ----------
    Betancourt (2016), Diagnosing suboptimal cotangent disintegrations in Hamiltonian Monte Carlo, equation 3.

    Examples
    --------
    >>> energy = np.array([[1.0, 3.0, 1.0, 3.0], [0.0, 1.0, 2.0, 3.0]])
    >>> float(trajectories({"energy": energy})["e_bfmi"].round(3))
    0.6
    """
    used = {name: statistics[name] for name in ("energy", "tree_depth", "n_steps") if name in statistics}
    if not used:
        return {}
    n = next(iter(used.values())).shape[2:]
    if not n:
        return _trajectories(used, max_tree_depth)
    parts = []
    for first in range(0, n[0], _PART):
        some = {name: np.asarray(values[..., first : first + _PART]) for name, values in used.items()}
        parts.append(_trajectories(some, max_tree_depth))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _trajectories(statistics: Mapping[str, np.ndarray], max_tree_depth: int) -> dict[str, np.ndarray]:
    found = {}
    steps = statistics.get("n_steps")
    moved = np.bool_(True) if steps is None else (steps > 0).any((0, 1))
    if "energy" in statistics:
        energy = np.where(moved, statistics["energy"], np.nan).astype(float)
        with np.errstate(divide="ignore", invalid="ignore"):  # energies that stand still say nothing
            by_chain = (np.diff(energy, axis=1) ** 2).sum(1) / ((energy - energy.mean(1, keepdims=True)) ** 2).sum(1)
        least = np.where(np.isnan(by_chain), np.inf, by_chain).min(0)
        found["e_bfmi"] = np.where(np.isinf(least), np.nan, least)
    if "tree_depth" in statistics:
        found["at_max_depth"] = np.where(moved, (statistics["tree_depth"] >= max_tree_depth).mean((0, 1)), np.nan)
    elif steps is not None:
        found["at_max_depth"] = np.where(moved, (steps >= 2**max_tree_depth - 1).mean((0, 1)), np.nan)
    return found


def enough_energy(found: Mapping[str, np.ndarray], n: int) -> Bool[np.ndarray, " case"]:
    """Whether each of n cases passes the rule for energies; cases without energies do."""
    return np.broadcast_to(~(np.asarray(found.get("e_bfmi", np.nan)) < E_BFMI), (n,))


def passed(judged: Mapping[str, Any], least: float) -> Bool[np.ndarray, " quantity"]:
    """Whether quantities pass the rule of :mod:`plausibly.diagnostics`, except for divergences, by their statistics.

    ``least`` is the effective sample size of all chains that each needs.
    """
    r_hat, limit, bulk, tail = (np.asarray(judged[name]) for name in JUDGED)
    return (r_hat <= limit) & (bulk >= least) & (tail >= least)  # written so that NaN fails


def judge(
    draws: Float[np.ndarray, "chain draw quantity"],
    *,
    quantities: int | None = None,
    progress: Progress,
    what: str = "plausibilities",
    enough: float | None = None,
) -> tuple[dict[str, Float[np.ndarray, " quantity"]], Bool[np.ndarray, " quantity"]]:
    """Apply the rule of :mod:`plausibly.diagnostics`, except for divergences, to quantities of any kind.

    Parameters
    ----------
    draws
        Draws of all quantities that are tested together, or of some of them. Draws in a file are read in parts.
    quantities
        Number of quantities tested together, if these are not all.
    progress
        Progress to report to.
    what
        Name of the quantities, in the plural.
    enough
        Effective sample size of all chains that a quantity needs, if it is not 100 per chain.

    Returns
    -------
    R-hat, the largest that counts as converged, bulk and tail effective sample size, by name; and whether these pass.
    """
    chains, _, n = draws.shape
    found = Diagnostics(np.ones(n), *np.full((2, n), np.inf), np.ones(n), np.full(n, np.inf))
    finite, moves = np.ones(n, bool), np.ones(n, bool)
    advance = progress.task("Diagnosing", n, what)
    for first in range(0, n, _PART):
        part = slice(first, first + _PART)
        values = np.asarray(draws[..., part])
        finite[part] = np.isfinite(values).all((0, 1))
        # A quantity that never moves in any chain, as that of a case's only class, has nothing to converge.
        moves[part] = (values != values[:1, :1]).any((0, 1)) | ~finite[part]
        moving = np.flatnonzero(moves[part])
        advance(values.shape[-1])
        if not len(moving):
            continue
        at, some = first + moving, values[..., moving]
        computed = r_hat_and_ess(some)
        if chains == 1:  # its halves, since there is no R-hat of fewer chains than two
            half = some.shape[1] // 2
            of_halves = r_hat_and_ess(some[0, : 2 * half].reshape(2, half, -1))
            computed = of_halves._replace(ess_bulk=computed.ess_bulk, ess_tail=computed.ess_tail)
        for column, values in zip(found, computed, strict=True):
            column[at] = values
    # The bound is for chains that mix; it would excuse any R-hat where hardly a draw is effective.
    effective = (np.maximum(np.nan_to_num(ess, nan=0.0), ESS_PER_CHAIN) for ess in (found.ess_bulk, found.ess_r_hat))
    counts = max(chains, 2), max(quantities or int(moves.sum()), 1)
    of_location, of_greater = (r_hat_bound(ess, *counts) for ess in effective)
    limit = np.where(found.location > of_location, of_location, of_greater)
    judged = dict(zip(JUDGED, (found.r_hat, limit, found.ess_bulk, found.ess_tail), strict=True))
    least = ESS_PER_CHAIN * chains if enough is None else enough
    return judged, passed(judged, least) & finite  # ranks do not notice infinity


def judge_shared(
    names: Sequence[str],
    draws: Float[np.ndarray, "chain draw quantity"],
    *,
    n_diverging: int | None = None,
    enough_for_cases: int | None = None,
    what: str = "shared parameters",
    **options: Any,
) -> xr.Dataset:
    """Convergence of parameters that all cases share, by ``quantity``; options are those of :func:`judge`.

    The attribute ``enough_for_cases`` is the effective sample size of all chains that cases need of them.
    """
    columns, good = judge(draws, what=what, **options)
    if n_diverging is not None:
        columns["n_diverging"] = np.full(len(good), n_diverging)
        good = good & (n_diverging == 0)
    return xr.Dataset(
        {name: ("quantity", column) for name, column in (columns | {"converged": good}).items()},
        {"quantity": np.array(names, str)},
        {"chains": len(draws), "quantities": len(names)}
        | ({} if enough_for_cases is None else {"enough_for_cases": enough_for_cases}),
    )


def diagnose(posterior: Posterior | str | PathLike, *, progress: bool = False) -> xr.Dataset:
    """Return the convergence diagnostics of every case, as computed when the posterior was sampled.

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.aggregate` or :func:`plausibly.load`, or the name of a file that
        :func:`plausibly.save` wrote. If the group ``convergence`` is missing, it is computed again, a few cases at a
        time.
    progress
        Whether to show a progress bar while computing.

    Returns
    -------
    xarray.Dataset
        For each case, ``r_hat``, ``r_hat_limit``, ``ess_bulk``, ``ess_tail``, ``n_diverging`` and ``converged``, by the
        rule of :mod:`plausibly.diagnostics`. NUTS adds ``e_bfmi`` and ``at_max_depth``, NaN for cases drawn exactly.
        For exact draws and point estimates there is only ``converged``, which is always true. Models of labels, such
        as the Rasch model, have these values for each quantity instead of each case.

    Raises
    ------
    ArgumentError
        If ``posterior`` is not a posterior.
    FileError
        If the file cannot be read.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a", "b"], ["b", "b"]], cases=["p", "q"])
    >>> posterior = pb.aggregate(annotations, "dirichlet-categorical", draws=10, progress=False)
    >>> diagnose(posterior)["converged"].values.tolist()
    [True, True]
    """
    from_file = isinstance(posterior, str | PathLike)
    with opened(posterior) if from_file else reading(posterior) as source:
        # Models of labels, such as Rasch's, carry the verdict, too, and are not posteriors of plausibilities.
        if is_posterior(source) and "convergence" in to_groups(source):
            return to_groups(source)["convergence"].load()
        check_posterior(source)
        groups = to_groups(source)
        case = groups["observed_data"]["case"].load()
        if "sample_stats" not in groups:
            return xr.Dataset({"converged": ("case", np.ones(case.size, bool))}, coords={"case": case})
        statistics = {str(name): values for name, values in groups["sample_stats"].items()}
        if source.attrs.get("engine") == "gibbs":
            statistics.pop("energy", None)  # of single blocks of variables, given the others
        depth = int(source.attrs.get("max_tree_depth", MAX_TREE_DEPTH))
        # What lies in a file is read there, some at a time.
        draws = groups["posterior"]["plausibility"].transpose("chain", "draw", "slot")
        slots = slots_of(source)
        with Progress(progress) as bars:
            found = convergence(
                draws,
                slots,
                statistics.get("diverging"),
                statistics=statistics,
                max_tree_depth=depth,
                further=draws_of_sites(groups["posterior"], slots, case.values),
                progress=bars,
            )
        return found.assign_coords(case=case)


def shared_convergence(posterior: Posterior) -> xr.Dataset | None:
    """Return the convergence of the quantities that all cases share, such as reliabilities.

    Returns
    -------
    xarray.Dataset or None
        ``r_hat``, ``r_hat_limit``, ``ess_bulk``, ``ess_tail`` and ``converged`` by ``quantity``; None if cases share no
        sampled quantity.
    """
    groups = to_groups(posterior)
    for name in ("reliability_convergence", "shared_convergence"):
        if name in groups:
            return groups[name]
    return None
