"""Sources of outcomes: tables, exports of tools that test language models, and rankings, as rows with one set of names.

A source may hold the outcomes of one system; several are put together, such as a log for each system and a table of
what people say. A ranking of the systems that were shown is taken apart into its pairs, so that those that were not
shown are not worse.
"""

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from plausibly.base.errors import AnnotationError, ArgumentError, PlausiblyWarning, show, suggest
from plausibly.base.names import some
from plausibly.data.annotations.io.answers import Answers, is_nothing
from plausibly.data.annotations.io.columns import Columns, missing, plain, table_columns, taken, to_codes, to_floats
from plausibly.data.annotations.io.files import TABLES, naming, suffix_of
from plausibly.data.annotations.io.formats import ARCHIVE, TOOLS, format_of
from plausibly.data.annotations.io.source import JSON, Source, column_of, open_source, texts_of
from plausibly.data.annotations.io.spellings import OUTCOMES, find, spelling_of
from plausibly.data.annotations.io.verdicts import LEFT_OUT, Verdict, verdicts_on_one
from plausibly.data.annotations.io.wide import melted

KIND = "kind"  #: column that says of every rater whether it is a person
PAIR = ("system_a", "system_b")
LENGTHS = ("length_a", "length_b")  #: columns with the lengths of two outputs
CLUSTER = "(cluster)"  #: what an export says that a case is a part of
RANKING, RANK = "ranking", "rank"  #: columns of rankings: in one cell, or a row for each system
_NEEDED = (
    "name the columns system, case, rater and outcome, of pairs system_a, system_b, rater and outcome, or of rankings "
    "case, rater and ranking; or, with a column for each rater, say which: raters= (--raters)"
)


@dataclass(frozen=True)
class Rows:
    """Outcomes by row: columns by role, and where a row comes from.

    Parameters
    ----------
    columns
        ``system`` (of pairs, ``system_a`` and ``system_b``), ``case`` (of pairs, perhaps), ``rater`` and ``outcome``,
        and those of the others that there are: ``kind``, ``date``, ``length_a``, ``length_b``, and of clusters.
    at
        Name of the source, and number of the row in it, counted from 1, of each row.
    ranked
        Whether pairs come from rankings, of which the first is not what was shown first.
    """

    columns: Columns
    at: Callable[[int], str]
    ranked: bool = False
    exported: bool = False  #: whether a tool that tests language models wrote them

    @property
    def pairs(self) -> bool:
        """Whether these are pairs."""
        return PAIR[0] in self.columns

    def __len__(self) -> int:
        return len(self.columns["rater"])


def read_rows(
    outcomes: Any,
    control: str | None = None,
    system: str | None = None,
    case: str | None = None,
    clusters: Any = None,
    raters: Sequence[str] | str | None = None,
    missing: Collection[str] | str = (),
) -> Rows:
    """Read sources of outcomes; the arguments are those of :func:`plausibly.systems`."""
    named = (raters,) if isinstance(raters, str) else None if raters is None else tuple(map(str, raters))
    texts = (missing,) if isinstance(missing, str) else missing
    wanted = _Wanted(control, system, case, clusters if isinstance(clusters, str) else None, named, texts)
    listed, found = list(_listed(outcomes)), []
    for name, source in listed:
        is_path = isinstance(source, str | PathLike)
        with naming(source) if is_path else nullcontext():
            read = _of_file(Path(source), wanted) if is_path else _of_table(table_columns(source), wanted)
            found.append((str(source) if is_path else "", _of_system(read, name, Path(source) if is_path else None)))
    if not found:
        raise ArgumentError("outcomes must hold at least one table or file, but none was given: name one.")
    return found[0][1] if len(found) == 1 else _together(found, wanted)


def outcomes_table(source: Any, control: str | None = None) -> pd.DataFrame:
    """Read a source of outcomes as a table that :func:`plausibly.systems` reads in its place.

    Parameters
    ----------
    source, control
        As `outcomes` and `control` of :func:`plausibly.systems`.

    Returns
    -------
    pandas.DataFrame
        Row per outcome, with the columns ``system`` (of pairs, ``system_a`` and ``system_b``), ``case``, ``rater`` and
        ``outcome``, and those of ``kind`` (person or judge), ``date``, lengths and clusters that the source has.
    """
    read = read_rows(source, control)
    wanted = (*PAIR, "system", "case", "rater", KIND, "outcome", "date", *LENGTHS, CLUSTER)
    return pd.DataFrame({name: read.columns[name].to_pandas() for name in wanted if name in read.columns})


@dataclass(frozen=True)
class _Wanted:
    """What to look for in sources: a question, fields with the system, the case and clusters, and columns of raters."""

    control: str | None
    system: str | None
    case: str | None
    clusters: str | None
    raters: tuple[str, ...] | None
    missing: Collection[str]  #: texts that stand for no outcome

    def field(self, role: str) -> str | None:
        """Return the name of a field with a role that was asked for."""
        return {"system": self.system, "case": self.case, "clusters": self.clusters}.get(role)


def _listed(outcomes: Any, name: str | None = None) -> Iterator[tuple[str | None, Any]]:
    """Yield sources, each with the system that it is of, if it is named."""
    if isinstance(outcomes, Mapping):
        for system, source in outcomes.items():
            yield from _listed(source, str(system))
    elif isinstance(outcomes, Sequence) and not isinstance(outcomes, str):
        for source in outcomes:
            yield from _listed(source, name)
    else:
        yield name, outcomes


def _of_file(path: Path, wanted: _Wanted) -> Rows:
    if not path.is_dir():
        suffix_of(path, (*TABLES, *JSON, ARCHIVE))
    source = open_source(path)
    tool = format_of(source, TOOLS)
    if tool is not None and tool.verdicts is not None:
        return _of_verdicts(verdicts_on_one(tool.verdicts(source), wanted.control), wanted, source)
    if not source.names:
        raise AnnotationError(
            "this is neither a table of outcomes nor an export with verdicts; write a table with the columns system, "
            "case, rater and outcome"
        )
    return _of_table(dict(source.columns()), wanted)


def _of_table(columns: Columns, wanted: _Wanted) -> Rows:
    """Name the columns of a table by their roles, and take rankings apart."""
    columns, at = (columns, _row) if wanted.raters is None else _by_rater(columns, wanted.raters)
    pairs = any(spelling in columns for spelling in OUTCOMES[PAIR[0]])
    form = next((one for one in (RANKING, RANK) if one in columns and not pairs and not is_rated(columns)), None)
    spellings = {**OUTCOMES, "system": (*OUTCOMES["system"], *(["class"] if form else []))}
    needed = [*(PAIR if pairs else ["case"]), "rater", form or "outcome"]
    optional = ["case"] if pairs else [] if form == RANKING else ["system"]
    found = {}
    for role in (*needed, *optional):
        asked = wanted.field(role)
        if role in needed or asked is not None or find(role, columns, spellings) is not None:
            known = {role: (asked,)} if asked is not None else spellings
            found[role] = spelling_of(role, columns, _NEEDED, spellings=known)
    date = next((one for one in OUTCOMES["date"] if one in columns), None)
    found |= {} if date is None else {"date": date}
    if wanted.missing and "outcome" in found:
        columns, at = _with_outcome(columns, found["outcome"], wanted.missing, at)
    named = {role: columns[name] for role, name in found.items()}
    for role, column in named.items():
        for row in missing(column)[:1].tolist() if role != "date" else ():
            out = "leave such rows out: missing=[\"\"] (--missing '')" if role == "outcome" else "leave the row out"
            raise AnnotationError(f"{at(row)} has no {role}; fill it in, or {out}")
    named |= {name: column for name, column in columns.items() if name not in found.values() and name not in named}
    if not len(named["rater"]):
        raise AnnotationError("there are no rows; give at least one outcome by a person for each system")
    read = Rows(named, at)
    return read if form is None else _of_rankings(read, form)


def _row(row: int) -> str:
    return f"row {row + 1}"


def _by_rater(columns: Columns, raters: Sequence[str]) -> tuple[Columns, Callable[[int], str]]:
    """Take a table with a column for each rater as one with a row for each outcome; blank cells are none."""
    there = [name for name in ("rater", "outcome") if name in columns and name not in raters]
    if there:
        raise ArgumentError(
            f"raters= (--raters) names columns of raters, but there is a column {there[0]!r}: drop one."
        )
    for name in raters:
        if name not in columns:
            fix = suggest(name, columns, f"choose from {some([*columns], 9)}")
            raise AnnotationError(f"there is no column {name!r}, which is named as that of a rater; {fix}")
    row, place, said = melted({name: texts_of(columns[name]) for name in raters})
    further = {name: taken(column, row) for name, column in columns.items() if name not in raters}
    rows = {"rater": column_of([raters[one] for one in place.tolist()]), "outcome": column_of(said.tolist())}
    return further | rows, lambda at: _row(int(row[at]))


def _with_outcome(
    columns: Columns, outcome: str, texts: Collection[str], at: Callable[[int], str]
) -> tuple[Columns, Callable[[int], str]]:
    """Leave out rows without an outcome, or with one of some texts instead; warn of their number."""
    cells = texts_of(columns[outcome])
    kept = np.flatnonzero([one is not None and one not in texts for one in cells])
    if len(kept) < len(cells):
        words = f"left out {len(cells) - len(kept):,} of {len(cells):,} rows without an outcome"
        warnings.warn(words, PlausiblyWarning, stacklevel=4)
    return {name: taken(column, kept) for name, column in columns.items()}, lambda one: at(int(kept[one]))


def is_rated(columns: Mapping[str, Any] | Sequence[str]) -> bool:
    """Whether a table has outcomes, by the names of its columns; a class that is ranked is none."""
    return any(one in columns for one in OUTCOMES["outcome"] if one not in ("class", "label"))


def _of_verdicts(verdicts: Sequence[Verdict], wanted: _Wanted, source: Source) -> Rows:
    """Take what raters say of outputs as outcomes: the system is who produced the output."""
    said = [one for one in verdicts if not is_nothing(one.value) and str(one.value).strip() not in wanted.missing]
    if len(said) < len(verdicts):
        Answers(left_out={LEFT_OUT: len(verdicts) - len(said)}).tell_left_out(source.path)
    if not said:
        raise AnnotationError("no verdict has a value; export a run that was scored")
    times = [{name: row.output.fields.get(name) for name in OUTCOMES["date"]} for row in said]
    cells: dict[str, list[Any]] = {
        "system": [_field(row, wanted.system, OUTCOMES["system"], row.output.system) for row in said],
        "case": [_field(row, wanted.case, (), row.output.task or row.case) for row in said],
        "rater": [row.rater for row in said],
        "outcome": [row.value if row.number is None else row.number for row in said],
        KIND: ["person" if row.person else "judge" for row in said],
        CLUSTER: [row.output.cluster for row in said],
        "date": [next((time for time in one.values() if not is_nothing(time)), None) for one in times],
    }
    if wanted.clusters is not None:
        cells[wanted.clusters] = [_field(row, wanted.clusters, (), None) for row in said]
    for value in (value for value in cells["outcome"] if not isinstance(value, str | int | float)):
        raise AnnotationError(f"an outcome is {show(value)}; choose a question with one value each, with control=")
    absent = [one is None for one in cells["system"]]
    if any(absent) and not all(absent):
        raise AnnotationError(
            f"case {said[absent.index(True)].case!r} does not say which system produced the output, but others do; "
            "name the field that does, with system= (--system)"
        )
    cells = {name: column for name, column in cells.items() if any(one is not None for one in column)}
    columns = {name: column_of([None if one is None else str(one) for one in column]) for name, column in cells.items()}
    return Rows(columns, lambda row: f"case {said[row].case!r}", exported=True)


def _field(row: Verdict, asked: str | None, spellings: Sequence[str], known: Any) -> Any:
    """Return what a verdict's source says of an output: the field that was asked for, what is known, or a usual one."""
    fields = {**row.further, **row.output.fields}
    if asked is not None:
        if is_nothing(fields.get(asked)):
            raise AnnotationError(f"case {row.case!r} has no field {asked!r}, among {show(sorted(map(str, fields)))}")
        return fields[asked]
    return (
        known
        if known is not None
        else next((fields[one] for one in spellings if not is_nothing(fields.get(one))), None)
    )


def _of_system(read: Rows, name: str | None, path: Path | None) -> Rows:
    """Name the one system that a source is of, by the name given, or by that of an export's file."""
    if read.pairs or "system" in read.columns:
        if name is not None and not read.exported:
            raise AnnotationError(f"the table names systems itself; give it without the name {name!r}")
        if name is None:
            return read
    if name is None:
        if not read.exported or path is None:
            raise AnnotationError(
                f"the table has no column 'system' (columns found: {', '.join(map(repr, read.columns))}); {_NEEDED}, "
                "or give the system's name with the source: {NAME: table}, NAME=FILE on the command line"
            )
        name = path.stem
    return replace(read, columns={**read.columns, "system": column_of([name] * len(read))})


def _together(found: Sequence[tuple[str, Rows]], wanted: _Wanted) -> Rows:
    """Put the rows of several sources together."""
    names, reads = [name for name, _ in found], [read for _, read in found]
    for name, read in found:
        if read.pairs is not reads[0].pairs:
            raise AnnotationError(
                f"one of {name or 'a table'} and {names[0] or 'another'} compares pairs, the other does not; rank them "
                "apart"
            )
    keep = {*PAIR, "system", "case", "rater", "outcome", "date", KIND, *LENGTHS, CLUSTER, wanted.clusters}
    keep &= {name for read in reads for name in read.columns}
    start = np.cumsum([0, *map(len, reads)])

    def at(row: int) -> str:
        part = int(np.searchsorted(start, row, side="right")) - 1
        return f"{names[part]}: {reads[part].at(row - int(start[part]))}".removeprefix(": ")

    def column(read: Rows, name: str) -> pa.Array:
        if name in read.columns:
            return plain(read.columns[name]).cast(pa.large_string()).combine_chunks()
        return pa.nulls(len(read), pa.large_string())

    if any("case" in read.columns for read in reads):
        for name, read in found:
            if "case" not in read.columns:
                raise AnnotationError(f"{name or 'a table'} has no case, but others do; add a column case")
    columns = {name: pa.chunked_array([column(read, name) for read in reads]) for name in sorted(keep)}
    return Rows(columns, at, any(read.ranked for read in reads))


def _of_rankings(read: Rows, form: str) -> Rows:
    """Take rankings of the systems that were shown apart into their pairs; ties are ties."""
    columns = read.columns
    if form == RANKING:
        of, names, block = _parsed(columns[RANKING], read.at)
        row = np.arange(len(read))
    else:
        keys = [to_codes(columns[name], name)[1] for name in ("case", "rater")]
        block, bad = to_floats(columns[RANK])
        if bad is not None:
            raise AnnotationError(f"row {bad + 1}: the rank is not a number; write 1 for the best")
        texts, code = to_codes(columns["system"], "system")
        names = texts[code]
        pairs, row, of = np.unique(np.stack(keys), axis=1, return_index=True, return_inverse=True)
        of = of.reshape(-1)
    where = np.arange(len(of)) if form == RANK else row[of]
    for again in np.flatnonzero(pd.DataFrame({"of": of, "name": names}).duplicated())[:1].tolist():
        raise AnnotationError(f"{read.at(int(where[again]))}: {str(names[again])!r} is ranked twice; keep one place")
    size = np.bincount(of, minlength=len(row))
    for one in np.flatnonzero(size < 2)[:1].tolist():
        raise AnnotationError(f"{read.at(int(row[one]))}: the ranking has a single system; leave it out")
    order, start = np.argsort(of, kind="stable"), np.cumsum(size) - size
    first, second = [], []
    for k in np.unique(size).tolist():
        members = order[start[size == k][:, None] + np.arange(k)]
        left, right = np.triu_indices(k, 1)
        first.append(members[:, left].ravel())
        second.append(members[:, right].ravel())
    a, b = np.concatenate(first), np.concatenate(second)
    by_row = np.argsort(of[a], kind="stable")
    a, b = a[by_row], b[by_row]
    source = row[of[a]]
    won = np.select([block[a] < block[b], block[a] > block[b]], [names[a], names[b]], "tie")
    kept = {name: one.take(pa.array(source)) for name, one in columns.items() if name not in ("system", form)}
    pairs = dict(zip((*PAIR, "outcome"), (column_of(one.tolist()) for one in (names[a], names[b], won)), strict=True))
    return Rows(kept | pairs, lambda at: read.at(int(source[at])), ranked=True)


def _parsed(column: pa.ChunkedArray, at: Callable[[int], str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rankings in text, such as A>B=C: ranking, name and place of everything that is ranked."""
    texts, code = to_codes(plain(column), RANKING)
    blocks = [[[name.strip() for name in block.split("=")] for block in text.split(">")] for text in texts.tolist()]
    for number, ranking in enumerate(blocks):
        if not all(name for block in ranking for name in block):
            row = int(np.argmax(code == number))
            raise AnnotationError(
                f"{at(row)}: the ranking {str(texts[number])!r} has an empty place; write for example A>B=C"
            )
    of, names, place = [], [], []
    for number, one in enumerate(code.tolist()):
        for rank, block in enumerate(blocks[one]):
            of += [number] * len(block)
            names += block
            place += [rank] * len(block)
    return np.array(of), np.array(names, str), np.array(place)
