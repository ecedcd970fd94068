"""What has a row per case is matched by name where rows have names, and never by guess."""

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.base.errors import ArgumentError, PlausiblyError, PredictionError
from plausibly.data.annotations.matching import by_name
from plausibly.data.groups import check_clusters, check_weights, read_groups
from plausibly.data.predictions import read_predictions
from plausibly.decisions.planning._annotators import _cost_by_case

N = 12
CASES = np.random.default_rng(0).permutation(N).astype(str)  # named 0 to 11, in another order
TRUTH = np.arange(N) % 3
CLASSES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def annotations():
    return pb.Annotations.from_labels([[CLASSES[k]] * 40 for k in TRUTH], classes=CLASSES, cases=CASES)


@pytest.fixture(scope="module")
def scores():
    """A perfect classifier, in the order of the names."""
    return pd.DataFrame(np.eye(3)[TRUTH], columns=CLASSES, index=CASES.astype(int)).sort_index()


@pytest.mark.slow
def test_classifiers_costs_and_risks_go_by_name(annotations, scores):
    posterior = pb.aggregate(annotations, "dirichlet-categorical", draws=50, progress=False)
    site = pd.Series(TRUTH, CASES.astype(int)).sort_index()
    only_a = pd.DataFrame([[1.0, 0, 0]] * N, columns=CLASSES)
    forms = {
        "A": only_a.set_index(CASES),
        "named": scores.rename_axis("case"),
        "shuffled": scores.sample(frac=1, random_state=1),
    }
    found = pb.evaluate(
        posterior, forms, by=site.rename_axis("case").to_frame("site"), metrics=["top1_accuracy"], progress=False
    )
    assert (found["top1_accuracy_point"][1:] == 1).all()
    by_site = pb.evaluation.by_group(found)
    of_a = by_site[by_site["classifier"] == "A"]  # sites are classes
    np.testing.assert_array_equal(of_a["mean"].round(), [1, 0, 0])
    with pytest.raises(PredictionError, match="counts the rows or names the cases, which are in another order"):
        pb.evaluate(posterior, {"A": scores}, progress=False)
    cost = pd.Series(np.arange(N) + 1.0).rename_axis("case")
    np.testing.assert_array_equal(_cost_by_case(cost, annotations), CASES.astype(int) + 1)
    with pytest.raises(ArgumentError, match="counts the rows or names the cases"):
        _cost_by_case(cost.rename_axis(None), annotations)
    assert pb.read_risks(pd.Series({"c": 2, "a": 0, "b": 1}), CLASSES).tolist() == [0, 1, 2]
    assert pb.read_risks(pd.Series([2, 0, 1]), CLASSES).tolist() == [2, 0, 1]


def test_files_with_and_without_names(annotations, scores, tmp_path):
    """pandas writes an index of 0, 1, … into the metadata of Parquet, with its name."""
    scores.sample(frac=1, random_state=1).rename_axis("case").to_csv(tmp_path / "shuffled.csv")
    scores.reset_index(drop=True).rename_axis("case").to_parquet(tmp_path / "named.parquet")
    scores.reset_index(drop=True).to_parquet(tmp_path / "unnamed.parquet")
    for name in ("shuffled.csv", "named.parquet"):
        np.testing.assert_array_equal(read_predictions(tmp_path / name, annotations), np.eye(3)[TRUTH])
    with pytest.raises(PredictionError, match="counts the rows or names the cases"):
        read_predictions(tmp_path / "unnamed.parquet", annotations)


@pytest.mark.parametrize(
    "read",
    [
        lambda column: check_clusters(column, CASES),
        lambda column: check_weights(column, 5, CASES)[0],
        lambda column: read_groups(column.to_frame("site"), CASES).value[read_groups(column, CASES).member.argmax(0)],
        lambda column: by_name(column, CASES, "value"),
    ],
    ids=["clusters", "weights", "by", "any"],
)
def test_columns_of_numbered_cases(read):
    wanted = TRUTH + 1
    by_number = pd.Series(wanted, CASES.astype(int)).sort_index()
    assert by_number.index.equals(pd.RangeIndex(N))
    for given in (by_number.rename_axis("case"), by_number[::-1], by_number.set_axis(by_number.index.map(str))):
        np.testing.assert_array_equal(np.asarray(read(given), float), wanted)
    with pytest.raises(ArgumentError, match="counts the rows or names the cases"):
        read(by_number)
    in_order = by_number.loc[CASES.astype(int)]
    np.testing.assert_array_equal(np.asarray(read(in_order), float), wanted)


def test_frames_and_annotations_agree_on_the_names_of_rows(scores):
    plain = pb.Annotations.from_labels([["a"]] * N, classes=CLASSES, cases=[f"p{i}" for i in range(N)])
    np.testing.assert_array_equal(read_predictions(scores, plain), scores.to_numpy())
    with pytest.raises(PlausiblyError, match="neither 0, 1, … nor the cases' names"):
        read_predictions(scores.sample(frac=1, random_state=1), plain)
    # The frame of the predictions, shuffled alike, is then matched with them.
    shuffled = scores.sample(frac=1, random_state=1)
    counts = pb.Annotations.from_counts((40 * shuffled).astype(int))
    rows = pb.Annotations.from_case_rows(pd.DataFrame({"labels": [[CLASSES[k]] for k in shuffled.to_numpy().argmax(1)]},
                                                      index=shuffled.index))  # fmt: skip
    for annotations in (counts, rows):
        assert annotations.cases.tolist() == shuffled.index.map(str).tolist()
        np.testing.assert_array_equal(read_predictions(shuffled, annotations), shuffled.to_numpy())
    named = pd.DataFrame({"labels": [["a"], ["b"]]}, index=pd.Index([7, 3], name="case"))
    assert pb.Annotations.from_case_rows(named).cases.tolist() == ["7", "3"]
    assert pb.Annotations.from_counts(scores.astype(int)).cases.tolist() == [str(i) for i in range(N)]
