"""Options that a command has from the functions that it calls."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from plausibly.app.cli._signatures import MOST, Shortened, of, spread

SHARED = """
seed
    Random seed.
quiet --quiet -q
    Print less.
"""


def study(
    table: Any,
    *,
    rule: Literal["first", "last"] | None = None,
    by: str | Sequence[str] | None = None,
    weights: str | float | None = None,
    size: int = 3,
    exact: bool = False,
    source: Any = (),
    seed: int = 0,
) -> dict[str, Any]:
    """Return what it was given.

    Parameters
    ----------
    rule
        Which one counts. More on that.
        By default ``"first"``.
    by, weights
        Column of a table; with ``size=3`` it is :func:`plausibly.plan`'s.
    size
        Size :math:`\\gamma`.
    exact
        Whether to be exact.
    source
        Where from.
    seed
        Seed of the study.
    """
    return locals()


@dataclass
class Output:
    """Where it goes.

    Options
    -------
    out FOLDER
        Folder of its own.
    """

    out: Path | None = None
    quiet: bool = False


def command_of(function, shared=SHARED):
    app = typer.Typer(add_completion=False)
    app.command("it", cls=Shortened)(spread(function, shared))
    return app, typer.main.get_command(app).params


@of(study, "rule by:COLUMN,… weights:COLUMN size exact source:FILE seed")
def it(*, output: Output, **asked: Any) -> None:
    print(output, sorted(study(None, **asked).items()))


def test_types_defaults_and_help_are_those_of_the_function():
    app, params = command_of(it)
    told = {one.name: (one.opts, one.metavar, one.help, one.default) for one in params}
    assert told["rule"][1:] == (None, "Which one counts. By default first.", None)
    assert told["by"][1:] == ("COLUMN,…", "Column of a table; with --size 3 it is plausibly.plan's.", None)
    assert told["size"][2:] == ("Size γ.", 3)
    assert told["exact"][2] == "Be exact."
    assert told["seed"] == (["--seed"], None, "Random seed.", 0)  # alike in all commands
    assert told["out"][1:3] == ("FOLDER", "Folder of its own.")
    assert told["quiet"][0] == ["--quiet", "-q"]
    words = ["--rule", "last", "--by", "a,b", "--weights", "w", "--exact", "--source", "x.csv", "-q"]
    said = CliRunner().invoke(app, words).output
    for shown in ("quiet=True", "('by', ['a', 'b'])", "('weights', 'w')", "('source', PosixPath('x.csv'))"):
        assert shown in said
    assert "('size', 3)" in said
    assert "('by', None), ('exact', False), ('rule', None), ('seed', 0), ('size', 3), ('source', ())" in " ".join(
        CliRunner().invoke(app, []).output.split()
    )
    assert CliRunner().invoke(app, ["--rule", "middle"]).exit_code == 2


@pytest.mark.parametrize("n", [MOST - 1, MOST])
def test_the_options_after_the_thirtieth_are_shown_on_request(n):
    names = [f"option_{number}" for number in range(n)]
    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=0, annotation=int) for name in names]

    def many(**given: int) -> None:
        """Do nothing."""

    many.__signature__ = inspect.Signature(parameters)
    app, params = command_of(many, "".join(f"{name}\n    Help of {name}.\n" for name in names))
    shown = CliRunner().invoke(app, ["--help"]).output
    listed = [one.opts[0] for one in params if f" {one.opts[0]} " in shown]
    if n < MOST:
        assert len(listed) == n
        assert "--help-all" not in shown
    else:
        assert len(listed) == MOST - 1  # and --help
        assert f"Show {n - MOST + 2} more options" in " ".join(shown.replace("│", " ").split())
        everything = CliRunner().invoke(app, ["--help-all"]).output
        assert all(f" {one.opts[0]} " in everything for one in params)
    assert CliRunner().invoke(app, [f"--option-{n - 1}", "2"]).exit_code == 0
