"""Metrics of risk against loops over draws and cases."""

import jax
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from plausibly import metrics


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), shape=st.sampled_from([(1, 1), (6, 5)]))
def test_metrics_are_their_definitions(seed, shape):
    n_draws, n_classes = shape
    rng = np.random.default_rng(seed)
    draws, risks = rng.dirichlet(np.ones(n_classes), (n_draws, 3)), rng.integers(0, 3, n_classes)
    levels, expected = np.zeros((n_draws, 3, 3)), np.zeros((n_draws, 3))
    of_class, of_level = [[] for _ in range(3)], [[] for _ in range(3)]
    for m in range(n_draws):
        for case in range(3):
            for c in range(n_classes):
                levels[m, case, risks[c]] += draws[m, case, c]
                expected[m, case] += draws[m, case, c] * risks[c]
            of_class[case].append(int(risks[np.argmax(draws[m, case])]))
            of_level[case].append(int(np.argmax(levels[m, case])))
    np.testing.assert_allclose(metrics.risk_plausibility(draws, risks), levels, atol=1e-6)
    np.testing.assert_allclose(metrics.expected_risk(draws, risks), expected, atol=1e-6)
    for of, found in (("class", of_class), ("level", of_level)):
        share = [max(seen.count(level) for level in range(3)) / n_draws for seen in found]
        np.testing.assert_allclose(metrics.risk_certainty(draws, risks, of), share, atol=1e-6)


def test_a_point_mass_is_certain_of_its_risk_and_jit_changes_nothing():
    draws, risks = np.random.default_rng(0).dirichlet(np.ones(5), (6, 3)), np.array([0, 1, 2, 0, 1])
    for of in ("class", "level"):
        assert metrics.risk_certainty(np.repeat(draws[:1], 6, axis=0), risks, of).tolist() == [1.0] * 3
    for function in (metrics.risk_plausibility, metrics.expected_risk, metrics.risk_certainty):
        np.testing.assert_allclose(jax.jit(function)(draws, risks), function(draws, risks), rtol=1e-6)
