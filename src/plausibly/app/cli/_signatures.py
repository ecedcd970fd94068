"""Options of a command from the signatures and the docstrings of the functions that it calls.

A command, or a class of options, says of which functions it is (:func:`of`). The help of an option is in the docstring
of the command or class (below ``Options``, by name and what the value is called), or alike in all commands; or it is
the first sentence of its description in the docstring of a function, with those on its default. Parameters that a
command only hands on are not declared at all: it takes them as ``**name``.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, wraps
from pathlib import Path
from pkgutil import resolve_name
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import typer
from typer.core import TyperCommand
from typer.models import ArgumentInfo, ParameterInfo

Target = TypeVar("Target", bound=Callable[..., Any])

MOST, EVERY = 30, "help_all"  #: options that --help shows, with those on help; the one that shows all

#: Options in the order in which they are needed, all others in the place of "".
ORDER = (
    *("predictions", "model", "new", "out", "quick", "gold", "truth", "panel", "readers", "positive", "threshold"),
    *("metrics", "metric", "require", "by", "clusters", "classes", "risks", "alpha", "target", "ordered"),
    *("annotations_only", "one_truth", "extra", "unpredicted", "ci_prob", "missing", "layout"),
    *("draws", "seed", "strict", "quiet", "", "case", "annotator", "label", "count", "control", "choices", "dask"),
)
_GREEK = {"alpha": "α", "gamma": "γ", "kappa": "κ", "lambda": "λ"}


def of(function: Callable[..., Any] | str, names: str = "") -> Callable[[Target], Target]:
    """Take the help of options from a function, and whole options by their `names`.

    Blanks separate names. With one, after a colon, may stand what its value is called: ``COLUMN``, ``FILE``, or, for a
    list, ``NAME,…``. A `function` of a module that takes long to import is named, as in ``"plausibly:evaluate"``.
    """

    def add(target: Target) -> Target:
        target._functions = [(function, names), *target.__dict__.get("_functions", ())]  # type: ignore[attr-defined]
        return target

    return add


def spread(command: Callable[..., None], shared: str) -> Callable[..., None]:
    """Give a command all of its options: fields of its classes of options, and parameters that it hands on.

    `shared` describes the options that are alike in all commands, as a docstring does; the line above a description has
    the name, what the value is called, and the options themselves if the name does not say so.
    """
    alike = _described(shared)
    declared = inspect.signature(command).parameters
    handed_on = {name: one for name, one in _named(command).items() if name not in declared}
    parameters: list[inspect.Parameter] = []
    classes: dict[str, Any] = {}

    def add(one: inspect.Parameter, *targets: Any) -> None:
        own = [_described(text) for target in targets for text in _texts(target)]
        words, told = next((known[one.name] for known in (*own, alike) if one.name in known), ((), ""))
        functions = (function for target in targets for function in _functions(target))
        told = told or next((text for function in functions if (text := _descriptions(function).get(one.name))), "")
        metavar = next((_named(target)[one.name][1] for target in targets if one.name in _named(target)), "")
        annotation = _with_help(one, told, [metavar, *words] if metavar else words)
        parameters.append(one.replace(kind=one.KEYWORD_ONLY, annotation=annotation))

    for one in declared.values():
        if is_dataclass(one.annotation):
            classes[one.name] = one.annotation
            for field in fields(one.annotation):
                if field.init:
                    default = one.empty if field.default is MISSING else field.default
                    add(one.replace(name=field.name, default=default, annotation=field.type), one.annotation, command)
        elif one.kind is one.VAR_KEYWORD:
            for name, (function, metavar) in handed_on.items():
                add(_as_option(inspect.signature(function).parameters[name], metavar), command)
        else:
            add(one, command)

    @wraps(command)
    def with_options(**given: Any) -> None:
        given.pop(EVERY, None)
        for name, (_, metavar) in handed_on.items():
            if given[name] is None:
                del given[name]  # so that the function has its own default
            elif "," in metavar:
                texts = [text.strip() for text in given[name].split(",")]
                given[name] = texts if len(texts) == 1 else [*filter(None, texts)]  # a blank one stands for blank cells
        for name, options in classes.items():
            given[name] = options(**{field.name: given.pop(field.name) for field in fields(options) if field.init})
        command(**given)

    for info in (info for one in parameters for info in _infos(one.annotation) if info.help):
        info.help = re.sub(r"\b([a-z]\w*)=([\w.-]*\w)", _option_of(one.name for one in parameters), info.help)
    words = [one for one in parameters if any(isinstance(info, ArgumentInfo) for info in _infos(one.annotation))]
    options = [one for one in parameters if one not in words]
    options.sort(key=lambda one: ORDER.index(one.name if one.name in ORDER else ""))
    if len(options) >= MOST:
        options.insert(MOST - 2, _help_all(len(options) - MOST + 2))
    parameters = [*words, *options]
    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_options


class Shortened(TyperCommand):
    """A command whose ``--help`` shows the options that are needed most."""

    def format_help(self, ctx, formatter):
        names = [one.name for one in self.params]
        rest: list[Any] = self.params[names.index(EVERY) + 1 :] if EVERY in names and EVERY not in ctx.meta else []
        for one in rest:
            one.hidden = one.param_type_name == "option"
        super().format_help(ctx, formatter)
        for one in rest:
            one.hidden = False


def _help_all(n_more: int) -> inspect.Parameter:
    def show(ctx: typer.Context, wanted: bool) -> None:
        if wanted:
            ctx.meta[EVERY] = True
            typer.echo(ctx.get_help())
            raise typer.Exit

    info = typer.Option("--help-all", is_eager=True, callback=show, help=f"Show {n_more} more options, and exit.")
    return inspect.Parameter(EVERY, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, info])


def _option_of(names: Iterable[str]) -> Callable[[re.Match[str]], str]:
    """Write an argument as the option, if it is one."""
    known = {*names}
    return lambda one: f"--{one[1].replace('_', '-')} {one[2]}" if one[1] in known else one[0]


def _infos(hint: Any) -> Iterator[ParameterInfo]:
    return (info for info in getattr(hint, "__metadata__", ()) if isinstance(info, ParameterInfo))


def parted(docstring: str | None) -> tuple[str, str]:
    """Part a docstring from the help of its options."""
    text, _, told = inspect.cleandoc(docstring or "").partition("\n\nOptions\n-------\n")
    return text, told


def _texts(target: Any) -> list[str]:
    """Help of options in the docstrings of a command, or of a class and its bases."""
    return [getattr(one, "told", None) or parted(one.__doc__)[1] for one in getattr(target, "__mro__", (target,))]


def _described(text: str) -> dict[str, tuple[list[str], str]]:
    return {name: (words, told) for (name, *words), told in _sections(text)}


def _functions(target: Any) -> list[Callable[..., Any]]:
    """Functions that a command, or a class of options, is of."""
    found = [each for one in getattr(target, "__mro__", (target,)) for each in one.__dict__.get("_functions", ())]
    return [resolve_name(function) if isinstance(function, str) else function for function, _ in found]


def _named(target: Any) -> dict[str, tuple[Callable[..., Any], str]]:
    """Function of each parameter that is named, and what its value is called, if that is said."""
    noted = [each for one in getattr(target, "__mro__", (target,)) for each in one.__dict__.get("_functions", ())]
    named = [
        (function, text.partition(":"))
        for function, (_, names) in zip(_functions(target), noted, strict=True)
        for text in names.split()
    ]
    return {name: (function, metavar) for function, (name, _, metavar) in named}


def _as_option(one: inspect.Parameter, metavar: str) -> inspect.Parameter:
    """Parameter of a function as an option: of several types, with the one that a word can be."""
    hint = one.annotation
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    found: Any = next((kind for kind in kinds if get_origin(kind) is Literal), None)
    numbers = () if metavar == "COLUMN" else (bool, int, float)
    found = found or next((kind for kind in numbers if kind in kinds), Path if metavar == "FILE" else str)
    default = one.default if isinstance(one.default, str | int | float) else None
    return one.replace(default=default, annotation=found | None if default is None else found)


def _with_help(one: inspect.Parameter, told: str, words: Sequence[str]) -> Any:
    """Annotate a parameter with its option, unless that has a help."""
    hint = one.annotation
    given = next(_infos(hint), None)
    if given is not None and (given.help or isinstance(given, ArgumentInfo)):
        return hint
    info = typer.Option() if given is None else copy(given)
    flags = [word for word in words if word.startswith("-")] or [f"--{one.name.replace('_', '-')}"]
    info.help, info.param_decls, info.show_default = told, info.param_decls or flags, "By default" not in told
    if hint is not bool:
        info.metavar = info.metavar or next((word for word in words if not word.startswith("-")), None)
    return Annotated[hint if given is None else get_args(hint)[0], info]


@cache
def _descriptions(function: Callable[..., Any]) -> dict[str, str]:
    """Describe every parameter: the first sentence of its description, and the one on its default."""
    text = re.sub(r"(?m)^([a-z]\w*)((?:, \w+)+)$", lambda one: one[0].replace(",", ""), inspect.getdoc(function) or "")
    return {name: _in_words(told) for names, told in reversed([*_sections(text)]) for name in names}


def _sections(text: str) -> Iterator[tuple[list[str], str]]:
    """Lines of a text that begin with a small letter, in words, each with what is indented below it."""
    for head, told in re.findall(r"(?m)^([a-z].*)\n((?: +.*(?:\n|\Z))+)", text):
        yield head.split(), " ".join(told.split())


def _in_words(text: str) -> str:
    """Write a description for the terminal.

    Examples
    --------
    >>> _in_words('Loss, as of :func:`plausibly.plan`; with ``ci_prob=0.9``. It is a number. By default ``"risk"``.')
    'Loss, as of plausibly.plan; with ci_prob=0.9. By default risk.'
    """
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", text)
    text = re.sub(r"\\([a-z]+)", lambda one: _GREEK.get(one[1], one[1]), text)
    text = re.sub(r"``(\w+=)\"?([\w.-]+)\"?``", r"\1\2", text)
    text = re.sub(r"``\"?(.*?)\"?``", r"\1", text).replace("`", "")
    text = re.sub("^Whether to (.)", lambda one: one[1].upper(), text)
    first, *rest = re.split(r"(?<=[.)]) (?=[A-Z])", text)
    return " ".join([first, *(one for one in rest if one.startswith("By default"))])
