"""Evaluation on several devices: the same bytes as on one."""

import pytest

from tests.forced_devices import run

PROGRAM = """
import hashlib, sys
import jax
import numpy as np
import plausibly as pb
from plausibly.posterior import _blocks

used = set()
size, program = _blocks._size, _blocks._programs
_blocks._size = lambda *sizes: min(size(*sizes), 4)  # so that two dozen cases are work for four devices

def noted(*arguments):
    found = program(*arguments)
    used.update(device for *_, device in found)
    return found

_blocks._programs = noted
cases = [[[["a"], ["b"]], [["b"], ["c"]], [["c"], ["a"]]][: 1 + n % 3] for n in range(26)]
annotations = pb.Annotations.from_rankings(cases, classes=["a", "b", "c", "d", "e"])
posterior = pb.aggregate(annotations, "prirn", draws=50, chains=2, seed=0, progress=False)
scores = {"A": np.random.default_rng(0).random((26, 5))}
results = pb.evaluate(posterior, scores, risks=[0, 1, 2, 0, 2], k=1, progress=False)
digest = hashlib.blake2b()
for name, variable in results.data_vars.items():
    digest.update(name.encode() + variable.values.tobytes())
print(digest.hexdigest())
print(len(jax.devices()), len(used), file=sys.stderr)
"""


@pytest.mark.slow
def test_four_devices_give_the_results_of_one(tmp_path):
    assert run(PROGRAM, 1, tmp_path) == run(PROGRAM, 4, tmp_path)  # which finds the programs that one device has kept
