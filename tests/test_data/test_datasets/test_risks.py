"""Simulated risk levels."""

import numpy as np

from plausibly.data.datasets import simulate_risks


def test_levels_are_as_frequent_as_in_the_real_set():
    levels = simulate_risks(20_000, seed=2)
    assert levels.dtype == np.int8
    # Four standard errors.
    np.testing.assert_allclose(np.bincount(levels, minlength=3) / 20_000, [0.48, 0.36, 0.16], atol=0.015)
    assert simulate_risks(5, seed=3).tolist() == simulate_risks(50, seed=3)[:5].tolist()
