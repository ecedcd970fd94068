"""Predictions in JSON and JSON lines, in each form, and what is refused."""

import json

import numpy as np
import pytest

from plausibly.base.errors import FileError, PredictionError
from plausibly.data.annotations import Annotations
from plausibly.data.predictions import read_predictions

PEOPLE = Annotations.from_labels([["a"], ["b"]], classes=["a", "b"], cases=["p", "q"])
SHARES = {"q": {"b": 0.7, "a": 0.3}, "p": {"a": 0.9, "b": 0.1}}


def listed(shares):
    return [{"label": name, "score": share} for name, share in shares.items()]


FORMS = {
    "flat": [{"case": case, **shares, "text": "x"} for case, shares in SHARES.items()],
    "mapping": [{"id": case, "label": "a", "probs": shares} for case, shares in SHARES.items()],
    "list": [{"image_id": case, "scores": listed(shares)} for case, shares in SHARES.items()],
    "one of two": [{"case": "q", "label": "b", "score": 0.7}, {"case": "p", "label": "a", "score": 0.9}],
    "pipeline": [listed(SHARES[case]) for case in "pq"],
    "by case": SHARES,
}


@pytest.mark.filterwarnings("ignore:.*no column names the cases")
@pytest.mark.parametrize("form", FORMS)
def test_each_form(tmp_path, form):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(FORMS[form]))
    found = read_predictions(path, PEOPLE)
    np.testing.assert_allclose(found, [[0.9, 0.1], [0.3, 0.7]])
    if form != "by case":
        path = tmp_path / "a.jsonl"
        path.write_text("\n".join(map(json.dumps, FORMS[form])))
        assert read_predictions(path, PEOPLE).tolist() == found.tolist()


def test_a_field_of_records_is_named_as_a_column_is(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"case": "q", "one": "b", "two": "a"}\n{"case": "p", "one": "a", "two": "a"}\n')
    assert read_predictions(f"{path}:one", PEOPLE).tolist() == [[1, 0], [0, 1]]
    with pytest.raises(FileError, match=r"there is no such column.*'one', 'two'"):
        read_predictions(f"{path}:three", PEOPLE)


def test_labels_alone_and_a_single_score(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"case": "q", "label": "b"}\n{"case": "p", "label": "a"}\n')
    assert read_predictions(path, PEOPLE).tolist() == [[1, 0], [0, 1]]
    path.write_text('{"case": "q", "b": 0.7}\n{"case": "p", "b": 0.1}\n')
    np.testing.assert_allclose(read_predictions(path, PEOPLE), [[0.9, 0.1], [0.3, 0.7]])


def test_a_class_too_many_may_be_a_misspelt_one():
    annotations = Annotations.from_labels([["melanoma"], ["melanma"], ["nevus"]])
    with pytest.raises(PredictionError, match="if one of 'melanma' and 'melanoma' is misspelt, correct it; give a col"):
        read_predictions(np.ones((3, 2)), annotations)
