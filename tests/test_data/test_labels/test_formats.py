"""Labels from tables and from the formats of annotation tools; what is said of files that are none."""

import json

import pandas as pd
import pytest

from plausibly.agreement import agreement, read_labels
from plausibly.base.errors import FileError, PlausiblyWarning
from plausibly.data.labels.formats import literal, spans_of_tags


def cells(labels):
    return {
        (str(case), str(who)): value
        for case, who, value in zip(
            labels.cases[labels.case], labels.annotators[labels.annotator], labels.values, strict=True
        )
    }


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("3", 3),
        ("-2.5", -2.5),
        ('{"a": [1]}', {"a": [1]}),
        ("[((1, 2), (3, 4))]", [((1, 2), (3, 4))]),
        ("['a', 'b']", ["a", "b"]),
        ("[ 15  2\n 31]", [15, 2, 31]),
        ("[1. 2.5]", [1.0, 2.5]),
        ("wart", "wart"),
        ("(S (NP dog))", "(S (NP dog))"),
        ("3 dogs", "3 dogs"),
        ("[]", []),
        ("[[1. 2.]\n [3. 4.]]", [[1.0, 2.0], [3.0, 4.0]]),  # as NumPy prints arrays
        ("[-1.5e-03 -2.  ]", [-0.0015, -2.0]),
        *((text, text) for text in ("[e]", "[-]", "[1 - 2]", "007")),  # which only look like numbers
    ],
)
def test_literals(cell, value):
    assert literal(cell) == value
    assert type(literal(cell)) is type(value)


def test_tags():
    assert spans_of_tags(["I-A", "I-A", "B-A", "I-B", "O", "B-B"]) == [
        (0, 2, "A"),
        (2, 3, "A"),
        (3, 4, "B"),
        (5, 6, "B"),
    ]
    with pytest.raises(ValueError, match="a tag is O, B-… or I-…, got 'X-A'"):
        spans_of_tags(["X-A"])


def test_tables_of_every_suffix_and_names_of_columns(tmp_path, write):
    rows = [("7", "ann", "[[0, 0, 2, 2]]"), ("7", "bob", "[]"), ("8", "ann", ""), ("8", "bob", "[[1, 1, 2, 2]]")]
    frame = pd.DataFrame(rows, columns=["item", "uid", "annotation"])
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "a.parquet")
    records = [dict(zip(frame.columns, row, strict=True)) for row in rows]
    write("a.jsonl", "\n".join(map(json.dumps, records)))
    write("a.json", records)
    for suffix in ("csv", "tsv", "parquet", "jsonl", "json"):
        found = read_labels(tmp_path / f"a.{suffix}")
        assert cells(found) == {("7", "ann"): [[0, 0, 2, 2]], ("7", "bob"): [], ("8", "bob"): [[1, 1, 2, 2]]}
        assert found.n_missing == 1
    assert cells(read_labels(tmp_path / "a.csv", "text"))["7", "bob"] == "[]"
    frame = pd.DataFrame({"case": ["p", "p"], "annotator": ["a", "b"], "label": [[1, 2], [2, 1]]})
    frame.to_parquet(tmp_path / "a.parquet")
    assert cells(read_labels(tmp_path / "a.parquet")) == {("p", "a"): [1, 2], ("p", "b"): [2, 1]}
    path = write("a.csv", "who,photo,label,annotation\nann,7,1,2\nbob,7,3,4\n")
    assert cells(read_labels(path, case="photo", annotator="who")) == {("7", "ann"): 1, ("7", "bob"): 3}
    found = read_labels(path, case="photo", annotator="who", label="annotation")
    assert cells(found) == {("7", "ann"): 2, ("7", "bob"): 4}
    path = write("a.json", {"p": {"ann": [1, 2], "bob": [2]}})
    assert cells(read_labels(path)) == {("p", "ann"): [1, 2], ("p", "bob"): [2]}
    path = write("a.csv", 'case,annotator,label\np,ann,null\np,bob,"[1, 2]"\n')
    assert read_labels(path).n_missing == 1
    path = write("a.csv", "case,annotator,label\np,ann,null\np,bob,wart\n")
    with pytest.warns(PlausiblyWarning, match="'null' is a class here, but may stand for no label"):
        assert read_labels(path).n_missing == 0
    assert read_labels(path, "text").values.tolist() == ["null", "wart"]


COCO = {
    "images": [{"id": 4, "file_name": "cat.jpg"}, {"id": 9, "file_name": "dog.jpg"}],
    "annotations": [
        {"image_id": 4, "bbox": [1, 2, 10, 20], "category_id": 1, "annotator": "ann"},
        {"image_id": 4, "bbox": [5, 5, 1, 1], "category_id": 1, "annotator": "ann"},
        {"image_id": 9, "bbox": [0, 0, 3, 3], "keypoints": [0, 0, 2, 3, 3, 1], "area": 7, "annotator": "bob"},
    ],
}


def test_coco_of_one_or_several_annotators(write):
    path = write("all.json", COCO)
    boxes = {("cat.jpg", "ann"): [(1, 2, 11, 22), (5, 5, 6, 6)], ("dog.jpg", "bob"): [(0, 0, 3, 3)]}
    assert cells(read_labels(path, "boxes")) == boxes
    other = write("eve.json", {**COCO, "annotations": COCO["annotations"][2:]})
    found = cells(read_labels({"ann": path, "eve": other}, "boxes"))
    assert found["cat.jpg", "eve"] == []
    assert found["dog.jpg", "ann"] == [(0, 0, 3, 3)]
    found = cells(read_labels({"eve": other}, "keypoints"))
    assert found["dog.jpg", "eve"] == [{"keypoints": [0, 0, 2, 3, 3, 1], "bbox": [0, 0, 3, 3], "area": 7}]


def test_lines_bio_and_offsets(write, tmp_path):
    ann, bob = write("ann.txt", "the dog\n\n3\n"), write("bob.txt", "a dog\nno\n4\n")
    found = cells(read_labels({"ann": ann, "bob": bob}, "text"))
    assert found == {
        ("1", "ann"): "the dog",
        ("3", "ann"): "3",
        ("1", "bob"): "a dog",
        ("2", "bob"): "no",
        ("3", "bob"): "4",
    }
    trees = write("ann.mrg", "(S (NP the dog))\n(S (NP dog))\n")
    labels = read_labels({"ann": trees, "bob": trees})
    assert agreement(labels, "tree_edit", progress=False).alpha == 1
    text = "-DOCSTART- O O\n\nAnn B-PER B-PER\nLee I-PER O\n\nParis O B-LOC\n"
    path = write("a.conll", text)
    expected = {("1", "1"): [(0, 2, "PER")], ("1", "2"): [(0, 1, "PER")], ("2", "1"): [], ("2", "2"): [(0, 1, "LOC")]}
    assert cells(read_labels(path, "bio")) == expected
    other = write("b.txt", "Ann B-PER\nLee I-PER\n\nParis O")
    assert cells(read_labels({"bob": other}, "bio")) == {("1", "bob"): [(0, 2, "PER")], ("2", "bob"): []}
    table = write("a.csv", "case,annotator,label\n1,ann,B-X I-X\n1,bob,O O\n")
    assert cells(read_labels(table, "bio")) == {("1", "ann"): [(0, 2, "X")], ("1", "bob"): []}
    write("ann/p1.ann", "T1\tPER 0 4;6 9\tAnna Lee\nR1\tknows Arg1:T1 Arg2:T1\nT2\tLOC 12 17\tParis\n")
    write("ann/p2.ann", "")
    write("bob/p1.ann", "T1\tPER 0 9\tAnna  Lee\n")
    found = cells(read_labels({"ann": tmp_path / "ann", "bob": tmp_path / "bob"}, "spans"))
    assert found == {
        ("p1", "ann"): [(0, 4, "PER"), (6, 9, "PER"), (12, 17, "LOC")],
        ("p2", "ann"): [],
        ("p1", "bob"): [(0, 9, "PER")],
    }


def test_files_of_one_annotator(write, tmp_path):
    found = read_labels({"ann": write("a.json", {"p": [1], "q": [2]}), "bob": write("b.json", {"p": [1]})})
    assert cells(found) == {("p", "ann"): [1], ("q", "ann"): [2], ("p", "bob"): [1]}
    path = write("all.json", {"1": {"ann": "B-X I-X", "bob": "O O"}})
    assert cells(read_labels(path, "bio")) == {("1", "ann"): [(0, 2, "X")], ("1", "bob"): []}
    found = read_labels({"ann": write("ann.json", {"1": "B-X I-X"}), "bob": write("bob.json", {"1": "O O"})}, "bio")
    assert cells(found) == {("1", "ann"): [(0, 2, "X")], ("1", "bob"): []}
    path = write("a.conll", "EU NNP B-NP B-ORG\nrejects VBZ B-VP O\n")
    assert cells(read_labels({"ann": path}, "bio")) == {("1", "ann"): [(0, 1, "ORG")]}
    path = write("a.mrg", "( (S\n    (NP the dog)\n    (VP ran)))\n\n(S (NP dog))\n")
    found = cells(read_labels({"ann": path}))
    assert [" ".join(found[number, "ann"].split()) for number in "12"] == [
        "( (S (NP the dog) (VP ran)))",
        "(S (NP dog))",
    ]
    with pytest.raises(FileError, match=r"the folder has no \.ann files"):
        read_labels({"ann": tmp_path}, "spans")
    (tmp_path / "b.ann").write_text(" \n")
    assert cells(read_labels({"ann": tmp_path / "b.ann"}, "spans")) == {("b", "ann"): []}
