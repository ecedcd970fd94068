"""The short form of ``make validate``: samplers that compile quickly calibrated on few cases, and a broken one caught.

Shapes are shared between conditions, because compiling is most of what this costs.
"""

import numpy as np
import pytest
from scipy import stats

import plausibly as pb
from validation import goodness
from validation._breaks import BREAKS, broken
from validation._joint import Layout, Pairs
from validation._result import Verdict
from validation.calibration import CONDITIONS, Cases, Condition, calibrate, quantities

# Four slots each.
NESTED, LABELS = (Layout(3, ((1, 1), (1, 1), (1,))),), (Layout(5, ((1,), (1,), (1,))),)
SHORT = {
    Condition("exact tree", "power", 0.5, "exact"): NESTED,
    Condition("exact Dirichlet", "power", 3.0, "exact"): LABELS,
}


@pytest.mark.parametrize("sampler", ["exact tree", "exact Dirichlet"])
def test_every_sampler_is_calibrated(sampler):
    chosen = {condition: layouts for condition, layouts in SHORT.items() if condition.sampler == sampler}
    assert set(chosen) <= set(CONDITIONS)
    verdict = Verdict(tuple(r for condition, layouts in chosen.items() for r in calibrate(condition, 200, 0, layouts)))
    assert verdict.n_tests == len(chosen) * 4 * 2
    assert verdict.passed, str(verdict)


@pytest.mark.slow
def test_a_broken_sampler_and_a_broken_sample_are_caught():
    condition = Condition("exact Dirichlet", "power", 1.0, "exact")
    assert BREAKS["dirichlet-shape"].only in str(condition)
    with broken("dirichlet-shape"):
        verdict = Verdict(tuple(calibrate(condition, 400, 0, LABELS)))
    assert not verdict.passed, str(verdict)
    with broken("sample-weights"):
        assert not Verdict((goodness.compare((1, 1), 50_000, 0),)).passed


@pytest.mark.slow
def test_quantities_are_those_of_the_case():
    """Of five classes, the first case has a and c named, the second b alone."""
    condition = Condition("exact Dirichlet", "power", 1.0, "exact")
    share = np.array([[0.1, 0.2, 0.4, 0.25, 0.05], [0.3, 0.1, 0.2, 0.2, 0.2]])
    pairs = Pairs(share, [(((0,),), ((2,),)), (((1,),), ((1,),))])
    annotations = pb.Annotations.from_rankings({"cases": {"0-0": [[[0]], [[2]]], "0-1": [[[1]], [[1]]]}}, list("abcde"))
    posterior = pb.aggregate(annotations, "dirichlet-categorical", chains=1, draws=2000, progress=False)
    found = quantities(condition, Cases(annotations, [pairs], 1.0), posterior, np.random.default_rng(0))
    expected = {
        "first class": [0.1, 0.3],
        "remainder": [0.5, 0.9],
        "largest": [0.4, 0.1],
        "log likelihood": [np.log(0.04), np.log(0.01)],
    }
    d = posterior["posterior"]["plausibility"].values.astype(float)
    drawn = {
        "remainder": [d[..., 2], d[..., 4]],
        "largest": [d[..., :2].max(-1), d[..., 3]],
        "log likelihood": [np.log(d[..., 0] * d[..., 1]), 2 * np.log(d[..., 3])],
    }
    for name, (truth, draws) in found.items():
        np.testing.assert_allclose(truth, expected[name], rtol=1e-12)
        if name in drawn:
            np.testing.assert_allclose(draws, np.stack(drawn[name], -1), rtol=1e-4, atol=1e-5)
    first = found["first class"][1]
    np.testing.assert_array_equal(first[..., 0], d[..., 0])
    # One of four classes that share the remainder evenly: Dirichlet of shapes 1, 1, 1, 1, 3 as a whole.
    assert stats.kstest(first[0, :, 1], stats.beta(1, 6).cdf).pvalue > 1e-5
