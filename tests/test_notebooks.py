"""Every notebook runs from top to bottom on this interpreter, draws its figures, and is stored without outputs."""

import os
from pathlib import Path

import jax
import nbformat
import pytest
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from traitlets import default

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


class OwnKernel(AsyncKernelManager):
    """The kernel of the running interpreter: without folders to look for others in, it is the only one."""

    @default("kernel_spec_manager")
    def _only_own(self):
        return KernelSpecManager(kernel_dirs=[])


def test_notebooks_are_found():
    assert "evaluation.ipynb" in [path.name for path in NOTEBOOKS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    used = [cell.id for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count") is not None]
    assert not used, f"clear the outputs of {path.name}"


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_and_draws(path, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", jax.config.jax_compilation_cache_dir)
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    # As the engines compile; what surrounds them in a cell is seldom worth more.
    monkeypatch.setenv("XLA_FLAGS", f"{os.environ['XLA_FLAGS']} --xla_backend_optimization_level=1")
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, kernel_manager_class=OwnKernel, timeout=600, resources=place).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    drawing = [cell for cell in cells if "plt.show()" in cell.source]
    assert drawing
    for cell in drawing:
        figures = [output for output in cell.outputs if "image/png" in output.get("data", {})]
        assert len(figures) == cell.source.count("plt.show()"), cell.source
