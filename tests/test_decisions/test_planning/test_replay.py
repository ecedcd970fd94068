"""Replays of the benchmark: annotations hidden and revealed."""

import numpy as np

import plausibly as pb
from benchmarks._replay import Hidden


def test_what_is_visible_grows_by_what_is_chosen():
    random = np.random.default_rng(0)
    labels = [["ab"[k] for k in random.integers(2, size=6)] for _ in range(5)]
    annotations = pb.Annotations.from_labels(labels, classes=["a", "b"])
    hidden = Hidden.of(annotations, 2, 0)
    visible = hidden.first()
    assert visible.tolist() == [2] * 5
    chosen = hidden.choose(np.array([1.0, 5, 3, 0, 4]), visible, 2, np.random.default_rng(0))
    assert chosen.tolist() == [1, 4]
    before = hidden.visible(chosen, visible[chosen])
    visible[chosen] += 1
    after = hidden.visible(chosen, visible[chosen])
    assert after.n_annotations == before.n_annotations + 2
    for case in before.cases:
        assert before.rankings(case).items() <= after.rankings(case).items()
    assert hidden.visible(np.arange(5), np.full(5, 6)) == annotations
