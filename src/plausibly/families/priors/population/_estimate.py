"""From annotations to their population."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from plausibly.base.checks import check_seed, check_whole
from plausibly.base.errors import AnnotationError
from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.by_case import check_annotated
from plausibly.families.priors.population._case_priors import rank_weight
from plausibly.families.priors.population._population import Population
from plausibly.families.priors.population._sampler import Labels, State, sweeps
from plausibly.inference.chains import Sampler
from plausibly.posterior.diagnostics import judge_shared

LARGEST = 3000  #: classes; profiles have as many rows as columns
#: effective draws over all chains that an estimate needs, whose error is then about a quarter of the posterior's sd
ENOUGH = 20
ENOUGH_SAMPLES = 100  #: and that draws need
PROFILES = 25  #: draws of each chain of which profiles are kept
SINGLE = "concentration", "strength", "self_share", "spread"  #: parameters that are numbers
SAMPLES = 40  #: draws that are kept for full Bayesian inference

_kept: OrderedDict[tuple, Population] = OrderedDict()  # of the last few data sets, since sweeps ask again and again
_KEPT = 8


def estimate(
    annotations: Annotations,
    *,
    draws: int = 150,
    chains: int = 2,
    warmup: int = 100,
    seed: int = 0,
    difficulty: bool = False,
    samples: bool = False,
    progress: bool = False,
) -> Population:
    """Infer what the cases of a data set have in common.

    Parameters
    ----------
    annotations
        At least two cases over K classes. Annotators may be anonymous.
    draws, chains, warmup
        Number of kept sweeps per chain, of chains, and of warm-up sweeps per chain.
    seed
        Random seed.
    difficulty
        Whether cases differ in their concentration, see :func:`plausibly.priors.population.difficulties`.
    samples
        Whether to also keep 40 draws of the shared parameters, for full Bayesian inference. Chains then exchange the
        heads of profiles and need longer: use at least 1,000 draws and a warm-up of 500.
    progress
        Whether to show progress.

    Returns
    -------
    Population
        Posterior means; geometric means for concentration and strength.

    Raises
    ------
    AnnotationError
        If there are fewer than two cases, or more than 3,000 classes.
    ArgumentError
        If a number is out of range.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a"], ["a"], ["a", "b"], ["b", "b"], ["a", "a"]])
    >>> population = estimate(annotations, draws=50, seed=0)
    >>> bool(population.prevalence[0] > population.prevalence[1])
    True
    """
    check_annotated(annotations)
    if annotations.n_cases < 2:
        raise AnnotationError(
            f"a population needs at least 2 cases, but there is {annotations.n_cases}: aggregate it with "
            "class_prior='uniform', or give the population of other cases."
        )
    if annotations.n_classes > LARGEST:
        raise AnnotationError(
            f"a population is for up to {LARGEST:,} classes, but there are {annotations.n_classes:,}: merge classes, "
            "or aggregate with class_prior='uniform'."
        )
    for name, value, least in (("draws", draws, 4), ("chains", chains, 1), ("warmup", warmup, 0)):
        check_whole(name, value, least)
    key = (annotations.digest(), draws, chains, warmup, check_seed(seed), samples, difficulty)
    if key in _kept:
        return _kept[key]
    order = _order(annotations)
    labels = _labels(annotations, order)
    step = max(draws // PROFILES, 1)
    made_by = partial(sweeps, labels, by_case=difficulty, exchange=samples), partial(_kept_of, step, samples)
    sampler = Sampler.of_single_chains(*made_by, draws=draws, warmup=warmup, seed=int(seed))
    with Progress(progress) as bars:
        found = sampler.sample(chains, bars, doing="Learning the population")
        diagnosis = _judge(found, annotations.classes[order], samples, bars)
    made = _population(found, annotations, order, step, diagnosis)
    if samples:  # profiles have other heads in every draw, so their mean would be a blur
        whole = estimate(annotations, seed=seed, difficulty=difficulty, progress=progress)
        made = replace(made, prevalence=whole.prevalence, profiles=whole.profiles)
    _kept[key] = made
    while len(_kept) > _KEPT:
        _kept.popitem(last=False)
    return made


def _order(annotations: Annotations) -> np.ndarray:
    """Classes in the order in which annotations name them, so that relabelling them changes nothing but labels."""
    named, first = np.unique(annotations.entry_class, return_index=True)
    never = np.setdiff1d(np.arange(annotations.n_classes), named)
    return np.concatenate([named[np.argsort(first)], never])


def _labels(annotations: Annotations, order: np.ndarray) -> Labels:
    number = np.empty(annotations.n_classes, np.int64)
    number[order] = np.arange(len(order))
    sizes = annotations.block_sizes
    first = np.cumsum(sizes) - sizes
    return Labels(
        annotations.annotation_case[annotations.block_annotation].astype(np.int64),
        rank_weight(annotations.entry_block[first]),
        first,
        sizes,
        number[annotations.entry_class],
        annotations.n_cases,
        annotations.n_classes,
    )


def _alike(profiles: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Average profiles over all ways to exchange some classes."""
    out, n = profiles.copy(), which.sum()
    out[np.ix_(~which, which)] = profiles[~which][:, which].mean(1)[:, None]
    out[np.ix_(which, ~which)] = profiles[which][:, ~which].mean(0)
    inner = profiles[np.ix_(which, which)]
    own = np.trace(inner) / n
    out[np.ix_(which, which)] = (inner.sum() - n * own) / max(n * (n - 1), 1)
    out[which, which] = own
    return out


def _kept_of(step: int, samples: bool, state: State, number: int) -> dict[str, Any]:
    """Parameters of each draw; profiles of every few draws, in single precision, and drawn ones only if wanted."""
    kept = {name: getattr(state, name) for name in (*SINGLE, "prevalence", "expected")}
    if number % step == 0:
        kept["mean_profiles"] = state.mean_profiles.astype(np.float32)
        kept |= {"profiles": state.profiles.astype(np.float32)} if samples else {}
    return kept


def _judge(found: Mapping[str, np.ndarray], names: np.ndarray, samples: bool, progress: Progress) -> xr.Dataset:
    """Judge what cases depend on: concentration, spread, and expected plausibilities of the commonest classes.

    Of draws that are kept also strength and self share, which in an estimate go with the heads that it begins with.
    """
    expected = found["expected"]
    most = np.argsort(-expected.mean((0, 1)), kind="stable")[:10]
    used = ["concentration", *["strength", "self_share"] * samples, *["spread"] * bool(found["spread"].any())]
    single = np.stack([found[name] for name in used], axis=-1)
    numbers = np.log(np.concatenate([single, expected[..., most]], axis=-1))
    names = [*used, *(f"expected {names[k]}" for k in most)]
    enough = ENOUGH_SAMPLES if samples else ENOUGH
    return judge_shared(names, numbers, quantities=len(names), enough=enough, progress=progress)


def _population(
    found: Mapping[str, np.ndarray], annotations: Annotations, order: np.ndarray, step: int, diagnosis: xr.Dataset
) -> Population:
    """Average the draws, and keep those that have profiles."""
    back = np.argsort(order)

    def make(concentration, strength, self_share, spread, prevalence, profiles, **more) -> Population:
        prevalence, profiles = np.array(prevalence, float)[back], np.array(profiles, float)[np.ix_(back, back)]
        prevalence /= prevalence.sum()
        profiles /= profiles.sum(1, keepdims=True)
        single = {"strength": float(strength), "self_share": float(self_share), "spread": float(spread)}
        return Population(annotations.classes, prevalence, profiles, float(concentration), **single, **more)

    kept: tuple[Population, ...] = ()
    if "profiles" in found:
        with_profiles = [found[name][:, ::step] for name in (*SINGLE, "prevalence")] + [found["profiles"]]
        flat = [values.reshape(-1, *values.shape[2:]) for values in with_profiles]
        at = np.unique(np.linspace(0, len(flat[0]) - 1, SAMPLES).astype(int))
        kept = tuple(make(*(values[i] for values in flat)) for i in at)
    prevalence, profiles = found["prevalence"].mean((0, 1)), found["mean_profiles"].mean((0, 1))
    unnamed = np.isin(order, np.unique(annotations.entry_class), invert=True)
    if unnamed.any():  # nothing tells them apart
        prevalence[unnamed] = prevalence[unnamed].mean()
        profiles = _alike(profiles, unnamed)
    of_logs = (np.exp(np.log(found[name]).mean()) for name in ("concentration", "strength"))
    means = found["self_share"].mean(), found["spread"].mean(), prevalence, profiles
    return make(*of_logs, *means, samples=kept, convergence=diagnosis)
