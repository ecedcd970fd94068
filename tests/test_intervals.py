"""Annotation, sampling and total intervals: bootstrap weights against a literal computation."""

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.errors import ArgumentError
from plausibly.random_streams import Stream, case_keys, random_bits, stream_words

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
    """Exponential variables of each group (round, draw, group), from the definition of the stream."""
    words = stream_words(case_keys(SEED, names))[Stream.BOOTSTRAP]
    draw = np.arange(n_draws, dtype=np.uint32)[:, None]
    bits = np.stack([np.asarray(random_bits(words[None], draw, number)[0]) for number in range(rounds)])
    return -np.log(((bits >> 8) + 0.5) / 2**24)


def hits(posterior, predictions):
    """Whether each classifier is right (classifier, draw, case), from dense draws."""
    best = pb.dense(posterior).argmax(axis=2)
    return np.stack([best == scores.argmax(axis=1) for scores in predictions.values()]).astype(float)


def expected(right, weight, case_weight=1.0):
    weight = weight * case_weight
    total = (right[:, None] * weight).sum(-1) / weight.sum(-1)
    sampling = (right.mean(1)[:, None, None] * weight).sum(-1) / weight.sum(-1)
    return (values.reshape(len(right), -1) for values in (total, sampling))


@pytest.mark.parametrize(
    "options", [{"replicates": 40}, {"replicates": 90}, {"replicates": 40, "weights": [1, 2, 3, 0] * 3}]
)
def test_replicates_are_weighted_means_of_draws(posterior, predictions, options):
    results = pb.evaluate(posterior, predictions, k=1, seed=SEED, progress=False, **options)
    rounds = -(-options["replicates"] // 40)
    weight = weights_of(results["case"].values, 40, rounds)
    total, sampling = expected(hits(posterior, predictions), weight, options.get("weights", 1.0))
    np.testing.assert_allclose(results["top1_accuracy_total"], total, rtol=1e-5)
    np.testing.assert_allclose(results["top1_accuracy_sampling"], sampling, rtol=1e-5)


def test_cases_of_a_group_share_their_weight(posterior, predictions):
    groups = np.array(["x", "y", "z"])[np.arange(N) % 3]
    options = {"k": 1, "seed": SEED, "replicates": 40, "progress": False}
    results = pb.evaluate(posterior, predictions, groups=groups, **options)
    total, sampling = expected(hits(posterior, predictions), weights_of(groups, 40))
    np.testing.assert_allclose(results["top1_accuracy_total"], total, rtol=1e-5)
    np.testing.assert_allclose(results["top1_accuracy_sampling"], sampling, rtol=1e-5)
    assert results.attrs["groups"] == 3
    names = results["case"].values
    by_name = pd.Series(groups[::-1], index=names[::-1])
    for given in (by_name, dict(by_name)):
        again = pb.evaluate(posterior, predictions, groups=given, **options)
        np.testing.assert_array_equal(again["top1_accuracy_total"], results["top1_accuracy_total"])


def test_a_point_estimate_has_sampling_noise_alone(predictions):
    annotations = pb.Annotations.from_labels([["a", "b", "c"], ["b"], ["c"]] * 4)
    vote = pb.aggregate(annotations, "majority-vote", progress=False)
    results = pb.evaluate(vote, predictions, k=1, seed=SEED, progress=False)
    total, sampling = expected(hits(vote, predictions), weights_of(results["case"].values, 1, 1000))
    np.testing.assert_allclose(results["top1_accuracy_total"], total, rtol=1e-5)
    np.testing.assert_allclose(results["top1_accuracy_sampling"], sampling, rtol=1e-5)
    by_case = results["top1_accuracy_by_case"].values
    # The closed form of the Bayesian bootstrap; a thousand replicates give it within 2.2 %, four times over.
    found = pb.summary(results).query("metric == 'top1_accuracy'")["sampling_sd"]
    np.testing.assert_allclose(found, by_case.std(axis=1) / np.sqrt(N + 1), rtol=0.09)


def test_intervals_are_quantiles_of_replicates(posterior, predictions):
    results = pb.evaluate(posterior, predictions, k=1, progress=False)
    row = pb.summary(results, ci_prob=0.5).iloc[0]
    values = results["top1_accuracy_total"].values[0]
    assert [row["total_lower"], row["total_upper"]] == pytest.approx(np.quantile(values, [0.25, 0.75]).tolist())
    assert row["sampling_sd"] == pytest.approx(results["top1_accuracy_sampling"].values[0].std(ddof=1))


@pytest.mark.parametrize("options", [{"replicates": 0}, {"groups": ["one"] * N}])
def test_sampling_noise_may_be_unknown(posterior, predictions, options):
    results = pb.evaluate(posterior, predictions, k=1, progress=False, **options)
    assert pb.summary(results)[["total_lower", "total_upper", "sampling_sd"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": [1, 2]}, "groups must have one value for each of the 12 cases, but 2 were given"),
        ({"groups": [None] * N}, "must belong to a group, but None was given"),
        ({"groups": [float("nan")] * N}, "must belong to a group, but nan was given"),
        ({"groups": [[1]] * N}, r"must belong to a group, but \[1\] was given"),
        ({"groups": "patient"}, "groups must be one value per case"),
        ({"groups": {"nobody": 1}}, "there is no group for case"),
        ({"replicates": -1}, "replicates must be a whole number of at least 0, but -1 was given"),
        ({"replicates": 2.5}, "replicates must be a whole number"),
    ],
)
def test_what_cannot_be_resampled_is_refused(posterior, predictions, options, message):
    with pytest.raises(ArgumentError, match=message):
        pb.evaluate(posterior, predictions, progress=False, **options)
