"""Tables of labels: every form of them reads alike, and every fault is named."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from plausibly.agreement import Labels
from plausibly.errors import AnnotationError, ArgumentError, FileError

ROWS = [("q", "bob", "x"), ("p", "ann", "y"), ("q", "ann", "x"), ("p", "bob", None), ("q", "bob", "y")]
TABLE = pd.DataFrame(ROWS, columns=["case", "annotator", "label"])


def facts(labels):
    return [
        (labels.cases[c], labels.annotators[a], value, row)
        for c, a, value, row in zip(labels.case, labels.annotator, labels.values.tolist(), labels.rows, strict=True)
    ]


EXPECTED = [("q", "bob", "x", 0), ("q", "bob", "y", 4), ("q", "ann", "x", 2), ("p", "ann", "y", 1)]
FORMS = {
    "pandas": TABLE,
    "pandas categories": TABLE.astype("category"),
    "pandas index": TABLE.set_index("case"),
    "polars": pl.DataFrame(ROWS, schema=["case", "annotator", "label"], orient="row"),
    "pyarrow": pa.Table.from_pandas(TABLE),
    "crowd names": TABLE.rename(columns={"case": "task", "annotator": "worker"}),
    "class for label": TABLE.rename(columns={"label": "class"}),
    "columns": TABLE.to_dict("list"),
    "records": TABLE.to_dict("records"),
    "triples": ROWS,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_labels(form):
    labels = Labels.of(FORMS[form])
    assert facts(labels) == EXPECTED
    assert labels.cases.tolist() == ["q", "p"]
    assert labels.start.tolist() == [0, 3, 4]
    assert (len(labels), labels.n_missing) == (4, 1)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "json"])
def test_every_file_gives_the_same_labels(tmp_path, suffix):
    path = tmp_path / f"labels.{suffix}"
    write = {"csv": TABLE.to_csv, "parquet": TABLE.to_parquet, "json": lambda p, index: p.write_text(json.dumps(ROWS))}
    write[suffix](path, index=False)
    assert facts(Labels.of(path)) == EXPECTED
    assert facts(Labels.of(str(path))) == EXPECTED


def test_mappings_frames_and_codes_with_further_columns():
    labels = Labels.of({"p": {"ann": [1, 2], "bob": None}, "q": {"ann": [1]}})
    assert facts(labels) == [("p", "ann", [1, 2], 0), ("q", "ann", [1], 2)]
    assert labels.n_missing == 1
    frame = pl.DataFrame({"case": [1, 1], "annotator": [1, 2], "label": [{"a": 1}, {"a": 2}]})
    assert Labels.of(frame).values.tolist() == [{"a": 1}, {"a": 2}]
    frame = pl.DataFrame({"case": [1, 1], "annotator": [1, 2], "label": [[1], [1, 2]]})
    assert Labels.of(frame).values.tolist() == [[1], [1, 2]]
    names, code = Labels.of([("p", "a", "y"), ("p", "b", "x"), ("q", "a", "y")]).coded
    assert (names.tolist(), code.tolist()) == (["x", "y"], [1, 0, 1])
    names, code = Labels.of([("p", "a", "y"), ("p", "b", (1, 2)), ("q", "a", "y")]).coded
    assert (names.tolist(), code.tolist()) == (["y", (1, 2)], [0, 1, 0])
    names, code = Labels.of([("p", "a", 3), ("p", "b", 1)]).coded
    assert (names.tolist(), code.tolist()) == ([1, 3], [1, 0])
    table = TABLE.assign(confidence=[0.1, 0.2, 0.3, 0.4, 0.5], group=[1, 2, 1, 2, 1], other=0)
    labels = Labels.of(table, columns=["confidence"], optional=["group", "absent"])
    assert list(labels.columns) == ["confidence", "group"]
    assert labels.floats("confidence").tolist() == [0.1, 0.5, 0.3, 0.2]
    names, code = labels.names_of("group")
    assert names[code].tolist() == ["1", "1", "1", "2"]
    kept = labels.select(labels.case == 0)
    assert (len(kept), kept.start.tolist(), kept.cases.tolist()) == (3, [0, 3, 3], ["q", "p"])
    assert kept.floats("confidence").tolist() == [0.1, 0.5, 0.3]
    labels = Labels.of(TABLE)
    assert Labels.of(labels) is labels
    with pytest.raises(AnnotationError, match="read without the column 'group'; read them with it"):
        Labels.of(labels, columns=["group"])


@pytest.mark.parametrize(
    "values",
    [
        [[1, 2], [3, 4], [5, 6]],
        [{"a": 1}, {"b": [2, "x"]}, {}],
        [(1, 2), "x", 3],
        [np.arange(2), np.arange(3), np.arange(2)],
    ],
)
@pytest.mark.parametrize("make", [pd.DataFrame, dict, lambda t: [dict(zip(t, r)) for r in zip(*t.values())]])  # noqa: B905
def test_labels_of_any_type_are_kept_as_they_are(values, make):
    table = {"case": ["p", "p", "q"], "annotator": ["a", "b", "a"], "label": values}
    labels = Labels.of(make(table))
    assert labels.values.dtype == object
    assert all(kept is given for kept, given in zip(labels.values, values, strict=True))


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1", "2.5", ""], [1.0, 2.5]),
        (["1", "x", " "], ["1", "x"]),
        (["01", "1", "2"], ["01", "1", "2"]),  # codes, which numbers would merge
        (["0.5", "0", "-0.5"], [0.5, 0.0, -0.5]),
    ],
)
def test_labels_of_a_text_file_are_numbers_if_all_are(tmp_path, cells, values):
    path = tmp_path / "a.csv"
    path.write_text("case,annotator,label\n" + "".join(f"p,a{i},{cell}\n" for i, cell in enumerate(cells)))
    assert Labels.of(path).values.tolist() == values


@pytest.mark.parametrize(
    ("values", "kind"), [([1, 2, None], "f"), ([1, 2, 3], "i"), ([True, False, True], "b"), ([True, 1, 2], "O")]
)
@pytest.mark.parametrize("make", [pd.DataFrame, dict])
def test_numbers_are_an_array(values, kind, make):
    labels = Labels.of(make({"case": ["p"] * 3, "annotator": list("abc"), "label": values}))
    assert labels.values.dtype.kind == kind
    assert labels.values.tolist() == [value for value in values if value is not None]


BAD = {
    "no column": (TABLE.drop(columns="label"), "no column 'label' .*it needs 'case', 'annotator' and 'label'"),
    "two spellings": (TABLE.assign(task=1), "both a column 'case' and a column 'task'; keep one"),
    "no rows": (TABLE[:0], "the table has no rows; give at least one"),
    "no case": ([(None, "a", 1)], "row 1: the cell in column 'case' is missing"),
    "no annotator": ([("p", "a", 1), ("p", " ", 1)], "row 2: the cell in column 'annotator' is missing"),
    "a fraction for a case": ([(1.5, "a", 1)], "row 1: the case is named 1.5; names are text or whole numbers"),
    "all missing": ([("p", "a", None), ("p", "b", "")], "all 2 labels are missing; give at least one"),
    "blank at the end": ([("p ", "a", 1)], "the case 'p ' begins or ends with a blank; write 'p'"),
    "short row": ([("p", "a", 1), ("p", 1)], r"row 2 is \('p', 1\); write every row as \(case, annotator, label\)"),
    "a record among triples": ([{"case": 1, "annotator": 1, "label": 1}, (1, 2, 3)], "row 2 is .*write every row as a"),
    "unequal columns": ({"case": [1], "annotator": [1, 2], "label": [1]}, "the columns differ in length"),
    "no annotators in a mapping": ({"p": 3}, "case 'p': the labels of a case are a mapping from annotator to label"),
    "a number": (3, "labels come as a data frame, a path, a mapping or a list of rows, got 3"),
}


@pytest.mark.parametrize("fault", BAD)
def test_faults_are_named(fault):
    source, message = BAD[fault]
    with pytest.raises(AnnotationError, match=message):
        Labels.of(source)


def test_faults_of_files_cells_and_arguments(tmp_path):
    with pytest.raises(FileError, match=r"nowhere\.csv: the file does not exist"):
        Labels.of(tmp_path / "nowhere.csv")
    (tmp_path / "a.csv").write_text("case,annotator,label\np,,x\n")
    with pytest.raises(AnnotationError, match=r"a\.csv: row 1: the cell in column 'annotator' is missing"):
        Labels.of(tmp_path / "a.csv")
    with pytest.raises(FileError, match=r"the suffix '\.xml' names no format read here"):
        Labels.of("a.xml")
    with pytest.raises(ArgumentError, match='missing must be "drop" or "error"'):
        Labels.of(TABLE, missing="keep")
    with pytest.raises(AnnotationError, match=r"row 4 \(case 'p', annotator 'bob'\): the label is missing; fill it"):
        Labels.of(TABLE, missing="error")
    with pytest.raises(AnnotationError, match="no column 'confidence'"):
        Labels.of(TABLE, columns=["confidence"])
    with pytest.raises(AnnotationError, match=r"row 1 \(case 'q', annotator 'bob'\): the label is 'x'; write a number"):
        _ = Labels.of(TABLE).numbers
    with pytest.raises(AnnotationError, match="the label is inf; write a finite number"):
        _ = Labels.of([("p", "a", np.inf)]).numbers
    with pytest.raises(AnnotationError, match=r"the label \[1\] is a list, which only a distance can compare"):
        _ = Labels.of([("p", "a", [1])]).coded
    gaps = Labels.of(TABLE.assign(group=["a", None, "b", "c", "d"]), columns=["group"])
    with pytest.raises(AnnotationError, match=r"row 2 .*the cell in column 'group' is missing; fill it"):
        gaps.names_of("group")
    with pytest.raises(AnnotationError, match=r"row 2 .*the group is missing; write a number"):
        Labels.of(TABLE.assign(group=["1", None, "2", "3", "4"]), columns=["group"]).floats("group")


@pytest.mark.parametrize("column", [True, None, "abc", {"p": 1}])
def test_columns_that_are_no_lists(column):
    with pytest.raises(AnnotationError, match=r"the column 'label' is .*; write a list with a cell per row"):
        Labels.of({"case": ["p", "q", "r"], "annotator": ["a", "a", "a"], "label": column})


def test_labels_that_stand_for_no_answer_are_counted_as_missing():
    rows = [("p", "ann", "1"), ("p", "bob", "n/a"), ("q", "ann", "2")]
    read = Labels.of(rows).without(["n/a"])
    assert (read.values.tolist(), read.n_missing, read.case.tolist()) == ([1, 2], 1, [0, 1])
    assert Labels.of(rows).without([]).n_missing == 0
    with pytest.raises(AnnotationError, match="all 3 labels are missing"):
        Labels.of(rows).without(["1", "2", "n/a"])


def test_scores_are_labels_where_there_are_no_others():
    """Measures of agreement refused the table of ratings that `plausibly evaluate` reads."""
    table = pd.DataFrame({"case": ["p", "p"], "annotator": ["ann", "bob"], "score": [4, 2.5]})
    assert Labels.of(table).values.tolist() == [4, 2.5]
    assert Labels.of(table.assign(label=["x", "y"])).values.tolist() == ["x", "y"]
