"""Intervals of results have the width that was asked for, in all tables that are made of them."""

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.base.bootstrap import interval, width_in_words
from plausibly.evaluation import by_group
from plausibly.evaluation.comparison import differences
from tests import worlds


@pytest.fixture(scope="module")
def results():
    return worlds.labels().results


def test_results_carry_the_width_of_their_intervals(results):
    narrow = results.assign_attrs(ci_prob=0.5)
    assert (width_in_words(results), width_in_words(narrow)) == ("94 %", "50 %")
    for tabulate in (pb.summary, lambda of, *more: differences(of, "top1_accuracy", *more)):
        pd.testing.assert_frame_equal(tabulate(narrow), tabulate(results, 0.5))
        assert not tabulate(narrow).equals(tabulate(results))
    row = pb.summary(narrow).set_index(["classifier", "metric"]).loc[("A", "top1_accuracy")]
    values = results["top1_accuracy"].sel(classifier="A").values
    np.testing.assert_array_equal(row[["lower", "upper"]].to_numpy(float), interval(values, 0.5))


@pytest.mark.slow
def test_evaluate_and_sweep_take_the_width():
    annotations = pb.Annotations.from_labels([["a", "b", "a"]] * 10 + [["b", "b", "a"]] * 10)
    scores = {"A": np.tile([[0.6, 0.4]], (20, 1))}
    given = {"ci_prob": 0.5, "progress": False}
    by = {"half": [0] * 10 + [1] * 10}
    against = pb.evaluate(annotations, scores, truth="annotator", metrics="accuracy", by=by, **given)
    assert against.attrs["ci_prob"] == 0.5
    wide = by_group(against, "accuracy", 0.94)
    assert (by_group(against, "accuracy")["upper"] < wide["upper"]).all()
    swept = pb.sweep(annotations, scores, {"majority-vote": None}, k=1, **given)
    of = [swept.runs[0].results, swept.panels, swept.of_labels, swept.runs[0].of_labels]
    assert [one.attrs["ci_prob"] for one in of] == [0.5] * 4
    with pytest.raises(pb.PlausiblyError, match="ci_prob must lie between 0 and 1"):
        pb.evaluate(annotations, scores, truth="annotator", ci_prob=1.5)
