"""The Gibbs sampler against closed forms, numerical integration and NUTS; as a kernel of NumPyro's MCMC; its parts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import plausibly as pb
from plausibly.base import compute as _run
from plausibly.base.arviz import to_groups
from plausibly.base.random_streams import case_keys
from plausibly.data.annotations import Annotations
from plausibly.inference import sweeps_per_draw
from plausibly.inference.gibbs import _random, _tied_blocks
from plausibly.inference.gibbs._random import gammas, lane_words, uniforms
from tests.test_inference.oracles import (
    FULL,
    LABELS,
    LETTERS,
    SINGLES,
    TIED,
    agree,
    draws_of,
    integrate,
    literal,
    moments,
)

MODEL = "plackett-luce"
SETTINGS = {"draws": 400, "chains": 4, "warmup": 100, "progress": False, "engine": "gibbs"}


def test_of_single_labels_the_posterior_is_dirichlet():
    reliability, concentration = 3, 0.1
    posterior = pb.aggregate(SINGLES, MODEL, reliability=reliability, concentration=concentration, seed=7, **SETTINGS)
    draws = draws_of(posterior).reshape(4, 400, len(LABELS), 4)
    for case, labels in enumerate(LABELS):
        alpha = concentration + reliability * np.bincount(labels, minlength=4)  # the fourth is the remainder
        for slot, a in enumerate(alpha):
            # Nothing links one draw with the next, but for the few old values that are kept.
            flat = draws[:, ::2, case, slot].ravel()
            assert stats.kstest(flat, stats.beta(a, alpha.sum() - a).cdf).pvalue > 1e-5


@pytest.mark.parametrize(
    ("reliability", "unranked", "concentration", "raced"),
    [
        (3, "exact", 1.0, False),
        pytest.param(8, "ignore", 1.0, True, marks=pytest.mark.slow),
    ],
)
def test_ties_agree_with_integration(monkeypatch, reliability, unranked, concentration, raced):
    if raced:
        # Programs compiled with a changed module are not kept.
        monkeypatch.setattr(_run, "_compiled", {})
        monkeypatch.setattr(_tied_blocks, "ORDERED", 1)
    cases = FULL if unranked == "ignore" else TIED
    annotations = Annotations.from_rankings(list(cases.values()), classes=LETTERS)
    options = {"unranked": unranked, "concentration": concentration, "seed": 3}
    posterior = pb.aggregate(annotations, MODEL, reliability=reliability, **options, **SETTINGS)
    assert posterior["convergence"]["converged"].values.all()
    assert set(to_groups(posterior)["sample_stats"].data_vars) == {"lp"}
    assert posterior.attrs["thinning"] == sweeps_per_draw(reliability)
    draws = draws_of(posterior).reshape(4, 400, len(cases), 3)
    alpha = concentration * np.array([1.0, 1.0, 3.0 if unranked == "exact" else 1.0])  # a, b and three others
    for case, ranked in enumerate(cases.values()):
        mean, square = integrate(ranked, alpha, reliability, "power")
        first, second = moments(draws[:, :, case], [lambda x: x, np.square])
        agree(first, mean)
        agree(second, square)
    lp = posterior["sample_stats"]["lp"].values
    flat = draws.reshape(-1, len(cases), 3)
    for case, ranked in enumerate(cases.values()):
        shares = np.moveaxis(flat[:, case], -1, 0)
        expected = (alpha[:, None] * np.log(shares)).sum(0)
        for blocks in ranked:
            expected = expected + reliability * np.log(literal(blocks, dict(zip("abc", shares, strict=True))))
        usual = shares.min(0) > 1e-20
        np.testing.assert_allclose(lp[..., case].ravel()[usual], expected[usual], rtol=1e-4, atol=1e-3)


@pytest.mark.slow
def test_draws_are_equal_to_the_bit_for_one_seed_whatever_else_is_there_and_in_any_order():
    first, again, other = (draws_of(pb.aggregate(SINGLES, MODEL, reliability=3, seed=s, **SETTINGS)) for s in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).mean() > 0.99
    assert (first[0] != first[1]).mean() > 0.99
    alone = draws_of(pb.aggregate(SINGLES.select(["p3"]), MODEL, reliability=3, seed=3, **SETTINGS))
    np.testing.assert_array_equal(alone, first[..., 12:16])
    one, other = (
        pb.aggregate(
            Annotations.from_rankings([ranked[turn:] + ranked[:turn] for ranked in FULL.values()], classes=LETTERS),
            **{"reliability": 8, "unranked": "ignore", "seed": 5},
            **SETTINGS,
        )
        for turn in (0, 1)
    )
    np.testing.assert_array_equal(draws_of(one), draws_of(other))


@pytest.mark.parametrize("ranked", [[[["a"]]], [[["a"]], [["a"]]], [[["a", "b"]], [["b"], ["a"]]]])
def test_classes_that_leave_nothing_open(ranked):
    """Of a single class, or of all classes named at once, nothing is drawn that is not certain, or only a little."""
    annotations = Annotations.from_rankings([ranked], classes=["a", "b"][: 1 + ("b" in str(ranked))])
    draws = draws_of(pb.aggregate(annotations, MODEL, reliability=3, **SETTINGS))
    assert np.isfinite(draws).all()
    np.testing.assert_allclose(draws.sum(-1), 1, rtol=1e-5)
    if len(annotations.classes) == 2:
        # What is left is one annotator, three times, who prefers b.
        assert stats.kstest(draws[:, ::2, 1].ravel(), stats.beta(4, 1).cdf).pvalue > 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("concentration", [0.3, 1e-3])
def test_what_says_nothing_leaves_the_prior(concentration):
    """Even where the gamma variables of the prior are all below the smallest number."""
    annotations = Annotations.from_rankings([[[["a", "b", "c"]]] * 2], classes=["a", "b", "c"])
    draws = draws_of(pb.aggregate(annotations, MODEL, concentration=concentration, **SETTINGS))
    np.testing.assert_allclose(draws.sum(-1), 1, rtol=1e-5)
    # A sweep fails where one of three variables is not found; so some draws are those before.
    fresh = draws[:, ::4].reshape(-1, 3)
    if concentration > 0.01:
        assert stats.kstest(fresh[:, 0], stats.beta(concentration, 2 * concentration).cdf).pvalue > 1e-5
    else:
        assert stats.chisquare(np.bincount(fresh.argmax(1), minlength=3)).pvalue > 1e-5


@pytest.mark.slow
def test_extremes_are_finite():
    """A hundred annotators in full agreement over a dozen classes; one class named by everyone; wide blocks."""
    order = [[k] for k in "abcdefghijkl"]
    annotations = Annotations.from_rankings(
        [[order] * 100, [[["a"]]] * 100, [[list("abcdefghijkl")]] * 3], classes=list("abcdefghijklm")
    )
    posterior = pb.aggregate(
        annotations, MODEL, reliability=10, concentration=1e-3, **SETTINGS | {"draws": 10, "warmup": 10, "chains": 1}
    )
    assert np.isfinite(draws_of(posterior)).all()
    assert np.isfinite(posterior["sample_stats"]["lp"].values).all()


def lanes(n, name="lane"):
    return lane_words(case_keys(0, [f"{name}{i}" for i in range(n)]))


def test_uniforms_are_functions_of_lane_clock_and_index():
    words = lanes(40_000)
    uniforms = jax.jit(_random.uniforms, static_argnums=(2, 3))
    u, used = uniforms(words, jnp.int32(3), 5, 7)
    assert u.shape == (7, 40_000)
    assert used == 4
    for row in np.asarray(u, float):
        assert stats.kstest(row, "uniform").pvalue > 1e-5
    assert np.abs(np.corrcoef(np.asarray(u, float))[np.triu_indices(7, 1)]).max() < 5 / np.sqrt(40_000)
    np.testing.assert_array_equal(uniforms(words[:, 7:9], jnp.int32(3), 5, 7)[0], u[:, 7:9])
    np.testing.assert_array_equal(uniforms(words, jnp.int32(3), 6, 1)[0][0], u[1])
    assert (uniforms(words, jnp.int32(4), 5, 7)[0] != u).mean() > 0.999


@pytest.mark.parametrize("shape", [1e-3, 0.3, 40.0])
def test_gammas_that_come_out_are_gamma_variables(shape):
    n = 100_000
    u, _ = jax.jit(uniforms, static_argnums=(2, 3))(lanes(n, "g"), jnp.int32(0), 0, 2)
    values, found = (np.asarray(x) for x in jax.jit(gammas)(jnp.full(n, shape), *u))
    assert found.mean() > 0.94
    values = values[found].astype(float)
    values = values[values > 1e-30]  # smaller ones are rounded to zero
    floor = special.gammainc(shape, 1e-30)
    assert stats.kstest(values, lambda x: (special.gammainc(shape, x) - floor) / (1 - floor)).pvalue > 1e-5


def drawn_arrivals(weights, rest, words):
    """Arrivals of blocks, compiled as a whole, since every operation on its own would be a program, too."""

    @jax.jit  # a function of its own for each test, which may have changed what is traced
    def draw(weights, rest, words):
        prepared = _tied_blocks.prepare(weights, rest)
        real = jnp.ones(rest.shape, bool)
        return _tied_blocks.arrivals(
            prepared, weights, rest, real, lambda n, attempt: uniforms(words, jnp.int32(0), 100 * attempt, n)[0]
        )

    return draw(weights, rest, words)


@pytest.mark.parametrize("raced", [False, True])
@pytest.mark.parametrize(("weights", "rest"), [([0.2, 0.2, 5.0, 1.0, 0.7], 0.5)])
def test_arrivals_are_those_of_races_that_the_block_won(monkeypatch, weights, rest, raced):
    if raced:
        monkeypatch.setattr(_tied_blocks, "ORDERED", 1)
    n, b = 40_000, len(weights)
    w = jnp.broadcast_to(jnp.array(weights)[:, None], (b, n))
    z = jnp.full(n, rest)
    words = lanes(n, f"{b}{raced}")

    found = np.asarray(drawn_arrivals(w, z, words), float)
    rng = np.random.default_rng(b)
    times = rng.exponential(1 / np.array([*weights, rest])[:, None], (b + 1, 1_000_000))
    won = times[:b, (times[:b] < times[b]).all(0)][:, :n]
    assert won.shape[1] > 10_000
    for statistic in [*range(b), "max", "min", "gap"]:
        mine, theirs = (
            x[statistic]
            if isinstance(statistic, int)
            else x[0] - x[1]
            if statistic == "gap"
            else getattr(x, statistic)(0)
            for x in (found, won)
        )
        assert stats.ks_2samp(mine, theirs).pvalue > 1e-5


@pytest.mark.parametrize("spread", [0.0, 60.0])
def test_large_blocks_race_without_overflow(spread):
    b, n = 40, 500
    weights = jnp.exp(jnp.linspace(-spread, spread / 2, b))[:, None] * jnp.ones(n)
    z, words = jnp.full(n, 1.0), lanes(n, "large")
    t = drawn_arrivals(weights, z, words)
    assert np.isfinite(np.asarray(t)).all()
    assert (np.asarray(t) >= 0).all()
    if spread == 0:
        # The rest has the same rate and comes last of 41, the last member before it; 1 - exp(-t) is uniform.
        expected = stats.beta(40, 2)
        assert stats.kstest(1 - np.exp(-np.asarray(t, float).max(0)), expected.cdf).pvalue > 1e-5
