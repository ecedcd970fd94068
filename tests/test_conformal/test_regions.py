"""Questions of regions against a fine grid, and against a solver of linear programs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import plausibly as pb
from plausibly.conformal import _polytope

from .conftest import dense_weights, make


def grid(k, steps):
    """All points of the simplex whose coordinates are whole multiples of 1 / steps."""
    bars = np.array(list(combinations(range(steps + k - 1), k - 1)))
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), steps + k - 1)])
    return (np.diff(edges, axis=1) - 1) / steps


@pytest.mark.parametrize(("k", "steps"), [(3, 120), (4, 40)])
def test_linear_programs_equal_brute_force_on_a_grid(k, steps):
    random = np.random.default_rng(k)
    points = grid(k, steps)
    groups = np.array([[True, True, *[False] * (k - 2)], [False] * (k - 1) + [True]])
    for _ in range(25):
        # Scores on the grid, so that vertices of the region nearly are: bounds differ by less than a step of it.
        d = random.integers(-6, 7, k) / 6
        inside = points[points @ d >= -1e-12]
        assert _polytope.is_empty(d[None])[0] == (len(inside) == 0)
        if not len(inside):
            assert np.isnan(_polytope.class_bounds(d[None])).all()
            assert not _polytope.can_be_first(d[None]).any()
            continue
        lower, upper = (bound[0] for bound in _polytope.class_bounds(d[None]))
        assert (lower <= inside.min(0) + 1e-12).all()
        assert (upper >= inside.max(0) - 1e-12).all()
        np.testing.assert_allclose([lower, upper], [inside.min(0), inside.max(0)], atol=1 / steps)
        totals = inside @ groups.T
        for bound, found in zip(_polytope.group_bounds(d[None], groups), (totals.min(0), totals.max(0)), strict=True):
            np.testing.assert_allclose(bound[0], found, atol=1 / steps)
        most = inside.max(1, keepdims=True)
        first = (inside >= most - 1e-12).any(0)
        by_grid = {tuple(np.flatnonzero(first))}
        assert by_grid == {tuple(np.flatnonzero(_polytope.can_be_first(d[None])[0]))}
        for j in range(1, k + 1):
            possible = {
                chosen
                for chosen in combinations(range(k), j)
                if j == k or (inside[:, chosen].min(1) >= np.delete(inside, chosen, 1).max(1) - 1e-12).any()
            }
            assert set(_polytope.top_sets(d, j)) == possible


@settings(max_examples=25)
@given(st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_linear_programs_equal_a_solver(k, seed):
    random = np.random.default_rng(seed)
    d = random.normal(-0.3, 1, k)
    simplex = {"A_eq": np.ones((1, k)), "b_eq": [1.0], "bounds": (0, 1)}

    def greatest(cost, rows=()):
        found = linprog(-np.asarray(cost, float), A_ub=np.vstack([-d, *rows]), b_ub=np.zeros(1 + len(rows)), **simplex)
        return -found.fun if found.success else np.nan

    lower, upper = (bound[0] for bound in _polytope.class_bounds(d[None]))
    first = _polytope.can_be_first(d[None])[0]
    one = np.eye(k)
    for c in range(k):
        assert upper[c] == pytest.approx(greatest(one[c]), abs=1e-7, nan_ok=True)
        assert lower[c] == pytest.approx(-greatest(-one[c]), abs=1e-7, nan_ok=True)
        rows = [one[j] - one[c] for j in range(k) if j != c]
        assert first[c] == (not np.isnan(greatest(d, rows)))
    chosen = random.random(k) < 0.5
    if 0 < chosen.sum() < k:
        rows = [one[a] - one[b] for b in np.flatnonzero(chosen) for a in np.flatnonzero(~chosen)]
        assert _polytope.can_be_top(d, chosen) == (not np.isnan(greatest(d, rows)))
        lower, upper = (bound[0, 0] for bound in _polytope.group_bounds(d[None], chosen[None]))
        assert upper == pytest.approx(greatest(chosen), abs=1e-7, nan_ok=True)
        assert lower == pytest.approx(-greatest(-chosen.astype(float)), abs=1e-7, nan_ok=True)


def test_polygons_are_the_region():
    random = np.random.default_rng(0)
    for _ in range(50):
        d = random.normal(0, 1, 3)
        vertices = _polytope.polygon(d)
        assert (len(vertices) == 0) == (d.max() < 0)
        if len(vertices):
            np.testing.assert_allclose(vertices.sum(1), 1)
            assert (vertices @ d >= -1e-12).all()
            lower, upper = (bound[0] for bound in _polytope.class_bounds(d[None]))
            np.testing.assert_allclose([vertices.min(0), vertices.max(0)], [lower, upper], atol=1e-12)


def test_thresholds_are_order_statistics_answers_agree_and_bad_input_is_refused(small):
    weights = dense_weights(small, "plausibility")
    regions = pb.conformal_regions(small.posterior, small.predictions, alpha=0.2)
    for name, p in small.predictions.items():
        means = np.sort((weights * p).sum(1))
        assert regions.threshold.sel(classifier=name).item() == pytest.approx(means[int(0.2 * 41) - 1])
        inside = regions.contains({name: p}, weights).values[0]
        assert (~inside).sum() == int(0.2 * 41) - 1
    regions = pb.conformal_regions(small.posterior, small.predictions, alpha=0.3)
    new = {name: p[:8] for name, p in small.predictions.items()}
    first, bounds = regions.possible_first(new), regions.bounds(new)
    assert bounds.sizes == {"classifier": 2, "case": 8, "class": 5, "bound": 2}
    sets = regions.top_sets(new, 1)
    for (case, name), own in sets.groupby(["case", "classifier"]):
        named = first.sel(classifier=name, case=case)
        assert {classes[0] for classes in own["classes"]} == set(named["class"].values[named.values])
    assert sets["complete"].all()
    assert not regions.top_sets(new, 3, most=1)["complete"].all()
    risks = regions.risk_bounds(new, [0, 0, 1, 2, 2])
    low = risks.sel(risk_level="low")
    assert (low.sel(bound="upper") >= bounds.sel(bound="upper").isel({"class": [0, 1]}).max("class") - 1e-12).all()
    assert not regions.is_empty(new).all()
    regions = pb.conformal_regions(small.posterior, small.predictions)
    new = {"A": small.predictions["A"][:2]}
    for call, match in [
        (lambda: regions.contains(new, [[1, 0]]), "plausibilities must have the shape"),
        (lambda: regions.top_sets(new, 6), "j must be"),
        (lambda: regions.top_sets(new, 2, most=0), "most must be"),
        (lambda: regions.plot(new), "a triangle shows three classes"),
        (lambda: regions.risk_bounds(new, [0, 1]), "2 risks for 5 classes"),
        (lambda: pb.conformal_regions(small.posterior, small.predictions, alpha=2), "alpha must lie"),
        (lambda: pb.conformal_regions(small.annotations, small.predictions), "needs a posterior"),
        (lambda: pb.conformal_regions(small.posterior, {}), "at least one classifier"),
    ]:
        with pytest.raises(pb.PlausiblyError, match=match):
            call()
    few = make(n=4)
    with pytest.warns(pb.PlausiblyWarning, match="at least 9"):
        all_of_it = pb.conformal_regions(few.posterior, few.predictions)
    bounds = all_of_it.bounds({"A": few.predictions["A"]})
    assert (bounds.sel(bound="lower") == 0).all()
    assert (bounds.sel(bound="upper") == 1).all()
    assert all_of_it.possible_first({"A": few.predictions["A"]}).all()
