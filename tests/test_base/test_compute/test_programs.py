"""Programs on disk, found without being traced."""

import os
import subprocess
import sys
from functools import partial

import jax
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

from plausibly.base import compute, programs
from plausibly.base.compute import Part, run
from plausibly.base.programs import kept
from plausibly.metrics.certainties import most_frequent

LISTS = np.array([[[0, 0, 1], [1, 1, 1]]], np.int32)  # (place, case, draw)
EXPECTED = [2, 3]


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """The programs that are compiled, with a folder of their own, and without JAX's cache."""
    found = []
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()

    def counted(*arguments, compiled_and_saved=programs.compiled_and_saved):
        found.append(arguments[-1])
        return compiled_and_saved(*arguments)

    for module in (compute, programs):
        monkeypatch.setattr(module, "compiled_and_saved", counted)
        monkeypatch.setattr(module, "own_folder", lambda: tmp_path)
    yield found
    jax.config.update("jax_enable_compilation_cache", True)
    compilation_cache.reset_cache()


def by_kept(function, n_classes, lists=LISTS):
    """What a function under ``jax.jit`` returns in a new process."""
    return kept(jax.jit(partial(function, n_classes=n_classes)))(lists)


def by_run(function, n_classes, lists=LISTS):
    """What a function of parts of cases returns in a new process."""
    compute._compiled.clear()
    parts = [Part(n_classes, lists.shape[1], np.arange(lists.shape[1]))]
    ((_, found),) = run((n_classes,), partial(function, n_classes=n_classes), parts, lambda part: (lists,))
    return found


ways = pytest.mark.parametrize("call", [by_kept, by_run])


@ways
def test_the_next_process_does_not_compile(compiled, call):
    for _ in range(2):
        np.testing.assert_array_equal(call(most_frequent, 3), EXPECTED)
    assert len(compiled) == 1
    assert compiled[0].exists()


@ways
def test_other_arguments_and_shapes_are_other_programs(compiled, call):
    for n_classes, lists in ((3, LISTS), (300, LISTS), (3, LISTS.repeat(2, axis=2))):
        expected = np.multiply(EXPECTED, lists.shape[2] // 3)
        np.testing.assert_array_equal(call(most_frequent, n_classes, lists), expected)
    assert len({*compiled}) == 3


@ways
def test_a_damaged_file_is_replaced(compiled, call):
    call(most_frequent, 3)
    compiled[0].write_bytes(compiled[0].read_bytes()[:100])
    np.testing.assert_array_equal(call(most_frequent, 3), EXPECTED)
    np.testing.assert_array_equal(call(most_frequent, 3), EXPECTED)
    assert len(compiled) == 2


@ways
def test_own_code_is_traced_in_every_process(compiled, call):
    """A function that it calls may have changed in another module, which has no fingerprint."""
    for times in (1, 2):
        own = lambda lists, n_classes, times=times: times * most_frequent(lists, n_classes)  # noqa: E731
        np.testing.assert_array_equal(call(own, 3), np.multiply(times, EXPECTED))
    assert not any(compiled)


def test_within_a_traced_function_nothing_is_kept(compiled):
    inner = kept(jax.jit(partial(most_frequent, n_classes=3)))
    np.testing.assert_array_equal(jax.jit(inner)(LISTS), EXPECTED)
    assert not compiled


SOLVES = """
import numpy as np
from plausibly.data.regression import prior_moments
from plausibly.families.true_class._coefficients import _moves, compiled
mean, sd = prior_moments(1, 2)
root, case = np.eye(len(mean), dtype=np.float32), np.ones((1, 3, 2), np.float32) / 2
given = mean[None], mean[None], root[None], case, root[None, :2], np.full((1, 2, 41), 0.5, np.float32)
print(compiled(_moves, large=True)(*given, case, case[0, 0], mean, sd)[0])
"""


@pytest.mark.slow
def test_a_program_that_solves_equations_runs_in_the_next_process(tmp_path):
    """The functions of LAPACK are not found by loading it."""
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    done = [subprocess.run([sys.executable, "-c", SOLVES], env=environment, capture_output=True) for _ in range(2)]
    assert [one.returncode for one in done] == [0, 0], done
    assert done[0].stdout == done[1].stdout
