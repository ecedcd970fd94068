"""Categories, numbers and vectors against their formulas, and distances by name."""

import math

import numpy as np
import pytest

from plausibly.distances import Circular, Nominal, Ordinal, Ratio, ShareUnequal, find_distance, interval, nominal, rmse
from plausibly.errors import ArgumentError, DistanceError


def test_nominal_takes_what_cannot_be_hashed():
    assert nominal([1, 2], [1, 2]) == 0
    assert nominal({"a": [1]}, {"a": [2]}) == 1
    assert nominal([1, 2], (1, 2)) == 1


def test_ordinal_counts_what_lies_between():
    counts = np.array([4, 2, 6, 3])
    encoded = Ordinal().encode([10, 20, 30, 40], counts)
    for low in range(4):
        for high in range(low + 1, 4):
            literal = (counts[low : high + 1].sum() - (counts[low] + counts[high]) / 2) ** 2
            assert Ordinal().between(encoded, np.array([low]), np.array([high]))[0] == literal
    levels = Ordinal(["low", "middle", "high"])
    same = levels.between(levels.encode(["high", "low", "middle"], counts[[2, 0, 1]]), np.array([1]), np.array([0]))
    assert same == (4 + 2 + 6 - (4 + 6) / 2) ** 2


def test_numbers():
    assert interval(-1, 2.5) == 12.25
    assert Ratio()(2, 6) == pytest.approx((4 / 8) ** 2)
    assert Circular(24)(23, 1) == pytest.approx(math.sin(math.pi * 2 / 24) ** 2)
    assert Circular(24)(1, 25) == 0


def test_vectors():
    assert rmse([1, 2, 3, 4], [1, 2, 3, 8]) == 2
    assert ShareUnequal()(["a", None, 3, 4], ["a", None, 4, 3]) == 0.5


@pytest.mark.parametrize(
    ("distance", "label", "message"),
    [
        ("interval", "many", "the label is to be a finite number, got 'many'"),
        ("interval", math.inf, "the label is to be a finite number, got inf"),
        ("ratio", -1, "labels on a ratio scale are zero or greater, got -1"),
        ("ordinal", "much", "an ordinal label is a number, or one of the categories"),
    ],
)
def test_labels_that_are_no_numbers(distance, label, message):
    with pytest.raises(DistanceError, match=message):
        find_distance(distance)(1, label)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (3, "a label is to be a list of values, got 3"),
        ([1, 2, 3], "labels that are vectors have equally many values, got 3 beside 2"),
        ([1, "a"], "the values of a vector are finite numbers"),
        ([1, math.nan], "the values of a vector are finite numbers"),
    ],
)
def test_labels_that_are_no_vectors(label, message):
    with pytest.raises(DistanceError, match=message):
        rmse([1, 2], label)


def test_vectors_have_values():
    with pytest.raises(DistanceError, match="a vector has at least one value"):
        rmse([], [])


def test_levels_that_are_not_listed():
    with pytest.raises(DistanceError, match="'worst' is not among the ordered categories"):
        Ordinal(["bad", "good"])("bad", "worst")


def test_names():
    assert find_distance("GIoU") is find_distance("box-giou")
    assert isinstance(find_distance("nominal"), Nominal)
    with pytest.raises(ArgumentError, match="there is no distance 'nominel': did you mean 'nominal'"):
        find_distance("nominel")
    with pytest.raises(ArgumentError, match="choose from nominal, ordinal"):
        find_distance("xyzzy")
    with pytest.raises(ArgumentError, match="there is no preset 'braylan'"):
        find_distance("nominal", "braylan")
    with pytest.raises(ArgumentError, match="a distance is a name or a function of two labels, but 3"):
        find_distance(3)
    with pytest.raises(ArgumentError, match="the period must be greater than zero"):
        Circular(0)
