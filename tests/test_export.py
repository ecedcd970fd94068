"""Every compiled program of the package can be lowered for GPUs, on a machine that has none."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import plausibly
import plausibly.models
from plausibly.systems._model import MEANS
from tests.test_systems.test_model import result_of


def compiled_functions():
    """Where the source calls ``jax.jit``, by module and function, and on what, as far as that has a name."""
    found = set()
    for name, folder in (("plausibly", plausibly), ("plausibly.models", plausibly.models)):
        root = Path(folder.__file__).parent
        for path in root.rglob("*.py"):
            module = ".".join((name, *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
            found |= {(f"{module}:{around}", what) for around, what in compiled_in(path.read_text(encoding="utf-8"))}
    return found


def compiled_in(source):
    """Functions in which ``jax.jit`` stands, and what it is applied to; "" where that is a variable."""
    if "jit" not in source and "pmap" not in source:
        return
    nodes = list(ast.walk(ast.parse(source)))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    names = {function.name for function in functions}
    decorated = {id(node): f.name for f in functions for one in f.decorator_list for node in ast.walk(one)}
    applied = {id(node.func): node.args for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name in ("jit", "pmap") and ast.unparse(node).removeprefix("jax.") == name:
            # A decorator belongs to what is around the function.
            around = [f for f in functions if any(node in ast.walk(part) for part in f.body)]
            inner = max(around, key=lambda f: f.lineno, default=None)
            what = decorated.get(id(node)) or next((ast.unparse(one) for one in applied.get(id(node), [])), "")
            yield inner.name if inner else "<module>", what if what in names else ""


@pytest.mark.slow
def test_every_compiled_program_exports_for_every_platform_and_stored_draws_are_of_the_sampler(tmp_path):
    out = tmp_path / "exported.json"
    kept = {"JAX_COMPILATION_CACHE_DIR": jax.config.jax_compilation_cache_dir}
    kept |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    run = [sys.executable, "-m", "tests.exported", str(out)]
    subprocess.run(run, check=True, timeout=1800, cwd=Path(__file__).parent.parent, env=os.environ | kept)
    found, means = json.loads(out.read_text(encoding="utf-8"))
    assert [one for one in found if one["wrong"]] == []
    exported = {(one["where"], one["name"].rpartition(".")[2]) for one in found}
    exported |= {(where, "") for where, _ in exported}
    needed = compiled_functions()
    assert needed - exported == set()
    assert needed > {("plausibly.metrics.certainties:<module>", "set_certainty"), ("plausibly.base.compute:lower", "")}
    stored = result_of("pass").posterior["posterior"].mean(("chain", "draw"))
    shapes = [{name: np.shape(value) for name, value in of.items()} for of in (means, stored)]
    assert shapes[0] == shapes[1]
    for name in MEANS:
        np.testing.assert_allclose(means[name], stored[name], atol=0.06)
