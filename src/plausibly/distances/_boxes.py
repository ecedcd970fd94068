"""Boxes: labels that are lists of axis-parallel rectangles.

A box is its two corners, ``((left, top), (right, bottom))`` or ``(left, top, right, bottom)``; a label is a list of
boxes, empty where nothing was found, or a single box.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from plausibly.base.checks import check_choice
from plausibly.base.errors import show
from plausibly.distances._base import Counts, Distance, Distances, Indices, each_label
from plausibly.distances._objects import BestMatches, Combine

Measure = Literal["iou", "giou", "l2"]


def boxes_of(label: Any) -> Float[np.ndarray, "box 4"]:
    """Read a label of boxes; raise ValueError for any other."""
    try:
        try:
            array = np.asarray(label, np.float64)
        except ValueError:  # corners and flat boxes, side by side
            array = np.array([np.asarray(box, np.float64).reshape(4) for box in label])
        single = array.shape in ((4,), (2, 2))
        boxes = array.reshape(0 if array.size == 0 else 1 if single else len(array), 4)
    except (TypeError, ValueError):
        raise ValueError(
            f"a label of boxes is a list of corners, got {show(label)}; write [((left, top), (right, bottom)), …]"
        ) from None
    for box in boxes[~np.isfinite(boxes).all(axis=1)]:
        raise ValueError(f"the corners of a box are finite numbers, got {box.tolist()}; correct or remove it")
    for box in boxes[(boxes[:, 2:] < boxes[:, :2]).any(axis=1)]:
        raise ValueError(
            f"the second corner of a box is right of and below the first, got {box.tolist()}; write the lesser "
            "coordinates first (and corners, not a width and a height)"
        )
    return boxes


class BoxDistance(Distance):
    r"""Distance between two single boxes.

    ``"iou"``: one minus intersection over union, in [0, 1]. ``"giou"``: one minus generalised intersection over union
    (intersection over union, minus the share of the smallest enclosing box that the union does not cover), in [0, 2].
    ``"l2"``: root mean squared difference of the first corners plus that of the second corners. Rezatofighi et al.
    (2019) for the generalised form.

    Parameters
    ----------
    measure
        Measure of overlap or distance.
    pixel
        Number added to widths and heights: 1 if coordinates are pixel numbers and the last pixel belongs to the box.

    Examples
    --------
    >>> BoxDistance("iou")((0, 0, 2, 2), (1, 0, 3, 2)), BoxDistance("giou")((0, 0, 1, 1), (3, 0, 4, 1))
    (0.6666666666666667, 1.5)
    """

    def __init__(self, measure: Measure = "giou", *, pixel: float = 0.0):
        check_choice("the measure of boxes", measure, ("iou", "giou", "l2"))
        self.measure, self.pixel = measure, float(pixel)
        self.bound = {"iou": 1.0, "giou": 2.0, "l2": np.inf}[measure]
        self.name = f"single_box_{measure}"

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> Float[np.ndarray, "5 label"]:
        """Stack left, top, right, bottom and area of the boxes."""
        corners = each_label(_single, labels)
        low, high = np.split(np.array(corners, np.float64).reshape(-1, 4).T.copy(), 2)
        high += self.pixel
        return np.vstack([low, high, np.prod(high - low, axis=0)])

    def between(self, encoded: Float[np.ndarray, "5 label"], left: Indices, right: Indices) -> Distances:
        a_left, a_top, a_right, a_bottom, a_area = (row[left] for row in encoded)
        b_left, b_top, b_right, b_bottom, b_area = (row[right] for row in encoded)
        if self.measure == "l2":
            first = np.sqrt(((a_left - b_left) ** 2 + (a_top - b_top) ** 2) / 2)
            first += np.sqrt(((a_right - b_right) ** 2 + (a_bottom - b_bottom) ** 2) / 2)
            return first
        width = np.maximum(np.minimum(a_right, b_right) - np.maximum(a_left, b_left), 0.0)
        height = np.maximum(np.minimum(a_bottom, b_bottom) - np.maximum(a_top, b_top), 0.0)
        shared = width * height
        union = a_area + b_area - shared
        if union.all():
            similarity = shared / union
        else:  # of boxes without area 1 if they are the same, else 0
            same = (encoded[:4][:, left] == encoded[:4][:, right]).all(axis=0)
            similarity = np.where(union > 0, shared / np.where(union > 0, union, 1.0), same)
        if self.measure == "giou":
            hull = np.maximum(a_right, b_right) - np.minimum(a_left, b_left)
            hull *= np.maximum(a_bottom, b_bottom) - np.minimum(a_top, b_top)
            # Of two boxes on one line even the enclosing box has no area, and nothing of it is free.
            similarity += union / np.where(hull > 0, hull, np.inf)
            similarity -= hull > 0
        return np.maximum(1.0 - similarity, 0.0)  # rounding can take it below


class Boxes(BestMatches):
    """Distance between labels with several boxes, from best matches of single boxes (:class:`BestMatches`).

    Parameters
    ----------
    measure, pixel
        See :class:`BoxDistance`.
    combine, empty, greatest, cap
        See :class:`BestMatches`.

    Examples
    --------
    >>> Boxes("iou")([(0, 0, 2, 2), (9, 9, 11, 11)], [(1, 0, 3, 2)])
    0.75
    """

    def __init__(
        self,
        measure: Measure = "giou",
        combine: Combine = "directional",
        *,
        pixel: float = 0.0,
        empty: float = 0.0,
        greatest: float | None = None,
        cap: float = np.inf,
    ):
        single = BoxDistance(measure, pixel=pixel)
        super().__init__(single, combine, empty=empty, greatest=greatest, cap=cap, name=f"box_{measure}")

    def objects(self, label: Any) -> Float[np.ndarray, "box 4"]:
        """Split a label into boxes."""
        return boxes_of(label)


def _single(label: Any) -> Float[np.ndarray, "4"]:
    boxes = boxes_of(label)
    if len(boxes) != 1:
        raise ValueError(
            f"a single box is compared, got {len(boxes)} in {show(label)}; use Boxes for labels of several"
        )
    return boxes[0]
