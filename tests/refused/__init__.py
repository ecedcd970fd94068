"""Tables of calls that are refused, one module per area; `tests/test_refused.py` runs them all.

A row says what is wrong, calls it, and names what the sentence has to say: rule, value, place, fix.

    REFUSED = [
        refused("a reliability of nothing", lambda: pb.aggregate(labels(), reliability=-1), "positive.*-1"),
        refused("an empty file", lambda folder: pb.read_annotations(write(folder / "a.csv", "")), "a.csv.*is empty"),
    ]

    REFUSED += each(evaluated, {"k must be .* but 7 was given": {"k": 7}, "there is no metric 'x'": {"metrics": ["x"]}})
    REFUSED += table({(evaluated, ArgumentError): {"k must be .*": {"k": 7}}, (planned,): {"budget": (0,)}})

A call that takes an argument is given an empty folder. Texts are regular expressions that are searched for.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from plausibly.base.errors import PlausiblyError


class Refused(NamedTuple):
    """One call that has to fail."""

    what: str  #: in words; the test's name
    call: Callable[..., Any]
    names: tuple[str, ...]  #: regular expressions, each of which the message contains
    error: type[Exception] = PlausiblyError


def refused(what: str, call: Callable[..., Any], *names: str, error: type[Exception] = PlausiblyError) -> Refused:
    """A row of a table."""
    return Refused(what, call, names, error)


def each(
    call: Callable[..., Any],
    rows: dict[str, dict[str, Any] | tuple[Any, ...]],
    error: type[Exception] = PlausiblyError,
    what: str = "",
) -> list[Refused]:
    """Rows of one call, by what the message says, with the arguments that are wrong, by name or by place."""

    def row(words: str, given: dict[str, Any] | tuple[Any, ...]) -> Refused:
        use = (lambda: call(**given)) if isinstance(given, dict) else (lambda: call(*given))
        return refused(f"{what or call.__name__}: {words}", use, words, error=error)

    return [row(*item) for item in rows.items()]


def table(rows: dict[tuple[Any, ...], dict[str, Any]]) -> list[Refused]:
    """Rows of several calls, each with its error and, where the call has no name, what it is."""
    return [row for (call, *of), given in rows.items() for row in each(call, given, *of)]
