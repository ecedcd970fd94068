"""The benchmark of second choices: its scores are those of weighted draws from the prior."""

from dataclasses import replace

import numpy as np
import pytest

import plausibly as pb
from benchmarks import second_choices
from plausibly.models.staged_plackett_luce import Stages, log_prob
from plausibly.priors.population import Population
from plausibly.priors.population.shared_stages import SharedStages

CLASSES = list("abcd")
PI = np.array([0.3, 0.2, 0.4, 0.1])
ALL = Stages(0.6, 0.5, 0.7, 1.3, 0.4, 0.1, 0.2, (3.0, 0.5, 1.0, 3.0, 3.0), (1.0, -0.5, -1.5, 3.0))
OTHERS, LEFT_OUT = [[[2], [1]], [[0, 1]]], [[0], [1, 2], [3]]


@pytest.mark.slow
@pytest.mark.parametrize(("stages", "reliability"), [(Stages(), 1.0), (ALL, 1.3)])
def test_second_choices_are_predicted_as_by_draws_from_the_prior(stages, reliability, monkeypatch):
    monkeypatch.setattr(second_choices, "PROPOSALS", 100_000)
    pairs = np.array([0, 0, 2]), np.array([1, 3, 1]), np.array([6.0, 1.0, 3.0])
    shared = SharedStages(stages, reliability, *pairs, np.full(4, 0.25), 2.0, own=False)
    population = replace(Population.of(CLASSES, PI, concentration=3.0, self_share=0.5), stages=shared)
    annotations = pb.Annotations.from_rankings([[*OTHERS, LEFT_OUT], [[[3], [0]]]], CLASSES)
    found, error, case = second_choices.score(annotations, population, seed=0)

    random = np.random.default_rng(0)
    gammas = random.standard_gamma(3 * population.profiles[random.choice(4, 1_000_000, p=PI)])
    prior = gammas / gammas.sum(1, keepdims=True)
    plain = stages._replace(stop=None, tie=None)

    def likelihood(blocks, which=plain):
        follow = np.mean([shared.follows(one) for one in blocks[0]], axis=0)
        value = log_prob(prior, blocks, follow, population.expected, which, reliability=reliability, xp=np)
        return np.exp(value)

    def expected(others, first, second):
        weight = np.prod([likelihood(one, stages) for one in others], axis=0) if others else 1
        both = sum(likelihood([first, [one]]) for one in second)
        return np.log((weight * both).mean() / (weight * likelihood([first])).mean())

    wanted = [expected([OTHERS[1], LEFT_OUT], [2], [1]), expected(OTHERS, [0], [1, 2]), expected([], [3], [0])]
    assert case.tolist() == [0, 0, 1], "an annotation of one block has no second choice"
    np.testing.assert_allclose(found, wanted, atol=0.012)
    assert (error < 0.005).all()


def test_a_second_choice_that_is_unlikely_and_errors_of_means_by_case():
    """Proposals that know it find the few plausibilities under which it is probable."""
    rare = np.array([0.5, 0.4985, 0.001, 0.0005])
    shared = SharedStages(Stages(), 1.0, *(np.empty(0, int),) * 2, np.empty(0), np.full(4, 0.25), 2.0, own=False)
    population = replace(Population.of(CLASSES, rare, concentration=1.0), stages=shared)
    annotations = pb.Annotations.from_rankings([[[[0], [3]]]], CLASSES)
    found, error, _ = second_choices.score(annotations, population, seed=0)
    # λ is Dirichlet(rare), of which the shares other than that of the first class are Dirichlet, too, and independent.
    assert found[0] == pytest.approx(np.log(0.0005 / 0.5), abs=0.15)
    assert error[0] < 0.1
    found, error = second_choices.mean(np.array([1.0, 1.0, 3.0, 3.0]), np.array([0, 0, 1, 1]))
    assert (found, error) == (2.0, pytest.approx(np.sqrt(0.5)))
