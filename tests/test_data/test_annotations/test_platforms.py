"""Files of crowdsourcing platforms and annotation tools, as these export them: read without any option."""

import csv
import io
import json
from contextlib import nullcontext

import pandas as pd
import pytest

import plausibly as pb
from plausibly.base.errors import AnnotationError, PlausiblyWarning
from plausibly.data.annotations.views import as_table
from tests.exports import CROWDFLOWER, DOCCANO_CSV, LABEL_STUDIO_MIN, MTURK, TOLOKA, ZOONIVERSE

LABELS = {("p", "a"): "x", ("p", "b"): "y", ("q", "a"): "x", ("q", "b"): "x"}


def saved(folder, name, rows, sep=","):
    """Write records as a table, or as JSON."""
    path = folder / name
    if name.endswith(".json"):
        path.write_text(json.dumps(rows))
    elif name.endswith(".parquet"):
        pd.DataFrame(rows).to_parquet(path)
    else:
        pd.DataFrame(rows).to_csv(path, index=False, sep=sep)
    return path


def said(read):
    """What annotators say of cases, several classes joined."""
    grouped = as_table(read).groupby(["case", "annotator"])["class"]
    return {key: "+".join(sorted(map(str, one))) for key, one in grouped}


def without(rows, *names):
    return [{name: cell for name, cell in row.items() if name not in names} for row in rows]


TOOLS = {
    "mturk": (MTURK, ".csv", "left out: 1 rejected assignments"),
    "toloka": (TOLOKA, ".tsv", "left out: 1 answers to tasks with a known answer, 1 rejected assignments"),
    "crowdflower": (CROWDFLOWER, ".csv", "left out: 1 judgments of test questions, 1 judgments of workers who failed"),
    "zooniverse": (ZOONIVERSE, ".csv", "left out: 1 classifications without an answer"),
    "label-studio-min": (LABEL_STUDIO_MIN, ".csv", "read from 'tone', the only column that differs"),
}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("more", ["as it is", "a further column", "in Parquet", "in a workbook"])
def test_an_export_is_read_without_options(tmp_path, tool, more):
    rows, suffix, told = TOOLS[tool]
    rows = [{**row, "remark": "none"} for row in rows] if more == "a further column" else rows
    name = f"a{'.parquet' if more == 'in Parquet' else suffix}"
    path = saved(tmp_path, name, rows, "\t" if suffix == ".tsv" else ",")
    if more == "in a workbook":
        path = tmp_path / "a.xlsx"
        pd.DataFrame(rows).to_excel(path, index=False)
    with pytest.warns(PlausiblyWarning, match=told):
        read = pb.read_annotations(path)
    assert said(read) == LABELS
    with pytest.warns(PlausiblyWarning, match=told):
        labels = pb.agreement.Labels.of(path)
    names = zip(labels.cases[labels.case], labels.annotators[labels.annotator], strict=True)
    assert dict(zip(names, labels.values, strict=True)) == LABELS


@pytest.mark.parametrize("tool", TOOLS)
def test_one_annotator_and_one_case_are_read(tmp_path, tool):
    rows, suffix, _ = TOOLS[tool]
    control = {"label-studio-min": "tone", "crowdflower": "tone"}.get(tool)
    path = saved(tmp_path, f"a{suffix}", rows[:1], "\t" if suffix == ".tsv" else ",")
    assert said(pb.read_annotations(path, control=control)) == {("p", "a"): "x"}


@pytest.mark.parametrize(("tool", "change", "second"), [
    ("mturk", {"Answer.quality": [3, 4, 5, 5, 1]}, "quality"),
    ("toloka", {"OUTPUT:quality": [3, 4, 5, 5, 1, 1]}, "quality"),
    ("crowdflower", {"quality": [3, 4, 5, 5, 1, 1], "quality_gold": [""] * 6}, "quality"),
    ("label-studio-min", {"quality": [3, 4, 5, 5]}, "quality"),
])  # fmt: skip
def test_of_several_questions_one_is_chosen(tmp_path, tool, change, second):
    rows, suffix, _ = TOOLS[tool]
    frame = pd.DataFrame(rows).assign(**change)
    path = saved(tmp_path, f"a{suffix}", frame, "\t" if suffix == ".tsv" else ",")
    with pytest.raises(AnnotationError, match=r"several questions, .*'quality'.*--control"):
        pb.read_annotations(path)
    with pytest.warns(PlausiblyWarning, match="left out") if tool != "label-studio-min" else nullcontext():
        read = pb.read_annotations(path, control=second)
    assert said(read) == {("p", "a"): "3", ("p", "b"): "4", ("q", "a"): "5", ("q", "b"): "5"}
    assert read.classes.tolist() == ["3", "4", "5"]


def test_rows_of_mturk_that_end_early_are_read(tmp_path):
    text = io.StringIO()
    names = [*MTURK[0], "Approve", "Reject"]
    rows = [[*row.values()] for row in MTURK]
    csv.writer(text).writerows([names, *rows])
    (tmp_path / "a.csv").write_text(text.getvalue())
    with pytest.warns(PlausiblyWarning) as told:
        assert said(pb.read_annotations(tmp_path / "a.csv")) == LABELS
    assert any("5 rows without the last columns, which are taken for blank" in str(one.message) for one in told)
    text = io.StringIO()
    csv.writer(text).writerows([names, *rows, [*rows[0], "x"]])
    (tmp_path / "a.csv").write_text(text.getvalue())
    with pytest.raises(pb.errors.FileError, match="no table of equally long rows"):
        pb.read_annotations(tmp_path / "a.csv")


@pytest.mark.parametrize(("columns", "question", "expected"), [
    ({"Answer.tone.x": [True, False], "Answer.tone.y": [True, True]}, None, ["x+y", "y"]),
    ({"Answer.tone.label": ["x", "y"]}, "tone", ["x", "y"]),
    ({"Answer.taskAnswers": ['[{"tone": {"label": "x"}}]', '[{"tone": {"label": "y"}}]']}, None, ["x", "y"]),
    ({"Answer.taskAnswers": ['[{"tone": {"x": true, "y": false}}]', '[{"tone": {"x": false, "y": true}}]']}, None,
     ["x", "y"]),
    ({"Answer.taskAnswers": ['[{"tone": {"labels": ["x", "y"]}, "n": "1"}]', '[{"tone": {"labels": ["y"]}}]']}, "tone",
     ["x+y", "y"]),
])  # fmt: skip
def test_answers_of_mturk_in_their_forms(tmp_path, columns, question, expected):
    rows = pd.DataFrame({"HITId": ["h", "h"], "WorkerId": ["a", "b"], **columns})
    read = pb.read_annotations(saved(tmp_path, "a.csv", rows), control=question)
    assert list(said(read).values()) == expected
    assert read.cases.tolist() == ["h"]


def test_inputs_name_the_cases_where_they_tell_them_apart(tmp_path):
    rows = pd.DataFrame({"HITId": ["h1", "h2"], "WorkerId": ["a", "b"], "Answer.tone": ["x", "y"]})
    inputs = {"Input.image_id": ["i", "j"], "Input.text": ["t", "u"]}
    assert pb.read_annotations(saved(tmp_path, "a.csv", rows.assign(**inputs))).cases.tolist() == ["i", "j"]
    inputs["Input.image_id"] = ["i", "i"]
    assert pb.read_annotations(saved(tmp_path, "a.csv", rows.assign(**inputs))).cases.tolist() == ["h1", "h2"]


def test_a_report_without_annotators_is_refused(tmp_path):
    rows = [{"_unit_id": 1, "_golden": False, "_trusted_judgments": 3, "tone": "x", "tone:confidence": 1.0}]
    with pytest.raises(AnnotationError, match=r"aggregated report, .* export the full report"):
        pb.read_annotations(saved(tmp_path, "a.csv", rows))


def zooniverse(*values):
    return [
        {**ZOONIVERSE[0], "user_name": f"u{number}", "annotations": json.dumps(value)}
        for number, value in enumerate(values)
    ]


def test_tasks_of_zooniverse_in_their_forms(tmp_path):
    survey = [{"choice": "LION", "answers": {}}, {"choice": "ZEBRA", "answers": {}}]
    combined = [{"task": "T0", "value": "x"}, {"task": "T1", "value": ["u", "v"]}]
    path = saved(tmp_path, "a.csv", zooniverse([{"task": "T0", "value": survey}]))
    assert said(pb.read_annotations(path)) == {("p", "u0"): "LION+ZEBRA"}
    path = saved(tmp_path, "b.csv", zooniverse([{"task": "T9", "value": combined}], [{"task": "T0", "value": "y"}]))
    with pytest.raises(AnnotationError, match="several questions, 'T0', 'T1'"):
        pb.read_annotations(path)
    assert said(pb.read_annotations(path, control="T0")) == {("p", "u0"): "x", ("p", "u1"): "y"}
    marks = [{"task": "T0", "value": [{"x": 1, "y": 2, "tool": 0}]}]
    with pytest.raises(AnnotationError, match=r"row 1, task T0: the answer is .*no class; choose another question"):
        pb.read_annotations(saved(tmp_path, "c.csv", zooniverse(marks)))
    with pytest.raises(AnnotationError, match=r"row 1: annotations are .*write JSON"):
        pb.read_annotations(saved(tmp_path, "d.csv", zooniverse("none")))


def test_label_studio_as_json_min(tmp_path):
    with pytest.warns(PlausiblyWarning, match="read from 'tone'"):
        assert said(pb.read_annotations(saved(tmp_path, "a.json", LABEL_STUDIO_MIN))) == LABELS
    stars = [
        {**row, "stars": [{"rating": n}], "tags": {"choices": ["u", "v"]}} for n, row in enumerate(LABEL_STUDIO_MIN)
    ]
    for name in ("b.json", "b.csv"):
        path = saved(tmp_path, name, [{k: json.dumps(v) if name == "b.csv" and k in ("stars", "tags") else v
                                       for k, v in row.items()} for row in stars])  # fmt: skip
        with pytest.raises(AnnotationError, match="several questions, 'stars', 'tags', 'tone'"):
            pb.read_annotations(path)
        read = pb.read_annotations(path, control="stars")
        assert [*said(read).values()] == ["0", "1", "2", "3"]
        assert {*said(pb.read_annotations(path, control="tags")).values()} == {"u+v"}
    alone = without([LABEL_STUDIO_MIN[0]], "text")
    with pytest.raises(AnnotationError, match=r"nothing tells the answers .*one of tone, with control="):
        pb.read_annotations(saved(tmp_path, "c.json", alone))


def test_doccano_in_its_forms(tmp_path):
    records = [{"id": 1, "text": "t", "label": ["x"], "Comments": []}, {"id": 2, "text": "u", "label": ["x", "y"]}]
    for name, rows in (("a.json", records), ("a.csv", DOCCANO_CSV)):
        with pytest.warns(PlausiblyWarning, match="doccano does not say whose they are: export a file for each"):
            assert [*said(pb.read_annotations(saved(tmp_path, name, rows))).values()] == ["x", "x+y"]
    folder = tmp_path / "of all"
    folder.mkdir()
    saved(folder, "ann.json", records)
    saved(folder, "bob.csv", DOCCANO_CSV)
    read = pb.read_annotations(folder)
    assert said(read) == {(case, who): label for who in ("ann", "bob") for case, label in (("1", "x"), ("2", "x+y"))}


ARGILLA = {
    "responses of a data set of Argilla 2": {
        "id": ["p", "q"], "status": ["completed"] * 2, "text": ["t", "u"], "tone.responses": [["x", "y"], ["x", "x"]],
        "tone.responses.users": [["a", "b"]] * 2, "tone.responses.status": [["submitted"] * 2] * 2,
    },
    "responses of a data set of Argilla 1": {
        "text": ["t", "u"], "external_id": ["p", "q"], "metadata": ["{}"] * 2, "tone-suggestion": ["x", None],
        "tone": [[{"user_id": who, "value": value, "status": "submitted"}
                  for who, value in zip("ab", values, strict=True)] for values in ("xy", "xx")],
    },
    "lists of fields": {
        "external_id": ["p", "q"], "tone-suggestion": [None, None], "metadata": [None] * 2,
        "tone": [{"user_id": ["a", "b"], "value": list(values), "status": ["submitted"] * 2}
                 for values in ("xy", "xx")],
    },
}  # fmt: skip


@pytest.mark.parametrize("form", ARGILLA)
@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_argilla_in_its_forms(tmp_path, form, suffix):
    rows = pd.DataFrame(ARGILLA[form]).to_dict("records")
    assert said(pb.read_annotations(saved(tmp_path, f"a{suffix}", rows))) == LABELS


def test_text_classification_of_argilla_1(tmp_path):
    rows = [{"id": case, "annotation": label, "annotation_agent": "ann", "prediction": [["x", 0.5]], "status": status}
            for case, label, status in (("p", "x", "Validated"), ("q", "y", "Validated"), ("r", None, "Default"),
                                        ("s", "x", "Discarded"))]  # fmt: skip
    with pytest.warns(PlausiblyWarning, match="1 responses without a value, 1 discarded responses"):
        assert said(pb.read_annotations(saved(tmp_path, "a.json", rows))) == {("p", "ann"): "x", ("q", "ann"): "y"}
