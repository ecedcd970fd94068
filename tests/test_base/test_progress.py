import logging
import re
import sys

import jax
import pytest

import plausibly as pb
from plausibly.aggregation.sweeps._plan import _telling
from plausibly.base import progress as _progress
from plausibly.base.programs import nothing_kept
from plausibly.base.progress import Progress, tell


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")


def test_terminals_show_what_is_done_at_once_and_how_much_of_it(terminal, capsys):
    with Progress() as bars:
        advance = bars.task("Drawing", 3, "figures")
        advance(2)
        bars._bars.refresh()
        assert bars._bars.tasks[0].visible
        advance(1)
        assert not bars._bars.tasks[0].visible  # so that there is one bar at a time
    shown = capsys.readouterr().err
    assert "Drawing" in shown
    assert "2/3" in shown
    with Progress() as bars:
        bars.task("Drawing", 3, "figures")
        with Progress() as others:
            others.task("Sampling", 3, "cases")
            assert [task.description for task in bars._bars.tasks if task.visible] == ["Drawing", "Sampling"]
        assert [task.description for task in bars._bars.tasks if task.visible] == ["Drawing"]
        assert bars._bars.live.is_started
    assert not bars._bars.live.is_started
    with Progress() as bars:
        bars.task("Sampling", 0, "cases")(0)
        assert not bars._bars.tasks


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    now = [0.0]
    monkeypatch.setattr(_progress, "monotonic", lambda: now[0])
    return now


def test_nothing_is_shown_in_a_log_or_unless_asked_for(clock, capsys, monkeypatch):
    for where, show in (("0", True), ("1", False)):
        monkeypatch.setenv("TTY_COMPATIBLE", where)
        with Progress(show) as bars:
            advance = bars.task("Drawing", 3, "figures")
            for _ in range(3):
                clock[0] += 5000
                advance(1)
    assert not any(capsys.readouterr())
    tell("Drawn")
    assert tuple(capsys.readouterr()) == ("", "Drawn\n")


def test_finished_steps_are_logged_whether_or_not_they_are_shown(clock, capsys, caplog):
    caplog.set_level(logging.DEBUG, logger="plausibly")
    for show in (True, False):
        with Progress(show) as bars:
            advance = bars.task("Drawing", 3, "figures")
            advance(2)
            clock[0] += 0.5
            advance(1)
            advance(1)
    assert [record.getMessage() for record in caplog.records] == ["Drawing: 3 figures in 0.50 s"] * 2
    assert not any(capsys.readouterr())


def test_steps_are_logged_with_their_seconds_and_nothing_is_printed_unasked(tmp_path, capsys, caplog):
    said = []
    with caplog.at_level(logging.DEBUG, logger="plausibly"):
        annotations = pb.Annotations.from_labels([["a", "a", "b"], ["b", "b"]])
        pb.write_annotations(annotations, tmp_path / "a.json")
        annotations = pb.read_annotations(tmp_path / "a.json")
        (tmp_path / "p.csv").write_text("case,a,b\n0,0.9,0.1\n1,0.2,0.8\n")
        pb.evaluate(annotations, {"A": tmp_path / "p.csv"}, truth="annotator", metrics="accuracy", replicates=2)
        pb.aggregate(annotations, "irn", progress=False, out=tmp_path / "p.nc")
        _telling(said.append)("[1 of 2] irn")
    told = [re.sub(r"[\d.]+ s$", "s", one.getMessage()) for one in caplog.records if one.levelno == logging.INFO]
    expected = [f"Reading {tmp_path / name}" for name in ("a.json", "p.csv")]
    expected += ["Evaluating", f"Writing {tmp_path / 'p.nc'}", "Fitting irn to 2 cases"]
    assert [what.removesuffix(": s") for what in told] == [*expected, *said] == [*expected, "[1 of 2] irn"]
    assert not any(capsys.readouterr())
    handlers = logging.getLogger("plausibly").handlers
    assert any(isinstance(handler, logging.NullHandler) for handler in handlers)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is kept by default")
def test_a_first_run_is_one_before_which_nothing_was_kept(tmp_path):
    before = {name: getattr(jax.config, name) for name in ("jax_compilation_cache_dir", "jax_enable_compilation_cache")}
    try:
        jax.config.update("jax_compilation_cache_dir", str(tmp_path / "new"))
        jax.config.update("jax_enable_compilation_cache", True)
        assert nothing_kept()
        (tmp_path / "new" / "program").touch()
        assert not nothing_kept()
        jax.config.update("jax_enable_compilation_cache", False)
        assert not nothing_kept()
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
