"""Models of one true class: formulas against enumeration, the sampler's moves, comparison, and what is refused."""

import re
import shutil
import sys
from itertools import product

import jax
import numpy as np
import pandas as pd
import pytest
import zarr
from numpyro.handlers import seed, substitute, trace

import plausibly as pb
from plausibly.aggregation import unjudged
from plausibly.agreement.annotators import annotator_accuracies, annotator_confusions
from plausibly.app.results.posterior import of_chains, screen
from plausibly.base.arviz import to_groups
from plausibly.base.errors import FileError
from plausibly.data.annotations import Slots
from plausibly.data.case import LabelledCases
from plausibly.families.true_class import _sampler, class_probabilities
from plausibly.families.true_class._leave_out import _predict
from plausibly.inference.chains import Sampler
from plausibly.models import MODELS
from plausibly.posterior import Store
from plausibly.posterior.store_reading import read_fingerprint
from tests.test_app.test_cli.run import plausibly

skene = sys.modules[MODELS["dawid-skene"].program.__module__]
coin = sys.modules[MODELS["one-coin"].program.__module__]
BOTH = ["dawid-skene", "one-coin"]


def crowd(n=60, spammers=1, seed=0, k=3):
    """Labels by six annotators, of whom the last ones name classes at random."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    rows = []
    for i, who in product(range(n), range(6)):
        right = rng.random() < (0.8 if who < 6 - spammers else 1 / k)
        wrong = (truth[i] + rng.integers(1, k)) % k
        rows.append((f"c{i:03}", f"annotator {who}", f"k{truth[i] if right else wrong}"))
    table = pd.DataFrame(rows, columns=["case", "annotator", "class"])
    classes = [f"k{c}" for c in range(k)]
    return pb.Annotations.from_table(table, classes=classes), truth


LABELS = LabelledCases(*np.array([(0, 0, 1), (0, 2, 0), (1, 1, 2), (2, 0, 0), (2, 1, 0), (2, 2, 1)]).T, 3, 3, 3)
RNG = np.random.default_rng(1)
PREVALENCE, CONFUSION = RNG.dirichlet(np.ones(3)), RNG.dirichlet(np.ones(3), (3, 3))


def literal(case, k):
    """Probability of the true class k together with the labels of a case, one after the other."""
    p = PREVALENCE[k]
    for i, who, named in zip(LABELS.case, LABELS.annotator, LABELS.label, strict=True):
        p *= CONFUSION[who, k, named] if i == case else 1
    return p


def test_the_truth_is_summed_out_and_labels_are_counted_by_it():
    joint = np.array([[literal(i, k) for k in range(3)] for i in range(3)])
    np.testing.assert_allclose(LABELS.log_joint(PREVALENCE, CONFUSION), np.log(joint), rtol=1e-9)
    shared = {"prevalence": PREVALENCE[None, None], "confusion": CONFUSION[None, None]}
    plausibility, total = class_probabilities(MODELS["dawid-skene"].family, LABELS, shared)
    np.testing.assert_allclose(plausibility[0, 0], joint / joint.sum(1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(total[0, 0], np.log(joint.sum(1)), rtol=1e-6)
    counts = LABELS.count(np.array([2, 0, 1]))
    assert counts.sum() == 6
    assert counts[0, 2, 1] == counts[2, 2, 0] == counts[1, 0, 2] == counts[0, 1, 0] == counts[1, 1, 0] == 1
    np.testing.assert_array_equal(LABELS.votes, [[1, 1, 0], [0, 0, 1], [2, 1, 0]])


def run_program(program, labels, given=None, key=0):
    """Values of all sites, and the log factor of the labels; compiled as a whole, for every operation is a program."""

    @jax.jit
    def run(given):
        sites = trace(seed(substitute(program, given), key)).get_trace(labels)
        return {name: one["value"] for name, one in sites.items()}, sites["labels"]["fn"].log_factor

    values, log_factor = run(given or {})
    return {name: np.asarray(value) for name, value in values.items() if value is not None}, float(log_factor)


@pytest.mark.parametrize(
    ("name", "given"),
    [("dawid-skene", {"confusion": CONFUSION}), ("one-coin", {"log_odds": np.array([-1.0, 0.2, 2.0])})],
)
def test_programs_give_labels_the_same_probability(name, given):
    model = MODELS[name]
    sites, log_factor = run_program(model.program, LABELS, {"prevalence": PREVALENCE} | given)
    found = {site: sites[site].astype(float) for site in model.family.sites if site in sites}
    joint = np.exp(LABELS.log_joint(found["prevalence"], model.family.confusion(found)))
    np.testing.assert_allclose(sites["plausibility"], joint / joint.sum(1, keepdims=True), rtol=1e-4)
    np.testing.assert_allclose(log_factor, np.log(joint.sum(1)).sum(), rtol=1e-4)


@pytest.fixture(scope="module")
def fitted():
    annotations, truth = crowd()
    short = {"difficulty": "same", "draws": 60, "chains": 2, "warmup": 60, "progress": False}
    found = {name: unjudged(pb.aggregate)(annotations, name, **short) for name in BOTH}
    return found, truth


@pytest.mark.parametrize("name", BOTH)
def test_truth_and_the_spammer_are_found(fitted, name):
    posteriors, truth = fitted
    posterior = posteriors[name]
    assert posterior.attrs["assumes"] == "one true class"
    plausibility = posterior["posterior"]["plausibility"].values.reshape(120, 60, 3)
    np.testing.assert_allclose(plausibility.sum(-1), 1, atol=1e-5)
    assert (plausibility.mean(0).argmax(1) == truth).mean() >= 0.85
    table = annotator_accuracies(posterior)
    assert table["annotator"].iloc[-1] == "annotator 5"
    assert table["upper"].iloc[-1] < 0.6 < table["lower"].iloc[0] < 0.8 < table["upper"].iloc[0]
    assert table["labels"].eq(60).all()
    shared = to_groups(posterior)["shared_convergence"]
    assert {"accuracy of annotator 5", "prevalence of k2"} <= set(shared["quantity"].values)
    results, most = pb.evaluate(posterior, {}, progress=False), plausibility.mean(0).max(1)
    assert results.attrs["assumes"] == "one true class"
    off = np.abs(results["annotation_certainty_1"] - most)  # certainty is the probability of the true class
    assert (off < 4.5 * np.sqrt(most * (1 - most) / 120) + 0.01)[most > 0.6].all()


def test_confusions_are_quantiles_of_the_draws(fitted):
    posteriors, _ = fitted
    posterior = posteriors["dawid-skene"]
    table = annotator_confusions(posterior, ci_prob=0.5).set_index(["annotator", "true_class", "named_class"])
    assert len(table) == (1 + 6) * 9
    draws = posterior["posterior"]["confusion"].sel(annotator="annotator 2", true_class="k0", named_class="k1").values
    np.testing.assert_allclose(table.loc["annotator 2", "k0", "k1"], np.quantile(draws, [0.5, 0.25, 0.75]), rtol=1e-5)
    common = posterior["posterior"]["common_confusion"].sel(true_class="k2", named_class="k2").values
    assert table["probability"]["(all)", "k2", "k2"] == pytest.approx(np.median(common), rel=1e-5)


@pytest.mark.parametrize("name", BOTH)
def test_replicates_come_from_the_model(fitted, name):
    check = pb.predictive_check(fitted[0][name], replicates=60, progress=False)
    rows = check.table.set_index("statistic")
    assert rows.loc["first_agreement", "status"] == "reproduced"
    assert rows.loc["first_agreement", "observed"] == pytest.approx(rows.loc["first_agreement", "mean"], abs=0.08)


def test_labels_left_out_are_predicted_by_their_definition():
    """p(y_r | the others) as a ratio of two averages over draws, each label by itself, by enumeration."""
    rng = np.random.default_rng(0)
    shared = {"prevalence": rng.dirichlet(np.ones(3), (1, 20)), "confusion": rng.dirichlet(np.ones(3), (1, 20, 3, 3))}
    fold = np.array([0, 1, 0, 0, 1, 2])
    elpd, in_sample, _ = _predict(MODELS["dawid-skene"].family, LABELS, fold, shared)

    def joint(m, which):
        return sum(
            shared["prevalence"][0, m, k]
            * np.prod([shared["confusion"][0, m, LABELS.annotator[i], k, LABELS.label[i]] for i in which])
            for k in range(3)
        )

    for i in range(6):
        own = np.flatnonzero(LABELS.case == LABELS.case[i])
        others = [j for j in own if fold[j] != fold[i]]
        for given, found in ((others, elpd[i]), (list(own), in_sample[i])):
            top = np.mean([joint(m, [*given, i]) for m in range(20)])
            assert found == pytest.approx(np.log(top / np.mean([joint(m, given) for m in range(20)])))


@pytest.mark.slow
def test_comparison_says_that_cases_were_not_seen():
    annotations, _ = crowd(n=30)
    models = {"one-coin": {"draws": 40, "chains": 1, "warmup": 50}, "dirichlet-categorical": (1,)}
    compared = pb.compare_models(annotations, models, progress=False)
    assert "What cases share, for one-coin, was learned without the cases" in compared.verdict()
    elpd = compared.table["elpd"]
    assert elpd["one-coin"] > elpd["dirichlet-categorical@1"]
    assert np.isfinite(compared.pointwise["error"].values).all()


SHARDED = {"draws": 4, "chains": 3, "warmup": 4, "progress": False}


def same(found, expected):
    """Whether two posteriors agree: shards are judged by case, so all else is equal to the bit."""
    assert found.attrs.items() >= expected.attrs.items()
    for group, data in to_groups(expected).items():
        for name, variable in data.variables.items():
            if variable.dtype.kind == "f":
                np.testing.assert_allclose(to_groups(found)[group][name], variable, rtol=1e-6, atol=1e-9)
            else:
                np.testing.assert_array_equal(to_groups(found)[group][name], variable)


def test_a_model_of_ones_own_needs_no_options():
    coin = MODELS["one-coin"]
    own = pb.Model(name="own", program=coin.program, takes="labels", family=coin.family, shares=False)
    annotations, _ = crowd(n=6)
    posterior = unjudged(pb.aggregate)(annotations, own, **SHARDED)
    assert "looks" not in posterior["posterior"]
    assert "difficulty" not in posterior.attrs


def test_annotators_of_a_shard_are_those_of_all_cases(tmp_path):
    rows = [(f"c{i}", "xyz"[i // 2 :][j], "ab"[(i + j) % 2]) for i in range(4) for j in range(2 if i < 4 else 1)]
    annotations = pb.Annotations.from_table(pd.DataFrame(rows, columns=["case", "annotator", "class"]))
    at_once = pb.aggregate(annotations, "one-coin", **SHARDED)
    same(pb.aggregate(annotations, "one-coin", out=tmp_path / "p.zarr", shard=1, **SHARDED), at_once)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("after", "abreast", "again"), [(1, 9, [[0, 1, 2]]), (1, 2, [[0, 1], [2]]), (1, 1, [[1], [2]]), (4, 9, [])]
)
def test_finished_chains_and_shards_survive_an_interruption(monkeypatch, tmp_path, after, abreast, again):
    """Three chains and two shards; the process stops before it writes one more than ``after`` of these five."""
    annotations, _ = crowd(n=12)
    monkeypatch.setattr(_sampler, "abreast", lambda *n: abreast)
    expected = pb.aggregate(annotations, "one-coin", **SHARDED)
    written, sampled = [], []

    def until_stopped(real):
        def write(store, number, *given):
            if len(written) == after:
                raise KeyboardInterrupt
            written.append(number)
            real(store, number, *given)

        return write

    with monkeypatch.context() as patch:
        for method in ("keep_chain", "write"):
            patch.setattr(Store, method, until_stopped(getattr(Store, method)))
        with pytest.raises(KeyboardInterrupt):
            pb.aggregate(annotations, "one-coin", out=tmp_path / "p.zarr", shard=6, **SHARDED)
    real = Sampler.run
    monkeypatch.setattr(Sampler, "run", lambda own, group, *args: sampled.append(group) or real(own, group, *args))
    same(pb.aggregate(annotations, "one-coin", out=tmp_path / "p.zarr", shard=6, **SHARDED), expected)
    assert sampled == again


def test_a_damaged_chain_is_found(tmp_path):
    annotations, _ = crowd(n=6)
    pb.aggregate(annotations, "one-coin", out=tmp_path / "p.zarr", **SHARDED)
    shutil.rmtree(tmp_path / "p.zarr" / "chains" / "accuracy" / "c" / "0" / "0")
    with pytest.raises(FileError, match="3 chunks of chains/accuracy are lost"):
        pb.load(tmp_path / "p.zarr")


def test_a_chain_with_other_values_than_were_written_is_not_kept(tmp_path):
    annotations, _ = crowd(n=6)
    path = tmp_path / "p.zarr"
    pb.aggregate(annotations, "one-coin", out=path, **SHARDED)
    store = Store(path, read_fingerprint(path), annotations, Slots.of(annotations), shard=6)
    assert sorted(store.kept_chains()) == [0, 1, 2]
    zarr.open_group(path)["chains/accuracy"][..., 1] = 0.5  # with a checksum of the chunk that is right
    assert sorted(store.kept_chains()) == [0, 2]


@pytest.fixture(scope="module")
def two_camps():
    """Labels by two annotators, and two more who always contradict them: either camp may be right."""
    rows = [[a, a, b, b] for a, b in np.random.default_rng(0).permuted([["x", "y"]] * 30, axis=1)]
    return pb.Annotations.from_labels(rows, annotators=list("pqrs"))


@pytest.mark.slow
def test_chains_in_different_modes_are_told_once_and_not_to_draw_more(two_camps, tmp_path):
    words = r"in 30 of 30 cases \(dawid-skene: 30\).*in different modes .*more draws do not change \(chains? .*"
    words += r"\(log likelihood -[\d]+\); chains? .* differ on the true class of up to \d+% of the cases\)"
    with pytest.warns(pb.ConvergenceWarning, match=words) as told:
        posterior = pb.aggregate(two_camps, "dawid-skene", draws=100, warmup=60, seed=0, progress=False)
    assert not posterior["convergence"]["converged"].values.any()
    assert told[0].filename == __file__
    assert "use more draws" not in str(told[0].message)
    pb.write_annotations(two_camps, tmp_path / "a.json")
    short = "--draws", 20, "--warmup", 20, "--chains", 2
    out = plausibly("aggregate", tmp_path / "a.json", "--model", "dawid-skene", "--out", tmp_path / "p.nc", *short)
    assert out.exit_code == 0
    assert out.output.count("did not converge") == 1


def test_annotators_who_look_at_no_case_are_named():
    random = np.random.default_rng(0)
    truth = random.integers(0, 3, 100)
    says = {name: np.where(random.random(100) < 0.8, truth, random.integers(0, 3, 100)) for name in ("a", "b", "c")}
    says |= {"coin": random.integers(0, 3, 100), "same": np.ones(100, int)}
    rows = [(str(case), name, f"k{said[case]}") for name, said in says.items() for case in range(100)]
    labels = pb.Annotations.from_table(pd.DataFrame(rows, columns=["case", "annotator", "label"]))
    posterior = unjudged(pb.aggregate)(labels, "one-coin", draws=100, chains=2, warmup=50, progress=False)
    table = annotator_accuracies(posterior)
    assert table["always"].tolist().count("") == 4
    prevalence = posterior["posterior"]["prevalence"].mean(("chain", "draw")).sel(true_class="k1")
    np.testing.assert_allclose(table.set_index("annotator")["chance"]["same"], prevalence)
    found = pb.diagnose(posterior)
    told = screen(posterior, found).notes[0]
    assert re.match(
        "2 of 5 annotators need a look: (coin and same|same and coin) agree with the others no better", told
    )
    required = {row[0]: row[2] for row in of_chains(posterior, found, 3).table.rows}
    assert required["bulk ESS, cases"] == "at least 100"
    assert required["bulk ESS, shared"] == "at least 200 (100 for cases)"
