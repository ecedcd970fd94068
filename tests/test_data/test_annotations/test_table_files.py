"""Tables in files, decoded in pieces of any size: as if the whole table had been in memory."""

import io
import mmap
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausibly.base.errors import AnnotationError, FileError, PredictionError
from plausibly.data.annotations import Annotations, read_annotations
from plausibly.data.annotations.io import table_files
from plausibly.data.annotations.io.files import read_npy
from plausibly.data.annotations.io.matrix import read_matrix
from plausibly.data.annotations.io.table_files import write_csv
from plausibly.data.predictions import line_up, read_predictions

NAMES = st.text(st.sampled_from("ab,\"\n\r='ä−√𝔸 "), min_size=1, max_size=40).filter(lambda name: name.strip() == name)
ROWS = st.lists(st.tuples(NAMES, NAMES, NAMES, st.integers(1, 9)), min_size=1, max_size=30)


def pieces(patch, block=64, rows=2):
    """Decode files a few bytes and rows at a time, and no small file at once."""
    patch.setattr(table_files, "_BLOCK", block)
    patch.setattr(table_files, "_ROWS", rows)
    patch.setattr(table_files, "_CELLS", 3 * rows)


@given(rows=ROWS, together=st.integers(1, 8))
@settings(max_examples=12, deadline=None)
def test_pieces_of_any_size(tmp_path_factory, rows, together):
    table = pd.DataFrame(rows, columns=["case", "annotator", "class", "rank"])
    table["note"] = "never read"
    folder = tmp_path_factory.mktemp("pieces")
    text = io.StringIO()
    write_csv(table, text)
    (folder / "a.csv").write_text(text.getvalue(), newline="", encoding="utf-8")
    table.to_parquet(folder / "a.parquet")
    table.astype(dict.fromkeys(("case", "annotator", "class"), "category")).to_parquet(folder / "coded.parquet")

    def outcome(read):
        try:
            return read()
        except AnnotationError as error:
            return str(error).split(": ", 1)[-1] if str(folder) in str(error) else str(error)

    expected = outcome(lambda: Annotations.from_table(table))
    with pytest.MonkeyPatch.context() as patch:
        pieces(patch, 512, together)
        for name in ("a.csv", "a.parquet", "coded.parquet"):
            assert outcome(lambda name=name: read_annotations(folder / name)) == expected


def test_a_fault_in_a_late_piece_is_found_in_its_row(tmp_path, monkeypatch):
    pieces(monkeypatch)
    rows = [f"case {i},ann,x,{i % 2 + 1}\n" for i in range(100)]
    rows[90] = "case 90,ann,x,0\n"
    path = tmp_path / "a.csv"
    path.write_text("case,annotator,class,rank\n" + "".join(rows))
    with pytest.raises(AnnotationError, match=r"row 91 \(case 'case 90', annotator 'ann'\): the rank 0 is below 1"):
        read_annotations(path)
    path.write_text("case,annotator,class,rank\n" + "".join(rows[:90]) + "case 90,ann,x\n")
    with pytest.raises(FileError, match=r"no table of equally long rows .*Row #92: Expected 4 columns, got 3"):
        read_annotations(path)
    path.write_text("1,2\n" * 80 + "1,x\n")
    with pytest.raises(PredictionError, match="row 81, column 2: the cell 'x' is not a number"):
        read_matrix(path, PredictionError)


def test_coded_columns_frames_of_others_and_odd_names(tmp_path):
    NAMED.set_index("case").to_parquet(tmp_path / "b.parquet")
    pl.from_pandas(NAMED).write_parquet(tmp_path / "c.parquet")
    for name in ("b.parquet", "c.parquet"):
        np.testing.assert_array_equal(read_predictions(tmp_path / name, KNOWN), SCORES)
    NAMED.assign(case=[7, 12, 3]).to_parquet(tmp_path / "d.parquet")
    numbered = Annotations.from_labels([["b"], ["a"], ["c"]], classes=CLASSES, cases=[12, 3, 7])
    np.testing.assert_array_equal(read_predictions(tmp_path / "d.parquet", numbered), SCORES)
    # In a path into nested columns a point separates names; these are none.
    pd.DataFrame({"a.b": [1.0], "a": [2.0], "b.a": [3.0]}).to_parquet(tmp_path / "a.parquet")
    matrix = read_matrix(tmp_path / "a.parquet", PredictionError)
    assert (matrix.columns, matrix.values.tolist()) == (["a.b", "a", "b.a"], [[1, 2, 3]])
    annotations = Annotations.from_labels([["+b"], ["@a"]], cases=["=x", "y"])
    table = pd.DataFrame({"case": ["=x", "y"], "@a": [1, 2], "+b": [3, 4]})
    with (tmp_path / "a.csv").open("w", newline="") as file:
        write_csv(table, file)
    np.testing.assert_array_equal(read_predictions(tmp_path / "a.csv", annotations), [[3, 1], [4, 2]])


CASES, CLASSES = ["q", "p", "r"], ["b", "a", "c"]
KNOWN = Annotations.from_labels([["b"], ["a"], ["c"]], classes=CLASSES, cases=CASES)
SCORES = np.array([[0.25, 0.5, 0.125], [1.0, -2.0, 1e-3], [0.0, 7.0, 8.5]])  # cases q, p, r; classes b, a, c
NAMED = pd.DataFrame(  # another order of both
    {"a": SCORES[[2, 0, 1], 1], "case": ["r", "q", "p"], "c": SCORES[[2, 0, 1], 2], "b": SCORES[[2, 0, 1], 0]}
)
TEXTS = [
    ("a.csv", "b,a,c\n0.25,0.5,0.125\n1,-2,0.001\n0,7,8.5\n"),
    ("a.csv", "0.25,0.5,0.125\n1,-2,0.001\n0,7,8.5"),
    ("a.csv", "a,case,c,b\r\n7,r,8.5,0\r\n0.5,q,0.125,0.25\r\n-2,p,1e-3,1\r\n"),
    ("a.csv", '\ufeffcase,"b",a,c\nq, 0.25,0.5 ,"0.125"\n"p",1,-2,0.001\n\nr,0,+7,8.5'),
    ("A.CSV", "task,b,a,c\nq,0.25,0.5,0.125\np,1,-2,0.001\nr,0,7,8.5\n"),
    ("a.tsv", "b\ta\tc\n0.25\t0.5\t0.125\n1\t-2\t0.001\n0\t7\t8.5\n"),
    ("a.txt", "0.25\t0.5\t0.125\n1\t-2\t0.001\n0\t7\t8.5\n"),
    ("a.txt", "0.25,0.5,0.125\n1,-2,0.001\n0,7,8.5\n"),
    ("a.txt", "0.25 0.5 0.125\n  1   -2  0.001\n0 7\t8.5  \n".replace("\t", " ")),
    ("a.txt", "case b a c\nq 0.25 0.5 0.125\np 1 -2 0.001\nr 0 7 8.5\n"),
]


@pytest.mark.filterwarnings("ignore:.*no column names the cases")
@pytest.mark.parametrize("block", [64, 2**20])
@pytest.mark.parametrize(("name", "content"), TEXTS)
def test_matrices_as_text(monkeypatch, tmp_path, name, content, block):
    pieces(monkeypatch, block)
    (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    read = read_predictions(tmp_path / name, KNOWN)
    assert read.dtype == np.float64
    np.testing.assert_array_equal(read, SCORES)


@pytest.mark.parametrize(
    ("kinds", "expected"), [("fff", "f4"), ("fef", "f4"), ("ddd", "f8"), ("fdf", "f8"), ("fif", "f8"), ("BBB", "f8")]
)
def test_matrices_in_parquet(monkeypatch, tmp_path, kinds, expected):
    pieces(monkeypatch)
    scores = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    table = {name: scores[[2, 0, 1], k].astype(kind) for k, (name, kind) in enumerate(zip("bac", kinds, strict=True))}
    for cases in (pa.array(["r", "q", "p"]), pa.array(["r", "q", "p"]).dictionary_encode()):
        pyarrow.parquet.write_table(pa.table({"c": table["c"], "case": cases, **table}), tmp_path / "a.parquet")
        read = read_predictions(tmp_path / "a.parquet", KNOWN)
        assert read.dtype == np.dtype(expected)
        np.testing.assert_array_equal(read, scores)


@pytest.mark.parametrize(
    ("read_file", "kind", "order"),
    [(read_predictions, "f4", "C"), (read_predictions, "f8", "F"), (line_up, "f4", "F"), (line_up, "f2", "C")],
)
def test_arrays_are_mapped(tmp_path, read_file, kind, order):
    path = tmp_path / "a.npy"
    np.save(path, np.asarray(SCORES, kind, order=order))
    before = path.read_bytes()
    read = read_file(path, KNOWN)
    base = read
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, mmap.mmap)
    np.testing.assert_array_equal(read, SCORES.astype(kind))
    assert read.dtype == np.dtype(kind)
    read[:] = 0
    assert path.read_bytes() == before


def test_arrays_are_converted(tmp_path):
    path = tmp_path / "a.npy"
    for kind, expected in (("f2", "f4"), ("i4", "f8"), (">f8", "f8"), ("?", "f8")):
        np.save(path, SCORES.astype(kind))
        read = read_predictions(path, KNOWN)
        assert read.dtype == np.dtype(expected)
        np.testing.assert_array_equal(read, SCORES.astype(kind))
    np.save(path, np.empty((0, 3)))
    assert read_npy(path).shape == (0, 3)


def test_a_bar_for_a_long_file(tmp_path, monkeypatch):
    from plausibly.data.annotations.io import source

    monkeypatch.setattr(source, "_LARGE", 1)
    table = pd.DataFrame({"case": ["p"], "annotator": ["ann"], "class": ["x"]})
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "a.parquet")
    for path in (tmp_path / "a.csv", Path(tmp_path, "a.parquet")):
        assert read_annotations(path, progress=True).n_cases == 1
