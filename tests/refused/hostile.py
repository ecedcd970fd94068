"""Files that are refused: empty, cut off, of other forms, or made to do harm.

What is said of each is one sentence on one line that begins with the path.
"""

import io
import json
import re
import warnings
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plausibly.agreement import Labels, read_labels
from plausibly.app.cli._groups import read_column
from plausibly.base.errors import (
    AnnotationError,
    ArgumentError,
    FileError,
    PlausiblyError,
    PlausiblyWarning,
    PredictionError,
)
from plausibly.data.annotations import Annotations, read_annotations, read_classes, read_metadata, read_risks
from plausibly.data.groups import columns_of
from plausibly.data.predictions import read_predictions
from tests.exports import (
    INSPECT,
    LANGFUSE,
    PHOENIX,
    REGION,
    annotation,
    argilla,
    choices,
    deepeval_case,
    election,
    flat,
    output,
    prodigy,
    promptfoo,
    result,
    sample,
    task,
)
from tests.refused import Refused, refused

A, F, P = AnnotationError, FileError, PredictionError
CLASSES = ["Eczema", "Psoriasis", "Tinea"]
LONG = "case,annotator,class,rank\n"
KNOWN = Annotations.from_rankings({"cases": {"p": {"ann": [["Eczema"]]}, "q": {"bob": [["Tinea"]]}}}, classes=CLASSES)


def put(folder: Path, name: str, content: Any) -> Path:
    """Write text, bytes or JSON, or nothing at all."""
    if content is not None and not isinstance(content, bytes):
        content = (content if isinstance(content, str) else json.dumps(content)).encode()
    if content is not None:
        (folder / name).write_bytes(content)
    return folder / name


def file(read: Callable, name: str, content: Any, error: type[Exception] | None, words: str, *more: Any) -> Refused:
    """A row of one file, read with further arguments; the words are no regular expression."""

    def call(folder: Path) -> None:
        path = put(folder, name, content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlausiblyWarning)
            with pytest.raises(PlausiblyError) as told:
                read(path, *more)
        assert error is None or isinstance(told.value, error)
        assert str(told.value).startswith(str(path))
        assert "\n" not in str(told.value)
        assert re.search(r"; |, so |: |\?$", str(told.value).removeprefix(f"{path}: "))
        raise told.value

    return refused(
        f"{name}: {words}, from {repr(content)[:80]}", call, re.escape(words or name), error=error or PlausiblyError
    )


def npy(array: np.ndarray, allow_pickle: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


def frame(columns: Any, cut: int | None = None) -> bytes:
    """A table as Parquet, perhaps without its end."""
    buffer = io.BytesIO()
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(pd.DataFrame(columns)), buffer)
    return buffer.getvalue()[:cut]


def header(shape: tuple[int, ...]) -> bytes:
    """The beginning of an array that is nowhere."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return buffer.getvalue()


GRID = pd.DataFrame({"case": ["p", "q"], "Eczema": [1.0, 2.0], "Psoriasis": [1.0, 2.0], "Tinea": [1.0, 2.0]})
CODED = {"case": ["p", "q"], "annotator": pa.array(["ann", None]).dictionary_encode(), "class": ["x", "y"]}
ONE_CASE = {"cases": {"p": {"ann": [["Eczema"]]}}}

# Files of annotations: name, content, classes, error, message.
FILES = [
    ("a.json", None, None, F, "the file does not exist; check the path"),
    ("a.json", "", None, F, "the file is empty; export it again"),
    ("a.csv", " \n\n", None, F, "the file is empty"),
    ("a.odt", "x", None, F, "suffix '.odt' names no format read here; use one of .json, .eval, .jsonl, .csv"),
    ("a", "x", None, F, "suffix '' names no format"),
    ("a.json", "[[[[0]], [[1", None, F, "the file is truncated (line 1, column 13"),
    ("a.json", '[[[["Ecz', None, F, "the file is truncated (line 1, column 5"),
    ("a.json", "case: p\nann: Eczema\n", None, F, "the file is not JSON (line 1, column 1"),
    ("a.json", b"\x00\xff\xfe\x93\x00\x81", None, F, "not text in a known encoding (byte 1); save it as UTF-8"),
    ("a.json", "[" * 200_000, None, F, "cannot be decoded (maximum recursion depth"),
    ("a.json", "[[[[Infinity]]]]", CLASSES, F, "holds Infinity, which is not a class; write an index"),
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
    (
        "a.json",
        {"cases": {"p": {"ann": [["x", "y", "x"]]}}},
        None,
        A,
        "case 'p', annotator 'ann': the class 'x' is named twice",
    ),
    ("a.json", [[[[1]], [[0], [2], [0]]]], CLASSES, A, "case '0', annotator '2': the class 'Eczema' is named twice"),
    ("a.json", [[[["x", " "]]]], None, A, "has a blank name; name it, or remove it"),
    ("a.json", [[[["x"], ["x "]]]], None, A, "the class 'x ' begins or ends with a blank; write 'x'"),
    ("a.json", [[[["x"], ["y\0"]]]], None, A, "class 1 (counted from 0) is named 'y\\x00', with a null character or"),
    ("a.json", '{"cases": {"p": [[["x"]]], "\\ud83d": [[["x"]]]}}', None, A, "case 1 (counted from 0) is named"),
    ("a.csv", "Case,Annotator,Class,Rank\np,ann,x,1\n", None, A, "the column 'Rank' is not known; call it 'rank'"),
    ("a.json", {"cases": {"": [[["x"]]]}}, None, A, "case 0 (counted from 0) has a blank name"),
    ("a.csv", LONG, None, A, "the table has no rows; give at least one"),
    ("a.csv", LONG + "p,ann,x,1\np,ann\n", None, F, "Row #3: Expected 4 columns, got 2"),
    ("a.csv", LONG + "p,ann,x,1,2\n", None, F, "no table of equally long rows (CSV parse error: Row #2"),
    ("a.csv", ', ",,"\n",\n', None, A, "the header has 3 cells without a name"),
    ("a.csv", "case,class,rank\np,x,1\n", None, A, "no column 'annotator' (columns found: 'case', 'class', 'rank')"),
    ("a.csv", "Case,Doctor,Diagnosis,Rank\np,a,x,1\n", None, A, "the column 'Case' is not known; call it 'case'"),
    ("a.csv", "case,annotator,class,Rank\np,a,x,1\n", None, A, "the column 'Rank' is not known; call it 'rank'"),
    ("a.csv", "case,Doctor,Diagnosis\np,a,x\n", None, A, "no layout fits the columns 'case', 'Doctor', 'Diagnosis'"),
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
    ("a.parquet", frame(GRID, -20), None, F, "no Parquet table or truncated"),
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
    ("a.csv", "x,y\n11,2\n0,0\n", None, A, "case '1': all counts are 0"),
    ("a.npy", npy(np.array([[1.0, 1e300]])), None, A, "the counts stand for 1e+300 named classes, and 10,000,000 is"),
    ("a.csv", "case,x,y\np,1,two\nq,1,1\n", None, A, "case 'p', class 'y': the cell 'two' is not a number"),
    ("a.csv", "case,x,y\np,,2\n", None, A, "case 'p', class 'x': the cell is missing; write a number"),
    ("a.csv", "case,x,y\np,11,2\np,3,1\n", None, A, "the case 'p' is listed 2 times; list each case once"),
    ("a.csv", "Eczema,Psoriasis,Acne\n1,2,3\n", CLASSES, A, "the class 'Acne' is not among the 3 classes"),
    ("a.npy", npy(np.array([("x", 1)], dtype=[("a", "U1"), ("b", int)])), None, A, "an array of numbers is needed"),
    (
        "a.npy",
        npy(np.arange(6).reshape(2, 3).astype("M8")),
        None,
        A,
        "got datetime64 (a value of the",
    ),
    ("a.npy", npy(np.array([[0xFFF0000000000010]], np.uint64).view(float)), None, A, "is not finite; give a whole"),
    ("a.npy", header((2**40, 2**40)), None, F, "is truncated or damaged"),
    ("b.npy", b"PK\x03\x04", None, F, "the file is no .npy array"),
    ("a.csv", "case,annotator,remark\np,ann,x\n", None, A, "columns found: 'case', 'annotator', 'remark'"),
    ("a.parquet", frame({"case": ["p"], "annotator": ["a"], "remark": ["x"]}), None, A, "'annotator', 'remark'"),
    ("b.parquet", frame(pa.table(CODED)), None, A, "row 2 (case 'q'): the cell in column 'annotator' is"),
]

# Files of predictions for the cases p, q and the classes of CLASSES: name, content, error, message.
HEADER = "case,Eczema,Psoriasis,Tinea\n"
PREDICTIONS = [
    ("b.csv", None, F, "the file does not exist"),
    ("b.json", "[]", P, "the file holds []; write an object per case"),
    ("b.csv", HEADER + "p,1,2,3\n", P, "there is no row for case 'q'; predict every case"),
    ("b.csv", HEADER + "00p,1,2,3\nq,1,2,3\n", P, "no row for case 'p': rows are called '00p' (leading zeros differ)"),
    ("b.csv", HEADER + "p,1,2,3\nr,1,2,3\nq,1,2,3\n", P, "there is a row for case 'r', which is not annotated"),
    ("b.csv", HEADER + "p,1,2,3\nq,1,2,3\np,1,2,3\n", P, "case 'p' has two rows (1 and 3); keep one"),
    ("b.csv", "1,2,3\n", P, "there are 1 rows for 2 cases; give a row per case, in their order"),
    ("b.csv", HEADER, P, "there are no rows; give a row per case"),
    ("b.csv", HEADER + "p,1,2,3\n,1,2,3\n", P, "row 2: the cell in column 'case' is missing; name the case"),
    ("b.csv", "Eczema,Psoriasis,Tinae\n1,2,3\n1,2,3\n", P, "'Tinae' is not among the 3 classes; did you mean"),
    ("b.csv", "Eczema,Psoriasis\n1,2\n1,2\n", P, "the header has no column for 'Tinea'; give a column per class"),
    ("b.csv", "Eczema,Tinea,Tinea\n1,2,3\n1,2,3\n", P, "the header names the column 'Tinea' 2 times; keep one"),
    ("b.csv", "case,,Psoriasis,Tinea\np,1,2,3\nq,1,2,3\n", P, "column 2 has no name in the header; name it 'case'"),
    ("b.csv", "case\np\nq\n", P, "there is no column of numbers; give a column per class"),
    ("b.csv", HEADER + "p,1,2,3\nq,1,high,3\n", P, "case 'q', class 'Psoriasis': the cell 'high' is not a number"),
    ("b.csv", HEADER + 'p,1,2,3\nq,1,"0,5",3\n', P, "the cell '0,5' is not a number; write a decimal point"),
    ("b.csv", HEADER + "p,1,2,3\nq,1,3.5 %,3\n", P, "the cell '3.5 %' is not a number; write a fraction of 1"),
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
    ("b.parquet", frame(GRID.assign(Tinea=["1", "?"])), P, "case 'q', class 'Tinea': the cell '?' is not a number"),
    ("b.parquet", frame(GRID.assign(Tinea=pd.Timestamp(0))), P, "case 'p', class 'Tinea': the cell Timestamp("),
    ("b.parquet", frame(GRID.assign(Tinea=[1.0, None]).convert_dtypes()), P, "case 'q', class 'Tinea': the cell is"),
    ("b.parquet", frame(GRID.assign(Tinea=[1, 2**53 + 1])), P, "class 'Tinea': the number 9007199254740993 has more"),
    ("b.parquet", frame(GRID.assign(case=[1.5, 2.5])), P, "the column 'case' holds double, such as 1.5"),
    ("b.parquet", frame(GRID.assign(case=["p", None])), P, "row 2: the cell in column 'case' is missing"),
    ("b.parquet", frame(GRID.assign(d=0.0)), P, "the column 'd' is no class of the annotations"),
    ("b.parquet", frame(GRID.iloc[:0]), P, "there are no rows"),
    ("b.parquet", frame(GRID[["case"]]), P, "there is no column of numbers"),
    ("b.json", [3], P, "record 1 is 3; write an object per case"),
    ("b.json", [{"case": None, "Tinea": 1, "Eczema": 0}], A, "record 1: the case is None"),
    ("b.json", [{"case": "p", "probs": {"Tinea": 1}}, {"case": "q", "probs": {}}], P, "do not both have 'Tinea'"),
    ("b.json", [{"case": "p", "x": {"Tinea": 1}, "y": {"Tinea": 1}}], P, "has numbers of classes in 'x' and 'y'; keep"),
    ("b.json", [{"case": "p", "label": "c", "score": 1}], P, "has the score of 'c' alone; give those of all classes"),
]

# What tools write that is wrong, by what is said of it.
EXPORTS = {
    "has no value": INSPECT | {"samples": [sample("a", "B", match={"answer": "B"})]},
    "sample 1: the id is None": INSPECT | {"samples": [{"scores": {}}]},
    "no verdicts; export a run that was scored": INSPECT | {"samples": [sample("a", "B")]},
    "samples is {}; write a list": INSPECT | {"samples": {}},
    "result 1: the component {'score': 1} has no pass": promptfoo(output(0, {"score": 1})),
    "result 1 is 'x'; write an object": promptfoo("x"),
    "test 0: success: the verdict is 'yes'; write true or": promptfoo(output(0, success="yes")),
    "test case 't' occurs twice": {"testCases": [deepeval_case("t"), deepeval_case("t")]},
    "a metric's name is None": {"testCases": [deepeval_case("t", {"success": True})]},
    "sample 1: the doc_id is None": [{"doc_id": None, "resps": []}],
    "trace 1 has no trace_id": [{"info": {"trace_id": ""}}],
    "trace 'p': the source of 'ok' has no source_id": [
        {"trace_id": "p", "assessments": [{"name": "ok", "feedback": {"value": 1}}]}
    ],
    "case 't1', annotator 'u1': a second answer": [LANGFUSE[0], LANGFUSE[0] | {"stringValue": "rude"}],
    "score 1 has no authorUserId": [LANGFUSE[1] | {"source": None}],
    "annotation 1 has no span_id": [PHOENIX[0] | {"span_id": ""}],
    "case 'p': the counts are {'e': 0.5}; write": [{"uid": "p", "label_counter": {"e": 0.5}}],
    "case 'p' has two records; keep one": [{"uid": "p", "label_counter": {"e": 1}}] * 2,
    "more than 100,000 annotators are counted": [{"uid": "p", "label_counter": {"e": 10**6}}],
    # Label Studio's
    "no control of choices or of an order, only": [task(7, annotation(10, REGION))],
    "no control of choices or of an order, no results; read here are": [task(7, annotation(10))],
    "no control of choices or": [task(7, annotation(10, choices("a"), was_cancelled=True))],
    "no case has an answer; give at least one": [task(7, annotation(10, choices()))],
    "case '7', annotator '10': a second answer, 'b' after 'a'": [
        task(7, annotation(10, choices("a")), annotation(10, choices("b")))
    ],
    "task '7': one annotation answers": [task(7, annotation(10, choices("a"), choices("b")))],
    "task '7' occurs twice; keep one": [task(7), task(7)],
    "case '7': an answer has no annotator, but others do; name its annotator": [
        task(7, annotation(10, choices("a")), annotation(None, choices("b")))
    ],
    "task 0 (counted from 0) has the id None; give it text or a whole number": [{"annotations": []}],
    "task 1 (counted from 0) is 3; write an object": [task(7), 3],
    "task '7': 'annotations' is None, and a task of": [{"id": 7, "text": "wart", "meta": 1}],
    "task '7': an annotation is []; write an object": [task(7, [])],
    "task '7': a result is 3; write an object": [task(7, annotation(10, 3))],
    "task '7': 'result' is 'x'; write a list": [task(7, annotation(10, result="x"))],
    "completed_by is 1.5; write the id of a person": [task(7, annotation(1.5, choices("a")))],
    "task '8': 'diagnosis' is of type 'rating' here and 'choices' elsewhere; use one type": [
        task(7, annotation(10, choices("a"))),
        task(8, annotation(10, result("rating", {"rating": 1}))),
    ],
    "task '7', 'diagnosis': the choices is {'choices': 'a'}; correct it, or export again": [
        task(7, annotation(10, result("choices", {"choices": "a"})))
    ],
    "the rating is {'rating': 1.5}": [task(7, annotation(10, result("rating", {"rating": 1.5})))],
    "the choices is None; correct it": [task(7, annotation(10, result("choices", None)))],
    "task '7', 'diagnosis': items are sorted into 'good', 'bad', which nothing orders": [
        task(7, annotation(10, result("ranker", {"ranker": {"good": ["a"], "bad": ["b"]}})))
    ],
    "case '7', annotator '10': the class 'a' is named twice": [task(7, annotation(10, choices("a", "a")))],
}

# Files of PrefLib's: name, content, error, message.
ELECTIONS = [
    ("e.toi", election("1: x"), F, "line 11 is '1: x'; write votes like 12: 3,{1,2}"),
    ("e.toi", election("1: {1,2"), F, "line 11 is '1: {1,2'"),
    ("e.toi", election("1: {},1"), F, "line 11 is '1: {},1'"),
    ("e.toi", election(""), A, "there are no votes; give at least one"),
    ("e.toi", election("0: 1"), A, "line 11: this vote has 0 voters; remove it"),
    ("e.toi", election("1: 5"), A, "line 11: there is no alternative 5; count from 1 to 4"),
    ("e.toi", election("1: 0"), A, "line 11: there is no alternative 0; count from 1 to 4"),
    ("e.toi", election("1: 2,{1,2}"), A, "line 11: alternative 2 is ranked twice"),
    ("e.soi", election("1: {1,2}"), A, "line 11 ties alternatives, which .soi does not allow;"),
    ("e.toc", election("1: {1,2}"), A, "line 11 ranks 2 of 4 alternatives, and .toc needs"),
    ("e.toi", election("999999999: 1"), A, "1e+09 named classes, and 10,000,000 is the"),
    ("e.toi", election("3: 1", number_voters=9), F, "promises 9 as number voters, and there are 3; the file is cut"),
    ("e.toi", election("2: 1\n1: 2", number_unique_orders=3), F, "promises 3 as number unique orders, and there are 2"),
    ("e.toi", election("3: 1", number_alternatives=5), F, "promises 5 alternatives and names 4; number them from 1"),
    ("e.toi", election("3: 1", number_voters="many"), F, "line 5: number voters is 'many'; write a whole number"),
    ("e.toi", election("3: 1", alternative_name_2="Eve"), F, "names alternative 2 again; name each once"),
    ("e.toi", election("3: 1", ["Ann", ""]), A, "class 1 (counted from 0) has a blank name"),
    ("e.toi", election("3: 1", ["Ann", "Ann"]), A, "the class 'Ann' is listed 2 times; list each class once"),
    ("e.toi", "hello\n", F, "line 1 is 'hello'; begin with '# NUMBER ALTERNATIVES"),
    ("e.toi", "2\n1,a\n1,b\n1,1,1\n1,1\n", F, "line 3 is '1,b'; write the number and the name of an alternative"),
    ("e.toi", "2\n1,a\n2,b\n", F, "there is no line 'voters,sum,orders' after 2 alternatives; the file is cut off"),
    ("e.toi", "# NUMBER ALTERNATIVES: 2\n", F, "promises 2 alternatives and names 0"),
]

SCORED = "case,annotator,score\n"
SCORES = {
    "no column 'annotator' (columns found: 'case', 'score'); it needs 'case',": "case,score\np,1\n",
    "no column 'case'": "annotator,score\nann,1\n",
    "the table has no rows; give at least one": SCORED,
    "row 1 (case 'p', annotator 'ann'): the score 'high' is not a number; write": SCORED + "p,ann,high\n",
    "case 'p', annotator 'bob': the score is nan; write a finite": SCORED + "p,ann,1\np,bob,nan\n",
    "the score is -inf; write a finite number from -1e+15 to 1e+15": SCORED + "p,ann,-inf\n",
    "the score is 1e+200; write a finite number from -1e+15 to 1e+15": SCORED + "p,ann,1e200\n",
    "row 1 (case 'p', annotator 'ann'): the cell in column 'score' is missing; fill": SCORED + "p,ann,\n",
    "case 'p', annotator 'ann': a second answer, '2' after '1'": SCORED + "p,ann,1\nq,ann,1\np,ann,2\n",
    "both a column 'case' and a column 'task'; keep one": "case,task,annotator,score\np,p,ann,1\n",
}


# Cells that hold lists, by what is said of them.
CELLS = {
    "no table": (F, "id,annotations\np,a,b\n"),
    "2 times": (A, "id,annotations,annotations\np,a,b\n"),
    "1 annotations and 2 annotators": (A, "id,annotations,annotators\np,\"['a']\",\"['x', 'y']\"\n"),
    "no case has an answer": (A, "id,annotations\np,\n"),
    "case has an answer": (A, "id,annotations\np,[]\n"),
    "has an answer": (A, "annotations\n"),
    "two records": (A, "id,annotations\np,a\np,b\n"),
    "the answer is": (A, 'id,annotations\np,"[{""a"": 1}]"\n'),
    "names are text or whole numbers": (A, 'id,annotations,annotators\np,"[""a""]","[1.5]"\n'),
}

# Files of which it is only said where, in one sentence, what is wrong.
DAMAGED = {
    "case rows": [
        [{"id": "p", "annotations": ["a", "b"], "annotators": ["x"]}],
        [{"id": "p", "annotations": ["a"], "annotators": ["x"]}] * 2,
        [{"id": "p", "annotations": ["a"]}, {"id": "q", "annotations": ["a"], "annotators": ["x"]}],
        [{"id": "p", "annotations": ["a"], "annotators": [None]}],
        [{"id": "p", "annotations": ["a"], "annotators": [""]}],
        [{"id": True, "annotations": ["a"]}],
        [{"id": "p", "annotations": [{"x": 1}, "a"]}],
        [{"id": "p", "annotations": ["a"]}, 7],
        [{"id": "p", "annotations": ["a", "b"], "annotators": ["x", "x"]}],
        [{"id": "p", "annotations": [0.5]}],
        [{"id": "p", "annotations": ["a"], "labels": ["b"]}],
        [{"id": "p", "annotations": [[]]}],
    ],
    "argilla": [
        [argilla("p", {"u": "a"})] * 2,
        [argilla("p", {}) | {"responses": {"label": "a"}}],
        [argilla("p", {}) | {"responses": {"label": ["a"]}}],
        [argilla("p", {}) | {"responses": []}],
        [argilla("p", {}) | {"responses": {"x": [], "y": []}}],
        [argilla("p", {"u": {"a": 1}})],
        [argilla("p", {"u": [{"value": "x", "rank": "one"}]})],
        [flat("p", {"u": "a"}) | {"label.responses.users": ["u", "v"]}],
        [flat("p", {"u": "a"}) | {"label.responses": "a"}],
        [argilla("p", {"u": "a"}), 3],
        [argilla("p", {"u": "a"}, "discarded")],
    ],
    "prodigy": [
        [prodigy("p", "u", ["a"], "yes")],
        [prodigy("p", "u", "a")],
        [prodigy("p", "u", ["a"]), prodigy("p", "u", ["b"])],
        [prodigy("p", "u", [])],
        [prodigy("p", "u", [{"x": 1}])],
        [prodigy("p", "u", ["a"]), 5],
        [prodigy("p", "u", ["a"]), {"answer": "accept"}],
        [prodigy(None, "u", ["a"]) | {"_input_hash": 1.5}],
        [prodigy("p", 1.5, ["a"])],
        [prodigy("p", "u", ["a"]), prodigy("q", None, ["a"]) | {"_session_id": None}],
    ],
    "doccano": [
        [{"id": 1, "label": ["a"]}] * 2,
        [{"id": 1, "label": ["a"]}, {"id": 2}],
        [{"id": 1, "label": ["a"]}, {"id": 2, "label": "a"}],
        [{"id": 1, "label": ["a"]}, 3],
        [{"id": None, "label": ["a"]}, {"id": "0", "label": ["a"]}],
        [{"id": 1, "label": []}],
        [{"id": 1, "label": [{"a": 1}]}],
        [{"id": 1, "label": ["a", "a"]}],
        [{"id": 1.5, "label": ["a"]}],
        [{"id": " ", "label": ["a"]}],
    ],
    "nested": [
        {"p": {"ann": {"x": 1}}},
        {"p": {"ann": ["a", "a"]}},
        {"p": {"ann": None}},
        {"p": {"": "a"}},
        {"": {"ann": "a"}},
        {"p": {"ann": 0.5}},
        {"p": {"ann": [[]]}},
        {"p": {"annotations": "a,b", "annotators": "x"}},
        {"p": {"annotations": ["a"], "annotators": {"x": 1}}},
        {"p": {"annotations": 3}},
    ],
    "soft": [
        [{"id": "p", "soft_label": {"a": 0.5, "b": 0.2}}],
        [{"id": "p", "soft_label": {"a": -0.5, "b": 1.5}}],
        [{"id": "p", "soft_label": {"a": "x"}}],
        [{"id": "p", "soft_label": {}}],
        [{"id": "p", "soft_label": [0.5, 0.5]}],
        [{"id": "p", "soft_label": {"a": float("nan"), "b": 1}}],
        [{"id": "p", "soft_label": {"a": None}}],
        [{"id": "p", "soft_label": {"a": 1.0}}] * 2,
        [{"id": "p", "soft_label": {"a": 1.0}}, {"id": "q", "annotations": ["a"], "annotators": ["x"]}],
        [{"id": "p", "soft_label": "x"}],
    ],
}

COCO = {
    "images": [{"id": 4, "file_name": "cat.jpg"}, {"id": 9, "file_name": "dog.jpg"}],
    "annotations": [{"image_id": 4, "bbox": [1, 2, 10, 20], "category_id": 1, "annotator": "ann"}],
}
UNNAMED = COCO | {"annotations": [{"image_id": 4, "bbox": [0, 0, 1, 1]}]}
TABLE = "case,annotator,label\n"


def coco(**change: Any) -> dict:
    """COCO with another annotation."""
    return COCO | {"annotations": [COCO["annotations"][0] | change]}


def images(*of: tuple, annotations: Any = ()) -> dict:
    """COCO with other images: numbers and names."""
    return {"images": [dict(zip(("id", "file_name"), one, strict=False)) for one in of], "annotations": annotations}


# Files of labels: name, content, kind of labels, error, message.
LABELS = [
    ("a.json", coco(), "literal", ArgumentError, 'of COCO "boxes" or "keypoints" are read'),
    ("a.json", coco(image_id=5), "boxes", A, "annotation 1: there is no image 5"),
    ("a.json", coco(bbox=[1, 2, -3, 4]), "boxes", A, "annotation 1: a bbox is"),
    ("a.json", coco(), "keypoints", A, "annotation 1 has no 'keypoints'"),
    ("a.json", coco(image_id=[4]), "boxes", A, "annotation 1: there is no image [4]"),
    ("a.json", UNNAMED, "boxes", A, "annotation 1 does not name its annotator; give one file per annotator"),
    ("a.xml", "<a/>", "text", F, "XML, such as CVAT's, is not read here; write the cases and labels"),
    ("a.txt", "one", "text", ArgumentError, "lines name no annotators: give a file, or a folder"),
    ("a.ann", "T1\tX 0 1\ta", "spans", ArgumentError, "this kind of file holds one annotator's labels"),
    ("a.conll", "Ann B-PER\nLee\n", "bio", F, "line 2 is 'Lee'; write a token and its tags"),
    ("a.conll", "x O\n\nAnn PER\n", "bio", F, "sentence from line 3 on: a tag is O"),
    ("a.jsonl", "{\n", "literal", F, "line 1 is truncated"),
    ("a.jsonl", "[1]\n", "literal", A, "row 1 is [1]; write every row as"),
    ("a.csv", TABLE + "1,ann,(S\n", "trees", A, "row 1: the brackets of a tree"),
    ("a.csv", TABLE, "literal", A, "the table has no rows"),
    ("a.csv", "who,photo,label,annotation\nann,7,1,2\n", "literal", A, "no column 'case'"),
    ("a.csv", "case,rating\np,4\nq,3\n", "literal", A, "the only column beside the cases, 'rating'"),
    ("a.csv", "Photo,Label,Annotator\nx,a,ann\nx,b,bob\n", "literal", A, "no column 'case'"),
    ("a.json", {"1": {"ann": "X"}}, "bio", A, "row 1: a tag is O"),
    *(
        (f"a.{suffix}", opening * 100_000, "literal", F, "cannot be decoded (maximum recursion depth")
        for suffix in ("json", "jsonl")
        for opening in ('{"a":', '[{"a":')
    ),
]

# Files of one annotator's labels, whose name is all that says whose they are.
OF_ONE = [
    ("a.json", images((1, "x.jpg"), (2, "x.jpg")), "boxes", A, "the images 1 and 2 have the same name 'x.jpg'"),
    ("a.json", images((1, "2"), (2,)), "boxes", A, "the images 1 and 2 have the same name '2'; name each by"),
    ("a.json", images((1, "x.jpg"), (1, "y.jpg")), "boxes", A, "two images have the id 1; keep one"),
    ("a.json", {"annotations": 5}, "boxes", A, "the annotations of COCO are a list of objects, got 5; correct it"),
    ("a.json", {"annotations": [{"image_id": 1, "bbox": [0, 0, 1, 1]}, 3]}, "boxes", A, "got 3 as number 2"),
    ("a.json", {"images": 5, "annotations": []}, "boxes", A, "images of COCO are a list of objects, each with an id"),
    ("a.json", {"images": [{"file_name": "x"}], "annotations": []}, "boxes", A, "got {'file_name': 'x'} as number 1"),
    ("b.conll", "EU NNP B-NP B-ORG\nrejects O\n", "bio", F, "line 2 is 'rejects O'; write a token and its tags, in"),
    ("b.mrg", "(S a)\n(S\n (NP b)\n", "literal", A, "row 2: the brackets of a tree have to match"),
    ("a.mrg", " ", "trees", F, "the file is empty"),
    ("a.json", '{" p": 1}', "literal", A, "begins or ends with a blank"),
    ("a.json", '{"\\ud800": 1}', "literal", A, "row 1: the case is named '\\ud800', with a null character or half"),
    ("a.ann", "T1 X 0 1\n", "spans", F, "line 1 is 'T1 X 0 1'; write an id, a tag"),
    ("a.json", "[1]", "spans", A, "record 1 is 1; write an object"),
    ("none.ann", None, "spans", F, "the file does not exist"),
    ("a.ann", b"T1\tP 0 3\t\xff\n", "spans", F, "the file is not text in a known encoding"),
]


TIMES = pa.array([2**62, 2**61]).cast(pa.duration("s"))  # which Python cannot say
NAMED = {"case": ["p", "q"], "annotator": ["ann", "ann"], "label": ["x", "y"]}


def workbook() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("[Content_Types].xml"), "<Types/>")  # of no time: bytes name tests
    return buffer.getvalue()


def of_one(path: Path, kind: str) -> Labels:
    return read_labels({"ann": path}, kind)


def of_cells(path: Path, soft: bool = False) -> Annotations:
    return read_annotations(path, soft_weight=10 if soft else None)


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
EXPORT_TO_CSV = "Save As with the type 'CSV UTF-8 (Comma delimited)'"
NO_LABELS = "rankings are a list of cases, or an object with 'cases'"
NO_WORKBOOK, OF_TEXT = "no workbook or damaged", ("classes", "risks")
REFUSED = [
    refused("a name of labels", lambda of: read_labels(put(of, "a.json", '"secret.csv"')), NO_LABELS, error=A),
    *(file(read_annotations, name, content, error, words, classes) for name, content, classes, error, words in FILES),
    *(file(read_predictions, name, content, error, words, KNOWN) for name, content, error, words in PREDICTIONS),
    *(file(read_annotations, "export.json", content, A, words) for words, content in EXPORTS.items()),
    *(file(read_annotations, name, content, error, words) for name, content, error, words in ELECTIONS),
    *(file(read_annotations, "a.csv", content, A, words) for words, content in SCORES.items()),
    *(file(read_annotations, "a.csv", content, error, words) for words, (error, content) in CELLS.items()),
    *(file(read_labels, name, content, error, words, kind) for name, content, kind, error, words in LABELS),
    *(file(of_one, name, content, error, words, kind) for name, content, kind, error, words in OF_ONE),
    *(
        file(of_cells, f"{form} {number}.json", content, None, "", form == "soft")
        for form, contents in DAMAGED.items()
        for number, content in enumerate(contents)
    ),
    *(
        file(
            read_annotations,
            f"b{ending}",
            b"\xef\xbb\xbf" + start.encode() + b"\xff,x,y\n",
            F,
            f"the file is not text in a known encoding (byte {len(start) + 3})",
        )
        for ending, start in ((".csv", "case,annotator,class\n"), (".json", "["), (".toi", "# "))
    ),
    *(
        file(
            read_annotations if column == "rank" else read_labels,
            f"{column}.parquet",
            frame(pa.table(NAMED | {column: TIMES})),
            A,
            "duration[s]",
        )
        for column in ("case", "rank", "label")
    ),
    *(
        file(
            read,
            f"{what}{ending}",
            workbook(),
            F,
            EXPORT_TO_CSV if ending != ".xlsx" or what in OF_TEXT else NO_WORKBOOK,
        )
        for what, read in READERS.items()
        for ending in (".xlsx", ".ods", ".csv")
    ),
]
