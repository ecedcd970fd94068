"""Names that look like another's, and what one annotator said of one case under two of them."""

import re
from collections.abc import Iterator

import numpy as np

from plausibly.base.names import RARE, misspelt, no_answers, plain_name, same_names
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.io.columns import odd_among_numbers
from plausibly.data.audit._finding import SHOWN, Finding, Prints, known_names

_NUMBERED = re.compile(r"(.*[^\W\d_].*?)(?:[\s_.#/-]*\(\d{1,2}\)|[_.#/-]\d{1,2}|\s+#?\d{1,2})")


def of_names(annotations: Annotations) -> Iterator[Finding]:
    """Find names of classes, cases and annotators that look like another."""
    named = {"class": annotations.classes, "case": annotations.cases, "annotator": known_names(annotations)}
    for what, names in named.items():
        alike = [f"{first} = {second}" for first, second in same_names(names.tolist())]
        yield Finding(f"similar {what} names", len(alike), len(names), alike)
        if what == "class":
            counts = np.bincount(annotations.entry_class, minlength=len(names))
            found, odd = misspelt(names.tolist(), counts.tolist()), odd_among_numbers(names, counts)
            typos = [f"{names[b]} ({counts[b]:,} times) = {names[a]} ({counts[a]:,})" for a, b in found]
            yield Finding("misspelt class names", len(typos), len(names), typos, str(RARE))
            yield Finding("odd classes among numbers", len(odd), len(names), odd)
            for check, found in zip(("missing labels as classes", "unclear classes"), no_answers(names), strict=True):
                yield Finding(check, len(found), len(names), found)


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
