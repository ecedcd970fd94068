"""Keypoints against the similarity written out point by point."""

import math

import numpy as np
import pytest

from plausibly.distances import BestMatches, Boxes, Keypoints, PoseDistance, find_distance
from plausibly.distances._keypoints import COCO_SIGMAS


def literal_oks(truth, other, area, sigmas):
    terms = []
    for (x, y, v), (x2, y2, v2), sigma in zip(truth, other, sigmas, strict=True):
        if v > 0:
            squared = (x - x2) ** 2 + (y - y2) ** 2
            terms.append(math.exp(-squared / (2 * area * (2 * sigma) ** 2)) if v2 > 0 else 0.0)
    return np.mean(terms)


def area(pose):
    x, y = zip(*[point[:2] for point in pose if point[2] > 0], strict=True)
    return (max(x) - min(x)) * (max(y) - min(y))


def test_oks_of_objects_that_match_best():
    rng = np.random.default_rng(3)
    a = [(*xy, float(v)) for xy, v in zip(rng.uniform(0, 100, (17, 2)), rng.integers(0, 3, 17), strict=True)]
    b = [
        (x + rng.normal(0, 4), y + rng.normal(0, 4), float(v))
        for (x, y, _), v in zip(a, rng.integers(0, 2, 17), strict=True)
    ]
    both = literal_oks(a, b, area(a), COCO_SIGMAS), literal_oks(b, a, area(b), COCO_SIGMAS)
    assert 0.05 < np.mean(both) < 0.95
    assert Keypoints("oks")([a], [b]) == pytest.approx(1 - np.mean(both))
    flat = [number for point in b for number in point]
    assert Keypoints("oks")([a], [{"keypoints": flat}]) == pytest.approx(1 - np.mean(both))
    points, moved = [(0, 0), (10, 10)], [(3, 0), (13, 10)]
    near = PoseDistance((0.1, 0.1))
    expected = 1 - np.mean([math.exp(-9 / (2 * s * 0.04)) for s in (400, 100)])
    assert near([{"keypoints": points, "area": 400}], [moved]) == pytest.approx(expected)
    box = {"keypoints": points, "bbox": [0, 0, 20, 20]}
    assert Keypoints("iou")([box], [moved]) == pytest.approx(Boxes("iou")([(0, 0, 20, 20)], [(3, 0, 13, 10)]))
    one, two = [(0, 0), (10, 10)], [(50, 50), (60, 60)]
    assert find_distance("oks")([one, two], [two, one]) == 0
    assert find_distance("keypoint_count")([one, two], [one]) == 1
    assert find_distance("oks")([], []) == 0
    assert find_distance("oks")([one], []) == 1
    ours, theirs = [[(0, 0), (10, 10)], [(50, 0), (60, 10)]], [[(0, 0), (10, 11)]]
    assert BestMatches(PoseDistance())(ours, theirs) == Keypoints()(ours, theirs)
