"""One more case in every replicate: literally, by its laws, and what follows from it for few cases."""

import numpy as np
import pytest
from scipy import stats

import plausibly as pb
from plausibly.base.random_streams import Stream, exponentials, key_words
from plausibly.evaluation import comparison, summary
from plausibly.evaluation._unseen_case import UnseenCase, coins
from plausibly.metrics import LABEL_METRICS

N, REPLICATES = 14, 16
ENDS = [0.03, 0.97]


#: The same everywhere, since sets of metrics are compiled for each number of replicates.
OF_TWO = ["accuracy", "balanced_accuracy", "sensitivity", "specificity", "ppv", "kappa", "mcc", "brier"]
OF_TWO += ["auroc", "average_precision", "sensitivity_at_specificity_0.9"]


def binary(yes, p, **options):
    """Evaluate against single labels of two classes."""
    annotations = pb.Annotations.from_labels([[["no", "yes"][int(one)]] for one in yes], classes=["no", "yes"])
    options = {"metrics": OF_TWO, "truth": "annotator", "positive": "yes", "replicates": 4000} | options
    given = p if isinstance(p, dict) else {"A": p}
    return pb.evaluate(annotations, {name: np.c_[1 - one, one] for name, one in given.items()}, **options)


def ends(found, metric):
    return found[f"{metric}_total"].quantile(ENDS, "replicate").values[:, 0]


def mid_p(right, n):
    """Ends of the interval that the two mid-P values of a share give."""
    random = np.random.default_rng(0)
    more = random.random(400_000) < 0.5
    found, missed = right + more, n - right + ~more
    gammas = [random.standard_gamma(np.maximum(of, 1e-9)) for of in (found, missed)]
    return np.quantile(gammas[0] / sum(gammas), ENDS)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_replicates_are_those_of_data_with_one_more_case(n_classes):
    random = np.random.default_rng(n_classes)
    label = np.arange(N) % n_classes
    truth, patient = np.eye(n_classes)[label], np.array([f"q{i // 2}" for i in range(N)])
    raw = {name: random.dirichlet(np.ones(n_classes), N).astype(np.float32) for name in "AB"}
    weights = random.integers(1, 4, N).astype(float)
    names = ["kappa", "accuracy", "brier", "mean_absolute_error", "quadratic_kappa", "sensitivity", "ppv"]
    names += ["specificity", "balanced_accuracy", "auroc", "average_precision"]
    found = pb.evaluate(
        pb.Annotations.from_counts(truth.astype(int)), raw, metrics=names, truth="annotator", weights=weights,
        clusters=patient, replicates=REPLICATES,
    )  # fmt: skip
    words = key_words(0, patient, Stream.BOOTSTRAP)
    boot = weights[:, None] * np.asarray(exponentials(words[:, None], np.arange(REPLICATES, dtype=np.uint32), 0))
    case = UnseenCase(truth * weights[:, None], words, np.arange(2), REPLICATES)
    weight, side, other, right = case.altogether()
    of_class, coin = case.of_classes()
    many, decided, of_k, alike = case.of_mean()
    assert (decided.sum(axis=0) == 1).all()
    assert (label[alike[:, 0]] == of_k).all()
    assert (label[alike[:, 1]] != of_k).all()
    of_patients = np.stack([weights[label == k] @ (patient[label == k, None] == np.unique(patient)) for k in range(3)])
    units = [(of_patients.sum(0) ** 2).sum() / weights.sum(), *((of**2).sum() / max(of.sum(), 1) for of in of_patients)]
    assert weight.mean() == pytest.approx(units[0], rel=1)
    for at, p in enumerate(raw.values()):
        for r in range(REPLICATES):
            look = p[:, side[r]].argmax() if right[at, r] else other[r]
            choice = side[r] if right[at, r] else (n_classes - 1 if 2 * side[r] < n_classes - 1 else 0)
            every = np.append(boot[:, r], weight[r])
            for name in names[n_classes == 2 : 5]:
                named = np.eye(n_classes)[[*p.argmax(1), choice]]
                scores = np.concatenate([p, p[[look]]]) if name == "brier" else named
                expected = LABEL_METRICS[name].on_arrays(scores, np.concatenate([truth, truth[[side[r]]]]), every)
                assert found[f"{name}_total"].values[at, r] == pytest.approx(float(expected), abs=1e-5), name
            sensitivities = []
            for k in range(n_classes):
                (own, rest), (hit, passed) = of_class[k, :, r], coin[at, k, :, r]
                is_k, named = label == k, p.argmax(1) == k
                tp, fn = boot[is_k & named, r].sum() + own * hit, boot[is_k & ~named, r].sum() + own * (not hit)
                fp, tn = (
                    boot[~is_k & named, r].sum() + rest * (not passed),
                    boot[~is_k & ~named, r].sum() + rest * passed,
                )
                of_mean = own if n_classes == 2 else many[k, 0, r]
                like = hit if n_classes == 2 or decided[k, r] else p.argmax(1)[alike[k, 0, r]] == of_k[k, r]
                found_before = boot[is_k & named, r].sum()
                sensitivities.append((found_before + of_mean * like) / (boot[is_k, r].sum() + of_mean))
                expected = {"sensitivity": tp / (tp + fn), "ppv": tp / (tp + fp), "specificity": tn / (tn + fp)}
                for name, value in expected.items():
                    if n_classes > 2 or k == 1:
                        got = found[f"{name}_total"].values[at][(k,) * (n_classes > 2)][r]
                        assert got == pytest.approx(value, abs=1e-5), name
            if n_classes == 2:  # of which the last is the positive one
                n = tp + fp + fn + tn
                chance = ((tp + fn) * (tp + fp) + (fp + tn) * (fn + tn)) / n**2
                expected = ((tp + tn) / n - chance) / (1 - chance)
                assert found["kappa_total"].values[at, r] == pytest.approx(expected, abs=1e-5)
            assert found["balanced_accuracy_total"].values[at, r] == pytest.approx(np.mean(sensitivities), abs=1e-5)
    assert (found["auroc_total"] != found["auroc"].isel(draw=0)).all()


def test_average_precision_counts_half_of_a_case_where_its_own_score_is():
    """Literally, of untied and of tied cases; as a whole, few positive cases would hold too much for new ones."""
    score, own, more = (
        np.array([5, 4, 4, 2, 1]),
        np.array([1.0, 0.5, 2.0, 0.0, 1.5]),
        np.array([0.0, 1.0, 0.5, 2.0, 1.0]),
    )
    expected = 0.0
    for at, weight in enumerate(own):
        true, false = own[score >= score[at]].sum() - weight / 2, more[score >= score[at]].sum()
        expected += weight * true / (true + false) / own.sum()
    end = np.array([0, 2, 2, 3, 4])
    metric = LABEL_METRICS["average_precision"]
    given = np.cumsum(own)[end], np.cumsum(more)[end], score
    assert float(metric.at(*given, own)) == pytest.approx(expected)
    whole = sum(w * own[score >= s].sum() / (own + more)[score >= s].sum() for w, s in zip(own, score, strict=True))
    assert float(metric.at(*given)) == pytest.approx(whole / own.sum())


def test_confusion_and_rates_of_answers_have_a_width_where_nothing_varies():
    label = np.arange(9) % 3
    silent = np.eye(3)[label].copy()
    silent[0] = 0  # no answer
    annotations = pb.Annotations.from_counts(np.eye(3, dtype=int)[label], classes=list("abc"))
    given = {"always": np.eye(3)[label], "once silent": silent}
    metrics = ["answer_rate", "selective_accuracy", "confusion"]
    found = pb.evaluate(annotations, given, truth="annotator", metrics=metrics, progress=False)
    for metric in metrics:
        low, high = found[f"{metric}_total"].quantile(ENDS, "replicate")
        assert (high - low > 0.02).all(), metric
    low, high = mid_p(9, 9)
    assert ends(found, "answer_rate")[0] == pytest.approx(low, abs=0.05)
    assert found["confusion_total"].sum(["true_class", "named_class"]).values == pytest.approx(1, abs=1e-5)


def test_units_are_those_of_the_clusters_of_a_class():
    truth = np.array([[2.0, 0.0], [1.0, 0.0], [0.0, 3.0], [0.0, 1.0]])
    words = np.arange(8, dtype=np.uint32).reshape(4, 2)[[0, 0, 0, 1]]
    case = UnseenCase(truth, words, np.array([0]), 200_000)
    of_class = case.of_classes()[0].mean(axis=-1)
    np.testing.assert_allclose(case.altogether()[0].mean(), (36 + 1) / 7, rtol=0.02)
    np.testing.assert_allclose(of_class, [[9 / 3, 10 / 4], [10 / 4, 9 / 3]], rtol=0.02)


def test_coins_are_fair_and_differ_as_often_as_they_can():
    random = np.random.default_rng(0)
    for n, differ in ((2, 1), (3, 2 / 3), (4, 2 / 3), (9, 8 / 15)):
        found = coins(np.arange(n), 20_000, random)
        np.testing.assert_allclose(found.mean(axis=1), 0.5, atol=0.02)
        apart = (found[:, None] != found).mean(axis=2)
        np.testing.assert_allclose(apart[~np.eye(n, dtype=bool)], differ, atol=0.02)
    of_an_expert = UnseenCase(np.eye(2), key_words(0, ["p", "q"], Stream.BOOTSTRAP), np.arange(1), 20_000).coin
    assert of_an_expert.mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(("right", "n"), [(5, 5), (0, 7), (9, 12)])
def test_shares_have_mid_p_intervals_whatever_a_case_weighs(right, n):
    """Of n positive cases among many more, so many are found; and so many of n cases are right."""
    found_of = np.arange(n) < right
    yes, p = np.repeat([True, False], [n, 40 - n]), np.r_[np.where(found_of, 0.9, 0.1), np.full(40 - n, 0.1)]
    for weights in (None, np.where(yes, 0.01, 1.0)):
        found = binary(yes, p, weights=weights)
        np.testing.assert_allclose(ends(found, "sensitivity"), mid_p(right, n), atol=0.04)
        assert summary(found).dropna(subset="mean").eval("total_lower <= mean <= total_upper").all()
    found = binary(found_of, np.full(n, 0.9))
    np.testing.assert_allclose(ends(found, "accuracy"), mid_p(right, n), atol=0.04)


def test_weights_that_are_constant_within_a_class_change_nothing_that_is_conditional_on_it():
    """A sample of 100 positives of 300, weighted to a prevalence of 0.3 %: half an average case was 55 positives."""
    random, yes = np.random.default_rng(0), np.repeat([True, False], [100, 200])
    p = np.clip(np.where(random.random(300) < np.where(yes, 0.9, 0.15), 0.8, 0.2) + 0.1 * random.random(300), 0, 1)
    names = ["sensitivity", "specificity", "auroc", "sensitivity_at_specificity_0.9", "balanced_accuracy"]
    plain, weighted = (binary(yes, p, weights=weights) for weights in (None, np.where(yes, 0.009, 1.4955)))
    for name in names:
        np.testing.assert_allclose(weighted[f"{name}_total"], plain[f"{name}_total"], atol=1e-5)


def test_perfect_order_of_few_cases_is_uncertain():
    yes, p = np.array([1, 1, 1, 0, 0, 0]), np.array([0.95, 0.93, 0.9, 0.2, 0.1, 0.05])
    found = binary(yes, p)
    widths = summary(found).set_index("metric").eval("total_upper - total_lower")
    assert (widths > 0.3).all(), widths
    assert comparison.probability(found, "auroc", ">=", 0.99, noise="total").item() < 0.8


def test_no_mean_error_is_certain_and_an_accuracy_of_a_group_is_that_of_its_cases():
    grades = np.arange(20) % 4
    annotations = pb.Annotations.from_counts(np.eye(4, dtype=int)[grades], classes=list("1234"))
    ask = {"metrics": ["mean_absolute_error", "within_one", "quadratic_kappa", "accuracy"], "truth": "annotator"}
    exact = np.where(np.arange(20) < 10, grades, (grades + 1) % 4)
    group = np.repeat(["first", "second"], 10)
    found = pb.evaluate(annotations, {"A": np.eye(4)[exact]}, by={"half": group}, ordered=True, **ask)
    alone = pb.evaluate(annotations.select(np.arange(10)), {"A": np.eye(4)[exact[:10]]}, ordered=True, **ask)
    for name in ask["metrics"]:
        of_group = found[f"{name}_total_by_group"].sel(group="half: first")
        np.testing.assert_allclose(of_group, alone[f"{name}_total"], atol=1e-5)
        lower, upper = of_group.quantile(ENDS, "replicate").values.ravel()
        assert upper - lower > 0.08, name
        assert lower <= alone[name].item() <= upper
    of_experts = pb.evaluation.panels(annotations, {"A": np.eye(4)[grades]})["expert_agreement_total"]
    np.testing.assert_allclose(of_experts.quantile(ENDS, "replicate")[:, 0], mid_p(20, 20), atol=0.03)


@pytest.mark.parametrize("n_discordant", [3, 5, 8])
def test_a_better_classifier_is_as_certain_as_by_the_sign_test(n_discordant):
    """Of 40 cases, the first is right in some more, and the second in none."""
    yes, second = np.arange(40) % 2 == 1, np.where(np.arange(40) % 2 == 1, 0.9, 0.1)
    first = second.copy()
    second[:n_discordant] = 1 - second[:n_discordant]
    found = binary(yes, {"A": first, "B": second})
    better = comparison.probability_better(found, "accuracy", "A", "B", noise="total")
    assert better == pytest.approx(1 - stats.binom.sf(n_discordant - 1, n_discordant, 0.5) / 2, abs=0.015)
    assert comparison.rank_probabilities(found, "accuracy", noise="total").values[0, 0] == pytest.approx(better)
    assert 0.5 < comparison.probability_better(found, "brier", "A", "B", noise="total") < better + 0.01


def test_equals_are_seldom_called_better_for_certain():
    """Also of 300 cases with hardly a positive one: ``python -m validation`` (few)."""
    n, names, beyond, n_sets = 10, ["accuracy", "sensitivity", "auroc", "brier"], {}, 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        z = random.normal(size=n)
        yes = random.random(n) < 1 / (1 + np.exp(-2.2 * z))
        if not 0 < yes.sum() < n:
            continue
        n_sets += 1
        p = {name: 1 / (1 + np.exp(-2.2 * (z + 0.7 * random.normal(size=n)))) for name in "AB"}
        found = binary(yes, p, seed=seed, metrics=names, replicates=1000)
        for name in names:
            better = comparison.probability_better(found, name, "A", "B", noise="total")
            beyond[name] = beyond.get(name, 0) + (min(better, 1 - better) <= 0.005)
    assert n_sets > 12
    # Of 20, one is due to each by chance in a fifth of all tries; of 40, it was 7 to 22.
    assert max(beyond.values()) <= 2, beyond


@pytest.mark.slow
def test_a_list_metric_of_certain_plausibilities_is_uncertain_at_one():
    counts = np.tile([[60, 0, 0], [0, 60, 0]], (6, 1))
    annotations = pb.Annotations.from_counts(counts)
    posterior = pb.aggregate(annotations, "dirichlet-categorical", draws=100, chains=2, progress=False)
    found = pb.evaluate(posterior, {"A": counts / 60}, metrics="top1_accuracy", replicates=4000, progress=False)
    assert found["top1_accuracy"].min() > 0.9
    np.testing.assert_allclose(ends(found, "top1_accuracy"), mid_p(12, 12), atol=0.03)


def test_a_mean_over_many_classes_of_few_cases_varies_as_it_would_and_about_its_value():
    """Forty classes of five cases: the variance is that of forty means of five, which a coin about each would move."""
    random, n_classes, n_each = np.random.default_rng(3), 40, 5
    true = np.repeat(np.arange(n_classes), n_each)
    wrong = random.random(len(true)) < 0.15
    named = np.where(wrong, (true + random.integers(1, n_classes, len(true))) % n_classes, true)
    scores = random.random((len(true), n_classes)) / 2
    scores[np.arange(len(true)), named] += 1
    annotations = pb.Annotations.from_counts(np.eye(n_classes)[true].astype(int))
    wanted = ["balanced_accuracy", "ppv_macro", "auroc_macro"]
    scores /= scores.sum(axis=1, keepdims=True)
    results = pb.evaluate(annotations, {"A": scores}, truth="annotator", metrics=wanted, progress=False)
    for name in wanted:
        around, value = results[f"{name}_total"].values, results[name].values.mean()
        assert abs(around.mean() - value) < 0.02, name  # a coin about each: .03 (AUROC) to .07
    share = 1 - wrong.reshape(n_classes, n_each).mean(axis=1)
    expected = (share * (1 - share) / (n_each - 1)).sum() / n_classes**2
    ratio = results["balanced_accuracy_total"].values.var() / expected
    assert 0.8 < ratio < 1.25, ratio  # without what makes up for few cases: .6
