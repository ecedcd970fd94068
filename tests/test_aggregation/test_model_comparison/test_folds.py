"""Copies of cases: what is left out of them, and what of a remainder falls on a class."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausibly.aggregation.model_comparison.folds import Folds, first_block_shares
from plausibly.data.annotations import Annotations, Slots

annotation = st.permutations(range(4)).flatmap(
    lambda order: st.lists(st.integers(1, 2), min_size=1, max_size=2).map(
        lambda sizes: [order[sum(sizes[:i]) : sum(sizes[: i + 1])] for i in range(len(sizes))]
    )
)
cases = st.lists(st.lists(annotation, min_size=1, max_size=4), min_size=1, max_size=4)


def said(annotations, case):
    return list(annotations.rankings(case).values())


@settings(max_examples=60)
@given(cases=cases, n=st.sampled_from([None, 2, 3]))
def test_every_annotation_is_scored_by_a_copy_without_it(cases, n):
    annotations = Annotations.from_rankings(cases, classes="abcd")
    folds = Folds.of(annotations, n, seed=1)
    copies = np.arange(len(folds))
    train = folds.train(copies) if len(folds) else None
    for r, (case, copy) in enumerate(zip(annotations.annotation_case, folds.copy, strict=True)):
        everything = said(annotations, int(case))
        first = annotations.case_start[case]
        same = folds.fold[first : annotations.case_start[case + 1]] == folds.fold[folds.like[r]]
        assert everything[r - first] == everything[folds.like[r] - first]
        if copy < 0:
            assert same.all()
            continue
        rest = [blocks for blocks, left_out in zip(everything, same, strict=True) if not left_out]
        assert said(train, int(copy)) == rest
        assert len(everything) - len(rest) == (1 if n is None else same.sum())
    if len(folds):
        left_out, of = folds.left_out(copies)
        for r, number in enumerate(of):
            own = annotations.annotation_start[number : number + 2]
            assert left_out.entry_class[slice(*left_out.annotation_start[r : r + 2])].tolist() == (
                annotations.entry_class[slice(*own)].tolist()
            )
        assert folds.whole(copies).n_annotations == train.n_annotations + left_out.n_annotations


@settings(max_examples=60)
@given(cases=cases, n=st.sampled_from([None, 2]))
def test_alone_are_those_whose_classes_no_other_fold_names(cases, n):
    annotations = Annotations.from_rankings(cases, classes="abcd")
    folds = Folds.of(annotations, n, seed=1)
    classes = [
        set(annotations.entry_class[slice(*annotations.annotation_start[r : r + 2])])
        for r in range(annotations.n_annotations)
    ]
    for r, found in enumerate(folds.alone()):
        case = annotations.annotation_case
        others = [s for s in range(len(case)) if case[s] == case[r] and folds.fold[s] != folds.fold[r]]
        assert found == bool(classes[r] - set().union(*(classes[s] for s in others)))


def test_copies_are_shared_by_what_is_said_even_and_named():
    annotations = Annotations.from_labels([["a", "a", "b", "a"], ["a", "a"], ["b"]])
    folds = Folds.of(annotations, None, 0)
    assert folds.copy.tolist() == [0, 0, 1, 0, 2, 2, -1]
    assert said(folds.train(np.arange(3)), 0) == [[["a"]], [["b"]], [["a"]]]
    annotations = Annotations.from_counts([[5, 2], [3, 3], [1, 0]], cases=["p", "q", "r"])
    folds = Folds.of(annotations, 3, 0)
    for case in range(3):
        counts = np.bincount(folds.fold[annotations.annotation_case == case], minlength=3)
        assert np.ptp(counts) <= 1
    alone = Folds.of(annotations.select(["q"]), 3, 0)
    assert alone.fold.tolist() == folds.fold[annotations.annotation_case == 1].tolist()
    assert folds.copy[-1] == -1
    annotations = Annotations.from_labels([["a", "b"], ["a", "b"]], cases=["p", "p ∖ 1"])
    folds = Folds.of(annotations, None, 0)
    names = folds.train(np.arange(4)).cases.tolist()
    assert names == ["p ∖ 0", "p ∖ 1", "p ∖ 1 ∖ 0", "p ∖ 1 ∖ 1"]


@pytest.mark.parametrize("remainder", [True, False])
def test_a_class_that_nobody_names_has_its_share_of_the_remainder(remainder):
    annotations = Annotations.from_rankings([[[["a", "c"]], [["d"]]], [[["b", "d"]]]], classes="abcd")
    others = Annotations.from_rankings([[[["a"], ["b"]]]], classes="abcd")
    slots = Slots.of(others, remainder=remainder)
    weight = np.array([[0.5, 0.3, 0.2], [0.6, 0.4, 0.0]])[:, : len(slots)]
    shares = first_block_shares(annotations, np.array([0, 0, -1]), slots, weight)
    rest = 0.1 if remainder else 0.0
    np.testing.assert_allclose(shares, [[0.5 + rest, rest, 0.5], [0.6, 0.0, 0.5]])
