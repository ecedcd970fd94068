"""Every compiled program of the package can be lowered for GPUs, on a machine that has none."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import plausibly
import plausibly.models


def compiling_functions():
    """Modules and functions of the package that call ``jax.jit``, as the source has them."""
    found = set()
    for name, folder in (("plausibly", plausibly), ("plausibly.models", plausibly.models)):
        root = Path(folder.__file__).parent
        for path in root.rglob("*.py"):
            module = ".".join((name, *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
            tree = ast.parse(path.read_text(encoding="utf-8"))
            functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
            for node in ast.walk(tree):
                named = isinstance(node, ast.Attribute) and ast.unparse(node) in ("jax.jit", "jax.pmap")
                if named or (isinstance(node, ast.Name) and node.id in ("jit", "pmap")):
                    # A decorator belongs to what is around the function.
                    around = [f for f in functions if any(node in ast.walk(part) for part in f.body)]
                    inner = max(around, key=lambda f: f.lineno, default=None)
                    found.add(f"{module}:{inner.name if inner else '<module>'}")
    return found


@pytest.mark.slow
def test_every_compiled_program_exports_for_every_platform(tmp_path):
    out = tmp_path / "exported.json"
    run = [sys.executable, str(Path(__file__).with_name("exported.py")), str(out)]
    subprocess.run(run, check=True, timeout=1800)
    found = json.loads(out.read_text(encoding="utf-8"))
    assert [one for one in found if one["wrong"]] == []
    assert {one["where"] for one in found} == compiling_functions()


def test_the_source_is_searched_for_compilation():
    found = compiling_functions()
    assert "plausibly.metrics._certainty:<module>" in found
    assert "plausibly.inference._compilation:lower" in found
