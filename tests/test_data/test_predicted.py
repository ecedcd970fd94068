"""Predictions as people have them: each table is read rightly, or refused with the sentence that helps."""

import json
import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import plausibly as pb
from plausibly.base.errors import ArgumentError, PlausiblyError, PlausiblyWarning, PredictionError
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.io.spellings import positive_of_two
from plausibly.data.annotations.matching import called
from plausibly.data.labels import Labels, read_gold
from plausibly.data.labels.predictions import all_predicted as all_labelled
from plausibly.data.labels.predictions import read_models
from plausibly.data.predictions import all_predicted, line_up, read_predictions

CASES = ["p", "q", "r"]
SHARES = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.25, 0.5, 0.25]]
CELLS = [",".join(map(str, row)) for row in SHARES]
NAMED = [f"{case},{row}" for case, row in zip(CASES, CELLS, strict=True)]


def annotated(classes, cases=CASES):
    return Annotations.from_counts(np.ones((len(cases), len(classes)), int), classes=classes, cases=cases)


def table(header, rows=CELLS, names=CASES, more=""):
    cells = [f"{name},{row}{more}" for name, row in zip(names, rows, strict=True)]
    return "\n".join([header, *cells]) + "\n"


ABC, NO_YES, TRUTHS = annotated(["a", "b", "c"]), annotated(["no", "yes"]), annotated(["False", "True"])
ZERO_ONE, GRADES = annotated(["0", "1"]), annotated(["1", "2", "3"])
TWO = [[0.75, 0.25], [0.5, 0.5], [0, 1]]
ONE = ["0.25", "0.5", "1"]
HARD = [[1, 0], [0, 1], [0, 1]]
READ = {
    # A column that people leave in, and what is said of it.
    "an index of numbers": (table("Unnamed: 0,a,b,c", names="012"), ABC, SHARES, "took the column 'Unnamed: 0' for"),
    "an index without a name": (table(",a,b,c", names="012"), ABC, SHARES, "took the column '' for the index"),
    "an index of names": (table("Unnamed: 0,c,a,b", names="rqp"), ABC, np.roll(SHARES[::-1], -1, 1), "index of a data"),
    "an index beside names": (table(",case,a,b,c", NAMED, "210"), ABC, SHARES, ""),
    "names of files": (table("filename,a,b,c"), ABC, SHARES, "took the column 'filename' for the names of cases"),
    "a site": (table("case,a,b,c,site", more=",x"), ABC, SHARES, "left out the column 'site', which is no class"),
    "a fold": (table("case,a,b,c,fold", more=",1"), ABC, SHARES, "left out the column 'fold', without which"),
    "a class that is never predicted": (table("case,a,b,c,other", more=",0"), ABC, SHARES, "column 'other', without"),
    "a prefix": (table("case,prob_a,prob_b,prob_c"), ABC, SHARES, "took the columns 'prob_a' for 'a'"),
    "a prefix and the choice": (table("case,p_a,p_b,p_c,pred", more=",c"), ABC, SHARES, "left out the column 'pred'"),
    "grades with a prefix": (table("case,p1,p_2,p_3"), GRADES, None, "'p1', 'p_2', 'p_3' are none of the 3 classes"),
    "grades with a sign": (table("case,p_1,p_2,p_3"), GRADES, SHARES, "took the columns 'p_1' for '1'"),
    "a choice and its confidence": (
        table("case,prediction,confidence", ["c,0.5", "a,0.6", "b,0.5"]), ABC, np.eye(3)[[2, 0, 1]], "left out"),
    "semicolons": (table("case,a,b,c").replace(",", ";").replace(".", ","), ABC, SHARES, "decimal commas"),
    # A single column of two classes.
    "of the positive class": (table("case,proba", ONE), NO_YES, TWO, ""),
    "of the class that it names": (table("case,p_no", ["0.75", "0.5", "0"]), NO_YES, TWO, "took the columns 'p_no'"),
    "a probability beside a site": (
        table("case,yes,site", ONE, more=",x"), NO_YES, TWO, "left out the column 'site', which is no class"),
    "a probability beside the choice": (table("case,proba,pred", ONE, more=",yes"), NO_YES, TWO, "the column 'pred'"),
    "truths in small letters": (table("case,prediction", ["false", "true", "TRUE"]), TRUTHS, HARD, "true for 'True'"),
    "numbers for truths": (table("case,prediction", ["0", "1", "1"]), TRUTHS, HARD, "answers 0 for 'False', 1 for"),
    "truths for numbers": (table("case,prediction", ["False", "True", "True"]), ZERO_ONE, HARD, "True for '1'"),
    # What cannot be known is refused, with what to do.
    "a class that others lack": (
        table("case,a,b,c,other", ["0.2,0.3,0.4"] * 3, more=",0.1"), ABC, None, "'other' is no class .*--classes"),
    "other names without a header": (
        table("file,a,b,c", names=["1.png", "2.png", "3.png"]), ABC, None, "'file' may do; call that 'case'"),
    "numbers that may be names": (table("image,a,b,c", names="312"), ABC, None, "'image' may do; call that 'case'"),
    "a missing class": (table("case,a,b", ["0.2,0.8"] * 3), ABC, None, "no column for 'c'; give a column per class"),
    "no header": ("\n".join(NAMED), ABC, None, "the header is 'p', '0.2', .* write a"),
    "of neither class": (table("case,gpt", ONE), NO_YES, None, r"which of them .* is not known; .*--positive yes"),
    "percentages": (table("case,yes", ["25", "50", "100"]), NO_YES, None, "25.0 was given; divide percentages by 100"),
    "indices of classes": (table("case,prediction", "012"), ABC, None, "holds numbers, such as 0, and .* called 'a'"),
    "truth beside predictions": (table("case,label,prediction", ["a,b"] * 3), ABC, None, "name one at a time"),
}  # fmt: skip


@pytest.mark.parametrize("what", READ)
def test_tables_and_their_neighbours(what, tmp_path):
    text, annotations, expected, said = READ[what]
    (tmp_path / "a.csv").write_text(text)
    if expected is None:
        with pytest.raises(PredictionError, match=f"a.csv: .*{said}"):
            read_predictions(tmp_path / "a.csv", annotations)
        return
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        read = read_predictions(tmp_path / "a.csv", annotations)
    np.testing.assert_allclose(read, expected)
    assert said in " ".join(str(one.message) for one in told)
    assert all(str(one.message).startswith(f"{tmp_path / 'a.csv'}: ") for one in told)


@pytest.mark.parametrize("labels", [["0", "1"], [0, 1], [False, True], ["False", "True"]])
def test_labels_0_and_1_and_truths_need_no_names(labels, tmp_path):
    """They were refused as indices of classes without names, and truths in a data frame as no names."""
    rows = pd.DataFrame(
        {"case": [*CASES, *CASES], "annotator": list("xxxyyy"), "label": [labels[k] for k in (0, 1, 1) * 2]}
    )
    rows.to_csv(tmp_path / "a.csv", index=False)
    hard = rows[:3].drop(columns="annotator")
    hard.to_csv(tmp_path / "b.csv", index=False)
    for source, predicted in ((rows, hard), (tmp_path / "a.csv", tmp_path / "b.csv")):
        said = pytest.warns(PlausiblyWarning, match="the labels 0 and 1 are taken for two classes of these names")
        with said if str(labels[0]) == "0" else nullcontext():
            annotations = Annotations.from_table(source) if source is rows else pb.read_annotations(source)
        assert annotations.classes.tolist() == [str(one) for one in labels]
        np.testing.assert_array_equal(read_predictions(predicted, annotations), HARD)


def test_counts_may_have_an_index(tmp_path):
    """It was a class with so many votes."""
    (tmp_path / "counts.csv").write_text("Unnamed: 0,a,b\n1,2,0\n2,1,1\n")
    with pytest.warns(PlausiblyWarning, match="took the column 'Unnamed: 0' for the index of a data frame"):
        annotations = pb.read_annotations(tmp_path / "counts.csv", layout="counts")
    assert (annotations.classes.tolist(), annotations.cases.tolist()) == (["a", "b"], ["1", "2"])


def test_a_column_of_a_file_is_of_the_class_that_it_names(tmp_path):
    """One called after the failure was read as the probability of the success, which its classifier's name would be."""
    (tmp_path / "a.csv").write_text(table("case,p_no,gpt", ["0.75,0.25", "0.5,0.5", "0,1"]))
    np.testing.assert_array_equal(read_predictions(f"{tmp_path}/a.csv:gpt", NO_YES), TWO)
    with pytest.warns(PlausiblyWarning, match="took the columns 'p_no' for 'no'"):
        np.testing.assert_array_equal(read_predictions(f"{tmp_path}/a.csv:p_no", NO_YES), TWO)


@pytest.mark.parametrize(
    ("source", "annotations", "expected"),
    [
        ({"q": "b", "p": "a", "r": "c"}, ABC, np.eye(3)),
        ({"r": 1.0, "q": 0.5, "p": 0.25}, NO_YES, TWO),
        ({"r": 3, "q": 2, "p": 1}, GRADES, np.eye(3)),
        ({"case": CASES[::-1], "b": [0.5, 0.3, 0.3], "a": [0.25, 0.6, 0.2], "c": [0.25, 0.1, 0.5]}, ABC, SHARES),
        ({c: dict(zip("abc", x, strict=True)) for c, x in zip(CASES, SHARES, strict=True)}, ABC, SHARES),
        ([{"case": c, **dict(zip("abc", x, strict=True))} for c, x in zip(CASES, SHARES, strict=True)], ABC, SHARES),
        (pd.Series([False, True, True]), TRUTHS, HARD),
        (pd.DataFrame({"case": CASES, "prediction": [False, True, True]}), TRUTHS, HARD),
        (pd.get_dummies(pd.Series(list("cab"), index=CASES)), ABC, np.eye(3)[[2, 0, 1]]),
    ],
    ids=[
        "labels",
        "probabilities",
        "grades",
        "columns",
        "by case",
        "records",
        "truths",
        "a column of truths",
        "dummies",
    ],
)
def test_mappings_records_and_truths(source, annotations, expected):
    np.testing.assert_array_equal(read_predictions(source, annotations), expected)


LABELS = Labels.of(
    {case: dict(zip("xyz", said, strict=True)) for case, said in zip(CASES, ("aab", "bbb", "aaa"), strict=True)}
)


def models(path, text, column="label"):
    path.write_text(text)
    return read_models({"m": path}, LABELS, np.ones(3, bool), column)["m"].values.tolist()


def test_labels_and_scores_of_models_are_chosen_by_the_same_names(tmp_path):
    """With the truth in a column beside the prediction, judge read the truth as the prediction."""
    path = tmp_path / "m.csv"
    assert models(path, table("case,y_true,y_pred", ["a,b", "b,b", "b,a"])) == ["b", "b", "a"]
    assert models(path, table("case,proba", ONE), "score") == [0.25, 0.5, 1]
    with pytest.raises(
        PredictionError, match=r"'prediction' and 'label' may each be the prediction, so name one .*FILE:"
    ):
        models(path, table("case,label,prediction", ["a,b", "b,b", "b,a"]))
    both = "".join(f"{case},{who},a\n" for case in CASES for who in ("ann", "gpt"))
    path.write_text(f"case,annotator,label\n{both}")
    with pytest.raises(PredictionError, match=r"the answers of 'ann', 'gpt', so name one of them: FILE:ann"):
        read_models({"gpt": path}, LABELS, np.ones(3, bool))
    blank = "".join(f"{case},{who},a\n" for case, who in zip(CASES, ("gpt", "", "gpt"), strict=True))
    assert models(path, f"case,annotator,label\n{blank}") == ["a"] * 3
    path.write_text(f"case,annotator,label\n{both}")
    assert read_models({"gpt": f"{path}:gpt"}, LABELS, np.ones(3, bool))["gpt"].values.tolist() == ["a"] * 3
    series = pd.Series(["a", "b", "a"], index=CASES)
    assert read_models({"m": series}, LABELS, np.ones(3, bool))["m"].values.tolist() == series.tolist()


def test_predicted_labels_that_no_annotator_gives_are_told(tmp_path):
    with pytest.warns(PlausiblyWarning, match="'c', .* but 'a', 'b'"):
        assert models(tmp_path / "m.csv", table("case,label", "cbc")) == list("cbc")


SUMS = {
    "percentages": ([[20, 80], [85, 15]], "divide percentages by 100", "percentages"),
    "percentages but for one": ([[20, 80], [85, 15], [50, 55]], "divide percentages by 100", "percentages"),
    "a sum of 1.05": ([[0.25, 0.8], [0.5, 0.5]], "sum to 1.05: if just one class", "probabilities already"),
    "several may be true": ([[0.9, 0.8], [0.5, 0.1]], "by their sum", "all lie between 0 and 1, .* add 1 to all"),
    "votes": ([[3, 2], [1, 4]], "divide votes by their sum in each case", None),
    "logits": ([[-3, 2.5], [1, 4]], "mark logits as such", None),
}  # fmt: skip


@pytest.mark.parametrize("what", SUMS)
def test_numbers_that_are_no_probabilities_are_told_by_what_they_are(what):
    scores, fix, as_logits = SUMS[what]
    annotations = annotated(["no", "yes"], CASES[: len(scores)])
    with pytest.raises(ArgumentError, match=fix):
        pb.evaluate(annotations, {"A": np.array(scores)}, metrics="brier", truth="annotator", progress=False)
    if as_logits is None:
        read_predictions(np.array(scores), annotations, logits=True)
    else:
        with pytest.raises(PredictionError, match=as_logits):
            read_predictions(np.array(scores), annotations, logits=True)
    with pytest.raises(PredictionError, match="0 and 100, as percentages do"):
        read_predictions(np.array([20, 85, 15]), NO_YES, logits=True)


@pytest.mark.parametrize("form", ["array", "npy", "parquet", "text", "exact text"])
def test_half_precision_is_rounded_as_text_is(form, tmp_path):
    """Sums of 1.0002 were refused, with the advice to mark them as logits."""
    annotations = Annotations.from_counts(np.ones((40, 5), int))
    half = np.random.default_rng(1).dirichlet(np.ones(5), 40).astype(np.float16)
    source = {"array": half}.get(form, tmp_path / f"a.{form if form in ('npy', 'parquet') else 'csv'}")
    if form == "npy":
        np.save(source, half)
    elif form == "parquet":
        pq.write_table(pa.table({str(k): pa.array(column) for k, column in enumerate(half.T)}), source)
    elif form != "array":
        frame = pd.DataFrame(half if form == "text" else half.astype(float))
        frame.to_csv(source, index=False)
    with pytest.warns(PlausiblyWarning, match="half precision do not quite sum"):
        read = line_up(source, annotations)
    np.testing.assert_allclose(read.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(read, half, rtol=2e-3)
    off = half.astype(np.float32)
    off[7] *= 1.01  # which no rounding does
    assert read_predictions(off, annotations)[7].sum() == pytest.approx(off[7].sum())


NEAR = [
    ("0980", "980", "leading zeros"),
    ("00p", "p", "leading zeros"),
    ("img_1", "Img_1", "capitals"),
    ("img 1", "img_1 ", "blanks and signs"),
    ("img1", "img1.png", "extensions"),
    ("scan", "scan.nii.gz", "extensions"),
    ("img1", "data/x/img1.png", "folders and extensions"),
    ("7", "7.0", "decimals"),
    ("2020-04-03", "3/4/2020", "dates"),
    ("3-4", "Mar-04", "dates"),
    ("1/1", "01-Jan", "dates"),
]


@pytest.mark.parametrize(("name", "spelled", "how"), [*NEAR, *((b, a, how) for a, b, how in NEAR if b == b.strip())])
def test_names_that_differ_in_spelling_are_shown(name, spelled, how, tmp_path):
    annotations = annotated(["a", "b"], [name, "same"])
    labels = Labels.of({case: {"ann": "a", "bob": "b"} for case in annotations.cases.tolist()})
    frame = pd.DataFrame({"case": [spelled, "same"], "a": [0.5, 0.25], "b": [0.5, 0.75]})
    path = tmp_path / "a.csv"
    path.write_text(f'case,label\n"{spelled}",a\nsame,b\n')
    options = {"metrics": "brier", "truth": "annotator", "progress": False}
    clusters = pd.Series([1, 2], [spelled, "same"])
    for read in (
        lambda: read_predictions(frame, annotations),
        lambda: read_predictions(frame, annotations, extra="ignore"),
        lambda: all_predicted(annotations, {"A": frame}),
        lambda: all_labelled(labels, {"A": path}),
        lambda: read_models({"A": path}, labels, np.ones(2, bool)),
        lambda: pb.evaluate(annotations, {"A": [[0.5, 0.5]] * 2}, clusters=clusters, **options),
    ):
        with pytest.raises(PlausiblyError) as raised:
            read()
        assert f"are called {spelled!r} ({how} differ); write names alike in all files" in str(raised.value)
    with pytest.raises(PredictionError) as raised:
        read_gold(path, annotations)
    assert f"no case {spelled!r}: cases are called {name!r} ({how} differ)" in str(raised.value)


def test_names_of_other_cases_are_not_called_spellings():
    assert called(["img1", "img2"], ["img3", "1", "2.5", "img11"], "rows") == ""
    with pytest.raises(PredictionError, match="no row for case 'p', 'q', 'r': rows are called 'u', 'v', 'w'"):
        read_predictions(pd.DataFrame(SHARES, columns=list("abc"), index=list("uvw")), ABC)
    with pytest.raises(PredictionError, match="no row for case 'r'; predict every case"):
        read_predictions(pd.DataFrame(SHARES[:2], columns=list("abc"), index=list("pq")), ABC)
    assert all_predicted(ABC, {"A": pd.DataFrame(SHARES, columns=list("abc"), index=list("pqx"))}).tolist() == [
        "p",
        "q",
    ]


NAMES = [
    "a",
    "b",
    "other",
    "no",
    "yes",
    "pneumonia",
    "0",
    "1",
    "2",
    "True",
    "False",
    "case",
    "label",
    "score",
    "p",
    "id",
]


@pytest.mark.parametrize("seed", range(60))
def test_every_layout_gives_the_same_matrix_or_is_refused(seed, tmp_path):
    """A table that is drawn, and written in every layout, is never read as another one."""
    random = np.random.default_rng(seed)
    k, n = random.integers(2, 5), random.integers(1, 6)
    classes = random.choice(NAMES, k, replace=False).tolist()
    cases = random.permutation([f"{random.choice(['c', '0', 'IMG '])}{i}" if seed % 3 else str(i) for i in range(n)])
    scores = random.dirichlet(np.ones(k), n)
    if seed % 2:
        scores = random.normal(size=(n, k)).round(1) if seed % 4 == 1 else np.eye(k)[random.integers(0, k, n)]
    annotations = annotated(classes, cases.tolist())
    shuffled, order = random.permutation(n), random.permutation(k)
    frame = pd.DataFrame(scores, columns=classes)
    names = cases[shuffled].tolist()
    named = frame.iloc[shuffled, order].reset_index(drop=True)
    if "case" in classes:  # which leaves no column for names
        named = frame
    else:
        named.insert(random.integers(0, k + 1), "case", names)
    records = [
        {"case": case, "probs": row} for case, row in zip(names, frame.iloc[shuffled].to_dict("records"), strict=True)
    ]
    pairs = [[{"label": name, "score": row[name]} for name in classes] for row in frame.to_dict("records")]
    by_index = frame.iloc[shuffled].set_axis(names)
    chosen = scores.argmax(axis=1)
    hard = pd.DataFrame({"case": names, "prediction": [classes[at] for at in chosen[shuffled]]})
    path = {suffix: tmp_path / f"a.{suffix}" for suffix in ("npy", "csv", "parquet", "json", "jsonl", "txt")}
    sources = {
        "array": scores, "frame": frame, "by index": by_index, "records": records, "pairs": pairs,
        "columns": {name: named[name].tolist() for name in named},
        "by case": {record["case"]: record["probs"] for record in records},
    }  # fmt: skip
    written = {
        "npy": lambda to: np.save(to, scores),
        "txt": lambda to: np.savetxt(to, scores, fmt="%.17g"),
        "csv": lambda to: named.to_csv(to, index=False),
        "csv in order": lambda to: frame.to_csv(to, index=False),
        "csv with an index": lambda to: by_index.to_csv(to),
        "csv without a header": lambda to: frame.to_csv(to, index=False, header=False),
        "csv with another column": lambda to: named.assign(site="x").to_csv(to, index=False),
        "parquet": lambda to: named.to_parquet(to),
        "parquet with an index": lambda to: by_index.to_parquet(to),
        "json": lambda to: to.write_text(json.dumps(records)),
        "jsonl": lambda to: to.write_text("\n".join(map(json.dumps, pairs))),
    }
    expected = dict.fromkeys([*sources, *written], scores)
    for name, source in (("labels", hard), ("a list", [classes[at] for at in chosen])):
        sources[name], expected[name] = source, np.eye(k)[chosen]
    models = hard.rename(columns={"prediction": "gpt"}).assign(other=hard["prediction"].iloc[0])
    models.to_csv(tmp_path / "models.csv", index=False)
    sources["csv:column"], expected["csv:column"] = f"{tmp_path}/models.csv:gpt", np.eye(k)[chosen]
    written["csv of labels"], expected["csv of labels"] = lambda to: hard.to_csv(to, index=False), np.eye(k)[chosen]
    if k == 2 and seed % 4 != 1 and "case" not in classes:
        sources["vector"], expected["vector"] = scores[:, positive_of_two(classes)], scores
        for at, name in enumerate(classes):
            one = {"case": names, name: scores[shuffled, at]}
            sources[f"column {at}"], expected[f"column {at}"] = pd.DataFrame(one), scores
    refused = []
    for layout in expected:
        source = sources.get(layout)
        if layout in written:
            source = path[layout.split()[0]]
            written[layout](source)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PlausiblyWarning)
                read = read_predictions(source, annotations)
        except PlausiblyError as error:
            refused.append(f"{layout}: {error}")
            continue
        np.testing.assert_allclose(read, expected[layout], rtol=1e-6, err_msg=f"{layout}, {classes}, {cases}")
    assert len(refused) < len(expected) / 2 or not seed % 3, refused
    if not {*classes} & {"case", "label", "score", "p", "id", "0", "1", "2", "True", "False"} and seed % 3:
        assert not [one for one in refused if not one.startswith("parquet with")], refused


DOCTOR = {
    "an index of names": ("Unnamed: 0,a,b,c", "", "took the column 'Unnamed: 0' for the index", None),
    "names of files": ("photo,a,b,c", "", "took the column 'photo' for the names of cases", None),
    "a site": ("case,a,b,c,site", ",x", "left out the column 'site'", None),
    "a choice": ("case,prob_a,prob_b,prob_c,pred", ",a", "left out the column 'pred'", None),
    "a class without share": ("case,a,b,c,other", ",0", "left out the column 'other'", None),
    "percentages": ("case,a,b,c", "", "numbers for 3 classes", "percentages: divide them by 100"),
    "extensions": (
        "case,a,b,c",
        "",
        "numbers for 3 classes",
        "are called 'p.png', 'q.png', 'r.png' (extensions differ)",
    ),
}


@pytest.mark.parametrize("what", DOCTOR)
def test_doctor_takes_predictions_as_their_reader_does(what, tmp_path):
    """Scores beside a site were groups of cases, and percentages counts of labels."""
    header, more, said, unfit = DOCTOR[what]
    rows = [f"{case},{who},{label}" for case, label in zip(CASES, "cab", strict=True) for who in ("ann", "bob")]
    (tmp_path / "labels.csv").write_text("\n".join(["case,annotator,label", *rows]) + "\n")
    cells = ["20,30,50", "60,30,10", "25,50,25"] if what == "percentages" else CELLS
    names = [f"{case}.png" for case in CASES] if what == "extensions" else CASES
    (tmp_path / "scores.csv").write_text(table(header, cells, names, more))
    found = pb.doctor([tmp_path / "labels.csv", tmp_path / "scores.csv"])
    assert found.files[1].role == "predictions"
    assert said in str(found.files[1])
    fits = any("evaluate" in line and "scores.csv" in line for line in found.commands)
    assert fits == (unfit is None)
    assert unfit is None or any(unfit in problem for problem in found.problems)


def test_a_column_of_names_goes_before_an_index(tmp_path):
    """Rows were taken in order, and the names of cases for a column without a use."""
    annotations = pb.Annotations.from_labels([["a"], ["b"]], classes="ab", cases=["p", "q"])
    (tmp_path / "a.csv").write_text("Unnamed: 0,image,b,a\n0,q,0.9,0.1\n1,p,0.2,0.8\n")
    with pytest.warns(PlausiblyWarning, match="took the column 'image' for the names of cases"):
        assert pb.read_predictions(tmp_path / "a.csv", annotations).tolist() == [[0.8, 0.2], [0.1, 0.9]]
