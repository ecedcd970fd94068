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
from tests.refused import Refused, refused, table
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
    worlds.outcomes("pass").to_csv(folder / "outcomes.csv", index=False)
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


def commands(text: str) -> list[Refused]:
    """Rows of commands: a line that begins one, and below it further words, a bar, and what is said of them."""
    rows, start = [], ""
    for line in text.strip().splitlines():
        more, _, said = line.rpartition("| ")
        if said == line:
            start = line
            continue
        words = f"{start} {more.strip()}"
        rows.append(refused(words, partial(command, words), re.escape(said)))
    return rows


TWICE = "annotations.json --model prirn@3 --model prirn@3:class_prior=predictions"
AB = "--predictions A=predictions-A.csv --predictions B=predictions-B.csv"

#: Words of each command, line by line, and what its sentence says.
COMMANDS = f"""
evaluate annotations.json
  --model prirm@3 | there is no model 'prirm': did you mean 'prirn'?
  --model '' | or name a Python file
  --model prirn@ten | the reliabilities of --model 'prirn@ten' must be numbers separated by commas
  --model prirn@0 | reliability must be
  --model irn@3 | irn has no reliability, but 3.0 was given
  --model prirn@3,3 | prirn@3 is given 2 times
  --model irn --mode temper | none of the models accepts --mode temper
  --predictions a.csv | --predictions must be NAME=FILE, but 'a.csv' was given
  --predictions A=a --predictions A=b | --predictions A was given twice ('a' and 'b')
  --predictions A=nowhere.csv | nowhere.csv: the file does not exist; check the path
  --k 1,x | --k must be whole numbers separated by commas, but '1,x' was given
  --k 7 | k must be a whole number between 1 and the number of classes, 6, but 7 was given
  --risks nowhere.txt | nowhere.txt: the file does not exist; check the path
  --out /proc/results | /proc/results cannot be written
  --seed -1 | but -1 was given: write 0
  --model prirn --draws 0 | at least 4, but 0 was given: write 250
  --model @ | or name a Python file
  --classes nowhere.txt | nowhere.txt: the file does not exist; check the path
aggregate annotations.json
  --model prirn@1,3 | --model takes one reliability here, but 'prirn@1,3' was given
  --model irn --draws 9 | does not accept --draws 9
  --out .. | holds something other than a posterior
aggregate annotations.json --infer-reliability dataset
  --model plackett-luce@3 | --model 'plackett-luce@3' gives one
  --model prirn | under --model plackett-luce alone, but 'prirn'
  --mode power | not a probability of the annotations
  --ties full | --infer-reliability does not accept --ties full
sweep annotations.json
  | a sweep ranks classifiers, but no --predictions were given
  {AB} --metric top9_accuracy | --metric must be one of top1_accuracy
simulate
  --cases 0 | n_cases must be a whole number of at least 1, but 0
  --qualities good | --qualities must be numbers separated by commas, but 'good' was given
  --seed -1 | seed must be a whole number from 0 to 4294967295, but -1 was given
  --qualities 1.5 | A quality lies between 0 and 1, but classifier 'A' has 1.5
judge
  labels.csv | nothing to compare with the annotators: give --predictions NAME=FILE
  labels.csv --predictions A=model.csv --by x | labels.csv: the table has no
  labels.csv --predictions A=model.csv --epsilon 2 | epsilon must lie between 0 and 1
discrepancy
  labels.csv | nothing to compare with the annotators: give --predictions NAME=FILE
  labels.csv --predictions a.csv | --predictions must be NAME=FILE, but 'a.csv'
  labels.csv --scores a.csv | --scores must be NAME=FILE, but 'a.csv'
  labels.csv --scores A=a --predictions A=a | the model 'A' has both
  labels.csv --scores A=scores.csv --distance squared | --distance squared was
  labels.csv --predictions A=no.csv | no.csv: the file does not exist
  labels.csv --predictions A=model.csv --distance x | there is no distance 'x'
  labels.csv --predictions A=model.csv --clusters x | labels.csv: the table has
  no.csv --predictions A=model.csv | no.csv: the file does not exist
reliability
  labels.csv | the confidence is 2, outside 0 to 1; give --scale
  labels.csv --scale high | --scale must be LOW,HIGH or LEVEL=CONFIDENCE
  labels.csv --scale 1,5 --competence no.csv | no.csv: the file does not exist
  labels.csv --competence 0.9 --draws 9 | --draws is for the Rasch model, but
  labels.csv --scale 1,5 --competence rash | competence must be one of one-coin
  labels.csv --competence known | --competence known needs the true labels
agreement
  none.csv | none.csv: the file does not exist
  a.csv --labels bob=b.csv | with several files each is NAME=FILE, but 'a.csv' was given
  boxes.csv --distance box_oui | there is no distance 'box_oui': did you mean 'box_iou'
  boxes.csv --preset 2022 | there is no preset '2022'
  boxes.csv --cross some | cross must be "auto"
  boxes.csv --seed -1 | seed must be a whole number from 0
  ann= --labels bob=b.csv | --labels must be NAME=FILE, but 'ann=' was given
  bob=a.csv --labels bob=b.csv | --labels bob was given twice
  boxes.csv --replicates 1 | --replicates must be 0, or 2 or more
  boxes.csv --distance spans | row 1 (case '1', annotator 'annotator 1'): a span is (start, end, tag)
  boxes.csv --cross '²' | cross must be "auto"
conformal annotations.json --predictions A=predictions-A.csv --target annotator
  --alpha 2 | alpha must lie between 0 and 1
  --alpha x | --alpha must be numbers
  --new C=new.csv | has no match in --predictions (A)
  --new-by g.csv | --new-by goes with --by FILE
  --by nothing.csv | nothing.csv
  --by risk | needs the risk of each class
  --samples 0 | samples must be
  --splits -1 | splits must be
plan counts.nc
  --goal width | needs the predictions
  --candidates nowhere.txt | nowhere.txt
  --costs data.csv | has no 'cost'
  --predictions A | NAME=FILE
compare-models
  {TWICE} | there are no predictions: add --predictions A=a.csv
  annotations.json --model prirn@3 | a comparison needs two models, but 1 was
  annotations.json --folds 0 --model prirn | folds must be a whole number
  annotations.json --model prirn --observation ranking | of whole rankings
  none.json --model prirn | none.json
models new
  prrn mine.py | there is no model 'prrn': did you mean 'prirn'?
  prirn mine | FILE must be a Python file, but 'mine' was given
  prirn one_coin.py | would have the name of a built-in model, 'one-coin': write for example
compare
  irn.nc --predictions A=predictions-A.csv | a comparison needs two classifiers, but 1 was given
  irn.nc {AB} --metric top9_accuracy | metric 'top9_accuracy' cannot be computed
  irn.nc --model prirn | No such option: --model
  none.nc {AB} | none.nc does not exist
systems
  outcomes.csv | nothing says which raters are people
  outcomes.csv --people eve | people names 'eve', who is not among the raters
  outcomes.csv --people ann --people-file outcomes.csv | named twice, by --people and by --people-file
  outcomes.csv --people , | people must name at least one rater
  outcomes.csv --people ann --ci-prob 2 | --ci-prob must lie between 0 and 1
  outcomes.csv outcomes.csv --people ann | a second time; keep one
  A=outcomes.csv --people ann | the table names systems itself; give it without the name 'A'
  none.csv --people ann | none.csv: the file does not exist
evaluate two.csv --predictions A=a.csv --positive malignant --truth annotator
  --model irn | --truth annotator fits no model, but --model was given
  --annotations-only | --truth annotator fits no model, but --annotations-only was given
  --one-truth | --truth annotator fits no model, but --one-truth was given
  --risks r.txt | --truth annotator fits no model, but --risks was given
  --k 1 | --truth annotator fits no model, but --k was given
  --draws 9 | --truth annotator fits no model, but --draws was given
  --require auroc=0.9 | --require must be METRIC>=VALUE@PROBABILITY (or >, <=, <), but 'auroc=0.9' was given
  --require 'auroc>=high' | the value of --require 'auroc>=high' must be numbers
  --require 'auroc>=nan' | must have one finite number as its value
  --require 'auroc>=0.9@95' | the probability of --require 'auroc>=0.9@95' must lie between 0 and 1
  --require 'C:auroc>=0.9' | names the classifier 'C', but --predictions name 'A'
  --require 'binary>=0.9' | 'binary' is a group of metrics, a curve, or has a value for each class
  --require 'precision>=0.9' | there is no metric 'precision': choose for example from ppv.
  --threshold-at sensitivity=0.9 | no --threshold-from was given
  --panel 5 | --panel 5 is for --truth panel, but --truth is annotator
  --metrics precision | there is no metric 'precision': choose for example from ppv.
"""
REFUSED = commands(COMMANDS)


SCORES = {"A": np.eye(3)[[0, 1, 2, 0, 1, 2, 0, 1]], "B": np.eye(3)[[0, 0, 0, 0, 1, 1, 1, 1]]}


def swept(change):
    """A sweep of eight cases and three classes."""
    rankings = [[[["a"], ["b"]], [["a", "b"]]], [[["b"]], [["c"], ["a"]]], [[["c"]]], [[["a"]], [["b"]], [["c"]]]]
    annotations = pb.Annotations.from_rankings(rankings * 2, classes=["a", "b", "c"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plausibly.aggregation.sweeps._plan.aggregate", computed)
        pb.sweep(annotations, **({"predictions": SCORES, "models": {"prirn": (10,)}, "progress": False} | change))


def gold(source, said=("a", "b")):
    return read_gold(source, Labels.of(dict(zip("pqr", ({"ann": one, "bob": one} for one in said), strict=False))))


MISSING = pd.DataFrame({"case": ["p"], "annotator": ["ann"], "class": [None]})
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
    refused("no confusion", lambda: plots.confusion_matrix(worlds.labels().results), "there is no metric 'confusion'"),
    refused("a plot of another result", lambda: plots.judgement(pd.DataFrame()), "draws Judgement, but result is of"),
    refused("a plot of a dict", lambda: plots.agreement_histogram(result={}), "draws Agreement, but .* type dict"),
]

ROWS = {
    (swept, ArgumentError): {
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
    (swept, ArgumentError, "swept again"): {
        "reliability must be": ({"models": {"prirn": ("x",)}},),
    },
    (swept, AnnotationError): {
        "takes one label per annotation": ({"models": {"prirn": (1,), "dirichlet-categorical": (1,)}},),
        "2 risks for 3 classes": ({"risks": [0, 1]},),
    },
    (swept, PredictionError): {
        "2 rows for 8 cases": ({"predictions": {"A": np.ones((2, 3))}},),
    },
    (lambda source: pb.sweep(source, SCORES, {"irn": None}, progress=False), ArgumentError, "a sweep of a file"): {
        r"annotations must be an Annotations or Scores, but an object of type str was given: read it with pb.read": (
            "a.json",
        ),
    },
    (lambda name: read_column(name, files() / "patients.csv"), PlausiblyError, "clusters"): {
        "--clusters must be a file .* or a column of the .*, but 'nobody' is not a file": ("nobody",),
        "case 'p' has two values of class, 'a' and 'b': a case belongs to one": ("class",),
    },
    (lambda names: read_by(names, files() / "patients.csv"), PlausiblyError, "groups"): {
        "--by must name columns .* but 'sites' is neither: choose from patient": ("sites",),
        "case 'p' has two values of class": ("class",),
        "--by names the column 'patient' twice": ("patient,patient",),
        "--by must name a column or a file": (" , ",),
    },
    (gold, PredictionError): {
        "gold labels: case 'p' has 2 gold labels; keep one": ([("p", "a"), ("p", "b")],),
        "none of 1 gold labels belongs to a case: they are of 'x', and cases are called 'p'": ({"x": "a"},),
        "row 1 .case 'p'.: the label is missing; fill it": ({"p": None},),
        "the annotators' labels are text, such as 'a', and the predictions are numbers": ({"p": 1},),
        "gold labels have 'A' beside 'a', which differs only in capitals, .*alike": ({"p": "A", "q": "b"},),
        "gold labels have ' a' beside 'a', which differs": ({"p": " a", "q": "b"},),
        "gold labels are '1', '0', and classes are called 'a', 'b'; write classes alike": ({"p": "1", "q": "0"},),
        "gold labels have 'yes' beside '1', which may": ({"p": "1", "q": "0", "r": "no"}, ("yes", "no", "yes")),
    },
    (pb.audit, AnnotationError): {
        r"row 1.*the cell in column 'class' is missing": (MISSING,),
    },
}
REFUSED += table(ROWS)
