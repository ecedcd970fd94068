"""What plans refuse."""

import numpy as np

import plausibly as pb
from plausibly.base.errors import ArgumentError
from tests import worlds
from tests.refused import each


def plan(predictions=..., **given):
    of = worlds.counts()
    return pb.plan(of.posterior, of.predictions if predictions is ... else predictions, progress=False, **given)


REFUSED = each(
    plan,
    {
        "goal must be one of": {"goal": "best"},
        "budget must be a positive number.*0": {"budget": 0},
        "budget must be a positive number.*many": {"budget": "many"},
        "level must be above 0.5": {"level": 0.4},
        "there is no metric 'acuracy'": {"metric": "acuracy"},
        "compare must name two": {"compare": ["A"]},
        "no classifier 'C'": {"compare": ["A", "C"]},
        "needs the predictions": {"predictions": None},
        "needs two classifiers": {"predictions": {"A": np.eye(2)[[0] * 24]}, "goal": "better"},
        "no case 'nobody'": {"candidates": ["nobody"]},
        "must name a case": {"candidates": []},
        "a cost must be a positive number": {"cost": -1},
        "a value for each of the 24 cases": {"cost": [1, 2]},
        "there is no cost for case": {"cost": {"0": 1}},
        "reliability of an annotator must be positive": {"annotators": {"ann": -1}},
        "needs reliabilities by annotator": {"annotators": "inferred"},
        "annotators must be": {"annotators": 3},
        "annotation must be": {"annotation": "essay"},
        "seed must be a whole number": {"seed": -1},
    },
    ArgumentError,
)
