"""What `aggregate`, its variants, inferred reliability and models of scores refuse."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd

import plausibly as pb
from plausibly.base.errors import AnnotationError, ArgumentError
from tests.refused import each, refused, table

LABELS = [["a", "a", "b"], ["b", "b", "b"]]
RANKED = {"p": {"ann": [["a"], ["b", "c"]], "bob": [["b"]]}}

REFUSED = []


@cache
def labels() -> pb.Annotations:
    """Two cases of two classes; made by the first row, since tables are imported when tests are collected."""
    return pb.Annotations.from_labels(LABELS, classes=list("abcd"))


@cache
def ranked() -> pb.Annotations:
    return pb.Annotations.from_rankings({"cases": RANKED}, classes=list("abcd"))


@cache
def scores() -> pb.Annotations:
    table = pd.DataFrame({"case": list("ppqs"), "annotator": list("abaa"), "score": [-1, 0.5, 2, 1]})
    return pb.Annotations.from_scores(table)


def of_rankings(model="prirn", annotations=None, **given):
    return pb.aggregate(ranked() if annotations is None else annotations, model, progress=False, **given)


def of_labels(model="prirn", **given):
    return pb.aggregate(labels(), model, progress=False, **given)


def of_scores(model="normal-scores", split=False, **given):
    return pb.aggregate(scores().split(0) if split else scores(), model, **{"threshold": 0, "progress": False} | given)


def overwritten(folder):
    for labels in ([["a", "b"]], [["b", "b"]]):
        given = pb.Annotations.from_labels(labels, classes="ab")
        pb.aggregate(given, "irn", out=folder / "posterior.nc", progress=False)


def wrong_site(case, *, reliability, **_):
    numpyro.sample("plausiblity", dist.Dirichlet(case.concentration))


def boom(case, *, reliability, **_):
    raise ValueError("boom")


def two_latent(case, *, reliability, **_):
    numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    numpyro.sample("bias", dist.Normal())


WRONG_SITE = replace(pb.models.MODELS["prirn"], program=wrong_site)
for value in (-1, -0.5, float("nan"), float("inf"), "3", True, 1j, np.complex64(1), [1], 1e39, 1e-60, 10**400):
    for name in ("reliability", "concentration"):
        words = f"{name} must be .*between 1e-30 and 1e30, but "
        what = f"{name} of {str(value)[:8]}, a {type(value).__name__}"
        REFUSED += each(of_labels, {words: {name: value}}, ArgumentError, what)
for name, least in (("draws", 4), ("chains", 1), ("warmup", 0)):
    for value in (least - 1, 2.5, 10.0, "10", True, float("nan")):
        words = f"{name} must be a whole number of at least {least}, but"
        REFUSED += each(partial(of_labels, "plackett-luce"), {words: {name: value}}, ArgumentError, f"{value!r} {name}")
for value in (-1, 1.5, "0", None, True, 2**32, 2**70):
    words = "seed must be a whole number from 0 to 4294967295, but"
    REFUSED += each(partial(of_labels, "irn"), {words: {"seed": value}}, ArgumentError, f"seed {value!r}")
REFUSED += [
    refused("scores where rankings are needed", lambda: pb.annotators.annotator_agreement(scores()),
            r"partial rankings are needed, but a Scores was given; .* Scores.split", error=AnnotationError),
    refused("scores as rankings in a file", lambda folder: pb.write_annotations(scores(), folder / "a.json"),
            r"but Scores.* was given: write scores by their to_table\(\)", error=ArgumentError),
    refused("a file of a posterior of other annotations", overwritten, "posterior of other annotations.*fresh=True"),
    refused("a sweep without a threshold", lambda: pb.sweep(scores(), {}, {"normal-scores": None}, progress=False),
            "needs a threshold", error=ArgumentError),
    refused("a sweep of other models", lambda: pb.sweep(scores(), {}, {"normal-scores": None, "prirn": None},
            threshold=0, progress=False), "prirn takes partial rankings", error=AnnotationError),
    refused("a density of rankings", lambda: pb.plots.score_density(of_scores("irn", True, threshold=None), "p"),
            "a posterior of scores is needed, but this one, of irn", error=ArgumentError),
    refused("a density of no case", lambda: pb.plots.score_density(of_scores(), "u"), "there is no case 'u'",
            error=AnnotationError),
]  # fmt: skip
ANONYMOUS = [[[["a"]], [["b"]]], [[["a"]]]]

ROWS = {
    (of_rankings, ArgumentError): {
        "there is no model 'plackett': did you mean 'plackett-luce'": ("plackett",),
        "there is no model 'mine.py': .*, or import the file and pass its `model`": ("mine.py",),
        "model must be a name, .*: pass its `model`": (pb.models,),
        r"wrong_site \(of .*aggregation.py\) must .* it has 'plausiblity'": {"model": WRONG_SITE, "reliability": 3.0},
        r"program boom raised ValueError: boom \(.*py, line \d+\)": (replace(WRONG_SITE, program=boom),),
        "no latent site but 'plausibility', but two_latent has": (replace(WRONG_SITE, program=two_latent),),
        "model must be a name, a Model or a NumPyro program, but 3": (3,),
        "a NumPyro program must take a case as its first": (lambda: None,),
        "asks for 'temperature', which no engine provides: give it a default": (lambda case, temperature: None,),
        r"<lambda> \(of .*\) must have a site 'plausibility' .* slot; it has none": (lambda case: None,),
        "annotations must be an Annotations or Scores, but an object of type list": {"annotations": [[["a"]]]},
        "but an object of type DataFrame was given: read it with pb.read": {
            "annotations": pd.DataFrame(),
            "model": None,
        },
        "prirn has the engines auto, exact, nuts, but 'gibbs'": {"engine": "gibbs"},
        "plackett-luce has the engines auto, nuts, gibbs, but 'exact'": {"model": "plackett-luce", "engine": "exact"},
        "irn has the engines auto, point, but None": {"model": "irn", "engine": None},
        "mode must be one of power, temper, but 'tempered'": {"model": "plackett-luce", "mode": "tempered"},
        "mode must be one of power, temper": {"model": "plackett-luce", "mode": ["power"]},
        "unranked must be one of lumped, exact, ignore": {"model": "plackett-luce", "unranked": "drop"},
        "ties must be one of split, full, but 'both'": {"model": "irn", "ties": "both"},
        "prirn by engine 'exact' does not accept mode='power': leave it out": {"mode": "power"},
        "does not accept ties='full'": {"model": "plackett-luce", "ties": "full"},
        "does not accept unranked='ignore'": {"unranked": "ignore"},
        r"irn by engine 'point' does not accept reliability=1.*\(its arguments": {"model": "irn", "reliability": 1},
        r"does not accept draws=10.*\(its arguments: none\)": {"model": "majority-vote", "draws": 10},
        "engine 'ml' does not accept chains=2": {"model": "plackett-luce-ml", "chains": 2},
        "engine 'exact' does not accept warmup=100": {"warmup": 100},
        "does not accept ties='full'.*": {"model": pb.models.plackett_luce, "ties": "full"},
        "does not accept threshold=0": {"model": "irn", "threshold": 0},
    },
    (of_rankings, AnnotationError): {
        r"one label per annotation, but case 'p', annotator 'ann' names 3: use": ("dirichlet-categorical",),
    },
    (of_labels, ArgumentError): {
        "reliability must be positive, between 1e-30 and 1e30, but 0.*: write": {"reliability": 0},
        "must be positive, .* but the text '10' was given: write a number": {"reliability": "10"},
        "concentration must be positive, between": {"concentration": 0, "engine": "nuts"},
    },
    (of_scores, AnnotationError): {
        "normal-scores takes scores, but partial rankings of 2 classes": {"split": True},
        "plackett-luce takes partial rankings, but scores were given: use a model": {"model": "plackett-luce"},
        "dirichlet-categorical takes partial rankings": {"model": "dirichlet-categorical"},
    },
    (of_scores, ArgumentError): {
        "normal-scores needs a threshold": {"threshold": None},
        "threshold must be a finite number": {"threshold": "0"},
        "prior must be four numbers": {"prior": (0, 1, 2)},
        "prior must be four numbers.*0121": {"prior": "0121"},
        "prior must be four numbers.*inf": {"prior": (0, 1, np.inf, 1)},
        "prior must be four numbers.*-2": {"prior": (0, 1, -2, 1)},
        "does not accept ties='full'": {"ties": "full"},
        "normal-scores has the engines auto, exact, nuts": {"engine": "gibbs"},
    },
    (lambda **given: pb.infer_reliability(ranked(), **given), ArgumentError, "infer_reliability"): {
        "per must be one of dataset, annotator, but 'person'": {"per": "person"},
        "unranked must be one of lumped": {"unranked": "other"},
        "not a probability of the annotations.*plausibly.compare_models": {"mode": "power"},
        "concentration must be between 1e-6 and 1e6, but 0": {"concentration": 0},
        "spread must be between": {"spread": float("nan")},
        r"prior must be the mean .* but \(0, -1\) was given": {"prior": (0, -1)},
        "draws must be a whole number of at least 4, but 2.5": {"draws": 2.5},
        "seed must be a whole number": {"seed": -1},
    },
    (
        lambda: pb.infer_reliability(pb.Annotations.from_rankings(ANONYMOUS), per="annotator"),
        AnnotationError,
        "infer_reliability",
    ): {
        r"annotators of these are anonymous.*same_positions=True": {},
    },
    (
        lambda **given: pb.aggregate(ranked(), **{"reliability": "infer"} | given),
        ArgumentError,
        "inferring aggregate",
    ): {
        "under model='plackett-luce' alone, but 'prirn'": {"model": "prirn"},
        "not a probability of the annotations": {"mode": "power"},
        "does not accept ties='full'": {"ties": "full"},
        "does not accept engine='nuts'": {"engine": "nuts"},
        r"does not take predictions yet, but predictions=\['A'\] were": {"predictions": {"A": np.ones((200, 200))}},
        r"does not accept prior_kappa='1234567890\w*\.\.\.: leave": {"prior_kappa": "1234567890" * 20},
    },
}
REFUSED += table(ROWS)
