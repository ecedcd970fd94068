"""`plausibly evaluate` of ratings without a threshold."""

import numpy as np
import pandas as pd
import pytest

from plausibly.agreement import agreement
from tests.test_app.test_cli.run import refuse, succeed


@pytest.fixture
def ratings(tmp_path):
    random = np.random.default_rng(0)
    mean = random.normal(5, 2, 20)
    rows = [
        (f"c{i}", who, round(mean[i] + more + random.normal(), 2))
        for i in range(20)
        for who, more in (("ann", 1), ("bob", 0))
    ]
    table = pd.DataFrame([*rows, ("alone", "ann", 9)], columns=["case", "annotator", "score"])
    table.to_csv(tmp_path / "ratings.csv", index=False)
    return table


def test_ratings_of_many_values_are_described(ratings, tmp_path):
    result = succeed("evaluate", tmp_path / "ratings.csv", "--out", tmp_path / "out")
    cases = pd.read_csv(tmp_path / "out" / "ratings.csv").set_index("case")
    np.testing.assert_allclose(cases["mean"], ratings.groupby("case", sort=False)["score"].mean())
    raters = pd.read_csv(tmp_path / "out" / "raters.csv").set_index("rater")
    np.testing.assert_allclose(raters["mean"], ratings.groupby("annotator")["score"].mean())
    wide = ratings.pivot(index="case", columns="annotator", values="score").dropna()
    assert raters.loc["ann", "difference"] == pytest.approx((wide["ann"] - wide["bob"]).mean())
    alpha = [
        agreement(ratings.rename(columns={"score": "label"}), name, weighting="units", progress=False).alpha
        for name in ("interval", "ordinal")
    ]
    assert f"Krippendorff's alpha {alpha[0]:.2f} (interval), {alpha[1]:.2f} (ordinal)." in result.output
    assert "--threshold" in result.output
    assert succeed("evaluate", tmp_path / "ratings.csv", "--out", tmp_path, "--quiet").stdout.count("\n") == 1


def test_what_needs_a_threshold_still_asks_for_it(ratings, tmp_path):
    ratings[["case"]].drop_duplicates().assign(prediction=0.5).to_csv(tmp_path / "A.csv", index=False)
    for more in (["--clusters", "case"], ["--model", "normal-scores"], ["--predictions", f"A={tmp_path / 'A.csv'}"]):
        result = refuse("evaluate", tmp_path / "ratings.csv", "--out", tmp_path / "out", *more)
        assert "scores need a threshold" in " ".join(result.output.split())


def test_a_threshold_of_zero_is_a_threshold(ratings, tmp_path):
    refused = refuse("evaluate", tmp_path / "ratings.csv", "--out", tmp_path / "out", "--threshold", 0, "--seed", -1)
    assert "seed" in refused.output  # of a model, which ratings that are described have not
    assert not (tmp_path / "out" / "ratings.csv").exists()


def test_without_pairs_nothing_is_said_of_agreement(tmp_path):
    (tmp_path / "ratings.csv").write_text("case,annotator,score\np,ann,1.5\nq,bob,2.5\n")
    result = succeed("evaluate", tmp_path / "ratings.csv", "--out", tmp_path)
    assert "too few cases have several ratings to say whether raters agree" in result.output
