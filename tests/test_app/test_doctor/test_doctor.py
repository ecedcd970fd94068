"""Files of any kind: what they are taken for, what does not fit, and commands that run."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.app.cli._app import load_command
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations.io.formats import FORMATS
from tests import worlds
from tests.exports import INSPECT, component, grade, output, promptfoo, sample
from tests.test_app.test_cli.run import plausibly, refuse, succeed

ROOT = Path(__file__).parents[3]
FEW = "--metrics accuracy --replicates 2"  #: what makes an evaluation short


def run(command):
    """Run a command as it is printed."""
    return succeed(*shlex.split(command)[1:])


def parse(command):
    """Parse the words of a command as it is printed."""
    _, name, *words = shlex.split(command)
    if name == "models":  # a group of commands
        name, *words = f"{words[0]}-models", *words[1:]
    return load_command(name).make_context(name, words).params


def table(path, *rows):
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def labels(tmp_path):
    """Labels of three annotators, by site."""
    rows = [
        f"c{i},{who},{'ab'[(i + (i % n == 0)) % 2]},{'north' if i % 3 else 'south'},p{i // 2}"
        for i in range(30)
        for who, n in (("ann", 5), ("bob", 7), ("cy", 4))
    ]
    return table(tmp_path / "labels.csv", "case,annotator,label,site,patient", *rows)


def of(found, name):
    """The only command of a name."""
    (command,) = [one for one in found.commands if shlex.split(one)[1] == name]
    return command


def seeds():
    each = [(known.name, suffix) for known in FORMATS if not known.folder for suffix in known.suffixes]
    return [pytest.param(*one, marks=[pytest.mark.slow] * (at % 2)) for at, one in enumerate(each)]


@pytest.mark.parametrize(("name", "suffix"), seeds() if (ROOT / "fuzz").exists() else [])
def test_every_format_of_annotations_gets_a_command_that_reads_it(tmp_path, name, suffix):
    from fuzz.harness import SEEDS, in_file

    for number, seed in enumerate(SEEDS[name]):
        path = tmp_path / f"file {number}{suffix}"
        path.write_bytes(in_file(seed, suffix))
        classes = table(tmp_path / "classes.txt", "corn", "melanoma", "wart")
        found = pb.doctor([path, classes] if name in ("rankings", "nested-counts") else [path])
        if found.files[0].role is None:
            with pytest.raises(pb.PlausiblyError, match=re.escape(found.files[0].words)):
                pb.read_annotations(path)
            continue
        assert found.commands, str(found)
        for command in found.commands:
            parse(command)
        if number == 0:  # which takes longer than everything else
            run(next(one for one in found.commands if " audit " in one or " agreement " in one))


def test_files_that_simulate_writes(tmp_path):
    succeed("simulate", "--cases", 12, "--classes", 4, "--out", tmp_path)
    found = pb.doctor(sorted(tmp_path.iterdir()))
    assert [one.role for one in found.files] == [
        "annotations",
        "classes",
        *["predictions"] * 4,
        "risks",
        "plausibilities",
    ]
    assert not found.problems
    given = parse(of(found, "evaluate"))
    assert given["classes"] == tmp_path / "classes.txt"
    assert given["risks"] == tmp_path / "risks.txt"
    assert [text.partition("=")[0] for text in given["predictions"]] == ["A", "B", "C", "D"]
    assert "checks found" in run(of(found, "audit")).output


def test_the_files_that_the_guide_shows(tmp_path, monkeypatch):
    from tests.test_readme import files_in

    monkeypatch.chdir(tmp_path)
    shown = files_in((ROOT / "docs" / "how-to" / "data.md").read_text(encoding="utf-8"))
    for name, content in shown.items():
        Path(name).write_text(content)
    found = pb.doctor(["annotations.csv", "classes.txt", "predictions-A.csv", "predictions-B.csv"])
    command = of(found, "evaluate")
    assert command == (
        "plausibly evaluate annotations.csv --classes classes.txt --predictions A=predictions-A.csv --predictions "
        "B=predictions-B.csv --out results"
    )
    run(of(found, "audit"))


def test_unknown_columns_are_told_what_they_look_like(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [("1", "ann", "benign"), ("1", "bob", "malignant"), ("2", "ann", "benign"), ("2", "bob", "benign")]
    scores = pd.DataFrame({"image_id": [1, 2], "benign": [0.6, 0.9], "malignant": [0.4, 0.1]})
    pd.DataFrame(rows, columns=["image_id", "reader", "diagnosis"]).to_csv("labels.csv", index=False)
    scores.to_csv("A.csv", index=False)
    found = pb.doctor(["labels.csv", "A.csv"])
    assert "(case: 'image_id'; annotator: 'reader'; label: 'diagnosis')" in str(found.files[0])
    assert of(found, "evaluate").startswith("plausibly evaluate labels.csv --predictions A=A.csv")
    pd.DataFrame(rows, columns=["scan name", "first reader", "final diagnosis"]).to_csv("labels.csv", index=False)
    scores.rename(columns={"image_id": "scan name"}).to_csv("A.csv", index=False)
    found = pb.doctor(["labels.csv", "A.csv"])
    assert "(case: 'scan name'; annotator: 'first reader'; label: 'final diagnosis')" in str(found.files[0])
    assert "'scan name' looks like case" in found.files[1].words
    assert found.commands
    for command in found.commands:
        assert " --case 'scan name' --annotator 'first reader' --label 'final diagnosis'" in command
    run(of(found, "agreement"))
    pd.DataFrame(rows, columns=["scan name", "said", "final diagnosis"]).to_csv("labels.csv", index=False)
    (unread,) = pb.doctor("labels.csv").files
    assert unread.role is None
    assert "'final diagnosis' looks like label" in unread.words
    assert "--case 'scan name' --label 'final diagnosis'" in unread.words
    twice = [(*row, row[2]) for row in rows]
    pd.DataFrame(twice, columns=["scan name", "first reader", "first finding", "last finding"]).to_csv(
        "labels.csv", index=False
    )
    assert pb.doctor("labels.csv").files[0].role is None  # either may be the label
    for names in (["case", "first reader", "final diagnosis"], ["scan name", "annotator", "class"]):
        pd.DataFrame(rows, columns=names).to_csv("labels.csv", index=False)
        run(of(pb.doctor("labels.csv"), "agreement"))


def test_labels_predictions_and_gold_labels(labels, tmp_path):
    truth = {f"c{i}": "ab"[i % 2] for i in range(30)}
    table(tmp_path / "gpt.csv", "case,label", *(f"{case},{label}" for case, label in truth.items()), "new,a")
    table(tmp_path / "biopsy.csv", "case,label", *(f"c{i},{truth[f'c{i}']}" for i in range(20)))
    table(tmp_path / "model.csv", "case,b", *(f"c{i},{i % 2}" for i in range(30)))
    found = pb.doctor([labels, tmp_path / "gpt.csv", tmp_path / "biopsy.csv", tmp_path / "model.csv"])
    assert [one.role for one in found.files] == ["annotations", "labels of one rater", "gold labels", "predictions"]
    assert "group of cases: 'site', 'patient'" in str(found)
    assert f"{tmp_path / 'gpt.csv'} has 1 case that {labels} has not, which are ignored." in found.problems
    evaluated, gold = [parse(one) for one in found.commands if " evaluate " in one]
    assert (evaluated["positive"], evaluated["by"], evaluated["clusters"]) == ("b", "site", "patient")
    assert evaluated["extra"] == "ignore"
    assert gold["gold"] == tmp_path / "biopsy.csv"
    assert "20 of 30 cases have a gold label" in succeed(*shlex.split(found.commands[2])[1:-1], tmp_path / "out").output
    assert "alpha" in run(of(found, "agreement")).output
    assert parse(of(found, "judge"))["extra"] == "ignore"  # a row for a case that is not annotated
    table(tmp_path / "gpt.csv", "case,label", *(f"{case},{label}" for case, label in truth.items()))
    found = pb.doctor([labels, tmp_path / "gpt.csv", tmp_path / "biopsy.csv"])
    given = parse(of(found, "judge"))
    assert given["predictions"] == [f"gpt={tmp_path / 'gpt.csv'}"]
    assert given["gold"] == tmp_path / "biopsy.csv"
    parse(of(found, "discrepancy"))


def test_ratings_get_a_threshold_and_a_distance(tmp_path):
    rows = [f"c{i},{who},{i + more}.5" for i in range(30) for who, more in (("ann", 0), ("bob", 1))]
    path = table(tmp_path / "ratings.csv", "case,annotator,score", *rows)
    found = pb.doctor(path)
    assert "interval" in run(of(found, "agreement")).output
    table(tmp_path / "A.csv", "case,probability", *(f"c{i},{i / 30}" for i in range(30)))
    threshold = parse(of(pb.doctor([path, tmp_path / "A.csv"]), "evaluate"))["threshold"]
    assert (pd.read_csv(path)["score"] > threshold).mean() == pytest.approx(0.5, abs=0.02)
    grades = table(tmp_path / "grades.csv", "case,annotator,label", *(row[:-2] for row in rows[:30]))
    found = pb.doctor(grades)
    assert "ordinal, since labels are grades" in run(of(found, "agreement")).output


def test_a_table_whose_case_has_no_usual_name(tmp_path):
    path = table(tmp_path / "photos.csv", "Photo,Label,Annotator", "a.png,wart,ann", "a.png,corn,bob", "b.png,wart,ann")
    assert "say which column it is with case=" in pb.doctor(path).files[0].words
    assert "3 labels" in pb.doctor(path, case="Photo").files[0].words


def test_labels_of_objects(tmp_path):
    rows = [f'c{i},{who},"[[0, 0, {i + 1}, {n}]]"' for i in range(5) for who, n in (("ann", 2), ("bob", 3))]
    found = pb.doctor(table(tmp_path / "boxes.csv", "case,annotator,label", *rows))
    assert found.files[0].role == "labels"
    assert parse(of(found, "agreement"))["distance"] == ["boxes"]
    assert "giou" in run(of(found, "agreement")).output


def test_of_several_questions_one_is_proposed(tmp_path):
    said = {"match": {"value": "C", "answer": "B"}, "length": {"value": 12}}
    samples = [{"id": f"s{i}", "epoch": 1, "target": "B", "scores": said} for i in range(3)]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"version": 2, "eval": {}, "samples": samples}))
    found = pb.doctor(path)
    assert "of the questions 'correct', 'length', 'correct' is read" in str(found)
    assert parse(of(found, "audit"))["control"] == "correct"
    assert "3 cases" in run(of(found, "convert")).output


def test_an_export_is_a_classifier_of_cases_that_people_annotated(labels, tmp_path):
    """Its rater, or the model's answers: whichever are classes of the annotations."""
    scores = {"judge": {"value": "C", "answer": "b"}}
    samples = [{"id": f"c{i}", "epoch": 1, "target": "a", "scores": scores} for i in range(30)]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"version": 2, "eval": {"model": "m"}, "samples": samples}))
    found = pb.doctor([path, labels])
    assert not found.problems
    assert "here labels of one rater of 30 cases, 1 different, 'b'" in str(found)
    for name in ("evaluate", "judge"):
        assert parse(of(found, name))["predictions"] == [f"log={path}"]
    run(of(found, "audit"))


def test_an_empty_file_beside_others_is_named_and_a_folder_that_there_is_not_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(worlds.write_study(tmp_path))
    Path("empty.csv").touch()
    found = pb.doctor(["annotations.json", "empty.csv"])
    assert any(str(one).startswith("empty.csv") and "the file is empty" in str(one) for one in found.files)
    assert found.commands
    (found,) = pb.doctor("nowhere").files
    assert "the file does not exist; check the path" in str(found)


def test_what_does_not_fit_is_said(labels, tmp_path):
    table(tmp_path / "A.csv", "case,a,b", *(f"case {i},0.5,0.5" for i in range(30)))
    table(tmp_path / "B.csv", "case,a,b,c", *(f"c{i},0.5,0.4,0.1" for i in range(30)))
    np.save(tmp_path / "C.npy", np.full((29, 2), 0.5))
    table(tmp_path / "risks.txt", "0", "1", "2")
    table(tmp_path / "sites.csv", "case,site", *(f"c{i},north" for i in range(29)))
    table(tmp_path / "gold.csv", "case,label", "x,a")
    others = table(tmp_path / "others.csv", "case,annotator,label", "c1,dan,a", "z,dan,b")
    names = ("A.csv", "B.csv", "C.npy", "risks.txt", "sites.csv", "gold.csv", "others.csv")
    found = pb.doctor([labels, *(tmp_path / name for name in names)])
    said = "\n".join(found.problems)
    for words in (
        f"A.csv has no rows for 30 of 30 cases of {labels}, such as 'c0', 'c1'",
        "B.csv: the column 'c' is no class of the annotations",
        "C.npy has 29 rows without names for 30 cases",
        "risks.txt: ",
        "sites.csv has no rows for 1 of 30 cases",
        "gold.csv: none of 1 gold labels belongs to a case",
        f"{others} shares 1 case with {labels}",
    ):
        assert words in said, said
    assert "--predictions" not in of(pb.doctor([labels, tmp_path / "A.csv"]), "evaluate")
    classes = table(tmp_path / "classes.txt", "a", "x")
    assert "names classes that" in pb.doctor([labels, classes]).problems[0]
    assert "second list of classes" in pb.doctor([labels, classes, table(tmp_path / "d.txt", "a", "b")]).problems[0]


@pytest.mark.parametrize("said", ["Ab", "10"])
def test_gold_labels_and_predictions_that_are_called_otherwise_are_said(labels, tmp_path, said):
    gold, other = (
        table(tmp_path / name, "case,label", *(f"c{i},{said[i % 2]}" for i in range(30)))
        for name in ("gold.csv", "A.csv")
    )
    found = pb.doctor([labels, gold, other])
    assert [str(one.path) in told for one, told in zip(found.files[1:], sorted(found.problems), strict=False)]
    assert not any(word in " ".join(found.commands) for word in ("--gold", "--predictions"))
    assert len(found.problems) == 2


def test_a_posterior_and_statuses(labels, tmp_path):
    (tmp_path / "posterior.nc").write_bytes(b"x")
    found = pb.doctor([tmp_path / "posterior.nc"])
    assert found.commands == [f"plausibly diagnose {tmp_path / 'posterior.nc'}"]
    broken = table(tmp_path / "broken.json", '{"cases": {"p')
    refused = refuse("doctor", broken, tmp_path / "none.csv", tmp_path / "a.docx")
    assert "broken.json: the file is truncated" in refused.output
    assert "none.csv: the file does not exist; check the path" in refused.output
    assert "names no format read here" in refused.output
    assert refused.output.count("Error: ") == 3
    result = succeed("doctor", labels, broken)
    assert "truncated" in result.output
    assert "Do the annotators agree?\n  plausibly agreement" in result.output
    assert succeed("doctor", labels, "--quiet").output == f"plausibly audit {labels}\n"
    alone = plausibly("doctor", table(tmp_path / "classes.txt", "a", "b"))
    assert alone.exit_code == 1
    assert "There is no command for these files: give annotations" in alone.output
    with pytest.raises(ArgumentError, match="a file must be given, but none was"):
        pb.doctor([])
    with pytest.raises(ArgumentError, match="the names of files must be given, but 3 was"):
        pb.doctor([3])


def test_names_with_blanks_are_quoted(labels, tmp_path):
    path = labels.rename(tmp_path / "my labels.csv")
    assert parse(of(pb.doctor(path), "agreement"))["labels"] == [str(path)]


def test_outcomes_of_systems_are_told_from_cases_of_systems(tmp_path):
    rows = [f"{s},p{c},gpt,{int(c % 3 > 0)}" for s in "AB" for c in range(60)]
    rows += [f"{s},p{c},{who},{int(c % 4 > 0)}" for s in "AB" for c in range(20) for who in ("ann", "bob")]
    path = table(tmp_path / "outcomes.csv", "model,prompt,judge,score", *rows)
    found = pb.doctor(path)
    assert found.files[0].role == "outcomes"
    assert found.commands == [f"plausibly systems {path} --people ann,bob --out systems"]
    assert parse(found.commands[0])["people"] == "ann,bob"
    succeed("systems", path, "--people", "ann,bob")
    classes = table(tmp_path / "o.csv", "system,case,rater,label", *(r[:-1] + "xy"[int(r[-1])] for r in rows))
    assert "--positive" in pb.doctor(classes).commands[0]
    pairs = table(tmp_path / "p.csv", "left,right,worker,winner,kind", "A,B,ann,left,person", "B,A,gpt,tie,judge")
    assert pb.doctor(pairs).commands == [f"plausibly systems {pairs} --out systems"]
    of_one = [f"{s}{c},{who},{c % 5},{s}" for s in "AB" for c in range(20) for who in ("ann", "bob")]
    ratings = table(tmp_path / "ratings.csv", "case,annotator,score,system", *of_one)
    assert pb.doctor(ratings).files[0].role == "annotations"
    broken = table(tmp_path / "broken.csv", "system,case,rater,outcome", "A,p,ann,1", "B,p,ann,")
    assert "row 2 has no outcome" in pb.doctor(broken).files[0].words


def test_exports_are_ranked_with_what_people_say(tmp_path):
    def log(model, right):
        samples = [sample(f"s{n}", "B", match=grade("C" if n % right else "I")) for n in range(40)]
        path = tmp_path / f"{model}.json"
        path.write_text(json.dumps(INSPECT | {"eval": {"model": model}, "samples": samples}))
        return path

    logs = [log("gpt", 5), log("llama", 3)]
    alone = pb.doctor(logs)
    assert not any(" systems " in one for one in alone.commands)
    assert any("is known as a person: to rank these systems" in one for one in alone.problems)
    rows = [f"{s},s{n},ann,{'pass' if n % 4 else 'fail'}" for s in ("gpt", "llama") for n in range(20)]
    people = table(tmp_path / "people.csv", "system,case,rater,outcome", *rows)
    (command,) = [one for one in pb.doctor([*logs, people]).commands if " systems " in one]
    assert command == f"plausibly systems {logs[0]} {logs[1]} {people} --people ann --out systems"
    assert "has the highest pass rate" in succeed("systems", *logs, people, "--people", "ann").output
    said = [[component(n % 3 > 0, "llm-rubric"), component(n % 4 > 0, "human")] for n in range(30)]
    marked = tmp_path / "marked.json"
    marked.write_text(json.dumps(promptfoo(*(output(n, *said[n], provider=s) for n in range(30) for s in "mn"))))
    assert f"plausibly systems {marked} --out systems" in pb.doctor(marked).commands
    succeed("systems", marked)


def test_an_export_of_one_system_and_grades_by_people(tmp_path):
    samples = [sample(f"s{n}", "B", match=grade("C" if n % 5 else "I")) for n in range(40)]
    log = tmp_path / "gpt.json"
    log.write_text(json.dumps(INSPECT | {"eval": {"model": "gpt"}, "samples": samples}))
    of_one = [f"gpt,s{n},{who},{'C' if n % 4 else 'I'}" for n in range(20) for who in ("ann", "bob")]
    graded = table(tmp_path / "graded.csv", "model,sample_id,grader,grade", *of_one)
    (command,) = [one for one in pb.doctor([log, graded]).commands if " systems " in one]
    assert command == f"plausibly systems {log} {graded} --people ann,bob --out systems"
    assert "gpt, pass rate that people would give" in succeed("systems", log, graded, "--people", "ann,bob").output
    assert parse(of(pb.doctor([log, graded]), "evaluate"))["positive"] == "C"


def test_rankings_of_shown_systems_are_outcomes(tmp_path):
    rows = [f"c{n},{who},{'A>B=C' if n % 2 else 'C>A'}" for who, m in (("gpt", 40), ("ann", 15)) for n in range(m)]
    path = table(tmp_path / "rankings.csv", "case,rater,ranking", *rows)
    found = pb.doctor(path)
    assert found.files[0].role == "outcomes"
    assert found.commands == [f"plausibly systems {path} --people ann --out systems"]
    succeed("systems", path, "--people", "ann")


def test_predictions_in_json_lines_and_in_a_single_column(tmp_path):
    rows = [f"c{n},{who},{'ab'[n % 2]}" for n in range(20) for who in ("ann", "bob")]
    labels = table(tmp_path / "labels.csv", "case,annotator,label", *rows)
    scores = [{"case": f"c{n}", "probs": {"a": 1 - n / 20, "b": n / 20}} for n in range(20)]
    (tmp_path / "A.jsonl").write_text("\n".join(map(json.dumps, scores)))
    table(tmp_path / "B.csv", "case,score", *(f"c{n},{n / 20}" for n in range(20)))
    found = pb.doctor([labels, tmp_path / "A.jsonl", tmp_path / "B.csv"])
    assert [one.role for one in found.files] == ["annotations", "predictions", "predictions"]
    assert len(parse(of(found, "evaluate"))["predictions"]) == 2
    run(of(found, "audit"))
    wide = table(tmp_path / "wide.csv", "experiment,example_id,correctness,review", "x,1,1,good", "y,1,0,bad")
    assert "write a row for each outcome, with the columns system, case, rater" in pb.doctor(wide).files[0].words


def test_a_trial_of_readers_with_a_probability_of_malignancy_and_biopsies(tmp_path):
    """The probability was to be compared with grades, and no command used the biopsies."""
    rows = [f"l{i},r{who},{1 + (i + who) % 5}" for i in range(20) for who in range(3)]
    ratings = table(tmp_path / "ratings.csv", "case,annotator,score", *rows)
    ai = table(tmp_path / "ai.csv", "case,malignancy", *(f"l{i},{(i % 5) / 5}" for i in range(20)))
    gold = table(
        tmp_path / "biopsy.csv", "case,label", *(f"l{i},{('benign', 'malignant')[i % 5 > 2]}" for i in range(20))
    )
    alone, against = (one for one in pb.doctor([ratings, ai, gold]).commands if one.split()[1] == "evaluate")
    assert (parse(alone)["truth"], parse(alone)["threshold"]) == ("annotator", parse(against)["threshold"])
    assert parse(against)["gold_positive"] == "malignant"
    assert "Against the gold labels" in run(f"{against} {FEW}".replace("against-gold", str(tmp_path / "out"))).output


def test_columns_and_classes_that_nearly_match_and_rows_of_other_cases(labels, tmp_path):
    scores = table(tmp_path / "s.csv", "case,p_A,p_B", *(f"c{i},{i % 2},{1 - i % 2}" for i in range(31)))
    found = pb.doctor([labels, scores])
    assert parse(of(found, "audit"))["extra"] == "ignore"
    assert "mismatched" not in run(of(found, "audit")).output
    rows = [f"c{i},{who},{'n/a' if i == 3 else 'ab'[i % 2]}" for i in range(30) for who in ("ann", "bob")]
    some = table(tmp_path / "some.csv", "case,annotator,label", *rows)
    assert any(
        "--missing 'n/a'" in one
        for one in pb.doctor(
            [some, table(tmp_path / "t.csv", "case,a,b", *(f"c{i},0.5,0.5" for i in range(30)))]
        ).problems
    )


def test_numbers_on_the_scale_of_scores_get_commands_that_take_them(tmp_path):
    """A threshold was proposed, which takes numbers for probabilities; and a column `score`, which was not found."""
    random = np.random.default_rng(0)
    score = random.normal(3, 1, (20, 3)).round(2)
    for name in ("floats", "grades"):
        given = score if name == "floats" else score.round()
        rows = [f"c{i},r{j},{value}" for (i, j), value in np.ndenumerate(given)]
        labels = table(tmp_path / f"{name}.csv", "item,rater,score", *rows)
        model = table(tmp_path / "m.csv", "case,score", *(f"c{i},{value}" for i, value in enumerate(given.mean(1))))
        found = pb.doctor([labels, model] if name == "floats" else [labels])
        for command in found.commands:
            if shlex.split(command)[1] in ("agreement", "discrepancy"):
                assert run(command).exit_code == 0
        assert ("--threshold" in " ".join(found.commands)) is False


def test_a_table_pasted_twice_is_said_by_every_command_that_reads_it(tmp_path):
    said = np.random.default_rng(0).integers(2, size=(40, 2))
    rows = [f"{name}{i},r{j},{'ab'[label]}" for name in "pq" for (i, j), label in np.ndenumerate(said)]
    path = table(tmp_path / "twice.csv", "case,annotator,label", *rows)
    told = "The 40 cases q0 to q39 repeat the cases p0 to p39"
    found = pb.doctor([path])
    assert any(told in one for one in found.cautions)
    assert "serious: cases pasted twice" in run(of(found, "audit")).output
    evaluated = succeed("aggregate", path, "--model", "majority-vote", "--out", tmp_path / "out.nc")
    assert told in " ".join(evaluated.output.split())


def test_a_table_with_a_column_for_each_classifier(labels, tmp_path):
    """Its columns were taken for classes, or for annotators."""
    names = table(
        tmp_path / "models.csv", "case,gpt,llama", *(f"c{i},{'ab'[i % 2]},{'ab'[i % 3 > 0]}" for i in range(30))
    )
    found = pb.doctor([labels, names])
    assert [(one.column, one.role) for one in found.files[1:]] == [
        (one, "labels of one rater") for one in ("gpt", "llama")
    ]
    assert parse(of(found, "evaluate"))["predictions"] == [f"{one}={names}:{one}" for one in ("gpt", "llama")]
    assert "32 checks found" in run(of(found, "audit")).output  # 24 without predictions
    said = table(tmp_path / "m.csv", "case,prediction", *(f"c{i},{'ab'[i % 2] if i else ''}" for i in range(30)))
    found = pb.doctor([labels, said])
    assert "2 different, 'b', 'a', 1 blank" in str(found.files[1])
    assert parse(of(found, "evaluate"))["predictions"] == [f"m={said}"]
    assert of(found, "judge").endswith("--unpredicted leave-out --out judgement")
    gold = table(tmp_path / "biopsy.csv", "case,biopsy", *(f"c{i},{'ab'[i % 2]}" for i in range(9)))
    found = pb.doctor([labels, gold])
    assert found.files[1].role == "gold labels"
    assert pb.labels.read_gold(gold, pb.agreement.Labels.of(labels)).values.tolist() == list("ababababa")
    numbers = table(tmp_path / "p.csv", "case,cnn,vit", *(f"c{i},{i % 2 * 0.5},{0.25}" for i in range(29)))
    found = pb.doctor([labels, numbers])
    assert "p.csv:cnn has no prediction for 1 case of" in found.problems[0]
    assert "--unpredicted leave-out" in of(found, "evaluate")
    assert run(of(found, "evaluate") + f" --truth annotator --quick {FEW}").exit_code == 0


def test_an_option_is_for_the_file_that_cannot_be_read_without_and_not_for_none(tmp_path):
    gold = table(tmp_path / "gold.csv", "case,label", *(f"c{i},a" for i in range(9)))
    rows = (f"c{i},{who},{'ab'[i % 2]}" for i in range(9) for who in ("ann", "bob"))
    calls = table(tmp_path / "calls.csv", "Lesion,annotator,label", *rows)
    assert [one.role for one in pb.doctor([gold, calls], case="Lesion").files] == ["gold labels", "annotations"]
    assert pb.doctor([gold, calls], case="Slide").files[0].role is None


def test_two_columns_that_sum_to_one_are_classes_of_one_classifier_and_a_doubled_column_is_said_of_its_file(tmp_path):
    rows = (f"c{i},{who},{i % n % 2}" for i in range(12) for who, n in (("ann", 2), ("bob", 3)))
    calls = table(tmp_path / "calls.csv", "case,annotator,label", *rows)
    both = table(
        tmp_path / "m.csv", "case,benign,malignant", *(f"c{i},{i / 20:.2f},{1 - i / 20:.2f}" for i in range(12))
    )
    twice = table(tmp_path / "twice.csv", "case,p,p", *(f"c{i},0.5,0.5" for i in range(12)))
    found = pb.doctor([calls, both, twice])
    assert not [command for command in found.commands if "--predictions" in command]
    assert any("'0', '1' have no column" in problem for problem in found.problems)
    assert "names the column 'p' 2 times" in str(found.files[2])


@pytest.mark.parametrize("order", [("people.csv", "judges.csv"), ("judges.csv", "people.csv")])
def test_columns_that_are_called_like_models_are_judged_by_people_however_many_there_are(tmp_path, monkeypatch, order):
    monkeypatch.chdir(tmp_path)
    grades = np.random.default_rng(0).integers(1, 6, (20, 5))
    for name, own, columns in (("people", [0, 1], "case,ann,bob"), ("judges", [2, 3, 4], "case,judge_a,judge_b,gpt")):
        table(
            tmp_path / f"{name}.csv",
            columns,
            *(f"c{at},{','.join(map(str, row[own]))}" for at, row in enumerate(grades)),
        )
    found = pb.doctor(order)
    assert {str(one.path): one.role for one in found.files} == {"people.csv": None, "judges.csv": "annotations"}
    found = pb.doctor(order, layout="wide")
    assert [command for command in found.commands if " judge " in command] == [
        "plausibly judge people.csv --layout wide --predictions judge_a=judges.csv:judge_a "
        "--predictions judge_b=judges.csv:judge_b --predictions gpt=judges.csv:gpt --out judgement"
    ]


def test_a_column_for_each_rater_of_systems(tmp_path):
    rows = [
        f"{s},c{i},t{i % 5},{'pass' if i % 3 else 'fail'},{'' if i % 4 else 'fail'}" for s in "AB" for i in range(30)
    ]
    sheet = table(tmp_path / "sheet.csv", "system,case,topic,gpt,ann", *rows)
    found = pb.doctor(sheet)
    words = parse(of(found, "systems"))
    assert (words["people"], words["raters"]) == ("ann", "gpt,ann")
    assert "a guess: correct it with --people" in found.files[0].words
    done = run(of(found, "systems").replace(" --out systems", ""))
    assert "gpt agrees with people in" in done.output
    odd = table(
        tmp_path / "odd.csv",
        "system,case,gpt,ann",
        *(row.replace(",t0,", ",").replace(",fail,", ",N/A,") for row in rows[::5]),
    )
    assert parse(of(pb.doctor(odd), "systems"))["missing"] == "N/A"


def test_outcomes_in_json_lines(tmp_path):
    """They were taken for annotations of cases."""
    rows = [
        {"system": s, "case": f"c{i}", "rater": who, "outcome": "pass" if i % 3 else "fail"}
        for s in "AB"
        for who, n in (("gpt", 30), ("ann", 10))
        for i in range(n)
    ]
    path = table(tmp_path / "o.jsonl", *map(json.dumps, rows))
    found = pb.doctor(path)
    assert found.files[0].role == "outcomes"
    assert parse(of(found, "systems"))["people"] == "ann"


def test_numbers_of_a_class_that_is_not_known_are_said_and_the_likely_one_is_proposed(tmp_path):
    rows = [(f"x{i}", who, "effusion" if i % 3 else "no effusion") for i in range(30) for who in "ab"]
    pd.DataFrame(rows, columns=["case", "annotator", "class"]).to_csv(tmp_path / "labels.csv", index=False)
    scores = {"case": [f"x{i}" for i in range(30)], "Pleural Effusion": [0.5 + i / 100 for i in range(30)]}
    pd.DataFrame(scores).to_csv(tmp_path / "pred.csv", index=False)
    found = pb.doctor([tmp_path / "labels.csv", tmp_path / "pred.csv"])
    assert "'Pleural Effusion' is called after neither of" in found.problems[0]
    commands = found.commands
    assert any("--positive effusion" in one for one in commands)
    assert not any("conformal" in one for one in commands)


def test_options_of_reading_are_taken_and_passed_on_to_every_command(tmp_path):
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("Patient,A,B,site\n" + "".join(f"p{n},{n % 2},{n % 3 % 2},north\n" for n in range(12)))
    found = pb.doctor([sheet], case="Patient", layout="wide", missing="9")
    assert "24 labels, of 2 classes (0, 1), by 2 annotators of 12 cases" in found.files[0].words
    for command in found.commands:
        options = parse(command)
        assert (options["case"], options["layout"], options["missing"]) == ("Patient", "wide", "9"), command
    output = succeed("doctor", sheet, "--case", "Patient", "--layout", "wide").output
    assert "--case Patient --layout wide" in output
    assert "no column 'Who'" in refuse("doctor", sheet, "--annotator", "Who").output


def test_readers_under_conditions_models_among_raters_and_files_without_annotations(tmp_path):
    """Each was read by none of the commands that were proposed, or by none at all."""
    kinds = ["ill" if (i * n + i // 3) % 3 else "well" for i in range(24) for n in range(3, 7)]
    said = [(f"c{at // 4}", "abcd"[at % 4], kind) for at, kind in enumerate(kinds)]
    rows = [f"{case},{who},{label},{on}" for case, who, label in said for on in ("alone", "aided")]
    rows[0] = rows[0].replace("well", "ill")
    table(tmp_path / "readings.csv", "case,annotator,label,condition", *rows)
    table(tmp_path / "sessions.csv", "case,annotator,label,session", *rows)
    raters = {"a": "ann", "b": "bob", "c": "cy", "d": "gpt-4"}
    rows = [f"{case},{raters[who]},{label}" for case, who, label in said]
    table(tmp_path / "raters.csv", "case,annotator,label", *rows)
    for name, whose in (("gold", "a"), ("model", "b"), ("cy", "c")):
        rows = [f"{case},{label}" for case, who, label in said if who == whose]
        table(tmp_path / f"{name}.csv", "case,label", *rows)
    readings, sessions, gold, model, cy, among = (
        tmp_path / f"{name}.csv" for name in ("readings", "sessions", "gold", "model", "cy", "raters")
    )
    command = of(pb.doctor([readings, gold]), "readers")
    assert command.endswith(f"readers {readings} --gold {gold} --positive ill --metric sensitivity --out readers")
    assert "alone and aided" in run(f"{command.split(' --out')[0]} --replicates 2").output
    assert "--conditions session" in of(pb.doctor([sessions, gold]), "readers")
    assert "give them, too" in pb.doctor(readings).problems[0]
    command = of(pb.doctor([among, gold, model]), "readers")
    assert f"--predictions model={model}" in command
    assert "model" in run(f"{command.split(' --out')[0]} --replicates 2").output
    command = of(pb.doctor(among), "judge")
    assert f"--predictions gpt-4={among}:gpt-4" in command
    shown = run(f"{command.split(' --out')[0]} --model none --replicates 2").output
    assert "by 4 annotators" in shown
    assert "gpt-4 can stand in" in shown
    (command,) = pb.doctor([gold, model]).commands
    assert "accuracy" in run(f"{command} {FEW} --quick".replace("against-gold", str(tmp_path / "out"))).output
    assert of(pb.doctor([model, cy]), "agreement").endswith(f"agreement model={model} cy={cy}")
    rows = [f"{case},eve,{label}" for case, _, label in said[::4]]
    alone = table(tmp_path / "one.csv", "case,annotator,label", *rows)
    assert f"--predictions eve={alone}:eve" in of(pb.doctor([among, alone]), "evaluate")


def test_headers_alone_and_classes_beside_a_sheet_that_does_not_fit(tmp_path):
    (tmp_path / "classes.txt").write_text("neg\nneu\npos\n")
    labels = "".join(f"t{i},{who},{['neg', 'pos'][i % 2]}\n" for i in range(12) for who in "ab")
    (tmp_path / "labels.csv").write_text(f"case,annotator,label\n{labels}")
    (tmp_path / "head.csv").write_text("case,annotator,label\n")
    grades = "".join(f"t{i},r{j},{1 + (i + j) % 5}\n" for i in range(12) for j in (1, 2))
    (tmp_path / "grades.csv").write_text(f"case,rater,grade\n{grades}t20,r1,85%\n")
    shown = run(f"plausibly doctor {tmp_path}").output
    assert "head.csv" in shown
    assert "grades.csv" in shown


def test_a_checkup_has_25_lines_unless_all_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"p{case},{who},{'ab'[case % 2]}" for case in range(9) for who in ("ann", "bob")]
    table(tmp_path / "labels.csv", "case,annotator,label", *rows)
    for number in range(12):  # each of another number of cases, so that they differ
        cases = [f"p{case},0.5,0.5" for case in range(9 + number)]
        table(tmp_path / f"model-{number}.csv", "case,a,b", *cases)
    shown = plausibly("doctor", ".", width=80).output.splitlines()
    assert len(shown) <= 25
    assert max(len(line) for line in shown if not line.startswith("  plausibly ")) <= 80
    assert shown[-1].endswith(" more with --all.")
    assert sum(line.startswith("  plausibly ") for line in shown) == 2
    every = plausibly("doctor", ".", "--all", width=80).output.splitlines()
    assert len(every) > 40
    assert sum(line.startswith("  plausibly ") for line in every) > 3
    few = pb.doctor([tmp_path / "labels.csv"])
    assert few.lines(25, 80) == few.lines()
