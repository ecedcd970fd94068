"""How work is shared between devices."""

from collections import Counter

import jax
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausibly.base.compute import parted
from plausibly.base.programs import devices


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=50), st.integers(1, 8))
def test_every_device_gets_a_run_of_about_its_share(costs, n):
    places = parted(costs, n)
    assert places == sorted(places)
    assert 0 <= places[0] <= places[-1] < n
    load = Counter()
    for cost, place in zip(costs, places, strict=True):
        load[place] += cost
    assert max(load.values()) <= sum(costs) / n + max(costs) * (1 + 1e-9)


def test_a_device_of_ones_own_choice():
    assert devices() == jax.local_devices()
    with jax.default_device(jax.local_devices()[0]):
        assert devices() == [jax.local_devices()[0]]
    with jax.default_device("cpu"):
        assert devices() == jax.local_devices(backend="cpu")


@pytest.mark.parametrize("n", [1, 3])
def test_no_work_is_no_trouble(n):
    assert parted([], n) == []
