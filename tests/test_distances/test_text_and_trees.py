"""Text and trees: what the libraries are asked for, and what is said without them."""

import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from nltk.translate.gleu_score import sentence_gleu

from plausibly.base.errors import ArgumentError
from plausibly.distances import Bleu, Gleu, Levenshtein, TreeEdit, _text, tree_of

tokens = st.lists(st.sampled_from(["the", "quick", "fox", "dog", "of"]), max_size=6)


def literal_levenshtein(a, b):
    if not (a and b):
        return len(a) + len(b)
    shorter = literal_levenshtein(a[:-1], b), literal_levenshtein(a, b[:-1])
    return min(*(n + 1 for n in shorter), literal_levenshtein(a[:-1], b[:-1]) + (a[-1] != b[-1]))


@settings(max_examples=25)
@given(texts=st.lists(tokens.map(lambda t: t[:5]), min_size=2, max_size=4))
def test_levenshtein_counts_tokens_of_many_pairs(texts):
    left, right = np.indices((len(texts), len(texts)))
    expected = [[literal_levenshtein(a, b) for b in texts] for a in texts]
    assert Levenshtein().between(Levenshtein().encode(texts), left, right).tolist() == expected
    a, b = texts[:2]
    assert Levenshtein()(a, b) == expected[0][1]
    if a or b:
        assert Levenshtein(normalised=True)(a, b) == pytest.approx(expected[0][1] / max(len(a), len(b)))


def test_bleu_is_the_mean_of_both_directions():
    a, b = ["the", "quick", "brown", "fox", "jumps"], ["the", "quick", "brown", "dog", "jumps", "over"]
    # Precisions of n-grams up to four: 4/5 · 2/4 · 1/3 · smoothed, with a brevity penalty one way only.
    assert Bleu()(a, a) == 0
    assert 0.4 < Bleu()(a, b) < 0.8
    assert Bleu()(a, b) == Bleu()(b, a)
    assert Bleu()([], a) == 1
    assert Bleu()([], []) == 0
    long = [f"w{i}" for i in range(8)]
    # All n-grams are shared but the text is longer: 8/9 · 7/8 · 6/7 · 5/6 one way, a brevity penalty the other.
    longer = [*long, "more"]
    expected = ((8 / 9 * 7 / 8 * 6 / 7 * 5 / 6) ** 0.25 + math.exp(1 - 9 / 8)) / 2
    assert Bleu()(long, longer) == pytest.approx(1 - expected)


def by_nltk(a, b):
    """BLEU and GLEU of two texts that are not empty."""
    smooth = SmoothingFunction().method4
    both = [sentence_bleu([one], other, smoothing_function=smooth) for one, other in ((a, b), (b, a))]
    return min(float(both[0] + both[1]) / 2, 1), sentence_gleu([a], b)


@pytest.mark.parametrize("block", [2**22, 10])
def test_bleu_and_gleu_are_those_of_nltk_pair_by_pair(monkeypatch, block):
    monkeypatch.setattr(_text, "_BLOCK", block)
    rng = np.random.default_rng(0)
    words = ["a", "b", "a b", "fox", "ü", "\U0001f98a"]
    texts = [[], *([word] for word in words), ["a"] * 9, ["a", "b"] * 6]
    texts += [rng.choice(words, rng.integers(1, 15)).tolist() for _ in range(20)]
    left, right = np.indices((len(texts), len(texts)))
    found = np.stack([one.between(one.encode(texts), left, right) for one in (Bleu(), Gleu())], axis=-1)
    for i, a in enumerate(texts):
        for j, b in enumerate(texts):
            expected = 1 - np.array(by_nltk(a, b)) if a and b else float(bool(a or b))
            np.testing.assert_allclose(found[i, j], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("distance", [Bleu(), Gleu()])
def test_texts_without_tokens(distance):
    encoded = distance.encode(["", [], " "])
    np.testing.assert_array_equal(distance.between(encoded, np.arange(3)[:, None], np.arange(3)), np.zeros((3, 3)))
    assert distance.between(encoded, np.zeros(0, int), np.zeros(0, int)).shape == (0,)


def test_trees():
    nested = ("S", ("NP", "the", "dog"), ("VP", "ran"))
    assert tree_of("(S (NP the dog) (VP ran))") == tree_of(nested)
    assert TreeEdit()(nested, "(S (NP the cat) (VP ran))") == 1
    assert TreeEdit()(nested, "(S (VP ran))") == 3
    assert TreeEdit("norm")(nested, "(S (VP ran))") == 3 / 4
    assert TreeEdit("diff")(nested, "(S (VP ran))") == 1
    assert tree_of("((S a))").children[0].name == "S"


@pytest.mark.parametrize(
    ("distance", "library", "extra"), [(Levenshtein(), "rapidfuzz", "text"), (TreeEdit(), "apted", "trees")]
)
def test_without_the_library_its_command_is_named(monkeypatch, distance, library, extra):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ArgumentError, match=rf"'{library}', which is not installed: run pip install"):
        distance("(a b)", "(a c)")
