"""Replays: annotations hidden and revealed."""

import numpy as np
import pytest

import plausibly as pb
from plausibly.errors import ArgumentError
from plausibly.planning._hidden import Hidden


def simulated(n=40, seed=0):
    """Cases that are either clear or a toss-up, with six labels each."""
    random = np.random.default_rng(seed)
    first = np.where(random.random(n) < 0.6, 0.97, random.uniform(0.35, 0.65, n))
    truth = np.stack([first, 1 - first], axis=1)
    labels = [["ab"[k] for k in random.choice(2, 6, p=p)] for p in truth]
    predictions = {"A": np.clip(truth + 0.1 * random.normal(size=truth.shape), 0.01, 1), "B": random.random((n, 2))}
    return pb.Annotations.from_labels(labels, classes=["a", "b"]), predictions, truth


def test_what_is_visible_grows_by_what_is_chosen():
    annotations, *_ = simulated(5)
    hidden = Hidden.of(annotations, 2, 3, 0)
    visible = hidden.first()
    assert visible.tolist() == [2] * 15
    assert hidden.n_hidden == 20
    score = np.tile([1.0, 5, 3, 0, 4], 3)
    chosen = hidden.choose(score, visible, 2, np.random.default_rng(0))
    assert chosen.tolist() == [1, 4, 6, 9, 11, 14]
    before = hidden.visible(chosen, visible[chosen])
    visible[chosen] += 1
    after = hidden.visible(chosen, visible[chosen])
    assert after.n_annotations == before.n_annotations + 6
    for case in before.cases:
        said, more = before.rankings(case), after.rankings(case)
        assert said.items() <= more.items()
    whole = hidden.visible(np.arange(5), np.full(5, 6))
    for at, case in enumerate(annotations.cases):
        assert whole.rankings(at) == annotations.rankings(str(case))


@pytest.fixture(scope="module")
def replayed():
    annotations, predictions, truth = simulated()
    strategies = ("plan", "random", "entropy", "fewest labels", most_votes)
    return pb.replay(
        annotations, predictions, strategy=strategies, repetitions=2, step=30, budget=60, truth=truth, progress=False
    )


def most_votes(posterior, predictions):
    """A strategy of the user's own."""
    return np.arange(len(predictions["A"]))


@pytest.mark.slow
def test_widths_fall_whatever_the_strategy(replayed):
    table = replayed.table.set_index(["strategy", "labels"])
    assert replayed.strategies == ["plan", "random", "entropy", "fewest labels", "most_votes"]
    start = table.xs(0, level="labels")["width"]
    assert np.ptp(start) == 0
    for name in replayed.strategies:
        assert table.loc[name]["width"].iloc[-1] < start.iloc[0]
    assert replayed.verdict().startswith("Width of the interval after 60 more labels: plan 0.")
    share = replayed.share_of_labels()
    assert np.isnan(share) or 0 < share <= 1.05
    assert replayed.table["right"].between(0, 1).all()


@pytest.mark.slow
def test_with_everything_revealed_all_strategies_know_the_same(replayed):
    annotations, predictions, _ = simulated(12)
    found = pb.replay(annotations, predictions, repetitions=2, budget=48, step=24, progress=False)
    last = found.by_repetition[found.by_repetition["labels"] == 48]
    np.testing.assert_allclose(last[last["strategy"] == "plan"]["width"], last[last["strategy"] == "random"]["width"])


@pytest.mark.slow
def test_planning_spends_fewer_labels_than_chance_where_the_prior_is_right():
    random = np.random.default_rng(0)
    truth = random.dirichlet(np.full(4, 0.3), 100)
    annotations = pb.Annotations.from_labels([random.choice(4, 8, p=p).tolist() for p in truth], classes=list("abcd"))
    scores = {name: np.log(truth + 0.05) + sd * random.normal(size=truth.shape) for name, sd in (("A", 1), ("B", 2))}
    found = pb.replay(
        annotations, scores, repetitions=3, budget=200, step=50, concentration=0.3, draws=100, progress=False
    )
    assert found.share_of_labels() < 0.6
    by = found.by_repetition.set_index(["strategy", "labels", "repetition"])["width"]
    gap = (by["plan"] - by["random"]).groupby("labels").agg(["mean", "sem"]).iloc[1:]
    assert (gap["mean"] < gap["sem"]).all()


@pytest.mark.slow
def test_a_population_is_estimated_once_from_what_is_visible_at_the_beginning(monkeypatch):
    annotations, predictions, _ = simulated(20)
    seen = []
    borrow = pb.planning._replay.learn_prior
    monkeypatch.setattr(
        pb.planning._replay, "learn_prior", lambda settled, of, **given: seen.append(of) or borrow(settled, of, **given)
    )
    found = pb.replay(annotations, predictions, class_prior="population", repetitions=2, budget=10, progress=False)
    assert [of.n_annotations for of in seen] == [40]
    assert found.table["width"].between(0.01, 1).all()


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"strategy": "luck"}, "a strategy must be one of"),
        ({"start": 0}, "start must be a whole number"),
        ({"start": 6}, "nothing can be hidden"),
        ({"repetitions": 0}, "repetitions must be"),
        ({"class_prior": "population", "shared": "sampled"}, "must not share draws"),
        ({"predictions": {}}, "needs the predictions"),
    ],
)
def test_bad_arguments(given, rule):
    annotations, predictions, _ = simulated(5)
    with pytest.raises(ArgumentError, match=rule):
        pb.replay(annotations, given.pop("predictions", predictions), progress=False, **given)
