"""Exports of Label Studio: controls that choose or order, who answered, and what is left out."""

import json
import warnings

import pytest

from plausibly.base.errors import AnnotationError, ArgumentError, PlausiblyWarning
from plausibly.data.annotations import read_annotations, read_metadata
from plausibly.data.labels import Labels
from tests.exports import REGION, RELATION, annotation, choices, result, task


@pytest.fixture
def read(tmp_path):
    def write_and_read(*tasks, classes=None, control=None):
        (tmp_path / "export.json").write_text(json.dumps(list(tasks)))
        return read_annotations(tmp_path / "export.json", classes, control)

    return write_and_read


def test_they_are_labels_with_metadata_of_tasks(tmp_path):
    tasks = [
        task(7, *(annotation(who, result("rating", {"rating": who})) for who in (1, 3)), data={"site": "north"}),
        task(8, annotation(1, result("rating", {"rating": 2})), data={"site": "south"}),
    ]
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    assert read_metadata(tmp_path / "export.json")["site"].to_dict() == {"7": "north", "8": "south"}
    labels = Labels.of(tmp_path / "export.json", columns=["site"])
    assert labels.values.tolist() == [1, 3, 2]
    assert labels.columns["site"].tolist() == ["north", "north", "south"]


def test_choices_rankings_and_stars_are_labels_of_persons(read):
    found = read(task(7, annotation(10, choices("wart")), annotation(11, choices("wart", "corn"))))
    assert found.cases.tolist() == ["7"]
    assert found.rankings("7") == {"10": [["wart"]], "11": [["corn", "wart"]]}
    assert found.classes.tolist() == ["corn", "wart"]
    assert read(task(7, annotation(10, choices("wart"))), classes=["wart", "corn"]).n_classes == 2
    with pytest.raises(AnnotationError, match="case '7', annotator '10': the class 'wart' is not among the 1 classes"):
        read(task(7, annotation(10, choices("wart"))), classes=["corn"])
    people = {"id": 10, "email": "ann@example.com"}, {"email": "bob@example.com"}
    found = read(task(7, *(annotation(who, choices("wart")) for who in people)), task(8, annotation(10, choices("x"))))
    assert found.annotators.tolist() == ["10", "bob@example.com"]
    found = read(task(7, annotation(None, choices("wart")), annotation(None, choices("corn"))))
    assert found.anonymous
    assert found.n_annotations == 2
    value = {"ranker": {"_": ["c", "d"], "best": ["b", "a"]}}
    assert read(task(7, annotation(10, result("ranker", value)))).rankings("7") == {"10": [["b"], ["a"]]}
    found = read(
        task(7, *(annotation(who, result("rating", {"rating": stars})) for who, stars in enumerate((10, 2, 9))))
    )
    assert found.classes.tolist() == ["2", "9", "10"]
    assert read(task(7, annotation(10, REGION, RELATION, REGION, choices("wart")))).n_annotations == 1


VALUES = {
    "taxonomy": ({"taxonomy": [["skin", "benign", "wart"], ["skin"]]}, [["skin", "skin / benign / wart"]]),
    "rating": ({"rating": 4}, [["4"]]),
    "ranker": ({"ranker": ["b", "a", 3]}, [["b"], ["a"], ["3"]]),
    "pairwise": ({"selected": "left"}, [["left"]]),
}


@pytest.mark.parametrize(("kind", "value", "blocks"), [(kind, *both) for kind, both in VALUES.items()], ids=VALUES)
def test_other_controls(read, kind, value, blocks):
    assert read(task(7, annotation(10, result(kind, value)))).rankings("7") == {"10": blocks}


def test_one_control_is_chosen_and_what_says_nothing_left_out(read, tmp_path):
    both = task(7, annotation(10, choices("wart"), result("rating", {"rating": 2}, "quality")))
    with pytest.raises(AnnotationError, match=r"several controls, 'diagnosis', 'quality'; choose one with control="):
        read(both)
    assert read(both, control="quality").rankings("7") == {"10": [["2"]]}
    with pytest.raises(AnnotationError, match="no control 'colour'; choose from 'diagnosis', 'q"):
        read(both, control="colour")
    (tmp_path / "a.json").write_text('[[[["wart"]]]]')
    with pytest.raises(ArgumentError, match="tools that test language models, but 'diagnosis' was given"):
        read_annotations(tmp_path / "a.json", control="diagnosis")
    tasks = [
        task(7, annotation(10, choices("wart")), annotation(11, choices("corn"), was_cancelled=True)),
        task(8, annotation(10), annotation(11, choices())),
        task(9),
    ]
    words = "left out: 1 cancelled annotations, 2 annotations without an answer, 2 tasks without answers"
    with pytest.warns(PlausiblyWarning, match=words):
        found = read(*tasks)
    assert found.rankings("7") == {"10": [["wart"]]}
    assert found.n_cases == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(tasks[0] | {"annotations": tasks[0]["annotations"][:1]})
