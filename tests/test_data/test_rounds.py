"""Labels that follow from labels: which came first, whether their number depends on them, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.agreement import Labels, agreement, discrepancy_ratio, fleiss_kappa, weighted_reliability
from plausibly.base.errors import AnnotationError, PlausiblyWarning
from plausibly.data.rounds import dependence, rounds
from plausibly.evaluation import panels
from plausibly.evaluation.seen_labels import above_ceiling
from plausibly.evaluation.truth import truth_of_labels

N = 200


def said(seed=0, n_cases=N):
    """What six readers in a random order say of cases that differ in how often they are called ill."""
    random = np.random.default_rng(seed)
    share = random.beta(0.6, 0.9, n_cases)
    who = random.permuted(np.tile(np.arange(6), (n_cases, 1)), axis=1)
    return who, random.random((n_cases, 6)) < share[:, None], share


def table_of(who, labels, number, *, ordered=True):
    """A long table of the first labels of each case, in their order or sorted by annotators."""
    rows = [
        (f"c{case:03}", f"r{who[case, place]}", "ill" if labels[case, place] else "well", place + 1)
        for case in range(len(number))
        for place in range(number[case])
    ]
    table = pd.DataFrame(rows, columns=["case", "annotator", "label", "nth"])
    return table if ordered else table.sort_values(["case", "annotator"]).reset_index(drop=True)


def adjudicated(labels):
    return 2 + (labels[:, 0] != labels[:, 1])


@pytest.fixture(scope="module")
def study():
    who, labels, share = said()
    return who, labels, share, (labels[:, 0] == labels[:, 1]).mean()


@pytest.mark.parametrize("ordered", [True, False])
def test_of_adjudicated_cases_agreement_is_of_the_first_two_labels(study, ordered):
    who, labels, _, agree = study
    number = adjudicated(labels)
    table = table_of(who, labels, number, ordered=ordered)
    read = pb.Annotations.from_table(table, classes=["well", "ill"])
    assert (read.annotation_order is not None) == ordered
    assert read.rounds.rule
    assert read.rounds.first == 2
    assert read.rounds.n_more == (number == 3).sum()
    assert (read.fair.per_case == 2).all()
    with pytest.warns(PlausiblyWarning, match="^Cases have a further label where the first two labels differ"):
        found = panels(read, {"A": np.eye(2)[labels[:, 5].astype(int)]}, replicates=0)
    assert found["human_level"].item() == pytest.approx(agree)
    # a panel of three is known of every case: two equal labels decide it
    assert found["n"].values.tolist() == [1, 2, 3]
    assert found["panel_accuracy"].attrs["n_cases"] == N
    decided = labels[:, :3].sum(axis=1) > 1
    assert found["panel_accuracy"].values[0, 2] == pytest.approx((decided == labels[:, 5]).mean())
    assert truth_of_labels(read, "panel", 3)[:, 1] == pytest.approx(decided.astype(float))
    assert truth_of_labels(read, "annotator")[:, 1] == pytest.approx(labels[:, :2].mean(axis=1))
    of = "the first two labels of each case" if ordered else "two labels of each case that may have come first, drawn"
    with pytest.warns(PlausiblyWarning, match=f"agreement is of {of}"):
        of_chance = agreement(table, progress=False)
    assert of_chance.observed.mean() == pytest.approx(1 - agree)
    assert of_chance.warnings[0] == of_chance.rounds.told.rstrip(".")
    assert of_chance.annotators()["labels"].sum() == number.sum()  # annotators are judged by all of them
    share = labels[:, :2].mean()
    with pytest.warns(PlausiblyWarning):
        assert fleiss_kappa(table) == pytest.approx(1 - (1 - agree) / (2 * share * (1 - share)))
    with pytest.warns(PlausiblyWarning):
        assert weighted_reliability(table, competence={f"r{n}": 0.9 for n in range(6)}).concordance < 1
    peer = {"A": pd.DataFrame({"case": read.cases, "label": np.where(labels[:, 4], "ill", "well")})}
    with pytest.warns(PlausiblyWarning):
        ratio = discrepancy_ratio(table, peer)
    far = np.mean((labels[:, :2] != labels[:, 4:5]).mean(axis=1))
    assert ratio.ratio["A"] == pytest.approx(far / (1 - agree))


def test_a_third_class_among_the_labels_of_an_adjudicated_case():
    codes = np.array([0, 0, 0, 1, 2] + [0, 0] * 10 + [1, 2, 2])
    case = np.concatenate([[0, 0, 1, 1, 1], np.repeat(np.arange(2, 12), 2), [12] * 3])
    for seed in range(5):
        found = rounds(case, codes, None, seed=seed)
        assert np.bincount(case[found.kept]).tolist() == [2] * 13
        assert {*codes[(case == 12) & found.kept]} == {1, 2}


def test_recall_of_positive_readings_leaves_first_labels_alone(study):
    who, labels, _, _ = study
    number = 1 + labels[:, 0]
    for ordered in (True, False):
        table = table_of(who, labels, number, ordered=ordered)
        read = pb.Annotations.from_table(table, classes=["well", "ill"])
        assert read.rounds.first == 1
        with pytest.warns(PlausiblyWarning, match="how often annotators agree with each other cannot be told"):
            found = panels(read, {"A": np.eye(2)[labels[:, 5].astype(int)]}, replicates=0)
        assert np.isnan(found["human_level"].item())
        assert found["expert_agreement"].item() == pytest.approx((labels[:, 0] == labels[:, 5]).mean())
        with pytest.warns(PlausiblyWarning):
            results = pb.evaluate(read, {"A": np.eye(2)[labels[:, 5].astype(int)]}, truth="annotator", replicates=0)
        assert results["accuracy"].item() == pytest.approx((labels[:, 0] == labels[:, 5]).mean())
        with pytest.raises(AnnotationError, match=r"^Which cases have a second label .* pairs are of selected cases"):
            agreement(table)


def test_more_labels_for_hard_cases_need_an_order(study):
    who, labels, share, agree = study
    number = np.where(np.abs(share - 0.5) < 0.25, 4, 2)
    table = table_of(who, labels, number)
    with pytest.warns(PlausiblyWarning, match="^Which cases have more than 2 labels"):
        assert agreement(table, progress=False).observed.mean() == pytest.approx(1 - agree)
    mixed = table_of(who, labels, number, ordered=False)
    with pytest.raises(AnnotationError, match=r"not a random part: their labels agree in 5. %.*add a column 'round'"):
        agreement(mixed)
    read = pb.Annotations.from_table(mixed)
    with pytest.warns(PlausiblyWarning, match="cannot be told: add a column 'round'"):
        found = panels(read, {"A": np.eye(2)[labels[:, 5].astype(int)]}, replicates=0)
    assert np.isnan(found["human_level"].item())
    assert found.sizes["n"] == 1
    with pytest.raises(AnnotationError, match="so what three experts would decide cannot be told"):
        truth_of_labels(read, "panel", 3)
    with pytest.warns(PlausiblyWarning, match="of the first two labels"):
        again = agreement(mixed.rename(columns={"nth": "round"}), progress=False)
    assert again.observed.mean() == pytest.approx(1 - agree)


@pytest.mark.parametrize("least", [1, 2])
def test_random_numbers_of_labels_raise_no_alarm(least):
    alarms = 0
    for seed in range(20):
        who, labels, _ = said(seed, 120)
        number = np.random.default_rng([seed, 1]).integers(least, 4, 120)
        alarms += pb.Annotations.from_table(table_of(who, labels, number)).rounds is not None
    assert alarms == 0


def test_what_tells_the_order():
    rows = [("p", "z", "x"), ("p", "b", "y"), ("p", "a", "x"), ("q", "c", "x"), ("q", "b", "x")]
    table = pd.DataFrame(rows, columns=["case", "annotator", "label"])

    def places(given):
        read = pb.Annotations.from_table(given)
        labels = Labels.of(given)
        assert np.array_equal(read.annotation_order, labels.place) or read.annotation_order is labels.place is None
        names = read.annotators[read.annotation_annotator]
        return None if read.annotation_order is None else dict(zip(names, read.annotation_order.tolist(), strict=True))

    assert {who: place for who, place in places(table).items() if who != "b"} == {"z": 0, "a": 2, "c": 0}  # of rows
    assert places(table.sort_values(["case", "annotator"])) is None  # that of names tells nothing
    mixed = table.assign(round=[1, 2, 3, 1, 2]).sort_values(["case", "annotator"])
    assert {who: place for who, place in places(mixed).items() if who != "b"} == {"z": 0, "a": 2, "c": 0}
    assert places(table.assign(time=[f"2024-01-0{9 - at}" for at in range(5)]))["a"] == 0
    took = table.assign(time=[30.0, 20.0, 10.0, 5.0, 1.0])  # seconds that a label took are no order
    assert places(took) == places(table)
    even = table.iloc[[0, 1, 3, 4]]
    assert pb.Annotations.from_table(even).annotation_order is None  # as many labels in every case
    lists = pb.Annotations.from_labels([["y", "x"], ["x"], ["y"]])
    assert lists.annotation_order.tolist() == [0, 1, 0, 0]
    assert pb.Annotations.from_counts([[2, 1], [1, 0]]).annotation_order is None


def test_order_is_kept_with_a_posterior_and_a_selection():
    read = pb.Annotations.from_labels([["y", "x"], ["x"], ["y", "x", "y"]], cases=["p", "q", "r"])
    posterior = pb.aggregate(read, draws=4, progress=False)
    assert pb.posterior.annotations_of(posterior).annotation_order.tolist() == read.annotation_order.tolist()
    assert read.select(["r", "q"]).annotation_order.tolist() == [0, 1, 2, 0]


def test_an_honest_classifier_of_hard_cases_is_not_accused():
    """Hard cases have three labels, easy ones one: agreement and its limit are of the same cases."""
    random = np.random.default_rng(3)
    accused = []
    for _ in range(10):
        z = random.normal(size=300)
        share = 1 / (1 + np.exp(-3 * z))
        number = np.where(np.abs(z) < 0.8, 3, 1)
        labels = [
            ["ill" if random.random() < p else "well" for _ in range(n)] for p, n in zip(share, number, strict=True)
        ]
        read = pb.Annotations.from_labels(labels, classes=["well", "ill"])
        vote = [2 * row.count("ill") > len(row) for row in labels]
        choice = np.array([share > 0.5, vote]).astype(int)
        accused.append(above_ceiling(read, ["honest", "copy"], choice, np.arange(300), 0))
    assert accused == [["copy"]] * 10


def test_annotators_of_unlike_skill_raise_the_limit_of_agreement():
    random = np.random.default_rng(0)
    accused = 0
    for _ in range(10):
        truth = random.random(600) < 0.4
        right = random.random((600, 3)) < [0.95, 0.8, 0.65]
        labels = np.where(right, truth[:, None], ~truth[:, None]).astype(int)
        read = pb.Annotations.from_labels(labels, classes=["well", "ill"], annotators=["ann", "bob", "cy"])
        accused += bool(above_ceiling(read, ["oracle"], truth[None].astype(int), np.arange(600), 0))
    assert accused == 0


def test_classifiers_tell_that_hard_cases_were_read_again(study):
    _, labels, share, _ = study
    hard = np.abs(share - 0.5) < 0.25
    read = pb.Annotations.from_labels(
        [["ill" if one else "well" for one in row[:n]] for row, n in zip(labels, np.where(hard, 3, 1), strict=True)],
        classes=["well", "ill"],
    )
    assert read.rounds is None  # labels alone do not tell
    with pytest.warns(PlausiblyWarning, match="were not drawn at random: A is less certain of them"):
        found = panels(read, {"A": np.column_stack([1 - share, share])}, replicates=0)
    assert found["expert_agreement_paired"].attrs["n_cases"] == hard.sum() == found["human_level"].attrs["n_cases"]


def test_dependence_is_exact_under_permutation():
    random = np.random.default_rng(0)
    values = [dependence(random.random((30, 2)), random.permutation(30) < 8, random) for _ in range(60)]
    assert 0.35 < np.mean(values) < 0.65


def test_who_reads_only_disputed_cases_is_not_accused(study, tmp_path):
    """An arbiter agrees with one of two readers, whatever she says; and a file keeps its column of rounds."""
    _, labels, _, agree = study
    people = np.tile(["ann", "bob", "cy"], (N, 1))
    number = adjudicated(labels)
    rows = [
        (f"c{case:03}", people[case, place], "ill" if labels[case, place] else "well", place + 1)
        for case in range(N)
        for place in range(number[case])
    ]
    table = pd.DataFrame(rows, columns=["case", "annotator", "label", "round"])
    with pytest.warns(PlausiblyWarning, match="differ"):
        found = agreement(table, progress=False)
    assert found.observed.mean() == pytest.approx(1 - agree)
    assert found.annotators().set_index("annotator")["flag"].to_dict() == {"ann": "", "bob": "", "cy": "too few"}
    table.sort_values(["case", "label"]).to_csv(tmp_path / "labels.csv", index=False)
    assert pb.agreement.read_labels(tmp_path / "labels.csv").place.max() == 2


def test_a_curve_of_panels_ends_where_a_panel_is_not_decided():
    """Three equal labels decide panels of four and five; of five labels, four that came first are not known."""
    counts = np.array([[3, 0]] * 30 + [[0, 3]] * 30 + [[2, 3]] * 40)
    with pytest.warns(PlausiblyWarning, match="where the first three labels differ"):
        found = panels(pb.Annotations.from_counts(counts), {"A": np.eye(2)[np.ones(100, int)]}, replicates=0)
    assert found["n"].values.tolist() == [1, 2, 3]
