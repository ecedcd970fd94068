"""Cases with predictions and no annotations: in posteriors with evidence, used where right, and refused elsewhere."""

import importlib
import importlib.util
import inspect
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

import plausibly as pb
from plausibly.app.report.tables import strata_table
from plausibly.base.errors import AnnotationError, ArgumentError, PlausiblyWarning, PredictionError
from plausibly.data.annotations import Slots
from plausibly.data.predictions import with_predicted
from plausibly.families import priors
from tests.test_app.test_cli.run import plausibly

FEW = {"draws": 20, "chains": 2, "progress": False}
SAMPLED = pytest.param("plackett-luce", marks=pytest.mark.slow)  # whose draws are given those of a prior, too
REFUSED = "annotations of every case, but 3 of 12 cases have none, such as 'p9'"


def world(n=12, annotated=9, k=3, seed=0, labels=3):
    """Cases that two classifiers see through noise; the first of them have labels by named annotators."""
    random = np.random.default_rng(seed)
    plausibility = random.dirichlet(np.full(k, 0.4), n)
    logs = np.log(plausibility + 1e-3)
    cases, classes = [f"p{case}" for case in range(n)], [f"class{index}" for index in range(k)]
    scores = {
        name: pd.DataFrame(softmax(logs + noise * random.normal(size=logs.shape), axis=1), cases, classes)
        for name, noise in (("A", 0.5), ("B", 1.5))
    }
    chosen = [random.choice(k, labels, p=own).tolist() for own in plausibility[:annotated]]
    names = [f"reader{number}" for number in range(labels)]
    annotations = pb.Annotations.from_labels(chosen, classes, cases[:annotated], names)
    return plausibility, annotations, scores


def rows(scores, annotations):
    return {name: frame.loc[annotations.cases] for name, frame in scores.items()}


def draws_of(posterior):
    return posterior["posterior"]["plausibility"].values


def test_cases_without_annotations_are_asked_for():
    annotations = world()[1]
    more = annotations.with_cases(["p10", "p0", "p9"])
    assert more.cases.tolist() == [*annotations.cases, "p10", "p9"]
    assert more.annotated == annotations
    assert annotations.with_cases(annotations.cases) is annotations
    assert annotations.annotated is annotations
    assert "2 without annotations" in repr(more)
    mixed = more.select(["p9", "p3", "p10", "p0"])
    assert mixed.per_case.tolist() == [0, 3, 0, 3]
    assert mixed.rankings("p3") == annotations.rankings("p3")
    assert mixed.rankings("p9") == {}
    assert mixed.annotated == annotations.select(["p3", "p0"])
    assert more.select(["p9", "p10"]).n_annotations == 0


#: Functions that are right for cases without annotations; all others of the reference refuse these.
ACCEPT = {"aggregate", "annotations_of", "as_weighted_rows", "build_posterior", "case_draws", "choose_threshold"}
ACCEPT |= {"dense", "diagnose", "evaluate", "label_rows", "label_spread", "evidence_checks", "limits", "panels"}
ACCEPT |= {"plausibilities", "rank", "read_predictions"}
ACCEPT |= {"save", "selected", "simplex", "sweep", "top_classes", "trace", "truth_of_labels", "worst_chains"}
#: Functions of something else by the same name, or that need results or a posterior of another kind.
OTHERS = {"alpha", "annotator_accuracies", "annotator_confusions", "annotator_reliabilities", "case_prior"}
OTHERS |= {"corrupt_labels", "judgement", "ks", "measures_of_distances"}
OTHERS |= {
    "mean_ratings",
    "severities",
    "rank_probabilities",
    "rating_errors",
    "pathologies",
    "read",
    "read_annotations",
    "read_gold",
    "read_labels",
    "read_metadata",
    "read_risks",
    "sigma",
}


def reference():
    """Functions of the reference, with described parameters, that are given annotations or a posterior."""
    path = Path(__file__).parent.parent / "docs" / "_pages.py"
    if not path.exists():
        pytest.skip("the list of public modules is in the checkout")
    spec = importlib.util.spec_from_file_location("pages", path)
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    for name in set(pages.MODULES) - {"models"}:  # whose functions are programs
        module = importlib.import_module("plausibly" if name == "plausibly" else f"plausibly.{name}")
        for public, kind in pages.public_names(module):
            function = getattr(module, public)
            if kind == "autofunction" and "\nParameters\n" in (inspect.getdoc(function) or ""):
                given = {"annotations", "posterior", "source", "labels", "observed"} & {
                    *inspect.signature(function).parameters
                }
                if given and public not in OTHERS:
                    yield public, function, given.pop()


def test_every_function_is_right_for_them_or_refuses():
    _, annotations, scores = world()
    every = annotations.with_cases(scores["A"].index)
    posterior = pb.aggregate(every, predictions=rows(scores, every), **FEW)
    labels = {"A": {case: "class0" for case in every.cases}}
    given = {"predictions": rows(scores, every), "progress": False, "seed": 0}
    given |= {"models": {"dirichlet-categorical": [1, 2]}, "path": "x.json", "candidates": "categories"}
    given |= {"scores": dict.fromkeys(every.cases.tolist(), 0.5), "case": "p0"}
    tested, wrong = set(ACCEPT), {}
    for name, function, first in reference():
        if name in ACCEPT:
            continue
        parameters = inspect.signature(function).parameters
        own = {key: value for key, value in given.items() if key in parameters}
        if "agreement" in function.__module__ and "predictions" in own:
            own["predictions"] = labels
        own[first] = posterior if first == "posterior" else every
        try:
            function(**own)
            wrong[name] = "accepts them"
        except AnnotationError as error:
            wrong |= {} if REFUSED in str(error) else {name: str(error)}
        except Exception as error:  # which says that the test is wrong
            wrong[name] = repr(error)
        tested.add(name)
    assert list(wrong.items()) == []
    assert {"plan", "conformal", "compare_models", "audit", "agreement", "predictive_check"} <= tested
    for method in ("to_table", "to_rankings"):
        with pytest.raises(AnnotationError, match=REFUSED):
            getattr(every, method)()


@pytest.mark.parametrize("class_prior", [None, "learned"])
def test_posteriors_without_evidence_refuse_them(class_prior):
    _, annotations, scores = world()
    every = annotations.with_cases(scores["A"].index)
    of_every_prior = "dirichlet-categorical", "plackett-luce", "prirn"
    for model in of_every_prior if class_prior else (None, *of_every_prior, "majority-vote", "dawid-skene"):
        with pytest.raises(AnnotationError, match=REFUSED):
            pb.aggregate(every, model, class_prior=class_prior, progress=False)


@pytest.mark.parametrize("model", ["dirichlet-categorical", "prirn", SAMPLED])
def test_draws_of_annotated_cases_stay_as_they_are(model):
    _, annotations, scores = world(24, 16)
    how = {"class_prior": "predictions", "reliability": 1, "seed": 3, **FEW}
    alone = pb.aggregate(annotations, model, predictions=rows(scores, annotations), **how)
    every = annotations.with_cases(scores["A"].index)
    whole = pb.aggregate(every, model, predictions=scores, **how)
    n = draws_of(alone).shape[-1]
    np.testing.assert_array_equal(draws_of(whole)[..., :n], draws_of(alone))
    assert whole["observed_data"].sizes["case"] == 24
    likelihood = "pseudo_log_likelihood" if model == "prirn" else "log_likelihood"
    for group, name in ((likelihood, "ranking"), ("constant_data", "point_plausibility")):
        found, expected = (of[group][name].values for of in (whole, alone))
        np.testing.assert_allclose(found[..., : expected.shape[-1]], expected, rtol=1e-5)
        assert np.isfinite(found).all()


@pytest.mark.parametrize("model", ["dirichlet-categorical", SAMPLED])
def test_their_draws_are_those_of_the_prior_given_each_draw_of_the_shared_parameters(model):
    """A few annotated cases leave the shared parameters wide open, so draws given others would show."""
    _, annotations, scores = world(300, 12)
    every = annotations.with_cases(scores["A"].index)
    evidence = priors.Evidence.of(rows(scores, every), every)
    prior = priors.PredictionsPrior.learn(annotations, evidence, draws=1000, seed=0)
    found = draws_of(pb.aggregate(every, model, class_prior=prior, reliability=1, seed=0, progress=False))
    rest = every.select(every.cases[12:])
    numbers = np.arange(1000)
    if model == "plackett-luce":  # one draw of the parameters for 40 of the chains
        numbers = np.tile(np.linspace(0, 999, 25).round().astype(int), 40)
    shape = prior.shapes(rest, Slots.of_every_class(288, 3), numbers).reshape(1000, 288, 3).astype(float)
    total = shape.sum(-1, keepdims=True)
    mean = shape / total
    off = (found.reshape(1000, -1, 3)[:, -288:] - mean) / np.sqrt(mean * (1 - mean) / (total + 1))
    assert abs(off.mean()) < 0.02
    assert (off**2).mean() == pytest.approx(1, abs=0.02)
    of_draw = off[..., 0].mean(1) * np.sqrt(288)  # sensitive to parameters that differ between draws
    assert of_draw.std() == pytest.approx(1, abs=0.1)
    within = np.abs(np.corrcoef(mean[:, :, 0].mean(1), found.reshape(1000, -1, 3)[:, -288:, 0].mean(1))[0, 1])
    assert within > 0.8


@pytest.mark.slow
def test_cases_in_any_order():
    _, annotations, scores = world(24, 16)
    every = annotations.with_cases(scores["A"].index)
    evidence = priors.Evidence.of(rows(scores, every), every)
    prior = priors.PredictionsPrior.learn(annotations, evidence, draws=40, seed=0)
    for model in ("dirichlet-categorical", "plackett-luce"):
        how = {"class_prior": prior, "reliability": 1, **FEW}
        found = [pb.aggregate(of, model, **how) for of in (every, every.select(every.cases[::-1]))]
        for case in ("p3", "p20"):
            by_case = [pb.case_draws(of, case)["plausibility"].sortby("class_name").values for of in found]
            np.testing.assert_allclose(*by_case, rtol=1e-4, atol=1e-5)
        likelihoods = [of["log_likelihood"]["ranking"].values.mean((0, 1)) for of in found]
        turned = likelihoods[1].reshape(16, 3)[::-1].ravel()
        np.testing.assert_allclose(likelihoods[0], turned, rtol=1e-3)


@pytest.mark.slow
def test_shards_are_parts_of_the_whole(tmp_path):
    """Some shards have no annotations at all, others some."""
    _, annotations, scores = world(24, 16)
    for model in ("dirichlet-categorical", "plackett-luce"):
        how = {"class_prior": "predictions", "predictions": scores, "extra": "include", "reliability": 1, **FEW}
        whole = pb.aggregate(annotations, model, **how)
        parts = pb.aggregate(annotations, model, out=tmp_path / f"{model}.zarr", shard=5, **how)
        np.testing.assert_array_equal(draws_of(parts), draws_of(whole))
        again = pb.load(tmp_path / f"{model}.zarr", lazy=True)
        how_much = {"metrics": "top1_accuracy", "replicates": 0, "progress": False}
        results = [pb.evaluate(of, scores, **how_much) for of in (whole, again)]
        np.testing.assert_allclose(results[0]["top1_accuracy"], results[1]["top1_accuracy"])
        pb.save(whole, tmp_path / "whole.nc")
        assert pb.posterior.annotations_of(pb.load(tmp_path / "whole.nc"), every=False) == annotations.with_cases(
            scores["A"].index
        )
    changed = how | {"predictions": scores | {"A": scores["B"]}}
    with pytest.raises(ArgumentError, match="class_prior was"):
        pb.aggregate(annotations, model, out=tmp_path / f"{model}.zarr", shard=5, **changed)


@pytest.mark.slow
def test_many_classes():
    _, annotations, scores = world(30, 20, k=40)
    posterior = pb.aggregate(annotations, predictions=scores, extra="include", **FEW)
    total = posterior["posterior"]["plausibility"].groupby("case").sum()
    np.testing.assert_allclose(total.values, 1, rtol=1e-4)
    assert pb.evaluate(posterior, scores, metrics="top1_accuracy", progress=False)["top1_accuracy"].notnull().all()


@pytest.mark.slow
def test_accuracy_is_over_all_cases_and_agreement_over_annotated_ones():
    _, annotations, scores = world(60, 40)
    posterior = pb.aggregate(annotations, predictions=scores, extra="include", **FEW)
    patients = np.arange(60) // 2
    results = pb.evaluate(posterior, scores, clusters=patients, metrics="top1_accuracy", progress=False)
    assert results.sizes["case"] == 60
    by_case = results["top1_accuracy_by_case"]
    np.testing.assert_allclose(by_case.mean("case"), results["top1_accuracy"].mean("draw"), rtol=1e-5)
    most = draws_of(posterior).reshape(40, 60, 3).argmax(-1)
    expected = [(most == frame.to_numpy().argmax(1)).mean(1) for frame in scores.values()]
    np.testing.assert_allclose(results["top1_accuracy"], expected, rtol=1e-5)
    alone = pb.evaluation.panels(annotations, rows(scores, annotations), clusters=patients[:40])
    every = pb.evaluation.panels(annotations.with_cases(scores["A"].index), scores, clusters=patients)
    for name in alone.data_vars:
        np.testing.assert_allclose(every[name], alone[name], rtol=1e-5)
    assert every.attrs == alone.attrs
    for name in ("expert_agreement", "human_level"):
        np.testing.assert_allclose(results[name], alone[name], rtol=1e-6)
        assert results[name].attrs["n_cases"] == 40
    assert np.isnan(results["annotator_agreement"].values[40:]).all()
    assert np.isfinite(results["annotator_agreement"].values[:40]).all()
    how = {"truth": "annotator", "metrics": ["accuracy", "brier", "auroc"], "clusters": patients}
    found = pb.evaluate(posterior, scores, **how)
    expected = pb.evaluate(annotations, rows(scores, annotations), **how | {"clusters": patients[:40]})
    for name in expected.data_vars:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=1e-6)
    drawn = pb.evaluate(posterior, scores, truth="panel", metrics=["accuracy"], progress=False)
    assert drawn.attrs["readers"] == "others"
    assert drawn["accuracy"].sizes["draw"] == 40  # of all cases
    assert pb.evaluation.limits(annotations.with_cases(scores["A"].index)) == pb.evaluation.limits(annotations)
    checks = [pb.evaluation.evidence_checks(posterior, scores)]
    of_annotated = pb.aggregate(annotations, predictions=rows(scores, annotations), **FEW)
    checks.append(pb.evaluation.evidence_checks(of_annotated, rows(scores, annotations)))
    pd.testing.assert_frame_equal(*checks)


@pytest.mark.slow
def test_which_cases_are_included_and_which_classifiers_known(tmp_path):
    _, annotations, scores = world()
    with pytest.raises(PredictionError, match=r"row for case 'p9'.* extra=.include."):
        pb.aggregate(annotations, predictions=scores, **FEW)
    with pytest.warns(PlausiblyWarning, match="ignored 3 rows"):
        posterior = pb.aggregate(annotations, predictions=scores, extra="ignore", **FEW)
    assert posterior["observed_data"].sizes["case"] == 9
    with pytest.warns(PlausiblyWarning, match="ignored 3 rows"):
        pb.evaluate(posterior, scores, metrics=["top1_accuracy"], extra="ignore", progress=False)
    for name, frame in scores.items():
        frame.rename_axis("case").to_csv(tmp_path / f"{name}.csv")
    files = {name: tmp_path / f"{name}.csv" for name in scores}
    assert with_predicted(annotations, files) == with_predicted(annotations, scores)
    arrays = {name: frame.to_numpy() for name, frame in scores.items()}
    with pytest.raises(PredictionError, match="predictions of A: there are no names of cases"):
        pb.aggregate(annotations, predictions=arrays, extra="include", **FEW)
    named = pb.aggregate(annotations.with_cases(scores["A"].index), predictions=arrays, **FEW)
    np.testing.assert_allclose(
        draws_of(named), draws_of(pb.aggregate(annotations, predictions=files, extra="include", **FEW)), atol=1e-5
    )
    with pytest.raises(PredictionError, match="no row for case 'p11'"):
        pb.aggregate(annotations, predictions=scores | {"B": scores["B"][:-1]}, extra="include", **FEW)
    with pytest.raises(PredictionError, match="no row for case 'p0'"):
        pb.aggregate(annotations, predictions={"A": scores["A"][1:]}, extra="include", **FEW)
    with pytest.raises(ArgumentError, match="adds the cases of predictions, but there are none"):
        pb.aggregate(annotations, extra="include", **FEW)
    with pytest.raises(ArgumentError, match="extra must be"):
        pb.aggregate(annotations, predictions=scores, extra="all", **FEW)
    posterior = pb.aggregate(annotations, predictions={"A": scores["A"]}, extra="include", **FEW)
    with pytest.raises(ArgumentError, match=r"not those of B, so B is underrated: .* known by the predictions alone"):
        pb.evaluate(posterior, scores, metrics="top1_accuracy", progress=False)


@pytest.mark.slow
def test_a_sweep_and_its_report(tmp_path):
    _, annotations, scores = world(60, 40)
    model = {"dirichlet-categorical": [1]}
    with pytest.raises(AnnotationError, match="annotations of every case, but 20 of 60 cases have none"):
        pb.sweep(annotations, scores, model, extra="include", **FEW)
    model = {"evidence": {"model": "dirichlet-categorical", "reliability": 1, "class_prior": "predictions"}}
    how = {
        "weights": np.ones(60),
        "clusters": np.arange(60) // 3,
        "by": {"half": {f"p{n}": n // 30 for n in range(60)}},
    }
    swept = pb.sweep(annotations, scores, model, extra="include", **how, **FEW)
    posterior = pb.aggregate(annotations, predictions=scores, extra="include", **FEW)
    accuracy = {"metrics": "top1_accuracy", "progress": False}
    expected = pb.evaluate(posterior, scores, clusters=how["clusters"], **accuracy)["top1_accuracy"]
    np.testing.assert_allclose(swept.runs[0].results["top1_accuracy"], expected, rtol=1e-5)
    of_annotated = rows(scores, annotations)
    vote = pb.evaluate(pb.aggregate(annotations, "majority-vote", progress=False), of_annotated, **accuracy)
    np.testing.assert_allclose(swept.voted["top1_accuracy"][:, 0], vote["top1_accuracy"][:, 0], rtol=1e-6)
    alone = pb.evaluation.panels(annotations, of_annotated, clusters=how["clusters"][:40])
    np.testing.assert_allclose(swept.panels["expert_agreement_total"], alone["expert_agreement_total"], rtol=1e-5)
    pb.report(swept, tmp_path / "report.html", progress=False)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text.count("60 cases, of which 40 are annotated") >= 2  # at the top, in what it assumes
    assert "chosen at random, or by the predictions alone" in text
    assert "% of annotated cases" in text
    assert "majority vote of the 40 cases with annotations" in text
    (strata,) = strata_table(swept, 0.95, 0.5).values()
    assert strata["cases"].tolist()[-2:] == ["20 (few)", "40"]  # without annotator, with 2 or 3


@pytest.mark.slow
def test_the_command(tmp_path, no_report):
    _, annotations, scores = world(60, 40)
    pb.write_annotations(annotations, tmp_path / "annotations.json")
    for name, frame in scores.items():
        frame.rename_axis("case").to_csv(tmp_path / f"{name}.csv")
    given = [option for name in scores for option in ("--predictions", f"{name}={tmp_path / name}.csv")]
    command = [
        "evaluate",
        tmp_path / "annotations.json",
        *given,
        "--draws",
        20,
        "--chains",
        2,
        "--out",
        tmp_path / "out",
    ]
    assert plausibly(*command).exit_code == 2
    done = plausibly(*command, "--extra", "include")
    assert done.exit_code == 0
    assert "Accuracy is over 60 cases, of which 40 are annotated." in done.output
    certainty = pd.read_csv(tmp_path / "out" / "certainty.csv")
    assert len(certainty) == 60  # of one model: the published one knows nothing of the others
    refused = plausibly(*command, "--extra", "include", "--model", "dirichlet-categorical@1")
    assert refused.exit_code == 2
    assert "annotations of every case, but 20 of 60 cases have none" in refused.stderr
