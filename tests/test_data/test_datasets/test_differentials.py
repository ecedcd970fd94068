"""The simulator of differential diagnoses: its marginals, its rankings' law, and what a seed promises."""

import json

import numpy as np
import pytest

from plausibly.data.datasets import simulate_differentials
from plausibly.data.datasets._differentials import ANNOTATORS_PER_CASE, BLOCK_SIZES, BLOCKS_PER_ANNOTATION, popularities

# What the set's cases look like as a whole. Not drawn from: the tail, concentration and common share meet these.
MEAN_DISTINCT_CLASSES = 3.96
MEAN_TOP_BLOCK_OVERLAP = 0.54  # share of a case's pairs of annotators whose first blocks have a class in common


def columns(annotations):
    """Annotators per case, blocks per annotation, block sizes, distinct classes per case."""
    a = annotations
    entry_case = a.annotation_case[a.entry_annotation].astype(np.int64)
    distinct = np.unique(entry_case * len(a.classes) + a.entry_class) // len(a.classes)
    blocks = np.zeros(len(a.annotation_case), int)
    np.maximum.at(blocks, a.entry_annotation, a.entry_block + 1)
    _, sizes = np.unique(np.stack([a.entry_annotation, a.entry_block]), axis=1, return_counts=True)
    return np.bincount(a.annotation_case), blocks, sizes, np.bincount(distinct)


def top_block_overlap(annotations):
    """Mean over cases of the share of pairs of annotators whose first blocks have a class in common."""
    a = annotations
    first = np.zeros((len(a.annotation_case), len(a.classes)), np.float32)
    in_first = a.entry_block == 0
    first[a.entry_annotation[in_first], a.entry_class[in_first]] = 1
    shares = []
    for rows in np.split(first, np.flatnonzero(np.diff(a.annotation_case)) + 1):
        n = len(rows)
        if n > 1:
            shares.append(((rows @ rows.T > 0).sum() - n) / (n * (n - 1)))
    return np.mean(shares)


@pytest.fixture(scope="module")
def simulated():
    return simulate_differentials(5_000, seed=3)


@pytest.mark.parametrize(
    ("column", "expected"), [(0, ANNOTATORS_PER_CASE), (1, BLOCKS_PER_ANNOTATION), (2, BLOCK_SIZES)]
)
def test_marginals_are_the_constants(simulated, column, expected):
    assert expected.sum() == pytest.approx(1, abs=1e-12)
    observed = columns(simulated.annotations)[column]
    shares = np.bincount(observed, minlength=len(expected) + 1)[1:] / len(observed)
    assert len(shares) == len(expected)
    np.testing.assert_allclose(shares, expected, atol=4 * np.sqrt(0.25 / len(observed)))


def test_cases_as_a_whole_look_like_the_real_ones(simulated):
    assert columns(simulated.annotations)[3].mean() == pytest.approx(MEAN_DISTINCT_CLASSES, rel=0.05)
    assert top_block_overlap(simulated.annotations) == pytest.approx(MEAN_TOP_BLOCK_OVERLAP, abs=0.03)
    counts = np.bincount(simulated.annotations.entry_class, minlength=419)
    shares = counts / counts.sum()
    assert 0.25 < shares[:10].sum() < 0.45
    assert shares[:100].sum() > 0.85
    np.testing.assert_allclose(simulated.plausibilities.mean(axis=0), popularities(419), atol=0.015)
    truth = simulated.plausibilities
    assert truth.dtype == np.float32
    assert truth.shape == (5_000, 419)
    assert (truth > 0).all()
    np.testing.assert_allclose(truth.sum(axis=1), 1, atol=1e-5)


def test_against_the_real_set(simulated, shared):
    real = json.loads((shared / "data/dermatology_ddx/dermatology_selectors.json").read_text())
    annotations = [annotation for case in real for annotation in case]
    blocks = [block for annotation in annotations for block in annotation]
    named = [{k for annotation in case for block in annotation for k in block} for case in real]
    annotators, n_blocks, sizes, distinct = columns(simulated.annotations)

    assert annotators.mean() == pytest.approx(len(annotations) / len(real), rel=0.03)
    assert (n_blocks == 1).mean() == pytest.approx(np.mean([len(a) == 1 for a in annotations]), abs=0.02)
    assert (sizes > 1).mean() == pytest.approx(np.mean([len(b) > 1 for b in blocks]), abs=0.01)
    assert distinct.mean() == pytest.approx(np.mean([len(n) for n in named]), rel=0.05)


@pytest.mark.parametrize("reliability", [0.5, 1.0, 3.0])
def test_first_two_places_follow_the_tempered_plackett_luce_law(reliability):
    simulated = simulate_differentials(4_000, n_classes=6, reliability=reliability, seed=5)
    a = simulated.annotations
    weights = simulated.plausibilities.astype(float) ** reliability
    # The annotations that begin with two blocks of size one: which those are does not depend on the ranking.
    sizes = np.zeros((len(a.annotation_case), 4), int)
    np.add.at(sizes, (a.entry_annotation, a.entry_block), 1)
    plain = np.flatnonzero((sizes[:, 0] == 1) & (sizes[:, 1] == 1))
    winner, second = np.full((2, len(sizes)), -1)
    winner[a.entry_annotation[a.entry_block == 0]] = a.entry_class[a.entry_block == 0]
    second[a.entry_annotation[a.entry_block == 1]] = a.entry_class[a.entry_block == 1]

    left = weights[a.annotation_case[plain]]
    for chosen in (winner[plain], second[plain]):
        law = left / left.sum(axis=1, keepdims=True)
        surplus = (np.eye(6)[chosen] - law).sum(axis=0) / np.sqrt((law * (1 - law)).sum(axis=0))
        assert np.abs(surplus).max() < 4
        left = np.where(np.eye(6, dtype=bool)[chosen], 0, left)


def test_reliability_runs_from_random_to_unanimous_and_the_seed_decides():
    agreement = [
        top_block_overlap(simulate_differentials(400, n_classes=30, reliability=r, seed=1).annotations)
        for r in (0.01, 0.5, 1, 3, 100)
    ]
    assert np.all(np.diff(agreement) > 0)
    assert agreement[0] < 0.1
    assert agreement[-1] > 0.95
    # The chunks in which cases are raced end at other places in the two sets.
    small = simulate_differentials(2_300, seed=4)
    large = simulate_differentials(4_100, seed=4)
    np.testing.assert_array_equal(small.plausibilities, large.plausibilities[:2_300])
    assert small.annotations == large.annotations.select(np.arange(2_300))
    one, same, other = (simulate_differentials(20, n_classes=9, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.annotations.entry_class, same.annotations.entry_class)
    assert not np.array_equal(one.plausibilities, other.plausibilities)
    a = simulate_differentials(2, n_classes=1000).annotations
    assert list(a.cases) == ["case 000000", "case 000001"]
    assert (a.classes[0], a.classes[-1]) == ("class 0001", "class 1000")
    assert a.anonymous


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_with_few_classes_annotations_are_cut(n_classes):
    simulated = simulate_differentials(500, n_classes=n_classes, seed=0)
    named = np.bincount(simulated.annotations.entry_annotation)
    assert named.min() == 1
    assert named.max() == n_classes - 1
