"""Scores: from tables and files, in the order of the cases, to labels of two classes; and what is refused."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from plausibly.annotations import Annotations, Scores, read_annotations
from plausibly.errors import AnnotationError, ArgumentError

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


HEAD = "case,annotator,score\n"
BAD = {
    "no annotator": ("case,score\np,1\n", "no column 'annotator' (columns found: 'case', 'score'); it needs 'case',"),
    "no case": ("annotator,score\nann,1\n", "no column 'case'"),
    "no rows": (HEAD, "the table has no rows; give at least one"),
    "no number": (HEAD + "p,ann,high\n", "row 1 (case 'p', annotator 'ann'): the score 'high' is not a number; write"),
    "NaN": (HEAD + "p,ann,1\np,bob,nan\n", "case 'p', annotator 'bob': the score is nan; write a finite"),
    "infinite": (HEAD + "p,ann,-inf\n", "the score is -inf; write a finite number from -1e+15 to 1e+15"),
    "enormous": (HEAD + "p,ann,1e200\n", "the score is 1e+200; write a finite number from -1e+15 to 1e+15"),
    "blank": (HEAD + "p,ann,\n", "row 1 (case 'p', annotator 'ann'): the cell in column 'score' is missing; fill"),
    "twice": (HEAD + "p,ann,1\nq,ann,1\np,ann,2\n", "case 'p', annotator 'ann': the case is scored twice; keep one"),
    "two names": ("case,task,annotator,score\np,p,ann,1\n", "both a column 'case' and a column 'task'; keep one"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_files(tmp_path, what):
    content, message = BAD[what]
    path = tmp_path / "a.csv"
    path.write_text(content)
    with pytest.raises(AnnotationError) as caught:
        read_annotations(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_what_does_not_fit_is_refused(tmp_path):
    good = {"cases": ["p"], "annotators": ["a", "b"], "anonymous": False}
    for case, annotator, score, message in (
        ([0, 0], [0, 1], [1.0], "differ in length"),
        ([0, 0], [1, 0], [1.0, 2.0], "annotators must increase within a case"),
        ([0, 1], [0, 1], [1.0, 2.0], "must name every case"),
        ([0, 0], [0, 2], [1.0, 2.0], "outside the annotators"),
    ):
        with pytest.raises(AnnotationError, match=message):
            Scores(**good, annotation_case=case, annotation_annotator=annotator, score=score)
    with pytest.raises(AnnotationError, match="case 'p', annotator 'b': the score is nan"):
        Scores(**good, annotation_case=[0, 0], annotation_annotator=[0, 1], score=[1.0, np.nan])
    with pytest.raises(AnnotationError, match=r"scores have two classes, .* but 3 names were given"):
        Annotations.from_scores(TABLE, classes=["a", "b", "c"])
    with pytest.raises(ArgumentError, match=r"none was given: write for example threshold=0 .* as grades"):
        SCORES.split(None)
    with pytest.raises(AnnotationError, match="a table is a data frame held in memory, got list"):
        Annotations.from_scores([("p", "ann", 1)])
    with pytest.raises(AnnotationError, match="there is no case 'r' among the 2 cases"):
        SCORES.of_case("r")


@pytest.mark.parametrize("threshold", ["0", True, np.nan, np.inf, 1e16, [0]])
def test_thresholds_are_finite_numbers(threshold):
    with pytest.raises(ArgumentError, match="threshold must be a finite number"):
        SCORES.split(threshold)
