"""The application that the commands belong to, and its handling of errors."""

import ast
import atexit
import gc
import textwrap
from collections.abc import Callable
from contextvars import copy_context
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import plausibly
from plausibly.app.cli._folder import COMMAND, of_one_run
from plausibly.app.cli._output import PARAMETERS, complain, notes
from plausibly.app.cli._signatures import Shortened, parted, spread
from plausibly.app.cli._wording import in_options
from plausibly.base.arviz import use_data_trees
from plausibly.base.errors import PlausiblyError
from plausibly.base.progress import wording

BAD_INPUT, INTERRUPTED = 2, 130  #: exit statuses

#: In the order in which a newcomer needs them. A command is the function of its name in the module of its name, such as
#: ``prior_sensitivity`` in ``_prior_sensitivity``.
COMMANDS = (
    *("demo", "doctor", "evaluate", "aggregate", "models", "conformal", "plan", "diagnose", "agreement", "judge"),
    *("discrepancy", "readers", "systems", "reliability", "convert"),
)
#: Commands that ``--help`` does not list, since others do what they do, or prepare it.
HIDDEN = "audit", "sweep", "compare", "compare-models", "check", "prior-sensitivity", "simulate", "model"
#: Commands within a command, and what they are called elsewhere.
WITHIN = {
    "models": {"compare": "compare-models", "check": "check", "priors": "prior-sensitivity", "new": "new"},
    "model": {"new": "new"},
}
_LOOK = {
    "pretty_exceptions_enable": False,
    "rich_markup_mode": "rich",
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


def load_command(name: str) -> Any:
    """Import the module of a command, and return the command with its options."""
    from plausibly.app.cli._options import SHARED

    if name in WITHIN:
        group = typer.Typer(cls=_Loaded, no_args_is_help=True, add_completion=False, **_LOOK)
        group.callback()(models)
        for within in WITHIN[name]:
            group.command(within)(lambda: None)
        found = typer.main.get_command(group)
        found.name = name
        return found
    function = name.replace("-", "_")
    alone = typer.Typer(add_completion=False, **_LOOK)
    command = getattr(import_module(f"plausibly.app.cli._{function}"), function)
    alone.command(name, cls=Shortened)(spread(command, SHARED))
    return typer.main.get_command(alone)


def read_summary(name: str) -> str:
    """Read the first paragraph of a command's help from its source, because importing it would take a second."""
    function = "models" if name in WITHIN else name.replace("-", "_")
    path = Path(__file__) if name in WITHIN else Path(__file__).with_name(f"_{function}.py")
    source = path.read_text(encoding="utf-8")
    (found,) = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == function)
    return " ".join((ast.get_docstring(found) or "").split("\n\n")[0].split())


class _Loaded(TyperGroup):
    """Commands that are imported when they are run."""

    def resolve_command(self, ctx, args):
        if self.name not in WITHIN and args[0] not in self.commands and Path(args[0]).exists():
            args = ["doctor", *args]  # which says what the files are for
        name, command, rest = super().resolve_command(ctx, args)
        elsewhere = self._elsewhere(name)
        COMMAND.set(elsewhere)
        command = load_command(elsewhere) if name in self.commands else command
        PARAMETERS.set({str(one.name): one for one in getattr(command, "params", ())})
        wording.set(lambda text: in_options(text, PARAMETERS.get()))
        return name, command, rest

    def format_help(self, ctx, formatter):
        self._describe()
        super().format_help(ctx, formatter)

    def shell_complete(self, ctx, incomplete):
        self._describe()
        return super().shell_complete(ctx, incomplete)

    def _elsewhere(self, name):
        return WITHIN.get(self.name or "", {}).get(name, str(name))

    def _describe(self):
        for name, command in self.commands.items():
            command.help = read_summary(self._elsewhere(name))


class _Group(_Loaded):
    """The same, which answer bad input with one sentence instead of a traceback."""

    def invoke(self, ctx):
        return copy_context().run(self._invoke, ctx)  # what a command sets ends with it

    def _invoke(self, ctx):
        try:
            with notes(), of_one_run():
                return super().invoke(ctx)
        except PlausiblyError as error:
            complain(str(error))
            raise typer.Exit(BAD_INPUT) from None
        except MemoryError as error:
            complain(f"out of memory ({error}): use fewer draws or chains, or fewer cases at a time.")
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            complain("interrupted; files written so far are kept.", "Stopped")
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(cls=_Group, no_args_is_help=True, **_LOOK)
for _name in (*COMMANDS, *HIDDEN):
    app.command(_name, hidden=_name in HIDDEN)(lambda: None)  # in whose place load_command puts the real one


def example(text: str) -> Callable[[Callable], Callable]:
    """Add an example to the help of a command, with its line breaks."""

    def add(command: Callable) -> Callable:
        lines = textwrap.indent(textwrap.dedent(text).strip("\n"), "  ")
        told, command.told = parted(command.__doc__)  # type: ignore[attr-defined]
        paragraphs = [" ".join(paragraph.split()) for paragraph in told.split("\n\n")]
        command.__doc__ = "\n\n".join([*paragraphs, f"\b\nExample:\n{lines}"])
        return command

    return add


@example(
    """
    plausibly models compare annotations.json --model plackett-luce@1,3,10 --model prirn
    plausibly models check results/posterior-prirn-30.nc
    plausibly models priors annotations.json --model plackett-luce@3
    plausibly models new prirn mine.py
    """
)
def models() -> None:
    """Compare and check aggregation models, try other priors, and start a model of your own."""


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

    Experts who annotate the same case often disagree. plausibly turns their annotations into a distribution over the
    classes of each case, and evaluates classifiers against it rather than against a single majority-vote label.
    """


def main() -> None:
    """Run the command line."""
    # Imports and traced programs are a million objects that stay. Searching them for cycles takes a tenth of the time.
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)  # at the end, too, where memory is given back anyway
    use_data_trees()
    app()
