"""Classifiers that repeat the vote, and honest ones, among annotators who are not alike."""

import numpy as np
import pytest

import plausibly as pb
from plausibly.evaluation.seen_labels import _at_most, above_ceiling, against
from tests.test_data.test_rounds import adjudicated, table_of

N = 300


def readers(seed, strict=0.4):
    """Order in which readers who differ in strictness are asked, what they say, and the mean share that says yes."""
    random = np.random.default_rng(seed)
    z = random.normal(size=N)
    share = 1 / (1 + np.exp(-(2.2 * z[:, None] - 1 + strict * random.normal(size=8))))
    who = random.permuted(np.tile(np.arange(8), (N, 1)), axis=1)
    return who, random.random((N, 8)) < np.take_along_axis(share, who, axis=1), share.mean(axis=1)


@pytest.mark.parametrize("design", ["adjudicated", "adjudicated, sorted", "recall"])
def test_who_repeats_the_vote_is_found_where_further_labels_follow_from_the_first(design):
    for seed in range(5):
        who, said, share = readers(seed)
        number = 1 + said[:, 0] if design == "recall" else adjudicated(said)
        read = pb.Annotations.from_table(
            table_of(who, said, number, ordered="sorted" not in design), classes=["well", "ill"]
        )
        yes = np.array([row[:n].mean() for row, n in zip(said, number, strict=True)])
        vote = np.where(yes == 0.5, said[:, 0], yes > 0.5)
        choice = np.array([share > 0.5, vote]).astype(int)
        assert above_ceiling(read, ["honest", "copy"], choice, np.arange(N), 0) == ["copy"]


def test_an_arbiter_who_errs_less_makes_nobody_a_copy():
    random = np.random.default_rng(1)
    truth = random.random(6000) < 0.4
    said = np.where(random.random((6000, 3)) < [0.7, 0.8, 0.95], truth[:, None], ~truth[:, None])
    who = np.tile(np.arange(3), (6000, 1))
    read = pb.Annotations.from_table(table_of(who, said, adjudicated(said)), classes=["well", "ill"])
    assert read.rounds.rule
    assert against(read, truth.astype(int), np.arange(6000)) is None  # the arbiter reads only where others differ


@pytest.mark.parametrize("skills", [(0.95, 0.95, 0.5), (0.97, 0.95, 0.93)])
def test_who_is_always_right_sides_with_the_few_as_often_as_expected(skills):
    random = np.random.default_rng(2)
    truth = random.random(4000) < 0.2
    said = np.where(random.random((4000, 3)) < skills, truth[:, None], ~truth[:, None]).astype(int)
    read = pb.Annotations.from_labels(said, classes=["well", "ill"], annotators=["ann", "bob", "cy"])
    seen, expected, error = against(read, truth.astype(int), np.arange(4000))
    assert abs(seen - expected) < 3 * error
    seen, expected, error = against(read, (said.sum(axis=1) > 1).astype(int), np.arange(4000))
    assert seen == 0
    assert expected > 4 * error
    few = read.select(read.cases[:N])
    assert above_ceiling(few, ["oracle"], truth[None, :N].astype(int), np.arange(N), 0) == []


def test_probabilities_of_few_that_agree_are_those_of_independent_labels():
    against_each = np.array([[0.2, 0.5, 0.9]])
    each = [
        np.prod([1 - d if yes else d for d, yes in zip(against_each[0], says, strict=True)])
        for says in np.ndindex(2, 2, 2)
    ]
    number = np.array([sum(says) for says in np.ndindex(2, 2, 2)])
    for most in range(4):
        assert _at_most(np.array([most]), against_each) == pytest.approx(np.array(each)[number <= most].sum())
