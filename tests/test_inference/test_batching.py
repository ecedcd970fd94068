"""Stacked data reproduce the literal log-likelihood of every case, whatever the shape they are filled up to."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausibly.data.annotations import Annotations, Slots
from plausibly.data.datasets import simulate_annotators, simulate_differentials
from plausibly.inference import _batching
from plausibly.inference._batching import bucket_cases, plan_shapes
from plausibly.inference._shapes import Shape, grid, planned
from tests.test_inference.oracles import literal

N_CLASSES = 6


@st.composite
def rankings(draw):
    order = draw(st.permutations(range(N_CLASSES)))
    named = draw(st.integers(1, N_CLASSES))
    blocks = [[order[0]]]
    for k in order[1:named]:
        if draw(st.booleans()):
            blocks.append([k])
        else:
            blocks[-1].append(k)
    return blocks


CASES = st.lists(st.lists(rankings(), min_size=1, max_size=5), min_size=1, max_size=5)


def block_probability(weights, rest):
    return literal([range(len(weights))], dict(enumerate([*weights, rest])))


def by_draws(data, i, weights):
    """Log probability of each row of the i-th case of stacked data."""
    rankings = data.rankings
    with np.errstate(divide="ignore"):
        total = rankings.singles[i] @ np.log(weights)
        total = total - rankings.draws[i] @ np.log((rankings.remaining[i] * weights).sum(1))
    for ties in rankings.ties:
        for members, rest, made in zip(ties.members[i], ties.rest[i], ties.draws[i].T, strict=True):
            if made.any():
                members = members[members.any(1)]  # a block may lie where there is room for a larger one
                assert (members.sum(1) == 1).all()
                assert members.sum(0).max() == 1
                assert not (members.any(0) & rest).any()
                total = total + made * np.log(block_probability(list(members @ weights), (rest * weights).sum()))
    return total


@pytest.mark.parametrize(("fit", "worth"), [("exact", None), ("merged", None), ("merged", 0), ("merged", np.inf)])
@pytest.mark.parametrize("pooled", [False, True])
@settings(max_examples=15)
@given(cases=CASES, remainder=st.booleans(), seed=st.integers(0, 2**32 - 1))
def test_stacked_data_give_the_literal_likelihood_of_every_case(fit, worth, pooled, cases, remainder, seed):
    annotations = Annotations.from_rankings(cases, classes=list("abcdef"))
    slots = Slots.of(annotations, remainder=remainder)
    rng = np.random.default_rng(seed)
    concentration = rng.gamma(1.0, size=len(slots)) + 0.1
    shapes = None if worth is None else plan_shapes(annotations, slots, worth=worth, pooled=pooled)
    buckets = bucket_cases(annotations, slots, concentration, pooled=pooled, fit=fit, shapes=shapes)
    if worth == np.inf:
        assert len(buckets) == 1

    assert sorted(np.concatenate([b.cases for b in buckets])) == list(range(len(cases)))
    assert sorted(np.concatenate([b.annotations for b in buckets])) == list(range(annotations.n_annotations))
    used = np.concatenate([b.slots.ravel() for b in buckets])
    assert sorted(used[used >= 0]) == list(range(len(slots)))
    for bucket in buckets:
        shape, data = bucket.shape, bucket.data
        assert data.concentration.shape == bucket.slots.shape == (len(bucket.cases), shape.slots)
        assert data.rankings.remaining.shape[1] == shape.sets
        assert [(t.members.shape[2], t.members.shape[1]) for t in data.rankings.ties] == list(shape.ties)
        assert data.counts.shape == (len(bucket.cases), shape.annotations)
        for i, case in enumerate(bucket.cases):
            real = bucket.slots[i] >= 0
            own = slice(slots.start[case], slots.start[case + 1])
            assert bucket.slots[i][real].tolist() == list(range(own.start, own.stop))
            np.testing.assert_array_equal(data.n_classes[i], np.where(real, slots.n_classes[bucket.slots[i]], 0))
            np.testing.assert_allclose(data.concentration[i][real], concentration[own], rtol=1e-6)
            assert (data.concentration[i][~real] == 1).all()
            weights = rng.gamma(1.0, size=shape.slots) + 1e-3  # what fills the shape up weighs something, too
            by_class = dict(zip(slots.class_index[own].tolist(), weights[real], strict=True))
            expected = [np.log(literal(blocks, by_class)) for blocks in cases[case]]
            rows = by_draws(data, i, weights)
            np.testing.assert_allclose((data.counts[i] * rows).sum(), sum(expected), rtol=1e-9, atol=1e-9)
            if not pooled:
                mine = np.flatnonzero(bucket.case == i)
                for at, blocks, value in zip(mine, cases[case], expected, strict=True):
                    row = bucket.row[at]
                    np.testing.assert_allclose(rows[row], value, rtol=1e-9, atol=1e-9)
                    same = [
                        [set(block) for block in other] == [set(block) for block in blocks] for other in cases[case]
                    ]
                    assert data.counts[i][row] == sum(same)
                    check_entries(data, i, row, blocks, slots.class_index[own].tolist())


def check_entries(data, i, row, blocks, classes):
    """What IRN and votes read: which classes are named, at which position, tied with how many."""
    for slot in range(data.named.shape[2]):
        k = classes[slot] if slot < len(classes) else None
        block = next((b for b in range(len(blocks)) if k in blocks[b]), None)
        assert data.named[i, row, slot] == (block is not None)
        assert data.block_sizes[i, row, slot] == (1 if block is None else len(blocks[block]))
        assert data.rankings.positions[i, row, slot] == (len(blocks) if block is None else block)


@settings(max_examples=30)
@given(CASES, st.randoms(use_true_random=False))
def test_the_shape_of_a_case_does_not_depend_on_the_cases_beside_it(cases, random):
    annotations = Annotations.from_rankings(cases, classes=list("abcdef"))

    def shapes(annotations):
        slots = Slots.of(annotations)
        found = bucket_cases(annotations, slots, np.ones(len(slots)), pooled=True, fit="merged")
        return {annotations.cases[case]: bucket.shape for bucket in found for case in bucket.cases}

    every = shapes(annotations)
    chosen = random.sample(list(annotations.cases), random.randint(1, len(cases)))
    assert shapes(annotations.select(chosen)) == {case: every[case] for case in chosen}


@pytest.mark.parametrize("n", range(1, 60))
def test_at_most_a_third_of_an_axis_is_filling(n):
    size = int(grid(np.array(n)))
    assert n <= size
    assert size - n <= size / 3


def test_large_cases_find_a_shape():
    """Beyond the ladder: 40 named classes, and a tie of 12."""
    many = [[[k] for k in range(40)], [list(range(12)), [20]], [[0], list(range(20, 32))]]
    annotations = Annotations.from_rankings([many], classes=[f"c{k:02d}" for k in range(45)])
    slots = Slots.of(annotations)
    for fit in ("exact", "merged"):
        for pooled in (False, True):
            (bucket,) = bucket_cases(annotations, slots, np.ones(len(slots)), pooled=pooled, fit=fit)
            assert 12 in dict(bucket.shape.ties)
            assert bucket.data.rankings.draws.sum() == 40 + 1 + 1
            assert sum(t.draws.sum() for t in bucket.data.rankings.ties) == 2


@pytest.mark.parametrize("fit", ["merged", "apart"])
def test_long_rankings_of_many_classes_share_few_shapes(fit):
    """All of them are compiled, those of inferred reliability as one program."""
    annotations = simulate_annotators(300, np.full(40, 2.0), n_classes=40, per_case=5, seed=3).annotations
    slots = Slots.of(annotations)
    buckets = bucket_cases(annotations, slots, np.ones(len(slots)), pooled=fit == "merged", fit=fit)
    assert len({bucket.shape for bucket in buckets}) <= 6
    assert sorted(np.concatenate([bucket.cases for bucket in buckets])) == list(range(300))


SHAPES = st.builds(
    lambda slots, sets, ties: Shape(slots, 1, sets, ties),
    st.integers(2, 16),
    st.integers(1, 16),
    st.just(()) | st.tuples(st.tuples(st.integers(2, 5), st.integers(1, 8))),
)


def test_shapes_become_more_with_the_work():
    """From one shape for all to those of the cases, as a compilation is worth less of the work that is repeated."""
    annotations = simulate_differentials(300, seed=0).annotations
    slots = Slots.of(annotations)
    one, *some, all_of_them = (
        plan_shapes(annotations, slots, worth=worth, pooled=True) for worth in (np.inf, 1e4, 3e3, 0)
    )
    buckets = bucket_cases(annotations, slots, np.ones(len(slots)), pooled=True, fit="merged")
    assert set(all_of_them) == {bucket.shape for bucket in buckets}
    assert 1 == len(one) <= len(some[0]) <= len(some[1]) < len(all_of_them)


@settings(max_examples=30)
@given(st.dictionaries(SHAPES, st.integers(1, 50), min_size=1, max_size=6), st.floats(0, 1e5))
def test_plans_have_room_for_all_and_cost_no_more_than_the_shapes_of_the_cases(counts, worth):

    def total(shapes):
        padded = sum(n * next(s for s in shapes if s.holds(own)).cost() for own, n in counts.items())
        return len(shapes) * worth + padded

    plan = planned(counts, worth)
    assert list(plan) == sorted(plan, key=lambda shape: shape.cost())
    assert total(plan) <= total(sorted(counts, key=Shape.cost)) * (1 + 1e-9) + 1e-6


def test_a_part_of_the_cases_keeps_the_shapes_of_the_whole(monkeypatch):
    """Sizes found in parts, as of millions of cases; and in a shard, a case has the shape that it has among all."""
    annotations = simulate_differentials(60, seed=1).annotations
    slots = Slots.of(annotations)
    shapes = plan_shapes(annotations, slots, worth=1e3, pooled=True)
    monkeypatch.setattr(_batching, "_TOGETHER", 7)
    assert plan_shapes(annotations, slots, worth=1e3, pooled=True) == shapes

    def found(part, own):
        buckets = bucket_cases(part, own, np.ones(len(own)), pooled=True, fit="merged", shapes=shapes)
        return {part.cases[case]: bucket.shape for bucket in buckets for case in bucket.cases}

    every = found(annotations, slots)
    assert len(set(every.values())) > 1
    chosen = np.arange(20, 40)
    part = annotations.select(chosen)
    assert found(part, Slots.of(part)) == {case: every[case] for case in part.cases}
