"""Files by one annotator each, in every command that reads annotations and in Python."""

import json
import shlex

import pandas as pd
import pytest

import plausibly as pb
from plausibly.agreement import read_labels
from plausibly.base.errors import AnnotationError, FileError
from plausibly.data.annotations.views import as_table
from tests.test_app.test_cli.run import refuse, succeed

SAID = {"ann": "xyxyxyxyxx", "bob": "xyxyxyxyyy", "cy": "xyxyxxxyxy"}
LABELS = {(str(case), who): label for who, said in SAID.items() for case, label in enumerate(said)}


def doccano(labels):
    return [{"id": case, "text": f"t {case}", "label": [one], "Comments": []} for case, one in enumerate(labels)]


WRITERS = {
    "doccano.jsonl": lambda path, labels: path.write_text("\n".join(map(json.dumps, doccano(labels)))),
    "doccano.csv": lambda path, labels: pd.DataFrame(doccano(labels)).assign(label=list(labels)).to_csv(path),
    "table.csv": lambda path, labels: pd.DataFrame({"case": range(10), "label": [*labels]}).to_csv(path, index=False),
    "one more column.xlsx": lambda path, labels: pd.DataFrame(
        {"image_id": range(10), "site": "n", "diagnosis": list(labels)}
    ).to_excel(path, index=False),
    "mapping.json": lambda path, labels: path.write_text(json.dumps(dict(enumerate(labels)))),
    "records.json": lambda path, labels: path.write_text(
        json.dumps([{"case": case, "class": one} for case, one in enumerate(labels)])
    ),
    "named.csv": lambda path, labels: pd.DataFrame(
        {"id": range(10), "annotator": 7, "annotation_id": range(10), "created_at": "", "updated_at": "",
         "lead_time": 1.0, "tone": [f'{{"choices": ["{one}"]}}' for one in labels]}
    ).to_csv(path, index=False),
}  # fmt: skip


def files(folder, writer):
    found = {}
    for who, labels in SAID.items():
        found[who] = str(folder / f"{who} {writer}")
        WRITERS[writer](folder / f"{who} {writer}", labels)
    return found


def said(read):
    table = as_table(read)
    return dict(zip(zip(table["case"], table["annotator"], strict=True), table["class"], strict=True))


@pytest.mark.parametrize("writer", WRITERS)
def test_files_in_every_form_are_put_together(tmp_path, writer):
    given = files(tmp_path, writer)
    assert said(pb.read_annotations(given)) == LABELS
    labels = pb.agreement.Labels.of(given)
    names = zip(labels.cases[labels.case], labels.annotators[labels.annotator], strict=True)
    assert dict(zip(names, labels.values, strict=True)) == LABELS
    one = {"ann": given["ann"]}
    assert said(pb.read_annotations(one)) == {key: label for key, label in LABELS.items() if key[1] == "ann"}


def test_files_in_different_forms_are_put_together(tmp_path):
    given = {who: files(tmp_path, writer)[who] for who, writer in zip(SAID, WRITERS, strict=False)}
    assert said(pb.read_annotations(given)) == LABELS


def test_ranks_and_scores_by_one_annotator_each(tmp_path):
    for who, rows in {"ann": "p,x,1\np,y,2\nq,y,1\n", "bob": "p,y,1\nq,x,1\nq,y,1\n"}.items():
        (tmp_path / f"{who}.csv").write_text(f"case,class,rank\n{rows}")
        (tmp_path / f"{who}-scores.csv").write_text("case,score\np,1.5\nq,2\n")
    read = pb.read_annotations({who: tmp_path / f"{who}.csv" for who in ("ann", "bob")})
    assert read.rankings("p") == {"ann": [["x"], ["y"]], "bob": [["y"]]}
    assert read.rankings("q") == {"ann": [["y"]], "bob": [["x", "y"]]}
    scores = pb.read_annotations({who: tmp_path / f"{who}-scores.csv" for who in ("ann", "bob")})
    assert scores.score.tolist() == [1.5, 1.5, 2, 2]


def test_every_command_reads_them(tmp_path):
    given = files(tmp_path, "doccano.jsonl")
    words = [f"{who}={file}" for who, file in given.items()]
    model = tmp_path / "m.csv"
    pd.DataFrame({"case": range(10), "label": list(SAID["ann"])}).to_csv(model, index=False)
    succeed("convert", *words, tmp_path / "all.csv")
    assert said(pb.read_annotations(tmp_path / "all.csv")) == LABELS
    for source in ([tmp_path / "all.csv"], words, [words[0], "--labels", words[1], "--labels", words[2]]):
        assert "0.628" in succeed("agreement", *source, "--replicates", 0).output
    succeed("audit", *words)
    truth = ["--truth", "annotator", "--predictions", f"m={model}"]
    for name, source in (("whole", [tmp_path / "all.csv"]), ("each", words)):
        succeed("evaluate", *source, *truth, "--quiet", "--quick", "--out", tmp_path / name)
    assert (tmp_path / "whole" / "metrics.csv").read_text() == (tmp_path / "each" / "metrics.csv").read_text()
    refuse("evaluate", *words[:2], *truth, "--quiet", "--quick", "--out", tmp_path / "each")  # of other data
    succeed("discrepancy", *words, "--predictions", f"m={model}", "--replicates", 20)
    succeed("judge", *words, "--predictions", f"m={model}", "--model", "none", "--replicates", 20)
    succeed("reliability", *words, "--competence", 0.9, "--replicates", 20)


@pytest.mark.parametrize(("text", "error", "message"), [
    ("case,annotator,label\np,ann,x\np,bob,y\n", AnnotationError,
     r"b\.csv: this is to be the file of 'bob' alone, .*'ann', 'bob'"),
    ("case,x,y\np,0.5,0.5\n", AnnotationError, r"b\.csv: the columns are 'case', 'x', 'y'; .*case and label"),
    (None, FileError, r"b\.csv: the file does not exist"),
    ("case,class,rank\np,x,best\n", AnnotationError, r"b\.csv: row 1: the rank is 'best'; write a number"),
    ("case,label\np,x\np,y\n", AnnotationError, "case 'p', annotator 'bob'"),
])  # fmt: skip
def test_what_is_not_the_file_of_one_annotator_is_said(tmp_path, text, error, message):
    if text is not None:
        (tmp_path / "b.csv").write_text(text)
    (tmp_path / "a.csv").write_text("case,label\np,x\n")
    with pytest.raises(error, match=message):
        pb.read_annotations({"ann": tmp_path / "a.csv", "bob": tmp_path / "b.csv"})


def test_several_files_need_names(tmp_path):
    given = files(tmp_path, "table.csv")
    told = refuse("evaluate", *given.values()).output
    assert "with several files each is NAME=FILE" in told
    assert "was given twice" in refuse("agreement", f"ann={given['ann']}", f"ann={given['bob']}").output
    with pytest.raises(AnnotationError, match="annotator: label"):
        pb.read_annotations({"ann": 3})


def test_a_file_with_an_equals_sign_in_its_name_is_a_file(tmp_path):
    path = tmp_path / "a=b.csv"
    path.write_text("case,annotator,label\np,ann,x\np,bob,y\nq,ann,x\nq,bob,x\n")
    succeed("audit", path)


def test_labels_of_any_type_by_one_annotator_each(tmp_path):
    given = files(tmp_path, "doccano.jsonl")
    labels = read_labels(given)
    assert len(labels) == 30
    assert labels.annotators.tolist() == [*SAID]


def test_doctor_puts_them_together(tmp_path):
    given = files(tmp_path, "doccano.jsonl")
    words = [f"{who}={file}" for who, file in given.items()]
    model = tmp_path / "m.csv"
    pd.DataFrame({"case": range(10), "label": list(SAID["ann"])}).to_csv(model, index=False)
    found = pb.doctor([*words, model])
    assert "by 3 annotators of 10 cases" in str(found)
    for command in found.commands:
        assert [word for word in shlex.split(command) if word in words] == words
    succeed(*shlex.split(found.commands[0])[1:])
    alone = str(pb.doctor(list(given.values())))
    first = shlex.quote(f"ann doccano={given['ann']}")
    assert f"If each is by one annotator, name them: plausibly doctor {first}" in alone
    assert "the file does not exist" in str(pb.doctor(["ann=none.jsonl"]))
