"""Every hand-written move against its program: differences of log densities between points that a chain comes by.

:class:`Checked` makes the moves of a sampler and compares the log density that each of them declares, at the value
before, the value drawn and one nearby, with the log density of the NumPyro program at the same points. Auxiliary
variables, and what a move has integrated out, are added to the program's density here.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from jax.flatten_util import ravel_pytree
from jax.scipy.special import gammaln, xlogy
from numpyro.handlers import block
from numpyro.infer.util import log_density
from scipy import stats
from scipy.sparse import csr_array

import plausibly as pb
from plausibly.data.case import LabelledCases, Looks, NormalInverseGamma, ScoredCase
from plausibly.data.regression import expected_shares, split
from plausibly.families.priors.evidence import log_scores
from plausibly.families.ratings import RatedCases, means_and_spreads
from plausibly.families.ratings._sampler import sweeps_of_ratings
from plausibly.families.true_class._sampler import _sweeps
from plausibly.inference.gibbs._ordinal import _update
from plausibly.inference.moves import Moves
from plausibly.models import MODELS
from plausibly.models.ordinal_scores import ordinal_ratings, ordinal_scores

Values = Mapping[str, Any]
SMALLEST = 1e-280  # probability that samplers resolve
LINES = "effects", "gammas"  # moves of several sites
FAR = 80.0  # log probabilities relative to the largest below which samplers take them for none
NEAR = 0.3  # of the standard deviation by which a slice is looked at near its point


class Checked(Moves):
    """Moves that compare what they declare with a joint density.

    ``joint(what, points)`` are log densities at points, values of all sites, as the move ``what`` sees them, None
    without points if what is drawn has no part in the program, and
    ``volume(what, values)`` that of what a move along a line changes beside its coordinate.
    """

    def begin(self, joint: Callable, volume: Any = lambda *_: 0.0, error: float = 1e-5, chains: Any = False) -> Any:
        self.joint, self.volume, self.error, self.chains = joint, volume, error, chains
        self.values, self.own, self.active, self.compared = {}, set(), False, Counter()
        self.near, self.masses = np.random.default_rng(1), {}
        return self

    def declared(self, what, value, log_density, to=None, old=None):
        if self.joint(what, None) is None:
            return value
        scale, name = _coordinate(what)
        natural = to or (lambda x: {name: scale(x)})
        if self.active:
            before = old if to else _inverse(what, self.values[name])
            if old is not None:  # a slice, or a step, from where the chain is
                for site, now in natural(old).items():
                    if site in self.own:
                        np.testing.assert_allclose(now, self.values[site], rtol=1e-5, atol=1e-9, err_msg=what)
            for point in (before, self._nearby(what, value, old, bool(to))):
                if point is not None:
                    self._compare(what, np.asarray(point), np.asarray(value), log_density, natural, bool(to))
        self.values |= natural(value)
        self.own |= set() if to else {name}
        return value

    def trajectory(self, what, x, mass, steps, log_density, to):
        """Compare the gradient with differences, and masses with those before: else, no way would lead back."""
        assert not self.active or self.masses.setdefault(what, mass.tolist()) == mass.tolist()
        differences = [log_density(x + step)[0] - log_density(x - step)[0] for step in 0.01 * np.eye(x.shape[1])]
        np.testing.assert_allclose(log_density(x)[1].T, np.array(differences) / 0.02, rtol=0.01, atol=0.01)
        return super().trajectory(what, x, mass, steps, log_density, to)

    def _nearby(self, what: str, value: Any, old: Any, line: bool) -> Any:
        """Another point for a slice, or for a draw of several sites, of which none is known before."""
        kind, noise = np.asarray(value).dtype.kind, NEAR * self.near.standard_normal(np.shape(value))
        if kind == "f" and (old is not None or what in LINES):
            return value * np.exp(noise) if what == "gammas" else value + noise
        return np.where(value > 1, value - 1, value) if kind == "i" and line else None

    def _compare(self, what, old, new, log_density, natural, line) -> None:
        before, after = (np.asarray(log_density(at if at.ndim else at.item())) for at in (old, new))
        if line and not np.isfinite(before).all():  # the line ends before
            return
        lanes = list(np.ndindex(before.shape))
        lanes = lanes if len(lanes) < 9 else [lanes[i] for i in self.near.integers(len(lanes), size=8)]
        chains = [lane[:1] if self.chains else ... for lane in lanes]  # to which points belong
        points = [(new, chain) for chain in dict.fromkeys(chains)]
        for lane, chain in zip(lanes, chains, strict=True):
            points.append((new.copy(), chain))
            points[-1][0][lane] = old[lane]
        logs = self._logs(what, [(natural(at if at.ndim else at.item()), chain) for at, chain in points], line)
        drawn = dict(zip(dict.fromkeys(chains), logs, strict=False))
        for lane, chain, log in zip(lanes, chains, logs[-len(lanes) :], strict=True):
            found, declared = drawn[chain] - log, float(after[lane] - before[lane])
            if np.min(self.values.get("confusion", np.ones(2))[chain]) < SMALLEST:  # which samplers do not tell from it
                continue
            if not np.isfinite(declared):  # outside of bounds, or at them
                assert not abs(found) < FAR, f"{what}: {declared}, but the program has {found}"
                continue
            assert abs(declared - found) < self.error * (1 + abs(found) + abs(declared)), f"{what}: {declared}, {found}"
            self.compared[what] += abs(found) > 1e-3

    def _logs(self, what: str, points: list[tuple[Values, Any]], line: bool) -> Any:
        """Log densities of the joint at points of chains, all in one call."""
        named = [
            {name: np.asarray(value)[chain] for name, value in (self.values | dict(sites)).items()}
            for sites, chain in points
        ]
        volumes = []
        for (sites, _), values in zip(points, named, strict=True):
            x, volume = values[next(iter(sites))], self.volume(what, values)
            if not line and what.startswith("log "):
                volume = np.log(x).sum()
            elif not line and what.startswith("logit "):
                volume = np.log(x) + np.log1p(-x)
            volumes.append(float(volume))
        return self.joint(what, named) + np.array(volumes)


def _coordinate(what: str) -> tuple[Callable, str]:
    """How a site is found from its coordinate, and its name."""
    first, _, name = what.split(" | ")[0].partition(" ")
    scales = {"log": np.exp, "logit": lambda x: 1 / (1 + np.exp(-x))}
    return (scales[first], name) if first in scales else (lambda x: x, what.split(" | ")[0])


def _inverse(what: str, x: Any) -> Any:
    return {"log": np.log, "logit": lambda x: np.log(x) - np.log1p(-x)}.get(what.split()[0], lambda x: x)(x)


def in_double(function: Callable) -> Callable:
    """Compile a function of values for ten points, and call it in double precision for at most as many."""
    compiled = jax.jit(jax.vmap(function))

    def call(points: list[Values]) -> Any:
        points = points + points[-1:] * (10 - len(points))
        with jax.enable_x64(True):
            return compiled({name: np.stack([point[name] for point in points]) for name in points[0]})

    return call


def density(program: Callable, given: Any, values: Values, sites: tuple[str, ...]) -> tuple[Any, dict[str, Any]]:
    """Log density of a program at the values of its sites, and its trace."""
    return log_density(program, (given,), {}, {name: values[name] for name in sites})


# Models of one true class


def labelled(looks: bool) -> LabelledCases:
    """Nine cases of three classes by four annotators."""
    random = np.random.default_rng(3)
    truth = random.integers(3, size=9)
    rows = [[f"k{t if random.random() < right else random.integers(3)}" for right in (0.8, 0.6, 0.2, 0)] for t in truth]
    labels = LabelledCases.of(pb.Annotations.from_labels(rows, annotators=list("wxyz"), classes=["k0", "k1", "k2"]))
    return replace(labels, looks=Looks.of(3)) if looks else labels


def joint_of(terms: Callable, which: Mapping[str, tuple[str, ...]]) -> Callable:
    """Add up the terms that each move sees, "program" unless it says otherwise; all are compiled together."""
    found = in_double(terms)

    def joint(what: str, points: list[Values] | None) -> Any:
        seen = which.get(what, ("program",))
        if points is None:
            return 0.0 if seen else None
        made = found(points)
        return sum(np.asarray(made[name]) for name in seen)[: len(points)]

    return joint


def given_truth(program: Callable, labels: LabelledCases, sites: tuple[str, ...], more: Callable) -> Callable:
    """Terms of the density of sites and true classes, which the program sums out, and ``more(values)``."""

    def terms(values: Values) -> dict[str, Any]:
        found, trace = density(program, labels, values, sites)
        of_truth = trace["plausibility"]["value"][jnp.arange(labels.n_cases), values["truth"]]
        return {"program": found + jnp.log(of_truth).sum()} | more(values)

    return terms


SKENE = "concentration", "mean_attention", "attention_strength", "attention", "habit", "confusion"
_TABLES = "program", "confusion", "tables"
MOVES_OF_SKENE = {
    "tables": _TABLES,
    "logit mean_attention": (*_TABLES, "attended", "attention"),
    "log attention_strength": (*_TABLES, "attended", "attention"),
    "log concentration": ("program", "confusion"),
    "confusion": ("program",),
} | dict.fromkeys(("attended", "common_confusion", "attention", "habit"), (*_TABLES, "attended"))


def of_skene(values: Values, counts: Any, common: Any) -> dict[str, Any]:
    """Dawid-Skene: confusion matrices and attention integrated out, tables and which of them are of attention."""
    attention = values["attention"][:, None, None]
    centre = attention * common + (1 - attention) * values["habit"][:, None]
    shape, tables, attended = values["concentration"][:, None] * centre, values["tables"], values["attended"]
    share, mean, strength = attention * common / centre, values["mean_attention"], values["attention_strength"]
    beta = dist.Beta(strength * mean + attended.sum((1, 2)), strength * (1 - mean) + (tables - attended).sum((1, 2)))
    return {
        "confusion": -dist.Dirichlet(shape + counts).log_prob(values["confusion"]).sum(),
        "tables": (xlogy(tables, shape) + gammaln(shape) - gammaln(shape + counts)).sum(),
        "attended": (xlogy(attended, share) + xlogy(tables - attended, 1 - share)).sum(),
        "attention": -beta.log_prob(values["attention"]).sum(),
    }


def counted(labels: LabelledCases, of_label: Any) -> Any:
    """Labels by annotator, true class or the class that was seen, and class named."""
    shape = labels.n_annotators, labels.n_classes, labels.n_classes
    return jnp.zeros(shape).at[labels.annotator, of_label, labels.label].add(1.0)


COIN = "mean_log_odds", "spread", "share_unlike", "log_odds"
MOVES_OF_COIN = {"log_odds": ("program",)} | dict.fromkeys(
    ("unlike", "share_unlike", "mean_log_odds", "log spread", "mean, deviations held", "spread, deviations held"),
    ("program", "unlike"),
)


def of_coin(values: Values) -> dict[str, Any]:
    """One coin: who is unlike the others."""
    x, share = values["log_odds"], values["share_unlike"]
    like = dist.Normal(values["mean_log_odds"], values["spread"]).log_prob(x) + jnp.log1p(-share)
    unlike = dist.Logistic(0, 1).log_prob(x) + jnp.log(share)
    return {"unlike": (jnp.where(values["unlike"], unlike, like) - jnp.logaddexp(like, unlike)).sum()}


def volume_of_coin(what: str, values: Values) -> float:
    return (1 + (~values["unlike"]).sum()) * np.log(values["spread"]) if what.startswith("spread, ") else 0.0


@pytest.mark.parametrize("name", ["dawid-skene", "one-coin", "common-confusion"])
def test_moves_given_true_classes(name):
    model, labels, volume = MODELS[name], labelled(looks=False), lambda *_: 0.0
    if name == "dawid-skene":
        sites, moves = ("common_confusion", *SKENE), MOVES_OF_SKENE

        def more(values):
            return of_skene(values, counted(labels, values["truth"][labels.case]), values["common_confusion"])

    elif name == "one-coin":
        sites, moves, more, volume = COIN, MOVES_OF_COIN, of_coin, volume_of_coin
    else:
        labels = replace(labels, annotator=0 * labels.annotator, n_annotators=1)
        sites, moves, more = ("common_confusion",), {"common_confusion": ("program",)}, lambda _: {}
    terms = given_truth(model.program, labels, ("prevalence", *sites), more)
    random = Checked.of(5).begin(joint_of(terms, moves), volume, chains=True)
    compare(random, _sweeps(model.family, labels, random, 2), [*moves, "prevalence", "truth"])


# Where cases differ in difficulty

OF_LOOKS = {"log odds": ("summed",), "looks, summed out": ("summed",), "truth": ("summed", "truth")}


def with_looks(program: Callable, labels: LabelledCases, sites: tuple[str, ...], more: Callable) -> Callable:
    """Terms with true classes, looks and what annotators saw summed out, or some of these drawn."""
    looks, groups, case = labels.looks, labels.n_groups, jnp.arange(labels.n_cases)
    prior = block(program, hide=["labels"])

    def terms(values: Values) -> dict[str, Any]:
        values, weights = dict(values), values["looks"]
        if groups > 1:
            for group in range(groups):
                kinds = np.nonzero(looks.prior_by_class(labels.together[group]))[1].reshape(labels.n_classes, -1)
                values[f"looks of group {group}"] = jnp.take_along_axis(weights[group], kinds, 1)
        truth, (summed, trace) = values["truth"], density(program, labels, values, sites)
        of_truth = 0.0
        if groups > 1:
            of_looks, of_truth = looks.given_class(weights), jnp.log(values["prevalence"][truth]).sum()
        else:
            of_looks = (weights @ looks.of_kind)[..., None] * looks.shares
            if labels.log_scores is not None:
                of_looks = of_looks / of_looks.sum(1, keepdims=True)
                vector = split(values["coefficients"], len(labels.log_scores), labels.n_classes)
                of_case = expected_shares(vector, jnp.asarray(labels.log_scores), labels.log_prevalence)
                of_truth = jnp.log(of_case[case, truth]).sum()
        look = jnp.stack([values[f"look, group {group}"] for group in range(groups)])
        of_look = jnp.log(of_looks[jnp.arange(groups)[:, None], look, truth]).sum(1)
        own, shares, seen = look[labels.group_of_label, labels.case], jnp.asarray(looks.shares), values["seen"]
        confusion, who = confusion_of(values), labels.annotator
        named = jnp.log((shares @ confusion)[who, own, labels.label])
        of_seen = jnp.log(shares[own, seen] * confusion[who, seen, labels.label]).sum()
        of_prior = density(prior, labels, values, sites)[0]
        found = {"summed": summed, "truth": jnp.log(trace["plausibility"]["value"][case, truth]).sum()}
        found["program"] = of_prior + of_truth + of_look.sum() + of_seen
        for group in range(groups):
            found[f"look {group}"] = of_look[group] + jnp.where(labels.group_of_label == group, named, 0).sum()
        if groups == 1:  # with true classes summed out
            found["look"] = jnp.log((weights @ looks.of_kind)[0, look[0]]).sum() + named.sum()
        if "rates" in values:  # gamma variables in place of how common looks are
            times, prior_shape = jnp.bincount(truth, length=labels.n_classes), jnp.asarray(looks.prior)
            found["total"] = dist.Gamma(prior_shape.sum(), 1).log_prob(values["total"])
            of_class = values["total"] * looks.expected(weights)[0], values["gammas"] @ looks.of_class
            found |= {
                name: (times * jnp.log(each) - values["rates"] * each + (times - 1) * jnp.log(values["rates"])).sum()
                for name, each in zip(("rates", "gammas"), of_class, strict=True)
            }
            found["gammas"] += dist.Gamma(prior_shape, 1).log_prob(values["gammas"]).sum()
            found["gammas"] -= dist.Dirichlet(prior_shape).log_prob(weights[0])
        return found | more(values)

    return terms


def confusion_of(values: Values) -> Any:
    """Confusion matrices of any of the models, by what is seen."""
    if "confusion" in values:
        return values["confusion"]
    right = jax.nn.sigmoid(values["log_odds"]) if "log_odds" in values else values["right"][None]
    right = right[:, None, None]
    return jnp.where(jnp.eye(3, dtype=bool), right, (1 - right) / 2)


def volume_of_looks(what: str, values: Values) -> float:
    """Volume of a move along log odds of shares, of which those of simplexes keep their proportions."""
    if what not in ("log odds", "looks, summed out"):
        return volume_of_coin(what, values) if "unlike" in values else 0.0
    found = np.log(values["looks"][values["looks"] > 0]).sum()
    if "confusion" in values:
        found += np.log(values["confusion"]).sum()
        found += sum(np.sum(np.log(x) + np.log1p(-x)) for x in (values["attention"], values["mean_attention"]))
    return found + (np.log(values["right"]) + np.log1p(-values["right"]) if "right" in values else 0.0)


SLOW = [pytest.param(*of, marks=pytest.mark.slow) for of in (("dawid-skene", ""), ("one-coin", "predictions"))]


@pytest.mark.parametrize(
    ("name", "how"),
    [*SLOW, ("common-confusion", ""), ("dawid-skene", "groups")],
)
def test_moves_where_cases_differ_in_difficulty(name, how):
    model, labels = MODELS[name], labelled(looks=True)
    moves: dict[str, tuple[str, ...]] = {
        **OF_LOOKS,
        "prevalence": (),
        "look, group 0": ("look 0",),
        "seen": ("program",),
    }
    sites, more = ("looks",), lambda _: {}
    if name == "dawid-skene":
        own = {what: seen for what, seen in MOVES_OF_SKENE.items() if what != "common_confusion"}
        sites, moves = (*sites, *SKENE), moves | own

        def more(values):
            return of_skene(values, counted(labels, values["seen"]), jnp.eye(3))

    elif name == "one-coin":
        sites, moves, more = (*sites, *COIN), moves | MOVES_OF_COIN, of_coin
    else:
        labels = replace(labels, annotator=0 * labels.annotator, n_annotators=1)
        sites, moves = (*sites, "right"), moves | {"right": ("program",)}
    if how == "groups":
        labels = replace(labels, group=np.array([0, 0, 1, 1]), together=(False, True))
        sites = ("prevalence", "looks of group 0", "looks of group 1", *sites[1:])
        moves |= {"prevalence": ("program",), "look, group 1": ("look 1",)}
    if how == "":  # looks are drawn first
        moves |= {"look, group 0": ("look",), "truth": ("look 0",)}
    else:
        moves.pop("looks, summed out")
    if how == "predictions":
        random, sites = np.random.default_rng(0), (*sites, "coefficients")
        labels = labels.with_scores(np.stack([log_scores(random.dirichlet(np.ones(3), 9)) for _ in range(2)]))
        moves |= {
            "coefficients": ("summed",),
            "total": ("total",),
            "rates": ("rates",),
            "gammas": ("program", "gammas"),
        }
    else:
        moves |= {"looks": ("program",)}
    random = Checked.of(6).begin(
        joint_of(with_looks(model.program, labels, sites, more), moves), volume_of_looks, error=1e-3, chains=True
    )
    sweeps = _sweeps(model.family.where("by-case"), labels, random, 2, warmup=2)
    compare(random, sweeps, [what for what, seen in moves.items() if seen], 24)


# Ratings

OUT = ("without means",)
MOVES_OF_RATINGS = {
    "log case_spread": OUT,
    "exchange of spreads": ("without means and typical",),
    "log variation": ("without typical",),
    "all spreads": ("without means and typical",),
    "spreads of raters": ("without means and typical",),
    "effects": OUT,
    "mean": ("without shared",),
} | dict.fromkeys(
    (
        *("typical", "log case_spread | mean", "severity_spread given severity", "severity_spread with severity"),
        *("log_spread | mean", "log variation | typical", "typical, deviations held", "variation, deviations held"),
    ),
    ("program",),
)


def rated_cases(ordinal: bool) -> RatedCases:
    """Ratings by four raters; of numbers, those of three cases are the only ones."""
    random = np.random.default_rng(2)
    pairs = [(case, rater) for case in range(7 if ordinal else 4) for rater in range(4) if (case + rater) % 3]
    pairs += [] if ordinal else [(4, 0), (5, 1), (6, 3)]
    rows = {(f"c{case}", f"r{rater}"): 1 + (case + random.integers(3)) % 4 for case, rater in pairs}
    table = pd.DataFrame([(*key, score) for key, score in rows.items()], columns=["case", "annotator", "score"])
    groups = {"system": (np.array(["s", "t"]), np.arange(7) % 2)}
    if ordinal:
        of_raters = {f"r{at}": "models" if at < 2 else "(others)" for at in range(4)}
        return RatedCases.of(pb.Annotations.from_scores(table), "inferred", groups, None, of_raters)
    groups["document"] = np.array(["d", "e", "f"]), np.arange(7) % 3
    scored = np.stack([log_scores(random.dirichlet(np.ones(4), 7)) for _ in range(2)])
    return RatedCases.of(pb.Annotations.from_scores(table), None, groups, scored)


def integrated(of: Callable, values: Values, names: tuple[str, ...], where: Any = slice(None)) -> Any:
    """Log of the integral over normal variables, in which the log density is quadratic."""
    x, back = ravel_pytree({name: values[name][where] if values[name].ndim else values[name] for name in names})

    def at(x: Any) -> Any:
        found = {name: values[name].at[where].set(part) if part.ndim else part for name, part in back(x).items()}
        return of({**values, **found})

    slope, hessian = jax.grad(at)(x), jax.hessian(at)(x)
    return at(x) - (slope @ jnp.linalg.solve(hessian, slope) + jnp.linalg.slogdet(-hessian)[1]) / 2


def of_rated(rated: RatedCases) -> Callable:
    """Terms of the density of everything that the sampler has, in its coordinates."""
    single = np.flatnonzero(np.bincount(rated.case, minlength=rated.n_cases) == 1)

    def sites(v: Values) -> tuple[dict[str, Any], Any]:
        expected = v["location"] + sum(v[f"{name}_effect"][code] for name, (_, code) in rated.groups.items())
        found = {name: v[name] for name in ("location", "case_spread", "severity_spread")}
        found |= {"typical_spread": jnp.exp(v["typical"]), "spread_of_spreads": v["variation"]}
        found |= {"rater": v["severity"] / v["severity_spread"]}
        found |= {"log_spread": (v["log_spread"] - v["typical"]) / v["variation"]}
        volume = v["typical"] - len(rated.raters) * (jnp.log(v["severity_spread"]) + jnp.log(v["variation"]))
        for name, (names, _) in rated.groups.items():
            scale = v[f"{name}_spread"]
            found |= {f"{name}_spread": scale, f"{name}_raw": v[f"{name}_effect"] / scale}
            volume -= len(names) * jnp.log(scale)
        if rated.expected is not None:
            found["coefficients"], expected = v["coefficients"], expected + rated.x @ v["coefficients"]
        found["case"] = (v["mean"] - expected) / v["case_spread"]
        volume -= rated.n_cases * jnp.log(v["case_spread"])
        if rated.rater_groups is not None:
            scale = v["shared_spread"][rated.cells[2]]
            found |= {"shared_spread": v["shared_spread"], "shared_raw": v["shared"] / scale}
            volume -= jnp.log(scale).sum()
        return found, volume

    def program(values: Values) -> Any:
        def numbers(rated: RatedCases) -> None:
            at, sd = means_and_spreads(rated)
            numpyro.sample("ratings", dist.Normal(at, sd), obs=values.get("latent", rated.number))

        found, volume = sites(values)
        return log_density(numbers, (rated,), {}, found)[0] + volume

    def terms(values: Values) -> dict[str, Any]:
        found = {"program": program(values), "without means": integrated(program, values, ("mean",))}
        found["without typical"] = integrated(program, values, ("typical",))
        found["without means and typical"] = integrated(program, values, ("mean", "typical"))
        if rated.unit is None:
            found["categories"] = log_density(ordinal_ratings, (rated,), {}, sites(values)[0])[0]
            found["without shared"] = integrated(program, values, ("shared",))
        else:
            found["without single means"] = integrated(program, values, ("mean",), single)
            found["without shared"] = found["program"]
        return found

    return terms


def volume_of_ratings(what: str, v: Values) -> float:
    if what in ("exchange of spreads", "all spreads"):
        return np.log(v["case_spread"]) - 2 * v["log_spread"].sum() * (what == "exchange of spreads")
    if what == "variation, deviations held":
        return (1 + len(v["log_spread"])) * np.log(v["variation"])
    scale, _, effects = what.partition(" given ") if " given " in what else what.partition(" with ")
    if not effects:
        return 0.0
    size = 1 if " given " in what else 1 + len(v[effects])
    return size * np.log(v[scale] if scale in v else v["shared_spread"][int(scale.split()[1])])


@pytest.mark.parametrize("ordinal", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_moves_of_ratings(ordinal):
    rated, moves = rated_cases(ordinal), MOVES_OF_RATINGS
    for name in rated.groups:
        moves = moves | {f"{name}_spread given {name}_effect": ("program",), f"{name}_spread with {name}_effect": OUT}
    if ordinal:
        moves = moves | {"log_spread": ("categories",), "latent": ("program",), "shared": ("program",)}
        moves |= {f"shared_spread 0 {how} shared": ("program",) for how in ("given", "with")}
    else:
        moves = moves | {"log_spread": ("without single means",)}
    random = Checked.of(5).begin(joint_of(of_rated(rated), moves), volume_of_ratings, chains=True)
    compare(random, sweeps_of_ratings(rated, random, 2), list(moves))


def test_effects_of_many_raters_are_told_by_sparse_matrices():
    rated = rated_cases(ordinal=False)
    *_, state = islice(sweeps_of_ratings(rated, Moves.of(0), 2), 2)
    given = np.exp(-2 * state.log_spread)[:, rated.rater], np.random.default_rng(0).random((2, 7)), state.z
    dense = state._information(*given)
    state.design = csr_array(state.design)
    for one, other in zip(state._information(*given), dense, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)
    state.sweep()
    assert np.isfinite(state.mean).all()


# Scores as intervals of a latent scale


def test_moves_of_ordinal_scores():
    """Of one case: mean and variance given latent numbers, the mean integrated out of the variance, and these."""
    scores = pb.Annotations.from_scores(pd.DataFrame({"case": "c", "annotator": list("abc"), "score": [1, 2, 2]}))
    lower, upper = np.array([-np.inf, 0.2, 0.2]), np.array([0.2, 1.0, 1.0])
    prior = NormalInverseGamma(0.1, 2.0, 3.0, 1.5)
    case = ScoredCase(scores.score, np.ones(3), np.float64(0.2), prior, np.ones(2), lower, upper)

    def terms(values: Values) -> dict[str, Any]:
        variance, mean = 1 / values["precision"], values["mean"][0]
        program = block(ordinal_scores, hide=["scores"])
        found = log_density(program, (case,), {}, {"variance": variance[0], "mean": mean})[0]
        found += dist.Normal(mean, jnp.sqrt(variance)).log_prob(values["latent"]).sum()
        strength = prior.strength + 3
        centre = (prior.strength * prior.mean + values["latent"].sum()) / strength
        of_mean = dist.Normal(centre, jnp.sqrt(variance / strength)).log_prob(mean).sum()
        return {"program": found, "precision": found - of_mean - 2 * jnp.log(values["precision"]).sum()}

    random = Checked.of(5).begin(joint_of(terms, {"precision": ("precision",)}))

    def of_case():
        mean, sd = np.zeros(1), np.ones(1)
        while True:
            _, mean, sd = _update(scores, (lower, upper), prior, mean, sd, random)
            yield mean

    compare(random, of_case(), ["latent", "precision", "mean"])


class Stated(Moves):
    """Moves of which the log density is kept."""

    def declared(self, what, value, log_density, to=None, old=None):
        self.log_density = log_density
        return value


DRAWN = {
    "betas": (lambda random, _: random.betas("x", 2.0, 3.0), (1e-6, 1 - 1e-6)),
    "gammas": (lambda random, _: random.gammas("x", 2.5, 1.5), (1e-6, 20)),
    "normals": (lambda random, _: random.normals("x", 0.5, 2.0), (-12, 12)),
    "between": (lambda random, _: float(random.between("x", 1.5, np.inf, 0.5, 0.7)), (1.5, 6)),
    "far": (lambda random, _: float(random.between("x", 50.0, np.inf, 0.0, 1.0)), (50, 51)),
    "scale": (
        lambda random, x: random.scale(
            ("s", "e"), np.ones((1, 2)), np.full(1, x), lambda at: -(at**2) / 2, np.zeros(1), np.zeros(1)
        )[0].item(),
        None,
    ),
}


@pytest.mark.parametrize("name", DRAWN)
def test_moves_draw_from_what_they_declare(name):
    """Quantiles under the density, of every twentieth draw of a move from the last one."""
    draw, bounds = DRAWN[name]
    random, x, found = Stated.of(0), 1.0, []
    for _ in range(8000):
        x = draw(random, x)
        found.append(x)
    if bounds is None:  # of what both moves of a scale and its effects leave: the effects change as well
        assert np.isfinite(found).all()
        return
    grid = np.linspace(*bounds, 20_001)
    logs = np.array([random.log_density(at) for at in grid])
    below = np.cumsum(np.exp(logs - logs.max()))
    assert stats.kstest(found[::20], lambda x: np.interp(x, grid, below / below[-1])).pvalue > 0.001


def test_rows_lanes_and_tables_are_drawn_from_what_they_declare():
    random, n = Stated.of(1), 4000
    rows = np.array([random.rows("x", np.array([2.0, 1.0, 0.5])) for _ in range(n)])
    np.testing.assert_allclose(rows.mean(0), np.array([2.0, 1.0, 0.5]) / 3.5, atol=0.02)
    np.testing.assert_allclose(rows.var(0), rows.mean(0) * (1 - rows.mean(0)) / 4.5, rtol=0.15)
    tables = np.array([random.tables("x", np.array([0.3, 2.0]), np.array([4, 4])) for _ in range(n)])
    ways = np.array([6, 11, 6, 1])  # to sit at one to four tables: Stirling numbers of the first kind
    for column in range(2):
        weight = ways * [np.exp(random.log_density(np.full(2, t))[column]) for t in range(1, 5)]
        assert weight.sum() == pytest.approx(1)
        share = np.bincount(tables[:, column], minlength=5)[1:] / n
        np.testing.assert_allclose(share, weight, atol=0.03)
    classes = random.classes("x", np.array([[1.0], [2.0], [1.0]]).repeat(n, 1))
    np.testing.assert_allclose(np.bincount(classes) / n, [0.25, 0.5, 0.25], atol=0.03)
    assert random.whether("x", np.full(n, 0.3)).mean() == pytest.approx(0.3, abs=0.03)
    assert random.among("x", np.full(n, 5), np.full(n, 0.3)).mean() == pytest.approx(1.5, abs=0.1)


@pytest.mark.parametrize("ahead", [1, 4])
@pytest.mark.parametrize("width", [0.5, 4.0, 40.0])
def test_slices_keep_and_reach_the_distribution(width, ahead):
    """A cut Laplace distribution, from draws of it and, in many steps, from one point."""
    random, cut = Stated.of(1), stats.laplace.cdf(2)
    exact = stats.laplace.ppf(cut * random.random(4000))
    for start, steps in [(exact, 2), (np.zeros(4000), 40)][: 1 if width < 1 else 2]:  # short steps reach it late
        x = start
        for _ in range(steps):
            x = random.slices("x", x, width, lambda x: -np.abs(x) + np.where(x > 2, -np.inf, 0), ahead=ahead)
        assert stats.kstest(x, lambda x: stats.laplace.cdf(x) / cut).pvalue > 0.001
        assert (x != start).all()


def compare(random: Checked, sweeps: Any, moves: list[str], n: int = 10) -> None:
    """Compare each kind of move in some sweeps after the first, and see that all of them were."""
    for state in islice(sweeps, 2):
        assert state is not None
    random.active = True
    for _ in islice(sweeps, n):
        pass
    assert {what for what, times in random.compared.items() if times} == set(moves)
