"""The staged Plackett-Luce model: its likelihood, its sampler, what annotators share, and replicates of any length."""

from dataclasses import replace
from itertools import permutations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer.util import log_density
from scipy.stats import dirichlet

import plausibly as pb
from plausibly.aggregation import settle
from plausibly.aggregation.staged import _chains
from plausibly.errors import ArgumentError
from plausibly.model_comparison import _left_out_staged
from plausibly.model_comparison._left_out_staged import leave_out_staged
from plausibly.model_comparison._staged_replicates import StagedReplicates
from plausibly.model_comparison.folds import Folds
from plausibly.models.staged_plackett_luce import Stages, log_prob, staged_plackett_luce
from plausibly.priors.population import Population, case_priors, difficulties, estimate
from plausibly.priors.population.shared_stages import SharedStages
from plausibly.priors.population.staged_cases import StagedCases, propose

P = np.array([0.4, 0.3, 0.2, 0.1])
D = np.array([0.1, 0.2, 0.3, 0.4])
PI = np.array([0.25, 0.25, 0.3, 0.2])
ALL = Stages(0.6, 0.3, 0.7, 1.3, 0.4, 0.1, 0.2)
PAIRS = np.array([0, 1]), np.array([1, 2]), np.array([3.0, 1.0])
SHARED = SharedStages(ALL, 1.0, *PAIRS, np.full(4, 0.25), 2.0, own=False)


def probability(blocks, stages=ALL, p=P, **more):
    return float(np.exp(log_prob(p, blocks, D, PI, stages, xp=np, **more)))


def test_probabilities_sum_to_one_over_orders_and_are_plackett_luce_without_stages():
    for depth in (1, 2, 3, 4):
        total = sum(probability([[k] for k in order]) for order in permutations(range(4), depth))
        assert total == pytest.approx(1, abs=1e-9)
    tied = probability([[0], [1, 2], [3]])
    assert tied == pytest.approx(sum(probability([[0], [a], [b], [3]]) for a, b in ((1, 2), (2, 1))), abs=1e-12)
    three = probability([[0], [1, 2, 3]])
    assert three == pytest.approx(
        sum(probability([[0], *([k] for k in o)]) for o in permutations((1, 2, 3))), abs=1e-12
    )
    found = probability([[1], [0, 2]], Stages())
    assert found == pytest.approx(0.3 * (0.4 / 0.7 * 0.2 / 0.3 + 0.2 / 0.7 * 0.4 / 0.5), abs=1e-9)
    tempered = probability([[1]], Stages(), reliability=2.0)
    assert tempered == pytest.approx(0.09 / (P**2).sum(), abs=1e-9)
    # Divided by the population at the same power, it leaves the plausibilities of the case.
    blocks = [[1], [0], [2]]
    found = log_prob(P, blocks, PI, PI, Stages(0.6, 1.0, 0.6, 0.8, 0.8), xp=np)
    assert float(found) == pytest.approx(float(log_prob(P, blocks, D, PI, Stages(0.6), xp=np)), abs=1e-9)


@pytest.mark.parametrize("stages", [Stages(0.5), Stages(0.5, 0.4, 1.4), Stages(0.5, 0.4, 1.4, 0.6, 0.5)])
def test_classes_of_a_remainder_compete_one_by_one(stages):
    lumped, shares, rest = np.array([0.4, 0.3, 0.3]), np.array([0.3, 0.2, 0.5]), 1e7 * np.array([2 / 3, 1 / 3])
    each = np.append(shares[:2], 0.5 * rest / rest.sum())
    whole = log_prob(P, [[0], [1]], D, each, stages, xp=np)
    value = log_prob(lumped, [[0], [1]], D, shares, stages, rest=rest, xp=np)
    assert float(value) == pytest.approx(whole, abs=1e-6)


def test_numpy_and_jax_and_the_program_agree():
    stages = ALL._replace(stop=(0.2, 0.5, 1.0, -0.4, 0.3), tie=(-1.0, -0.5, -1.5, 0.4))
    blocks = [[[0], [1, 2]], [[3, 1]]]
    plain = [log_prob(P, one, D, PI, stages, xp=np) for one in blocks]
    other = jax.jit(lambda p: [log_prob(p, one, D, PI, stages) for one in blocks])(jnp.asarray(P))
    np.testing.assert_allclose(other, plain, rtol=1e-5)
    heads, shape = np.array([0.7, 0.3]), np.array([[1.0, 2, 1, 1], [2.0, 1, 1, 3]])
    arguments = (blocks, [D, D], PI, heads, shape, stages)
    density = jax.jit(lambda p: log_density(staged_plackett_luce, arguments, {}, {"plausibility": p})[0])(
        jnp.asarray(P)
    )
    prior = np.log(sum(w * dirichlet.pdf(P, a) for w, a in zip(heads, shape, strict=True)))
    assert float(density) == pytest.approx(prior + sum(plain), rel=1e-4)


def test_lengths_go_by_the_number_of_classes_and_stop_with_the_mass_that_is_left():
    stages = Stages(stop=(0.0, 1.0, 2.0, 0.0, 0.0), tie=(-1.0, -2.0, -3.0, 0.0))

    def of_lengths(blocks):
        return float(log_prob(P, blocks, D, PI, stages, xp=np) - log_prob(P, blocks, D, PI, Stages(), xp=np))

    tied, goes_on, single, ends = (1 / (1 + np.exp(-x)) for x in (-1, -1, 3, 2))
    assert of_lengths([[0, 1], [2]]) == pytest.approx(np.log(tied * goes_on * single * ends))
    stop = (0.0, 1.0, 2.0, -1.0, 0.0)
    one, two = (float(log_prob(P, b, D, PI, Stages(stop=stop), xp=np)) for b in ([[0]], [[0], [1]]))
    odds = -np.log(0.6)
    assert np.exp(one) == pytest.approx(0.4 / (1 + np.exp(-odds)), rel=1e-6)
    ends = 1 / (1 + np.exp(-(1 - np.log(0.3))))
    assert np.exp(two) == pytest.approx(0.4 * 0.5 * (1 - 1 / (1 + np.exp(-odds))) * ends, rel=1e-6)


def case_of_two():
    annotations = pb.Annotations.from_rankings([[[["a"], ["b"]], [["b"], ["a", "c"]], [["a"]]]], classes=list("abcd"))
    population = Population.of(list("abcd"), PI, concentration=3.0, self_share=0.5)
    return annotations, population, case_priors(population, annotations)


@pytest.mark.parametrize("more", [False, True])
def test_proposals_have_the_density_that_they_say(more):
    """Weighted by the likelihood, they give the mean that weighted draws from the prior give."""
    annotations, population, priors = case_of_two()
    cases = StagedCases.of(annotations, priors, SHARED, population)
    random = np.random.default_rng(0)
    logs, log_proposal = propose(cases, 0, random, 40_000, cases if more else None)
    log_weight = cases.log_likelihood(logs, ALL, 1.0)[:, 0] - log_proposal
    found = np.average(np.exp(logs), axis=0, weights=np.exp(log_weight))
    heads = random.choice(4, 40_000, p=np.exp(priors.log_weight[0]))
    prior = np.array([random.dirichlet(priors.shape[z]) for z in heads])
    weight = np.exp(cases.log_likelihood(np.log(np.maximum(prior, 1e-300)), ALL, 1.0)[:, 0])
    np.testing.assert_allclose(found, np.average(prior, axis=0, weights=weight), atol=0.01)


@pytest.mark.parametrize("reliability", [1.0, 1.6])
def test_all_cases_at_once_as_one_after_the_other(reliability):
    """Ties, remainders, lengths and carelessness included; a case does not know its own part of the dictionary."""
    rankings = [[[["a"], ["b", "c"]], [["b", "a"]]], [[["c"], ["a"], ["b"]], [["e"]]]]
    annotations = pb.Annotations.from_rankings(rankings, classes=list("abcdefgh"))
    population = Population.of(list("abcdefgh"), [0.3, 0.2, 0.2, 0.1, 0.197, 0.001, 0.001, 0.001], concentration=2.0)
    priors = case_priors(population, annotations)
    assert priors.slots.is_remainder.sum() == 2
    stages = ALL._replace(stop=(0.2, 0.5, 1.0, -0.4, 0.3), tie=(-1.0, -0.5, -1.5, 0.4))
    shared = SharedStages.count_namings(annotations, stages, reliability)
    cases = StagedCases.of(annotations, priors, shared, population)
    starts = priors.slots.start
    logs = np.random.default_rng(1).normal(size=(5, starts[-1]))
    for case in range(2):
        own = slice(*starts[case : case + 2])
        logs[:, own] -= np.log(np.exp(logs[:, own]).sum(1, keepdims=True))
    found = cases.by_annotation(logs, stages, reliability)
    for number, case in enumerate(annotations.annotation_case):
        own = slice(*starts[case : case + 2])
        index = priors.slots.class_index[own]
        unnamed = np.setdiff1d(np.arange(8), index)
        entries = slice(*annotations.annotation_start[number : number + 2])
        place = [int(np.flatnonzero(index == k)[0]) for k in annotations.entry_class[entries]]
        block = annotations.entry_block[entries]
        blocks = [[p for p, b in zip(place, block, strict=True) if b == at] for at in range(block.max() + 1)]

        def on_slots(shares, index=index, unnamed=unnamed):
            return np.append(shares[index[:-1]], shares[unnamed].sum())

        heads = annotations.entry_class[entries][block == 0]
        without = shared.without(annotations, case)
        follow = np.mean([without.follows(int(one)) for one in heads], axis=0)
        wanted = log_prob(
            np.exp(logs[:, own]),
            blocks,
            np.append(follow[index[:-1]], follow[unnamed]),
            on_slots(population.expected),
            stages,
            reliability=reliability,
            rest=2.0 * population.expected[unnamed],
            xp=np,
        )
        np.testing.assert_allclose(found[:, number], wanted, rtol=1e-6)


def test_chains_of_equal_weights_accept_everything():
    at, moved = _chains(np.zeros((2, 30)), np.random.default_rng(0))
    assert moved.all()
    assert (at == np.arange(30)).all()


@pytest.mark.slow
def test_it_samples_and_is_checked():
    annotations = pb.datasets.simulate_differentials(12, n_classes=6, seed=1).annotations
    posterior = pb.aggregate(annotations, "staged-plackett-luce", draws=40, chains=2, progress=False)
    totals = posterior["posterior"]["plausibility"].groupby("case").sum("slot")
    np.testing.assert_allclose(totals, 1, atol=1e-5)
    assert (posterior["sample_stats"]["acceptance_rate"].mean() > 0.1).all()
    table = pb.predictive_check(posterior, replicates=20, progress=False).table.set_index("statistic")
    assert table.loc["order_agreement", "status"] != "not modelled"
    again = SharedStages.read(posterior.attrs["stages"])
    assert again.stages.stop is not None
    off = {"later": "same", "follow": "none", "careless": "none", "lengths": "given"}
    settled = settle(annotations, "staged-plackett-luce", **off)
    assert settled.engine == "independence"


def test_replicates_choose_as_the_likelihood_says_and_draw_their_own_lengths():
    annotations, _, _ = case_of_two()
    made = StagedReplicates.of(SHARED, annotations, PI)
    n = 20_000
    classes, _ = made.replicate(made.follow(0), np.array([0, 1]), np.tile(P, (n, 1)), np.random.default_rng(0))
    found = np.zeros((4, 4))
    np.add.at(found, (classes[:, 0], classes[:, 1]), 1 / n)
    for one, two in permutations(range(4), 2):
        value = log_prob(P, [[one], [two]], SHARED.follows(one), PI, ALL, xp=np)
        assert found[one, two] == pytest.approx(np.exp(value), abs=0.012)
    annotations, _, _ = case_of_two()
    shared = replace(SHARED, stages=ALL._replace(stop=(0.0, 50.0, 50.0, 0.0, 0.0)))
    made = StagedReplicates.of(shared, annotations, PI)
    _, blocks = made.replicate(made.follow(0), np.array([0]), np.tile(P, (4000, 1)), np.random.default_rng(0))
    assert (blocks.max(1) == 0).mean() == pytest.approx(0.5, abs=0.04)


def test_left_out_annotations_by_weights(monkeypatch):
    """One annotation given the other, against weighted draws from the prior; a case of one, against the prior."""
    classes = list("abcd")
    monkeypatch.setattr(_left_out_staged, "PROPOSALS", 10_000)
    rankings = [[[["a"], ["b"]], [["b"], ["a", "c"]]], [[["c"]]]]
    annotations = pb.Annotations.from_rankings(rankings, classes=classes)
    stages = SharedStages(ALL, 1.3, *PAIRS, np.full(4, 0.25), 2.0, own=False)
    population = replace(Population.of(classes, PI, concentration=3.0, self_share=0.5), stages=stages)
    folds = Folds.of(annotations, None, 0)
    random = np.random.default_rng(0)
    heads = random.choice(4, 40_000, p=PI)
    prior = np.array([random.dirichlet(3 * population.profiles[z]) for z in heads])
    logs = np.log(np.maximum(prior, 1e-300))
    cases = StagedCases.of(annotations, case_priors(population, annotations), stages, population)
    assert not cases.priors.slots.is_remainder.any(), "every class has a slot of its own"
    logs = np.concatenate([logs, logs], axis=1)
    for of_rankings in (False, True):
        found, _, error = leave_out_staged(folds, population, of_rankings=of_rankings, seed=0, progress=False)
        evaluate = cases.by_annotation if of_rankings else cases.first_choices
        value, weight = np.exp(evaluate(logs, ALL, 1.3)), np.exp(cases.by_annotation(logs, ALL, 1.3))
        wanted = [np.average(value[:, one], weights=weight[:, 1 - one]) for one in (0, 1)]
        np.testing.assert_allclose(found, np.log([*wanted, value[:, 2].mean()]), atol=0.06)
        assert (error < 0.03).all()


def test_hard_cases_come_first():
    annotations = pb.Annotations.from_labels([["a", "b", "c", "d"], ["a"] * 4, ["b"] * 4], classes=list("abcd"))
    population = Population(np.array(list("abcd")), np.full(4, 0.25), np.full((4, 4), 0.25), 2.0, spread=1.0)
    table = difficulties(annotations, population)
    assert table["case"].tolist()[0] == "0"
    assert (table["difficulty"].diff().dropna() <= 0).all()
    found = estimate(annotations, draws=8, chains=2, warmup=4, difficulty=True)
    assert found.spread > 0
    with pytest.raises(ArgumentError, match="difficulty=True"):
        difficulties(annotations, Population.of(list("abcd"), PI, concentration=2.0))


def test_stages_are_read_as_written_and_those_of_another_version_refused(monkeypatch):
    text = SHARED.text()
    assert SharedStages.read(text).stages == ALL
    monkeypatch.setattr(Stages, "_fields", Stages._fields[1:])
    with pytest.raises(ArgumentError, match="another version of staged-plackett-luce wrote this posterior: aggregate"):
        SharedStages.read(text)
