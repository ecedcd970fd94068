"""Aggregation from end to end: the published case, every argument that is refused, and what a posterior holds."""

import functools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly import models
from plausibly.aggregation import SETTINGS, _on_demand, find_model, refit
from plausibly.base.arviz import HAS_INFERENCE_DATA, arviz, is_posterior, to_groups
from plausibly.base.errors import AnnotationError, ArgumentError
from plausibly.data.annotations import Annotations
from plausibly.data.datasets import published_case
from plausibly.models import MODELS
from plausibly.posterior import LIKELIHOODS, PSEUDO_LIKELIHOOD

REFERENCE = json.loads((Path(__file__).parent / "reference" / "published_case.json").read_text())
LABELS = Annotations.from_labels([["a", "a", "b"], ["b", "b", "b"]], classes=list("abcd"))
SCORED = pb.Annotations.from_scores(pd.DataFrame({"case": [0, 0, 1], "annotator": ["a", "b", "a"], "score": [1, 4, 2]}))
RANKED = Annotations.from_rankings({"cases": {"p": {"ann": [["a"], ["b", "c"]], "bob": [["b"]]}}}, classes=list("abcd"))
QUICK = {"draws": 4, "progress": False}


@pytest.mark.parametrize(
    "row", [row for row in REFERENCE["bounds"] if row["model"] != "plackett-luce"], ids=lambda row: row["model"]
)
def test_published_accuracies(row):
    case = published_case()
    # Likelihoods of the annotations and point estimates, which take longer than the draws, do not matter.
    posterior = refit(
        case.annotations, row["model"], **row["arguments"], draws=10_000, chains=1, seed=0, progress=False
    )
    options = {"metrics": "top3_accuracy", "replicates": 0, "progress": False}
    accuracy = pb.evaluate(posterior, case.predictions, **options)["top3_accuracy"].mean("draw")
    for classifier in ("Model A", "Model B"):
        if classifier in row:
            least, most = row[classifier]
            assert least <= float(accuracy.sel(classifier=classifier)) <= most


def boom(case, *, reliability, **_):
    raise ValueError("boom")


@pytest.mark.parametrize("model", [boom, replace(MODELS["prirn"], program=boom)])
def test_an_error_of_a_program_is_kept(model):
    with pytest.raises(
        ArgumentError, match=r"program boom raised ValueError: boom \(.*_aggregate.py, line \d+\)"
    ) as caught:
        pb.aggregate(RANKED, model, draws=4, progress=False)
    assert isinstance(caught.value.__cause__, ValueError)


def test_labels_need_one_class_each_and_cases_a_size_that_can_be_sampled():
    with pytest.raises(AnnotationError, match=r"one label per annotation, but case 'p', annotator 'ann' names 3: use"):
        pb.aggregate(RANKED, "dirichlet-categorical", progress=False)
    classes = [f"c{i}" for i in range(1500)]
    annotations = Annotations.from_rankings([[[["c1"]]], [[[name] for name in classes], [["c1"]]]], classes=classes)
    with pytest.raises(AnnotationError, match=r"about a thousand named classes, but in case '1' .* 1,500 of them in"):
        pb.aggregate(annotations, progress=False)
    assert pb.aggregate(annotations, "majority-vote", progress=False).attrs["model"] == "majority-vote"


SPARSE = {"concentration": 0.01}
EXTREMES = {
    "one class": ([[[[0]], [[0]]]], 1, {}),
    "every class named by everyone": ([[[[5], [0, 2], [1], [4, 3]], [[k] for k in range(6)]]], 6, {}),
    "two long ties": ([[[list(range(12)), list(range(12, 52))], [[3], [4]]]], 70, {}),
    "ten thousand classes": ([[[[17, 9999]], [[3], list(range(100, 120))]]], 10_000, {}),
    "weights without end": ([[[[0], list(range(1, 13))]] * 5], 20, {"reliability": 100, "mode": "temper"} | SPARSE),
}
QUICK_ONES = {"one class"}


@pytest.mark.parametrize(
    "name", [name if name in QUICK_ONES else pytest.param(name, marks=pytest.mark.slow) for name in EXTREMES]
)
def test_extremes_are_finite(name):
    rankings, n_classes, arguments = EXTREMES[name]
    annotations = Annotations.from_rankings(rankings, classes=[f"c{k:05d}" for k in range(n_classes)])
    posterior = pb.aggregate(annotations, "plackett-luce", draws=5, chains=1, warmup=10, progress=False, **arguments)
    draws = posterior["posterior"]["plausibility"].values
    np.testing.assert_allclose(draws.sum(-1), 1, atol=1e-4)
    groups = to_groups(posterior)
    for group in {"sample_stats", *LIKELIHOODS} & groups.keys():
        for values in groups[group].data_vars.values():
            assert np.isfinite(values.values).all()
    point = pb.aggregate(annotations, "plackett-luce-ml", progress=False)["posterior"]["plausibility"].values
    assert point.sum() == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    ("seed", "reliability"), [(0, 1), (0, 2.5), (np.int64(7), np.float32(3)), (2**32 - 1, 1e-30), (np.int32(4), 1e30)]
)
def test_numbers_of_all_kinds_are_taken(seed, reliability):
    posterior = pb.aggregate(LABELS, "dirichlet-categorical", reliability=reliability, seed=seed, chains=1, **QUICK)
    assert np.isfinite(posterior["posterior"]["plausibility"].values).all()
    assert posterior.attrs["reliability"] == float(reliability)
    assert posterior.attrs["seed"] == int(seed)


def test_every_seed_gives_draws_of_its_own():
    draws = [
        pb.aggregate(LABELS, "prirn", seed=seed, chains=1, **QUICK)["posterior"]["plausibility"].values
        for seed in (0, 1, 2**16, 2**31, 2**32 - 1)
    ]
    assert len({values.tobytes() for values in draws}) == 5


def test_the_posterior_says_how_it_came_about_and_zero_concentration_leaves_the_unnamed_nothing():
    posterior = pb.aggregate(RANKED, "prirn", reliability=12, ties="full", concentration=0.5, seed=9, chains=2, **QUICK)
    assert is_posterior(posterior)
    attrs = posterior.attrs
    assert (attrs["model"], attrs["engine"], attrs["seed"], attrs["reliability"]) == ("prirn", "exact", 9, 12.0)
    given = {"reliability": 12.0, "ties": "full", "concentration": 0.5, "draws": 4, "chains": 2}
    given |= {"class_prior": "uniform"}
    assert json.loads(attrs["arguments"]) == given
    versions = json.loads(attrs["versions"])
    assert versions["plausibly"] == pb.__version__
    assert {"jax", "jaxlib", "numpyro", "arviz", "numpy"} <= versions.keys()
    assert {"posterior", PSEUDO_LIKELIHOOD, "observed_data", "constant_data"} <= to_groups(posterior).keys()
    assert (int(arviz().__version__.split(".")[0]) < 1) == HAS_INFERENCE_DATA
    posterior = pb.aggregate(RANKED, "prirn", concentration=0, **QUICK)
    assert posterior["posterior"]["class_name"].values.tolist() == ["a", "b", "c"]
    dense = pb.dense(posterior)
    assert (dense[..., 3] == 0).all()
    np.testing.assert_allclose(dense.sum(-1), 1, rtol=1e-5)


@pytest.mark.parametrize("model", [name for name, known in MODELS.items() if "exact" in known.engines])
def test_points_are_what_posteriors_contract_to(model):
    annotations = {"dirichlet-categorical": LABELS, "normal-scores": SCORED}.get(model, RANKED)
    more = {"threshold": 1.5} if model == "normal-scores" else {}
    posterior = pb.aggregate(annotations, model, reliability=1e7, draws=100, progress=False, **more)
    point = posterior["constant_data"]["point_plausibility"].values
    assert np.abs(posterior["posterior"]["plausibility"].values - point).max() < 0.01


def test_defaults_and_the_table_of_models():
    assert SETTINGS == {"draws": 250, "chains": 4, "warmup": 300}
    for name, known in MODELS.items():
        assert find_model(name) is known
        names = {"reliability", "concentration", "mode", "unranked", "ties", "threshold", "prior"}
        names |= {
            "class_prior",
            "difficulty",
            "cutpoints",
            "raters",
        }
        assert known.arguments.keys() <= names
    partial = find_model(functools.partial(models.plackett_luce, mode="temper"))
    assert partial.arguments["mode"] == "temper"
    assert partial.arguments["reliability"] == 1.0


@pytest.mark.slow
def test_a_run_that_has_not_converged_is_called_so_by_name():
    posterior = pb.aggregate(RANKED, "plackett-luce", reliability=10, warmup=5, draws=8, chains=2, progress=False)
    found = pb.diagnose(posterior)
    assert found["case"].values[~found["converged"].values].tolist() == ["p"]
    assert posterior.attrs["converged"] == "0 of 1 cases"
    assert (found["ess_bulk"] < 200).all()


def test_relabelling_moves_the_labels_alone():
    """Named by other letters and with annotators in another order, the posterior is the same but for the order."""
    rename = dict(zip("abcd", "dbac", strict=True))
    other = Annotations.from_rankings(
        {"cases": {"p": {"bob": [[rename["b"]]], "ann": [[rename["a"]], [rename["b"], rename["c"]]]}}},
        classes=list("abcd"),
    )
    options = {"draws": 1000, "progress": False, "concentration": 1.0}
    found = []
    for annotations in (RANKED, other):
        posterior = pb.aggregate(annotations, "prirn", **options)
        p = posterior["posterior"]["plausibility"]
        ess = arviz().ess(p.to_dataset(name="p"), method="mean")["p"].values
        values = p.values.astype(float)
        point = posterior["constant_data"]["point_plausibility"].values
        stats = zip(values.mean((0, 1)), values.std((0, 1)) / np.sqrt(ess), point, strict=True)
        found.append(dict(zip(p["class_name"].values.tolist(), stats, strict=True)))
    for name, (mean, se, point) in found[0].items():
        again, other_se, other_point = found[1][rename.get(name, name)]
        assert abs(mean - again) < 5 * np.hypot(se, other_se)
        assert point == pytest.approx(other_point, abs=1e-4)


@pytest.mark.slow
def test_labels_and_rankings_have_default_models_of_their_own():
    labels = pb.aggregate(Annotations.from_labels([["a", "b"], ["a"]]), draws=10, chains=1, progress=False)
    assert (labels.attrs["model"], labels.attrs["reliability"]) == ("dirichlet-categorical", 1)
    rankings = pb.aggregate(RANKED, draws=10, chains=1, warmup=10, progress=False)
    assert [rankings.attrs[name] for name in ("model", "reliability", "class_prior")] == ["plackett-luce", 1, "learned"]
    named = pb.aggregate(RANKED, "plackett-luce", draws=10, chains=1, warmup=10, progress=False)
    assert [named.attrs[name] for name in ("reliability", "class_prior")] == [3, "uniform"]


@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
@pytest.mark.parametrize("name", [None, "p.nc", "p.zarr"])
def test_log_likelihoods_are_computed_when_they_are_read(monkeypatch, tmp_path, name):
    given = {"draws": 20, "chains": 2, "progress": False, "out": name and tmp_path / name}
    computed, compute = [], _on_demand.log_likelihood
    monkeypatch.setattr(_on_demand, "log_likelihood", lambda *a, **k: computed.append(a) or compute(*a, **k))
    posterior = pb.aggregate(LABELS, "dirichlet-categorical", **given)
    values = posterior["log_likelihood"]["ranking"]
    assert values.sizes == {"chain": 2, "draw": 20, "annotation": LABELS.n_annotations}
    assert (values["case"].values == LABELS.cases[LABELS.annotation_case]).all()
    assert not computed
    dense = pb.dense(posterior)
    expected = np.log(dense[:, LABELS.annotation_case, LABELS.entry_class]).reshape(2, 20, -1)
    np.testing.assert_allclose(values[:, 3:5, -1].values, expected[:, 3:5, -1], rtol=1e-5)
    assert computed[0][0].n_cases == 1
    np.testing.assert_allclose(values.values, expected, rtol=1e-5)
    assert arviz().loo(posterior) is not None
    if name:
        assert "log_likelihood" not in to_groups(pb.load(tmp_path / name))
        pb.save(posterior, tmp_path / "whole.nc")
        np.testing.assert_allclose(pb.load(tmp_path / "whole.nc")["log_likelihood"]["ranking"], values)


def test_iterated_point_estimates_are_computed_when_they_are_read(monkeypatch):
    computed, compute = [], _on_demand.point_estimate
    monkeypatch.setattr(_on_demand, "point_estimate", lambda *a, **k: computed.append(a) or compute(*a, **k))
    posterior = pb.aggregate(LABELS, "plackett-luce", chains=1, **QUICK)
    assert not computed
    constants = posterior["constant_data"]["point_plausibility"].variable
    np.testing.assert_allclose(constants[:2].values, [2 / 3, 1 / 3], atol=1e-4)
    np.testing.assert_allclose(constants.values, [2 / 3, 1 / 3, 0, 1, 0], atol=1e-4)
    assert len(computed) == 1


@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
@pytest.mark.parametrize(
    ("model", "given", "compared"),
    [
        ("dirichlet-categorical", {}, True),
        ("dirichlet-categorical", {"reliability": 3}, False),
        ("plackett-luce", {"reliability": 1}, True),
        ("plackett-luce", {"reliability": 3}, False),
        pytest.param("plackett-luce", {"reliability": 3, "mode": "temper"}, True, marks=pytest.mark.slow),
        ("plackett-luce", {"reliability": 1, "unranked": "ignore"}, False),
        ("prirn", {}, False),
    ],
)
def test_only_log_likelihoods_that_enter_once_are_read_by_arviz(model, given, compared):
    """A posterior to whose power annotations count, or that has no probability of them, has none for ArviZ."""
    how = {"draws": 20, "chains": 2, "progress": False} | ({"warmup": 20} if model == "plackett-luce" else {})
    posterior = pb.aggregate(LABELS, model, **how, **given)
    group = "log_likelihood" if compared else "pseudo_log_likelihood"
    assert np.isfinite(posterior[group]["ranking"].values).all()
    if compared:
        assert arviz().loo(posterior) is not None
    else:
        assert "log_likelihood" not in to_groups(posterior)
        with pytest.raises((TypeError, KeyError, ValueError, AttributeError), match=r"log.likelihood"):
            arviz().loo(posterior)  # as arviz.compare does for each model
