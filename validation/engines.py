"""Posteriors that two engines sample by different means: Gibbs, exact draws or weighted proposals against NUTS.

Of every site, means and squared distances from the mean may differ by a tenth of their standard deviation beyond their
Monte Carlo errors: these errors are estimates, and some chains move slowly. One p-value allows for all numbers of a
site. Models that NUTS samples for minutes have few cases, and no quick form: ``true-class`` and ``ratings`` calibrate
their own samplers there.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
from numpyro.handlers import scale
from numpyro.infer import MCMC, NUTS
from scipy import stats

import plausibly as pb
from plausibly.aggregation import unjudged
from plausibly.base.progress import Progress
from plausibly.data.annotations import Slots
from plausibly.families.priors import Evidence, PredictionsPrior
from plausibly.inference._batching import bucket_cases
from validation import crowds
from validation._result import Result, Settings
from validation.agreement import mean_and_error

SLACK = 0.1  #: standard deviations
LONG = {"draws": 400, "warmup": 400, "chains": 2}
SHORT = {"draws": 300, "warmup": 150, "chains": 4}
RATED = ("location", "case_spread", "severity_spread", "severity", "spread", "system_effect", "mean_rating")

Draws = dict[str, np.ndarray]  # by site: (chain, draw, …)


def p_value(ours: np.ndarray, theirs: np.ndarray) -> float:
    """p-value of that no mean over (chain, draw, …) differs by more than is allowed."""
    a, b = (draws.reshape(*draws.shape[:2], -1) for draws in (ours, theirs))
    (mean, of_mean), (other, of_other) = mean_and_error(a), mean_and_error(b)
    error, beyond = np.hypot(of_mean, of_other), np.abs(mean - other) - SLACK * b.std((0, 1))
    some = np.isfinite(error) & (error > 0)
    if not some.any():
        return float(np.allclose(a, b))
    return float(min(1.0, 2 * some.sum() * stats.norm.sf((beyond[some] / error[some]).max())))


def sampled(annotations: Any, model: Any, sites: tuple[str, ...] = ("plausibility",), **options: Any) -> Draws:
    """Sample sites of a posterior."""
    posterior = unjudged(pb.aggregate)(annotations, model, seed=1, progress=False, **options)
    return {site: posterior["posterior"][site].values.astype(float) for site in sites}


def both(*arguments: Any, gibbs: dict[str, Any] = SHORT, nuts: dict[str, Any] = LONG, **options: Any):
    """Sample by a model's own sampler, and by NUTS."""
    return sampled(*arguments, **options, **gibbs), sampled(*arguments, **options, engine="nuts", **nuts)


def of_true_class(model: str, sites: tuple[str, ...] = ("accuracy", "prevalence"), predicted: bool = False, **options):
    """Labels of a small crowd, of which two classifiers may say something."""
    random = np.random.default_rng(0)
    kind = crowds.Kind("looks", crowds.EVEN, 12 if model != "dawid-skene" else 25, 6, 4)
    table, truth = crowds.crowd(kind, random)
    if "annotator_groups" in options:
        table, truth = crowds.jury(random, 12)
    annotations = pb.Annotations.from_table(table, classes=[f"k{at}" for at in range(truth.max() + 1)])
    if predicted:
        scores = np.eye(3)[truth] + random.dirichlet(np.ones(3), (2, len(truth)))
        options["predictions"] = dict(zip("AB", scores, strict=True))
    return both(annotations, model, sites, **options)


def of_ratings(model: str, together: bool = False):
    """Ratings from 1 to 5 of cases of three systems, by four raters of whom three may err together."""
    random = np.random.default_rng(2)
    case, rater = np.divmod(np.arange(96), 4)
    some = random.random(96) < 0.75
    z = random.normal(0, 0.8, 24)[case] + random.normal(0, 0.5, 4)[rater] + 0.6 * random.standard_normal(96)
    rows = {"case": [f"c{at:02}" for at in case], "annotator": [f"r{at}" for at in rater]}
    table = pd.DataFrame(rows | {"score": 1.0 + np.digitize(z, [-1.2, -0.4, 0.3, 1.0])})[some]
    given: dict[str, Any] = {"raters": "differ", "case_groups": {"system": np.arange(24) % 3}}
    sites = (*RATED, "shared_spread") if together else RATED
    if together:
        given["annotator_groups"] = {"models": ("r0", "r1", "r2")}
    if model == "ordinal-scores":
        given["predictions"], sites = {"A": 1.0 + np.arange(24) % 5}, (*sites, "coefficients")
    else:
        given["threshold"] = 3
    return both(
        pb.Annotations.from_scores(table),
        model,
        sites,
        gibbs=SHORT | {"draws": 1500},
        nuts=LONG | {"draws": 800},
        **given,
    )


def first_choice(case):
    """Program of a user: annotators name a class by its plausibility."""
    plausibility = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    first = case.named & (case.rankings.positions == 0)
    with numpyro.plate("annotation", case.counts.shape[0]), scale(scale=case.counts):
        numpyro.factor("choice", jnp.log(first @ plausibility))


def labelled(n: int) -> tuple[pb.Annotations, dict[str, np.ndarray]]:
    """Labels of four classes, and scores of a classifier."""
    random = np.random.default_rng(0)
    plausibility = random.dirichlet([0.5] * 4, n)
    return pb.Annotations.from_counts(random.multinomial(3, plausibility)), {"A": plausibility + 0.05}


def of_own_program(**options: Any):
    """A user's program against the exact posterior of the same prior; both are dense."""
    annotations, scores = labelled(20)
    own: Any = first_choice
    if not options:
        options = {"predictions": scores}
        own = pb.Model(name="first-choice", program=first_choice, concentration=1.0)
    exact, own = (
        unjudged(pb.aggregate)(annotations, model, seed=0, progress=False, **options)
        for model in ("dirichlet-categorical", own)
    )
    return tuple({"plausibility": pb.dense(one)[None].astype(float)} for one in (exact, own))


RANKED = [[[["a"], ["b", "c"]], [["b", "d"], ["a"]], [["d"], ["c"]]], [[["a"]], [["c"], ["b"]]]]


def rankings(cases: list, letters: str = "abcdefg") -> pb.Annotations:
    """Annotations of some cases."""
    return pb.Annotations.from_rankings(cases, classes=list(letters))


def of_numpyro():
    """The program of Plackett–Luce by NumPyro's NUTS, on a case of five slots."""
    annotations = rankings(RANKED[:1])
    slots = Slots.of(annotations)
    (bucket,) = bucket_cases(annotations, slots, np.ones(len(slots)))
    case = jax.tree.map(lambda a: jnp.asarray(a[0]), bucket.data)
    kernel = NUTS(pb.models.plackett_luce)
    sizes = {"num_warmup": 500, "num_samples": 1000, "num_chains": 4}
    mcmc = MCMC(kernel, chain_method="vectorized", progress_bar=False, **sizes)
    mcmc.run(jax.random.key(0), case, reliability=3.0)
    theirs = np.asarray(mcmc.get_samples(group_by_chain=True)["plausibility"], float)
    return sampled(annotations, "plackett-luce", reliability=3.0, engine="nuts", draws=1000), {"plausibility": theirs}


def of_inferred_reliability():
    """Reliabilities of annotators by the moves of the package, and by NumPyro's NUTS on the program as it stands."""
    said = {
        "p": {"ann": [["a"], ["b"]], "bob": [["b"], ["a"]], "cy": [["a"]]},
        "q": {"ann": [["b"]], "cy": [["b"]]},
        "r": {"bob": [["a"]], "cy": [["b"], ["a"]]},
    }
    annotations = pb.Annotations.from_rankings({"cases": said}, classes=list("abcdefgh"))
    slots = Slots.of(annotations)
    (bucket,) = bucket_cases(annotations, slots, np.ones(len(slots)), fit="apart")
    whose = np.zeros((len(said), bucket.shape.annotations), int)
    whose[bucket.case, bucket.row] = annotations.annotation_annotator[bucket.annotations]
    # NUTS diverges where reliabilities are in the hundreds, which this prior but seldom allows, unlike the usual one.
    kernel = NUTS(pb.models.tempered_plackett_luce, target_accept_prob=0.95)
    sizes = {"num_warmup": 300, "num_samples": 500, "num_chains": 4}
    mcmc = MCMC(kernel, chain_method="vectorized", progress_bar=False, **sizes)
    prior = {"n_annotators": 3, "location": 0.3, "scale": 0.5, "spread_scale": 0.3}
    mcmc.run(jax.random.key(0), [bucket.data], [whose], **prior)
    theirs = mcmc.get_samples(group_by_chain=True)
    options = {"draws": 400, "warmup": 600, "seed": 4, "progress": False}
    ours = unjudged(pb.infer_reliability)(annotations, per="annotator", prior=(0.3, 0.5), spread=0.3, **options)
    ours, sites = ours["posterior"], ("reliability", "annotator_reliability")
    found = {f"log {site}": np.log(ours[site].values.astype(float)) for site in sites}
    others = {f"log {site}": np.log(np.asarray(theirs[site], float)) for site in sites}
    return found | {"spread": ours["spread"].values}, others | {"spread": np.asarray(theirs["spread"], float)}


def of_block_of_eight():
    """Logarithms, by Gibbs and by NUTS."""
    block = rankings([[[list("abcdefgh"), ["j"]], [["d"], ["g"]]]], "abcdefghij")
    found = both(block, "plackett-luce", reliability=3, gibbs=SHORT | {"engine": "gibbs"})
    return tuple({"log plausibility": np.log(one["plausibility"])} for one in found)


def of_exact(annotations: pb.Annotations, model: str, **options: Any):
    """Exact draws against NUTS."""
    options |= {"reliability": 4.0, "concentration": 0.7}
    return both(annotations, model, gibbs={"draws": 5000, "chains": 2}, nuts=LONG | {"chains": 4}, **options)


def of_predictions():
    """Labels under a prior from predictions, exact and by Gibbs: a few draws of its parameters, which take turns."""
    annotations, scores = labelled(30)
    prior = PredictionsPrior.learn(annotations, Evidence.of(scores, annotations), draws=4, seed=0)
    given = {"class_prior": prior, "reliability": 1, "draws": 500}
    return sampled(annotations, "dirichlet-categorical", **given), sampled(annotations, "plackett-luce", **given)


SPREAD = ("coefficients", "prevalence")
BY_CASE = ("accuracy", "prevalence", "attention")
QUICK: dict[str, Callable[[], tuple[Draws, Draws]]] = {
    "labels under predictions, exact and Gibbs": of_predictions,
    "dirichlet-categorical, exact and NUTS": lambda: of_exact(labelled(3)[0], "dirichlet-categorical"),
}
POSTERIORS = QUICK | {
    "prirn, exact and NUTS": lambda: of_exact(rankings(RANKED), "prirn", ties="full"),
    "Plackett-Luce, NUTS and NumPyro's": of_numpyro,
    "inferred reliability, NUTS and NumPyro's": of_inferred_reliability,
    "a block of eight, Gibbs and NUTS": of_block_of_eight,
    "own program, predictions": of_own_program,
    "own program, learned prior": partial(of_own_program, class_prior="learned"),
    "dawid-skene": partial(of_true_class, "dawid-skene"),
    "dawid-skene, alike": partial(of_true_class, "dawid-skene", difficulty="same"),
    "one-coin": partial(of_true_class, "one-coin", BY_CASE),
    "one-coin, two groups": partial(
        of_true_class, "one-coin", BY_CASE, annotator_groups={"models": [f"m{at}" for at in range(5, 8)]}
    ),
    "one-coin, predictions": partial(of_true_class, "one-coin", SPREAD, predicted=True),
    "common-confusion, predictions": partial(of_true_class, "common-confusion", SPREAD, predicted=True),
    "ordinal-scores, raters": partial(of_ratings, "ordinal-scores"),
    "ordinal-scores, raters, who err together": partial(of_ratings, "ordinal-scores", together=True),
    "normal-scores, raters": partial(of_ratings, "normal-scores"),
}


def check(settings: Settings) -> Iterator[Result]:
    """Compare all posteriors."""
    chosen = {what: of for what, of in (QUICK if settings.quick else POSTERIORS).items() if settings.only in what}
    with Progress(settings.progress) as progress:
        advance = progress.task("Comparing engines", len(chosen), "posteriors")
        for what, of in chosen.items():
            ours, theirs = of()
            for site, draws in ours.items():
                other = theirs[site]
                middle = other.mean((0, 1))
                tests = {"means": p_value(draws, other)}
                tests["spreads"] = p_value((draws - middle) ** 2, (other - middle) ** 2)
                yield Result("engines", what, site, tests, other.size)
            advance(1)
