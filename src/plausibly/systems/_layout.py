"""Outcomes in the codes of the model."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from plausibly.errors import AnnotationError
from plausibly.models.judged_outcomes import JudgedOutcomes, Kinds, Nodes, Own
from plausibly.systems.outcomes import Outcomes, cell_of_rows

MOST_VALUES = 12  #: different ratings that are categories
_QUALITY, _ALIKE, _ERROR = 12, 5, 3  # nodes
_END = 3.0  # standard deviations beyond which no cell is
_MOST = 99, 24, 24  # nodes of each kind


@dataclass(frozen=True, eq=False)
class Layout:
    """Outcomes in codes, and what the codes mean."""

    judged: JudgedOutcomes
    nodes: Nodes
    raters: np.ndarray  #: names, people first
    values: Float[np.ndarray, " category"]


def lay_out(outcomes: Outcomes, own: Float[np.ndarray, "judge system"]) -> Layout:
    """Code outcomes. ``own`` is 1 for outputs that may be the judge's own, judges in the order of the outcomes."""
    order = np.argsort(~outcomes.is_person, kind="stable")
    rater, people = np.argsort(order)[outcomes.rater], int(outcomes.is_person.sum())
    value, first, second = outcomes.value, outcomes.system, outcomes.opponent
    longer, shown = np.zeros(len(value)), np.full(len(value), float(not outcomes.ranked))
    if outcomes.longer is not None and np.nanstd(outcomes.longer) > 0:
        longer = np.nan_to_num(outcomes.longer / np.nanstd(outcomes.longer))
    if second is not None:  # both orders of two systems are one comparison
        turned = first > second
        value = np.where(turned, 1 - value, value)
        first, second = np.minimum(first, second), np.maximum(first, second)
        shown, longer = (np.where(turned, -one, one) for one in (shown, longer))
    values = np.unique(value)
    if outcomes.kind != "ratings":
        values = np.array([0, 0.5, 1]) if 0.5 in values else np.array([0.0, 1.0])
    if not 2 <= len(values) <= MOST_VALUES:
        raise AnnotationError(
            f"the model takes 2 to {MOST_VALUES} different ratings, but there are {len(values):,}: round them, or do "
            "without the model."
        )
    compared = np.stack([first, first if second is None else second, longer], axis=1)
    columns = np.column_stack([compared, rater, np.searchsorted(values, value), shown])
    cell, n, at = cell_of_rows(outcomes)
    parts, sets = [], []
    for rows in (rater < people, rater >= people):
        kinds, of_cell = _kinds(columns[rows], cell[rows], n, pairs=second is not None)
        parts.append(kinds)
        sets.append(of_cell)
    cells, number_of = np.unique(np.column_stack([compared[at], *sets]), axis=0, return_counts=True)
    codes = cells.astype(np.int32)
    judged = JudgedOutcomes(
        by_people=parts[0],
        by_judges=parts[1],
        system=codes[:, 0],
        opponent=None if second is None else codes[:, 1],
        longer=cells[:, 2].astype(np.float32),
        people=codes[:, 3],
        judges=codes[:, 4],
        times=number_of.astype(np.float32),
        score=((values - values[0]) / (values[-1] - values[0]) - 0.5).astype(np.float32),
        own=np.asarray(own, np.float32).reshape(-1, len(outcomes.systems)),
        person=np.bincount(rater, minlength=len(order))[:people].astype(np.float32),
    )
    nodes = usual_nodes(len(order) - people, pairs=second is not None, middle=len(values) > 2)
    return Layout(judged, nodes, outcomes.raters[order], values)


def _kinds(columns: np.ndarray, cell: np.ndarray, n: int, *, pairs: bool) -> tuple[Kinds, Int[np.ndarray, " cell"]]:
    """Kinds of outcomes of some of the raters, and the set of these in each of all cells, which may be empty."""
    kinds, kind = np.unique(columns, axis=0, return_inverse=True)
    kind = kind.astype(np.int32)
    sort = np.lexsort((kind, cell))
    parts = np.split(kind[sort], np.searchsorted(cell[sort], np.arange(1, n)))
    seen: dict[bytes, int] = {}
    of_cell = np.array([seen.setdefault(part.tobytes(), len(seen)) for part in parts])
    sets = [np.frombuffer(part, kind.dtype) for part in seen]
    codes = kinds.astype(np.int32)
    return Kinds(
        system=codes[:, 0],
        opponent=codes[:, 1] if pairs else None,
        longer=kinds[:, 2].astype(np.float32),
        rater=codes[:, 3],
        category=codes[:, 4],
        shown=kinds[:, 5].astype(np.float32),
        kind=np.concatenate(sets),
        size=np.array([len(one) for one in sets], np.int32),
    ), of_cell


def usual_nodes(judges: int, *, pairs: bool, middle: bool) -> Nodes:
    """Nodes that suffice for usual spreads; a single judge shares no errors, and only pairs can tie."""
    return nodes_of(_QUALITY, _ALIKE if pairs and middle else 1, _ERROR if judges > 1 else 1)


def nodes_of(*numbers: int) -> Nodes:
    """Nodes of quality, of how alike a pair is, and of the error that judges share.

    Qualities are spaced evenly: where they differ much, probabilities of outcomes are nearly steps in them, at which
    Gauss-Hermite nodes err more. No cell is beyond three standard deviations.
    """
    even = _END * (2 * np.arange(numbers[0]) + 1 - numbers[0]) / numbers[0]
    weights = np.exp(-(even**2) / 2)
    even /= np.sqrt(np.average(even**2, weights=weights)) if numbers[0] > 1 else 1
    rules = [(even, weights), *(np.polynomial.hermite_e.hermegauss(number) for number in numbers[1:])]
    at = (x.astype(np.float32) for x, _ in rules)
    return Nodes(Own(*at), Own(*(np.log(of / of.sum()).astype(np.float32) for _, of in rules)))


def finer_nodes(nodes: Nodes) -> Nodes:
    """Twice as many nodes of each kind, up to a number that suffices for any spread met so far."""
    sizes = zip(map(len, nodes.at), _MOST, strict=True)
    return nodes_of(*(size if size == 1 else min(2 * size, most) for size, most in sizes))


def chosen(nodes: Nodes, finer: Nodes, which: Bool[np.ndarray, " kind"]) -> Nodes:
    """Return nodes of which some kinds are finer."""
    at, log_weight = (
        Own(*(new if yes else old for old, new, yes in zip(*both, which, strict=True)))
        for both in zip(nodes, finer, strict=True)
    )
    return Nodes(at, log_weight)
