import sys

import jax
import pytest

from plausibly._progress import Progress, tell
from plausibly.inference import nothing_kept


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")


def test_a_terminal_shows_what_is_done_and_how_much_of_it(terminal, capsys):
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


@pytest.mark.parametrize("show", [True, False])
def test_nothing_is_shown_where_nobody_watches(show, capsys):
    with Progress(show) as bars:
        bars.task("Drawing", 3, "figures")(3)
    tell("Drawn")
    assert not any(capsys.readouterr())


def test_work_of_no_parts_has_no_bar(terminal, capsys):
    with Progress() as bars:
        bars.task("Sampling", 0, "cases")(0)
        assert not bars._bars.tasks


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
