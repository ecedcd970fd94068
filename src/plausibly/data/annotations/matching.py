"""Which row belongs to which case: by name where rows have names, else by order."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd
from jaxtyping import Int

from plausibly.base.errors import ArgumentError, PlausiblyError, PredictionError
from plausibly.base.names import same_names, some, unknown_class
from plausibly.data.annotations.io.spellings import in_one_code, in_two_codes

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"


def _date(name: str) -> str:
    """Numbers of a date in ascending order, those of a month for its name; of any other name itself."""
    months = {one: str(number) for number, one in enumerate(_MONTHS.split(), 1)}
    parts = [months.get(part[:3].lower(), part) for part in re.split(r"[-/. ]", re.sub(r"[ T]\d\d?:\d\d.*", "", name))]
    dated = (len(parts) == 3 or (len(parts) == 2 and "." not in name)) and all(
        part.isdecimal() and len(part) <= 4 for part in parts
    )
    return "-".join(map(str, sorted(int(part) % 100 for part in parts))) if dated else name


#: How names of one case may differ between files, each with what makes these equal, in the order in which it does.
_DIFFER: dict[str, Callable[[str], str]] = {
    "blanks and signs": lambda name: re.sub(r"[\s_-]+", " ", name).strip(),
    "capitals": str.casefold,
    "composed characters": lambda name: normalize("NFC", name),
    "decimals": lambda name: re.sub(r"(?<=\d)\.0+$", "", name),
    "dates": _date,
    "folders": lambda name: re.split(r"[/\\]", name)[-1],
    "extensions": lambda name: re.sub(r"(?<=.)(\.[A-Za-z][A-Za-z0-9]{1,4}){1,2}$", "", name),
    "leading zeros": lambda name: re.sub(r"^0+(?=\w)|(?<![\d.])0+(?=\d)", "", name),
}


def _plain(name: str, without: str = "") -> str:
    """Make a name equal to others of the same case, by all rules or by all but one."""
    for how, function in _DIFFER.items():
        name = name if how == without else function(name)
    return name


def places(names: Iterable[str], known: np.ndarray) -> Int[np.ndarray, " name"]:
    """Index of each name among the known ones, all different; -1 if it is none of them."""
    return pd.Index(known.astype(object)).get_indexer(pd.Index(np.asarray(names, dtype=object)))


def called(absent: Collection[str], others: Collection[str], what: str) -> str:
    """Say how names that are not among others are written there, and how these spellings differ; nothing if none is.

    `what` has the other names, and only those without a partner should be given.

    Examples
    --------
    >>> called(["007", "9"], ["7", "8"], "rows")
    "rows are called '7' (leading zeros differ); write names alike in all files"
    """
    keys = {_plain(name): name for name in map(str, others)}
    near = {name: keys[key] for name in map(str, absent if keys else ()) if (key := _plain(name)) in keys}
    for name, other in near.items():
        how = [one for one in _DIFFER if _plain(name, one) != _plain(other, one)] or ["spellings"]
        found = some([*near.values()])
        return f"{what} are called {found} ({' and '.join(how)} differ); write names alike in all files"
    return ""


def check_spelled(names: Iterable[Any], known: Iterable[Any], what: str, fix: str = "") -> None:
    """Refuse names of classes in one file that are spelled otherwise in it, or in annotations whose classes are known.

    `what` has the names, in the plural, and `fix` ends the sentence where it shares no class with annotations.

    Raises
    ------
    PredictionError
        If a name differs from another only in what readers overlook, or says the same in another code, such as 1 for
        yes; or if no name is that of a class, unless there is one name on either side, and both may be of one code.

    Examples
    --------
    >>> check_spelled(["wart", "cyst"], ["corn", "wart"], "gold labels")
    """
    names, known = (list(dict.fromkeys(map(str, given))) for given in (names, known))
    alike = "write classes alike in all files"
    for first, second in same_names([*known, *(name for name in names if name not in known)]):
        if second not in known:
            how = "which differs only in capitals, blanks, punctuation or leading zeros"
            raise PredictionError(f"{what} have {second!r} beside {first!r}, {how}; {alike}")
    unlike = len(names) > 1 or len(known) > 1 or not in_one_code([*names, *known])
    if known and names and not {*names} & {*known} and unlike:
        raise PredictionError(f"{what} are {some(names)}, and classes are called {some(known)}; {alike}{fix}")
    if (two := in_two_codes([*known, *names])) and not in_two_codes(known):
        raise PredictionError(f"{what} have {two[0]!r} beside {two[1]!r}, which may mean the same; {alike}")


def refuse_absent(absent: np.ndarray, more: Collection[str], whole: bool, fix: str) -> None:
    """Refuse rows if some cases have none; `more` are names of rows of no case, and `whole` says that all are.

    The sentence ends with how rows spell these cases, or else with `fix`.

    Raises
    ------
    PredictionError
        If there is a case without a row.
    """
    if not len(absent):
        return
    told = called(absent, more, "rows")
    if not told and whole and len(more):
        told = f"rows are called {some([*more])}; write names alike in all files"
    raise PredictionError(f"there is no row for case {some(absent)}{f': {told}' if told else f'; {fix}'}")


def shared_cases(cases: np.ndarray, found: Iterable[tuple[object, np.ndarray]]) -> np.ndarray:
    """Names of the cases that are among the names found in each of several sources, and in none spelled otherwise.

    Raises
    ------
    PredictionError
        If a case without a row is spelled otherwise in a file, since it would be left out by mistake.
    """
    shared = np.ones(len(cases), bool)
    for source, names in found:
        there = places(cases, np.unique(names)) >= 0
        if told := called(cases[~there], [*{*names.tolist()} - {*cases.tolist()}], "rows"):
            raise PredictionError(f"{source}: there is no row for case {some(cases[~there])}: {told}")
        shared &= there
    return cases[shared]


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
    extra = names[~names.isin(wanted)]
    if (place < 0).any():
        told = called(known[place < 0], extra, "those given")
        fix = f"{so[:2]}{told}." if told else f"{so} every {of} one, by its name."
        raise error(f"there is no {what} for {of} {some(known[place < 0])}{fix}")
    if len(extra):
        raise error(f"there is a {what} for {of} {some(extra)}, which has no annotations: remove it.")
    return np.take(np.asarray(given), place, axis=axis)


def _texts(names: Iterable) -> pd.Index:
    return pd.Index([str(name) for name in names], dtype=object)
