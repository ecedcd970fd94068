"""Distances by name, and the presets that give names other conventions."""

from collections.abc import Callable, Mapping
from typing import Any

from plausibly.base.errors import ArgumentError, show, suggest
from plausibly.distances._base import Distance, FunctionDistance
from plausibly.distances._boxes import Boxes, boxes_of
from plausibly.distances._keypoints import Keypoints, poses_of
from plausibly.distances._objects import ObjectCount
from plausibly.distances._sets import Jaccard, Masi
from plausibly.distances._spans import Rule, SpanF1, spans_of
from plausibly.distances._text import Bleu, Gleu, Levenshtein
from plausibly.distances._trees import TreeEdit
from plausibly.distances.categories import (
    Absolute,
    Circular,
    Interval,
    Nominal,
    Ordinal,
    Ratio,
    RootMeanSquare,
    ShareUnequal,
)
from plausibly.distances.rankings import PartialRankings, RankedLists


def _by_name(*distances: Distance) -> dict[str, Distance]:
    return {distance.name: distance for distance in distances}


_ORDINAL = Ordinal()
_RULES: tuple[Rule, ...] = ("lenient", "strict")
#: The types of labels, and the distances between labels of each.
BY_TYPE: Mapping[str, Mapping[str, Distance]] = {
    "categories": _by_name(Nominal(), _ORDINAL),
    "numbers": _by_name(Interval(), _ORDINAL, Ratio(), Circular()),
    "sets": _by_name(Jaccard(), Masi()),
    "vectors": _by_name(ShareUnequal(), RootMeanSquare()),
    "boxes": _by_name(ObjectCount(boxes_of, "box_count"), Boxes("iou"), Boxes("giou"), Boxes("l2")),
    "keypoints": _by_name(ObjectCount(poses_of, "keypoint_count"), Keypoints("iou"), Keypoints("oks")),
    "spans": _by_name(
        ObjectCount(spans_of, "span_count"), *(SpanF1(range_, tag) for range_ in _RULES for tag in _RULES)
    ),
    "rankings": _by_name(RankedLists("kendall"), RankedLists("spearman"), RankedLists("kendall", top=5)),
    "text": _by_name(Levenshtein(), Bleu(), Gleu()),
    "trees": _by_name(TreeEdit(), TreeEdit("norm"), TreeEdit("diff")),
    "partial rankings": _by_name(PartialRankings()),
}
DISTANCES: Mapping[str, Distance] = {
    **{name: one for of_type in BY_TYPE.values() for name, one in of_type.items()},
    **_by_name(Absolute()),  # which puts pairs in the same order as interval
}

#: Distances that a type of labels includes only if they are named, and what they are for.
ON_REQUEST: Mapping[str, str] = {"circular": "for angles and times of day"}

#: Other spellings.
ALIASES: Mapping[str, str] = {
    "squared": "interval",
    "iou": "box_iou",
    "giou": "box_giou",
    "l2": "box_l2",
    "oks": "keypoint_oks",
    "tau": "kendall",
    "rho": "spearman",
    "tau_at_5": "kendall_at_5",
    "tau@5": "kendall_at_5",
    "span_f1": "span_f1_lenient_range_strict_tag",
}

#: Conventions behind published tables.
PRESETS: Mapping[str, Mapping[str, Distance]] = {
    "braylan2022": _by_name(
        Boxes("iou", "pooled", pixel=1, empty=1, cap=1),
        Boxes("giou", "pooled", pixel=1, empty=1, cap=1),
        Boxes("l2", "pooled", empty=1),
        Keypoints("iou", "pooled", pixel=1, empty=1, cap=1),
        Keypoints("oks", "pooled", empty=1, cap=1),
        RankedLists("kendall", padding=50),
        RankedLists("spearman", padding=50),
        RankedLists("kendall", top=5, padding=50),
        *(SpanF1(range_, tag, empty=1) for range_ in _RULES for tag in _RULES),
    )
}


def find_distance(distance: str | Distance | Callable[[Any, Any], float], preset: str | None = None) -> Distance:
    """Return a distance by its name, or make one from any function of two labels.

    Parameters
    ----------
    distance
        Name (see :data:`DISTANCES`), distance, or function.
    preset
        Settings that a name stands for: ``"braylan2022"``, see :mod:`plausibly.distances`. It does not affect distances
        or functions.

    Examples
    --------
    >>> find_distance("giou"), find_distance(lambda a, b: abs(a - b)).name
    (<distance box_giou>, '<lambda>')
    """
    if preset is not None and preset not in PRESETS:
        raise ArgumentError(f"there is no preset {preset!r}: choose from {', '.join(PRESETS)}, or None.")
    if isinstance(distance, Distance):
        return distance
    if isinstance(distance, str):
        name = distance.lower().replace("-", "_")
        name = ALIASES.get(name, name)
        if name not in DISTANCES:
            otherwise = f"choose from {', '.join(DISTANCES)}, or give a function."
            raise ArgumentError(
                f"there is no distance {distance!r}: {suggest(name, [*DISTANCES, *ALIASES], otherwise)}"
            )
        return PRESETS[preset].get(name, DISTANCES[name]) if preset else DISTANCES[name]
    if callable(distance):
        return FunctionDistance(distance)
    raise ArgumentError(
        f"a distance is a name or a function of two labels, but {show(distance)} was given: write 'nominal', say."
    )
