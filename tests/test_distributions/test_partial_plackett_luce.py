"""Partial rankings: normalisation, the two representations of a value, sampling, and life inside NumPyro."""

import math
from itertools import permutations, product

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpyro.infer import Predictive
from scipy import stats

from plausibly.distributions import PartialPlackettLuce, PartialRankings, Ties
from plausibly.distributions.primitives import block_log_prob
from tests.test_inference import oracles

FALSE_ALARM = 1e-4  # of each goodness-of-fit test in this file, of which there are five
LOGS = np.log(np.array([0.45, 0.3, 0.2, 0.05], np.float32))
COMPOSITIONS = [sizes for length in range(1, 5) for sizes in product(range(1, 5), repeat=length) if sum(sizes) == 4]


def literal(log_weights, value):
    """Log probability as a sum over every order that breaks the ties of every block but the last."""
    blocks = [[k for k in range(len(value)) if value[k] == position] for position in sorted(set(value))[:-1]]
    return np.log(oracles.literal(blocks, dict(enumerate(np.exp(np.asarray(log_weights, float))))))


def partitions(sizes):
    """All ordered partitions with these block sizes, as positions."""
    positions = [i for i, size in enumerate(sizes) for _ in range(size)]
    return np.array(sorted(set(permutations(positions))))


def taken_apart(values):
    """The other representation, with nothing shared and every draw written out."""
    n_rows, n_classes = values.shape
    singles = np.zeros(values.shape, np.float32)
    sets, tied = [], {}
    for row, value in enumerate(values):
        for position in sorted(set(value))[:-1]:
            block, left = value == position, value >= position
            if block.sum() == 1:
                singles[row] += block
                sets.append((row, left))
            else:
                tied.setdefault(int(block.sum()), []).append((row, block, left & ~block))

    def made(rows):
        return np.eye(n_rows, dtype=np.float32)[rows].T.reshape(n_rows, len(rows))

    ties = [
        Ties(
            np.stack([np.eye(n_classes, dtype=bool)[block] for _, block, _ in entries]),
            np.stack([rest for *_, rest in entries]),
            made([row for row, *_ in entries]),
        )
        for entries in tied.values()
    ]
    remaining = np.array([left for _, left in sets], bool).reshape(len(sets), n_classes)
    return jax.tree.map(
        jnp.asarray, PartialRankings(values, singles, remaining, made([row for row, _ in sets]), tuple(ties))
    )


RANKINGS = [partitions(sizes) for sizes in COMPOSITIONS]
VALUES = np.concatenate(RANKINGS)
by_value = jax.jit(lambda x, value: PartialPlackettLuce(x).log_prob(value))
by_draws = jax.jit(lambda x: PartialPlackettLuce(x).log_prob(taken_apart(VALUES)))


def log_prob(d, value):
    """Log probability of a value that is known when it is traced, compiled as a whole."""
    return np.asarray(jax.jit(lambda: d.log_prob(value))())


def sample(d, key, shape=()):
    """Samples, compiled as a whole."""
    return np.asarray(jax.jit(lambda: d.sample(key, shape))())


WEIGHTS = hnp.arrays(np.float32, (4,), elements=st.floats(-8, 8, width=32))


@settings(max_examples=8)
@given(WEIGHTS, st.permutations(range(4)), st.floats(-9, 9, width=32))
def test_all_rankings_of_four_classes(x, order, shift):
    """Each list of block sizes has total probability one; both representations and the literal sum agree."""
    got = by_value(x, VALUES)
    start = np.cumsum([0, *map(len, RANKINGS[:-1])])
    np.testing.assert_allclose(np.add.reduceat(np.exp(np.asarray(got, float)), start), 1, atol=1e-5)
    np.testing.assert_allclose(got, [literal(x, value) for value in VALUES], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(by_draws(x), got, rtol=1e-5, atol=1e-5)
    # Neither names nor scale matter.
    np.testing.assert_allclose(by_value(x[order], VALUES[:, order]), got, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(by_value(x + shift, VALUES), got, rtol=1e-5, atol=3e-5)


def test_rankings_that_are_known_alone_or_under_many_weights_of_any_type():
    for value in VALUES[[20]]:
        np.testing.assert_allclose(log_prob(PartialPlackettLuce(LOGS), value), literal(LOGS, value), rtol=2e-6)
    x = np.stack([LOGS, LOGS[::-1], 0 * LOGS])
    value = np.array([1, 0, 0, 2])
    expected = [literal(row, value) for row in x]
    np.testing.assert_allclose(log_prob(PartialPlackettLuce(x), value), expected, rtol=2e-6)
    value = np.array([0, 1, 2, 2])
    expected = literal(LOGS, value)
    np.testing.assert_allclose(log_prob(PartialPlackettLuce(LOGS).expand((3,)), value), [expected] * 3, rtol=1e-5)
    # Of distributions that are mapped over, only the leaves say what batch they have.
    mapped = jax.jit(jax.vmap(lambda d: d.log_prob(value)))(PartialPlackettLuce(jnp.stack([LOGS, LOGS])))
    np.testing.assert_allclose(mapped, [expected] * 2, rtol=1e-5)
    weights, value = np.array([0, 1, 2, 0]), np.array([2, 1, 0, 2])
    d = PartialPlackettLuce(weights)
    assert sorted(sample(d, jax.random.key(0)).tolist()) == [0, 1, 2, 3]
    np.testing.assert_allclose(log_prob(d, value), literal(weights, value), rtol=1e-6)


@pytest.mark.parametrize("value", [[0, 2, 3, 3], [1, 7, 90, 90], [0, 1, 2000000000, 2000000000], [3, 4, 5, 5]])
def test_only_the_order_of_positions_counts(value):
    expected = literal(LOGS, [0, 1, 2, 2])
    assert expected < -1
    np.testing.assert_allclose(log_prob(PartialPlackettLuce(LOGS), np.array(value)), expected, rtol=2e-6)


def test_gradients_of_both_representations_agree():
    slopes = [jax.jit(jax.grad(lambda x, f=f: f(x).sum()))(LOGS) for f in (lambda x: by_value(x, VALUES), by_draws)]
    np.testing.assert_allclose(*slopes, atol=2e-5)
    assert abs(float(slopes[0].sum())) < 2e-5


def test_blocks_have_a_limit_of_at_least_one_but_for_the_last():
    d = PartialPlackettLuce(jnp.zeros(9), max_block_size=3)
    values = np.array([[0, 0, 0, 0, 1, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 1, 1], [0] * 9])
    got = log_prob(d, values)
    assert np.isnan(got[0])
    np.testing.assert_allclose(got[1:], [-np.log(84), 0], rtol=1e-6)
    assert np.isfinite(log_prob(PartialPlackettLuce(jnp.zeros(9), max_block_size=4), values[0]))
    with pytest.raises(ValueError, match="max_block_size must be at least 1, got 0"):
        PartialPlackettLuce(LOGS, max_block_size=0)


@pytest.mark.slow
def test_blocks_of_twelve_and_forty_in_one_ranking_and_in_samples():
    """Against the two blocks one by one; without a limit, known beforehand or traced alike."""
    x = np.random.default_rng(0).normal(size=60).astype(np.float32)
    value = np.repeat([0, 1, 2], [12, 40, 8])
    block = jax.jit(block_log_prob)
    rest = [np.logaddexp.reduce(x[12:]), np.logaddexp.reduce(x[52:])]
    expected = block(x[:12], rest[0]) + block(x[12:52], rest[1])
    both = jax.value_and_grad(lambda x, value: PartialPlackettLuce(x).log_prob(value))
    (traced, slope), (known, other) = jax.jit(both)(x, value), jax.jit(lambda x: both(x, value))(x)
    np.testing.assert_allclose([traced, known], expected, rtol=1e-6)
    np.testing.assert_allclose(slope, other, atol=2e-6)
    assert abs(float(slope.sum())) < 2e-5
    x = np.linspace(-1, 1, 60).astype(np.float32)
    d = PartialPlackettLuce(x, np.array([12, 40]))
    values = sample(d, jax.random.key(0), (200,))
    assert (np.sort(values, axis=1) == np.repeat([0, 1, 2], [12, 40, 8])).all()
    found = np.asarray(jax.jit(d.log_prob)(values))
    assert (found < 0).all()
    assert np.isfinite(found).all()
    # The entropy of a sample is at most that of rankings which are all alike.
    assert found.mean() > -(math.lgamma(61) - math.lgamma(13) - math.lgamma(41) - math.lgamma(9))


@pytest.mark.parametrize("sizes", [None, (1, 2), (3,), (1, 1, 0, 0)], ids=str)
def test_samples_follow_log_prob(sizes):
    n = 20_000
    d = PartialPlackettLuce(LOGS, None if sizes is None else np.array(sizes))
    values = sample(d, jax.random.key(3), (n,))
    # Positions by rank, so that gaps do not tell values apart.
    values = (np.sort(values, axis=1)[:, None, :] < values[:, :, None]).sum(-1)
    named = [1, 1, 1] if sizes is None else [size for size in sizes if size]
    possible = partitions([*named, 4 - sum(named)])
    possible = (possible[:, None, :] < possible[:, :, None]).sum(-1)
    seen, counts = np.unique(np.concatenate([values, possible]), axis=0, return_counts=True)
    assert len(seen) == len(possible)
    expected = n * np.exp([literal(LOGS, value) for value in seen])
    assert expected.min() > 5
    assert stats.chisquare(counts - 1, expected * (n / expected.sum())).pvalue > FALSE_ALARM


def model(weights, n=None, rankings=None, sizes=(1, 2)):
    log_weights = numpyro.deterministic(
        "x", jnp.log(numpyro.sample("weights", numpyro.distributions.Dirichlet(weights)))
    )
    with numpyro.plate("annotation", n):
        return numpyro.sample("ranking", PartialPlackettLuce(log_weights, np.array(sizes)), obs=rankings)


def test_prior_and_posterior_predictions():
    key = jax.random.PRNGKey(0)
    concentration = jnp.ones(4)
    prior = Predictive(model, num_samples=30)(key, concentration, 5)
    assert prior["ranking"].shape == (30, 5, 4)
    assert (np.sort(prior["ranking"], axis=-1) == [0, 1, 1, 2]).all()
    posterior = Predictive(model, {"weights": jnp.tile(jnp.array([0.997, 0.001, 0.001, 0.001]), (30, 1))})(
        key, concentration, 5
    )
    assert posterior["ranking"].shape == (30, 5, 4)
    assert (posterior["ranking"][..., 0] == 0).mean() > 0.9


def test_the_density_under_a_plate_is_the_sum():
    values = partitions((1, 2, 1))[:5]
    weights = np.exp(LOGS) / np.exp(LOGS).sum()
    density = numpyro.infer.util.log_density
    total = jax.jit(lambda given: density(model, (jnp.ones(4), 5, jnp.asarray(values)), {}, given)[0])(
        {"weights": weights}
    )
    expected = np.log(6) + sum(literal(np.log(weights), value) for value in values)
    np.testing.assert_allclose(total, expected, rtol=1e-6)


def test_shapes_of_batches_whose_annotations_are_independent():
    weights = np.random.default_rng(0).normal(size=(3, 1, 4)).astype(np.float32)
    d = PartialPlackettLuce(weights, np.array([[1, 2], [2, 1]]))
    assert d.batch_shape == (3, 2)
    assert d.event_shape == (4,)
    values = sample(d, jax.random.key(1), (7,))
    assert values.shape == (7, 3, 2, 4)
    got = log_prob(d, values)
    assert got.shape == (7, 3, 2)
    for i in np.ndindex(7, 3, 2):
        np.testing.assert_allclose(got[i], literal(weights[i[1], 0], values[i]), rtol=1e-5)
    assert log_prob(d.to_event(1), values).shape == (7, 3)
    d = PartialPlackettLuce(LOGS, np.array([1, 1])).expand((50,)).expand((20, 50))
    assert d.batch_shape == (20, 50)
    values = sample(d, jax.random.key(2))
    assert len(np.unique(values.reshape(-1, 4), axis=0)) > 8
    assert log_prob(d, values).shape == (20, 50)


@pytest.mark.parametrize("sizes", [[3, 2], [-1, 2]], ids=str)
def test_sizes_that_no_ranking_has_are_refused(sizes):
    with pytest.raises(ValueError, match=r"whole numbers of at least 0 that sum up to at most the 4 classes, got \["):
        PartialPlackettLuce(LOGS, np.array(sizes))


@pytest.mark.parametrize("value", [[0], [0, 1, 1]], ids=str)
def test_rankings_of_other_classes_are_refused(value):
    with pytest.raises(ValueError, match="the position of each of 4 classes on its last axis, got an array of shape"):
        PartialPlackettLuce(LOGS).log_prob(np.array(value))


def test_what_rankings_cost_grows_with_their_blocks_not_with_pairs_of_classes():
    values = np.full((50, 400), 9)
    values[:, :4] = [3, 1, 1, 2]
    d = PartialPlackettLuce(jnp.zeros(400))
    jaxpr = jax.make_jaxpr(lambda x: PartialPlackettLuce(x).log_prob(values))(d.log_weights)
    assert max(v.aval.size for equation in jaxpr.eqns for v in equation.outvars) <= 50 * 400 * 3
    np.testing.assert_allclose(log_prob(d, values[0]), np.log(2 / 400 / 399 / 398 / 397), rtol=1e-6)


@pytest.mark.slow
def test_it_passes_through_jit_and_vmap_and_validates_on_request():
    d = PartialPlackettLuce(LOGS, np.array([1, 2]), max_block_size=2)
    values = sample(d, jax.random.key(0), (6,))
    expected = log_prob(d, values)
    np.testing.assert_allclose(jax.jit(lambda d, v: d.log_prob(v))(d, values), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vmap(d.log_prob))(values), expected, rtol=1e-6)
    np.testing.assert_array_equal(jax.jit(lambda d: d.sample(jax.random.key(0), (6,)))(d), values)
    several = jax.vmap(lambda x: PartialPlackettLuce(x, np.array([1, 2])))(jnp.stack([LOGS, LOGS]))
    mapped = jax.jit(jax.vmap(lambda d, v: d.log_prob(v), (0, None)))(several, values)
    np.testing.assert_allclose(mapped[1], expected, rtol=1e-6)
    np.testing.assert_allclose(d.log_prob(values), expected, rtol=1e-6)  # not compiled as a whole
    with pytest.raises(ValueError, match="invalid log_weights"):
        PartialPlackettLuce(jnp.array([0.0, jnp.nan]), validate_args=True)
    with pytest.warns(UserWarning, match="Out-of-support"):
        PartialPlackettLuce(LOGS, validate_args=True).log_prob(np.array([-1, 0, 1, 1]))
