"""Arguments of Python as options of the command line, in messages that come from below it.

A message names an argument as ``seed=3``, or as ``seed=3 (--seed 3)`` where both are said. On the command line only the
option is.
"""

import re
from collections.abc import Mapping
from typing import Any

_VALUE = r"""(?:"[^"]*"|'[^']*'|\{[^{}]*\}|\[[^\[\]]*\]|(?:[^\s(),;:"']*[^\s(),;:"'.])?)"""
_START = r"(?<![\w'\":.,@/=-])"  # no part of a path, of a text that was given, or of NAME@R:OPTION=VALUE
_ARGUMENT = rf"{_START}[a-z][a-z_]*={_VALUE}"
_AGAIN = rf"(?: or (?P=name)={_VALUE})*"
_BOTH = re.compile(
    rf"(?:{_START}(?P<name>[a-z][a-z_]*)={_VALUE}{_AGAIN}|pb\.[\w.]+\([^()]*\)) \((?P<option>--[^()]*)\)"
)
_WITHIN = re.compile(rf"\((?:{_ARGUMENT}, )*{_ARGUMENT}[;,] (--[^()]*)\)")
_ALONE = re.compile(rf"{_START}([a-z][a-z_]*)=({_VALUE})")
_SUBJECT = re.compile(r"^((?:\S+: )?)([a-z][a-z_]*)(?= (?:must|needs|names|is for|are for|was given|were given)\b)")
_NAME = re.compile(rf"{_START}([a-z]+_[a-z_]+)(?![\w'\":.=/-])")


def in_options(text: str, parameters: Mapping[str, Any] | None = None) -> str:
    """Write a message with options in place of arguments.

    Parameters
    ----------
    text
        The message.
    parameters
        Parameters of the command by name; without them, arguments are replaced only where their option is said, too.

    Examples
    --------
    >>> in_options('leave such rows out with extra="ignore" (--extra ignore)')
    'leave such rows out with --extra ignore'
    """
    text = _WITHIN.sub(r"(\1)", _BOTH.sub(r"\g<option>", text))
    if not parameters:
        return text
    text = _ALONE.sub(lambda found: _option(parameters, found[1], found[2]) or found[0], text)
    text = _SUBJECT.sub(lambda found: found[1] + (_option(parameters, found[2]) or found[2]), text)
    return _NAME.sub(lambda found: _option(parameters, found[1]) or found[0], text)


def _option(parameters: Mapping[str, Any], name: str, value: str | None = None) -> str | None:
    """Return an option with its value; None if the command has none of this name, or not with such a value."""
    found = parameters.get(name)
    if found is None or not found.opts[0].startswith("--"):
        return None
    option = found.opts[0]
    if not value or (value == "True" and found.is_flag):
        return option
    if value in ("True", "False", "None"):
        return None
    if value[0] in "{[…":
        return f"{option} {found.metavar or '…'}"
    return f"{option} {value.strip(chr(34) + chr(39))}"
