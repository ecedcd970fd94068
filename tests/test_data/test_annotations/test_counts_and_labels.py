"""Label counts and single labels, each label an annotator's."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from plausibly.data.annotations import Annotations, read_annotations

COUNTS = np.array([[2, 0, 1], [0, 1, 0]])
EXPECTED = Annotations.from_rankings(
    {"classes": ["x", "y", "z"], "cases": {"q": [[["x"]], [["x"]], [["z"]]], "p": [[["y"]]]}}
)


@pytest.mark.parametrize("counts", [COUNTS, COUNTS.tolist(), COUNTS.astype(float), COUNTS.astype("u1")])
def test_arrays(counts):
    assert Annotations.from_counts(counts, classes=["x", "y", "z"], cases=["q", "p"]) == EXPECTED


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames(frame):
    named = frame({"z": [1, 0], "case": ["q", "p"], "x": [2, 0], "y": [0, 1]})
    assert Annotations.from_counts(named, classes=["x", "y", "z"]) == EXPECTED
    assert Annotations.from_counts(named).classes.tolist() == ["z", "x", "y"]


def test_names_left_out_and_labels_of_persons_who_abstain():
    annotations = Annotations.from_counts(COUNTS)
    assert annotations.classes.tolist() == ["0", "1", "2"]
    assert annotations.cases.tolist() == ["0", "1"]
    assert annotations.rankings("0") == {"1": [["0"]], "2": [["0"]], "3": [["2"]]}
    counts = np.random.default_rng(0).integers(0, 6, (200, 7)) + np.eye(7, dtype=int)[0]
    annotations = Annotations.from_counts(counts)
    assert annotations.n_annotations == counts.sum()
    back = np.zeros_like(counts)
    np.add.at(back, (annotations.entry_case, annotations.entry_class), 1)
    np.testing.assert_array_equal(back, counts)
    annotations = Annotations.from_labels(
        np.array([[0, -1, 2], [1, 1, -1]]),
        ["x", "y", "z"],
        cases=["q", "p"],
        annotators=["ann", "bob", "cyd"],
        missing=-1,
    )
    assert not annotations.anonymous
    assert annotations.to_rankings()["cases"] == {
        "q": {"ann": [["x"]], "cyd": [["z"]]},
        "p": {"ann": [["y"]], "bob": [["y"]]},
    }


def test_files(tmp_path):
    named = pd.DataFrame({"case": ["q", "p"], "x": [2, 0], "y": [0, 1], "z": [1, 0]})
    named.to_csv(tmp_path / "a.csv", index=False)
    named.to_parquet(tmp_path / "a.parquet")
    np.save(tmp_path / "a.npy", COUNTS)
    (tmp_path / "b.csv").write_text("2,0,1\n0,1,0\n")
    assert read_annotations(tmp_path / "a.csv", layout="counts") == EXPECTED
    assert read_annotations(tmp_path / "a.parquet", layout="counts") == EXPECTED
    unnamed = Annotations.from_counts(COUNTS, classes=["x", "y", "z"])
    assert read_annotations(tmp_path / "a.npy", classes=["x", "y", "z"]) == unnamed
    assert read_annotations(tmp_path / "b.csv", classes=["x", "y", "z"]) == unnamed


@pytest.mark.parametrize(
    ("labels", "missing"),
    [
        ([["x", "x", "z"], ["y"]], None),
        ([["x", None, "x", "z"], [None, "y"]], None),
        ([[0, 0, 2, -9], [1]], -9),
        ([["x", "x", float("nan"), "z"], ["y"]], np.nan),
        (np.array([["x", "x", "z"], ["y", "", ""]]), ""),
        (np.array([[0, np.nan, 0, 2], [1, np.nan, np.nan, np.nan]]), np.nan),
    ],
)
def test_anonymous_labels(labels, missing):
    assert Annotations.from_labels(labels, classes=["x", "y", "z"], cases=["q", "p"], missing=missing) == EXPECTED
