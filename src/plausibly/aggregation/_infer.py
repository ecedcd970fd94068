"""From annotations, all or those of a shard, to their posterior: what runs, once everything is settled."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Array, Bool, Float, Key

from plausibly._arviz import Posterior
from plausibly._memory import release_memory
from plausibly._progress import Progress
from plausibly.aggregation._arguments import Settled
from plausibly.aggregation._layout import Shapes, exact_posterior, lay_out, point_estimate, prior_share
from plausibly.aggregation._registry import SETTINGS, is_built_in
from plausibly.aggregation._staged import PROPOSALS, sample_staged
from plausibly.aggregation._true_class import draw_shared, infer_true_class, with_shared
from plausibly.aggregation._with_population import Mixture, draw_exactly, sample_by_head
from plausibly.annotations import Annotations, Scores, Slots
from plausibly.case import NormalInverseGamma
from plausibly.compute import tell_of_first_run
from plausibly.diagnostics import convergence
from plausibly.errors import ArgumentError, PlausiblyWarning
from plausibly.inference import (
    MAX_TREE_DEPTH,
    ORDINAL_THINNING,
    THINNING,
    Categories,
    Heads,
    Program,
    Shape,
    bucket_scores,
    check_likelihood,
    dirichlet,
    dirichlet_tree,
    draw_scores,
    estimate_ordinal_prior,
    estimate_prior,
    gibbs,
    no_trajectories,
    nuts,
    ordinal,
    sweeps_per_draw,
)
from plausibly.model import Model
from plausibly.posterior import build_posterior
from plausibly.priors.population import PopulationPrior
from plausibly.random_streams import case_keys, take

_TOGETHER = 2000  # cases without annotations that are drawn at a time
_OF_NUTS = {"thinning": list(THINNING), "max_tree_depth": MAX_TREE_DEPTH}
AT_THRESHOLD = 0.05  #: share of scores equal to the threshold from which on a model of numbers misleads


@dataclass
class _Work:
    """All that an engine is given."""

    model: Model
    program: Program
    observed: Annotations | Scores
    labels: Annotations
    slots: Slots
    prior: Any
    arguments: Mapping[str, Any]
    exact: Bool[np.ndarray, " case"]
    shapes: Sequence[Shape] | None
    of_cases: int | None
    keys: Key[Array, " case"]
    bars: Progress
    mixture: Mixture | None = None  # instead of the prior
    categories: Categories | None = None  # of scores
    seed: int = 0

    @property
    def numbers(self) -> dict[str, float]:
        return self.model.numeric(self.arguments)

    @property
    def plan(self) -> dict[str, Any]:
        """What was decided on for all cases, of which these may be a shard."""
        return {"shapes": self.shapes, "of_cases": self.of_cases}

    def settings(self, *names: str) -> dict[str, int]:
        return {name: self.arguments[name] for name in names}


@dataclass
class _Drawn:
    """What an engine returns."""

    plausibility: Float[np.ndarray, "chain draw slot"]
    statistics: dict[str, np.ndarray] | None = None  # None of independent draws
    attrs: dict[str, Any] = field(default_factory=dict)
    by_case: dict[str, np.ndarray] | None = None  # mean and variance of scores
    certainty: Float[np.ndarray, " case"] | None = None


def infer_cases(
    observed: Annotations | Scores,
    settled: Settled,
    *,
    seed: int,
    quantities: int,
    shapes: Shapes,
    progress: bool,
    draws_alone: bool = False,
) -> Posterior:
    """What :func:`aggregate` does to annotations, all or some of them.

    ``quantities`` are those judged together, and ``shapes`` those of all annotations. It may do so in another process,
    so all arguments can be sent there.
    """
    if progress:
        tell_of_first_run()
    scores, categories = observed if isinstance(observed, Scores) else None, None
    known, engine, arguments = settled.model, settled.engine, settled.arguments
    if known.true_class is not None:
        how, sampler, shared = {"seed": seed, "progress": progress}, known.true_class, settled.shared_draws
        if shared is not None:  # a shard
            return infer_true_class(observed, settled, sampler, shared, quantities=quantities, **how)
        shared = draw_shared(settled, sampler, observed, **how)
        posterior = infer_true_class(observed, settled, sampler, shared, quantities=quantities, **how)
        return with_shared(posterior, shared)
    described = settled.describe(seed)
    labels = observed if scores is None else scores.split(arguments["threshold"])
    slots, prior = lay_out(observed, arguments)
    if scores is not None:
        given = arguments["prior"]
        if not known.categories:
            _warn_of_ties(known.name, scores, arguments["threshold"])
        if known.categories:
            categories = Categories.of(scores, arguments["cutpoints"])
        if given is not None:
            prior = NormalInverseGamma(*given)
        elif categories is not None:
            prior = estimate_ordinal_prior(scores, categories, int(seed))
        else:
            prior = estimate_prior(scores)
        described |= {"prior": [float(value) for value in prior], "prior_from": "given" if given else "scores"}
    program = Program(known.program, tuple(known.static(arguments).items()))
    keys = case_keys(int(seed), observed.cases)
    alpha = arguments.get("concentration", 0.0)
    with Progress(progress) as bars:
        if engine in ("point", "ml"):
            point = np.asarray(point_estimate(known, observed, slots, arguments, keys, bars, shapes.point))
            return build_posterior(point[None, None], labels, slots, point=point, concentration=alpha, attrs=described)
        annotated = observed.per_case > 0
        if known.log_likelihood and not is_built_in(known) and isinstance(observed, Annotations) and annotated.any():
            check_likelihood(observed.annotated, slots.select(annotated), program, known.numeric(arguments))
        mixture = Mixture.of(settled, observed) if settled.borrows else None
        exact = np.zeros(observed.n_cases, bool) if scores is not None else settled.known_cases(observed)
        work = _Work(
            known,
            program,
            observed,
            labels,
            slots,
            prior,
            arguments,
            exact,
            shapes.sampling,
            shapes.n_cases,
            keys,
            bars,
            mixture,
            categories,
            int(seed),
        )
        draw = {"exact": _exact, "gibbs": _gibbs, "nuts": _nuts, "independence": _independence}[engine]
        drawn = draw(work) if annotated.all() else _partly(work, draw, annotated)
        release_memory()
        plausibility, statistics, diagnosed = drawn.plausibility, drawn.statistics, None
        if mixture is not None:
            slots, prior, alpha = mixture.priors.slots, np.ones(len(mixture.priors.slots)), mixture.whole.concentration
            described |= mixture.whole.describe()
        described |= drawn.attrs
        if statistics is not None:
            diagnosed = convergence(
                plausibility if mixture is None else mixture.judged(plausibility),
                slots,
                statistics.get("diverging"),
                quantities=quantities,
                statistics=statistics,
                progress=bars,
            )
            described["converged"] = f"{int(diagnosed['converged'].sum())} of {observed.n_cases} cases"
        share = None
        if scores is None and mixture is None:
            share = prior_share(known, observed, slots, prior, arguments)
        if not is_built_in(known):
            _check_shares(known.name, observed, slots, plausibility)
        point = None
        # Of scores, NUTS keeps the plausibilities alone.
        if not draws_alone and (scores is None or engine == "exact"):
            point = point_estimate(known, observed, slots, arguments, keys, bars, shapes.point)
    mean = plausibility.mean((0, 1))
    return build_posterior(
        plausibility,
        labels,
        slots,
        point=mean if point is None else np.where(np.isnan(point), mean, point),
        concentration=alpha,
        sample_stats=statistics,
        convergence=diagnosed,
        by_case=drawn.by_case,
        scores=scores,
        certainty=drawn.certainty,
        prior_share=share,
        attrs=described,
    )


def _warn_of_ties(name: str, scores: Scores, threshold: float) -> None:
    """Warn of scores that stand at the threshold, half of which a model of numbers takes to be above it."""
    share = float((scores.score == threshold).mean())
    if share > AT_THRESHOLD:
        warnings.warn(
            f"{share:.0%} of the scores equal the threshold, {threshold:g}: {name} treats scores as numbers, and "
            "puts about half the plausibility of such a case above it. Choose ordinal-scores, which "
            "treats scores as categories, or a threshold between two scores.",
            PlausiblyWarning,
            stacklevel=2,
        )


def _partly(work: _Work, draw: Callable[[_Work], _Drawn], annotated: Bool[np.ndarray, " case"]) -> _Drawn:
    """Draw the cases with annotations by an engine, and the others from their prior, given the same shared draws."""
    mixture, (chains, n_draws) = work.mixture, work.settings("chains", "draws").values()
    assert mixture is not None
    slots, core, sampled = mixture.priors.slots, annotated[work.slots.case], draw is not _exact
    plausibility = np.empty((chains, n_draws, len(slots)), np.float32)
    statistics: dict[str, np.ndarray] = {}
    attrs: dict[str, Any] = {}
    if annotated.any():
        which, some = np.flatnonzero(annotated), mixture.select(annotated)
        own = {"observed": some.annotations, "labels": some.annotations, "slots": work.slots.select(annotated)}
        own |= {"prior": work.prior[core], "exact": work.exact[annotated], "keys": take(work.keys, which)}
        drawn = draw(replace(work, mixture=some, **own))
        plausibility[..., annotated[slots.case]] = drawn.plausibility
        attrs = drawn.attrs
        for name, values in (drawn.statistics or {}).items():
            statistics[name] = np.full((chains, n_draws, len(annotated)), name == "acceptance_rate", values.dtype)
            statistics[name][..., annotated] = values
    elif sampled:  # a shard without annotations has the statistics of the others
        shape = chains, n_draws, len(annotated)
        statistics = no_trajectories(shape) if draw is _nuts else {"lp": np.zeros(shape, np.float32)}
        attrs = dict(_OF_NUTS) if draw is _nuts else {"thinning": sweeps_per_draw(work.model.count(work.arguments))}
    numbers = np.tile(mixture.numbers(n_draws), chains) if sampled else None
    for cases in np.split(np.flatnonzero(~annotated), np.arange(_TOGETHER, (~annotated).sum(), _TOGETHER)):
        which = np.isin(np.arange(len(annotated)), cases)
        nothing, keys = np.zeros(int(which[work.slots.case].sum())), take(work.keys, cases)
        found = draw_exactly(mixture.select(which), nothing, keys, chains=chains, draws=n_draws, numbers=numbers)
        plausibility[..., which[slots.case]] = found
    return _Drawn(plausibility, statistics or None, attrs)


def _exact(work: _Work) -> _Drawn:
    """Independent draws from the posterior that the model declares."""
    found = exact_posterior(work.model, work.observed, work.slots, work.prior, work.arguments)
    numbers = work.settings("chains", "draws")
    if work.mixture is not None:
        return _Drawn(draw_exactly(work.mixture, found, work.keys, **numbers))
    if not work.model.of_scores:
        return _Drawn(dirichlet(found, work.slots, work.keys, **numbers))
    threshold = work.arguments["threshold"]
    plausibility, by_case = draw_scores(found, threshold, work.keys, **numbers)
    below = found.probability_below(threshold)
    return _Drawn(plausibility, by_case=by_case, certainty=np.maximum(below, 1 - below))


def _ordinal(work: _Work) -> _Drawn:
    """Draws of scores that are categories, by data augmentation."""
    assert work.categories is not None
    settings, threshold = work.settings(*SETTINGS), work.arguments["threshold"]
    advance = work.bars.task("Sampling scores", settings["chains"] * settings["draws"], "draws")
    plausibility, by_case = ordinal(
        work.observed, work.categories, threshold, work.prior, **settings, seed=work.seed, advance=advance
    )
    certainty = plausibility.mean((0, 1)).reshape(-1, 2).max(axis=1)
    statistics = {"lp": np.zeros((*plausibility.shape[:2], work.observed.n_cases), np.float32)}
    return _Drawn(plausibility, statistics, {"thinning": ORDINAL_THINNING}, by_case, certainty)


def _gibbs(work: _Work) -> _Drawn:
    if work.categories is not None:
        return _ordinal(work)
    count, settings = work.model.count(work.arguments), work.settings(*SETTINGS)
    if work.mixture is not None:
        core = work.mixture.priors.core_shape[0]
        settings["warmup"] = work.mixture.warmup(settings["warmup"])

        def by_head(heads: Heads, draws: int, keys: Key[Array, " case"]):
            how = settings | {"draws": draws, "progress": work.bars, "heads": heads}
            return gibbs(work.labels, work.slots, count, core, keys, **how, **work.plan)

        drawn = sample_by_head(work.mixture, by_head, work.keys, settings["draws"])
        return _Drawn(*drawn, {"thinning": sweeps_per_draw(count)})

    def sample(which: np.ndarray, part: Annotations, own: Slots, shape: np.ndarray):
        keys = take(work.keys, which)
        return gibbs(part, own, count, shape, keys, **settings, **work.plan, progress=work.bars)

    drawn = _by_part(work, sample, lambda shape: {"lp": np.zeros(shape, np.float32)})
    drawn.attrs["thinning"] = sweeps_per_draw(count)
    return drawn


def _independence(work: _Work) -> _Drawn:
    assert work.mixture is not None
    mixture, settings = work.mixture, work.settings("chains", "draws")
    assert isinstance(mixture.whole, PopulationPrior)
    population = mixture.whole.population
    drawn = sample_staged(work.labels, mixture.priors, population, work.keys, progress=work.bars, **settings)
    shared = population.stages
    return _Drawn(*drawn, {"thinning": PROPOSALS, "stages": shared.text(), "shared_stages": shared.describe()})


def _nuts(work: _Work) -> _Drawn:
    model, arguments, slots = work.model, work.arguments, work.slots
    settings = work.settings(*SETTINGS) | {"progress": work.bars}
    if model.of_scores:
        threshold, bounds = arguments["threshold"], None
        if work.categories is not None:
            threshold, bounds = work.categories.threshold(threshold), work.categories.bounds
        buckets = bucket_scores(work.observed, slots, threshold, work.prior, bounds)
        ones = np.ones(len(slots))
        plausibility, statistics = nuts(
            work.labels, slots, work.program, work.numbers, ones, work.keys, buckets=buckets, **settings
        )
        certainty = plausibility.mean((0, 1)).reshape(-1, 2).max(axis=1)
        return _Drawn(plausibility, statistics, dict(_OF_NUTS), certainty=certainty)
    how = {"pooled": model.gibbs, "gaps": model.choice_power(arguments) is not None, **work.plan}
    if work.mixture is not None:
        settings["warmup"] = work.mixture.warmup(settings["warmup"])

        def by_head(heads: Heads, draws: int, keys: Key[Array, " case"]):
            numbers = settings | {"draws": draws}
            found, more = nuts(work.labels, slots, work.program, work.numbers, heads.shape[0], keys, **how, **numbers)
            return found, more | {"head": np.zeros((*found.shape[:2], len(keys)), np.int32)}

        return _Drawn(*sample_by_head(work.mixture, by_head, work.keys, settings["draws"]), dict(_OF_NUTS))

    def sample(which: np.ndarray, part: Annotations, own: Slots, shape: np.ndarray):
        return nuts(part, own, work.program, work.numbers, shape, take(work.keys, which), **how, **settings)

    drawn = _by_part(work, sample, no_trajectories)
    drawn.attrs |= _OF_NUTS
    return drawn


def _by_part(work: _Work, sample: Callable, no_statistics: Callable) -> _Drawn:
    """Draw the cases whose posterior is known exactly, if these are wanted, and sample the others."""
    annotations, slots, exact = work.labels, work.slots, work.exact

    def draw(which: np.ndarray, part: Annotations, own: Slots, shape: np.ndarray):
        numbers = work.settings("chains", "draws")
        made = dirichlet_tree(part, own, work.model.count(work.arguments), shape, take(work.keys, which), **numbers)
        return made, no_statistics((*numbers.values(), len(which)))

    attrs = {"exact": f"{exact.sum()} of {annotations.n_cases} cases"} if work.model.gibbs else {}
    plausibility, statistics = np.empty(0), {}
    for engine, which in ((draw, exact), (sample, ~exact)):
        if which.all():
            return _Drawn(*engine(np.flatnonzero(which), annotations, slots, work.prior), attrs)
        if not which.any():
            continue
        inside = which[slots.case]
        part, own = annotations.select(np.flatnonzero(which)), slots.select(which)
        draws, found = engine(np.flatnonzero(which), part, own, work.prior[inside])
        if not plausibility.size:
            plausibility = np.empty((*draws.shape[:2], len(slots)), draws.dtype)
        plausibility[..., inside] = draws
        for name, values in found.items():
            whole = statistics.setdefault(name, np.empty((*draws.shape[:2], annotations.n_cases), values.dtype))
            whole[..., which] = values
    return _Drawn(plausibility, statistics, attrs)


def _check_shares(
    name: str, annotations: Annotations | Scores, slots: Slots, plausibility: Float[np.ndarray, "chain draw slot"]
) -> None:
    """Refuse draws of a user's program that are not distributions over classes; NaN is left to the diagnosis."""
    total = np.add.reduceat(plausibility, slots.start[:-1], axis=-1)
    wrong = np.abs(total - 1) > 1e-3
    wrong |= np.minimum.reduceat(plausibility, slots.start[:-1], axis=-1) < 0
    if wrong.any():
        chain, draw, case = np.argwhere(wrong)[0]
        own = plausibility[chain, draw, slots.start[case] : slots.start[case + 1]]
        raise ArgumentError(
            f"the site 'plausibility' of {name} must be shares of the slots of a case, but in case "
            f"{str(annotations.cases[case])!r} one draw is {np.round(own, 3).tolist()}: let them sum to 1, and none be "
            "negative."
        )
