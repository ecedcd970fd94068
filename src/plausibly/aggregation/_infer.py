"""Independent cases, but for a prior that is learned: the family of models that name no other."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from plausibly.aggregation._contract import check_shares, warn_of_ties
from plausibly.aggregation._on_demand import with_log_likelihood, with_point_estimate
from plausibly.aggregation._with_prior import Learned, form_of, learn_prior, sample_by_prior
from plausibly.aggregation.layout import (
    Shapes,
    check_sizes,
    closed_form,
    exact_posterior,
    lay_out,
    point_estimate,
    prior_share,
)
from plausibly.base.arviz import Posterior
from plausibly.base.memory import release_memory
from plausibly.base.programs import tell_of_first_run
from plausibly.base.progress import Progress
from plausibly.base.random_streams import case_keys, take
from plausibly.data.annotations import Annotations, Scores, Slots
from plausibly.data.case import NormalInverseGamma
from plausibly.families import Facts, Settled
from plausibly.families.model import SETTINGS, Model
from plausibly.inference import (
    MAX_TREE_DEPTH,
    ORDINAL_THINNING,
    THINNING,
    Categories,
    bucket_scores,
    check_likelihood,
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
from plausibly.posterior import build_posterior
from plausibly.posterior.diagnostics import convergence
from plausibly.posterior.on_demand import Draws, mean_draws
from plausibly.posterior.sites import dataset_of, draws_of_sites

_TOGETHER = 2000  # cases without annotations that are drawn at a time
_OF_NUTS = {"thinning": list(THINNING), "max_tree_depth": MAX_TREE_DEPTH}


class Independent:
    """Family of models whose cases share nothing but a prior; functions as of :class:`plausibly.families.Family`."""

    def says(self, model: Model) -> Facts:
        """Facts: the engines that a model declares."""
        return Facts(model.engines)

    def check(self, observed: Annotations | Scores, settled: Settled) -> None:
        """Refuse cases that are too large to sample."""
        if isinstance(observed, Annotations) and settled.engine in ("nuts", "gibbs", "ml"):
            check_sizes(settled.model.name, observed)

    def learn(self, observed: Annotations | Scores, settled: Settled, *, progress: bool, **_: Any) -> Settled:
        """Learn the prior, and decide on the shapes to which cases are padded."""
        if settled.borrows:
            settled = learn_prior(settled, observed, seed=settled.seed, progress=progress)
        slots = self.layout(observed, settled)
        return replace(settled, shapes=Shapes.of(observed.annotated, settled), quantities=len(slots))

    def layout(self, observed: Annotations | Scores, settled: Settled) -> Slots:
        """Slots that the arguments give mass, or that the prior makes likely."""
        if settled.borrows:
            return Learned.of(settled, observed).priors.slots
        return lay_out(observed, settled.arguments)[0]

    def draw(
        self, observed: Annotations | Scores, settled: Settled, *, progress: bool, point: str = "now"
    ) -> Posterior:
        """Draw cases by the engine, except for those whose posterior is known."""
        if progress:
            tell_of_first_run()
        model, engine, arguments, seed = settled.model, settled.engine, settled.arguments, settled.seed
        scores = observed if isinstance(observed, Scores) else None
        described = settled.describe()
        labels = observed if scores is None else scores.split(arguments["threshold"])
        slots, prior = lay_out(observed, arguments)
        categories = None
        if scores is not None:
            prior, categories = _prior_of_scores(scores, settled)
            given = "scores" if arguments["prior"] is None else "given"
            described |= {"prior": [float(value) for value in prior], "prior_from": given}
        keys, alpha = case_keys(seed, observed.cases), arguments.get("concentration", 0.0)
        with Progress(progress) as bars:
            how = keys, bars, settled.shapes.point
            if engine in ("point", "ml"):
                values = np.asarray(point_estimate(model, observed, slots, arguments, *how))
                return build_posterior(
                    values[None, None], labels, slots, point=values, concentration=alpha, attrs=described
                )
            annotated = observed.per_case > 0
            if model.log_likelihood and not model.built_in and scores is None and annotated.any():
                own = observed.annotated, slots.select(annotated)
                check_likelihood(*own, settled.program, model.numeric(arguments))
            learned = Learned.of(settled, observed) if settled.borrows else None
            exact = np.zeros(observed.n_cases, bool) if scores is not None else settled.known_cases(observed)
            work = _Work(settled, observed, labels, slots, prior, exact, keys, bars, learned, categories)
            draw = {"exact": _exact, "gibbs": _gibbs, "nuts": _nuts}[engine]
            if (form := closed_form(settled, observed, slots, prior, learned)) is not None:
                numbers = settled.numbers("chains", "draws")
                drawn = _Drawn(form.draw(**numbers) if point == "mean" else Draws(form, **numbers))
            else:
                drawn = draw(work) if annotated.all() else _partly(work, draw, annotated)
            release_memory()
            plausibility, statistics, diagnosed = drawn.plausibility, drawn.statistics, None
            if learned is not None:
                slots, alpha = learned.priors.slots, learned.whole.mean_shape
                described |= learned.whole.attributes()
            described |= drawn.attrs
            sites = dataset_of(drawn.sites, slots, observed.cases)
            if statistics is not None:
                judged = (lambda draws: draws) if learned is None else learned.judged
                of_sites, of_case = draws_of_sites(sites, slots, observed.cases)
                diagnosed = convergence(
                    judged(plausibility),
                    slots,
                    statistics.get("diverging"),
                    quantities=settled.quantities,
                    statistics=statistics,
                    further=(judged(of_sites), of_case) if len(of_case) else None,
                    progress=bars,
                )
                described["converged"] = f"{int(diagnosed['converged'].sum())} of {observed.n_cases} cases"
            share = None
            if scores is None and learned is None:
                share = prior_share(model, observed, slots, prior, arguments)
            if not model.built_in and form is None:
                check_shares(model.name, observed, slots, plausibility)
            later, estimate = point == "later" and model.update is not None, None
            # Of scores, NUTS keeps the plausibilities alone.
            if point != "mean" and not later and (scores is None or engine == "exact"):
                estimate = point_estimate(model, observed, slots, arguments, *how)
            values = np.full(len(slots), np.nan) if estimate is None else np.asarray(estimate)
            if (unknown := np.isnan(values)).any():
                values = np.where(unknown, mean_draws(plausibility, unknown), values)
        posterior = build_posterior(
            plausibility,
            labels,
            slots,
            point=values,
            concentration=alpha,
            sample_stats=statistics,
            convergence=diagnosed,
            by_case=drawn.by_case,
            sites=sites,
            scores=scores,
            certainty=drawn.certainty,
            prior_share=share,
            attrs=described,
        )
        return with_point_estimate(posterior, observed, settled, progress=progress) if later else posterior

    def log_likelihood(
        self, posterior: Posterior, observed: Annotations | Scores, settled: Settled, *, progress: bool, now: bool
    ) -> Posterior:
        """Add log probabilities of the program's observed sites; of scores, normal densities."""
        return with_log_likelihood(posterior, observed, settled, progress=progress, now=now)

    def leave_out(
        self, annotations: Annotations, settled: Settled, fold: Int[np.ndarray, " annotation"], *, progress: bool
    ) -> None:
        """None: annotations are predicted by fits without them."""
        return None


INDEPENDENT = Independent()


@dataclass
class _Work:
    """Input of an engine."""

    settled: Settled
    observed: Annotations | Scores
    labels: Annotations
    slots: Slots
    prior: Any
    exact: Bool[np.ndarray, " case"]
    keys: Key[Array, " case"]
    bars: Progress
    learned: Learned | None = None  # instead of the prior
    categories: Categories | None = None  # of scores

    @property
    def model(self) -> Model:
        return self.settled.model

    @property
    def arguments(self) -> Mapping[str, Any]:
        return self.settled.arguments

    @property
    def plan(self) -> dict[str, Any]:
        """What was decided on for all cases, of which these may be a shard."""
        return {"shapes": self.settled.shapes.sampling, "of_cases": self.settled.shapes.n_cases}


@dataclass
class _Drawn:
    """Output of an engine."""

    plausibility: Float[np.ndarray, "chain draw slot"] | Draws
    statistics: dict[str, np.ndarray] | None = None  # None of independent draws
    attrs: dict[str, Any] = field(default_factory=dict)
    by_case: dict[str, np.ndarray] | None = None  # mean and variance of scores
    certainty: Float[np.ndarray, " case"] | None = None
    sites: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)  # further ones, by name and case


def _prior_of_scores(scores: Scores, settled: Settled) -> tuple[NormalInverseGamma, Categories | None]:
    """Prior of the cases of scores, given or estimated, and the categories that scores are, if any."""
    arguments, categories = settled.arguments, None
    if settled.model.categories:
        categories = Categories.of(scores, arguments["cutpoints"])
    else:
        warn_of_ties(settled.model.name, scores, arguments["threshold"])
    if arguments["prior"] is not None:
        return NormalInverseGamma(*arguments["prior"]), categories
    if categories is not None:
        return estimate_ordinal_prior(scores, categories, settled.seed), categories
    return estimate_prior(scores), None


def _partly(work: _Work, draw: Callable[[_Work], _Drawn], annotated: Bool[np.ndarray, " case"]) -> _Drawn:
    """Draw the cases with annotations by an engine, and the others from their prior, given the same shared draws."""
    learned, (chains, n_draws) = work.learned, work.settled.numbers("chains", "draws").values()
    assert learned is not None
    slots, core, sampled = learned.priors.slots, annotated[work.slots.case], draw is not _exact
    plausibility = np.empty((chains, n_draws, len(slots)), np.float32)
    statistics: dict[str, np.ndarray] = {}
    attrs: dict[str, Any] = {}
    sites: dict[str, dict[int, np.ndarray]] = {}
    if annotated.any():
        which, some = np.flatnonzero(annotated), learned.select(annotated)
        own = {"observed": some.annotations, "labels": some.annotations, "slots": work.slots.select(annotated)}
        own |= {"prior": work.prior[core], "exact": work.exact[annotated], "keys": take(work.keys, which)}
        drawn = draw(replace(work, learned=some, **own))
        plausibility[..., annotated[slots.case]] = drawn.plausibility
        attrs = drawn.attrs
        sites = {name: {int(which[i]): draws for i, draws in own.items()} for name, own in drawn.sites.items()}
        for name, values in (drawn.statistics or {}).items():
            statistics[name] = np.full((chains, n_draws, len(annotated)), name == "acceptance_rate", values.dtype)
            statistics[name][..., annotated] = values
    elif sampled:  # a shard without annotations has the statistics of the others
        shape = chains, n_draws, len(annotated)
        statistics = no_trajectories(shape) if draw is _nuts else {"lp": np.zeros(shape, np.float32)}
        attrs = dict(_OF_NUTS) if draw is _nuts else {"thinning": sweeps_per_draw(work.model.count(work.arguments))}
    numbers = np.tile(learned.numbers(n_draws), chains) if sampled else None
    for cases in np.split(np.flatnonzero(~annotated), np.arange(_TOGETHER, (~annotated).sum(), _TOGETHER)):
        which = np.isin(np.arange(len(annotated)), cases)
        given = learned.select(which), np.zeros(int(which[work.slots.case].sum())), work.settled.seed
        found = form_of(*given, numbers).draw(chains, n_draws)
        plausibility[..., which[slots.case]] = found
    return _Drawn(plausibility, statistics or None, attrs, sites=sites)


def _exact(work: _Work) -> _Drawn:
    """Independent draws from the posterior that the model declares, where it has no form that is kept."""
    found = exact_posterior(work.model, work.observed, work.slots, work.prior, work.arguments)
    numbers = work.settled.numbers("chains", "draws")
    threshold = work.arguments["threshold"]
    plausibility, by_case = draw_scores(found, threshold, work.keys, **numbers)
    below = found.probability_below(threshold)
    return _Drawn(plausibility, by_case=by_case, certainty=np.maximum(below, 1 - below))


def _ordinal(work: _Work) -> _Drawn:
    """Draws of scores that are categories, by data augmentation."""
    assert work.categories is not None
    settings, threshold = work.settled.numbers(*SETTINGS), work.arguments["threshold"]
    given = work.observed, work.categories, threshold, work.prior
    plausibility, by_case = ordinal(*given, **settings, seed=work.settled.seed, progress=work.bars)
    certainty = plausibility.mean((0, 1)).reshape(-1, 2).max(axis=1)
    statistics = {"lp": np.zeros((*plausibility.shape[:2], work.observed.n_cases), np.float32)}
    return _Drawn(plausibility, statistics, {"thinning": ORDINAL_THINNING}, by_case, certainty)


def _gibbs(work: _Work) -> _Drawn:
    if work.categories is not None:
        return _ordinal(work)
    count, settings = work.model.count(work.arguments), work.settled.numbers(*SETTINGS)
    if work.learned is not None:
        settings["warmup"] = work.learned.warmup(settings["warmup"])

        def given(prior: Float[np.ndarray, " core"], draws: int, keys: Key[Array, " case"]):
            how = settings | {"draws": draws, "progress": work.bars}
            return gibbs(work.labels, work.slots, count, prior, keys, **how, **work.plan)

        drawn = sample_by_prior(work.learned, given, work.keys, settings["draws"])
        return _Drawn(*drawn, {"thinning": sweeps_per_draw(count)})

    def sample(which: np.ndarray, part: Annotations, own: Slots, shape: np.ndarray):
        keys = take(work.keys, which)
        return gibbs(part, own, count, shape, keys, **settings, **work.plan, progress=work.bars)

    drawn = _by_part(work, sample, lambda shape: {"lp": np.zeros(shape, np.float32)})
    drawn.attrs["thinning"] = sweeps_per_draw(count)
    return drawn


def _nuts(work: _Work) -> _Drawn:
    model, arguments, slots = work.model, work.arguments, work.slots
    settings = work.settled.numbers(*SETTINGS) | {"progress": work.bars}
    program = work.settled.program, model.numeric(arguments)
    if model.of_scores:
        threshold, bounds = arguments["threshold"], None
        if work.categories is not None:
            threshold, bounds = work.categories.threshold(threshold), work.categories.bounds
        buckets = bucket_scores(work.observed, slots, threshold, work.prior, bounds)
        given = work.labels, slots, *program, np.ones(len(slots)), work.keys
        sites = None if model.built_in else {}
        plausibility, statistics = nuts(*given, buckets=buckets, **settings, sites=sites)
        certainty = plausibility.mean((0, 1)).reshape(-1, 2).max(axis=1)
        return _Drawn(plausibility, statistics, dict(_OF_NUTS), certainty=certainty, sites=sites or {})
    how = {"pooled": model.gibbs, "gaps": model.choice_power(arguments) is not None, **work.plan}
    if work.learned is not None:
        settings["warmup"] = work.learned.warmup(settings["warmup"])

        of_priors: list[dict[str, dict[int, np.ndarray]]] = []

        def given(prior: Float[np.ndarray, " core"], draws: int, keys: Key[Array, " case"]):
            numbers = settings | {"draws": draws}
            of_priors.append({})
            sites = None if model.built_in else of_priors[-1]
            return nuts(work.labels, slots, *program, prior, keys, **how, **numbers, sites=sites)

        drawn = _Drawn(*sample_by_prior(work.learned, given, work.keys, settings["draws"]), dict(_OF_NUTS))
        order = work.learned.turns(settings["draws"])
        for name, own in of_priors[0].items():
            joined = {case: np.concatenate([sites[name][case] for sites in of_priors], axis=1) for case in own}
            drawn.sites[name] = {case: draws[:, order] for case, draws in joined.items()}
        return drawn

    found: dict[str, dict[int, np.ndarray]] = {}

    def sample(which: np.ndarray, part: Annotations, own: Slots, shape: np.ndarray):
        sites = None if model.built_in else {}
        made = nuts(part, own, *program, shape, take(work.keys, which), **how, **settings, sites=sites)
        for name, draws in (sites or {}).items():
            found[name] = {int(which[number]): values for number, values in draws.items()}
        return made

    drawn = _by_part(work, sample, no_trajectories)
    drawn.attrs |= _OF_NUTS
    drawn.sites = found
    return drawn


def _by_part(work: _Work, sample: Callable, no_statistics: Callable) -> _Drawn:
    """Draw the cases whose posterior is known exactly, if these are wanted, and sample the others."""
    annotations, slots, exact = work.labels, work.slots, work.exact

    def draw(which: np.ndarray, part: Annotations, own: Slots, shape: np.ndarray):
        numbers = work.settled.numbers("chains", "draws")
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
