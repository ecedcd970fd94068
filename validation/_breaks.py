"""Samplers broken on purpose, to test that a run notices. Each break is small and stays within one module.

What is broken is named by texts and imported when it is broken, so that a sampler that is gone takes only its own
breaks with it.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from plausibly.evaluation.truth import truth_of_labels


@dataclass(frozen=True)
class Break:
    """One error."""

    what: str  #: in words
    only: str  #: part of the names of the conditions that it affects
    group: str  #: the check that has to notice
    module: str  #: module of what is broken
    name: str  #: its attribute, or that of one of its classes, or KEY of one of its dictionaries: NAME, CLASS.NAME
    wrong: Callable[[Any], Any]  #: makes the wrong thing from the right one

    def find(self) -> tuple[Any, str, Any]:
        """Return the module, class or dictionary, its attribute or key, and what that is now."""
        owner = import_module(self.module)
        *outer, name = self.name.split(".")
        for one in outer:
            owner = getattr(owner, one)
        return owner, name, owner[name] if isinstance(owner, dict) else getattr(owner, name)

    def apply(self) -> Any:
        """Return a context manager within which it is broken."""
        owner, name, right = self.find()
        wrong = self.wrong(right)
        return patch.dict(owner, {name: wrong}) if isinstance(owner, dict) else patch.object(owner, name, wrong)


def _last_point(noise):
    def wrong(*arguments):
        made = noise(*arguments)
        return made._replace(log_u=jnp.full_like(made.log_u, -jnp.inf), log_v=jnp.full_like(made.log_v, -jnp.inf))

    return wrong


def _by_plausibility(kind):
    return lambda *arguments: "plausibility"


def _twice_as_sharp(log):
    return lambda judged, nodes, p: log(judged, nodes, p._replace(discrimination=2 * p.discrimination))


def _prior_shape(log_prob):
    return lambda self, value: log_prob(type(self)(1.2 * self.concentration), value)


def _temper_reliability(model):
    def plackett_luce(case, *, reliability=1.0, mode="power"):
        model.program(case, reliability=1.1 * reliability, mode=mode)

    return replace(model, program=plackett_luce)


def _gibbs_rate(complete):
    # Times of sets at a wrong rate would rightly go unnoticed: their scale is free, or redrawn along an orbit.
    def wrong(*arguments):
        made = complete(*arguments)
        return made._replace(exposure=made.exposure / 2)

    return wrong


def _gibbs_order(order_table):
    return lambda ratios: order_table(jnp.zeros_like(ratios))


def _tree_reliability(dirichlet_tree):
    return lambda annotations, slots, reliability, *more, **options: dirichlet_tree(
        annotations, slots, 1.2 * reliability, *more, **options
    )


def _dirichlet_shape(dirichlet):
    return lambda concentration, *more, **options: dirichlet(1.5 * concentration, *more, **options)


def _sample_weights(sample):
    def wrong(self, *arguments, **options):
        blunt = type(self)(0.97 * self.log_weights, self.block_sizes, max_block_size=self.max_block_size)
        return sample(blunt, *arguments, **options)

    return wrong


def _interpolated(threshold_of):
    def wrong(steps, alpha, n, bound=1.0):
        _, keep = threshold_of(steps, alpha, n, bound)
        within = (steps.below <= alpha * n).sum(-1, keepdims=True).clip(1, steps.scores.shape[-1] - 1)
        low, high = (np.take_along_axis(steps.below, at, -1)[..., 0] for at in (within - 1, within))
        share = np.clip((alpha * n - low) / np.maximum(high - low, 1e-12), 0, 1)
        first, second = (np.take_along_axis(steps.scores, at, -1)[..., 0] for at in (within - 1, within))
        return first + share * (second - first), keep

    return wrong


def _forgotten(budget):
    return lambda alpha, n, bound=1.0: alpha * n


def _by_vote(target):
    return import_module("validation.conformal").Cases.vote, *target[1:]


def _half_known(known_after):
    def wrong(*arguments):
        mean, variance = known_after(*arguments)
        return mean, variance / 2

    return wrong


def _generous(p_values):
    return lambda counts, epsilon, few=30: p_values(counts, 2 * epsilon, few)


def _no_better(knowing):
    return lambda accuracy, shared: accuracy


def _scattered(sums):
    return lambda cells, values: sums(replace(cells, cluster=np.arange(len(values)) % cells.n_clusters), values)


def _judged_alike(design_of):
    even = {"cautions": (), "shift": None, "estimate": None, "leads": "", "comparable": True, "met": ()}
    return lambda read: replace(design_of(read), outcomes=read, **even)


def _likeliest(draw):
    return lambda weights, random: weights.argmax(0)


def _no_table_is_shared(tables):
    return lambda random, what, shape, counts, to=None: counts


def _first_point(slices):
    return lambda random, what, x, width, *_: x + width * (random.random(x.shape) - 0.5) / 4


def _coin_prior(location):
    return location + 1.5


def _narrowly(between):
    return lambda random, what, lower, upper, mean, sd: between(random, what, lower, upper, mean, 0.6 * sd)


def _wide_scales(half_normal):
    return lambda log, scale: half_normal(log, 3 * scale)


def _halved(of_group):
    return property(lambda state: of_group.fget(state) / 2)


def _middle(between):
    return lambda random, what, lower, upper, mean, sd: (np.maximum(lower, -2.5) + np.minimum(upper, 3.5)) / 2


def _narrow(dirichlet):
    return lambda shape, random, least: dirichlet(4 * np.asarray(shape), random, least)


def _no_rows(gammaln):
    return lambda x: 0 * x


def _as_two(correct_if_agreed):
    return lambda first, second, n_labels=2: correct_if_agreed(first, second)


def _nobody(find_copies):
    return lambda labels, code: []


def _alike(difficulty):
    return lambda settled: None


def _of_these_cases(row):
    return lambda variables, metric, *others: row({**variables, f"{metric}_total": variables[metric]}, metric, *others)


def _cases_alone(check_clusters):
    return lambda clusters, cases: check_clusters(None, cases)


def _of_shares(spread):
    def wrong(annotations, truth, *arguments):
        squares = (truth_of_labels(annotations, truth, *arguments) ** 2).sum(axis=1)
        return spread(annotations, truth, *arguments)._replace(agree=squares)

    return wrong


def _alike(_):
    return lambda design, verified: np.full(len(verified), verified.mean())


def _pinned(**values):
    """Take parameters of the program of priors for known."""

    def wrong(numpyro):
        def sample(name, prior):
            pinned = dist.Normal(values.get(name, 0.0), 0.01).expand(prior.event_shape).to_event(len(prior.event_shape))
            return numpyro.sample(name, pinned if name in values else prior)

        return SimpleNamespace(sample=sample, factor=numpyro.factor)

    return wrong


def _one_draw(parameters):
    return lambda self, numbers: parameters(self, np.zeros(len(numbers), int))


def _wide(moments):
    return lambda *sizes: (moments(*sizes)[0], 2 * moments(*sizes)[1])


def _without_expert(of):
    return lambda predictions, annotations: of({n: p for n, p in predictions.items() if n != "expert"}, annotations)


# Two lines each: what goes wrong and who notices, and where it is.
def _all_seen(_):
    return lambda truth, words, members, *_: [None] * len(members)


def _without_covariance(right):
    return lambda effect: effect.mean_square


# fmt: off
def _without_reasons(reasons):
    return lambda self, models, *rest: dict.fromkeys(models, ())


BREAKS = {
    "nuts-acceptance": Break("NUTS takes the newest point of a trajectory", "NUTS", "calibration",
        "plausibly.inference.nuts._sampler", "noise", _last_point),
    "prior-shape": Break("the prior's shape is 20 % too large", "NUTS, power", "calibration",
        "plausibly.distributions", "LogRatioDirichlet.log_prob", _prior_shape),
    "temper-reliability": Break("γ is 10 % too large", "NUTS, temper, γ = 3", "calibration",
        "plausibly.models", "MODELS.plackett-luce", _temper_reliability),
    "gibbs-rate": Break("tied blocks count half in the rate of weights", "Gibbs", "calibration",
        "plausibly.inference.gibbs._sweep", "_complete", _gibbs_rate),
    "gibbs-order": Break("orders of tied blocks ignore the weights", "Gibbs", "calibration",
        "plausibly.inference.gibbs._tied_blocks", "order_table", _gibbs_order),
    "tree-reliability": Break("γ is 20 % too large", "exact tree", "calibration",
        "plausibly.aggregation._infer", "dirichlet_tree", _tree_reliability),
    "dirichlet-shape": Break("every shape is 50 % too large", "exact Dirichlet", "calibration",
        "plausibly.inference.exact._forms", "dirichlet", _dirichlet_shape),
    "true-class-likeliest": Break("the likeliest class is taken for drawn", "one-coin", "true-class",
        "plausibly.inference.moves", "categorical", _likeliest),
    "skene-tables": Break("every label has a table of its own", "dawid-skene", "true-class",
        "plausibly.inference.moves", "Moves.tables", _no_table_is_shared),
    "skene-shapes": Break("every shape is four times too large", "dawid-skene", "true-class",
        "plausibly.inference.moves", "dirichlet", _narrow),
    "skene-concentration": Break("concentrations ignore the labels", "dawid-skene", "true-class",
        "plausibly.models.dawid_skene", "gammaln", _no_rows),
    "coin-slice": Break("any point of a slice's first interval is taken", "one-coin", "true-class",
        "plausibly.inference.moves", "Moves.slices", _first_point),
    "coefficients-prior": Break("the prior of the coefficients of predictions is twice as wide",
        "common-confusion, predictions", "true-class",
        "plausibly.families.true_class._coefficients", "prior_moments", _wide),
    "coin-prior": Break("the prior's mean is 1.5 too large", "one-coin", "true-class",
        "plausibly.models.one_coin", "LOCATION", _coin_prior),
    "looks-likeliest": Break("the likeliest look, class seen and true class are taken for drawn", "by case",
        "true-class", "plausibly.inference.moves", "categorical", _likeliest),
    "groups-weights": Break("how common looks are to a group is four times as well known", "two groups", "true-class",
        "plausibly.inference.moves", "dirichlet", _narrow),
    "ordinal-narrow": Break("latent numbers vary too little", "ordinal-scores", "ordinal",
        "plausibly.inference.moves", "Moves.between", _narrowly),
    "ratings-prior": Break("priors of standard deviations are three times too wide", "raters", "ratings",
        "plausibly.families.ratings._sampler", "half_normal", _wide_scales),
    "ratings-shared": Break("what raters of a group err together is halved", "err together", "ratings",
        "plausibly.families.ratings._sampler", "_State.of_group", _halved),
    "ordinal-numbers": Break("scores are taken for the latent numbers", "ordinal-scores", "ordinal",
        "plausibly.inference.moves", "Moves.between", _middle),
    "sample-weights": Break("log weights are 3 % too small", "", "goodness",
        "plausibly.distributions", "PartialPlackettLuce.sample", _sample_weights),
    "conformal-interpolated": Break("thresholds are interpolated quantiles", "", "conformal",
        "plausibly.decisions.conformal._curve", "threshold_of", _interpolated),
    "conformal-plus-one": Break("the new case is not counted", "", "conformal",
        "plausibly.decisions.conformal._curve", "budget", _forgotten),
    "own-programs-plausible": Break("all programs answer by plausibilities", "", "own-programs",
        "plausibly.aggregation._contract", "_kind", _by_plausibility),
    "intervals-cases": Break("total intervals forget that cases are sampled", "", "intervals",
        "plausibly.evaluation.summaries", "_row", _of_these_cases),
    "few-unseen": Break("replicates have no unseen case", "", "few",
        "plausibly.evaluation.of_labels", "unseen_cases", _all_seen),
    "few-labels-shares": Break("shares of labels are taken for the distribution of experts", "", "few-labels",
        "plausibly.evaluation.of_labels", "label_spread", _of_shares),
    "verification-alike": Break("all cases are as probably verified", "", "verification",
        "plausibly.data.labels.verified", "_probability", _alike),
    "panels-clusters": Break("clusters are ignored", "", "panels",
        "plausibly.evaluation.panel_tables", "check_clusters", _cases_alone),
    "team-patients": Break("patients are ignored", "", "team",
        "plausibly.evaluation.of_labels", "check_clusters", _cases_alone),
    "conformal-vote": Break("sets for plausibilities are calibrated on the vote", "", "conformal",
        "validation.conformal", "TARGETS.plausibility", _by_vote),
    "planning-variance": Break("labels are taken to leave half of the variance", "", "planning",
        "plausibly.decisions.planning._forecast", "_known_after", _half_known),
    "judge-doubled": Break("the difference allowed is doubled", "", "judge",
        "validation.judge", "p_values", _generous),
    "verdicts-told": Break("what answers that look at no case have is not looked at", "", "verdicts",
        "plausibly.agreement.discrepancy._baselines", "Baselines.reasons", _without_reasons),
    "stand-ins-misled": Break("nobody knows better than the annotators", "", "stand-ins",
        "plausibly.agreement.judge._readings", "knowing", _no_better),
    "judged-discrimination": Break("raters tell good from bad twice as well", "pass and fail", "judged",
        "plausibly.models.judged_outcomes", "log_of_nodes", _twice_as_sharp),
    "systems-clusters": Break("clusters are ignored", "", "systems",
        "plausibly.systems._estimates", "_sums", _scattered),
    "designs-alike": Break("all systems are taken for judged alike", "", "designs",
        "plausibly.systems._systems", "design_of", _judged_alike),
    "wrong-labels": Break("annotators who are both wrong always agree", "", "weighted",
        "plausibly.agreement.reliability._weighted_reliability", "correct_if_agreed", _as_two),
    "evidence-first-choice": Break("first choices count no more than their scores", "confidence says little",
        "evidence", "plausibly.families.priors._program", "numpyro", _pinned(first_choice=0.0)),
    "evidence-concentration": Break("the concentration is fixed", "4 classes, 3 labels, 600", "evidence",
        "plausibly.families.priors._program", "numpyro",
        _pinned(log_concentration=3.0, log_concentration_by_entropy=0.0)),
    "evidence-one-draw": Break("all draws have the same shared parameters", "program itself", "evidence",
        "plausibly.priors", "PredictionsPrior._parameters", _one_draw),
    "evidence-left-out": Break("a classifier is left out", "4 classes, 3 labels, 600", "evidence",
        "plausibly.priors", "Evidence.of", _without_expert),
    "crowds-alike": Break("cases are taken to be equally hard", "looks", "crowds",
        "plausibly.families.true_class._family", "_difficulty", _alike),
    "readers-of-cases": Break("that readers read the same cases is not looked at", "", "readers",
        "plausibly.agreement.readers._compare", "_total", _without_covariance),
    "no-copies": Break("copies are not noticed", "", "annotators",
        "plausibly.agreement.chance.annotators", "find_copies", _nobody),
}
# fmt: on


@contextmanager
def broken(name: str) -> Iterator[Break]:
    """Break something within a block of code.

    Samplers compiled before are set aside, and those compiled within are dropped.
    """
    from plausibly.base import compute as _run

    chosen = BREAKS[name]
    others = {
        key: program for key, program in _run._compiled.items() if key[0][0] not in ("nuts", "gibbs", "judged outcomes")
    }
    with ExitStack() as stack:
        if chosen.group == "evidence":
            jax.clear_caches()
            stack.callback(jax.clear_caches)
        stack.enter_context(patch.object(_run, "_compiled", others))
        stack.enter_context(chosen.apply())
        yield chosen
