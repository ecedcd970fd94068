"""Comparing aggregation models: scores against closed forms and brute force, and which model is preferred."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
import xarray as xr
from numpyro.handlers import scale

import plausibly as pb
from plausibly.aggregation.model_comparison import _left_out
from plausibly.aggregation.model_comparison._left_out import K_HAT, _without_others
from plausibly.aggregation.model_comparison._summary import BASELINE, stacking
from plausibly.aggregation.model_comparison.folds import Folds
from plausibly.base.arviz import from_groups, pareto_smoothed, to_groups
from plausibly.data.annotations import Annotations
from tests.test_inference.oracles import literal

CLASSES = list("abcde")
RANKINGS = {
    "p": {"u": [["a"], ["b", "c"]], "v": [["b", "a"]], "w": [["a"], ["d"]]},
    "q": {"u": [["e"]], "v": [["e"]], "w": [["c", "d"], ["e"]], "x": [["e"]]},
    "lone": {"v": [["b", "e"], ["a"]]},
    "two": {"u": [["a"]], "x": [["b"]]},
}


def rankings():
    return Annotations.from_rankings({"cases": RANKINGS}, classes=CLASSES)


def labels(seed=0, n=40, k=4, annotators=5, concentration=0.5):
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(k, concentration), n)
    return Annotations.from_counts(np.stack([rng.multinomial(annotators, row) for row in truth]))


def by_model(compared, model):
    return compared.pointwise["elpd"].sel(model=model).values


def others(case):
    """Each annotation of a case, with the rest."""
    said = list(RANKINGS[case].values())
    return [(said[i], said[:i] + said[i + 1 :]) for i in range(len(said))]


def inverse_ranks(annotations, ties):
    weight = dict.fromkeys(CLASSES, 0.0)
    for blocks in annotations:
        for place, block in enumerate(blocks, start=1):
            for name in block:
                weight[name] += 1 / place / (len(block) if ties == "split" else 1)
    return weight


@pytest.mark.parametrize("ties", ["split", "full"])
def test_prirn_and_irn_are_scored_by_their_closed_forms(ties):
    models = {"prirn": (7.0,), "irn": None}
    compared = pb.compare_models(rankings(), models, ties=ties, concentration=0.3, progress=False)
    wanted = {"prirn@7": [], "irn": []}
    for case in RANKINGS:
        for left_out, rest in others(case):
            first = left_out[0]
            if not rest:
                wanted["prirn@7"].append(np.log(len(first) / 5))
                wanted["irn"].append(np.log(len(first) / 5))
                continue
            weight = inverse_ranks(rest, ties)
            total = sum(weight.values())
            mass = 7 * sum(weight[name] for name in first) / total
            # Every class, named or not, has the same prior shape.
            wanted["prirn@7"].append(np.log((mass + 0.3 * len(first)) / (7 + 5 * 0.3)))
            share = sum(weight[name] for name in first) / total
            wanted["irn"].append(np.log(share) if share else -np.inf)
    for model, values in wanted.items():
        np.testing.assert_allclose(by_model(compared, model), values, rtol=1e-6)
    assert compared.table.loc["irn", "impossible"] == np.isneginf(wanted["irn"]).sum() > 0
    assert compared.table.loc["irn", ["elpd", "elpd_diff"]].tolist() == [-np.inf, np.inf]
    verdicts = compared.table["verdict"]
    assert verdicts[["prirn@7", BASELINE, "irn"]].tolist() == ["no difference", "no difference", "worse"]
    assert (compared.table["error"] == 0).all()
    assert (compared.table["refits"] == 0).all()


def literal_labels(annotations, reliability, concentration):
    """Log probabilities of labels left out under Dirichlet-categorical, one after the other."""
    k = annotations.n_classes
    scores = []
    for case in range(annotations.n_cases):
        own = annotations.entry_class[annotations.entry_case == case]
        for i, label in enumerate(own):
            n = np.bincount(np.delete(own, i), minlength=k)
            mass, total = reliability * n[label] + concentration, reliability * n.sum() + k * concentration
            scores.append(np.log(mass / total))
    return np.array(scores)


def test_the_table_is_the_sum_of_scores_by_case():
    annotations = labels()
    compared = pb.compare_models(annotations, {"dirichlet-categorical": (1, 3), "majority-vote": None}, progress=False)
    scores = {r: literal_labels(annotations, r, 1.0) for r in (1, 3)}
    for r, values in scores.items():
        np.testing.assert_allclose(by_model(compared, f"dirichlet-categorical@{r}"), values, rtol=1e-6)
    assert compared.table.index.tolist()[0] == "dirichlet-categorical@1"
    sums = {r: [values[annotations.annotation_case == i].sum() for i in range(40)] for r, values in scores.items()}
    row = compared.table.loc["dirichlet-categorical@3"]
    assert row["elpd"] == pytest.approx(scores[3].sum())
    assert row["elpd_diff"] == pytest.approx(scores[1].sum() - scores[3].sum())
    assert row["se"] == pytest.approx(np.sqrt(40) * np.std(sums[3], ddof=1))
    assert row["dse"] == pytest.approx(np.sqrt(40) * np.std(np.subtract(sums[1], sums[3]), ddof=1))
    n = np.stack([np.bincount(annotations.entry_class[annotations.entry_case == i], minlength=4) for i in range(40)])
    inside = np.log((3 * n + 1) / (3 * 5 + 4))
    assert row["p"] == pytest.approx((n * inside).sum() - scores[3].sum())
    assert list(compared.table["rank"]) == [0, 1, 2, 3]
    assert set(compared.table["scale"]) == {"log"}
    columns = ["rank", "elpd", "p", "elpd_diff", "weight", "se", "dse", "warning", "scale"]
    assert list(compared.table.columns[:9]) == columns


@pytest.mark.slow
def test_plackett_luce_of_labels_is_sampled_to_the_closed_form():
    # By "exact" the posterior is Dirichlet(α + γ n) over all classes; by "lumped" those unnamed have shape α together.
    annotations = labels(n=15)
    given = {"model": "plackett-luce", "concentration": 0.5, "reliability": 2}
    models = {unranked: given | {"unranked": unranked} for unranked in ("exact", "lumped", "ignore")}
    compared = pb.compare_models(annotations, models, progress=False)
    expected = {"exact": literal_labels(annotations, 2, 0.5), "lumped": [], "ignore": []}
    for case in range(15):
        own = annotations.entry_class[annotations.entry_case == case]
        for i, label in enumerate(own):
            n = np.bincount(np.delete(own, i), minlength=4)
            unnamed = (n == 0).sum()
            total = 2 * n.sum() + 0.5 * (n > 0).sum()
            mass = 2 * n[label] + 0.5 if n[label] else 0.5 / unnamed
            expected["lumped"].append(np.log(mass / (total + 0.5 * (unnamed > 0))))
            expected["ignore"].append(np.log(mass / total) if n[label] else -np.inf)
    for model, values in expected.items():
        error = compared.pointwise["error"].sel(model=model).values
        found, values = by_model(compared, model), np.array(values)
        np.testing.assert_array_equal(np.isneginf(found), np.isneginf(values))
        finite = np.isfinite(values)
        assert (np.abs(found[finite] - values[finite]) < 5 * error[finite] + 1e-6).all()
    assert compared.table.loc["exact", "elpd"] == pytest.approx(
        expected["exact"].sum(), abs=4 * compared.table.loc["exact", "error"]
    )
    assert not compared.table["warning"].any()


def grid(n=60):
    """Points on the simplex of three, with the weights of a flat prior."""
    x, w = np.polynomial.legendre.leggauss(n)
    x, w = (x + 1) / 2, w / 2
    a, b = np.meshgrid(x, x)
    return a, (1 - a) * b, (1 - a) * (1 - b), np.outer(w, w) * (1 - a)


@cache
def ranked(observation):
    """A case of rankings, with Plackett-Luce by refits; the remainder of the full posterior is one class, e."""
    blocks = {"u": [["a"], ["b"]], "v": [["b"], ["a"]], "w": [["a"]], "x": [["c", "a"]]}
    annotations = Annotations.from_rankings({"cases": {"p": blocks}}, classes=["a", "b", "c", "e"])
    models = {"plackett-luce": (2, 1)}
    return pb.compare_models(annotations, models, observation=observation, method="refit", progress=False)


@pytest.mark.parametrize("observation", [pytest.param("first", marks=pytest.mark.slow), "ranking"])
def test_refits_agree_with_quadrature(observation):
    # Annotator x alone names c. Without x the slots are a, b and the remainder of c and e, which is lumped.
    a, b, rest, weight = grid()
    lambdas = {"a": a, "b": b, "r": rest}
    said = [[["a"], ["b"]], [["b"], ["a"]], [["a"]]]
    posterior = weight * np.prod([literal(blocks, lambdas) for blocks in said], axis=0) ** 2
    posterior = posterior / posterior.sum()
    if observation == "first":
        expected = np.log((posterior * (a + rest / 2)).sum())
    else:
        # A flat split of the remainder between c and e.
        x, w = np.polynomial.legendre.leggauss(20)
        shares = [(s, {"a": a, "b": b, "c": rest * s, "e": rest * (1 - s)}) for s in (x + 1) / 2]
        values = [(posterior * literal([["c", "a"]], lambdas)).sum() for _, lambdas in shares]
        expected = np.log(np.dot(w / 2, values))
    found = ranked(observation).pointwise.sel(model="plackett-luce@2").isel(annotation=3)
    assert bool(found["refitted"])
    assert float(found["elpd"]) == pytest.approx(expected, abs=4 * float(found["error"]))
    assert float(found["error"]) < 0.1


@pytest.mark.slow
def test_importance_sampling_agrees_with_refits_where_k_hat_is_small():
    blocks = {"u": [["a"], ["b"]], "v": [["b"], ["a"]], "w": [["a"]], "x": [["c", "a"]]}
    more = {**blocks, "y": [["a"]], "z": [["c"], ["b"]]}
    annotations = Annotations.from_rankings({"cases": {"p": more}}, classes=["a", "b", "c", "e"])
    models = {"plackett-luce": (1, 2)}
    for what in ("first", "ranking"):
        settings = {"observation": what, "progress": False}
        auto = pb.compare_models(annotations, models, **settings).pointwise.drop_sel(model=BASELINE)
        refit = pb.compare_models(annotations, models, method="refit", **settings).pointwise.sel(model=auto["model"])
        reweighted = ~auto["refitted"].values
        assert reweighted.sum() >= 6
        assert (auto["k_hat"].values[reweighted] <= K_HAT).all()
        error = np.hypot(auto["error"].values, refit["error"].values)
        assert (np.abs(auto["elpd"].values - refit["elpd"].values) < 4 * error + 0.01).all()
        assert refit["refitted"].values.all()
        assert np.isnan(refit["k_hat"].values).all()


def test_a_lone_dissenter_does_not_mislead():
    # Importance sampling from the posterior that knows a lone label cannot forget it: it overrates sparse priors.
    annotations = labels(seed=0, n=100, k=5, annotators=4, concentration=0.4)
    models = {a: {"model": "dirichlet-categorical", "concentration": a} for a in (0.03, 0.4)}
    compared = pb.compare_models(annotations, {f"α = {a}": given for a, given in models.items()}, progress=False)
    exact = {a: literal_labels(annotations, 1, a).sum() for a in models}
    naive = {}
    for a, given in models.items():
        groups = to_groups(pb.aggregate(annotations, **given, progress=False))
        value = groups["log_likelihood"]["ranking"].values.reshape(1000, -1).T.astype(float)
        weight, _ = pareto_smoothed(-value)
        naive[a] = np.log(np.exp(weight + value).sum(1)).sum()
    assert exact[0.4] > exact[0.03] + 100
    assert naive[0.03] > naive[0.4]
    for a in models:
        assert compared.table.loc[f"α = {a}", "elpd"] == pytest.approx(exact[a], rel=1e-6)
    assert compared.table.index[0] == "α = 0.4"
    assert compared.table["verdict"].tolist() == ["best", "worse", "worse"]


def test_equal_models_do_not_differ_and_none_is_best():
    # Plackett-Luce of single labels is Dirichlet-categorical: one is sampled, the other in closed form.
    models = {
        "dirichlet-categorical": (1,),
        "plackett-luce": {"reliability": 1, "unranked": "exact"},
        "again": {"model": "dirichlet-categorical"},
    }
    compared = pb.compare_models(labels(n=40, annotators=4), models, progress=False)
    assert compared.table["verdict"].drop(BASELINE).tolist() == ["no difference"] * 3
    assert "dirichlet-categorical@1 and again predict left-out annotations equally well" in compared.verdict()
    assert ", and do not clearly differ from plackett-luce" in compared.headline
    assert f"They predict better than {BASELINE}." in compared.headline
    annotations = pb.Annotations.from_labels([["a"], ["b"], ["a"]], classes=["a", "b"])
    compared = pb.compare_models(annotations, {"dirichlet-categorical": (1, 3)}, progress=False)
    assert compared.table["verdict"].tolist() == ["no difference"] * 3
    assert "predicts left-out annotations best" not in compared.verdict()


def test_folds_are_scored_given_the_other_folds():
    annotations = labels(n=12, annotators=6)
    compared = pb.compare_models(annotations, {"dirichlet-categorical": (1, 2)}, folds=3, seed=5, progress=False)
    folds = Folds.of(annotations, 3, 5)
    expected = []
    for r in range(annotations.n_annotations):
        same = annotations.annotation_case == annotations.annotation_case[r]
        train = annotations.entry_class[same & (folds.fold != folds.fold[r])]
        expected.append(np.log(((train == annotations.entry_class[r]).sum() + 1) / (len(train) + 4)))
        assert len(train) == 4
    np.testing.assert_allclose(by_model(compared, "dirichlet-categorical@1"), expected, rtol=1e-6)
    assert compared.pointwise.attrs["folds"] == 3


@pytest.mark.parametrize(("first", "again", "warned"), [(1, 0, False), (1, 1, True), (6, 0, True)])
def test_refits_that_did_not_converge_are_repeated_by_longer_chains(monkeypatch, first, again, warned):
    annotations = labels(n=10)
    calls = []

    def refit(some, model, **given):
        calls.append((some.n_cases, given))
        # Dirichlets in closed form stand for chains, of which the last some are said to have failed.
        given = {name: given[name] for name in ("draws", "seed", "progress")}
        posterior = pb.aggregate(some, "dirichlet-categorical", **given)
        good = np.arange(some.n_cases) < some.n_cases - (first if len(calls) == 1 else again)
        groups = to_groups(posterior)
        groups["convergence"] = xr.Dataset({"converged": ("case", good), "ess_bulk": ("case", np.full(len(good), 1e3))})
        return from_groups(groups, posterior.attrs)

    monkeypatch.setattr(_left_out, "refit", refit)
    models = {"plackett-luce": {"reliability": 1, "unranked": "exact", "draws": 50}, "majority-vote": None}
    compared = pb.compare_models(annotations, models, method="refit", progress=False)
    assert compared.table.loc["plackett-luce", "warning"] == warned
    (copies, given), *more = calls
    assert given["draws"] == 50
    assert copies > 20
    if first == 6:
        # A quarter of all: it is the chains that are too short.
        assert more == []
    else:
        ((copies, given),) = more
        assert copies == 1
        assert given["draws"] == 200
        assert given["warmup"] == 600
    error = compared.table.loc["plackett-luce", "error"]
    assert compared.table.loc["plackett-luce", "elpd"] == pytest.approx(
        literal_labels(annotations, 1, 1.0).sum(), abs=5 * error + 0.2
    )


@pytest.mark.slow
def test_tempered_annotators_choose_by_the_power():
    annotations = Annotations.from_counts([[3, 1]])
    models = {"plackett-luce": {"mode": "temper", "reliability": 2}, "majority-vote": None}
    compared = pb.compare_models(annotations, models, method="refit", progress=False)
    x, w = np.polynomial.legendre.leggauss(80)
    a, w = (x + 1) / 2, w / 2
    choice = a**2 / (a**2 + (1 - a) ** 2)
    for left_out, (n, m) in ((0, (2, 1)), (3, (3, 0))):
        posterior = w * choice**n * (1 - choice) ** m
        mean = (posterior * choice).sum() / posterior.sum()
        if left_out == 3:
            # Nobody else names the second class: it is all of the remainder, with the same prior.
            mean = 1 - mean
        found = compared.pointwise.sel(model="plackett-luce").isel(annotation=left_out)
        assert float(found["elpd"]) == pytest.approx(np.log(mean), abs=4 * float(found["error"]))


@pytest.mark.slow
def test_a_program_of_the_users_is_refitted():
    def own(case, *, reliability=1.0):
        share = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
        label = jnp.argmin(case.rankings.positions, axis=-1)
        with numpyro.plate("annotation", case.counts.shape[0]), scale(scale=reliability * case.counts):
            numpyro.sample("label", dist.Categorical(share), obs=label)

    annotations = Annotations.from_counts([[3, 2], [1, 4], [2, 2]])
    compared = pb.compare_models(
        annotations, {own: (1,), "dirichlet-categorical": (1,)}, draws=100, warmup=150, progress=False
    )
    assert set(compared.table.index) == {"own@1", "dirichlet-categorical@1", BASELINE}
    row = compared.table.loc["own@1"]
    expected = compared.table.loc["dirichlet-categorical@1", "elpd"]
    assert row["elpd"] == pytest.approx(expected, abs=4 * row["error"] + 1e-3)
    assert row["refits"] == annotations.n_annotations


def test_a_single_case_or_single_annotations_say_little():
    annotations = Annotations.from_rankings([[[["a", "b"]], [["b"], ["c"]]]], classes=CLASSES)
    compared = pb.compare_models(annotations, {"prirn": (1, 100)}, progress=False)
    assert np.isnan(compared.table["se"]).all()
    assert compared.table["verdict"].tolist() == ["unknown"] * 3
    others = " and ".join(compared.table.index[1:])
    assert f". Nothing can be said about {others}. Differences need" in compared.verdict()
    impossible = pb.compare_models(
        Annotations.from_labels([["a", "b"]]), {"irn": None, "majority-vote": None}, progress=False
    )
    assert impossible.table.index[0] == BASELINE
    assert impossible.verdict().startswith("No model predicts left-out annotations better")
    annotations = Annotations.from_rankings([[[["a", "b"]]], [[["c"]]]], classes=CLASSES)
    compared = pb.compare_models(annotations, {"prirn": (10,), "irn": None, "majority-vote": None}, progress=False)
    models = compared.table.drop(BASELINE)
    np.testing.assert_allclose(models["elpd"], np.log(2 / 5) + np.log(1 / 5))
    assert models["elpd_diff"].tolist() == [0, 0, 0]
    # Five classes in blocks of 2, 1 and 2: 5! / (2! 1! 2!) = 30 rankings, all alike to every model.
    whole = Annotations.from_rankings([[[["a", "b"], ["c"]]], [[["d"]]]], classes=CLASSES)
    np.testing.assert_allclose(_without_others(whole, of_rankings=True, prior=None), np.log([1 / 30, 1 / 5]))


@pytest.mark.slow
def test_predictions_inform_the_models_that_ask_for_them():
    annotations, truth = labels(), np.random.default_rng(0).dirichlet(np.full(4, 0.5), 40)
    scores = {"A": truth + 0.02}
    evidence = {"model": "dirichlet-categorical", "class_prior": "predictions"}
    models = {"dirichlet-categorical": None, "irn": None}
    informed = pb.compare_models(annotations, models | {"evidence": evidence}, predictions=scores, progress=False)
    alone = pb.compare_models(annotations, models, progress=False)
    for label in alone.table.index:
        np.testing.assert_array_equal(by_model(informed, label), by_model(alone, label))
    gain = by_model(informed, "evidence") - by_model(informed, "dirichlet-categorical@1")
    assert gain.mean() > 0.05
    useless = {"A": np.random.default_rng(1).random((40, 4))}
    found = pb.compare_models(annotations, {"irn": None, "evidence": evidence}, predictions=useless, progress=False)
    assert by_model(found, "evidence").mean() < by_model(informed, "evidence").mean() - 0.05


def test_stacking_maximises_the_score_of_the_mixture():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), (2, 50))[..., 0]
    weight = stacking(np.log(p))
    shares = np.linspace(0, 1, 10_001)
    best = shares[np.argmax(np.log(np.outer(shares, p[0]) + np.outer(1 - shares, p[1])).sum(1))]
    assert weight[0] == pytest.approx(best, abs=1e-3)
    # What nobody expects says nothing, and a model may find something impossible.
    some = np.array([[np.log(0.5), np.log(0.5), -np.inf], [np.log(0.9), -np.inf, -np.inf]])
    # log(0.5 w + 0.9 (1 - w)) + log(0.5 w) is greatest at w = 0.9 / 0.8, which is beyond 1.
    assert stacking(some).round(6).tolist() == [1, 0]
    assert stacking(np.full((2, 3), -np.inf)).tolist() == [0.5, 0.5]


def test_models_are_named_as_on_the_command_line():
    annotations = pb.Annotations.from_labels([["a", "a", "b"], ["b", "b"], ["a", "b"]])
    named = pb.compare_models(annotations, ["dirichlet-categorical", "plackett-luce@1"], draws=50, progress=False)
    given = {"dirichlet-categorical": None, "plackett-luce": (1,)}
    pd.testing.assert_frame_equal(named.table, pb.compare_models(annotations, given, draws=50, progress=False).table)
