"""Files as forms, platforms and data sets write them: read rightly, or refused with a sentence whose fix works."""

import json
import warnings

import pandas as pd
import pytest

import plausibly as pb
from plausibly.agreement import Labels
from plausibly.base.errors import PlausiblyError, PlausiblyWarning
from plausibly.data.annotations import Annotations
from plausibly.data.audit import tell_doubts

Y, N = "Yes", "No"
SAID = {"Q1": [Y, Y, N], "Q2": [N, N, N], "Q3": [Y, N, Y]}
ROWS = {"layout": "raters-in-rows"}
QUALTRICS = "StartDate,ResponseId,Q1,Q2,Q3\nStart Date,Response ID,Image 1?,Image 2?,Image 3?\n"
QUALTRICS += ",".join(['"{""ImportId"":""x""}"'] * 5)
QUALTRICS += "\n2024,R_1,Yes,No,Yes\n2024,R_2,Yes,No,No\n2024,R_3,No,No,Yes\n"
SURVEYMONKEY = "Respondent ID,Email Address,Q1,Q2,Q3\n,,Response,Response,Response\n11,,Yes,No,Yes\n12,,Yes,No,No\n"
SURVEYMONKEY += "13,,No,No,Yes\n"
NIH = "Image ID,Reader ID,Fracture,Effusion,Age\na,7,NO,YES,5\na,8,NO,NO,5\nb,7,YES,NO,6\nb,8,YES,NO,6\n"
EMOTIONS = "text,id,rater_id,anger,joy\nhurt,e1,1,0,1\nhurt,e1,2,1,1\ngreat,e2,1,0,0\ngreat,e2,3,0,0\n"
STUDY = "patient,reader,malignant,birads\n1,ann,yes,5\n1,bob,yes,4\n2,ann,no,2\n2,bob,no,2\n"
REDCAP = "record_id,redcap_repeat_instance,reader,finding___1,finding___2\n1,1,a,1,0\n1,2,b,1,0\n2,1,a,0,1\n2,2,b,0,1\n"
SURGE = "task_id,item,worker_id,response_id,Is it toxic?\nT1,p,a,R1,x\nT1,p,b,R2,y\nT2,q,a,R3,x\nT2,q,b,R4,x\n"
PYBOSSA = "id,task_id,user_id,info\n1,100,7,Yes\n2,100,8,No\n3,101,7,Yes\n4,101,8,Yes\n"
GERMAN = "Fall;Prüfer 1;Prüfer 2;Bemerkung\n1;2,5;3,0;\n2;1,0;1,5;unscharf\n3;4,5;4,0;\n"
LISTS = [{"id": f"x{n}", "label": said, "annotator_id": ["a", "b"]} for n, said in enumerate([[0, 1], [2, 2]])]
SNLI = "gold_label\tsentence\tpairID\tlabel1\tlabel2\tlabel3\nn\tA\tc1\tn\te\tn\ne\tB\tc2\te\t\t\n"
JIGSAW = "id,worker,toxic,obscene\n5,33,0,0\n5,45,1,0\n6,33,0,0\n6,45,0,0\n"
FOOTER = "case,Reader 1,Reader 2\n1,4,3\n2,2,2\nkappa,0.4,0.3\n"
PANDAS = {"case": {"0": "p", "1": "p", "2": "q"}, "annotator": {"0": "a", "1": "b", "2": "a"}}
PANDAS |= {"label": {"0": "x", "1": "y", "2": "x"}}
BOARD = {"columns": ["id", "annotator", "label"], "data": [["p", "a", "x"], ["p", "b", "y"], ["q", "a", "x"]]}

POSTS = "post_id,reply_id,annotator_id,label\n" + "".join(
    f"p{max(n, 1)},r{n},{who},{(n + k) % 2}\n" for n in range(6) for k, who in enumerate("ab")
)
MTURK = '"HITId","WorkerId","AssignmentStatus","Input.id","Answer.tone","Approve"\n' + "".join(
    f'"h{n}","w{k}","Submitted","{n}","{tone}"{end}\n'
    for n in range(3)
    for k, (tone, end) in enumerate([("kind", ""), ("rude", ',"x"')])
)

#: Name, content, options, and labels by case.
READ = [
    ("qualtrics.csv", QUALTRICS, ROWS, SAID),
    ("surveymonkey.csv", SURVEYMONKEY, ROWS, SAID),
    ("nih.csv", NIH, {"label": "Effusion"}, {"a": ["YES", "NO"], "b": ["NO", "NO"]}),
    ("emotions.csv", EMOTIONS, {"case": "id", "label": "anger"}, {"e1": ["0", "1"], "e2": ["0", "0"]}),
    ("study.csv", STUDY, {"label": "malignant"}, {"1": ["yes", "yes"], "2": ["no", "no"]}),
    ("redcap.csv", REDCAP, {"label": "finding___1"}, {"1": ["1", "1"], "2": ["0", "0"]}),
    ("surge.csv", SURGE, {"label": "Is it toxic?"}, {"p": ["x", "y"], "q": ["x", "x"]}),
    ("pybossa.csv", PYBOSSA, {"label": "info"}, {"100": ["Yes", "No"], "101": ["Yes", "Yes"]}),
    ("german.csv", GERMAN, {"layout": "wide", "case": "Fall"}, {"1": [2.5, 3], "2": [1, 1.5], "3": [4.5, 4]}),
    ("lists.jsonl", LISTS, {}, {"x0": [0, 1], "x1": [2, 2]}),
    ("snli.tsv", SNLI, {}, {"c1": ["n", "e", "n"], "c2": ["e"]}),
    ("jigsaw.csv", JIGSAW, {"label": "toxic"}, {"5": ["0", "1"], "6": ["0", "0"]}),
    ("footer.csv", FOOTER, {}, {"1": [4, 3], "2": [2, 2]}),
    ("pandas.json", PANDAS, {}, {"p": ["x", "y"], "q": ["x"]}),
    ("board.table.json", BOARD, {}, {"p": ["x", "y"], "q": ["x"]}),
]


def saved(folder, name, content):
    if name.endswith(("jsonl", "manifest")):
        content = "\n".join(map(json.dumps, content))
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize(("name", "content", "options", "expected"), READ, ids=[row[0] for row in READ])
def test_what_is_said_of_each_case_is_read(tmp_path, name, content, options, expected):
    path = saved(tmp_path, name, content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlausiblyWarning)
        read = Labels.of(path, **options)
    found: dict = {}
    for case, value in zip(read.cases[read.case].tolist(), read.values.tolist(), strict=True):
        found.setdefault(str(case), []).append(value)
    assert {case: [*map(str, said)] for case, said in found.items()} == {
        case: [str(type(found[case][0])(one)) for one in said] for case, said in expected.items()
    }


LABEL = "the annotators, but no column is called label; say which of .*{}.* is it with"
#: Name, content, options, and a part of the sentence, which names the option or the table that then works.
REFUSED = [
    ("forms.csv", "Timestamp,Email Address,Image 1?,Q2\n1,a@x,Yes,No\n2,b@x,Yes,Yes\n", {}, "--layout raters-in-rows"),
    ("surveymonkey.csv", SURVEYMONKEY, {}, "raters-in-rows"),
    ("nih.csv", NIH, {}, LABEL.format("Effusion")),
    ("emotions.csv", EMOTIONS, {}, LABEL.format("anger")),
    ("findings.csv", "case,reader,sick,urgent\n1,a,y,n\n2,a,n,n\n3,b,y,y\n", {}, LABEL.format("sick")),
    ("study.csv", STUDY, {}, LABEL.format("malignant")),
    ("redcap.csv", REDCAP, {}, LABEL.format("finding___1")),
    ("surge.csv", SURGE, {}, LABEL.format("Is it toxic")),
    ("pybossa.csv", PYBOSSA, {}, LABEL.format("info")),
    ("german.csv", GERMAN, {"layout": "wide"}, "'Fall' differs in every row and may name the cases: .*--case Fall"),
    ("potato.csv", "instance_id,user,s:::a,s:::b\n1,a,x,\n1,b,,x\n2,a,x,\n", {}, "are potato's, .* write one column"),
    ("study.csv", "Reader study,,\ncase,r1,r2\n1,2,3\n", {}, "one row of names, .* and no title above"),
    ("jigsaw.csv", JIGSAW, {}, "no column '(class|label)' .* say which column it is with .*--label"),
    ("two.csv", ",Reader 1,,Reader 2,\nCase,A,B,A,B\n1,y,3,y,4\n", {}, "as where cells are merged; write one row"),
    ("wrapped.json", {"annotations": [{"case": "p", "label": "x"}]}, {}, "an object with 'annotations' .* a table"),
    ("input.csv", "id,output,expected\n1,4,four\n2,Rome,Rome\n3,Bern,Bern\n", {}, "no layout fits|no column"),
    ("a.tsv", "#FORMAT=WebAnno TSV 3.3\n\n#Text=A b.\n1-1\t0-1\tA\tdrug\n", {}, "INCEpTION's .* export CoNLL 2002"),
    ("a.ann", "T1\tDrug 0 7\tAspirin\n", {}, "spans by one annotator: .* to plausibly agreement"),
    ("workers.json", [{"datasetObjectId": "0", "annotations": []}], {}, "SageMaker Ground Truth's workers, .* a table"),
    ("out.manifest", [{"source-ref": "s3://0", "animal": 0}], {}, "Ground Truth's manifest, .* write a table"),
    ("a.jsonl", [{"id": 1, "label_annotations": {}, "span_annotations": {}}], {}, "potato's output .* write a table"),
    ("stats.json", [{"instance_id": "id0", "stats": []}], {}, "HELM's .* plausibly systems, write a table"),
    ("scale.json", [{"task_id": "5", "response": {"a": "b"}, "type": "t"}], {}, "records with 'task_id', .* a table"),
    ("posts.csv", POSTS, {}, "case='reply_id' \\(--case reply_id\\)"),
    ("one.csv", "instance_id,user_id,text,rude\n1,a,Hi,1\n1,b,Hi,0\n", {}, "no column is called label; .*'rude'"),
    ("labelbox.json", [{"data_row": {}, "projects": {}}], {}, "Labelbox"),
    ("evals.json", [{"spec": {}, "final_report": {}}], {}, "OpenAI's evals"),
    ("summeval.json", [{"id": 1, "expert_annotations": [], "turker_annotations": []}], {}, "SummEval"),
    ("arena.json", [{"generator_1": "a", "generator_2": "b", "preference": 1}], {}, "plausibly systems"),
    ("annotations.xml", "<annotations/>", {}, "ann=ann.csv bob=bob.csv"),
    ("labelme.json", {"version": "5.0.1", "shapes": [], "imagePath": "a.jpg"}, {}, "LabelMe"),
    ("capitals.csv", "ID,RATER,DIAG\n1,1,1\n1,2,2\n2,1,1\n", {}, "'RATER' the annotators, .* which of 'DIAG' is it"),
    ("findings.csv", "record_id,reader,f___1,f___2\n1,1,1,0\n1,2,0,1\n", {}, "of a column for each class, name one"),
    ("v7.json", {"version": "2.0", "item": {}, "annotations": []}, {}, "an object with 'version', .* write a table"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "options", "words"), REFUSED, ids=[f"{number}-{row[0]}" for number, row in enumerate(REFUSED)]
)
def test_what_cannot_be_read_is_refused_with_what_to_do(tmp_path, name, content, options, words):
    path = saved(tmp_path, name, content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlausiblyWarning)
        for read in (pb.read_annotations, Labels.of):
            with pytest.raises(PlausiblyError, match=words):
                read(path, **options)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (name, content, words)
        for name, content, options, words in REFUSED
        if not options and name not in ("input.csv", "findings.csv")
    ],
)
def test_the_doctor_says_the_same(tmp_path, name, content, words):
    (looked,) = pb.doctor(saved(tmp_path, name, content)).files
    assert looked.role is None
    with pytest.raises(PlausiblyError, match=words):
        raise PlausiblyError(looked.words)


def test_a_table_that_is_called_txt_is_no_list_of_classes(tmp_path):
    with pytest.raises(PlausiblyError, match=r"line 1 has a tab, .* call it \.tsv"):
        pb.annotations.read_classes(saved(tmp_path, "snli.txt", SNLI))
    assert "call it .tsv" in pb.doctor(tmp_path / "snli.txt").files[0].words


def test_what_is_left_out_is_named_by_the_doctor(tmp_path):
    path = saved(tmp_path, "a.csv", "case_id,R1_sick,R1_grade,R2_sick,R2_grade\n1,y,5,y,4\n2,n,2,n,2\n3,n,3,y,4\n")
    text = str(pb.doctor(path))
    assert "Note: the columns 'R1_sick', 'R2_sick' are read as one annotator each" in text
    assert "'R1_grade', 'R2_grade' are left as further columns." in text


def test_a_second_answer_never_hints_at_the_column_of_scores(tmp_path):
    rows = "patient_id,nodule_id,reader,malignancy\np,1,1,5\np,1,2,4\np,2,1,2\np,2,2,1\nq,1,1,3\n"
    with pytest.raises(PlausiblyError, match="second answer") as told:
        pb.read(saved(tmp_path, "a.csv", rows), case="patient_id", annotator="reader", score="malignancy")
    assert "--case score" not in str(told.value)


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
