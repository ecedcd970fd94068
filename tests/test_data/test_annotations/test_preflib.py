"""PrefLib's files: votes with multiplicities, one file a case."""

import numpy as np
import pytest

from plausibly.base.errors import AnnotationError, FileError
from plausibly.data.annotations import Annotations, read_annotations, write_annotations
from tests.exports import ALTERNATIVES, election


@pytest.fixture
def write(tmp_path):
    def election_at(votes: str, name: str = "e.toi", **head):
        (tmp_path / name).write_text(election(votes, **head))
        return tmp_path / name

    return election_at


def test_a_file_is_a_case_whatever_its_line_ends_blanks_and_form(write, tmp_path):
    read = read_annotations(write("2: 3,{1,2}\n1: {4, 1}\n3: 2"))
    assert read.cases.tolist() == ["e"]
    assert read.classes.tolist() == ALTERNATIVES
    assert read.anonymous
    ties = [["Cyd"], ["Ann: the first", "Bob, Jr."]]
    assert list(read.rankings("e").values()) == [ties, ties, [["Ann: the first", "Dan"]], *[[["Bob, Jr."]]] * 3]
    (tmp_path / "old.toi").write_text("3\n1,Ann\n2,Bob, the second\n3,Cyd\n5,5,2\n4,1,{2,3}\n1,3\n")
    (tmp_path / "new.toi").write_text(election("4: 1,{2,3}\n1: 3", ["Ann", "Bob, the second", "Cyd"]))
    old, new = read_annotations(tmp_path / "old.toi"), read_annotations(tmp_path / "new.toi")
    assert list(old.rankings(0).values()) == list(new.rankings(0).values())
    assert old.classes.tolist() == new.classes.tolist()
    plain = read_annotations(write("2: 3,{1,2}\n1: 4"))
    spaced = election("2: 3,{1,2}\n1: 4").replace("3,{1,2}", " 3 , { 1,2 } ").replace("\n", "\r\n")
    (tmp_path / "e.toi").write_bytes(b"\xef\xbb\xbf" + spaced.encode())
    assert read_annotations(tmp_path / "e.toi") == plain


@pytest.mark.parametrize("suffix", ["soc", "soi", "toc", "toi"])
def test_every_kind(write, suffix):
    votes = {"soc": "1: 1,2,3,4", "soi": "1: 2,1", "toc": "1: {1,2},{3,4}", "toi": "1: {1,2},3"}[suffix]
    read = read_annotations(write(votes, f"e.{suffix}"))
    assert read.n_annotations == 1
    assert list(read.block_sizes) == {"soc": [1, 1, 1, 1], "soi": [1, 1], "toc": [2, 2], "toi": [2, 1]}[suffix]


def test_a_folder_is_a_case_for_each_file(tmp_path, write):
    write("1: 1,2", "b%2Fc.toi")
    write("2: 4", "a.soi")
    (tmp_path / "notes.txt").write_text("not read")
    read = read_annotations(tmp_path)
    assert read.cases.tolist() == ["a", "b/c"]
    assert [len(read.rankings(case)) for case in ("a", "b/c")] == [2, 1]
    write("1: 1", "a.toi")
    write("1: 1", "a.soi")
    with pytest.raises(FileError, match=r"a\.toi: another file names the case 'a', too; rename one"):
        read_annotations(tmp_path)


def test_files_with_other_alternatives_need_classes(tmp_path, write):
    write("1: 1,2", "a.toi")
    (tmp_path / "b.toi").write_text(election("1: 1", ["Eve"]))
    with pytest.raises(AnnotationError, match=r"b\.toi: its alternatives are not those of the files before it; pass"):
        read_annotations(tmp_path)
    read = read_annotations(tmp_path, ["Eve", *ALTERNATIVES])
    assert read.rankings("a") == {"1": [[name] for name in ALTERNATIVES[:2]]}  # by name: they come later here
    assert read.rankings("b") == {"1": [["Eve"]]}
    with pytest.raises(AnnotationError, match="case 'b': the class 'Eve' is not among the 4 classes"):
        read_annotations(tmp_path, ALTERNATIVES)


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
    (tmp_path / "e.soc").write_text(election("\n".join(f"50: {order}" for order in orders), names))
    read = read_annotations(tmp_path / "e.soc")
    assert read.n_annotations == 50 * len(orders)
