"""Metrics of labels equal scikit-learn's, of N × K rows with weights."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression

import plausibly as pb
from plausibly.metrics import LABEL_METRICS


def weighted_rows(predictions, truth, weights):
    """Rows for scikit-learn: predictions, labels and weights of N × K rows."""
    n, k = truth.shape
    rows = np.repeat(np.arange(n), k)
    return predictions[rows], np.tile(np.arange(k), n), (weights[:, None] * truth).ravel()


def scikit(name, predictions, truth, weights):
    """What scikit-learn computes; NaN where it is undefined."""
    p, label, w = weighted_rows(np.asarray(predictions, float), truth, weights)
    p, label, w = p[w > 0], label[w > 0], w[w > 0]
    k = truth.shape[1]
    classes, chosen = np.arange(k), np.where(p.any(axis=1), p.argmax(axis=1), -1)
    base, _, average = name.rpartition("_")
    if average not in ("macro", "micro", "weighted"):
        base, average = name, None

    def ratios(average):  # of counts of a class against all others
        y, c = label == classes[:, None], chosen == classes[:, None]
        other = (chosen >= 0) & ~c  # another class is named; of no answer, none is
        counts = np.stack([(w * of).sum(axis=1) for of in (y & c, ~y & c, y & other, ~y & other, y, ~y)])
        tp, fp, fn, tn, positive, negative = counts.sum(axis=1) if average == "micro" else counts
        with np.errstate(all="ignore"):
            found = {
                "specificity": tn / negative,
                "npv": tn / (tn + fn),
                "positive_likelihood_ratio": tp / positive * (negative / fp),
                "negative_likelihood_ratio": fn / positive * (negative / tn),
            }[base]
        if average in (None, "micro"):
            return found
        known = ~np.isnan(found)
        weight = counts[4][known] if average == "weighted" else np.ones(known.sum())
        return np.average(found[known], weights=weight) if weight.any() else np.nan

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        of_sklearn = {"sensitivity": sk.recall_score, "ppv": sk.precision_score, "f1": sk.f1_score}
        if base in of_sklearn:
            found = of_sklearn[base](
                label, chosen, labels=classes, average=average, sample_weight=w, zero_division=np.nan
            )
            if average == "weighted" and not np.isin(label, chosen).any() and base == "ppv":
                return np.nan  # no class that occurs has a value; scikit-learn says 0
        elif base in RATIOS:
            found = ratios(average)
        elif name in ("auroc", "average_precision"):
            function = sk.roc_auc_score if name == "auroc" else sk.average_precision_score
            found = np.array(
                [
                    function(label == at, p[:, at], sample_weight=w)
                    if (label == at).sum() > 0 and (name != "auroc" or (label != at).any())
                    else np.nan
                    for at in classes
                ]
            )
        else:
            return {
                "accuracy": lambda: sk.accuracy_score(label, chosen, sample_weight=w),
                "answer_rate": lambda: np.average(chosen >= 0, weights=w),
                "selective_accuracy": lambda: (
                    sk.accuracy_score(label[chosen >= 0], chosen[chosen >= 0], sample_weight=w[chosen >= 0])
                    if (chosen >= 0).any()
                    else np.nan
                ),
                "balanced_accuracy": lambda: sk.balanced_accuracy_score(label, chosen, sample_weight=w),
                "mcc": lambda: (
                    sk.matthews_corrcoef(label, chosen, sample_weight=w)
                    if len(set(label)) > 1 and len(set(chosen)) > 1
                    else np.nan
                ),
                "kappa": lambda: sk.cohen_kappa_score(label, chosen, labels=[-1, *classes], sample_weight=w),
                "quadratic_kappa": lambda: sk.cohen_kappa_score(
                    label, chosen, labels=classes, sample_weight=w, weights="quadratic"
                ),
                "brier": lambda: sk.brier_score_loss(label, p if k > 2 else p[:, 1], sample_weight=w, labels=classes),
                "log_score": lambda: sk.log_loss(label, p, sample_weight=w, labels=classes),
                "mean_absolute_error": lambda: sk.mean_absolute_error(label, chosen, sample_weight=w),
                "within_one": lambda: np.average(np.abs(label - chosen) <= 1, weights=w),
                "ranked_probability_score": lambda: np.average(
                    np.mean((p.cumsum(1) - (classes >= label[:, None]))[:, :-1] ** 2, axis=1), weights=w
                ),
            }[name]()
    return found[1] if average is None and k == 2 else found


RATIOS = ("specificity", "npv", "positive_likelihood_ratio", "negative_likelihood_ratio")
ORACLES = [
    *("accuracy", "selective_accuracy", "answer_rate", "balanced_accuracy", "mcc", "kappa", "quadratic_kappa"),
    *("mean_absolute_error", "within_one"),
    *("brier", "log_score", "ranked_probability_score", "auroc", "average_precision"),
    *(
        f"{one}{average}"
        for one in ("sensitivity", "ppv", "f1", *RATIOS)
        for average in ("", "_macro", "_micro", "_weighted")
    ),
]


@st.composite
def data(draw):
    """Predictions with ties, weights of classes, and weights of cases, of which some are 0; sometimes of one class.

    Of two shapes, since every metric is compiled for each of them: where there is one case, the others weigh nothing.
    """
    n, k = 9, draw(st.sampled_from([2, 3]))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = draw(st.sampled_from([2, 4, 1000]))
    predictions = random.integers(1, levels + 1, (n, k)).astype(np.float32)
    predictions /= predictions.sum(axis=1, keepdims=True)
    kind = draw(st.sampled_from(["labels", "shares", "single"]))
    if kind == "shares":
        truth = random.multinomial(3, np.ones(k) / k, size=n) / 3
    else:
        truth = np.eye(k)[np.zeros(n, int) if kind == "single" else random.integers(k, size=n)]
    weights = {
        "equal": np.ones(n),
        "unequal": random.integers(0, 4, n) + 0.25 * (np.arange(n) == 0),
        "one case": 1.0 * (np.arange(n) == 4),
    }[draw(st.sampled_from(["equal", "unequal", "one case"]))]
    return predictions, truth, weights


def may_lack_answers(name):
    """Whether scikit-learn counts cases without an answer as the metric does."""
    metric = LABEL_METRICS[name]
    return getattr(metric, "takes", "") == "choice" and not metric.needs_answer and name != "within_one"


@pytest.mark.parametrize("name", ORACLES)
@settings(max_examples=8)
@given(data(), st.sampled_from([1.0, 0.7]), st.integers(0, 2**32 - 1))
def test_scikit_learn_finds_the_same(name, given_data, share, seed):
    predictions, truth, weights = given_data
    if may_lack_answers(name):
        predictions = predictions * (np.random.default_rng(seed).random(len(predictions)) < share)[:, None]
    found = getattr(pb.metrics, name, None) or LABEL_METRICS[name].on_arrays
    expected = scikit(name, predictions, truth, weights)
    np.testing.assert_allclose(found(predictions, truth, weights), expected, atol=2e-5, rtol=2e-4)


def test_no_answer_is_never_right_in_lists_and_a_ratio_to_no_case_infinite():
    draws, predictions = [[[0.6, 0.3, 0.1]], [[0.1, 0.2, 0.7]]], [[0.0, 0.0, 0.0]]
    for name in ("top_k_accuracy", "set_accuracy", "overlap", "average_overlap", "coverage"):
        assert not np.any(getattr(pb.metrics, name)(predictions, draws, 2))
    for name in ("kendall_tau", "spearman_footrule"):
        np.testing.assert_allclose(getattr(pb.metrics, name)(predictions, draws, 2), 1, rtol=1e-6)
    predictions, truth = [[2 / 3, 1 / 3], [2 / 3, 1 / 3], [1 / 3, 2 / 3]], [[0, 1], [0, 1], [1, 0]]
    weights = np.array([0.001, 1, 1])  # in single precision, they do not sum up to what their parts do
    assert pb.metrics.negative_likelihood_ratio(predictions, truth, weights) == np.inf
    assert np.isnan(pb.metrics.mcc(predictions[:2], truth[:2], [0.001, 1 / 3]))
    assert np.isnan(pb.metrics.kappa(predictions[:1] * 3, truth[2:] * 3, [0.001, 1, 1 / 3]))


def test_no_metric_is_without_an_oracle():
    parts = {f"{score}_{part}" for score in ("brier", "log_score") for part in ("expected", "unavoidable", "excess")}
    curves = {"roc_curve", "precision_recall_curve", "calibration_curve", "mean_predicted", "decision_curve"}
    curves |= {"calibration_curve_by_class", "mean_predicted_by_class"}
    elsewhere = parts | curves | {"dist_ce", "entropy_ce", "calibration_error", "net_benefit_of_all", "confusion"}
    elsewhere |= {f"calibration_{one}" for one in ("intercept", "slope", "temperature")}
    elsewhere |= {"classwise_calibration_error"}
    assert set(LABEL_METRICS) == set(ORACLES) | elsewhere


@settings(max_examples=20)
@given(data())
def test_parts_make_scores_costs_of_one_are_errors_and_curves_of_classes_are_against_all_others(given_data):
    for score in ("brier", "log_score"):
        parts = [getattr(pb.metrics, f"{score}_{of}")(*given_data) for of in ("unavoidable", "excess")]
        for whole in (score, f"{score}_expected"):
            np.testing.assert_allclose(getattr(pb.metrics, whole)(*given_data), sum(parts), atol=1e-5)
    k = given_data[1].shape[1]
    found = pb.metrics.expected_cost(1 - np.eye(k)).on_arrays(*given_data)
    np.testing.assert_allclose(found, 1 - pb.metrics.accuracy(*given_data), atol=1e-5)
    predictions, truth, weights = given_data
    for at in sides(truth, predictions):
        two = [np.stack([1 - of[:, at], of[:, at]], axis=1) for of in (predictions, truth)]
        row = 0 if truth.shape[1] == 2 else at
        for name in ("calibration_curve", "mean_predicted"):
            found = np.reshape(getattr(pb.metrics, f"{name}_by_class")(*given_data), (-1, 10))[row]
            np.testing.assert_allclose(found, getattr(pb.metrics, name)(*two, weights), atol=1e-5)


@settings(max_examples=20)
@given(data(), st.sampled_from([0.3, 0.5, 0.9]))
def test_operating_points_are_the_best_on_the_curve(given_data, least):
    predictions, truth, weights = given_data
    predictions, truth = predictions[:, :2] / predictions[:, :2].sum(1, keepdims=True), truth.copy()
    truth = np.stack([1 - truth[:, 1], truth[:, 1]], axis=1)
    p, label, w = weighted_rows(predictions, truth, weights)
    kept = w > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        fpr, tpr, _ = sk.roc_curve(label[kept], p[kept, 1], sample_weight=w[kept], drop_intermediate=False)
    sensitivity = tpr[fpr <= 1 - least + 1e-6].max() if not np.isnan(fpr).any() else np.nan
    specificity = 1 - fpr[tpr >= least - 1e-6].min() if not np.isnan(tpr).any() else np.nan
    found = pb.metrics.sensitivity_at_specificity(least).on_arrays(predictions, truth, weights)
    np.testing.assert_allclose(found, sensitivity, atol=1e-5)
    found = pb.metrics.specificity_at_sensitivity(least).on_arrays(predictions, truth, weights)
    np.testing.assert_allclose(found, specificity, atol=1e-5)


def test_a_threshold_with_exactly_the_least_specificity_or_sensitivity_counts():
    right = np.array([1, 0, 1, 1, 0, 1, 0, 1, 0, 0])  # one of five negatives is above three of five positives' scores
    predictions, truth = (np.stack([1 - of, of], axis=1) for of in (np.linspace(0.9, 0.1, 10), right))
    assert pb.metrics.sensitivity_at_specificity(0.8).on_arrays(predictions, truth) == pytest.approx(0.6)
    assert pb.metrics.specificity_at_sensitivity(0.6).on_arrays(predictions, truth) == pytest.approx(0.8)


@settings(max_examples=20)
@given(data(), st.sampled_from([0.1, 0.5, 0.8]))
def test_net_benefit_has_the_formula_of_its_authors(given_data, threshold):
    predictions, truth, weights = (np.asarray(one, float) for one in given_data)
    predictions, truth = (np.stack([1 - of[:, 1], of[:, 1]], axis=1) for of in (predictions, truth))
    treated = predictions[:, 1].astype(np.float32) >= np.float32(threshold)
    tp, fp = (weights * treated) @ truth[:, 1], (weights * treated) @ truth[:, 0]
    expected = (tp - fp * threshold / (1 - threshold)) / weights.sum()
    found = pb.metrics.net_benefit(threshold).on_arrays(predictions, truth, weights)
    np.testing.assert_allclose(found, expected, atol=1e-5)


SHARES = np.arange(101) / 100


def sides(truth, predictions):
    """Classes for which there is a curve: all, or the second of two."""
    return [1] if truth.shape[1] == 2 else range(truth.shape[1])


@settings(max_examples=20)
@given(data())
def test_curves_of_the_order_go_through_the_points_of_scikit_learn(given_data):
    predictions, truth, weights = given_data
    p, label, w = weighted_rows(predictions, truth, weights)
    p, label, w = p[w > 0], label[w > 0], w[w > 0]
    roc, precisions = (
        np.reshape(of(*given_data), (-1, 101)) for of in (pb.metrics.roc_curve, pb.metrics.precision_recall_curve)
    )
    for at, of_roc, of_precisions in zip(sides(truth, p), roc, precisions, strict=True):
        y = label == at
        if not y.any():
            assert np.isnan(of_precisions).all()
            assert np.isnan(of_roc).all()
            continue
        precision, recall, _ = sk.precision_recall_curve(y, p[:, at], sample_weight=w)
        highest = [np.flatnonzero(recall[:-1] >= share - 1e-6)[-1] for share in SHARES]
        np.testing.assert_allclose(of_precisions, precision[highest], atol=1e-5)
        if y.all():
            assert np.isnan(of_roc).all()
            continue
        fpr, tpr, _ = sk.roc_curve(y, p[:, at], sample_weight=w, drop_intermediate=False)
        last = np.array([np.flatnonzero(fpr <= 1 - share + 1e-6)[-1] for share in SHARES])
        following = np.minimum(last + 1, len(fpr) - 1)
        between = (1 - SHARES - fpr[last]) / np.where(following > last, fpr[following] - fpr[last], 1)
        expected = tpr[last] + np.clip(between, 0, 1) * (tpr[following] - tpr[last])
        np.testing.assert_allclose(of_roc, expected, atol=1e-4)


def test_areas_are_those_under_curves_and_of_differences_of_logits():
    random = np.random.default_rng(0)
    p, truth = random.random(400), random.multinomial(3, [0.6, 0.4], size=400) / 3
    p = np.stack([1 - p, p], axis=1)
    curve = np.asarray(pb.metrics.roc_curve(p, truth))
    np.testing.assert_allclose(np.trapezoid(curve, SHARES), pb.metrics.auroc(p, truth), atol=2e-3)
    curve = np.asarray(pb.metrics.precision_recall_curve(p, truth))
    np.testing.assert_allclose(curve.mean(), pb.metrics.average_precision(p, truth), atol=1e-2)
    random = np.random.default_rng(0)
    logits, label = random.normal(size=(30, 2)), random.integers(2, size=30)
    of_logits = pb.metrics.auroc(logits, np.eye(2)[label])
    np.testing.assert_allclose(of_logits, sk.roc_auc_score(label, logits[:, 1] - logits[:, 0]), rtol=1e-5)


@settings(max_examples=20)
@given(data())
def test_decision_curves_have_the_formula_of_their_authors(given_data):
    predictions, truth, weights = given_data
    found, of_all = (
        np.reshape(of(*given_data), (-1, 99)) for of in (pb.metrics.decision_curve, pb.metrics.net_benefit_of_all)
    )
    for row, at in enumerate(sides(truth, predictions)):
        thresholds = SHARES[1:-1, None]
        for curve, treated in ((found, predictions[:, at] >= np.float32(thresholds)), (of_all, np.ones((99, 1)))):
            tp, fp = ((weights * treated) @ of for of in (truth[:, at], 1 - truth[:, at]))
            benefit = (tp - fp * (thresholds / (1 - thresholds))[:, 0]) / weights.sum()
            np.testing.assert_allclose(curve[row], benefit, atol=2e-4)
        each = np.ravel(pb.metrics.net_benefit(0.3).on_arrays(*given_data))[row]
        np.testing.assert_allclose(found[row, 29], each, atol=1e-5)


@settings(max_examples=20)
@given(data())
def test_the_confusion_matrix_and_the_calibration_curve_are_those_of_scikit_learn(given_data):
    p, label, w = weighted_rows(*given_data)
    expected = sk.confusion_matrix(
        label, p.argmax(axis=1), labels=np.arange(p.shape[1]), sample_weight=w, normalize="all"
    )
    np.testing.assert_allclose(pb.metrics.confusion(*given_data), expected, atol=1e-5)
    times = np.rint(12 * w).astype(int)  # scikit-learn takes no weights here
    np.testing.assert_allclose(times, 12 * w, atol=1e-6)
    p, label = p[np.repeat(np.arange(len(w)), times)], label[np.repeat(np.arange(len(w)), times)]
    top = np.ones(len(p), int) if p.shape[1] == 2 else p.argmax(axis=1)
    score = p[np.arange(len(p)), top].astype(float).round(6)  # single precision is not to decide at limits of bins
    observed, predicted = calibration_curve((label == top).astype(int), score, n_bins=10, pos_label=1)
    found, means = pb.metrics.calibration_curve(*given_data), pb.metrics.mean_predicted(*given_data)
    known = ~np.isnan(found)
    assert (known == ~np.isnan(means)).all()
    np.testing.assert_allclose(found[known], observed, atol=1e-5)
    np.testing.assert_allclose(means[known], predicted, atol=1e-5)


def less_noise(errors):
    """Mean distance of bins, given the errors of their cases, less what errors make that only differ by chance."""
    distance, square, chance = np.transpose(
        [(abs(sum(one)), sum(one) ** 2 / len(one), sum(np.square(one)) / len(one)) for one in errors if len(one)]
    ).sum(axis=1)
    return np.cbrt(max(0, 1 - (chance / square) ** 1.5)) * distance / sum(map(len, errors))


def test_calibration_error_is_of_cases_of_any_weight_and_by_class_one_mean():
    random = np.random.default_rng(0)
    p, at = random.dirichlet(np.ones(3), 200), random.integers(3, size=200)
    found = [pb.metrics.calibration_error(p, np.eye(3)[at], weights) for weights in (None, np.full(200, 7.0))]
    np.testing.assert_allclose(*found, rtol=1e-4)
    bins = np.ceil(p * 10).astype(int)
    errors = [(np.eye(3)[at] - p)[bins[:, k] == one, k] for k in range(3) for one in range(11)]
    np.testing.assert_allclose(pb.metrics.classwise_calibration_error(p, np.eye(3)[at]), less_noise(errors), rtol=1e-4)


def test_calibration_error_and_distances_to_experts_by_hand():
    p = np.array([0.05, 0.1, 0.10001, 0.72, 0.78])
    label = np.array([0, 1, 0, 1, 1])
    errors = [[0 - 0.05, 1 - 0.1], [0 - 0.10001], [1 - 0.72, 1 - 0.78]]  # in bins, of which 0.1 is in the one below
    found = pb.metrics.calibration_error(np.stack([1 - p, p], axis=1), np.eye(2)[label])
    np.testing.assert_allclose(found, less_noise(errors), rtol=1e-5)
    three = np.array([[0.7, 0.2, 0.1], [0.1, 0.15, 0.75], [0.1, 0.2, 0.7]])  # the greatest probability of each case
    found = pb.metrics.calibration_error(three, np.eye(3)[[0, 1, 2]])
    np.testing.assert_allclose(found, less_noise([[1 - 0.7, 1 - 0.7], [0 - 0.75]]), rtol=1e-5)
    p, truth = np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([[1.0, 0.0], [0.8, 0.2]])
    np.testing.assert_allclose(pb.metrics.dist_ce(p, truth), (0.5 + 0.1) / 2, rtol=1e-5)
    entropies = [[-sum(x * np.log(x) for x in q if x) for q in of] for of in (p, truth)]
    expected = np.abs(np.subtract(*entropies)).mean()
    np.testing.assert_allclose(pb.metrics.entropy_ce(p, truth), expected, rtol=1e-5)


LEAST = np.finfo(np.float32).eps


def logits(p):
    p = np.clip(np.asarray(p, np.float32), LEAST, 1 - LEAST).astype(float)
    return np.log(p) - np.log1p(-p)


@settings(max_examples=20)
@given(data())
def test_recalibration_is_the_logistic_regression_of_scikit_learn(given_data):
    predictions, truth, weights = given_data
    slopes, intercepts = (
        np.ravel(of(*given_data)) for of in (pb.metrics.calibration_slope, pb.metrics.calibration_intercept)
    )
    p, label, w = weighted_rows(predictions, truth, weights)
    p, label, w = p[w > 0], label[w > 0], w[w > 0]
    for slope, intercept, at in zip(slopes, intercepts, sides(truth, p), strict=True):
        y, x = label == at, logits(p[:, at])
        if y.all() or not y.any():
            assert np.isnan(slope)
            assert np.isnan(intercept)
            continue

        def excess(a, x=x, y=y):
            return w @ (special.expit(x + a) - y)

        np.testing.assert_allclose(intercept, optimize.brentq(excess, -60, 60), atol=2e-4)
        if len(set(x)) == 1:
            assert np.isnan(slope)
        elif x[y].min() >= x[~y].max():
            assert slope == np.inf
        elif x[y].max() <= x[~y].min():
            assert slope == -np.inf
        else:
            fit = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(x[:, None], y, sample_weight=w)
            np.testing.assert_allclose(slope, fit.coef_[0, 0], rtol=2e-3, atol=2e-3)


@settings(max_examples=20)
@given(data())
def test_the_temperature_has_the_least_logarithmic_score(given_data):
    predictions, truth, weights = (np.asarray(one, float) for one in given_data)
    found = float(pb.metrics.calibration_temperature(*given_data))
    logs, truth = np.log(predictions), truth * weights[:, None]
    if not weights.any() or np.ptp(logs[weights > 0], axis=1).max() < 1e-6:
        assert np.isnan(found)
        return

    def loss(log):
        return -(truth * special.log_softmax(logs * np.exp(-log), axis=1)).sum()

    best = optimize.minimize_scalar(loss, bounds=(-np.log(50), np.log(50)), method="bounded", options={"xatol": 1e-9})
    log = {0: -np.log(50), np.inf: np.log(50)}.get(found, np.log(max(found, 1e-9)))
    np.testing.assert_allclose(loss(log), best.fun, rtol=1e-5, atol=1e-5)
    if 1 / 40 < np.exp(best.x) < 40 and weights.sum() > 2 and loss(best.x + 0.1) > best.fun * (1 + 1e-4) + 1e-4:
        np.testing.assert_allclose(found, np.exp(best.x), rtol=5e-4)


def test_the_temperature_of_two_classes_is_that_of_a_regression_without_intercept():
    random = np.random.default_rng(0)
    p, truth = random.random(400), random.random(400)
    truth = (truth < 0.3 + 0.4 * p).astype(int)
    fit = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10).fit(logits(p)[:, None], truth)
    found = pb.metrics.calibration_temperature(np.stack([1 - p, p], axis=1), np.eye(2)[truth])
    np.testing.assert_allclose(found, 1 / fit.coef_[0, 0], rtol=2e-4)


def test_metrics_of_different_points_are_different_programs():
    predictions, truth = np.array([[0.3, 0.7], [0.2, 0.8], [0.6, 0.4]]), np.eye(2)[[0, 1, 1]]
    for first, second in (
        (pb.metrics.sensitivity_at_specificity(0.5), pb.metrics.specificity_at_sensitivity(0.5)),
        (pb.metrics.net_benefit(0.5), pb.metrics.expected_cost([[0.5, 0.5], [0.5, 0.5]])),
    ):
        assert first != second
        assert first.on_arrays(predictions, truth) != second.on_arrays(predictions, truth)
    assert pb.metrics.net_benefit(0.5) == pb.metrics.net_benefit(0.5)
