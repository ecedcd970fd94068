"""Clusters of cases, and groups to report by, from a table of their own or from a column of the annotations."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from plausibly.base.errors import ArgumentError, PlausiblyError
from plausibly.base.names import some
from plausibly.data.annotations import read_metadata
from plausibly.data.annotations.io.columns import Columns
from plausibly.data.annotations.io.files import naming, naming_file, parted
from plausibly.data.annotations.io.read import open_any
from plausibly.data.annotations.io.source import Source
from plausibly.data.annotations.io.spellings import find
from plausibly.data.annotations.io.table_files import read_columns
from plausibly.data.groups import columns_of


def read_column(
    given: str | None, annotations: Any = None, option: str = "--clusters", column: str = "cluster"
) -> pd.Series | None:
    """Read the cluster of each case, or something else known of it, which `option` gives.

    That is a file with the columns ``case`` and `column`, or a column of the annotations, if they are a table or have
    metadata of cases.
    """
    if given is None:
        return None
    annotations = None if annotations is None else open_any(annotations, {})
    path = Path(given)
    if parted(path)[0].is_file():
        with naming(path):
            return _one_by_case(read_columns(path), column)
    if annotations is not None and (found := _column(given, annotations, _metadata)) is not None:
        return found
    where = "" if annotations is None else f", nor a column of {annotations.path}"
    names = [] if annotations is None else list(map(str, _metadata(annotations).columns))
    raise ArgumentError(
        f"{option} must be a file with the columns case and {column}"
        f"{' or a column of the annotations' if where else ''}, but {given!r} is not a file{where}: "
        f"{f'choose from {some(names)}' if names else 'check the name'}."
    )


def read_by(given: str | None, annotations: Any) -> dict[str, pd.Series] | None:
    """Read the groups of cases to report by: of every name or path, separated by commas, a column or all of a table."""
    if given is None:
        return None
    annotations = open_any(annotations, {})
    found: dict[str, pd.Series] = {}
    metadata = cache(_metadata)  # read once, however many names there are
    for name in filter(None, map(str.strip, given.split(","))):
        path = Path(name)
        if parted(path)[0].is_file():
            columns = columns_of(path)
        elif (column := _column(name, annotations, metadata)) is not None:
            columns = {name: column}
        else:
            names = metadata(annotations).columns
            known = f"choose from {', '.join(map(str, names))}" if len(names) else "give a table with the column case"
            raise ArgumentError(
                f"--by must name columns of the annotations with one value for every case, or files, but {name!r} is "
                f"neither: {known}."
            )
        for twice in columns.keys() & found:
            raise ArgumentError(f"--by names the column {twice!r} twice: rename one, or leave it out.")
        found |= columns
    if not found:
        raise ArgumentError(f"--by must name a column or a file, but {given!r} was given: write for example site.")
    return found


def groups_and_clusters(
    by: str | None, clusters: str | None, annotations: Any, cases: np.ndarray | None = None
) -> tuple[dict[str, pd.Series] | None, pd.Series | None]:
    """Read groups to report by, and clusters; only those of some `cases`, where labels of others are all missing."""
    groups, found = read_by(by, annotations), read_column(clusters, annotations)
    if cases is None:
        return groups, found
    kept = {name: column[column.index.isin(cases)] for name, column in (groups or {}).items()}
    return None if groups is None else kept, None if found is None else found[found.index.isin(cases)]


def _column(name: str, annotations: Source, metadata: Callable[[Source], pd.DataFrame]) -> pd.Series | None:
    """Value of each case in a column of the annotations, if there is one."""
    if annotations.content is None and name in annotations.names and (case := find("case", annotations.names)):
        with naming_file(annotations):
            return _one_by_case(annotations.columns({name, case}), name)
    return metadata(annotations).get(name)


def _metadata(annotations: Source) -> pd.DataFrame:
    """Columns of the annotations with one value for every case; none where they have another form."""
    try:
        return read_metadata(annotations)
    except PlausiblyError:
        return pd.DataFrame()


def _one_by_case(columns: Columns, name: str) -> pd.Series:
    case = find("case", columns)
    if case is None or name not in columns:
        missing = "case" if case is None else name
        raise ArgumentError(f"the table must have the columns case and {name}, but has no {missing!r}: rename them.")
    found = pd.Series(columns[name].to_pylist(), index=[str(value) for value in columns[case].to_pylist()])
    empty = found.isna() | (found.map(str).str.strip() == "")
    for label in found.index[empty][:1]:
        raise ArgumentError(f"case {label!r} has no {name}: fill the cell.")
    found = found.map(str)
    distinct = found.reset_index().drop_duplicates()
    for label in distinct["index"][distinct["index"].duplicated()][:1]:
        values = distinct.loc[distinct["index"] == label, 0].tolist()
        raise ArgumentError(
            f"case {label!r} has two values of {name}, {values[0]!r} and {values[1]!r}: a case belongs to one."
        )
    return found[~found.index.duplicated()]
