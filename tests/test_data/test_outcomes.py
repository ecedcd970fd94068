"""Outcomes: what columns and cells mean, and the sentence that refuses each thing that is wrong with them."""

import json

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.base.errors import AnnotationError, PlausiblyWarning
from plausibly.data.outcomes import cells_of, is_of_outcomes
from plausibly.systems import read_outcomes
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
    assert read_outcomes(table, ["ann"], positive="GOOD").value.tolist() == [1, 0, 1]


def test_outcomes_that_stand_for_none_are_left_out():
    table = frame([("A", "p", "ann", "pass"), ("A", "q", "ann", " "), ("A", "r", "ann", "N/A"), ("A", "s", "ann", "x")])
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
        by_row = [("A", "p", "ann", 1), ("A", "p", "gpt", 1), ("B", "p", "ann", 0), ("B", "p", "gpt", 1)]
        assert [*said] == [*by_row, ("A", "q", "gpt", 0)]
        assert read.cluster.tolist() == [0, 1]


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


def test_intervals_of_grades_end_where_grades_do():
    """The mean of Inspect's grades, from 0 to 1, had an upper end above 1."""
    said = ["C"] * 36 + ["P"] * 2 + ["I"] * 2
    rows = [(system, case, "ann", grade) for system in "AB" for case, grade in enumerate(said)]
    rows += [(system, case, "gpt", "C" if case % 5 else "P") for system in "AB" for case in range(60)]
    result = pb.systems(frame(rows), people=["ann"])
    assert result.table["lower"].min() >= 0
    assert result.table["upper"].max() <= 1
