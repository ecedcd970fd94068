"""Posteriors of which somebody has changed a part: refused, instead of numbers that mean nothing."""

import numpy as np
import pytest

import plausibly as pb
from plausibly._arviz import from_groups, to_groups
from plausibly.annotations import Annotations, Slots
from plausibly.errors import ArgumentError, PlausiblyError
from plausibly.posterior import build_posterior, slots_of

ANNOTATIONS = Annotations.from_rankings([[[["a"], ["b"]], [["c", "b"]]], [[["a"]]]], classes=["a", "b", "c", "d"])
SLOTS = Slots.of(ANNOTATIONS)
DRAWS = np.broadcast_to(np.float32([0.4, 0.3, 0.2, 0.1, 0.7, 0.3]), (2, 30, len(SLOTS)))
SCORES = {"A": np.eye(2, 4)}


def spoiled(group: str, change, **attrs):
    posterior = build_posterior(DRAWS, ANNOTATIONS, SLOTS, point=DRAWS[0, 0], concentration=1.0)
    groups = dict(to_groups(posterior))
    groups[group] = change(groups[group])
    return from_groups(groups, {**posterior.attrs, **attrs})


def kept(data):
    return data


def set_to(name: str, *places, by=None):
    """Change values of a variable, in a copy."""

    def change(data):
        values = np.array(data[name].values)
        if by is not None:
            values = by(values)
        for place, value in places:
            values[place] = value
        both = data.assign_coords if name in data.coords else data.assign
        return both({name: (data[name].dims, values)})

    return change


@pytest.mark.slow
def test_nothing_is_wrong_with_what_nobody_changed():
    assert slots_of(spoiled("posterior", kept)) is not None
    assert pb.evaluate(spoiled("posterior", kept), SCORES, k=1)["top1_accuracy"].shape == (1, 60)


@pytest.mark.parametrize(
    ("group", "change", "sentence"),
    [
        ("constant_data", set_to("class_index", (0, 99)), "a slot is of a class beyond the 4 there are"),
        ("constant_data", set_to("class_index", (0, -5)), "a slot is of a class beyond the 4 there are"),
        ("constant_data", set_to("class_index", (1, 0)), "the classes of a case are not in order"),
        ("constant_data", set_to("case_index", (-1, 99)), "slots are not those of the cases 1 to 2"),
        ("constant_data", set_to("case_index", by=np.flip), "slots are not those of the cases 1 to 2"),
        ("constant_data", set_to("case_index", by=np.zeros_like), "slots are not those of the cases 1 to 2"),
        ("constant_data", set_to("n_classes", (-1, 999)), "n_classes is not 1 for a class"),
        ("constant_data", lambda data: data.isel(slot=slice(0, -1)), "slots with draws"),
        ("constant_data", lambda data: data.isel(class_id=slice(0, 2)), "n_classes is 4, and 2 classes have names"),
        ("constant_data", lambda data: data.drop_vars("case_index"), "this one has no 'case_index'"),
        ("constant_data", set_to("point_plausibility", by=lambda x: x.astype(str)), "not floating-point numbers"),
        ("posterior", lambda data: data.drop_vars("plausibility"), "this one has no 'p"),
        ("posterior", lambda data: data.isel(draw=slice(0, 0)), "plausibility has the dimensions"),
        ("posterior", lambda data: data.isel(draw=0), "plausibility has the dimensions"),
        ("posterior", set_to("plausibility", by=lambda x: x.astype(int)), "not floating-point numbers"),
        ("observed_data", lambda data: data.isel(case=slice(0, 1)), "slots are not those of the cases 1 to 1"),
    ],
)
def test_parts_that_do_not_fit(group, change, sentence):
    posterior = spoiled(group, change)
    for use in (slots_of, pb.dense, lambda posterior: pb.posterior.top_classes(posterior, 1)):
        with pytest.raises(ArgumentError, match=sentence):
            use(posterior)
    with pytest.raises(PlausiblyError):  # maybe for the annotations, which are read first
        pb.evaluate(posterior, SCORES, k=1)


@pytest.mark.parametrize(
    ("attrs", "sentence"),
    [
        ({"n_classes": "x"}, "n_classes is 'x'"),
        ({"n_classes": 5}, "n_classes is 5, and 4 classes have names"),
        ({"concentration": np.nan}, "the concentration is nan"),
        ({"concentration": -1.0}, r"the concentration is -1\.0"),
    ],
)
def test_attributes_that_do_not_fit(attrs, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        slots_of(spoiled("posterior", kept, **attrs))


@pytest.mark.parametrize("value", [-0.1, 7, np.inf])
def test_plausibilities_that_are_none(value):
    posterior = spoiled("posterior", set_to("plausibility", ((0, 3, 1), value)))
    with pytest.raises(ArgumentError, match="plausibilities must be from 0 to 1, but those of cases 1 to 2 are"):
        pb.evaluate(posterior, SCORES, k=1)
