"""Ordered classes, grades from scores, and the cost of risk levels, in Python and on the command line."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sk

import plausibly as pb
from plausibly.app.report.label_metrics import of_classes
from plausibly.base.errors import ArgumentError, DistanceError, PlausiblyWarning
from plausibly.metrics import within_one
from tests.test_app.test_cli.run import plausibly

N, RANDOM = 20, np.random.default_rng(0)
CASES = [f"p{i}" for i in range(N)]
RATINGS = RANDOM.integers(1, 6, (N, 3))
TABLE = pd.DataFrame(
    [{"case": CASES[i], "annotator": f"r{j}", "score": RATINGS[i, j]} for i in range(N) for j in range(3)]
)
SCORES = pb.Annotations.from_scores(TABLE)
PREDICTED = RANDOM.integers(1, 6, N)
PROBABILITIES = RANDOM.dirichlet(np.ones(5), N)
ORDERED = ["mean_absolute_error", "within_one", "quadratic_kappa"]


def rows(predicted):
    """Truth and prediction in a row for each rating."""
    return RATINGS.ravel(), np.repeat(predicted, 3)


def test_scores_of_few_values_are_grades_in_ascending_order():
    grades = SCORES.grades()
    assert grades.classes.tolist() == ["1", "2", "3", "4", "5"]
    assert {name: int(said[0][0]) for name, said in grades.rankings("p3").items()} == SCORES.of_case("p3")
    halves = pb.Annotations.from_scores(TABLE.assign(score=TABLE["score"] / 2 + 4)).grades()
    assert halves.classes.tolist() == ["4.5", "5", "5.5", "6", "6.5"]
    tens = pb.Annotations.from_scores(TABLE.assign(score=TABLE["score"] + 8)).grades(range(8, 15))
    assert tens.classes.tolist() == [str(value) for value in range(8, 15)]
    assert tens.n_annotations == SCORES.n_annotations


@pytest.mark.parametrize(
    "source",
    [
        PREDICTED.astype(str).tolist(),
        pd.Series(PREDICTED.astype(float), index=CASES, name="prediction"),
        pd.DataFrame({"case": CASES[::-1], "label": PREDICTED[::-1]}),
        np.eye(5)[PREDICTED - 1],
    ],
)
def test_predictions_name_grades_by_their_values(source):
    options = {"ordered": True, "truth": "annotator", "replicates": 20}
    found = pb.evaluate(SCORES.grades(), {"A": source}, **options)
    truth, predicted = rows(PREDICTED)
    assert found.equals(pb.evaluate(SCORES, {"A": source}, **options))
    assert found["accuracy"].item() == pytest.approx(sk.accuracy_score(truth, predicted))
    assert found["mean_absolute_error"].item() == pytest.approx(sk.mean_absolute_error(truth, predicted))
    assert found["within_one"].item() == pytest.approx((np.abs(truth - predicted) <= 1).mean())
    kappa = sk.cohen_kappa_score(truth, predicted, weights="quadratic")
    assert found["quadratic_kappa"].item() == pytest.approx(kappa, abs=1e-6)


def test_of_two_classes_numbers_from_0_to_1_stay_probabilities():
    binary = pb.Annotations.from_labels([["0", "1"]] * 3, classes=["0", "1"])
    np.testing.assert_allclose(pb.read_predictions(np.array([0.2, 1, 0]), binary)[:, 1], [0.2, 1, 0])
    from_one = pb.Annotations.from_labels([["1", "2"]] * 3, classes=["1", "2"])
    assert pb.read_predictions(np.array([2, 1, 2]), from_one)[:, 1].tolist() == [1, 0, 1]


@pytest.mark.parametrize("truth", ["annotator", "most-plausible"])
def test_usual_metrics_of_ordered_classes(truth):
    grades = SCORES.grades()
    posterior = grades
    if truth == "most-plausible":
        posterior = pb.aggregate(grades, "dirichlet-categorical", draws=20, chains=2, progress=False)
    options = {"truth": truth, "progress": False, "replicates": 10}
    found = pb.evaluate(posterior, {"A": PROBABILITIES}, ordered=True, **options)
    accuracy = "accuracy" if truth == "annotator" else "top1_accuracy"
    names = list(dict.fromkeys(pb.evaluation.summary(found)["metric"]))
    assert names == [accuracy, *ORDERED, "ranked_probability_score"]
    named = pb.evaluate(posterior, {"A": PROBABILITIES}, metrics=[accuracy, "ordered"], **options)
    for name in names:
        np.testing.assert_array_equal(found[name], named[name])
    if truth == "annotator":
        cumulative = np.abs(PROBABILITIES.cumsum(1)[:, None] - (RATINGS[..., None] <= np.arange(1, 6))) ** 2
        expected = cumulative[..., :4].mean()
        assert found["ranked_probability_score"].item() == pytest.approx(expected, abs=1e-6)
    scores = pb.evaluate(posterior, {"A": PROBABILITIES * 3}, ordered=True, **options)
    assert list(dict.fromkeys(pb.evaluation.summary(scores)["metric"])) == [accuracy, *ORDERED]


@pytest.mark.slow
def test_a_sweep_takes_scores_as_grades(monkeypatch):
    monkeypatch.setattr("plausibly.aggregation.sweeps._plan.Plan._freed", lambda *_: None)
    swept = pb.sweep(
        SCORES, {"A": PREDICTED}, {"dirichlet-categorical": (1,)}, ordered=True, draws=20, chains=2, replicates=0,
        progress=False,
    )  # fmt: skip
    assert list(dict.fromkeys(swept.metrics["metric"])) == ["top1_accuracy", *ORDERED, "ranked_probability_score"]
    tables = [table for shown in of_classes(swept)[1] if isinstance(shown, dict) for table in shown.values()]
    assert any("share within one grade" in table.get("metric", pd.Series()).tolist() for table in tables)


@pytest.fixture
def files(tmp_path):
    TABLE.to_csv(tmp_path / "scores.csv", index=False)
    pd.DataFrame({"case": CASES, "prediction": PREDICTED}).to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "scale.txt").write_text("0\n1\n2\n3\n4\n5\n")
    (tmp_path / "risks.txt").write_text("0\n0\n1\n2\n2\n")
    return tmp_path


def run(files, *options, scores="scores.csv"):
    given = ["evaluate", files / scores, "--predictions", f"A={files / 'a.csv'}", "--out", files / "out"]
    return plausibly(*given, "--replicates", 20, *options)


def test_the_command_grades_scores_without_a_threshold(files):
    expected = np.abs(np.subtract(*rows(PREDICTED))).mean()
    for scale in ((), ("--classes", files / "scale.txt")):
        shown = run(files, "--truth", "annotator", "--ordered", "--metrics", "mean_absolute_error", *scale)
        assert shown.exit_code == 0, shown.output
        table = pd.read_csv(files / "out" / "metrics.csv").set_index("metric")["mean"]
        assert table["mean_absolute_error"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
def test_the_command_grades_scores_under_a_model(files, no_report):
    TABLE.query("score < 5").head(12).to_csv(files / "fresh.csv", index=False)  # has the same scale all the same
    given = ["--model", "dirichlet-categorical@1", "--draws", 20, "--chains", 2, "--fresh-labels", files / "fresh.csv"]
    shown = run(files, "--ordered", *given)
    assert shown.exit_code == 0, shown.output
    assert set(pd.read_csv(files / "out" / "metrics.csv")["metric"]) >= {"top1_accuracy", *ORDERED}


def test_the_command_needs_the_order_of_classes(files):
    TABLE.assign(label=np.where(TABLE["score"] > 3, "mild", "severe")).drop(columns="score").to_csv(
        files / "labels.csv", index=False
    )
    shown = run(files, "--truth", "annotator", "--ordered", scores="labels.csv")
    assert shown.exit_code == 2
    assert "--ordered needs the order of the classes" in " ".join(shown.output.split())
    shown = run(files, "--truth", "annotator", "--ordered", "--threshold", 3)
    assert "--ordered takes scores as grades, but --threshold 3 was given" in " ".join(shown.output.split())


SAID = [["neg", "neg", "ind"], ["ind", "pos", "ind"], ["pos", "pos", "neg"], ["neg", "ind", "neg"]]
SIGNS = ["neg", "ind", "pos"]
ASKED = {"metrics": ["mean_absolute_error", "quadratic_kappa"], "truth": "annotator", "replicates": 20}


def long_table(order=None):
    table = pd.DataFrame(
        [
            {"case": f"p{i}", "annotator": f"r{j}", "label": one}
            for i, row in enumerate(SAID)
            for j, one in enumerate(row)
        ]
    )
    return table if order is None else table.assign(label=pd.Categorical(table["label"], order, ordered=True))


@pytest.mark.parametrize("kind", ["classes", "pandas", "polars"])
def test_the_order_of_classes_is_given_or_metrics_of_grades_are_refused(kind, tmp_path):
    predicted = {"A": ["neg", "ind", "pos", "pos"]}
    if kind == "classes":
        annotations = pb.Annotations.from_table(long_table(), classes=SIGNS)
    elif kind == "pandas":
        annotations = pb.Annotations.from_table(long_table(SIGNS))
    else:
        polars = pytest.importorskip("polars")
        frame = polars.from_pandas(long_table()).with_columns(polars.col("label").cast(polars.Enum(SIGNS)))
        annotations = pb.Annotations.from_table(frame)
    assert annotations.classes.tolist() == SIGNS
    found = pb.evaluate(annotations.select(["p0", "p1", "p2", "p3"]), predicted, **ASKED)
    place = {name: number for number, name in enumerate(SIGNS)}
    truth = [place[one] for row in SAID for one in row]
    named = np.repeat([place[one] for one in predicted["A"]], 3)
    assert found["mean_absolute_error"].item() == pytest.approx(sk.mean_absolute_error(truth, named))
    kappa = sk.cohen_kappa_score(truth, named, weights="quadratic")
    assert found["quadratic_kappa"].item() == pytest.approx(kappa, abs=1e-6)
    # A posterior and its file keep the order.
    posterior = pb.aggregate(annotations, "dirichlet-categorical", draws=9, chains=1, progress=False)
    pb.save(posterior, tmp_path / "posterior.nc")
    again = pb.evaluate(pb.load(tmp_path / "posterior.nc"), predicted, **ASKED)
    assert again.equals(found)
    # Krippendorff's ordinal alpha goes by it, too.
    grades = pb.agreement.agreement(long_table(SIGNS), pb.distances.Ordinal(SIGNS), progress=False)
    for labels in (long_table(SIGNS), annotations):
        assert pb.agreement.agreement(labels, "ordinal", progress=False).alpha == grades.alpha


def test_classes_in_alphabetical_order_have_none():
    unordered = pb.Annotations.from_table(long_table())
    predicted = {"A": ["neg", "ind", "pos", "pos"]}
    for options in (ASKED, ASKED | {"metrics": None, "ordered": True}, ASKED | {"metrics": {"mine": within_one}}):
        with pytest.raises(ArgumentError, match="needs the order of the classes, but nobody gave it"):
            pb.evaluate(unordered, predicted, **options)
    posterior = pb.aggregate(unordered, "dirichlet-categorical", draws=9, chains=1, progress=False)
    for run_it in (
        lambda: pb.evaluate(posterior, predicted, metrics=["within_one"], progress=False),
        lambda: pb.sweep(unordered, predicted, {"majority-vote": None}, ordered=True, progress=False),
    ):
        with pytest.raises(ArgumentError, match="needs the order of the classes"):
            run_it()
    with pytest.raises(DistanceError, match=r"pass pb.distances.Ordinal\(order=.*--classes"):
        pb.agreement.agreement(long_table(), "ordinal", progress=False)
    # Written by this package, names are in alphabetical order, too; another order was given.
    assert not pb.Annotations.from_rankings(unordered.to_rankings()).ordered
    assert pb.Annotations.from_rankings({**unordered.to_rankings(), "classes": SIGNS}).ordered


def test_a_skipped_grade_is_said():
    skipped = pb.Annotations.from_labels([["1", "2"], ["4", "4"], ["2", "4"]])
    predicted = {"A": ["1", "4", "4"]}
    with pytest.warns(PlausiblyWarning, match="nobody named grade '3', and metrics of grades are without it"):
        found = pb.evaluate(skipped, predicted, **ASKED)
    assert found["mean_absolute_error"].item() == pytest.approx(2 / 6)
    whole = pb.Annotations.from_labels([["1", "2"], ["4", "4"], ["2", "4"]], classes=["1", "2", "3", "4"])
    assert pb.evaluate(whole, predicted, **ASKED)["mean_absolute_error"].item() == pytest.approx(3 / 6)


def test_commands_take_the_order_from_a_file(tmp_path):
    long_table().to_csv(tmp_path / "labels.csv", index=False)
    (tmp_path / "order.txt").write_text("\n".join(SIGNS))
    pd.DataFrame({"case": [f"p{i}" for i in range(4)], "prediction": ["neg", "ind", "pos", "pos"]}).to_csv(
        tmp_path / "a.csv", index=False
    )
    given = ["--predictions", f"A={tmp_path / 'a.csv'}", "--distance", "ordinal", "--replicates", 20]
    for command in (["agreement", "--distance", "ordinal", "--replicates", 0], ["discrepancy", *given]):
        words = [command[0], tmp_path / "labels.csv", *command[1:]]
        refused = plausibly(*words)
        assert refused.exit_code == 2
        assert "--classes" in " ".join(refused.output.split())
        shown = plausibly(*words, "--classes", tmp_path / "order.txt")
        assert shown.exit_code == 0, shown.output


def test_errors_cost_the_difference_between_risk_levels(files):
    risks = np.array([0, 0, 1, 2, 2])
    truth, predicted = rows(PREDICTED)
    expected = np.abs(risks[truth - 1] - risks[predicted - 1]).mean()
    options = {"metrics": ["expected_cost", "accuracy"], "truth": "annotator", "replicates": 20}
    found = pb.evaluate(SCORES.grades(), {"A": PREDICTED}, risks=risks, **options)
    assert found["expected_cost"].item() == pytest.approx(expected)
    matrix = pb.metrics.expected_cost(np.abs(risks[:, None] - risks))
    own = pb.evaluate(SCORES.grades(), {"A": PREDICTED}, metrics=[{"cost": matrix}], truth="annotator", replicates=20)
    assert own["cost"].item() == pytest.approx(expected)
    shown = run(
        files, "--ordered", "--truth", "annotator", "--metrics", "expected_cost", "--risks", files / "risks.txt"
    )
    assert shown.exit_code == 0, shown.output
    table = pd.read_csv(files / "out" / "metrics.csv").set_index("metric")["mean"]
    assert table["expected_cost"] == pytest.approx(expected, abs=1e-6)


def test_predicted_grades_are_classes_by_value(tmp_path):
    rows = pd.DataFrame({"case": ["p", "p", "q", "q"], "annotator": ["a", "b"] * 2, "score": [4, 4, 2.5, 4]})
    (tmp_path / "a.csv").write_text("case,rating\np,4.0\nq,2.5\n")
    annotations = pb.Annotations.from_scores(rows).grades()
    with pytest.warns(PlausiblyWarning, match="took the answers 4.0 for '4'"):
        found = pb.evaluate(annotations, {"A": tmp_path / "a.csv"}, truth="annotator", metrics="accuracy")
    assert found["accuracy"].item() == 0.75
