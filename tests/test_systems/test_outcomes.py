"""Outcomes: what columns and cells mean, and the sentence that refuses each thing that is wrong with them."""

import json

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.errors import AnnotationError, ArgumentError, FileError, PlausiblyWarning
from plausibly.systems import read_outcomes
from plausibly.systems.outcomes import cells_of, is_of_outcomes
from tests.exports import (
    INSPECT,
    LANGFUSE,
    LM_EVAL,
    MLFLOW,
    PHOENIX,
    component,
    deepeval_case,
    grade,
    lines,
    metric,
    output,
    promptfoo,
    sample,
)

ROWS = [("A", "p", "ann", "1"), ("B", "p", "ann", "0"), ("A", "p", "gpt", "1"), ("A", "q", "gpt", "0")]
ROWS += [("B", "p", "gpt", "1"), ("B", "q", "gpt", "1")]
PAIRS = [("A", "B", "p", "ann", "a"), ("B", "A", "p", "gpt", "tie"), ("A", "B", "q", "gpt", "B")]


def frame(rows=ROWS, columns=("system", "case", "rater", "outcome")):
    return pd.DataFrame(rows, columns=list(columns))


def pairs(rows=PAIRS, columns=("system_a", "system_b", "case", "rater", "outcome")):
    return pd.DataFrame(rows, columns=list(columns))


def changed(row, place, value, rows=ROWS):
    rows = [list(one) for one in rows]
    rows[row][place] = value
    return rows


@pytest.mark.parametrize(
    ("said", "kind", "values"),
    [
        (["1", "0"], "pass", [1, 0]),
        ([True, False], "pass", [1, 0]),
        ([1.0, 0.0], "pass", [1, 0]),
        (["Pass", "fail"], "pass", [1, 0]),
        (["yes", "no"], "pass", [1, 0]),
        (["4.5", "2"], "ratings", [4.5, 2]),
        ([5, 3], "ratings", [5, 3]),
    ],
)
def test_outcomes_are_passes_or_ratings(said, kind, values):
    read = read_outcomes(frame([("A", "p", "ann", said[0]), ("A", "q", "ann", said[1])]), ["ann"])
    assert read.kind == kind
    assert read.value.tolist() == values


def test_of_classes_one_counts():
    table = frame([("A", "p", "ann", "good"), ("A", "q", "ann", "so-so"), ("A", "r", "ann", "good")])
    read = read_outcomes(table, ["ann"], positive="good")
    assert (read.kind, read.value.tolist(), read.quantity) == ("classes", [1, 0, 1], "share of 'good'")
    with pytest.raises(AnnotationError, match="neither pass and fail nor numbers; name the class"):
        read_outcomes(table, ["ann"])
    with pytest.raises(ArgumentError, match="'goood' is not: did you mean 'good'"):
        read_outcomes(table, ["ann"], positive="goood")
    assert read_outcomes(table, ["ann"], positive="GOOD").value.tolist() == [1, 0, 1]


def test_what_is_neither_pass_nor_fail_is_no_failure():
    """It was counted as one where a class was named, as doctor proposed."""
    table = frame([("A", "p", "ann", "PASS"), ("A", "q", "ann", "fail"), ("A", "r", "ann", "N/A")])
    with pytest.raises(
        AnnotationError,
        match=r"row 3: the outcome 'N/A' is neither pass nor fail.*\(in 1 row: 'N/A'\).*--missing 'N/A'",
    ):
        read_outcomes(table, ["ann"])


def test_outcomes_that_stand_for_none_are_left_out():
    table = frame([("A", "p", "ann", "pass"), ("A", "q", "ann", " "), ("A", "r", "ann", "N/A"), ("A", "s", "ann", "x")])
    with pytest.raises(AnnotationError, match=r"row 2 has no outcome; fill it in, or leave such rows out: missing="):
        read_outcomes(table, ["ann"])
    with pytest.warns(PlausiblyWarning, match="left out 3 of 4 rows without an outcome"):
        read = read_outcomes(table, ["ann"], missing=["N/A", "x"])
    assert (read.cases.tolist(), read.value.tolist()) == (["p"], [1])
    with pytest.warns(PlausiblyWarning, match="left out 2 of 4"):
        read_outcomes(table.replace("x", "fail"), ["ann"], missing="N/A")
    with pytest.warns(PlausiblyWarning, match="left out 1 of 4"), pytest.raises(AnnotationError, match=r"row 4: .*'x'"):
        read_outcomes(table.replace("N/A", "fail"), ["ann"], missing=[""])


def test_a_column_for_each_rater(tmp_path):
    table = pd.DataFrame(
        {"model": list("ABA"), "prompt": list("ppq"), "topic": list("ttu"), "ann": ["pass", "fail", None]}
        | {"gpt": ["pass", "pass", "fail"], "length": [7, 8, 9]}
    )
    table.to_csv(tmp_path / "sheet.csv", index=False)
    for source in (table, tmp_path / "sheet.csv"):
        read = read_outcomes(source, ["ann"], raters=["ann", "gpt"], clusters="topic")
        said = zip(read.systems[read.system], read.cases[read.case], read.raters[read.rater], read.value, strict=True)
        by_gpt = [("A", "p", "gpt", 1), ("B", "p", "gpt", 1), ("A", "q", "gpt", 0)]
        assert [*said] == [("A", "p", "ann", 1), ("B", "p", "ann", 0), *by_gpt]
        assert read.cluster.tolist() == [0, 1]
    with pytest.raises(AnnotationError, match="or, with a column for each rater, say which: raters="):
        read_outcomes(table, ["ann"])
    with pytest.raises(AnnotationError, match=r"there is no column 'gtp'.*did you mean 'gpt'"):
        read_outcomes(table, ["ann"], raters=["ann", "gtp"])
    with pytest.raises(ArgumentError, match="there is a column 'rater': drop one"):
        read_outcomes(table.assign(rater="x"), ["ann"], raters=["ann"])
    with pytest.raises(AnnotationError, match="row 2: the outcome 'maybe'"):
        read_outcomes(table.replace("fail", "maybe").assign(gpt=["fail"] * 3), ["ann"], raters=["ann", "gpt"])


@pytest.mark.parametrize("columns", [("model", "prompt", "judge", "score"), ("candidate", "item", "worker", "verdict")])
def test_columns_have_other_names(columns, tmp_path):
    expected = read_outcomes(frame(), ["ann"])
    frame(columns=columns).to_csv(tmp_path / "o.csv", index=False)
    (tmp_path / "people.txt").write_text("ann\n")
    read = read_outcomes(tmp_path / "o.csv", tmp_path / "people.txt")
    assert is_of_outcomes(columns)
    assert read.systems.tolist() == ["A", "B"]
    assert read.people == ["ann"]
    assert read.judges == ["gpt"]
    assert read.value.tolist() == expected.value.tolist()
    assert not is_of_outcomes(["case", "annotator", "label"])


def test_the_column_kind_says_who_is_a_person():
    table = frame().assign(kind=["human" if who == "ann" else "LLM" for _, _, who, _ in ROWS])
    assert read_outcomes(table).people == ["ann"]
    with pytest.raises(AnnotationError, match="row 2: the kind 'robot' is not known; write person or judge"):
        read_outcomes(table.assign(kind=["human", "robot"] + ["judge"] * 4))
    with pytest.raises(AnnotationError, match="the rater 'ann' is a person and a judge"):
        read_outcomes(table.assign(kind=["human"] + ["judge"] * 5))
    with pytest.raises(AnnotationError, match="no rater is a person"):
        read_outcomes(table.assign(kind="judge"))


def test_cells_average_people_and_both_orders_of_a_pair():
    table = frame([*ROWS, ("A", "p", "bob", "0")])
    cells = cells_of(read_outcomes(table, ["ann", "bob"]))
    found = dict(zip(zip(cells.cluster.tolist(), cells.system.tolist(), strict=True), cells.people, strict=True))
    assert found[0, 0] == 0.5
    assert np.isnan(found[1, 0])
    swapped = pairs([*PAIRS, ("A", "B", "p", "gpt", "b")])  # gpt saw p in both orders: a tie, and B
    cells = cells_of(read_outcomes(swapped, ["ann"]))
    of_gpt = {(int(c), int(s)): v for c, s, v in zip(cells.cluster, cells.system, cells.judges[0], strict=True)}
    assert of_gpt == {(0, 0): 0.25, (0, 1): 0.75, (1, 0): 0.0, (1, 1): 1.0}
    assert np.nansum(cells.people) == 1


def test_pairs_are_won_by_place_or_by_name_and_need_no_case():
    read = read_outcomes(pairs(), ["ann"])
    assert read.kind == "pairs"
    assert read.value.tolist() == [1, 0.5, 0]
    without = read_outcomes(pairs().drop(columns="case").iloc[:2], ["ann"])
    assert without.cases.tolist() == ["A and B"]
    shown = pairs(PAIRS, ("left", "right", "prompt", "worker", "winner"))
    shown["winner"] = ["left", "tie", "right"]
    assert read_outcomes(shown, ["ann"]).value.tolist() == [1, 0.5, 0]


def write(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def said(read):
    """Outcomes by system, case and rater."""
    names = (read.systems[read.system], read.cases[read.case], read.raters[read.rater])
    return dict(zip(zip(*(one.tolist() for one in names), strict=True), read.value.tolist(), strict=True))


def test_promptfoo_names_the_system_and_knows_people(tmp_path):
    rated = [[component(True, "llm-rubric"), *([component(t == 0, "human")] if t < 2 else [])] for t in range(3)]
    export = promptfoo(*(output(t, *rated[t], provider=name) for t in range(3) for name in ("gpt", "llama")))
    read = read_outcomes(write(tmp_path / "export.json", export))
    assert read.systems.tolist() == ["gpt", "llama"]
    assert (read.people, read.judges) == (["human"], ["promptfoo"])
    assert read.cases.tolist() == ["test 0", "test 1", "test 2"]
    assert (read.n_human, len(read.value)) == (4, 10)
    assert said(read)["llama", "test 1", "human"] == 0


def test_prompts_of_one_provider_are_systems_and_errors_are_no_verdicts(tmp_path):
    """Two prompts of a provider were one system, and an output that failed with an error counted as a fail."""
    prompts = [{"raw": "x", "label": "terse"}, {"raw": "y", "label": "polite"}]
    results = [
        output(t, component(t == 0, "human"), component(True, "is-json"), component(False, "tone"))
        | {"promptIdx": which, "prompt": prompts[which]}
        for t in range(2)
        for which in range(2)
    ]
    failed = output(2, success=False) | {
        "gradingResult": None,
        "error": "429",
        "failureReason": 2,
        "prompt": prompts[0],
    }
    path = write(tmp_path / "export.json", promptfoo(*results, failed))
    with pytest.warns(PlausiblyWarning, match="left out: 1 verdicts without a value"):
        read = read_outcomes(path)
    assert read.systems.tolist() == ["openai:gpt-4o, terse", "openai:gpt-4o, polite"]
    assert read.cases.tolist() == ["test 0", "test 1"]
    tone = read_outcomes(path, control="tone")
    assert (tone.people, tone.judges) == (["human"], ["tone"])
    assert said(tone)["openai:gpt-4o, polite", "test 0", "human"] == 1
    assert said(tone)["openai:gpt-4o, polite", "test 0", "tone"] == 0
    for one in results:
        one["prompt"] = {"raw": f"{one['promptIdx']} and {one['testIdx']}"}
    read = read_outcomes(write(tmp_path / "export.json", promptfoo(*results)))
    assert read.systems.tolist() == ["openai:gpt-4o, prompt 0", "openai:gpt-4o, prompt 1"]


def test_logs_of_inspect_are_put_together_with_a_table_of_people(tmp_path):
    logs = [
        write(tmp_path / f"{name}.json", INSPECT | {"eval": {"model": name, "created": "2026-01-02T03:04:05+00:00"}})
        for name in ("gpt", "llama")
    ]
    people = write(tmp_path / "people.csv", "model,item,annotator,label\ngpt,a,ann,pass\nllama,a,ann,fail\n")
    read = read_outcomes([*logs, people], ["ann"])
    assert (read.systems.tolist(), read.judges, read.people) == (["gpt", "llama"], ["match", "judge"], ["ann"])
    assert said(read)["llama", "a", "ann"] == 0
    assert [said(read)["gpt", case, "judge"] for case in "ab"] == [0, 0.5]  # partial counts half
    assert read.date[0] == np.datetime64("2026-01-02T03:04:05")
    assert np.isnat(read.date[-1])
    renamed = read_outcomes({"new": logs[0], "old": logs[1]}, ["match"])
    assert renamed.systems.tolist() == ["new", "old"]
    with pytest.raises(AnnotationError, match=r"people\.csv: row 1 has no kind; write person or judge, or name"):
        read_outcomes([*logs, people])
    with pytest.raises(AnnotationError, match=r"people\.csv: the table names systems itself"):
        read_outcomes({"gpt": people}, ["ann"])
    twice = INSPECT | {"samples": [sample("a", "B", epoch, match=grade("C")) for epoch in (1, 2)]}
    read = read_outcomes(write(tmp_path / "twice.json", twice), ["match"])
    assert read.cases.tolist() == ["a, epoch 1", "a, epoch 2"]
    assert read.cluster.tolist() == [0, 0]  # of one sample


def test_exports_that_do_not_name_a_system_are_named_by_hand_or_by_file(tmp_path):
    run = write(tmp_path / "north.json", {"testCases": [deepeval_case("t0", metric("Bias", True))]})
    assert said(read_outcomes(run, ["gpt-4o"])) == {("north", "t0", "gpt-4o"): 1}
    run = {"testCases": [deepeval_case("t0", metric("Bias", True))], "hyperparameters": {"model": "llama"}}
    assert said(read_outcomes(write(tmp_path / "run.json", run), ["gpt-4o"])) == {("llama", "t0", "gpt-4o"): 1}
    samples = [write(tmp_path / name / "samples_sums.jsonl", lines(*LM_EVAL)) for name in ("m1", "m2")]
    read = read_outcomes(samples, ["strict"])
    assert read.systems.tolist() == ["m1", "m2"]
    assert said(read)["m2", "1", "flexible"] == 1
    with pytest.raises(AnnotationError, match=r"o\.csv: the table has no column 'system'.*NAME=FILE"):
        read_outcomes(write(tmp_path / "o.csv", "case,rater,outcome\np,ann,1\n"), ["ann"])
    tables = [write(tmp_path / f"{name}.csv", "case,rater,outcome\np,ann,1\n") for name in "AB"]
    assert said(read_outcomes(dict(zip("AB", tables, strict=True)), ["ann"])) == {
        ("A", "p", "ann"): 1,
        ("B", "p", "ann"): 1,
    }


@pytest.mark.filterwarnings("ignore::plausibly.errors.PlausiblyWarning")
def test_traces_say_who_is_a_person_and_fields_name_system_and_case(tmp_path):
    with pytest.warns(PlausiblyWarning, match=r"traces\.json: left out: 1 verdicts without a value"):
        read = read_outcomes({"A": write(tmp_path / "traces.json", MLFLOW)})
    assert (read.people, read.judges) == (["ann@x.org", "bob@x.org"], ["gpt"])
    tagged = [
        {"info": one["info"] | {"tags": {"version": name}, "request_preview": "2 + 2?"}}
        for name in "xy"
        for one in MLFLOW
    ]
    for number, one in enumerate(tagged):
        one["info"]["trace_id"] = f"tr-{number}"
    read = read_outcomes(write(tmp_path / "traces.json", tagged), system="version", case="request_preview")
    assert (read.systems.tolist(), read.cases.tolist()) == (["x", "y"], ["2 + 2?"])
    with pytest.raises(AnnotationError, match=r"traces\.json: case 'tr-0' has no field 'release', among "):
        read_outcomes(tmp_path / "traces.json", system="release")
    scores = write(tmp_path / "scores.json", {"data": LANGFUSE})
    read = read_outcomes({"A": scores}, positive="kind")
    assert (read.people, read.judges) == (["u1"], ["EVAL"])
    read = read_outcomes({"A": write(tmp_path / "spans.json", PHOENIX)}, positive="kind")
    assert (read.people, read.judges) == (["u1"], ["LLM"])
    spans = [LANGFUSE[0] | {"observationId": part, "authorUserId": part} for part in ("o1", "o2")]
    read = read_outcomes({"A": write(tmp_path / "scores.json", spans)}, positive="kind")
    assert (len(read.cases), read.cluster.tolist()) == (2, [0, 0])  # of one trace


@pytest.mark.filterwarnings("ignore::plausibly.errors.PlausiblyWarning")
def test_of_several_questions_one_is_chosen(tmp_path):
    log = INSPECT | {"samples": [sample("a", "B", match=grade("C"), tone=grade({"kind": 1, "short": 0}))]}
    path = write(tmp_path / "log.json", log)
    with pytest.raises(AnnotationError, match="several questions, 'correct', 'tone/kind', 'tone/short'; choose one"):
        read_outcomes(path, ["match"])
    assert read_outcomes(path, ["tone/kind"], control="tone/kind").value.tolist() == [1]


RANKINGS = [("1", "ann", "A>B=C"), ("1", "gpt", "B > A"), ("2", "ann", "C>A")]


def test_rankings_of_the_systems_shown_are_pairs():
    table = frame(RANKINGS, ("case", "rater", "ranking"))
    read = read_outcomes(table, ["ann"])
    assert (read.kind, read.ranked) == ("pairs", True)
    found = {
        (*sorted((read.systems[a], read.systems[b])), read.raters[r], read.cases[c])
        for a, b, r, c in zip(read.system, read.opponent, read.rater, read.case, strict=True)
    }
    assert found == {
        ("A", "B", "ann", "1"),
        ("A", "C", "ann", "1"),
        ("B", "C", "ann", "1"),
        ("A", "B", "gpt", "1"),
        ("A", "C", "ann", "2"),
    }
    cells = cells_of(read)
    rate = {name: np.nanmean(cells.people[cells.system == at]) for at, name in enumerate(read.systems.tolist())}
    assert rate == {"A": pytest.approx(2 / 3), "B": 0.25, "C": 0.5}  # won 2 of 3, half of 2, 1.5 of 3
    assert len({*read.cluster.tolist()}) == 2
    rows = [
        ("1", "ann", "A", 1),
        ("1", "ann", "B", 2),
        ("1", "ann", "C", 2),
        ("1", "gpt", "A", 2),
        ("1", "gpt", "B", 1),
    ]
    rows += [("2", "ann", "A", 9), ("2", "ann", "C", 4)]
    long = frame(rows, ("case", "rater", "system", "rank"))
    again = cells_of(read_outcomes(long, ["ann"]))
    assert sorted(map(str, zip(again.system, again.people, again.cluster, strict=True))) == sorted(
        map(str, zip(cells.system, cells.people, cells.cluster, strict=True))
    )
    assert is_of_outcomes(["case", "rater", "ranking"])
    assert is_of_outcomes(["case", "rater", "system", "rank"])
    assert not is_of_outcomes(["case", "annotator", "class", "rank"])


def test_dates_are_read_in_any_usual_form():
    for said in ("2026-01-31", "2026-01-31T00:00:00Z", 1769817600, 1769817600000, pd.Timestamp("2026-01-31")):
        read = read_outcomes(frame().assign(date=said), ["ann"])
        assert (read.date == np.datetime64("2026-01-31")).all()
    assert read_outcomes(frame(), ["ann"]).date is None
    assert np.isnat(read_outcomes(frame().assign(date=[None] + ["2026-01-31"] * 5), ["ann"]).date[0])


def ranked(*texts):
    return frame([("1", f"r{number}", text) for number, text in enumerate(texts)], ("case", "rater", "ranking"))


BAD = [
    (frame(ROWS[:0]), ["ann"], {}, "there are no rows"),
    (frame(changed(2, 3, "")), ["ann"], {}, "row 3 has no outcome; fill it in"),
    (frame(changed(1, 2, None)), ["ann"], {}, "row 2 has no rater"),
    (frame().drop(columns="rater"), ["ann"], {}, "has no column 'rater'"),
    (frame().assign(score=1), ["ann"], {}, "both a column 'outcome' and a column 'score'; keep one"),
    (frame([*ROWS, ROWS[2]]), ["ann"], {}, "row 7: 'gpt' rates 'A', case 'p' a second time; keep one"),
    (frame(), ["anne"], {}, "people names 'anne', who is not among the raters; did you mean 'ann'"),
    (frame(), None, {}, "nothing says which raters are people; name with people="),
    (frame([one for one in ROWS if one[0] == "A" or one[2] == "gpt"]), ["ann"], {}, "no person rated 'B'; have people"),
    (frame(changed(2, 3, "nan")), ["ann"], {}, "the outcome 'nan' is not finite"),
    (frame(), ["ann"], {"clusters": "topic"}, "has no column 'topic'"),
    (frame().assign(topic=list("abcdef")), ["ann"], {"clusters": "topic"}, "the case 'p' has a second topic"),
    (pairs(changed(0, 1, "A", PAIRS)), ["ann"], {}, "row 1 compares 'A' with itself"),
    (pairs(changed(0, 4, "C", PAIRS)), ["ann"], {}, "row 1: the outcome 'C' says nothing about 'A' and 'B'"),
    (pairs([*PAIRS, PAIRS[1]]), ["ann"], {}, "row 4: 'gpt' rates 'B' and 'A', case 'p' a second time"),
    (pairs([PAIRS[0], PAIRS[0]]).drop(columns="case"), ["ann"], {}, "add a column case that tells them apart, or keep"),
    (ranked("A>B", "A>>B"), ["r0"], {}, "row 2: the ranking 'A>>B' has an empty place; write for example A>B=C"),
    (ranked("A>B=A"), ["r0"], {}, "row 1: 'A' is ranked twice"),
    (ranked("A>B", "A"), ["r0"], {}, "row 2: the ranking has a single system; leave it out"),
    (ranked("A>B").drop(columns="case"), ["r0"], {}, "has no column 'case'"),
    (frame().assign(date="1/2/2026"), ["ann"], {}, "row 1: the date '1/2/2026' is not read; write it as 2026-01-31"),
    (frame([*ROWS, ("A", "r", "gpt", "pass"), ("B", "r", "gpt", "5")]), ["ann"], {}, "'5', but elsewhere 'pass'"),
    ([frame(), pairs()], ["ann"], {}, "compares pairs, the other does not; rank them apart"),
]


@pytest.mark.parametrize(("table", "people", "options", "sentence"), BAD, ids=[one[-1][:40] for one in BAD])
def test_what_is_wrong_is_said_in_a_sentence(table, people, options, sentence):
    with pytest.raises(AnnotationError, match=sentence):
        read_outcomes(table, people, **options)


def test_arguments_and_files_are_refused(tmp_path):
    with pytest.raises(ArgumentError, match="people must name at least one rater"):
        read_outcomes(frame(), [])
    with pytest.raises(ArgumentError, match="positive names a class, but these are pairs"):
        read_outcomes(pairs(), ["ann"], positive="a")
    for name, text, sentence in (
        ("o.xlsx", "", "spreadsheets are not read"),
        ("o.yaml", "", "the suffix '.yaml' names no format"),
        ("none.csv", None, "does not exist"),
        ("o.json", "[1]", "neither a table of outcomes nor an export"),
    ):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises((FileError, AnnotationError), match=f"{name}: .*{sentence}"):
            read_outcomes(tmp_path / name, ["ann"])
    (tmp_path / "people.txt").write_text("\n")
    with pytest.raises(FileError, match="the file is empty"):
        read_outcomes(frame(), tmp_path / "people.txt")


def test_intervals_of_grades_end_where_grades_do():
    """The mean of Inspect's grades, from 0 to 1, had an upper end above 1."""
    said = ["C"] * 36 + ["P"] * 2 + ["I"] * 2
    rows = [(system, case, "ann", grade) for system in "AB" for case, grade in enumerate(said)]
    rows += [(system, case, "gpt", "C" if case % 5 else "P") for system in "AB" for case in range(60)]
    result = pb.systems(frame(rows), people=["ann"])
    assert result.table["lower"].min() >= 0
    assert result.table["upper"].max() <= 1
