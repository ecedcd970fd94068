"""What annotations, labels, predictions in memory, writers, and simulated data refuse."""

import re
from operator import attrgetter

import numpy as np
import pandas as pd
import polars as pl

import plausibly as pb
from plausibly.agreement import Labels, agreement, read_labels
from plausibly.base.errors import AnnotationError, ArgumentError, FileError, PredictionError
from plausibly.data.annotations import (
    Annotations,
    Scores,
    Slots,
    read_annotations,
    read_classes,
    read_metadata,
    read_risks,
    write_annotations,
)
from plausibly.data.annotations.io.write import without_names
from plausibly.data.datasets import (
    simulate_classifiers,
    simulate_differentials,
    simulate_label_noise,
    simulate_labels,
    simulate_risks,
    simulate_strictness,
    simulate_toy,
    toy_plausibilities,
)
from plausibly.data.predictions import read_predictions
from tests.exports import argilla
from tests.refused import each, refused
from tests.refused.hostile import CLASSES, GRID, KNOWN, put

A, F, P = AnnotationError, FileError, PredictionError


def table(**columns) -> Annotations:
    """Annotations of a table of one case and one annotator."""
    return Annotations.from_table(pd.DataFrame({"case": "p", "annotator": "a", "class": ["x"]} | columns))


def predicted(of, annotations=KNOWN):
    return read_predictions(of, annotations)


def risks(of):
    return read_risks(of, CLASSES)


REPEATED = pd.DataFrame(np.ones((2, 3)), columns=["Eczema", "Tinea", "Tinea"])
MASKED = np.ma.array(np.ones((2, 3)), mask=np.eye(2, 3))
COLUMNS = {"annotation_case": [0, 0, 1], "annotation_annotator": [0, 1, 0], "entry_annotation": [0, 0, 1, 2]}
COLUMNS |= {"entry_class": [0, 1, 1, 0], "entry_block": [0, 1, 0, 0]}
NAMES = {"cases": ["p", "q"], "classes": ["x", "y"], "annotators": ["ann", "bob"], "anonymous": False}


def by_hand(**change) -> Annotations:
    """Annotations of columns, of which one is changed."""
    return Annotations(**NAMES, **COLUMNS | change)


def scores(case, annotator, score) -> Scores:
    names = {"cases": ["p"], "annotators": ["a", "b"], "anonymous": False}
    return Scores(**names, annotation_case=case, annotation_annotator=annotator, score=score)


ROWS = [("q", "bob", "x"), ("p", "ann", "y"), ("q", "ann", "x"), ("p", "bob", None), ("q", "bob", "y")]
TABLE = pd.DataFrame(ROWS, columns=["case", "annotator", "label"])
READINGS = Labels.of(TABLE, repeats="readings")
GROUPED = TABLE.assign(group=["1", None, "2", "3", "4"])
RATED = pd.DataFrame({"case": ["q", "p"], "annotator": ["bob", "ann"], "score": [1.5, 0.0]})
SCORES = Annotations.from_scores(RATED)
SLOTS = Slots.of(Annotations.from_rankings([[[[3], [1]], [[1]]], [[[2], [0, 1], [3]]], [[[0, 1, 3]]], [[[2]]]], "abcd"))
NAMED = Annotations.from_rankings({"cases": {"p": {"ann": [["b"], ["a", "c"]]}, "q": {"bob": [["a"]]}}}, "abcd")
VOTED = without_names(NAMED)
COUNTED = Annotations.from_counts([[2, 0, 1], [0, 3, 0]], classes=["x", "y", "z"], cases=["p", "q"])
ROWS_OF_CASES, FROM_ROWS = [{"study_id": f"s{i}", "labels": ["a", "b"]} for i in range(3)], Annotations.from_case_rows
SOFT = [{"id": "p", "soft_label": {"a": 0.55, "b": 0.45}}]
CURVE = np.array([0.1, np.nan])


def labels_of(column) -> Labels:
    return Labels.of({"case": ["p", "q", "r"], "annotator": ["a", "a", "a"], "label": column})


def written(annotations, name, form=None):
    """A row's call of a writer, after which the folder is as empty as before."""

    def call(folder):
        try:
            write_annotations(annotations, folder / name, form)
        finally:
            assert not list(folder.rglob("*"))

    return call


def put_classes(text):
    return lambda folder: read_classes(put(folder, "c.txt", text))


def put_risks(text, name="r.txt"):
    return lambda folder: read_risks(put(folder, name, text), CLASSES)


REFUSED = [
    *each(table, {
        r"row 2 \(case 'p', annotator 'a'\): the confidence 9007199254740993 has": {
            "class": ["x", "y"], "confidence": [2**53, 2**53 + 1]
        },
        "the column 'rank' holds a whole number of more than 64 bits; write a": {"rank": [10**20]},
        r"the column 'class' holds 'x\\x00', with a null character in it; write it without": {"class": ["x\0"]},
    }, A),
    *each(predicted, {
        "predictions: the rows differ in length": ([[1, 2, 3], [1]],),
        r"predictions: an array of numbers is needed, got object \(None\)": (None,),
        "predictions: some": (MASKED,),
        "predictions: the column 'Tinea' occurs 2 times; keep one": (REPEATED,),
        "predictions: the column 'Tinea' mixes types": (GRID.assign(Tinea=[1, "x"]),),
        "the column 'case' occurs twice, as": (GRID.set_index("case", drop=False),),
        "there is no row for case": (GRID.assign(case=["p", "r"]).set_index("case"),),
    }, P),
    *each(Annotations.from_labels, {
        "the class 'caf\u00e9' is written in 2": ([["caf\u00e9", "cafe\u0301"]],),
        "one of them is the same": ([["cafe\u0301"]], ["caf\u00e9", "bar"]),
        "case '0': the labels of a case are a list, got 'x'": (["x"],),
        "labels are a list of cases, got 'x'": ("x",),
        "case '0', annotator 2: a label is": ([[0, float("nan")]], CLASSES),
        "class index -1 is outside the range": ([[0, -1]], CLASSES),
        "case '1' has no annotators": ([["x"], [None]],),
        "case '0': there are 2 labels for 1": {"labels": [["x", "y"]], "annotators": ["ann"]},
        "1 rows of labels for 2 case names": {"labels": [["x"]], "cases": ["p", "q"]},
        r"a label is a class index or a name, got .*0\.5": {"labels": np.array([[0.5, 0]]), "missing": np.nan},
        "a label is a class index or a name, got .*inf": {"labels": np.array([[np.inf, 0]]), "missing": np.nan},
        r"a label is a class index or a name, got .*1\.0": {"labels": np.array([[1.0, 0]]), "missing": -1},
    }, A),
    *each(Annotations.from_table, {
        "held in memory, got LazyFrame; convert it": (pl.LazyFrame({"case": ["p"]}),),
        "a table is a data frame held in memory, got list": ([["p", "a", "x"]],),
        r"row 2 \(case 'q', annotator 'ann'\): the class '0' is not among the 3": (
            pd.DataFrame({"case": ["p", "q"], "annotator": "ann", "class": [1, 0]}), [1, 2, 3]
        ),
    }, A),
    *each(Annotations.from_counts, {
        "the class 'x' is listed 2 times; list each": ([[1, 2]], ["x", "x"]),
        "class 1 is named None; a name is text": ([[1, 2]], ["x", None]),
        "there are 1 rows of counts for 2 case names": {"counts": [[1, 2]], "cases": ["p", "q"]},
    }, A),
    *each(KNOWN.rankings, {"there is no case 'r' among the 2 cases 'p', 'q'": ("r",)}, A),
    *each(KNOWN.select, {
        "there is no case 2 among the 2 cases 'p', 'q'": ([2],),
        r"there is no case 0\.5 among": ([0.5],),
        "case 'p' is selected twice; select each case once": (["p", "p"],),
        "no case is selected; select at least one": ([],),
        r"a list of cases is needed, got the text 'p'; write \['p'\]": ("p",),
        "a mask of 1 values does not fit 2 cases": (np.array([True]),),
    }, A),
    *each(KNOWN.with_cases, {"'x' is listed 2 times": (["x", "x"],)}, A),
    *each(by_hand, {
        "annotation_case and annotation_annotator differ in length": {"annotation_annotator": [0, 1]},
        "the entry columns differ in length": {"entry_block": [0, 1, 0]},
        "annotation_case must not decrease": {"annotation_case": [0, 1, 0]},
        "annotation_case is outside the cases": {"annotation_case": [0, 0, 2]},
        "entry_annotation must not decrease and must name every annotation": {"entry_annotation": [0, 0, 2, 2]},
        "annotation_annotator is outside the annotators": {"annotation_annotator": [0, 2, 0]},
        "annotators must increase within a case": {"annotation_annotator": [1, 0, 0]},
        "entry_class is outside the classes": {"entry_class": [0, -1, 1, 0]},
        "blocks of an annotation must count 0, 1, 2": {"entry_block": [1, 2, 0, 0]},
        "of an annotation must count 0, 1, 2": {"entry_block": [0, 2, 0, 0]},
        "classes must increase within a block": {"entry_class": [1, 0, 1, 0], "entry_block": [0, 0, 0, 0]},
        "an annotation names a class twice": {"entry_class": [0, 0, 1, 0]},
        "entry_class has dtype float64": {"entry_class": [0.5, 1, 1, 0]},
    }, A),
    *each(SLOTS.find, {
        f"case {case} has no slot for class {k}": ([0, case], [1, k])
        for case, k in ((0, 0), (0, 2), (1, -1), (4, 0), (0, 9), (0, -2), (-1, 1))
    }, A),
    *each(risks, {
        "class 'Psoriasis': the risk is 1.0; write 0 .low.": ([0, 1.0, 1],),
        "a risk is given, but the class 'Tinae' is not among": ({"Tinae": 0},),
    }, A),
    refused("classes of a folder", read_classes, "this is a folder; name a file in it", error=F),
    refused("a blank class", put_classes("x\n\ny\n"), "c.txt: line 2 is blank, and each line", error=A),
    refused("a class twice", put_classes("x\ny\nx\n"), "c.txt: line 3: the class 'x' is already", error=A),
    refused("a class with a blank", put_classes("x \ny\n"), "c.txt: the class 'x ' begins or", error=A),
    refused("classes in Latin", put_classes(b"N\x81vus"), "c.txt: the file is not text in a known encoding", error=F),
    refused("a risk of 3", put_risks("0\n3\n1\n"), "r.txt: class 'Psoriasis': the risk", error=A),
    refused("two risks", put_risks("0\n1\n"), "r.txt: there are 2 risks for 3 classes", error=A),
    refused("one risk", put_risks("class,risk\nTinea,0\n", "r.csv"), "no risk for class 'Eczema'", error=A),
    refused("a risk twice", put_risks("class,risk\nTinea,0\nTinea,1\n", "r.csv"), "'Tinea' has 2", error=A),
    refused("risks of names", put_risks("name,risk\nTinea,0\n", "r.csv"), "r.csv: a table of risks", error=A),
    *each(scores, {
        "differ in length": ([0, 0], [0, 1], [1.0]),
        "annotators must increase within a case": ([0, 0], [1, 0], [1.0, 2.0]),
        "must name every case": ([0, 1], [0, 1], [1.0, 2.0]),
        "outside the annotators": ([0, 0], [0, 2], [1.0, 2.0]),
        "case 'p', annotator 'b': the score is nan": ([0, 0], [0, 1], [1.0, np.nan]),
    }, A),
    *each(Annotations.from_scores, {
        "scores have two classes, .* but 3 names were given": (RATED, ["a", "b", "c"]),
        "a table is a data frame held in memory, got list": ([("p", "ann", 1)],),
    }, A),
    *each(SCORES.of_case, {"there is no case 'r' among the 2 cases": ("r",)}, A),
    *each(SCORES.split, {
        "none was given: write for example threshold=0 .* as grades": (None,),
        **{f"threshold must be a finite number.* {re.escape(repr(one))}": (one,)
           for one in ("0", True, np.nan, np.inf, 1e16, [0])},
    }, ArgumentError),
    *each(Labels.of, {
        "no column 'label' .*it needs 'case', 'annotator' and 'label'": (TABLE.drop(columns="label"),),
        "both a column 'case' and a column 'task'; keep one": (TABLE.assign(task=1),),
        "the table has no rows; give at least one": (TABLE[:0],),
        "row 1: the cell in column 'case' is missing": ([(None, "a", 1)],),
        "row 2: the cell in column 'annotator' is missing": ([("p", "a", 1), ("p", " ", 1)],),
        "the column 'case' holds double, such as 1.5; names are text or whole numbers": ([(1.5, "a", 1)],),
        "all 2 labels are missing; give at least one": ([("p", "a", None), ("p", "b", "")],),
        "the case 'p ' begins or ends with a blank; write 'p'": ([("p ", "a", 1)],),
        r"row 2 is \('p', 1\); write every row as \(case, annotator, label\)": ([("p", "a", 1), ("p", 1)],),
        "row 2 is .*write every row as a record": ([{"case": 1, "annotator": 1, "label": 1}, (1, 2, 3)],),
        "the columns differ in length": ({"case": [1], "annotator": [1, 2], "label": [1]},),
        "has the key 'p'; write .*, of labels, {case: {annotator: label}}": ({"p": 3},),
        "labels come as a data frame, a path, a mapping or a list of rows, got 3": (3,),
        r"row 4 \(case 'p', annotator 'bob'\): the label is missing; fill it": {"source": TABLE, "missing": "error"},
        "no column 'confidence'": {"source": TABLE, "columns": ["confidence"]},
        "read without the column 'group'; read them with it": {"source": READINGS, "columns": ["group"]},
    }, A),
    *each(labels_of, {
        f"the column 'label' is {re.escape(repr(one))}.*; write a list with a cell per row": (one,)
        for one in (True, None, "abc", {"p": 1})
    }, A),
    *each(Labels.of, {'missing must be "drop" or "error"': {"source": TABLE, "missing": "keep"}}, ArgumentError),
    *each(Labels.of, {
        r"nowhere\.csv: the file does not exist": ("/nowhere.csv",),
        "XML, such as CVAT's, is not read here; write the cases and labels": ("a.xml",),
    }, F),
    *each(attrgetter("numbers"), {
        r"row 1 \(case 'q', annotator 'bob'\): the label is 'x'; write a number": (READINGS,),
        "the label is inf; write a finite number": (Labels.of([("p", "a", np.inf)]),),
    }, A, "numbers"),
    *each(attrgetter("coded"), {
        r"the label \[1\] is a list, which only a distance can compare": (Labels.of([("p", "a", [1])]),)
    }, A, "codes"),
    *each(Labels.of(GROUPED, columns=["group"], repeats="readings").names_of, {
        r"row 2 .*the cell in column 'group' is missing; fill it": ("group",)
    }, A),
    *each(Labels.of(GROUPED, columns=["group"], repeats="readings").floats, {
        r"row 2 .*the group is missing; write a number": ("group",)
    }, A),
    *each(Labels.of([("p", "a", "1"), ("p", "b", "n/a")]).without, {"all 2 labels are missing": (["1", "n/a"],)}, A),
    *each(read_labels, {
        "there is no kind of label 'sounds'": ("a.csv", "sounds"),
    }, ArgumentError),
    *each(FROM_ROWS, {
        "no row for each case": ([{"case": "p", "annotator": "x", "label": "a"}],),
        "several questions": ([argilla("p", {"u": "a"}) | {"responses": {"x": [], "y": []}}],),
        r"'study_id' differs in every row .* one of case, id, .*; call it case": (ROWS_OF_CASES,),
    }, A),
    *each(FROM_ROWS, {
        f"soft_weight must be .*{wrong}": {"source": SOFT, "soft_weight": wrong} for wrong in (0, -3, 2.5, True)
    }, ArgumentError),
    *each(read_metadata, {"no answers by case": (pd.DataFrame({"a": [1]}),)}, A),
    *each(read_metadata, {"of must be": ([{"id": "p", "annotations": ["a"]}], "people")}, ArgumentError),
    *each(Annotations.from_rankings, {"case 'q' has no annotators": ({"cases": {"p": [[["a"]]], "q": []}},)}, A),
    *each(Annotations.from_rankings, {
        'choices must be None or "all"': {"rankings": [[[["a"]]]], "choices": "some"},
    }, ArgumentError),
    refused("names in counts", written(NAMED, "a.npy"), "no names of annotators, and these have some", error=A),
    refused("names in PrefLib", written(NAMED, "v", "toi"), "PrefLib's files hold no names of annotators", error=A),
    refused("ties in counts", written(VOTED, "a.csv", "counts"), "case 'p': an annotator names 3 classes", error=A),
    refused("ties in .soi", written(VOTED, "v", "soi"), "case 'p': an annotator ties classes, which .soi", error=A),
    refused("unranked in .toc", written(VOTED, "v", "toc"), "case 'p': an annotator leaves classes unr", error=A),
    refused("cases in one file", written(COUNTED, "p.toi"), "one case, .* here are 'p', 'q'; name a folder", error=A),
    refused("another case", written(COUNTED.select(["p"]), "z.toi"), "which has the name of the file", error=A),
    refused("names in .npy", written(COUNTED, "a.npy"), "holds no names of cases, and these have some", error=A),
    refused("a class like a column", written(Annotations.from_counts([[1]], ["rank"]), "a.csv", "counts"),
            "class is named 'rank',", error=A),
    refused("line break in PrefLib", written(Annotations.from_counts([[1]], ["a\nb"]), "v", "toi"),
            "line break in its name, which", error=A),
    refused("suffix that is none", written(NAMED, "a.xlsx"), "'.xlsx' names no format written here: use one of",
            error=ArgumentError),
    refused("form that is none", written(NAMED, "a.csv", "votes"), "no form 'votes' of annotations: choose from cases",
            error=ArgumentError),
    refused("form that does not fit", written(NAMED, "a.json", "toi"), "toi are not written as .json: use .toi",
            error=ArgumentError),
    refused("folder that is not there", written(NAMED, "no/a.csv"), r"a\.csv: the file cannot be written", error=F),
    refused("no annotations", written("x", "a.csv"), "Annotations are written, but 'x' was given: read or",
            error=ArgumentError),
    *each(write_annotations, {"the name of a file must be given, but None was": (NAMED, None)}, ArgumentError),
    *each(read_annotations, {"labels come as a data frame, a path, a mapping or a list of rows, got 3": (3,)}, A),
    *each(agreement, {"do not say who gave them": (Annotations.from_counts([[2, 1], [0, 3]]),)}, A),
    *each(pb.aggregate, {"a class is named": (Annotations.from_counts([[1]], classes=["(remainder)"]),)}, A),
    *each(simulate_classifiers, {
        "between 0 and 1, but classifier 'A' has 1.5": (np.ones((2, 3)), [1.5]),
        "between 0 and 1, but classifier 'mine' has nan": (np.ones((2, 3)), {"mine": float("nan")}),
        "at most 26 members, one for each letter, not 27: pass a mapping": (np.ones((2, 3)), [0.5] * 27),
        r"must be a matrix \(case, class\), not an array of shape \(3,\)": (np.ones(3), [0.5]),
        r"finite and not negative, but row 1 is \[nan": (np.array([[0.5, 0.5], [np.nan, 1]]), [0.5]),
        "finite and not negative, but row 0 .* not their logarithms": (np.array([[-0.7, -0.7]]), [0.5]),
    }, ArgumentError),
    *each(simulate_differentials, {
        "n_cases must be a whole number of at least 1, but 0": (0,),
        "n_classes must be a whole number of at least 2, but 1 .*with one class": (3, 1),
        **{f"reliability must be above 0 and finite, not {one}": {"n_cases": 3, "reliability": one}
           for one in (0, float("inf"), float("nan"))},
    }, ArgumentError),
    *each(simulate_label_noise, {
        "n_cases must be a whole number of at least 1, but 0": (0,),
        "one for each annotator, 2, not 1": {"n_cases": 9, "n_annotators": 2, "swap": [0.1]},
        r"swap lies between 0 and 1, but 1\.5": {"n_cases": 9, "swap": 1.5},
        "The accuracy of a model lies between 0 and 1, but 90": {"n_cases": 9, "models": (90,)},
    }, ArgumentError),
    *each(simulate_strictness, {
        "n_annotators must be a whole number of at least 1, but 0": (9, 0),
        "noise must be at least 0 and strictness finite, not -1": {"n_cases": 9, "noise": -1},
    }, ArgumentError),
    *each(simulate_labels, {
        "there is no type of label 'sounds'": {"kind": "sounds", "noise": 0.1},
        r"noise must be between 0 and 1, but 1\.1": {"kind": "boxes", "noise": 1.1},
        "n_cases must be a whole number of at least 1": {"kind": "boxes", "noise": 0.1, "n_cases": 0},
    }, ArgumentError),
    *each(simulate_risks, {"n_classes must be a whole number of at least 1, but 0": (0,)}, ArgumentError),
    *each(simulate_toy, {
        "n_cases must be a whole number of at least 1, but 0": (0,),
        "n_annotators must be a whole number of at least 1": (3, 0),
    }, ArgumentError),
    *each(toy_plausibilities, {"positions must be finite numbers": (CURVE,)}, ArgumentError),
]  # fmt: skip
