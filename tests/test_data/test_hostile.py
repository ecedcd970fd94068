"""Files made to do harm: nothing in them is run, neither on reading nor in what is written."""

import os
import pickle
import shutil
import subprocess
from random import Random

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import plausibly as pb
from plausibly.agreement import Labels, read_labels
from plausibly.app.cli import app
from plausibly.base.errors import AnnotationError, FileError, PlausiblyError
from plausibly.data.annotations import Annotations, Slots, read_annotations
from plausibly.data.predictions import read_predictions
from plausibly.posterior import annotations_of, build_posterior, load, save
from tests.test_app.test_report.page import leave_out_figures

KNOWN = Annotations.from_counts([[1, 2], [2, 1]])
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def test_file_that_may_not_be_read(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "a.json"
    path.write_text("[]")
    monkeypatch.setattr(type(path), "open", lambda *_: refuse(path))
    with pytest.raises(FileError, match=r"a.json: the file cannot be read \(Permission denied\); check its"):
        read_annotations(path)


class Bomb:
    """What makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.fixture
def unpickled(tmp_path, monkeypatch):
    """A folder that is there if a :class:`Bomb` went off; besides, nothing may ask for unpickling at all."""

    def refuse(*_, **__):
        raise AssertionError("a pickle was loaded")

    monkeypatch.setattr(pickle, "loads", refuse)
    monkeypatch.setattr(pickle, "load", refuse)
    return tmp_path / "bomb"


def test_the_bomb_works_but_cells_are_read_as_literals(tmp_path):
    pickle.loads(pickle.dumps(Bomb(tmp_path / "bomb")))
    assert (tmp_path / "bomb").is_dir()
    evil = tmp_path / "evil"
    path = tmp_path / "a.csv"
    path.write_text(f"case,annotator,label\np,ann,(__import__('os').mkdir('{evil}'))\n")
    assert read_labels(path).values.tolist() == [f"(__import__('os').mkdir('{evil}'))"]
    assert not evil.exists()


def test_no_pickle_is_loaded(tmp_path, unpickled):
    with open(tmp_path / "a.npy", "wb") as file:
        np.save(file, np.array([[Bomb(unpickled)]], object), allow_pickle=True)
    for read in (read_annotations, lambda path: read_predictions(path, KNOWN)):
        with pytest.raises(FileError, match=r"a\.npy: the array holds pickled Python objects, never read here"):
            read(tmp_path / "a.npy")
    (tmp_path / "b.npy").write_bytes(pickle.dumps(Bomb(unpickled)))
    with pytest.raises(FileError, match=r"the file is no \.npy array"):
        read_annotations(tmp_path / "b.npy")
    assert not unpickled.exists()
    save_posterior(tmp_path / "p.nc")
    bomb = pickle.dumps(Bomb(unpickled))
    with h5py.File(tmp_path / "p.nc", "a") as file:
        file.attrs["seed"] = np.void(bomb)
        file["posterior"].attrs["plausibility"] = np.void(bomb)
    try:
        load(tmp_path / "p.nc")
    except PlausiblyError as error:
        assert "p.nc" in str(error)  # noqa: PT017
    (tmp_path / "q.nc").write_bytes(bomb)
    with pytest.raises(FileError, match="is not a posterior"):
        load(tmp_path / "q.nc")
    assert not unpickled.exists()
    # Arrow once unpickled a type of Python's that a file named in its metadata.
    metadata = {"ARROW:extension:name": "arrow.py_extension_type", "ARROW:extension:metadata": bomb}
    texts = [pa.field(name, pa.string()) for name in ("case", "annotator")]
    schema = pa.schema([pa.field("label", pa.binary(), metadata=metadata), *texts])
    rows = {"label": [bomb], "case": ["p"], "annotator": ["ann"]}
    pq.write_table(pa.table(rows, schema=schema), tmp_path / "a.parquet")
    with pytest.raises(AnnotationError, match=r"a\.parquet: the column 'class' holds binary"):
        read_annotations(tmp_path / "a.parquet")
    for read in (Labels.of, read_labels):
        try:
            read(tmp_path / "a.parquet")
        except PlausiblyError as error:
            assert "\n" not in str(error)  # noqa: PT017
    assert not unpickled.exists()


def save_posterior(path):
    slots = Slots.of(KNOWN)
    draws = np.full((1, 2, len(slots)), 0.5, np.float32)
    save(build_posterior(draws, KNOWN, slots, point=draws[0, 0], concentration=1.0), path)


@pytest.mark.slow
def test_blocks_sentences_and_what_is_long_have_limits(tmp_path):
    classes = [str(i) for i in range(40_000)]
    (tmp_path / "a.json").write_text("[[[" + ",".join(f"[{i}]" for i in range(40_000)) + "]]]")
    with pytest.raises(AnnotationError, match="case '0': an annotation has 40000 blocks; 32768 is the limit"):
        read_annotations(tmp_path / "a.json", classes)
    (tmp_path / "a.csv").write_text(f"case,annotator,label\np,ann,{'[' * 100_000}\n")  # text like any other
    assert len(read_labels(tmp_path / "a.csv").values[0]) == 100_000
    (tmp_path / "a.json").write_text(f'[[[["{"y" * 100_000}"]]]]')
    (tmp_path / "c.txt").write_text("x\n")
    result = CliRunner().invoke(app, ["audit", str(tmp_path / "a.json"), "--classes", str(tmp_path / "c.txt")])
    assert result.exit_code == 2
    assert len(result.output) < 3000
    assert "add it to the classes" in result.output
    # Thousands of columns, names and votes; a search through all for each of them would take minutes.
    n = 2_000
    names = [f"name {i}" for i in range(n)]
    header = ",".join(names)
    (tmp_path / "a.csv").write_text(f"case,{header}\np,{','.join('1' * n)}\n")
    assert read_annotations(tmp_path / "a.csv", layout="counts").n_annotations == n
    for name, first in (("a.csv", "case,class,annotator,"), ("b.csv", "")):
        (tmp_path / name).write_text(f"{first}{header},name 7\n")
        with pytest.raises(AnnotationError, match=r"the header names the column 'name \d+' 2 times; keep one"):
            read_annotations(tmp_path / name)
    members = ", ".join(f'"{one}": [[["x"]]]' for one in (*names, names[-1]))
    (tmp_path / "a.json").write_text('{"cases": {' + members + "}}")
    with pytest.raises(AnnotationError, match="the name 'name 1999' occurs twice in one JSON object"):
        read_annotations(tmp_path / "a.json")
    (tmp_path / "b.json").write_text(f'[[[["{"y" * n}"]]]]')
    with pytest.raises(AnnotationError, match="is not among the 2000 classes; add it"):
        read_annotations(tmp_path / "b.json", names)
    head = "".join(f"# ALTERNATIVE NAME {i}: {one}\n" for i, one in enumerate(names, 1))
    (tmp_path / "e.toi").write_text(f"# NUMBER ALTERNATIVES: {n}\n{head}1: {','.join(map(str, range(1, n + 1)))},{n}\n")
    with pytest.raises(AnnotationError, match=f"alternative {n} is ranked twice"):
        read_annotations(tmp_path / "e.toi")


EVIL = "=cmd|' /C calc'!A0"
HTML = "<img src=x onerror=\"document.body.setAttribute('data-evil', 1)\">"
SCRIPT = "</title></script><script>document.body.setAttribute('data-evil', 1)</script>"


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """Tables and a report of data whose every name is hostile; without figures, which are no markup."""
    folder = tmp_path_factory.mktemp("evil")
    classes = [HTML, SCRIPT, EVIL]
    said = {HTML: [[HTML]], SCRIPT: [[SCRIPT], [EVIL]]}
    annotations = Annotations.from_rankings(
        {"classes": classes, "cases": dict.fromkeys((EVIL, HTML, SCRIPT, *"abcde"), said)}
    )
    pb.write_annotations(annotations, folder / "a.json")
    np.save(folder / "b.npy", np.eye(8, 3))
    words = ["evaluate", folder / "a.json", "--model", "irn", "--k", "1", "--out", folder / "out"]
    words += ["--predictions", f"<script>document.body.setAttribute('data-evil',1)</script>={folder / 'b.npy'}"]
    words += ["--predictions", f"@SUM(1)={folder / 'b.npy'}"]
    with pytest.MonkeyPatch.context() as patch:
        leave_out_figures(patch)
        result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return folder / "out"


def test_tables_and_report_hold_no_formula_and_no_markup(evaluated):
    for name in ("metrics.csv", "certainty.csv"):
        table = pd.read_csv(evaluated / name, dtype=str, keep_default_na=False)
        cells = [cell for column in table for cell in (column, *table[column])]
        numbers = pd.to_numeric(pd.Series(cells), errors="coerce").notna()
        assert not [cell for cell in pd.Series(cells)[~numbers] if cell.startswith(("=", "+", "-", "@"))]
    assert f"'{EVIL}" in pd.read_csv(evaluated / "certainty.csv")["case"].tolist()
    assert "'@SUM(1)" in pd.read_csv(evaluated / "metrics.csv")["classifier"].tolist()
    text = (evaluated / "report.html").read_text()
    assert "<img src=x" not in text
    assert "<script>document" not in text
    assert "&lt;script&gt;document" in text


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_the_report_runs_nothing_in_a_browser(evaluated, tmp_path):
    def body(path) -> str:
        words = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000"]
        words += ["--dump-dom", f"--user-data-dir={tmp_path / 'profile'}", path.as_uri()]
        return subprocess.run(words, capture_output=True, text=True, timeout=120).stdout

    control = tmp_path / "control.html"
    control.write_text(f"<body>{HTML}</body>")
    assert 'data-evil="1"' in body(control)  # the same name does run where nothing escapes it
    shown = body(evaluated / "report.html")
    assert "</html>" in shown
    assert 'data-evil="1"' not in shown


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of h5netcdf, on closing such a file
def test_a_damaged_posterior_is_refused_in_a_sentence_or_says_the_same(tmp_path):
    """Damage to the file's unused bytes does none; HDF5's checksums find the rest."""
    save_posterior(tmp_path / "p.nc")
    whole, draws = (tmp_path / "p.nc").read_bytes(), load(tmp_path / "p.nc")["posterior"]["plausibility"]
    random = Random(1)
    refusals = []
    for _ in range(12):
        damaged = bytearray(whole)
        for _ in range(random.randrange(1, 6)):
            damaged[random.randrange(len(damaged))] = random.randrange(256)
        (tmp_path / "q.nc").write_bytes(damaged)
        try:
            found = load(tmp_path / "q.nc")
            assert annotations_of(found) == KNOWN
            assert found["posterior"]["plausibility"].identical(draws)
        except PlausiblyError as error:
            refusals.append(str(error))
    assert len(refusals) > 2
    assert not [text for text in refusals if "\n" in text]
