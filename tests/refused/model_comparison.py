"""What comparisons of models, predictive checks and studies of sensitivity refuse."""

from functools import partial

import numpy as np
import numpyro
import numpyro.distributions as dist

import plausibly as pb
from plausibly.base.errors import AnnotationError, ArgumentError
from tests import worlds
from tests.refused import each, table

RANKINGS = {"p": {"u": [["a"], ["b", "c"]], "v": [["b", "a"]]}, "q": {"u": [["c"]], "v": [["c"]]}}
TWO = {"prirn": (3, 30)}


def normal_scores(case):
    numpyro.sample("plausibility", dist.Dirichlet(case.concentration))


def compare(models=TWO, **given):
    annotations = pb.Annotations.from_rankings({"cases": RANKINGS}, classes=list("abcde"))
    return pb.compare_models(given.pop("annotations", annotations), models, progress=False, **given)


REFUSED = []
REFUSED += each(
    lambda posterior=None, **given: pb.predictive_check(
        posterior or worlds.rankings().posterior, progress=False, **given
    ),
    {
        "replicates must be a whole number of at least 20.*19": {"replicates": 19},
        r"a posterior of plausibly\.aggregate": {"posterior": {"plausibility": 1}},
        "seed must be a whole number": {"seed": -1},
    },
    ArgumentError,
    "predictive_check",
)


def sensitivity(models=None, **given):
    of = worlds.rankings()
    return pb.prior_sensitivity(of.annotations, of.predictions, models or {}, progress=False, **given)


ROWS = {
    (compare, ArgumentError): {
        "a comparison needs two models, but none was given": ({},),
        "a comparison needs two models, but 1 was given": ({"prirn": (30,)},),
        "prirn@30 is given 2 times": ({"prirn": (30, 30)},),
        "models must be names, or a mapping": ("prirn",),
        "there is no model 'none'": ({"prirn": (30,), "none": None},),
        "prirn@3 has no probability of whole rankings": {"observation": "ranking"},
        "no probability of whole rankings": {
            "models": {normal_scores: None, "plackett-luce": (1,)},
            "observation": "ranking",
        },
        "fits one model to all cases": ({"plackett-luce": {"reliability": "infer"}, "irn": None},),
        "observation must be one of first, ranking": {"observation": "second"},
        "method must be one of auto, refit": {"method": "waic"},
        "folds must be a whole number of at least 2, but 1 was given": {"folds": 1},
        "seed must be a whole number": {"seed": -1},
        "none of the models accepts mode='temper'": {"mode": "temper"},
        "of A are for models with class_prior='predic": {"predictions": {"A": np.ones((2, 5))}},
        "predictions must be a mapping": {"predictions": np.ones((2, 5))},
        "there are no predictions: add predictions=": ({"prirn": {"class_prior": "predictions"}, "irn": None},),
        "seed belongs to all runs": (TWO | {"x": {"model": "irn", "seed": 3}},),
        "irn .* does not accept reliability=3": (TWO | {"x": {"model": "irn", "reliability": 3}},),
        "annotations must be an Annotations": {"annotations": RANKINGS},
        "normal_scores cannot be compared, because what its program": ({normal_scores: None, "irn": None},),
    },
    (compare, AnnotationError): {
        "normal-scores takes scores, but partial rankings": ({"prirn": (30,), "normal-scores": {"threshold": 1}},),
        "takes one label per annotation": ({"prirn": (30,), "dirichlet-categorical": None},),
    },
    (sensitivity, ArgumentError): {
        "none of the models has a choice to make, but majority-vote was given": ({"majority-vote": None},),
        "none of the models has a choice to make, but none was given": ({},),
        "models must be names, or a mapping to reliabilities": ("prirn",),
        "prior_kappa must be positive": {"models": {"prirn": {"class_prior": "learned"}}, "prior_kappa": (0.0,)},
    },
    (partial(sensitivity, {"prirn": (30,)}), ArgumentError, "sensitivity of prirn"): {
        "none of the models has a choice to make": {"ties": ("split",), "concentration": ()},
        "ties must list the values to try, but 'full' was given": {"ties": "full"},
        "concentration must list the values to try": {"concentration": 1.0},
        "concentration must be 0 or positive": {"concentration": (-1.0,)},
        "ties must be one of split, full": {"ties": ("half",)},
    },
}
REFUSED += table(ROWS)
