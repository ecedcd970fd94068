"""Cases that differ in difficulty: looks against enumeration, moves of the sampler, and confidence against accuracy.

Looks, what annotators see, and true classes are written out here, one after the other.
"""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

import plausibly as pb
from plausibly.aggregation import unjudged
from plausibly.data.case import LabelledCases, Looks
from plausibly.families.priors.evidence import log_scores
from plausibly.families.true_class import class_probabilities
from plausibly.families.true_class._coefficients import shares_of
from plausibly.families.true_class._leave_out import _predict
from plausibly.families.true_class._sampler import sites_of
from plausibly.inference.draws import dirichlet
from plausibly.models import MODELS
from tests.test_models.test_true_class import run_program

ALL = ["common-confusion", "dawid-skene", "one-coin"]
aggregate = unjudged(pb.aggregate)  # chains are short on purpose


def literal_looks(k):
    """Kind, and probability of each class, of every look."""
    own, found = np.eye(k), [(a, np.eye(k)[a]) for a in range(k)]
    for a, b in combinations(range(k), 2):
        kind = found[-1][0] + 1
        found += [(kind, (6 - part) / 6 * own[a] + part / 6 * own[b]) for part in range(1, 6)]
    for a in range(k if k > 2 else 0):
        kind = found[-1][0] + 1
        found += [(kind, (6 - part) / 6 * own[a] + part / 6 / k) for part in range(1, 6)]
    return found


def literal_given_class(k, weights, true):
    """Probability of every look to one group if a class is true."""
    looks = literal_looks(k)
    size = [sum(kind == one for one, _ in looks) for kind, _ in looks]
    if weights.ndim == 1:
        joint = np.array([weights[kind] / n * share[true] for (kind, share), n in zip(looks, size, strict=True)])
        return joint / joint.sum()
    found = []
    for kind, share in looks:
        of_kind = sum(other[true] for one, other in looks if one == kind)
        within = 1.0 if kind < k else share[true] / of_kind if of_kind > 5 / 3 else 0.0
        found.append(weights[true, kind] * within)
    return np.array(found)


def literal(labels, which, true, confusion, weights):
    """Probability of some labels of a case if a class is true: sums over looks, and over what is seen at each label."""
    k, p = labels.n_classes, 1.0
    for group in range(labels.n_groups):
        own = [i for i in which if labels.group_of_annotator[labels.annotator[i]] == group]
        of_group = 0.0
        for chance, (_, share) in zip(literal_given_class(k, weights[group], true), literal_looks(k), strict=True):
            for seen in product(range(k), repeat=len(own)):
                term = chance
                for i, s in zip(own, seen, strict=True):
                    term *= share[s] * confusion[labels.annotator[i], s, labels.label[i]]
                of_group += term
        p *= of_group
    return p


def small(k, kind="one group", alike=False):
    """Six labels of three cases by three annotators, in one group or two, and what two classifiers say."""
    table = np.array([(0, 0, 1), (0, 2, 0), (1, 1, k - 1), (2, 0, 0), (2, 1, 0), (2, 2, 1)])
    labels = replace(LabelledCases(*table.T, 3, 3, k), looks=Looks.of(k))
    labels = replace(labels, annotator=0 * labels.annotator, n_annotators=1) if alike else labels
    if "two groups" in kind:
        labels = replace(labels, group=np.array([1, 1, 0]), together=(False, True))
    if "predictions" in kind:
        random = np.random.default_rng(3)
        labels = labels.with_scores(np.stack([log_scores(random.dirichlet(np.ones(k), 3)) for _ in range(2)]))
    return labels


@pytest.mark.parametrize("k", [2, 3])
def test_looks_are_those_that_are_listed(k):
    looks, listed = Looks.of(k), literal_looks(k)
    np.testing.assert_allclose(looks.shares, [share for _, share in listed], atol=1e-12)
    np.testing.assert_array_equal(looks.kind, [kind for kind, _ in listed])
    weights = np.random.default_rng(0).dirichlet(looks.prior)
    of_class = sum(weights[kind] / (1 if kind < k else 5) * share for kind, share in listed)
    np.testing.assert_allclose(looks.expected(weights), of_class)
    assert looks.prior.sum() == pytest.approx(4.5)
    assert len(looks.names([f"k{one}" for one in range(k)])) == len(looks.prior) == 1 + listed[-1][0]


def test_who_errs_together_may_take_a_case_for_another_class_and_others_may_not():
    looks = Looks.of(3)
    together, alone = looks.prior_by_class(True), looks.prior_by_class(False)
    np.testing.assert_allclose(together[:, :3], [[4, 0.25, 0.25], [0.25, 4, 0.25], [0.25, 0.25, 4]])
    np.testing.assert_allclose(alone[:, :3], 4 * np.eye(3))
    of_first = [name in ("a or b", "a or c", "a or any") for name in looks.names("abc")[3:]]
    for prior in (together, alone):
        np.testing.assert_allclose(prior[0, 3:], np.where(of_first, 0.5 / 3, 0))


def test_ten_classes_look_alike_in_pairs_and_more_do_not():
    assert len(Looks.of(10).prior) == 10 + 45 + 10
    assert len(Looks.of(11).prior) == 11 + 11
    assert Looks.of(11).names([f"k{one}" for one in range(11)])[-1] == "k10 or any"


@pytest.mark.parametrize("k", [2, 3, 12])
def test_products_of_many_labels_stay_within_single_precision(k):
    random, rights = np.random.default_rng(k), np.array([[0.999], [0.5], [1e-9]])
    numbers = np.array([60, 1, 25, 0, 3])  # of labels of each case
    case, n = np.repeat(np.arange(5), numbers), numbers.sum()
    given = {"case": case, "annotator": random.integers(3, size=n), "label": random.integers(k, size=n)}
    labels = LabelledCases(**given, n_cases=5, n_annotators=3, n_classes=k, looks=Looks.of(k))
    confusion = np.where(np.eye(k, dtype=bool), rights[..., None], (1 - rights[..., None]) / (k - 1))
    of_label = np.log(labels.looks.shares @ confusion)[labels.annotator, :, labels.label]
    logs = np.stack([of_label[case == at].sum(0) for at in range(5)])
    [(of_case, log_unit)] = labels.of_looks(confusion[None])
    found, near = np.log(of_case[0]) + log_unit[0][:, None], logs > logs.max(1, keepdims=True) - 40
    np.testing.assert_allclose(found[near], logs[near], rtol=1e-4, atol=1e-4)
    assert (found[~near] < np.broadcast_to(logs.max(1, keepdims=True), logs.shape)[~near] - 35).all()
    assert of_case.max(2).min() > 1e-8


CHECKED = [
    ("dawid-skene", "one group", 2),
    ("dawid-skene", "two groups, predictions", 3),
    ("one-coin", "two groups", 3),
    ("common-confusion", "predictions", 3),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind", "k"), CHECKED)
def test_programs_and_the_sampler_sum_out_looks(name, kind, k):
    model, family = MODELS[name], MODELS[name].family.where("by-case")
    labels = small(k, kind, alike=not family.named)
    sites, log_factor = run_program(model.program, labels, key=1)
    kept = sites_of(family, labels)
    assert kept.keys() <= sites.keys()
    found = {site: sites[site].astype(float) for site in kept}
    confusion, weights = family.confusion(found), found["looks"]
    prevalence = np.tile(found["prevalence"], (3, 1))
    if "predictions" in kind:
        prevalence = shares_of(found["coefficients"], labels)
        np.testing.assert_allclose(found["prevalence"], prevalence.mean(0), rtol=1e-5)
    elif kind == "one group":
        np.testing.assert_allclose(found["prevalence"], labels.looks.expected(weights)[0], rtol=1e-5)
    joint = np.array([
        [prevalence[i, c] * literal(labels, np.flatnonzero(labels.case == i), c, confusion, weights) for c in range(k)]
        for i in range(3)
    ])  # fmt: skip
    np.testing.assert_allclose(np.exp(labels.log_joint(prevalence, confusion, weights)), joint, rtol=1e-4)
    plausibility, total = class_probabilities(family, labels, {site: one[None, None] for site, one in found.items()})
    for values in (sites["plausibility"], plausibility[0, 0]):
        np.testing.assert_allclose(values, joint / joint.sum(1, keepdims=True), rtol=1e-4)
    np.testing.assert_allclose(total[0, 0], np.log(joint.sum(1)), rtol=1e-4)
    np.testing.assert_allclose(log_factor, np.log(joint.sum(1)).sum(), rtol=1e-4)
    if "accuracy" in family.sites:
        shares = np.array([share for _, share in literal_looks(k)])
        right = [
            sum(
                found["prevalence"][c]
                * (literal_given_class(k, weights[labels.group_of_annotator[r]], c) @ shares @ confusion[r, :, c])
                for c in range(k)
            )
            for r in range(3)
        ]
        np.testing.assert_allclose(found["accuracy"], right, rtol=1e-4)
        of_class = labels.looks.right(family.confusion(found), found["looks"], labels.group_of_annotator)
        np.testing.assert_allclose(of_class @ found["prevalence"], right, rtol=1e-4)


@pytest.mark.parametrize("kind", ["one group", "two groups", "predictions"])
def test_labels_left_out_are_predicted_by_their_definition(kind):
    """p(y_r | the others) as a ratio of two averages over draws, each label by itself, by enumeration."""
    rng, labels, family, n = np.random.default_rng(0), small(3, kind), MODELS["dawid-skene"].family, 3
    looks = labels.looks
    priors = [looks.prior] if labels.n_groups == 1 else [looks.prior_by_class(one) for one in labels.together]
    weights = np.array([[[np.where(prior > 0, dirichlet(prior, rng), 0) for prior in priors] for _ in range(n)]])
    shared = {"confusion": rng.dirichlet(np.ones(3), (1, n, 3, 3)), "looks": weights}
    shared["prevalence"] = rng.dirichlet(np.ones(3), (1, n))
    prevalence = np.repeat(shared["prevalence"][0][:, None], 3, axis=1)
    if kind == "predictions":
        shared["coefficients"] = rng.normal(size=(1, n, 8)).astype(np.float32)
        prevalence = np.array([shares_of(one, labels) for one in shared["coefficients"][0]])
    fold = np.array([0, 1, 0, 0, 1, 2])
    elpd, in_sample, error = _predict(family, labels, fold, shared)
    assert np.isfinite(error).all()

    def joint(m, case, which):
        given = shared["confusion"][0, m], weights[0, m]
        return sum(prevalence[m, case, c] * literal(labels, which, c, *given) for c in range(3))

    for i, case in enumerate(labels.case):
        own = np.flatnonzero(labels.case == case)
        others = [j for j in own if fold[j] != fold[i]]
        for given, found in ((others, elpd[i]), (list(own), in_sample[i])):
            top = np.mean([joint(m, case, [*given, i]) for m in range(n)])
            expected = np.log(top / np.mean([joint(m, case, given) for m in range(n)]))
            assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)


def unclear(n=300, people=5, k=2, share=0.5, right=0.95, seed=0):
    """Labels of cases of which some look like two classes, one of them true; annotators mostly name what they see."""
    random = np.random.default_rng(seed)
    first = random.integers(k, size=(n, 1))
    second = (first + random.integers(1, k, (n, 1))) % k
    proportion = np.where(random.random((n, 1)) < share, random.integers(1, 6, (n, 1)) / 6, 0)
    truth = np.where(random.random((n, 1)) < proportion, second, first)[:, 0]
    seen = np.where(random.random((n, people)) < proportion, second, first)
    named = np.where(random.random((n, people)) < right, seen, (seen + random.integers(1, k, (n, people))) % k)
    labels = [[f"k{one}" for one in row] for row in named]
    return pb.Annotations.from_labels(labels, annotators=[f"p{one}" for one in range(people)]), truth


@pytest.mark.parametrize("name", ALL[:2])
def test_confidence_is_accuracy_where_cases_are_unclear(name):
    annotations, truth = unclear()
    over = {}
    for difficulty in ("by-case", "same"):
        posterior = aggregate(annotations, name, difficulty=difficulty, draws=30, chains=1, warmup=40, progress=False)
        mean = posterior["posterior"]["plausibility"].values.reshape(30, len(truth), -1).mean(0)
        over[difficulty] = mean.max(1).mean() - (mean.argmax(1) == truth).mean()
    assert abs(over["by-case"]) < 0.05
    assert over["same"] > 0.1
