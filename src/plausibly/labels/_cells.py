"""Labels written as text in the cells of a table."""

import ast
import json
import re
from collections.abc import Callable
from typing import Any

from plausibly.distances import tree_of

_NUMBERS = re.compile(r"\[[\s\d.eE+\-\[\]]*\]")
_GAP = re.compile(r"(?<=[\d.\]])\s+(?=[\d.\[]|[+-][\d.])")  # between two numbers or rows


def literal(cell: str) -> Any:
    """Read JSON, a Python literal, or an array as NumPy prints it; anything else is the text itself."""
    text = cell.strip()
    if not text or text[0] not in "[{(\"'-.0123456789":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if _NUMBERS.fullmatch(text):  # without commas
        text = _GAP.sub(", ", text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return cell.strip()


def spans_of_tags(tags: list[str]) -> list[tuple[int, int, str]]:
    """Turn BIO tags of tokens into spans.

    Tags are ``O``, or ``B-`` (begins) or ``I-`` (inside) and a type. A span that begins with ``I-`` begins there.
    """
    spans: list[tuple[int, int, str]] = []
    for place, tag in enumerate(tags):
        mark, _, kind = tag.partition("-")
        if mark not in ("B", "I", "O") or (mark == "O" and kind):
            raise ValueError(f"a tag is O, B-… or I-…, got {tag!r}")
        if mark == "I" and spans and spans[-1][1] == place and spans[-1][2] == kind:
            spans[-1] = (spans[-1][0], place + 1, kind)
        elif mark != "O":
            spans.append((place, place + 1, kind))
    return spans


def tree(cell: str) -> str:
    """Check that brackets match; the label stays text."""
    tree_of(cell)
    return cell


#: How the cells of each kind are read.
CELLS: dict[str, Callable[[str], Any]] = {
    "literal": literal,
    "text": str,
    "bio": lambda cell: spans_of_tags(cell.split()),
    "trees": tree,
}
