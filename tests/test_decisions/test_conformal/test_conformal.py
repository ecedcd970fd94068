"""The front door: every score, target and group against loops; new cases; bad input."""

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.decisions.conformal import _calibrate
from plausibly.decisions.conformal._calibrate import of_plausibility, sampled
from plausibly.families.priors import Evidence, PredictionsPrior
from tests import worlds

from .conftest import dense_weights, make


def literal_scores(p, score):
    """By loops over sorted classes."""
    out = np.zeros(p.shape)
    for i, row in enumerate(p):
        order = sorted(range(len(row)), key=lambda k: -row[k])
        total = 0.0
        whole = np.cumsum(row[order])[-1]
        for rank, k in enumerate(order, 1):
            total += row[k]
            down = total / whole
            own = {"lac": row[k], "aps": -down, "raps": -down - 0.01 * max(0, rank - 5), "top-k": -rank}
            out[i, k] = own[score]
    return out


def literal_threshold(scores, weights, alpha, bound=1.0):
    candidates = [-np.inf, *sorted(set(scores[weights > 0])), np.inf]
    losses = [(weights * (scores < tau)).sum() for tau in candidates]
    holds = [t for t, loss in zip(candidates, losses, strict=True) if loss + bound <= alpha * (len(scores) + 1) + 1e-7]
    return max(holds) if holds else -np.inf


@pytest.mark.parametrize("target", ["plausibility", "annotator", "vote"])
@pytest.mark.parametrize("score", ["lac", "aps", "raps", "top-k"])
def test_thresholds_equal_a_literal_loop(small, score, target):
    found = pb.conformal(small.posterior, small.predictions, alpha=0.45, score=score, target=target)
    for name, p in small.predictions.items():
        scores = literal_scores(p, score)
        expected = literal_threshold(scores, dense_weights(small, target), 0.45)
        assert float(found.threshold.sel(classifier=name).item()) == pytest.approx(expected, abs=1e-12)
        assert float(found.mean_size.sel(classifier=name).item()) == (scores >= expected - 1e-12).sum(1).mean()
        sets = found.predict({name: p}).values[0]
        np.testing.assert_array_equal(sets, scores >= expected - 1e-12)


def test_classes_share_a_remainder_as_a_prior_by_class_says():
    data = make(share=[0.1, 0.5, 2.0, 1.0, 0.2])
    weights = dense_weights(data, "plausibility")
    exact = of_plausibility(data.posterior)
    found = pb.conformal(data.posterior, data.predictions, alpha=0.2, score="lac")
    coverage = pb.conformal_coverage(
        data.posterior, data.predictions, alpha=0.2, score="lac", splits=1, target="plausibility", progress=False
    )
    assert coverage.by_draw.mean("draw").values.ravel() == pytest.approx(coverage.table["plausibility"].values)
    for name, p in data.predictions.items():
        assert found.threshold.sel(classifier=name).item() == pytest.approx(literal_threshold(p, weights, 0.2))
    dense = np.zeros((data.n, 5))
    many = sampled(exact, 20_000, 5, seed=1)
    np.add.at(dense, (many.slots.case, many.slots.class_index), many.weight)
    np.testing.assert_allclose(dense, weights, atol=0.02)


def test_targets_without_a_model_risks_and_tables_of_new_cases(small):
    for target in ("annotator", "vote"):
        one = pb.conformal(small.annotations, small.predictions, target=target)
        other = pb.conformal(small.posterior, small.predictions, target=target)
        np.testing.assert_array_equal(one.threshold, other.threshold)
        assert one.threshold_by_draw is None
    risks = np.array([0, 1, 2, 0, 1])
    found = pb.conformal(small.posterior, small.predictions, alpha=0.5, score="lac", loss="risk", risks=risks)
    weights = dense_weights(small, "plausibility") * risks
    for name, p in small.predictions.items():
        expected = literal_threshold(p, weights, 0.5, bound=2.0)
        assert found.threshold.sel(classifier=name).item() == pytest.approx(expected)
    assert "expected risk level of at most 0.5" in found.guarantee()
    found = pb.conformal(small.posterior, small.predictions, alpha=0.2, score="lac")
    table = found.table({name: p[:3] for name, p in small.predictions.items()})
    assert list(table.columns) == ["case", "classifier", "classes", "size"]
    assert len(table) == 6
    sets = found.predict({name: p[:3] for name, p in small.predictions.items()})
    for row in table.itertuples():
        inside = sets.sel(classifier=row.classifier, case=row.case)
        assert set(row.classes) == set(inside["class"].values[inside.values])
        assert row.size == len(row.classes)
    first = table.iloc[0].classes
    p = dict(zip(small.annotations.classes, small.predictions["A"][0], strict=True))
    assert list(first) == sorted(first, key=lambda name: -p[name])
    summary = found.summary()
    assert summary["n"].tolist() == [40, 40]
    assert (summary["lower"] <= summary["upper"]).all()
    assert "at least 0.8" in found.verdict()
    found = pb.conformal(
        small.posterior, small.predictions, score="top-k", randomise_scores=True, randomise_threshold=True, seed=5
    )
    new = pd.DataFrame(small.predictions["A"][:6], columns=small.annotations.classes)
    new.insert(0, "case", [f"new {i}" for i in range(6)])
    sets = found.predict({"A": new})
    again = found.predict({"A": new.iloc[[4, 2]]})
    np.testing.assert_array_equal(sets.sel(case=["new 4", "new 2"]), again)


def test_thresholds_by_draw_are_those_of_posteriors_of_one_draw(small):
    found = pb.conformal(small.posterior, small.predictions, alpha=0.3, score="lac")
    assert found.threshold_by_draw.sizes == {"classifier": 2, "group": 1, "draw": 6}
    for draw in range(6):
        data = make(n_draws=6)
        data.draws = small.draws[draw : draw + 1]
        weights = dense_weights(data, "plausibility")
        for name, p in small.predictions.items():
            # Candidates are the scores of all classes with a mean plausibility above zero, so the threshold may lie
            # below that of a loop over the draw's own classes, but sets of the calibration cases are the same.
            threshold = found.threshold_by_draw.sel(classifier=name).values[0, draw]
            assert (weights * (p < threshold)).sum() + 1 <= 0.3 * 41 + 1e-4
            nearest = p[(p > threshold) & (weights > 0)].min()
            assert (weights * (p < nearest)).sum() + 1 > 0.3 * 41 - 1e-4


def test_groups_calibrate_apart_by_columns_and_by_what_a_classifier_says(small):
    column = np.where(np.arange(small.n) % 3 == 0, "x", "y")
    found = pb.conformal(small.posterior, small.predictions, alpha=0.25, score="lac", by=column)
    weights = dense_weights(small, "plausibility")
    for name, p in small.predictions.items():
        for group in "xy":
            own = column == group
            expected = literal_threshold(p[own], weights[own], 0.25)
            assert found.threshold.sel(classifier=name, group=group).item() == pytest.approx(expected)
            assert found.n_cases.sel(classifier=name, group=group).item() == own.sum()
    sets = found.predict({"A": small.predictions["A"]}, by=column).sel(classifier="A").values
    limits = np.where(column == "x", *found.threshold.sel(classifier="A").values)
    np.testing.assert_array_equal(sets, small.predictions["A"] >= limits[:, None])
    risks = np.array([0, 0, 1, 2, 2])
    found = pb.conformal(small.posterior, small.predictions, alpha=0.4, score="lac", by="risk", risks=risks)
    assert found.groups == ["low", "medium", "high"]
    best = small.predictions["A"].argmax(1)
    assert found.n_cases.sel(classifier="A").values.tolist() == [(risks[best] == level).sum() for level in range(3)]
    own = pb.conformal(small.posterior, small.predictions, alpha=0.4, score="lac", by=lambda p: risks[p.argmax(1)])
    np.testing.assert_array_equal(own.threshold, found.threshold)
    with pytest.warns(pb.PlausiblyWarning, match="in the group 'from 0.95'"):
        sure = pb.conformal(small.posterior, small.predictions, alpha=0.1, score="lac", by="certainty")
    most = small.predictions["A"].max(1)
    counts = np.histogram(most, [0, 0.5, 0.8, 0.95, 1.01])[0]
    assert sure.n_cases.sel(classifier="A").values.tolist() == counts.tolist()


def test_sampled_labels_converge_and_one_is_split_conformal_prediction(small):
    exact = of_plausibility(small.posterior)
    dense = np.zeros((small.n, 5))
    many = sampled(exact, 100_000, 5, seed=1)
    np.add.at(dense, (many.slots.case, many.slots.class_index), many.weight)
    np.testing.assert_allclose(dense, dense_weights(small, "plausibility"), atol=0.009)  # five standard errors
    thresholds = [
        pb.conformal(small.posterior, small.predictions, score="lac", samples=m, seed=2).threshold.values
        for m in (50_000, None)
    ]
    np.testing.assert_allclose(*thresholds, atol=0.01)
    found = pb.conformal(small.posterior, small.predictions, alpha=0.2, score="lac", samples=1, seed=3)
    labels = sampled(of_plausibility(small.posterior), 1, 5, seed=3).slots.class_index
    for name, p in small.predictions.items():
        nonconformity = np.sort(1 - p[np.arange(small.n), labels])
        rank = int(np.ceil((small.n + 1) * 0.8))
        assert 1 - found.threshold.sel(classifier=name).item() == pytest.approx(nonconformity[rank - 1])


def test_cases_may_come_in_any_number_of_pieces(small, monkeypatch):
    whole = pb.conformal(small.posterior, small.predictions, score="aps", randomise_scores=True, seed=4)
    ranges = _calibrate.ranges_of
    monkeypatch.setattr(_calibrate, "ranges_of", lambda n, k: ranges(n, k, 35))
    parts = pb.conformal(small.posterior, small.predictions, score="aps", randomise_scores=True, seed=4)
    np.testing.assert_array_equal(whole.threshold, parts.threshold)
    np.testing.assert_array_equal(whole.threshold_by_draw, parts.threshold_by_draw)
    np.testing.assert_array_equal(whole.mean_size, parts.mean_size)


def test_a_penalty_keeps_sets_small_and_logits_pass_a_softmax(small):
    fixed = pb.conformal(small.posterior, small.predictions, alpha=0.3, score="raps", penalty=10.0, free_ranks=2)
    assert fixed.predict({"A": small.predictions["A"]}).sum("class").max() <= 5
    assert fixed.score.free_ranks == 2
    logits = {name: np.log(p) + 3 for name, p in small.predictions.items()}
    one = pb.conformal(small.posterior, logits, logits=True)
    other = pb.conformal(small.posterior, small.predictions)
    np.testing.assert_allclose(one.threshold, other.threshold)
    with pytest.raises(pb.PredictionError, match="needs probabilities, but row 1 has none"):
        pb.conformal(small.posterior, logits, score="aps")


def test_too_few_cases_one_class_and_equal_scores():
    few = make(n=5)
    with pytest.warns(pb.PlausiblyWarning, match="needs at least 9 calibration cases, but there are 5"):
        found = pb.conformal(few.posterior, few.predictions, alpha=0.1)
    assert found.predict({"A": few.predictions["A"]}).values.all()
    assert "too few cases" in found.verdict()
    assert found.threshold_by_draw.values.max() == -np.inf
    annotations = pb.Annotations.from_labels([["a"]] * 12, classes=["a"])
    found = pb.conformal(annotations, {"A": np.ones((12, 1))}, target="annotator")
    assert found.predict(np.ones((2, 1))).values.all()
    equal = pb.Annotations.from_labels([["a"], ["b"]] * 10, classes=["a", "b"])
    with pytest.warns(pb.PlausiblyWarning, match="scores are equal"):
        tied = pb.conformal(equal, {"A": np.full((20, 2), 0.5)}, score="lac", target="annotator")
    assert tied.predict(np.full((3, 2), 0.5)).values.all()


@pytest.mark.slow
def test_a_prior_that_is_learned_from_the_cases_makes_the_guarantee_approximate():
    posterior, predictions = worlds.informed().posterior, worlds.informed().predictions
    assert posterior.attrs["prior_from"] == "cases"
    found = pb.conformal(posterior, predictions)
    assert found.learned
    assert "about 0.9." in found.guarantee()
    assert "not exact" in found.verdict()
    exact = pb.conformal(posterior, predictions, target="annotator")
    assert not exact.learned
    assert "at least 0.9." in exact.verdict()


def test_a_prior_of_other_cases_keeps_the_guarantee():
    random = np.random.default_rng(0)
    labels = pb.Annotations.from_counts(random.multinomial(3, [0.5, 0.3, 0.2], 80))
    scores = random.dirichlet(np.ones(3), 80)
    others, ours = (labels.select(np.arange(first, first + 40)) for first in (0, 40))
    prior = PredictionsPrior.learn(others, Evidence.of({"A": scores}, labels), draws=8, seed=0)
    given = {"draws": 4, "chains": 2, "seed": 0, "progress": False}
    posterior = pb.aggregate(ours, "dirichlet-categorical", reliability=1, class_prior=prior, **given)
    assert posterior.attrs["prior_from"] == "given"
    assert "at least 0.9." in pb.conformal(posterior, {"A": scores[40:]}).verdict()
