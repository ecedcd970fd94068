"""What is new has a line in the reference and a test, and package docstrings name modules that exist."""

import ast
import re
from pathlib import Path

import pytest
import typer

import plausibly as pb
from plausibly.app.cli import app
from plausibly.models import MODELS

ROOT = Path(__file__).parent.parent
PACKAGES = sorted([*(ROOT / "src").rglob("__init__.py"), ROOT / "models/__init__.py"])
NAMES = {
    "command": typer.main.get_command(app).commands,
    "model": MODELS,
    "prior": {prior for model in MODELS.values() for prior in model.options.get("class_prior", ())},
}


def texts(*places):
    return "\n".join(path.read_text(encoding="utf-8") for place in places for path in ROOT.glob(place))


@pytest.mark.parametrize("kind", NAMES)
def test_everything_is_described_and_tested(kind):
    described = texts("README.md", "docs/**/*.md") + pb.aggregate.__doc__
    tested = texts("tests/**/test_*.py", "tests/worlds.py").replace("_", "-")
    for name in NAMES[kind]:
        assert re.search(rf"[`\"]{re.escape(name)}[`\"@]", described), f"{kind} {name} is in no page"
        assert re.search(rf"[\"' ]{re.escape(name)}[\"'@ ]", tested), f"{kind} {name} is in no test"


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: path.parent.relative_to(ROOT).as_posix())
def test_modules_that_a_docstring_names_exist(path):
    """In docstrings of packages, what starts with an underscore is a module."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    assert set(re.findall(r"``(_\w+)``", docstring)) <= {found.stem for found in path.parent.iterdir()}
