"""The compiled split of a remainder against the Dirichlet written out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import threefry_2x32
from scipy import special, stats

from plausibly.base.random_streams import random_bits
from plausibly.posterior.split_remainder import (
    NEGLIGIBLE,
    coefficients,
    largest_classes,
    largest_pieces,
    largest_share,
    log_gamma,
    split_among_some,
)

N_CASES, N_DRAWS = 5, 800
N = N_CASES * N_DRAWS

_largest = jax.jit(largest_pieces, static_argnames="count")


def words(n=N_CASES):
    return np.asarray(jax.random.key_data(jax.random.split(jax.random.key(5), n)))


def pieces(mass, members, threshold, concentration, count=3, key_words=None, n_draws=N_DRAWS, needed=True):
    """The largest pieces of the same remainder in every case and draw."""
    key_words = words() if key_words is None else key_words
    shape = len(key_words), n_draws
    return np.asarray(
        _largest(
            np.broadcast_to(needed, shape),
            np.full(shape, mass, np.float32),
            np.full(shape, threshold, np.float32),
            key_words,
            np.arange(n_draws, dtype=np.uint32),
            np.full(shape[0], members, np.int32),
            jnp.float32(concentration),
            coefficients(np.array(concentration)),
            count=count,
        )
    )


def literal(members, concentration, n=N):
    """Pieces of a symmetric Dirichlet, by logarithms, largest first."""
    log_gamma = np.log(np.random.default_rng(0).gamma(concentration + 1, size=(n, members)))
    log_gamma += np.log(np.random.default_rng(1).random((n, members))) / concentration
    return -np.sort(-np.exp(log_gamma - np.logaddexp.reduce(log_gamma, axis=1, keepdims=True)), axis=1)


@pytest.mark.parametrize("concentration", [0.01, 0.09, 1.0, 7.0])
@pytest.mark.parametrize(("members", "share"), [(2, 0.3), (5, 0.15), (300, 0.012)])
def test_pieces_above_a_threshold_have_the_law_of_the_dirichlet(members, share, concentration):
    ours = pieces(0.5, members, 0.5 * share, concentration).reshape(3, -1)
    assert (np.diff(ours, axis=0) <= 0).all()
    expected = 0.5 * literal(members, concentration)[:, :3].T
    above, expected_above = (np.where(found > 0.5 * share, found, 0) for found in (ours[: len(expected)], expected))
    # At most three comparisons in each of twelve settings at a rate of 1e-5: one false alarm in 2,700 seeds.
    for place in range(len(expected)):
        # Rounded, because shares within single precision of 1 are 1 in one sample and not in the other.
        assert stats.ks_2samp(above[place].round(5), expected_above[place].round(5), method="asymp").pvalue > 1e-5


@pytest.mark.parametrize("concentration", [0.05, 1.0])
def test_all_pieces_together_are_the_remainder_and_a_single_class_takes_it(concentration):
    found = pieces(0.7, 13, 1e-30, concentration, count=13, n_draws=50)
    np.testing.assert_allclose(found.sum(axis=0), 0.7, rtol=1e-5)
    found = pieces(0.3, 1, 0.2, concentration, n_draws=10)
    np.testing.assert_allclose(found[0], 0.3, rtol=1e-6)
    assert (found[1:] == 0).all()


@pytest.mark.parametrize("concentration", [0.01, 1.0])
def test_the_threshold_keeps_its_promise(concentration):
    for members in (2, 10, 419, 10_000):
        share = largest_share(members, concentration)
        expected = members * stats.beta.sf(share, concentration, (members - 1) * concentration)
        assert expected <= NEGLIGIBLE * (1 + 1e-6)


@pytest.mark.parametrize("parameters", [[2.0, 0.0, 6.0], [0.02, 0.0, 3.0], [0.05, 0.03, 0.04], [0.5, 400.0, 30.0]])
def test_shares_of_unequal_parts(parameters):
    shapes = np.tile(np.array(parameters)[:, None], (1, N_CASES))
    draw = np.arange(N_DRAWS, dtype=np.uint32)
    shares = jax.jit(split_among_some)(words(), draw, shapes.astype(np.float32), coefficients(shapes))
    shares = np.asarray(shares).reshape(len(parameters), -1)
    np.testing.assert_allclose(shares.sum(axis=0), 1, rtol=1e-5)
    total = sum(parameters)
    for share, own in zip(shares, parameters, strict=True):
        if own:
            # Rounded, because shares within single precision of 0 or 1 are 0 or 1. Ten tests at a rate of 1e-5.
            expected = np.random.default_rng(1).beta(own, total - own, N)
            assert stats.ks_2samp(share.round(5), expected.round(5), method="asymp").pvalue > 1e-5
        else:
            assert (share == 0).all()


@pytest.mark.parametrize("concentration", [0.02, 1.0])
def test_fewer_pieces_are_the_largest_of_more(concentration):
    many = pieces(0.9, 30, 0.02, concentration, count=5, n_draws=50)
    for count in (1, 2):
        few = pieces(0.9, 30, 0.02, concentration, count=count, n_draws=50)
        above = few > 0.02
        # The sum of all pieces may be added up in another order.
        np.testing.assert_allclose(few[above], many[:count][above], rtol=1e-5)


def test_classes_that_are_not_equally_likely_share_by_their_dirichlet():
    parameters = np.array([0.5, 2.0, 0.2, 0.05, 1.5])
    unnamed = np.tile(np.array([True, False, True, True, True])[:, None], (1, N_CASES))
    shape, draw = (N_CASES, N_DRAWS), np.arange(N_DRAWS, dtype=np.uint32)
    arguments = words(), draw, unnamed, parameters.astype(np.float32), coefficients(parameters)
    largest = jax.jit(largest_classes, static_argnames="count")
    sizes, names = map(np.asarray, largest(np.ones(shape, bool), np.full(shape, 0.5, np.float32), *arguments, count=5))
    assert (np.diff(sizes, axis=0) <= 0).all()
    assert (sizes[4] == 0).all()
    found = np.zeros((5, N))
    np.add.at(found, (names[:4].reshape(4, -1), np.arange(N)), sizes[:4].reshape(4, -1))
    np.testing.assert_allclose(found.sum(axis=0), 0.5, rtol=1e-5)
    left = np.where(unnamed[:, 0], parameters, 0)
    for one, own in zip(2 * found, left, strict=True):
        if own:  # four tests at a rate of 1e-5
            expected = np.random.default_rng(1).beta(own, left.sum() - own, N)
            assert stats.ks_2samp(one.round(5), expected.round(5), method="asymp").pvalue > 1e-5
        else:
            assert (one == 0).all()


def test_pieces_are_drawn_only_where_they_are_needed():
    needed = np.random.default_rng(0).random((N_CASES, N_DRAWS)) < 0.3
    found, every = (pieces(0.5, 4, 0.1, 1.0, needed=of) for of in (needed, True))
    np.testing.assert_array_equal(found, np.where(needed, every, 0))


@pytest.mark.parametrize("shape", [1e-4, 0.01, 0.3, 1.0, 4.0, 60.0, 2000.0])
def test_quantiles_of_the_gamma_distribution(shape):
    # A second word of ones makes the power of a uniform number 1, so what is left is Gamma(1 + shape).
    first = np.concatenate([2.0 ** np.arange(31), 2.0**32 - 1 - 2.0 ** np.arange(31)]).astype(np.uint32)
    words = first, np.full(len(first), 2**32 - 1, np.uint32)
    found = jax.jit(log_gamma)(words, np.float32(shape), coefficients(np.array(shape)))
    lower, upper = (first[:31] + 0.5) / 2**32, (2.0**32 - 0.5 - first[31:]) / 2**32
    expected = np.concatenate([special.gammaincinv(1 + shape, lower), special.gammainccinv(1 + shape, upper)])
    np.testing.assert_allclose(found, np.log(expected), atol=5e-6)


def test_random_bits_are_those_of_jax():
    key, draw, number = np.array([7, 2**31 + 5], np.uint32), np.arange(6, dtype=np.uint32), np.uint32(2**32 - 1)
    expected = jax.jit(threefry_2x32)(key, np.concatenate([draw, np.full(6, number)]))  # words lie half apart
    np.testing.assert_array_equal(np.concatenate(jax.jit(random_bits)(key, draw, number)), expected)
