"""What priors learned from labels or predictions refuse."""

from functools import cache, partial

import numpy as np
import numpyro
import numpyro.distributions as dist

import plausibly as pb
from plausibly.base.errors import AnnotationError, ArgumentError, PredictionError
from tests.refused import Refused, refused
from tests.refused.models import prior_of_predictions

CLASSES = list("abcdefgh")


@cache
def counted() -> pb.Annotations:
    """Labels of twelve cases of four classes."""
    return pb.Annotations.from_counts(np.random.default_rng(0).multinomial(3, np.full(4, 0.25), 12))


@cache
def ranked() -> pb.Annotations:
    """Rankings."""
    return pb.datasets.simulate_differentials(12, n_classes=6, seed=1).annotations


def first_choice(case):
    """A program that takes its prior."""
    numpyro.sample("plausibility", dist.Dirichlet(case.concentration))


def flat(case):
    """A program without the prior that it is given."""
    numpyro.sample("plausibility", dist.Dirichlet(np.ones(case.concentration.shape)))


def declared(program=first_choice, concentration=1.0) -> pb.Model:
    return pb.Model(name="first-choice", program=program, concentration=concentration)


SCORES = {"A": np.full((12, 4), 0.25)}
PREDICTED = {"predictions": SCORES}
LEARNED = {"class_prior": "learned"}


def aggregated(what: str, data, model, words: str, error: type[Exception] = ArgumentError, **options) -> Refused:
    """A row of a call of `aggregate`; ``data`` returns annotations."""
    call = partial(pb.aggregate, progress=False)
    return refused(what, lambda: call(data(), model, **options), words, error=error)


def of_prior(
    words: str, error: type[Exception] = ArgumentError, data=counted, model="dirichlet-categorical", **options
):
    return aggregated(f"{model}: {words}", data, model, words, error, **options)


def of_program(model, words: str, **options):
    return aggregated(f"a user's: {words}", counted, model, words, **options)


PREDICTIONS = [
    of_prior("there are no predictions", class_prior="predictions"),
    of_prior("predictions are for class_prior", **LEARNED, **PREDICTED),
    of_prior("class_prior='predictions' infers", **PREDICTED, concentration=2.0),
    of_prior("1 rows for 12 cases", PredictionError, predictions={"A": [[0.5, 0.5, 0, 0]]}),
    of_prior("must be a mapping .* of type ndarray was given", predictions=SCORES["A"]),
    of_prior("must be a mapping .* of type ndarray", predictions=SCORES["A"], extra="ignore"),
    of_prior("does not accept class_prior", model="irn", **PREDICTED),
    *(
        aggregated(
            f"predictions of one class by {model}",
            lambda: pb.Annotations.from_labels([["a", "a"], ["a"]]),
            model,
            "have the one class 'a': leave predictions out",
            AnnotationError,
            predictions={"A": [[1.0], [1.0]]},
        )
        for model in (None, "plackett-luce")
    ),
    refused(
        "a prior of other classes",
        lambda: prior_of_predictions().lay_out(pb.Annotations.from_labels([["a", "b"]])),
        "the prior has 4 classes",
        error=AnnotationError,
    ),
    refused(
        "a prior of other cases",
        lambda: prior_of_predictions().lay_out(
            pb.Annotations.from_labels([["a"]], cases=["new"], classes=list("abcd"))
        ),
        "none for 'new'",
        error=PredictionError,
    ),
    of_program(first_choice, "one of uniform, learned, predictions, but 'popular'", class_prior="popular"),
    of_program(declared(), "does not accept shared='sampled'", shared="sampled"),
    of_program(first_choice, "infers the concentration from all cases", class_prior="learned", concentration=2.0),
    of_program(flat, "class_prior='predictions' gives .* but flat does not use it", **PREDICTED),
    of_program(
        declared(flat), "class_prior='learned' gives .* but first-choice does not use it", class_prior="learned"
    ),
    of_program(declared(concentration=None), "does not accept class_prior='predictions'", **PREDICTED),
]

LEARNT = [
    of_prior("infers the concentration", **LEARNED, concentration=1.0),
    of_prior("class_prior must be one of uniform, learned, predictions", class_prior="popular"),
    of_prior("one label per annotation", AnnotationError, ranked, **LEARNED),
    of_prior("has a share for every unnamed class", model="plackett-luce", data=ranked, **LEARNED, unranked="lumped"),
]

REFUSED = [*PREDICTIONS, *LEARNT]
