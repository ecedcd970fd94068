"""The type of labels, by which a distance is chosen: one line for each kind, and what is unclear."""

import numpy as np
import pytest

from plausibly.agreement import Labels, agreement, alternative_annotator_test, discrepancy_ratio, judge
from plausibly.base.errors import ArgumentError
from plausibly.data.labels.types import type_of, usual_distance
from plausibly.distances import BY_TYPE

QUIET = {"progress": False}


def table(labels, people=3):
    """Labels of cases by several annotators each, in the order given."""
    return [(f"c{at // people}", f"a{at % people}", label) for at, label in enumerate(labels)]


def captions(random, n=60):
    return [f"a {colour} dog {i} runs" for i, colour in enumerate(random.choice(["red", "big", "old"], n))]


RANDOM = np.random.default_rng(0)
KINDS = {
    "categories": [
        [1, 2, 2, 1, 1],
        [True, False, True],
        ["wart", "corn", "wart"],
        ["Venous Stasis Ulcer", "Arterial ulcer", "Pyoderma Gangrenosum"],
        ["I agree with all that is said", "I do not agree with it at all"] * 20,
        ["[unclear]", "(none)", "a"],
        ["007", "012", "007"],
        ["ab;c", "d;e", "f"],
        ["a;b", "c;d", "a"],
    ],
    "grades": [[1, 2, 3, 2, 1, 1], [1.0, 2.0, 4.0], [*range(1, 11)] * 3],
    "numbers": [[1.5, 2.5, 4.0], [*range(21)] * 9, RANDOM.normal(size=60).tolist(), [*range(0, 600, 10)]],
    "sets": [
        [{"a"}, {"a", "b"}, {"c"}],
        ["fear; joy", "joy", "fear", "anger; fear", "joy"],
        ["a|b", "b|c", "a", "c|a"],
    ],
    "vectors": [[[0, 5], [9, 3], [1, 1]], [np.array([1.0, 2.0, 3.0]), np.zeros(3), np.ones(3)]],
    "boxes": [
        [[(0, 0, 2, 2)], [], [(1, 1, 3, 3), (5, 5, 6, 6)]],
        [[((0, 0), (2, 2))], [((1, 1), (3, 3))], []],
        ["[[0, 0, 2, 2]]", "[]", "[[1, 1, 3, 3]]"],
    ],
    "keypoints": [[[{"keypoints": [0, 0, 1]}], [{"keypoints": [4, 4, 1]}], []]],
    "spans": [
        [[(0, 2, "PER")], [], [(1, 4, "LOC"), (6, 7, "PER")]],
        [[{"start": 0, "end": 2, "label": "PER"}], [], []],
        ['[[0, 2, "PER"]]', "[]", "[]"],
    ],
    "partial rankings": [[[["a"], ["b", "c"]], [["b"]], [["c"], ["a"]]], [["a", ["b", "c"]], ["b"], ["c"]]],
    "text": [captions(RANDOM), ["the dog runs over the red field", "one dog", "a dog that runs in a big garden"]],
    "trees": [["(S (NP he) (VP runs))", "(S (VP run))", "(S (NP a dog))"]],
}
UNCLEAR = {
    "lists of names": [["a", "b"], ["b"], ["c", "a"]],
    "lists of numbers": [[0, 0, 2, 2], [1, 1, 3, 3], [0, 0, 1, 5]],
    "short texts": [f"w{i}" for i in range(60)],
    "lists of lists": [[(1, 4)], [(2, 3)], [(1, 9)]],
    "empty lists": [[], [], []],
}


@pytest.mark.parametrize(("kind", "labels"), [(kind, labels) for kind, many in KINDS.items() for labels in many])
def test_types_are_told_and_have_a_distance(kind, labels):
    read = Labels.of(table(labels))
    assert type_of(read) == kind
    usual = usual_distance(None, read)
    assert usual.name in BY_TYPE["numbers" if kind == "grades" else kind]
    assert usual.words.startswith(f"distance: {usual.name}, since labels are ")


@pytest.mark.parametrize("kind", UNCLEAR)
def test_unclear_types_are_asked_about_by_every_measure(kind):
    rows = table(UNCLEAR[kind])
    models = {"m": {case: label for case, _, label in rows}}
    for measure in (
        lambda: agreement([*rows, ("d", "a0", rows[0][2])], **QUIET),
        lambda: discrepancy_ratio(rows, models, **QUIET),
        lambda: alternative_annotator_test(rows, models, **QUIET),
        lambda: judge(rows, models, model=None, **QUIET),
    ):
        with pytest.raises(ArgumentError, match=rf"no usual distance for labels that are {kind}.*name it"):
            measure()


def test_captions_are_no_categories():
    """Captions of other images had Δ 1.000 [1.000, 1.000], p .001 and "yes", since no two captions are equal."""
    random = np.random.default_rng(1)
    topics = [" ".join(random.choice([f"w{i}" for i in range(60)], 6)) for _ in range(40)]
    rows = [
        (f"c{i}", f"a{j}", f"{topics[i]} {' '.join(random.choice(['so', 'or', 'by', 'to'], 2))} {3 * i + j}")
        for i in range(40)
        for j in range(3)
    ]
    other = {f"c{i}": rows[3 * ((i + 7) % 40)][2] for i in range(40)}
    own = {f"c{i}": f"{topics[i]} so to" for i in range(40)}
    found = discrepancy_ratio(rows, {"other": other, "own": own}, **QUIET)
    assert found.distance == "bleu"
    assert found.ratio["other"] > 2
    assert found.non_inferiority(replicates=200)["answer"].tolist() == ["not shown", "yes"]
    assert agreement(rows, **QUIET).distance == "bleu"
    assert alternative_annotator_test(rows, {"m": other}, **QUIET).winning_rate["m"] == 0
    judged = judge(rows, {"other": other, "own": own}, model=None, replicates=100, **QUIET)
    assert [one[0].answer for one in judged.questions.values()] == ["no", "yes"]
