"""Gold labels, joined by case: the truth of `evaluate --gold`, and that of question 4 of `judge --gold`."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, recall_score

from plausibly.agreement import judge
from plausibly.data.annotations import Annotations
from plausibly.data.labels import read_gold
from tests.test_app.test_cli.run import refuse, succeed
from tests.test_app.test_report.page import leave_out_figures
from tests.test_data.test_labels.test_verified import study

N, KNOWN = 60, 40
TRUTH = {f"c{i}": "ab"[i % 3 == 0] for i in range(N)}
JOINED = "40 of 60 cases have a gold label; 2 gold labels belong to no case."


def wrong_every(n):
    """Labels of which every n-th is wrong."""
    return {case: "ba"["ab".index(true)] if i % n == 0 else true for i, (case, true) in enumerate(TRUTH.items())}


@pytest.fixture
def files(tmp_path):
    said = {"ann": wrong_every(5), "bob": wrong_every(7), "cy": wrong_every(4)}
    rows = [
        (case, who, label, "north" if int(case[1:]) % 2 else "south")
        for who, labels in said.items()
        for case, label in labels.items()
        if (who, case) != ("cy", "c3")
    ]
    pd.DataFrame(rows, columns=["case", "annotator", "label", "site"]).to_csv(tmp_path / "labels.csv", index=False)
    gold = {case: label for case, label in TRUTH.items() if int(case[1:]) < KNOWN} | {"x": "a", "y": "b"}
    pd.Series(gold, name="label").rename_axis("case").to_csv(tmp_path / "gold.csv")
    pd.Series(wrong_every(10), name="label").rename_axis("case").to_csv(tmp_path / "A.csv")
    return tmp_path


def right(said):
    known = [case for case in TRUTH if int(case[1:]) < KNOWN]
    return [TRUTH[case] for case in known], [said[case] for case in known]


@pytest.mark.slow
def test_classifiers_are_evaluated_against_gold_labels(files):
    words = ["evaluate", files / "labels.csv", "--gold", files / "gold.csv", "--out", files / "out"]
    result = succeed(*words, "--predictions", f"A={files / 'A.csv'}", "--by", "site", "--clusters", "site")
    assert JOINED in result.output
    assert "what one expert would say" not in result.output
    assert "Against the gold labels, A has" in result.output
    found = pd.read_csv(files / "out" / "metrics.csv").set_index("metric")["mean"]
    assert found["accuracy"] == pytest.approx(accuracy_score(*right(wrong_every(10))))
    assert found["sensitivity"] == pytest.approx(recall_score(*right(wrong_every(10)), pos_label="b"))
    assert set(pd.read_csv(files / "out" / "groups.csv")["group"]) == {"north", "south"}
    page = (files / "out" / "report.html").read_text()
    assert "gold.csv" in page
    readers = pd.read_csv(files / "out" / "readers.csv").set_index("annotator")
    assert readers["sensitivity"]["ann"] == pytest.approx(recall_score(*right(wrong_every(5)), pos_label="b"))
    assert readers["accuracy"]["bob"] == pytest.approx(accuracy_score(*right(wrong_every(7))))
    assert readers["n_cases"]["cy"] == KNOWN - 1
    assert "3 annotators against the same gold labels" in " ".join(result.output.split())
    assert "Annotators beside them" in page
    assert not any(words in page for words in ("experts disagree", "with new annotations", "Agreement with experts"))
    blank = pd.read_csv(files / "A.csv").assign(prediction=lambda table: table.pop("label"))
    blank.loc[:3, "prediction"] = None
    blank.to_csv(files / "B.csv", index=False)
    both = (word for name in "AB" for word in ("--predictions", f"{name}={files / f'{name}.csv'}"))
    output = " ".join(succeed(*words, *both, "--quick").output.split())
    told = f"{output} {(files / 'out' / 'notes.txt').read_text()}"
    assert "Cases without an answer count as wrong (B in 10.0 % of cases)" in told
    # Cases of two sites alone say little of another one.
    assert re.search(r"A is better than B by sensitivity with probability 0\.\d+ and by specificity with", output)
    refused = refuse(*words, "--predictions", f"A={files / 'A.csv'}", "--clusters", "sites")
    assert "choose from 'site'" in " ".join(refused.output.split())


@pytest.mark.slow
def test_gold_labels_of_the_suspicious_are_weighted_and_said_first(tmp_path, monkeypatch):
    """Sensitivity among verified cases is too high and specificity too low; both are beside what they are of all."""
    leave_out_figures(monkeypatch)
    ill, votes, score, verified = study("readers", 1)
    names = np.array(["ben", "mal"])
    rows = [(f"c{i}", f"r{j}", names[int(one)]) for i, of in enumerate(votes) for j, one in enumerate(of)]
    pd.DataFrame(rows, columns=["case", "annotator", "label"]).to_csv(tmp_path / "labels.csv", index=False)
    case = pd.Index([f"c{i}" for i in range(len(ill))], name="case")
    pd.DataFrame({"mal": score}, index=case).to_csv(tmp_path / "A.csv")
    pd.DataFrame({"label": names[ill.astype(int)]}, index=case)[verified].to_csv(tmp_path / "gold.csv")
    words = ["evaluate", tmp_path / "labels.csv", "--gold", tmp_path / "gold.csv", "--out", tmp_path / "out"]
    output = " ".join(succeed(*words, "--predictions", f"A={tmp_path / 'A.csv'}").output.split())
    first = output.index(f"Cases with a gold label ({verified.sum()} of 600) are not a random part")
    assert first < output.index("Against the gold labels, A has")
    found = pd.read_csv(tmp_path / "out" / "metrics.csv").set_index(["metric", "model"])["mean"]
    for metric, group in (("sensitivity", ill), ("specificity", ~ill)):
        right = (score > 0.5) == ill
        assert found[metric, "gold, unweighted"] == pytest.approx(right[group & verified].mean())
        assert abs(found[metric, "gold"] - right[group].mean()) < abs(
            found[metric, "gold, unweighted"] - right[group].mean()
        )
    assert "Unweighted, of the cases with a gold label alone, A has AUROC" in output
    assert "are not a random part" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.slow
def test_a_judgement_by_gold_labels_of_the_suspicious_is_weighted(tmp_path):
    ill, votes, score, verified = study("readers", 2)
    rows = [(f"c{i}", f"r{j}", str(int(one))) for i, of in enumerate(votes) for j, one in enumerate(of)]
    labels = pd.DataFrame(rows, columns=["case", "annotator", "label"])
    said = {"A": {f"c{i}": str(int(one > 0.5)) for i, one in enumerate(score)}}
    gold = {f"c{i}": str(int(ill[i])) for i in np.flatnonzero(verified)}
    found = judge(labels, said, gold=gold, model=None, progress=False, replicates=200)
    (row,) = found.table.to_dict("records")
    right = (score > 0.5) == ill
    true, of_annotators = right.mean(), (votes == ill[:, None]).mean()
    assert row["gold_accuracy_unweighted"] == pytest.approx(right[verified].mean())
    assert abs(row["annotators_gold_accuracy"] - of_annotators) < 0.03
    assert row["gold_accuracy_lower"] < true < row["gold_accuracy_upper"]
    first = f"Cases with a gold label ({verified.sum()} of 600) are not a random part"
    assert found.verdict().startswith(first)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    pd.Series(gold, name="label").rename_axis("case").to_csv(tmp_path / "gold.csv")
    pd.Series(said["A"], name="label").rename_axis("case").to_csv(tmp_path / "A.csv")
    words = (word for name in "AB" for word in ("--predictions", f"{name}={tmp_path / 'A.csv'}"))
    words = *words, "--gold", tmp_path / "gold.csv", "--model", "none", "--replicates", 50, "--out", tmp_path / "out"
    output = " ".join(succeed("judge", tmp_path / "labels.csv", *words).output.split())
    assert output.count(first) == 1
    assert output.index(first) < output.index("By gold labels of")
    assert (tmp_path / "out" / "judge.html").read_text().count("are not a random part") == 1
    half = {case: gold_of for case, gold_of in ((f"c{i}", str(int(ill[i]))) for i in range(0, 600, 2))}
    found = judge(labels, said, gold=half, model=None, progress=False, replicates=200)
    assert "gold_accuracy_unweighted" not in found.table
    assert "not a random part" not in found.verdict()


def test_without_predictions_annotators_are_evaluated(files):
    result = succeed("evaluate", files / "labels.csv", "--gold", files / "gold.csv", "--out", files / "out")
    assert "Left out 'cy'" in result.output
    found = pd.read_csv(files / "out" / "metrics.csv")
    found = found[found["metric"] == "accuracy"].set_index("classifier")["mean"]
    for who, every in (("ann", 5), ("bob", 7)):
        assert found[who] == pytest.approx(accuracy_score(*right(wrong_every(every))))
    assert set(found.index) == {"ann", "bob"}
    refused = refuse("evaluate", files / "labels.csv", "--gold", files / "gold.csv", "--truth", "panel")
    assert "is the truth, but --truth panel was given: leave one out" in refused.output
    (files / "odd.csv").write_text("case,label\nc0,z\nc1,a\n")
    refused = refuse("evaluate", files / "labels.csv", "--gold", files / "odd.csv", "--out", files / "out")
    assert "odd.csv: case 'c0', annotator 'gold': the class 'z' is not among the 2 classes" in refused.output
    refused = refuse("evaluate", files / "labels.csv", "--gold", files / "gold.csv", "--one-truth")
    assert "--one-truth" in refused.output


def test_a_judge_is_as_accurate_against_gold_labels_as_the_annotators(files):
    words = ["judge", files / "labels.csv", "--predictions", f"A={files / 'A.csv'}", "--model", "none"]
    result = succeed(*words, "--gold", files / "gold.csv", "--out", files / "out")
    assert JOINED in result.output
    assert "against the gold labels of 40 cases" in " ".join(result.output.split())
    row = pd.read_csv(files / "out" / "judge.csv").iloc[0]
    assert row["gold_accuracy"] == pytest.approx(accuracy_score(*right(wrong_every(10))))
    assert row["gold_accuracy_lower"] < row["gold_accuracy"] < row["gold_accuracy_upper"]
    labels = pd.read_csv(files / "labels.csv")
    given = labels[labels["case"].str[1:].astype(int) < KNOWN]
    share = (given["label"] == given["case"].map(TRUTH)).groupby(given["case"]).mean().mean()
    assert row["annotators_gold_accuracy"] == pytest.approx(share)
    assert (files / "out" / "judge-1.png").exists()
    gold = {case: TRUTH[case] for case in list(TRUTH)[:KNOWN]}
    again = judge(labels, {"A": wrong_every(10)}, gold=gold, model=None, progress=False)
    assert again.questions["A"][3].answer == "yes"
    assert again.table.loc["A", "p_gold"] == pytest.approx(row["p_gold"])
    bad = judge(
        labels,
        {"A": {case: "ba"["ab".index(label)] for case, label in TRUTH.items()}},
        gold=gold,
        model=None,
        progress=False,
    )
    assert bad.questions["A"][3].answer == "no"
    together = labels.assign(patient="one")
    alone = judge(together, {"A": wrong_every(10)}, gold=gold, model=None, clusters="patient", progress=False)
    assert alone.questions["A"][3].answer == "open"
    assert "single cluster" in alone.questions["A"][3].words


def test_gold_labels_of_annotations_are_names_of_classes(tmp_path):
    annotations = Annotations.from_counts([[1, 0], [0, 1]], classes=["0", "1"], cases=["p", "q"])
    (tmp_path / "gold.csv").write_text("case,label\np,0\n")
    assert read_gold(tmp_path / "gold.csv", annotations).values.tolist() == ["0"]
    assert (
        str(read_gold({"p": 0, "z": 1}, annotations))
        == "1 of 2 cases has a gold label; 1 gold label belongs to no case"
    )


def test_gold_labels_of_a_threshold_have_names_of_their_own(tmp_path):
    """Biopsies had to be rewritten as "> 3.5", and a column of probabilities renamed."""
    rows = [f"l{i},r{who},{1 + (i + who) % 5}" for i in range(20) for who in range(3)]
    (tmp_path / "a.csv").write_text("\n".join(["case,annotator,score", *rows]))
    (tmp_path / "ai.csv").write_text("\n".join(["case,malignancy", *(f"l{i},{(i % 5) / 5}" for i in range(20))]))
    (tmp_path / "gold.csv").write_text(
        "\n".join(["case,label", *(f"l{i},{'malignant' if i % 5 > 2 else 'benign'}" for i in range(20))])
    )
    words = ["evaluate", tmp_path / "a.csv", "--predictions", f"AI={tmp_path / 'ai.csv'}", "--threshold", 3.5]
    words += ["--gold", tmp_path / "gold.csv", "--metrics", "auroc", "--out", tmp_path / "out"]
    result = succeed(*words, "--gold-positive", "malignant")
    assert "took the column 'malignancy' for the probability of '> 3.5'" in " ".join(result.output.split())
    found = pd.read_csv(tmp_path / "out" / "metrics.csv").set_index("metric")["mean"]
    assert found["auroc"] == 1
    refused = refuse(*words, "--gold-positive", "malign")
    assert "they are 'benign', 'malignant'; choose one of them" in " ".join(refused.output.split())
    refused = refuse("evaluate", tmp_path / "a.csv", "--gold-positive", "malignant")
    assert "there is no --gold" in refused.output
