"""Distinct integers, against NumPy's own."""

import numpy as np
import pytest

from plausibly.base.integers import distinct


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("values", [[], [5], [2, 2, 2], [0, 3, 1, 3, 7, 6, 7, 0], list(range(40, 0, -1)) * 2])
def test_distinct_integers_and_the_position_of_each_are_those_of_numpy(values, kind):
    values = np.array(values, kind)
    keys, position = distinct(values)
    expected, inverse = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(keys, expected)
    np.testing.assert_array_equal(position, inverse)
    assert keys.dtype == kind
