"""Ambiguity and uncertainty: results against dense draws, and what annotations do to either."""

import jax
import numpy as np
import pytest

import plausibly as pb
from plausibly.data.annotations import Slots
from plausibly.posterior import build_posterior

NAMES = ["expected_entropy", "mutual_information"]


def entropy(p):
    return -(p * np.log(np.where(p > 0, p, 1))).sum(-1)


def against_dense(posterior, tolerance, of_split):
    """Results average the split of the remainder, which dense draws have drawn."""
    results = pb.evaluate(posterior, {}, sizes=1, progress=False)
    dense = pb.dense(posterior).astype(float)
    expected = entropy(dense).mean(0)
    np.testing.assert_allclose(results["expected_entropy"], expected, atol=tolerance)
    np.testing.assert_allclose(results["mutual_information"], entropy(dense.mean(0)) - expected, atol=tolerance)
    np.testing.assert_allclose(results["top_plausibility"], dense.mean(0).max(1), atol=of_split)
    return dense, expected


def test_results_are_those_of_dense_draws():
    random = np.random.default_rng(0)
    annotations = pb.Annotations.from_counts(1 + random.multinomial(6, [0.6, 0.3, 0.1], 8), classes=list("abc"))
    posterior = pb.aggregate(annotations, "dirichlet-categorical", seed=0, progress=False)
    dense, expected = against_dense(posterior, 1e-5, 2e-5)
    np.testing.assert_allclose(jax.jit(pb.metrics.expected_entropy)(dense), expected, atol=1e-5)
    information = entropy(dense.mean(0)) - expected
    np.testing.assert_allclose(jax.jit(pb.metrics.mutual_information)(dense), information, atol=1e-5)


@pytest.mark.parametrize("uneven", [False, True])
def test_the_split_of_the_remainder_is_averaged(uneven):
    annotations = pb.Annotations.from_labels([["a", "a", "b"], ["c"], ["b", "c"]], classes=list("abcdef"))
    three, two = (np.random.default_rng(1).dirichlet([1.0] * n, (1, 4000)) for n in (3, 2))
    plausibility = np.concatenate([three, two, three], axis=-1).astype(np.float32)
    attrs = {"class_prior_shape": [0.1, 0.2, 0.9, 0.4, 2.0, 0.3]} if uneven else {}
    given = {"point": plausibility[0, 0], "concentration": 0.7, "attrs": attrs}
    posterior = build_posterior(plausibility, annotations, Slots.of(annotations), **given)
    against_dense(posterior, 0.012, 0.03)  # 4,000 splits of a mass of at most 1


def test_labels_reduce_uncertainty_and_not_ambiguity():
    counts = [[2, 2], [20, 20], [200, 200], [200, 0]]
    posterior = pb.aggregate(pb.Annotations.from_counts(counts), "dirichlet-categorical", seed=0, progress=False)
    results = pb.evaluate(posterior, {}, sizes=1, progress=False)
    ambiguous, uncertain = (results[name].values for name in NAMES)
    assert (np.diff(uncertain[:3]) < 0).all()
    assert uncertain[2] < 0.002
    assert ambiguous[2] == pytest.approx(np.log(2), abs=0.005)
    assert ambiguous[3] < 0.05
    assert results["top_plausibility"].values[2:].tolist() == pytest.approx([0.5, 201 / 202], abs=0.003)
