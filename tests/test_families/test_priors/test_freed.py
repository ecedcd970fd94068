"""The shape of disagreement, freed: probabilities, density and fit against quadrature and simulation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer.util import log_density
from scipy import special

import plausibly as pb
from plausibly.data.regression import prior_shapes
from plausibly.families.priors import Evidence, PredictionsPrior, case_prior
from plausibly.families.priors import freed as freeing
from plausibly.families.priors.evidence import labels_of
from plausibly.families.priors.freed import probability_of_most_plausible

PARAMETERS = {
    "prevalence": 0.4,
    "logit_background": -2.0,
    "log_concentration": 0.8,
    "log_concentration_by_entropy": 0.5,
    "score": np.array([0.4, 0.2]),
    "first_choice": np.array([0.3, 0.0]),
    "offset": np.array([0.1, -0.2]),
}


def by_quadrature(shape):
    """Probability of each class to be the most plausible one, on 16,000 nodes."""
    lower = (np.log(1e-7) + special.gammaln(shape + 1).sum()) / shape.sum()
    upper = np.log(shape.max() + np.sqrt(60 * shape.max()) + 30)
    t = np.unique(np.concatenate([np.linspace(min(lower, -20), -20, 8001), np.linspace(max(lower, -20), upper, 8001)]))
    with np.errstate(divide="ignore", under="ignore"):
        logs = np.log(special.gammainc(shape, np.exp(np.maximum(t, -700))[:, None]))
    logs = np.where(t[:, None] < -20, shape * t[:, None] - special.gammaln(shape + 1), logs)
    logs = np.maximum(logs, -1e5)
    below, others = np.exp(logs), np.exp(logs.sum(1, keepdims=True) - logs)
    return ((below[1:] - below[:-1]) * (others[1:] + others[:-1])).sum(0) / 2


@pytest.mark.slow
@pytest.mark.parametrize("k", [10])
def test_probabilities_of_the_most_plausible_class_by_quadrature(k):
    random = np.random.default_rng(k)
    total = np.exp(random.uniform(np.log(1e-3), np.log(1e4), (24, 1)))
    shape = np.concatenate(
        [total[:12] * random.dirichlet(np.ones(k), 12), total[12:] * random.dirichlet([9.0] * k, 12)]
    )
    shape = np.maximum(shape, 1e-5)
    found = jax.jit(probability_of_most_plausible)(jnp.float32(shape), jnp.ones(shape.shape, bool))
    expected = np.array([by_quadrature(one) for one in shape])
    np.testing.assert_allclose(expected.sum(1), 1, atol=1e-4)
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_classes_that_are_absent_do_not_count():
    shape, present = np.array([[2.0, 1.0, 50.0]]), np.array([[True, True, False]])
    found = jax.jit(probability_of_most_plausible)(jnp.float32(shape), present)
    assert found[0, 2] == 0
    np.testing.assert_allclose(found[0, :2], by_quadrature(shape[0, :2]), atol=2e-3)


def tiny(seed=0, n=3):
    random = np.random.default_rng(seed)
    counts = random.multinomial(3, random.dirichlet(np.ones(3), n))
    annotations = pb.Annotations.from_counts(counts)
    evidence = Evidence.of({"A": random.dirichlet(np.ones(3), n), "B": random.dirichlet(np.ones(3), n)}, annotations)
    prior = PredictionsPrior.learn(annotations, evidence, draws=20, seed=0)
    choice = evidence.log_scores.argmax(2)
    places = freeing.Places.of(prior, annotations, choice)
    return counts, evidence, prior, choice, (evidence.log_scores, prior.log_prevalence, labels_of(annotations), places)


@pytest.mark.slow
def test_the_density_of_labels_by_simulation_and_without_a_tilt_the_usual_one():
    counts, evidence, prior, choice, given = tiny()
    tilt = np.array([0.9, -0.7])
    found = log_density(freeing.freed_case_prior, given, {}, PARAMETERS | {"tilt": tilt})[0]
    without = log_density(freeing.freed_case_prior, given[:2], {}, PARAMETERS | {"tilt": tilt})[0]
    shapes = np.asarray(prior_shapes(PARAMETERS, evidence.log_scores, prior.log_prevalence), float)
    random, expected = np.random.default_rng(1), 0.0
    for case, shape in enumerate(shapes):
        drawn = random.dirichlet(shape, 400_000)
        weight = np.exp((tilt[:, None] * (choice[:, case, None] == drawn.argmax(1))).sum(0))
        expected += np.log((weight * (drawn ** counts[case]).prod(1)).mean() / weight.mean())
    assert float(found - without) == pytest.approx(expected, abs=0.02)
    freed, usual = (
        log_density(program, own, {}, parameters)[0] - log_density(program, own[:2], {}, parameters)[0]
        for program, own, parameters in (
            (freeing.freed_case_prior, given, PARAMETERS | {"tilt": np.zeros(2)}),
            (case_prior, given[:3], PARAMETERS),
        )
    )
    assert float(freed) == pytest.approx(float(usual), abs=1e-4)
