"""Membership by draw against dense draws, and what it does to a metric."""

import numpy as np
import pytest

import plausibly as pb
from plausibly.errors import ArgumentError

RISKS = [0, 1, 2, 2]


@pytest.fixture(scope="module")
def posterior():
    labels = [["a", "a", "c"], ["b", "d"], ["c"], ["a", "b", "c", "d"], ["d", "d"]]
    annotations = pb.Annotations.from_labels(labels, classes=list("abcd"))
    return pb.aggregate(annotations, "dirichlet-categorical", draws=1000, chains=2, seed=0, progress=False)


@pytest.fixture(scope="module")
def complete():
    """Every class is named in every case, so that nothing has to be split; otherwise of the same shape."""
    labels = [list("abcda"), list("abcdd"), list("abcdcc"), list("abcd"), list("aabcd")]
    annotations = pb.Annotations.from_labels(labels, classes=list("abcd"))
    return pb.aggregate(annotations, "dirichlet-categorical", draws=1000, chains=2, seed=0, progress=False)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_membership_is_that_of_dense_draws(complete, level):
    draws = pb.dense(complete)
    levels = np.stack([draws[..., np.array(RISKS) == at].sum(axis=2) for at in range(3)], axis=2)
    np.testing.assert_array_equal(
        pb.evaluation.risk_weights(complete, RISKS, level), np.array(RISKS)[draws.argmax(2)] == level
    )
    np.testing.assert_array_equal(
        pb.evaluation.risk_weights(complete, RISKS, level, "level"), levels.argmax(axis=2) == level
    )
    np.testing.assert_allclose(
        pb.evaluation.risk_weights(complete, RISKS, level, "plausibility"), levels[..., level], rtol=1e-5
    )
    np.testing.assert_array_equal(
        pb.evaluation.class_weights(complete, ["b", "d"]), np.isin(draws.argmax(axis=2), [1, 3])
    )


@pytest.mark.parametrize("of", ["class", "level", "plausibility"])
def test_levels_share_every_case(posterior, of):
    total = sum(pb.evaluation.risk_weights(posterior, RISKS, level, of) for level in range(3))
    np.testing.assert_allclose(total, 1, rtol=1e-5)


@pytest.mark.slow
def test_subgroups_add_up_to_the_whole(posterior):
    scores = {"A": np.random.default_rng(0).random((5, 4))}
    whole = pb.evaluate(posterior, scores, k=2)["top2_overlap"].values
    parts = 0
    for level in range(3):
        weights = pb.evaluation.risk_weights(posterior, RISKS, level)
        share = weights.mean(axis=1)
        own = pb.evaluate(posterior, scores, k=2, weights=weights)["top2_overlap"].values
        parts = parts + np.where(share > 0, own, 0) * share
    np.testing.assert_allclose(parts, whole, rtol=1e-5)


def test_accuracy_within_a_level_is_that_of_the_draws_that_belong(complete):
    scores = {"A": np.random.default_rng(1).random((5, 4))}
    weights = pb.evaluation.risk_weights(complete, RISKS, 2)
    results = pb.evaluate(complete, scores, weights=weights)
    best = pb.dense(complete).argmax(axis=2)
    for draw in range(len(best)):
        hits = [best[draw, i] == scores["A"][i].argmax() for i in range(5) if RISKS[best[draw, i]] == 2]
        found = float(results["top1_accuracy"][0, draw])
        assert np.isnan(found) if not hits else found == pytest.approx(np.mean(hits))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: pb.evaluation.risk_weights(p, RISKS, 3), "level must be 0, 1 or 2, but 3 was given"),
        (lambda p: pb.evaluation.risk_weights(p, RISKS, True), "level must be 0, 1 or 2, but True was given"),
        (lambda p: pb.evaluation.risk_weights(p, RISKS, 1, "case"), "of must be .* but 'case' was given"),
        (lambda p: pb.evaluation.risk_weights(p, RISKS, 1, break_ties="best"), "break_ties must be .* but 'best' was"),
        (lambda p: pb.evaluation.class_weights(p, ["a", "x"]), "names of this posterior's classes, but 'x' was given"),
        (lambda p: pb.evaluation.class_weights(p, []), "but none at all was given"),
    ],
)
def test_bad_arguments_are_refused(posterior, call, message):
    with pytest.raises(ArgumentError, match=message):
        call(posterior)
