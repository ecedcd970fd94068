"""R-hat, effective sample sizes and Monte Carlo errors of many quantities, against ArviZ one by one."""

import logging

import numpy as np
import pytest
import xarray as xr

from plausibly.base.arviz import arviz
from plausibly.posterior.diagnostics import _many, ess_of_mean, r_hat_and_ess

SHAPES = [(1, 4), (1, 50), (2, 5), (2, 10), (3, 7), (4, 50), (4, 101), (7, 8), (2, 250)]


def autoregressive(rng, chains, draws, phi):
    values = rng.normal(size=(chains, draws))
    for draw in range(1, draws):
        values[:, draw] += phi * values[:, draw - 1]
    return values


def hard_quantities(chains, draws, dtype):
    """Quantities (chain, draw, quantity) of every kind that a comparison, a rank or a division could go wrong on."""
    rng = np.random.default_rng(draws)
    shape = chains, draws
    kinds = [autoregressive(rng, *shape, phi) for phi in (0, 0.5, 0.95, 1, -0.6)]
    kinds += [rng.integers(0, 3, shape), rng.integers(0, 40, shape), np.full(shape, 0.3)]  # ties, constants
    kinds += [np.repeat(np.arange(chains)[:, None], draws, axis=1)]  # chains that stand still
    kinds += [np.repeat(rng.random(shape), 3, axis=1)[:, :draws], np.sort(rng.random(shape), axis=1)]
    kinds += [np.tile([0.0, 1.0], shape)[:, :draws], rng.random(shape) ** 30]
    kinds += [1e-9 * rng.random(shape), 1e-16 * rng.random(shape)]  # below ArviZ's resolution
    kinds += [np.arange(chains * draws).reshape(shape) == 1]  # a single draw differs
    for value in (np.nan, np.inf, -np.inf):
        kinds += [rng.random(shape), rng.random(shape)]
        kinds[-2][0, 0], kinds[-1][0] = value, value
    return np.stack(kinds, axis=-1).astype(dtype)


def equal(ours, theirs):
    # Where chains stand still, rounding decides whether R-hat is 1e15 or infinite.
    ours, theirs = (np.where(array > 1e9, np.inf, array) for array in (ours, np.asarray(theirs["x"], float)))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES)
def test_all_are_those_of_arviz(shape, dtype):
    draws = hard_quantities(*shape, dtype)
    data = xr.Dataset({"x": (("chain", "draw", "quantity"), draws)})
    logging.getLogger("arviz").setLevel(logging.ERROR)
    with np.errstate(all="ignore"):
        r_hat = arviz().rhat(data)
        sizes = {method: arviz().ess(data, method=method) for method in ("bulk", "mean")}
        sizes["tail"] = arviz().ess(data, method="tail", prob=(0.05, 0.95))  # in ArviZ 1 a setting chooses the tails
    found = r_hat_and_ess(draws)
    equal(found.ess_bulk, sizes["bulk"])
    equal(found.ess_tail, sizes["tail"])
    equal(found.r_hat, r_hat)
    equal(ess_of_mean(draws), sizes["mean"])


@pytest.mark.parametrize("shape", [(2, 3), (4, 0), (0, 10)])
def test_too_few_draws_say_nothing(shape):
    draws = np.ones((*shape, 5))
    for values in (*r_hat_and_ess(draws), ess_of_mean(draws)):
        np.testing.assert_array_equal(values, np.full(5, np.nan))
    assert r_hat_and_ess(np.ones((4, 10, 0))).r_hat.shape == (0,)


def test_blocks_leave_no_trace(monkeypatch):
    draws = hard_quantities(3, 20, np.float64)
    whole = r_hat_and_ess(draws)
    for size in (1, 60 * 7):  # a quantity at a time, and seven
        monkeypatch.setattr(_many, "_BLOCK", size)
        for one, other in zip(whole, r_hat_and_ess(draws), strict=True):
            np.testing.assert_array_equal(one, other)


def test_ties_and_whole_numbers_count_and_generations_of_arviz_round_alone(monkeypatch):
    """Distances from the median that differ only in double precision share a rank, as in ArviZ."""
    rng = np.random.default_rng(0)
    draws = (1 + rng.integers(-3, 4, (4, 100, 1)) / 10).astype(np.float32)
    data = xr.Dataset({"x": (("chain", "draw", "quantity"), draws)})
    equal(r_hat_and_ess(draws).r_hat, arviz().rhat(data))
    draws = np.random.default_rng(0).integers(0, 9, (4, 50, 3))
    for one, other in zip(r_hat_and_ess(draws), r_hat_and_ess(draws.astype(float)), strict=True):
        np.testing.assert_array_equal(one, other)
    draws = np.random.default_rng(0).normal(size=(4, 101, 50))
    found = []
    for generation in (True, False):
        monkeypatch.setattr(_many, "HAS_INFERENCE_DATA", generation)
        found.append(r_hat_and_ess(draws).ess_tail)
    np.testing.assert_allclose(*found, rtol=1e-6)
