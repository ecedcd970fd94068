"""Predictive checks: statistics by literal loops, replicates by their distribution, and what is said of them."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare

import plausibly as pb
from plausibly.aggregation.model_comparison._predictive_check import _observed, _replicate
from plausibly.aggregation.model_comparison._statistics import DESCRIPTIONS, Said, statistics
from plausibly.data.annotations import Annotations, Slots
from plausibly.posterior import build_posterior, model_of
from tests import worlds

RANKINGS = [[[["a"], ["b", "c"]], [["b", "a"]], [["c"], ["a"], ["e"]]], [[["d"]], [["d"]]], [[["a", "e"], ["b"]]]]


def jaccard(sets):
    pairs = [len(x & y) / len(x | y) for x, y in combinations(sets, 2)]
    return np.mean(pairs) if pairs else np.nan


def literal(annotators):
    """Statistics of the blocks of one case."""
    first = [set(blocks[0]) for blocks in annotators]
    named = [set().union(*blocks) for blocks in annotators]
    place = [{name: i for i, block in enumerate(blocks) for name in block} for blocks in annotators]
    same = total = 0
    for one, other in combinations(place, 2):
        for x, y in combinations(sorted(one.keys() & other.keys()), 2):
            if one[x] != one[y] and other[x] != other[y]:
                total += 1
                same += (one[x] < one[y]) == (other[x] < other[y])
    count = {name: sum(name in block for block in first) for name in set().union(*first)}
    lone = [name for name in set().union(*named) if sum(name in one for one in named) == 1]
    return {
        "first_agreement": jaccard(first),
        "first_classes": len(count),
        "largest_share": max(count.values()) / len(annotators),
        "named_agreement": jaccard(named),
        "named_classes": len(set().union(*named)),
        "lone_classes": len(lone) if len(annotators) > 1 else np.nan,
        "order_agreement": same / total if total else np.nan,
    }


@pytest.mark.parametrize("case", range(3))
def test_statistics_are_those_of_literal_loops(case):
    annotations = Annotations.from_rankings(RANKINGS, classes=list("abcde"))
    found = statistics(_observed(annotations, case), rankings=True)
    expected = literal(RANKINGS[case])
    assert found.keys() == expected.keys() <= DESCRIPTIONS.keys()
    for name, value in expected.items():
        assert found[name].tolist() == pytest.approx([value], nan_ok=True), name


def test_replicates_are_plackett_luce_and_name_no_class_without_plausibility():
    weights = np.tile(np.array([0.5, 0.3, 0.15, 0.05], np.float32), (20_000, 1))
    said = Said([np.zeros((1, 3), int)], [np.array([0, 1, 1])], 4)
    again = _replicate(said, [weights], np.random.default_rng(0), rankings=True)
    classes = again.classes[0]
    assert classes.shape == (20_000, 3)
    assert (np.diff(np.sort(classes, axis=1), axis=1) > 0).all()
    pairs, expected = [], []
    for x, y in ((x, y) for x in range(4) for y in range(4) if x != y):
        pairs.append(((classes[:, 0] == x) & (classes[:, 1] == y)).sum())
        p = weights[0].astype(float)
        expected.append(20_000 * p[x] * p[y] / (1 - p[x]))
    assert chisquare(pairs, np.array(expected) / sum(expected) * 20_000).pvalue > 1e-4
    first = _replicate(said, [weights[:5]], np.random.default_rng(0), rankings=False)
    assert first.classes[0].shape == (5, 1)
    weights = np.tile(np.array([0.5, 0, 0.5, 0], np.float32), (200, 1))
    said = Said([np.zeros((1, 2), int)], [np.array([0, 1])], 4)
    again = _replicate(said, [weights], np.random.default_rng(0), rankings=True)
    assert again.n_classes == 2


def dirichlet_labels(n=80, seed=0):
    rng = np.random.default_rng(seed)
    return Annotations.from_counts(np.stack([rng.multinomial(6, row) for row in rng.dirichlet(np.ones(4), n)]))


def test_a_model_that_fits_reproduces_and_one_that_does_not_fails():
    annotations = dirichlet_labels()
    fitting = pb.aggregate(annotations, "dirichlet-categorical", progress=False)
    check = pb.predictive_check(fitting, replicates=200, progress=False)
    table = check.table.set_index("statistic")
    assert set(table["status"]) == {"reproduced", "not modelled", "given"}
    assert check.verdict() == "dirichlet-categorical@1 reproduces all 6 statistics that it models."
    # Labels hold no order.
    assert table.loc["order_agreement", "status"] == "not modelled"
    flat = pb.aggregate(annotations, "dirichlet-categorical", concentration=50, progress=False)
    failed = pb.predictive_check(flat, replicates=200, progress=False)
    row = failed.table.set_index("statistic").loc["first_agreement"]
    assert row["status"] == "not reproduced"
    assert row["observed"] > row["upper"] > row["mean"] > row["lower"]
    assert row["probability"] == 0
    assert "does not reproduce" in failed.verdict()
    assert "Annotators agree more than the model expects: raise the reliability" in failed.verdict()
    # What tells two posteriors apart is in their names.
    assert failed.model == "dirichlet-categorical@1:concentration=50"
    # Advice names what the model has.
    for chosen, advice in (((), "compare other models"), (("reliability",), "raise the reliability, or compare")):
        verdict = replace(failed, chosen=chosen).verdict()
        assert f"Annotators agree more than the model expects: {advice}" in verdict


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"model": "prirn", "ties": "full", "draws": 9}, "prirn@30:ties=full"),
        ({"reliability": 0.5}, "dirichlet-categorical@0.5"),
    ],
)
def test_a_posterior_is_named_by_what_is_not_the_default(arguments, name):
    annotations = Annotations.from_counts([[4, 1, 0], [0, 5, 0], [1, 1, 3]])
    posterior = pb.aggregate(annotations, **{"model": "dirichlet-categorical", "progress": False} | arguments)
    assert model_of(posterior) == name
    assert model_of(worlds.informed().posterior) == "dirichlet-categorical@1:class_prior=predictions"


def test_the_observed_values_are_means_over_cases_that_have_them():
    annotations = Annotations.from_rankings(RANKINGS, classes=list("abcde"))
    posterior = pb.aggregate(annotations, "prirn", draws=50, progress=False)
    check = pb.predictive_check(posterior, replicates=40, progress=False)
    expected = [literal(case) for case in RANKINGS]
    for name, value in expected[0].items():
        values = [case[name] for case in expected]
        assert float(check.observed.sel(statistic=name)) == pytest.approx(np.nanmean(values)), name
        np.testing.assert_allclose(check.by_case["observed"].sel(statistic=name), values, rtol=1e-6)
        assert np.isfinite(value)
    table = check.table.set_index("statistic")
    assert table.loc["tie_size", "observed"] == pytest.approx(13 / 10)
    assert table.loc["named_per_annotator", "observed"] == pytest.approx(13 / 6)
    assert set(table.index[table["status"] == "given"]) == {"tie_size", "named_per_annotator"}
    # PrIRN says nothing of what comes after a first choice.
    silent = {"named_agreement", "named_classes", "lone_classes", "order_agreement"}
    assert set(table.index[table["status"] == "not modelled"]) == silent
    assert check.replicated.sizes == {"statistic": 7, "replicate": 40}
    again = pb.predictive_check(posterior, replicates=40, progress=False)
    assert check.replicated.equals(again.replicated)


WHOLE = {"replicate": "rankings", "choice_power": None}  # what a posterior keeps of its model


def fixed(attrs, weights=(0.6, 0.4), counts=((30, 30),), annotations=None):
    """A posterior of one draw, the same in every case."""
    annotations = annotations or Annotations.from_counts(np.array(counts), classes=list("abcdef")[: len(weights)])
    point = np.tile(np.array(weights, np.float32), annotations.n_cases)
    slots = Slots.of(annotations)
    return build_posterior(point[None, None], annotations, slots, point=point, concentration=1.0, attrs=attrs)


def largest_share(posterior, replicates=2000):
    found = pb.predictive_check(posterior, replicates=replicates, progress=False)
    return found.replicated.sel(statistic="largest_share")


def test_annotators_draw_by_a_given_or_inferred_power_that_is_not_lost():
    attrs = {"model": "plackett-luce", "reliability": 3.0, "declaration": WHOLE | {"choice_power": 3.0}}
    found = pb.predictive_check(fixed(attrs), replicates=2000, progress=False)
    # Of sixty annotators a share 0.6³ / (0.6³ + 0.4³) = 0.771 names the first class.
    assert found.model == "plackett-luce@3"
    assert float(found.replicated.sel(statistic="largest_share").mean()) == pytest.approx(0.771, abs=0.01)
    plain = fixed({"model": "plackett-luce", "declaration": WHOLE})
    assert float(largest_share(plain).mean()) == pytest.approx(0.607, abs=0.01)
    posterior = fixed({"model": "tempered-plackett-luce", "declaration": WHOLE})
    posterior["posterior"]["reliability"] = (("chain", "draw"), np.array([[3.0]]))
    assert float(largest_share(posterior).mean()) == pytest.approx(0.771, abs=0.01)
    # 0.2 to the power of 100 is not a number of single precision.
    attrs = {"model": "plackett-luce", "reliability": 100.0, "declaration": WHOLE | {"choice_power": 100.0}}
    posterior = fixed(attrs, (0.2, 0.18, 0.17, 0.16, 0.15, 0.14), counts=((1,) * 6,))
    assert float(largest_share(posterior, replicates=50).min()) == 1


def test_each_annotator_draws_by_her_own_reliability():
    annotations = Annotations.from_rankings(
        {"cases": {str(i): {"ann": [["a"]], "bob": [["a"]], "cy": [["b"]]} for i in range(30)}}, classes=["a", "b", "c"]
    )
    attrs = {"model": "tempered-plackett-luce", "declaration": WHOLE}
    posterior = fixed(attrs, (0.5, 0.3, 0.2), annotations=annotations)
    powers = np.array([[[3.0, 1.0, 0.01]]])
    posterior["posterior"]["annotator_reliability"] = (("chain", "draw", "annotator"), powers)
    found = pb.predictive_check(posterior, replicates=2000, progress=False)
    p = np.array([0.5, 0.3, 0.2]) ** powers[0, 0][:, None]
    p /= p.sum(1, keepdims=True)
    # Of the 27 outcomes, the share of annotators who name the commonest class.
    expected = 0.0
    for outcome in np.ndindex(3, 3, 3):
        expected += np.prod(p[range(3), outcome]) * np.bincount(outcome).max() / 3
    assert float(found.replicated.sel(statistic="largest_share").mean()) == pytest.approx(expected, abs=0.005)
    same = np.mean([p[i] @ p[j] for i, j in combinations(range(3), 2)])
    assert float(found.replicated.sel(statistic="first_agreement").mean()) == pytest.approx(same, abs=0.005)


def test_cases_and_lone_annotators_are_checked_by_themselves():
    both = fixed({"model": "irn"}, counts=((2, 4), (3, 1)))
    one = pb.predictive_check(both, progress=False).by_case["expected"].sel(case="0")
    alone = pb.predictive_check(fixed({"model": "irn"}, counts=((2, 4),)), progress=False).by_case["expected"]
    np.testing.assert_array_equal(one, alone.sel(case="0"))
    posterior = pb.aggregate(Annotations.from_labels([["a"], ["b"]], classes="abc"), "majority-vote", progress=False)
    check = pb.predictive_check(posterior, progress=False)
    table = check.table.set_index("statistic")
    assert table.loc["first_classes", "status"] == "reproduced"
    assert table.loc["first_agreement", "status"] == "not modelled"
    assert np.isnan(table.loc["first_agreement", "observed"])
