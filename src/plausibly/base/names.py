"""Names of cases, classes and annotators: what they may be, and what to say of one that is not known."""

import re
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from numbers import Integral
from typing import Any
from unicodedata import normalize

import numpy as np

from plausibly.base.errors import AnnotationError, PlausiblyWarning, show, suggest

_FEW = 2  # names, which are listed
_MOST_TO_COMPARE, _LONGEST_TO_COMPARE = 10_000, 200

#: Names of classes that stand for no answer, and that may.
_ABSENT = {"n/a", "#n/a", "na", "nan", "nil", "null", "missing", "blank", "skipped", "unreadable", "?", "-", "--", "."}
_ABSENT |= {
    "not available",
    "not applicable",
    "not read",
    "not assessed",
    "no answer",
    "non diagnostic",
    "nondiagnostic",
}
_UNCLEAR = {"none", "unknown", "uncertain", "unsure", "unclear", "undetermined", "indeterminate", "equivocal"}
_SEPARATORS = re.compile(r"(?<=[^\W\d_])[\s_.\-]+(?=[^\W_])|(?<=[^\W_])[\s_.\-]+(?=[^\W\d_])")
RARE = 10  #: times less often than another is how often a typo is named
_WORD = re.compile(r"[^\W\d_]{5,}")  # shorter words are often a letter apart without being typos
_LONGEST = 100  # part of a name in which typos are looked for
_FOR_NOTHING = (99, 999, 9999, -1, -9, -99, -999, -9999)  #: numbers that tables have where there is no answer


def to_names(values: Iterable, what: str) -> np.ndarray:
    """Turn names, or whole numbers that serve as names, of classes, cases or annotators into an array of text.

    AnnotationError if there are none, one is neither text nor a whole number, is blank, has blanks at its ends or holds
    what no file can, or two are alike, be it composed and decomposed.
    """
    values = values if isinstance(values, np.ndarray) else list(values)
    if not len(values):
        raise AnnotationError(f"there are no {what}{'es' if what == 'class' else 's'}; give at least one")
    if not (isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "Uiu"):
        for number, value in enumerate(values):
            if not isinstance(value, str | Integral) or isinstance(value, bool):
                raise AnnotationError(f"{what} {number} is named {show(value)}; a name is text, so give it one")
    text = "".join(map(str, values))
    if not is_storable(text):
        number, value = next((i, value) for i, value in enumerate(values) if not is_storable(str(value)))
        raise AnnotationError(
            f"{what} {number} (counted from 0) is named {show(str(value))}, with a null character or half a "
            "character in it; write it without"
        )
    names = np.asarray(values if isinstance(values, np.ndarray) else [str(value) for value in values]).astype(str)
    stripped = np.char.strip(names)
    for number in np.flatnonzero(stripped == ""):
        raise AnnotationError(f"{what} {number} (counted from 0) has a blank name; name it, or remove it")
    for number in np.flatnonzero(stripped != names):  # which is easily overlooked
        name = str(names[number])
        raise AnnotationError(f"the {what} {name!r} begins or ends with a blank; write {name.strip()!r}")
    unique, counts = np.unique(names, return_counts=True)
    if len(unique) < len(names):
        name = unique[counts.argmax()]
        raise AnnotationError(f"the {what} {str(name)!r} is listed {counts.max()} times; list each {what} once")
    if not text.isascii() and (again := repeated(normalize("NFC", name) for name in names.tolist())):
        raise AnnotationError(
            f"the {what} {again[0]!r} is written in {again[1]} ways, with composed and with decomposed characters; "
            "write it in one way (Unicode's NFC)"
        )
    return names


def tell_unused(absent: Iterable[str], said: Iterable[str]) -> None:
    """Warn about texts for missing answers that no label has."""
    if unused := sorted({*absent} - {*said} - {""}):
        warnings.warn(
            f"missing= (--missing) names {some(unused)}, but no label is that", PlausiblyWarning, stacklevel=4
        )


def no_answers(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Names of classes that stand for no answer, and others that may.

    Examples
    --------
    >>> no_answers(["N/A", "Non-diagnostic", "Uncertain", "Pneumonia"])
    (['N/A', 'Non-diagnostic'], ['Uncertain'])
    """
    plain = {name: re.sub(r"[\s_-]+", " ", name.casefold()).strip() or name for name in map(str, names)}
    absent, unclear = ([name for name, one in plain.items() if one in known] for known in (_ABSENT, _UNCLEAR))
    return absent, unclear


def _no_numbers(names: Iterable[str]) -> list[str]:
    """Numbers such as 99 and -9 that stand for no answer among grades far below, or none below 0."""
    try:
        numbers = {name: float(name) for name in names}
    except ValueError:
        return []
    found = [name for name, number in numbers.items() if number in _FOR_NOTHING]
    rest = [number for number in numbers.values() if number not in _FOR_NOTHING]
    if not rest or min(rest) < 0:
        return []
    return [name for name in found if numbers[name] < 0 or numbers[name] > 3 * max(rest)]


def tell_no_answers(names: Iterable[str], source: object = "") -> None:
    """Warn about labels that usually stand for no answer, and are counted as classes."""
    names = list(map(str, names))
    known = {*no_answers(names)[0], *(name for name in names if name.casefold() == "none"), *_no_numbers(names)}
    if absent := sorted(known):
        are = "is a class" if len(absent) == 1 else "are classes"
        warnings.warn(
            f"{source}{': ' if source else ''}{some(absent)} {are} here, but may stand for no label; if so, say "
            f"missing= (--missing {','.join(absent)!r})",
            PlausiblyWarning,
            stacklevel=4,
        )


def same_names(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Find names that differ from an earlier one only in what readers overlook, each after the earlier one."""
    first: dict[str, str] = {}
    for name in names:
        if (earlier := first.setdefault(plain_name(name), name)) != name:
            yield earlier, name


def plain_name(name: str) -> str:
    """Write a name without what readers overlook; what stands between two digits tells numbers apart and stays."""
    folded = normalize("NFKC", name).casefold().strip()
    return folded.lstrip("0") or "0" if folded.isdecimal() else _SEPARATORS.sub("", folded)


def misspelt(names: Sequence[str], counts: Sequence[int]) -> list[tuple[int, int]]:
    """Find names that are rare next to another from which they differ by one letter, or two that changed places.

    Positions of both, the rare name first. Two such names become equal if at most one letter of each is left out.

    Examples
    --------
    >>> misspelt(["malignant", "malignnat", "benign"], [40, 1, 30])
    [(1, 0)]
    """
    commonest: dict[str, int] = {}
    for code, name in enumerate(names):
        for short in shortened(name):
            if counts[code] > counts[commonest.setdefault(short, code)]:
                commonest[short] = code
    found = []
    for code, name in enumerate(names):
        near = max((commonest[short] for short in shortened(name)), key=lambda other: counts[other])
        if 0 < counts[code] * RARE <= counts[near] and plain_name(name) != plain_name(names[near]):
            found.append((code, near))
    return found


def shortened(name: str) -> set[str]:
    """The name, and the name without any single letter of its longer words."""
    folded = normalize("NFKC", name).casefold()
    letters = [at for word in _WORD.finditer(folded[:_LONGEST]) for at in range(*word.span())]
    return {folded, *(folded[:at] + folded[at + 1 :] for at in letters)}


def look_alike(name: str, other: str) -> bool:
    """Whether names differ by a letter at most, or in what readers overlook."""
    return bool(shortened(name) & shortened(other)) or plain_name(name) == plain_name(other)


def numbered(n: int) -> np.ndarray:
    """Return the names of annotators of whom only the position within a case is known: 1 to n."""
    return np.arange(1, n + 1).astype(f"U{len(str(n))}")  # plain str takes 84 bytes each


def is_storable(text: str) -> bool:
    """Whether text survives arrays, which drop null characters at its end, and files, which are UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def repeated(names: Iterable[Hashable]) -> tuple[Any, int] | None:
    """Return the first name that is there several times, and how often; None if there is none."""
    return next((found for found in Counter(names).items() if found[1] > 1), None)


def unknown_class(name: str, classes: Iterable[str]) -> str:
    """Say that a class is not among the classes, with the nearest name if one is near."""
    names = [str(known) for known in classes]
    # The search for a name like it takes as long as there are names, and the square of how long they are.
    short = len(names) <= _MOST_TO_COMPARE and len(name) <= _LONGEST_TO_COMPARE
    compared = [one for one in names if len(one) <= _LONGEST_TO_COMPARE] if short else []
    fix = suggest(name, compared, "add it to the classes, or correct the name")
    if not name.isascii() and normalize("NFC", name) in (normalize("NFC", one) for one in names):
        fix = "one of them is the same but for composed characters; write both in one way (Unicode's NFC)"
    listed = f" {some(names)}" if len(names) <= _FEW else ""
    return f"the class {str(name)!r} is not among the {len(names)} classes{listed}; {fix}"


def outside(index: int, n_classes: int) -> str:
    """Say that a class index is outside the range."""
    return (
        f"the class index {index} is outside the range 0 to {n_classes - 1}; "
        "count classes from 0, or give the complete list of classes"
    )


def many(n: int, what: str) -> str:
    """Say how many there are of something.

    Examples
    --------
    >>> many(1, "class"), many(2000, "class")
    ('1 class', '2,000 classes')
    """
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}{'es' if what.endswith('s') else 's'}"


def figures(value: float, digits: int = 2) -> str:
    """Write a number with some significant digits, without an exponent however great it is.

    Examples
    --------
    >>> [figures(value) for value in (0.0042, 1.44, 99.7, 1234.5)]
    ['0.0042', '1.4', '100', '1,200']
    """
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 10**digits else f"{value:.{digits}g}"


def probability_in_words(probability: float) -> str:
    """Write a probability, which is never certain.

    Examples
    --------
    >>> probability_in_words(0.999), probability_in_words(0.6)
    ('above 0.99', '0.60')
    """
    return "above 0.99" if probability > 0.99 else "below 0.01" if probability < 0.01 else f"{probability:.2f}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Join names by commas and "and"; of many, some.

    Examples
    --------
    >>> listed(["A"]), listed(["A", "B", "C"]), listed(["A", "B", "C"], 1)
    ('A', 'A, B and C', 'A and 2 more')
    """
    shown = list(names[:most]) + ([f"{len(names) - most} more"] if len(names) > most else [])
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def some(names: Sequence[str] | np.ndarray, limit: int = 3) -> str:
    """List a few names, and say how many more there are."""
    shown = ", ".join(repr(str(name)) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
