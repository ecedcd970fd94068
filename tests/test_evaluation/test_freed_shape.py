"""How far accuracies depend on the assumed shape of disagreement: the table, what it refuses, and where it is said."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import plausibly as pb
from plausibly.evaluation.freed import freed_table, too_far
from tests import worlds


@pytest.mark.slow
def test_the_union_contains_the_usual_interval_and_is_wider():
    of = worlds.informed()
    table = pb.evaluation.freed_shape(of.posterior, of.predictions, seed=0)
    accuracy = of.results["top1_accuracy"]
    assert table["classifier"].tolist() == ["A", "B"]
    np.testing.assert_allclose(table["mean"], accuracy.mean("draw"))
    assert (table["union_lower"] <= table[["lower", "freed_lower"]].min(axis=1) + 1e-12).all()
    assert (table["union_upper"] >= table[["upper", "freed_upper"]].max(axis=1) - 1e-12).all()
    assert (np.abs(table["freed_mean"] - table["mean"]) < 0.05).all()
    widths = table["union_upper"] - table["union_lower"], table["upper"] - table["lower"]
    assert (widths[0] >= widths[1]).all()
    assert (widths[0] > widths[1]).any()
    assert all("if experts may disagree in other ways" in told for told in table["meaning"])


def test_shifts_move_the_mean_and_the_ends():
    values = np.linspace(0.5, 0.7, 101)
    results = xr.Dataset({"top1_accuracy": (("classifier", "draw"), values[None])}, coords={"classifier": ["A"]})
    shifts = pd.DataFrame([[-0.03, -0.1, 0.02]], pd.Index(["A"]), ["mean", "lower", "upper"])
    row = freed_table(results, shifts).iloc[0]
    assert row["freed_mean"] == pytest.approx(0.57)
    assert (row["union_lower"], row["union_upper"]) == pytest.approx((row["lower"] - 0.1, row["upper"] + 0.02))
    assert "3.0 points lower" in row["meaning"]
    assert not too_far({"classifier": "A", "mean": 0.6, "freed_mean": 0.619})
