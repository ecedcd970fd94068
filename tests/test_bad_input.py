"""Bad input, a row each: what is wrong, and the sentence that says so, with the place and the fix."""

import io
import json
import re
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest

from plausibly.aggregation import aggregate
from plausibly.agreement import Labels, read_labels
from plausibly.annotations import (
    Annotations,
    Slots,
    read_annotations,
    read_classes,
    read_metadata,
    read_risks,
    write_annotations,
)
from plausibly.cli._groups import read_column
from plausibly.errors import AnnotationError, FileError, PlausiblyError, PredictionError
from plausibly.groups import columns_of
from plausibly.predictions import read_predictions

A, F, P = AnnotationError, FileError, PredictionError
CLASSES = ["Eczema", "Psoriasis", "Tinea"]
LONG = "case,annotator,class,rank\n"
KNOWN = Annotations.from_rankings({"cases": {"p": {"ann": [["Eczema"]]}, "q": {"bob": [["Tinea"]]}}}, classes=CLASSES)


def npy(array: np.ndarray, allow_pickle: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


def parquet(table: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.to_parquet(buffer)
    return buffer.getvalue()


def frame(columns: dict) -> bytes:
    return parquet(pd.DataFrame(columns))


def put(folder, name: str, content: str | bytes | None):
    path = folder / name
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rankings(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def of_table(**columns) -> Annotations:
    """Annotations of a table of one case and one annotator."""
    return Annotations.from_table(pd.DataFrame({"case": "p", "annotator": "a", "class": ["x"]} | columns))


ONE_CASE = {"cases": {"p": {"ann": [["Eczema"]]}}}
GRID = pd.DataFrame({"case": ["p", "q"], "Eczema": [1.0, 2.0], "Psoriasis": [1.0, 2.0], "Tinea": [1.0, 2.0]})

# Files of annotations: name, content, classes, error, message.
ANNOTATION_FILES = [
    ("a.json", None, None, F, "the file does not exist; check the path"),
    ("a.json", "", None, F, "the file is empty; export it again"),
    ("a.csv", " \n\n", None, F, "the file is empty"),
    ("a.odt", "x", None, F, "suffix '.odt' names no format read here; use one of .json, .eval, .jsonl, .csv"),
    ("a", "x", None, F, "suffix '' names no format"),
    ("a.json", "[[[[0]], [[1", None, F, "the file is truncated (line 1, column 13"),
    ("a.json", '[[[["Ecz', None, F, "the file is truncated (line 1, column 5"),
    ("a.json", "case: p\nann: Eczema\n", None, F, "the file is not JSON (line 1, column 1"),
    ("a.json", b"\x00\xff\xfe\x93\x00\x81", None, F, "not UTF-8 text (byte 1); save it as UTF-8"),
    ("a.json", "[" * 200_000, None, F, "cannot be decoded (maximum recursion depth"),
    ("a.json", "[[[[NaN]]]]", CLASSES, F, "holds NaN, which is not a class; write an index"),
    ("a.json", f"[[[[{'1' * 5000}]]]]", CLASSES, F, "cannot be decoded (Exceeds the limit (4300 digits)"),
    ("a.json", "7", None, A, "rankings are a list of cases, or an object with 'cases'; got 7"),
    ("a.json", "null", None, A, "rankings are a list of cases, or an object with 'cases'; got None"),
    ("a.json", "[]", None, A, "there are no cases; give at least one"),
    ("a.json", '{"cases": {}}', None, A, "there are no cases; give at least one"),
    ("a.json", '{"classes": ["x"]}', None, A, "has no key 'cases'; write {"),
    ("a.json", ONE_CASE | {"class": []}, None, A, "has the key 'class'; write {"),
    ("a.json", '{"cases": [[[[0]]]]}', None, A, "'cases' is [[[[0]]]]"),
    ("a.json", ONE_CASE | {"classes": "x"}, None, A, "'classes' is 'x'; write a list"),
    ("a.json", ONE_CASE | {"classes": ["Eczema", "Acne"]}, CLASSES, A, "the 2 classes listed with the rankings are"),
    ("a.json", ONE_CASE | {"classes": []}, None, A, "there are no classes; give at least one"),
    ("a.json", '{"cases": {"p": [[["x"]]], "p": [[["y"]]]}}', None, A, "the name 'p' occurs twice in one JSON"),
    ("a.json", '{"cases": {"p": {"ann": [["x"]], "bob": [["x"]], "ann": [["y"]]}}}', None, A, "'ann' occurs twice"),
    ("a.json", {"cases": {"p": {"ann": [["x"]]}, "q": [[["x"]]]}}, None, A, "case 'q': some cases name their"),
    ("a.json", [[[[0]]], 3], CLASSES, A, "case '1': a case is a list of annotations, got 3"),
    ("a.json", [[[[0]]], []], CLASSES, A, "case '1' has no annotators; annotate it, or"),
    ("a.json", {"cases": {"p": {}}}, None, A, "case 'p' has no annotators"),
    ("a.json", [[0, 1]], CLASSES, A, "case '0', annotator '1': an annotation is a list of blocks, got 0; write a"),
    ("a.json", [[[[0]], []]], CLASSES, A, "case '0', annotator '2': the annotation is empty; name at least one class"),
    ("a.json", {"cases": {"p": {"ann": [["x"], "y"]}}}, None, A, "case 'p', annotator 'ann': block 2 is 'y', and a"),
    ("a.json", {"cases": {"p": {"ann": [["x"], []]}}}, None, A, "case 'p', annotator 'ann': block 2 is empty; name a"),
    ("a.json", [[[[[0]]]]], CLASSES, A, "a class is an index or a name, got [0]"),
    ("a.json", "[[[[true]]]]", CLASSES, A, "a class is an index or a name, got True"),
    ("a.json", "[[[[1.0]]]]", CLASSES, A, "a class is an index or a name, got 1.0"),
    ("a.json", "[[[[null]]]]", CLASSES, A, "a class is an index or a name, got None"),
    ("a.json", [[[[5]]]], None, A, "case '0', annotator '1': the class index 5 has no name yet; pass classes="),
    ("a.json", [[[[0], [3]]]], CLASSES, A, "case '0', annotator '1': the class index 3 is outside the range 0 to 2"),
    ("a.json", [[[[-1]]]], CLASSES, A, "class index -1 is outside the range 0 to 2"),
    ("a.json", {"cases": {"p": {"ann": [["Exzema"]]}}}, CLASSES, A, "case 'p', annotator 'ann': the class 'Exzema'"),
    ("a.json", {"cases": {"p": {"ann": [["42"]]}}}, CLASSES, A, "the class '42' is not among the 3 classes; add it"),
    ("a.json", {"cases": {"p": {"ann": [["x", "y", "x"]]}}}, None, A, "case 'p', annotator 'ann': the class 'x' is"),
    ("a.json", [[[[1]], [[0], [2], [0]]]], CLASSES, A, "case '0', annotator '2': the class 'Eczema' is named twice"),
    ("a.json", [[[["x", " "]]]], None, A, "has a blank name; name it, or remove it"),
    ("a.json", [[[["x"], ["x "]]]], None, A, "the class 'x ' begins or ends with a blank; write 'x'"),
    ("a.json", [[[["x"], ["y\0"]]]], None, A, "class 1 (counted from 0) is named 'y\\x00', with a null character or"),
    ("a.json", '{"cases": {"p": [[["x"]]], "\\ud83d": [[["x"]]]}}', None, A, "case 1 (counted from 0) is named"),
    ("a.csv", "Case,Annotator,Class,Rank\np,ann,x,1\n", None, A, "the column 'Case' is not known; call it 'case'"),
    ("a.parquet", frame({"case ": ["p"], "worker ": ["ann"], "label ": ["x"]}), None, A, "column 'case ' is not known"),
    ("a.json", {"cases": {"": [[["x"]]]}}, None, A, "case 0 (counted from 0) has a blank name"),
    ("a.csv", LONG, None, A, "the table has no rows; give at least one"),
    ("a.csv", LONG + "p,ann,x,1\np,ann\n", None, F, "Row #3: Expected 4 columns, got 2"),
    ("a.csv", LONG + "p,ann,x,1,2\n", None, F, "no table of equally long rows (CSV parse error: Row #2"),
    ("a.csv", ', ",,"\n",\n', None, A, "the header names the column '' 3 times"),
    ("a.csv", "case,class,rank\np,x,1\n", None, A, "no column 'annotator' (columns found: 'case', 'class', 'rank')"),
    ("a.csv", "case;annotator;class\np;a;x\n", None, F, "the cells are separated by ';'; separate them by commas"),
    ("a.csv", "Case,annotator,class\np,a,x\n", None, A, "the table has no column 'case'"),
    ("a.csv", "Case,Doctor,Diagnosis,Rank\np,a,x,1\n", None, A, "the column 'Case' is not known; call it 'case'"),
    ("a.csv", "case,annotator,class,Rank\np,a,x,1\n", None, A, "the column 'Rank' is not known; call it 'rank'"),
    ("a.csv", "case,Doctor,Diagnosis\np,a,x\n", None, A, "is not a number; write a number; a table that"),
    ("a.csv", "case,annotator,class,class\np,a,x,y\n", None, A, "names the column 'class' 2 times"),
    ("a.csv", "case,task,annotator,class\np,p,a,x\n", None, A, "both a column 'case' and a column 'task'; keep one"),
    ("a.csv", "case,annotator,class,rank,confidence\np,a,x,1,0.5\n", None, A, "both 'rank' and 'confidence'; keep"),
    ("a.csv", LONG + "p,ann,x,1\n,ann,x,1\n", None, A, "row 2 (annotator 'ann'): the cell in column 'case' is"),
    ("a.csv", LONG + "p,ann,x,1\np,bob,  ,1\n", None, A, "row 2 (case 'p', annotator 'bob'): the cell in column"),
    ("a.csv", LONG + "p,ann,x,\n", None, A, "row 1 (case 'p', annotator 'ann'): the cell in column 'rank' is missing"),
    ("a.csv", LONG + "p,ann,x,1\np,ann,y,second\n", None, A, "row 2 (case 'p', annotator 'ann'): the rank 'second'"),
    ("a.csv", LONG + "p,ann,x,inf\n", None, A, "(case 'p', annotator 'ann'): the rank is inf; write a finite"),
    ("a.csv", LONG + "p,ann,x,0\n", None, A, "the rank 0 is below 1, the best; count ranks from 1, and leave out"),
    ("a.csv", "case,annotator,class,confidence\np,a,x,high\n", None, A, "the confidence 'high' is not a number"),
    ("a.csv", LONG + "p,ann,x,1\np,bob,x,1\np,ann,x,2\n", None, A, "case 'p', annotator 'ann': the class 'x' is"),
    ("a.csv", LONG + "p,ann,Tinea,1\np,bob,Tinae,1\n", CLASSES, A, "row 2 (case 'p', annotator 'bob'): the class"),
    ("a.csv", LONG + "p,ann,2,1\n", None, A, "holds indices such as 2, which have no names yet; pass classes="),
    ("a.csv", LONG + "p,ann,2,1\np,bob,3,1\n", CLASSES, A, "row 2 (case 'p', annotator 'bob'): the class index 3 is"),
    ("a.parquet", "case,annotator\n", None, F, "no Parquet table or truncated"),
    ("a.parquet", parquet(GRID)[:-20], None, F, "no Parquet table or truncated"),
    ("a.parquet", frame({"case": ["p"], "annotator": [1.5], "class": ["x"]}), None, A, "'annotator' holds double"),
    ("a.npy", "1,2,3\n", None, F, "no .npy array; write it with numpy.save"),
    ("a.npy", npy(np.ones((9, 3), int))[:-5], None, F, "the file is truncated or damaged"),
    ("a.npy", npy(np.ones(3))[:20], None, F, "the file is truncated or damaged"),
    ("a.npy", npy(np.array([[{}, 1]], dtype=object), allow_pickle=True), None, F, "pickled Python objects, never"),
    ("a.npy", npy(np.array([1, 2, 3])), None, A, "two dimensions is needed, got shape (3,); give a row per case"),
    ("a.npy", npy(np.array([["1", "2"]])), None, A, "an array of numbers is needed, got <U1"),
    ("a.npy", npy(np.ones((0, 3), int)), None, A, "there are no cases; give at least one"),
    ("a.npy", npy(np.ones((2, 4), int)), CLASSES, A, "there are 4 columns for 3 classes; give a column per class"),
    ("a.npy", npy(np.array([[1, 2], [0.5, 1]])), None, A, "case '1', class '0': the count 0.5 is a fraction"),
    ("a.csv", "case,x,y\np,1,2\nq,3,-1\n", None, A, "case 'q', class 'y': the count -1 is negative; give how many"),
    ("a.csv", "1,nan\n", None, A, "case '0', class '1': the count nan is not finite"),
    ("a.csv", "1,2\ninf,1\n", None, A, "case '1', class '0': the count inf is not finite"),
    ("a.csv", "x,y\n1,2\n0,0\n", None, A, "case '1': all counts are 0"),
    ("a.npy", npy(np.array([[1.0, 1e300]])), None, A, "the counts stand for 1e+300 named classes, and 10,000,000 is"),
    ("a.csv", "case,x,y\np,1,two\n", None, A, "case 'p', class 'y': the cell 'two' is not a number"),
    ("a.csv", "case,x,y\np,,2\n", None, A, "case 'p', class 'x': the cell is missing; write a number"),
    ("a.csv", "case,x,y\np,1,2\np,3,1\n", None, A, "the case 'p' is listed 2 times; list each case once"),
    ("a.csv", "Eczema,Psoriasis,Acne\n1,2,3\n", CLASSES, A, "the class 'Acne' is not among the 3 classes"),
]

# Files of predictions for the cases p, q and the classes of CLASSES: name, content, error, message.
HEADER = "case,Eczema,Psoriasis,Tinea\n"
PREDICTION_FILES = [
    ("b.csv", None, F, "the file does not exist"),
    ("b.json", "[]", P, "the file holds []; write an object per case"),
    ("b.csv", HEADER + "p,1,2,3\n", P, "there is no row for case 'q'; predict every case"),
    ("b.csv", HEADER + "p,1,2,3\nr,1,2,3\nq,1,2,3\n", P, "there is a row for case 'r', which is not annotated"),
    ("b.csv", HEADER + "p,1,2,3\nq,1,2,3\np,1,2,3\n", P, "case 'p' has two rows (1 and 3); keep one"),
    ("b.csv", "1,2,3\n", P, "there are 1 rows for 2 cases; give a row per case, in their order"),
    ("b.csv", HEADER, P, "there are no rows; give a row per case"),
    ("b.csv", HEADER + "p,1,2,3\n,1,2,3\n", P, "row 2: the cell in column 'case' is missing; name the case"),
    ("b.csv", "Eczema,Psoriasis,Tinae\n1,2,3\n1,2,3\n", P, "'Tinae' is not among the 3 classes; did you mean"),
    ("b.csv", "Eczema,Psoriasis\n1,2\n1,2\n", P, "the header has no column for 'Tinea'; give a column per class"),
    ("b.csv", "Eczema,Tinea,Tinea\n1,2,3\n1,2,3\n", P, "the header names the column 'Tinea' 2 times; keep one"),
    ("b.csv", ",Eczema,Psoriasis,Tinea\n0,1,2,3\n1,1,2,3\n", P, "column 1 has no name in the header; name it 'case'"),
    ("b.csv", "case\np\nq\n", P, "there is no column of numbers; give a column per class"),
    ("b.csv", HEADER + "p,1,2,3\nq,1,high,3\n", P, "case 'q', class 'Psoriasis': the cell 'high' is not a number"),
    ("b.csv", HEADER + 'p,1,2,3\nq,1,"0,5",3\n', P, "the cell '0,5' is not a number; write a decimal point"),
    ("b.csv", HEADER + "p,1,2,3\nq,1,3.5 %,3\n", P, "the cell '3.5 %' is not a number; write a fraction of 1"),
    ("b.csv", HEADER.replace(",", ";") + "p;0,1;0,2;0,7\n", F, "the cells are separated by ';'"),
    ("b.csv", "1,2,3\n1,x,3\n", P, "row 2, column 2: the cell 'x' is not a number; write a number"),
    ("b.csv", HEADER + "p,1,2,3\nq,1,2,\n", P, "case 'q', class 'Tinea': the cell is missing; write a number"),
    ("b.csv", HEADER + "p,1,2,3\nq,1,nan,3\n", P, "case 'q', class 'Psoriasis': the score is nan; write a finite"),
    ("b.npy", npy(np.array([[0, -np.inf, 1], [0, 1, 2]])), P, "case 'p', class 'Psoriasis': the score is -inf; write"),
    ("b.npy", npy(np.ones((2, 2))), P, "there are 2 columns for 3 classes; give a column per class, or a header"),
    ("b.npy", npy(np.array([0, 2])), P, "there are 1 columns for 3 classes; give a column per class"),
    ("b.npy", npy(np.ones((5, 2, 3))), P, "two dimensions is needed, got shape (5, 2, 3)"),
    ("b.npy", npy(np.ones((2, 3), complex)), P, "an array of numbers is needed, got complex128"),
    ("b.npy", npy(np.array([[{}]], dtype=object), allow_pickle=True), F, "pickled Python objects, never read here"),
    ("b.npy", npy(np.array([[2**53 + 1, 1, 1], [1, 2, 3]])), P, "the number 9007199254740993 has more digits than"),
    ("b.csv", HEADER + "p,1,2,3\nq,1,12345678901234567891,3\n", P, "case 'q', class 'Psoriasis': the number"),
    ("b.txt", "1 2 3\n1 2\n", F, "Row #2: Expected 3 columns, got 2"),
    ("b.parquet", parquet(GRID.assign(Tinea=["1", "?"])), P, "case 'q', class 'Tinea': the cell '?' is not a number"),
    ("b.parquet", parquet(GRID.assign(Tinea=pd.Timestamp(0))), P, "case 'p', class 'Tinea': the cell Timestamp("),
]

# Anything else, given a folder to write in: call, error, message.
CALLS = [
    (
        lambda _: of_table(**{"class": ["x", "y"]}, confidence=[2**53, 2**53 + 1]),
        A,
        "row 2 (case 'p', annotator 'a'): the confidence 9007199254740993 has",
    ),
    (lambda _: aggregate(Annotations.from_counts([[1]], classes=["(remainder)"])), A, "a class is named"),
    (lambda _: read_predictions([[1, 2, 3], [1]], KNOWN), P, "predictions: the rows differ in length"),
    (lambda _: read_predictions(None, KNOWN), P, "predictions: an array of numbers is needed, got object (None)"),
    (lambda _: read_predictions(np.ma.array(np.ones((2, 3)), mask=np.eye(2, 3)), KNOWN), P, "predictions: some"),
    (
        lambda _: read_predictions(pd.DataFrame(np.ones((2, 3)), columns=["Eczema", "Tinea", "Tinea"]), KNOWN),
        P,
        "predictions: the column 'Tinea' occurs 2 times; keep one",
    ),
    (lambda _: read_predictions(GRID.assign(Tinea=[1, "x"]), KNOWN), P, "predictions: the column 'Tinea' mixes types"),
    (lambda _: read_predictions(GRID.set_index("case", drop=False), KNOWN), P, "the column 'case' occurs twice, as"),
    (lambda _: read_predictions(GRID.assign(case=["p", "r"]).set_index("case"), KNOWN), P, "there is no row for case"),
    (lambda _: of_table(rank=[10**20]), A, "the column 'rank' holds a whole number of more than 64 bits; write a"),
    (
        lambda _: of_table(**{"class": ["x\0"]}),
        A,
        "the column 'class' holds 'x\\x00', with a null character in it; write it without",
    ),
    (lambda _: Annotations.from_labels([["caf\u00e9", "cafe\u0301"]]), A, "the class 'caf\u00e9' is written in 2"),
    (lambda _: Annotations.from_labels([["cafe\u0301"]], classes=["caf\u00e9", "bar"]), A, "one of them is the same"),
    (lambda _: Annotations.from_table(pl.LazyFrame({"case": ["p"]})), A, "held in memory, got LazyFrame; convert it"),
    (lambda _: Annotations.from_table([["p", "a", "x"]]), A, "a table is a data frame held in memory, got list"),
    (lambda _: Annotations.from_counts([[1, 2]], classes=["x", "x"]), A, "the class 'x' is listed 2 times; list each"),
    (lambda _: Annotations.from_counts([[1, 2]], classes=["x", None]), A, "class 1 is named None; a name is text"),
    (lambda _: Annotations.from_counts([[1, 2]], cases=["p", "q"]), A, "there are 1 rows of counts for 2 case names"),
    (lambda _: Annotations.from_labels(["x"]), A, "case '0': the labels of a case are a list, got 'x'"),
    (lambda _: Annotations.from_labels("x"), A, "labels are a list of cases, got 'x'"),
    (lambda _: Annotations.from_labels([[0, float("nan")]], classes=CLASSES), A, "case '0', annotator 2: a label is"),
    (lambda _: Annotations.from_labels([[0, -1]], classes=CLASSES), A, "class index -1 is outside the range"),
    (lambda _: Annotations.from_labels([["x"], [None]]), A, "case '1' has no annotators"),
    (lambda _: Annotations.from_labels([["x", "y"]], annotators=["ann"]), A, "case '0': there are 2 labels for 1"),
    (lambda _: Annotations.from_labels([["x"]], cases=["p", "q"]), A, "1 rows of labels for 2 case names"),
    (lambda _: KNOWN.rankings("r"), A, "there is no case 'r' among the 2 cases 'p', 'q'"),
    (lambda _: KNOWN.select([2]), A, "there is no case 2 among the 2 cases 'p', 'q'"),
    (lambda _: KNOWN.select([0.5]), A, "there is no case 0.5 among"),
    (lambda _: KNOWN.select(["p", "p"]), A, "case 'p' is selected twice; select each case once"),
    (lambda _: KNOWN.select([]), A, "no case is selected; select at least one"),
    (lambda _: KNOWN.select("p"), A, "a list of cases is needed, got the text 'p'; write ['p']"),
    (lambda _: KNOWN.select(np.array([True])), A, "a mask of 1 values does not fit 2 cases"),
    (lambda _: Slots.of(KNOWN).find(0, 2), A, "case 0 has no slot for class 2; ask for classes that were named"),
    (lambda folder: write_annotations(KNOWN, folder / "no" / "a.json"), F, "a.json: the file cannot be written (No"),
    (lambda folder: read_classes(folder), F, "this is a folder; name a file in it"),
    (lambda folder: read_classes(put(folder, "c.txt", "x\n\ny\n")), A, "c.txt: line 2 is blank, and each line"),
    (lambda folder: read_classes(put(folder, "c.txt", "x\ny\nx\n")), A, "c.txt: line 3: the class 'x' is already"),
    (lambda folder: read_classes(put(folder, "c.txt", "x \ny\n")), A, "c.txt: the class 'x ' begins or"),
    (lambda folder: read_classes(put(folder, "c.txt", "Nävus".encode("latin-1"))), F, "c.txt: the file is not UTF-8"),
    (lambda folder: read_risks(put(folder, "r.txt", "0\n3\n1\n"), CLASSES), A, "r.txt: class 'Psoriasis': the risk"),
    (lambda _: read_risks([0, 1.0, 1], CLASSES), A, "class 'Psoriasis': the risk is 1.0; write 0 (low)"),
    (lambda folder: read_risks(put(folder, "r.txt", "0\n1\n"), CLASSES), A, "r.txt: there are 2 risks for 3 classes"),
    (lambda _: read_risks({"Tinae": 0}, CLASSES), A, "a risk is given, but the class 'Tinae' is not among"),
    (
        lambda folder: read_risks(put(folder, "r.csv", "class,risk\nTinea,0\n"), CLASSES),
        A,
        "no risk for class 'Eczema'",
    ),
    (lambda folder: read_risks(put(folder, "r.csv", "class,risk\nTinea,0\nTinea,1\n"), CLASSES), A, "'Tinea' has 2"),
    (lambda folder: read_risks(put(folder, "r.csv", "name,risk\nTinea,0\n"), CLASSES), A, "r.csv: a table of risks"),
]


def check_form(raised: PlausiblyError, error: type) -> None:
    """One sentence on one line, of the very class, with a fix."""
    assert type(raised) is error
    assert isinstance(raised, ValueError)
    assert "\n" not in str(raised)
    assert re.search(r"; |, so |\?$", str(raised))


@pytest.mark.parametrize(("name", "content", "classes", "error", "message"), ANNOTATION_FILES)
def test_annotations_in_a_file(tmp_path, name, content, classes, error, message):
    if content is not None and not isinstance(content, bytes):
        content = rankings(content)
    with pytest.raises(error, match=re.escape(message)) as raised:
        read_annotations(put(tmp_path, name, content), classes)
    check_form(raised.value, error)
    assert str(raised.value).startswith(str(tmp_path / name))


@pytest.mark.parametrize(("name", "content", "error", "message"), PREDICTION_FILES)
def test_predictions_in_a_file(tmp_path, name, content, error, message):
    with pytest.raises(error, match=re.escape(message)) as raised:
        read_predictions(put(tmp_path, name, content), KNOWN)
    check_form(raised.value, error)
    assert str(raised.value).startswith(str(tmp_path / name))


@pytest.mark.parametrize(("call", "error", "message"), CALLS)
def test_calls(tmp_path, call, error, message):
    with pytest.raises(error, match=re.escape(message)) as raised:
        call(tmp_path)
    check_form(raised.value, error)


def test_file_that_may_not_be_read(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    path = put(tmp_path, "a.json", "[]")
    monkeypatch.setattr(type(path), "read_bytes", refuse)
    with pytest.raises(FileError, match=r"a.json: the file cannot be read \(Permission denied\); check its"):
        read_annotations(path)


COLUMNS = {
    "annotation_case": [0, 0, 1],
    "annotation_annotator": [0, 1, 0],
    "entry_annotation": [0, 0, 1, 2],
    "entry_class": [0, 1, 1, 0],
    "entry_block": [0, 1, 0, 0],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"annotation_annotator": [0, 1]}, "annotation_case and annotation_annotator differ in length"),
        ({"entry_block": [0, 1, 0]}, "the entry columns differ in length"),
        ({"annotation_case": [0, 1, 0]}, "annotation_case must not decrease"),
        ({"annotation_case": [0, 0, 2]}, "annotation_case is outside the cases"),
        ({"entry_annotation": [0, 0, 2, 2]}, "entry_annotation must not decrease and must name every annotation"),
        ({"annotation_annotator": [0, 2, 0]}, "annotation_annotator is outside the annotators"),
        ({"annotation_annotator": [1, 0, 0]}, "annotators must increase within a case"),
        ({"entry_class": [0, -1, 1, 0]}, "entry_class is outside the classes"),
        ({"entry_block": [1, 2, 0, 0]}, "blocks of an annotation must count 0, 1, 2"),
        ({"entry_block": [0, 2, 0, 0]}, "blocks of an annotation must count 0, 1, 2"),
        ({"entry_class": [1, 0, 1, 0], "entry_block": [0, 0, 0, 0]}, "classes must increase within a block"),
        ({"entry_class": [0, 0, 1, 0]}, "an annotation names a class twice"),
        ({"entry_class": [0.5, 1, 1, 0]}, "entry_class has dtype float64"),
    ],
)
def test_columns_made_by_hand(change, message):
    names = {"cases": ["p", "q"], "classes": ["x", "y"], "annotators": ["ann", "bob"], "anonymous": False}
    Annotations(**names, **COLUMNS)
    with pytest.raises(AnnotationError, match=message):
        Annotations(**names, **COLUMNS | change)


READERS = {
    "annotations": read_annotations,
    "predictions": partial(read_predictions, annotations=KNOWN),
    "classes": read_classes,
    "risks": partial(read_risks, classes=CLASSES),
    "metadata": read_metadata,
    "labels": read_labels,
    "labels of a table": Labels.of,
    "groups to report by": columns_of,
    "clusters": lambda path: read_column(str(path)),
}


@pytest.mark.parametrize("name", ["a.xlsx", "a.csv"])
@pytest.mark.parametrize("reader", READERS)
def test_every_reader_says_how_to_export_a_spreadsheet(tmp_path, reader, name):
    with zipfile.ZipFile(tmp_path / name, "w") as workbook:
        workbook.writestr("[Content_Types].xml", "<Types/>")
    with pytest.raises(FileError, match=r"Save As with the type 'CSV UTF-8 \(Comma delimited\)'") as raised:
        READERS[reader](tmp_path / name)
    assert name in str(raised.value)
