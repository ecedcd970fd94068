"""How probable a model finds each annotation, given the others of its case."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
import numpyro
import xarray as xr
from jaxtyping import Bool, Float, Int
from scipy.special import gammaln, logsumexp

from plausibly.aggregation._aggregate import aggregate, refit
from plausibly.aggregation._answers import answer_probabilities
from plausibly.aggregation._arguments import settle
from plausibly.aggregation._judged import unjudged
from plausibly.aggregation._variants import PlannedRun
from plausibly.aggregation._with_prior import learn_prior
from plausibly.aggregation.layout import expected_plausibility
from plausibly.aggregation.model_comparison._integrated import integrated
from plausibly.aggregation.model_comparison.folds import Folds, first_block_shares, slots_or_remainder
from plausibly.base.arviz import Posterior, pareto_smoothed, to_groups
from plausibly.base.errors import AnnotationError
from plausibly.base.memory import release_memory
from plausibly.base.progress import Progress
from plausibly.base.random_streams import Stream, case_keys, generator, stream_words
from plausibly.data.annotations import Annotations, Slots
from plausibly.data.case import Case
from plausibly.distributions import LogRatioDirichlet, PartialPlackettLuce, log_simplex
from plausibly.families.priors import PredictionsPrior
from plausibly.families.settled import BY_PLAUSIBILITY, BY_PROGRAM
from plausibly.inference import Program, log_likelihood
from plausibly.posterior import slots_of, stacked_draws

K_HAT = 0.7  #: above it, importance sampling should not be trusted (Vehtari et al. 2024)

LONGER = {"draws": 4, "warmup": 2}  #: by what factors, if chains of a refit did not converge
FEW = 0.1  #: share of refits; if more of them did not converge, all chains are too short, and the user's to lengthen

CASE_FOLDS = 5  #: folds of cases, for models that learn from other cases

_COPIES = 4000  # fitted at a time


@dataclass
class LeftOut:
    """What one model finds for every annotation."""

    #: log probability given the others of its case, averaged over the posterior
    elpd: Float[np.ndarray, " annotation"]
    #: the same given all of its case, itself included
    in_sample: Float[np.ndarray, " annotation"]
    #: Monte Carlo standard error of ``elpd``, 0 where no draws are needed
    error: Float[np.ndarray, " annotation"]
    #: shape of the tail in importance sampling, NaN where none was tried; above 0.7 ``elpd`` is from a refit
    k_hat: Float[np.ndarray, " annotation"]
    #: whether the posterior without the annotation was sampled
    refitted: Bool[np.ndarray, " annotation"]
    #: whether the chains that ``elpd`` rests on did converge
    converged: Bool[np.ndarray, " annotation"]

    @classmethod
    def of_all(cls, **columns: np.ndarray) -> "LeftOut":
        """Make them of predictions that rest on other cases alone."""
        n = len(columns["elpd"])
        return cls(k_hat=np.full(n, np.nan), refitted=np.ones(n, bool), **columns)


@dataclass(frozen=True)
class _Task:
    """A run whose predictions of annotations left out are wanted."""

    run: PlannedRun
    folds: Folds
    of_rankings: bool
    seed: int
    progress: bool


def leave_out(
    run: PlannedRun, folds: Folds, *, of_rankings: bool, importance: bool, seed: int, progress: bool
) -> LeftOut:
    """Predict every annotation by one model: its whole partial ranking (``of_rankings``) or its first block.

    With ``importance``, draws of the full posterior are reweighted where these can be trusted, not sampled again.
    """
    if run.settled.borrows and run.settled.prior is None:
        return leave_out_cases(run, folds, of_rankings=of_rankings, importance=importance, seed=seed, progress=progress)
    n = folds.annotations.n_annotations
    unknown = [np.full(n, np.nan) for _ in range(3)]
    out = LeftOut(*unknown[:2], np.zeros(n), unknown[2], np.zeros(n, bool), np.ones(n, bool))
    out.elpd[folds.copy < 0] = _without_others(folds.annotations, of_rankings, run.settled.prior)[folds.copy < 0]
    # One label is a whole ranking.
    task = _Task(run, folds, of_rankings and run.settled.model.takes == "rankings", seed, progress)
    if (
        run.settled.answers in BY_PROGRAM
        and importance
        and integrated(run, folds, out.elpd, out.in_sample, out.error, progress=progress)
    ):
        return out
    if run.settled.has_draws or run.settled.answers != BY_PLAUSIBILITY:
        _by_draws(task, out, importance)
    else:
        _without_draws(task, out)
    return out


def _without_others(
    annotations: Annotations, of_rankings: bool, prior: PredictionsPrior | None
) -> Float[np.ndarray, " annotation"]:
    """Log probability given no other annotation, where only a prior that is learned prefers one class to another."""
    k = annotations.n_classes
    if prior is not None:
        first = annotations.entry_block == 0
        shares = prior.expected_in(annotations)[annotations.entry_case[first], annotations.entry_class[first]]
        return np.log(np.bincount(annotations.entry_annotation[first], shares))
    if not of_rankings:
        first = np.bincount(annotations.entry_annotation[annotations.entry_block == 0])
        return np.log(first / k)
    ways = np.bincount(annotations.block_annotation, gammaln(annotations.block_sizes + 1))
    last = k - np.diff(annotations.annotation_start)
    return ways + gammaln(last + 1) - gammaln(k + 1)


_OF_PRIOR = "predictions", "prior_kappa"  # arguments of which a prior that is given has no need


def leave_out_cases(run: PlannedRun, folds: Folds, *, seed: int, progress: bool, **options: bool) -> LeftOut:
    """Predict every annotation with shared parameters that have not seen its case: cases are left out in folds.

    The other annotations of its case count as always, through the prior of the case, which is learned from
    the cases in the other folds.
    """
    annotations = folds.annotations
    n_folds = min(CASE_FOLDS, annotations.n_cases // 2)
    if n_folds < 2:
        raise AnnotationError(
            f"{run.label} learns from other cases, and is compared with some of them left out, which needs at least 4 "
            f"cases, but there are {annotations.n_cases}: compare models with class_prior='uniform'."
        )
    group = folds_of_cases(annotations, n_folds, seed)
    columns: dict[str, np.ndarray] = {}
    for number in range(n_folds):
        inside = group == number
        others = annotations.select(np.flatnonzero(~inside))
        learned = learn_prior(run.settled, others, seed=seed, progress=progress).prior
        assert isinstance(learned, PredictionsPrior)
        part = annotations.select(np.flatnonzero(inside))
        arguments = {name: value for name, value in run.arguments.items() if name not in _OF_PRIOR}
        own = Folds.of(part, folds.n_folds, seed)
        evidence = learned.evidence.with_copies(own.names(), part.cases[own.copy_case])
        arguments["class_prior"] = replace(learned, evidence=evidence)
        settled = replace(settle(part, run.model, seed=seed, **arguments), splits=run.settled.splits)
        run_of_part = replace(run, arguments=arguments, settled=settled)
        found = leave_out(run_of_part, own, seed=seed, progress=progress, **options)
        at = inside[annotations.annotation_case]
        for name in LeftOut.__dataclass_fields__:
            values = getattr(found, name)
            columns.setdefault(name, np.empty(annotations.n_annotations, values.dtype))[at] = values
    return LeftOut(**columns)


def folds_of_cases(annotations: Annotations, n_folds: int, seed: int) -> Int[np.ndarray, " case"]:
    """Number of the fold of each case, by the seed and the names of the cases."""
    words = stream_words(case_keys(seed, annotations.cases))[Stream.PRIOR]
    order = np.argsort([int(word[0]) << 32 | int(word[1]) for word in words], kind="stable")
    group = np.empty(annotations.n_cases, np.int64)
    group[order] = np.arange(annotations.n_cases) % n_folds
    return group


def _without_draws(task: _Task, out: LeftOut) -> None:
    run, folds = task.run, task.folds
    copies = np.arange(len(folds))
    with Progress(task.progress) as bars:
        parts = [(folds.annotations, folds.annotations.annotation_case, out.in_sample)]
        if len(copies):
            parts.append((folds.train(copies), folds.copy, out.elpd))
        for annotations, case, to in parts:
            slots, weight = expected_plausibility(annotations, run.settled, progress=bars)
            scored = case >= 0
            if task.of_rankings and to is out.elpd:
                to[scored] = _ranking(task, copies, slots, weight[None, None], bars)[0, 0][scored]
            elif task.of_rankings:
                to[:] = _log_likelihood(annotations, slots, weight[None, None], bars)[0, 0]
            else:
                share = first_block_shares(folds.annotations, case, slots, weight, shape=_class_shape(run))
                to[scored] = _log(share)[scored]


def _by_draws(task: _Task, out: LeftOut, importance: bool) -> None:
    run, folds, of_rankings, progress = task.run, task.folds, task.of_rankings, task.progress
    annotations, settled = folds.annotations, run.settled
    model, count = settled.model, settled.model.count(settled.arguments)
    posterior = unjudged(aggregate)(annotations, run.model, seed=task.seed, progress=progress, **run.arguments)
    slots, weight = slots_of(posterior), _choice_weights(posterior, run)
    to_refit = folds.copy >= 0
    # Where the likelihood of an annotation enters by a known power, draws can be reweighted to those without it.
    importance = importance and model.log_likelihood and model.repeats is not None
    importance = importance and settled.answers == BY_PLAUSIBILITY
    tried = to_refit & ~folds.alone() if importance else np.zeros_like(to_refit)
    likelihood = None
    if importance or (of_rankings and model.log_likelihood):
        likelihood = to_groups(posterior)[settled.likelihood]["ranking"]
    elif of_rankings:
        with Progress(progress) as bars:
            likelihood = xr.DataArray(_log_likelihood(annotations, slots, weight[None], bars))
    effective, converged = _chains(posterior)
    for part in np.array_split(np.arange(annotations.n_annotations), max(1, annotations.n_annotations // 2000)):
        found = np.empty((0, 0))
        if likelihood is not None:  # computed for this part
            found = likelihood[..., part[0] : part[-1] + 1].values.reshape(len(weight), -1).astype(float)
        if of_rankings:
            log_value = found
        else:
            case = annotations.annotation_case
            log_value = _log(first_block_shares(annotations, case, slots, weight, part, _class_shape(run)))
        out.in_sample[part] = logsumexp(log_value, axis=0) - np.log(len(log_value))
        mine = tried[part]
        if not mine.any():
            continue
        at = part[mine]
        share = effective[annotations.annotation_case[at]]
        log_weight, k_hat = pareto_smoothed(-count * found[:, mine].T, float(np.median(share)))
        out.k_hat[at] = k_hat
        good = (k_hat <= K_HAT) & converged[annotations.annotation_case[at]]
        terms = log_weight + log_value[:, mine].T
        total = logsumexp(terms, axis=1)
        spread = np.exp(log_weight) * np.expm1(np.minimum(log_value[:, mine].T - total[:, None], 700))
        error = np.sqrt((spread**2).sum(1) / share)
        out.elpd[at[good]], out.error[at[good]] = total[good], error[good]
        to_refit[at[good]] = False
    del posterior, weight, likelihood
    release_memory()
    out.refitted[to_refit] = True

    def refit_some(scored: Bool[np.ndarray, " annotation"], given: Mapping[str, Any]) -> None:
        wanted = np.unique(folds.copy[scored])
        longer = replace(task, run=replace(run, arguments=given))
        for part in np.array_split(wanted, -(-len(wanted) // _COPIES)) if len(wanted) else []:
            _refit(longer, part, np.flatnonzero(scored & np.isin(folds.copy, part)), out)

    refit_some(to_refit, run.arguments)
    failed = to_refit & ~out.converged
    if 0 < failed.sum() <= max(1, FEW * to_refit.sum()):
        longer = {name: factor * settled.arguments[name] for name, factor in LONGER.items()}
        refit_some(failed, {**run.arguments, **longer})


def _refit(task: _Task, copies: Int[np.ndarray, " copy"], at: Int[np.ndarray, " chosen"], out: LeftOut) -> None:
    """Sample some copies as cases of their own, and predict what is left out of them."""
    run, folds = task.run, task.folds
    posterior = refit(folds.train(copies), run.model, seed=task.seed, progress=task.progress, **run.arguments)
    slots = slots_of(posterior)
    place = np.full(len(folds), -1)
    place[copies] = np.arange(len(copies))
    case = np.where(folds.copy >= 0, place[folds.copy], -1)
    weight = _choice_weights(posterior, run)
    if task.of_rankings:
        by_chain = weight.reshape(posterior["posterior"].sizes["chain"], -1, len(slots))
        with Progress(task.progress) as bars:
            value = _ranking(task, copies, slots, by_chain, bars)
        log_value = value.reshape(len(weight), -1)[:, at].astype(float)
    else:
        log_value = _log(first_block_shares(folds.annotations, case, slots, weight, at, _class_shape(run)))
    total = logsumexp(log_value, axis=0) - np.log(len(log_value))
    out.elpd[at] = total
    with np.errstate(invalid="ignore"):
        spread = np.expm1(np.minimum(log_value - total, 700)).std(0)
    effective, converged = _chains(posterior)
    out.error[at] = np.where(np.isfinite(total), spread / np.sqrt(effective[case[at]] * len(log_value)), 0)
    out.converged[at] = converged[case[at]]
    release_memory()


def _ranking(
    task: _Task,
    copies: Int[np.ndarray, " copy"],
    slots: Slots,
    weight: Float[np.ndarray, "chain draw slot"],
    progress: Progress,
) -> Float[np.ndarray, "chain draw annotation"]:
    """Log probability of the whole rankings that are left out of these copies, NaN for other annotations."""
    folds = task.folds
    whole = folds.whole(copies)
    left_out, of = folds.left_out(copies)
    union = Slots.of(whole, remainder=bool(slots.is_remainder.any()))
    spread, impossible = _split_remainders(task, whole, union, slots, weight)
    value = _log_likelihood(left_out, union, spread, progress)
    named = union.find(left_out.entry_case, left_out.entry_class)
    never = np.bincount(left_out.entry_annotation, impossible[named], left_out.n_annotations) > 0
    value[..., never] = -np.inf
    out = np.full((*weight.shape[:2], folds.annotations.n_annotations), np.nan, np.float32)
    out[..., of] = value
    return out[..., folds.like]


def _split_remainders(task, whole, union, slots, weight):
    """Give classes that only left-out annotations name their share of the remainder, by its Dirichlet."""
    parent = slots_or_remainder(
        slots, union.case, np.where(union.is_remainder, whole.n_classes, union.class_index), whole.n_classes
    )
    impossible = parent < 0
    spread = np.where(impossible, 0, weight[..., parent])
    shared = ~impossible & slots.is_remainder[parent]
    words = stream_words(case_keys(task.seed, whole.cases))[Stream.SHARES]
    for case in np.unique(union.case[shared & ~union.is_remainder]):
        own = np.arange(union.start[case], union.start[case + 1])
        own = own[shared[own]]
        shape = union.n_classes[own] * task.run.settled.arguments["concentration"]
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
    """Probabilities of the first choice: plausibilities, their power if the model says so, or those of its program."""
    if run.settled.answers in BY_PROGRAM:
        return answer_probabilities(posterior, run.settled)
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


def _chains(posterior: Posterior) -> tuple[Float[np.ndarray, " case"], Bool[np.ndarray, " case"]]:
    """Effective draws of each case, as a share of all, and whether its chains converged."""
    groups = to_groups(posterior)
    if "convergence" not in groups:
        n = groups["observed_data"].sizes["case"]
        return np.ones(n), np.ones(n, bool)
    total = groups["posterior"].sizes["chain"] * groups["posterior"].sizes["draw"]
    found = groups["convergence"]["ess_bulk"].values / total
    effective = np.where(np.isfinite(found), np.clip(found, 1 / total, 1), 1)
    return effective, groups["convergence"]["converged"].values


def _class_shape(run: PlannedRun) -> Float[np.ndarray, " class"] | None:
    """By what a remainder is split, None for all classes alike."""
    return None if run.settled.prior is None else run.settled.prior.expected


def _log(x: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    with np.errstate(divide="ignore"):
        return np.log(x)
