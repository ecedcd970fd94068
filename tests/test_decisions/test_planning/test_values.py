"""Values by reweighting against closed forms, brute force and refits."""

import numpy as np
import pytest
from scipy import special, stats

import plausibly as pb
from plausibly.aggregation import unjudged
from plausibly.decisions.planning._values import ask, simulate, value
from plausibly.decisions.planning._worth import Dirichlets, with_closed_forms
from tests import worlds
from tests.test_decisions.test_planning.conftest import COUNTS


def dirichlet_information(shapes):
    """Mutual information of a label and Dirichlet plausibilities, by numbers of digamma functions."""
    total = shapes.sum(axis=1)
    share = shapes / total[:, None]
    within = special.digamma(total + 1) - (share * special.digamma(shapes + 1)).sum(axis=1)
    return special.entr(share).sum(axis=1) - within


def information_error(shapes, replicates):
    """Standard error of the information of one label where so many labels, and their truths, are simulated.

    It is the mean of log λ_y − log p_y, in which λ has a Dirichlet distribution with one more of y.
    """
    total = shapes.sum(axis=1, keepdims=True)
    share = shapes / total
    mean = special.digamma(shapes + 1) - special.digamma(total + 1) - np.log(share)
    square = special.polygamma(1, shapes + 1) - special.polygamma(1, total + 1) + mean**2
    variance = (share * square).sum(axis=1) - (share * mean).sum(axis=1) ** 2
    return np.sqrt(variance / replicates)


def asked(posterior, predictions, metric="top1_accuracy", *, answers=((1.0, 1.0),), length=1, metrics=None):
    pairs = [(0, 1)] if len(predictions) > 1 else []
    return ask(posterior, predictions, metric, metrics, lambda names: pairs, answers, length, 0)


def chance_of_first(counts):
    """Probability that the first of two classes is the more plausible one."""
    return stats.beta.sf(0.5, counts[..., 0] + 1, counts[..., 1] + 1)


def removed_by(counts, n):
    """Brute force: all sequences of n labels, each with the exact posterior; variance of one class being on top."""
    if n == 0:
        chance = chance_of_first(counts)
        return chance * (1 - chance)
    left = 0.0
    for label in range(2):
        probability = (counts[label] + 1) / (counts.sum() + 2)
        left += probability * removed_by(counts + np.eye(2, dtype=int)[label], n - 1)
    return left


@pytest.fixture(scope="module")
def source(two):
    return asked(two.posterior, two.predictions)


@pytest.fixture(scope="module")
def values(source):
    return value(source)


def test_variance_information_and_effective_draws_have_closed_forms(values, two):
    before = np.array([removed_by(counts, 0) for counts in COUNTS])
    after = np.array([removed_by(counts, 1) for counts in COUNTS])
    for row in range(2):
        np.testing.assert_allclose(values.variance[row], before, atol=0.015)
        np.testing.assert_allclose(values.removed[0, row], before - after, atol=0.006)
    agree = two.predictions["A"].argmax(1) == two.predictions["B"].argmax(1)
    np.testing.assert_allclose(values.removed[0, 2][agree], 0, atol=1e-6)
    np.testing.assert_allclose(values.removed[0, 2][~agree], 4 * values.removed[0, 0][~agree], rtol=1e-3)
    np.testing.assert_allclose(values.information[0], dirichlet_information(COUNTS + 1.0), atol=0.005)
    expected = []
    for counts in COUNTS:
        shapes = counts + 1.0
        total = shapes.sum()
        # The effective share after label y is (E λ_y)² / E λ_y².
        share = [(a / total) ** 2 / (a * (a + 1) / total / (total + 1)) for a in shapes]
        expected.append(4_000 / sum(a / total / s for a, s in zip(shapes, share, strict=True)))
    np.testing.assert_allclose(values.effective[0], expected, rtol=0.03)


def test_further_labels_are_those_of_brute_force(source):
    bank = simulate(source, np.array([3, 1, 7]), np.zeros(3, int), 3, 400)
    for n in range(1, 4):
        expected = [removed_by(COUNTS[case], n) for case in bank.cases]
        np.testing.assert_allclose(bank.variance[:, n - 1, :, 0].mean(axis=1), expected, atol=0.012)
    means = bank.mean[..., 0].mean(axis=2)  # a martingale
    np.testing.assert_allclose(means, np.repeat(means[:, :1], 3, axis=1), atol=0.06)
    shapes = COUNTS[bank.cases] + 1.0
    away = (bank.information[:, 0] - dirichlet_information(shapes)) / information_error(shapes, 400)
    assert np.abs(away).max() < 4
    assert (np.diff(bank.information, axis=1) > 0).all()


def test_coverage_and_its_differences_have_closed_forms():
    """Variances of w · λ, of which w is what a list covers, or more than another one."""
    made = worlds.labels_of_three()
    question = asked(made.posterior, made.predictions, "top2_coverage")
    known = Dirichlets.of(made.posterior, made.annotations)
    shapes = np.ones((60, 3))
    np.add.at(shapes, (made.annotations.entry_case, made.annotations.entry_class), 1)
    total = shapes.sum(axis=1)
    share = shapes / total[:, None]
    covers = [(p != p.min(axis=1, keepdims=True)).astype(float) for p in made.predictions.values()]
    for n in (0, 2):
        left = known.coverage_left(question, 1.0, n)
        for row, w in enumerate([*covers, covers[0] - covers[1]]):
            variance = ((w**2 * share).sum(axis=1) - (w * share).sum(axis=1) ** 2) / (total + 1)
            np.testing.assert_allclose(left[row], variance * total / (total + n), rtol=1e-6, atol=1e-12)


@pytest.mark.slow
def test_coverage_of_dirichlet_plausibilities_is_exact():
    random = np.random.default_rng(1)
    labels = [random.choice(list("abcd"), random.integers(1, 6)).tolist() for _ in range(30)]
    annotations = pb.Annotations.from_labels(labels, classes=list("abcd"))
    given = {"draws": 2500, "chains": 4, "seed": 0, "progress": False}
    for count in (1, 3):
        posterior = pb.aggregate(annotations, "dirichlet-categorical", reliability=count, **given)
        predictions = {"A": random.dirichlet(np.ones(4), 30)}
        question = asked(posterior, predictions, "top1_coverage", answers=((1.0, float(count)),))
        values = value(question)
        exact = with_closed_forms(question, values, Dirichlets.of(posterior, annotations))
        shapes = 1.0 + count * np.array([[own.count(name) for name in "abcd"] for own in labels])
        best, total = shapes[np.arange(30), predictions["A"].argmax(1)], shapes.sum(1)
        variance = best * (total - best) / total**2 / (total + 1)
        hit, missed = ((best + x) * (total + count - best - x) for x in (count, 0))
        left = (best / total * hit + (1 - best / total) * missed) / (total + count) ** 2 / (total + count + 1)
        np.testing.assert_allclose(values.variance[0], variance, rtol=0.06)
        np.testing.assert_allclose(values.removed[0, 0], variance - left, rtol=0.12, atol=1e-4)
        np.testing.assert_allclose(exact.variance[0], variance, rtol=1e-5)
        np.testing.assert_allclose(exact.removed[0, 0], variance - left, rtol=1e-4, atol=1e-8)
        np.testing.assert_allclose(exact.information[0], dirichlet_information(shapes), rtol=1e-5)
        if count == 1:
            np.testing.assert_allclose(values.removed[0, 0], variance / (total + 1), rtol=0.12, atol=1e-4)


@pytest.mark.slow
def test_sampled_posteriors_against_refits():
    """Plackett–Luce by Gibbs: the mean over answers of the variance that a refit finds."""
    random = np.random.default_rng(2)
    rankings = [
        [[[k] for k in random.permutation(4)[: random.integers(1, 4)].tolist()] for _ in range(3)] for _ in range(12)
    ]
    names = [f"p{i}" for i in range(12)]
    given = {"reliability": 1, "draws": 600, "chains": 4, "seed": 0, "progress": False, "unranked": "exact"}
    given |= {"concentration": 1.0}
    annotations = pb.Annotations.from_rankings({"cases": dict(zip(names, rankings, strict=True))}, classes="abcd")
    posterior = pb.aggregate(annotations, "plackett-luce", engine="gibbs", **given)
    predictions = {"A": random.dirichlet(np.ones(4), 12)}
    values = value(asked(posterior, predictions))
    chances = pb.dense(posterior).mean(axis=0)
    more = {f"{name} {k}": [*own, [[k]]] for name, own in zip(names, rankings, strict=True) for k in range(4)}
    after = pb.aggregate(
        pb.Annotations.from_rankings({"cases": more}, classes="abcd"), "plackett-luce", engine="gibbs", **given
    )
    repeated = {"A": np.repeat(predictions["A"], 4, axis=0)}
    left = value(asked(after, repeated)).variance[0].reshape(12, 4)
    np.testing.assert_allclose(values.removed[0, 0], values.variance[0] - (chances * left).sum(1), atol=0.016)


@pytest.mark.slow
def test_a_longer_ranking_tells_more():
    random = np.random.default_rng(3)
    rankings = [[[[k] for k in random.permutation(4).tolist()] for _ in range(2)] for _ in range(8)]
    annotations = pb.Annotations.from_rankings(rankings, classes="abcd")
    posterior = pb.aggregate(annotations, "plackett-luce", reliability=1, draws=250, seed=0, progress=False)
    predictions = {"A": random.dirichlet(np.ones(4), 8)}
    label, ranking = (
        simulate(asked(posterior, predictions, length=length), np.arange(8), np.zeros(8, int), 1, 400).information
        for length in (1, 3)
    )
    assert (label < ranking).all()


@pytest.mark.slow
def test_own_metrics_and_many_classes():
    """A metric of the user's own that is coverage gives the values of coverage, also with a remainder."""
    import jax.numpy as jnp

    random = np.random.default_rng(4)
    classes = [f"c{k}" for k in range(20)]
    labels = [[classes[k] for k in random.integers(0, 4, random.integers(1, 5))] for _ in range(10)]
    annotations = pb.Annotations.from_labels(labels, classes=classes)
    posterior = pb.aggregate(
        annotations, "dirichlet-categorical", concentration=0.1, draws=1000, seed=0, progress=False
    )
    predictions = {"A": np.eye(20)[[classes.index(own[0]) for own in labels]]}
    own = {"mine": lambda scores, plausibility: plausibility[jnp.argmax(scores)]}
    by_name = value(asked(posterior, predictions, "top1_coverage"))
    by_function = value(asked(posterior, predictions, "mine", metrics=own))
    np.testing.assert_allclose(by_name.removed, by_function.removed, rtol=1e-3, atol=1e-7)
    counts = np.array([[own.count(name) for name in classes] for own in labels])
    # What the annotations' own classes and one that lumps all others together tell; the label is told in full.
    np.testing.assert_allclose(by_name.information[0], dirichlet_information(counts + 0.1), atol=0.02)


@pytest.mark.slow
def test_inferred_reliabilities_decide_who_is_asked():
    """Under the tempered model annotators choose by a power of the plausibilities; a greater one tells more."""
    random = np.random.default_rng(5)
    truth = random.dirichlet(np.full(4, 0.4), 12)
    rankings = {
        f"p{i}": {who: [["abcd"[k]] for k in random.choice(4, 2, False, p=0.9 * p + 0.025)] for who in ("ann", "bob")}
        for i, p in enumerate(truth)
    }
    annotations = pb.Annotations.from_rankings({"cases": rankings}, classes="abcd")
    given = {"draws": 20, "chains": 2, "warmup": 20, "seed": 0, "progress": False}
    posterior = unjudged(pb.infer_reliability)(annotations, per="annotator", **given)
    annotators = {"careful": 3.0, "careless": 0.3}
    found = pb.plan(posterior, goal="information", annotators=annotators, annotation="label", budget=5, progress=False)
    assert set(found.chosen["annotator"]) == {"careful"}
    with pytest.raises(pb.ArgumentError, match="annotated by all"):
        pb.plan(posterior, goal="information", annotators="inferred", annotation="label", budget=5, progress=False)
