"""Which row belongs to which case: by name where rows have names, else by order."""

from collections.abc import Iterable, Mapping
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from plausibly.base.errors import ArgumentError, PlausiblyError
from plausibly.base.names import some, unknown_class
from plausibly.data.annotations.io.spellings import CASE


def names_in(
    index: pd.Index, known: np.ndarray, what: str = "case", error: type[PlausiblyError] = ArgumentError
) -> pd.Index | None:
    """Read the names of rows from an index, as text; None if rows are in the order of the known names.

    An index that has a name holds names. So does any other one, unless it counts the rows, 0, 1, …, and these are not
    the known names. An index that could do either, whole numbers that do neither and several levels are refused.
    """
    many = f"{what}{'es' if what == 'class' else 's'}"
    if index.nlevels > 1:
        raise error(f"the index has several levels; name the {many} by one of them, or reset the index")
    names, wanted = _texts(index), pd.Index(known.astype(object))
    if index.name is not None or index.dtype.kind not in "iu":
        return names
    absent = wanted[~wanted.isin(names)]
    if not index.equals(pd.RangeIndex(len(index))):
        if len(absent):
            raise error(
                f"the index is neither 0, 1, … nor the {many}' names (there is none for {what} {some(absent)}); "
                f"reset it if the rows are in the {many}' order, or name every {what}"
            )
        return names
    if len(absent) or names.equals(wanted):
        return None
    if len(index) > len(known):
        return names
    raise error(
        f"the index 0, 1, … counts the rows or names the {many}, which are in another order ({some(known)}); call it "
        f"{what!r} (rename_axis) if it names them, or set it to their names if the rows are in their order"
    )


def by_name(
    given: Any, known: np.ndarray, what: str, of: str = "case", error: type[PlausiblyError] = ArgumentError
) -> Any:
    """Put values that know what they belong to into the order of the known names of cases (or classes, see `of`).

    A mapping, a pandas Series (or a data frame with a column per case) and an xarray DataArray with the coordinate
    "case" have names, see :func:`names_in`; anything else is in order already. It is an error if a name is missing,
    unknown or there several times; `what` says in errors what the values are, such as "weight".
    """
    if isinstance(given, Mapping):
        given = pd.Series(list(given.values()), _texts(given), dtype=object)
    if isinstance(given, pd.Series | pd.DataFrame):
        axis = given.ndim - 1
        names = names_in(given.axes[axis], known, of, error)
    elif of in getattr(given, "coords", ()) and of in given.dims:
        axis, names = given.dims.index(of), _texts(given[of].values)
    else:
        return given
    if names is None:
        return given
    so = ": give" if error is ArgumentError else "; give"  # as the sentences of each error go on
    if not names.is_unique:
        raise error(f"{what}s name the {of} {names[names.duplicated()][0]!r} several times{so} each {of} one.")
    wanted = pd.Index(known.astype(object))
    if of == "class":
        for name in names.difference(wanted)[:1]:
            raise error(f"a {what} is given, but {unknown_class(name, known)}")
    place = names.get_indexer(wanted)
    if (place < 0).any():
        raise error(f"there is no {what} for {of} {some(known[place < 0])}{so} every {of} one, by its name.")
    if len(names) > len(known):
        extra = some(names.difference(wanted))
        raise error(f"there is a {what} for case {extra}, which has no annotations: remove it.")
    return np.take(np.asarray(given), place, axis=axis)


def _texts(names: Iterable) -> pd.Index:
    return pd.Index([str(name) for name in names], dtype=object)


def with_index(frame: Any) -> Any:
    """Call the index of a pandas data frame "case", unless it counts the rows or a column names the cases."""
    if not nw.dependencies.is_pandas_dataframe(frame) or any(name in frame.columns for name in CASE):
        return frame
    index = frame.index
    if index.nlevels > 1 or index.name is not None or index.equals(pd.RangeIndex(len(index))):
        return frame
    return frame.rename_axis("case")
