"""What models and families refuse: data that they cannot learn from, arguments that they do not take, and files."""

from dataclasses import replace
from functools import cache, partial
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
from tests.refused import Refused, refused

JURORS = ["gpt", "llama", "qwen"]
SHORT = {"draws": 20, "warmup": 20, "chains": 2, "progress": False}


@cache
def crowd() -> pb.Annotations:
    """Labels by five people and three models."""
    random = np.random.default_rng(0)
    labels = [["ab"[one] for one in row] for row in random.integers(2, size=(12, 8))]
    return pb.Annotations.from_labels(labels, annotators=[f"p{at}" for at in range(5)] + JURORS)


@cache
def rated(anonymous: bool = False) -> pb.Annotations:
    """Ratings of twelve cases by six raters."""
    table = ratings()
    return replace(pb.Annotations.from_scores(table), anonymous=anonymous)


def ratings(**changes) -> pd.DataFrame:
    """A table of ratings, with some columns changed."""
    case, rater = np.divmod(np.arange(72), 6)
    rows = {"case": [f"c{at:02}" for at in case], "annotator": [f"r{at}" for at in rater]}
    table = pd.DataFrame(rows | {"score": 1.0 + np.random.default_rng(0).integers(5, size=72)}).assign(**changes)
    return table.drop_duplicates(["case", "annotator"])


@cache
def labels() -> pb.Annotations:
    """A few labels of anonymous annotators."""
    return pb.Annotations.from_labels([["a", "a", "b"], ["b", "b", "b"]], classes=list("abcd"))


@cache
def single_labels() -> pb.Annotations:
    """Labels of one case, which the Gibbs sampler and NUTS could sample."""
    return pb.Annotations.from_labels([[0, 1, 2]], classes=list("abcde"), cases=["p2"])


def aggregated(what: str, data, model, words: str, error: type[Exception] = ArgumentError, **options) -> Refused:
    """A row of a call of `aggregate`; ``data`` returns annotations, or is annotations."""
    call = partial(pb.aggregate, progress=False)
    return refused(what, lambda: call(data() if callable(data) else data, model, **options), words, error=error)


def learned_from(words: str, data: pb.Annotations) -> Refused:
    """Data from which Dawid-Skene cannot learn."""
    return aggregated(f"dawid-skene where {words}", data, "dawid-skene", words, AnnotationError)


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


def with_fields(given):
    """Declare a model with these fields."""
    return lambda: pb.Model(**{"name": "m", "program": print} | given)


def planned(texts):
    """Plan runs of these variants."""
    return lambda: plan_runs(labels(), parse_variants(texts))


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


OF_JURORS = {"annotator_groups": {"models": JURORS}}
HALVES = {"raters": "differ", "case_groups": {"half": np.arange(12) % 2}}
DIFFER = {"raters": "differ", **SHORT}

TRUE_CLASS = [
    learned_from("needs to know who gave each label", pb.Annotations.from_labels([["a", "b"], ["b"]])),
    learned_from("there is only one case", pb.Annotations.from_labels([["a", "b"]], annotators=["ann", "bob"])),
    learned_from("there is only one annotator", pb.Annotations.from_labels([["a"], ["b"]], annotators=["ann"])),
    learned_from(
        "takes one label per annotation, but case 'p', annotator 'ann' names 2",
        pb.Annotations.from_rankings({"cases": {"p": {"ann": [["a"], ["b"]]}, "q": {"bob": [["b"]]}}}),
    ),
    refused(
        "draws that fit in no array", too_many_draws, "250 draws of 2 classes in 12 cases.*ask for a smaller shard"
    ),
    aggregated("a reliability", crowd, "one-coin", "does not accept reliability=3", reliability=3),
    aggregated("too many draws", crowd, "dawid-skene", "ask for fewer draws", AnnotationError, draws=10_000_000),
    refused(
        "accuracies by votes",
        lambda: annotator_accuracies(pb.aggregate(crowd(), "majority-vote", progress=False)),
        "has no accuracies of annotators",
    ),
    refused(
        "confusions by votes",
        lambda: annotator_confusions(pb.aggregate(crowd(), "majority-vote", progress=False)),
        "has no confusion matrices",
    ),
    aggregated("a learned prior", crowd, "dawid-skene", "one of uniform, predictions", class_prior="learned"),
    aggregated("no predictions", crowd, "dawid-skene", "there are no predictions", class_prior="predictions"),
    aggregated(
        "predictions of other cases",
        crowd,
        "dawid-skene",
        "5 rows for 12 cases",
        PredictionError,
        predictions={"A": np.ones((5, 2)) / 2},
    ),
    refused(
        "the prior of predictions for a true class",
        lambda: pb.aggregate(crowd(), "one-coin", class_prior=prior_of_predictions(), progress=False),
        "one true class in each case.*PredictionsPrior was given",
    ),
    refused(
        "one truth of rankings",
        lambda: one_truth_model(pb.Annotations.from_rankings([[[["a"], ["b"]]]]), predictions=True),
        "an annotation names several",
    ),
    *(
        aggregated(f"groups: {words}", crowd, "dawid-skene", words, annotator_groups=groups)
        for words, groups in {
            "names 'gtp', who gave no annotation: .*'gpt'": {"models": ["gtp"]},
            "has 'llama' in 'models' and in 'open': choose one": {"models": JURORS, "open": ["llama"]},
            "must be a mapping from groups to annotators, but .*{}": {},
            "must be a mapping from groups to annotators, but.*gpt": ["gpt"],
        }.items()
    ),
    refused("a file of groups without groups", lambda folder: of_file(folder, "side"), "must have a column 'group'"),
    *(
        aggregated(
            f"groups for {name}", crowd, name, rf"{name} does not tell annotators' errors .*dawid-skene", **OF_JURORS
        )
        for name in ("common-confusion", "dirichlet-categorical", "majority-vote")
    ),
    aggregated("groups of equal cases", crowd, "one-coin", "'same' was given", difficulty="same", **OF_JURORS),
]

RATINGS = [
    aggregated(
        "cutpoints that do not exist",
        rated,
        "ordinal-scores",
        "cutpoints must be one of inferred, midpoints, but 'none' was given",
        threshold=0,
        cutpoints="none",
    ),
    aggregated(
        "a reliability of scores", rated, "ordinal-scores", "does not accept reliability=3", threshold=0, reliability=3
    ),
    *(
        aggregated(
            f"raters: {words}", rated, "ordinal-scores", words, pb.PlausiblyError, annotator_groups=groups, **DIFFER
        )
        for words, groups in {
            "one rater in 'models'": {"models": ["r0"]},
            "all raters in one group": {"all": [f"r{at}" for at in range(6)]},
            "names nobody": {"models": []},
            "stands for annotators of no group": {"(others)": ["r0", "r1"]},
        }.items()
    ),
    aggregated(
        "groups of raters who are alike",
        rated,
        "ordinal-scores",
        r"ordinal-scores does not tell annotators' errors .* raters='differ' for",
        threshold=3,
        annotator_groups={"models": ["r0", "r1"]},
    ),
    *(
        aggregated(
            f"ratings: {words}",
            lambda changes=changes: pb.Annotations.from_scores(ratings(**changes)),
            "ordinal-scores",
            words,
            pb.PlausiblyError,
            **DIFFER,
        )
        for words, changes in {
            "only one rater": {"annotator": "r1"},
            "at least 3 values": {"score": 1.0},
            "grades are from 2 to 20 values": {"score": np.arange(72.0)},
            "cases of her own.*case_groups": {"annotator": [f"r{at // 24}" for at in range(72)]},
        }.items()
    ),
    aggregated(
        "raters without names", partial(rated, True), "ordinal-scores", "are anonymous", AnnotationError, **DIFFER
    ),
    aggregated(
        "groups of cases",
        rated,
        "ordinal-scores",
        "without raters='differ'",
        threshold=3,
        **HALVES | {"raters": "alike"},
    ),
    aggregated(
        "a group named draw",
        rated,
        "ordinal-scores",
        "case group is named 'draw'",
        case_groups={"draw": [0] * 12},
        **DIFFER,
    ),
    aggregated("no threshold", rated, "ordinal-scores", "or let ratings be classes, with raters='differ'"),
    aggregated(
        "ratings predicted for raters alike",
        rated,
        "ordinal-scores",
        "class_prior",
        threshold=3,
        predictions={"A": np.full((12, 2), 0.5)},
    ),
    *(
        aggregated(
            f"numbers without a threshold: {what}",
            rated,
            "normal-scores",
            r"normal-scores needs a threshold .*threshold=0 \(--threshold 0\)\.$",
            **options,
        )
        for what, options in {"alike": {}, "differ": HALVES}.items()
    ),
    refused(
        "severities of raters alike",
        lambda: severities(pb.aggregate(rated(), "normal-scores", threshold=3.5, progress=False)),
        "no severities of raters",
    ),
]

ENGINES = [
    *(
        aggregated(f"Gibbs by {what}", single_labels, "plackett-luce", words, engine="gibbs", **given)
        for what, (given, words) in {
            "temper": ({"mode": "temper"}, "mode='temper'.*choose engine='nuts'"),
            "a fraction": ({"reliability": 2.5}, "whole number, but 2.5 was given: round it, or choose engine='nuts'"),
            "less than one": ({"reliability": 0.5}, "whole number, but 0.5"),
            "beyond counting": ({"reliability": 1e20}, "whole number, but 1e"),
        }.items()
    ),
    *(
        aggregated(f"a program: {words}", single_labels, program, words, **SHORT)
        for program, words in (
            (discrete_program, "has the latent site 'kind', which is discrete and NUTS cannot sample"),
            (fixed_program, "something to sample, but all sites of fixed_program are observed or deterministic"),
            (
                unbounded_program,
                "of unbounded_program must be shares of the slots of a case, but in case 'p2' one draw",
            ),
        )
    ),
]

FILES = [
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
    *(
        refused(f"a model: {words}", with_fields(given), words)
        for words, given in {
            "program of the Model m must be a function": {"program": 3},
            "must take rankings, labels or scores, but takes='images'": {"takes": "images"},
            "needs a point_estimate or an update": {"deterministic": True},
        }.items()
    ),
    *(
        refused(f"variants: {words}", planned(texts), words)
        for words, texts in {
            "there is no model 'nothing'": ["nothing@1"],
            "the reliabilities of --model 'prirn@x' must be numbers": ["prirn@x"],
            "must be NAME@R1,R2:option=value, but 'prirn:ties'": ["prirn:ties"],
            "must be NAME@R1,R2:option=value, but 'prirn:seed=3'": ["prirn:seed=3"],
            "prirn@1 is given 2 times": ["prirn@1", "prirn@1.0"],
            "does not accept mode='temper'": ["prirn@1:mode=temper"],
            "irn has no reliability": ["irn@3"],
        }.items()
    ),
]

REFUSED = [*TRUE_CLASS, *RATINGS, *ENGINES, *FILES]
