"""``plausibly model new``: a copy of a built-in model to change."""

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from plausibly import models
from plausibly.cli._app import example
from plausibly.cli._output import make_folder, say, writing
from plausibly.errors import ArgumentError, FileError

_DECLARED = re.compile(r'(\bname=)"[^"]*"')


@example(
    """
    plausibly model new prirn mine.py
    plausibly evaluate annotations.json --model mine.py@30 --out results/
    """
)
def model() -> None:
    """Start an aggregation model of your own from a built-in one."""


@example(
    """
    plausibly model new prirn mine.py
    plausibly evaluate annotations.json --model mine.py@30 --model prirn@30 --out results/
    """
)
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"Built-in model: {', '.join(models.MODELS)}.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Python file to write, such as mine.py.")],
) -> None:
    """Write a copy of a built-in model, which runs as it is and is there to be changed.

    The copy is named after its file, so that both can be run side by side.
    """
    if name not in models.MODELS:
        near = get_close_matches(name, models.MODELS, n=1)
        fix = f"did you mean {near[0]}?" if near else f"choose from {', '.join(models.MODELS)}."
        raise ArgumentError(f"there is no model {name!r}: {fix}")
    if file.suffix != ".py":
        raise ArgumentError(f"FILE must be a Python file, but {str(file)!r} was given: write for example mine.py.")
    if file.exists():
        raise FileError(f"{file} exists already, and is left as it is: choose another name, or remove it.")
    label = re.sub(r"[^\w.]+|_", "-", file.stem)
    if label in models.MODELS:
        raise ArgumentError(
            f"a model in {str(file)!r} would be named {label!r} like a built-in one: write for example my_{file.name}."
        )
    source = Path(models.__file__).with_name(f"{name.replace('-', '_')}.py").read_text(encoding="utf-8")
    before, declared, after = source.rpartition("\nmodel = Model(")
    make_folder(file.parent)
    with writing(file):
        file.write_text(before + declared + _DECLARED.sub(rf'\1"{label}"', after, count=1), encoding="utf-8")
    usual = models.MODELS[name].reliability
    at = "" if usual is None else f"@{usual:g}"
    say(f"Wrote a copy of {name} to {file}. Run it by --model {file}{at}, beside {name} by --model {name}{at}.")


SUBCOMMANDS = (new,)
