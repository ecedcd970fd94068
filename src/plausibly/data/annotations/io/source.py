"""What annotations are read from: a file, a folder or an object in memory, decoded so far that its layout shows."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from plausibly.base.errors import AnnotationError, ArgumentError, show
from plausibly.base.progress import Progress
from plausibly.data.annotations.io._inspect import ARCHIVE, read_archive
from plausibly.data.annotations.io.answers import scalars, whole
from plausibly.data.annotations.io.case_rows import is_of_cases
from plausibly.data.annotations.io.columns import frame_columns, is_frame, is_nothing, list_of
from plausibly.data.annotations.io.files import BY_ANNOTATOR, TABLES, WORKBOOK, ending, naming, read_json, read_lines
from plausibly.data.annotations.io.long_table import is_long
from plausibly.data.annotations.io.spellings import COLUMNS, FURTHER, find, further_roles, renamed
from plausibly.data.annotations.io.table_files import header_of, read_columns

JSON = (".json", ".jsonl")
_SPLIT = ("columns", "data")  # keys of a table that is written as names and rows
_LARGE = 2**23  # bytes
_TRIPLE = ("case", "annotator", "label")

Column = pa.ChunkedArray | list[Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """A file, a folder or an object in memory, with what the reader was asked for."""

    suffixes: Set[str]  #: of the file, or of all in a folder; in memory, that of a file that could hold the object
    path: Path | None = None
    content: Any = None  #: decoded JSON; of JSON lines the list of lines
    names: Collection[str] = ()  #: of the columns of a table, or of the fields of records
    table: Callable[[], Mapping[str, Any]] | None = None  #: reader of columns in memory
    roles: Mapping[str, str] = field(default_factory=dict)  #: columns that the user names, by role
    parts: Mapping[str, "Source"] | None = None  #: files by one annotator each
    classes: np.ndarray | None = None  #: this and the others as for :func:`plausibly.read_annotations`
    control: str | None = None
    layout: str | None = None
    soft_weight: int | None = None
    missing: Collection[str] = ()
    repeats: str | None = None
    progress: bool = False
    graded: bool = False  #: whether labels are numbers of stars, whose classes are in the order of the numbers

    def __post_init__(self):
        weight = self.soft_weight
        if weight is None:
            return
        if isinstance(weight, bool) or not isinstance(weight, int | np.integer) or not 1 <= weight <= 10_000:
            raise ArgumentError(
                f"soft_weight must be a whole number from 1 to 10,000, but {weight!r} was given: say how many "
                "annotators a soft label stands for, such as 10."
            )

    @property
    def records(self) -> Sequence[Any]:
        """The content, if it is a list."""
        listed = isinstance(self.content, Sequence) and not isinstance(self.content, str | bytes)
        return self.content if listed else ()

    @property
    def folder(self) -> bool:
        """Whether this is a folder, or several files."""
        return self.parts is not None or (self.path is not None and self.path.is_dir())

    @property
    def is_long(self) -> bool:
        """Whether this is a table with a row for each answer, or part of one."""
        return bool(self.names) and is_long(self.names)

    @cached_property
    def cells(self) -> dict[str, Column]:
        """All columns of a table."""
        return self.columns()

    @cached_property
    def texts(self) -> dict[str, np.ndarray]:
        """All cells of a table as text, None where they are blank."""
        return {name: texts_of(column) for name, column in self.cells.items()}

    def columns(self, wanted: Collection[str] | None = None) -> dict[str, Column]:
        """Return the columns of a table: in Arrow, or as lists of objects that Arrow would change.

        Columns of a CSV, TSV or Parquet file that are not wanted are empty.
        """
        if self.table is not None:
            return dict(self.table())
        if (records := self.content) is not None:
            for number, line in enumerate(records, 1):
                if not isinstance(line, Mapping):
                    raise AnnotationError(
                        f"row {number} is {show(line)}; write every row as a record: an object with a case, an "
                        "annotator and a label, or a case and its annotations"
                    )
            if not records:
                raise AnnotationError("there are no records; write at least one")
            return {name: column_of([line.get(name) for line in records]) for name in self.names}
        assert self.path is not None
        names = renamed(header_of(self.path), self.roles)
        asked = None if wanted is None else [name for name, role in names.items() if role in wanted]
        with Progress(self.progress and ending(self.path) != WORKBOOK and self.path.stat().st_size > _LARGE) as bars:
            return {names[name]: column for name, column in read_columns(self.path, asked, bars).items()}

    def as_long(self, columns: dict[str, Column], *, scores: bool, graded: bool) -> "Source":
        """Return a long table of the same answers."""
        form: dict[str, Any] = {"layout": "scores" if scores else "table", "graded": graded, "suffixes": {".parquet"}}
        own: dict[str, Any] = {"names": [*columns], "table": lambda: columns, "roles": {}, "control": None}
        return replace(self, **form, **own, content=None, parts=None)


def open_source(path: Path, *, roles: Mapping[str, str] | None = None, **options: Any) -> Source:
    """Look into a file or a folder; `roles` names the columns of a table that have a role."""
    roles = roles or {}
    if path.is_dir():
        _refuse_roles(roles, "a folder")
        return Source(suffixes={file.suffix.lower() for file in path.iterdir()}, path=path, **options)
    suffix = ending(path)
    if suffix in TABLES:
        header = header_of(path)
        roles = further_roles(header) | dict(roles)
        names = list(renamed(header, roles).values())
        return Source(suffixes={suffix}, path=path, names=names, roles=roles, **options)
    content = None
    if suffix == ".json":
        content = read_json(path)
    elif suffix == ARCHIVE:
        content = read_archive(path)
    elif suffix == ".jsonl":
        content = read_lines(path)
    return _of_content(content, {suffix}, roles, path=path, **options)


def open_files(files: Mapping[str, Any], **options: Any) -> Source:
    """Look into files by one annotator each."""
    parts = {}
    for who, file in files.items():
        with naming(file):
            parts[str(who)] = open_source(Path(file), **options)
    return Source(suffixes={*BY_ANNOTATOR}, parts=parts, **{**options, "roles": {}})


def source_in_memory(source: Any, *, roles: Mapping[str, str] | None = None, **options: Any) -> Source:
    """Take a data frame, a ``datasets.Dataset``, columns, records, triples or nested mappings."""
    roles = roles or {}
    if (table := columns_of_dataset(source)) is not None:
        source = table
    elif is_frame(source):
        by_case = nw.dependencies.is_pandas_dataframe(source) and is_of_cases(map(str, source.columns))
        columns = columns_of_frame(source, of_numbers=by_case)
        names = renamed(columns, roles)
        return _of_columns({names[name]: column for name, column in columns.items()}, **options)
    elif isinstance(source, Iterable) and not isinstance(source, str | bytes | Mapping | Sequence):
        source = list(source)
    if not isinstance(source, Mapping | Sequence) or isinstance(source, str | bytes):
        raise AnnotationError(
            f"labels come as a data frame, a path, a mapping or a list of rows, got {show(source)}; "
            f"give a table with the columns {', '.join(map(repr, _TRIPLE))}"
        )
    return _of_content(source, {".json"}, roles, **options)


def _of_content(content: Any, suffixes: Set[str], roles: Mapping[str, str], **options: Any) -> Source:
    """Take decoded JSON, or its like in memory: columns, triples and records are tables."""
    if isinstance(content, Mapping) and {"columns", "data"} <= {*content} and _are_rows(*map(content.get, _SPLIT)):
        names = list(map(str, content["columns"]))  # of Weights & Biases, and of pandas' ``orient="split"``
        content = [dict(zip(names, row, strict=True)) for row in content["data"]]
    if isinstance(content, Mapping) and _are_columns_by_row(content):
        content = {name: list(cells.values()) for name, cells in content.items()}
    if isinstance(content, Mapping) and _are_columns(content):
        names = renamed(map(str, content), roles)
        return _of_columns({names[str(name)]: _listed(name, column) for name, column in content.items()}, **options)
    if isinstance(content, Sequence) and not isinstance(content, str | bytes) and content:
        content = _scores_in_rows(content)
        if isinstance(content[0], Mapping):
            found = dict.fromkeys(str(name) for line in content if isinstance(line, Mapping) for name in line)
            names = renamed(found, roles)
            if roles:
                content = [
                    {names[str(name)]: cell for name, cell in line.items()} if isinstance(line, Mapping) else line
                    for line in content
                ]
            return Source(suffixes=suffixes, content=content, names=[*names.values()], roles=roles, **options)
        if _is_triple(content[0]):
            for number, row in enumerate(content, 1):
                if not _is_triple(row):
                    raise AnnotationError(f"row {number} is {show(row)}; write every row as ({', '.join(_TRIPLE)})")
            columns = zip(*content, strict=True)
            return _of_columns(
                {name: column_of(list(one)) for name, one in zip(_TRIPLE, columns, strict=True)}, **options
            )
    _refuse_roles(roles, "this layout")
    return Source(suffixes=suffixes, content=content, **options)


def _are_rows(names: Any, rows: Any) -> bool:
    """Whether these are names of columns, and rows with a cell of each."""
    listed = all(isinstance(one, list) and one for one in (names, rows))
    return listed and all(isinstance(row, list) and len(row) == len(names) for row in rows)


def _of_columns(columns: dict[str, Column], **options: Any) -> Source:
    if len({len(column) for column in columns.values()}) > 1:
        lengths = ", ".join(f"{name!r} {len(column)}" for name, column in columns.items())
        raise AnnotationError(f"the columns differ in length ({lengths}); give each a cell per row")
    return Source(suffixes={".parquet"}, names=list(columns), table=lambda: columns, **options)


def _refuse_roles(roles: Mapping[str, str], what: str) -> None:
    for role, name in roles.items():
        raise ArgumentError(f"{role}={name!r} names a column of a table, but {what} has none: leave it out.")


def _scores_in_rows(records: Sequence[Any]) -> Sequence[Any]:
    """Give each score a row of its own, where records of cases have lists of scores, each with its annotator."""

    def are_scores(said: Any) -> bool:
        keys = {*map(str, said[0])} if isinstance(said, list) and said and isinstance(said[0], Mapping) else ()
        score = find("score", keys)
        return score is not None and find("label", keys) in (None, score) and find("annotator", keys) is not None

    first = records[0] if isinstance(records[0], Mapping) else {}
    name = next((name for name, said in first.items() if are_scores(said)), None)
    if name is None:
        return records
    rows: list[Mapping] = []
    for number, record in enumerate(records, 1):
        if not isinstance(record, Mapping) or not are_scores(record.get(name)):
            raise AnnotationError(f"record {number} has no {name} with annotators, as others have: leave it out")
        rows += [{**scalars(record, ()), **own} for own in record[name]]
    return rows


def _are_columns(content: Mapping) -> bool:
    """Whether a mapping holds the columns of a table: lists, one of which has a name that such a column has."""
    names = {*map(str, content)}
    several = [isinstance(one, Iterable) and not isinstance(one, str | bytes | Mapping) for one in content.values()]
    if several and all(several):
        return bool(
            names & {*COLUMNS["case"], *COLUMNS["annotator"], *COLUMNS["label"], *FURTHER["case"], "score", "id"}
        )
    return any(several) and bool(names & {*COLUMNS["case"]}) and bool(names & {*COLUMNS["label"]})


def _are_columns_by_row(content: Mapping) -> bool:
    """Whether a mapping holds the columns of a table as pandas writes them: from the numbers of rows to cells."""
    named = all(find(role, map(str, content)) is not None for role in ("case", "label"))
    rows = [[*map(str, cells)] for cells in content.values() if isinstance(cells, Mapping)]
    return named and len(rows) == len(content) and all(row == [*map(str, range(len(rows[0])))] for row in rows)


def _listed(name: Any, column: Any) -> Column:
    if isinstance(column, str | bytes | Mapping) or not isinstance(column, Iterable):
        raise AnnotationError(f"the column {str(name)!r} is {show(column)}; write a list with a cell per row")
    return column_of(column.tolist() if isinstance(column, np.ndarray) else list(column))


def _is_triple(row: Any) -> bool:
    """Whether this is a case, an annotator and a label."""
    listed = isinstance(row, Sequence) and not isinstance(row, str) and len(row) == len(_TRIPLE)
    return listed and all(isinstance(one, str | int | float) or is_nothing(one) for one in row[:2])


def column_of(cells: list[Any]) -> Column:
    """Make an Arrow column of text, or of numbers of one kind; leave others, such as lists, as they are."""
    kinds = {type(cell) for cell in cells if not is_nothing(cell)}
    for kind, arrow in ((str, pa.large_string()), (int, pa.int64()), (float, pa.float64())):
        if kinds == {kind} or (kind is float and kinds == {int, float}):
            try:
                return pa.chunked_array([pa.array([None if is_nothing(one) else one for one in cells], arrow)])
            except (pa.ArrowException, OverflowError, UnicodeEncodeError):
                return cells
    return cells


def as_text(cell: Any) -> str | None:
    """Return a cell as text, whole numbers without a decimal point; None of a blank one."""
    return None if is_nothing(cell) else str(whole(cell)).strip()


def texts_of(column: Column) -> np.ndarray:
    """Return the cells of a column as text, None where they are blank."""
    texts = np.empty(len(column), object)
    texts[:] = [as_text(cell) for cell in list_of(column)]
    return texts


def columns_of_dataset(source: Any) -> dict[str, list[Any]] | None:
    """Columns of a ``datasets.Dataset``, known by what it offers, so that the package need not be there."""
    if hasattr(source, "features") and hasattr(source, "column_names") and callable(getattr(source, "to_dict", None)):
        return {str(name): list(column) for name, column in source.to_dict().items()}
    return None


def columns_of_frame(frame: Any, *, of_numbers: bool = False) -> dict[str, Column]:
    """Take the columns of a data frame, as :func:`frame_columns`; those that Arrow would alter as lists of objects."""
    if isinstance(frame, pa.Table):
        return dict(frame_columns(frame))
    is_pandas = nw.dependencies.is_pandas_dataframe(frame)
    if is_pandas:
        objects = [name for name in frame.columns if frame[name].ndim == 1 and frame[name].dtype == object]
    else:
        wrapped = nw.from_native(frame, eager_only=True)
        objects = [name for name in wrapped.columns if wrapped[name].dtype in (nw.Object, nw.Struct, nw.List)]
    # Text is quicker in Arrow; other objects, such as dicts and mixed lists, would come back changed.
    cells = {name: frame[name].to_list() for name in objects}
    kept = {name: own for name, own in cells.items() if not all(isinstance(v, str) or is_nothing(v) for v in own)}
    if kept:
        frame = frame.drop(columns=list(kept)) if is_pandas else frame.drop(list(kept))
    order = [str(name) for name in frame.columns]
    found = frame_columns(frame, of_numbers=of_numbers) | {str(name): own for name, own in kept.items()}
    return {name: found[name] for name in [*order, *found] if name in found}
