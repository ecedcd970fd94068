"""What sets with a guarantee refuse."""

from functools import cache, partial

import numpy as np
import pandas as pd

import plausibly as pb
from plausibly.base.errors import ArgumentError, PredictionError
from tests.refused import refused, table
from tests.test_decisions.test_conformal.conftest import make

REFUSED = []
small = cache(make)


def conformal(**given):
    return pb.conformal(small().posterior, **{"predictions": small().predictions} | given)


def calibrated():
    return conformal(alpha=0.45, score="aps")


def predicted(change=lambda p: {"A": p}, **given):
    return calibrated().predict(change(small().predictions["A"][:3]), **given)


for words, change in {
    "the score is nan": lambda p: np.where(p == p.max(), np.nan, p),
    "39 rows for 40 cases": lambda p: p[1:],
    "4 columns for 5 classes": lambda p: p[:, 1:],
}.items():
    REFUSED += [
        refused(words, partial(lambda change: conformal(predictions={"A": change(small().predictions["A"])}), change),
                words, error=PredictionError)
    ]  # fmt: skip


def in_groups(**given):
    return conformal(alpha=0.25, by=np.array(["x", "y"])[np.arange(40) % 2]).predict(small().predictions, **given)


def lost():
    data = make()
    data.posterior["posterior"]["plausibility"].values[..., 3] = np.nan
    return pb.conformal(data.posterior, data.predictions)


RISKS = np.array([0, 1, 2, 0, 1])
NEEDS = '"plausibility" needs a posterior'
REFUSED += [
    refused("no posterior", lambda: pb.conformal(3, small().predictions), "a posterior of plausibly"),
    refused("plausibilities lost", lost, "not all numbers", error=ArgumentError),
    refused("annotations", lambda: pb.conformal(small().annotations, small().predictions), NEEDS, error=ArgumentError),
    refused("p-values of a risk", lambda: conformal(alpha=0.5, loss="risk", risks=RISKS).p_values(small().predictions),
            "no p-values", error=ArgumentError),
]  # fmt: skip

ROWS = {
    (conformal,): {
        "alpha must lie between 0 and 1.* but 0 was": {"alpha": 0},
        "alpha must lie between 0 and 1": {"alpha": 1.0},
        "alpha must lie.*-0.1": {"alpha": -0.1},
        "alpha must lie.*nan": {"alpha": float("nan")},
        "alpha must lie.*'0.1'": {"alpha": "0.1"},
        "alpha must lie.*True": {"alpha": True},
        "score must be one of lac, aps, raps, top-k": {"score": "softmax"},
        "score function must return finite numbers of the shape": {"score": lambda p: p[:, :2]},
        "not finite": {"score": lambda p: p * np.nan},
        "must return numbers": {"score": lambda p: "x"},
        'parameter of score="raps" alone': {"penalty": 0.1},
        "penalty must be": {"score": "raps", "penalty": -1},
        "free_ranks must be": {"score": "raps", "free_ranks": 1.5},
        "no randomised form": {"score": "lac", "randomise_scores": True},
        "target must be one of": {"target": "truth"},
        "samples must be.*0": {"samples": 0},
        'by must be "risk", "certainty"': {"by": "age"},
        "needs the risk of each class": {"by": "risk"},
        "groups must have one value for each of the 40 cases, but 1 were given": {"by": ["x"]},
        "must belong to a group, but None was given": {"by": [None] * 40},
        "groups must be one value per case, but 3 was given": {"by": lambda p: 3},
        'loss must be None or "risk"': {"loss": "cost"},
        "needs the risk of each class.*": {"loss": "risk"},
        "needs a class of risk 1 or 2": {"loss": "risk", "risks": [0] * 5},
        "between 0 and 1": {"loss": "risk", "risks": [0, 1, 0, 0, 1], "alpha": 1.2},
        "seed must be": {"seed": -1},
        "at least one classifier": {"predictions": {}},
    },
    (predicted,): {
        "classifiers must be among those calibrated": (lambda p: {"C": p},),
        "none at all": (lambda p: {},),
        "must be a mapping from classifiers": (lambda p: p,),
        "predict different cases": (lambda p: {"A": p, "B": p[:2]},),
        "3 columns for 5 classes": (lambda p: {"A": p[:, :3]},),
        "the score is nan": (lambda p: {"A": p * np.nan},),
        "needs probabilities": (lambda p: {"A": p * 2},),
        "no rows": (lambda p: {"A": p[:0]},),
        "header is wrong": (lambda p: {"A": pd.DataFrame(p, columns=list("vwxyz"))},),
        "leave by= out": {"by": ["x"] * 3},
        "case 'q' has two rows": (
            lambda p: {"A": pd.DataFrame(p, columns=small().annotations.classes, index=list("qqr"))},
        ),
    },
    (in_groups,): {
        "new cases need theirs": {},
        "row 1 belongs to the group 'z'": {"by": ["z"] * 40},
    },
    (
        lambda **given: pb.conformal_coverage(small().posterior, small().predictions, progress=False, **given),
        pb.PlausiblyError,
        "coverage",
    ): {
        "alpha must name a level": {"alpha": ()},
        "alpha must lie between 0 and 1": {"alpha": (0.1, 1)},
        "splits must be": {"splits": 0},
        "share must lie": {"share": 1.0},
        "calibrates on 0 of 40 cases": {"share": 0.001},
        "target must name at least one": {"target": ()},
        "target must be one of": {"target": ("vote", "truth")},
        "ci_prob must lie": {"ci_prob": 1},
        "replicates must be": {"replicates": 0},
        "score must be one of": {"score": "x"},
    },
    (
        lambda of, models=None: pb.conformal_sweep(of(), small().predictions, models),
        pb.PlausiblyError,
        "conformal_sweep",
    ): {
        "needs models": (lambda: small().annotations,),
        "needs models.*": (lambda: small().annotations, {}),
        "needs a posterior": (lambda: {},),
        "leave models out": (lambda: {"x": small().posterior}, {"irn": None}),
        "annotations, or posteriors by label": (lambda: 3, {"irn": None}),
    },
}
REFUSED += table(ROWS)
