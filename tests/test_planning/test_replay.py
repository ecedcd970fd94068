"""Replays of the benchmark: annotations hidden and revealed."""

import numpy as np
import pytest

import plausibly as pb
from benchmarks._replay import Hidden, replay


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


@pytest.mark.slow
def test_planning_spends_fewer_labels_than_chance_where_the_prior_is_right():
    random = np.random.default_rng(0)
    truth = random.dirichlet(np.full(4, 0.3), 100)
    annotations = pb.Annotations.from_labels([random.choice(4, 8, p=p).tolist() for p in truth], classes=list("abcd"))
    scores = {name: np.log(truth + 0.05) + sd * random.normal(size=truth.shape) for name, sd in (("A", 1), ("B", 2))}
    hidden, steps = Hidden.of(annotations, 2, 0), {"goal": "width", "budget": 200, "step": 50}
    found = replay(hidden, scores, ("plan", "random"), **steps, concentration=0.3, draws=100)
    assert found.share_of_labels() < 0.6
    by = found.by_repetition.set_index(["strategy", "labels"])["width"]
    assert (by["plan"] < by["random"])[50:].all()
