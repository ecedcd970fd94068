"""The application that the commands belong to, and its handling of errors."""

import textwrap
from collections.abc import Callable
from typing import Annotated

import typer
from typer.core import TyperGroup

import plausibly
from plausibly.cli._output import complain, notes
from plausibly.errors import PlausiblyError

NOT_CONVERGED, BAD_INPUT, INTERRUPTED = 1, 2, 130  #: exit statuses


class _Group(TyperGroup):
    """Commands that answer bad input with one sentence instead of a traceback."""

    def invoke(self, ctx):
        try:
            with notes():
                return super().invoke(ctx)
        except PlausiblyError as error:
            complain(str(error))
            raise typer.Exit(BAD_INPUT) from None
        except MemoryError as error:
            complain(f"out of memory ({error}): take fewer draws or chains, or fewer cases at a time.")
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            complain("interrupted; files written so far are kept.", "Stopped")
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def example(text: str) -> Callable[[Callable], Callable]:
    """Add an example to the help of a command, with its line breaks."""

    def add(command: Callable) -> Callable:
        lines = textwrap.indent(textwrap.dedent(text).strip("\n"), "  ")
        paragraphs = [" ".join(paragraph.split()) for paragraph in (command.__doc__ or "").split("\n\n")]
        command.__doc__ = "\n\n".join([*paragraphs, f"\b\nExample:\n{lines}"])
        return command

    return add


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"plausibly {plausibly.__version__}")
        raise typer.Exit


@app.callback()
@example(
    """
    plausibly demo
    plausibly evaluate annotations.json --predictions A=a.csv --out results/
    """
)
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Evaluate classifiers under uncertain ground truth.

    Annotations that disagree give a distribution over the truth of each case. Classifiers are measured against draws
    from it instead of against one voted label.
    """


def main() -> None:
    """Run the command line."""
    app()
