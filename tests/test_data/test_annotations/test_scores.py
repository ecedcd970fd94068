"""Scores: from tables and files, in the order of the cases, to labels of two classes; and what is refused."""

import pickle

import pandas as pd
import polars as pl
import pytest

from plausibly.data.annotations import Annotations, read_annotations

TABLE = pd.DataFrame(
    {"case": ["q", "p", "q", "q"], "annotator": ["bob", "ann", "ann", "cyd"], "score": [1.5, 0.0, -2.0, 0.0]}
)
SCORES = Annotations.from_scores(TABLE)


@pytest.mark.parametrize(
    "table",
    [
        TABLE.rename(columns={"case": "task", "annotator": "worker"}),
        TABLE[["score", "annotator", "case"]].assign(note="read by nobody", rank=3),
        TABLE.set_index("case"),
        TABLE.assign(score=TABLE["score"].astype(str)),
        pl.from_pandas(TABLE),
    ],
)
def test_frames(table):
    assert Annotations.from_scores(table) == SCORES


def test_order_names_thresholds_and_classes_beside(tmp_path):
    assert SCORES.cases.tolist() == ["q", "p"]
    assert SCORES.of_case("q") == {"bob": 1.5, "ann": -2.0, "cyd": 0.0}
    assert SCORES.of_case(1) == {"ann": 0.0}
    assert SCORES.case_start.tolist() == [0, 3, 4]
    assert (SCORES.n_cases, SCORES.n_annotations) == (2, 4)
    assert repr(SCORES) == "Scores(2 cases, 4 scores by 3 annotators, from -2 to 1.5)"
    assert Annotations.from_scores(SCORES.to_table()) == SCORES
    assert pickle.loads(pickle.dumps(SCORES)) == SCORES
    assert SCORES.select(["p", "q"]).of_case("q") == SCORES.of_case("q")
    assert SCORES.select([False, True]).annotators.tolist() == ["ann"]
    assert not SCORES.score.flags.writeable
    scores = Annotations.from_scores(TABLE, anonymous=True)
    assert scores.of_case("q") == {"1": 1.5, "2": -2.0, "3": 0.0}
    assert scores.split(0).anonymous
    labels = SCORES.split(0)
    assert labels.rankings("q") == {"bob": [["> 0"]], "ann": [["≤ 0"]], "cyd": [["≤ 0"]]}
    assert SCORES.split(1.25).classes.tolist() == ["≤ 1.25", "> 1.25"]
    # Classes in which there is no score are classes all the same.
    assert SCORES.split(99).n_classes == 2
    named = Annotations.from_scores(TABLE, classes=["fine", "toxic"]).split(-2)
    assert named.rankings("q") == {"bob": [["toxic"]], "ann": [["fine"]], "cyd": [["toxic"]]}
    path = tmp_path / "a.csv"
    TABLE.assign(label=list("abab")).to_csv(path, index=False)
    found = read_annotations(path)
    assert isinstance(found, Annotations)
    assert found.classes.tolist() == ["a", "b"]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    TABLE.to_csv(path, index=False) if suffix == "csv" else TABLE.to_parquet(path)
    assert read_annotations(path) == SCORES
    names = tmp_path / "classes.txt"
    names.write_text("fine\ntoxic\n")
    assert read_annotations(path, names) == Annotations.from_scores(TABLE, ["fine", "toxic"])
