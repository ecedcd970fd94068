"""Outcomes of systems by case and rater: what a table of them holds, in codes, and what is wrong with it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
from jaxtyping import Bool, Float, Int, Shaped

from plausibly.base.errors import AnnotationError, ArgumentError, FileError, show, suggest
from plausibly.base.names import same_names, some, to_names
from plausibly.data.annotations.io.columns import (
    Columns,
    cell,
    in_codes,
    is_number,
    is_number_type,
    missing,
    plain,
    to_codes,
    to_floats,
)
from plausibly.data.annotations.io.files import lines_of, naming, read_text
from plausibly.data.annotations.io.spellings import GRADES, OUTCOMES, find, in_two_codes, spelling_of, success_in
from plausibly.data.groups import check_clusters
from plausibly.data.outcome_sources import CLUSTER, KIND, LENGTHS, PAIR, RANK, RANKING, Rows, is_rated, read_rows

Kind = Literal["pass", "ratings", "classes", "pairs"]

At = Callable[[int], str]  # where a row comes from, in words

_PEOPLE = {"person", "people", "human", "expert", "annotator"}
_JUDGES = {"judge", "model", "llm", "machine"}
_PASS = {"1", "yes", "pass", "passed", "true", "correct"}
_FAIL = {"0", "no", "fail", "failed", "false", "incorrect"}
WORDS = _PASS | _FAIL  #: that say that an output passed or failed
_A = {"a", "system_a", "model_a", "left"}
_B = {"b", "system_b", "model_b", "right"}
_TIE = {"tie", "draw", "both", "neither", "equal", "same", "tie (bothbad)"}
_SECONDS, _MILLISECONDS = 1e8, 1e11  # numbers below are no seconds since 1970, or no milliseconds


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outcomes in codes, a row for each; of pairs, two systems and how often the first one won.

    Parameters
    ----------
    kind
        ``"pass"`` (0 or 1), ``"ratings"``, ``"classes"`` (1 for the class that counts, else 0) or ``"pairs"`` (1 if
        the first system won, 0 if the second did, ½ for a tie).
    systems, cases, raters
        Names.
    is_person
        Whether each rater is a person; the others are judges.
    system, case, rater
        Codes of each row.
    value
        Outcome of each row.
    opponent
        Second system of each row; None except for pairs.
    cluster
        Cluster of each case, counted from 0.
    positive
        Class that counts; None except for classes.
    longer
        By how much the first output of each row is longer than the second; None if it is not known.
    date
        Time of each row, in UTC, NaT where there is none; None if it is not known.
    ranked
        Whether pairs are those of rankings, in which the order of two outputs says nothing of how they were shown.
    """

    kind: Kind
    systems: np.ndarray
    cases: np.ndarray
    raters: np.ndarray
    is_person: Bool[np.ndarray, " rater"]
    system: Int[np.ndarray, " row"]
    case: Int[np.ndarray, " row"]
    rater: Int[np.ndarray, " row"]
    value: Float[np.ndarray, " row"]
    cluster: Int[np.ndarray, " case"]
    opponent: Int[np.ndarray, " row"] | None = None
    positive: str | None = None
    longer: Float[np.ndarray, " row"] | None = None
    date: np.ndarray | None = None
    ranked: bool = False

    def __repr__(self) -> str:
        return (
            f"Outcomes({self.kind}: {len(self.value):,} of {len(self.systems):,} systems, {len(self.cases):,} cases, "
            f"{self.is_person.sum():,} people, {(~self.is_person).sum():,} judges)"
        )

    @property
    def people(self) -> list[str]:
        """Names of the people."""
        return self.raters[self.is_person].tolist()

    @property
    def judges(self) -> list[str]:
        """Names of the judges."""
        return self.raters[~self.is_person].tolist()

    @property
    def n_human(self) -> int:
        """Number of outcomes that people gave."""
        return int(self.is_person[self.rater].sum())

    @cached_property
    def is_share(self) -> bool:
        """Whether outcomes by people, if there are any, lie between 0 and 1, so that their mean is a share."""
        people = self.is_person[self.rater]
        values = self.value[people] if people.any() else self.value
        return self.kind != "ratings" or bool(((values >= 0) & (values <= 1)).all())

    @property
    def in_order(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Outcomes and systems; of pairs, with the first system first, as both orders are one comparison."""
        value, first, second = self.value, self.system, self.opponent
        if second is None:
            return value, first, None
        return np.where(first < second, value, 1 - value), np.minimum(first, second), np.maximum(first, second)

    @property
    def unit(self) -> str:
        """What an outcome is of."""
        return "comparison" if self.kind == "pairs" else "output"

    @property
    def quantity(self) -> str:
        """What the mean outcome of a system is called."""
        rates = {"pass": "pass rate", "ratings": "mean rating", "pairs": "win rate"}
        return rates.get(self.kind, f"share of {self.positive!r}")


@dataclass(frozen=True, eq=False)
class Cells:
    """A row for each system and case (of pairs, each system in each comparison): mean outcomes of people and judges.

    Parameters
    ----------
    system, cluster
        System and cluster of each cell.
    people
        Mean of the people's outcomes, NaN where there are none.
    judges
        Outcomes of each judge, NaN where there is none.
    """

    system: Int[np.ndarray, " cell"]
    cluster: Int[np.ndarray, " cell"]
    people: Float[np.ndarray, " cell"]
    judges: Float[np.ndarray, "judge cell"] = field(default_factory=lambda: np.empty((0, 0)))

    @cached_property
    def n_systems(self) -> int:
        """Number of systems."""
        return int(self.system.max()) + 1

    @cached_property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.cluster.max()) + 1

    def by_system(self, values: Shaped[np.ndarray, " cell"]) -> Float[np.ndarray, " system"]:
        """Sums over the cells of each system."""
        return np.bincount(self.system, values, self.n_systems)

    def within(
        self, values: Float[np.ndarray, " cell"], chosen: Bool[np.ndarray, " cell"] | None = None
    ) -> Float[np.ndarray, " cell"]:
        """Values less the mean of their system, of all cells or of chosen ones, in which case others are 0."""
        chosen = np.ones(len(values), bool) if chosen is None else chosen
        mean = self.by_system(np.where(chosen, values, 0)) / np.maximum(self.by_system(chosen), 1)
        return np.where(chosen, values - mean[self.system], 0)


def cells_of(outcomes: Outcomes) -> Cells:
    """Average the outcomes of each system and case, those of the people together and those of each judge."""
    value, first, second = outcomes.in_order
    cell, n_cells, at = cell_of_rows(outcomes)
    rows = [outcomes.is_person[outcomes.rater]]
    rows += [outcomes.rater == judge for judge in np.flatnonzero(~outcomes.is_person)]
    means = np.stack([_means(value[chosen], cell[chosen], n_cells) for chosen in rows])
    cluster = outcomes.cluster[outcomes.case[at]]
    if second is None:
        return Cells(first[at], cluster, means[0], means[1:])
    means = np.concatenate([means, 1 - means], axis=1)
    return Cells(np.concatenate([first[at], second[at]]), np.tile(cluster, 2), means[0], means[1:])


def dates_of(outcomes: Outcomes, n_cells: int) -> Iterator[Float[np.ndarray, " cell"]]:
    """Yield, for each judge, the mean time of its outcomes in each cell, in days since 1970, NaN if it is unknown."""
    if outcomes.date is None:
        return
    days = outcomes.date.astype("datetime64[s]").astype(float) / 86400
    days = np.where(np.isnat(outcomes.date), np.nan, days)
    cell, n, _ = cell_of_rows(outcomes)
    for judge in np.flatnonzero(~outcomes.is_person):
        rows = (outcomes.rater == judge) & ~np.isnan(days)
        yield np.resize(_means(days[rows], cell[rows], n), n_cells)  # both systems of a pair have the same


def cell_of_rows(outcomes: Outcomes) -> tuple[np.ndarray, int, np.ndarray]:
    """Return the cell of each row, the number of cells, and the first row of each; both orders of a pair are one."""
    n, first, second = len(outcomes.systems), outcomes.system, outcomes.opponent
    key = outcomes.case.astype(np.int64) * n + (first if second is None else np.minimum(first, second))
    key = key if second is None else key * n + np.maximum(first, second)
    _, at, cell = np.unique(key, return_index=True, return_inverse=True)
    return cell, len(at), at


def _means(value: np.ndarray, cell: np.ndarray, n: int) -> Float[np.ndarray, " cell"]:
    number = np.bincount(cell, minlength=n)
    return np.where(number, np.bincount(cell, value, n) / np.maximum(number, 1), np.nan)


def is_of_outcomes(names: Iterable[str]) -> bool:
    """Whether these are the columns of a table of outcomes of systems."""
    columns = {*names}
    found = {role for role in OUTCOMES if find(role, columns, OUTCOMES) is not None}
    ranked = not is_rated(columns) and (
        ({"case"} <= found and RANKING in columns) or ({"case", "system"} <= found and RANK in columns)
    )
    rated = "outcome" in found and ({*PAIR} <= found or {"system", "case"} <= found)
    return "rater" in found and (rated or ranked)


def read_outcomes(
    outcomes: Any,
    people: Sequence[str] | str | PathLike | None = None,
    *,
    clusters: str | Mapping[str, Any] | Sequence[Any] | None = None,
    positive: str | None = None,
    control: str | None = None,
    system: str | None = None,
    case: str | None = None,
    raters: Sequence[str] | str | None = None,
    missing: Collection[str] | str = (),
) -> Outcomes:
    """Read outcomes of systems from files, data frames, and exports of tools.

    Parameters
    ----------
    outcomes, people, clusters, positive, control, system, case, raters, missing
        As for :func:`plausibly.systems`.

    Returns
    -------
    Outcomes
        A row for each outcome, in codes.

    Raises
    ------
    AnnotationError, ArgumentError, FileError
        As for :func:`plausibly.systems`.

    Examples
    --------
    >>> rows = [("A", "p", "ann", "yes"), ("A", "p", "gpt", "no"), ("A", "q", "gpt", "yes")]
    >>> read_outcomes(pd.DataFrame(rows, columns=["system", "case", "rater", "outcome"]), people=["ann"])
    Outcomes(pass: 3 of 1 systems, 2 cases, 1 people, 1 judges)
    """
    if isinstance(outcomes, Outcomes):
        return outcomes
    known = _names_in(people) if isinstance(people, str | PathLike) else people
    rows = read_rows(outcomes, control, system, case, clusters, raters, missing)
    with naming(outcomes) if isinstance(outcomes, str | PathLike) else nullcontext():
        return _outcomes(rows, known, clusters, positive)


def _names_in(path: str | PathLike) -> list[str]:
    """Names in a file, one per line."""
    with naming(path):
        if not (names := [line.strip() for line in lines_of(read_text(Path(path))) if line.strip()]):
            raise FileError("there are no names of people; write one per line")
        return names


def _outcomes(rows: Rows, people: Any, clusters: Any, positive: str | None) -> Outcomes:
    pairs, columns, at = rows.pairs, rows.columns, rows.at
    wanted = [*(PAIR if pairs else ("system",)), "case", "rater"]
    codes = {name: to_codes(columns[name], name) for name in wanted if name in columns}
    raters, rater = codes["rater"]
    if pairs:
        names, code = _in_common(codes[PAIR[0]], codes[PAIR[1]])
        system, opponent = code.reshape(2, -1)
        for row in np.flatnonzero(system == opponent)[:1].tolist():
            raise AnnotationError(f"{at(row)} compares {str(names[system[row]])!r} with itself; name two systems")
        both = np.stack([np.minimum(system, opponent), np.maximum(system, opponent)])
        cases, case = codes.get("case", (None, None))
        if cases is None:
            which, case = np.unique(both[0] * len(names) + both[1], return_inverse=True)
            cases = np.array([f"{names[one // len(names)]} and {names[one % len(names)]}" for one in which])
        kind, value = "pairs", _of_pairs(columns["outcome"], names, system, opponent, at)
        if positive is not None:
            raise ArgumentError("positive names a class, but these are pairs: leave it out.")
    else:
        (names, system), (cases, case), opponent = codes["system"], codes["case"], None
        kind, value = _of_values(columns["outcome"], positive, at)
    for what, found in (("system", names), ("rater", raters)):
        to_names(found, what)
    _refuse_repeats(names, cases, raters, case, system, opponent, rater, at, without="case" not in columns)
    is_person = _is_person(people, columns, raters, rater, at)
    without = np.setdiff1d(np.arange(len(names)), _seen(system, opponent, is_person[rater]))
    if len(without):
        raise AnnotationError(
            f"no person rated {some(names[without])}; have people rate some of the cases of each system, or leave "
            "these rows out"
        )
    return Outcomes(
        kind,
        names,
        cases,
        raters,
        is_person,
        system,
        case,
        rater,
        value,
        _clusters(clusters, columns, cases, case, at),
        opponent,
        positive,
        _longer(columns, at) if pairs else None,
        _dates(columns, at),
        rows.ranked,
    )


def _in_common(*coded: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Codes of several columns, one after the other, by the names in any of them as they appear."""
    codes, names = pd.factorize(np.concatenate([names[code] for names, code in coded]))
    return np.asarray(names, str), codes


def _seen(system: np.ndarray, opponent: np.ndarray | None, chosen: np.ndarray) -> np.ndarray:
    return np.concatenate([system[chosen], system[:0] if opponent is None else opponent[chosen]])


def _texts(column: pa.ChunkedArray) -> tuple[list[str], np.ndarray]:
    """Different outcomes as text, and which of them each row has."""
    column = in_codes(column)
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.large_string())
    names, code = to_codes(column, "outcome")
    return [name.strip() for name in names.tolist()], code


def _of_values(column: pa.ChunkedArray, positive: str | None, at: At) -> tuple[Kind, Float[np.ndarray, " row"]]:
    """Outcomes as numbers: passes and failures count 1 and 0, numbers what they are."""
    texts, code = _texts(column)
    if positive is not None:
        same = [text.lower() == str(positive).strip().lower() for text in texts]
        if not any(same):
            fix = suggest(positive, texts, f"choose from {some(texts, 9)}")
            raise ArgumentError(f"positive must be one of the outcomes, but {show(positive)} is not: {fix}")
        two = in_two_codes(texts)
        if pair := two or next((one for one in same_names(texts) if one[0].lower() != one[1].lower()), None):
            what = "may mean the same" if two else "differ only in spelling"
            raise AnnotationError(f"the outcomes {pair[0]!r} and {pair[1]!r} {what}; write them alike")
        return "classes", np.array(same, float)[code]
    lower = [text.lower() for text in texts]
    in_words = {text: 1.0 if text in _PASS else 0.0 for text in lower if text in WORDS}
    if "c" in lower and all(text in GRADES or is_number(text) for text in lower):
        in_words |= GRADES
    if all(text in in_words or is_number(text) for text in lower):
        values = np.array([in_words.get(text, text) for text in lower], float)
        for bad in np.flatnonzero(~np.isfinite(values))[:1].tolist():
            raise AnnotationError(
                f"{at(int(np.argmax(code == bad)))}: the outcome {texts[bad]!r} is not finite; write a number, or "
                "leave the row out"
            )
        words = [text for text, known in zip(texts, lower, strict=True) if known in in_words and not is_number(known)]
        for bad in np.flatnonzero((values < 0) | (values > 1))[:1].tolist() if words else ():
            raise AnnotationError(
                f"{at(int(np.argmax(code == bad)))}: the outcome is {texts[bad]!r}, but elsewhere {words[0]!r}; write "
                "either pass and fail or ratings everywhere"
            )
        return ("pass" if {*values.tolist()} <= {0.0, 1.0} else "ratings"), values[code]
    success = success_in(texts)
    if success is not None and (odd := beside_passes(texts)):
        rows = np.flatnonzero(np.isin(code, [texts.index(text) for text in odd]))
        raise AnnotationError(
            f"{at(int(rows[0]))}: the outcome {texts[code[rows[0]]]!r} is neither pass nor fail, as others are "
            f"(in {len(rows):,} row{'s' * (len(rows) > 1)}: {some(odd, 5)}); leave such rows out: missing= "
            f"(--missing {','.join(odd[:5])!r}), or count them as failures: positive= (--positive), here {success!r}"
        )
    raise AnnotationError(
        f"the outcomes {some(texts, 5)} are neither pass and fail nor numbers; name the class that counts as a "
        f"success with positive= (--positive){'' if success is None else f', such as {success!r}'}"
    )


def beside_passes(texts: Iterable[str]) -> list[str]:
    """Return outcomes that say neither that something passed nor that it failed, where others say either.

    Examples
    --------
    >>> beside_passes(["PASS", "fail", "N/A"]), beside_passes(["good", "poor"])
    (['N/A'], [])
    """
    given = {str(text): str(text).strip().lower() for text in texts}
    both = all(words & {*given.values()} for words in (_PASS, _FAIL))
    return [text for text, word in given.items() if both and word not in WORDS]


def _of_pairs(
    column: pa.ChunkedArray, names: np.ndarray, system: np.ndarray, opponent: np.ndarray, at: At
) -> Float[np.ndarray, " row"]:
    """How often the first system wins: 1, ½ or 0."""
    texts, code = _texts(column)
    place = {name: at for at, name in enumerate(names.tolist())}
    named = np.array([place.get(text, -1) for text in texts])[code]
    said = [
        1.0 if text in _A else 0.0 if text in _B else 0.5 if text in _TIE else np.nan for text in map(str.lower, texts)
    ]
    value = np.select([named == -1, named == system, named == opponent], [np.array(said)[code], 1.0, 0.0], np.nan)
    for row in np.flatnonzero(np.isnan(value))[:1].tolist():
        raise AnnotationError(
            f"{at(row)}: the outcome {texts[code[row]]!r} says nothing about {str(names[system[row]])!r} and "
            f"{str(names[opponent[row]])!r}; write a, b or tie, or the name of the one that won"
        )
    return value


def _refuse_repeats(names, cases, raters, case, system, opponent, rater, at: At, *, without: bool) -> None:
    """Refuse two outcomes by one rater of the same output, or of two outputs in the same order."""
    keys = {"case": case, "system": system, "rater": rater} | ({} if opponent is None else {"opponent": opponent})
    again = np.flatnonzero(pd.DataFrame(keys).duplicated())
    for row in again[:1].tolist():
        two = "" if opponent is None else f" and {str(names[opponent[row]])!r}"
        about = f"{str(names[system[row]])!r}{two}" + ("" if without else f", case {str(cases[case[row]])!r}")
        fix = "add a column case that tells them apart, or keep one of the rows"
        fix = fix if without else "keep one of the rows, or name each case apart, such as by its turn (--case)"
        raise AnnotationError(f"{at(row)}: {str(raters[rater[row]])!r} rates {about} a second time; {fix}")


def _is_person(
    people: Any, columns: Columns, raters: np.ndarray, rater: np.ndarray, at: At
) -> Bool[np.ndarray, " rater"]:
    if people is not None:
        names = [str(name) for name in people]
        for name in names:
            if name not in raters:
                fix = suggest(name, raters.tolist(), f"choose from {some(raters, 9)}")
                raise AnnotationError(f"people names {name!r}, who is not among the raters; {fix}")
        if not names:
            raise ArgumentError('people must name at least one rater, but is empty: write for example people=["ann"].')
        return np.isin(raters, names)
    if KIND not in columns:
        raise AnnotationError(
            f"nothing says which raters are people; name with people= (--people) those of {some(raters, 9)} who are, "
            f"or add a column {KIND} with person or judge"
        )
    for row in missing(columns[KIND])[:1].tolist():
        raise AnnotationError(
            f"{at(row)} has no {KIND}; write person or judge, or name the people with people= (--people)"
        )
    kinds, code = to_codes(columns[KIND], KIND)
    words = [word.strip().lower() for word in kinds.tolist()]
    for number, word in enumerate(words):
        if word not in _PEOPLE | _JUDGES:
            row = at(int(np.argmax(code == number)))
            raise AnnotationError(f"{row}: the {KIND} {str(kinds[number])!r} is not known; write person or judge")
    of_row = np.array([word in _PEOPLE for word in words])[code]
    found = np.zeros(len(raters), bool)
    found[rater] = of_row
    for row in np.flatnonzero(found[rater] != of_row)[:1].tolist():
        raise AnnotationError(
            f"{at(row)}: the rater {str(raters[rater[row]])!r} is a person and a judge; choose one {KIND}"
        )
    if not found.any():
        raise AnnotationError(
            f"no rater is a person by the column {KIND}, or by what exports say; write person for at least one, or "
            "name people with people= (--people)"
        )
    return found


def _clusters(clusters: Any, columns: Columns, cases: np.ndarray, case: np.ndarray, at: At) -> Int[np.ndarray, " case"]:
    if isinstance(clusters, str):
        name = clusters
        column = columns[spelling_of(name, columns, "name one of these", spellings={})]
        for row in missing(column)[:1].tolist():
            raise AnnotationError(f"{at(row)} has no {name}; fill it in, or leave the row out")
        code = to_codes(column, name)[1]
        of_case = np.zeros(len(cases), np.int64)
        of_case[case] = code
        for row in np.flatnonzero(of_case[case] != code)[:1].tolist():
            raise AnnotationError(f"{at(row)}: the case {str(cases[case[row]])!r} has a second {name}; give it one")
        return np.unique(of_case, return_inverse=True)[1]
    if clusters is None and CLUSTER in columns:  # a case is its own cluster where an export says nothing
        part = cases.astype(object)
        said = ~columns[CLUSTER].is_null().to_numpy()
        part[case[said]] = np.array(columns[CLUSTER].to_pylist(), object)[said]
        return np.unique(part.astype(str), return_inverse=True)[1]
    return np.unique(check_clusters(clusters, cases), return_inverse=True)[1]


def _longer(columns: Columns, at: At) -> Float[np.ndarray, " row"] | None:
    if not {*LENGTHS} <= {*columns}:
        return None
    lengths = []
    for name in LENGTHS:
        values, bad = to_floats(columns[name])
        if bad is not None:
            raise AnnotationError(f"{at(bad)}: the {name} is not a number; write a number")
        lengths.append(values)
    return lengths[0] - lengths[1]


def _dates(columns: Columns, at: At) -> np.ndarray | None:
    """Days and times in UTC, NaT where there is none; None without such a column."""
    if "date" not in columns:
        return None
    column = plain(columns["date"])
    if is_number_type(column.type):
        numbers, _ = to_floats(column)
        unit = np.where(numbers < _MILLISECONDS, 1000, 1)  # seconds or milliseconds since 1970
        dates = pd.to_datetime(pd.Series(numbers * unit), unit="ms", utc=True)
        bad = np.flatnonzero(numbers < _SECONDS)
    else:
        texts = pd.Series(column.cast(pa.large_string()).to_pylist(), dtype=object)
        blank = texts.isna() | (texts.str.strip() == "")
        dates = pd.to_datetime(texts.where(~blank), format="ISO8601", errors="coerce", utc=True)
        bad = np.flatnonzero(dates.isna() & ~blank)
    for row in bad[:1].tolist():
        raise AnnotationError(
            f"{at(row)}: the date {show(cell(column, row))} is not read; write it as 2026-01-31, or with a time as "
            "2026-01-31T09:30:00Z"
        )
    return dates.dt.tz_localize(None).to_numpy("datetime64[s]")
