"""Commands and sweeps that are refused: with status 2 and one sentence, before anything is computed or written."""

import atexit
import re
import shlex
import shutil
import tempfile
from contextlib import chdir
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.agreement import Labels
from plausibly.app import plots
from plausibly.app.cli._groups import read_by, read_column
from plausibly.base.errors import AnnotationError, ArgumentError, PlausiblyError, PredictionError
from plausibly.data.labels import read_gold
from tests import worlds
from tests.refused import each, refused
from tests.test_app.test_cli.run import refuse


@cache
def files() -> Path:
    """A simulated study, labels with confidence, labels of two classes, boxes, posteriors; made by the first row."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    worlds.write_study(folder)
    rows = [(case, who, 1, 1 + case % 5) for case in range(10) for who in ("ann", "bob")]
    pd.DataFrame(rows, columns=["case", "annotator", "label", "confidence"]).to_csv(folder / "labels.csv", index=False)
    pd.DataFrame({"case": range(10), "label": 1}).to_csv(folder / "model.csv", index=False)
    pd.DataFrame({"case": range(10), "score": 0.5}).to_csv(folder / "scores.csv", index=False)
    rows = [(f"p{case}", f"r{who}", ["benign", "malignant"][who % 2]) for case in range(6) for who in range(3)]
    pd.DataFrame(rows, columns=["case", "annotator", "class"]).to_csv(folder / "two.csv", index=False)
    pd.DataFrame({"case": [f"p{case}" for case in range(6)], "score": 0.5}).to_csv(folder / "a.csv", index=False)
    boxes = [(case, f"annotator {who}", f"[[0, 0, {who}, 2]]") for case in (1, 2) for who in (1, 2)]
    pd.DataFrame(boxes, columns=["case", "annotator", "label"]).to_csv(folder / "boxes.csv", index=False)
    (folder / "patients.csv").write_text("case,annotator,class,patient\np,ann,a,1\np,bob,b,1\nq,ann,a,2\n")
    (folder / "data.csv").write_text("case,image\n0,x.jpg\n")
    pb.save(pb.aggregate(pb.read_annotations(folder / "annotations.json"), "irn", progress=False), folder / "irn.nc")
    pb.save(worlds.counts().posterior, folder / "counts.nc")
    return folder


def computed(*given: Any, **options: Any) -> None:
    raise AssertionError("something was computed")


def command(words: str) -> None:
    """Run a command among the files; its only sentence is raised."""
    before = [path for path in files().rglob("*") if path.is_file()]
    with pytest.MonkeyPatch.context() as patch, chdir(files()):
        patch.setattr("plausibly.aggregation.sweeps._plan.aggregate", computed)
        patch.setattr(import_module("plausibly.app.cli._compare"), "evaluate", computed)
        result = refuse(*shlex.split(words))
    assert result.output.count("Error: ") <= 1, result.output
    assert "Traceback" not in result.output
    assert {path for path in files().rglob("*") if path.is_file()} == {*before}
    raise PlausiblyError(" ".join(result.output.split()))


def commands(start: str, rows: dict[str, str]) -> list:
    """Rows of a command, by what its sentence says, with its further words."""
    return [
        refused(f"{start} {more}", partial(command, f"{start} {more}"), re.escape(said)) for said, more in rows.items()
    ]


TWICE = "annotations.json --model prirn@3 --model prirn@3:class_prior=predictions"
AB = "--predictions A=predictions-A.csv --predictions B=predictions-B.csv"

REFUSED = commands(
    "evaluate annotations.json",
    {
        "there is no model 'prirm': did you mean 'prirn'?": "--model prirm@3",
        "or name a Python file": "--model ''",
        "the reliabilities of --model 'prirn@ten' must be numbers separated by commas": "--model prirn@ten",
        "reliability must be": "--model prirn@0",
        "irn has no reliability, but 3.0 was given": "--model irn@3",
        "prirn@3 is given 2 times": "--model prirn@3,3",
        "none of the models accepts --mode temper": "--model irn --mode temper",
        "--predictions must be NAME=FILE, but 'a.csv' was given": "--predictions a.csv",
        "--predictions A was given twice ('a' and 'b')": "--predictions A=a --predictions A=b",
        "nowhere.csv: the file does not exist; check the path": "--predictions A=nowhere.csv",
        "--k must be whole numbers separated by commas, but '1,x' was given": "--k 1,x",
        "k must be a whole number between 1 and the number of classes, 6, but 7 was given": "--k 7",
        "nowhere.txt: the file does not exist; check the path": "--risks nowhere.txt",
        "/proc/results cannot be written": "--out /proc/results",
        "but -1 was given: write 0": "--seed -1",
        "at least 4, but 0 was given: write 250": "--model prirn --draws 0",
    },
)

REFUSED += commands(
    "evaluate annotations.json",
    {
        "or name a Python file": "--model @",
        "nowhere.txt: the file does not exist; check the path": "--classes nowhere.txt",
    },
)

REFUSED += commands(
    "aggregate annotations.json",
    {
        "--model takes one reliability here, but 'prirn@1,3' was given": "--model prirn@1,3",
        "does not accept --draws 9": "--model irn --draws 9",
        "holds something other than a posterior": "--out ..",
    },
)

REFUSED += commands(
    "aggregate annotations.json --infer-reliability dataset",
    {
        "--model 'plackett-luce@3' gives one": "--model plackett-luce@3",
        "under --model plackett-luce alone, but 'prirn'": "--model prirn",
        "not a probability of the annotations": "--mode power",
        "--infer-reliability does not accept --ties full": "--ties full",
    },
)

REFUSED += commands(
    "sweep annotations.json",
    {
        "a sweep ranks classifiers, but no --predictions were given": "",
        "--metric must be one of top1_accuracy, ": f"{AB} --metric top9_accuracy",
    },
)

REFUSED += commands(
    "simulate",
    {
        "n_cases must be a whole number of at least 1, but 0": "--cases 0",
        "--qualities must be numbers separated by commas, but 'good' was given": "--qualities good",
        "seed must be a whole number from 0 to 4294967295, but -1 was given": "--seed -1",
        "A quality lies between 0 and 1, but classifier 'A' has 1.5": "--qualities 1.5",
    },
)

REFUSED += commands(
    "judge",
    {
        "nothing to compare with the annotators: give --predictions NAME=FILE": "labels.csv",
        "labels.csv: the table has no": "labels.csv --predictions A=model.csv --by x",
        "epsilon must lie between 0 and 1": "labels.csv --predictions A=model.csv --epsilon 2",
    },
)

REFUSED += commands(
    "discrepancy",
    {
        "nothing to compare with the annotators: give --predictions NAME=FILE": "labels.csv",
        "--predictions must be NAME=FILE, but 'a.csv'": "labels.csv --predictions a.csv",
        "--scores must be NAME=FILE, but 'a.csv'": "labels.csv --scores a.csv",
        "the model 'A' has both": "labels.csv --scores A=a --predictions A=a",
        "--distance squared was": "labels.csv --scores A=scores.csv --distance squared",
        "no.csv: the file does not exist": "labels.csv --predictions A=no.csv",
        "there is no distance 'x'": "labels.csv --predictions A=model.csv --distance x",
        "labels.csv: the table has": "labels.csv --predictions A=model.csv --clusters x",
    },
)

REFUSED += commands(
    "discrepancy",
    {
        "no.csv: the file does not exist": "no.csv --predictions A=model.csv",
    },
)

REFUSED += commands(
    "reliability",
    {
        "the confidence is 2, outside 0 to 1; give --scale": "labels.csv",
        "--scale must be LOW,HIGH or LEVEL=CONFIDENCE": "labels.csv --scale high",
        "no.csv: the file does not exist": "labels.csv --scale 1,5 --competence no.csv",
        "--draws is for the Rasch model, but": "labels.csv --competence 0.9 --draws 9",
        "competence must be one of one-coin": "labels.csv --scale 1,5 --competence rash",
        "--competence known needs the true labels": "labels.csv --competence known",
    },
)

REFUSED += commands(
    "agreement",
    {
        "none.csv: the file does not exist": "none.csv",
        "with several files each is NAME=FILE, but 'a.csv' was given": "a.csv --labels bob=b.csv",
        "there is no distance 'box_oui': did you mean 'box_iou'": "boxes.csv --distance box_oui",
        "there is no preset '2022'": "boxes.csv --preset 2022",
        'cross must be "auto"': "boxes.csv --cross some",
        "seed must be a whole number from 0": "boxes.csv --seed -1",
        "--labels must be NAME=FILE, but 'ann=' was given": "ann= --labels bob=b.csv",
        "--labels bob was given twice": "bob=a.csv --labels bob=b.csv",
        "--replicates must be 0, or 2 or more": "boxes.csv --replicates 1",
        "row 1 (case '1', annotator 'annotator 1'): a span is (start, end, tag)": "boxes.csv --distance spans",
    },
)

REFUSED += commands(
    "agreement",
    {
        'cross must be "auto"': "boxes.csv --cross '²'",
    },
)

REFUSED += commands(
    "conformal annotations.json --predictions A=predictions-A.csv --target annotator",
    {
        "alpha must lie between 0 and 1": "--alpha 2",
        "--alpha must be numbers": "--alpha x",
        "has no match in --predictions (A)": "--new C=new.csv",
        "--new-by goes with --by FILE": "--new-by g.csv",
        "nothing.csv": "--by nothing.csv",
        "needs the risk of each class": "--by risk",
        "samples must be": "--samples 0",
        "splits must be": "--splits -1",
    },
)

REFUSED += commands(
    "plan counts.nc",
    {
        "needs the predictions": "--goal width",
        "nowhere.txt": "--candidates nowhere.txt",
        "has no 'cost'": "--costs data.csv",
        "NAME=FILE": "--predictions A",
    },
)

REFUSED += commands(
    "compare-models",
    {
        "there are no predictions: add --predictions A=a.csv": TWICE,
        "a comparison needs two models, but 1 was": "annotations.json --model prirn@3",
        "folds must be a whole number": "annotations.json --folds 0 --model prirn",
        "of whole rankings": "annotations.json --model prirn --observation ranking",
        "none.json": "none.json --model prirn",
    },
)

REFUSED += commands(
    "compare",
    {
        "a comparison needs two classifiers, but 1 was given": "irn.nc --predictions A=predictions-A.csv",
        "metric 'top9_accuracy' cannot be computed": f"irn.nc {AB} --metric top9_accuracy",
        "No such option: --model": "irn.nc --model prirn",
        "none.nc does not exist": f"none.nc {AB}",
    },
)

REFUSED += commands(
    "evaluate two.csv --predictions A=a.csv --positive malignant --truth annotator",
    {
        "--truth annotator fits no model, but --model was given": "--model irn",
        "--truth annotator fits no model, but --annotations-only was given": "--annotations-only",
        "--truth annotator fits no model, but --one-truth was given": "--one-truth",
        "--truth annotator fits no model, but --risks was given": "--risks r.txt",
        "--truth annotator fits no model, but --k was given": "--k 1",
        "--truth annotator fits no model, but --draws was given": "--draws 9",
    },
)

REFUSED += commands(
    "evaluate two.csv --predictions A=a.csv --positive malignant --truth annotator",
    {
        "--require must be METRIC>=VALUE@PROBABILITY (or >, <=, <), but 'auroc=0.9' was given": "--require auroc=0.9",
        "the value of --require 'auroc>=high' must be numbers": "--require 'auroc>=high'",
        "must have one finite number as its value": "--require 'auroc>=nan'",
        "the probability of --require 'auroc>=0.9@95' must lie between 0 and 1": "--require 'auroc>=0.9@95'",
        "names the classifier 'C', but --predictions name 'A'": "--require 'C:auroc>=0.9'",
        "'binary' is a group of metrics, a curve, or has a value for each class": "--require 'binary>=0.9'",
        "there is no metric 'precision': choose for example from ppv.": "--require 'precision>=0.9'",
        "no --threshold-from was given": "--threshold-at sensitivity=0.9",
        "--panel 5 is for --truth panel, but --truth is annotator": "--panel 5",
    },
)

REFUSED += commands(
    "evaluate two.csv --predictions A=a.csv --positive malignant --truth annotator",
    {
        "there is no metric 'precision': choose for example from ppv.": "--metrics precision",
    },
)

SCORES = {"A": np.eye(3)[[0, 1, 2, 0, 1, 2, 0, 1]], "B": np.eye(3)[[0, 0, 0, 0, 1, 1, 1, 1]]}


def swept(change):
    """A sweep of eight cases and three classes."""
    rankings = [[[["a"], ["b"]], [["a", "b"]]], [[["b"]], [["c"], ["a"]]], [[["c"]]], [[["a"]], [["b"]], [["c"]]]]
    annotations = pb.Annotations.from_rankings(rankings * 2, classes=["a", "b", "c"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plausibly.aggregation.sweeps._plan.aggregate", computed)
        pb.sweep(annotations, **({"predictions": SCORES, "models": {"prirn": (10,)}, "progress": False} | change))


REFUSED += each(
    swept,
    {
        "needs a model": ({"models": {}},),
        "models must be names, or a mapping to reliabilities, but 'prirn' was given": ({"models": "prirn"},),
        "reliabilities of prirn must be a list of numbers, but 10 was": ({"models": {"prirn": 10}},),
        "must be a list of numbers, but '10' was given": ({"models": {"prirn": "10"}},),
        "irn has no reliability, but 10 was given": ({"models": {"irn": 10}},),
        "two classifiers have the name '1'": ({"predictions": {1: SCORES["A"], "1": SCORES["B"]}},),
        "predictions must be a mapping from the names of classifiers": ({"predictions": SCORES["A"]},),
        r"reliabilities of prirn must be a list of numbers, but \(\) was": ({"models": {"prirn": ()}},),
        "prirn@1 is given 2 times": ({"models": {"prirn": (1, 1.0)}},),
        "reliability must be": ({"models": {"irn": None, "prirn": (10, -1)}},),
        "irn has no reliability, but 3": ({"models": {"irn": (3,)}},),
        "there is no model 'prine'": ({"models": {"prine": (3,)}},),
        "none of the models accepts draws=9": ({"models": {"irn": None}, "draws": 9},),
        "none of the models accepts mode='temper'": ({"mode": "temper"},),
        "ties must be one of split, full": ({"ties": "half"},),
        "k must be a whole number between 1 and the number of classes, 3": ({"k": (1, 4)},),
        "k must name the length of a list": ({"k": ()},),
        "sizes must name one": ({"sizes": ()},),
        "sizes must be a whole number between 1 and the number of classes, 3": ({"sizes": (1, 4)},),
        "break_ties must be": ({"break_ties": "best"},),
        r"weights of a sweep must have the shape \(case,\), \(8,\)": ({"weights": np.ones((5, 8))},),
        "a metric must be a function": ({"metrics": {"own": 3}},),
        "seed must be a whole number": ({"seed": -1},),
    },
    error=ArgumentError,
)

REFUSED += each(
    swept,
    {
        "reliability must be": ({"models": {"prirn": ("x",)}},),
    },
    error=ArgumentError,
    what="swept again",
)

REFUSED += each(
    swept,
    {
        "takes one label per annotation": ({"models": {"prirn": (1,), "dirichlet-categorical": (1,)}},),
        "2 risks for 3 classes": ({"risks": [0, 1]},),
    },
    error=AnnotationError,
)

REFUSED += each(
    swept,
    {
        "2 rows for 8 cases": ({"predictions": {"A": np.ones((2, 3))}},),
    },
    error=PredictionError,
)

REFUSED += each(
    lambda source: pb.sweep(source, SCORES, {"irn": None}, progress=False),
    {r"a sweep needs Annotations, but 'a\.json' was given: read them with": ("a.json",)},
    error=ArgumentError,
    what="a sweep of a file",
)
REFUSED += each(
    lambda name: read_column(name, files() / "patients.csv"),
    {
        "--clusters must be a file .* or a column of the .*, but 'nobody' is not a file": ("nobody",),
        "case 'p' has two values of class, 'a' and 'b': a case belongs to one": ("class",),
    },
    what="clusters",
)
REFUSED += each(
    lambda names: read_by(names, files() / "patients.csv"),
    {
        "--by must name columns .* but 'sites' is neither: choose from patient": ("sites",),
        "case 'p' has two values of class": ("class",),
        "--by names the column 'patient' twice": ("patient,patient",),
        "--by must name a column or a file": (" , ",),
    },
    what="groups",
)


def gold(source, said=("a", "b")):
    return read_gold(source, Labels.of(dict(zip("pqr", ({"ann": one, "bob": one} for one in said), strict=False))))


REFUSED += each(
    gold,
    {
        "gold labels: case 'p' has 2 gold labels; keep one": ([("p", "a"), ("p", "b")],),
        "none of 1 gold labels belongs to a case: they are of 'x', and cases are called 'p'": ({"x": "a"},),
        "row 1 .case 'p'.: the label is missing; fill it": ({"p": None},),
        "the annotators' labels are text, such as 'a', and the predictions are numbers": ({"p": 1},),
        "gold labels have 'A' beside 'a', which differs only in capitals, .*alike": ({"p": "A", "q": "b"},),
        "gold labels have ' a' beside 'a', which differs": ({"p": " a", "q": "b"},),
        "gold labels are '1', '0', and classes are called 'a', 'b'; write classes alike": ({"p": "1", "q": "0"},),
        "gold labels have 'yes' beside '1', which may": ({"p": "1", "q": "0", "r": "no"}, ("yes", "no", "yes")),
    },
    error=PredictionError,
)
MISSING = pd.DataFrame({"case": ["p"], "annotator": ["ann"], "class": [None]})
REFUSED += each(pb.audit, {r"row 1.*the cell in column 'class' is missing": (MISSING,)}, error=AnnotationError)
REFUSED += [
    refused("an audit of a list", lambda: pb.audit(worlds.labels().annotations, [[1]]), "must be a mapping"),
    refused("an audit of a number", lambda: pb.audit(3), "a data frame, a path, a mapping or a list of rows, got 3"),
]


def draw(name):
    return getattr(plots, name)(worlds.labels().results)


REFUSED += [
    refused(f"no {name}", partial(draw, name), f'"{name}"' + r"\] to eval")
    for name in ("roc_curve", "precision_recall_curve", "decision_curve", "calibration_curve")
]
REFUSED += [
    refused("no confusion", lambda: plots.confusion_matrix(worlds.labels().results), "there is no metric 'confusion'")
]
