"""Sheets of numbers with a column per annotator, or per class: read by what the columns are called, or refused."""

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.agreement import Labels, agreement
from plausibly.base.errors import AnnotationError, PlausiblyWarning

GRADES = "case,Rater1,Rater2,Rater3\ns1,1,1,2\ns2,2,2,2\ns3,3,3,3\ns4,1,2,1\ns5,4,4,5\ns6,0,1,2\n"


def sheet(tmp_path, text, name="a.csv"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def reads(path, words="are read as one annotator each"):
    with pytest.warns(PlausiblyWarning, match=words):
        return pb.read_annotations(path)


@pytest.mark.parametrize(
    "names", ["Rater1,Rater2,Rater3", "reader a,reader b,reader c", "r1,r2,r3", "radiologist_1,expert,x_user"]
)
@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_columns_called_after_annotators_hold_labels(tmp_path, names, ending):
    text = GRADES.replace("Rater1,Rater2,Rater3", names)
    path = sheet(tmp_path, text if ending == ".csv" else text.replace(",", "\t"), f"a{ending}")
    read = reads(path, r'if they count labels, say layout="counts" \(--layout counts\)')
    assert read.classes.tolist() == ["0", "1", "2", "3", "4", "5"]
    assert read.annotators.tolist() == names.split(",")
    assert read.per_case.tolist() == [3] * 6
    with pytest.warns(PlausiblyWarning, match="one annotator each"):
        labels = Labels.of(path)
    assert labels.is_numeric
    frame = pd.read_csv(path, sep="," if ending == ".csv" else "\t")
    with pytest.warns(PlausiblyWarning, match="one annotator each"):
        assert Labels.of(frame).values.tolist() == labels.values.tolist()


def test_unanimous_negatives_count_and_further_columns_are_named(tmp_path):
    path = sheet(tmp_path, "case,age,rater 1,rater 2\ns1,61,0,0\ns2,57,1,0\ns3,70,0,\n")
    read = reads(path, "'rater 1', 'rater 2' are read as one annotator each; 'age' is left as further columns")
    assert read.classes.tolist() == ["0", "1"]
    assert read.per_case.tolist() == [2, 2, 1]
    with pytest.warns(PlausiblyWarning, match="one annotator each"):
        assert pb.read_metadata(path)["age"].tolist() == ["61", "57", "70"]


def test_a_column_of_numbers_beside_columns_with_the_same_and_marks_is_an_annotator(tmp_path):
    path = sheet(tmp_path, "case,ann,bob,cy\ni1,2,1,None\ni2,1,1,1\ni3,1,None,2\ni4,2,2,2\n")
    with pytest.warns(PlausiblyWarning):
        labels = Labels.of(path).without(["None"])
    assert labels.annotators.tolist() == ["ann", "bob", "cy"]
    assert (len(labels), labels.n_missing) == (10, 2)
    assert labels.is_numeric


def test_fractions_of_annotators_are_scores(tmp_path):
    scores = reads(sheet(tmp_path, "case,rater 1,rater 2\ns1,0.5,1\ns2,0.25,1\n"))
    assert scores.score.tolist() == [0.5, 1, 0.25, 1]


def test_a_total_is_no_class_and_numbers_that_may_be_either_are_refused(tmp_path):
    counts = "id,count,hate,offensive,neither\n0,3,0,0,3\n1,4,0,4,0\n2,5,0,2,3\n"
    with pytest.warns(PlausiblyWarning, match="'count' is the sum of the others in every row, and left out"):
        read = pb.read_annotations(sheet(tmp_path, counts))
    assert read.classes.tolist() == ["hate", "offensive", "neither"]
    assert read.per_case.tolist() == [3, 4, 5]
    either = sheet(tmp_path, "case,a,b,c\ns1,1,1,2\ns2,2,2,2\ns3,3,3,3\n")
    with pytest.raises(
        AnnotationError, match=r"counts \(19 labels, of classes .*\) or labels \(9, by annotators .*--layout wide"
    ):
        pb.read_annotations(either)
    assert pb.read_annotations(either, layout="counts").per_case.tolist() == [4, 6, 9]
    assert pb.read_annotations(either, classes=list("abc")).per_case.tolist() == [4, 6, 9]
    with pytest.warns(PlausiblyWarning, match="one annotator each"):
        assert pb.read_annotations(either, layout="wide").per_case.tolist() == [3, 3, 3]
    none = sheet(tmp_path, "case,a,b,c\ns1,1,1,0\ns2,0,0,0\ns3,1,0,1\n")
    with pytest.raises(AnnotationError, match=r"are labels .* say layout=.wide.* leave case 's2' without any"):
        pb.read_annotations(none)
    few = "case,a,b\ns1,1,2\ns2,3,0\ns3,2,1\n"
    with pytest.raises(AnnotationError, match="may be counts"):
        pb.read_annotations(sheet(tmp_path, few))
    same = sheet(tmp_path, few + "".join(f"s{i},0,3\n" for i in range(4, 9)))
    assert pb.read_annotations(same).per_case.tolist() == [3] * 8  # as many labels in every case


def test_counts_that_may_be_taken_for_labels_are_written_with_a_total(tmp_path):
    counts = pb.Annotations.from_counts([[1, 0], [2, 0], [1, 2]], classes=["x", "y"], cases=["p", "q", "r"])
    pb.annotations.write_annotations(counts, tmp_path / "c.csv", "counts")
    assert (tmp_path / "c.csv").read_text().startswith("case,total,x,y\n")
    with pytest.warns(PlausiblyWarning, match="'total' is the sum"):
        assert pb.read_annotations(tmp_path / "c.csv") == counts


def test_agreement_of_a_sheet_is_that_of_its_labels(tmp_path):
    path = sheet(tmp_path, GRADES)
    table = pd.read_csv(path).melt("case", var_name="annotator", value_name="label")
    with pytest.warns(PlausiblyWarning, match="one annotator each"):
        found = agreement(path, "absolute", progress=False)
    assert np.isclose(found.alpha, agreement(table, "absolute", progress=False).alpha)


def refused(tmp_path, text, words, **options):
    with pytest.raises(AnnotationError, match=words):
        pb.read_annotations(sheet(tmp_path, text), **options)


def test_columns_and_rows_that_are_no_labels_are_no_labels(tmp_path):
    """Each was read as votes for a class of that name, as a reader, or as a case."""
    refused(tmp_path, "Smith,Jones,freq\n0,0,50\n0,1,7\n1,1,40\n", "'freq' may say how often each row is there")
    with pytest.warns(PlausiblyWarning, match="as often as 'freq' says"):
        read = pb.read_annotations(sheet(tmp_path, "Smith,Jones,freq\n0,0,5\n0,1,1\n1,1,4\n"), count="freq")
    assert (read.n_cases, read.annotators.tolist()) == (10, ["Smith", "Jones"])
    refused(tmp_path, "case,cat,dog,age\nc1,3,1,40\nc2,2,2,51\nc3,0,4,62\n", "'age' seems to be no class")
    refused(tmp_path, "case,cat,dog,x\nc1,3,1,40\nc2,2,2,51\nc3,0,4,62\n", "'x' seems to be no class")
    summed = "case,Smith,Jones,total\nc1,1,0,1\nc2,0,0,0\nc3,1,1,2\n"
    refused(tmp_path, summed, "may be labels 0 and 1 by annotators called 'Smith', 'Jones', with their sum 'total'")
    with pytest.warns(PlausiblyWarning, match="'total' is left as further columns"):
        assert pb.read_annotations(sheet(tmp_path, summed), layout="wide").annotators.tolist() == ["Smith", "Jones"]
    refused(tmp_path, "case,cat\nc1,1\nc2,0\n", "'cat' is the only column of numbers")
    read = reads(sheet(tmp_path, "case,reader1\nc1,1\nc2,0\n"), "the column 'reader1' is read as one annotator")
    assert (read.annotators.tolist(), read.classes.tolist()) == (["reader1"], ["0", "1"])
    rows = "Case,reader1,reader2\nc1,1,0\n,,\nc2,0,0\nTotal,1,0\n"
    read = reads(sheet(tmp_path, rows), "the rows 'Total' sum up others, and are left out")
    assert read.cases.tolist() == ["c1", "c2"]
    pairs = "question_id,model_a,model_b,winner,judge\n1,gpt,llama,model_a,ann\n2,llama,gpt,tie,bob\n"
    refused(tmp_path, pairs, "comparisons of two systems, which plausibly systems reads")


@pytest.mark.parametrize(("number", "told"), [(99, True), (-9, True), (6, False)])
def test_numbers_that_stand_for_no_answer_are_told(tmp_path, number, told):
    path = sheet(tmp_path, f"case,annotator,label\np,ann,1\np,bob,5\nq,ann,{number}\nq,bob,3\n")
    labels = Labels.of(path)
    if told:
        with pytest.warns(PlausiblyWarning, match=rf"'{number}' is a class here, but may stand for no label"):
            labels.without(())
    else:
        labels.without(())
    assert labels.without([str(number)]).n_missing == 1


def test_counts_may_have_a_row_for_each_class(tmp_path):
    text = "case,label,votes\np,corn,1\np,wart,2\nq,wart,0\nq,corn,3\n"
    expected = pb.Annotations.from_counts([[1, 2], [3, 0]], classes=["corn", "wart"], cases=["p", "q"])
    assert pb.read_annotations(sheet(tmp_path, text)) == expected
    assert pb.read_annotations(sheet(tmp_path, text.replace("votes", "times")), count="times") == expected
    assert Labels.of(sheet(tmp_path, text)).numbered
