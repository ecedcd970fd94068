"""Outcomes in the codes of the model."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from plausibly.errors import AnnotationError
from plausibly.models.judged_outcomes import JudgedOutcomes, Nodes
from plausibly.systems.outcomes import Outcomes, cell_of_rows

MOST_VALUES = 12  #: different ratings that are categories
_QUALITY, _ERROR = 15, 5  # nodes


@dataclass(frozen=True, eq=False)
class Layout:
    """Outcomes in codes, and what the codes mean."""

    judged: JudgedOutcomes
    nodes: Nodes
    raters: np.ndarray  #: names, people first
    values: Float[np.ndarray, " category"]
    first: Int[np.ndarray, " cell"]  #: a kind of outcome in each cell of ``judged``


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
    columns = [first, first if second is None else second, rater, np.searchsorted(values, value), shown, longer]
    kinds, kind = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    cell, _, _ = cell_of_rows(outcomes)
    sort = np.lexsort((kind, cell))
    parts = np.split(kind[sort], np.flatnonzero(np.diff(cell[sort])) + 1)
    seen: dict[bytes, int] = {}
    number_of = np.bincount([seen.setdefault(part.tobytes(), len(seen)) for part in parts])
    distinct = [np.frombuffer(part, kind.dtype) for part in seen]
    codes = kinds[:, :4].astype(np.int32)
    judged = JudgedOutcomes(
        system=codes[:, 0],
        opponent=None if second is None else codes[:, 1],
        rater=codes[:, 2],
        category=codes[:, 3],
        shown=kinds[:, 4].astype(np.float32),
        longer=kinds[:, 5].astype(np.float32),
        kind=np.concatenate(distinct).astype(np.int32),
        cell=np.repeat(np.arange(len(distinct)), [len(part) for part in distinct]).astype(np.int32),
        times=number_of.astype(np.float32),
        score=((values - values[0]) / (values[-1] - values[0]) - 0.5).astype(np.float32),
        own=np.asarray(own, np.float32).reshape(-1, len(outcomes.systems)),
        person=np.bincount(rater, minlength=len(order))[:people].astype(np.float32),
    )
    of_cell = np.array([part[0] for part in distinct])
    return Layout(judged, usual_nodes(len(order) - people), outcomes.raters[order], values, of_cell)


def usual_nodes(judges: int) -> Nodes:
    """Nodes that suffice for usual spreads; a single judge shares no errors."""
    return nodes_of(_QUALITY, _ERROR if judges > 1 else 1)


def nodes_of(quality: int, error: int) -> Nodes:
    """Gauss–Hermite nodes of the integral over a cell's own quality, and over the error that judges share."""
    (x, of_x), (y, of_y) = (np.polynomial.hermite_e.hermegauss(n) for n in (quality, error))
    grid = np.meshgrid(x, y, indexing="ij")
    weight = np.outer(of_x / of_x.sum(), of_y / of_y.sum())
    return Nodes(*(one.ravel().astype(np.float32) for one in (*grid, np.log(weight))))
