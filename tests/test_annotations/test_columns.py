"""Long tables in files, read in pieces: as if the whole table had been in memory."""

import io
import os
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausibly.annotations import Annotations, _rows, _validate, read_annotations
from plausibly.annotations.io import _columns
from plausibly.annotations.io._files import check_utf8
from plausibly.annotations.io._formulas import write_csv
from plausibly.errors import AnnotationError, FileError, PlausiblyError
from plausibly.predictions import read_predictions

NAMES = st.text(st.sampled_from("ab,\"\n\r='ä−√𝔸 "), min_size=1, max_size=40).filter(lambda name: name.strip() == name)
ROWS = st.lists(st.tuples(NAMES, NAMES, NAMES, st.integers(1, 9)), min_size=1, max_size=30)


@given(rows=ROWS, block=st.sampled_from([16, 100, 2**20]), together=st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_pieces_of_any_size(tmp_path_factory, rows, block, together):
    table = pd.DataFrame(rows, columns=["case", "annotator", "class", "rank"])
    table["note"] = "nobody reads this"
    folder = tmp_path_factory.mktemp("pieces")
    text = io.StringIO()
    write_csv(table, text)
    (folder / "a.csv").write_text(text.getvalue(), newline="", encoding="utf-8")
    table.to_parquet(folder / "a.parquet")
    coded = table.astype(dict.fromkeys(("case", "annotator", "class"), "category"))
    coded.to_parquet(folder / "coded.parquet")
    expected = _outcome(lambda: Annotations.from_table(table))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_columns, "_BLOCK", block)
        patch.setattr(_columns, "_ROWS", together)
        patch.setattr(_rows, "_TOGETHER", together)
        patch.setattr(_validate, "_TOGETHER", together)
        for name in ("a.csv", "a.parquet", "coded.parquet"):
            assert _outcome(lambda name=name: read_annotations(folder / name)) == expected


def _outcome(read):
    """Annotations, or what is wrong with them but for the name of the file."""
    try:
        return read()
    except AnnotationError as error:
        return str(error).split(": ", 1)[-1] if ".csv" in str(error) or ".parquet" in str(error) else str(error)


def test_rows_of_shuffled_cases_in_parts(monkeypatch):
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "case": np.repeat(np.arange(50), 6),
            "annotator": np.tile(np.repeat(["x", "y", "z"], 2), 50),
            "class": np.tile(["a", "b"], 150),
            "rank": random.integers(1, 3, 300),
        }
    ).sample(frac=1, random_state=0)
    whole = Annotations.from_table(table)
    for together in (1, 7, 100):
        monkeypatch.setattr(_rows, "_TOGETHER", together)
        monkeypatch.setattr(_validate, "_TOGETHER", together)
        assert Annotations.from_table(table) == whole


def test_a_fault_in_a_late_piece_is_found_in_its_row(tmp_path, monkeypatch):
    monkeypatch.setattr(_columns, "_BLOCK", 64)
    rows = [f"case {i},ann,x,{i % 2 + 1}\n" for i in range(100)]
    rows[90] = "case 90,ann,x,0\n"
    path = tmp_path / "a.csv"
    path.write_text("case,annotator,class,rank\n" + "".join(rows))
    with pytest.raises(AnnotationError, match=r"row 91 \(case 'case 90', annotator 'ann'\): the rank 0 is below 1"):
        read_annotations(path)
    path.write_text("case,annotator,class,rank\n" + "".join(rows[:90]) + "case 90,ann,x\n")
    with pytest.raises(FileError, match="Row #92: Expected 4 columns, got 3"):
        read_annotations(path)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_columns_that_are_missing_are_told_beside_all_that_are_there(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    table = pd.DataFrame({"case": ["p"], "annotator": ["ann"], "diagnosis": ["x"]})
    table.to_csv(path, index=False) if ending == ".csv" else table.to_parquet(path)
    with pytest.raises(AnnotationError, match=r"columns found: 'case', 'annotator', 'diagnosis'"):
        read_annotations(path)


def test_absent_cells_of_coded_columns(tmp_path):
    table = pa.table(
        {"case": ["p", "q"], "annotator": pa.array(["ann", None]).dictionary_encode(), "class": ["x", "y"]}
    )
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(AnnotationError, match=r"row 2 \(case 'q'\): the cell in column 'annotator' is missing"):
        read_annotations(tmp_path / "a.parquet")


@pytest.mark.parametrize("n_before", [0, 2**22 - 1, 2**22])
def test_where_text_is_not_utf8(tmp_path, n_before):
    path = tmp_path / "a.csv"
    path.write_bytes(b"a" * n_before + "ä".encode()[:1] + b"b")
    with pytest.raises(FileError, match=rf"not UTF-8 text \(byte {n_before}\)"):
        check_utf8(path)


def test_a_parquet_file_that_is_no_table_of_rows(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"case": ["p"], "annotator": ["ann"], "class": ["x"]}).to_parquet(path)
    whole = path.read_bytes()
    for end in range(0, len(whole), 97):
        path.write_bytes(whole[:end])
        with pytest.raises(PlausiblyError):
            read_annotations(path)


@pytest.mark.parametrize("ending", [".csv", ".json"])
def test_a_byte_order_mark_counts_among_the_bytes(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    path.write_bytes(b"\xef\xbb\xbf[\xff")
    with pytest.raises(FileError, match=r"not UTF-8 text \(byte 4\)"):
        read_annotations(path)


def test_arrow_needs_no_python_to_read_ahead(tmp_path, monkeypatch):
    # Else a process that ends meanwhile may wait for it for ever.
    given = []
    for module, name in ((pa.csv, "open_csv"), (pa.parquet, "ParquetFile")):
        real = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda file, real=real, **more: given.append(type(file)) or real(file, **more)
        )
    table = pd.DataFrame({"case": ["p"], "annotator": ["ann"], "class": ["x"]})
    scores = pd.DataFrame({"case": ["p"], "x": [0.5]})
    for frame, name in ((table, "a"), (scores, "b")):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        frame.to_parquet(tmp_path / f"{name}.parquet")
    for ending in (".csv", ".parquet"):
        annotations = read_annotations(tmp_path / f"a{ending}")
        assert read_predictions(tmp_path / f"b{ending}", annotations).tolist() == [[0.5]]
    assert len(given) >= 6
    assert set(given) == {pa.OSFile}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes")
@pytest.mark.parametrize("ending", [".csv", ".json"])
def test_a_pipe_gives_its_content_once(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    os.mkfifo(path)
    content = (
        "case,annotator,class\np,ann,x\n"
        if ending == ".csv"
        else '{"cases": {"p": {"ann": [["x"]]}}, "classes": ["x"]}'
    )
    threading.Thread(target=path.write_text, args=(content,), daemon=True).start()
    found = []
    reader = threading.Thread(target=lambda: found.append(read_annotations(path)), daemon=True)
    reader.start()
    reader.join(timeout=30)
    assert [annotations.rankings("p") for annotations in found] == [{"ann": [["x"]]}]
