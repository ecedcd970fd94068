"""Predictions from every source give the same matrix, in the order of the annotations."""

from contextlib import nullcontext

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import plausibly as pb
from plausibly.base.errors import ArgumentError, PlausiblyWarning, PredictionError
from plausibly.data.annotations import Annotations
from plausibly.data.labels import Labels
from plausibly.data.labels.predictions import read_models
from plausibly.data.predictions import line_up, named_predictions, read_predictions
from tests.test_app.test_cli.run import plausibly

ANNOTATIONS = Annotations.from_rankings(
    {"cases": {"q": {"ann": [["b"]]}, "p": {"ann": [["a"]]}, "r": {"bob": [["c"], ["a"]]}}}, classes=["b", "a", "c"]
)
SCORES = np.array([[0.25, 0.5, 0.125], [1.0, -2.0, 1e-3], [0.0, 7.0, 8.5]])  # cases q, p, r; classes b, a, c
NAMED = pd.DataFrame(  # another order of both
    {"a": SCORES[[2, 0, 1], 1], "case": ["r", "q", "p"], "c": SCORES[[2, 0, 1], 2], "b": SCORES[[2, 0, 1], 0]}
)


@pytest.mark.parametrize(
    "source",
    [
        SCORES,
        SCORES.tolist(),
        np.asfortranarray(SCORES),
        pd.DataFrame(SCORES),
        pd.DataFrame(SCORES, columns=["b", "a", "c"]),
        pd.DataFrame(SCORES, index=["q", "p", "r"]),
        pd.DataFrame(SCORES[[1, 0, 2]], index=["p", "q", "r"]),
        NAMED,
        NAMED.rename(columns={"case": "task"}),
        NAMED.rename(columns={"case": "id"}),
        NAMED.set_index("case"),
        NAMED.set_index("case").rename_axis(None),
        NAMED.sort_values("a"),
        NAMED.astype({"case": "category"}),
        pl.from_pandas(NAMED),
        pa.Table.from_pandas(NAMED),
    ],
)
def test_objects(source):
    read = read_predictions(source, ANNOTATIONS)
    assert read.dtype == np.float64
    np.testing.assert_array_equal(read, SCORES)


def test_dtype_follows_what_came_and_what_is_returned_is_a_copy():
    for dtype, expected in (("f4", "f4"), ("f2", "f4"), ("f8", "f8"), ("i8", "f8"), ("u1", "f8"), ("?", "f8")):
        assert read_predictions(np.ones((3, 3), dtype), ANNOTATIONS).dtype == np.dtype(expected)
    assert read_predictions(jnp.ones((3, 3)), ANNOTATIONS).dtype == np.float32
    assert read_predictions(NAMED.astype(dict.fromkeys("abc", "f4")), ANNOTATIONS).dtype == np.float32
    assert named_predictions({"A>B": "a.csv", "lr=0.1": "b.csv"}).keys() == {"A>B", "lr=0.1"}
    read = read_predictions(SCORES, ANNOTATIONS)
    assert not np.shares_memory(read, SCORES)
    assert np.shares_memory(line_up(SCORES, ANNOTATIONS), SCORES)


def test_numbers_as_class_names_and_an_index_in_another_order(tmp_path):
    """A header of numbers is a header where it lists the classes and there is one line more than cases."""
    annotations = Annotations.from_counts(np.eye(3, dtype=int))
    path = tmp_path / "a.csv"
    expected = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    path.write_text("0,1,2\n1,2,3\n4,5,6\n7,8,9\n")
    np.testing.assert_array_equal(read_predictions(path, annotations), expected)
    path.write_text("2,0,1\n3,1,2\n6,4,5\n9,7,8\n")
    np.testing.assert_array_equal(read_predictions(path, annotations), expected)
    path.write_text("2,0,1\n3,1,2\n6,4,5\n")
    np.testing.assert_array_equal(read_predictions(path, annotations), [[2, 0, 1], [3, 1, 2], [6, 4, 5]])
    shuffled = pd.DataFrame(expected)[[2, 0, 1]]
    np.testing.assert_array_equal(read_predictions(shuffled, annotations), expected)
    annotations = Annotations.from_counts([[1, 0], [0, 1], [1, 0]], classes=["a", "b"])
    frame = pd.DataFrame({"a": [1.0, 2, 3], "b": [4.0, 5, 6]})
    shuffled = frame.loc[[2, 0, 1]]
    np.testing.assert_array_equal(read_predictions(shuffled, annotations), frame)
    np.testing.assert_array_equal(read_predictions(shuffled.reset_index(drop=True), annotations), shuffled)
    unnamed = pd.DataFrame(frame.to_numpy()).loc[[2, 0, 1]]
    np.testing.assert_array_equal(read_predictions(unnamed, annotations), frame)
    by_column = shuffled.assign(case=[0, 1, 2])
    np.testing.assert_array_equal(read_predictions(by_column, annotations), shuffled)


def test_numbers_as_case_names_and_a_class_called_case():
    annotations = Annotations.from_counts([[1, 0], [0, 1]], cases=[12, 7])
    read = read_predictions(pd.DataFrame({"case": [7, 12], "0": [1, 2], "1": [3, 4]}), annotations)
    np.testing.assert_array_equal(read, [[2, 4], [1, 3]])
    annotations = Annotations.from_counts([[1, 0], [0, 1]], classes=["case", "control"])
    read = read_predictions(pd.DataFrame({"control": [1, 2], "case": [3, 4]}), annotations)
    np.testing.assert_array_equal(read, [[3, 1], [4, 2]])


TWO = Annotations.from_labels(
    [["no", "yes"], ["yes", "yes"], ["no", "no"]], classes=["no", "yes"], cases=["p", "q", "r"]
)


@pytest.mark.parametrize(
    "source",
    [
        np.array([0.25, 0.75, 0.5]),
        np.array([[0.25], [0.75], [0.5]]),
        pd.Series([0.25, 0.75, 0.5]),
        pd.Series([0.75, 0.25, 0.5], index=["q", "p", "r"], name="yes"),
        pd.DataFrame({"case": ["r", "p", "q"], "no": [0.5, 0.75, 0.25]}),
        pd.DataFrame({"probability": [0.25, 0.75, 0.5]}),
    ],
)
def test_one_column_for_two_classes(source):
    np.testing.assert_array_equal(read_predictions(source, TWO), [[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]])


def test_a_file_of_one_column(tmp_path):
    np.save(tmp_path / "a.npy", [0.25, 0.75, 0.5])
    test_one_column_for_two_classes(tmp_path / "a.npy")


def test_predictions_of_more_cases(tmp_path, no_report):
    more = NAMED.assign(**{"case": ["r", "x", "p"]})
    more = pd.concat([NAMED, more[more["case"] == "x"]])
    with pytest.warns(PlausiblyWarning, match="ignored 1 rows of predictions for other cases than"):
        np.testing.assert_array_equal(read_predictions(more, ANNOTATIONS, extra="ignore"), SCORES)
    more.to_csv(tmp_path / "a.csv", index=False)
    ANNOTATIONS.to_table().to_csv(tmp_path / "annotations.csv", index=False)
    words = "evaluate", tmp_path / "annotations.csv", "--predictions", f"A={tmp_path / 'a.csv'}", "--model", "irn"
    words += "--k", 1, "--quick"
    refused = plausibly(*words, "--out", tmp_path / "out")
    assert refused.exit_code == 2
    assert "--extra ignore" in refused.output
    done = plausibly(*words, "--out", tmp_path / "out", "--extra", "ignore")
    assert done.exit_code == 0, done.output
    assert "a.csv: ignored 1 rows of predictions" in " ".join(done.output.split())


CHOSEN = ["a", "c", "b"]  # of cases q, p, r
ONE_HOT = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])  # classes b, a, c
BY_NAME = pd.DataFrame({"case": ["r", "q", "p"], "prediction": ["b", "a", "c"]})


@pytest.mark.parametrize(
    "source",
    [
        CHOSEN,
        tuple(CHOSEN),
        np.array(CHOSEN),
        np.array(CHOSEN, object),
        pd.Categorical(CHOSEN),
        pd.Series(CHOSEN, name="A"),
        pd.Series(["b", "a", "c"], index=["r", "q", "p"], dtype="category"),
        pd.DataFrame({"predicted": CHOSEN}),
        BY_NAME,
        BY_NAME.rename(columns={"prediction": "label"}).set_index("case"),
        pl.DataFrame(BY_NAME.to_dict("list")).rename({"prediction": "class"}),
    ],
)
def test_names_of_classes(source):
    np.testing.assert_array_equal(read_predictions(source, ANNOTATIONS), ONE_HOT)


def test_files_with_names_of_classes_also_such_as_look_like_numbers(tmp_path):
    BY_NAME.to_csv(tmp_path / "a.csv", index=False)
    BY_NAME.rename(columns={"prediction": "class"}).to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.txt").write_text("label\na\nc\nb\n")
    np.save(tmp_path / "a.npy", np.array(CHOSEN))
    in_order = pytest.warns(PlausiblyWarning, match="a.txt: no column names the cases: taken in order, first 'q'")
    for path in tmp_path.iterdir():
        with in_order if path.suffix == ".txt" else nullcontext():
            np.testing.assert_array_equal(read_predictions(path, ANNOTATIONS), ONE_HOT)
    annotations = Annotations.from_labels([["1"], ["2"], ["10"]], classes=["1", "2", "10"])
    expected = np.eye(3)[[2, 0, 1]]
    for source in (["10", "1", "2"], pd.DataFrame({"prediction": [10, 1, 2]})):
        np.testing.assert_array_equal(read_predictions(source, annotations), expected)


def test_a_blank_name_of_a_class_is_no_answer(tmp_path):
    annotations = Annotations.from_counts(np.ones((3, 2), int), classes=["a", "b"], cases=["p", "q", "r"])
    path = tmp_path / "named.csv"
    path.write_text("case,prediction\np,a\nq,\nr,b\n")
    for source in (path, ["a", None, "b"], ["a", "", "b"], pd.Series(["a", None, "b"])):
        assert read_predictions(source, annotations).tolist() == [[1, 0], [0, 0], [0, 1]]


@pytest.mark.parametrize("decimals", [1, 2, 4])
def test_rounded_probabilities_are_divided_by_their_sum_which_is_said(decimals, tmp_path):
    """Four decimals that sum to 1.0001 were refused, with the advice to mark them as logits."""
    annotations = Annotations.from_counts(np.ones((40, 5), int))
    exact = np.random.default_rng(1).dirichlet(np.ones(5), 40)
    rounded = exact.round(decimals)
    rounded[rounded.sum(axis=1) == 0] = 0.2
    path = tmp_path / "rounded.csv"
    np.savetxt(path, rounded, delimiter=",", fmt=f"%.{decimals}f")
    with pytest.warns(PlausiblyWarning, match=rf"rounded.csv: probabilities with {decimals} decimals do not quite sum"):
        read = read_predictions(path, annotations)
    np.testing.assert_allclose(read, rounded / rounded.sum(axis=1, keepdims=True))
    with pytest.raises(PredictionError, match="marked as logits, but are probabilities already"):
        read_predictions(path, annotations, logits=True)


def test_only_rounded_probabilities_are_divided():
    annotations = Annotations.from_counts(np.ones((2, 3), int))
    for values in ([[0.2, 0.3, 0.5], [0, 0, 0]], [[0.9, 0.9, 0.1], [0.5, 0.25, 0.25]], [[1, 0, 1], [0, 1, 0]]):
        np.testing.assert_array_equal(read_predictions(np.array(values), annotations), values)
    with pytest.warns(PlausiblyWarning, match="2 decimals"):
        read = read_predictions(np.array([[0.33, 0.33, 0.33], [0, 0, 0]]), annotations)  # no answer remains none
    np.testing.assert_allclose(read, [[1 / 3] * 3, [0] * 3])


def test_expected_grades_are_read_as_the_nearest():
    annotations = Annotations.from_labels([["1"], ["3"], ["5"], ["2"], ["4"]], classes=list("12345"))
    nearest = line_up(np.array([0.6, 1.2, 5.4, 2.9, 1.0]), annotations, ordered=True)
    assert nearest.argmax(axis=1).tolist() == [0, 0, 4, 2, 0]


@pytest.mark.parametrize(
    "columns",
    [["p_Normal", "p_Pleural_Effusion", "p_Mass"], ["NORMAL score", "Mass score", "pleural-effusion score"]],
)
def test_columns_that_differ_in_signs_and_a_word_are_taken_for_classes(columns):
    annotations = Annotations.from_counts(np.eye(3, dtype=int), classes=["mass", "normal", "pleural effusion"])
    scores = pd.DataFrame(np.diag([0.5, 0.25, 0.125]), columns=columns)
    with pytest.warns(PlausiblyWarning, match=f"took the columns '{columns[0]}' for 'normal'"):
        read = read_predictions(scores, annotations)
    by_word = [next(i for i, one in enumerate(columns) if word in one.lower()) for word in ("mass", "normal", "eff")]
    np.testing.assert_array_equal(read, scores.to_numpy()[:, by_word])


def test_a_single_column_may_differ_in_signs_and_a_word_as_well():
    of_two = Annotations.from_counts(np.eye(2, dtype=int), classes=["benign", "malignant"])
    with pytest.warns(PlausiblyWarning, match="'prob_Malignant' for 'malignant'"):
        read = read_predictions(pd.DataFrame({"prob_Malignant": [0.25, 0.75]}), of_two)
    np.testing.assert_array_equal(read[:, 1], [0.25, 0.75])


def test_a_table_with_a_column_for_each_classifier(tmp_path):
    annotations = Annotations.from_labels([["a", "a"], ["b", "a"], ["b"]], classes=["a", "b"], cases=list("pqr"))
    path = tmp_path / "models.csv"
    path.write_text("site,case,gpt,cnn\nx,r,b,0.9\ny,q,a,0.25\nx,p,a,0.5\n")
    for column, expected in (("gpt", [[1, 0], [1, 0], [0, 1]]), ("cnn", [[0.5, 0.5], [0.75, 0.25], [0.1, 0.9]])):
        said = pytest.warns(PlausiblyWarning, match="'cnn' for the probability of 'b'")
        with said if column == "cnn" else nullcontext():
            np.testing.assert_allclose(line_up(f"{path}:{column}", annotations, positive="b"), expected)
    with pytest.raises(
        ArgumentError, match="positive must be a class, but 'malignant' was given: choose from 'a', 'b'"
    ):
        line_up(f"{path}:cnn", annotations, positive="malignant")
    labels = Labels.of({"p": {"ann": "a", "bob": "b"}, "q": {"ann": "b"}})
    path.write_text("site,case,gpt\nx,p,b\ny,q,a\n")
    said = read_models({"gpt": f"{path}:gpt"}, labels, np.array([True, True]))["gpt"]
    assert (said.case.tolist(), said.values.tolist()) == ([0, 1], ["b", "a"])
    grades = Annotations.from_labels([["0", "0"], ["1", "0"], ["2"]], classes=list("012"), cases=list("pqr"))
    path.write_text("case,a:b,late\np,0,0\nq,2,1\nr,1,\n")
    assert read_predictions(f"{path}:a:b", grades).argmax(axis=1).tolist() == [0, 2, 1]
    numbers = Labels.of({"p": {"ann": 0, "bob": 1}, "q": {"ann": 2}, "r": {"ann": 2}})
    assert read_models({"m": f"{path}:a:b"}, numbers, np.ones(3, bool))["m"].values.tolist() == [0, 2, 1]
    path.write_text("case,gpt,llama\np,a,b\nq,b,b\nr,b,a\n")
    path.write_text("case,cnn,vit\np,0.5,0.5\nq,0.25,0.5\nr,0.9,0\n")


def test_cases_without_a_prediction_are_left_out_if_asked(tmp_path):
    """They were refused, and only the annotations could be changed."""
    rows = [f"c{i},{who},{'ab'[(i + (who == 'bob' and i % 5 == 0)) % 2]}" for i in range(30) for who in ("ann", "bob")]
    (tmp_path / "labels.csv").write_text("\n".join(["case,annotator,label", *rows]) + "\n")
    predicted = [f"c{i},{'ab'[i % 3 % 2]},{'ab'[i % 2] if i > 3 else ''}" for i in range(31)]
    (tmp_path / "m.csv").write_text("\n".join(["case,gpt,cnn", *predicted]) + "\n")
    both = [word for one in ("gpt", "cnn") for word in ("--predictions", f"{one}={tmp_path / 'm.csv'}:{one}")]
    given = ["evaluate", tmp_path / "labels.csv", *both, "--truth", "annotator", "--extra", "ignore"]
    given += ["--out", tmp_path / "out"]
    refused = plausibly(*given)
    assert refused.exit_code == 2
    assert "no row for case 'c0', 'c1', 'c2' and 1 more" in refused.output
    done = plausibly(*given, "--unpredicted", "leave-out")
    assert done.exit_code == 0, done.output
    assert "4 of 30 cases have no prediction of some classifier and are left out" in " ".join(done.output.split())
    found = pd.read_csv(tmp_path / "out" / "metrics.csv")
    of_cnn = found[(found["classifier"] == "cnn") & (found["metric"] == "accuracy")]["mean"].item()
    assert of_cnn == pytest.approx(1 - 5 / 52)


@pytest.mark.parametrize("column", ["", ":Pleural Effusion"])
def test_a_column_called_after_neither_class_is_of_the_one_that_is_named(column, tmp_path):
    """The second class was taken, so that a good classifier had an AUROC of .16."""
    path = tmp_path / "pred.csv"
    path.write_text("case,Pleural Effusion\np,0.9\nq,0.2\n")
    labels = pb.Annotations.from_labels([["effusion"], ["no effusion"]], cases=["p", "q"])
    options = {"truth": "annotator", "metrics": "auroc", "replicates": 0, "progress": False}
    said = r"so which of them .* is not known; .* such as positive='effusion' \(--positive effusion\)"
    with pytest.raises(PredictionError, match=said):
        pb.evaluate(labels, {"A": f"{path}{column}"}, **options)
    with pytest.warns(PlausiblyWarning, match="took the column 'Pleural Effusion' for the probability of 'effusion'"):
        found = pb.evaluate(labels, {"A": f"{path}{column}"}, positive="effusion", **options)
    assert found["auroc"].item() == 1
    passes = pb.Annotations.from_labels([["pass"], ["fail"]], cases=["p", "q"])  # of which one stands for a success
    assert read_predictions(f"{path}:Pleural Effusion", passes)[:, passes.classes == "pass"].ravel().tolist() == [
        0.9,
        0.2,
    ]
