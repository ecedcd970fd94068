"""Names of columns that other tables use: they are taken where nothing else could be meant, and a warning says so."""

import numpy as np
import pandas as pd
import pytest

from plausibly.agreement import Labels
from plausibly.base.errors import AnnotationError, PlausiblyWarning
from plausibly.data.annotations import Annotations, Scores, read_annotations, read_metadata
from plausibly.data.annotations.io.spellings import positive_of_two, success_in
from plausibly.data.audit import audit
from plausibly.data.groups import columns_of
from plausibly.data.labels import read_labels
from plausibly.data.outcomes import read_outcomes
from plausibly.data.predictions import read_predictions

ROWS = [("i1", "ann", "mel"), ("i1", "bob", "nev"), ("i2", "ann", "nev"), ("i2", "bob", "nev")]
TAKEN = pytest.mark.filterwarnings("ignore:the column .* is taken for:plausibly.errors.PlausiblyWarning")


def write(path, rows, *columns):
    pd.DataFrame(rows, columns=list(columns)).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    "columns", [("image_id", "reader", "diagnosis"), ("case", "rater", "label"), ("sample_id", "annotator", "grade")]
)
def test_names_that_tables_of_annotations_have(tmp_path, columns):
    path = write(tmp_path / "a.csv", ROWS, *columns)
    expected = Annotations.from_table(pd.DataFrame(ROWS, columns=["case", "annotator", "class"]))
    with pytest.warns(PlausiblyWarning) as told:
        read = read_annotations(path)
    pd.testing.assert_frame_equal(read.to_table(), expected.to_table())
    new = [name for name in columns if name not in ("case", "annotator", "label")]
    assert [f"{name!r} is taken for" in str(one.message) for name, one in zip(new, told, strict=True)] == [True] * len(
        new
    )
    with pytest.warns(PlausiblyWarning):
        assert Labels.of(path).values.tolist() == [label for *_, label in ROWS]
    with pytest.warns(PlausiblyWarning):
        assert read_labels(path).annotators.tolist() == ["ann", "bob"]
    with pytest.warns(PlausiblyWarning):
        assert not audit(path).empty


@TAKEN
def test_numbers_are_scores_and_usual_names_come_first(tmp_path):
    rated = [(case, who, str(place)) for place, (case, who, _) in enumerate(ROWS)]
    for name in ("rating", "grade"):
        read = read_annotations(write(tmp_path / "a.csv", rated, "item_id", "reviewer", name))
        assert isinstance(read, Scores)
        assert read.of_case("i2") == {"ann": 2, "bob": 3}
    both = [(*row, "x", number) for row, number in zip(ROWS, range(4), strict=True)]
    path = write(tmp_path / "a.csv", both, "case", "annotator", "class", "answer", "rating")
    assert read_annotations(path).classes.tolist() == ["mel", "nev"]
    path = write(tmp_path / "a.csv", [(*row, row[0]) for row in ROWS], "image_id", "annotator", "label", "item_id")
    with pytest.raises(
        AnnotationError, match="no column 'case', but 'image_id' and 'item_id', each of which may be it"
    ):
        read_annotations(path)


@TAKEN
def test_predictions_groups_and_outcomes(tmp_path):
    people = Annotations.from_table(pd.DataFrame(ROWS, columns=["case", "annotator", "class"]))
    path = write(tmp_path / "p.csv", [("i2", 0.2, 0.8), ("i1", 0.9, 0.1)], "image_id", "mel", "nev")
    assert read_predictions(path, people).tolist() == [[0.9, 0.1], [0.2, 0.8]]
    path = write(tmp_path / "q.csv", [("i2", "nev"), ("i1", "mel")], "image_id", "diagnosis")
    assert read_predictions(path, people).tolist() == [[1, 0], [0, 1]]
    path = write(tmp_path / "g.csv", [("i1", "north"), ("i2", "south")], "image_id", "site")
    assert columns_of(path)["site"].to_dict() == {"i1": "north", "i2": "south"}
    path = write(tmp_path / "m.csv", [(*row, row[0]) for row in ROWS], "image_id", "reader", "finding", "site")
    assert read_metadata(path)["site"].to_dict() == {"i1": "i1", "i2": "i2"}
    rows = [("gpt", "q1", "ann", "C"), ("gpt", "q1", "judge", "I"), ("gpt", "q2", "judge", "P")]
    read = read_outcomes(write(tmp_path / "o.csv", rows, "provider", "test", "reviewer", "grade"), ["ann"])
    assert read.value.tolist() == [1, 0, 0.5]
    rows = [("gpt", "llama", "q1", "ann", "model_a"), ("gpt", "llama", "q1", "judge", "tie")]
    path = write(tmp_path / "o.csv", rows, "model_a", "model_b", "question_id", "judge", "winner")
    assert read_outcomes(path, ["ann"]).cases.tolist() == ["q1"]


def test_the_class_that_stands_for_a_success():
    for classes, name in ((["C", "I"], "C"), (["correct", "incorrect"], "correct"), (["fail", "pass"], "pass")):
        assert success_in(classes) == classes[positive_of_two(classes)] == name
    assert success_in(["error", "fail", "pass"]) == "pass"
    for classes in (["A", "B", "C", "I"], ["hate", "none"], ["0", "1", "2"]):
        assert success_in(classes) is None
    assert positive_of_two(["hate", "none"]) == 0
    people = Annotations.from_labels([["C"], ["I"], ["I"]], classes=["C", "I"])
    np.testing.assert_allclose(read_predictions([0.9, 0.2, 0.1], people)[:, 0], [0.9, 0.2, 0.1])


@pytest.mark.parametrize(
    ("classes", "positive"),
    [
        (["fracture", "no fracture"], 0),
        (["no fracture", "fracture"], 1),
        (["abnormal", "normal"], 0),
        (["ill", "none"], 0),
        (["covid", "non-covid"], 0),
        (["no", "yes"], 1),
        (["pass", "fail"], 0),
        (["normal", "benign"], 1),
        (["nodule", "opacity"], 1),
    ],
)
def test_the_positive_class_is_what_is_found(classes, positive):
    """By the alphabet, who never finds a fracture had a sensitivity of 1."""
    assert positive_of_two(classes) == positive


@TAKEN
@pytest.mark.parametrize("names", ["Case,Annotator,Label", "CASE , Rater,Diagnosis", "Image_ID,READER,class"])
def test_capital_letters_do_not_hide_what_columns_are(tmp_path, names):
    path = tmp_path / "a.csv"
    path.write_text(f"{names},note\np,ann,x,1\np,bob,y,2\nq,ann,x,3\nq,bob,x,4\n")
    for read in (read_annotations(path), Labels.of(path)):
        assert (len(read.cases), len(read.annotators)) == (2, 2)
    path.write_text("ID,cat,dog\np,3,1\nq,0,9\n")
    counts = read_annotations(path, classes=["cat", "dog"])
    assert counts.cases.tolist() == ["p", "q"]
    grades = pd.Categorical(["low", "high", "low", "high"], ["low", "high"], ordered=True)
    table = pd.DataFrame({"Case": list("ppqq"), "Annotator": list("abab"), "Label": grades})
    assert read_annotations(table).classes.tolist() == ["low", "high"]


def test_numbers_in_a_column_rating_are_said_to_be_in_order_and_how_they_are_names(tmp_path):
    table = pd.DataFrame({"case": ["p", "p", "q", "q"], "annotator": ["ann", "bob"] * 2, "rating": [0, 3, 19, 19]})
    with pytest.warns(PlausiblyWarning, match="score: numbers in their order; for names, label='rating' "):
        assert isinstance(read_annotations(table), Scores)
    read = read_annotations(table, label="rating", classes=[f"topic {k}" for k in range(20)])
    assert read.n_classes == 20
