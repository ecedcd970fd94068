"""Predictions in JSON and JSON lines, in each form, and what is refused."""

import json

import numpy as np
import pytest

from plausibly.annotations import Annotations
from plausibly.annotations.io.json_predictions import frame_of_json
from plausibly.errors import PredictionError
from plausibly.predictions import read_predictions

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


def test_labels_alone_and_a_single_score(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"case": "q", "label": "b"}\n{"case": "p", "label": "a"}\n')
    assert read_predictions(path, PEOPLE).tolist() == [[1, 0], [0, 1]]
    path.write_text('{"case": "q", "b": 0.7}\n{"case": "p", "b": 0.1}\n')
    np.testing.assert_allclose(read_predictions(path, PEOPLE), [[0.9, 0.1], [0.3, 0.7]])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([], r"the file holds \[\]; write an object per case"),
        ([3], "record 1 is 3; write an object per case"),
        ([{"case": None, "a": 1, "b": 0}], "record 1: the case is None"),
        (
            [{"case": "p", "probs": {"a": 1}}, {"case": "q", "probs": {"b": 1}}],
            "record 2 and record 1 do not both have 'a'",
        ),
        ([{"case": "p", "x": {"a": 1}, "y": {"a": 1}}], "has numbers of classes in 'x' and 'y'; keep one"),
        ([{"case": "p", "label": "c", "score": 1}], "has the score of 'c' alone; give those of all classes"),
    ],
)
def test_other_forms_are_refused(content, words):
    with pytest.raises((PredictionError, ValueError), match=words):
        frame_of_json(content, ["a", "b"])
