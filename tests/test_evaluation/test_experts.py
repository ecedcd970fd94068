"""Panels of other experts under a posterior, against formulas, brute force, and the panels of the labels."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import integrate
from scipy.special import expit, logit, softmax
from scipy.stats import binom, norm

import plausibly as pb
from plausibly.base.bootstrap import interval
from plausibly.base.errors import ArgumentError
from plausibly.evaluation import experts
from plausibly.evaluation.cautions import cautions
from plausibly.evaluation.verdicts import what_narrows

pytestmark = pytest.mark.filterwarnings("ignore:What limits these accuracies")
OPTIONS = {"progress": False, "seed": 0}


def reads(n=120, readers=4, strict=0.0, seed=0, each=None, classes=("no", "yes")):
    """Labels by readers of a strictness each, and the log odds, or scores of classes, of cases."""
    random = np.random.default_rng(seed)
    odds = random.normal(0, 1.8, (n, len(classes)))
    own = np.broadcast_to(strict, (readers,))[:, None, None] * random.normal(size=(readers, 1, len(classes)))
    shares = softmax(odds + own, axis=2)
    label = (random.random((readers, n, 1)) > shares.cumsum(axis=2)).sum(axis=2)
    who, case = np.indices(label.shape)
    table = {
        "case": case.ravel().astype(str),
        "annotator": who.ravel().astype(str),
        "label": np.array(classes)[label.ravel()],
    }
    table = pd.DataFrame(table).sample(frac=1, random_state=seed)
    if each:
        table = table.groupby("case").head(each)
    return pb.Annotations.from_table(table.sort_values(["case", "annotator"]), list(classes)), odds


@pytest.fixture(scope="module")
def judged():
    annotations, odds = reads(strict=0.6)
    order = annotations.cases.astype(int)
    scores = {name: softmax(odds + noise, axis=1)[order] for name, noise in (("A", 0.0), ("B", [1.5, 0.0]))}
    return annotations, scores, pb.aggregate(annotations, predictions=scores, draws=200, **OPTIONS)


def evaluated(judged, **options):
    _, scores, posterior = judged
    return pb.evaluate(posterior, scores, truth="panel", **{**OPTIONS, **options})


def test_pairs_say_of_strictness_what_an_integral_over_two_readers_says():
    # Two readers of two classes: which of them said yes where they disagree, s = s_yes - s_no, s1 - s2 ~ N(0, 4 τ²).
    said = np.array([[1, 0]] * 30 + [[0, 1]] * 6 + [[1, 1]] * 9)
    case, who = np.indices(said.shape)
    found, strictness = experts.evidence_of_strictness(case.ravel(), who.ravel(), said.ravel(), 2)

    def likelihood(scale):
        def integrand(gap):
            return np.exp(30 * np.log(expit(gap)) + 6 * np.log(expit(-gap))) * norm.pdf(gap, 0, 2 * scale)

        return np.log(integrate.quad(integrand, -12, 12, points=[logit(30 / 36)])[0])

    expected = np.array([likelihood(scale) for scale in experts.GRID])
    assert np.ptp((found - expected)[experts.GRID > 0.2]) < 0.03  # Laplace's approximation
    gap = strictness[0, 1] - strictness[0, 0] - strictness[1, 1] + strictness[1, 0]
    assert 1 < gap < logit(30 / 36)  # shrunken


def test_pairs_weigh_as_many_independent_ones():
    case, who, label = np.repeat(0, 4), np.arange(4), np.array([0, 0, 1, 1])
    columns, weight = experts._pairs(case, who, label, 2)
    assert len(weight) == 4
    assert weight == pytest.approx(2 / 4)
    assert {tuple(row) for row in columns.tolist()} == {
        (2 * i, 2 * i + 1, 2 * j, 2 * j + 1) for i in (0, 1) for j in (2, 3)
    }


@pytest.mark.parametrize("strict", [0.1, 0.8])
def test_strictness_is_found_again(strict):
    found = np.mean([experts.differences(reads(300, 8, strict, seed)[0]).strictness.median for seed in range(4)])
    assert found == pytest.approx(strict, abs=0.15)


def test_skill_is_told_from_strictness():
    random, found = np.random.default_rng(0), {}
    for spread in (0.0, 0.8):
        odds, skill = random.normal(0, 2, 600), np.exp(spread * random.normal(size=(10, 1)))
        said = random.random((10, 600)) < expit(skill * odds + 0.7 * random.normal(size=(10, 1)))
        names = [f"r{who}" for who in range(10)]
        annotations = pb.Annotations.from_labels(
            np.where(said.T, "yes", "no").tolist(), ["no", "yes"], annotators=names
        )
        found[spread] = experts.differences(annotations).skill.median
    assert found[0.0] < 0.3 < 0.5 < found[0.8]


def test_annotators_with_few_labels_count_less():
    assert experts.differences(reads(readers=4)[0]).n_annotators == pytest.approx(4)
    rows = [(str(case), who, "ab"[case % 2]) for case in range(40) for who in ("p", "q" if case < 2 else "r")]
    uneven = pb.Annotations.from_table(pd.DataFrame(rows, columns=["case", "annotator", "label"]))
    assert experts.differences(uneven).n_annotators == pytest.approx(1 / (0.5**2 + 0.475**2 + 0.025**2))


def median_of(labels, k):
    """Weight of each grade as the median of some."""
    ends = [sorted(labels)[(len(labels) - 1) // 2], sorted(labels)[len(labels) // 2]]
    return np.bincount(ends, minlength=k) / 2


GIVEN = [[0, 1]], [[1]], [[0], [1], [1]], [[1], [0], [0]]  # labels of cases: one, which may be a tie, or three


@pytest.mark.parametrize(
    ("size", "shares", "median", "given"),
    [
        (2, [0.5, 0.2, 0.3], True, GIVEN),
        (4, [0.6, 0.4], True, GIVEN),
        (3, [0.5, 0.2, 0.3], False, GIVEN),
        (5, [0.5, 0.2, 0.3], False, GIVEN),
        (5, [0.6, 0.39, 0.01], False, ([[1], [2]], [[2], [1]])),  # 2 : 2 : 1, of which a place alone is unfair
    ],
)
def test_panels_of_these_decide_as_enumeration_says(size, shares, median, given):
    k, shares = len(shares), np.array(shares)
    expected = np.zeros(k)
    for known in given:
        chosen = list(combinations(known, min(size, len(known))))
        for some in chosen:
            ways = len(given) * len(chosen) * np.prod([len(tied) for tied in some])
            for labels in product(*some, *[range(k)] * (size - len(some))):
                votes = np.bincount(labels, minlength=k)
                won = median_of(labels, k) if median else (votes == votes.max()) / (votes == votes.max()).sum()
                expected += shares[list(labels[len(some) :])].prod() * won / ways
    rankings = [[[["123"[at] for at in tied]] for tied in known] for known in given] * (400 // len(given))
    annotations = pb.Annotations.from_rankings(rankings, list("123")[:k])
    draws, slots = np.tile(shares, (1, 50, 400)), np.tile(np.arange(k), 400)
    slots = pb.annotations.Slots(np.repeat(np.arange(400), k), slots, np.ones(400 * k, int), k * np.arange(401))
    posterior = pb.posterior.build_posterior(draws, annotations, slots, point=draws[0, 0], concentration=1.0)
    named = {"123"[at]: np.tile(np.eye(k)[at], (400, 1)) for at in range(k)}
    given = {"metrics": ["accuracy"], "truth": "panel", "panel": size, "ordered": median}
    found = pb.evaluate(posterior, named, **given, **OPTIONS)
    assert found.attrs["readers"] == "these"
    assert found["accuracy"].mean("draw").values == pytest.approx(expected, abs=0.006)


def test_the_median_of_labels_is_that_of_all_their_panels():
    labels = [[0, 0, 2, 1], [2, 2, 0, 1], [1, 1, 1, 0]]
    annotations = pb.Annotations.from_labels(np.array(list("012"))[labels].tolist(), list("012"))
    for size in (1, 2, 3, 4):
        found = pb.evaluation.truth_of_labels(annotations, "panel", size, ordered=True)
        for row, own in zip(found, labels, strict=True):
            every = [median_of(chosen, 3) for chosen in combinations(own, size)]
            assert row == pytest.approx(np.mean(every, axis=0))
    results = pb.evaluate(annotations, {"A": [2.0, 2, 2]}, ordered=True, truth="panel", panel=3, **OPTIONS)
    assert results["mean_absolute_error"].attrs["against"] == "the median grade of three experts"
    assert results["mean_absolute_error"].item() == pytest.approx(
        np.mean(
            [(2 - np.arange(3)) @ row for row in pb.evaluation.truth_of_labels(annotations, "panel", 3, ordered=True)]
        )
    )


def read_by(skill, n=400, seed=0):
    """Labels by readers who agree with the classifier's answer at a rate of their own."""
    random = np.random.default_rng(seed)
    named = random.integers(0, 2, n)
    right = random.random((n, len(skill))) < np.array(skill)
    labels = np.where(right, named[:, None], 1 - named[:, None])
    names = [f"r{who}" for who in range(len(skill))]
    annotations = pb.Annotations.from_labels(np.array(["a", "b"])[labels].tolist(), ["a", "b"], annotators=names)
    return annotations, {"A": np.eye(2)[named]}


def width(results, name):
    lower, upper = interval(results[name].values.ravel(), 0.94)
    return float(upper - lower)


def test_readers_add_what_they_differ_by():
    skill = np.array([0.55, 0.65, 0.7, 0.8, 0.9, 0.75])
    annotations, scores = read_by(skill)
    others, these = (pb.evaluation.panels(annotations, scores, readers=of, replicates=4000) for of in (None, "these"))
    assert (others.attrs["readers"], these.attrs["readers"]) == ("others", "these")
    assert others["expert_agreement"].equals(these["expert_agreement"])
    added = (others["expert_agreement_total"].var() - these["expert_agreement_total"].var()).item()
    assert added == pytest.approx(skill.var(ddof=1) / 6 * 5 / 3, rel=0.25)  # a t with 5 degrees of freedom
    alike, scores = read_by(np.full(6, 0.7))
    widths = [
        width(pb.evaluation.panels(alike, scores, readers=of), "expert_agreement_total") for of in (None, "these")
    ]
    assert widths[0] < 1.25 * widths[1]


def test_metrics_against_an_expert_allow_for_other_readers_in_every_group():
    annotations, scores = read_by([0.55, 0.65, 0.7, 0.8, 0.9, 0.75], 200)
    by = {"half": np.repeat(["first", "second"], 100)}
    given = {"metrics": ["accuracy", "auroc"], "truth": "annotator", "by": by, "positive": "b"}
    others, these = (pb.evaluate(annotations, scores, readers=of, **given, **OPTIONS) for of in (None, "these"))
    for name in ("accuracy_total", "auroc_total", "accuracy_total_by_group"):
        assert width(others, name) > 1.3 * width(these, name)
    assert others["accuracy_sampling"].equals(these["accuracy_sampling"])
    assert float(others["accuracy_total"].max()) <= 1
    agreed = pb.evaluation.panels(annotations, scores)["expert_agreement_total"]
    assert width(others, "accuracy_total") == pytest.approx(width({"x": agreed}, "x"), rel=0.15)


def test_few_annotators_cannot_tell_of_others():
    annotations, scores = read_by([0.6, 0.8])
    assert pb.evaluation.panels(annotations, scores).attrs["readers"] == "these"
    with pytest.raises(ArgumentError, match="needs three annotators or more without a model, but there are 2"):
        pb.evaluation.panels(annotations, scores, readers="others")
    four, scores = read_by([0.6, 0.8, 0.7, 0.7])
    assert pb.evaluation.panels(four, scores).attrs["readers"] == "these"
    assert pb.evaluation.panels(four, scores, readers="others").attrs["readers"] == "others"


def test_experts_differ_as_far_as_is_said():
    of = experts.Differences(
        experts.Scale(np.array([0.8]), np.ones(1)), experts.Scale(np.array([0.3]), np.ones(1)), 4.0
    )
    panels = experts.draw_panels(of, 3, 2, 20_000, seed=0)
    gap = panels.strictness[:, 1] - panels.strictness[:, 0]
    assert gap.std() == pytest.approx(0.8 * np.sqrt(2 * (1 + 1 / 4)), rel=0.02)
    assert np.cov(gap)[0, 1] == pytest.approx(0.8**2 * 2 / 4, rel=0.08)  # whom these annotators are is shared
    assert panels.strictness.sum(axis=1) == pytest.approx(0, abs=1e-5)
    assert np.log(panels.power).std() == pytest.approx(0.3, rel=0.02)
    assert np.log(panels.power).mean() == pytest.approx(np.log(experts.sharpness(np.array(0.8))), abs=0.01)


def test_shares_of_experts_average_to_those_of_these():
    odds, scale = np.array([-3.0, -1.0, 0.5, 2.0]), 0.9
    gap = scale * np.sqrt(2) * np.random.default_rng(0).normal(size=(200_000, 1))
    mean = expit(experts.sharpness(np.array(scale)) * odds + gap).mean(axis=0)
    assert mean == pytest.approx(expit(odds), abs=0.012)


@pytest.mark.slow
def test_results_are_of_a_panel_in_every_draw(judged):
    metrics = ["accuracy", "auroc"]
    found = evaluated(judged, metrics=metrics, by={"half": np.repeat(["first", "second"], 60)})
    assert {found.attrs[name] for name in ("truth", "readers")} == {"panel", "others"}
    assert found.attrs["panel"] == 5
    assert found["accuracy"].attrs["against"] == "what five other experts would decide"
    for name in metrics:
        assert found[f"{name}_point"].values == pytest.approx(found[name].mean("draw").values)
        assert f"{name}_by_group" in found
        assert f"{name}_total" in found
    of_these = evaluated(judged, metrics=metrics, readers="these")
    width, other = ((of["accuracy"].quantile([0.03, 0.97], "draw").diff("quantile").values) for of in (found, of_these))
    assert (width > 1.5 * other).all()
    # These four say it directly, but for a fifth; others differ in strictness, and are known by the model alone.
    assert found["accuracy"].mean("draw").values == pytest.approx(of_these["accuracy"].mean("draw").values, abs=0.04)
    assert set(pb.summary(found)["metric"]) == set(metrics)
    assert (evaluated(judged, metrics=metrics)["auroc"].values == found["auroc"].values).all()


def test_labels_tell_where_these_annotators_are_enough(judged):
    annotations, scores, posterior = judged
    found, of_labels = (
        pb.evaluate(source, scores, metrics=["accuracy", "auroc"], truth="panel", panel=3, **given)
        for source, given in ((posterior, OPTIONS | {"readers": "these"}), (annotations, OPTIONS))
    )
    assert found.identical(of_labels)
    assert "strictness" not in found.attrs


def test_a_missing_label_changes_panels_of_these_by_little(judged):
    annotations, scores, _ = judged
    given = {"metrics": ["sensitivity"], "truth": "panel", "panel": 4, "readers": "these", **OPTIONS}
    whole = pb.evaluate(annotations, scores, **given)
    table = annotations.to_table()
    fewer = pb.Annotations.from_table(table.drop(table.index[[0, 8, 20]]), list(annotations.classes))
    posterior = pb.aggregate(fewer, predictions=scores, draws=50, **OPTIONS)
    found = pb.evaluate(posterior, scores, **given)
    assert "strictness" in found.attrs  # a model draws three labels
    assert found["sensitivity"].mean("draw").values == pytest.approx(whole["sensitivity"].values[:, 0], abs=0.01)


def test_the_model_is_checked_by_the_labels(judged):
    annotations, scores, posterior = judged
    found = evaluated(judged, metrics=["accuracy"])
    size = found.attrs["panel_checked"]
    assert size == 4
    yes = np.asarray(pb.dense(posterior))[..., 1].reshape(-1, annotations.n_cases).T
    decided = binom.sf(size / 2, size, yes) + binom.pmf(size / 2, size, yes) / 2
    of_labels = pb.evaluation.truth_of_labels(annotations, "panel", size)[:, 1]
    for number, values in enumerate(scores.values()):
        named = values[:, 1] > 0.5
        expected = np.where(named, decided.mean(axis=1), 1 - decided.mean(axis=1)).mean()
        observed = np.where(named, of_labels, 1 - of_labels).mean()
        excess, error = (float(found[name][number]) for name in ("panel_excess", "panel_excess_error"))
        assert excess == pytest.approx(expected - observed, abs=0.01)  # of decisions that were drawn
        assert 0.005 < error < 0.05


@pytest.mark.slow
def test_a_model_that_labels_contradict_is_told(judged):
    annotations, scores, _ = judged
    sure = pb.aggregate(annotations, "dirichlet-categorical", concentration=0.01, draws=200, **OPTIONS)
    found = pb.evaluate(sure, scores, metrics=["accuracy"], truth="panel", **OPTIONS)
    text = " ".join(cautions(annotations, found, panels=found))
    off = np.abs(found["panel_excess"].values) > 2.5 * found["panel_excess_error"].values
    assert ("Panels do not decide as the labels do" in text) == bool(off.any())


@pytest.mark.slow
def test_whom_panels_are_of(judged):
    annotations, scores, _ = judged
    counts = pb.Annotations.from_counts(np.random.default_rng(0).multinomial(3, [0.4, 0.6], 30), ["no", "yes"])
    given = {"A": np.tile([0.3, 0.7], (30, 1))}
    posterior = pb.aggregate(counts, predictions=given, draws=50, **OPTIONS)
    found = pb.evaluate(posterior, given, metrics=["accuracy"], truth="panel", **OPTIONS)
    assert found.attrs["readers"] == "these"
    with pytest.raises(ArgumentError, match="needs annotators by name"):
        pb.evaluate(posterior, given, truth="panel", readers="others", **OPTIONS)
    with pytest.raises(ArgumentError, match=r"at most the number of annotations of some case, 3.*pass a posterior"):
        pb.evaluate(counts, given, truth="panel", **OPTIONS)
    true_class = pb.aggregate(annotations, "common-confusion", draws=50, chains=2, **OPTIONS)
    assert "strictness" not in pb.evaluate(true_class, scores, truth="panel", panel=3, **OPTIONS).attrs


def test_what_would_narrow_an_interval_follows_from_what_it_is_made_of(judged):
    annotations, *_ = judged
    random = np.random.default_rng(0)
    experts_sd, cases_sd, labels_sd = 0.04, 0.03, 0.02
    drawn, total = (
        (np.sqrt(sum(sd**2 for sd in sds))) for sds in ((experts_sd, labels_sd), (experts_sd, labels_sd, cases_sd))
    )
    variables = {
        "accuracy": (("classifier", "draw"), 0.8 + drawn * random.normal(size=(1, 400_000))),
        "accuracy_total": (("classifier", "replicate"), 0.8 + total * random.normal(size=(1, 400_000))),
        "of_these_sd": (("classifier",), [0.02]),
    }
    attrs = {"panel": 5, "effective_annotators": 4.0, "annotators": 4}
    results = xr.Dataset(variables, {"classifier": ["A"]}, attrs)
    found = what_narrows(results, annotations, "A")
    rest = {
        "10 annotators": 0.02**2 + 0.03**2 + 0.04**2 * (1 / 5 + 1 / 10) / (1 / 5 + 1 / 4),
        "twice as many cases": 0.04**2 + (0.02**2 + 0.03**2) / 2,
        "another label of each case": 0.04**2 + 0.03**2 + 0.02**2 * 4 / 5,
    }
    assert list(found) == sorted(rest, key=lambda what: rest[what])
    for what, left in rest.items():
        assert found[what] == pytest.approx(np.sqrt(left) / total, rel=0.01)
