"""Exports of tools that test language models, and files of published data: as annotations, labels and predictions."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.agreement import Labels
from plausibly.base.errors import AnnotationError, ArgumentError, FileError, PlausiblyWarning
from plausibly.data.annotations import Annotations, Scores, read_annotations, read_metadata
from plausibly.data.labels.predictions import read_models
from plausibly.data.predictions import read_predictions
from tests.exports import (
    DEEPEVAL,
    INSPECT,
    LANGFUSE,
    LM_EVAL,
    MLFLOW,
    PHOENIX,
    assessment,
    component,
    grade,
    lines,
    output,
    promptfoo,
    sample,
)
from tests.test_app.test_cli.run import refuse, succeed

TONE = {"t1": {"u1": "kind", "EVAL": "rude"}, "t2/o1": {"EVAL": "kind"}}
SPANS = {"s1": {"u1": "kind", "LLM": "rude"}, "s2": {"LLM": "kind"}}
FLAT = [{k: v for k, v in one.items() if k != "result"} | one["result"] for one in PHOENIX]
FRAME = [{f"result.{k}": v for k, v in one["result"].items()} | {**one, "annotation_name": "tone"} for one in PHOENIX]
PASS, FAIL = {"promptfoo": "pass"}, {"promptfoo": "fail"}
MARKED = output(0, component(True, "is-json"), component(False, "human"), success=False)
PEOPLE = {who: {str(case): "a" for case in range(20)} for who in ("ann", "bob")}
READ = [  # name of the file, content, labels by case and rater
    ("log.json", INSPECT, {"a": {"match": "C", "judge": "I"}, "b": {"match": "I", "judge": "P"}}),
    ("r.json", promptfoo(output(0, component(True, "x")), output(1, success=False)), {"test 0": PASS, "test 1": FAIL}),
    ("r.json", promptfoo(MARKED), {"test 0": {"human": "fail", "promptfoo": "pass"}}),
    (
        "r.json",
        promptfoo(output(0, provider="m"), output(0, provider="n", success=False)),
        {"test 0, m": PASS, "test 0, n": FAIL},
    ),
    (".latest_test_run.json", DEEPEVAL, {"t0": {"gpt-4o": "pass", "claude": "fail"}, "t1": {"claude": "pass"}}),
    ("s.jsonl", lines(*LM_EVAL), {"0": {"strict": "1", "flexible": "1"}, "1": {"strict": "0", "flexible": "1"}}),
    ("traces.json", MLFLOW, {"tr-1": {"ann@x.org": "yes", "gpt": "no", "bob@x.org": "yes"}}),
    ("scores.json", {"data": LANGFUSE, "meta": {"page": 1}}, TONE),
    ("scores.csv", pd.DataFrame(LANGFUSE).to_csv(index=False), TONE),
    ("spans.json", {"data": PHOENIX, "next_cursor": None}, SPANS),
    ("spans.jsonl", lines(*FLAT), SPANS),
    ("spans.csv", pd.DataFrame(FLAT).to_csv(index=False), SPANS),
    ("spans.csv", pd.DataFrame(FRAME).drop(columns=["result", "name"]).to_csv(), SPANS),
    ("humans.json", PEOPLE, {str(case): {"ann": "a", "bob": "a"} for case in range(20)}),
]


@pytest.mark.filterwarnings("ignore::plausibly.errors.PlausiblyWarning")
@pytest.mark.parametrize(("file", "content", "expected"), READ)
def test_each_is_recognised_and_its_raters_are_annotators(tmp_path, file, content, expected):
    (tmp_path / file).write_text(content if isinstance(content, str) else json.dumps(content))
    found = read_annotations(tmp_path / file)
    assert {case: found.rankings(case) for case in found.cases.tolist()} == {
        case: {who: [[label]] for who, label in said.items()} for case, said in expected.items()
    }
    assert not found.anonymous
    labels = Labels.of(tmp_path / file)
    assert set(labels.annotators) == set(found.annotators)
    assert len(labels) == found.n_annotations


def write_archive(path, log):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({name: log[name] for name in ("version", "eval")}))
        for one in log["samples"]:
            archive.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
    return path


def test_an_archive_of_inspect_is_read_as_its_json(tmp_path):
    (tmp_path / "log.json").write_text(json.dumps(INSPECT))
    path = write_archive(tmp_path / "log.eval", INSPECT)
    assert read_annotations(path) == read_annotations(tmp_path / "log.json")
    assert read_metadata(path).loc["a"].to_dict() == {"sample": "a", "epoch": 1, "target": "B"}
    failed = INSPECT | {"samples": [*INSPECT["samples"], {"id": "c", "epoch": 1, "target": "A", "error": {}}]}
    with pytest.warns(PlausiblyWarning, match=r"log\.eval: left out: 2 verdicts without a value"):
        assert read_annotations(write_archive(path, failed)).cases.tolist() == ["a", "b"]
    twice = INSPECT | {"samples": [sample("a", "B", epoch, match=grade("C")) for epoch in (1, 2)]}
    assert read_annotations(write_archive(path, twice)).cases.tolist() == ["a, epoch 1", "a, epoch 2"]
    for content, words in ((b"PK\x03\x04", "no .eval archive or truncated"), (b"", "the file is empty")):
        path.write_bytes(content)
        with pytest.raises(FileError, match=words):
            read_annotations(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("samples/1.json", "{}")
    with pytest.raises(FileError, match=r"log\.eval: the archive has no header\.json"):
        read_annotations(path)


def test_of_several_questions_one_is_chosen(tmp_path):
    path = tmp_path / "log.json"
    mixed = INSPECT | {"samples": [sample("a", "B", match=grade("C", "B"), length=grade(12), tone=grade({"kind": 1}))]}
    path.write_text(json.dumps(mixed))
    with pytest.raises(AnnotationError, match=r"several questions, 'correct', 'length', 'tone/kind'; choose one with"):
        read_annotations(path)
    assert read_annotations(path, control="match").rankings("a") == {"match": [["C"]]}
    assert read_annotations(path, control="answer").rankings("a") == {"openai/gpt-4o": [["B"]]}
    assert read_annotations(path, control="target").rankings("a") == {"target": [["B"]]}
    scores = read_annotations(path, control="length")
    assert isinstance(scores, Scores)
    assert scores.of_case("a") == {"length": 12}
    with pytest.raises(AnnotationError, match="no question 'colour'; choose from 'correct', 'length'"):
        read_annotations(path, control="colour")
    result = refuse("audit", path)
    assert "plausibly convert FILE NEW.csv --control NAME" in result.output
    assert "1 case" in succeed("convert", path, tmp_path / "new.csv", "--control", "match").output
    assert (tmp_path / "new.csv").read_text().splitlines()[1] == "a,match,C,1"
    assert succeed("audit", path, "--control", "match").exit_code == 0
    several = promptfoo(output(0, component(True, "is-json"), component(False, "llm-rubric", "tone")))
    path.write_text(json.dumps(several))
    with pytest.raises(AnnotationError, match="several questions, 'success', 'is-json', 'tone'"):
        read_annotations(path)
    assert read_annotations(path, control="tone").rankings("test 0") == {"tone": [["fail"]]}


def test_numbers_are_scores_and_further_columns_are_kept(tmp_path):
    rows = [{"traceId": f"t{n}", "name": "quality", "value": n / 2, "dataType": "NUMERIC"} for n in range(4)]
    path = tmp_path / "scores.csv"
    pd.DataFrame([one | {"source": "API", "stringValue": ""} for one in rows]).to_csv(path, index=False)
    assert read_annotations(path).score.tolist() == [0, 0.5, 1, 1.5]
    assert Labels.of(path).values.tolist() == [0, 0.5, 1, 1.5]
    (tmp_path / "run.json").write_text(json.dumps(DEEPEVAL))
    with pytest.warns(PlausiblyWarning, match=r"run\.json: left out: 1 verdicts without a value"):
        read_annotations(tmp_path / "run.json")
    with pytest.warns(PlausiblyWarning, match=r"left out: 1 verdicts without a value"):
        assert Labels.of(tmp_path / "run.json", columns=["score"]).columns["score"].tolist() == [0.75] * 3
    traces = [{"trace_id": "p", "assessments": [assessment("ok", "default", True)]}]
    traces[0]["assessments"][0]["expectation"] = traces[0]["assessments"][0].pop("feedback")
    (tmp_path / "run.json").write_text(json.dumps(traces))
    assert read_annotations(tmp_path / "run.json").rankings("p") == {"LLM_JUDGE": [["True"]]}


def test_predictions_are_the_answers_that_are_classes(tmp_path):
    people = Annotations.from_rankings({"cases": {"a": {"ann": [["B"]]}, "b": {"ann": [["A"]]}}})
    path = tmp_path / "log.json"
    path.write_text(json.dumps(INSPECT | {"samples": [one | {"target": "?"} for one in INSPECT["samples"]]}))
    assert read_predictions(path, people).tolist() == [[0, 1], [0, 1]]  # the model's answers
    graded = Annotations.from_rankings({"cases": {"a": {"ann": [["C"]]}, "b": {"ann": [["I"]]}}}, classes="CIP")
    with pytest.raises(
        pb.PlausiblyError, match=r"log\.json: there are verdicts of 'match', 'judge', and predictions are"
    ):
        read_predictions(path, graded)
    only = [one | {"scores": {"match": one["scores"]["match"]}} for one in INSPECT["samples"]]
    path.write_text(json.dumps(INSPECT | {"samples": only}))
    assert read_predictions(path, graded).tolist() == [[1, 0, 0], [0, 1, 0]]  # the only scorer's grades
    said = read_models({"m": path}, Labels.of({"a": {"ann": "C"}, "b": {"ann": "I"}}), np.array([True, True]))
    assert said["m"].values.tolist() == ["C", "I"]
    with pytest.raises(pb.PlausiblyError, match="no question has answers that are all among 'x', 'y'"):
        read_predictions(path, Annotations.from_counts([[1, 0], [0, 1]], classes=["x", "y"], cases=["a", "b"]))
    (tmp_path / "llm.json").write_text(json.dumps({"b": "I", "a": "P"}))
    assert read_predictions(tmp_path / "llm.json", graded).tolist() == [[0, 0, 1], [0, 1, 0]]
    choice = {"doc_id": 0, "target": 1, "resps": [], "filtered_resps": [[-3.0, False], [-1.0, True]], "acc": 1.0}
    (tmp_path / "samples.jsonl").write_text(lines(choice))
    people = Annotations.from_rankings({"cases": {"0": {"ann": [["0"]]}}}, classes="01")
    with pytest.raises(pb.PlausiblyError, match="more than one question, 'acc', 'answer', has answers"):
        read_predictions(tmp_path / "samples.jsonl", people)
    (tmp_path / "llm.json").write_text('{"0": "2"}')
    with pytest.raises(pb.PlausiblyError, match=r"llm\.json: row 1: 2 is none of the classes 0, 1"):
        read_predictions(tmp_path / "llm.json", people)


def test_files_of_counts_have_anonymous_annotators(tmp_path):
    path = tmp_path / "chaos.jsonl"
    nli = {
        "uid": "1n",
        "label_counter": {"e": 2, "c": 1},
        "label_count": [2, 0, 1],
        "old_label": "e",
        "old_labels": ["e"],
    }
    path.write_text(lines(nli, nli | {"uid": "2n", "label_counter": {"n": 3}}))
    expected = Annotations.from_counts([[1, 2, 0], [0, 0, 3]], classes=["c", "e", "n"], cases=["1n", "2n"])
    assert read_annotations(path) == expected
    assert read_metadata(path).loc["1n", "old_label"] == "e"
    path = tmp_path / "counts.json"
    path.write_text(json.dumps({"1n": {"e": 2, "c": 1}, "2n": {"n": 3}}))
    assert read_annotations(path, classes=["c", "e", "n"]) == expected
    assert read_annotations(path, layout="nested-counts") == expected
    assert read_annotations(path).n_annotations == 3  # else a number is what an annotator says
    succeed("convert", path, tmp_path / "new.csv", "--from", "nested-counts", "--as", "counts")
    with pytest.warns(PlausiblyWarning, match="'total' is the sum of the others"):
        assert read_annotations(tmp_path / "new.csv") == expected
    assert "24 checks found nothing" in succeed("audit", path, "--from", "nested-counts").output
    assert "checks found nothing" not in succeed("audit", path).output


def test_a_format_can_be_named(tmp_path):
    path = tmp_path / "humans.json"
    path.write_text(json.dumps({"ann": {"p": "a", "q": "b"}, "bob": {"p": "b"}}))
    assert read_annotations(path).cases.tolist() == ["ann", "bob"]
    found = read_annotations(path, layout="alt-test")
    assert found.rankings("p") == {"ann": [["a"]], "bob": [["b"]]}
    many = {who: {str(case): "a" for case in range(20)} for who in ("ann", "bob")}
    path.write_text(json.dumps(many))
    with pytest.warns(
        PlausiblyWarning, match=r"taken for {annotator: {case: label}}, of which 'ann' is an annotator; if"
    ):
        assert read_annotations(path).n_cases == 20
    assert read_annotations(path, layout="nested").n_cases == 2
    assert Labels.of(many).cases.tolist() == ["ann", "bob"]  # in memory, it is always {case: {annotator: label}}
    with pytest.raises(ArgumentError, match=r"there is no format 'alttest': did you mean 'alt-test'\?"):
        read_annotations(path, layout="alttest")
    (tmp_path / "a.csv").write_text("1,2\n")
    with pytest.raises(FileError, match=r"the format 'chaos-nli' is in files that end in \.json, \.jsonl; name such"):
        read_annotations(tmp_path / "a.csv", layout="chaos-nli")
