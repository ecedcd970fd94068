"""What comparisons of systems, and the reader of outcomes, refuse."""

from functools import partial

import pandas as pd

import plausibly as pb
from plausibly.base.errors import AnnotationError, ArgumentError, FileError
from plausibly.systems import read_outcomes
from tests.refused import each, refused
from tests.refused.hostile import put

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


def ranked(*texts):
    return frame([("1", f"r{number}", text) for number, text in enumerate(texts)], ("case", "rater", "ranking"))


OF_TABLES = [
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

CLASSES = frame([("A", "p", "ann", "good"), ("A", "q", "ann", "so-so"), ("A", "r", "ann", "good")])
ODD = frame([("A", "p", "ann", "PASS"), ("A", "q", "ann", "fail"), ("A", "r", "ann", "N/A")])
GAPS = frame([("A", "p", "ann", "pass"), ("A", "q", "ann", " "), ("A", "r", "ann", "N/A"), ("A", "s", "ann", "x")])
WIDE = pd.DataFrame({"model": list("ABA"), "prompt": list("ppq"), "ann": ["pass", "fail", None], "gpt": "fail"})
CODES = frame([("A", "pqrs"[n], "ann", said) for n, said in enumerate(("yes", "no", "1", "0"))])
SPELLED = frame([("A", "pqr"[n], "ann", said) for n, said in enumerate(("so-so", "so so", "bad"))])
MANY = frame([(system, case, "ann", n / 7) for n, (system, case) in enumerate((s, c) for s in "AB" for c in "pqrstuv")])


def read(table, people=("ann",), **options):
    return read_outcomes(table, people if people is None else [*people], **options)


def of_file(name, text):
    return lambda folder: read_outcomes(put(folder, name, text), ["ann"])


def compared(table=None, **options):
    return pb.systems(frame() if table is None else table, people=["ann"], progress=False, **options)


REFUSED = [
    *(row for table, people, options, words in OF_TABLES
      for row in each(partial(read, table, people), {words: options}, AnnotationError, "outcomes")),
    *each(read, {
        "neither pass and fail nor numbers; name the class": (CLASSES,),
        r"row 3: the outcome 'N/A' is neither pass nor fail.*\(in 1 row: 'N/A'\).*--missing 'N/A'": (ODD,),
        r"row 2 has no outcome; fill it in, or leave such rows out: missing=": (GAPS,),
        "or, with a column for each rater, say which: raters=": (WIDE,),
        r"there is no column 'gtp'.*did you mean 'gpt'": {"table": WIDE, "raters": ["ann", "gtp"]},
        "row 2: the outcome 'maybe'": {"table": WIDE.assign(ann=["pass", "maybe", None]), "raters": ["ann", "gpt"]},
        "row 2: the kind 'robot' is not known; write person or judge": (
            frame().assign(kind=["human", "robot"] + ["judge"] * 4), None
        ),
        "the outcomes 'yes' and '1' may mean the same; write": {"table": CODES, "positive": "yes"},
        "the outcomes 'so-so' and 'so so' differ only in spelling": {"table": SPELLED, "positive": "so so"},
        "the rater 'ann' is a person and a judge": (frame().assign(kind=["human"] + ["judge"] * 5), None),
        "no rater is a person": (frame().assign(kind="judge"), None),
    }, AnnotationError),
    *each(read, {
        "'goood' is not: did you mean 'good'": {"table": CLASSES, "positive": "goood"},
        "there is a column 'rater': drop one": {"table": WIDE.assign(rater="x"), "raters": ["ann"]},
        "people must name at least one rater": (frame(), []),
        "positive names a class, but these are pairs": {"table": pairs(), "positive": "a"},
    }, ArgumentError),
    refused("a spreadsheet", of_file("o.ods", "x"), "o.ods: .*Save As with the type", error=FileError),
    refused("a suffix", of_file("o.yaml", ""), "o.yaml: .*the suffix '.yaml' names no format", error=FileError),
    refused("no file", of_file("none.csv", None), "none.csv: .*does not exist", error=FileError),
    refused("a list", of_file("o.json", "[1]"), "o.json: .*neither a table of outcomes nor an", error=AnnotationError),
    refused("no system", of_file("o.csv", "case,rater,outcome\np,ann,1\n"),
            r"o\.csv: the table has no column 'system'.*NAME=FILE", error=AnnotationError),
    refused("no people", lambda folder: read_outcomes(frame(), put(folder, "people.txt", "\n")), "the file is empty",
            error=FileError),
    *each(compared, {
        "ci_prob must lie between 0 and 1": {"ci_prob": 1},
        "replicates must be a whole number": {"replicates": 0},
        "seed must be a whole number": {"seed": -1},
        "draws must be": {"model": True, "draws": 1},
    }, ArgumentError),
    *each(compared, {"2 to 12 different ratings": {"table": MANY, "model": True}}, AnnotationError),
]  # fmt: skip
