"""Annotation, sampling and total intervals: bootstrap weights against a literal computation."""

import numpy as np
import pandas as pd
import pytest
from scipy import linalg

import plausibly as pb
from plausibly.base.random_streams import Stream, case_keys, random_bits, stream_words
from plausibly.evaluation import total_noise
from plausibly.evaluation._unseen_case import UnseenCase

N, SEED = 12, 3


@pytest.fixture(scope="module")
def posterior():
    random = np.random.default_rng(0)
    annotations = pb.Annotations.from_counts(1 + random.multinomial(4, [0.5, 0.3, 0.2], N), classes=list("abc"))
    return pb.aggregate(annotations, "dirichlet-categorical", draws=20, chains=2, seed=0, progress=False)


@pytest.fixture(scope="module")
def predictions():
    random = np.random.default_rng(1)
    return {"A": random.random((N, 3)), "B": random.random((N, 3))}


def weights_of(names, n_draws, rounds=1):
    """Exponential variables of each cluster (round, draw, cluster), from the definition of the stream."""
    words = stream_words(case_keys(SEED, names))[Stream.BOOTSTRAP]
    draw = np.arange(n_draws, dtype=np.uint32)[:, None]
    bits = np.stack([np.asarray(random_bits(words[None], draw, number)[0]) for number in range(rounds)])
    return -np.log(((bits >> 8) + 0.5) / 2**24)


def hits(posterior, predictions):
    """Whether each classifier is right (classifier, draw, case), from dense draws."""
    best = pb.dense(posterior).argmax(axis=2)
    return np.stack([best == scores.argmax(axis=1) for scores in predictions.values()]).astype(float)


def sampling_of(right, weight, names, case_weight=1.0):
    """Means over cases, and an unseen one, with bootstrap weights, of means over draws (classifier, replicate)."""
    weight = (weight * case_weight).reshape(-1, weight.shape[-1])
    words = stream_words(case_keys(SEED, names))[Stream.BOOTSTRAP]
    truth = np.broadcast_to(case_weight, (N,))[:, None]
    more, _, _, coin = UnseenCase(truth, words, np.arange(len(right)), len(weight)).altogether()
    return ((right.mean(1)[:, None] * weight).sum(-1) + coin * more) / (weight.sum(-1) + more)


def root(matrix):
    return np.real(linalg.sqrtm(matrix))


def positive(matrix):
    """(M + |M|) / 2, where |M| is the root of M squared."""
    return (matrix + root(matrix @ matrix)) / 2


def total_of(right, sampling, sign, case_weight=1.0):
    """The formula of total noise, case by case and with roots of matrices."""
    share = np.broadcast_to(case_weight, right.shape[-1]) / np.sum(np.broadcast_to(case_weight, right.shape[-1]))
    on_these = right @ share
    noise = on_these - on_these.mean(axis=1, keepdims=True)
    alone = (right - on_these.mean(axis=1)[:, None, None]) @ (share * sign)
    shared = positive(np.cov(on_these) - np.cov(alone))
    missing = positive(np.cov(on_these) - np.cov(sampling) - shared)
    added = root(shared + missing) @ np.linalg.inv(root(np.cov(on_these))) @ noise
    return sampling + np.tile(added, sampling.shape[1] // noise.shape[1])


def signs_of(names):
    return 1 - 2.0 * (stream_words(case_keys(SEED, names))[Stream.BOOTSTRAP][:, 1] % 2)


ACCURACY = {"metrics": "top1_accuracy", "progress": False}
CLUSTERS = np.array(["x", "y", "z"])[np.arange(N) % 3]


@pytest.mark.parametrize(
    "options",
    [{}, {"replicates": 90}, {"weights": [1, 2, 3, 0] * 3}, {"clusters": CLUSTERS}],
)
def test_replicates_are_weighted_means_with_what_annotations_add(posterior, predictions, options):
    """Cases of a cluster share their weight."""
    options = {"replicates": 40} | options
    results = pb.evaluate(posterior, predictions, seed=SEED, **ACCURACY, **options)
    names = options.get("clusters", results["case"].values)
    weight = weights_of(names, 40, -(-options["replicates"] // 40))
    right, case_weight = hits(posterior, predictions), options.get("weights", 1.0)
    sampling = sampling_of(right, weight, names, case_weight)
    total = total_of(right, sampling, signs_of(names), case_weight)
    np.testing.assert_allclose(results["top1_accuracy_total"], total.clip(0, 1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(results["top1_accuracy_sampling"], sampling, rtol=1e-5)
    if "clusters" in options:
        assert results.attrs["clusters"] == 3
        by_name = pd.Series(CLUSTERS[::-1], index=results["case"].values[::-1])
        for given in (by_name, dict(by_name)):
            again = pb.evaluate(posterior, predictions, seed=SEED, **ACCURACY, **options | {"clusters": given})
            np.testing.assert_array_equal(again["top1_accuracy_total"], results["top1_accuracy_total"])


def test_a_point_estimate_has_sampling_noise_alone(predictions):
    annotations = pb.Annotations.from_labels([["a", "b", "c"], ["b"], ["c"]] * 4)
    vote = pb.aggregate(annotations, "majority-vote", progress=False)
    results = pb.evaluate(vote, predictions, seed=SEED, **ACCURACY)
    names = results["case"].values
    sampling = sampling_of(hits(vote, predictions), weights_of(names, 1, 1000), names)
    assert np.isnan(results["top1_accuracy_total"]).all()  # unknown, as annotation noise is
    np.testing.assert_allclose(results["top1_accuracy_sampling"], sampling, rtol=1e-5)
    by_case = results["top1_accuracy_by_case"].values
    # The closed form of the Bayesian bootstrap of N + 1 cases, one of which is right by a coin; a thousand replicates
    # give it within 2.2 %, four times over.
    found = pb.summary(results).query("metric == 'top1_accuracy'")["sampling_sd"]
    with_one = [np.concatenate([by_case, np.full((2, 1), coin)], axis=1) for coin in (0, 1)]
    within = np.mean([one.var(axis=1) for one in with_one], axis=0) / (N + 2)
    np.testing.assert_allclose(found, np.sqrt(within + 0.25 / (N + 1) ** 2), rtol=0.09)


def drawn(of_draw, seed=0):
    """Values by draw, sampling noise and signed sums, from the values of cases (classifier, draw, case)."""
    random = np.random.default_rng(seed)
    n_draws, n = of_draw.shape[1:]
    sign, weights = random.choice([-1, 1], n), random.dirichlet(np.ones(n), n_draws)
    signed = of_draw @ sign, np.full(n_draws, sign.sum()), np.full(n_draws, n)
    return of_draw.mean(axis=2), of_draw.mean(axis=1) @ weights.T, signed


def test_noise_that_cases_share_is_added_and_their_own_is_not():
    random = np.random.default_rng(1)
    mean, own = random.random((2, 1, 500)), 0.2 * random.normal(size=(2, 2000, 500))
    values, sampling, signed = drawn(mean + own)
    # The covariances of 2,000 draws are known within 3 %, four times over; a twelfth of sampling noise is annotation's.
    np.testing.assert_allclose(total_noise(values, sampling, signed).var(axis=1), sampling.var(axis=1), rtol=0.08)
    shift = 0.05 * random.normal(size=(2, 2000, 1))
    values, sampling, signed = drawn(mean + own + shift)
    total = total_noise(values, sampling, signed)
    np.testing.assert_allclose(np.cov(total), np.cov(sampling) + np.cov(shift[..., 0]), rtol=0.15, atol=2e-4)


def test_no_total_interval_is_narrower_than_that_of_these_cases():
    random = np.random.default_rng(2)
    alike = random.random(300) < 0.8
    of_draw = np.repeat((random.random((1, 1000, 300)) < 0.5) * 1.0, 2, axis=0)
    of_draw[:, :, alike] = (random.random(300) < 0.5)[alike]
    of_draw[1, :, ~alike] = 1 - of_draw[0, :, ~alike]  # the two differ only where the annotations leave all open
    values, sampling, signed = drawn(of_draw)
    total = total_noise(values, sampling, signed)
    assert np.ptp(sampling[0] - sampling[1]) < 0.2 * np.ptp(values[0] - values[1])
    assert (total[0] - total[1]).std() == pytest.approx((values[0] - values[1]).std(), rel=0.05)
    np.testing.assert_allclose(total.std(axis=1), sampling.std(axis=1), rtol=0.15)


def test_intervals_are_quantiles_of_replicates(posterior, predictions):
    results = pb.evaluate(posterior, predictions, replicates=40, **ACCURACY)
    row = pb.summary(results, ci_prob=0.5).iloc[0]
    values = results["top1_accuracy_total"].values[0]
    assert [row["total_lower"], row["total_upper"]] == pytest.approx(np.quantile(values, [0.25, 0.75]).tolist())
    assert row["sampling_sd"] == pytest.approx(results["top1_accuracy_sampling"].values[0].std(ddof=1))


@pytest.mark.parametrize("options", [{"replicates": 0}, {"clusters": ["one"] * N, "replicates": 40}])
def test_sampling_noise_may_be_unknown(posterior, predictions, options):
    results = pb.evaluate(posterior, predictions, **ACCURACY, **options)
    assert pb.summary(results)[["total_lower", "total_upper", "sampling_sd"]].isna().all(axis=None)
