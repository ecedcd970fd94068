"""Weighted reliability: by hand, by its definition in loops, in closed forms, and with a Rasch model."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import plausibly as pb
from plausibly.agreement import weighted_reliability
from plausibly.agreement.pairs import OneCoin
from plausibly.agreement.reliability._rasch import accuracy_draws
from plausibly.base.errors import ArgumentError

TABLE = pd.DataFrame(
    [
        ("p", "ann", "x", 1.0),
        ("p", "bob", "x", 0.5),
        ("p", "cy", "y", 0.8),
        ("q", "ann", "y", 0.5),
        ("q", "bob", "y", 0),
    ],
    columns=["case", "annotator", "label", "confidence"],
)


def test_worked_on_paper_with_wrong_labels_spread_or_as_published():
    """Three raters, two labels, confidences; chance is ½.

    ĉ: ann on p 1; bob on p ½ / (½ + ½ · ½) = 2/3; cy on p 0.8 / (0.8 + 0.2 · ½) = 8/9; ann on q 2/3; bob on q 0.
    p: ann and bob agree, GA = 2/3, the other two pairs do not: σ = 2/9. q: one pair, GA = 2/3 · 0 = 0.
    σ = 1/9. With accuracies 0.9, 0.8, 0.6: P(correct | agree) of ann and bob = 0.72 / (0.72 + 0.02) = 36/37;
    ϱ(p) = 2/9 · 36/37 = 8/37, ϱ(q) = 0, ϱ = 4/37.
    """
    result = weighted_reliability(TABLE, competence={"ann": 0.9, "bob": 0.8, "cy": 0.6})
    assert result.confidence[:, 1].tolist() == pytest.approx([1, 2 / 3, 8 / 9, 2 / 3, 0])
    assert result.by_case()["concordance"].to_dict() == pytest.approx({"p": 2 / 9, "q": 0})
    assert result.by_case()["reliability"].to_dict() == pytest.approx({"p": 8 / 37, "q": 0})
    assert (result.concordance, result.reliability) == pytest.approx((1 / 9, 4 / 37))
    assert result.annotators()["n_labels"].to_dict() == {"ann": 2, "bob": 2, "cy": 1}
    assert result.annotators()["confidence"].to_dict() == pytest.approx({"ann": 0.75, "bob": 0.25, "cy": 0.8})
    # x: 2 of 5, y: 3 of 5; ĉ of bob on p: ½ / (½ + ½ · 2/5) = 5/7, of ann on q: ½ / (½ + ½ · 3/5) = 5/8.
    result = weighted_reliability(TABLE, competence=1.0, chance="empirical")
    assert result.confidence[[1, 3], 1].tolist() == pytest.approx([5 / 7, 5 / 8])
    given_chance = weighted_reliability(TABLE, competence=1.0, chance={"x": 0.4, "y": 0.6})
    np.testing.assert_allclose(given_chance.confidence, result.confidence)
    four = weighted_reliability(TABLE, competence=1.0, n_classes=4)
    assert four.confidence[1, 1] == pytest.approx(0.5 / (0.5 + 0.5 / 4))
    # Of three labels, two annotators of accuracy 0.6 who agree are right with 0.36 / (0.36 + 0.16 / 2).
    table = {"p": {"ann": "a", "bob": "a"}, "q": {"ann": "b", "bob": "c"}}
    spread = weighted_reliability(table, competence=0.6)
    published = weighted_reliability(table, competence=0.6, wrong_labels="published")
    assert spread.reliability == pytest.approx(0.36 / 0.44 / 2)
    assert published.reliability == pytest.approx(0.36 / 0.52 / 2)
    with pytest.raises(ArgumentError, match=r"wrong_labels must be .* but 'none'"):
        weighted_reliability(table, competence=0.6, wrong_labels="none")
    rows, _, _ = simulated(4)
    frame = weighted_reliability(rows, competence=0.7).to_frame(progress=False)
    published = weighted_reliability(rows, competence=0.7, wrong_labels="published")
    assert frame["published_form"].item() == pytest.approx(published.reliability)
    assert published.published is None


rows = st.dictionaries(
    st.tuples(st.sampled_from("pqrs"), st.sampled_from("abcde")),
    st.tuples(st.integers(0, 2), st.sampled_from([0.0, 0.25, 0.5, 1.0])),
    min_size=2,
).filter(lambda d: any(sum(case == c for case, _ in d) > 1 for c in "pqrs"))


@settings(max_examples=60)
@given(rows, st.lists(st.sampled_from([0.0, 0.3, 0.6, 0.9, 1.0]), min_size=5, max_size=5), st.booleans())
def test_its_definition(given_rows, accuracies, empirical):
    table = pd.DataFrame(
        [(case, who, label, sure) for (case, who), (label, sure) in given_rows.items()],
        columns=["case", "annotator", "label", "confidence"],
    )
    n_labels = table["label"].nunique()
    frequency = table["label"].value_counts(normalize=True)
    accuracy = dict(zip("abcde", accuracies, strict=True))
    result = weighted_reliability(table, competence=accuracy, chance="empirical" if empirical else "uniform").by_case()
    for case, own in table.groupby("case"):
        if len(own) < 2:
            assert case not in result.index
            continue
        agreed, right = [], []
        for (_, a), (_, b) in combinations(own.iterrows(), 2):
            ga = float(a["label"] == b["label"])
            for row in (a, b):
                p = frequency[row["label"]] if empirical else 1 / n_labels
                c = row["confidence"]
                ga *= c / (c + (1 - c) * p) if c else 0
            s, t = accuracy[a["annotator"]], accuracy[b["annotator"]]
            below = s * t + (1 - s) * (1 - t) / max(n_labels - 1, 1)
            agreed.append(ga)
            right.append(ga * (s * t / below if below else 0.5))
        assert result.loc[case, "concordance"] == pytest.approx(np.mean(agreed), abs=1e-12)
        assert result.loc[case, "reliability"] == pytest.approx(np.mean(right), abs=1e-12)


@pytest.mark.parametrize("accuracy", [0.6, 0.8, 0.95])
def test_a_sure_and_uniform_panel(accuracy):
    """ϱ ≈ a² and σ ≈ a² + (1 − a)²."""
    labels, truth, _ = simulated(2, n_cases=4000, accuracy=accuracy)
    known = weighted_reliability(labels, competence="known", truth=truth)
    assert known.reliability == pytest.approx(accuracy**2, abs=0.02)
    assert known.concordance == pytest.approx(accuracy**2 + (1 - accuracy) ** 2, abs=0.02)
    lower, upper = known.interval(progress=False)
    assert lower < known.reliability < upper < lower + 0.03


def test_competence_is_known_left_one_out_or_from_elsewhere(tmp_path):
    labels = {"p": {"a": 1, "b": 1, "c": 0}, "q": {"a": 1, "b": 0, "c": 0}, "r": {"a": 1, "b": 0, "c": 1, "d": 0}}
    known = weighted_reliability(labels, competence="known", truth={"p": 1, "r": 0})
    assert known.annotators()["accuracy"].to_dict() == {"a": 0.5, "b": 1, "c": 0, "d": 1}
    # Others of a: {1, 0} half, {0, 0} no, {0, 1, 0} no. Of b: {1, 0} half, {1, 0} half, {1, 1, 0} no; and so on.
    others = weighted_reliability(labels, competence="leave-one-out")
    expected = {"a": 0.5 / 3, "b": 1 / 3, "c": 0.5 / 3, "d": 0}
    assert others.annotators()["accuracy"].to_dict() == pytest.approx(expected)
    expected = weighted_reliability(TABLE, competence={"ann": 0.9, "bob": 0.8, "cy": 0.6}).reliability
    path = tmp_path / "accuracies.csv"
    path.write_text("annotator,accuracy\nann,0.9\nbob,0.8\ncy,0.6\nelse,0.1\n")
    assert weighted_reliability(TABLE, competence=path).reliability == expected
    assert weighted_reliability(TABLE, competence=str(path)).reliability == expected
    assert weighted_reliability(TABLE, competence=pd.read_csv(path)).reliability == expected
    by_case = TABLE[["case", "annotator"]].assign(accuracy=[0.9, 0.8, 0.6, 0.9, 0.8])
    assert weighted_reliability(TABLE, competence=by_case).reliability == expected


def test_scales_and_limits():
    levels = TABLE.assign(confidence=["sure", "unsure", "sure", "unsure", "no idea"])
    scale = {"sure": 1.0, "unsure": 0.5, "no idea": 0.0}
    assert weighted_reliability(levels, competence=1.0, scale=scale).confidence[:, 0].tolist() == [1, 0.5, 1, 0.5, 0]
    points = TABLE.assign(points=[5, 3, 4, 3, 1])
    linear = weighted_reliability(points, "points", 1.0, scale=(1, 5))
    assert linear.confidence[:, 0].tolist() == [1, 0.5, 0.75, 0.5, 0]
    by_level = weighted_reliability(points, "points", 1.0, scale={1: 0.0, 3: 0.5, 4: 0.75, 5: 1.0})
    assert by_level.confidence[:, 0].tolist() == linear.confidence[:, 0].tolist()
    assert weighted_reliability(TABLE, 0.5, 1.0).confidence[:, 0].tolist() == [0.5] * 5
    without = weighted_reliability(TABLE.drop(columns="confidence"), competence=1.0)
    assert without.confidence.tolist() == [[1, 1]] * 5
    agree = {"p": {"a": 1, "b": 1}, "q": {"a": 1, "b": 1}, "r": {"a": 1, "b": None}}
    result = weighted_reliability(agree, competence=0.8)
    assert (result.concordance, result.excluded) == (1, ["r"])
    assert result.reliability == pytest.approx(0.64 / 0.68)
    assert weighted_reliability(agree, competence={"a": 1.0, "b": 0.0}).reliability == 0.5
    assert weighted_reliability(agree, competence="leave-one-out").reliability == 1
    assert repr(result).endswith("competence: given, 2 cases, 1 case excluded)")
    single = weighted_reliability({"p": {"a": 1, "b": 0}}, competence=0.8)
    assert "lower" not in single.to_frame()
    assert (single.concordance, single.reliability) == (0, 0)


ABILITY = np.array([-0.5, 0.3, 1.0, 1.6, 2.4])


def test_a_label_is_right_by_the_ability_of_its_annotator_less_the_difficulty_of_its_case():
    ability, difficulty = np.random.default_rng(0).normal(size=(2, 2, 3, 4))  # site, chain, draw, annotator or case
    group = xr.Dataset({"ability": (("chain", "draw", "annotator"), ability)})
    group["difficulty"] = ("chain", "draw", "case"), difficulty
    found = accuracy_draws(xr.DataTree.from_dict({"posterior": group}), np.array([3, 0]), np.array([1, 2]), slice(2, 4))
    expected = special.expit(ability[..., [3, 0]] - difficulty[..., [1, 2]]).reshape(6, 2)[2:4]
    np.testing.assert_allclose(found, expected)


@pytest.mark.slow
def test_rasch_gives_reliability_a_posterior_and_is_diagnosed():
    """Calibration of its parameters is in ``python -m validation --only rasch``."""
    rng = np.random.default_rng(7)
    difficulty = rng.normal(0, 0.8, 60)
    right = rng.random((60, 5)) < 1 / (1 + np.exp(difficulty[:, None] - ABILITY))
    truth = rng.integers(0, 2, 60)
    said = np.where(right, truth[:, None], 1 - truth[:, None])
    rows, truth = [(i, j, int(said[i, j])) for i in range(60) for j in range(5)], dict(enumerate(truth.tolist()))
    fitted = weighted_reliability(rows, truth=truth, draws=100, warmup=150, chains=2, progress=False)
    table = fitted.annotators(ci_prob=0.999)
    assert ((table["ability_lower"] < ABILITY) & (table["ability_upper"] > ABILITY)).all()
    assert np.corrcoef(table["ability"], ABILITY)[0, 1] > 0.9
    mean = fitted.posterior["posterior"]["difficulty"].mean(("chain", "draw")).values
    assert np.corrcoef(mean, difficulty)[0, 1] > 0.4
    # Difficulties are centred, or abilities would have no zero.
    assert abs(mean.mean()) < 0.3
    lower, upper = fitted.interval()
    assert lower < fitted.reliability < upper
    assert len(fitted.draws) == 2 * 100
    # Draws are those of the definition, in some draw.
    group, labels = fitted.posterior["posterior"], fitted.labels
    a, d = (group[name].values.reshape(200, -1)[17] for name in ("ability", "difficulty"))
    accuracy = 1 / (1 + np.exp(d[labels.case] - a[labels.annotator]))
    table = pd.DataFrame({"case": labels.cases[labels.case], "annotator": labels.annotators[labels.annotator]})
    again = weighted_reliability(labels, competence=table.assign(accuracy=accuracy))
    assert fitted.draws[17] == pytest.approx(again.reliability, rel=1e-5)
    assert list(fitted.by_case().columns) == ["n_annotators", "concordance", "reliability", "lower", "upper"]
    found = pb.diagnose(fitted.posterior)
    assert found["quantity"].values[[0, 5, -1]].tolist() == ["ability of 0", "difficulty of 0", "sd_difficulty"]
    assert {"diverging", "n_steps", "energy"} <= set(fitted.posterior["sample_stats"].data_vars)
    assert fitted.posterior.attrs["model"] == "rasch"
    others = weighted_reliability(rows, competence="rasch", draws=30, warmup=40, chains=2, progress=False)
    assert others.reliability < fitted.reliability + 0.05  # by the majority of the others, which errs, too


def simulated(n_labels, n_cases=120, accuracy=(0.9, 0.8, 0.7, 0.6, 0.85)):
    """Labels that are right with accuracies of the annotators, else any other; and the true ones."""
    rng = np.random.default_rng(0)
    accuracy, truth = np.broadcast_to(accuracy, 5), rng.integers(n_labels, size=n_cases)
    right = rng.random((n_cases, 5)) < accuracy
    said = np.where(
        right, truth[:, None], (truth[:, None] + 1 + rng.integers(n_labels - 1, size=right.shape)) % n_labels
    )
    rows = [(str(i), f"a{j}", int(said[i, j])) for i in range(n_cases) for j in range(5) if rng.random() < 0.8]
    return rows, {case: int(truth[int(case)]) for case, *_ in rows}, accuracy


def test_latent_truth_has_the_greatest_likelihood():
    """The likelihood by its definition falls in whichever direction the estimate is left."""
    rows, _, _ = simulated(3, n_cases=80)
    labels = pb.agreement.Labels.of(rows)
    code = labels.coded[1]
    found = OneCoin(labels, code, np.full(3, 1 / 2)).accuracies(np.ones((1, len(labels.cases))), sweeps=500)[0]

    def joint(accuracy, shares):
        """Probability of the labels of each case together with each true one."""
        by_case = []
        for i in range(len(labels.cases)):
            own = slice(labels.start[i], labels.start[i + 1])
            a, y = accuracy[labels.annotator[own]], code[own]
            by_case.append([shares[t] * np.where(y == t, a, (1 - a) / 2).prod() for t in range(3)])
        return np.array(by_case)

    def best(accuracy):
        """Log-likelihood with the shares of the labels that suit it."""
        shares = np.full(3, 1 / 3)
        for _ in range(50):
            p = joint(accuracy, shares)
            shares = (p / p.sum(axis=1, keepdims=True)).mean(axis=0)
        return np.log(joint(accuracy, shares).sum(axis=1)).sum()

    there = best(found)
    for annotator in range(5):
        for step in (-0.02, 0.02):
            moved = found.copy()
            moved[annotator] += step
            assert best(moved) < there


@pytest.mark.parametrize("n_labels", [2, 5])
def test_latent_truth_finds_the_accuracies(n_labels):
    rows, truth, accuracy = simulated(n_labels, n_cases=1500)
    found = weighted_reliability(rows, competence="one-coin", n_classes=n_labels, progress=False)
    assert found.annotators()["accuracy"].sort_index().to_numpy() == pytest.approx(accuracy, abs=0.05)
    known = weighted_reliability(rows, competence="known", truth=truth, n_classes=n_labels)
    assert found.reliability == pytest.approx(known.reliability, abs=0.02)


def test_intervals_contain_what_is_not_known_of_accuracies():
    rows, truth, _ = simulated(3)
    estimated = weighted_reliability(rows, competence="known", truth=truth)
    names = estimated.annotators()["accuracy"]
    given = weighted_reliability(rows, competence=names.to_dict())
    assert given.reliability == pytest.approx(estimated.reliability)
    own, fixed = (result.interval(replicates=2000, seed=1) for result in (estimated, given))
    assert own[0] < estimated.reliability < own[1]
    assert own[1] - own[0] > 1.1 * (fixed[1] - fixed[0])
    assert estimated.interval(replicates=50) == estimated.interval(replicates=50)
    # With equal weights, what is drawn is what was found.
    one = estimated.resampling.accuracies(np.ones((1, 120)))[0]
    assert one == pytest.approx(names.to_numpy())
