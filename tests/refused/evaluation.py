"""What evaluations, comparisons of classifiers, weights, groups, thresholds and panels refuse."""

from functools import cache, partial

import jax.numpy as jnp
import numpy as np
import pandas as pd
import xarray as xr

import plausibly as pb
from plausibly.base.errors import AnnotationError, ArgumentError, FileError, PredictionError
from plausibly.evaluation import comparison, panels
from plausibly.metrics import LABEL_METRICS, OrderMetric, SumMetric
from tests.refused import each, refused, table

CASES, SITE = [f"p{i}" for i in range(6)], list("xxxyyy")
PREDICTIONS = {k: dict(zip("AB", np.random.default_rng(k).dirichlet(np.ones(k), (2, 6)), strict=True)) for k in (2, 3)}
WEIGHTS = pd.Series(np.arange(1.0, 7), CASES)
REFUSED = []


@cache
def annotations(k=3):
    """Six cases with two to four labels each."""
    classes = list("abc")[:k]
    return pb.Annotations.from_labels([(classes * 2)[: 2 + i % 3] for i in range(6)], classes=classes, cases=CASES)


@cache
def posterior(k=3):
    return pb.aggregate(annotations(k), "dirichlet-categorical", draws=4, chains=1, seed=0, progress=False)


@cache
def results():
    options = {"metrics": ["top1_accuracy"], "by": {"site": SITE}, "replicates": 4}
    return pb.evaluate(posterior(), PREDICTIONS[3], **options, progress=False)


def evaluate(k=None, predictions=..., of=3, **options):
    options |= {} if k is None else {"k": k}
    return pb.evaluate(posterior(of), PREDICTIONS[of] if predictions is ... else predictions, progress=False, **options)


def of_two(**options):
    return evaluate(of=2, **options)


def of_labels(**options):
    return pb.evaluate(annotations(2), PREDICTIONS[2], truth="annotator", **options)


def brier(scores, plausibility):
    return jnp.sum((scores - plausibility) ** 2)


SPELLED = pb.read_annotations({"p": {"x": "Ill"}, "q": {"x": "ill"}})
AXIS = OrderMetric(lambda tp, fp: tp[:2] / tp[-1], along=("threshold", (1, 2)))
OWN = SumMetric(lambda p, truth: p @ truth)
SILENT = np.where(np.arange(6)[:, None] == 2, 0, PREDICTIONS[3]["A"])
REFUSED += [
    refused("logits against labels", lambda: pb.evaluate(annotations(2), {"A": 9 * PREDICTIONS[2]["A"]},
            metrics=["brier"], truth="annotator"), r"those of 'A' of case 'p0' are from .* mark logits as such"),
    refused("no posterior", lambda: pb.evaluate(None, PREDICTIONS[3]), "a posterior of plausibly.aggregate or .* None"),
    refused("annotations", lambda: pb.evaluate(annotations(), PREDICTIONS[3]), "posterior", error=ArgumentError),
    refused("no file", lambda folder: pb.evaluate(folder / "none.nc", PREDICTIONS[3]), "none.nc does not exist: check",
            error=FileError),
    refused("rows of a model's truth", lambda: pb.evaluation.label_rows(annotations(), "most-plausible"),
            '"most-plausible" was given, which needs a posterior', error=ArgumentError),
]  # fmt: skip


def by(given, **options):
    return evaluate(by=given, intersections=True, **options)


TABLE = pd.DataFrame({"case": CASES, "site": SITE})
for name in ("differences", "rankings", "probabilities_better", "rank_probabilities", "variance_split"):
    words = r"results of plausibly\.evaluate are needed, but a NoneType was given"
    REFUSED += each(getattr(comparison, name), {words: (None, "top1_accuracy")}, ArgumentError)
NOWHERE = xr.Dataset({"top1_accuracy": (("classifier", "draw"), np.full((2, 1), np.nan))}, {"classifier": ["A", "B"]})
SCORED = pb.Annotations.from_scores(pd.DataFrame({"case": ["p"], "annotator": ["ann"], "score": [-1]}))


def threshold(k=2, predictions=None, **rule):
    return pb.evaluation.choose_threshold(posterior(k), predictions or PREDICTIONS[k], **rule)


def plan(metrics, factor=1):
    return pb.plan(posterior(2), {"A": factor * PREDICTIONS[2]["A"]}, metrics=metrics, budget=3, progress=False)


def freed(known=PREDICTIONS[3], given=PREDICTIONS[3]):
    options = {"predictions": known} if known else {"model": "dirichlet-categorical"}
    found = pb.aggregate(annotations(), draws=4, chains=1, seed=0, progress=False, **options)
    return pb.evaluation.freed_shape(found, given)


REFUSED += each(
    lambda **given: pb.aggregate(
        annotations(), **{"model": "dirichlet-categorical", "class_prior": "learned", "progress": False} | given
    ),
    {
        "prior_kappa must be positive": {"prior_kappa": 0},
        r"prior_kappa=3 is for a prior of plausibilities.*'uniform'": {"prior_kappa": 3, "class_prior": "uniform"},
    },
    ArgumentError,
    "a prior's kappa",
)

ROWS = {
    (evaluate, ArgumentError): {
        "k must be a whole number between 1 and .* 3, but 4 was given": {"k": 4},
        "k must name the length of a list, but none was given": {"k": ()},
        "sizes must be a whole number between 1 and .* 3, but 4 was given": {"sizes": (1, 4)},
        'break_ties must be "order" or "random", but \'best\'': {"break_ties": "best"},
        "two classifiers have the name '1': give each a name of its own": {"predictions": {1: [], "1": []}},
        "a mapping from .* but an object of type NoneType was": {"predictions": None},
        "a mapping from .* but an object of type ndarray was": {"predictions": PREDICTIONS[3]["A"]},
        "a mapping from .* but an object of type list was": {"predictions": [PREDICTIONS[3]["A"]]},
        "a mapping from .* but an object of type str was": {"predictions": "a.csv"},
        "must have a name of its own, but 'top1_accuracy'": {"metrics": {"top1_accuracy": brier}},
        "must have a name of its own, but 'x_by_case'": {"metrics": {"x_by_case": brier}},
        "must have a name of its own, but 'draw'": {"metrics": {"draw": brier}},
        r"metric 'mine' must return one number, but it returns the shape \(3,\)": {"metrics": {"mine": lambda a, b: a}},
        "a metric of your own needs a name": {"metrics": brier},
        "metrics must be names, or a mapping from names": {"metrics": []},
        "two metrics have the name '1'": {"metrics": {1: brier, "1": brier}},
        "'mine' must be a function .* it failed .*nothing": {"metrics": {"mine": lambda a, b: a.nothing}},
        "'mine' must be finite in every draw, .* 'p": {
            "metrics": [{"mine": lambda a, b: jnp.where(b[0] > 0.1, jnp.nan, a @ b)}]
        },
        r"weights must have the shape \(case,\), \(6,\), or \(draw, case\), \(4, 6\), but .* \(3,\)": {
            "weights": np.ones(3)
        },
        r"not negative, but -1.0 stands at \(0,\)": {"weights": np.full(6, -1.0)},
        r"finite numbers .* but nan stands at \(0, 0\)": {"weights": np.full((4, 6), np.nan)},
        "weights must not all be 0": {"weights": np.zeros(6)},
        "rows differ in length": {"weights": [[1, 2], [1]]},
        "weights must be numbers": {"weights": ["a"] * 6},
        "weights must be numbers.*": {"weights": np.full(6, 1j)},
        "greatest weight must be between 1e-20 and 1e.20, but it is 1e-50": {"weights": np.full(6, 1e-50)},
        "only their ratios count": {"weights": np.full(6, 3e38)},
        "there is no weight for case 'p0': give every case one, by its name": {"weights": WEIGHTS[1:]},
        "there is a weight for case 'x', which has no annotations": {
            "weights": pd.concat([WEIGHTS, pd.Series([1.0], ["x"])])
        },
        "weights name the case 'p0' several times: give each case one": {"weights": pd.concat([WEIGHTS, WEIGHTS[:1]])},
        "neither 0, 1, … nor the cases' names .there is none for case 'p0', 'p": {
            "weights": WEIGHTS.reset_index(drop=True)[::-1]
        },
        r"predictions must be probabilities .* of 'A' of case 'p0'": {
            "predictions": {"A": 3 * PREDICTIONS[3]["A"]},
            "metrics": "dist_ce",
        },
        "a threshold needs a positive class, but there are 3 classes": {"metrics": ["ppv"], "threshold": 0.5},
        "'dist_ce' is about all classes at once: leave out positive": {
            "metrics": "dist_ce",
            "positive": "a",
            "truth": "annotator",
        },
        "clusters must have one value for each of the 6 cases, but 2 were given": {"clusters": [1, 2]},
        "must belong to a cluster, but None was given": {"clusters": [None] * 6},
        "must belong to a cluster, but nan was given": {"clusters": [float("nan")] * 6},
        r"must belong to a cluster, but \[1\] was given": {"clusters": [[1]] * 6},
        "clusters must be one value per case": {"clusters": "patient"},
        "there is no cluster for case": {"clusters": {"nobody": 1}},
        "replicates must be a whole number of at least 0, but -1 was given": {"replicates": -1},
        "answer in every case for 'dist_ce', but all scores of 'A' of case 'p2' are 0": {
            "predictions": {"A": SILENT},
            "metrics": ["sensitivity", "dist_ce"],
        },
    },
    (
        partial(pb.evaluate, SPELLED, {"A": np.eye(2)}, metrics="auroc", truth="annotator"),
        ArgumentError,
        "evaluate of two spellings",
    ): {
        "the classes 'Ill' and 'ill' differ only in spelling": {"positive": "ill"},
    },
    (evaluate, AnnotationError): {
        "2 risks for 3 classes": {"risks": [0, 1]},
    },
    (evaluate, PredictionError): {
        "3 rows for 6 cases": {"predictions": {"A": np.ones((3, 3))}},
    },
    (of_two, ArgumentError): {
        "there is no metric 'aurok': choose for example from auroc": {"metrics": ["aurok"]},
        "there is no metric 'top_3': choose for example from top3_accuracy": {"metrics": ["top_3"]},
        "specificity must lie between 0 and 1, but 1.0 was given": {"metrics": ["sensitivity_at_specificity_1"]},
        "'top9_accuracy' cannot be computed, because there are 2 classes": {"metrics": ["top9_accuracy"]},
        "'top1_coverage' compares lists with the plausibilities": {"metrics": ["top1_coverage"], "truth": "panel"},
        r"truth must be one of 'most-plausible', .* but 'experts' was given": {"truth": "experts"},
        "panel must be a whole number of at least 1, but 0 was given": {"truth": "panel", "panel": 0},
        "'dist_ce' is of whole distributions, of which panels say nothing": {"metrics": ["dist_ce"], "truth": "panel"},
        "readers must be 'others' or 'these', but 'all' was given": {"truth": "panel", "readers": "all"},
        "positive must be a class, but 'c7' was given": {"metrics": ["auroc"], "positive": "c7"},
        "threshold must lie between 0 and 1, but 2 was given": {"metrics": ["ppv"], "threshold": 2},
        "must have a name of its own, but 'top1_mine'": {"metrics": {"top1_mine": LABEL_METRICS["f1"]}},
        "name of its own, but 'threshold'": {"metrics": {"mine": AXIS, "threshold": LABEL_METRICS["f1"]}},
        "name of its own, but": {"metrics": {"mine": AXIS, "other": LABEL_METRICS["decision_curve"]}},
        r"those of 'A' of case 'p0' are from .* mark logits as such": {
            "metrics": ["brier"],
            "predictions": {"A": 9 * PREDICTIONS[2]["A"]},
        },
        "threshold must have one for each classifier, but has none for 'B'": {"threshold": {"A": 0.5}},
        "threshold of 'B' must lie between 0 and 1, but 3 was given": {"threshold": {"A": 0.5, "B": 3}},
        "prevalence must lie between 0 and 1, but 2 was given": {"prevalence": 2},
        "net_benefit needs one threshold": {"metrics": "net_benefit", "threshold": {"A": 0.3, "B": 0.2}},
        "logits names the classifier 'C', which has no predictions: choose from 'A'": {"logits": ["C"]},
        "logits must be True": {"logits": 3},
    },
    (of_labels, ArgumentError): {
        "a metric of your own needs a name": {"metrics": [OWN]},
        "a metric of your own needs a name.*": {"metrics": [lambda scores, truth: scores @ truth]},
        "two metrics have the name 'auroc'": {"metrics": ["auroc", {"auroc": OWN}]},
        "two metrics have the name 'auroc'.*": {"metrics": [{"auroc": OWN}, "auroc"]},
        "metric 'several' must be one metric, but 'binary' names 10": {"metrics": {"several": "binary"}},
        "there is no metric 'aurok'": {"metrics": {"mine": "aurok"}},
        "there is no metric 'certainty'": {"metrics": [pb.metrics.certainty]},
        "'sensitivity_at_specificity' needs a value": {"metrics": ["sensitivity_at_specificity"]},
        "metrics must be names.*3": {"metrics": [3]},
        "metrics must be names": {"metrics": np.ones(2)},
        "'by_draw' needs draws": {"metrics": {"by_draw": brier}},
    },
    (by,): {
        "no file 'site'": ("site",),
        "by must be a table": (3,),
        "groups must have one value for each": ({"site": ["x"]},),
        "there is no group for case 'p0'": (TABLE.iloc[1:],),
        "has no columns": (TABLE[["case"]],),
        "case 'p0' must belong to a group": ({"site": dict.fromkeys(CASES, " ")},),
        "name of an intersection": ({"site": SITE, "sex": SITE, "site × sex": SITE},),
        "the column 'cas' of by names the cases: call it 'case'": (TABLE.rename(columns={"case": "cas"}),),
    },
    (comparison.better_equal_worse, ArgumentError): {
        "of plausibly.evaluate are needed, but a dict was given": ({}, "top1_accuracy", "A", "B")
    },
    (lambda call, *given: call(results(), *given), ArgumentError, "of results"): {
        "no metric 'top9' by group: choose from top1_accuracy": (pb.evaluation.by_group, "top9"),
        "no group 'site: z'": (pb.evaluation.group_difference, "top1_accuracy", "site: z", "site: x"),
        "there is no metric 'f1' with values along an axis": (pb.evaluation.curve_points, "f1"),
        "no classifier 'Z' in these results: choose from A, B": (
            comparison.probability_better,
            "top1_accuracy",
            "A",
            "Z",
        ),
        "no metric 'top9_accuracy' by draw in these results: .* top1_accuracy": (
            comparison.probabilities_better,
            "top9_accuracy",
        ),
        "no metric 'top1_accuracy_point' by draw in these results": (
            comparison.probabilities_better,
            "top1_accuracy_point",
        ),
        "relation must be one of >=, >, <=, <, but '=' was given": (comparison.probability, "top1_accuracy", "=", 0.5),
        "value must be a finite number.*nan": (comparison.probability, "top1_accuracy", ">=", np.nan),
        "value must be a finite number.*inf": (comparison.probability, "top1_accuracy", ">=", np.inf),
        "value must be a finite number.*0.9": (comparison.probability, "top1_accuracy", ">=", "0.9"),
        "value must be a finite number.*True": (comparison.probability, "top1_accuracy", ">=", True),
        "there is no metric 'auroc' by draw": (comparison.probability, "auroc", ">=", 0.5),
        "noise must be one of annotation, sampling, total, but 'all' was given": (
            lambda found: comparison.rankings(found, "top1_accuracy", noise="all"),
        ),
    },
    (comparison.rankings, ArgumentError): {
        "'top1_accuracy' is not a number in any draw": (NOWHERE, "top1_accuracy"),
    },
    (lambda **options: panels(annotations(), {}, **options), ArgumentError, "panels"): {
        "most must be at most the number of labels of some case, 4, but 5": {"most": 5},
        "most must be a whole number of at least 1, but 0": {"most": 0},
        "replicates must be a whole number of at least 0, but -1": {"replicates": -1},
        "break_ties must be": {"break_ties": "split"},
        "clusters must have one value for each of the 6 cases, but 1": {"clusters": ["p"]},
    },
    (panels, AnnotationError): {
        r"scores have no first choice.*split": (SCORED, {}),
    },
    (panels, ArgumentError): {"but an object of type list was given: read it with pb.read": ([["a"]], {})},
    (threshold, ArgumentError): {
        "a threshold needs one rule, but {} was given": {},
        "a threshold needs one rule": {"specificity": 0.9, "sensitivity": 0.9},
        "specificity must lie between 0 and 1, but 90 was given": {"specificity": 90},
        "positive must be a class, but 'x' was given": {"specificity": 0.9, "positive": "x"},
        "a threshold needs a positive class, but there are 3 classes": {"k": 3, "specificity": 0.9},
        "no threshold between 0 and 1 gives 'A' a sensitivity": {
            "predictions": {"A": np.eye(2)[np.arange(6) % 2]},
            "sensitivity": 0.999,
        },
    },
    (plan, ArgumentError): {
        "a plan needs a metric that is a mean over cases, which 'auroc' is not": (["auroc"],),
        r"those of 'A' of case 'p0' are from .* mark logits as such": (["brier"], 9),
    },
    (freed, ArgumentError): {
        "knows no predictions": {"known": None},
    },
    (freed, PredictionError): {
        "A, B": {"given": {"A": PREDICTIONS[3]["A"]}},
        "A, B.*": {"given": PREDICTIONS[3] | {"A": PREDICTIONS[3]["B"]}},
    },
    (pb.sweep, ArgumentError): {
        "there are no predictions": {
            "annotations": annotations(),
            "predictions": {},
            "models": {"irn": None},
            "by": TABLE,
        },
    },
}
REFUSED += table(ROWS)
