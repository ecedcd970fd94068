"""Outcomes of systems by people and judges: what a table holds, and who the people seem to be."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plausibly.annotations.io.columns import list_of
from plausibly.annotations.io.spellings import OUTCOMES
from plausibly.annotations.io.table_files import read_columns
from plausibly.errors import AnnotationError
from plausibly.systems.outcomes import KIND, LENGTHS, PAIR, Outcomes, is_of_outcomes, read_outcomes

_FEW = 0.5  # of the outcomes of the rater with the most, below which a rater is taken for a person
_SOME = 20  # raters and classes that a command names


class Found(NamedTuple):
    """Outcomes, and the words of a command that say who the people are and what counts."""

    outcomes: Outcomes
    words: Sequence[str]
    columns: Mapping[str, str]


def outcomes_in(path: Path, names: Sequence[str]) -> Found | None:
    """Look for outcomes of systems in a table; None if it holds something else, such as cases of one system each."""
    if not is_of_outcomes(names):
        return None
    found = {name: role for role, words in OUTCOMES.items() for name in names if name in words}
    found |= {name: "person or judge" for name in names if name == KIND}
    found |= {name: "length of an output" for name in names if name in LENGTHS}
    columns = read_columns(path)
    place = {role: name for name, role in found.items()}
    if PAIR[0] not in place:
        shown = (list_of(columns[place[role]]) for role in ("case", "system") if role in place)
        pairs = {*zip(*shown, strict=True)}
        if len(pairs) == len({case for case, *_ in pairs}):  # a system of each case is a group of cases
            return None
    raters = list(dict.fromkeys(map(str, list_of(columns[place["rater"]]))))
    people = None if KIND in names else raters
    read, words = _with_class(path, people, [str(one) for one in list_of(columns[place["outcome"]])])
    if people is not None:
        n = np.bincount(read.rater)
        people = read.raters[n < _FEW * n.max()].tolist()
        try:
            read = read_outcomes(path, people or raters, positive=read.positive)
        except AnnotationError:  # they did not see all systems
            people = []
        words = ["--people", ",".join((people or raters)[:_SOME]), *words]
    return Found(read, words, found)


def _with_class(path: Path, people: Any, texts: Sequence[str]) -> tuple[Outcomes, list[str]]:
    """Read outcomes; of classes the first one counts."""
    try:
        return read_outcomes(path, people), []
    except AnnotationError:
        if not 1 < len({*texts}) <= _SOME or not any(map(str.isalpha, texts)):
            raise
        return read_outcomes(path, people, positive=texts[0]), ["--positive", texts[0]]
