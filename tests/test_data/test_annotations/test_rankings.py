"""Rankings in list form and object form."""

import json

import numpy as np
import pytest

from plausibly.data.annotations import Annotations, read_annotations

CLASSES = ["Eczema", "Psoriasis", "Tinea"]


def test_forms_and_classes_by_index_by_name_and_by_path(tmp_path):
    by_index = Annotations.from_rankings([[[[1], [0, 2]], [[2]]], [[[0]]]], classes=CLASSES)
    mixed = Annotations.from_rankings([[[["Psoriasis"], [2, "Eczema"]], [[2]]], [[["Eczema"]]]], classes=CLASSES)
    assert by_index == mixed
    assert by_index.anonymous
    assert by_index.cases.tolist() == ["0", "1"]
    assert by_index.annotators.tolist() == ["1", "2"]
    assert by_index.rankings("0") == {"1": [["Psoriasis"], ["Eczema", "Tinea"]], "2": [["Tinea"]]}
    plain = Annotations.from_rankings([[[[1], [0, 2]]]], classes=CLASSES)
    assert Annotations.from_rankings((((np.array([1]), (np.int64(0), 2)),),), classes=CLASSES) == plain
    annotations = Annotations.from_rankings({"cases": {"p": [[["x"]], [["y"]]]}})
    assert annotations.anonymous
    assert annotations.rankings("p") == {"1": [["x"]], "2": [["y"]]}
    assert Annotations.from_rankings([[[["b"], ["a"]]], [[["c"]]]]).classes.tolist() == ["a", "b", "c"]
    annotations = Annotations.from_rankings([[[["b"]]]], classes=["a", "b", "c"])
    assert annotations.n_classes == 3
    assert annotations.entry_class.tolist() == [1]
    annotations = Annotations.from_rankings({"classes": ["x", "y"], "cases": {"p": {"ann": [[1]]}}})
    assert annotations.rankings("p") == {"ann": [["y"]]}
    form = {"classes": ["x", "y"], "cases": {"p": {"ann": [[1]]}}}
    assert Annotations.from_rankings(form, classes=["x", "y"]) == Annotations.from_rankings(form)
    (tmp_path / "classes.txt").write_text("x\ny\n")
    (tmp_path / "a.json").write_text("[[[[1]]]]")
    by_path = read_annotations(tmp_path / "a.json", classes=str(tmp_path / "classes.txt"))
    assert by_path == read_annotations(str(tmp_path / "a.json"), classes=["x", "y"])
    assert by_path.rankings(0) == {"1": [["y"]]}


@pytest.mark.parametrize("byte_order_mark", ["", "\ufeff"])
def test_file(tmp_path, byte_order_mark):
    form = {"classes": ["Nævus", "Ekzem"], "cases": {"Fall 7": {"dr. ä": [["Ekzem"], ["Nævus"]]}}}
    path = tmp_path / "a.json"
    path.write_text(byte_order_mark + json.dumps(form, ensure_ascii=False), encoding="utf-8")
    assert read_annotations(path) == Annotations.from_rankings(form)


def test_real_set(shared):
    folder = shared / "data/dermatology_ddx"
    annotations = read_annotations(folder / "dermatology_selectors.json", classes=folder / "dermatology_conditions.txt")
    assert (annotations.n_cases, annotations.n_annotations, annotations.n_classes) == (1947, 9602, 419)
    sizes, counts = np.unique(annotations.block_sizes, return_counts=True)
    assert sizes.tolist() == [1, 2, 3, 4, 5, 6]
    assert counts.tolist() == [12445, 1379, 155, 16, 2, 1]
    raw = json.loads((folder / "dermatology_selectors.json").read_text())
    classes = annotations.classes.tolist()
    for case, said in enumerate(raw):
        expected = {str(i): [[classes[k] for k in sorted(b)] for b in blocks] for i, blocks in enumerate(said, 1)}
        assert annotations.rankings(case) == expected
