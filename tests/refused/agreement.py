"""What distances and measures of agreement refuse."""

import math
from functools import partial

import numpy as np
import pandas as pd
import xarray as xr

import plausibly as pb
from plausibly import distances
from plausibly.agreement import (
    Labels,
    PairDistances,
    actual_accuracy,
    agreement,
    alternative_annotator_test,
    choose_distance,
    cohen_kappa,
    discrepancy_ratio,
    fleiss_kappa,
    ground_truth_accuracy,
    gwet_ac,
    intraclass_correlations,
    judge,
    majority_accuracy,
    measures_of_distances,
    required_reliability,
    threshold_curve,
    weighted_reliability,
)
from plausibly.base.errors import AnnotationError, ArgumentError, DistanceError, PredictionError
from plausibly.data.labels.predictions import read_models
from plausibly.distances import (
    BestMatches,
    BoxDistance,
    Boxes,
    Circular,
    Keypoints,
    Levenshtein,
    Ordinal,
    PartialRankings,
    PoseDistance,
    RankedLists,
    SpanF1,
    TreeEdit,
    find_distance,
    rmse,
)
from tests.refused import each

A, D, G, P = AnnotationError, DistanceError, ArgumentError, PredictionError
BOX, POSE = (0, 0, 1, 1), [(0, 0), (1, 1)]


def pose(**extra):
    return [{"keypoints": [0, 0, 1, 4, 4, 1], **extra}]


OF_DISTANCES = [
    (find_distance("masi"), ["a"], 1, 'a label must be a set, got 1; write lists, or text such as "a|b"'),
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

BOXES = {
    "p": {"a": [[0, 0, 2, 2]], "b": [[1, 1, 3, 3]], "c": [[0, 0, 2, 2], [5, 5, 6, 6]]},
    "q": {"a": [[0, 0, 1, 1]], "b": [[0, 0, 1, 2]]},
    "r": {"a": []},
}


class Backwards(distances.Nominal):
    def between(self, encoded, left, right):
        return -super().between(encoded, left, right)


TWO = {"p": {"a": 1, "b": 0}, "q": {"a": 1}}
WORDS, MODEL = {"p": {"a": "x", "b": "y"}}, {"A": {"p": 1}}
FAR, NO_BOX = {"p": {"a": 1e200, "b": -1e200}}, {"p": {"a": [[0, 0, 1, 1]], "b": "x"}}
NO_BOXES = {"A": {"p": [], "q": []}, "B": {"p": [], "q": [[0, 0, 1]]}}
TWO_CLUSTERS = pd.DataFrame({"case": ["p", "p"], "annotator": [1, 2], "label": [0, 1], "patient": ["x", "y"]})
TEXTS = {f"c{i}": {who: f"the {who} text of number {i}" for who in "abc"} for i in range(10)}
AMOUNTS = {f"c{i}": {who: i + at / 7 for at, who in enumerate("abc")} for i in range(10)}
SAME_TEXTS = {"m": dict.fromkeys(TEXTS, "the one text for all")}
OF_RATIOS = [
    (
        TEXTS,
        SAME_TEXTS,
        {"distance": "nominal"},
        G,
        'these are texts that hardly ever repeat, 30 different ones of 30, .* give distance="bleu"',
    ),
    ({"p": {"a": 1}}, MODEL, {}, A, "no case has labels of two annotators"),
    (TWO, MODEL, {"distance": "nominl"}, G, "no distance 'nominl': did you mean 'nominal'"),
    (TWO, MODEL, {"distance": "box_iuo"}, G, r"did you mean 'box_iou'\?"),
    (TWO, MODEL, {"distance": "hinge"}, G, "hinge needs a tolerance of at least 0"),
    (TWO, MODEL, {"tolerance": 1}, G, "only hinge has a tolerance"),
    (WORDS, {"A": {"p": "x"}}, {"distance": "squared"}, A, r"row 1 \(case 'p', .* is 'x'; write a"),
    (TWO, MODEL, {"distance": "jaccard"}, D, "row 1 .*: a label must be a set, got"),
    (TWO, MODEL, {"distance": lambda a, b: -1}, G, "finite number of at least 0, but that of 1 and 0 is -1"),
    (TWO, MODEL, {"distance": Backwards()}, G, "number of at least 0, but that of 1 and 0 is -1"),
    (TWO, MODEL, {"distance": lambda a, b: a.size}, D, r"failed \(AttributeError: 'int' .*\) on 1 and 0;"),
    (NO_BOX, {"A": {"p": []}}, {"distance": "iou"}, D, r"row 2 \(case 'p', annotator 'b'\): a label of"),
    (BOXES, NO_BOXES, {"distance": "iou"}, D, r"predictions of B, case 'q': a label of boxes is a list of"),
    (FAR, MODEL, {"distance": "squared"}, A, r"so far apart that their disagreement \(squared\) is not"),
    (TWO, {"A": {"q": 1}}, {}, P, "predictions of A: there is no row for case 'p'"),
    (TWO, {"A": {"p": 1, "z": 1}}, {}, P, "for case 'z', which"),
    (TWO, {"A": {"p": None}}, {}, P, r"row 1 \(case 'p'\): the label is missing; fill it"),
    (TWO, {"A": {"p": "x"}}, {}, P, "labels are numbers, such as 1, and the predict"),
    (WORDS, MODEL, {}, P, "labels are text, such as 'x', and the predictions are numbers, such as 1"),
    (TWO, {}, {}, P, "there are no predictions; give those of one model"),
    (TWO, {"p": 1}, {}, P, "name the model: {model: {case: label}}"),
    (TWO, MODEL, {"clusters": "patient"}, A, "no column 'patient'"),
    (TWO, MODEL, {"clusters": {"p": 1}}, G, "there is no cluster for case 'q'"),
    (TWO, MODEL, {"clusters": 3}, G, "a cluster is the name of a column, or a"),
    (TWO_CLUSTERS, MODEL, {"clusters": "patient"}, A, "case 'p' has two values in column 'patient', 'x' and"),
]

SURE = pd.DataFrame(
    {"case": list("pppqq"), "annotator": ["ann", "bob", "cy", "ann", "bob"], "label": list("xxyyy")}
).assign(confidence=[1.0, 0.5, 0.8, 0.5, 0])
OF_RELIABILITY = {
    "one annotator": ({"p": {"a": 1}}, {"competence": "rasch"}, A, "no case has labels of two annotators"),
    "twice": (
        [("p", "a", 1), ("p", "a", 0)],
        {"competence": "rasch"},
        A,
        "case 'p', annotator 'a': a second answer, '0' after '1'",
    ),
    "percent": (SURE.assign(confidence=80), {}, A, "the confidence is 80, outside 0 to 1; give sc"),
    "off the scale": (SURE, {"scale": (0.0, 0.5)}, A, "the confidence is 1, outside 0 to 0.5"),
    "no scale": (SURE, {"scale": (1, 0)}, G, "scale must be a mapping from level to confidence, or"),
    "no level": (SURE, {"scale": {1: 1.0}}, A, r"row 2 .*: the confidence 0.5 is not on the scale '1'"),
    "levels beyond 1": (SURE, {"scale": {1: 2.0}}, G, "a scale gives confidences from 0 to 1"),
    "scale of nothing": (SURE, {"confidence": 1, "scale": (1, 5)}, G, "scale turns a column into confid"),
    "confidence of all": (SURE, {"confidence": 80}, G, "confidence lies between 0 and 1, but 80"),
    "no column": (SURE, {"confidence": "sure"}, A, "no column 'sure'"),
    "chance": (SURE, {"chance": "even"}, G, 'chance must be "uniform", "empirical" or probabilities'),
    "chance of some": (SURE, {"chance": {"x": 1}}, G, "chance has no probability of 'y'"),
    "chances": (SURE, {"chance": {"x": 1, "y": 1}}, G, "chance must be probabilities"),
    "classes": (SURE, {"n_classes": 1}, G, "a whole number, at least that of the labels in use, 2"),
    "half a class": (SURE, {"n_classes": 2.5}, G, r"n_classes must be a whole number, .* but is 2\.5"),
    "classes unused": (SURE, {"n_classes": 2, "chance": "empirical"}, G, "n_classes is for chance="),
    "no truth": (SURE, {"competence": "known"}, G, 'competence="known" needs the true labels'),
    "truth unused": (SURE, {"competence": 0.9, "truth": {"p": "x"}}, G, "truth is for known competence"),
    "strange truth": (SURE, {"competence": "known", "truth": {"z": "x"}}, P, "case 'z', which"),
    "two truths": (SURE, {"competence": "known", "truth": [("p", "x"), ("p", "y")]}, A, "more than one true label"),
    "truth of another": (SURE, {"competence": "known", "truth": {"q": "x"}}, A, "how often annotator 'cy' is right"),
    "accuracy": (SURE, {"competence": {"ann": 90}}, A, "the accuracy of 'ann' is 90; give a"),
    "no accuracy": (SURE, {"competence": {"ann": 0.9}}, A, "no accuracy for this annotator; give one"),
    "competence": (SURE, {"competence": ["ann"]}, G, "competence must be one of one-coin, rasch"),
    "no judge": (
        {"p": {"a": 1, "b": 1}, "q": {"a": None}},
        {"truth": {"q": 1}, "competence": "rasch"},
        A,
        "no label can be judged",
    ),
    "draws": ({"p": {"a": 1, "b": 1}}, {"competence": "rasch", "draws": 0}, G, "draws must be a whole number"),
}

# Rows of labels, and distances that fail with some of them, or are none.
ROWS = [("p", "ann", 1), ("p", "bob", 2), ("q", "ann", 5), ("q", "bob", 7)]
LISTS = [("p", "ann", [1]), ("p", "bob", [1, 2]), ("q", "ann", [0, 3])]
CORNERS = [("p", "ann", [(0, 0, 1, 1)]), ("p", "bob", [(0, 0, 1)]), ("q", "ann", [])]
PEOPLE = {"p": {"ann": [1, 9], "bob": [2, 8]}, "q": {"ann": [7, 2], "bob": [8, 3]}}
WORDED = {"p": {"ann": "u", "bob": "v"}, "q": {"ann": "w", "bob": "w"}}
NEGATIVE = {"p": {"ann": -1, "bob": -2}, "q": {"ann": 3, "bob": 4}}


def fails_at_seven(a, b):
    if 7 in (a, b):
        raise KeyError("no such thing")
    return abs(a - b)


FIRST, LAST = r"row 1 \(case 'p', annotator 'ann'\)", r"row 4 \(case 'q', annotator 'bob'\)"
BINARY = {"p": {"a": 1, "b": 0}, "q": {"a": 1, "b": 1}}
SCORED_TWICE = {"case": ["p", "p", "q"], "score": [1, 2, 3]}
TWICE = [("p", "a", 1), ("p", "a", 0), ("p", "b", 0)]
THREE = {"p": {"a": 1, "b": 1, "c": 1}}
JUDGED = [{"case": c, "annotator": a, "label": 1, "odd": c + a} for c in "pq" for a in "xyz"]
PAIR = [("p", "ann", 1), ("p", "bob", 0)]
RANKED = pb.Annotations.from_rankings([[[["a"]], [["b"]]]], classes=list("abcdefg"))
FOUND = xr.Dataset({name: ("case", [1.0]) for name in ("annotation_certainty_1", "annotator_agreement")})


def quiet(rows, *given, **options):
    return agreement(rows, *given, progress=False, **options)


def judged(**options):
    return judge(JUDGED, {"m": {"p": 1, "q": 1}}, progress=False, **options)


def tested(*given, **options):
    return alternative_annotator_test(*(given or (PAIR, [("p", 1)])), **options)


def read_shares(table):
    return read_models({"m": pd.DataFrame(table)}, Labels.of(BINARY), np.ones(2, bool))


def spelled(said):
    labels = Labels.of({case: dict.fromkeys("xyz", one) for case, one in zip("pq", "ab", strict=True)})
    return read_models({"m": dict(zip("pq", said, strict=True))}, labels, np.ones(2, bool))


def unlike(pair):
    labels = Labels.of({case: dict.fromkeys("xyz", pair[0]) for case in "pq"})
    return read_models({"m": dict.fromkeys("pq", pair[1])}, labels, np.ones(2, bool))


def result(name, **options):
    """Use a method of the result of two cases, of which one has one annotator."""
    return getattr(discrepancy_ratio(TWO, {"A": {"p": 1}}), name)(**options)


REFUSED = [
    *(row for distance, good, bad, words in OF_DISTANCES
      for row in each(distance, {words: (good, bad)}, D, f"{type(distance).__name__} of {bad!r}")),
    *each(spelled, {
        "predictions have 'A' beside 'a', which differs only in capitals": ("Ab",),
        "predictions are '1', '0', and classes are called 'a', 'b'": ("10",),
    }, PredictionError),
    *each(unlike, {
        "predictions are 'positive', and classes are called 'no'": (("no", "positive"),),
        "predictions are 'M', and classes are called 'benign'": (("benign", "M"),),
        "predictions are 'yes', and classes are called '0'": (("0", "yes"),),
    }, PredictionError),
    *each(Boxes, {
        'the measure of boxes must be "iou", "giou" or "l2", but \'area\' was given': ("area",),
        'combine must be "directional" or "pooled"': ("iou", "mean"),
    }, G),
    *each(Keypoints, {
        'the measure of keypoints must be "oks" or "iou"': ("giou",),
        r"sigmas must be greater than zero, but \[0.0, 0.1\] was given": {"sigmas": [0, 0.1]},
    }, G),
    *each(PartialRankings, {"the depth must be at least 1": (0,)}, G),
    *each(RankedLists, {
        "the coefficient must be": ("pearson",),
        "top must be at least 1": {"top": 0},
        "padding must be 0 or more": {"padding": -1},
    }, G),
    *each(SpanF1, {'range must be "lenient" or "strict"': ("loose",)}, G),
    *each(TreeEdit, {'the scale must be "plain", "norm" or "diff"': ("log",)}, G),
    *each(Circular, {"the period must be greater than zero": (0,)}, G),
    *each(find_distance, {
        "there is no distance 'nominel': did you mean 'nominal'": ("nominel",),
        "choose from nominal, ordinal": ("xyzzy",),
        "there is no preset 'braylan'": ("nominal", "braylan"),
        "a distance is a name or a function of two labels, but 3": (3,),
    }, G),
    *(row for weighting in ("pairs", "units") for row in each(partial(agreement, weighting=weighting), {
        "only one case has labels": ([("p", "a", 1), ("p", "b", 2)],),
        "none of the 2 cases has labels of two annotators to compare": ([("p", "a", 1), ("q", "b", 2)],),
    }, A, weighting)),
    *each(quiet, {
        rf"a distance is a finite number, .* '<lambda>' gave nan on .*{FIRST} and": (ROWS, lambda a, b: float("nan")),
        rf"zero or greater, but '<lambda>' gave -1 on .*{FIRST} and .* 'bob'": (ROWS, lambda a, b: -abs(a - b)),
        rf"the same in either order, but '<lambda>' gave 0 and 1 on .*{FIRST} and": (ROWS, lambda a, b: max(a - b, 0)),
        rf"'fails_at_seven' failed \(KeyError: 'no such thing'\) on .*{FIRST} and .*{LAST}": (ROWS, fails_at_seven),
        r"failed \(TypeError": (ROWS, lambda a, b: None),
        f"{FIRST}: a label of several objects is a list": (ROWS, BestMatches(lambda a, b: 1 / 0)),
        r"ZeroDivisionError.* annotator 'ann'\) and .*row 3": (LISTS, BestMatches(lambda a, b: abs(1 / a - 1 / b))),
        r"row 2 \(case 'p', annotator 'bob'\): a label of boxes is a list of corners": (CORNERS, "box_iou"),
    }, D),
    *each(partial(agreement, ROWS), {
        'weighting must be "pairs" or "units", but \'items\'': {"weighting": "items"},
        'cross must be "auto", "all", "sample" or a number': {"cross": "some"},
        "cross must be .* but 0 was": {"cross": 0},
        "cross must be .* but True was given": {"cross": True},
        "cross must be .* but array": {"cross": np.array([1, 2])},
        "p must lie between 0 and 1": {"p": 1},
        "processes must be at least 1": {"processes": 0},
        "processes must be at least 1, and whole, but 1.5": {"processes": 1.5},
        "there is no preset 'x'": {"preset": "x"},
        "seed must be a whole number from 0": {"seed": -1},
    }, G, "agreement"),
    *each(agreement(ROWS, "interval").interval, {
        "ci_prob must lie between 0 and 1": {"ci_prob": 95},
        "replicates must be a whole number of at least 2": {"replicates": 1},
        "seed must be a whole number from 0 .* but -1": {"seed": -1},
    }, G),
    *each(agreement(ROWS, "interval").annotators, {"ci_prob must lie between 0 and 1": {"ci_prob": 2}}, G),
    *each(choose_distance, {
        "two candidates are called '<lambda>': give a mapping": (PEOPLE, [lambda a, b: 0.0, lambda a, b: 1.0]),
        "there is no type of label 'vector': choose from categories": (PEOPLE, "vector"),
        "there are no candidates": (PEOPLE, []),
        "candidates are a type of label, or distances, but 5 was given": (WORDED, 5),
    }, G),
    *each(choose_distance, {
        r"^ordinal: row 1 \(case 'p', annotator 'ann'\): an ordinal label": (WORDED, ["nominal", "ordinal"]),
        "interval: ": (WORDED, "numbers"),
        "ratio: row .*zero or greater": (NEGATIVE, ["interval", "ratio"]),
    }, D),
    *(row for labels, said, more, error, words in OF_RATIOS
      for row in each(partial(discrepancy_ratio, labels, said), {words: more}, error, "discrepancy_ratio")),
    *each(result, {
        "a bootstrap draws clusters, but there is only 1": {"name": "interval"},
        "ci_prob must lie between 0 and 1, but 95 was given": {"name": "interval", "ci_prob": 95},
        "replicates must be a whole number of at least 1, but 0": {"name": "replicates", "replicates": 0},
        "seed must be a whole number of at least 0, but -1": {"name": "replicates", "replicates": 9, "seed": -1},
        "margin must be a number greater than -1": {"name": "non_inferiority", "margin": -1},
    }, G),
    *(row for fault, (labels, more, error, words) in OF_RELIABILITY.items()
      for row in each(partial(weighted_reliability, labels), {words: {"competence": 0.9} | more}, error, fault)),
    *each(threshold_curve, {
        r"divides two labels, but there are 1 \(1\)": ({"p": {"a": 1, "b": 1}}, {"p": 1}),
        "no case has labels of two annotators": ({"p": {"a": 1}, "q": {"a": 0}}, {"p": 1, "q": 1}),
    }, A),
    *each(threshold_curve, {
        "there is no row for case 'q'": (BINARY, {"p": 1}),
        "case 'q': the score is .*inf.*; write a finite number": (BINARY, {"p": 1, "q": np.inf}),
        "case 'q': the score is 'x'; write a finite number": (BINARY, {"p": 1, "q": "x"}),
        "case 'p' has more than one score": (BINARY, SCORED_TWICE),
    }, P),
    *each(threshold_curve(BINARY, {"p": 1, "q": 2}).cross_fitted, {
        "folds must lie between 2 and the number of clusters, 2, but 5 was given": ()
    }, G),
    *each(partial(threshold_curve, BINARY, {"p": 1, "q": 2}), {
        r"positive must be one of .* \[0, 1\], but 2": {"positive": 2}
    }, G, "curve"),
    *each(measures_of_distances, {
        "there are no observed distances": ([], [1]),
        r"distances are finite and zero or greater, but expected\[1\] is -1": ([1], [1, -1]),
        r"observed\[0\] is nan": ([np.nan], [1]),
        "p must lie between 0 and 1, but 0": {"observed": [1], "expected": [1], "p": 0},
    }, G),
    *each(np.asarray, {"weights that are not counts": (PairDistances(np.array([1.0]), np.array([0.5])),)}, G),
    *each(majority_accuracy, {
        "a majority needs an annotator": ([],),
        r"an accuracy must lie between 0 and 1, but 1\.5": ([0.5, 1.5],),
    }, G),
    *each(actual_accuracy, {
        "measured must lie between 0 and 1, but 'high' was given": ("high", 0.85),
        "measured must lie between 0 and 1, but 98": (98, 0.85),
    }, G),
    *each(ground_truth_accuracy, {"annotators must be a whole number of at least 1, but 0": (0.5, 0)}, G),
    *each(required_reliability, {
        r"no labels make the actual accuracy, 0\.95, greater than the measured": (0.95, 0.9)
    }, G),
    *each(agreement, {"the nominal distance asks whether labels are equal, but these are": (TEXTS, "nominal")}, G),
    *each(fleiss_kappa, {"kappa asks whether labels are equal, .* use agreement with distance=\"bleu\"": (TEXTS,)}, G),
    *each(gwet_ac, {"AC1 asks whether labels are equal": (TEXTS,)}, G),
    *each(cohen_kappa, {"kappa asks whether labels are equal": (TEXTS, "a", "b")}, G),
    *each(weighted_reliability, {"weighted reliability asks whether labels are equal": (TEXTS,)}, G),
    *each(weighted_reliability, {'numbers that hardly ever repeat, 30 .* distance="squared"': (AMOUNTS,)}, G),
    *each(fleiss_kappa, {
        "no case has labels of two annotators": ({"p": {"a": 1}},), "a second answer, '0' after '1'": (TWICE,)
    }, A),
    *each(gwet_ac, {
        "a second answer, '0' after '1'": (TWICE,),
        "row 1 .*: the label 1 is none of the classes": (THREE, "nominal", [2]),
    }, A),
    *each(gwet_ac, {
        "weights must be .* but 'cubic'": (THREE, "cubic"),
        "linear weights are of numbers, or of classes in their order": ({"p": {"a": "x", "b": "y"}}, "linear"),
    }, G),
    *each(intraclass_correlations, {
        "take two cases that all annotators rated": ({"p": {"a": 1, "b": 2}, "q": {"a": 1}},),
        "row 1 .*: the label is 'x'; write a number": ({"p": {"a": "x", "b": "y"}},),
        "a second answer, '0' after '1'": (TWICE,),
    }, A),
    *each(cohen_kappa, {
        "annotators 'a' and 'b' have no case in common": ({"p": {"a": 1}, "q": {"b": 1}},),
        "a second answer, '0' after '1'": (TWICE,),
    }, A),
    *each(cohen_kappa, {
        "name two of the annotators, 'a', 'b', 'c', but None was given": (THREE,),
        "two different annotators are needed, but 'a' was given twice": (THREE, "a", "a"),
    }, G),
    *each(tested, {
        **{f"epsilon must lie between 0 and 1.*{wrong}": {"epsilon": wrong} for wrong in (-0.1, 1.5, "high", True)},
        "fdr": {"fdr": 0},
    }, G),
    *each(tested, {"no row for case 'p'": ([*PAIR, ("q", "ann", 1)], {"m": [("q", 1)]})}, P),
    *each(tested().power, {"n_clusters": ([1],)}, G),
    *each(judged, {"column 'odd' has several values": {"by": "odd"}}, A),
    *each(judged, {
        "by names columns": {"by": [3]},
        "model must be \"auto\", \"one-coin\"": {"model": "irn"},
        'a judgement has no truth: give "one-coin"': {"model": "rasch"},
        "margin must be": {"margin": -1},
        "shared_errors must be at least 0 and below 1": {"shared_errors": 1},
    }, G),
    *each(read_shares, {"no column 'label'": ({"case": ["p", "q"], "p": [0.2, 0.9]},)}, P),
    *each(partial(pb.annotators.annotator_agreement, RANKED), {
        'ties must be "split" or "full", but \'half\'': {"ties": "half"},
        "ties must be .* but 'half' was given": {"break_ties": "half"},
    }, G, "annotator_agreement"),
    *each(pb.annotators.annotator_overlap, {"k must be a whole number between 1 and .* 7, but 8": (RANKED, 8)}, G),
    *each(pb.annotators.classifier_overlap, {
        "k must be a whole number between 1 and .* 7, but 0": (RANKED, {}, 0)
    }, G),
    *each(pb.annotators.agreement_correlation, {
        "no 'annotation_certainty_1' by case": (xr.Dataset(),),
        "method must be .* but 'tau' was given": {"results": FOUND, "method": "tau"},
    }, G),
]  # fmt: skip
