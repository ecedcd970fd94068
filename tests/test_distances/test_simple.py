"""Categories, numbers and vectors against their formulas, and distances by name."""

import math

import numpy as np
import pytest

from plausibly.distances import (
    Circular,
    Nominal,
    Ordinal,
    Ratio,
    ShareUnequal,
    find_distance,
    interval,
    jaccard,
    masi,
    nominal,
    rmse,
)


def test_categories_numbers_and_vectors():
    assert find_distance("GIoU") is find_distance("box-giou")
    assert isinstance(find_distance("nominal"), Nominal)
    assert nominal([1, 2], [1, 2]) == 0
    assert nominal({"a": [1]}, {"a": [2]}) == 1
    assert nominal([1, 2], (1, 2)) == 1
    assert interval(-1, 2.5) == 12.25
    assert Ratio()(0, 0) == 0
    assert Ratio()(2, 6) == pytest.approx((4 / 8) ** 2)
    assert Circular(24)(23, 1) == pytest.approx(math.sin(math.pi * 2 / 24) ** 2)
    assert Circular(24)(1, 25) == 0
    assert rmse([1, 2, 3, 4], [1, 2, 3, 8]) == 2
    assert ShareUnequal()(["a", None, 3, 4], ["a", None, 4, 3]) == 0.5
    counts = np.array([4, 2, 6, 3])
    encoded = Ordinal().encode([10, 20, 30, 40], counts)
    for low in range(4):
        for high in range(low + 1, 4):
            literal = (counts[low : high + 1].sum() - (counts[low] + counts[high]) / 2) ** 2
            assert Ordinal().between(encoded, np.array([low]), np.array([high]))[0] == literal
    levels = Ordinal(["low", "middle", "high"])
    same = levels.between(levels.encode(["high", "low", "middle"], counts[[2, 0, 1]]), np.array([1]), np.array([0]))
    assert same == (4 + 2 + 6 - (4 + 6) / 2) ** 2


def test_sets_are_those_of_nltk():
    # nltk.metrics.distance, its documented values; those of MASI were .665 and .33 short of a third until 3.9.
    assert jaccard({1, 2, 3, 4}, {3, 4, 5}) == pytest.approx(0.6)
    assert masi({1, 2}, {1, 2, 3, 4}) == pytest.approx(0.665, abs=0.002)
    assert masi({1, 2, 3}, {3, 4}) == pytest.approx(1 - 0.25 / 3)
    for distance in (jaccard, masi):
        assert (distance("a|b", ["b", "a"]), distance([], []), distance("a", []), distance("a", "b")) == (0, 0, 1, 1)
    assert find_distance("squared") is interval
    assert find_distance("absolute")(-1, 2.5) == 3.5
