"""Several devices: the same bytes as on one, and work for all of them."""

import os
import subprocess
import sys

import jax
import pytest

# Sixteen seats or fewer, eight cases to a chunk and four to a block, so that two dozen cases are work for four devices.
PROGRAM = """
import hashlib
import jax
import numpy as np
import plausibly as pb
from plausibly.base.compute import Pool
from plausibly.evaluation.program import measure_block
from plausibly.inference import _scheduling
from plausibly.posterior import blocks

_scheduling._seats = _scheduling._chunk_size = lambda *sizes: 8
size, programs = blocks._size, Pool.programs
blocks._size = lambda *sizes: min(size(*sizes), 4)
sampling, evaluating = set(), set()

def noted(pool, sources, places, **options):
    for (name, *_), device in places:
        if name == "nuts":
            sampling.add(device)
        elif name is measure_block:
            evaluating.add(device)
    return programs(pool, sources, places, **options)

Pool.programs = noted

def tell(what, dataset):
    digest = hashlib.blake2b()
    for name, variable in dataset.data_vars.items():
        digest.update(name.encode() + variable.values.tobytes())
    print(what, digest.hexdigest())

annotations = pb.Annotations.from_labels([["a", "b", "c"]] * 26, classes=["a", "b", "c", "d"])
settings = {"draws": 5, "chains": 2, "seed": 0, "progress": False}
for engine in ("nuts", "exact"):
    adapted = {} if engine == "exact" else {"warmup": 20}
    posterior = pb.aggregate(annotations, "dirichlet-categorical", engine=engine, **adapted, **settings)
    for group in ("posterior", "sample_stats", "log_likelihood", "convergence"):
        if group in posterior and (group != "sample_stats" or engine != "exact"):
            tell(f"{engine} {group}", posterior[group])
scores = {"A": np.random.default_rng(0).random((26, 4))}
given = {"risks": [0, 1, 2, 0], "k": 1, "metrics": ["overlap"], "replicates": 20, "progress": False}
tell("results", pb.evaluate(posterior, scores, **given))
print(len(jax.devices()), len(sampling), len(evaluating))
"""


def run(n):
    """Run it in a process with n devices, and return the lines that it prints."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={n}"
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    environment |= {"JAX_COMPILATION_CACHE_DIR": jax.config.jax_compilation_cache_dir}
    environment |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_four_devices_give_what_one_gives():
    *one, used = run(1)
    assert used == "1 1 1"
    assert len({line.split()[0] for line in one}) == 3
    *four, used = run(4)  # which finds the programs that one device has kept
    assert used == "4 4 4"
    assert four == one
