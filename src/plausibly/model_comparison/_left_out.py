"""How probable a model finds each annotation, given the others of its case."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
import numpyro
from jaxtyping import Bool, Float, Int
from scipy.special import gammaln, logsumexp

from plausibly._arviz import Posterior, pareto_smoothed, to_groups
from plausibly._memory import release_memory
from plausibly._progress import Progress
from plausibly.aggregation import PlannedRun, aggregate, expected_plausibility, refit
from plausibly.annotations import Annotations, Slots
from plausibly.case import Case
from plausibly.distributions import LogRatioDirichlet, PartialPlackettLuce, log_simplex
from plausibly.inference import Program, log_likelihood
from plausibly.model_comparison._folds import Folds, first_block_shares, slots_or_remainder
from plausibly.posterior import slots_of, stacked_draws
from plausibly.random_streams import Stream, case_keys, generator, stream_words

K_HAT = 0.7  #: above it, importance sampling should not be trusted (Vehtari et al. 2024)

LONGER = {"draws": 4, "warmup": 2}  #: by what factors, if chains of a refit did not converge
FEW = 0.1  #: share of refits; if more of them did not converge, all chains are too short, and the user's to lengthen

_COPIES = 4000  # fitted at a time


@dataclass
class LeftOut:
    """What one model finds for every annotation.

    Attributes
    ----------
    elpd
        Log probability given the others of its case, averaged over the posterior.
    in_sample
        The same given all of its case, itself included.
    error
        Monte Carlo standard error of ``elpd``; 0 where no draws are needed.
    k_hat
        Shape of the tail in importance sampling, NaN where none was tried: at most 0.7, or else ``elpd`` is from a
        refit.
    refitted
        Whether the posterior without the annotation was sampled.
    converged
        Whether the chains that ``elpd`` rests on did.
    """

    elpd: Float[np.ndarray, " annotation"]
    in_sample: Float[np.ndarray, " annotation"]
    error: Float[np.ndarray, " annotation"]
    k_hat: Float[np.ndarray, " annotation"]
    refitted: Bool[np.ndarray, " annotation"]
    converged: Bool[np.ndarray, " annotation"]


def leave_out(
    run: PlannedRun, folds: Folds, *, of_rankings: bool, importance: bool, seed: int, progress: bool
) -> LeftOut:
    """Predict every annotation by one model.

    Parameters
    ----------
    run
        Model at one reliability.
    folds
        Annotations that are left out together.
    of_rankings
        Whether to predict the whole partial ranking instead of its first block.
    importance
        Whether to reweight draws of the full posterior where that can be trusted, instead of sampling again.
    seed
        Random seed.
    progress
        Whether to show bars.
    """
    n = folds.annotations.n_annotations
    out = LeftOut(
        *(np.full(n, np.nan) for _ in range(2)),
        np.zeros(n),
        np.full(n, np.nan),
        np.zeros(n, bool),
        np.ones(n, bool),
    )
    out.elpd[folds.copy < 0] = _without_others(folds.annotations, of_rankings)[folds.copy < 0]
    # One label is a whole ranking.
    of_rankings = of_rankings and run.settled.model.takes == "rankings"
    if run.settled.has_draws:
        _by_draws(run, folds, out, of_rankings, importance, seed, progress)
    else:
        _without_draws(run, folds, out, of_rankings, progress)
    return out


def _without_others(annotations: Annotations, of_rankings: bool) -> Float[np.ndarray, " annotation"]:
    """Log probability given no other annotation, where no model prefers one class to another."""
    k = annotations.n_classes
    if not of_rankings:
        first = np.bincount(annotations.entry_annotation[annotations.entry_block == 0])
        return np.log(first / k)
    ways = np.bincount(annotations.block_annotation, gammaln(annotations.block_sizes + 1))
    last = k - np.diff(annotations.annotation_start)
    return ways + gammaln(last + 1) - gammaln(k + 1)


def _without_draws(run: PlannedRun, folds: Folds, out: LeftOut, of_rankings: bool, progress: bool) -> None:
    copies = np.arange(len(folds))
    with Progress(progress) as bars:
        parts = [(folds.annotations, folds.annotations.annotation_case, out.in_sample)]
        if len(copies):
            parts.append((folds.train(copies), folds.copy, out.elpd))
        for annotations, case, to in parts:
            slots, weight = expected_plausibility(annotations, run.settled, progress=bars)
            scored = case >= 0
            if of_rankings and to is out.elpd:
                to[scored] = _ranking(run, folds, copies, slots, weight[None, None], 0, bars)[0, 0][scored]
            elif of_rankings:
                to[:] = _log_likelihood(annotations, slots, weight[None, None], bars)[0, 0]
            else:
                to[scored] = _log(first_block_shares(folds.annotations, case, slots, weight))[scored]


def _by_draws(
    run: PlannedRun,
    folds: Folds,
    out: LeftOut,
    of_rankings: bool,
    importance: bool,
    seed: int,
    progress: bool,
) -> None:
    annotations, settled = folds.annotations, run.settled
    model, count = settled.model, settled.model.count(settled.arguments)
    posterior = aggregate(annotations, run.model, seed=seed, progress=progress, **run.arguments)
    slots, weight = slots_of(posterior), _choice_weights(posterior, run)
    anew = folds.copy >= 0
    # Where the likelihood of an annotation enters by a known power, draws can be reweighted to those without it.
    importance = importance and model.log_likelihood and model.repeats is not None
    tried = anew & ~folds.alone() if importance else np.zeros_like(anew)
    likelihood = np.empty((0, 0))
    if importance or (of_rankings and model.log_likelihood):
        likelihood = to_groups(posterior)["log_likelihood"]["ranking"].values.reshape(len(weight), -1)
    elif of_rankings:
        with Progress(progress) as bars:
            likelihood = _log_likelihood(annotations, slots, weight[None], bars)[0]
    effective, converged = _effective(posterior), _converged(posterior)
    for part in np.array_split(np.arange(annotations.n_annotations), max(1, annotations.n_annotations // 2000)):
        if of_rankings:
            log_value = likelihood[:, part].astype(float)
        else:
            log_value = _log(_some_shares(annotations, part, slots, weight))
        out.in_sample[part] = logsumexp(log_value, axis=0) - np.log(len(log_value))
        mine = tried[part]
        if not mine.any():
            continue
        at = part[mine]
        share = effective[annotations.annotation_case[at]]
        log_weight, k_hat = pareto_smoothed(-count * likelihood[:, at].T.astype(float), float(np.median(share)))
        out.k_hat[at] = k_hat
        good = (k_hat <= K_HAT) & converged[annotations.annotation_case[at]]
        terms = log_weight + log_value[:, mine].T
        total = logsumexp(terms, axis=1)
        spread = np.exp(log_weight) * np.expm1(np.minimum(log_value[:, mine].T - total[:, None], 700))
        error = np.sqrt((spread**2).sum(1) / share)
        out.elpd[at[good]], out.error[at[good]] = total[good], error[good]
        anew[at[good]] = False
    del posterior, weight, likelihood
    release_memory()
    out.refitted[anew] = True

    def refit_some(scored: Bool[np.ndarray, " annotation"], given: Mapping[str, Any]) -> None:
        wanted = np.unique(folds.copy[scored])
        for part in np.array_split(wanted, max(1, -(-len(wanted) // _COPIES))) if len(wanted) else []:
            own = scored & np.isin(folds.copy, part)
            _refit(replace(run, arguments=given), folds, part, own, out, of_rankings, seed, progress)

    refit_some(anew, run.arguments)
    failed = anew & ~out.converged
    if 0 < failed.sum() <= max(1, FEW * anew.sum()):
        longer = {name: factor * settled.arguments[name] for name, factor in LONGER.items()}
        refit_some(failed, {**run.arguments, **longer})


def _refit(
    run: PlannedRun,
    folds: Folds,
    copies: Int[np.ndarray, " copy"],
    scored: Bool[np.ndarray, " annotation"],
    out: LeftOut,
    of_rankings: bool,
    seed: int,
    progress: bool,
) -> None:
    """Sample some copies as cases of their own, and score what is left out of them."""
    posterior = refit(folds.train(copies), run.model, seed=seed, progress=progress, **run.arguments)
    slots = slots_of(posterior)
    place = np.full(len(folds), -1)
    place[copies] = np.arange(len(copies))
    case = np.where(folds.copy >= 0, place[folds.copy], -1)
    weight = _choice_weights(posterior, run)
    at = np.flatnonzero(scored)
    if of_rankings:
        chains = posterior["posterior"].sizes["chain"]
        with Progress(progress) as bars:
            by_chain = weight.reshape(chains, -1, len(slots))
            value = _ranking(run, folds, copies, slots, by_chain, seed, bars)
        log_value = value.reshape(len(weight), -1)[:, at].astype(float)
    else:
        log_value = _log(_some_shares(folds.annotations, at, slots, weight, case))
    total = logsumexp(log_value, axis=0) - np.log(len(log_value))
    out.elpd[at] = total
    with np.errstate(invalid="ignore"):
        spread = np.expm1(np.minimum(log_value - total, 700)).std(0)
    effective = _effective(posterior)[case[at]] * len(log_value)
    out.error[at] = np.where(np.isfinite(total), spread / np.sqrt(effective), 0)
    out.converged[at] = _converged(posterior)[case[at]]
    release_memory()


def _some_shares(annotations, chosen, slots, weight, case=None):
    """:func:`first_block_shares` of some annotations, by draw."""
    part = np.concatenate([np.arange(*annotations.annotation_start[i : i + 2]) for i in chosen])
    entry = part[annotations.entry_block[part] == 0]
    of = annotations.entry_annotation[entry]
    case = annotations.annotation_case if case is None else case
    slot = slots_or_remainder(slots, case[of], annotations.entry_class[entry], annotations.n_classes)
    shares = np.where(slot < 0, 0, weight[:, slot] / slots.n_classes[slot])
    return np.add.reduceat(shares, np.searchsorted(of, chosen), axis=1)


def _ranking(
    run: PlannedRun,
    folds: Folds,
    copies: Int[np.ndarray, " copy"],
    slots: Slots,
    weight: Float[np.ndarray, "chain draw slot"],
    seed: int,
    progress: Progress,
) -> Float[np.ndarray, "chain draw annotation"]:
    """Log probability of the whole rankings that are left out of these copies, NaN for other annotations."""
    whole = folds.whole(copies)
    left_out, of = folds.left_out(copies)
    union = Slots.of(whole, remainder=bool(slots.is_remainder.any()))
    spread, impossible = _split_remainders(run, whole, union, slots, weight, seed)
    value = _log_likelihood(left_out, union, spread, progress)
    named = union.find(left_out.entry_case, left_out.entry_class)
    never = np.bincount(left_out.entry_annotation, impossible[named], left_out.n_annotations) > 0
    value[..., never] = -np.inf
    out = np.full((*weight.shape[:2], folds.annotations.n_annotations), np.nan, np.float32)
    out[..., of] = value
    return out[..., folds.like]


def _split_remainders(run, whole, union, slots, weight, seed):
    """Give classes that only left-out annotations name their share of the remainder, by its Dirichlet."""
    parent = slots_or_remainder(
        slots, union.case, np.where(union.is_remainder, whole.n_classes, union.class_index), whole.n_classes
    )
    impossible = parent < 0
    spread = np.where(impossible, 0, weight[..., parent])
    shared = ~impossible & slots.is_remainder[parent]
    words = stream_words(case_keys(seed, whole.cases))[Stream.SHARES]
    for case in np.unique(union.case[shared & ~union.is_remainder]):
        own = np.arange(union.start[case], union.start[case + 1])
        own = own[shared[own]]
        shape = union.n_classes[own] * run.settled.arguments["concentration"]
        gammas = generator(words[case]).standard_gamma(shape, (*weight.shape[:2], len(own)))
        spread[..., own] *= gammas / np.maximum(gammas.sum(-1, keepdims=True), np.finfo(float).tiny)
    return spread, impossible


def _rankings(case: Case) -> None:
    """A program whose annotators draw classes by weight."""
    log_ratio = numpyro.sample("log_ratio", LogRatioDirichlet(case.concentration))
    numpyro.deterministic("plausibility", jax.nn.softmax(log_simplex(log_ratio), where=case.n_classes > 0))
    numpyro.sample("ranking", PartialPlackettLuce(log_simplex(log_ratio)), obs=case.rankings)


def _log_likelihood(annotations, slots, weight, progress):
    """Log probability of rankings whose classes are drawn by weight."""
    return log_likelihood(
        annotations,
        slots,
        Program(_rankings),
        {},
        np.ones(len(slots), np.float32),
        weight.astype(np.float32),
        case_keys(0, annotations.cases),
        progress=progress,
    )


def _choice_weights(posterior: Posterior, run: PlannedRun) -> Float[np.ndarray, "draw slot"]:
    """Probabilities of the first choice: plausibilities, or their power if the model says so."""
    draws = stacked_draws(posterior)
    power = run.settled.model.choice_power(run.settled.arguments)
    if power in (None, 1):
        return draws
    slots = slots_of(posterior)
    with np.errstate(divide="ignore"):
        logs = power * np.log(draws)
    logs -= np.maximum.reduceat(logs, slots.start[:-1], axis=1)[:, slots.case]
    weight = np.exp(logs)
    return weight / np.add.reduceat(weight, slots.start[:-1], axis=1)[:, slots.case]


def _converged(posterior: Posterior) -> Bool[np.ndarray, " case"]:
    groups = to_groups(posterior)
    if "convergence" not in groups:
        return np.ones(groups["observed_data"].sizes["case"], bool)
    return groups["convergence"]["converged"].values


def _effective(posterior: Posterior) -> Float[np.ndarray, " case"]:
    """Effective draws by case, as a share of all."""
    groups = to_groups(posterior)
    sizes = groups["posterior"].sizes
    if "convergence" not in groups:
        return np.ones(groups["observed_data"].sizes["case"])
    total = sizes["chain"] * sizes["draw"]
    found = groups["convergence"]["ess_bulk"].values / total
    return np.where(np.isfinite(found), np.clip(found, 1 / total, 1), 1)


def _log(x: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    with np.errstate(divide="ignore"):
        return np.log(x)
