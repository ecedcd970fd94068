"""Boxes against definitions written out box by box."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausibly.distances import BestMatches, BoxDistance, Boxes, find_distance

number = st.integers(0, 30).map(float)
box = st.tuples(number, number, number, number).map(
    lambda c: (min(c[0], c[2]), min(c[1], c[3]), max(c[0], c[2]), max(c[1], c[3]))
)
boxes = st.lists(box, min_size=1, max_size=5)


def literal_similarity(a, b, measure, pixel):
    width = min(a[2], b[2]) - max(a[0], b[0]) + pixel
    height = min(a[3], b[3]) - max(a[1], b[1]) + pixel
    shared = max(width, 0) * max(height, 0)
    area_a, area_b = ((c[2] - c[0] + pixel) * (c[3] - c[1] + pixel) for c in (a, b))
    union = area_a + area_b - shared
    iou = shared / union if union > 0 else float(a == b)
    if measure == "iou":
        return iou
    hull = (max(a[2], b[2]) - min(a[0], b[0]) + pixel) * (max(a[3], b[3]) - min(a[1], b[1]) + pixel)
    return iou - (hull - union) / hull if hull > 0 else iou


def literal_l2(a, b):
    first = math.sqrt(((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) / 2)
    return first + math.sqrt(((a[2] - b[2]) ** 2 + (a[3] - b[3]) ** 2) / 2)


@settings(max_examples=60)
@given(a=box, b=box, measure=st.sampled_from(["iou", "giou"]), pixel=st.sampled_from([0, 1]))
def test_overlap_of_single_boxes(a, b, measure, pixel):
    found = BoxDistance(measure, pixel=pixel)(a, b)
    assert found == pytest.approx(1 - literal_similarity(a, b, measure, pixel), abs=1e-12)


@settings(max_examples=60)
@given(a=boxes, b=boxes, measure=st.sampled_from(["iou", "giou", "l2"]))
def test_preset_pools_best_matches_in_pixels_with_a_floor(a, b, measure):
    if measure == "l2":
        best = [min(literal_l2(x, y) for y in b) for x in a] + [min(literal_l2(x, y) for x in a) for y in b]
        expected = np.mean(best)
    else:
        best = [max(0, *(literal_similarity(x, y, measure, 1) for y in b)) for x in a]
        best += [max(0, *(literal_similarity(x, y, measure, 1) for x in a)) for y in b]
        expected = 1 - np.mean(best)
    assert find_distance(measure, "braylan2022")(a, b) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40)
@given(a=boxes, b=boxes)
def test_directional_is_the_mean_of_two_means_and_functions_are_lifted_alike(a, b):
    def slow(x, y):
        return 1 - literal_similarity(x, y, "giou", 0)

    there, back = (np.mean([min(slow(x, y) for y in to) for x in of]) for of, to in ((a, b), (b, a)))
    assert Boxes("giou")(a, b) == pytest.approx((there + back) / 2, abs=1e-12)
    for combine in ("directional", "pooled"):
        assert BestMatches(slow, combine)(a, b) == pytest.approx(Boxes("giou", combine)(a, b), abs=1e-12)


def test_many_boxes_in_portions_and_boxes_without_area():
    rng = np.random.default_rng(0)
    corners = rng.uniform(0, 50, (15, 12, 2))
    labels = [
        [(*at, *(at + size)) for at, size in zip(row[:n], rng.uniform(1, 20, (n, 2)), strict=True)]
        for row, n in zip(corners, rng.integers(0, 13, 15), strict=True)
    ]
    distance = Boxes("giou")
    encoded = distance.encode(labels)
    left, right = np.indices((15, 15)).reshape(2, -1)
    found = distance.between(encoded, np.tile(left, 99), np.tile(right, 99))
    one_by_one = [distance(labels[i], labels[j]) for i, j in zip(left, right, strict=True)]
    np.testing.assert_allclose(found, np.tile(one_by_one, 99), rtol=1e-13, atol=1e-13)
    some = [(0, 0, 1, 1)]
    assert Boxes("iou")([], []) == 0
    assert Boxes("iou")([], some) == 1
    assert Boxes("giou")(some, []) == 2
    assert Boxes("l2")(some, []) == math.inf
    assert find_distance("box_giou", "braylan2022")([], []) == 1
    assert find_distance("box_giou", "braylan2022")([], some) == 1
    assert find_distance("box_count")([], some) == 1
    point, other, line = (3, 3, 3, 3), (4, 3, 4, 3), (0, 0, 5, 0)
    for measure in ("iou", "giou"):
        assert BoxDistance(measure)(point, point) == 0
        assert BoxDistance(measure)(point, other) == 1
        assert BoxDistance(measure)(line, line) == 0
