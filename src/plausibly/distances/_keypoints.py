"""Keypoints: labels that are lists of objects, each of them the same named points.

An object is a list of ``(x, y)`` or ``(x, y, visible)`` per point (0 for a point that was not labelled), the flat list
of COCO, or a mapping with such a list under ``keypoints`` and, if there is one, the box under ``bbox`` (left, top,
width, height) and ``area``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from plausibly.base.checks import check_choice
from plausibly.base.errors import ArgumentError, show
from plausibly.distances._base import Counts, Distance, Distances, Indices, LabelRefused, as_list, each_label
from plausibly.distances._boxes import BoxDistance
from plausibly.distances._objects import BestMatches, Combine

#: Standard deviations of the 17 points of COCO, relative to the object's size: published with its evaluation.
COCO_SIGMAS = (
    *(0.026, 0.025, 0.025, 0.035, 0.035, 0.079, 0.079, 0.072, 0.072),
    *(0.062, 0.062, 0.107, 0.107, 0.087, 0.087, 0.089, 0.089),
)


class Pose(NamedTuple):
    """One object: points (x, y), which of them were labelled, its box in corners, its area."""

    points: Float[np.ndarray, "point 2"]
    there: Bool[np.ndarray, " point"]
    box: tuple[float, float, float, float]
    area: float


def poses_of(label: Any) -> list[Pose]:
    """Read a label of keypoints: a list of objects; raise ValueError for any other."""
    return [_pose(one) for one in as_list(label, "a label of keypoints is a list of objects", "[[(x, y), …], …]")]


def _pose(one: Any) -> Pose:
    points = one.get("keypoints") if isinstance(one, Mapping) else one
    try:
        array = np.asarray(points, np.float64)
        if array.ndim == 1 and array.size % 3 == 0:
            array = array.reshape(-1, 3)
        if array.ndim != 2 or array.shape[1] not in (2, 3) or not array.size or not np.isfinite(array).all():
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(
            f"an object's keypoints are (x, y) or (x, y, visible) each, got {show(one)}; write [(x, y), …]"
        ) from None
    there = array[:, 2] > 0 if array.shape[1] == 3 else np.ones(len(array), bool)
    given = one if isinstance(one, Mapping) else {}
    if "bbox" in given:
        try:
            left, top, width, height = (float(number) for number in given["bbox"])
            if not (width >= 0 and height >= 0):
                raise ValueError
        except (TypeError, ValueError):
            raise ValueError(
                f"an object's bbox is [left, top, width, height], got {show(given['bbox'])}; correct or remove it"
            ) from None
        box = (left, top, left + width, top + height)
    elif there.any():
        box = (*array[there, :2].min(axis=0).tolist(), *array[there, :2].max(axis=0).tolist())
    else:
        raise ValueError(f"an object has at least one labelled point, or a box, got {show(one)}; remove the object")
    try:
        area = float(given.get("area", (box[2] - box[0]) * (box[3] - box[1])))
    except (TypeError, ValueError):
        area = np.nan
    if not 0 <= area < np.inf:
        raise ValueError(f"an object's area is a number, zero or greater, got {show(given.get('area'))}; correct it")
    return Pose(array[:, :2], there, box, area)


def _single(one: Any) -> Pose:
    """Read a single object, or a label of one."""
    if isinstance(one, Pose):
        return one
    try:
        return _pose(one)
    except ValueError:
        if isinstance(one, str | bytes | Mapping) or not hasattr(one, "__len__"):
            raise
    if len(one) != 1:
        raise ValueError(f"a single object is compared, got {show(one)}; use Keypoints for labels of several")
    return _pose(one[0])


class PoseDistance(Distance):
    r"""One minus the object keypoint similarity of two single objects, in [0, 1].

    With one object as the truth, the similarity is the mean over its labelled points of :math:`\exp(-d^2 / (2 s^2 (2
    \sigma_i)^2))`, where `d` is the distance between the points and `s²` the area of the object; points missing in the
    other object count 0. The two directions are averaged, so that neither object is treated as the truth. COCO (2016),
    keypoint evaluation.

    Parameters
    ----------
    sigmas
        Precision with which each point can be placed, relative to the size of the object; greater than zero. By default
        the values of COCO for 17 points, and their mean for any other number of points.

    Examples
    --------
    >>> near = PoseDistance()([[(0, 0), (10, 10)]], [[(0, 0), (10, 11)]])
    >>> far = PoseDistance()([[(0, 0), (10, 10)]], [[(50, 0), (60, 10)]])
    >>> 0 < near < 0.3 < far <= 1
    True
    """

    name, bound = "single_keypoint_oks", 1.0

    def __init__(self, sigmas: Sequence[float] | None = None):
        self.sigmas = None if sigmas is None else np.asarray(sigmas, np.float64)
        if self.sigmas is not None and not (self.sigmas > 0).all():
            raise ArgumentError(
                f"sigmas must be greater than zero, but {show(self.sigmas.tolist())} was given: write 0.1."
            )

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> tuple[np.ndarray, ...]:
        """Stack points (point, 2, object), whether they are present (point, object), and areas; then the sigmas."""
        poses = each_label(_single, labels)
        n = len(poses[0].points) if poses else 1
        for position, pose in enumerate(poses):
            if len(pose.points) != n:
                raise LabelRefused(
                    f"all objects have equally many keypoints, got {len(pose.points)} beside {n}; write absent ones as "
                    "(0, 0, 0)",
                    position,
                )
        sigmas = self.sigmas
        if sigmas is None:
            sigmas = np.array(COCO_SIGMAS) if n == len(COCO_SIGMAS) else np.full(n, np.mean(COCO_SIGMAS))
        if len(sigmas) != n and poses:
            raise LabelRefused(f"there are {len(sigmas)} sigmas for {n} keypoints; give one for each", 0)
        return (
            np.array([pose.points for pose in poses]).reshape(-1, n, 2).transpose(1, 2, 0).copy(),
            np.array([pose.there for pose in poses], bool).reshape(-1, n).T.copy(),
            np.array([pose.area for pose in poses], np.float64),
            sigmas,
        )

    def between(self, encoded: tuple[np.ndarray, ...], left: Indices, right: Indices) -> Distances:
        points, present, areas, sigmas = encoded
        # An object of no extent, such as a single point, still has a size for a difference to be compared with.
        a_area, b_area = (np.maximum(areas[side], np.finfo(float).eps) for side in (left, right))
        as_truth = [np.zeros(np.broadcast_shapes(left.shape, right.shape)) for _ in range(2)]
        for (x, y), there, sigma in zip(points, present, sigmas, strict=True):
            squared = (x[left] - x[right]) ** 2 + (y[left] - y[right]) ** 2
            both = there[left] & there[right]
            for total, area in zip(as_truth, (a_area, b_area), strict=True):
                total += np.where(both, np.exp(-squared / (8 * sigma**2 * area)), 0.0)
        n_there = np.maximum(present.sum(axis=0), 1)
        return 1 - (as_truth[0] / n_there[left] + as_truth[1] / n_there[right]) / 2


class Keypoints(BestMatches):
    """Distance between labels with several objects that have keypoints, from best matches (:class:`BestMatches`).

    Parameters
    ----------
    measure
        ``"oks"`` (:class:`PoseDistance`), or ``"iou"`` of the objects' boxes (:class:`BoxDistance`).
    sigmas
        See :class:`PoseDistance`.
    pixel
        See :class:`BoxDistance`.
    combine, empty, cap
        See :class:`BestMatches`.

    Examples
    --------
    >>> round(Keypoints("iou")([[(0, 0), (2, 2)]], [[(1, 0), (3, 2)]]), 4)
    0.6667
    """

    def __init__(
        self,
        measure: str = "oks",
        combine: Combine = "directional",
        *,
        sigmas: Sequence[float] | None = None,
        pixel: float = 0.0,
        empty: float = 0.0,
        cap: float = np.inf,
    ):
        check_choice("the measure of keypoints", measure, ("oks", "iou"))
        single = PoseDistance(sigmas) if measure == "oks" else BoxDistance("iou", pixel=pixel)
        super().__init__(single, combine, empty=empty, cap=cap, name=f"keypoint_{measure}")

    def objects(self, label: Any) -> Sequence[Any]:
        """Split a label into objects, or their boxes."""
        poses = poses_of(label)
        return poses if isinstance(self.single, PoseDistance) else [pose.box for pose in poses]
