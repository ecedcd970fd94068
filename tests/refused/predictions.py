"""What readers of predictions refuse."""

import numpy as np
import pandas as pd

import plausibly as pb
from plausibly.base.errors import ArgumentError, FileError, PredictionError
from plausibly.data.predictions import line_up, named_predictions, read_predictions
from tests.refused import refused, table

RANKINGS = {"q": {"ann": [["b"]]}, "p": {"ann": [["a"]]}, "r": {"bob": [["c"], ["a"]]}}
ANNOTATIONS = pb.Annotations.from_rankings({"cases": RANKINGS}, classes=["b", "a", "c"])
TWO = pb.Annotations.from_labels([["no", "yes"], ["yes"], ["no"]], classes=["no", "yes"], cases=list("pqr"))
GRADES = pb.Annotations.from_labels([["1"], ["3"], ["5"], ["2"], ["4"]], classes=list("12345"))
NAMES = pb.Annotations.from_counts(np.eye(3, dtype=int), classes=["mass", "normal", "nodule"])
SCORES = np.array([[0.25, 0.5, 0.125], [1.0, -2.0, 1e-3], [0.0, 7.0, 8.5]])
LOGITS = SCORES - 3
NAMED = pd.DataFrame(SCORES, columns=["b", "a", "c"]).assign(case=["q", "p", "r"])
MORE = pd.concat([NAMED, NAMED[:1].assign(case="x")])
BY_NAME = pd.DataFrame({"case": ["r", "q", "p"], "prediction": ["b", "a", "c"]})
LEVELS = pd.MultiIndex.from_tuples([("x", 0), ("x", 1), ("y", 0)])


def read(source, annotations=ANNOTATIONS, **options):
    return read_predictions(source, annotations, **options)


def of_columns(columns):
    return read(pd.DataFrame(np.eye(3)[:, : len(columns)], columns=columns), NAMES)


REFUSED = []
PARTS = "but '{}' between blanks parts classifiers in rankings: rename it"


def column(folder, text, name, annotations):
    (folder / "models.csv").write_text(text)
    return read_predictions(f"{folder}/models.csv{name}", annotations)


def columns(text, name, classes="ab"):
    labels = [[classes[0]] * 2, list(classes), [classes[1]]]
    annotations = pb.Annotations.from_labels(labels, classes=list(classes), cases=list("pqr"))
    return lambda folder: column(folder, text, name, annotations)


GPT = "case,gpt,cnn\np,a,0.5\nq,a,0.25\nr,b,0.9\n"
REFUSED += [
    refused("a column that is not there", columns(GPT, ":gtp"),
            r"models.csv:gtp: there is no such column; did you mean 'gpt'", error=FileError),
    refused("a case without a prediction", columns("case,late\np,0\nq,1\nr,\n", ":late", "01"),
            "no row for case 'r'; predict every case, or leave such cases out", error=PredictionError),
    refused("two columns of names", columns("case,gpt,llama\np,a,b\nq,b,b\nr,b,a\n", ""),
            r"the column 'gpt' holds names of classes, .* here FILE:gpt", error=PredictionError),
    refused("two columns of numbers", columns("case,cnn,vit\np,0.5,0.5\nq,0.25,0.5\nr,0.9,0\n", ""),
            r"'cnn', 'vit' are none .* if each is a classifier's, .* FILE:COLUMN", error=PredictionError),
]  # fmt: skip

ROWS = {
    (read, PredictionError): {
        "neither 0, 1, … nor the cases' names .there is none for case 'q'": (pd.DataFrame(SCORES, index=[1, 0, 2]),),
        "reset it if the rows are in the cases' order": (pd.DataFrame(SCORES, index=[1, 2, 3]),),
        "several levels": (pd.DataFrame(SCORES, index=LEVELS),),
        r"row 2: one column for two classes is the probability of 'yes'.* 1.5": (np.array([0.5, 1.5, 0.5]), TWO),
        r"column .low. is none of the classes no, yes, .*; call a probability after": (
            pd.DataFrame({"low": [0.5] * 3}),
            TWO,
        ),
        "there are 1 columns for 3 classes": (np.array([0.5, 0.5, 0.5]),),
        r"row for case 'x', which is not annotated.*--extra ignore": (MORE,),
        "there is no row for case": {"source": MORE[1:], "extra": "ignore"},
        "row 2: the class 'melanoma' is not among the 3 classes": (["a", "melanoma", "b"],),
        "case 'p': the class 'C' is not among the 3 classes": (BY_NAME.replace("c", "C"),),
        "there are 2 rows for 3 cases": (["a", "c"],),
        "the column 'b' holds names of classes; call it 'prediction'": (BY_NAME.rename(columns={"prediction": "b"}),),
        "'prediction' holds numbers, such as 0.1, and the classes are called": (
            pd.DataFrame({"prediction": [0.1, 0.2, 0.3]}),
        ),
        "there are 1 columns for 3 classes.*": ([0, 1, 2],),
        "marked as logits, but are probabilities already": {"source": np.eye(3), "logits": True},
        "marked as logits, but are probabilities already.*": {"source": ["a"] * 3, "logits": True},
        "marked as logits, but all lie between 0 and 1": {
            "source": np.array([0.1, 0.2, 0.7]),
            "annotations": TWO,
            "logits": True,
        },
        "the score is nan": {"source": np.where(LOGITS > 2, np.nan, LOGITS), "logits": True},
    },
    (read, ArgumentError): {
        'extra must be "refuse" or "ignore"': {"source": MORE, "extra": "drop"},
    },
    (read, FileError): {
        r"there is no file 'gone.csv'": ("gone.csv:gpt",),
    },
    (of_columns, PredictionError): {
        r"'tumour', 'healthy' are none of .* 'mass', 'normal' have no column": (["tumour", "healthy", "nodule"],),
        "'not_normal', 'not_mass'": (["not_normal", "not_mass", "not_nodule"],),
        "'p_normal', 'p_mass'": (["p_normal", "p_mass", "nodule"],),
        "p_mass": (["p_mass"] * 2,),
    },
    (line_up, PredictionError): {
        # A probability of malignancy was read as the nearest of the ratings 1 to 5.
        r"between 0 and 1, as probabilities do, .*--threshold": {
            "source": np.array([0.6, 0.1, 0.9, 0.2, 1.0]),
            "annotations": GRADES,
            "ordered": True,
        },
        "row 2: 73 is far from the grades, 1 to 5": {
            "source": np.array([1, 73, 4, 2, 1.0]),
            "annotations": GRADES,
            "ordered": True,
        },
    },
    (named_predictions, ArgumentError): {
        "a classifier has the blank name ''": ({"": "a.csv"},),
        "a classifier has the blank name ' '": ({" ": "a.csv"},),
        f"a classifier has the name 'A > B', {PARTS.format('>')}": ({"A > B": "a.csv"},),
        f"a classifier has the name 'A =', {PARTS.format('=')}": ({"A =": "a.csv"},),
    },
}
REFUSED += table(ROWS)
