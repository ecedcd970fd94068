"""Gold labels of the suspicious: recognised, weighted if every kind of case has some, and random ones left alone."""

import re

import numpy as np
import pytest
from scipy.special import expit

import plausibly as pb
from plausibly.base.errors import ArgumentError
from plausibly.labels import read_gold, selected


def study(design, seed, n=600):
    """Truth, labels of three readers, scores, and which cases are verified."""
    random = np.random.default_rng(seed)
    ill = random.random(n) < 0.3
    z = np.where(ill, 0.8, -0.8) + random.normal(size=n)
    votes = random.random((n, 3)) < expit(2 * z)[:, None]
    score = expit(1.2 * z + np.where(ill, 0.4, -0.4) + 0.6 * random.normal(size=n))
    share = votes.mean(axis=1)
    chance = {
        "readers": np.where(share > 0.5, 0.9, np.where(share > 0, 0.4, 0.1)),
        "scores": 0.1 + 0.8 * score,
        "only": np.where(share > 0, 0.9, 0.0),
        "random": np.full(n, 0.4),
    }[design]
    return ill, votes, score, random.random(n) < chance


def found(design, seed=0, n=600):
    ill, votes, score, verified = study(design, seed, n)
    names = np.array(["ben", "mal"])
    labels = pb.Annotations.from_labels(names[votes.astype(int)].tolist(), classes=names)
    gold = read_gold({labels.cases[at]: names[int(ill[at])] for at in np.flatnonzero(verified)}, labels)
    return selected(gold, labels, {"A": np.c_[1 - score, score]}), ill, score, verified


def test_where_some_cases_are_never_verified_all_cannot_be_told():
    one, *_, verified = found("only")
    assert one.weights is None
    part = rf"\({verified.sum()} of 600\) are not a random part: '\w+' makes up \d+ % of their labels"
    assert re.search(part, one.told)
    assert re.search(r"None of the 2\d\d cases least like them has one", one.told)


def test_a_random_part_is_left_alone():
    assert [found("random", seed, 300)[0] for seed in range(20)] == [None] * 20


def test_few_cases_that_stand_for_many_are_said():
    random = np.random.default_rng(0)
    share = np.repeat([0.0, 1.0], [500, 100])
    gold = np.flatnonzero(random.random(600) < np.where(share > 0, 0.9, 0.03))
    labels = pb.Annotations.from_labels([["b" if one else "a"] for one in share], classes=["a", "b"])
    one = selected(read_gold({labels.cases[at]: "b" for at in gold}, labels), labels)
    few = int((share[gold] == 0).sum())
    assert one.told.endswith(f" {few} of them stand for 500 cases, so intervals may be too narrow.")


def test_what_differs_may_be_predictions_of_several_classes():
    random = np.random.default_rng(0)
    scores = random.dirichlet(np.ones(3), 500)
    labels = pb.Annotations.from_labels([[one] for one in random.choice(list("abc"), 500)], classes=list("abc"))
    gold = {labels.cases[at]: "a" for at in np.flatnonzero(random.random(500) < scores[:, 2])}
    labels = labels.with_cases([*labels.cases, "none"])  # a case without annotations
    told = selected(read_gold(gold, labels), labels, {"B": np.vstack([scores, np.ones(3) / 3])}).told
    assert "are not a random part: B gives 'c' 0." in told


def test_what_was_found_is_taken_as_weights():
    """Cases of a class that are seldom verified may be among those that are not, so intervals are wider."""
    one, ill, score, verified = found("readers", 1)
    at = np.flatnonzero(verified)
    known = pb.Annotations.from_labels([["ben", "mal"][i : i + 1] for i in ill[at].astype(int)], cases=one.cases)
    options = {"truth": "annotator", "metrics": "sensitivity", "progress": False}
    wide, narrow = (
        pb.summary(pb.evaluate(known, {"A": score[at]}, weights=weights, **options)).iloc[0]
        for weights in (one, one.by_case())
    )
    assert wide["mean"] == narrow["mean"]
    assert wide["total_lower"] < narrow["total_lower"]
    with pytest.raises(ArgumentError, match="weights of gold labels are needed, but there are none"):
        pb.evaluate(known, {"A": score[at]}, weights=found("only")[0], **options)
