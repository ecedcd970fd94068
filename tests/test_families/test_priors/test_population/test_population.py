"""Population priors: the shared parameters, the prior of every case, and what of it reaches draws and metrics."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import gammaln

import plausibly as pb
from plausibly.aggregation import settle, unjudged
from plausibly.aggregation._with_population import Mixture, expected
from plausibly.families.priors.population import Population, estimate, shifts
from plausibly.posterior import top_classes

CLASSES = list("abcdefgh")
RANKED = pb.datasets.simulate_differentials(20, n_classes=8, seed=0).annotations
FEW = {"draws": 8, "chains": 2, "warmup": 8}


def uniform(classes, alpha=1.0):
    k = len(classes)
    return Population.of(classes, np.full(k, 1 / k), concentration=alpha * k)


def simulated(n=150, seed=0, per_case=4):
    """Labels of cases of two groups of classes that are named together."""
    random = np.random.default_rng(seed)
    groups = [[0.6, 0.3, 0.1, 0, 0, 0], [0, 0, 0, 0.2, 0.7, 0.1]]
    counts = [random.multinomial(per_case, random.dirichlet(4 * np.array(groups[i % 2]) + 1e-3)) for i in range(n)]
    return pb.Annotations.from_counts(counts)


def test_posteriors_under_a_uniform_population_one_head_and_several():
    """Infinite strength, uniform prevalence, no self share: exact expectations are equal."""
    settled = settle(RANKED, "prirn", reliability=10, class_prior=uniform(RANKED.classes, 0.3))
    mixture = Mixture.of(settled, RANKED)
    core = mixture.priors.core
    counts = 10 * pb.models.MODELS["irn"].point_estimate(pb.case.Entries.of(RANKED, core), ties="split")
    means = expected(mixture, counts)
    own = counts + 0.3 * core.n_classes
    plain = own / np.add.reduceat(own, core.start[:-1])[core.case]
    together = np.bincount(mixture.priors.core_of(), means, len(core))
    np.testing.assert_allclose(together, plain, atol=1e-6)
    # With all weight on one head, the posterior of a case is a Dirichlet with that head's shapes.
    annotations = pb.Annotations.from_labels([["a", "a", "b"]], classes=["a", "b", "c"])
    profiles = np.tile([0.5, 0.3, 0.2], (3, 1))
    population = Population(np.array(["a", "b", "c"]), np.array([1.0, 0, 0]), profiles, 4.0)
    posterior = pb.aggregate(annotations, "dirichlet-categorical", class_prior=population, progress=False)
    draws = pb.dense(posterior)[:, 0]
    shape = np.array([2 + 2.0, 1.2 + 1, 0.8])
    mean = shape / shape.sum()
    np.testing.assert_allclose(draws.mean(0), mean, atol=0.025)
    np.testing.assert_allclose(draws.var(0), mean * (1 - mean) / (shape.sum() + 1), rtol=0.25)
    # Posterior over heads and plausibilities, head by head.
    population = Population.of(["a", "b", "c"], [0.5, 0.3, 0.2], concentration=3.0, self_share=0.6)
    annotations = pb.Annotations.from_labels([["a", "b", "b"], ["c"]], classes=["a", "b", "c"])
    settled = settle(annotations, "dirichlet-categorical", class_prior=population)
    mixture = Mixture.of(settled, annotations)
    core = mixture.priors.core
    n = np.array([[1, 2, 0], [0, 0, 1]])
    counts = n[core.case, np.maximum(core.class_index, 0)] * ~core.is_remainder
    found = expected(mixture, counts)
    shape = 3.0 * population.profiles
    for case in range(2):
        logs = np.log(population.prevalence) + (gammaln(shape + n[case]) - gammaln(shape)).sum(1)
        weight = np.exp(logs) / np.exp(logs).sum()
        wanted = weight @ (shape + n[case]) / (3 + n[case].sum())
        own = mixture.priors.slots.case == case
        kept = mixture.priors.slots.class_index[own]
        named = kept >= 0
        np.testing.assert_allclose(found[own][named], wanted[kept[named]], atol=1e-9)
        np.testing.assert_allclose(found[own].sum(), 1, atol=1e-9)


def test_relabelling_classes_changes_labels_only():
    annotations = simulated(40)
    order = np.array([3, 1, 5, 0, 4, 2])
    counts = np.zeros((40, 6), int)
    np.add.at(counts, (annotations.entry_case, annotations.entry_class), 1)
    other = pb.Annotations.from_counts(counts[:, order])
    first, second = (estimate(a, **FEW) for a in (annotations, other))
    np.testing.assert_allclose(second.prevalence.sum(), 1)
    assert abs(np.log(first.concentration / second.concentration)) < 1.5
    same = pb.Annotations.from_rankings(
        [[[[RANKED.classes[k]] for k in (0, 1)]], [[[RANKED.classes[2]]]]], classes=list(RANKED.classes)
    )
    turned = pb.Annotations.from_rankings(
        [[[[RANKED.classes[k]] for k in (0, 1)]], [[[RANKED.classes[2]]]]], classes=list(RANKED.classes[::-1])
    )
    one, two = estimate(same, **FEW), estimate(turned, **FEW)
    np.testing.assert_allclose(one.prevalence, two.prevalence[::-1], atol=1e-12)
    np.testing.assert_allclose(one.profiles, two.profiles[::-1, ::-1], atol=1e-6)


def test_profiles_find_what_goes_together():
    population = estimate(simulated(), draws=40, warmup=60)
    shares = population.profiles
    across = population.prevalence @ np.block([[shares[:3, 3:].sum(1)], [shares[3:, :3].sum(1)]]).ravel()
    assert across < 0.1
    assert 0.3 < population.expected[:3].sum() < 0.7


def test_metrics_see_the_prior_of_the_remainder():
    """Lists and dense draws agree, and a common unnamed class comes before a rare one."""
    k = 12
    prevalence = np.array([0.5, 0.2, *[0.3 / 10] * 10])
    classes = [f"c{i}" for i in range(k)]
    population = Population.of(classes, prevalence, concentration=2.0)
    annotations = pb.Annotations.from_labels([["c5"], ["c5", "c6"]], classes=classes)
    posterior = pb.aggregate(annotations, "dirichlet-categorical", class_prior=population, draws=1000, progress=False)
    assert posterior["posterior"].sizes["slot"] > 5, "likely classes have slots of their own"
    dense = pb.dense(posterior)
    shares = 2 * prevalence
    for case, total in ((0, 1), (1, 2)):
        wanted = (shares + [(annotations.entry_class[annotations.entry_case == case] == c).sum() for c in range(k)]) / (
            2 + total
        )
        np.testing.assert_allclose(dense[:, case].mean(0), wanted, atol=0.02)
    lists = top_classes(posterior, 3)
    sorted_lists = np.argsort(-dense, axis=2)[:, :, :3]
    for place in range(3):
        one, two = (np.bincount(found[:, 0, place], minlength=k) / 4000 for found in (lists, sorted_lists))
        np.testing.assert_allclose(one, two, atol=0.04)
    assert json.loads(posterior.attrs["class_prior_shape"])[0] > 0.5


def test_shifts_name_what_is_pulled_also_by_hand():
    table = shifts(simulated(60), estimate(simulated(60), **FEW))
    assert list(table.columns) == ["class_name", "cases", "prevalence", "share", "plausibility", "shift", "lost"]
    assert (table["shift"].abs().diff().dropna() <= 1e-12).all()
    # Labels a, a, b under a prior of concentration 3 and means .1 and .9: b has 2.7 + 1 of 6, more than a.
    population = Population.of(["a", "b"], [0.1, 0.9], concentration=3.0)
    annotations = pb.Annotations.from_labels([["a", "a", "b"]], classes=["a", "b"])
    table = shifts(annotations, population).set_index("class_name").loc[["a", "b"]]
    np.testing.assert_allclose(table["share"], [2 / 3, 1 / 3], atol=1e-5)
    np.testing.assert_allclose(table["plausibility"], [2.3 / 6, 3.7 / 6])
    assert table["lost"].tolist() == [1, 0]


@pytest.mark.slow
def test_sampled_parameters_widen_expectations():
    annotations = simulated(30)
    population = estimate(annotations, samples=True, **FEW)
    with pytest.warns(pb.ConvergenceWarning, match="The population prior did not converge"):
        given = pb.aggregate(
            annotations, "dirichlet-categorical", class_prior=population, shared="sampled", draws=20, progress=False
        )
    totals = given["posterior"]["plausibility"].groupby("case").sum("slot")
    np.testing.assert_allclose(totals, 1, atol=1e-5)
    assert given.attrs["shared"] == "sampled"
    assert len(population.samples) == 2 * FEW["draws"]
    assert pb.dense(given).mean(0).std(0).max() > 0.1


def test_shards_give_the_same_draws(tmp_path):
    annotations = simulated(12)
    how = {"class_prior": "population", "draws": 20, "chains": 2, "progress": False}
    whole = unjudged(pb.aggregate)(annotations, "dirichlet-categorical", **how)
    parts = unjudged(pb.aggregate)(annotations, "dirichlet-categorical", **how, out=tmp_path / "p.zarr", shard=5)
    np.testing.assert_array_equal(whole["posterior"]["plausibility"].values, parts["posterior"]["plausibility"].values)


def test_draws_of_populations_take_turns_and_are_judged_one_after_the_other():
    several = SimpleNamespace(log_weight=np.zeros((len(RANKED.cases), 2)))
    mixture = Mixture(RANKED, several, SimpleNamespace(n_draws=3))
    blocks = np.repeat([[0, 100, 200]], [4, 3, 3], axis=1) + np.concatenate([np.arange(n) for n in (4, 3, 3)])
    saved = np.stack([blocks, blocks + 0.5], axis=0)[:, 0, mixture.turns(10), None].astype(float)
    assert saved[0, :, 0].tolist() == [0, 100, 200, 1, 101, 201, 2, 102, 202, 3]
    judged = mixture.judged(saved)[..., 0]
    assert judged[0].tolist() == [1, 3, 5, 7, 1, 3, 5, 1, 3, 5]
    assert judged[1].tolist() == [2, 4, 6, 8, 2, 4, 6, 2, 4, 6]
    tied = mixture.judged(np.zeros((2, 10, 1)))[..., 0]
    assert sorted(tied[:, :4].ravel()) == list(range(1, 9))
