"""A user's own programs and models under priors that are learned from labels or predictions, sampled by NUTS."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.handlers import scale

import plausibly as pb
from plausibly.errors import ArgumentError
from plausibly.model import BORROWING

SETTINGS = {"chains": 2, "seed": 0, "progress": False}


def first_choice(case):
    plausibility = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    first = case.named & (case.rankings.positions == 0)
    with numpyro.plate("annotation", case.counts.shape[0]), scale(scale=case.counts):
        numpyro.factor("choice", jnp.log(first @ plausibility))


def flat(case):
    """Without the prior that it is given."""
    numpyro.sample("plausibility", dist.Dirichlet(jnp.ones_like(case.concentration)))


def declared(program=first_choice, **fields):
    return pb.Model(name="first-choice", program=program, **{"concentration": 1.0, **fields})


PLAUSIBILITY = np.random.default_rng(0).dirichlet([0.5] * 4, 20)
ANNOTATIONS = pb.Annotations.from_counts(np.random.default_rng(1).multinomial(3, PLAUSIBILITY))
SCORES = {"A": PLAUSIBILITY + 0.05}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "given"),
    [
        (first_choice, {"class_prior": "learned"}),
        (declared(), {"predictions": SCORES}),
        (declared(options=BORROWING), {"predictions": SCORES}),
    ],
    ids=["program", "model", "borrowing"],
)
def test_a_program_has_the_exact_posterior_of_its_prior(model, given):
    exact = pb.aggregate(ANNOTATIONS, "dirichlet-categorical", **given, **SETTINGS)
    posterior = pb.aggregate(ANNOTATIONS, model, **given, **SETTINGS)
    assert posterior.attrs["engine"] == "nuts"
    assert posterior.attrs["shared"] == "sampled"
    assert posterior.attrs.get("evidence") == exact.attrs.get("evidence")
    means, expected = (pb.dense(one).mean((0, 1)) for one in (posterior, exact))
    np.testing.assert_allclose(means, expected, atol=0.03)


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        (first_choice, {"class_prior": "population"}, "one of uniform, learned, predictions, but 'population'"),
        (declared(), {"shared": "sampled"}, "does not accept shared='sampled'"),
        (first_choice, {"class_prior": "learned", "concentration": 2.0}, "infers the concentration from all cases"),
        (flat, {"predictions": SCORES}, "class_prior='predictions' gives .* but flat does not use it"),
        (declared(flat), {"class_prior": "learned"}, "class_prior='learned' gives .* but first-choice does not use it"),
        (declared(concentration=None), {"predictions": SCORES}, "does not accept class_prior='predictions'"),
    ],
)
def test_priors_that_do_not_reach_a_program_are_refused(model, given, message):
    with pytest.raises(ArgumentError, match=message):
        pb.aggregate(ANNOTATIONS, model, **given, **SETTINGS)
