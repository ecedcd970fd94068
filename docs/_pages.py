"""Pages of the reference that the package writes itself: a page for each public module and each command."""

import importlib
import inspect
import platform
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

#: Modules with a page, in the order of the data's way.
MODULES = (
    *("plausibly", "annotations", "models", "families", "aggregation", "posterior", "diagnostics", "evaluation"),
    *(
        "evaluation.comparison",
        "metrics",
        "model_comparison",
        "priors",
        "conformal",
        "planning",
        "sweeps",
        "systems",
        "agreement",
    ),
    *(
        "labels",
        "distances",
        "annotators",
        "audit",
        "doctor",
        "plots",
        "report",
        "results",
        "datasets",
        "distributions",
        "primitives",
    ),
    *("case", "random_streams", "errors"),
)

VERBS = ("conformal", "audit", "doctor", "report", "systems")  #: modules that share their name with a function


def public_names(module: ModuleType) -> Iterator[tuple[str, str]]:
    """Public names of a module in the order of the alphabet, each with the directive that documents it."""
    for name in sorted(dir(module), key=str.lower):
        value = getattr(module, name)
        ours = (getattr(value, "__module__", "") or "").startswith("plausibly")
        if name.startswith("_") or inspect.ismodule(value):
            continue
        if inspect.isclass(value) and ours:
            yield name, "autoclass"
        elif callable(value) and ours:
            yield name, "autofunction"
        elif name.isupper():
            yield name, "autodata"


def write_python(folder: Path) -> None:
    """Write a page for every module: its docstring, and every public name with its own."""
    _emptied(folder)
    told: dict[int, str] = {}
    for name in MODULES:
        whole = name if name == "plausibly" else f"plausibly.{name}"
        module = importlib.import_module(whole)
        # Some modules share their name with a function, which has the entry in the index.
        index = "   :no-index:\n" if name in VERBS else ""
        lines = [whole, "=" * len(whole), "", f".. automodule:: {whole}\n{index}", ""]
        for public, directive in public_names(module):
            value = getattr(module, public)
            lines += [public, "-" * len(public), ""]
            if told.setdefault(id(value), whole) != whole:
                lines += [f"See :obj:`{told[id(value)]}.{public}`.", ""]
                continue
            options = {"autoclass": "   :members:\n", "autodata": "   :no-value:\n"}.get(directive, "")
            if inspect.isclass(value) and {base.__module__.partition(".")[0] for base in value.mro()[1:-1]} == {
                "plausibly"
            }:
                options += "   :inherited-members:\n"  # of classes of ours, not of libraries'
            lines += [f".. {directive}:: {whole}.{public}\n{options}", ""]
        (folder / f"{whole}.rst").write_text("\n".join(lines), encoding="utf-8")
    names = (name if name == "plausibly" else f"plausibly.{name}" for name in MODULES)
    title = "Python"
    listed = "\n".join(f"   {name}" for name in names)
    (folder / "index.rst").write_text(f"{title}\n{'=' * len(title)}\n\n.. toctree::\n\n{listed}\n", encoding="utf-8")


def write_formats(path: Path) -> None:
    """Write a table of the formats of annotations, which the page of file formats includes."""
    from plausibly.data.annotations.io.formats import FORMATS

    rows: dict[str, dict[str, None]] = {}
    for known in FORMATS:
        if known.content:
            rows.setdefault(known.content, {}).update(dict.fromkeys(known.suffixes))
    lines = [f"| {', '.join(f'`{suffix}`' for suffix in suffixes)} | {text} |" for text, suffixes in rows.items()]
    path.write_text("\n".join(["| suffix | content |", "|---|---|", *lines, ""]), encoding="utf-8")


def write_versions(path: Path, project: Path) -> None:
    """Write a table of the dependencies: the oldest version of each that is allowed, and the one that is installed."""
    declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    rows = [f"| Python | {declared['requires-python']} | {platform.python_version()} |"]
    for needed in declared["dependencies"]:
        name, allowed = re.fullmatch(r"([\w-]+)(.*)", needed).groups()
        rows.append(f"| {name} | {allowed.replace(',', ', ')} | {version(name)} |")
    path.write_text("\n".join(["| library | allowed | this site |", "|---|---|---|", *rows, ""]), encoding="utf-8")


def _emptied(folder: Path) -> None:
    """Make a folder of pages, without those of commands and modules that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in folder.glob("*.*"):
        page.unlink()


def write_commands(folder: Path) -> None:
    """Write a page for every command: its help, and a table of its options."""
    from plausibly.app.cli._app import COMMANDS, HIDDEN, WITHIN, load_command

    _emptied(folder)
    names = [name for name in (*COMMANDS, *HIDDEN) if name not in {"model", *WITHIN["models"].values()}]
    for name in names:
        within = {inner: load_command(elsewhere) for inner, elsewhere in WITHIN.get(name, {}).items()}
        (folder / f"{name}.md").write_text(_command(name, load_command(name), within), encoding="utf-8")
    listed = "\n".join(names)
    (folder / "index.md").write_text(f"# Commands\n\n```{{toctree}}\n{listed}\n```\n", encoding="utf-8")


def _command(name: str, command: Any, within: Mapping[str, Any], level: int = 1) -> str:
    """A page: the help, arguments and options of a command, and those of the commands within it."""
    text, _, example = (command.help or "").partition("\b\nExample:\n")
    lines = [f"{'#' * level} plausibly {name}", "", text.strip(), ""]
    if example:
        lines += ["```sh", textwrap.dedent(example).strip(), "```", ""]
    # By the kind that parameters name, since Typer may bring its own copy of Click.
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    lines += [f"{'#' * level}# Arguments", ""] if arguments else []
    for one in arguments:
        lines += [f"`{_metavar(one)}`", f": {_text(one)}", ""]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    lines += [f"{'#' * level}# Options", ""] if options else []
    for one in options:
        said = ", ".join((*one.opts, *one.secondary_opts))
        shown = "" if one.is_flag else f" {_metavar(one)}"
        lines += [f"`{said}{shown}`", f": {_text(one)}", ""]
    lines += [_command(f"{name} {inner}", found, {}, level + 1) for inner, found in within.items()]
    return "\n".join(lines)


def _text(parameter: Any) -> str:
    """The help of a parameter, with its default."""
    text = " ".join(re.sub(r"\[/?[a-z ]+\]", "", getattr(parameter, "help", None) or "").split()).replace("*", r"\*")
    default = parameter.default
    if default is None or isinstance(default, bool) or callable(default) or default in ((), [], ""):
        return text
    return f"{text} Default: `{', '.join(map(str, default)) if isinstance(default, list | tuple) else default}`."


def _metavar(parameter: Any) -> str:
    """What stands for the value of a parameter."""
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    choices = get_args(annotation) if get_origin(annotation) is Literal else ()
    return parameter.metavar or "|".join(map(str, choices)) or "VALUE"
