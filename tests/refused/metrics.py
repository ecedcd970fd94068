"""What metrics of plain arrays, their declarations, scorers and grades refuse."""

from functools import cache, partial

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import plausibly as pb
from plausibly import metrics
from plausibly.base.errors import ArgumentError, PredictionError
from plausibly.metrics import OrderMetric, SumMetric
from tests.refused import each, table

ONES, DRAW, EYE = np.ones((1, 3)), np.ones((1, 1, 3)), np.eye(3)
REFUSED = []


def of_lists(name="overlap", predictions=ONES, plausibilities=DRAW, k=1, **options):
    return getattr(metrics, name)(predictions, plausibilities, k, **options)


def of_labels(name="brier", predictions=((0.5, 0.5),), truth=((1.0, 0.0),), **options):
    return getattr(metrics, name)(predictions, truth, **options)


def own(function, better="greater"):
    return metrics.per_draw(metrics.Metric(function, better=better), np.ones((2, 3)), np.ones((1, 2, 3)))


def grades(scores=(1, 2), values=None):
    table = pd.DataFrame({"case": np.arange(len(scores)), "annotator": "ann", "score": scores})
    return pb.Annotations.from_scores(table).grades(values)


for metric in metrics.METRICS.values():
    REFUSED += each(
        partial(of_lists, metric.count.__name__),
        {
            "k must be a whole number between 1 and .* 3, but 4": {"k": 4},
            r"predictions must have .* \(2, 3\), but .* \(1, 3\)": {"plausibilities": np.ones((2, 2, 3))},
            r"but nan stands at \(0, 0, 1\)": {"plausibilities": np.array([[[1.0, np.nan, 0]]])},
        },
        ArgumentError,
        metric.name,
    )
for name in ("auroc", "brier", "quadratic_kappa", "calibration_slope", "calibration_temperature"):
    silent = {"predictions": [[0.2, 0.8], [0, 0]], "truth": [[0, 1], [1, 0]]}
    words = "predictions must have an answer in every case, but all .* case '?1'?"
    REFUSED += each(partial(of_labels, name), {words: silent}, ArgumentError, name)
ALONG = "along must be the name of an axis and the values along it, but"
SCORED = pd.DataFrame({"case": np.arange(3), "annotator": "ann", "score": [1, 2, 4]})
CLASSES, CASES = ["corn", "nevus", "wart"], [f"p{i}" for i in range(6)]


@cache
def posterior():
    """Of one label in each case."""
    annotations = pb.Annotations.from_labels([[c] for c in CLASSES * 2], classes=CLASSES, cases=CASES)
    return pb.aggregate(annotations, "dirichlet-categorical", draws=4, chains=1, seed=0, progress=False)


def scored(metric="top1_accuracy", learner=LogisticRegression, features=None, names=(), y=None):
    X = pd.DataFrame(np.eye(3)[[0, 1, 2] * 2], index=CASES) if features is None else features
    score = pb.evaluation.scorer(posterior(), metric)
    return score(learner().fit(X, list(names) or CLASSES * 2), X, y)


def ordered(classes=("1", "2"), **options):
    annotations = pb.Annotations.from_labels([list(classes)], classes=list(classes))
    return pb.evaluate(annotations, {"A": [[0.5, 0.5]]}, truth="annotator", **options)


ROWS = {
    (of_lists, ArgumentError): {
        "k must be a whole number .* but 0 was given": {"k": 0},
        "k must be a whole number .* but 1.5 was given": {"k": 1.5},
        "k must be a whole number .* but True was given": {"k": True},
        r"plausibilities must have the shape \(draw, case": {"plausibilities": ONES},
        "none of them empty": {"plausibilities": np.ones((0, 1, 3))},
        r"predictions must have .* \(1, 3\), but .* \(1, 2\)": {"predictions": np.ones((1, 2))},
        r"finite numbers, but nan stands at \(0, 1\)": {"predictions": np.array([[1.0, np.nan, 0]])},
        r"but inf stands at \(0, 0\)": {"predictions": np.array([[np.inf, 1.0, 0]])},
        r"not negative, but -0.5 stands at \(0, 0, 1\)": {"plausibilities": np.array([[[1.5, -0.5, 0]]])},
        "predictions must be numbers, but an array of type <U1": {"predictions": np.array([["a", "b", "c"]])},
        'break_ties must be "order" or "random", but \'best\' was given': {"break_ties": "best"},
    },
    (of_labels, ArgumentError): {
        "truth must sum to one in every case, but that of case 0 sums to 1.5": {"truth": [[1.0, 0.5]]},
        r"truth must be weights \(case, class\), but the shape is \(2,\)": {"truth": [1.0, 0.0]},
        "predictions must be probabilities.* case 0 are from -1 to 2": {"predictions": [[2.0, -1.0]]},
        "must be probabilities that sum to one.*sum to 3: divide votes by their sum": {"predictions": [[2.0, 1.0]]},
        r"weights must have the shape \(case,\), \(1,\), but the shape is \(2,\)": {"weights": [1.0, 1.0]},
    },
    (OrderMetric, ArgumentError): {
        "value must be a function of arrays, but 1 was given": (1,),
        rf"{ALONG} \('threshold', 0.5\)": {"value": max, "along": ("threshold", 0.5)},
        rf"{ALONG} \(0.1, 0.2\)": {"value": max, "along": (0.1, 0.2)},
        f"{ALONG} 3": {"value": max, "along": 3},
    },
    (SumMetric, ArgumentError): {
        "better must be .* but 'best' was given": {"rows": max, "better": "best"},
        "takes must be .* but 'logits' was given": {"rows": max, "takes": "logits"},
    },
    (metrics.net_benefit, ArgumentError): {
        "threshold must lie between 0 and 1, but 1 was given": (1,),
    },
    (metrics.expected_cost, ArgumentError): {
        r"costs must be a square .* the shape is \(1, 2\)": ([[0, 1]],),
    },
    (metrics.annotation_certainty, ArgumentError): {
        "size must be a whole number between 1 and .* 3, but 4 was": (DRAW, 4),
        "plausibilities must be finite numbers that are not negative, but nan": (np.full((1, 1, 3), np.nan),),
    },
    (metrics.certainty, ArgumentError): {
        r"different classes from 0 to 2, but that of case 0 is \[0, 0\]": (DRAW, [[0, 0]]),
        r"different classes from 0 to 2, but that of case 0 is \[0, 3\]": (DRAW, [[0, 3]]),
        r"of shape \(case, size\) for 1 cases, but the shape is \(2, 1\)": (DRAW, [[0], [1]]),
        "whole numbers .* the type float64": (DRAW, [[0.5]]),
        "size must be a whole number between 1 and .* 3, but 4": (DRAW, [[0, 1, 2, 0]]),
    },
    (own, ArgumentError): {
        r"must return one number, but it returns the shape \(3,\)": (lambda scores, plausibility: scores,),
        "must return one number, but it returns no array": (lambda scores, plausibility: None,),
        "must be a function of scores .* but it failed": (lambda scores: scores.sum(),),
        "that JAX can trace, but it failed": (lambda scores, plausibility: float(scores.sum()),),
        "must be a function of scores and plausibilities, but 'accuracy' was given": ("accuracy",),
        r"better must be .* or the best value, a number, but 'less' was given": (max, "less"),
    },
    (metrics.mean_average_overlap, ArgumentError): {
        "must name a class once, but 0 occurs twice": ([[0], [0]], [[1]], 2),
        "a block of a ranking must name a class, but one is empty": ([[0], []], [[1]], 2),
        "must name a class once, but 0 occurs twice.*": (np.ones((2, 3)), EYE, 1),
        "a block of a ranking must name a class, but one is empty.*": (np.zeros((2, 3)), EYE, 1),
        "must hold zeros and ones": (2 * EYE, EYE, 1),
        "a ranking must be a list of blocks, but .0, 1. was given": ([0, 1], [[1]], 1),
        "a ranking must be a list of blocks, but .'nevus'. was given": (["nevus"], [["nevus"]], 1),
        "a ranking must be a list of blocks, but None was given": (None, [[1]], 1),
        "there must be a class to rank": ([], [], 1),
        "n_classes must be a whole number, but 2.5 was given": ([[0]], [[1]], 1, 2.5),
        "depth must be a whole number of at least 1, but 0 was given": ([[0]], [[1]], 0),
        "n_classes must be at least the number of classes named, 3, but 2 was given": ([[0], [2]], [[1]], 1, 2),
    },
    (metrics.soft_permutation, ArgumentError): {
        "whole numbers from 0 to 2, but 5 was given": ([[5]], 3),
    },
    (metrics.risk_certainty, ArgumentError): {
        r"risks must have one level for each of the 3 classes, but the shape is \(2,\)": (DRAW, [0, 1], "class"),
        "risks must be 0, 1 or 2, but 3 was given": (DRAW, [0, 1, 3], "class"),
        "risks must be 0, 1 or 2, but 1.5 was given": (DRAW, [0, 1, 1.5], "level"),
        'of must be "class" or "level", but \'case\' was given': (DRAW, [0, 1, 2], "case"),
    },
    (metrics.panel_shares, ArgumentError): {
        "counts must be whole numbers.*float64": (np.array([[1.0, 2.0]]), 1),
        "counts must be whole numbers.*": (np.array([1, 2]), 1),
        "counts must be whole numbers.*with negative numbers": (np.array([[1, -2]]), 1),
        "n must be a whole number of at least 1, but 0": (np.array([[1, 2]]), 0),
    },
    (grades, ArgumentError): {
        "grades are from 2 to 20 values, but the scores have 60": (np.arange(60),),
        "grades are from 2 to 20 values, but the scores have 1": ([1, 1],),
        "the score 5 is none of the grades 1, 2, 3, 4": ([1, 5], [1, 2, 3, 4]),
        "grades must be numbers": ([1, 2], ["low", "high"]),
    },
    (
        lambda: pb.read_predictions(np.full(3, 2.5), pb.Annotations.from_scores(SCORED).grades()),
        PredictionError,
        "predicted grades",
    ): {
        r"row 1: 2\.5 is none of the classes 1, 2, 4": {},
    },
    (
        lambda: pb.aggregate(pb.Annotations.from_scores(SCORED), predictions={"A": np.zeros(3)}, progress=False),
        ArgumentError,
        "scores as evidence",
    ): {
        "need a threshold .*--ordered": {},
    },
    (scored, ArgumentError): {
        "there is no metric": {"metric": "acuracy"},
        "there are 3 classes": {"metric": "top9_accuracy"},
        "a scorer needs a metric with one value, but 'ppv' has several": {"metric": "ppv"},
        "rows must name their cases": {"features": np.eye(3)[[0, 1, 2] * 2], "y": np.array(CLASSES * 2)},
        "no case '0'": {"features": pd.DataFrame(np.eye(3)[[0, 1, 2] * 2])},
    },
    (scored, PredictionError): {
        "no predict_proba": {"learner": LinearSVC},
        "'mole', which the posterior lacks": {"names": ["corn", "nevus", "mole"] * 2},
    },
    (
        lambda: pb.evaluation.scorer(pb.posterior.annotations_of(posterior()), "f1_macro"),
        ArgumentError,
        "a scorer of annotations",
    ): {
        "posterior": {},
    },
    (ordered, ArgumentError): {
        "ordered classes must be in their order, but the classes are '10', '2'": {"classes": ("10", "2"), "ordered": 1},
        "expected_cost needs the risk levels of the classes": {"metrics": ["expected_cost"]},
        "'cost' has costs of 5 classes, but there are 2 with positive=": {
            "metrics": {"cost": metrics.expected_cost(np.ones((5, 5)))},
            "positive": "2",
        },
    },
}
REFUSED += table(ROWS)
