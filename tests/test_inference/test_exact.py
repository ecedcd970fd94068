"""Exact draws, against what is known of the Dirichlet distribution."""

import jax
import numpy as np
import pytest
from scipy import stats

from plausibly.base.random_streams import as_key, case_keys
from plausibly.data.annotations import Annotations, Slots
from plausibly.inference import dirichlet
from plausibly.inference.exact import _dirichlet
from plausibly.inference.exact._gammas import log_gammas

FALSE_ALARM = 1e-4  # of all tests of this file together
CASES = [[[["a"], ["b"]]], [[["c"]]], [[["a", "b", "c"]]], [[["b"]]]]
ANNOTATIONS = Annotations.from_rankings(CASES, classes=list("abcde"))
SLOTS = Slots.of(ANNOTATIONS)
SHAPE = np.array([0.3, 2.0, 1.0, 5.0, 0.05, 1.0, 2.0, 3.0, 4.0, 30.0, 0.5])
KEYS = case_keys(0, ANNOTATIONS.cases)


@pytest.fixture(scope="module")
def draws():
    return dirichlet(SHAPE, SLOTS, KEYS, chains=4, draws=2500)


def test_draws_lie_on_the_simplex_with_beta_marginals(draws):
    assert draws.shape == (4, 2500, 11)
    assert draws.dtype == np.float32
    assert (draws >= 0).all()
    np.testing.assert_allclose(np.add.reduceat(draws, SLOTS.start[:-1], axis=-1), 1, rtol=1e-5)
    total = np.add.reduceat(SHAPE, SLOTS.start[:-1])[SLOTS.case]
    flat = draws.reshape(-1, 11).astype(float)
    tested = 0
    for slot in range(11):
        beta = stats.beta(SHAPE[slot], total[slot] - SHAPE[slot])
        # Where single precision rounds a share of the draws to 1, their order is lost.
        if beta.sf(1 - 1e-6) < 1e-3:
            tested += 1
            assert stats.kstest(flat[:, slot], beta.cdf).pvalue > FALSE_ALARM / 11
        # Five standard errors, of 22 statistics.
        assert abs(flat[:, slot].mean() - beta.mean()) < 5 * beta.std() / 100
        squares = (flat[:, slot] - beta.mean()) ** 2
        assert abs(squares.mean() - beta.var()) < 5 * squares.std() / 100
    assert tested >= 9


def test_slots_of_a_case_covary_and_cases_draws_and_chains_do_not(draws):
    flat = draws.reshape(-1, 11).astype(float)
    got = np.corrcoef(flat, rowvar=False)
    share = SHAPE / np.add.reduceat(SHAPE, SLOTS.start[:-1])[SLOTS.case]
    same = SLOTS.case[:, None] == SLOTS.case
    expected = np.where(same, -np.sqrt(np.outer(share / (1 - share), share / (1 - share))), 0)
    np.fill_diagonal(expected, 1)
    assert np.abs(got - expected).max() < 0.05
    for slot in range(11):
        assert abs(np.corrcoef(flat[1:, slot], flat[:-1, slot])[0, 1]) < 0.05
        assert abs(np.corrcoef(draws[0, :, slot], draws[1, :, slot])[0, 1]) < 0.1


@pytest.mark.parametrize("shape", [1e-2, 1e-20])
def test_tiny_shapes_put_all_mass_on_one_slot(shape):
    draws = dirichlet(np.full(11, shape), SLOTS, KEYS, chains=1, draws=4000)
    assert np.isfinite(draws).all()
    np.testing.assert_allclose(np.add.reduceat(draws, SLOTS.start[:-1], axis=-1), 1, rtol=1e-5)
    # Each slot of the case of four wins equally often: five standard errors.
    winners = np.bincount(draws[0][:, SLOTS.start[2] : SLOTS.start[3]].argmax(1), minlength=4)
    assert np.abs(winners / 4000 - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 4000)


@pytest.mark.parametrize("shape", [1e4, 1e8])
def test_large_shapes_contract(shape):
    draws = dirichlet(SHAPE * shape, SLOTS, KEYS, chains=1, draws=200)
    share = SHAPE / np.add.reduceat(SHAPE, SLOTS.start[:-1])[SLOTS.case]
    assert np.abs(draws.mean((0, 1)) - share).max() < 1e-3


def test_parts_make_no_difference(draws, monkeypatch):
    monkeypatch.setattr(_dirichlet, "_NUMBERS", 4 * 10_000)
    np.testing.assert_allclose(dirichlet(SHAPE, SLOTS, KEYS, chains=4, draws=2500), draws, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_gamma_variables_are_those_of_jax_whatever_its_settings():
    words = np.asarray(jax.random.key_data(case_keys(0, map(str, range(40)))))
    shape = np.repeat(np.float32([1e-9, 0.01, 0.7, 0.99, 1, 1.5, 2, 5, 30, 1000.3]), 4)
    found = jax.jit(lambda words: log_gammas((words[:, 0], words[:, 1]), shape, 500))
    expected = jax.vmap(lambda key, a: jax.random.loggamma(key, a, (500,)))(as_key(words), shape)
    np.testing.assert_allclose(found(words), expected, rtol=1e-4, atol=1e-5)
    usual = found(words)
    with jax.threefry_partitionable(False):
        np.testing.assert_array_equal(found(words), usual)
