"""How probable a model finds each annotation, given the others of its case."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import gammaln, logsumexp

from plausibly import models
from plausibly._arviz import Posterior, pareto_smoothed, to_groups
from plausibly._memory import release_memory
from plausibly._progress import Progress
from plausibly.aggregation import aggregate, expected_plausibility, refit
from plausibly.annotations import Annotations, Slots
from plausibly.inference import Program, log_likelihood
from plausibly.model_comparison._folds import Folds, first_block_shares, slots_or_remainder
from plausibly.posterior import slots_of, stacked_draws
from plausibly.random_streams import Stream, case_keys, generator, stream_words

K_HAT = 0.7  #: above it, importance sampling is not to be trusted (Vehtari et al. 2024)

LONGER = {"draws": 4, "warmup": 2}  #: by what factors, if chains of a refit did not converge
FEW = 0.1  #: share of refits; if more of them did not converge, all chains are too short, and the user's to lengthen

_COPIES = 4000  # fitted at a time
_RANKING = Program(models.plackett_luce, (("mode", "power"),))


@dataclass(frozen=True)
class Candidate:
    """A model of which everything is settled.

    Attributes
    ----------
    label
        What the table calls it.
    model, given
        What :func:`plausibly.aggregate` is called with.
    name, engine, arguments
        What came of that.
    """

    label: str
    model: str | Callable[..., None]
    given: Mapping[str, Any]
    name: str
    engine: str
    arguments: Mapping[str, Any]

    @property
    def has_draws(self) -> bool:
        """Whether the posterior is known by its draws alone."""
        return self.engine not in ("exact", "point", "ml")

    @property
    def is_plackett_luce(self) -> bool:
        """Whether it is the package's own model of rankings, by name."""
        return self.model == "plackett-luce"

    @property
    def sharpness(self) -> float:
        """The power of the plausibilities by which annotators choose."""
        return self.arguments["reliability"] if self.arguments.get("mode") == "temper" else 1.0

    @property
    def repeats(self) -> float:
        """How often an annotation counts in the posterior of Plackett-Luce."""
        return 1.0 if self.arguments.get("mode") == "temper" else self.arguments["reliability"]


@dataclass
class Scores:
    """Of every annotation, by one model.

    Attributes
    ----------
    log_score
        Log probability given the others of its case, averaged over the posterior.
    in_sample
        The same given all of its case, itself included.
    error
        Monte Carlo standard error of ``log_score``; 0 where no draws are needed.
    k_hat
        Of importance sampling, NaN where none was tried: at most 0.7, or else the score is that of a refit.
    refitted
        Whether the posterior without the annotation was sampled.
    converged
        Whether the chains behind the score did.
    """

    log_score: Float[np.ndarray, " annotation"]
    in_sample: Float[np.ndarray, " annotation"]
    error: Float[np.ndarray, " annotation"]
    k_hat: Float[np.ndarray, " annotation"]
    refitted: Bool[np.ndarray, " annotation"]
    converged: Bool[np.ndarray, " annotation"]


def score(
    candidate: Candidate, folds: Folds, *, of_rankings: bool, importance: bool, seed: int, progress: bool
) -> Scores:
    """Score every annotation by one model.

    Parameters
    ----------
    candidate
        The model.
    folds
        What is left out.
    of_rankings
        Whether to score the whole partial ranking instead of its first block.
    importance
        Whether to reweight draws of the full posterior where that can be trusted, instead of sampling anew.
    seed
        Of all random numbers.
    progress
        Whether to show bars.
    """
    n = folds.annotations.n_annotations
    out = Scores(
        *(np.full(n, np.nan) for _ in range(2)),
        np.zeros(n),
        np.full(n, np.nan),
        np.zeros(n, bool),
        np.ones(n, bool),
    )
    out.log_score[folds.copy < 0] = _without_others(folds.annotations, of_rankings)[folds.copy < 0]
    # One label is a whole ranking.
    of_rankings = of_rankings and candidate.name.startswith("plackett-luce")
    if candidate.has_draws:
        _by_draws(candidate, folds, out, of_rankings, importance, seed, progress)
    else:
        _without_draws(candidate, folds, out, of_rankings, progress)
    return out


def _without_others(annotations: Annotations, of_rankings: bool) -> Float[np.ndarray, " annotation"]:
    """Log probability where nobody else has said anything: no model then prefers one class to another."""
    k = annotations.n_classes
    if not of_rankings:
        first = np.bincount(annotations.entry_annotation[annotations.entry_block == 0])
        return np.log(first / k)
    ways = np.bincount(annotations.block_annotation, gammaln(annotations.block_sizes + 1))
    last = k - np.diff(annotations.annotation_start)
    return ways + gammaln(last + 1) - gammaln(k + 1)


def _without_draws(candidate: Candidate, folds: Folds, out: Scores, of_rankings: bool, progress: bool) -> None:
    arguments = (candidate.name, candidate.engine, candidate.arguments)
    copies = np.arange(len(folds))
    with Progress(progress) as bars:
        parts = [(folds.annotations, folds.annotations.annotation_case, out.in_sample)]
        if len(copies):
            parts.append((folds.train(copies), folds.copy, out.log_score))
        for annotations, case, to in parts:
            slots, weight = expected_plausibility(annotations, *arguments, progress=bars)
            scored = case >= 0
            if of_rankings and to is out.log_score:
                to[scored] = _ranking(candidate, folds, copies, slots, weight[None, None], 0, bars)[0, 0][scored]
            elif of_rankings:
                to[:] = _log_likelihood(annotations, slots, weight[None, None], bars)[0, 0]
            else:
                to[scored] = _log(first_block_shares(folds.annotations, case, slots, weight))[scored]


def _by_draws(
    candidate: Candidate,
    folds: Folds,
    out: Scores,
    of_rankings: bool,
    importance: bool,
    seed: int,
    progress: bool,
) -> None:
    annotations = folds.annotations
    posterior = aggregate(annotations, candidate.model, seed=seed, progress=progress, **candidate.given)
    slots, weight = slots_of(posterior), _choice_weights(posterior, candidate.sharpness)
    anew = folds.copy >= 0
    tried = anew & ~folds.alone() if importance and candidate.is_plackett_luce else np.zeros_like(anew)
    likelihood = np.empty((0, 0))
    if candidate.is_plackett_luce:
        likelihood = to_groups(posterior)["log_likelihood"]["ranking"].values.reshape(len(weight), -1)
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
        log_weight, k_hat = pareto_smoothed(
            -candidate.repeats * likelihood[:, at].T.astype(float), float(np.median(share))
        )
        out.k_hat[at] = k_hat
        good = (k_hat <= K_HAT) & converged[annotations.annotation_case[at]]
        terms = log_weight + log_value[:, mine].T
        total = logsumexp(terms, axis=1)
        spread = np.exp(log_weight) * np.expm1(np.minimum(log_value[:, mine].T - total[:, None], 700))
        error = np.sqrt((spread**2).sum(1) / share)
        out.log_score[at[good]], out.error[at[good]] = total[good], error[good]
        anew[at[good]] = False
    del posterior, weight, likelihood
    release_memory()
    out.refitted[anew] = True

    def score_anew(scored: Bool[np.ndarray, " annotation"], given: Mapping[str, Any]) -> None:
        wanted = np.unique(folds.copy[scored])
        for part in np.array_split(wanted, max(1, -(-len(wanted) // _COPIES))) if len(wanted) else []:
            own = scored & np.isin(folds.copy, part)
            _refit(replace(candidate, given=given), folds, part, own, out, of_rankings, seed, progress)

    score_anew(anew, candidate.given)
    failed = anew & ~out.converged
    if 0 < failed.sum() <= max(1, FEW * anew.sum()):
        longer = {
            name: factor * candidate.arguments[name] for name, factor in LONGER.items() if name in candidate.arguments
        }
        score_anew(failed, {**candidate.given, **longer})


def _refit(
    candidate: Candidate,
    folds: Folds,
    copies: Int[np.ndarray, " copy"],
    scored: Bool[np.ndarray, " annotation"],
    out: Scores,
    of_rankings: bool,
    seed: int,
    progress: bool,
) -> None:
    """Sample some copies as cases of their own, and score what is left out of them."""
    posterior = refit(folds.train(copies), candidate.model, seed=seed, progress=progress, **candidate.given)
    slots = slots_of(posterior)
    place = np.full(len(folds), -1)
    place[copies] = np.arange(len(copies))
    case = np.where(folds.copy >= 0, place[folds.copy], -1)
    weight = _choice_weights(posterior, candidate.sharpness)
    at = np.flatnonzero(scored)
    if of_rankings:
        chains = posterior["posterior"].sizes["chain"]
        with Progress(progress) as bars:
            by_chain = weight.reshape(chains, -1, len(slots))
            value = _ranking(candidate, folds, copies, slots, by_chain, seed, bars)
        log_value = value.reshape(len(weight), -1)[:, at].astype(float)
    else:
        log_value = _log(_some_shares(folds.annotations, at, slots, weight, case))
    total = logsumexp(log_value, axis=0) - np.log(len(log_value))
    out.log_score[at] = total
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
    candidate: Candidate,
    folds: Folds,
    copies: Int[np.ndarray, " copy"],
    slots: Slots,
    weight: Float[np.ndarray, "chain draw slot"],
    seed: int,
    progress: Progress,
) -> Float[np.ndarray, "chain draw annotation"]:
    """Log probability of the whole rankings that are left out, NaN where nothing of this is."""
    whole = folds.whole(copies)
    left_out, of = folds.left_out(copies)
    union = Slots.of(whole, remainder=bool(slots.is_remainder.any()))
    spread, impossible = _split_remainders(candidate, whole, union, slots, weight, seed)
    value = _log_likelihood(left_out, union, spread, progress)
    named = union.find(left_out.entry_case, left_out.entry_class)
    never = np.bincount(left_out.entry_annotation, impossible[named], left_out.n_annotations) > 0
    value[..., never] = -np.inf
    out = np.full((*weight.shape[:2], folds.annotations.n_annotations), np.nan, np.float32)
    out[..., of] = value
    return out[..., folds.like]


def _split_remainders(candidate, whole, union, slots, weight, seed):
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
        shape = union.n_classes[own] * candidate.arguments["concentration"]
        gammas = generator(words[case]).standard_gamma(shape, (*weight.shape[:2], len(own)))
        spread[..., own] *= gammas / np.maximum(gammas.sum(-1, keepdims=True), np.finfo(float).tiny)
    return spread, impossible


def _log_likelihood(annotations, slots, weight, progress):
    """Log probability of rankings whose classes are drawn by weight."""
    return log_likelihood(
        annotations,
        slots,
        _RANKING,
        {"reliability": 1.0},
        np.ones(len(slots), np.float32),
        weight.astype(np.float32),
        case_keys(0, annotations.cases),
        progress=progress,
    )


def _choice_weights(posterior: Posterior, sharpness: float) -> Float[np.ndarray, "draw slot"]:
    """With which probabilities annotators choose first; plausibilities, but for tempered models."""
    draws = stacked_draws(posterior)
    if sharpness == 1:
        return draws
    slots = slots_of(posterior)
    with np.errstate(divide="ignore"):
        logs = sharpness * np.log(draws)
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
