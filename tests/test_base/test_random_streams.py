"""Keys of cases and streams are those of JAX, whose random numbers they start."""

from hashlib import blake2b

import jax
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from plausibly.base.random_streams import Stream, as_key, case_keys, fold_in, stream_words, take

WORD = st.integers(0, 2**32 - 1)


def words(keys):
    return np.asarray(jax.random.key_data(keys))


@settings(max_examples=10)
@given(st.lists(st.tuples(WORD, WORD, WORD), min_size=1, max_size=3))
def test_folding_is_that_of_jax(rows):
    *key, number = np.array(rows, np.uint32).T
    found = fold_in(as_key(np.stack(key, axis=-1)), number)
    expected = [
        jax.random.fold_in(as_key(np.array([a, b], np.uint32)), c) for a, b, c in zip(*key, number, strict=True)
    ]
    np.testing.assert_array_equal(words(found), [words(key) for key in expected])


@settings(max_examples=10)
@given(WORD)
def test_keys_of_cases_begin_with_the_key_of_the_seed(seed):
    a, b = words(case_keys(seed, ["p1", "p2"]))
    hashed = np.frombuffer(blake2b(b"p1", digest_size=8).digest(), "<u4")
    expected = jax.random.key(seed, impl="threefry2x32")
    for word in hashed:
        expected = jax.random.fold_in(expected, word)
    np.testing.assert_array_equal(a, words(expected))
    assert (a != b).any()


def test_streams_are_the_keys_with_their_numbers_folded_in():
    keys = case_keys(0, ["a", "b", "c"])
    found = stream_words(take(keys, np.array([2, 0])))
    assert len(Stream) == len(Stream.__members__)  # a member with the number of another one would be its alias
    for stream in Stream:
        expected = [jax.random.fold_in(keys[row], np.uint32(stream)) for row in (2, 0)]
        np.testing.assert_array_equal(found[stream], [words(key) for key in expected])
