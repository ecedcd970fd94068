"""PrefLib's files: votes with multiplicities, one file a case."""

import re

import numpy as np
import pytest

from plausibly.annotations import Annotations, read_annotations, write_annotations
from plausibly.errors import AnnotationError, FileError

NAMES = ["Ann: the first", "Bob, Jr.", "Cyd", "Dan"]


def text(votes: str, names=NAMES, **head) -> str:
    counts = [int(line.split(":")[0]) for line in votes.splitlines()]
    head = {"number_alternatives": len(names), "number_voters": sum(counts), "number_unique_orders": len(counts)} | head
    lines = ["# FILE NAME: e.toi", "# TITLE: An election", "# RELATES TO: "]
    lines += [f"# {key.replace('_', ' ').upper()}: {value}" for key, value in head.items()]
    lines += [f"# ALTERNATIVE NAME {number}: {name}" for number, name in enumerate(names, 1)]
    return "\n".join([*lines, votes]) + "\n"


@pytest.fixture
def election(tmp_path):
    def write(votes: str, name: str = "e.toi", **head):
        (tmp_path / name).write_text(text(votes, **head))
        return tmp_path / name

    return write


def test_a_file_is_a_case_whatever_its_line_ends_blanks_and_form(election, tmp_path):
    read = read_annotations(election("2: 3,{1,2}\n1: {4, 1}\n3: 2"))
    assert read.cases.tolist() == ["e"]
    assert read.classes.tolist() == NAMES
    assert read.anonymous
    ties = [["Cyd"], ["Ann: the first", "Bob, Jr."]]
    assert list(read.rankings("e").values()) == [ties, ties, [["Ann: the first", "Dan"]], *[[["Bob, Jr."]]] * 3]
    (tmp_path / "old.toi").write_text("3\n1,Ann\n2,Bob, the second\n3,Cyd\n5,5,2\n4,1,{2,3}\n1,3\n")
    (tmp_path / "new.toi").write_text(text("4: 1,{2,3}\n1: 3", ["Ann", "Bob, the second", "Cyd"]))
    old, new = read_annotations(tmp_path / "old.toi"), read_annotations(tmp_path / "new.toi")
    assert list(old.rankings(0).values()) == list(new.rankings(0).values())
    assert old.classes.tolist() == new.classes.tolist()
    plain = read_annotations(election("2: 3,{1,2}\n1: 4"))
    spaced = text("2: 3,{1,2}\n1: 4").replace("3,{1,2}", " 3 , { 1,2 } ").replace("\n", "\r\n")
    (tmp_path / "e.toi").write_bytes(b"\xef\xbb\xbf" + spaced.encode())
    assert read_annotations(tmp_path / "e.toi") == plain


@pytest.mark.parametrize("suffix", ["soc", "soi", "toc", "toi"])
def test_every_kind(election, suffix):
    votes = {"soc": "1: 1,2,3,4", "soi": "1: 2,1", "toc": "1: {1,2},{3,4}", "toi": "1: {1,2},3"}[suffix]
    read = read_annotations(election(votes, f"e.{suffix}"))
    assert read.n_annotations == 1
    assert list(read.block_sizes) == {"soc": [1, 1, 1, 1], "soi": [1, 1], "toc": [2, 2], "toi": [2, 1]}[suffix]


def test_a_folder_is_a_case_for_each_file(tmp_path, election):
    election("1: 1,2", "b%2Fc.toi")
    election("2: 4", "a.soi")
    (tmp_path / "notes.txt").write_text("not read")
    read = read_annotations(tmp_path)
    assert read.cases.tolist() == ["a", "b/c"]
    assert [len(read.rankings(case)) for case in ("a", "b/c")] == [2, 1]
    election("1: 1", "a.toi")
    election("1: 1", "a.soi")
    with pytest.raises(FileError, match=r"a\.toi: another file names the case 'a', too; rename one"):
        read_annotations(tmp_path)


def test_files_with_other_alternatives_need_classes(tmp_path, election):
    election("1: 1,2", "a.toi")
    (tmp_path / "b.toi").write_text(text("1: 1", ["Eve"]))
    with pytest.raises(AnnotationError, match=r"b\.toi: its alternatives are not those of the files before it; pass"):
        read_annotations(tmp_path)
    read = read_annotations(tmp_path, ["Eve", *NAMES])
    assert read.rankings("b") == {"1": [["Eve"]]}
    with pytest.raises(AnnotationError, match="case 'b': the class 'Eve' is not among the 4 classes"):
        read_annotations(tmp_path, NAMES)


BAD = {
    "vote that is not a list": ("1: x", "e.toi", FileError, "line 11 is '1: x'; write votes like 12: 3,{1,2}"),
    "bracket left open": ("1: {1,2", "e.toi", FileError, "line 11 is '1: {1,2'"),
    "empty brackets": ("1: {},1", "e.toi", FileError, "line 11 is '1: {},1'"),
    "no votes": ("", "e.toi", AnnotationError, "there are no votes; give at least one"),
    "vote of nobody": ("0: 1", "e.toi", AnnotationError, "line 11: this vote has 0 voters; remove it"),
    "alternative 5 of 4": ("1: 5", "e.toi", AnnotationError, "line 11: there is no alternative 5; count from 1 to 4"),
    "alternative 0": ("1: 0", "e.toi", AnnotationError, "line 11: there is no alternative 0; count from 1 to 4"),
    "alternative ranked twice": ("1: 2,{1,2}", "e.toi", AnnotationError, "line 11: alternative 2 is ranked twice"),
    "ties in .soi": ("1: {1,2}", "e.soi", AnnotationError, "line 11 ties alternatives, which .soi does not allow;"),
    "some alone in .toc": ("1: {1,2}", "e.toc", AnnotationError, "line 11 ranks 2 of 4 alternatives, and .toc needs"),
    "a billion voters": ("999999999: 1", "e.toi", AnnotationError, "1e+09 named classes, and 10,000,000 is the"),
}


@pytest.mark.parametrize(("votes", "name", "error", "message"), BAD.values(), ids=BAD)
def test_votes_that_are_refused(election, votes, name, error, message):
    with pytest.raises(error, match=re.escape(message)) as raised:
        read_annotations(election(votes, name))
    assert str(raised.value).partition(": ")[0].endswith(name)


HEADS = {
    "cut off": ({"number_voters": 9}, FileError, "promises 9 as number voters, and there are 3; the file is cut off"),
    "orders": ({"number_unique_orders": 3}, FileError, "promises 3 as number unique orders, and there are 2"),
    "alternatives": ({"number_alternatives": 5}, FileError, "promises 5 alternatives and names 4; number them from 1"),
    "no number": ({"number_voters": "many"}, FileError, "line 5: number voters is 'many'; write a whole number"),
    "named again": ({"alternative_name_2": "Eve"}, FileError, "names alternative 2 again; name each once"),
    "blank name": ({"names": ["Ann", ""]}, AnnotationError, "class 1 (counted from 0) has a blank name"),
    "alike": ({"names": ["Ann", "Ann"]}, AnnotationError, "the class 'Ann' is listed 2 times; list each class once"),
}


@pytest.mark.parametrize(("head", "error", "message"), HEADS.values(), ids=HEADS)
def test_headers_that_are_refused(tmp_path, head, error, message):
    (tmp_path / "e.toi").write_text(text("2: 1\n1: 2", **{"names": NAMES} | head))
    with pytest.raises(error, match=re.escape(message)):
        read_annotations(tmp_path / "e.toi")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("hello\n", "line 1 is 'hello'; begin with '# NUMBER ALTERNATIVES"),
        ("2\n1,a\n1,b\n1,1,1\n1,1\n", "line 3 is '1,b'; write the number and the name of an alternative"),
        ("2\n1,a\n2,b\n", "there is no line 'voters,sum,orders' after 2 alternatives; the file is cut off"),
        ("# NUMBER ALTERNATIVES: 2\n", "promises 2 alternatives and names 0"),
    ],
)
def test_files_that_are_no_profiles(tmp_path, content, message):
    (tmp_path / "e.toi").write_text(content)
    with pytest.raises(FileError, match=re.escape(message)):
        read_annotations(tmp_path / "e.toi")


def test_equal_votes_are_counted_when_written_and_large_elections_read(tmp_path):
    annotations = Annotations.from_rankings([[[["b"], ["a", "c"]], [["a"]], [["b"], ["a", "c"]]]], classes="abc")
    write_annotations(annotations, tmp_path / "0.toi")
    lines = (tmp_path / "0.toi").read_text().splitlines()
    assert lines[-2:] == ["2: 2,{1,3}", "1: 1"]
    assert "# NUMBER VOTERS: 3" in lines
    assert "# ALTERNATIVE NAME 3: c" in lines
    random = np.random.default_rng(0)
    orders = {",".join(map(str, random.permutation(20) + 1)) for _ in range(300)}
    names = [f"n{i}" for i in range(20)]
    (tmp_path / "e.soc").write_text(text("\n".join(f"50: {order}" for order in orders), names))
    read = read_annotations(tmp_path / "e.soc")
    assert read.n_annotations == 50 * len(orders)
