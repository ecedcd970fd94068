"""Slots against a literal definition."""

import numpy as np
import pytest

from plausibly.data.annotations import REMAINDER, Annotations, Slots

ANNOTATIONS = Annotations.from_rankings(
    [[[[3], [1]], [[1]]], [[[2], [0, 1], [3]]], [[[0, 1, 3]]], [[[2]]]], classes=["a", "b", "c", "d"]
)


def test_slots_with_and_without_a_remainder():
    slots = Slots.of(ANNOTATIONS)
    assert len(slots) == 13
    assert slots.case.tolist() == [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3]
    assert slots.class_index.tolist() == [1, 3, -1, 0, 1, 2, 3, 0, 1, 3, -1, 2, -1]
    assert slots.n_classes.tolist() == [1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3]
    assert slots.start.tolist() == [0, 3, 7, 11, 13]
    assert slots.is_remainder.tolist() == (slots.class_index == REMAINDER).tolist()
    dtypes = [column.dtype for column in (slots.case, slots.class_index, slots.n_classes, slots.start)]
    assert dtypes == [np.int32, np.int32, np.int32, np.int64]
    slots = Slots.of(ANNOTATIONS, remainder=False)
    assert slots.class_index.tolist() == [1, 3, 0, 1, 2, 3, 0, 1, 3, 2]
    assert slots.n_classes.tolist() == [1] * 10
    assert slots.start.tolist() == [0, 2, 6, 9, 10]


@pytest.mark.parametrize("remainder", [True, False])
def test_slots_are_their_literal_definition_and_find_themselves(remainder):
    rng = np.random.default_rng(1)
    counts = rng.binomial(1, rng.uniform(0, 1, (300, 1)), (300, 6)) + np.eye(6, dtype=int)[rng.integers(0, 6, 300)]
    annotations = Annotations.from_counts(counts)
    slots = Slots.of(annotations, remainder)
    expected = []
    for case, row in enumerate(counts):
        named = np.flatnonzero(row).tolist()
        expected += [(case, k, 1) for k in named]
        if remainder and len(named) < 6:
            expected.append((case, REMAINDER, 6 - len(named)))
    found = zip(slots.case.tolist(), slots.class_index.tolist(), slots.n_classes.tolist(), strict=True)
    assert list(found) == expected
    for case in range(300):
        assert (slots.case[slots.start[case] : slots.start[case + 1]] == case).all()
    slots = Slots.of(ANNOTATIONS, remainder)
    assert slots.find(slots.case, slots.class_index).tolist() == list(range(len(slots)))
    assert slots.find(2, 3) == slots.start[2] + 2
