"""Predictions tell the true class: the regression against enumeration, its sampler, and what reaches metrics."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax

import plausibly as pb
from plausibly.aggregation import unjudged
from plausibly.agreement.annotators import annotator_confusions
from plausibly.base.arviz import to_groups
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations.usual_models import one_truth_model
from plausibly.data.case import LabelledCases
from plausibly.data.regression import names, prior_moments
from plausibly.families.priors.evidence import log_scores
from plausibly.families.true_class import class_probabilities
from plausibly.families.true_class._coefficients import shares_of
from plausibly.models import MODELS
from tests.test_app.test_cli.run import plausibly
from tests.test_models.test_true_class import run_program

ALL = ["common-confusion", "dawid-skene", "one-coin"]
SHORT = {"draws": 30, "chains": 2, "warmup": 40, "progress": False}
aggregate = unjudged(pb.aggregate)  # chains are short on purpose


def crowd(n=60, k=3, people=6, right=0.75, noise=0.8, seed=0):
    """Labels by three of some people, the true classes, and scores of a good, a weaker and a useless classifier."""
    random = np.random.default_rng(seed)
    truth = random.integers(k, size=n)
    who = np.argsort(random.random((n, people)), axis=1)[:, :3]
    wrong = (truth[:, None] + random.integers(1, k, (n, 3))) % k
    named = np.where(random.random((n, 3)) < right, truth[:, None], wrong)
    columns = {"case": np.repeat([f"c{i:04}" for i in range(n)], 3)}
    columns |= {"annotator": [f"p{one}" for one in who.ravel()], "class": [f"k{one}" for one in named.ravel()]}
    seen = 2 * np.eye(k)[truth]
    scores = {name: softmax(seen + sd * random.normal(size=(n, k)), axis=1) for name, sd in (("A", noise), ("B", 1.5))}
    scores["useless"] = random.dirichlet(np.ones(k), n)
    classes = [f"k{one}" for one in range(k)]
    return pb.Annotations.from_table(pd.DataFrame(columns), classes=classes), truth, scores


def anonymous(annotations):
    return pb.Annotations.from_counts(LabelledCases.of(annotations).votes)


def small(alike=False):
    """Six labels of three cases, and two classifiers."""
    random = np.random.default_rng(3)
    labels = LabelledCases(*np.array([(0, 0, 1), (0, 2, 0), (1, 1, 2), (2, 0, 0), (2, 1, 0), (2, 2, 1)]).T, 3, 3, 3)
    labels = replace(labels, annotator=0 * labels.annotator, n_annotators=1) if alike else labels
    scores = np.stack([log_scores(random.dirichlet(np.ones(3), 3)) for _ in range(2)])
    return labels.with_scores(scores), random


def literal_shares(vector, labels):
    """Probabilities of true classes of every case, one number after the other."""
    delta, background, b0, b1, t0, t1, *offset = vector
    share = (1 + labels.votes.sum(0)) / (labels.n_classes + labels.votes.sum())
    e = expit(background)
    out = np.empty((labels.n_cases, labels.n_classes))
    for i in range(labels.n_cases):
        one, other = labels.log_scores[:, i]
        z = [
            b0 * one[k] + b1 * other[k] + t0 * (k == one.argmax()) + t1 * (k == other.argmax())
            + delta * np.log(share[k]) + (offset[k - 1] if k else 0)
            for k in range(labels.n_classes)
        ]  # fmt: skip
        out[i] = (1 - e) * softmax(z) + e * share
    return out


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_programs_and_the_sampler_give_labels_their_probability(name):
    sampler = MODELS[name].family
    labels, random = small(not sampler.named)
    vector = (np.multiply(*prior_moments(2, 3)[::-1]) + random.normal(size=8)).astype(np.float32)
    expected = literal_shares(vector, labels)
    np.testing.assert_allclose(shares_of(vector, labels), expected, rtol=1e-5)
    model = MODELS[name]
    sites, log_factor = run_program(model.program, labels, {"coefficients": vector})
    found = {site: sites[site].astype(float) for site in sampler.sites if site in sites}
    np.testing.assert_allclose(found["prevalence"], expected.mean(0), rtol=1e-5)
    confusion = sampler.confusion(found)
    joint = expected.copy()
    for i, who, named in zip(labels.case, labels.annotator, labels.label, strict=True):
        joint[i] *= confusion[who, :, named]
    shared = {site: value[None, None] for site, value in (found | {"coefficients": vector}).items()}
    plausibility, total = class_probabilities(sampler, labels, shared)
    for values in (sites["plausibility"], plausibility[0, 0]):
        np.testing.assert_allclose(values, joint / joint.sum(1, keepdims=True), rtol=1e-4)
    np.testing.assert_allclose(total[0, 0], np.log(joint.sum(1)), rtol=1e-4)
    np.testing.assert_allclose(log_factor, np.log(joint.sum(1)).sum(), rtol=1e-4)


@pytest.mark.slow
def test_shards_and_files_have_the_same_draws(tmp_path):
    annotations, _, scores = crowd(n=9)
    name, few = "dawid-skene", SHORT | {"difficulty": "same", "draws": 6, "warmup": 6}
    at_once = aggregate(annotations, name, predictions=scores, **few)
    evidence = json.loads(at_once.attrs["evidence"])
    assert (evidence["classifiers"], evidence["method"]) == (["A", "B", "useless"], "gibbs")
    found = aggregate(annotations, name, predictions=scores, out=tmp_path / "p.zarr", shard=4, **few)
    for group, data in to_groups(at_once).items():
        for variable in ("plausibility", "coefficients", "coefficient", "prevalence", "lp"):
            if variable in data.variables:
                ours = to_groups(found)[group][variable]
                if variable == "coefficient":
                    assert ours.values.tolist() == data[variable].values.tolist()
                else:  # arrays of another length may be rounded otherwise
                    np.testing.assert_allclose(ours, data[variable], rtol=1e-5)
                assert ours.dims == data[variable].dims
    assert found["posterior"]["coefficient"].values.tolist() == names(list(scores), annotations.classes).tolist()
    assert found.attrs["evidence"] == at_once.attrs["evidence"]
    changed = scores | {"A": scores["B"]}
    with pytest.raises(ArgumentError, match="class_prior was"):
        aggregate(annotations, name, predictions=changed, out=tmp_path / "p.zarr", shard=4, **few)


@pytest.mark.slow
def test_annotators_who_are_alike_need_no_names():
    annotations, _, scores = crowd(n=20)
    given = SHORT | {
        "draws": 10,
        "warmup": 10,
        "predictions": scores,
        "difficulty": "same",
    }  # by case, each label has random numbers of its own
    ours, theirs = (aggregate(a, "common-confusion", **given) for a in (annotations, anonymous(annotations)))
    np.testing.assert_array_equal(ours["posterior"]["plausibility"], theirs["posterior"]["plausibility"])
    table = annotator_confusions(theirs)
    assert set(table["annotator"]) == {"(all)"}
    assert len(table) == 9
    check = pb.predictive_check(theirs, replicates=20, progress=False)
    assert check.replicated.sizes["replicate"] == 20


@pytest.mark.slow
def test_cases_without_labels_have_what_predictions_say():
    annotations, truth, scores = crowd(n=80, noise=0.3)
    annotated = annotations.select(range(60))
    named = {name: pd.DataFrame(one, annotations.cases, annotations.classes) for name, one in scores.items()}
    found = aggregate(annotated, "common-confusion", predictions=named, extra="include", **SHORT)
    alone = aggregate(
        annotated, "common-confusion", predictions={name: one[:60] for name, one in scores.items()}, **SHORT
    )
    np.testing.assert_array_equal(found["posterior"]["coefficients"], alone["posterior"]["coefficients"])
    share = found["posterior"]["plausibility"].values.reshape(-1, 80, 3)
    labels = LabelledCases.of(annotated.with_cases(annotations.cases[60:]), alike=True)
    log_prevalence = LabelledCases.of(annotated).with_scores(np.zeros((3, 60, 3), np.float32)).log_prevalence
    labels = labels.with_scores(np.stack([log_scores(one) for one in scores.values()]), log_prevalence)
    vectors = found["posterior"]["coefficients"].values.reshape(len(share), -1)
    for draw in (0, 50):
        np.testing.assert_allclose(share[draw, 60:], shares_of(vectors[draw], labels)[60:], rtol=1e-4)
    assert (share[:, 60:].mean(0).argmax(1) == truth[60:]).mean() > 0.8


@pytest.mark.slow
def test_left_out_labels_are_better_predicted_with_predictions():
    annotations, _, scores = crowd(n=90, right=0.7, noise=0.4)
    known = {"model": "common-confusion", "class_prior": "predictions", "predictions": scores}
    compared = unjudged(pb.compare_models)(
        anonymous(annotations),
        {"alone": {"model": "common-confusion"}, "known": known},
        **SHORT | {"draws": 10, "warmup": 20},
    )
    elpd = compared.table["elpd"]
    assert elpd["known"] > elpd["alone"] + 5


def test_one_truth_has_the_model_that_annotators_allow():
    annotations, _, _ = crowd(n=60)
    chosen = [
        one_truth_model(a, predictions=True)
        for a in (annotations, anonymous(annotations), annotations.select(range(20)))
    ]
    assert [name for name, _ in chosen] == [
        "dawid-skene:class_prior=predictions",
        "common-confusion:class_prior=predictions",
        "common-confusion:class_prior=predictions",
    ]
    assert one_truth_model(annotations, predictions=False)[0] == "dawid-skene"


@pytest.mark.slow
def test_the_command_for_one_truth(tmp_path, no_report):
    annotations, _, scores = crowd(n=60)
    table = pd.DataFrame(LabelledCases.of(annotations).votes, columns=annotations.classes)
    table.insert(0, "case", annotations.cases)
    table.to_csv(tmp_path / "counts.csv", index=False)
    np.save(tmp_path / "a.npy", scores["A"])
    command = ["evaluate", str(tmp_path / "counts.csv"), "--predictions", f"A={tmp_path / 'a.npy'}", "--one-truth"]
    done = plausibly(*command, "--out", str(tmp_path / "out"), "--draws", "30", "--chains", "2", "--warmup", "40")
    assert done.exit_code == 0, done.stderr
    assert "common-confusion, because annotators are anonymous" in done.stderr
    found = pd.read_csv(tmp_path / "out" / "metrics.csv")
    assert set(found["model"]) == {"common-confusion:class_prior=predictions"}
    refused = plausibly(*command, "--model", "prirn", "--out", str(tmp_path / "out"))
    assert refused.exit_code == 2
    assert "--one-truth chooses the model" in refused.stderr
