"""``plausibly models new``: a copy of a built-in model to change."""

import re
from pathlib import Path
from typing import Annotated

import typer

from plausibly import models
from plausibly.aggregation.registry import unknown_model
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder, writing
from plausibly.app.cli._output import say
from plausibly.base.errors import ArgumentError, FileError

_DECLARED = re.compile(r'(\bname=)"[^"]*"')


@example(
    """
    plausibly models new prirn mine.py
    plausibly evaluate annotations.json --model mine.py@30 --model prirn@30 --out results/
    """
)
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"Built-in model to copy: {', '.join(models.MODELS)}.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Python file to write, such as mine.py.")],
) -> None:
    """Write a copy of a built-in model for you to change.

    The copy runs as it is. The model takes its name from the file, so that copy and original can be run side by side.
    """
    if name not in models.MODELS:
        raise ArgumentError(unknown_model(name))
    if file.suffix != ".py":
        raise ArgumentError(f"FILE must be a Python file, but {str(file)!r} was given: write for example mine.py.")
    if file.exists():
        raise FileError(f"{file} exists already: choose another name, or remove the file.")
    label = re.sub(r"[^\w.]+|_", "-", file.stem)
    if label in models.MODELS:
        raise ArgumentError(
            f"a model in {str(file)!r} would have the name of a built-in model, {label!r}: write for example "
            f"my_{file.name}."
        )
    source = Path(models.__file__).with_name(f"{name.replace('-', '_')}.py").read_text(encoding="utf-8")
    before, declared, after = source.rpartition("\nmodel = Model(")
    make_folder(file.parent)
    with writing(file):
        file.write_text(before + declared + _DECLARED.sub(rf'\1"{label}"', after, count=1), encoding="utf-8")
    usual = models.MODELS[name].reliability
    at = "" if usual is None else f"@{usual:g}"
    say(f"Wrote a copy of {name} to {file}. Run both side by side with --model {file}{at} --model {name}{at}.")
