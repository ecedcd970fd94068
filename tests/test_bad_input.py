"""Bad input, a row each: what is wrong, and the sentence that says so, with the place and the mend."""

import io
import json
import re
from random import Random

import numpy as np
import pandas as pd
import polars as pl
import pytest

from plausibly.aggregation import aggregate
from plausibly.annotations import Annotations, Slots, read_annotations, read_classes, read_risks, write_annotations
from plausibly.errors import AnnotationError, FileError, PlausiblyError, PredictionError
from plausibly.predictions import read_predictions

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


def put(folder, name: str, content: str | bytes | None):
    path = folder / name
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rankings(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


ONE_CASE = {"cases": {"p": {"ann": [["Eczema"]]}}}
GRID = pd.DataFrame({"case": ["p", "q"], "Eczema": [1.0, 2.0], "Psoriasis": [1.0, 2.0], "Tinea": [1.0, 2.0]})

# Files of annotations: name, content, classes, error, message.
ANNOTATION_FILES = {
    "no such file": ("a.json", None, None, FileError, "the file does not exist; check the path"),
    "empty file": ("a.json", "", None, FileError, "the file is empty; write it again"),
    "file of blanks": ("a.csv", " \n\n", None, FileError, "the file is empty"),
    "unknown suffix": (
        "a.xlsx",
        "x",
        None,
        FileError,
        "suffix '.xlsx' names no format read here; use one of .json, .csv",
    ),
    "no suffix": ("a", "x", None, FileError, "suffix '' names no format"),
    "truncated JSON": ("a.json", "[[[[0]], [[1", None, FileError, "the file is truncated (line 1, column 13"),
    "JSON cut in a name": ("a.json", '[[[["Ecz', None, FileError, "the file is truncated (line 1, column 5"),
    "no JSON": ("a.json", "case: p\nann: Eczema\n", None, FileError, "the file is not JSON (line 1, column 1"),
    "binary JSON": (
        "a.json",
        b"\x00\xff\xfe\x93\x00\x81",
        None,
        FileError,
        "not UTF-8 text (byte 1); save it as UTF-8",
    ),
    "JSON nested too deeply": ("a.json", "[" * 200_000, None, FileError, "cannot be decoded (maximum recursion depth"),
    "JSON with NaN": ("a.json", "[[[[NaN]]]]", CLASSES, FileError, "holds NaN, which is no class; write an index"),
    "JSON with a number of 5,000 digits": (
        "a.json",
        f"[[[[{'1' * 5000}]]]]",
        CLASSES,
        FileError,
        "cannot be decoded (Exceeds the limit (4300 digits)",
    ),
    "JSON of a number": (
        "a.json",
        "7",
        None,
        AnnotationError,
        "rankings are a list of cases, or an object with 'cases'; got 7",
    ),
    "JSON of null": (
        "a.json",
        "null",
        None,
        AnnotationError,
        "rankings are a list of cases, or an object with 'cases'; got None",
    ),
    "no cases": ("a.json", "[]", None, AnnotationError, "there are no cases; give at least one"),
    "no cases, object": ("a.json", '{"cases": {}}', None, AnnotationError, "there are no cases; give at least one"),
    "no key cases": ("a.json", '{"classes": ["x"]}', None, AnnotationError, "has no key 'cases'; write {"),
    "unknown key": ("a.json", ONE_CASE | {"class": []}, None, AnnotationError, "has the key 'class'; write {"),
    "cases of the object form in a list": (
        "a.json",
        '{"cases": [[[[0]]]]}',
        None,
        AnnotationError,
        "'cases' is [[[[0]]]]",
    ),
    "classes that are no list": (
        "a.json",
        ONE_CASE | {"classes": "x"},
        None,
        AnnotationError,
        "'classes' is 'x'; write a list",
    ),
    "two lists of classes that differ": (
        "a.json",
        ONE_CASE | {"classes": ["Eczema", "Acne"]},
        CLASSES,
        AnnotationError,
        "the 2 classes listed beside the rankings are not the 3 given; give only one",
    ),
    "no classes": (
        "a.json",
        ONE_CASE | {"classes": []},
        None,
        AnnotationError,
        "there are no classes; give at least one",
    ),
    "case there twice": (
        "a.json",
        '{"cases": {"p": [[["x"]]], "p": [[["y"]]]}}',
        None,
        AnnotationError,
        "the name 'p' is there twice in one JSON object",
    ),
    "annotator there twice": (
        "a.json",
        '{"cases": {"p": {"ann": [["x"]], "bob": [["x"]], "ann": [["y"]]}}}',
        None,
        AnnotationError,
        "the name 'ann' is there twice in one JSON object; give each case and annotator once",
    ),
    "named and anonymous annotators": (
        "a.json",
        {"cases": {"p": {"ann": [["x"]]}, "q": [[["x"]]]}},
        None,
        AnnotationError,
        "case 'q': some cases name their annotators and others do not; name them in every case or in none",
    ),
    "case that is no list": (
        "a.json",
        [[[[0]]], 3],
        CLASSES,
        AnnotationError,
        "case '1': a case is a list of annotations, got 3",
    ),
    "case without annotators": (
        "a.json",
        [[[[0]]], []],
        CLASSES,
        AnnotationError,
        "case '1' has no annotators; annotate it, or",
    ),
    "named case without annotators": (
        "a.json",
        {"cases": {"p": {}}},
        None,
        AnnotationError,
        "case 'p' has no annotators",
    ),
    "a level of lists too few": (
        "a.json",
        [[0, 1]],
        CLASSES,
        AnnotationError,
        "case '0', annotator '1': an annotation is a list of blocks, got 0; write a single label as [[label]]",
    ),
    "empty annotation": (
        "a.json",
        [[[[0]], []]],
        CLASSES,
        AnnotationError,
        "case '0', annotator '2': the annotation is empty; name at least one class, or remove the annotator",
    ),
    "block that is no list": (
        "a.json",
        {"cases": {"p": {"ann": [["x"], "y"]}}},
        None,
        AnnotationError,
        "case 'p', annotator 'ann': block 2 is 'y', and a block is a list of classes; write ['y']",
    ),
    "empty block": (
        "a.json",
        {"cases": {"p": {"ann": [["x"], []]}}},
        None,
        AnnotationError,
        "case 'p', annotator 'ann': block 2 is empty; name a class in it, or remove the block",
    ),
    "a level of lists too many": (
        "a.json",
        [[[[[0]]]]],
        CLASSES,
        AnnotationError,
        "a class is an index or a name, got [0]",
    ),
    "boolean for a class": (
        "a.json",
        "[[[[true]]]]",
        CLASSES,
        AnnotationError,
        "a class is an index or a name, got True",
    ),
    "float for a class": ("a.json", "[[[[1.0]]]]", CLASSES, AnnotationError, "a class is an index or a name, got 1.0"),
    "null for a class": ("a.json", "[[[[null]]]]", CLASSES, AnnotationError, "a class is an index or a name, got None"),
    "index without classes": (
        "a.json",
        [[[[5]]]],
        None,
        AnnotationError,
        "case '0', annotator '1': the class index 5 has no name yet; pass classes= (--classes), the names",
    ),
    "index above the range": (
        "a.json",
        [[[[0], [3]]]],
        CLASSES,
        AnnotationError,
        "case '0', annotator '1': the class index 3 is outside the range 0 to 2; count classes from 0",
    ),
    "index below the range": (
        "a.json",
        [[[[-1]]]],
        CLASSES,
        AnnotationError,
        "class index -1 is outside the range 0 to 2",
    ),
    "unknown class": (
        "a.json",
        {"cases": {"p": {"ann": [["Exzema"]]}}},
        CLASSES,
        AnnotationError,
        "case 'p', annotator 'ann': the class 'Exzema' is not among the 3 classes; did you mean 'Eczema'?",
    ),
    "unknown class like no other": (
        "a.json",
        {"cases": {"p": {"ann": [["42"]]}}},
        CLASSES,
        AnnotationError,
        "the class '42' is not among the 3 classes; add it to the classes, or correct the name",
    ),
    "class named twice in a block": (
        "a.json",
        {"cases": {"o": {"ann": [["x"]]}, "p": {"ann": [["x", "y", "x"]]}}},
        None,
        AnnotationError,
        "case 'p', annotator 'ann': the class 'x' is named twice; an annotator ranks each class once",
    ),
    "class named twice in two blocks": (
        "a.json",
        [[[[1]], [[0], [2], [0]]]],
        CLASSES,
        AnnotationError,
        "case '0', annotator '2': the class 'Eczema' is named twice",
    ),
    "blank class name": ("a.json", [[[["x", " "]]]], None, AnnotationError, "has a blank name; name it, or remove it"),
    "class name with a blank at its end": (
        "a.json",
        [[[["x"], ["x "]]]],
        None,
        AnnotationError,
        "the class 'x ' begins or ends with a blank; write 'x'",
    ),
    "null character in a class name": (
        "a.json",
        [[[["x"], ["y\0"]]]],
        None,
        AnnotationError,
        "class 1 (counted from 0) is named 'y\\x00', with a null character or half a character in it",
    ),
    "half a character in a case name": (
        "a.json",
        '{"cases": {"p": [[["x"]]], "\\ud83d": [[["x"]]]}}',
        None,
        AnnotationError,
        "case 1 (counted from 0) is named '\\ud83d', with a null character or half a character in it; write it",
    ),
    "columns with capitals": (
        "a.csv",
        "Case,Annotator,Class,Rank\np,ann,x,1\n",
        None,
        AnnotationError,
        "the column 'Annotator' would be 'annotator' of a long table; write it like that",
    ),
    "columns with blanks": (
        "a.parquet",
        parquet(pd.DataFrame({"case ": ["p"], "worker ": ["ann"], "label ": ["x"]})),
        None,
        AnnotationError,
        "the column 'worker ' would be 'worker' of a long table; write it like that",
    ),
    "blank case name": (
        "a.json",
        {"cases": {"": [[["x"]]]}},
        None,
        AnnotationError,
        "case 0 (counted from 0) has a blank name",
    ),
    "header alone": ("a.csv", LONG, None, AnnotationError, "the table has no rows; give at least one"),
    "short row": ("a.csv", LONG + "p,ann,x,1\np,ann\n", None, FileError, "Row #3: Expected 4 columns, got 2"),
    "long row": (
        "a.csv",
        LONG + "p,ann,x,1,2\n",
        None,
        FileError,
        "no table of equally long rows (CSV parse error: Row #2",
    ),
    "quotes that start within a cell": (
        "a.csv",
        ', ",,"\n",\n',
        None,
        AnnotationError,
        "the header names the column '' 3 times",
    ),
    "column not there": (
        "a.csv",
        "case,class,rank\np,x,1\n",
        None,
        AnnotationError,
        "no column 'annotator' (columns found: 'case', 'class', 'rank'); it needs 'case', 'annotator' and 'class'",
    ),
    "semicolons for commas": (
        "a.csv",
        "case;annotator;class\np;a;x\n",
        None,
        FileError,
        "the cells are parted by ';'; part them by commas",
    ),
    "column there twice": (
        "a.csv",
        "case,annotator,class,class\np,a,x,y\n",
        None,
        AnnotationError,
        "names the column 'class' 2 times",
    ),
    "column there under both names": (
        "a.csv",
        "case,task,annotator,class\np,p,a,x\n",
        None,
        AnnotationError,
        "both a column 'case' and a column 'task'; keep one",
    ),
    "rank and confidence": (
        "a.csv",
        "case,annotator,class,rank,confidence\np,a,x,1,0.5\n",
        None,
        AnnotationError,
        "both 'rank' and 'confidence'; keep the one that orders the classes",
    ),
    "missing case": (
        "a.csv",
        LONG + "p,ann,x,1\n,ann,x,1\n",
        None,
        AnnotationError,
        "row 2 (annotator 'ann'): the cell in column 'case' is missing",
    ),
    "missing class": (
        "a.csv",
        LONG + "p,ann,x,1\np,bob,  ,1\n",
        None,
        AnnotationError,
        "row 2 (case 'p', annotator 'bob'): the cell in column 'class' is missing; fill it, or remove the row",
    ),
    "missing rank": (
        "a.csv",
        LONG + "p,ann,x,\n",
        None,
        AnnotationError,
        "row 1 (case 'p', annotator 'ann'): the cell in column 'rank' is missing",
    ),
    "rank in words": (
        "a.csv",
        LONG + "p,ann,x,1\np,ann,y,second\n",
        None,
        AnnotationError,
        "row 2 (case 'p', annotator 'ann'): the rank 'second' is no number; write a number",
    ),
    "infinite rank": (
        "a.csv",
        LONG + "p,ann,x,inf\n",
        None,
        AnnotationError,
        "(case 'p', annotator 'ann'): the rank is inf; write a finite",
    ),
    "rank 0": (
        "a.csv",
        LONG + "p,ann,x,0\n",
        None,
        AnnotationError,
        "the rank 0 is below 1, the best; count ranks from 1, and leave out",
    ),
    "confidence in words": (
        "a.csv",
        "case,annotator,class,confidence\np,a,x,high\n",
        None,
        AnnotationError,
        "the confidence 'high' is no number",
    ),
    "row there twice": (
        "a.csv",
        LONG + "p,ann,x,1\np,bob,x,1\np,ann,x,2\n",
        None,
        AnnotationError,
        "case 'p', annotator 'ann': the class 'x' is named twice",
    ),
    "unknown class in a table": (
        "a.csv",
        LONG + "p,ann,Tinea,1\np,bob,Tinae,1\n",
        CLASSES,
        AnnotationError,
        "row 2 (case 'p', annotator 'bob'): the class 'Tinae' is not among the 3 classes; did you mean 'Tinea'?",
    ),
    "index without classes in a table": (
        "a.csv",
        LONG + "p,ann,2,1\n",
        None,
        AnnotationError,
        "holds indices such as 2, which have no names yet; pass classes=",
    ),
    "index outside the range in a table": (
        "a.csv",
        LONG + "p,ann,2,1\np,bob,3,1\n",
        CLASSES,
        AnnotationError,
        "row 2 (case 'p', annotator 'bob'): the class index 3 is outside the range 0 to 2",
    ),
    "no Parquet": ("a.parquet", "case,annotator\n", None, FileError, "no Parquet table or truncated"),
    "truncated Parquet": ("a.parquet", parquet(GRID)[:-20], None, FileError, "no Parquet table or truncated"),
    "fractions for annotators": (
        "a.parquet",
        parquet(pd.DataFrame({"case": ["p"], "annotator": [1.5], "class": ["x"]})),
        None,
        AnnotationError,
        "the column 'annotator' holds double, such as 1.5; names are text or whole numbers",
    ),
    "text for an array": ("a.npy", "1,2,3\n", None, FileError, "no .npy array; write it with numpy.save"),
    "truncated array": ("a.npy", npy(np.ones((9, 3), int))[:-5], None, FileError, "the file is truncated or damaged"),
    "damaged header of an array": ("a.npy", npy(np.ones(3))[:20], None, FileError, "the file is truncated or damaged"),
    "pickled objects": (
        "a.npy",
        npy(np.array([[{}, 1]], dtype=object), allow_pickle=True),
        None,
        FileError,
        "pickled Python objects, never read here; save it as numbers",
    ),
    "counts in one dimension": (
        "a.npy",
        npy(np.array([1, 2, 3])),
        None,
        AnnotationError,
        "two dimensions is needed, got shape (3,); give a row per case",
    ),
    "counts of text": (
        "a.npy",
        npy(np.array([["1", "2"]])),
        None,
        AnnotationError,
        "an array of numbers is needed, got <U1",
    ),
    "counts without rows": (
        "a.npy",
        npy(np.ones((0, 3), int)),
        None,
        AnnotationError,
        "there are no cases; give at least one",
    ),
    "counts for too many classes": (
        "a.npy",
        npy(np.ones((2, 4), int)),
        CLASSES,
        AnnotationError,
        "there are 4 columns for 3 classes; give a column per class",
    ),
    "count that is a fraction": (
        "a.npy",
        npy(np.array([[1, 2], [0.5, 1]])),
        None,
        AnnotationError,
        "case '1', class '0': the count 0.5 is a fraction",
    ),
    "negative count": (
        "a.csv",
        "case,x,y\np,1,2\nq,3,-1\n",
        None,
        AnnotationError,
        "case 'q', class 'y': the count -1 is negative; give how many",
    ),
    "count that is NaN": (
        "a.csv",
        "1,nan\n",
        None,
        AnnotationError,
        "case '0', class '1': the count nan is not finite",
    ),
    "infinite count": (
        "a.csv",
        "1,2\ninf,1\n",
        None,
        AnnotationError,
        "case '1', class '0': the count inf is not finite",
    ),
    "row of zeros": (
        "a.csv",
        "x,y\n1,2\n0,0\n",
        None,
        AnnotationError,
        "case '1': all counts are 0, nobody annotated it; remove the row",
    ),
    "counts beyond bounds": (
        "a.npy",
        npy(np.array([[1.0, 1e300]])),
        None,
        AnnotationError,
        "the counts stand for 1e+300 named classes, and 10,000,000 is the limit for 1 rows",
    ),
    "count in words": (
        "a.csv",
        "case,x,y\np,1,two\n",
        None,
        AnnotationError,
        "case 'p', class 'y': the cell 'two' is no number",
    ),
    "count missing": (
        "a.csv",
        "case,x,y\np,,2\n",
        None,
        AnnotationError,
        "case 'p', class 'x': the cell is missing; write a number",
    ),
    "duplicated case ids": (
        "a.csv",
        "case,x,y\np,1,2\np,3,1\n",
        None,
        AnnotationError,
        "the case 'p' is listed 2 times; list each case once",
    ),
    "counts of an unknown class": (
        "a.csv",
        "Eczema,Psoriasis,Acne\n1,2,3\n",
        CLASSES,
        AnnotationError,
        "the class 'Acne' is not among the 3 classes",
    ),
}

# Files of predictions for the cases p, q and the classes of CLASSES: name, content, error, message.
HEADER = "case,Eczema,Psoriasis,Tinea\n"
PREDICTION_FILES = {
    "no such file": ("b.csv", None, FileError, "the file does not exist"),
    "unknown suffix": (
        "b.json",
        "[]",
        FileError,
        "suffix '.json' names no format read here; use one of .npy, .csv",
    ),
    "missing row": ("b.csv", HEADER + "p,1,2,3\n", PredictionError, "there is no row for case 'q'; predict every case"),
    "row too many": (
        "b.csv",
        HEADER + "p,1,2,3\nr,1,2,3\nq,1,2,3\n",
        PredictionError,
        "there is a row for case 'r', which nobody annotated; remove it",
    ),
    "row there twice": (
        "b.csv",
        HEADER + "p,1,2,3\nq,1,2,3\np,1,2,3\n",
        PredictionError,
        "case 'p' has two rows (1 and 3); keep one",
    ),
    "missing row without names": (
        "b.csv",
        "1,2,3\n",
        PredictionError,
        "there are 1 rows for 2 cases; give a row per case, in their order",
    ),
    "header alone": ("b.csv", HEADER, PredictionError, "there are no rows; give a row per case"),
    "case left blank": (
        "b.csv",
        HEADER + "p,1,2,3\n,1,2,3\n",
        PredictionError,
        "row 2: the cell in column 'case' is missing; name the case",
    ),
    "unknown class": (
        "b.csv",
        "Eczema,Psoriasis,Tinae\n1,2,3\n1,2,3\n",
        PredictionError,
        "'Tinae' is not among the 3 classes; did you mean 'Tinea'?",
    ),
    "missing class": (
        "b.csv",
        "Eczema,Psoriasis\n1,2\n1,2\n",
        PredictionError,
        "the header has no column for 'Tinea'; give a column per class",
    ),
    "class there twice": (
        "b.csv",
        "Eczema,Tinea,Tinea\n1,2,3\n1,2,3\n",
        PredictionError,
        "the header names the column 'Tinea' 2 times; keep one",
    ),
    "column without a name": (
        "b.csv",
        ",Eczema,Psoriasis,Tinea\n0,1,2,3\n1,1,2,3\n",
        PredictionError,
        "column 1 has no name in the header; name it 'case'",
    ),
    "cases alone": ("b.csv", "case\np\nq\n", PredictionError, "there is no column of numbers; give a column per class"),
    "score in words": (
        "b.csv",
        HEADER + "p,1,2,3\nq,1,high,3\n",
        PredictionError,
        "case 'q', class 'Psoriasis': the cell 'high' is no number",
    ),
    "decimal comma": (
        "b.csv",
        HEADER + 'p,1,2,3\nq,1,"0,5",3\n',
        PredictionError,
        "case 'q', class 'Psoriasis': the cell '0,5' is no number",
    ),
    "score in words, no header": (
        "b.csv",
        "1,2,3\n1,x,3\n",
        PredictionError,
        "row 2, column 2: the cell 'x' is no number; write a number",
    ),
    "missing score": (
        "b.csv",
        HEADER + "p,1,2,3\nq,1,2,\n",
        PredictionError,
        "case 'q', class 'Tinea': the cell is missing; write a number",
    ),
    "NaN": (
        "b.csv",
        HEADER + "p,1,2,3\nq,1,nan,3\n",
        PredictionError,
        "case 'q', class 'Psoriasis': the score is nan; write a finite number",
    ),
    "infinity": (
        "b.npy",
        npy(np.array([[0, -np.inf, 1], [0, 1, 2]])),
        PredictionError,
        "case 'p', class 'Psoriasis': the score is -inf; write a finite",
    ),
    "a column too few": (
        "b.npy",
        npy(np.ones((2, 2))),
        PredictionError,
        "there are 2 columns for 3 classes; give a column per class, or a header",
    ),
    "labels instead of scores": (
        "b.npy",
        npy(np.array([0, 2])),
        PredictionError,
        "two dimensions is needed, got shape (2,); give a row per case",
    ),
    "an ensemble": ("b.npy", npy(np.ones((5, 2, 3))), PredictionError, "two dimensions is needed, got shape (5, 2, 3)"),
    "complex numbers": (
        "b.npy",
        npy(np.ones((2, 3), complex)),
        PredictionError,
        "an array of numbers is needed, got complex128",
    ),
    "pickled objects": (
        "b.npy",
        npy(np.array([[{}]], dtype=object), allow_pickle=True),
        FileError,
        "pickled Python objects, never read here",
    ),
    "number beyond what float64 holds": (
        "b.npy",
        npy(np.array([[2**53 + 1, 1, 1], [1, 2, 3]])),
        PredictionError,
        "the number 9007199254740993 has more digits than float64 holds; scale the numbers down",
    ),
    "number of many digits as text": (
        "b.csv",
        HEADER + "p,1,2,3\nq,1,12345678901234567891,3\n",
        PredictionError,
        "case 'q', class 'Psoriasis': the number 12345678901234567891 has more digits than float64 holds",
    ),
    "ragged text": ("b.txt", "1 2 3\n1 2\n", FileError, "Row #2: Expected 3 columns, got 2"),
    "text in the place of scores": (
        "b.parquet",
        parquet(GRID.assign(Tinea=["1", "?"])),
        PredictionError,
        "case 'q', class 'Tinea': the cell '?' is no number",
    ),
    "dates in the place of scores": (
        "b.parquet",
        parquet(GRID.assign(Tinea=pd.Timestamp(0))),
        PredictionError,
        "case 'p', class 'Tinea': the cell Timestamp(",
    ),
}

# Anything else, given a folder to write in: call, error, message.
CALLS = {
    "confidences that would tie": (
        lambda _: Annotations.from_table(
            pd.DataFrame({"case": "p", "annotator": "a", "class": ["x", "y"], "confidence": [2**53, 2**53 + 1]})
        ),
        AnnotationError,
        "row 2 (case 'p', annotator 'a'): the confidence 9007199254740993 has more digits than float64 holds; scale",
    ),
    "class named like the remainder": (
        lambda _: aggregate(Annotations.from_counts([[1]], classes=["(remainder)"])),
        AnnotationError,
        "a class is named '(remainder)', which in a posterior stands for the unnamed classes; rename it",
    ),
    "ragged array": (
        lambda _: read_predictions([[1, 2, 3], [1]], KNOWN),
        PredictionError,
        "predictions: the rows differ in length",
    ),
    "predictions of None": (
        lambda _: read_predictions(None, KNOWN),
        PredictionError,
        "predictions: an array of numbers is needed, got object (None)",
    ),
    "masked predictions": (
        lambda _: read_predictions(np.ma.array(np.ones((2, 3)), mask=np.eye(2, 3)), KNOWN),
        PredictionError,
        "predictions: some entries of the array are masked; give a number for every case and class",
    ),
    "data frame with a column twice": (
        lambda _: read_predictions(pd.DataFrame(np.ones((2, 3)), columns=["Eczema", "Tinea", "Tinea"]), KNOWN),
        PredictionError,
        "predictions: the column 'Tinea' is there 2 times; keep one",
    ),
    "data frame of objects": (
        lambda _: read_predictions(GRID.assign(Tinea=[1, "x"]), KNOWN),
        PredictionError,
        "predictions: the column 'Tinea' mixes types",
    ),
    "index that is a column too": (
        lambda _: read_predictions(GRID.set_index("case", drop=False), KNOWN),
        PredictionError,
        "the column 'case' is there twice, as a column and as the index; keep one",
    ),
    "index that names other cases": (
        lambda _: read_predictions(GRID.assign(case=["p", "r"]).set_index("case"), KNOWN),
        PredictionError,
        "there is no row for case 'q'",
    ),
    "lazy frame": (
        lambda _: Annotations.from_table(pl.LazyFrame({"case": ["p"]})),
        AnnotationError,
        "held in memory, got LazyFrame; convert it",
    ),
    "table that is a list": (
        lambda _: Annotations.from_table([["p", "a", "x"]]),
        AnnotationError,
        "a table is a data frame held in memory, got list",
    ),
    "class there twice": (
        lambda _: Annotations.from_counts([[1, 2]], classes=["x", "x"]),
        AnnotationError,
        "the class 'x' is listed 2 times; list each",
    ),
    "class that is no text": (
        lambda _: Annotations.from_counts([[1, 2]], classes=["x", None]),
        AnnotationError,
        "class 1 is named None; a name is text",
    ),
    "names for too many cases": (
        lambda _: Annotations.from_counts([[1, 2]], cases=["p", "q"]),
        AnnotationError,
        "there are 1 rows of counts for 2 case names; give a name per row",
    ),
    "labels that are no list": (
        lambda _: Annotations.from_labels(["x"]),
        AnnotationError,
        "case '0': the labels of a case are a list, got 'x'",
    ),
    "labels that are no lists": (
        lambda _: Annotations.from_labels("x"),
        AnnotationError,
        "labels are a list of cases, got 'x'",
    ),
    "label that is NaN": (
        lambda _: Annotations.from_labels([[0, float("nan")]], classes=CLASSES),
        AnnotationError,
        "case '0', annotator 2: a label is a class index or a name, got nan; say with missing= what stands for",
    ),
    "sentinel not declared": (
        lambda _: Annotations.from_labels([[0, -1]], classes=CLASSES),
        AnnotationError,
        "class index -1 is outside the range",
    ),
    "case without labels": (
        lambda _: Annotations.from_labels([["x"], [None]]),
        AnnotationError,
        "case '1' has no annotators",
    ),
    "labels by an unnamed annotator": (
        lambda _: Annotations.from_labels([["x", "y"]], annotators=["ann"]),
        AnnotationError,
        "case '0': there are 2 labels for 1 annotators; give one each",
    ),
    "labels of an unnamed case": (
        lambda _: Annotations.from_labels([["x"]], cases=["p", "q"]),
        AnnotationError,
        "1 rows of labels for 2 case names",
    ),
    "case asked for that is not there": (
        lambda _: KNOWN.rankings("r"),
        AnnotationError,
        "there is no case 'r' among the 2 cases 'p', 'q'",
    ),
    "position outside the range": (
        lambda _: KNOWN.select([2]),
        AnnotationError,
        "there is no case 2 among the 2 cases 'p', 'q'",
    ),
    "position that is a fraction": (lambda _: KNOWN.select([0.5]), AnnotationError, "there is no case 0.5 among"),
    "case selected twice": (
        lambda _: KNOWN.select(["p", "p"]),
        AnnotationError,
        "case 'p' is selected twice; select each case once",
    ),
    "no case selected": (lambda _: KNOWN.select([]), AnnotationError, "no case is selected; select at least one"),
    "text for a list of cases": (
        lambda _: KNOWN.select("p"),
        AnnotationError,
        "a list of cases is needed, got the text 'p'; write ['p']",
    ),
    "mask of another length": (
        lambda _: KNOWN.select(np.array([True])),
        AnnotationError,
        "a mask of 1 values does not fit 2 cases",
    ),
    "slot that is not there": (
        lambda _: Slots.of(KNOWN).find(0, 2),
        AnnotationError,
        "case 0 has no slot for class 2; ask for classes that were named",
    ),
    "folder not there": (
        lambda folder: write_annotations(KNOWN, folder / "no" / "a.json"),
        FileError,
        "a.json: the file cannot be written (No such file",
    ),
    "folder for a file": (lambda folder: read_classes(folder), FileError, "this is a folder; name a file in it"),
    "blank line in the classes": (
        lambda folder: read_classes(put(folder, "c.txt", "x\n\ny\n")),
        AnnotationError,
        "c.txt: line 2 is blank, and each line",
    ),
    "class twice in the classes": (
        lambda folder: read_classes(put(folder, "c.txt", "x\ny\nx\n")),
        AnnotationError,
        "c.txt: line 3: the class 'x' is there already, in line 1; list each class once",
    ),
    "classes with blanks at their ends": (
        lambda folder: read_classes(put(folder, "c.txt", "x \ny\n")),
        AnnotationError,
        "c.txt: the class 'x ' begins or",
    ),
    "classes in Latin-1": (
        lambda folder: read_classes(put(folder, "c.txt", "Nävus".encode("latin-1"))),
        FileError,
        "c.txt: the file is not UTF-8 text (byte 1)",
    ),
    "risk of 3": (
        lambda folder: read_risks(put(folder, "r.txt", "0\n3\n1\n"), CLASSES),
        AnnotationError,
        "r.txt: class 'Psoriasis': the risk is '3'; write 0 (low)",
    ),
    "risk of 1.0": (
        lambda _: read_risks([0, 1.0, 1], CLASSES),
        AnnotationError,
        "class 'Psoriasis': the risk is 1.0; write 0 (low)",
    ),
    "a risk too few": (
        lambda folder: read_risks(put(folder, "r.txt", "0\n1\n"), CLASSES),
        AnnotationError,
        "r.txt: there are 2 risks for 3 classes; give one",
    ),
    "risk of an unknown class": (
        lambda _: read_risks({"Tinae": 0}, CLASSES),
        AnnotationError,
        "a risk is given, but the class 'Tinae' is not among",
    ),
    "class without a risk": (
        lambda folder: read_risks(put(folder, "r.csv", "class,risk\nTinea,0\n"), CLASSES),
        AnnotationError,
        "r.csv: there is no risk for 'Eczema', 'Psoriasis'; give one for every class",
    ),
    "class with two risks": (
        lambda folder: read_risks(put(folder, "r.csv", "class,risk\nTinea,0\nTinea,1\n"), CLASSES),
        AnnotationError,
        "r.csv: the class 'Tinea' has 2 risks; give each class one",
    ),
    "table of risks without its columns": (
        lambda folder: read_risks(put(folder, "r.csv", "name,risk\nTinea,0\n"), CLASSES),
        AnnotationError,
        "r.csv: a table of risks has the columns 'class' and 'risk', got 'name', 'risk'; rename them",
    ),
}


def check_form(raised: PlausiblyError, error: type) -> None:
    """One sentence on one line, of the very class, with a mend."""
    assert type(raised) is error
    assert isinstance(raised, ValueError)
    assert "\n" not in str(raised)
    assert re.search(r"; |, so |\?$", str(raised))


@pytest.mark.parametrize(
    ("name", "content", "classes", "error", "message"), ANNOTATION_FILES.values(), ids=ANNOTATION_FILES
)
def test_annotations_in_a_file(tmp_path, name, content, classes, error, message):
    if content is not None and not isinstance(content, bytes):
        content = rankings(content)
    with pytest.raises(error, match=re.escape(message)) as raised:
        read_annotations(put(tmp_path, name, content), classes)
    check_form(raised.value, error)
    assert str(raised.value).startswith(str(tmp_path / name))


@pytest.mark.parametrize(("name", "content", "error", "message"), PREDICTION_FILES.values(), ids=PREDICTION_FILES)
def test_predictions_in_a_file(tmp_path, name, content, error, message):
    with pytest.raises(error, match=re.escape(message)) as raised:
        read_predictions(put(tmp_path, name, content), KNOWN)
    check_form(raised.value, error)
    assert str(raised.value).startswith(str(tmp_path / name))


@pytest.mark.parametrize(("call", "error", "message"), CALLS.values(), ids=CALLS)
def test_calls(tmp_path, call, error, message):
    with pytest.raises(error, match=re.escape(message)) as raised:
        call(tmp_path)
    check_form(raised.value, error)


def test_file_that_may_not_be_read(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    path = put(tmp_path, "a.json", "[]")
    monkeypatch.setattr(type(path), "read_bytes", refuse)
    with pytest.raises(
        FileError, match=r"a.json: the file cannot be read \(Permission denied\); check its permissions"
    ):
        read_annotations(path)


@pytest.mark.parametrize("name", ["a.json", "a.csv", "a.parquet", "a.npy", "a.txt", "b.csv"])
def test_damaged_files_never_end_in_another_error(tmp_path, name):
    """Cut anywhere, or with bytes changed, put in or left out, a file is read or refused in one line."""
    write_annotations(KNOWN, tmp_path / "a.json")
    KNOWN.to_table().to_csv(tmp_path / "a.csv", index=False)
    KNOWN.to_table().to_parquet(tmp_path / "a.parquet")
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    put(tmp_path, "a.txt", "1 2 3\n4 5 6\n")
    put(tmp_path, "b.csv", HEADER + "p,1,2,3\nq,3,4,5\n")
    whole = (tmp_path / name).read_bytes()
    random = Random(name)
    refusals = []
    for _ in range(200):
        at = random.randrange(len(whole))
        put_in = bytes(random.choice([0, 10, 34, 44, random.randrange(256)]) for _ in range(random.randrange(4)))
        cut = whole[:at]  # Arrow is not asked what it makes of any other damage to Parquet
        damaged = cut if name == "a.parquet" else random.choice([cut, cut + put_in + whole[at + random.randrange(4) :]])
        path = put(tmp_path, f"damaged-{name}", damaged)
        for read in (
            lambda path: read_annotations(path, CLASSES),
            lambda path: read_predictions(path, KNOWN),
            read_classes,
            lambda path: read_risks(path, CLASSES),
        ):
            try:
                read(path)
            except PlausiblyError as error:
                refusals.append(str(error))
    assert len(refusals) > 200
    assert not [refusal for refusal in refusals if "\n" in refusal]


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
        ({"annotation_case": [0, 1, 0]}, "annotation_case must not decrease and must name every case"),
        ({"annotation_case": [0, 0, 0]}, "annotation_case must not decrease and must name every case"),
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
