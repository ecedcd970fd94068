"""Outcomes of systems by people and judges: what files hold, and who the people seem to be."""

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plausibly.app.doctor._looked import JUDGE
from plausibly.base.errors import AnnotationError, PlausiblyWarning
from plausibly.data.annotations.io.columns import is_number, list_of, to_codes
from plausibly.data.annotations.io.files import TABLES, ending
from plausibly.data.annotations.io.spellings import OUTCOMES, find, success_in
from plausibly.data.annotations.io.table_files import read_columns
from plausibly.data.outcome_sources import KIND, LENGTHS, PAIR, RANK, RANKING, Rows, read_rows
from plausibly.data.outcomes import WORDS, Outcomes, beside_passes, is_of_outcomes, read_outcomes

_FEW = 0.5  # of the outcomes of the rater with the most, below which a rater is taken for a person
_SOME = 20  # raters and classes that a command names
_FEW_TEXTS = 3  # beside passes and fails, which stand for no outcome
_PERSON = re.compile(r"human|person|people|expert")  # parts of names of raters


class Found(NamedTuple):
    """Outcomes, and the words of a command that say who the people are and what counts."""

    outcomes: Outcomes
    words: Sequence[str]
    columns: Mapping[str, str] = {}
    guessed: bool = False  #: whether nothing but names and numbers of outcomes says who is a person


def outcomes_in(path: Path, names: Sequence[str]) -> Found | None:
    """Look for outcomes of systems in a table; None if it holds something else, such as cases of one system each."""
    if not is_of_outcomes(names):
        return _by_rater(path, names)
    found = {name: role for role, words in OUTCOMES.items() for name in names if name in words}
    found |= {
        name: role for role in OUTCOMES if (name := find(role, names, OUTCOMES)) is not None and name not in found
    }
    found |= {name: "person or judge" for name in names if name == KIND}
    found |= {name: "length of an output" for name in names if name in LENGTHS}
    found |= {name: "ranking" for name in names if name in (RANKING, RANK) and "outcome" not in found.values()}
    place = {role: name for name, role in found.items()}
    if PAIR[0] not in place and RANKING not in names:
        rows = read_rows(str(path), None).columns
        shown = (list_of(rows[role]) for role in ("case", "system") if role in rows)
        pairs = {*zip(*shown, strict=True)}
        if len(pairs) == len({case for case, *_ in pairs}):  # a system of each case is a group of cases
            return None
    return _found(path, None, found)


def _by_rater(path: Path, names: Sequence[str]) -> Found | None:
    """Look for columns with the outcomes of a rater each, in a table of systems and cases; None if there are none."""
    place = {name: role for role in ("system", "case") if (name := find(role, names, OUTCOMES)) is not None}
    if len(place) < 2 or ending(path) not in TABLES or any(one in names for one in ("rater", "outcome")):
        return None
    raters, odd = [], []
    for name, column in read_columns(path).items():
        cells = dict.fromkeys(str(cell).strip() for cell in list_of(column) if cell is not None)
        texts = [cell for cell in cells if cell]
        numbers = 1 < len(texts) <= _SOME and all(map(is_number, texts))
        beside = [cell for cell in texts if cell.lower() not in WORDS]
        passes = len(beside) <= _FEW_TEXTS and {*map(str.lower, texts)} & (WORDS - {"0", "1"})
        if name not in (*place, *LENGTHS) and (numbers or passes):
            raters.append(name)
            odd += [] if numbers else beside
    if len(raters) < 2:
        return None
    return _found(str(path), None, {**place, **dict.fromkeys(raters, "rater")}, raters, [*dict.fromkeys(odd)])


def comparisons_in(path: Path) -> Found:
    """Take a long table of rankings, which compare the classes that were shown, as outcomes of these classes."""
    return _found(path, None, {})


def outcomes_of(paths: Sequence[Path], control: str | None) -> Found | None:
    """Look for outcomes of systems by people and judges in exports and tables together; None without judges.

    Raises
    ------
    PlausiblyError
        If the files cannot be read together.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlausiblyWarning)
        found = _found([*map(str, paths)], control, {})
    return found if found.outcomes.judges else None


def _found(
    sources: Any,
    control: str | None,
    columns: Mapping[str, str],
    by: Sequence[str] | None = None,
    missing: Sequence[str] = (),
) -> Found:
    rows = read_rows(sources, control, raters=by, missing=missing)
    raters, rater = to_codes(rows.columns["rater"], "rater")
    people = _people(rows, raters, rater)
    everyone = None if people is None else raters.tolist()
    shape: dict[str, Any] = {"control": control, "raters": by, "missing": missing}
    read, words = _with_class(sources, everyone, rows, shape)
    words += [] if by is None else ["--raters", ",".join(by)]
    words += ["--missing", ",".join(missing)] if missing else []
    if people is not None:
        try:
            read = read_outcomes(sources, people or everyone, positive=read.positive, **shape)
        except AnnotationError:  # they did not see all systems
            people = []
        words = ["--people", ",".join((people or raters.tolist())[:_SOME]), *words]
    return Found(read, words, columns, people is not None)


def _people(rows: Rows, raters: np.ndarray, rater: np.ndarray) -> list[str] | None:
    """Raters who seem to be people, perhaps none; None if the rows say who is a person.

    Beside an export, whose raters are judges unless the tool knows a person, those of a table are people; in a table
    alone, those who are not called like a model, or if nobody is, those who gave few outcomes.
    """
    kinds = np.array([] if KIND not in rows.columns else rows.columns[KIND].to_pylist(), object)
    if len(kinds) and all(kinds) and {*kinds} != {"judge"}:
        return None
    if not len(kinds):
        named = np.array([JUDGE.search(name.lower()) is not None for name in raters.tolist()])
        n = np.bincount(rater)
        return raters[n < _FEW * n.max() if named.all() or not named.any() else ~named].tolist()
    unknown = np.array([kind is None for kind in kinds])
    seen = {*raters[rater[unknown]].tolist(), *raters[rater[kinds == "person"]].tolist()}
    return [name for name in raters.tolist() if name in seen or _PERSON.search(name.lower())]


def _with_class(sources: Any, people: Any, rows: Rows, shape: Mapping[str, Any]) -> tuple[Outcomes, list[str]]:
    """Read outcomes; of classes the one that stands for a success counts, or else the first one."""
    try:
        return read_outcomes(sources, people, **shape), []
    except AnnotationError:
        texts = [str(one) for one in list_of(rows.columns["outcome"])]
        if rows.pairs or not 1 < len({*texts}) <= _SOME or not any(map(str.isalpha, texts)) or beside_passes(texts):
            raise
        positive = success_in(texts) or texts[0]
        read = read_outcomes(sources, people, positive=positive, **shape)
        return read, ["--positive", positive]
