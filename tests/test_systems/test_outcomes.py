"""Outcomes: what columns and cells mean, and the sentence that refuses each thing that is wrong with them."""

import json

import numpy as np
import pandas as pd
import pytest

from plausibly.errors import AnnotationError, ArgumentError, FileError
from plausibly.systems import read_outcomes
from plausibly.systems.outcomes import cells_of, is_of_outcomes

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


def test_verdicts_of_a_tool_name_the_system(tmp_path):
    def result(test, provider, human):
        rated = [{"pass": True, "assertion": {"type": "llm-rubric"}}]
        rated += [{"pass": human, "assertion": {"type": "human"}}] if human is not None else []
        return {
            "testIdx": test,
            "provider": {"id": provider},
            "success": True,
            "gradingResult": {"componentResults": rated},
        }

    results = [
        result(test, name, test % 2 == 0 if test < 2 else None) for test in range(3) for name in ("gpt", "llama")
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"results": {"version": 3, "results": results}}))
    read = read_outcomes(path, ["human"])
    assert read.systems.tolist() == ["gpt", "llama"]
    assert read.judges == ["promptfoo"]
    assert len(read.cases) == 3
    assert (read.n_human, len(read.value)) == (4, 10)


BAD = [
    (frame(ROWS[:0]), ["ann"], {}, "there are no rows"),
    (frame(changed(2, 3, "")), ["ann"], {}, "row 3 has no outcome; fill it in"),
    (frame(changed(1, 2, None)), ["ann"], {}, "row 2 has no rater"),
    (frame().drop(columns="rater"), ["ann"], {}, "has no column 'rater'"),
    (frame().assign(score=1), ["ann"], {}, "both a column 'outcome' and a column 'score'; keep one"),
    (frame([*ROWS, ROWS[2]]), ["ann"], {}, "row 7: 'gpt' rates 'A', case 'p' a second time; keep one"),
    (frame(), ["anne"], {}, "people names 'anne', who is not among the raters; did you mean 'ann'"),
    (frame(), None, {}, "nothing says which raters are people; name them with people="),
    (frame([one for one in ROWS if one[0] == "A" or one[2] == "gpt"]), ["ann"], {}, "no person rated 'B'; have people"),
    (frame(changed(2, 3, "nan")), ["ann"], {}, "the outcome 'nan' is not finite"),
    (frame(), ["ann"], {"clusters": "topic"}, "has no column 'topic'"),
    (frame().assign(topic=list("abcdef")), ["ann"], {"clusters": "topic"}, "the case 'p' has a second topic"),
    (pairs(changed(0, 1, "A", PAIRS)), ["ann"], {}, "row 1 compares 'A' with itself"),
    (pairs(changed(0, 4, "C", PAIRS)), ["ann"], {}, "row 1: the outcome 'C' says nothing about 'A' and 'B'"),
    (pairs([*PAIRS, PAIRS[1]]), ["ann"], {}, "row 4: 'gpt' rates 'B' and 'A', case 'p' a second time"),
    (pairs([PAIRS[0], PAIRS[0]]).drop(columns="case"), ["ann"], {}, "or add a column case that tells them apart"),
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
