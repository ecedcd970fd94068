"""Long tables, from files and from data frames of several makes."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from plausibly.base.errors import AnnotationError, ArgumentError, PlausiblyWarning
from plausibly.data.annotations import Annotations, read_annotations, read_metadata
from plausibly.data.labels import read_labels

TABLE = pd.DataFrame(
    {
        "case": ["q", "p", "q", "q", "q", "p"],
        "annotator": ["bob", "ann", "ann", "bob", "bob", "cyd"],
        "class": ["c", "a", "a", "e", "a", "b"],
        "rank": [1, 1, 4, 7, 7, 2],
    }
)
EXPECTED = Annotations.from_rankings(
    {"cases": {"q": {"bob": [["c"], ["a", "e"]], "ann": [["a"]]}, "p": {"ann": [["a"]], "cyd": [["b"]]}}}
)


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        TABLE.rename(columns={"case": "task", "annotator": "worker", "class": "label"}),
        TABLE[["rank", "class", "annotator", "case"]].assign(note="read by nobody"),
        TABLE.set_index("case"),
        TABLE.set_index(["case", "annotator"]),
        TABLE.assign(rank=TABLE["rank"] * 1.5),
        TABLE.assign(rank=TABLE["rank"].astype(str)),
        TABLE.astype({"class": "category", "annotator": "category"}),
        TABLE.set_axis([9, 8, 7, 6, 5, 4]),
        pl.from_pandas(TABLE),
        pl.from_pandas(TABLE).with_columns(pl.col("class").cast(pl.Categorical)),
        pa.Table.from_pandas(TABLE),
        pa.Table.from_pandas(TABLE).cast(
            pa.schema(
                [
                    ("case", pa.large_string()),
                    ("annotator", pa.string_view()),
                    ("class", pa.string()),
                    ("rank", pa.int8()),
                ]
            )
        ),
    ],
)
def test_frames(table):
    assert Annotations.from_table(table) == EXPECTED


def test_files_whose_text_is_kept_as_written(tmp_path):
    TABLE.to_csv(tmp_path / "a.csv", index=False)
    TABLE.to_parquet(tmp_path / "a.parquet")
    pl.from_pandas(TABLE).write_parquet(tmp_path / "b.parquet")
    (tmp_path / "b.csv").write_text(
        '\ufefftask,worker,label,rank\r\n"q",bob,c,1\r\np,ann,a,1\r\nq,ann,a,4\r\n\r\n'
        "q,bob,e,7\r\nq,bob,a,7.0\r\np,cyd,b, 2",
        encoding="utf-8",
        newline="",
    )
    for name in ("a.csv", "b.csv", "a.parquet", "b.parquet"):
        assert read_annotations(tmp_path / name) == EXPECTED
    # Nothing that looks like a number or a missing value loses its zeros or its name.
    (tmp_path / "a.csv").write_text("case,annotator,class\n007,NA,None\nnan,1e3,-0\n")
    with pytest.warns(PlausiblyWarning, match="'None' is a class here"):
        annotations = read_annotations(tmp_path / "a.csv")
    assert annotations.to_rankings()["cases"] == {"007": {"NA": [["None"]]}, "nan": {"1e3": [["-0"]]}}


def test_ranks_and_classes_in_their_forms_and_anonymous_annotators():
    annotations = Annotations.from_table(TABLE.drop(columns="rank"), repeats="ties")
    assert annotations.rankings("q") == {"bob": [["a", "c", "e"]], "ann": [["a"]]}
    table = pd.DataFrame({"case": "p", "annotator": "ann", "class": list("abcd"), "confidence": [0.2, 0.7, 0.2, -3]})
    assert Annotations.from_table(table).rankings("p") == {"ann": [["b"], ["a", "c"], ["d"]]}
    annotations = Annotations.from_table(TABLE, anonymous=True)
    assert annotations.rankings("q") == {"1": [["c"], ["a", "e"]], "2": [["a"]]}
    assert annotations.rankings("p") == {"1": [["a"]], "2": [["b"]]}
    assert annotations.annotators.tolist() == ["1", "2"]
    table = pd.DataFrame({"task": [10, 9, 10], "worker": [1, 1, 2], "label": [2, 0, 1]})
    annotations = Annotations.from_table(table, classes=["x", "y", "z"])
    assert annotations.cases.tolist() == ["10", "9"]
    assert annotations.annotators.tolist() == ["1", "2"]
    assert not annotations.anonymous
    assert annotations.to_rankings()["cases"] == {"10": {"1": [["z"]], "2": [["y"]]}, "9": {"1": [["x"]]}}
    assert Annotations.from_table(table.astype(str), classes=["x", "y", "z"]) == annotations
    table = pd.DataFrame({"case": ["p", "q"], "annotator": "ann", "class": [1, 2]})
    annotations = Annotations.from_table(table, classes=[1, 2, 3])
    assert annotations.entry_class.tolist() == [0, 1]


def test_texts_that_stand_for_no_label_are_left_out_and_counted(tmp_path):
    """A class "n/a" counted as a diagnosis, and a blank cell was said to be in a column that has another name."""
    path = tmp_path / "a.csv"
    path.write_text("case,annotator,label\np,ann,x\np,bob,n/a\nq,ann,\nq,bob,y\nr,ann,n/a\n")
    with pytest.raises(AnnotationError, match=r"the cell in column 'label' is missing; .*--missing"):
        read_annotations(path)
    with pytest.warns(PlausiblyWarning, match=r"left out 3 rows without a label: 'n/a' \(2\), blank \(1\)"):
        read = read_annotations(path, missing=["n/a"])
    assert read.to_table()[["case", "annotator", "class"]].to_numpy().tolist() == [["p", "ann", "x"], ["q", "bob", "y"]]
    with pytest.warns(PlausiblyWarning) as told:
        read_annotations(path, missing=["n/a", "N/A"])
    assert any("missing= (--missing) names 'N/A', but no label is that" in str(one.message) for one in told)
    with pytest.warns(PlausiblyWarning, match="1 row without a label: blank"):
        assert read_annotations(path, missing="").n_classes == 3
    path.write_text("case,annotator,score\np,ann,1\np,bob,n/a\n")
    with pytest.warns(PlausiblyWarning):
        assert read_annotations(path, missing="n/a").score.tolist() == [1]
    path.write_text("case,annotator,label\np,ann,n/a\n")
    with pytest.warns(PlausiblyWarning), pytest.raises(AnnotationError, match="no row has a label"):
        read_annotations(path, missing="n/a")
    rows = tmp_path / "a.json"
    rows.write_text('[{"id": "p", "annotations": ["x", "n/a"]}, {"id": "q", "annotations": ["y", "x"]}]')
    with pytest.warns(PlausiblyWarning, match=r"left out 1 row without a label: 'n/a'"):
        assert read_annotations(rows, missing="n/a").classes.tolist() == ["x", "y"]
    path.write_text("x,y\n11,2\n")
    with pytest.raises(ArgumentError, match="missing is for tables"):
        read_annotations(path, missing="n/a")


def test_a_column_for_each_annotator_as_spreadsheets_have_them(tmp_path):
    """Such a table was taken for counts, and by doctor for groups of cases."""
    path = tmp_path / "wide.csv"
    path.write_text("case,R1,R2,R3,site\np,x,x,,north\nq,y,,x,south\nr,,y, y,north\n")
    with pytest.warns(PlausiblyWarning, match="'R1', 'R2', 'R3' are read as one annotator each"):
        read = read_annotations(path)
    assert (read.n_annotations, read.annotators.tolist(), read.classes.tolist()) == (6, ["R1", "R2", "R3"], ["x", "y"])
    assert read.rankings("r") == {"R2": [["y"]], "R3": [["y"]]}
    with pytest.warns(PlausiblyWarning):
        assert read_metadata(path)["site"].to_dict() == {"p": "north", "q": "south", "r": "north"}
    with pytest.warns(PlausiblyWarning):
        assert str(read_labels(path)) == "3 cases, 3 annotators, 6 labels"
    path.write_text("image_id,R1,R2,R3,site\np,x,x,,north\nq,y,,x,south\nr,,y, y,north\n")
    with pytest.warns(PlausiblyWarning, match="one annotator each, and 'image_id' as the case"):
        assert read_annotations(path).n_annotations == 6
    path.write_text("case,x,y\np,11,2\nq,0,1\n")  # counts
    assert read_annotations(path).n_annotations == 14
    path.write_text("case,site,sex\np,north,f\nq,south,m\n")
    with pytest.raises(AnnotationError):
        read_annotations(path)
