"""What annotations are read from: a file, a folder or an object in memory, decoded so far that its format shows."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from plausibly.base.errors import AnnotationError, ArgumentError
from plausibly.base.progress import Progress
from plausibly.data.annotations.io._inspect import ARCHIVE, read_archive
from plausibly.data.annotations.io.case_rows import is_of_cases
from plausibly.data.annotations.io.columns import frame_columns, is_frame
from plausibly.data.annotations.io.files import BY_ANNOTATOR, TABLES, WORKBOOK, ending, naming, read_json, read_lines
from plausibly.data.annotations.io.table_files import header_of, read_columns
from plausibly.data.annotations.matching import with_index

JSON = (".json", ".jsonl")
_LARGE = 2**23  # bytes


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file, a folder or an object in memory, with what the reader was asked for."""

    suffixes: Set[str]  #: of the file, or of all in a folder; in memory, that of a file that could hold the object
    path: Path | None = None
    content: Any = None  #: decoded JSON; of JSON lines the list of lines
    names: Collection[str] = ()  #: of the columns of a table, or of the fields of JSON lines
    table: Callable[[], Mapping[str, Any]] | None = None  #: reader of columns in memory
    parts: Mapping[str, "Source"] | None = None  #: files by one annotator each
    classes: np.ndarray | None = None  #: this and the others as for :func:`plausibly.read_annotations`
    control: str | None = None
    form: str | None = None
    soft_weight: int | None = None
    missing: Collection[str] = ()
    progress: bool = False

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

    def columns(self, wanted: Collection[str] | None = None) -> Mapping[str, Any]:
        """Return the columns of a table; from a file of cells those wanted."""
        if self.table is not None:
            return self.table()
        if (records := self.content) is not None:
            if not records or not all(isinstance(line, Mapping) for line in records):
                raise AnnotationError(
                    "JSON lines are records; write an object on every line, with a case and its annotations"
                )
            return frame_columns(pd.DataFrame({name: [line.get(name) for line in records] for name in self.names}))
        assert self.path is not None
        with Progress(self.progress and ending(self.path) != WORKBOOK and self.path.stat().st_size > _LARGE) as bars:
            return read_columns(self.path, wanted, bars)


def open_source(path: Path, **options: Any) -> Source:
    """Look into a file or a folder."""
    if path.is_dir():
        return Source(suffixes={file.suffix.lower() for file in path.iterdir()}, path=path, **options)
    suffix = ending(path)
    content, names = None, []
    if suffix == ".json":
        content = read_json(path)
    elif suffix == ARCHIVE:
        content = read_archive(path)
    elif suffix == ".jsonl":
        content = read_lines(path)
        names = list(dict.fromkeys(str(name) for line in content if isinstance(line, Mapping) for name in line))
    elif suffix in TABLES:
        names = header_of(path)
    return Source(suffixes={suffix}, path=path, content=content, names=names, **options)


def open_files(files: Mapping[str, Any], **options: Any) -> Source:
    """Look into files by one annotator each."""
    parts = {}
    for who, file in files.items():
        with naming(file):
            parts[str(who)] = open_source(Path(file), **options)
    return Source(suffixes={*BY_ANNOTATOR}, parts=parts, **options)


def source_in_memory(source: Any, **options: Any) -> Source:
    """Take a data frame, a ``datasets.Dataset``, columns, records or nested mappings."""
    table = columns_of_dataset(source)
    if table is None and is_frame(source):
        table = _cells(source)
        if not is_of_cases(table):
            return Source(suffixes={".parquet"}, names=list(table), table=lambda: frame_columns(source), **options)
    elif table is None and isinstance(source, Mapping) and source and all(map(_is_column, source.values())):
        table = {str(name): column for name, column in source.items()}
        if len({len(column) for column in table.values()}) > 1:
            return Source(suffixes=set(), **options)
    if table is None:
        return Source(suffixes={".json"}, content=source, **options)
    return Source(suffixes={".parquet"}, names=list(table), table=lambda: table, **options)


def columns_of_dataset(source: Any) -> dict[str, list[Any]] | None:
    """Columns of a ``datasets.Dataset``, known by what it offers, so that the package need not be there."""
    if hasattr(source, "features") and hasattr(source, "column_names") and callable(getattr(source, "to_dict", None)):
        return {str(name): list(column) for name, column in source.to_dict().items()}
    return None


def _cells(frame: Any) -> dict[str, list[Any]]:
    """Columns of a data frame as Python objects, since Arrow would change cells of lists or mappings."""
    if hasattr(frame, "to_pylist"):
        return {name: frame.column(name).to_pylist() for name in frame.column_names}
    if hasattr(frame, "to_dicts"):
        return {name: frame[name].to_list() for name in frame.columns}
    frame = with_index(frame)
    if frame.index.name is not None and frame.index.name not in frame.columns:
        frame = frame.reset_index()
    return {str(name): frame[name].tolist() for name in frame.columns}


def _is_column(column: Any) -> bool:
    return isinstance(column, Iterable) and hasattr(column, "__len__") and not isinstance(column, str | bytes | Mapping)
