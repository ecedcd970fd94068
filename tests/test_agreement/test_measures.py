"""Alpha, KS and sigma of given distances, against SciPy and against their definitions pair by pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import find_peaks
from scipy.stats import gaussian_kde, ks_2samp, norm

import plausibly as pb
from plausibly.agreement import measures_of_distances, pathologies
from plausibly.agreement.chance._measures import n_peaks

distances = st.lists(st.integers(0, 12).map(lambda n: n / 4), min_size=2, max_size=25)


@settings(max_examples=40)
@given(observed=distances, expected=distances)
def test_definitions_pair_by_pair_and_by_scipy(observed, expected):
    found = measures_of_distances(observed, expected)
    if any(expected):
        assert found.alpha == pytest.approx(1 - np.mean(observed) / np.mean(expected))
    n = len(expected)
    greater = np.mean([e > o for o in observed for e in expected])
    assert found.ks.superiority == pytest.approx(n / (n + 1) * greater)
    assert found.ks.ties == pytest.approx(n / (n + 1) * np.mean([e == o for o in observed for e in expected]))
    if len(set(expected)) > 1:
        chance = gaussian_kde(expected)
        expected_sigma = np.mean([chance.integrate_box_1d(0, d) < 0.05 for d in observed])
        assert found.sigma == pytest.approx(expected_sigma)
    reference = ks_2samp(observed, expected, alternative="greater", method="asymp")
    assert found.ks.statistic == pytest.approx(reference.statistic)
    assert found.ks.pvalue == pytest.approx(min(1, reference.pvalue), abs=1e-12)


def test_sigma_is_that_of_scipys_density_and_none_where_nothing_varies():
    rng = np.random.default_rng(0)
    observed, expected = rng.gamma(2, 1, 300), rng.gamma(4, 1, 6_000)
    chance = gaussian_kde(expected)
    for p in (0.01, 0.05, 0.2):
        literal = np.mean([chance.integrate_box_1d(0, d) < p for d in observed])
        assert measures_of_distances(observed, expected, p=p).sigma == pytest.approx(literal)
    # Of expected distances near zero, half of the smoothed mass lies below it.
    expected = np.r_[np.zeros(30), np.ones(70)]
    chance = gaussian_kde(expected)
    assert chance.integrate_box_1d(-np.inf, 0.02) > 0.05 > chance.integrate_box_1d(0, 0.02)
    assert measures_of_distances([0.02, 1], expected).sigma == 0.5
    table = {str(case): {"ann": case, "bob": case} for case in range(40)}
    assert pb.agreement.agreement(table, progress=False).sigma == 1
    # Equal alpha, but distances of one data set spread more: few are too small for chance.
    quantiles = (np.arange(4000) + 0.5) / 4000
    found = {
        spread: measures_of_distances(*(norm.ppf(quantiles, mean, spread).clip(0) for mean in (0.4, 0.6)))
        for spread in (0.2, 0.054)
    }
    for one in found.values():
        assert one.alpha == pytest.approx(0.333, abs=0.003)
    # The density is a little wider than the distribution that it smooths.
    assert found[0.2].sigma == pytest.approx(0.26, abs=0.02)
    assert found[0.054].sigma == pytest.approx(0.98, abs=0.01)
    found = measures_of_distances([0, 0], [0, 0, 0])
    assert np.isnan(found.alpha)
    assert np.isnan(found.sigma)
    assert found.ks == (0, 1, 0, 0.75)
    found = measures_of_distances([0, 1, 2, 3], [2, 2, 2])
    assert found.sigma == 0.5
    assert found.ks.superiority == 3 / 4 * 0.5


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_noise_has_no_sigma_where_equal_labels_are_frequent_by_chance(n_classes):
    labels = np.random.default_rng(0).integers(n_classes, size=(300, 3)).tolist()
    table = {str(case): dict(zip("abc", given, strict=True)) for case, given in enumerate(labels)}
    found = pb.agreement.agreement(table, progress=False)
    assert np.isnan(found.sigma)
    assert any("sigma is not given" in sentence for sentence in found.warnings)
    assert np.isnan(found.interval(replicates=10, progress=False).loc["sigma"]).all()
    assert "nan" not in repr(found)
    published = pb.agreement.agreement(table, preset="braylan2022", progress=False)
    assert published.sigma == pytest.approx(1 / n_classes, abs=0.05)  # the share of equal labels


@settings(max_examples=100)
@given(heights=st.lists(st.integers(1, 40), min_size=1, max_size=30, unique=True), prominence=st.integers(1, 41))
def test_peaks_are_those_of_scipy(heights, prominence):
    density = np.array([0, *heights, 0]) / 64  # which, as a density does, ends in nothing
    assert n_peaks(density, prominence / 64) == len(find_peaks(density, prominence=prominence / 64)[0])


def test_pathologies_are_named():
    rng = np.random.default_rng(0)
    good = np.sort(rng.normal(5, 1, 2000))
    ones = np.ones(2000)
    assert pathologies(good, ones, ones) == ()
    two = np.sort(np.r_[rng.normal(2, 0.3, 1000), rng.normal(6, 0.3, 1000)])
    (sentence,) = pathologies(two, ones, ones)
    assert "2 modes" in sentence
    (sentence,) = pathologies(np.array([0.0, 0.5, 1.0]), np.array([4.0, 2, 4]), np.array([0.0, 1, 9]))
    assert "40 % of the observed distances are the greatest" in sentence
    (sentence,) = pathologies(np.array([0.0, 0.5, 1.0]), np.array([9.0, 2, 0]), np.array([3.0, 1, 6]))
    assert "30 % of labels of different cases are as close as can be" in sentence
    (sentence,) = pathologies(np.array([0.0, 1.0]), np.array([1.0, 1]), np.array([3.0, 0]))
    assert "never differ" in sentence
