"""Layouts that outsiders wrote down: read rightly, or refused with the sentence that names what to give."""

import json

import pandas as pd
import pytest

import plausibly as pb
from plausibly.agreement import Labels
from plausibly.base.errors import PlausiblyError, PlausiblyWarning
from plausibly.data.annotations import Annotations
from plausibly.data.audit import tell_doubts

POSTS = "post_id,reply_id,annotator_id,label\n" + "".join(
    f"p{max(n, 1)},r{n},{who},{(n + k) % 2}\n" for n in range(6) for k, who in enumerate("ab")
)
SURVEY = "Timestamp,Email Address,Photo 1,Photo 2\nnow,ann@x.org,1,5\nthen,bob@x.org,,4\n"
MTURK = '"HITId","WorkerId","AssignmentStatus","Input.id","Answer.tone","Approve"\n' + "".join(
    f'"h{n}","w{k}","Submitted","{n}","{tone}"{end}\n'
    for n in range(3)
    for k, (tone, end) in enumerate([("kind", ""), ("rude", ',"x"')])
)


def saved(folder, name, content):
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder / name


@pytest.mark.filterwarnings("ignore::plausibly.errors.PlausiblyWarning")
@pytest.mark.parametrize(
    ("name", "content", "options", "words"),
    [
        ("posts.csv", POSTS, {}, "case='reply_id' \\(--case reply_id\\)"),
        ("survey.csv", SURVEY, {}, "--layout raters-in-rows"),
        ("one.csv", "instance_id,user_id,text,rude\n1,a,Hi,1\n1,b,Hi,0\n", {}, "no column is called label; .*'rude'"),
        ("a.json", [{"data_row": {}, "projects": {}}], {}, "Labelbox"),
        ("a.json", [{"spec": {}, "final_report": {}}], {}, "OpenAI's evals"),
        ("a.json", [{"id": 1, "expert_annotations": [], "turker_annotations": []}], {}, "SummEval"),
        ("a.json", [{"generator_1": "a", "generator_2": "b", "preference": 1}], {}, "plausibly systems"),
        ("annotations.xml", "<annotations/>", {}, "ann=ann.csv bob=bob.csv"),
        ("a.json", {"version": "5.0.1", "shapes": [], "imagePath": "a.jpg"}, {}, "LabelMe"),
        ("a.csv", "ID,RATER,DIAG\n1,1,1\n1,2,2\n2,1,1\n", {}, "'RATER' the annotators, .* which of 'DIAG' is it"),
        ("a.csv", "record_id,reader,f___1,f___2\n1,1,1,0\n1,2,0,1\n", {}, "of a column for each class, name one"),
        ("a.csv", "case,Readers,,\n,ann,bob,cy\np,x,y,x\n", {}, "2 cells without a name, as where cells are merged"),
    ],
)
def test_what_cannot_be_read_says_what_to_give(tmp_path, name, content, options, words):
    path = saved(tmp_path, name, content)
    for read in (pb.read_annotations, Labels.of):
        with pytest.raises(PlausiblyError, match=words):
            read(path, **options)


def test_objects_in_images_are_for_agreement(tmp_path):
    path = saved(tmp_path, "a.json", {"images": [], "annotations": [], "categories": []})
    with pytest.raises(PlausiblyError, match=r"COCO.*--kind boxes"):
        pb.read(path)


@pytest.mark.parametrize("form", ["responses of users", "feedback", "table of feedback"])
def test_exports_that_were_read_by_the_wrong_column_or_not(tmp_path, form):
    said = {("p", "ann"): 1, ("p", "bob"): 0, ("q", "ann"): 1, ("q", "bob"): 1}
    if form == "responses of users":
        replies = {case: [{"user_id": who, "values": {"ok": {"value": str(value)}}, "status": "submitted"}
                          for (of, who), value in said.items() if of == case] for case in "pq"}  # fmt: skip
        path = saved(tmp_path, "a.json", [{"id": case, "fields": {}, "responses": replies[case]} for case in "pq"])
    else:
        rows = [{"id": f"f{n}", "run_id": case, "key": "ok", "score": value, "value": None, "user_id": who}
                for n, ((case, who), value) in enumerate(said.items())]  # fmt: skip
        path = saved(tmp_path, "a.json", rows)
        if form != "feedback":
            pd.DataFrame(rows).to_csv(path := tmp_path / "a.csv", index=False)
    read = pb.read(path)
    found = {(case, who): int(ranking[0][0]) for case in "pq" for who, ranking in read.rankings(case).items()}
    assert found == said


@pytest.mark.filterwarnings("ignore::plausibly.errors.PlausiblyWarning")
def test_the_advice_leads_to_what_was_meant(tmp_path):
    read = Labels.of(saved(tmp_path, "posts.csv", POSTS), case="reply_id")
    assert (len(read.cases), len(read)) == (6, 12)
    survey = pb.read_annotations(saved(tmp_path, "survey.csv", SURVEY), layout="raters-in-rows")
    assert survey.rankings("Photo 2") == {"ann@x.org": [["5"]], "bob@x.org": [["4"]]}
    assert Labels.of(tmp_path / "survey.csv", layout="raters-in-rows").is_numeric
    mturk = pb.read_annotations(saved(tmp_path, "batch.csv", MTURK))
    assert (mturk.n_cases, mturk.n_annotations) == (3, 6)


@pytest.mark.filterwarnings("ignore::plausibly.errors.PlausiblyWarning")
def test_titles_totals_and_thousands(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Grades of 2024"], ["Case ID", "Dr. Rossi", "Dr. Meier"], ["p", 1, 2], ["q", 3, 3], ["Mean", 2, 2.5]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    with pytest.warns(PlausiblyWarning, match="is a title, 'Grades of 2024', and left out"):
        read = Labels.of(tmp_path / "a.xlsx")
    assert read.values.tolist() == [1, 2, 3, 3]
    total = saved(tmp_path, "b.csv", "no,Study,Reader1,Reader2\n0,7,0,1\n1,8,1,1\nTotal,,1,2\n")
    with pytest.warns(PlausiblyWarning, match="the rows 'Total' sum up others"):
        assert Labels.of(total, case="Study").cases.tolist() == ["7", "8"]
    path = saved(tmp_path, "c.csv", 'case,annotator,score\np,a,"1,234"\np,b,900\nq,a,"12,000.5"\nq,b,7\n')
    with pytest.warns(PlausiblyWarning, match="separate thousands: 1,234 is read as 1234"):
        assert pb.read_annotations(path).score.tolist() == [1234, 900, 12000.5, 7]
    path = saved(tmp_path, "d.csv", 'case,annotator,label\np,a,"1,2"\np,b,"1,2,3"\nq,a,x\nq,b,x\n')
    assert Labels.of(path).values.tolist() == ["1,2", "1,2,3", "x", "x"]


def test_cases_that_differ_by_a_leading_zero_are_told():
    with pytest.warns(PlausiblyWarning, match="The cases '1' and '01' differ only in .* leading zeros"):
        tell_doubts(Annotations.from_labels([["a", "b"]] * 3, cases=["1", "01", "10"]))
