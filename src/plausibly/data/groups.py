"""What is known of cases, parsed once: clusters that are resampled together, weights, and groups to report by."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from plausibly.base.errors import ArgumentError, show, suggest
from plausibly.data.annotations import read_metadata
from plausibly.data.annotations.io.files import TABLES, ending, naming, parted
from plausibly.data.annotations.io.spellings import ANSWERS, SOFT, find, spelling_of
from plausibly.data.annotations.io.table_files import header_of, read_columns
from plausibly.data.annotations.matching import by_name

TIMES = " × "  #: between the parts of an intersection
OTHERS = "(others)"  #: annotators of no group that was named
EVERYBODY = "(all)"  #: the group of all annotators, if none were named
MOST = 500  #: groups, of each of which there are draws of every metric
_LEAST = 1e-20  # of the greatest weight: sums in single precision must neither vanish nor overflow

Column = tuple[np.ndarray, Int[np.ndarray, " case"]]  # the values of a column, and which of them each case has


def check_clusters(clusters: Any, cases: np.ndarray, what: str = "cluster") -> np.ndarray:
    """Refuse clusters that do not match the cases; return the cluster of each case, its own name if none are given.

    In errors they are called `what`.
    """
    if clusters is None:
        return cases
    clusters = by_name(clusters, cases, what)
    if isinstance(clusters, str) or not isinstance(clusters, Iterable):
        raise ArgumentError(f"{what}s must be one value per case, but {show(clusters)} was given: give a list of them.")
    values = list(clusters)
    if len(values) != len(cases):
        raise ArgumentError(
            f"{what}s must have one value for each of the {len(cases)} cases, but {len(values)} were given: give as "
            "many as there are cases."
        )
    for case, value in zip(cases, values, strict=True):
        if not isinstance(value, Hashable) or value is None or value != value or str(value).strip() == "":
            raise ArgumentError(f"case {str(case)!r} must belong to a {what}, but {value!r} was given: name it.")
    return np.array([str(value) for value in values])


def typical_weight(weights: Float[np.ndarray, " case *draw"]) -> Float[np.ndarray, "*draw"]:
    """Weight of each of fewer cases, all alike, which tell as much as these with theirs; 1 if none has weight.

    Examples
    --------
    >>> typical_weight(np.array([2.0, 2.0, 0.0])).item()
    2.0
    """
    total = weights.sum(axis=0, dtype=float)
    return np.where(total > 0, (weights**2).sum(axis=0, dtype=float) / np.where(total > 0, total, 1), 1.0)


def check_weights(weights: ArrayLike, n_draws: int, cases: np.ndarray) -> Float[np.ndarray, "draw case"]:
    """Refuse weights that do not fit; those that are the same in all draws get a single row."""
    n_cases = len(cases)
    weights = by_name(weights, cases, "weight")
    try:
        values = np.asarray(weights)
    except ValueError as error:
        raise ArgumentError(
            "weights must be an array, but rows differ in length: give all rows the same length."
        ) from error
    if values.dtype.kind not in "biuf":
        raise ArgumentError(f"weights must be numbers, but {show(weights)} was given: convert them to numbers.")
    if values.shape not in ((n_cases,), (n_draws, n_cases)):
        raise ArgumentError(
            f"weights must have the shape (case,), {(n_cases,)}, or (draw, case), {(n_draws, n_cases)}, but the shape "
            f"is {values.shape}: give one weight per case, or per draw and case."
        )
    wrong = np.argwhere(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        place = tuple(int(at) for at in wrong[0])
        raise ArgumentError(
            f"weights must be finite numbers that are not negative, but {values[place]} stands at {place}: give 0 to "
            "what does not count."
        )
    if not values.any():
        raise ArgumentError("weights must not all be 0, but they are: give weight to at least one case.")
    if not _LEAST <= values.max() <= 1 / _LEAST:
        raise ArgumentError(
            f"the greatest weight must be between {_LEAST:g} and {1 / _LEAST:g}, but it is {values.max()}: scale them, "
            "since only their ratios count."
        )
    return values.astype(np.float32).reshape(-1, n_cases)


@dataclass(frozen=True)
class Groups:
    """Groups of cases, by one column or several."""

    #: Of every group the column, and the value in it
    column: np.ndarray
    value: np.ndarray
    member: Float[np.ndarray, "group case"]  #: Whether a case belongs to each group

    def __len__(self) -> int:
        return len(self.column)

    @property
    def coords(self) -> dict[str, Any]:
        """Coordinates of results."""
        names = [f"{column}: {value}" for column, value in zip(self.column, self.value, strict=True)]
        coords = {"group": np.array(names, str), "group_column": ("group", self.column)}
        return coords | {
            "group_value": ("group", self.value),
            "group_n_cases": ("group", self.member.sum(1).astype(int)),
        }

    def positive(self, sides: Float[np.ndarray, "case side"]) -> dict[str, Any]:
        """Coordinate of how many cases are positive, by the labels of each of two sides; of more, there is none."""
        return {"group_n_positive": ("group", self.member @ sides[:, 1])} if sides.shape[1] == 2 else {}


def read_annotator_groups(groups: Any, annotators: np.ndarray) -> dict[str, str]:
    """Read which annotators belong together: a mapping from group to annotators or the reverse, or the path of a table.

    A table has the columns annotator and group. Annotators of no group are the group "(others)".

    Raises
    ------
    ArgumentError
        If it is none of these, or names somebody who has not annotated, or twice.

    Examples
    --------
    >>> read_annotator_groups({"models": ["gpt", "llama"]}, np.array(["ann", "gpt", "llama"]))
    {'ann': '(others)', 'gpt': 'models', 'llama': 'models'}
    """
    if isinstance(groups, str | PathLike):
        with naming(groups):
            columns = read_columns(Path(groups), ("annotator", "group"))
        for name in ("annotator", "group"):
            if name not in columns:
                raise ArgumentError(f"annotator_groups must have a column {name!r}, but {groups} has none: add it.")
        pairs = list(zip(*(columns[name].to_pylist() for name in ("annotator", "group")), strict=True))
    elif isinstance(groups, Mapping) and groups:
        pairs = []
        for key, value in groups.items():
            several = isinstance(value, Iterable) and not isinstance(value, str)
            pairs += [(one, key) for one in value] if several else [(key, value)]
    else:
        raise ArgumentError(
            f"annotator_groups must be a mapping from groups to annotators, but {show(groups)} was given: write "
            "{'models': ['gpt', 'llama']}."
        )
    found: dict[str, str] = {}
    for annotator, group in pairs:
        name = str(annotator)
        if group == OTHERS:
            raise ArgumentError(
                f"annotator_groups has a group {OTHERS!r}, which stands for annotators of no group: leave it out."
            )
        if name not in annotators:
            raise ArgumentError(
                f"annotator_groups names {name!r}, who gave no annotation: {suggest(name, annotators, 'leave it out')}."
            )
        if found.setdefault(name, str(group)) != str(group):
            raise ArgumentError(f"annotator_groups has {name!r} in {found[name]!r} and in {str(group)!r}: choose one.")
    if not found:
        raise ArgumentError("annotator_groups names nobody: write {'models': ['gpt', 'llama']}, or leave it out.")
    return {str(name): found.get(str(name), OTHERS) for name in annotators}


def codes_of_annotators(groups: Mapping[str, str] | None, annotators: np.ndarray) -> Column:
    """Return the names of groups of annotators, and which of them each annotator is in; without groups, one of all.

    Examples
    --------
    >>> names, code = codes_of_annotators({"ann": "people", "gpt": "models"}, np.array(["ann", "gpt"]))
    >>> names.tolist(), code.tolist()
    (['models', 'people'], [1, 0])
    """
    if groups is None:
        return np.array([EVERYBODY]), np.zeros(len(annotators), int)
    names = np.unique(list(groups.values()))
    return names, np.searchsorted(names, [groups[name] for name in annotators.tolist()])


def read_groups(by: Any, cases: np.ndarray, *, intersections: bool = False) -> Groups:
    """Read groups of cases.

    They are a table with a row per case: a data frame with a column "case" or an index of cases, or the path of one (or
    of what :func:`plausibly.read_metadata` reads); a Series, or a mapping from case to group; or a mapping from names
    to these, or to lists in the order of the cases. Groups that were read are returned as they are. On request, the
    combinations of columns that occur are groups, too.

    Raises
    ------
    ArgumentError
        If it is none of these, a case has no group, or there are more than 500 groups.
    """
    if isinstance(by, Groups):
        return by
    columns: dict[str, Column] = {}
    for name, values in columns_of(by).items():
        columns[name] = np.unique(check_clusters(values, cases, "group"), return_inverse=True)
        if len(cases) > 1 and set(map(str, columns[name][0])) == set(map(str, cases)):
            raise ArgumentError(f"the column {name!r} of by names the cases: call it 'case', so that rows are matched.")
    if not columns:
        raise ArgumentError("by must name a group of every case, but the table has no columns: give at least one.")
    if intersections:
        columns |= crossed(columns)
    n_groups = {name: len(values) for name, (values, _) in columns.items()}
    if sum(n_groups.values()) > MOST:
        most = max(n_groups, key=lambda name: n_groups[name])
        raise ArgumentError(
            f"by must make at most {MOST} groups, but it makes {sum(n_groups.values()):,}, {n_groups[most]:,} of them "
            f"by {most!r}: take broader groups."
        )
    pairs = [(name, value) for name, (values, _) in columns.items() for value in values]
    member = np.concatenate([np.arange(len(values))[:, None] == code for values, code in columns.values()])
    names, values = np.array(pairs, str).T
    return Groups(names, values, member.astype(np.float32))


def crossed(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Combine columns in twos, threes and so on; a case that one of them lacks (−1) belongs to no combination."""
    found: dict[str, Column] = {}
    for size in range(2, len(columns) + 1):
        for chosen in combinations(columns, size):
            name = TIMES.join(chosen)
            if name in columns:
                raise ArgumentError(f"the column {name!r} has the name of an intersection: rename it.")
            codes = np.array([columns[one][1] for one in chosen])
            known = (codes >= 0).all(axis=0)
            there, place = np.unique(codes[:, known], axis=1, return_inverse=True)
            code = np.full(len(known), -1)
            code[known] = place.ravel()
            parts = [columns[one][0][of] for one, of in zip(chosen, there, strict=True)]
            found[name] = np.array([TIMES.join(map(str, value)) for value in zip(*parts, strict=True)], str), code
    return found


def columns_of(by: Any, what: str = "by") -> dict[str, Any]:
    """Return groups by column, from any form that :func:`read_groups` accepts; in errors they are called `what`."""
    if isinstance(by, str | PathLike):
        if isinstance(by, str) and not parted(Path(by))[0].exists():
            raise ArgumentError(
                f"{what} must be a table of groups, or its path, but there is no file {by!r}: read columns of metadata "
                "by pb.read_metadata(file)[[column]]."
            )
        with naming(by):
            header = header_of(Path(by)) if ending(Path(by)) in TABLES else ()
            of_answers = find("annotator", header) is not None or {*ANSWERS, *SOFT} & {*header}
            of_cases = not of_answers and find("case", header) is not None
            columns = read_columns(Path(by)) if of_cases else {}
        by = (
            pd.DataFrame({name: column.to_pylist() for name, column in columns.items()}).rename(
                columns={spelling_of("case", columns, "add it"): "case"}
            )
            if of_cases
            else read_metadata(by)
        )
    if isinstance(by, pd.DataFrame):
        by = by.set_index(by["case"].astype(str)).drop(columns="case") if "case" in by else by
        return {str(name): by[name] for name in by.columns}
    if isinstance(by, pd.Series):
        return {str(by.name if by.name is not None else "group"): by}
    if isinstance(by, Mapping) and by:
        nested = all(isinstance(one, Mapping | pd.Series | list | tuple | np.ndarray) for one in by.values())
        return {str(name): one for name, one in by.items()} if nested else {"group": by}
    raise ArgumentError(
        f"{what} must be a table of groups by case, but {show(by)} was given: give a data frame or a mapping."
    )
