"""Names that look like another's."""

import re
import unicodedata
from collections.abc import Iterator

from plausibly.annotations import Annotations
from plausibly.audit._finding import Finding, known_names

_SEPARATORS = re.compile(r"(?<=[^\W\d_])[\s_.\-]+(?=[^\W_])|(?<=[^\W_])[\s_.\-]+(?=[^\W\d_])")
_NUMBERED = re.compile(r"(.*[^\W\d_].*?)(?:[\s_.#/-]*\(\d{1,2}\)|[_.#/-]\d{1,2}|\s+#?\d{1,2})")


def of_names(annotations: Annotations) -> Iterator[Finding]:
    """Find names of classes, cases and annotators that look like another."""
    named = {"class": annotations.classes, "case": annotations.cases, "annotator": known_names(annotations)}
    for what, names in named.items():
        alike = _alike(names.tolist())
        yield Finding(f"similar {what} names", len(alike), len(names), alike)


def _alike(names: list[str]) -> list[str]:
    """Names that look like an earlier one, each written with it."""
    first: dict[str, str] = {}
    found = []
    for name in names:
        earlier = first.setdefault(_plain(name), name)
        if earlier != name:
            found.append(f"{earlier} = {name}")
    return found


def _plain(name: str) -> str:
    """Write a name without what readers overlook; what stands between two digits tells numbers apart and stays."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return _SEPARATORS.sub("", folded)


def numbered_names(names: list[str]) -> dict[int, int]:
    """Find names that are another's with a number behind it, such as "ann (2)" or "ann_2"; by position, and of whom."""
    at: dict[str, int] = {}
    for code, name in enumerate(names):
        at.setdefault(_plain(name), code)
    found = {}
    for code, name in enumerate(names):
        match = _NUMBERED.fullmatch(name)
        original = at.get(_plain(match.group(1) if match else name), code)
        if original != code:
            found[code] = original
    return found
