"""The discrepancy ratio against its definition, closed forms, simulations whose answer is known, and its limits."""

import json
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausibly import distances
from plausibly.agreement import discrepancy_ratio
from plausibly.base.errors import ArgumentError
from plausibly.data.datasets import simulate_label_noise
from plausibly.data.labels import Labels

DELTAS = {
    "nominal": lambda a, b: float(a != b),
    "squared": lambda a, b: (a - b) ** 2,
    "absolute": lambda a, b: abs(a - b),
    "hinge": lambda a, b: max(0.0, abs(a - b) - 0.5),
    "jaccard": lambda a, b: 1 - len(set(a) & set(b)) / len(set(a) | set(b)) if {*a, *b} else 0.0,
}


def literal(rows, model, delta):
    """SPEC's sums as they stand: per case α and μ, by case, of rows (case, annotator, label) and {case: labels}."""
    alpha, mu = {}, {}
    for case in dict.fromkeys(row[0] for row in rows):
        said = {}
        for _, annotator, label in (row for row in rows if row[0] == case):
            said.setdefault(annotator, []).append(label)
        if len(said) < 2:
            continue

        def psi(first, second):
            return np.mean([delta(y, z) for y in first for z in second])

        n = len(said)
        alpha[case] = sum(psi(said[j], said[k]) for j, k in permutations(said, 2)) / (n * (n - 1))
        mu[case] = np.mean([psi(model[case], said[j]) for j in said])
    return alpha, mu


def readings(rows):
    return Labels.of(rows, repeats="readings")


def test_worked_on_paper():
    """Two cases; ann labels p twice.

    p: ann {1, 0}, bob {1}, cy {0}; the model says 1. Pairs: ann-bob ½, ann-cy ½, bob-cy 1, each in both orders:
    α = 2 (½ + ½ + 1) / (3 · 2) = 2/3. Model: ann ½, bob 0, cy 1: μ = ½.
    q: ann {1}, bob {1}; the model says 0: α = 0, μ = 1.
    Means: α = 1/3, μ = 3/4, Δ = 9/4. r has one annotator and is left out.
    """
    rows = [("p", "ann", 1), ("p", "ann", 0), ("p", "bob", 1), ("p", "cy", 0), ("q", "ann", 1), ("q", "bob", 1)]
    for delta in ("nominal", "squared", "absolute", lambda a, b: abs(a - b)):
        result = discrepancy_ratio(readings([*rows, ("r", "ann", 1)]), [("p", 1), ("q", 0)], delta)
        assert result.annotator_discrepancy == pytest.approx(1 / 3)
        assert result.model_discrepancy == pytest.approx(3 / 4)
        assert result.ratio == pytest.approx(9 / 4)
        assert (result.excluded, result.n_cases) == (["r"], 2)
        assert result.by_case()["annotator_discrepancy"].to_dict() == pytest.approx({"p": 2 / 3, "q": 0})
    several = discrepancy_ratio({"p": {"a": 1.0, "b": 3.0}}, [("p", 1.0), ("p", 2.0)], "absolute")
    assert several.model_discrepancy == pytest.approx((0 + 2 + 1 + 1) / 4)
    # Of 1, 2, 2, 5, 5 the middles of the ranks are ½, 2, 4; a model's 3 stands after the first three labels, at 3.
    # α of p: (1.5² + 3.5² + 2²) / 3 = 18.5/3, of q: 2² = 4. A is at ½ and 4: μ = ((0 + 1.5² + 3.5²)/3 + 2²/2) / 2.
    labels = {"p": {"a": 1, "b": 2, "c": 5}, "q": {"a": 2, "b": 5}}
    one, other = {"A": {"p": 1, "q": 5}}, {"B": {"p": 3, "q": 3}}
    result = discrepancy_ratio(labels, one | other, "ordinal")
    assert result.annotator_discrepancy == pytest.approx((18.5 / 3 + 4) / 2)
    assert result.model_discrepancy["A"] == pytest.approx((14.5 / 3 + 2) / 2)
    assert result.model_discrepancy["B"] == pytest.approx(((2.5**2 + 1 + 1) / 3 + 1) / 2)
    assert discrepancy_ratio(labels, one, "ordinal").ratio["A"] == result.ratio["A"]


tables = st.lists(
    st.tuples(st.sampled_from("pqr"), st.sampled_from("abcd"), st.integers(0, 3)), min_size=2, max_size=24
).filter(lambda rows: any(len({a for c, a, _ in rows if c == case}) > 1 for case in "pqr"))


@settings(max_examples=60)
@given(tables, st.lists(st.integers(0, 3), min_size=3, max_size=3), st.sampled_from(list(DELTAS)))
def test_every_delta_is_its_definition(rows, said, name):
    model = {case: [label] for case, label in zip("pqr", said, strict=True)}
    if name == "jaccard":
        rows = [(case, annotator, [*range(label)]) for case, annotator, label in rows]
        model = {case: [[*range(label)]] for case, (label,) in model.items()}
    cases = {row[0] for row in rows}
    alpha, mu = literal(rows, model, DELTAS[name])
    predictions = [(case, label) for case, (label,) in model.items() if case in cases]
    tolerance = 0.5 if name == "hinge" else None
    for delta, slack in ((name, tolerance), (DELTAS[name], None)):
        found = discrepancy_ratio(readings(rows), predictions, delta, tolerance=slack).by_case()
        assert found["annotator_discrepancy"].to_dict() == pytest.approx(alpha, abs=1e-12)
        assert found["model_discrepancy model"].to_dict() == pytest.approx(mu, abs=1e-12)


@pytest.mark.filterwarnings("ignore:annotators gave no label")
@settings(max_examples=20)
@given(tables, st.randoms(use_true_random=False))
def test_order_and_names_do_not_matter(rows, random):
    said = dict.fromkeys(sorted({row[0] for row in rows}), rows[0][2])  # names that annotators know
    before = discrepancy_ratio(readings(rows), {"A": said}, "nominal").ratio["A"]
    shuffled = random.sample(rows, len(rows))
    names = {0: "z", 1: "x", 2: "w", 3: "y"}
    renamed = [(f"case {c}", {"a": "d", "b": "c", "c": "b", "d": "a"}[a], names[label]) for c, a, label in shuffled]
    after = discrepancy_ratio(
        readings(renamed), {"A": {f"case {case}": names[label] for case, label in said.items()}}
    ).ratio["A"]
    assert after == pytest.approx(before)


def test_annotators_are_models_of_the_others_or_left_out():
    rng = np.random.default_rng(1)
    rows = [(i, j, "abc"[rng.integers(0, 3)]) for i in range(40) for j in range(5) if rng.random() < 0.7]
    table = discrepancy_ratio(rows, [(i, "a") for i in {row[0] for row in rows}]).annotators()
    for j in range(5):
        own = {case: label for case, annotator, label in rows if annotator == j}
        others = [row for row in rows if row[1] != j and row[0] in own]
        enough = {case for case in own if sum(row[0] == case for row in others) > 1}
        expected = discrepancy_ratio(
            [row for row in others if row[0] in enough], [(case, own[case]) for case in enough]
        )
        row = table.loc[str(j)]
        assert row["n_cases"] == len(enough)
        assert row["ratio"] == pytest.approx(expected.ratio)
        assert row["others_discrepancy"] == pytest.approx(expected.annotator_discrepancy)
    rows = [("p", "a", 1), ("p", "b", 0), ("q", "b", 1), ("q", "c", 1), ("q", "d", 0)]
    table = discrepancy_ratio(rows, [("p", 1), ("q", 1)]).annotators(ci_prob=0.9)
    assert table["n_cases"].to_dict() == {"a": 0, "b": 1, "c": 1, "d": 1}
    assert table.loc["a", ["ratio", "lower", "upper"]].isna().all()
    assert table.loc["b", "ratio"] == pytest.approx(0.5)
    assert table.loc["d", ["ratio", "lower", "upper"]].tolist() == [np.inf] * 3
    rng = np.random.default_rng(3)
    rows = [(i, j, int(rng.random() < (0.2 if j else 0.5))) for i in range(60) for j in range(4) if rng.random() < 0.8]
    result = discrepancy_ratio(rows, [(i, 0) for i in range(60)])
    table = result.annotators(0.9, 300)
    cases = {i: [(j, label) for case, j, label in rows if case == i] for i in range(60)}
    cases = {i: labels for i, labels in cases.items() if len(labels) > 1}
    two = {i: np.mean([a != b for j, a in ls for k, b in ls if j != k]) for i, ls in cases.items()}
    alpha = np.mean(list(two.values()))
    for j in range(4):
        more = [
            np.mean([a != b for k, b in labels if k != j]) - two[i]
            for i, labels in cases.items()
            for who, a in labels
            if who == j
        ]
        assert table.loc[str(j), "relative"] == pytest.approx(1 + np.mean(more) / alpha)
    assert (table["relative_lower"] < table["relative"]).all()
    assert (table["relative"] < table["relative_upper"]).all()
    assert table["relative"].idxmax() == "0"
    whole = simulate_label_noise(300, 5, swap=0.3, models=(0.5,))
    assert discrepancy_ratio(whole.labels, whole.predictions, "nominal").annotators()[
        "relative"
    ].mean() == pytest.approx(1)
    labels = {}
    for i in range(200):
        hard = i % 2
        said = {"a": 1, "b": i // 2 % 2, "c": i // 4 % 2} if hard else dict.fromkeys("bcd", 0)
        labels[f"{i}"] = said
    table = discrepancy_ratio(labels, {"A": {f"{i}": 0 for i in range(200)}}).annotators()
    assert table.loc["a", "relative"] == pytest.approx(1, abs=0.1)
    assert table.loc["a", "discrepancy"] / 0.25 > 1.9  # without regard to how hard the cases are
    rng = np.random.default_rng(5)
    rows = [(i, j, int(rng.integers(0, 3))) for i in range(30) for j in range(4) if rng.random() < 0.7]
    cases = {row[0] for row in rows}
    models = {"A": dict.fromkeys(cases, 0), "B": {i: i % 3 for i in cases}}
    for delta in ("nominal", "absolute"):
        result = discrepancy_ratio(rows, models, delta)
        table = result.without_annotators()
        assert len(table) == 8
        assert (np.diff(table["change"].abs()) <= 0).all()
        for row in table.itertuples():
            left = [one for one in rows if str(one[1]) != row.annotator]
            said = {name: {i: model[i] for i in {one[0] for one in left}} for name, model in models.items()}
            expected = discrepancy_ratio(left, said, delta)
            assert row.ratio == pytest.approx(expected.ratio[row.model])
            assert row.change == pytest.approx(expected.ratio[row.model] - result.ratio[row.model])
            assert row.n_cases == expected.n_cases
    two = discrepancy_ratio({"p": {"a": 1, "b": 0}}, {"A": {"p": 1}}).without_annotators()
    assert two["ratio"].isna().all()
    assert two["n_cases"].tolist() == [0, 0]


def test_simulations_whose_answer_is_known():
    """SPEC 4: 10 classes, 10,000 cases, 9 annotators."""
    # α = 1 − (0.955² + 9 · 0.005²), μ = 0.045 and 1 − (0.9 · 0.955 + 0.1 · 0.005).
    noise = simulate_label_noise(swap=0.05)
    ratio = discrepancy_ratio(noise.labels, noise.predictions, "nominal").ratio
    assert ratio["1"] == pytest.approx(0.045 / 0.08775, abs=0.01)
    assert ratio["0.9"] == pytest.approx(0.14 / 0.08775, abs=0.05)
    noise = simulate_label_noise(swap=1.0)
    assert discrepancy_ratio(noise.labels, noise.predictions, "nominal").ratio.tolist() == pytest.approx(
        [1, 1], abs=0.01
    )
    # As good as the annotators: 1 − 0.9 p = 0.9.
    noise = simulate_label_noise(swap=1 / 9)
    lower, upper = (
        discrepancy_ratio(noise.labels, noise.predictions, "nominal").interval(0.999, seed=1, progress=False).loc["0.9"]
    )
    assert lower < 1 < upper
    assert upper - lower < 0.2


def test_bootstrap_draws_clusters_and_covers_as_often_as_it_says():
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {"case": np.repeat(np.arange(60), 3), "annotator": [0, 1, 2] * 60, "label": rng.integers(0, 2, 180)}
    )
    table["patient"] = table["case"] // 6
    said = list(enumerate(rng.integers(0, 2, 60).tolist()))
    result = discrepancy_ratio(table, {"A": said}, clusters="patient")
    drawn = result.replicates(300, seed=3, progress=False)
    assert drawn.shape == (300, 1)
    pd.testing.assert_frame_equal(drawn, result.replicates(300, seed=3, progress=False))
    # The same patients drawn by hand: sums by patient, over the same draws.
    sums = result.by_case().groupby(np.arange(60) // 6).sum()
    chosen = np.random.default_rng(3).integers(0, 10, (300, 10))
    mu, alpha = (sums[name].to_numpy()[chosen].sum(1) for name in ("model_discrepancy A", "annotator_discrepancy"))
    np.testing.assert_allclose(drawn["A"], mu / alpha)
    by_mapping = discrepancy_ratio(table, {"A": said}, clusters={str(i): i // 6 for i in range(60)})
    pd.testing.assert_frame_equal(drawn, by_mapping.replicates(300, seed=3, progress=False))
    # 95 % intervals of a model for which Δ is known, over 60 data sets: all but a few cover (4 or fewer misses in
    # 10: binomial, 60 · 0.05 = 3 expected, 10 or more with probability 3e-4).
    misses = 0
    for seed in range(60):
        noise = simulate_label_noise(300, 4, swap=0.2, models=(0.8,), seed=seed)
        q = 1 - 0.2 * 0.9
        alpha = 1 - q**2 - 9 * 0.02**2
        mu = 1 - 0.8 * q - 0.2 * 0.02
        ends = (
            discrepancy_ratio(noise.labels, noise.predictions, "nominal")
            .interval(0.95, 200, seed, progress=False)
            .loc["0.8"]
        )
        misses += not ends["lower"] < mu / alpha < ends["upper"]
    assert misses < 10


def test_non_inferiority_and_a_copy_of_an_annotator():
    noise = simulate_label_noise(2000, 5, swap=1 / 9, models=(0.95, 0.9, 0.8))
    result = discrepancy_ratio(noise.labels, noise.predictions, "nominal")
    strict, lenient = result.non_inferiority(0.0), result.non_inferiority(0.2)
    assert strict["non_inferior"].tolist() == [True, False, False]
    assert lenient["non_inferior"].tolist() == [True, True, False]
    upper = np.quantile(result.replicates(progress=False)["0.9"], 0.95)
    assert lenient.loc["0.9", "upper"] == pytest.approx(upper)
    assert lenient.loc["0.8", "p_value"] == 1
    assert strict.loc["0.95", "p_value"] == pytest.approx(1 / 1001)
    # With all three alike in kind, a copy of one has the discrepancy 0 to herself: Δ = 2/3 of a fourth's, 1.
    noise = simulate_label_noise(5000, 3, swap=0.3, models=(0.5,))
    own = noise.labels[noise.labels["annotator"] == 0][["case", "label"]]
    fourth = simulate_label_noise(5000, 4, swap=0.3, models=(0.5,)).labels.query("annotator == 3")[["case", "label"]]
    result = discrepancy_ratio(noise.labels, {"copy": own, "fourth": fourth}, "nominal")
    assert result.ratio["copy"] == pytest.approx(2 / 3, abs=0.02)
    assert result.ratio["fourth"] == pytest.approx(1, abs=0.03)


def test_groups():
    labels = pd.DataFrame(
        [("p", "a", 1, "x"), ("p", "b", 0, "x"), ("q", "a", 1, "y"), ("q", "b", 1, "y"), ("q", "c", 0, "y")],
        columns=["case", "annotator", "label", "kind"],
    )
    result = discrepancy_ratio(labels, {"A": [("p", 1), ("q", 1)]}, by="kind")
    table = result.by_group().set_index("group")
    assert table["ratio"].to_dict() == pytest.approx({"x": 1 / 2, "y": (1 / 3) / (2 / 3)})
    assert table["n_cases"].to_dict() == {"x": 1, "y": 1}
    assert result.mean_per_class["A"] == pytest.approx(0.5)
    ends = result.interval(mean_per_class=True, progress=False)
    assert ends.loc["A"].tolist() == pytest.approx([0.5, 0.5])
    with pytest.raises(ArgumentError, match="the cases have no groups: name a column of them with by="):
        _ = discrepancy_ratio(labels, [("p", 1), ("q", 1)]).mean_per_class


def test_perfect_agreement_frames_and_texts():
    labels = {"p": {"a": 0.1, "b": 0.1, "c": 0.1}, "q": {"a": 0.3, "b": 0.3}}
    for delta in ("nominal", "squared", "absolute"):
        result = discrepancy_ratio(labels, {"same": {"p": 0.1, "q": 0.3}, "other": {"p": 0.1, "q": 0.2}}, delta)
        assert result.annotator_discrepancy == 0
        assert result.ratio.to_dict() == {"same": 1, "other": np.inf}
        ends = result.interval(progress=False)
        assert ends.loc["same"].tolist() == [1, 1]
        assert ends.loc["other"].tolist() == [1, np.inf]
        assert result.annotators().loc["a", "ratio"] == 1
    noise = simulate_label_noise(50, 3, swap=0.2, models=(0.9,))
    rows = [*noise.labels.itertuples(index=False, name=None), (99, 0, 1)]
    result = discrepancy_ratio(rows, noise.predictions, "nominal")
    frame = result.to_frame(progress=False)
    assert frame.columns.tolist() == [
        "ratio", "lower", "upper", "model_discrepancy", "annotator_discrepancy", "n_cases", "n_excluded",
    ]  # fmt: skip
    assert frame.loc["0.9", ["n_cases", "n_excluded"]].tolist() == [50, 1]
    assert frame["lower"].item() < frame["ratio"].item() < frame["upper"].item()
    assert repr(result).endswith("nominal, 50 cases, 3 annotators, 1 case excluded)")
    alone = discrepancy_ratio(noise.labels, noise.predictions["0.9"], "nominal")
    assert isinstance(alone.ratio, float)
    assert alone.ratio == pytest.approx(result.ratio["0.9"])
    assert alone.interval(progress=False) == tuple(result.interval(progress=False).loc["0.9"])
    one = discrepancy_ratio({"p": {"a": 1, "b": 0}}, {"A": {"p": 1}})
    assert "lower" not in one.to_frame()


BOXES = {
    "p": {"a": [[0, 0, 2, 2]], "b": [[1, 1, 3, 3]], "c": [[0, 0, 2, 2], [5, 5, 6, 6]]},
    "q": {"a": [[0, 0, 1, 1]], "b": [[0, 0, 1, 2]]},
    "r": {"a": []},
}
SPANS = {"p": {"a": [(0, 2, "PER")], "b": [(0, 3, "PER")], "c": [(0, 2, "LOC")]}, "q": {"a": [(0, 1, "X")], "b": []}}
RANKED = {"p": {"a": ["x", "y", "z"], "b": ["y", "x", "z"], "c": ["x", "w"]}, "q": {"a": ["x", "y"], "b": ["y", "x"]}}
TEXTS = {"p": {"a": "a b c", "b": "a c", "c": "b"}, "q": {"a": "x", "b": "x y"}}
VECTORS = {"p": {"a": np.array([1, 2, 3]), "b": np.array([1, 2, 4])}, "q": {"a": np.array([0, 0, 1]), "b": np.ones(3)}}


@pytest.mark.parametrize(
    ("delta", "labels", "said"),
    [
        ("iou", BOXES, {"p": [[0, 0, 2, 3]], "q": [[0, 0, 1, 1]]}),
        ("box_giou", BOXES, {"p": [[0, 0, 2, 3]], "q": []}),
        (distances.Boxes("iou", pixel=1), BOXES, {"p": [[0, 0, 2, 3]], "q": [[0, 0, 1, 1]]}),
        ("span_f1", SPANS, {"p": [(0, 2, "PER")], "q": [(0, 2, "X")]}),
        ("kendall", RANKED, {"p": ["x", "z"], "q": ["y", "z"]}),
        ("levenshtein", TEXTS, {"p": "a b", "q": "y"}),
        ("rmse", VECTORS, {"p": np.array([1, 2, 3]), "q": np.zeros(3)}),
        ("circular", {"p": {"a": 350, "b": 10, "c": 180}, "q": {"a": 0, "b": 90}}, {"p": 0, "q": 45}),
    ],
)
def test_distances_serve(delta, labels, said):
    """The definition, with the distance called as a function, pair by pair."""
    distance = distances.find_distance(delta)
    rows = [(case, who, label) for case, row in labels.items() for who, label in row.items()]
    model = {case: [label] for case, label in said.items()}
    alpha, mu = (np.mean(list(by_case.values())) for by_case in literal(rows, model, distance))
    result = discrepancy_ratio(labels, {"A": said}, delta)
    assert result.annotator_discrepancy == pytest.approx(alpha, rel=1e-12)
    assert result.model_discrepancy["A"] == pytest.approx(mu, rel=1e-12)
    assert result.ratio["A"] == pytest.approx(mu / alpha, rel=1e-12)


def test_cells_are_literals_where_labels_have_parts_and_text_where_a_word_is_among_them(tmp_path):
    labels = tmp_path / "labels.csv"
    rows = [(case, who, json.dumps(label)) for case, row in BOXES.items() for who, label in row.items()]
    pd.DataFrame(rows, columns=["case", "annotator", "label"]).to_csv(labels, index=False)
    said = {"p": [[0, 0, 2, 3]], "q": [[0, 0, 1, 1]]}
    predictions = tmp_path / "a.csv"
    pd.DataFrame({"case": list(said), "label": map(json.dumps, said.values())}).to_csv(predictions, index=False)
    result = discrepancy_ratio(labels, {"A": predictions}, "box_iou")
    assert result.ratio["A"] == discrepancy_ratio(BOXES, {"A": said}, "box_iou").ratio["A"]
    # The labels have a word among them, so they are text; the predictions are text then, too.
    (tmp_path / "labels.csv").write_text("case,annotator,label\np,a,1\np,b,unsure\n")
    (tmp_path / "a.csv").write_text("case,label\np,1\n")
    assert discrepancy_ratio(tmp_path / "labels.csv", tmp_path / "a.csv").ratio == 0.5
