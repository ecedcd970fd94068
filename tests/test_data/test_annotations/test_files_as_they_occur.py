"""Files in other encodings, with semicolons and decimal commas, with NaN, and with marks for missing labels."""

import json

import numpy as np
import pytest

import plausibly as pb
from plausibly.agreement import read_labels
from plausibly.base.errors import PlausiblyWarning

LABELS = "case,annotator,class\np,ann,nävus\np,bob,wart\nq,ann,wart\nq,bob,nävus\n"
RANKINGS = '{"cases": {"p": {"ann": [["nävus"]], "bob": [["wart"]]}, "q": {"ann": [["wart"]]}}}'
SPANS = "nävus B-X\nwart O\n"


def saved(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "cp1252"])
@pytest.mark.parametrize(
    ("name", "text"), [("a.csv", LABELS), ("a.json", RANKINGS), ("a.tsv", LABELS.replace(",", "\t"))]
)
def test_annotations_are_the_same_in_every_encoding(tmp_path, name, text, encoding):
    expected = pb.read_annotations(saved(tmp_path / f"utf8-{name}", text))
    path = saved(tmp_path / name, text, encoding)
    if encoding == "cp1252":
        with pytest.warns(PlausiblyWarning, match="not UTF-8; it is read as Windows-1252, in which it holds 'ä'"):
            read = pb.read_annotations(path)
    else:
        read = pb.read_annotations(path)
    assert read == expected


def test_labels_of_spans_are_read_in_utf16(tmp_path):
    texts = [read_labels(saved(tmp_path / f"{one}.conll", SPANS, one), "bio").values for one in ("utf-8", "utf-16")]
    assert str(texts[0]) == str(texts[1])


def test_semicolons_and_decimal_commas_are_read_as_spreadsheets_write_them(tmp_path):
    annotations = pb.read_annotations(saved(tmp_path / "a.csv", LABELS.replace(",", ";"), "utf-8-sig"))
    assert annotations == pb.read_annotations(saved(tmp_path / "b.csv", LABELS))
    path = saved(tmp_path / "p.csv", "case;nävus;wart\np;0,9;,1\nq;0;1\n")
    with pytest.warns(PlausiblyWarning, match=r"separated by semicolons, .* decimal commas: 0,9 is read as 0\.9"):
        predictions = pb.read_predictions(path, annotations)
    assert predictions == pytest.approx(np.array([[0.9, 0.1], [0, 1]]))
    lists = saved(tmp_path / "l.csv", 'case;annotator;class\np;ann;"x, y"\np;bob;1,5\n')
    assert set(pb.read_annotations(lists).classes) == {"x, y", "1,5"}  # not all of its cells are numbers


def test_nan_in_json_is_nothing(tmp_path):
    scored = {"ann": 1.5, "bob": 2.0}
    rows = [{"case": "p", "annotations": ["x", "y", float("nan")]}, {"case": "q", "annotations": ["x"]}]
    path = saved(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
    with pytest.warns(PlausiblyWarning, match="1 "):
        read = pb.read_annotations(path)
    assert read.per_case.tolist() == [2, 1]
    labels = pb.agreement.Labels.of(
        saved(tmp_path / "l.json", json.dumps({"p": scored | {"cy": float("nan")}, "q": scored}))
    )
    assert labels.n_missing == 1


def test_marks_that_may_stand_for_no_label_are_told(tmp_path):
    path = saved(tmp_path / "a.csv", LABELS.replace("bob,wart", "bob,None"))
    with pytest.warns(PlausiblyWarning, match="'None' is a class here, but may stand for no label; .*--missing 'None'"):
        read = pb.read_annotations(path)
    with pytest.warns(PlausiblyWarning, match="left out"):
        assert pb.read_annotations(path, missing="None").n_annotations == read.n_annotations - 1
    labels = pb.agreement.Labels.of(path)
    with pytest.warns(PlausiblyWarning, match="'None' is a class here"):
        labels.without([])
