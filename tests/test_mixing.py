"""R-hat and effective sample sizes against ArviZ's, quantity by quantity."""

import numpy as np
import pytest
import xarray as xr

from plausibly._arviz import az
from plausibly._mixing import mixing


def chains(rng, n_chains, n, correlation, shift=0.0):
    """Autoregressive chains of several correlations each, the first of them shifted."""
    out = rng.normal(size=(n_chains, n, len(correlation)))
    for t in range(1, n):
        out[:, t] = correlation * out[:, t - 1] + np.sqrt(1 - np.square(correlation)) * out[:, t]
    out[0] += shift
    return out


def by_arviz(draws):
    data = xr.Dataset({"p": (("chain", "draw", "slot"), draws)})
    halves = data
    if len(draws) == 1:
        n = draws.shape[1] // 2
        halves = xr.Dataset({"p": (("chain", "draw", "slot"), np.stack([draws[0, :n], draws[0, -n:]]))})
    with np.errstate(divide="ignore", invalid="ignore"):
        return [az.rhat(halves)["p"].values, *(az.ess(data, method=m)["p"].values for m in ("bulk", "tail"))]


CORRELATION = np.array([-0.7, -0.2, 0.0, 0.3, 0.6, 0.9, 0.99, 0.999])


@pytest.mark.parametrize(("n_chains", "n"), [(4, 250), (2, 101), (1, 200), (4, 8), (3, 20), (8, 1000)])
@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_they_are_those_of_arviz(n_chains, n, shift):
    normal = chains(np.random.default_rng(n), n_chains, n, CORRELATION, shift)
    for draws in (normal, normal.astype(np.float32), np.round(normal), np.exp(5 * normal)):
        # In single precision, ArviZ would see other ties.
        for found, expected in zip(mixing(draws), by_arviz(draws.astype(float)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_what_stands_still_or_is_no_number():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(4, 100, 4))
    draws[2, 7, 0] = np.nan
    draws[..., 1] = np.arange(4)[:, None]
    draws[..., 2] = 5.0
    r_hat, bulk, tail = mixing(draws)
    assert np.isnan([r_hat[0], bulk[0], tail[0]]).all()
    assert r_hat[1] > 1e6
    assert bulk[1] < 10
    assert np.isnan(r_hat[2])
    assert bulk[2] == 400
    assert r_hat[3] < 1.1
    np.testing.assert_array_equal(mixing(draws[..., 3:])[1], bulk[3:])
