"""Labels that a distance cannot take, and arguments that it does not have."""

import math
from functools import partial

import pytest

from plausibly.distances import (
    BestMatches,
    BoxDistance,
    Boxes,
    Circular,
    Keypoints,
    Levenshtein,
    Nominal,
    Ordinal,
    PartialRankings,
    PoseDistance,
    RankedLists,
    SpanF1,
    TreeEdit,
    find_distance,
    rmse,
)
from plausibly.errors import ArgumentError, DistanceError

BOX, POSE = (0, 0, 1, 1), [(0, 0), (1, 1)]


def pose(**extra):
    return [{"keypoints": [0, 0, 1, 4, 4, 1], **extra}]


LABELS = [
    (find_distance("interval"), 1, "many", "must be a finite number, got 'many'"),
    (find_distance("interval"), 1, math.inf, "must be a finite number, got inf"),
    (find_distance("ratio"), 1, -1, "zero or greater, got -1"),
    (Ordinal(), 1, "much", "a number, or one of the categories"),
    (Ordinal(["bad", "good"]), "bad", "worst", "'worst' is not among the ordered categories"),
    (rmse, [1, 2], 3, "a list of values, got 3"),
    (rmse, [1, 2], [1, 2, 3], "equally many values, got 3 beside 2"),
    (rmse, [1, 2], [1, "a"], "finite numbers"),
    (rmse, [1, 2], [1, math.nan], "finite numbers"),
    (rmse, [], [], "at least one value"),
    (Boxes("iou"), [BOX], "a box", "a label of boxes is a list of corners, got 'a box'"),
    (Boxes("iou"), [BOX], [(1, 2, 3)], "a label of boxes is a list of corners"),
    (Boxes("iou"), [BOX], [(1, 2, 3, 4), (5, 6)], "a label of boxes is a list of corners"),
    (Boxes("iou"), [BOX], [(0, 0, math.nan, 1)], "the corners of a box are finite numbers"),
    (Boxes("iou"), [BOX], [(5, 0, 3, 1)], "right of and below the first"),
    (BoxDistance("iou"), [BOX], [BOX, (5, 5, 6, 6)], r"a single box is compared, got 2 in .*; use Boxes"),
    (BestMatches(lambda a, b: 0), [3], 3, "a label of several objects is a list"),
    (Keypoints(), [POSE], "pose", "a label of keypoints is a list of objects"),
    (Keypoints(), [POSE], [[(1, 2, 3, 4)]], "an object's keypoints are"),
    (Keypoints(), [POSE], [[(1, 2, 0)]], "at least one labelled point"),
    (Keypoints(), [POSE], [[(1, 2)]], "equally many keypoints, got 1 beside 2"),
    (Keypoints(), [], pose(bbox=[1, 2]), r"bbox is \[left, top, width, height\], got \[1, 2\]"),
    (Keypoints(), [], pose(bbox=None), "bbox is .* got None"),
    (Keypoints(), [], pose(area="x"), "area is a number, zero or greater, got 'x'"),
    (Keypoints(), [], pose(area=math.nan), "area is a number, zero or greater, got nan"),
    (Keypoints(sigmas=(0.1, 0.1, 0.1)), [POSE], [POSE], "there are 3 sigmas for 2 keypoints"),
    (PoseDistance(), POSE, [POSE, POSE], "a single object is compared, got .*; use Keypoints"),
    (SpanF1(), [(0, 1, "x")], "span", "a label of spans is a list of them"),
    (SpanF1(), [(0, 1, "x")], [(3,)], r"a span is \(start, end, tag\)"),
    (SpanF1(), [(0, 1, "x")], [{"from": 3}], r"a span is \(start, end, tag\)"),
    (SpanF1(), [(0, 1, "x")], [(3, 3, "x")], "a span ends after it starts"),
    (RankedLists(), ["a"], "abc", "a ranked list is a list, got 'abc'"),
    (RankedLists(), ["a"], ["a", "b", "a"], "names nothing twice, got 'a' again"),
    (RankedLists(), [], [[1], [2]], r"text or numbers, got \[1\]"),
    (PartialRankings(2, "abc"), [["a"]], "a", "a partial ranking is a list of blocks"),
    (PartialRankings(2, "abc"), [["a"]], [["a"], ["b", "a"]], "names no class twice"),
    (PartialRankings(2, "abc"), [["a"]], [["a"], []], "has no empty block"),
    (PartialRankings(2, "abc"), [["a"]], [["z"]], "the class 'z' is not among the classes given"),
    (PartialRankings(), [], [[[1], [2]]], r"text or numbers, got \[1\]"),
    (Levenshtein(), "a", 3, "the label must be text, got 3"),
    (TreeEdit(), "(S a)", ["S", 3], "a tree is"),
    *((TreeEdit(), "(S a)", bad, "the brackets of a tree") for bad in ("(S (NP a)", "S a", "")),
    *((TreeEdit(), "(S a)", bad, "a tree has one root") for bad in ("(S a))", "(S a) b")),
]


@pytest.mark.parametrize(("distance", "good", "bad", "message"), LABELS)
def test_labels_of_a_wrong_type_are_refused(distance, good, bad, message):
    with pytest.raises(DistanceError, match=message):
        distance(good, bad)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (partial(Boxes, "area"), 'the measure of boxes must be "iou", "giou" or "l2", but \'area\' was given'),
        (partial(Boxes, "iou", "mean"), 'combine must be "directional" or "pooled"'),
        (partial(Keypoints, "giou"), 'the measure of keypoints must be "oks" or "iou"'),
        (partial(Keypoints, sigmas=[0, 0.1]), r"sigmas must be greater than zero, but \[0.0, 0.1\] was given"),
        (partial(PartialRankings, 0), "the depth must be at least 1"),
        (partial(RankedLists, "pearson"), "the coefficient must be"),
        (partial(RankedLists, top=0), "top must be at least 1"),
        (partial(RankedLists, padding=-1), "padding must be 0 or more"),
        (partial(SpanF1, "loose"), 'range must be "lenient" or "strict"'),
        (partial(TreeEdit, "log"), 'the scale must be "plain", "norm" or "diff"'),
        (partial(Circular, 0), "the period must be greater than zero"),
        (partial(find_distance, "nominel"), "there is no distance 'nominel': did you mean 'nominal'"),
        (partial(find_distance, "xyzzy"), "choose from nominal, ordinal"),
        (partial(find_distance, "nominal", "braylan"), "there is no preset 'braylan'"),
        (partial(find_distance, 3), "a distance is a name or a function of two labels, but 3"),
    ],
)
def test_arguments_out_of_range_are_refused(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_names():
    assert find_distance("GIoU") is find_distance("box-giou")
    assert isinstance(find_distance("nominal"), Nominal)
