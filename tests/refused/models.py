"""What models and families refuse: data that they cannot learn from, arguments that they do not take, and files."""

from dataclasses import replace
from functools import cache
from unittest.mock import patch

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd

import plausibly as pb
from plausibly.aggregation import _arguments, parse_variants, plan_runs
from plausibly.agreement.annotators import annotator_accuracies, annotator_confusions, severities
from plausibly.base.errors import AnnotationError, ArgumentError, FileError, PredictionError
from plausibly.data.annotations.usual_models import one_truth_model
from plausibly.families.priors import Evidence, PredictionsPrior
from tests.refused import refused, table

JURORS = ["gpt", "llama", "qwen"]
SHORT = {"draws": 20, "warmup": 20, "chains": 2, "progress": False}


@cache
def crowd() -> pb.Annotations:
    """Labels by five people and three models."""
    random = np.random.default_rng(0)
    labels = [["ab"[one] for one in row] for row in random.integers(2, size=(12, 8))]
    return pb.Annotations.from_labels(labels, annotators=[f"p{at}" for at in range(5)] + JURORS)


def rated(**changes) -> pb.Annotations:
    """Ratings of twelve cases by six raters, with some columns of the table changed."""
    case, rater = np.divmod(np.arange(72), 6)
    rows = {"case": [f"c{at:02}" for at in case], "annotator": [f"r{at}" for at in rater]}
    table = pd.DataFrame(rows | {"score": 1.0 + np.random.default_rng(0).integers(5, size=72)}).assign(**changes)
    return pb.Annotations.from_scores(table.drop_duplicates(["case", "annotator"]))


@cache
def labels() -> pb.Annotations:
    """A few labels of anonymous annotators."""
    return pb.Annotations.from_labels([["a", "a", "b"], ["b", "b", "b"]], classes=list("abcd"))


@cache
def single_labels() -> pb.Annotations:
    """Labels of one case, which the Gibbs sampler and NUTS could sample."""
    return pb.Annotations.from_labels([[0, 1, 2]], classes=list("abcde"), cases=["p2"])


def by(model, data, **always):
    """A call of `aggregate` with options; ``data`` returns annotations, unless one of the options is ``data``."""

    def call(**options):
        given = options.pop("data", None)
        pb.aggregate(
            data() if given is None else given, options.pop("model", model), **{"progress": False} | always | options
        )

    return call


def too_many_draws(folder):
    """Draws of a shard that do not fit into an array."""
    options = {"out": folder / "p.zarr", "draws": 50, "chains": 5, "progress": False}
    with patch.object(_arguments, "_MOST", 2000):
        pb.aggregate(crowd(), "one-coin", **options)


def of_file(folder, column: str):
    """Aggregate with the groups of a file."""
    pd.DataFrame({"annotator": JURORS, column: "models"}).to_csv(folder / "groups.csv", index=False)
    pb.aggregate(crowd(), "dawid-skene", annotator_groups=str(folder / "groups.csv"), progress=False)


def model_of(text: str | None):
    """Read a model from a file with this text."""

    def read(folder):
        if text is not None:
            (folder / "mine.py").write_text(text)
        parse_variants([f"{folder / 'mine.py'}@1"])

    return read


def discrete_program(case):
    plausibility = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    numpyro.sample("kind", dist.Categorical(plausibility))


def fixed_program(case):
    numpyro.deterministic("plausibility", case.concentration / case.concentration.sum())


def unbounded_program(case):
    numpyro.sample("plausibility", dist.Normal(jnp.zeros_like(case.concentration), 1).to_event(1))


def prior_of_predictions() -> PredictionsPrior:
    """A prior learned from predictions."""
    evidence = Evidence.of({"A": np.full((2, 4), 0.25)}, labels())
    return PredictionsPrior.learn(labels(), evidence, draws=4, seed=0)


HALVES = {"raters": "differ", "case_groups": {"half": np.arange(12) % 2}}
skene = by("dawid-skene", crowd)
rating = by("ordinal-scores", rated)
rating_differently = by("ordinal-scores", rated, raters="differ", **SHORT)
jury = by("dawid-skene", crowd, annotator_groups={"models": JURORS})
gibbs = by("plackett-luce", single_labels, engine="gibbs")

ROWS = {
    (skene, AnnotationError, "dawid-skene"): {
        "needs to know who gave each label": {"data": pb.Annotations.from_labels([["a", "b"], ["b"]])},
        "there is only one case": {"data": pb.Annotations.from_labels([["a", "b"]], annotators=["ann", "bob"])},
        "there is only one annotator": {"data": pb.Annotations.from_labels([["a"], ["b"]], annotators=["ann"])},
        "takes one label per annotation, but case 'p', annotator 'ann' names 2": {
            "data": pb.Annotations.from_rankings({"cases": {"p": {"ann": [["a"], ["b"]]}, "q": {"bob": [["b"]]}}})
        },
        "ask for fewer draws": {"draws": 10_000_000},
    },
    (skene, ArgumentError, "dawid-skene"): {
        "one of uniform, predictions": {"class_prior": "learned"},
        "there are no predictions": {"class_prior": "predictions"},
        "names 'gtp', who gave no annotation: .*'gpt'": {"annotator_groups": {"models": ["gtp"]}},
        "has 'llama' in 'models' and in 'open': choose one": {
            "annotator_groups": {"models": JURORS, "open": ["llama"]}
        },
        "must be a mapping from groups to annotators, but .*{}": {"annotator_groups": {}},
        "must be a mapping from groups to annotators, but.*gpt": {"annotator_groups": ["gpt"]},
    },
    (skene, PredictionError, "dawid-skene"): {"5 rows for 12 cases": {"predictions": {"A": np.ones((5, 2)) / 2}}},
    (jury, ArgumentError, "groups of annotators"): {
        rf"{name} does not tell annotators' errors .*dawid-skene": {"model": name}
        for name in ("common-confusion", "dirichlet-categorical", "majority-vote")
    }
    | {"'same' was given": {"model": "one-coin", "difficulty": "same"}},
    (by("one-coin", crowd), ArgumentError, "one-coin"): {
        "does not accept reliability=3": {"reliability": 3},
    },
    (lambda read: read(pb.aggregate(crowd(), "majority-vote", progress=False)), pb.PlausiblyError, "votes"): {
        "has no accuracies of annotators": (annotator_accuracies,),
        "has no confusion matrices": (annotator_confusions,),
    },
    (rating, ArgumentError, "ratings"): {
        "cutpoints must be one of inferred, midpoints, but 'none' was given": {"threshold": 0, "cutpoints": "none"},
        "does not accept reliability=3": {"threshold": 0, "reliability": 3},
        r"ordinal-scores does not tell annotators' errors .* raters='differ' for": {
            "threshold": 3,
            "annotator_groups": {"models": ["r0", "r1"]},
        },
        "without raters='differ'": {"threshold": 3, **HALVES, "raters": "alike"},
        "or let ratings be classes, with raters='differ'": {},
        "class_prior": {"threshold": 3, "predictions": {"A": np.full((12, 2), 0.5)}},
    },
    (rating_differently, pb.PlausiblyError, "raters differ"): {
        "one rater in 'models'": {"annotator_groups": {"models": ["r0"]}},
        "all raters in one group": {"annotator_groups": {"all": [f"r{at}" for at in range(6)]}},
        "names nobody": {"annotator_groups": {"models": []}},
        "stands for annotators of no group": {"annotator_groups": {"(others)": ["r0", "r1"]}},
        "only one rater": {"data": rated(annotator="r1")},
        "at least 3 values": {"data": rated(score=1.0)},
        "grades are from 2 to 20 values": {"data": rated(score=np.arange(72.0))},
        "cases of her own.*case_groups": {"data": rated(annotator=[f"r{at // 24}" for at in range(72)])},
    },
    (rating_differently, AnnotationError, "raters differ"): {
        "are anonymous": {"data": replace(rated(), anonymous=True)}
    },
    (rating_differently, ArgumentError, "raters differ"): {
        "case group is named 'draw'": {"case_groups": {"draw": [0] * 12}}
    },
    (by("normal-scores", rated), ArgumentError, "numbers"): {
        r"normal-scores needs a threshold .*threshold=0 \(--threshold 0\)\.$": {},
        r"normal-scores needs a threshold .*threshold=0 \(--threshold 0\)\.": HALVES,
    },
    (gibbs, ArgumentError, "Gibbs"): {
        "mode='temper'.*choose engine='nuts'": {"mode": "temper"},
        "whole number, but 2.5 was given: round it, or choose engine='nuts'": {"reliability": 2.5},
        "whole number, but 0.5": {"reliability": 0.5},
        "whole number, but 1e": {"reliability": 1e20},
    },
    (by("", single_labels, **SHORT), ArgumentError, "a program"): {
        "has the latent site 'kind', which is discrete and NUTS cannot sample": {"model": discrete_program},
        "something to sample, but all sites of fixed_program are observed": {"model": fixed_program},
        "of unbounded_program must be shares of the slots of a case, but in case 'p2' one draw": {
            "model": unbounded_program
        },
    },
    (lambda given: pb.Model(**{"name": "m", "program": print} | given), pb.PlausiblyError, "a model"): {
        "program of the Model m must be a function": ({"program": 3},),
        "must take rankings, labels or scores, but takes='images'": ({"takes": "images"},),
        "needs a point_estimate or an update": ({"deterministic": True},),
    },
    (lambda texts: plan_runs(labels(), parse_variants([texts])), pb.PlausiblyError, "variants"): {
        "there is no model 'nothing'": ("nothing@1",),
        "the reliabilities of --model 'prirn@x' must be numbers": ("prirn@x",),
        "must be NAME@R1,R2:option=value, but 'prirn:ties'": ("prirn:ties",),
        "must be NAME@R1,R2:option=value, but 'prirn:seed=3'": ("prirn:seed=3",),
        "does not accept mode='temper'": ("prirn@1:mode=temper",),
        "irn has no reliability": ("irn@3",),
    },
}
REFUSED = [
    *table(ROWS),
    refused(
        "draws that fit in no array", too_many_draws, "250 draws of 2 classes in 12 cases.*ask for a smaller shard"
    ),
    refused(
        "the prior of predictions for a true class",
        lambda: skene(class_prior=prior_of_predictions(), model="one-coin"),
        "one true class in each case.*PredictionsPrior was given",
    ),
    refused(
        "one truth of rankings",
        lambda: one_truth_model(pb.Annotations.from_rankings([[[["a"], ["b"]]]]), predictions=True),
        "an annotation names several",
    ),
    refused("a file of groups without groups", lambda folder: of_file(folder, "side"), "must have a column 'group'"),
    refused(
        "severities of raters alike",
        lambda: severities(pb.aggregate(rated(), "normal-scores", threshold=3.5, progress=False)),
        "no severities of raters",
    ),
    refused(
        "a variant twice",
        lambda: plan_runs(labels(), parse_variants(["prirn@1", "prirn@1.0"])),
        "prirn@1 is given 2 times",
    ),
    *(
        refused(f"a file: {words}", model_of(text), words, error=FileError)
        for words, text in {
            r"cannot be run as a Python file with a model \(FileNotFoundError": None,
            "has no 'model': add model = pb.Model": "x = 1",
            "has another 'model'": "model = 1",
            r"cannot be run .*\(ModuleNotFoundError": "import nothing_like_it",
            "the name of a Model must be a text": "import plausibly as pb\nmodel = pb.Model('', print)",
        }.items()
    ),
]
