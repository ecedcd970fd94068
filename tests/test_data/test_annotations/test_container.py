"""The container: columns, comparisons, selections, and what comes out of it again."""

import pickle
from functools import partial
from itertools import pairwise
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausibly.data.annotations import Annotations

CLASSES = ["a", "b", "c", "d", "e"]
FORM = {
    "classes": CLASSES,
    "cases": {
        "q": {"bob": [["c"], ["a", "e"]], "ann": [["a"]]},
        "p": {"ann": [["b", "a"]], "cyd": [["e"], ["d"], ["c"]]},
    },
}
ANNOTATIONS = Annotations.from_rankings(FORM)

NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=4)


@st.composite
def forms(draw, names=NAMES, single=False, anonymous=None) -> dict:
    """Rankings in object form, or of one class each; anonymous or not."""

    def some(of, most):
        return draw(st.lists(of, min_size=1, max_size=most, unique_by=partial(normalize, "NFC")))

    classes, annotators = some(names, 6), some(names, 4)
    hidden = draw(st.booleans()) if anonymous is None else anonymous
    cases = {}
    for case in some(names, 5):
        said = {}
        for who in some(st.sampled_from(annotators), None):
            named = some(st.sampled_from(classes), 1 if single else None)
            cuts = [0, *sorted(draw(st.sets(st.integers(1, len(named))))), len(named)]
            said[who] = [named[a:b] for a, b in pairwise(cuts) if b > a]
        cases[case] = list(said.values()) if hidden else said
    return {"classes": classes, "cases": cases}


def as_sets(cases: dict) -> dict:
    """What was said of each case, without the order of annotators and the order within a block."""
    plain = {}
    for case, said in cases.items():
        said = said if isinstance(said, dict) else {str(i): blocks for i, blocks in enumerate(said, 1)}
        plain[case] = {annotator: [set(block) for block in blocks] for annotator, blocks in said.items()}
    return plain


def test_columns_and_selections_by_name_position_or_mask():
    assert ANNOTATIONS.cases.tolist() == ["q", "p"]
    assert ANNOTATIONS.annotators.tolist() == ["bob", "ann", "cyd"]
    assert ANNOTATIONS.anonymous is False
    assert ANNOTATIONS.annotation_case.tolist() == [0, 0, 1, 1]
    assert ANNOTATIONS.annotation_annotator.tolist() == [0, 1, 1, 2]
    assert ANNOTATIONS.entry_annotation.tolist() == [0, 0, 0, 1, 2, 2, 3, 3, 3]
    assert ANNOTATIONS.entry_class.tolist() == [2, 0, 4, 0, 0, 1, 4, 3, 2]
    assert ANNOTATIONS.entry_block.tolist() == [0, 1, 1, 0, 0, 0, 0, 1, 2]
    assert ANNOTATIONS.entry_case.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert (ANNOTATIONS.n_cases, ANNOTATIONS.n_annotations, ANNOTATIONS.n_classes) == (2, 4, 5)
    for name in ("annotation_case", "annotation_annotator", "entry_annotation", "entry_class"):
        assert getattr(ANNOTATIONS, name).dtype == np.int32
    assert ANNOTATIONS.entry_block.dtype == np.int16
    assert ANNOTATIONS.case_start.tolist() == [0, 2, 4]
    assert ANNOTATIONS.annotation_start.tolist() == [0, 3, 4, 6, 9]
    assert ANNOTATIONS.block_start.tolist() == [0, 1, 3, 4, 6, 7, 8, 9]
    assert ANNOTATIONS.block_sizes.tolist() == [1, 2, 1, 2, 1, 1, 1]
    assert ANNOTATIONS.block_annotation.tolist() == [0, 0, 1, 2, 3, 3, 3]
    expected = {"ann": [["a", "b"]], "cyd": [["e"], ["d"], ["c"]]}
    assert ANNOTATIONS.rankings("p") == expected
    assert ANNOTATIONS.rankings(1) == expected
    assert ANNOTATIONS.rankings(np.int32(1)) == expected
    assert repr(ANNOTATIONS) == "Annotations(2 cases, 4 annotations by 3 annotators, 5 classes)"
    one = Annotations.from_counts([[1]])
    assert repr(one) == "Annotations(1 case, 1 annotation by anonymous annotators, 1 class)"
    p = Annotations.from_rankings({"classes": CLASSES, "cases": {"p": FORM["cases"]["p"]}})
    for chosen in (["p"], np.array(["p"]), [1], np.array([1]), [False, True], np.array([False, True])):
        assert ANNOTATIONS.select(chosen) == p
    both = {"p": FORM["cases"]["p"], "q": FORM["cases"]["q"]}
    assert ANNOTATIONS.select(["p", "q"]) == Annotations.from_rankings({"classes": CLASSES, "cases": both})
    assert ANNOTATIONS.select(ANNOTATIONS.cases) == ANNOTATIONS
    assert ANNOTATIONS.select(["p"]).annotators.tolist() == ["ann", "cyd"]
    annotations = Annotations.from_counts([[1, 0], [0, 1]], cases=["1", "0"])
    assert annotations.select(["0"]).rankings("0") == {"1": [["1"]]}
    assert annotations.select([0]).rankings("1") == {"1": [["0"]]}


def test_columns_are_read_only_copied_pickled_and_compared():
    with pytest.raises(ValueError, match="read-only"):
        ANNOTATIONS.entry_class[0] = 3
    with pytest.raises(AttributeError):
        ANNOTATIONS.cases = np.array(["x"])
    # Checking the columns leaves the caller's arrays writable.
    column = ANNOTATIONS.entry_class.copy()
    fields = {name: getattr(ANNOTATIONS, name) for name in ANNOTATIONS.__dataclass_fields__}
    assert Annotations(**fields | {"entry_class": column}) == ANNOTATIONS
    column[0] = 3
    copy = pickle.loads(pickle.dumps(ANNOTATIONS))
    assert copy == ANNOTATIONS
    assert not copy.entry_class.flags.writeable
    assert ANNOTATIONS != FORM
    assert Annotations.from_rankings(FORM) == ANNOTATIONS
    assert Annotations.from_rankings(FORM | {"classes": [*CLASSES, "f"]}) != ANNOTATIONS
    for case, annotator, blocks in (("q", "ann", [["b"]]), ("q", "bob", [["c"], ["a"], ["e"]]), ("p", "bob", [["a"]])):
        cases = {name: dict(said) for name, said in FORM["cases"].items()}
        cases[case][annotator] = blocks
        assert Annotations.from_rankings({"classes": CLASSES, "cases": cases}) != ANNOTATIONS
    table = ANNOTATIONS.to_table()
    assert Annotations.from_table(table, CLASSES, anonymous=True) != ANNOTATIONS
    with pytest.raises(TypeError, match="unhashable"):
        hash(ANNOTATIONS)


@given(forms())
@settings(max_examples=25)
def test_what_goes_in_comes_out(form):
    annotations = Annotations.from_rankings(form)
    out = annotations.to_rankings()
    assert out["classes"] == form["classes"]
    assert as_sets(out["cases"]) == as_sets(form["cases"])
    assert {case: type(said) for case, said in out["cases"].items()} == {c: type(s) for c, s in form["cases"].items()}
    assert Annotations.from_rankings(out) == annotations
    assert annotations.select(annotations.cases) == annotations
    assert sum(annotations.block_sizes) == len(annotations.entry_class)


@given(forms(), st.randoms())
@settings(max_examples=25)
def test_round_trip_through_a_table(form, random):
    annotations = Annotations.from_rankings(form)
    table = annotations.to_table()
    back = Annotations.from_table(table, classes=form["classes"], anonymous=annotations.anonymous)
    assert back == annotations
    # Rows in another order: the same, but for the order in which cases and annotators are first seen.
    order = list(range(len(table)))
    random.shuffle(order)
    back = Annotations.from_table(table.iloc[order], form["classes"])
    for case in annotations.cases:
        assert back.rankings(str(case)) == annotations.rankings(str(case))


@given(forms(), st.data())
@settings(max_examples=15)
def test_selecting_twice_is_selecting_once(form, data):
    annotations = Annotations.from_rankings(form)
    chosen = data.draw(st.permutations(annotations.cases.tolist()))[: data.draw(st.integers(1, annotations.n_cases))]
    once = annotations.select(chosen)
    assert once.cases.tolist() == chosen
    assert annotations.select([*chosen, *sorted(set(annotations.cases.tolist()) - set(chosen))]).select(chosen) == once
    for case in chosen:
        assert once.rankings(case) == annotations.rankings(case)
    assert Annotations.from_rankings(once.to_rankings()) == once
