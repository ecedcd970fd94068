"""Names that look like another's, and what one annotator said of one case under two of them."""

import re
import unicodedata
from collections.abc import Iterator

import numpy as np

from plausibly.base.names import no_answers, plain_name, same_names
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.io.columns import odd_among_numbers
from plausibly.data.audit._finding import SHOWN, Finding, Prints, known_names

_WORD = re.compile(r"[^\W\d_]{5,}")  # shorter words are often a letter apart without being typos
_LONGEST = 100  # part of a name in which typos are looked for
_RARE = 20  # times less often than another is how often a typo is named
_NUMBERED = re.compile(r"(.*[^\W\d_].*?)(?:[\s_.#/-]*\(\d{1,2}\)|[_.#/-]\d{1,2}|\s+#?\d{1,2})")


def of_names(annotations: Annotations) -> Iterator[Finding]:
    """Find names of classes, cases and annotators that look like another."""
    named = {"class": annotations.classes, "case": annotations.cases, "annotator": known_names(annotations)}
    for what, names in named.items():
        alike = [f"{first} = {second}" for first, second in same_names(names.tolist())]
        yield Finding(f"similar {what} names", len(alike), len(names), alike)
        if what == "class":
            counts = np.bincount(annotations.entry_class, minlength=len(names))
            typos, odd = _typos(names.tolist(), counts.tolist()), odd_among_numbers(names, counts)
            yield Finding("misspelt class names", len(typos), len(names), typos, str(_RARE))
            yield Finding("odd classes among numbers", len(odd), len(names), odd)
            for check, found in zip(("missing labels as classes", "unclear classes"), no_answers(names), strict=True):
                yield Finding(check, len(found), len(names), found)


def _typos(names: list[str], counts: list[int]) -> list[str]:
    """Names that are rare next to another from which they differ by one letter, or two that changed places.

    Two such names become equal if at most one letter of each is left out.
    """
    commonest: dict[str, int] = {}
    for code, name in enumerate(names):
        for short in _shortened(name):
            if counts[code] > counts[commonest.setdefault(short, code)]:
                commonest[short] = code
    found = []
    for code, name in enumerate(names):
        near = max((commonest[short] for short in _shortened(name)), key=lambda other: counts[other])
        if 0 < counts[code] * _RARE <= counts[near] and plain_name(name) != plain_name(names[near]):
            found.append(f"{names[near]} ({counts[near]:,} times) = {name} ({counts[code]:,})")
    return found


def _shortened(name: str) -> set[str]:
    """The name, and the name without any single letter of its longer words."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    letters = [at for word in _WORD.finditer(folded[:_LONGEST]) for at in range(*word.span())]
    return {folded, *(folded[:at] + folded[at + 1 :] for at in letters)}


def _numbered(names: list[str]) -> dict[int, int]:
    """Find names that are another's with a number behind it, such as "ann (2)" or "ann_2"; by position, and of whom."""
    at: dict[str, int] = {}
    for code, name in enumerate(names):
        at.setdefault(plain_name(name), code)
    found = {}
    for code, name in enumerate(names):
        match = _NUMBERED.fullmatch(name)
        original = at.get(plain_name(match.group(1) if match else name), code)
        if original != code:
            found[code] = original
    return found


def repeated_annotations(annotations: Annotations, prints: Prints) -> Finding:
    """Find what one annotator said of one case several times, under two names."""
    seconds = _numbered(known_names(annotations).tolist())
    who, case = annotations.annotation_annotator, annotations.annotation_case
    second = np.flatnonzero(np.isin(who, list(seconds))) if not annotations.anonymous else np.array([], np.int64)
    keys = case.astype(np.int64) * len(annotations.annotators) + who
    first = np.array([seconds[code] for code in who[second].tolist()], np.int64)
    wanted = case[second].astype(np.int64) * len(annotations.annotators) + first
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    both = keys[at] == wanted
    found = second[both]
    same = int((prints[found] == prints[at[both]]).sum())
    examples = [f"{annotations.cases[case[r]]} / {annotations.annotators[who[r]]}" for r in found[:SHOWN]]
    note = f", and {same:,} of them give the same answer" if same else ""
    of = 0 if annotations.anonymous else annotations.n_annotations
    return Finding("repeated annotations", len(found), of, examples, note)
