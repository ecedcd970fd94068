"""Answers that look at no case: against loops, and that no test that they pass says yes."""

import pickle

import numpy as np
import pytest

from plausibly.agreement import agreement, alternative_annotator_test, discrepancy_ratio, judge
from plausibly.data.datasets import simulate_label_noise
from plausibly.data.labels import Labels
from plausibly.distances import find_distance
from tests.worlds import answers, noisy, table

QUIET = {"progress": False}
CHEAP = {"model": None, "replicates": 200, "progress": False}


def ratings(random, n=60, people=3):
    """Ratings from 1 to 5 that are random numbers, and a model that says 3."""
    rows = [(f"c{i}", f"a{j}", int(random.integers(1, 6))) for i in range(n) for j in range(people)]
    return rows, {"always": {f"c{i}": 3 for i in range(n)}}


def sparse(random, n=300):
    """Two in a hundred cases are positive; the model never says so."""
    truth = random.random(n) < 0.02
    said = np.where(random.random((n, 5)) < 0.96, truth[:, None], ~truth[:, None])
    rows = [(f"c{i}", f"a{j}", str(said[i, j])) for i in range(n) for j in random.choice(5, 3, replace=False)]
    return rows, {"never": {f"c{i}": "False" for i in range(n)}}


def no_spans(random, n=80):
    """Half of the texts have a span, whose place annotators do not agree on; the model marks none."""
    rows = []
    for i in range(n):
        for j in range(3):
            start = int(random.integers(30))
            rows.append((f"c{i}", f"a{j}", [(start, start + 2, "X")] if random.random() < 0.4 else []))
    return rows, {"none": {f"c{i}": [] for i in range(n)}}


WORLDS = {"ratings": (ratings, "squared"), "sparse": (sparse, "nominal"), "spans": (no_spans, "span_f1")}


@pytest.mark.parametrize("world", WORLDS)
def test_answers_that_ignore_the_case_are_never_taken_for_an_annotator(world):
    """Always 3 on random numbers, never for 2 % and no spans at all were said to stand in for an annotator."""
    make, distance = WORLDS[world]
    rows, models = make(np.random.default_rng(3))
    (name,) = models
    ratio = discrepancy_ratio(rows, models, distance, **QUIET)
    tested = ratio.non_inferiority(replicates=200).loc[name]
    assert tested["upper"] < 1.1  # a test that the model passes
    assert (tested["answer"], tested["non_inferior"]) == ("cannot tell", False)
    assert tested["why"]
    test = alternative_annotator_test(rows, models, distance=distance, **QUIET)
    assert test.passed[name]
    assert test.answer[name] == test.to_frame(replicates=50)["answer"][name] == "cannot tell"
    beside = f"{name} agrees with the annotators no better than always answering"
    assert test.verdict().startswith(beside)
    assert "These annotators cannot tell whether" in test.verdict()
    found = judge(rows, models, distance=distance, **CHEAP)
    assert [question.answer for question in found.questions[name][:2]] == ["cannot tell"] * 2
    assert all("These annotators cannot tell" in question.words for question in found.questions[name][:2])
    assert found.headline(name).startswith(beside)
    assert f"These annotators cannot tell whether {name} can stand in for one of them" in found.headline(name)


def test_a_good_model_is_told_and_a_bad_one_refused():
    random = np.random.default_rng(1)
    truth = random.integers(3, size=150)
    said = noisy(random, truth, 0.88, size=(4,))
    models = {"good": answers(noisy(random, truth, 0.95)), "bad": answers(noisy(random, truth, 0.4))}
    found = judge(table(said), models, **CHEAP)
    assert agreement(table(said), **QUIET).alpha > 0.6
    assert [question.answer for question in found.questions["good"][:2]] == ["yes"] * 2
    assert [question.answer for question in found.questions["bad"][:2]] == ["no"] * 2
    assert found.headline("good").startswith("If the annotators are right, good can stand in for one of them")
    assert found.test.comparison.non_inferiority(replicates=200)["answer"].tolist() == ["yes", "not shown"]
    # A model that is worse than chance stays worse where annotators know nothing.
    rows, _ = ratings(random)
    wrong = {"m": {f"c{i}": 60 for i in range(60)}}
    found = judge(rows, wrong, distance="squared", **CHEAP)
    assert [question.answer for question in found.questions["m"][:2]] == ["no"] * 2
    one_class = [(f"c{i}", who, "a") for i in range(40) for who in "xyz"]
    found = judge(one_class, {"m": {f"c{i}": "a" for i in range(40)}}, **CHEAP)
    assert "All of their labels are alike" in found.headline("m")


@pytest.mark.parametrize("distance", ["nominal", "squared", "absolute", "ordinal", lambda a, b: abs(a - b)])
def test_baselines_are_their_definitions(distance):
    random = np.random.default_rng(0)
    truth = random.integers(4, size=50)
    said = np.clip(truth[:, None] + random.integers(-1, 2, (50, 3)), 0, 3)
    rows = [(f"c{i}", f"a{j}", int(said[i, j])) for i in range(50) for j in range(3)]
    model = {f"c{i}": int(truth[i]) for i in range(50)}
    found = discrepancy_ratio(rows, {"m": model}, distance, **QUIET)
    row = found.baselines(replicates=300).loc["m"]
    name = {"squared": "interval", "absolute": lambda a, b: abs(a - b)}.get(distance, distance)
    alpha = agreement(rows, name, **QUIET)
    assert row["agreement"] == pytest.approx(alpha.alpha)
    assert row["chance_ratio"] == pytest.approx(1 / (1 - alpha.alpha))
    lower, upper = alpha.interval(replicates=300, progress=False).loc["alpha", ["lower", "upper"]]
    assert row["agreement_lower"] == pytest.approx(lower, abs=0.06)
    assert row["agreement_upper"] == pytest.approx(upper, abs=0.06)
    constants = [
        discrepancy_ratio(rows, {"m": dict.fromkeys(model, c)}, distance, **QUIET).ratio["m"] for c in range(4)
    ]
    best = min(constants)
    if distance == "squared":
        best = discrepancy_ratio(
            [(c, a, float(y)) for c, a, y in rows], {"m": dict.fromkeys(model, said.mean())}, distance, **QUIET
        ).ratio["m"]
        assert best <= min(constants)
    assert row["constant_ratio"] == pytest.approx(best)
    shuffled = []
    for _ in range(60):
        labels = dict(zip(model, random.permutation(truth).tolist(), strict=True))
        shuffled.append(discrepancy_ratio(rows, {"m": labels}, distance, **QUIET).ratio["m"])
    sd = np.std(shuffled)
    assert row["shuffled_ratio"] == pytest.approx(np.mean(shuffled), abs=4 * sd * np.sqrt(1 / 20 + 1 / 60))
    assert found.ratio["m"] < row["shuffled_ratio"] - 5 * sd


def test_several_labels_of_an_annotator_and_gaps_weigh_as_in_the_ratio():
    """Expected distance: the mean over pairs of cases of the mean over pairs of annotators."""
    random = np.random.default_rng(0)
    said = {}
    for case in range(20):
        for who in range(4):
            if random.random() < 0.9:
                said[case, who] = random.integers(0, 4, random.integers(1, 3)).tolist()
    said = {key: labels for key, labels in said.items() if sum(case == key[0] for case, _ in said) == 4}
    rows = [(f"c{case}", f"a{who}", label) for (case, who), labels in said.items() for label in labels]
    pairs = [
        np.mean([abs(a - b) for a in first for b in second])
        for (i, _), first in said.items()
        for (j, _), second in said.items()
        if i != j
    ]
    for distance in ("absolute", lambda a, b: abs(a - b)):
        found = discrepancy_ratio(
            Labels.of(rows, repeats="readings"), {"m": {f"c{case}": 1 for case, _ in said}}, distance, **QUIET
        )
        row = found.baselines(ci_prob=None).loc["m"]
        assert row["chance_ratio"] == pytest.approx(np.mean(pairs) / found.annotator_discrepancy)


def test_many_texts_are_compared_by_samples():
    """All pairs of 900 texts would be 400,000; chance is found by a sample, and one caption for all is found."""
    random = np.random.default_rng(2)
    words = np.array([f"w{i}" for i in range(40)])
    rows = [(f"c{i}", f"a{j}", " ".join([f"topic{i}", *random.choice(words, 3)])) for i in range(300) for j in range(3)]
    caption = "w0 w1 w2 w3"
    found = discrepancy_ratio(rows, {"m": {f"c{i}": caption for i in range(300)}}, "gleu", **QUIET)
    row = found.baselines(ci_prob=None).loc["m"]
    few = [row for row in rows if int(row[0][1:]) < 60]
    assert row["agreement"] == pytest.approx(agreement(few, "gleu", **QUIET).alpha, abs=0.03)
    assert row["constant_ratio"] <= found.ratio["m"] + 1e-12
    assert row["shuffled_ratio"] == pytest.approx(found.ratio["m"])
    gleu = find_distance("gleu")
    assert found.annotator_discrepancy < np.mean([gleu(rows[i][2], rows[i + 30][2]) for i in range(0, 300, 7)])


def test_results_are_stored_and_shown_with_their_baselines():
    noise = simulate_label_noise(60, 3, swap=0.2, models=(0.9,))
    found = discrepancy_ratio(noise.labels, noise.predictions, "nominal", **QUIET)
    row = found.baselines().loc["0.9"]
    assert f"shuffled {row['shuffled_ratio']:.3f}" in repr(found)
    assert f"best constant {row['constant_ratio']:.3f}, chance {row['chance_ratio']:.3f}" in repr(found)
    again = pickle.loads(pickle.dumps(found))
    assert again.baselines().equals(found.baselines())
    test = alternative_annotator_test(noise.labels, noise.predictions, distance="nominal", **QUIET)
    of_test = test.baselines().loc["0.9"]
    assert of_test["constant_winning_rate"] == of_test["shuffled_winning_rate"] == 0
    assert f"winning rate 0.00, advantage {of_test['constant_advantage']:.3f}" in repr(test)
    alone = discrepancy_ratio({"p": {"a": 1, "b": 0}}, {"A": {"p": 1}}, **QUIET)
    assert np.isnan(alone.baselines()["agreement"].item())
    assert alone.untold()["A"][0] == "There is a single case"
