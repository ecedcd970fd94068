"""Metrics of labels in an evaluation equal those of plain arrays, in every draw, replicate and group."""

from contextlib import nullcontext
from functools import cache

import numpy as np
import pytest
import xarray as xr
from sklearn.metrics import roc_auc_score

import plausibly as pb
from plausibly.app.report.of_labels import unusual
from plausibly.app.results.evaluation import of_labels
from plausibly.base.errors import ArgumentError, PlausiblyWarning
from plausibly.base.random_streams import Stream, exponentials, key_words
from plausibly.data.annotations import Slots
from plausibly.evaluation import by_group, comparison, summary
from plausibly.evaluation._label_order import Orders, Truths, order_values
from plausibly.evaluation.cautions import cautions
from plausibly.evaluation.truth import truth_of_labels
from plausibly.metrics import LABEL_METRICS, OrderMetric, SumMetric
from plausibly.posterior import build_posterior

N, DRAWS, REPLICATES = 25, 6, 12
ENDS = [0, 5, 6, 11]  # replicates at which a round of one for each draw begins or ends
# The same sizes of groups everywhere, since metrics are compiled for each.
SITE = np.array(["x"] * 12 + ["y"] * 13)
BY = {"by": {"site": SITE}, "replicates": REPLICATES}
CLOSE, NEAR = {"atol": 2e-5, "rtol": 1e-5}, {"atol": 5e-5, "rtol": 1e-5}
NAMES = [
    *("accuracy", "balanced_accuracy", "mcc", "kappa", "sensitivity", "ppv", "f1_macro", "f1_micro", "npv_weighted"),
    *("brier", "log_score", "calibration_error", "mean_absolute_error", "quadratic_kappa", "ranked_probability_score"),
    *("auroc", "average_precision", "roc_curve", "precision_recall_curve", "decision_curve", "net_benefit_of_all"),
    *("calibration_curve", "mean_predicted", "confusion", "classwise_calibration_error", "calibration_curve_by_class"),
    *("mean_predicted_by_class", "calibration_intercept", "calibration_temperature"),
]
LESS_NOISE = "calibration_error", "classwise_calibration_error"  # of replicates, by what is typical of all of them
POINTS = {
    "sensitivity_at_specificity_0.8": pb.metrics.sensitivity_at_specificity(0.8),
    "net_benefit_0.3": pb.metrics.net_benefit(0.3),
}


def of_every_class(draws, annotations, point=None):
    """A posterior of the draws (draw, case, class)."""
    flat = np.asarray(draws, np.float32).reshape(1, len(draws), -1)
    point = flat.mean((0, 1)) if point is None else np.ravel(point)
    slots = Slots.of_every_class(draws.shape[1], draws.shape[2])
    return build_posterior(flat, annotations, slots, point=point, concentration=1.0)


@cache
def world(n_classes, seed=0):
    """A posterior, predictions with ties, and their draws and point estimate."""
    random = np.random.default_rng(seed)
    draws = random.dirichlet(np.ones(n_classes), size=(DRAWS, N)).astype(np.float32)
    point = random.dirichlet(np.ones(n_classes), size=N).astype(np.float32)
    classes = [f"c{k}" for k in range(n_classes)]
    labels = [[str(one) for one in random.choice(classes, size=random.integers(2, 5))] for _ in range(N)]
    annotations = pb.Annotations.from_labels(labels, classes=classes, cases=[f"p{i}" for i in range(N)])
    posterior = of_every_class(draws, annotations, point)
    raw = random.integers(1, 5, (2, N, n_classes)).astype(np.float32)
    return posterior, annotations, dict(zip("AB", raw / raw.sum(-1, keepdims=True), strict=True)), draws, point


@cache
def usual(n_classes):
    """What is measured of a posterior if nothing is asked for."""
    posterior, _, predictions, _, _ = world(n_classes)
    return pb.evaluate(posterior, predictions, replicates=REPLICATES, progress=False)


def on_arrays(name, predictions, truth, weights=None):
    return np.asarray((LABEL_METRICS | POINTS)[name].on_arrays(predictions, truth, weights), float)


def replicated(cases, clusters=None, n_draws=DRAWS):
    words = key_words(0, cases if clusters is None else clusters, Stream.BOOTSTRAP)
    draws = np.arange(n_draws, dtype=np.uint32)
    rounds = [exponentials(words[:, None], draws, number) for number in range(-(-REPLICATES // n_draws))]
    return np.concatenate([np.asarray(one) for one in rounds], axis=1)


@pytest.fixture
def seen_cases(monkeypatch):
    """Replicates without the unseen case, which ``test_unseen_case.py`` tests."""
    for module in ("of_labels", "_evaluate"):
        monkeypatch.setattr(
            f"plausibly.evaluation.{module}.unseen_cases", lambda truth, words, members, *_: [None] * len(members)
        )


@pytest.mark.slow
@pytest.mark.usefixtures("seen_cases")
def test_every_draw_replicate_and_group():
    n_classes = 2  # of three, labels as truth are below
    posterior, annotations, predictions, draws, point = world(n_classes)
    weights = of_draws = np.random.default_rng(1).integers(0, 3, (DRAWS, N))
    patient = [f"q{i // 2}" for i in range(N)]
    names = [*NAMES, *POINTS]
    options = {"weights": weights, "clusters": patient} | BY
    found = pb.evaluate(posterior, predictions, metrics=names, **options, progress=False)
    assert not [name for name in found if str(name).startswith("top1_")]
    truth = np.eye(n_classes)[draws.argmax(-1)]
    mean = (truth * of_draws[..., None]).mean(axis=0)
    boot = replicated(annotations.cases, patient)
    for at, p in enumerate(predictions.values()):
        for group, inside in ((None, np.ones(N, bool)), ("site: x", SITE == "x")):
            suffix = "" if group is None else "_by_group"
            for name in names:

                def named(kind, name=name, at=at, group=group, suffix=suffix):
                    one = found[f"{name}{kind}{suffix}"]
                    return (one if group is None else one.sel(group=group)).isel(classifier=at).values

                expected = [on_arrays(name, p, truth[m], of_draws[m] * inside) for m in range(DRAWS)]
                np.testing.assert_allclose(named(""), np.stack(expected, axis=-1), err_msg=name, **CLOSE)
                of_point = np.eye(n_classes)[point.argmax(-1)]
                expected = on_arrays(name, p, of_point, of_draws.mean(axis=0) * inside)
                np.testing.assert_allclose(named("_point"), expected, err_msg=name, **CLOSE)
                if group is None:
                    total = mean.sum(axis=1)
                    shares = mean / np.where(total > 0, total, 1)[:, None]
                    shares[total == 0] = 1 / n_classes
                    if name not in LESS_NOISE:
                        expected = np.stack([on_arrays(name, p, shares, total * boot[:, r]) for r in ENDS], axis=-1)
                        np.testing.assert_allclose(named("_sampling")[..., ENDS], expected, err_msg=name, **NEAR)
                assert not np.isnan(named("_total")).all(), name


def test_cases_have_their_weights_in_every_draw():
    posterior, _, _, draws, _ = world(2)
    random = np.random.default_rng(1)
    weights, p = random.integers(0, 3, (DRAWS, N)), random.dirichlet((1, 1), N)
    options = {"metrics": ["accuracy", "brier"], "weights": weights, "replicates": 0, "progress": False}
    found = pb.evaluate(posterior, {"A": p}, **options)
    true = draws.argmax(-1)
    for name, of_case in {"accuracy": p.argmax(1) == true, "brier": (p[:, 1] - true) ** 2}.items():
        np.testing.assert_allclose(found[name].values[0], np.average(of_case, axis=1, weights=weights), **CLOSE)


@pytest.mark.slow
@pytest.mark.usefixtures("seen_cases")
@pytest.mark.parametrize(("truth", "n_classes"), [("annotator", 2), ("panel", 3)])
def test_labels_as_truth(truth, n_classes):
    posterior, annotations, predictions, _, _ = world(n_classes)
    names = NAMES
    options = {"metrics": names, "truth": truth, "panel": 2} | BY
    found = pb.evaluate(posterior, predictions, **options)
    xr.testing.assert_identical(found, pb.evaluate(annotations, predictions, **options))
    weights = truth_of_labels(annotations, truth, 2)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    boot = replicated(annotations.cases, n_draws=REPLICATES)
    inside = SITE == "x"
    for at, p in enumerate(predictions.values()):
        for name in names:
            one = found.isel(classifier=at)
            of_all, of_group = one[name].values[..., 0], one[f"{name}_by_group"].sel(group="site: x").values[..., 0]
            np.testing.assert_allclose(of_all, on_arrays(name, p, weights), err_msg=name, **CLOSE)
            np.testing.assert_allclose(of_group, on_arrays(name, p, weights, 1.0 * inside), err_msg=name, **CLOSE)
            if name not in LESS_NOISE:
                expected = np.stack([on_arrays(name, p, weights, boot[:, r]) for r in ENDS], axis=-1)
                np.testing.assert_allclose(one[f"{name}_sampling"][..., ENDS], expected, err_msg=name, **NEAR)


def test_classes_of_few_draws_do_not_move_means_over_classes():
    """Eight classes have a case each that is theirs in one draw of twenty; "A" names none of these."""
    random, n, k = np.random.default_rng(0), 80, 11
    sure = random.integers(0, 3, n)
    draws = np.tile(np.eye(k)[sure] * 0.9 + 0.1 / k, (100, 1, 1))
    for rare in range(8):
        draws[rare::20, rare] = np.eye(k)[3 + rare]
    annotations = pb.Annotations.from_labels([[f"c{c:02}"] for c in sure], classes=[f"c{c:02}" for c in range(k)])
    posterior = of_every_class(draws, annotations)
    p = np.eye(k)[np.where(random.random(n) < 0.9, sure, 0)]
    names = ["balanced_accuracy", "f1_macro", "accuracy"]
    found = pb.evaluate(posterior, {"A": p}, metrics=names, replicates=500, progress=False)
    for name in names:
        mean = found[name].mean().item()
        low, high = found[f"{name}_total"].quantile([0.03, 0.97], "replicate").values.ravel()
        assert low < mean < high
        assert found[f"{name}_total"].mean().item() == pytest.approx(mean, abs=0.02)  # an unseen case of each class


def test_sums_of_many_fractions_are_exact():
    random, n = np.random.default_rng(0), 200_000
    share = random.integers(0, 4, n) / 3
    score = np.round(np.clip(share + 0.4 * random.normal(size=n), 0, 1), 4)
    orders = Orders.of(np.stack([1 - score, score], axis=1)[None])
    found = order_values((LABEL_METRICS["auroc"],), orders, Truths(np.stack([1 - share, share], axis=1)))[0].item()
    weight, label = np.concatenate([1 - share, share]), np.repeat([0, 1], n)
    assert found == pytest.approx(roc_auc_score(label, np.tile(score, 2), sample_weight=weight), abs=1e-6)


def test_a_threshold_is_the_same_for_all_metrics():
    """The probability is 1 - 0.8, which is a little less than 0.2 in double precision."""
    annotations = pb.Annotations.from_labels([["yes"], ["no"]], classes=["no", "yes"])
    predictions = {"A": np.array([[0.8, 1 - 0.8], [0.9, 1 - 0.9]])}
    ask = {"metrics": ["sensitivity", "net_benefit_0.2"], "threshold": 0.2, "truth": "annotator", "replicates": 0}
    found = pb.evaluate(annotations, predictions, **ask)
    assert (found["sensitivity"].item(), found["net_benefit_0.2"].item()) == (1, 0.5)


def test_shares_of_annotators_and_panels_are_those_of_panels():
    _, annotations, predictions, _, _ = world(3)
    of_panels = pb.evaluation.panels(annotations, predictions, most=2, replicates=REPLICATES)
    for truth, expected in (("annotator", "expert_agreement"), ("panel", "panel_accuracy")):
        found = pb.evaluate(annotations, predictions, metrics="accuracy", truth=truth, panel=2, replicates=REPLICATES)
        known = of_panels[expected] if truth == "annotator" else of_panels[expected].sel(n=2)
        np.testing.assert_allclose(found["accuracy"][:, 0], known, atol=1e-6)
        total = of_panels[f"{expected}_total"]
        total = total if truth == "annotator" else total.sel(n=2)
        np.testing.assert_allclose(found["accuracy_total"], total, atol=1e-6)


def test_accuracy_is_that_of_lists():
    posterior, _, predictions, _, _ = world(3)
    found = pb.evaluate(posterior, predictions, metrics=["accuracy", "top1_accuracy"], **BY, progress=False)
    for kind in ("", "_point", "_sampling", "_total", "_by_group", "_total_by_group"):
        np.testing.assert_allclose(found[f"accuracy{kind}"], found[f"top1_accuracy{kind}"], atol=2e-6)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("probabilities", ["sensitivity", "specificity", "ppv", "npv", "brier", "auroc"]),
        ("logits", ["sensitivity", "specificity", "ppv", "npv", "auroc"]),
        ("hard labels", ["sensitivity", "specificity", "ppv", "npv"]),
    ],
)
def test_two_classes_have_the_metrics_that_suit_their_predictions(kind, expected):
    posterior, annotations, predictions, _, _ = world(2)
    b = predictions["B"]
    other = {"probabilities": b, "logits": np.log(b / b.sum(0)), "hard labels": np.eye(2)[b.argmax(axis=1)]}[kind]
    found = pb.evaluate(posterior, predictions | {"B": other}, replicates=REPLICATES, progress=False)
    assert list(dict.fromkeys(summary(found)["metric"])) == ["top1_accuracy", *expected]
    against = pb.evaluate(annotations, predictions | {"B": other}, truth="annotator", replicates=REPLICATES)
    assert list(dict.fromkeys(summary(against)["metric"])) == ["accuracy", *expected]
    assert ("positive: c1 from 0.5 on" in of_labels(against).table.title) == (kind == "probabilities")
    if kind == "probabilities":
        named = pb.evaluate(posterior, predictions, metrics=expected, replicates=REPLICATES, progress=False)
        assert list(dict.fromkeys(summary(named)["metric"])) == expected
        for name in expected:
            np.testing.assert_array_equal(found[name], named[name])


def test_agreement_is_expected_whichever_metrics_are_named():
    posterior, _, predictions, draws, _ = world(2)
    chosen = np.eye(2)[np.stack([p.argmax(axis=1) for p in predictions.values()])]
    expected = np.einsum("jik,mik->ji", chosen, draws) / DRAWS
    named = pb.evaluate(posterior, predictions, metrics=["brier"], replicates=0, progress=False)
    for found in (usual(2), named):
        np.testing.assert_allclose(found["expected_agreement"], expected.mean(axis=1), atol=1e-6)
        assert "top1_coverage" not in found
    assert "top1_coverage" in usual(3)


@pytest.mark.parametrize(("n_classes", "by_class"), [(3, True), (40, False)])
def test_several_classes_have_metrics_by_class_if_they_are_few(n_classes, by_class):
    posterior, annotations, predictions, _, _ = world(n_classes)
    found = usual(3) if by_class else pb.evaluate(posterior, predictions, k=1, replicates=0, progress=False)
    assert "balanced_accuracy" in found
    assert ("sensitivity" in found, "ppv" in found, "class_name" in found.dims) == (by_class,) * 3
    against = pb.evaluate(annotations, predictions, truth="annotator", replicates=0)
    assert ("sensitivity" in against) is by_class


def test_default_metrics_do_not_depend_on_others():
    posterior, _, predictions, _, _ = world(3)
    plain, more = (
        pb.evaluate(posterior, predictions, metrics=metrics, replicates=REPLICATES, progress=False)
        for metrics in ({}, {"mine": LABEL_METRICS["mcc"]})
    )
    xr.testing.assert_identical(plain, more[list(plain)].drop_vars([]))
    assert {"mine", "mine_total", "mine_sampling", "mine_point"} < set(more)


def test_own_metrics_of_every_kind():
    posterior, _, predictions, draws, _ = world(2)
    own = {
        "sums": SumMetric(lambda p, y: (p[1] * y[1], y[1]), lambda sums, n: sums[0] / sums[1], takes="scores"),
        "order": OrderMetric(lambda tp, fp: tp[0] / (tp[0] + fp[0]), better="smaller"),
        "by_draw": lambda scores, plausibility: scores @ plausibility,
    }
    found = pb.evaluate(posterior, predictions, metrics=[own], replicates=REPLICATES, progress=False)
    p, positive = predictions["A"][:, 1], draws.argmax(-1) == 1
    expected = [p[of].mean() for of in positive]
    np.testing.assert_allclose(found["sums"][0], expected, rtol=1e-5)
    first = p == p.max()
    np.testing.assert_allclose(found["order"][0], [of[first].mean() for of in positive], rtol=1e-5)
    assert found["order"].attrs["better"] == "smaller"
    np.testing.assert_allclose(found["by_draw"][0], (draws * predictions["A"]).sum(-1).mean(-1), rtol=1e-5)


def test_one_class_against_all_others():
    posterior, _, predictions, draws, _ = world(3)
    names = ["sensitivity", "auroc", "brier", "kappa"]
    found = pb.evaluate(posterior, predictions, metrics=names, positive="c0", replicates=0, progress=False)
    assert found.attrs["positive"] == "c0"
    assert found["sensitivity"].dims == ("classifier", "draw")
    p = predictions["B"]
    of_two = np.stack([1 - p[:, 0], p[:, 0]], axis=1)
    choice = np.eye(2)[(p.argmax(1) == 0).astype(int)]
    for m in range(DRAWS):
        truth = np.eye(2)[(draws[m].argmax(-1) == 0).astype(int)]
        for name in names:
            given = choice if name in ("sensitivity", "kappa") else of_two
            np.testing.assert_allclose(found[name][1, m], on_arrays(name, given, truth), atol=2e-5)


@pytest.mark.parametrize("positive", [None, "c0"])
def test_thresholds_and_the_positive_class(positive):
    posterior, _, predictions, draws, _ = world(2)
    found = pb.evaluate(
        posterior, predictions, metrics=["sensitivity", "auroc"], positive=positive, threshold=0.6, progress=False
    )
    at = 0 if positive else 1
    of_columns = {name: p[:, at] for name, p in predictions.items()}  # one column is the probability of the positive
    column = pb.evaluate(posterior, of_columns, metrics="auroc", positive=positive, progress=False)
    np.testing.assert_allclose(column["auroc"], found["auroc"], atol=1e-6)
    assert found.attrs["positive"] == f"c{at}"
    assert found.attrs["threshold"] == 0.6
    chosen = predictions["A"][:, at] >= 0.6
    for m in range(DRAWS):
        is_true = draws[m].argmax(-1) == at
        np.testing.assert_allclose(found["sensitivity"][0, m], chosen[is_true].mean(), rtol=1e-5)
    np.testing.assert_allclose(  # exchanging the classes exchanges cases of the one with those of the other
        found["auroc"], pb.evaluate(posterior, predictions, metrics="auroc", progress=False)["auroc"], atol=1e-5
    )


def test_undefined_and_infinite_values_are_counted():
    draws = np.array([[[0.9, 0.1], [0.8, 0.2]], [[0.9, 0.1], [0.2, 0.8]]])
    posterior = of_every_class(draws, pb.Annotations.from_labels([["a", "b"]] * 2, classes=["a", "b"]))
    predictions = {"A": np.array([0.2, 0.7]), "B": np.array([0.4, 0.3])}
    found = pb.evaluate(posterior, predictions, metrics=["sensitivity", "auroc", "ppv"], replicates=0)
    assert np.isnan(found["sensitivity"][:, 0]).all()
    assert found["sensitivity"].attrs["undefined"] == found["auroc"].attrs["undefined"] == 2
    np.testing.assert_allclose(found["sensitivity"][:, 1], [1, 0])
    assert np.isnan(found["ppv"][1]).all()  # B never names the class
    assert found["ppv"].attrs["undefined"] == 2
    table = summary(found).set_index(["classifier", "metric"])
    assert table.loc[("A", "auroc"), "mean"] == 1
    posterior, _, _, draws, _ = world(2)
    sure = np.isin(np.arange(N), [3, 4])  # few cases, of which none is negative in some draws
    scores = np.where(sure[:, None], [0.1, 0.9], [0.9, 0.1])
    found = pb.evaluate(posterior, {"A": scores}, metrics="positive_likelihood_ratio", progress=False)
    false = (sure & (draws[..., 1] < 0.5)).sum(axis=1)
    infinite = (false == 0).mean()
    assert 0 < infinite < 1
    assert found["positive_likelihood_ratio"].attrs["infinite"] == infinite
    table = summary(found)
    assert table["infinite"].tolist() == [infinite]
    assert table["undefined"].tolist() == [0]
    (said,) = unusual(found)
    assert said == f"positive likelihood ratio of A is infinite in {100 * infinite:.2g} % of draws."


@pytest.mark.slow
def test_noise_that_is_shared_by_cases_is_added_to_a_nonlinear_metric():
    """Draws that flip all cases together, and draws that flip each by itself, have other total noise."""
    random, n, m = np.random.default_rng(0), 400, 300
    score = random.random(n)
    apart = random.random((m, n)) < score
    together = random.random((m, 1)) < score
    wide = {}
    for name, of in (("apart", apart), ("together", together)):
        annotations = pb.Annotations.from_labels([["a", "b"]] * n, classes=["a", "b"])
        posterior = of_every_class(np.stack([1 - of, of], axis=-1), annotations)
        metrics = ["f1", "auroc", "mcc"]
        found = pb.evaluate(posterior, {"A": score}, metrics=metrics, replicates=m, progress=False)
        wide[name] = {one: [float(found[one + of].std()) for of in ("", "_sampling", "_total")] for one in metrics}
    for one, (annotation, sampling, total) in wide["apart"].items():
        np.testing.assert_allclose(total, max(annotation, sampling), rtol=0.1, err_msg=one)
    for one, (annotation, sampling, total) in wide["together"].items():
        if annotation > 0.02:
            np.testing.assert_allclose(total, np.hypot(annotation, sampling), rtol=0.2, err_msg=one)
    assert wide["together"]["f1"][0] > 0.02


def test_published_distances_to_experts_and_calibration(shared):
    """Baan et al. (2022), on all votes: distances to their shares, and calibration against the most frequent class."""
    data = np.load(shared / "data/chaosnli/snli.npz")
    predictions = {name: data[name] for name in ("roberta-base_0", "roberta-base_1", "roberta-base_2")}
    votes = data["votes"]
    for counts, metric, printed in (
        (votes, "dist_ce", [0.259, 0.249, 0.261]),
        (np.eye(3, dtype=int)[votes.argmax(axis=1)], "calibration_error", [0.147, 0.119, 0.141]),
    ):
        annotations = pb.Annotations.from_counts(counts)
        found = pb.evaluate(annotations, predictions, metrics=metric, truth="annotator", replicates=0)
        np.testing.assert_allclose(found[metric][:, 0], printed, atol=0.0015)


def test_classifiers_and_groups_are_compared_and_one_cluster_has_no_sampling_noise():
    posterior, _, predictions, _, _ = world(2)
    for truth, noise in (("most-plausible", "annotation"), ("most-plausible", "total"), ("annotator", "total")):
        found = pb.evaluate(posterior, predictions, metrics=["auroc", "brier"], truth=truth, **BY, progress=False)
        a_better = {m: comparison.probability_better(found, m, "A", "B", noise=noise) for m in ("auroc", "brier")}
        suffix = "" if noise == "annotation" else "_total"
        for metric, sign in (("auroc", 1), ("brier", -1)):
            a, b = sign * found[metric + suffix].values
            np.testing.assert_allclose(a_better[metric], np.mean(a > b) + np.mean(a == b) / 2)
        assert len(comparison.differences(found, "brier")) == 1
        assert len(by_group(found, "auroc")) == 4
    for truth in ("most-plausible", "annotator"):
        given = {"metrics": ["auroc", "f1"], "clusters": ["q"] * N, "truth": truth, "progress": False}
        found = pb.evaluate(posterior, predictions, **given)
        assert np.isnan(found["auroc_total"]).all()
        assert np.isnan(found["f1_total"]).all()


def test_lists_of_many_classes_stay_within_memory():
    """Most classes are true of few cases."""
    n_classes, random = 40, np.random.default_rng(0)
    alpha = np.full(n_classes, 0.05)
    draws = random.dirichlet(alpha, size=(DRAWS, N)).astype(np.float32)
    labels = [[f"c{k}" for k in random.integers(n_classes, size=2)] for _ in range(N)]
    annotations = pb.Annotations.from_labels(labels, classes=[f"c{k}" for k in range(n_classes)])
    posterior = of_every_class(draws, annotations)
    p = random.dirichlet(np.ones(n_classes), size=N)
    found = pb.evaluate(posterior, {"A": p}, metrics=["sensitivity", "f1_macro", "brier"], replicates=0, progress=False)
    assert found["sensitivity"].dims == ("classifier", "class_name", "draw")
    for m in range(DRAWS):
        truth = np.eye(n_classes)[draws[m].argmax(-1)]
        for name in ("sensitivity", "f1_macro", "brier"):
            np.testing.assert_allclose(found[name].values[0, ..., m], on_arrays(name, p, truth), atol=2e-5)


def test_logits_are_no_probabilities():
    posterior, _, _, _, _ = world(2)
    logits = np.random.default_rng(0).normal(size=(N, 2))
    for truth in ("most-plausible", "annotator"):
        found = pb.evaluate(posterior, {"A": logits}, metrics=["auroc"], truth=truth, progress=False)
        sigmoid = 1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))
        same = pb.evaluate(posterior, {"A": sigmoid}, metrics=["auroc"], truth=truth, progress=False)
        np.testing.assert_allclose(found["auroc"], same["auroc"], atol=1e-6)


def test_cases_with_too_few_annotations_do_not_count_and_annotations_are_no_posterior():
    _, annotations, predictions, _, _ = world(2)
    more = annotations.with_cases(["r0", "r1"])
    longer = {name: np.concatenate([p, p[:2]]) for name, p in predictions.items()}
    for truth in ("annotator", "panel"):
        options = {"metrics": ["auroc", "ppv"], "truth": truth, "panel": 3, "replicates": REPLICATES}
        xr.testing.assert_allclose(
            pb.evaluate(more, longer, **options), pb.evaluate(annotations, predictions, **options)
        )
    enough = annotations.per_case >= 3
    assert 0 < enough.sum() < N
    of_three = {name: p[enough] for name, p in predictions.items()}
    xr.testing.assert_allclose(
        pb.evaluate(annotations.select(np.flatnonzero(enough)), of_three, **options),
        pb.evaluate(annotations, predictions, **options),
    )


@pytest.mark.slow
def test_curves_have_their_axes_and_tables():
    posterior, annotations, predictions, draws, _ = world(3)
    options = BY | {"progress": False}
    found = pb.evaluate(posterior, predictions, metrics=["curves", "specificity", "f1"], **options)
    assert found["roc_curve"].dims == ("classifier", "class_name", "at_specificity", "draw")
    assert found["calibration_curve_by_group"].dims == ("group", "classifier", "probability", "draw")
    assert found["confusion"].dims == ("classifier", "true_class", "named_class", "draw")
    assert found["true_class"].values.tolist() == found["named_class"].values.tolist() == ["c0", "c1", "c2"]
    assert found["threshold"].values[[0, -1]].tolist() == [0.01, 0.99]
    table = pb.evaluation.curve_points(found, "roc_curve")
    assert table.columns[:3].tolist() == ["classifier", "class_name", "at_specificity"]
    assert len(table) == 2 * 3 * 101
    row = table[(table["classifier"] == "B") & (table["class_name"] == "c1") & (table["at_specificity"] == 0.9)]
    own = found["roc_curve"].sel(classifier="B", class_name="c1", at_specificity=0.9).values
    total = found["roc_curve_total"].sel(classifier="B", class_name="c1", at_specificity=0.9).values
    expected = [own.mean(), *np.quantile(own, [0.03, 0.97]), *np.quantile(total, [0.03, 0.97])]
    np.testing.assert_allclose(row.iloc[0, 3:].astype(float), expected, rtol=1e-5)
    assert set(summary(found)["metric"]) == {"specificity", "f1"}
    one = found.sel(class_name="c1", at_specificity=0.9)
    assert len(by_group(one, "roc_curve")) == 4
    assert 0 <= comparison.probability_better(one, "roc_curve", "A", "B") <= 1
    with pytest.raises(ArgumentError, match=r"'confusion' has a value for each true_class: choose one by results\.sel"):
        by_group(found, "confusion")
    counts = np.zeros((3, 3))
    for m in range(DRAWS):
        np.add.at(counts, (draws[m].argmax(-1), predictions["A"].argmax(-1)), 1 / DRAWS)
    largest = pb.evaluation.largest_confusions(found, 2)
    own = largest[largest["classifier"] == "A"]
    expected = np.sort(counts[~np.eye(3, dtype=bool)])[::-1][:2]
    np.testing.assert_allclose(own["cases"], expected, rtol=1e-5)
    first = int(own["true_class"].iloc[0][1]), int(own["named_class"].iloc[0][1])
    np.testing.assert_allclose(own["share_of_true"].iloc[0], counts[first] / counts[first[0]].sum(), rtol=1e-5)
    total = found["confusion_total"][0][first].values * N
    np.testing.assert_allclose(own[["lower", "upper"]].iloc[0], np.quantile(total, [0.03, 0.97]), rtol=1e-5)
    two = pb.evaluate(annotations, predictions, metrics="confusion", truth="annotator", positive="c2", replicates=0)
    assert two["named_class"].values.tolist() == ["not c2", "c2"]


@pytest.mark.slow
def test_metrics_with_very_many_values_have_no_replicates(monkeypatch):
    posterior, _, predictions, _, _ = world(3)
    options = BY | {"progress": False}
    whole = pb.evaluate(posterior, predictions, metrics=["confusion", "auroc"], **options)
    monkeypatch.setattr("plausibly.evaluation._label_sums._MOST", 2 * DRAWS * 9)
    few = pb.evaluate(posterior, predictions, metrics=["confusion", "auroc"], **options)
    assert {*whole} - {*few} == {"confusion_total", "confusion_sampling"} | {
        f"confusion{of}_by_group" for of in ("", "_point", "_total")
    }
    xr.testing.assert_identical(few, whole[list(few)])


def test_axes_must_have_names_of_their_own():
    posterior, _, predictions, _, _ = world(2)
    curve = OrderMetric(lambda tp, fp: tp[:2] / tp[-1], along=("threshold", (1, 2)))
    found = pb.evaluate(posterior, predictions, metrics=[{"mine": curve}], replicates=20, progress=False)
    assert found["mine"].dims == ("classifier", "threshold", "draw")


def test_parts_of_scores_add_up_in_every_draw_and_say_what_they_are_against():
    posterior, annotations, predictions, _, _ = world(3)
    options = {"metrics": ["distribution", "brier"], "progress": False} | BY
    for source, truth in ((posterior, "most-plausible"), (annotations, "annotator")):
        few = () if source is posterior else ("log_score",)
        with (
            nullcontext() if source is posterior else pytest.warns(PlausiblyWarning, match="cannot be told from these")
        ):
            found = pb.evaluate(source, predictions, truth=truth, **options)
        for score in ("brier", "log_score"):
            for suffix in ("", "_by_group"):
                whole, *parts = (found[f"{score}_{of}{suffix}"] for of in ("expected", "unavoidable", "excess"))
                np.testing.assert_allclose(
                    np.full_like(whole, np.nan) if score in few else whole, sum(parts), atol=1e-5
                )
        against = "the experts' distribution", "what most experts would name"
        against = against if source is posterior else ("the shares of experts' labels", "what one expert would say")
        assert (found["brier_expected"].attrs["against"], found["brier"].attrs["against"]) == against
        assert found["brier_expected_by_group"].attrs["against"] == against[0]


def test_values_near_the_best_one_are_better():
    names = ["A", "B"]
    slopes = xr.DataArray([[0.5, 0.9], [1.2, 1.2]], dims=("classifier", "draw"), coords={"classifier": names})
    slopes.attrs["better"] = 1.0
    data = xr.Dataset({"calibration_slope": slopes, "calibration_slope_point": slopes[:, 0]})
    assert comparison.probability_better(data, "calibration_slope", "A", "B", noise="annotation") == 0.5
    assert summary(data)[["best", "worst"]].values.tolist() == [[0.9, 0.5], [1.2, 1.2]]


SILENT = ["accuracy", "answer_rate", "selective_accuracy", "mcc"]
SILENT += ["sensitivity", "specificity", "ppv", "npv", "f1_micro"]


@pytest.mark.usefixtures("seen_cases")
@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_no_answer_is_an_answer_of_its_own(n_classes):
    posterior, annotations, predictions, draws, _ = world(n_classes)
    p = predictions["A"].copy()
    p[[2, 5, 11]] = 0
    ask = {"metrics": [*SILENT, "confusion"]} | BY
    found = pb.evaluate(posterior, {"A": p, "B": predictions["B"]}, **ask, progress=False)
    truth = np.eye(n_classes)[draws.argmax(-1)]
    boot = replicated(annotations.cases)
    for name in SILENT:
        one = found[name].isel(classifier=0).values
        np.testing.assert_allclose(
            one, np.stack([on_arrays(name, p, truth[m]) for m in range(DRAWS)], axis=-1), err_msg=name, **CLOSE
        )
        expected = np.stack([on_arrays(name, p, truth.mean(0), boot[:, r]) for r in range(REPLICATES)], axis=-1)
        np.testing.assert_allclose(found[f"{name}_sampling"].isel(classifier=0), expected, err_msg=name, **NEAR)
    assert (found["answer_rate"].sel(classifier="B") == 1).all()
    assert found["named_class"].values.tolist() == [*annotations.classes, "(no answer)"]
    for suffix in ("", "_point", "_sampling", "_by_group"):
        of = found[f"confusion{suffix}"]
        np.testing.assert_allclose(of.sum(["true_class", "named_class"]), 1, atol=1e-5)
    column = found["confusion"].sel(classifier="A", named_class="(no answer)").values
    np.testing.assert_allclose(column, truth[:, [2, 5, 11]].sum(1).T / N, atol=1e-6)
    of_labels = pb.evaluate(annotations, {"A": p}, metrics=SILENT, truth="annotator", replicates=0)
    for name in SILENT:
        shares = truth_of_labels(annotations, "annotator")
        np.testing.assert_allclose(of_labels[name].values[0, ..., 0], on_arrays(name, p, shares), **CLOSE)


def test_a_classifier_without_an_answer_is_never_right_and_gets_metrics_of_answers():
    posterior, _, predictions, _, _ = world(3)
    p = predictions["A"].copy()
    p[[2, 5]] = 0
    found = pb.evaluate(posterior, {"A": p, "B": predictions["B"]}, replicates=REPLICATES, progress=False)
    assert {"answer_rate", "selective_accuracy"} <= {*found}
    said = f"Cases without an answer count as wrong (A in {200 / N:.1f} % of cases)"
    assert any(said in one for one in cautions(pb.Annotations.from_counts([[2, 0, 1]] * N), found))
    for name in ("top1_accuracy", "top2_overlap", "top2_coverage"):
        assert (found[f"{name}_by_case"].values[0][[2, 5]] == 0).all()
    others = np.delete(np.arange(N), [2, 5])
    for name in ("top1_accuracy", "top2_coverage"):
        np.testing.assert_allclose(found[f"{name}_by_case"][0, others], usual(3)[f"{name}_by_case"][0, others])
    two, _, given, _, _ = world(2)
    p = given["A"].copy()
    p[4] = 0
    assert not {"auroc", "brier"} & {*pb.evaluate(two, given | {"A": p}, replicates=REPLICATES, progress=False)}
    found = pb.evaluate(two, {"A": p}, metrics=["sensitivity", "answer_rate"], threshold=0.4, progress=False)
    np.testing.assert_allclose(found["answer_rate"], 1 - 1 / N)
