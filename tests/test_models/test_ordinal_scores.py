"""Scores as categories: the program against its formula, draws against quadrature, and what it makes of ties."""

from dataclasses import replace

import jax
import numpy as np
import pandas as pd
import pytest
from numpyro.handlers import seed, substitute, trace
from scipy import stats
from scipy.special import ndtr

import plausibly as pb
from plausibly.aggregation import unjudged
from plausibly.base.errors import PlausiblyWarning
from plausibly.base.progress import Progress
from plausibly.data.case import NormalInverseGamma, ScoredCase
from plausibly.inference.gibbs._ordinal import Categories, estimate_ordinal_prior, ordinal
from plausibly.inference.moves import Moves
from plausibly.models import MODELS

PRIOR = NormalInverseGamma(0.3, 0.8, 2.0, 1.5)


def scores_of(by_case):
    rows = [(c, f"a{i}", y) for c, ys in by_case.items() for i, y in enumerate(ys)]
    return pb.Annotations.from_scores(pd.DataFrame(rows, columns=["case", "annotator", "score"]))


SCORES = scores_of({"p": [0, 0, 1], "q": [2, 2, 2, 1], "r": [0], "s": [-1, 2]})


def test_cutpoints_of_several_values_and_of_one():
    midpoints = Categories.of(SCORES, "midpoints")
    assert midpoints.cuts.tolist() == [-np.inf, -0.5, 0.5, 1.5, np.inf]
    assert midpoints.threshold(0) == midpoints.threshold(0.7) == 0.5
    assert midpoints.threshold(-2) == -np.inf
    assert midpoints.threshold(2) == np.inf
    inferred = Categories.of(SCORES, "inferred")
    np.testing.assert_allclose(ndtr(inferred.cuts), [0, 0.1, 0.4, 0.6, 1])
    low, high = inferred.bounds(np.array([2.0, -1.0]))
    assert (ndtr(low).round(9).tolist(), ndtr(high).round(9).tolist()) == ([0.6, 0.0], [1.0, 0.1])
    scores = replace(SCORES, score=np.zeros(SCORES.n_annotations))
    categories = Categories.of(scores, "inferred")
    drawn, _ = ordinal(scores, categories, 0.0, PRIOR, draws=5, chains=1, warmup=0, seed=0, progress=Progress(False))
    assert (drawn[..., 0] == 1).all()
    assert (drawn[..., 1] == 0).all()


def test_the_program_is_its_formula():
    values, counts = np.array([[0, 1], [2, 1]], np.float32)
    ends = {"lower": np.array([-0.5, 0.5], np.float32), "upper": np.array([0.5, np.inf], np.float32)}
    case = ScoredCase(values, counts, np.float32(0.5), PRIOR, np.ones(2, np.int32), **ends)
    given = {"mean": 0.2, "variance": 0.49}

    @jax.jit
    def run(case):
        sites = trace(seed(substitute(MODELS["ordinal-scores"].program, given), 0)).get_trace(case)
        return sites["scores"]["fn"].log_factor, sites["plausibility"]["value"]

    log_factor, plausibility = run(case)
    law = stats.norm(0.2, 0.7)
    expected = 2 * np.log(law.cdf(0.5) - law.cdf(-0.5)) + np.log(law.sf(0.5))
    assert float(log_factor) == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(plausibility, [law.cdf(0.5), law.sf(0.5)], rtol=1e-5)


@pytest.mark.parametrize(("low", "high"), [(-0.4, 1.0), (2.0, 2.5), (-np.inf, -1.0), (7.0, np.inf)])
def test_numbers_between_bounds(low, high):
    ones = np.ones(4000)
    draws = Moves.of(0).between("z", low * ones, high * ones, 0.5 * ones, 1.5 * ones)
    law = stats.truncnorm((low - 0.5) / 1.5, (high - 0.5) / 1.5, 0.5, 1.5)
    assert stats.kstest(draws, law.cdf).pvalue > 0.001


def by_quadrature(values, categories, threshold):
    """Posterior mean of the share up to the threshold, on a grid of means and standard deviations."""
    mean, log_sd = np.meshgrid(np.linspace(-8, 9, 700), np.linspace(-4, 3, 400), indexing="ij")
    sd = np.exp(log_sd)
    log = stats.invgamma(PRIOR.shape, scale=PRIOR.scale).logpdf(sd**2) + 2 * log_sd
    log += stats.norm(PRIOR.mean, sd / np.sqrt(PRIOR.strength)).logpdf(mean)
    for low, high in zip(*categories.bounds(np.asarray(values, float)), strict=True):
        log += np.log(np.maximum(ndtr((high - mean) / sd) - ndtr((low - mean) / sd), 1e-300))
    weight = np.exp(log - log.max())
    return (weight * ndtr((categories.threshold(threshold) - mean) / sd)).sum() / weight.sum()


@pytest.mark.slow
def test_draws_have_the_mean_of_quadrature():
    """With inferred cutpoints; ``python -m validation`` calibrates midpoints."""
    categories = Categories.of(SCORES, "inferred")
    drawn, _ = ordinal(
        SCORES, categories, 0.0, PRIOR, draws=800, chains=4, warmup=100, seed=1, progress=Progress(False)
    )
    mean = drawn.mean((0, 1)).reshape(-1, 2)[:, 0]
    expected = [by_quadrature(list(SCORES.of_case(c).values()), categories, 0.0) for c in "pqrs"]
    np.testing.assert_allclose(mean, expected, atol=0.02)


def simulated(n=200, rounding=None, seed=0):
    rng = np.random.default_rng(seed)
    variance = 1 / rng.gamma(3, 1 / 2, n)
    mean = 0.5 + np.sqrt(variance / 0.5) * rng.standard_normal(n)
    y = mean[:, None] + np.sqrt(variance)[:, None] * rng.standard_normal((n, 6))
    y = y if rounding is None else np.round(y / rounding) * rounding
    return scores_of({f"c{i:03}": row for i, row in enumerate(y)})


@pytest.mark.slow
def test_the_prior_is_found_again():
    """Of scores that are hardly rounded, it is that of normal scores."""
    scores = simulated(rounding=0.1)
    found = estimate_ordinal_prior(scores, Categories.of(scores, "midpoints"), 0)
    assert found.mean == pytest.approx(0.5, abs=0.25)
    assert found.strength == pytest.approx(0.5, rel=0.35)
    assert found.scale / found.shape == pytest.approx(2 / 3, rel=0.35)


def test_annotators_who_agree_on_a_category_are_certain():
    rng = np.random.default_rng(0)
    rest = {f"c{i}": np.clip(np.round(rng.normal(rng.normal(0, 1.5), 0.8, 8)), -2, 2) for i in range(40)}
    scores = scores_of({"zeros": [0] * 8, "all but one": [0] * 7 + [1], **rest})
    posterior = unjudged(pb.aggregate)(scores, "ordinal-scores", threshold=0, draws=100, progress=False)
    below = posterior["posterior"]["plausibility"].mean(("chain", "draw")).values[::2]
    names = posterior["observed_data"]["case"].values.tolist()
    assert below[names.index("zeros")] > 0.7
    assert 0.5 < below[names.index("all but one")] < below[names.index("zeros")]
    with pytest.warns(PlausiblyWarning, match="of the scores equal the threshold, 0: normal-scores treats scores as"):
        numbers = pb.aggregate(scores, "normal-scores", threshold=0, draws=100, progress=False)
    assert numbers["posterior"]["plausibility"].mean(("chain", "draw")).values[::2][names.index("zeros")] < 0.6
