"""Δ of a score against its threshold."""

import numpy as np
import pandas as pd
import pytest

from plausibly.agreement import discrepancy_ratio, threshold_curve


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    severity = rng.standard_normal(200)
    rows = [
        (i, j, "ill" if severity[i] + rng.standard_normal() > 0.5 else "well") for i in range(200) for j in range(3)
    ]
    labels = pd.DataFrame(rows, columns=["case", "annotator", "label"]).assign(patient=np.repeat(np.arange(50), 12))
    scores = np.round(severity + rng.standard_normal(200), 1)  # with ties
    return labels, pd.DataFrame({"case": np.arange(200), "score": scores})


def test_every_point_is_a_ratio_for_either_positive_label(data):
    labels, scores = data
    curve = threshold_curve(labels, scores, positive="ill")
    assert len(curve.thresholds) == scores["score"].nunique() + 1
    for place in (0, 7, 20, len(curve.thresholds) - 1):
        said = np.where(scores["score"] > curve.thresholds[place], "ill", "well")
        expected = discrepancy_ratio(labels, list(zip(scores["case"], said, strict=True))).ratio
        assert curve.ratio[place] == pytest.approx(expected)
        assert curve.at(curve.thresholds[place]).ratio == pytest.approx(expected)
    best = int(curve.ratio.argmin())
    assert curve.thresholds[best] < curve.best < curve.thresholds[best + 1]
    assert curve.at(curve.best).ratio == pytest.approx(curve.ratio.min())
    assert curve.to_frame()["ratio"].tolist() == curve.ratio.tolist()
    assert threshold_curve(labels, scores).positive == "ill"
    curve = threshold_curve(labels, scores.assign(score=-scores["score"]), positive="well")
    assert curve.ratio.min() == pytest.approx(threshold_curve(labels, scores, positive="ill").ratio.min())


def test_cross_fitting_chooses_on_other_clusters(data):
    labels, scores = data
    curve = threshold_curve(labels, scores, clusters="patient", positive="ill")
    fitted = curve.cross_fitted(folds=5, seed=1)
    assert fitted.ratio >= curve.ratio.min()
    assert fitted.ratio == curve.cross_fitted(folds=5, seed=1).ratio
    lower, upper = fitted.interval(progress=False)
    assert lower < fitted.ratio < upper
    # By hand, with the folds that the seed gives.
    names = np.unique(labels["patient"].astype(str))
    fold_of = dict(zip(names, np.random.default_rng(1).permutation(50) % 5, strict=True))
    fold = np.array([fold_of[str(i // 4)] for i in range(200)])
    said = []
    for number in range(5):
        others = labels[fold[labels["case"]] != number]
        chosen = threshold_curve(others, scores[fold != number], positive="ill").best
        own = scores[fold == number]
        said += list(zip(own["case"], np.where(own["score"] > chosen, "ill", "well"), strict=True))
    assert fitted.ratio == pytest.approx(discrepancy_ratio(labels, said).ratio)
