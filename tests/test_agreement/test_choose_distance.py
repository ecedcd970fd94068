"""Choosing a distance; agreement of noisy labels."""

import numpy as np
import pytest

from plausibly.agreement import agreement, choose_distance
from plausibly.base.errors import PlausiblyWarning
from plausibly.data.datasets import corrupt_labels, simulate_labels
from plausibly.distances import BY_TYPE, DISTANCES

ROWS = {"p": {"ann": [1, 9], "bob": [2, 8]}, "q": {"ann": [7, 2], "bob": [8, 3]}}


def test_candidates_are_ranked_by_ks_or_skipped_where_they_do_not_apply():
    choice = choose_distance(ROWS, ["share_unequal", "rmse", "nominal"])
    assert choice.table["distance"].tolist()[0] == choice.best == "rmse"
    assert (np.diff(choice.table["ks_superiority"]) <= 0).all()
    alone = agreement(ROWS, "rmse")
    row = choice.table.iloc[0]
    assert (row["alpha"], row["sigma"], row["ks_statistic"]) == (alone.alpha, alone.sigma, alone.ks.statistic)
    assert set(choose_distance(ROWS, "vectors").results) == set(BY_TYPE["vectors"])
    first, second = lambda a, b: abs(a[0] - b[0]), lambda a, b: abs(a[1] - b[1])
    choice = choose_distance(ROWS, {"first": first, "second": second}, progress=False)
    assert set(choice.results) == {"first", "second"}
    labels = {"p": {"ann": "u", "bob": "v"}, "q": {"ann": "w", "bob": "w"}}
    assert choose_distance(labels, DISTANCES["nominal"]).best == "nominal"
    with pytest.warns(PlausiblyWarning, match="the distance ordinal is skipped: row 1"):
        assert list(choose_distance(labels, "categories").results) == ["nominal"]
    choice = choose_distance(ROWS, ["rmse"], cross="sample", weighting="units")
    assert choice.results["rmse"].sampled
    assert choice.results["rmse"].weighting == "units"
    labels = {"p": {"ann": -1, "bob": -2}, "q": {"ann": 3, "bob": 4}}
    with pytest.warns(PlausiblyWarning) as said:
        choice = choose_distance(labels, "numbers")
    assert set(choice.results) == {"interval", "ordinal"}
    assert "zero or greater, got -" in choice.skipped["ratio"]
    assert choice.skipped.keys() == {"ratio", "circular"}
    assert {str(one.message) for one in said} == {
        f"the distance {name} is skipped: {why}" for name, why in choice.skipped.items()
    }
    with pytest.warns(PlausiblyWarning, match="ratio is skipped"):
        assert "circular" in choose_distance(labels, ["numbers", "circular"]).results


@pytest.mark.slow
@pytest.mark.parametrize("kind", BY_TYPE)
def test_agreement_falls_from_one_to_nothing(kind):
    slow = any(distance.slow for distance in BY_TYPE[kind].values())
    size = {"n_cases": 15, "n_annotators": 3} if slow else {"n_cases": 60, "n_annotators": 4}
    tables = [simulate_labels(kind, noise=noise, **size, seed=0) for noise in (0, 0.5, 1)]
    settings = {"cross": 100 if slow else 1000, "seed": 0, "progress": False}
    for name in BY_TYPE[kind]:
        alpha = np.array([agreement(labels, name, **settings).alpha for labels in tables])
        # By smoothing, BLEU takes short texts away from themselves.
        assert alpha[0] == pytest.approx(1, abs=0.01 if name == "bleu" else 0)
        # Four standard errors or more, those of the simulation included.
        assert abs(alpha[-1]) < (0.25 if slow else 0.15), name
        # Two standard errors where nothing is left but noise.
        assert (np.diff(alpha) < 0.08).all(), (name, alpha)
        assert alpha[1] < 0.97


def test_noise_of_nought_changes_nothing_and_of_one_leaves_nothing():
    for kind in BY_TYPE:
        labels = simulate_labels(kind, noise=0, n_cases=30, n_annotators=1, seed=3)["label"].tolist()
        assert corrupt_labels(labels, kind, 0.0, seed=1) == labels
        foreign = corrupt_labels(labels, kind, 1.0, seed=1)
        assert all(label in labels for label in foreign)
        assert sum(a == b for a, b in zip(labels, foreign, strict=True)) < 20
        assert corrupt_labels(labels, kind, 0.5, seed=1) == corrupt_labels(labels, kind, 0.5, seed=1)
    assert corrupt_labels([["a", "b"], ["c", "d"]], "text", 0.0) == [["a", "b"], ["c", "d"]]


def test_a_distance_is_the_best_only_if_it_is_told_from_the_next():
    """Of two that differ by chance, none; of one that separates numbers and one that does not, the first."""
    random = np.random.default_rng(0)
    near = {
        f"c{n}": {who: [float(x + random.normal(0, 0.3))] for who in ("ann", "bob")}
        for n, x in enumerate(random.normal(0, 3, 30))
    }

    def noisy(seed):
        shift = np.random.default_rng(seed).normal(0, 0.05, 1000)
        return lambda a, b: max(abs(a[0] - b[0]) + shift[int(abs(1e4 * (a[0] - b[0]))) % 1000], 0)

    open_ = choose_distance(near, {"one": noisy(3), "other": noisy(4)}, progress=False)
    assert 0.5 <= open_.p_best < 0.8
    assert open_.headline.startswith("No distance can be called best yet: ")
    assert "best" not in repr(open_)
    kinds = {"gap": lambda a, b: abs(a[0] - b[0]), "same": lambda a, b: float(a != b)}
    clear = choose_distance(near, kinds, progress=False)
    assert clear.p_best > 0.99
    assert clear.headline.startswith("gap separates labels of one case from those of others best")
    alone = choose_distance(near, {"gap": noisy(1)}, progress=False)
    assert alone.headline == ""
    found = next(iter(clear.results.values()))
    above, size = found.superiority_by_case()
    n = found.n_cross
    assert found.ks.superiority == pytest.approx(n / (n + 1) * above.sum() / size.sum())
