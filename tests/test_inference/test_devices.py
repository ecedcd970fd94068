"""Several devices: the same bytes as one, and work for all of them."""

from collections import Counter

import jax
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausibly.inference._devices import devices, parted
from tests.forced_devices import run

# Sixteen seats or fewer and eight cases to a chunk, so that two dozen cases are work for four devices.
PROGRAM = """
import hashlib, sys
import jax
import plausibly as pb
from plausibly.inference import _scheduling

_scheduling._seats = _scheduling._chunk_size = lambda *sizes: 8
used = set()
units = _scheduling._units

def noted(*arguments):
    found = units(*arguments)
    used.update(unit.device for unit in found)
    return found

_scheduling._units = noted
annotations = pb.Annotations.from_labels([["a", "b", "c"]] * 26, classes=["a", "b", "c", "d"])
settings = {"draws": 5, "chains": 2, "seed": 0, "progress": False}
for engine in ("nuts", "exact"):
    adapted = {} if engine == "exact" else {"warmup": 20}
    posterior = pb.aggregate(annotations, "dirichlet-categorical", engine=engine, **adapted, **settings)
    digest = hashlib.blake2b()
    for group in ("posterior", "sample_stats", "log_likelihood", "convergence"):
        if group != "sample_stats" or engine != "exact":
            for name, variable in posterior[group].data_vars.items() if group in posterior else ():
                digest.update(name.encode() + variable.values.tobytes())
    print(engine, digest.hexdigest())
print(len(jax.devices()), len(used), file=sys.stderr)
"""


@pytest.mark.slow
def test_four_devices_draw_what_one_draws(tmp_path):
    one = run(PROGRAM, 1, tmp_path)
    assert [line.split()[0] for line in one.splitlines()] == ["nuts", "exact"]
    assert run(PROGRAM, 4, tmp_path) == one  # which finds the programs that one device has kept


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
