"""Imports on demand: what is not used is not imported, and everything is there all the same."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import plausibly

SLOW = ("numpyro", "jax", "arviz", "xarray", "matplotlib", "scipy.stats", "scipy.signal", "pandas", "pyarrow")
FOLDER = Path(plausibly.__file__).parent
LAZY = [".".join(("plausibly", *stub.relative_to(FOLDER).parent.parts)) for stub in FOLDER.rglob("__init__.pyi")]


def python(code, *words):
    """Output of a fresh interpreter, without a trace of what these tests import."""
    run = subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def imported(code, *words):
    """Which of the slow packages a program imports."""
    listing = f"import sys; print('imported', *(name for name in {SLOW} if name in sys.modules))"
    return set(python(f"{code}\n{listing}", *words).splitlines()[-1].split()[1:])


COMMAND = """
from plausibly.cli import app
app(standalone_mode=False)
"""


@pytest.mark.slow
def test_the_package_alone_imports_nothing_slow_and_finds_all_names():
    assert imported("import plausibly; plausibly.__version__; dir(plausibly); plausibly.plots") == set()
    names = "report, plausibly.audit, plausibly.agreement.agreement"
    code = "import plausibly.app.report._sweep, plausibly.data.audit._audit, plausibly.agreement.chance._agreement"
    assert python(f"{code}\nprint(*map(callable, [plausibly.{names}]))").split() == ["True"] * 3
    with pytest.raises(AttributeError, match=r"no attribute 'aggregat': did you mean 'aggregate'\?"):
        _ = plausibly.aggregat
    with pytest.raises(AttributeError, match="no attribute 'compare': it is called compare_models now"):
        _ = plausibly.compare
    assert {"plausibly", "plausibly.agreement", "plausibly.app.plots"} <= set(LAZY)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_list_of_commands_imports_nothing_slow(option):
    assert imported(COMMAND, option) == set()


def test_completing_a_command_imports_nothing_slow(monkeypatch):
    for name, value in {"COMPLETE": "complete_bash", "COMP_WORDS": "plausibly co", "COMP_CWORD": "1"}.items():
        monkeypatch.setenv(f"_PLAUSIBLY_{name}" if name == "COMPLETE" else name, value)
    code = "from plausibly.cli import app\napp(prog_name='plausibly', standalone_mode=False)"
    listing = "import atexit, sys; atexit.register(lambda: print('imported', *(n for n in sys.modules if n in SLOW)))"
    assert python(f"SLOW = {SLOW}\n{listing}\n{code}").split()[-2:] == ["convert", "imported"]


@pytest.mark.slow
def test_converting_and_agreement_need_no_sampler(tmp_path):
    source = tmp_path / "labels.csv"
    source.write_text("case,annotator,class,rank\np,x,wart,1\np,y,corn,1\nq,x,corn,1\n")
    assert imported(COMMAND, "convert", source, tmp_path / "annotations.json") == {"pandas", "pyarrow"}
    assert (tmp_path / "annotations.json").exists()
    labels = tmp_path / "labels.csv"
    labels.write_text("case,annotator,label\np,x,1\np,y,2\nq,x,1\nq,y,1\nr,x,2\nr,y,2\n")
    assert imported(COMMAND, "agreement", labels, "--replicates", 2) == {"pandas", "pyarrow"}
    assert imported(COMMAND, "doctor", labels) == {"pandas", "pyarrow"}
    drawn = imported(COMMAND, "agreement", labels, "--replicates", 2, "--out", tmp_path / "out")
    assert drawn == {"pandas", "pyarrow", "matplotlib"}


@pytest.mark.slow
def test_the_first_numbers_need_neither_figures_nor_arviz(tmp_path):
    labels, predictions = tmp_path / "labels.csv", tmp_path / "a.csv"
    labels.write_text("case,annotator,class\n" + "".join(f"c{at},{who},k{at % 2}\n" for at in range(9) for who in "xy"))
    predictions.write_text("case,k0,k1\n" + "".join(f"c{at},{1 - at % 2},{at % 2}\n" for at in range(9)))
    words = "evaluate", labels, "--predictions", f"A={predictions}", "--quick", "--out", tmp_path / "out"
    code = "from plausibly.cli import main\ntry:\n    main()\nexcept SystemExit as end:\n    assert not end.code"
    assert imported(code, *words) == {"numpyro", "jax", "xarray", "pandas", "pyarrow"}


@pytest.mark.parametrize("name", LAZY)
def test_all_names_are_there(name):
    package = importlib.import_module(name)
    assert package.__all__
    assert set(package.__all__) <= set(dir(package))
    for attribute in package.__all__:
        assert getattr(package, attribute) is not None
