"""The simulation of a team: its truths by hand, its results those of the package."""

from itertools import permutations

import numpy as np
import pytest

import plausibly as pb
from validation import team


@pytest.fixture(scope="module")
def true():
    return team.population(team.simulate(np.random.default_rng(1), 11_250, 20_000))


def test_lesions_have_two_or_three_readers_and_panels_are_by_enumeration():
    random = np.random.default_rng(0)
    lesions = team.simulate(random)
    assert (len(lesions.patient), len(np.unique(lesions.patient))) == (team.N_LESIONS, team.N_PATIENTS)
    per_lesion = lesions.annotations(random).per_case
    np.testing.assert_array_equal(per_lesion, 2 + lesions.third)
    one = lesions.malignant[:1]
    chance = 0.0
    for readers in permutations(range(4), 3):
        for votes in np.ndindex(2, 2, 2):
            of_votes = np.where(votes, one[0, list(readers)], 1 - one[0, list(readers)])
            chance += of_votes.prod() * (sum(votes) >= 2) / 24
    np.testing.assert_allclose(team.majority(one), chance)


def test_the_population_is_that_of_the_package(true):
    lesions = team.simulate(np.random.default_rng(1), 11_250, 20_000)
    expert = lesions.malignant.mean(axis=1)
    truth = np.stack([1 - expert, expert], axis=1)
    for name, scores in lesions.scores().items():
        for metric in ("auroc", "brier", "log_score"):
            ours = getattr(pb.metrics, metric)(scores, truth)
            np.testing.assert_allclose(ours, true["annotator"][metric, name], rtol=1e-3)
    # A panel is more certain than an expert, and the class that most would name is certain.
    values = [true[truth]["auroc", "A"] for truth in ("annotator", "panel", "most-plausible")]
    assert values == sorted(values)
