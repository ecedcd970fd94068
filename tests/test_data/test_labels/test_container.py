"""Tables of labels: every form of them reads alike, and every fault is named."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from plausibly.agreement import Labels
from plausibly.base.errors import PlausiblyWarning

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
    labels = Labels.of(FORMS[form], repeats="readings")
    assert facts(labels) == EXPECTED
    assert labels.cases.tolist() == ["q", "p"]
    assert labels.start.tolist() == [0, 3, 4]
    assert (len(labels), labels.n_missing) == (4, 1)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "json"])
def test_every_file_gives_the_same_labels(tmp_path, suffix):
    path = tmp_path / f"labels.{suffix}"
    write = {"csv": TABLE.to_csv, "parquet": TABLE.to_parquet, "json": lambda p, index: p.write_text(json.dumps(ROWS))}
    write[suffix](path, index=False)
    assert facts(Labels.of(path, repeats="readings")) == EXPECTED
    assert facts(Labels.of(str(path), repeats="readings")) == EXPECTED


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
    labels = Labels.of(table, repeats="readings", columns=["confidence"], optional=["group", "absent"])
    assert list(labels.columns) == ["confidence", "group"]
    assert labels.floats("confidence").tolist() == [0.1, 0.5, 0.3, 0.2]
    names, code = labels.names_of("group")
    assert names[code].tolist() == ["1", "1", "1", "2"]
    kept = labels.select(labels.case == 0)
    assert (len(kept), kept.start.tolist(), kept.cases.tolist()) == (3, [0, 3, 3], ["q", "p"])
    assert kept.floats("confidence").tolist() == [0.1, 0.5, 0.3]
    labels = Labels.of(TABLE, repeats="readings")
    assert Labels.of(labels) is labels


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


def test_labels_that_stand_for_no_answer_are_counted_as_missing():
    rows = [("p", "ann", "1"), ("p", "bob", "n/a"), ("q", "ann", "2")]
    read = Labels.of(rows).without(["n/a"])
    assert (read.values.tolist(), read.n_missing, read.case.tolist()) == ([1, 2], 1, [0, 1])
    with pytest.warns(PlausiblyWarning, match="'n/a' is a class here"):
        assert Labels.of(rows).without([]).n_missing == 0


def test_scores_are_labels_where_there_are_no_others():
    """Measures of agreement refused the table of ratings that `plausibly evaluate` reads."""
    table = pd.DataFrame({"case": ["p", "p"], "annotator": ["ann", "bob"], "score": [4, 2.5]})
    assert Labels.of(table).values.tolist() == [4, 2.5]
    assert Labels.of(table.assign(label=["x", "y"])).values.tolist() == ["x", "y"]
