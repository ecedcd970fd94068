"""Rankings in JSON, read a few bytes at a time: as if the whole file had been read."""

import json

import pytest

from plausibly.annotations import Annotations, read_annotations
from plausibly.annotations.io import _rankings, _stream
from plausibly.errors import AnnotationError, ArgumentError, FileError, PlausiblyError

NAMED = {
    "classes": ["Nævus", 'a"b', "c,]}"],
    "cases": {"Fall 7": {"dr. ä": [['a"b'], ["Nævus", 2]]}, "q": {"x": [[0]]}},
}
LISTED = [[[["a"], ["b"]]], [[["b"]], [["a", "b"]]]]


@pytest.fixture(params=[1, 3, 64])
def blocks(request, monkeypatch):
    monkeypatch.setattr(_stream, "_BLOCK", request.param)


@pytest.fixture
def whole(monkeypatch):
    """Fails where the whole file is read at once."""

    def refuse(path):
        raise AssertionError("the whole file was read")

    monkeypatch.setattr("plausibly.annotations.io._read.load_json", refuse)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("form", [NAMED, LISTED, {"cases": {"p": [[["x"]], [["y"]]]}}])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_cases_one_after_the_other(tmp_path, blocks, whole, form, indent, mark):
    path = tmp_path / "a.json"
    path.write_text(mark + json.dumps(form, ensure_ascii=False, indent=indent) + "\n ", encoding="utf-8")
    assert read_annotations(path) == Annotations.from_rankings(form)


def test_other_orders_and_exports_are_read_whole(tmp_path, blocks):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"cases": {"p": {"x": [[1]]}}, "classes": ["a", "b"]}))
    assert read_annotations(path).rankings("p") == {"x": [["b"]]}


@pytest.mark.parametrize("form", [NAMED, LISTED])
def test_wherever_a_file_ends_too_early_the_error_is_that_of_the_whole(tmp_path, form):
    text = json.dumps(form, ensure_ascii=False)
    path = tmp_path / "a.json"
    for end in range(1, len(text)):
        path.write_text(text[:end], encoding="utf-8")
        with pytest.raises(FileError) as expected:
            _rankings.load_json(path)
        with pytest.raises(FileError) as found:
            read_annotations(path)
        assert str(found.value) == f"{path}: {expected.value}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"cases": {"p": [[["x"]]], "p": [[["y"]]]}}', "the name 'p' is there twice in one JSON object"),
        ('{"cases": {"p": [[["x"]]]}} {}', "the file is not JSON"),
        ('{"cases": {"p": [[["x"]]]}, "more": 1}', "the object form of rankings has the key 'more'"),
        ('[[[["x"]]], 7]', "a case is a list of annotations, got 7"),
        ('{"cases": {"p": {"ann": [["x"]], "ann": [["y"]]}}}', "the name 'ann' is there twice in one JSON object"),
        ('{"cases": {"p": [[[NaN]]]}}', "the JSON holds NaN"),
        ('{"cases": {"p": [[["x"]]] "q": 1}}', "the file is not JSON"),
    ],
)
def test_faults_are_told_as_of_a_whole_file(tmp_path, blocks, text, sentence):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises((AnnotationError, FileError), match=sentence):
        read_annotations(path)


def test_text_that_is_not_utf8_after_the_first_cases(tmp_path, blocks):
    path = tmp_path / "a.json"
    path.write_bytes(b'[[[["x"]]], [[["\xff"]]]]')
    with pytest.raises(FileError, match="the file is not UTF-8 text"):
        read_annotations(path)


def test_a_control_of_plain_rankings(tmp_path, blocks):
    path = tmp_path / "a.json"
    path.write_text('[[[["x"]]]]')
    with pytest.raises(ArgumentError, match="a control is for exports of Label Studio"):
        read_annotations(path, control="diagnosis")


@pytest.mark.parametrize(
    ("rest", "match"),
    [
        ('"q": {"x": [[', "is truncated"),
        ('"q": {"x": [[0]], "x": [[0]]}}}', "the name 'x' is there twice"),
        ('"p": {"x": [[0]]}}}', "the name 'p' is there twice"),
        ('"q": {"x": [[0]]}}, "note": 1}', "has the key 'note'"),
    ],
)
def test_of_two_faults_the_one_that_is_looked_for_first_is_told(tmp_path, blocks, rest, match):
    path = tmp_path / "a.json"
    path.write_text('{"classes": ["a"], "cases": {"p": {"x": [["b"]]}, ' + rest)
    with pytest.raises(PlausiblyError, match=match):
        read_annotations(path)


def test_a_fault_beside_no_other_is_told_without_reading_the_whole(tmp_path, blocks, whole):
    path = tmp_path / "a.json"
    path.write_text('{"cases": {"p": {"x": [["b"]]}, "q": {"x": [[]]}}}')
    with pytest.raises(AnnotationError, match=r"case 'q', annotator 'x': block 1 is empty"):
        read_annotations(path)
