"""Reading in batches is reading the whole, or leaves it to that."""

import mmap
import os
import tempfile
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausibly import predictions as predictions
from plausibly.annotations import Annotations
from plausibly.annotations.io import _batches
from plausibly.annotations.io._batches import map_npy, read_in_batches
from plausibly.errors import FileError, PlausiblyError
from plausibly.predictions import line_up, read_predictions

CASES, CLASSES = np.array(["q", "p", "r"]), np.array(["b", "a", "c"])
SCORES = np.array([[0.25, 0.5, 0.125], [1.0, -2.0, 1e-3], [0.0, 7.0, 8.5]])  # cases q, p, r; classes b, a, c
NAMED = pd.DataFrame(  # another order of both
    {"a": SCORES[[2, 0, 1], 1], "case": ["r", "q", "p"], "c": SCORES[[2, 0, 1], 2], "b": SCORES[[2, 0, 1], 0]}
)


def annotations_of(cases, classes):
    labels = [[classes[row % len(classes)]] for row in range(len(cases))]
    return Annotations.from_labels(labels, classes=classes, cases=cases)


@pytest.fixture
def put(tmp_path):
    def write(name, content):
        (tmp_path / name).write_text(content, encoding="utf-8", newline="")
        return tmp_path / name

    return write


@pytest.mark.parametrize("block", [40, 2**20])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "b,a,c\n0.25,0.5,0.125\n1,-2,0.001\n0,7,8.5\n"),
        ("a.csv", "0.25,0.5,0.125\n1,-2,0.001\n0,7,8.5"),
        ("a.csv", "a,case,c,b\r\n7,r,8.5,0\r\n0.5,q,0.125,0.25\r\n-2,p,1e-3,1\r\n"),
        ("a.csv", '\ufeffcase,"b",a,c\nq, 0.25,0.5 ,"0.125"\n"p",1,-2,0.001\n\nr,0,7,8.5'),
        ("A.CSV", "task,b,a,c\nq,0.25,0.5,0.125\np,1,-2,0.001\nr,0,7,8.5\n"),
        ("a.txt", "0.25\t0.5\t0.125\n1\t-2\t0.001\n0\t7\t8.5\n"),
        ("a.txt", "0.25,0.5,0.125\n1,-2,0.001\n0,7,8.5\n"),
    ],
)
def test_text(monkeypatch, put, name, content, block):
    monkeypatch.setattr(_batches, "_BLOCK", block)
    read = read_in_batches(put(name, content), CLASSES, CASES)
    assert read.dtype == np.float64
    np.testing.assert_array_equal(read, SCORES)


def test_a_first_line_of_numbers(put):
    classes, scores = np.array(["0", "1", "2"]), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]
    rows = "1,2,3\n4,5,6\n7,8,9\n"
    np.testing.assert_array_equal(read_in_batches(put("a.csv", rows), classes, CASES), scores)
    np.testing.assert_array_equal(read_in_batches(put("a.csv", "0,1,2\n" + rows), classes, CASES), scores)
    np.testing.assert_array_equal(
        read_in_batches(put("a.csv", "2,0,1\n3,1,2\n6,4,5\n"), classes, CASES), [[2, 0, 1], [3, 1, 2], [6, 4, 5]]
    )


@pytest.mark.parametrize("columns", [1, 4])
@pytest.mark.parametrize(
    ("kinds", "expected"),
    [("fff", "f4"), ("eee", "f4"), ("fef", "f4"), ("ddd", "f8"), ("fdf", "f8"), ("fif", "f8"), ("BBB", "f8")],
)
def test_parquet(monkeypatch, tmp_path, kinds, expected, columns):
    monkeypatch.setattr(_batches, "_ROWS", 2)
    monkeypatch.setattr(_batches, "_COLUMNS", columns)
    scores = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    table = {
        name: scores[[2, 0, 1], column].astype(kind)
        for column, (name, kind) in enumerate(zip("bac", kinds, strict=True))
    }
    for cases in (pa.array(["r", "q", "p"]), pa.array(["r", "q", "p"]).dictionary_encode()):
        pyarrow.parquet.write_table(
            pa.table({"c": table.pop("c", scores[[2, 0, 1], 2].astype(kinds[2])), "case": cases, **table}),
            tmp_path / "a.parquet",
        )
        read = read_in_batches(tmp_path / "a.parquet", CLASSES, CASES)
        assert read.dtype == np.dtype(expected)
        np.testing.assert_array_equal(read, scores)
    pyarrow.parquet.write_table(
        pa.table({"b": scores[:, 0], "c": scores[:, 2], "a": scores[:, 1]}), tmp_path / "b.parquet"
    )
    np.testing.assert_array_equal(read_in_batches(tmp_path / "b.parquet", CLASSES, CASES), scores)


def test_names_with_points(tmp_path):
    """In a path into nested columns, a point parts names; these are none."""
    pd.DataFrame({"a.b": [1.0], "a": [2.0], "b.a": [3.0]}).to_parquet(tmp_path / "a.parquet")
    read = read_in_batches(tmp_path / "a.parquet", ["a", "a.b", "b.a"], np.array(["p"]))
    np.testing.assert_array_equal(read, [[2, 1, 3]])
    pyarrow.parquet.write_table(pa.table({"a": [{"b": 1.0}], "b": [2.0], "c": [1.0]}), tmp_path / "a.parquet")
    assert read_in_batches(tmp_path / "a.parquet", ["a", "b", "c"], np.array(["p"])) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes")
def test_a_pipe_is_read_once(tmp_path):
    annotations = annotations_of(CASES.tolist(), CLASSES.tolist())
    np.save(tmp_path / "b.npy", SCORES)
    for name, content in (("a.csv", b"b,a,c\n1,2,3\n4,5,6\n7,8,9\n"), ("a.npy", (tmp_path / "b.npy").read_bytes())):
        os.mkfifo(tmp_path / name)
        writer = threading.Thread(target=(tmp_path / name).write_bytes, args=(content,))
        writer.start()
        assert read_predictions(tmp_path / name, annotations).shape == (3, 3)
        writer.join()


def test_frames_of_others(tmp_path):
    NAMED.set_index("case").to_parquet(tmp_path / "b.parquet")
    pl.from_pandas(NAMED).write_parquet(tmp_path / "c.parquet")
    NAMED.assign(case=[7, 12, 3]).to_parquet(tmp_path / "d.parquet")
    for name in ("b.parquet", "c.parquet"):
        np.testing.assert_array_equal(read_in_batches(tmp_path / name, CLASSES, CASES), SCORES)
    read = read_in_batches(tmp_path / "d.parquet", CLASSES, np.array(["12", "3", "7"]))
    np.testing.assert_array_equal(read, SCORES)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "case,b,a,c\nq,1,2,3\np,1,2,3\nr,1,2,x\n",  # no number
        "case,b,a,c\nq,1,2,3\np,1,2,3\nr,1,2,\n",  # no cell
        "case,b,a,c\nq,1,2,3\np,1,2,3\nr,1,2\n",  # no cell at all
        "case,b,a,c\nq,1,2,3\np,1,2,3\nr,1,2,9007199254740993\n",  # rounded
        "case,b,a,c\nq,1,2,3\np,1,2,3\n",  # a row too few
        "case,b,a,c\nq,1,2,3\np,1,2,3\nr,1,2,3\nq,1,2,3\n",  # too many
        "case,b,a,c\nq,1,2,3\np,1,2,3\np,1,2,3\n",  # twice
        "case,b,a,c\nq,1,2,3\np,1,2,3\ns,1,2,3\n",  # unknown
        "b,a,c\n1,2,3\n1,2,3\n1,2,3\n1,2,3\n",
        "b,a,c,d\n1,2,3,4\n1,2,3,4\n1,2,3,4\n",
        "b,a\n1,2\n1,2\n1,2\n",
        "b,a,a\n1,2,3\n1,2,3\n1,2,3\n",
        "1,2\n1,2\n1,2\n",
        "b;a;c\n1;2;3\n1;2;3\n1;2;3\n",
        '"b",a,"c""\n1,2,3\n1,2,3\n1,2,3\n',
        '"b"x,a,c\n1,2,3\n1,2,3\n1,2,3\n',
    ],
)
def test_what_is_odd_is_left_to_others(put, content):
    assert read_in_batches(put("a.csv", content), CLASSES, CASES) is None


def test_odd_binary_files(tmp_path):
    path = tmp_path / "a.parquet"
    for odd in (
        NAMED.astype({"a": str}),
        NAMED.assign(a=[1.0, None, 2.0]).convert_dtypes(),
        NAMED.assign(a=[1, 2, 2**53 + 1]),
        NAMED.assign(a=[True, False, True]),
        NAMED.assign(case=[1.5, 2.5, 3.5]),
        NAMED.assign(case=["r", None, "p"]),
        NAMED.assign(d=0.0),
        NAMED.iloc[:0],
    ):
        odd.to_parquet(path)
        assert read_in_batches(path, CLASSES, CASES) is None
    path.write_bytes(path.read_bytes()[:-20])
    assert read_in_batches(path, CLASSES, CASES) is None
    assert read_in_batches(tmp_path / "none.csv", CLASSES, CASES) is None


NAMES = st.sampled_from(["q", "p", "r", "q ", '"q"', "", "s", "NA", "7"])
NUMBERS = st.sampled_from(["1", "0.5", " 2 ", "-3e2", '"4"', "", "x", "nan", "inf", "+1", "9007199254740993", "1e300"])
HEADERS = st.sampled_from(["case,b,a,c", "task,c,a,b", "b,a,c", 'case,"b",a,c', "case,b,a,d", "b,case,a,c", "", "\n"])


@st.composite
def texts(draw):
    """Files of which most are nearly right."""
    rows = draw(st.permutations(["q", "p", "r"]))
    named = draw(st.booleans())
    lines = [draw(HEADERS)] if draw(st.booleans()) else []
    for name in rows[: draw(st.sampled_from([3, 3, 3, 2]))]:
        cells = [draw(NUMBERS) if draw(st.integers(0, 9)) == 0 else draw(st.sampled_from(["1", "2.5"])) for _ in "bac"]
        name = draw(NAMES) if draw(st.integers(0, 9)) == 0 else name
        lines.append(",".join([name, *cells] if named else cells))
    return draw(st.sampled_from(["", "\ufeff"])) + draw(st.sampled_from(["\n", "\r\n", "\n\n"])).join(lines)


@settings(max_examples=200, deadline=None)
@given(texts(), st.sampled_from([16, 2**20]))
def test_both_ways_of_reading_agree(text, block):
    annotations = annotations_of(CASES.tolist(), CLASSES.tolist())
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(_batches, "_BLOCK", block)
        path = Path(folder, "a.csv")
        path.write_text(text, encoding="utf-8", newline="")
        outcomes = []
        for batches in (read_in_batches, lambda *given: None):
            patch.setattr(predictions, "read_in_batches", batches)
            try:
                outcomes.append(read_predictions(path, annotations).tolist())
            except PlausiblyError as error:
                outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    ("read_file", "kind", "order"),
    [(read_predictions, "f4", "C"), (read_predictions, "f8", "F"), (line_up, "f4", "F"), (line_up, "f2", "C")],
)
def test_arrays_are_mapped(tmp_path, read_file, kind, order):
    path = tmp_path / "a.npy"
    np.save(path, np.asarray(SCORES, kind, order=order))
    before = path.read_bytes()
    read = read_file(path, annotations_of(CASES.tolist(), CLASSES.tolist()))
    base = read
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, mmap.mmap)
    np.testing.assert_array_equal(read, SCORES.astype(kind))
    assert read.dtype == np.dtype(kind)
    read[:] = 0
    assert path.read_bytes() == before


def test_arrays_of_other_types_are_converted(tmp_path):
    path, annotations = tmp_path / "a.npy", annotations_of(CASES.tolist(), CLASSES.tolist())
    for kind, expected in (("f2", "f4"), ("i4", "f8"), (">f8", "f8"), ("?", "f8")):
        np.save(path, SCORES.astype(kind))
        read = read_predictions(path, annotations)
        assert read.dtype == np.dtype(expected)
        np.testing.assert_array_equal(read, SCORES.astype(kind))


def test_what_cannot_be_mapped_is_read_or_refused(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.empty((0, 3)))
    assert map_npy(path).shape == (0, 3)
    np.save(path, np.array([{}]), allow_pickle=True)
    with pytest.raises(FileError, match="the array holds pickled Python objects, never read here"):
        map_npy(path)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (2**40, 2**40)})
    with pytest.raises(FileError, match="the array is truncated or damaged"):
        map_npy(path)
    np.save(path, np.array(["a"]))
    assert repr(map_npy(path)) == repr(np.array(["a"]))
    np.savez(path.with_suffix(".npz"), SCORES)
    with pytest.raises(FileError, match=r"the file is no \.npy array"):
        map_npy(path.with_suffix(".npz"))
    np.save(path, SCORES)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FileError, match="the array is truncated or damaged"):
        map_npy(path)
    with pytest.raises(FileError, match="the file does not exist"):
        map_npy(tmp_path / "b.npy")
