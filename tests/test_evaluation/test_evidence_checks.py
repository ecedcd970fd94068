"""Checks of what an accuracy rests on, in simulated worlds: what each catches, and what it must leave alone."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import plausibly as pb
from plausibly.base.errors import AnnotationError, ArgumentError, PlausiblyWarning
from plausibly.evaluation import checks as checks
from plausibly.evaluation import evidence_checks, knows_more, limits
from plausibly.evaluation import seen_labels as limiting
from plausibly.evaluation.cautions import cautions
from plausibly.evaluation.evidence import accuracy_bounds
from plausibly.families.priors import Evidence
from plausibly.families.priors import fit as fitting
from plausibly.families.true_class.confusion import Confusion
from tests import worlds

FEW = {"draws": 50, "chains": 2, "seed": 0, "progress": False}
ACCURACY = {"metrics": "top1_accuracy", "replicates": 80, "progress": False}


def world(seed=0, n=400, k=4, labels=3, noise=0.7, copied=0.0, of_vote=False, errors=None):
    """Labels of cases, and a classifier that sees their plausibilities through noise, or copies a label or the vote.

    With `errors`, a case has one true class, which labels miss at this rate.
    """
    random = np.random.default_rng(seed)
    plausibility = random.dirichlet(np.full(k, 0.4), n)
    if errors is not None:
        plausibility = np.where(np.eye(k)[random.integers(k, size=n)] > 0, 1 - errors, errors / (k - 1))
    counts = random.multinomial(labels, plausibility)
    sharp = 1 if errors is None else 4
    scores = np.log(plausibility + 1e-3) + sharp * noise * random.normal(size=plausibility.shape)
    seen = random.random(n) < copied
    luck = random.random(counts.shape)
    label = (counts + luck / 2 if of_vote else np.where(counts, luck ** (1 / np.maximum(counts, 1)), 0)).argmax(1)
    scores[seen] = 6 * np.eye(k)[label[seen]] - 3
    return plausibility, counts, scores


def posterior_of(counts, scores=None):
    known = {} if scores is None else {"class_prior": "predictions", "predictions": {"A": scores}}
    return pb.aggregate(pb.Annotations.from_counts(counts), "dirichlet-categorical", reliability=1, **known, **FEW)


def ceiling(counts, scores):
    annotations, choice = pb.Annotations.from_counts(counts), scores.argmax(1)[None]
    (row,) = limiting.ceiling(annotations, ["A"], choice, annotations.cases)
    return dict(zip(checks.COLUMNS, row, strict=True))


def label_shares(counts, scores):
    annotations, choice = pb.Annotations.from_counts(counts), scores.argmax(1)[None]
    rows = checks._plurality(annotations, Evidence.of({"A": scores}, annotations), choice, 0)
    return {row[1]: dict(zip(checks.COLUMNS, row, strict=True)) for row in rows}


@pytest.mark.slow
def test_who_looks_at_the_case_knows_more_than_a_posterior_without_predictions():
    _, counts, scores = world()
    table = evidence_checks(posterior_of(counts), {"A": scores}).set_index("check")
    own = table.loc["agreement"]
    assert not own["passed"]
    assert "knows more" in own["meaning"]
    assert own["observed"] == pytest.approx((counts[np.arange(400), scores.argmax(1)] / 3).mean())
    assert table.loc["ceiling", "passed"]


@pytest.mark.slow
def test_expected_agreement_is_the_mean_plausibility_of_first_choices_and_met_by_who_knows_only_labels():
    _, counts, _ = world()
    scores, posterior = counts + np.arange(4) / 9 * (counts > 0), posterior_of(counts)  # choices that have labels
    with pytest.warns(PlausiblyWarning, match="A knows more"):
        results = pb.evaluate(posterior, {"A": scores}, **ACCURACY)
    means = pb.dense(posterior).reshape(-1, 400, 4).mean(0)[np.arange(400), scores.argmax(1)]
    named = counts[np.arange(400), scores.argmax(1)] / 3
    assert results["expected_agreement"].item() == pytest.approx(means.mean(), abs=1e-5)
    error = (named - means).std(ddof=1) / 20
    assert results["expected_agreement_error"].item() == pytest.approx(error, rel=1e-4)
    results = pb.evaluate(posterior, {"A": np.eye(4)[np.full(400, 2)]}, **ACCURACY)
    assert abs(results["expected_agreement"] - results["expert_agreement"]) < 0.03
    assert knows_more(results) == {}


def test_where_one_class_is_true_who_looks_at_the_case_knows_more_and_who_looks_at_nothing_does_not():
    random = np.random.default_rng(3)
    truth = random.integers(3, size=240)
    annotations = pb.read(worlds.table(worlds.noisy(random, truth, 0.8, size=(4,))))
    posterior = pb.aggregate(annotations, "common-confusion", difficulty="same", **FEW)
    seen, coin = worlds.noisy(random, truth, 0.88), random.integers(3, size=240)
    named = {"expert": seen, "coin": coin, "constant": np.zeros(240, int)}
    predictions = {name: np.eye(3)[choice] for name, choice in named.items()}
    with pytest.warns(PlausiblyWarning, match="expert knows more") as told:
        results = pb.evaluate(posterior, predictions, **ACCURACY)
    assert len(told) == 1
    draws = posterior["posterior"]
    true, named = (draws[name].mean(("chain", "draw")) for name in ("plausibility", "common_confusion"))
    dense = np.zeros((240, 3))
    dense[posterior["constant_data"]["case_index"], draws["class_index"]] = true
    by_hand = (dense @ named.values)[np.arange(240), seen]
    assert results["expected_agreement"].values[0] == pytest.approx(by_hand.mean(), abs=1e-5)
    assert evidence_checks(posterior, predictions).set_index("classifier")["passed"].to_dict() == {
        "expert": False,
        "coin": True,
        "constant": True,
    }


def test_what_annotators_name_given_the_true_class_is_summed_over_looks_of_their_group():
    random = np.random.default_rng(0)
    named, given = random.random((4, 3, 5, 2)), random.random((4, 2, 5, 2))
    every = Confusion(named, given, np.array([0, 1, 0])).given_truth()
    by_hand = [
        [(given[:, g, :, t, None] * named[:, a]).sum(1).mean(0) for t in (0, 1)] for a, g in enumerate((0, 1, 0))
    ]
    np.testing.assert_allclose(every, by_hand)
    np.testing.assert_allclose(Confusion(named[:, :, :2]).given_truth(), named[:, :, :2].mean(0))


@pytest.mark.slow
def test_plausibilities_that_are_not_shares_and_point_estimates_expect_no_agreement():
    _, counts, scores = world(n=20)
    annotations = pb.Annotations.from_counts(counts)
    for posterior in (pb.aggregate(annotations, "prirn", **FEW), pb.aggregate(annotations, "majority-vote", seed=0)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # and what limits accuracies under predictions is not said
            assert "expected_agreement" not in pb.evaluate(posterior, {"A": scores}, **ACCURACY)
        assert len(evidence_checks(posterior, {"A": scores})) == 0


def test_who_copies_the_vote_is_above_the_ceiling_and_who_knows_every_plausibility_is_not():
    found = [ceiling(*world(seed, copied=1.0, of_vote=True)[1:]) for seed in range(3)]
    assert not any(row["passed"] for row in found)
    assert "has seen" in found[0]["meaning"]
    plausibility, counts, _ = world(n=2000)
    found = ceiling(counts, np.log(plausibility))
    assert found["passed"]
    assert found["expected"] >= plausibility.max(1).mean()


def test_the_ceiling_holds_however_plausibilities_are_distributed_unless_agreement_is_by_chance():
    random = np.random.default_rng(0)
    for k in (2, 3, 10):
        for share in random.dirichlet(np.full(k, random.uniform(0.05, 3)), 200):
            limit, slope = limiting.most_agreement((share**2).sum(), k)
            assert share.max() <= limit + 1e-9
            assert slope == pytest.approx(
                (limiting.most_agreement((share**2).sum() + 1e-7, k)[0] - limit) / 1e-7, rel=0.02
            )
        greatest = random.uniform(1 / k, 1)
        even = greatest**2 + (1 - greatest) ** 2 / (k - 1)
        assert limiting.most_agreement(even, k)[0] == pytest.approx(greatest)
    counts, observed = np.array([[1, 1]] * 20), np.ones((1, 20))
    assert list(limiting.ceiling(pb.Annotations.from_counts(counts), ["A"], observed, np.arange(20))) == []


@pytest.mark.slow
def test_labels_of_shares_pass_labels_with_errors_do_not_and_two_labels_are_not_judged():
    assert all(row["passed"] for row in label_shares(*world(n=1000)[1:]).values())
    found = label_shares(*world(n=1000, labels=5, errors=0.2)[1:])
    assert not all(row["passed"] for row in found.values())
    assert label_shares(*world(n=50, labels=2)[1:]) == {}


@pytest.mark.filterwarnings("ignore:The columns of")  # scores that are turned round
@pytest.mark.slow
def test_a_posterior_with_predictions_is_checked_by_these_and_without_the_agreement_that_it_was_fitted_to():
    _, counts, scores = world(n=60)
    posterior = posterior_of(counts, scores)
    with pytest.warns(PlausiblyWarning, match="not those of B"):
        pb.evaluate(posterior, {"A": scores, "B": -scores}, **ACCURACY)
    with pytest.warns(PlausiblyWarning, match="predictions of A are not those"):
        pb.evaluate(posterior, {"A": -scores}, **ACCURACY)
    table = evidence_checks(posterior, {"A": scores, "B": -scores}).set_index(["classifier", "check"])
    assert [*table.loc["A"].index] == ["evidence", "ceiling", "plurality", "unanimous for", "unanimous against"]
    assert table.loc[("A", "evidence"), "passed"]
    assert not table.loc[("B", "evidence"), "passed"]


@pytest.mark.slow
def test_fresh_annotations_find_who_has_seen_the_old_ones():
    plausibility, counts, scores = world(copied=1.0)
    honest = world()[2]
    random, some = np.random.default_rng(9), slice(100, 250)
    names = np.arange(400).astype(str)
    annotations = pb.Annotations.from_counts(counts, cases=names)
    fresh = pb.Annotations.from_counts(  # classes in another order
        random.multinomial(2, plausibility[some])[:, ::-1], classes=annotations.classes[::-1], cases=names[some]
    )
    posterior = pb.aggregate(annotations, "dirichlet-categorical", reliability=1, **FEW)
    table = evidence_checks(posterior, {"A": scores, "B": honest}, fresh=fresh).set_index(["check", "classifier"])
    own = table.loc["fresh"]
    assert own["passed"].tolist() == [False, True]
    chosen = scores[some].argmax(1)
    expected = plausibility[some][np.arange(150), chosen].mean()
    assert own["observed"].iloc[0] == pytest.approx(expected, abs=0.1)
    with pytest.raises(AnnotationError, match=r"fresh annotations must be of the cases.*'new'"):
        evidence_checks(posterior, {"A": scores}, fresh=pb.Annotations.from_counts([[1, 0, 0, 0]], cases=["new"]))
    with pytest.raises(AnnotationError, match=r"of the classes.*'x'"):
        evidence_checks(posterior, {"A": scores}, fresh=pb.Annotations.from_labels([["x"]], classes=["x"], cases=["0"]))


def test_grades_are_said_to_count_as_right_or_wrong():
    rows = [(f"p{i}", f"r{(3 * i + j) % 10}", 1 + (i + j) % 3) for i in range(80) for j in range(3)]
    scores = pb.Annotations.from_scores(pd.DataFrame(rows, columns=["case", "annotator", "score"]))
    (sentence,) = limits(scores.grades())
    assert "--metrics mean_absolute_error,quadratic_kappa" in sentence
    assert limits(scores.split(1)) == []
    by_index = np.array([[1, 2, 0], [0, 1, 2]] * 40)
    assert limits(pb.Annotations.from_counts(by_index)) == []  # classes by index, for what is known


@pytest.mark.slow
def test_limits_are_named_and_evaluate_warns_of_them_where_predictions_are_evidence():
    many = [[2, 1], [1, 2]] * 40
    assert limits(pb.Annotations.from_counts(many)) == []
    told = {
        "one label": [[1, 0], [0, 1]] * 40,
        "at most two labels": [[1, 1], [2, 0]] * 40,
        "few": many[:50],
        "11 classes": np.pad(many, ((0, 0), (0, 9))),
    }
    for words, counts in told.items():
        (sentence,) = limits(pb.Annotations.from_counts(np.asarray(counts)))
        assert words in sentence
    few = [["a", "b", "a"]] * 80
    (sentence,) = limits(pb.Annotations.from_labels(few, annotators=["x", "y", "z"]))
    assert sentence.startswith("All labels are from 3 people")
    alike = [(f"p{i}", f"r{(3 * i + j) % 10}", "ab"[j % 2]) for i in range(80) for j in range(3)]
    assert limits(pb.Annotations.from_table(pd.DataFrame(alike, columns=["case", "annotator", "class"]))) == []
    uneven = [(f"p{i}", f"r{j if j < 2 else 2 + i % 8}", "ab"[j % 2]) for i in range(80) for j in range(3)]
    (sentence,) = limits(pb.Annotations.from_table(pd.DataFrame(uneven, columns=["case", "annotator", "class"])))
    assert sentence.startswith("2 of 10 people gave most")
    _, counts, scores = world(n=40, k=3)
    annotations = pb.Annotations.from_counts(counts)
    posterior = pb.aggregate(annotations, predictions={"A": scores}, **FEW)
    with pytest.warns(PlausiblyWarning, match="What limits these accuracies: 40 cases are few"):
        pb.evaluate(posterior, {"A": scores}, **ACCURACY)


def test_names_of_ties_share_the_plurality():
    chosen = np.array([[[True] * 3, [False] * 3, [False] * 3]])
    votes = np.array([[1, 1.5, 0], [1, 1.5, 3], [1, 0, 0]])
    assert checks._label_shares(votes, chosen).T.round(3).tolist() == [[round((1 / 3 + 1 / 2) / 3, 3), 0, 0.333]]


def one_label(n=300, **given):
    """Cases with one label each, and what a posterior that knows the classifier says of it."""
    _, counts, scores = world(n=n, k=3, labels=1)
    annotations = pb.Annotations.from_counts(counts)
    return pb.aggregate(annotations, predictions={"A": scores}, **given, **FEW), {"A": scores}


@pytest.mark.slow
def test_one_label_a_case_gives_agreement_and_bounds_and_no_accuracy():
    posterior, predictions = one_label()
    by = {"site": ["x", "y"] * 150}
    with pytest.warns(PlausiblyWarning, match=r"one label.*cannot be known"):
        results = pb.evaluate(posterior, predictions, k=(1, 2), by=by, progress=False)
    lists = {str(name) for name in results if str(name).startswith("top") and "plausibility" not in str(name)}
    bounds = {"top1_accuracy_lower_bound", "top1_accuracy_upper_bound"}
    assert bounds < lists
    assert all("_coverage" in name for name in lists - bounds)
    agreed = results["expert_agreement"].item()
    assert results["top1_accuracy_lower_bound"].item() == pytest.approx(2 * agreed - 1)
    assert results["top1_accuracy_upper_bound"].item() == 1
    assert results["top1_coverage"].mean().item() == pytest.approx(agreed, abs=0.03)
    assert pb.summary(results)["metric"].tolist() == ["top1_coverage", "top2_coverage"]
    with pytest.raises(ArgumentError, match=r"no metric 'top1_accuracy'.*top1_coverage.*one label"):
        pb.comparison.differences(results, "top1_accuracy")


def test_the_spread_is_known_from_labels_of_most_cases_or_published_posteriors():
    for posterior in (worlds.informed(), worlds.labels_of_three()):
        assert posterior.results.attrs["spread"] == "labels"
        assert "top1_accuracy" in posterior.results


@pytest.mark.slow
def test_accuracy_from_one_label_a_case_needs_an_assumption_and_follows_it():
    accuracy = {}
    for kappa in (0.5, 30.0):
        posterior, predictions = one_label(prior_kappa=kappa)
        assert posterior.attrs["prior_kappa"] == kappa
        results = pb.evaluate(posterior, predictions, metrics="top1_accuracy", replicates=0, progress=False)
        assert results.attrs["spread"] == "assumed"
        assert "withheld" not in results.attrs
        accuracy[kappa] = results["top1_accuracy"].values
    assert accuracy[0.5].mean() + 0.05 < accuracy[30.0].mean()  # the more opinions spread, the less a label says
    lower, upper = np.quantile(accuracy[30.0], [0.03, 0.97])
    assert upper - lower > 0.15


@pytest.mark.parametrize(("agreed", "k"), [(0.656, 3), (0.4, 3), (0.2, 3), (0.7, 2), (0.05, 10), (1.0, 4)])
def test_bounds_of_the_accuracy_are_those_of_all_distributions_of_plausibilities(agreed, k):
    """Linear programs over distributions on a grid of plausibilities, in which ties go for or against the choice."""
    grid = np.array([point for point in product(range(7), repeat=k - 1) if sum(point) <= 6]) / 6 if k < 5 else None
    if grid is None:  # the vertices alone: ties of the first classes, or of all
        grid = np.tril(np.ones((k, k)))[:, :-1] / np.arange(1, k + 1)[:, None]
        grid = np.concatenate([grid, grid[:, ::-1]])
    else:
        grid = np.concatenate([grid, np.full((1, k - 1), 1 / k), [[0.5] + [0.0] * (k - 2)]])
    choice = grid[:, 0]
    others = np.column_stack([grid[:, 1:], 1 - grid.sum(1)]).max(1)
    equal = {"A_eq": np.stack([choice, np.ones(len(grid))]), "b_eq": [agreed, 1]}
    least = linprog(1.0 * (choice > others + 1e-9), **equal).fun
    most = -linprog(-1.0 * (choice >= others - 1e-9), **equal).fun
    found = accuracy_bounds(np.array(agreed), k)
    assert (float(found[0]), float(found[1])) == pytest.approx((least, most), abs=1e-6)


def screen_of(counts, scores):
    """What the first screen is made of."""
    posterior = posterior_of(counts, scores)
    results = pb.evaluate(posterior, {"A": scores}, k=1, progress=False)
    return pb.Annotations.from_counts(counts), results, evidence_checks(posterior, {"A": scores})


@pytest.mark.slow
def test_the_first_screen_names_what_applies_and_nothing_else(monkeypatch):
    monkeypatch.setattr(fitting, "ENOUGH", 0)  # weighted proposals will do, without NUTS
    annotations, results, found = screen_of(*world()[1:])
    (unseen,) = cautions(annotations, results, found)
    assert unseen.startswith("Nothing shows")
    with pytest.warns(PlausiblyWarning, match="of A with the labels is not possible .* no accuracy is stated"):
        seen, *_ = cautions(*screen_of(*world(copied=1.0, of_vote=True)[1:]))
    assert seen.startswith("A agrees with more labels")
    told = cautions(annotations, results, found.assign(passed=found["passed"] & (found["check"] != "unanimous for")))
    assert any("disagree in another way" in sentence for sentence in told)
