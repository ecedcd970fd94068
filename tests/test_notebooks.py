"""Every notebook runs from top to bottom on this interpreter, draws its figures, and is stored without outputs."""

from pathlib import Path

import jax
import nbformat
import pytest
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_core.utils import run_sync
from nbclient import NotebookClient
from traitlets import default

#: Sizes on which nothing depends that is looked at here, and smaller ones.
SMALLER = {
    "evaluation": {
        "simulate_differentials(60, n_classes=40": "simulate_differentials(24, n_classes=8",
        "reliability=3, progress": "reliability=3, draws=100, progress",
        "reliability=reliability, chains=2": "reliability=reliability, draws=50, chains=2",
    },
    "accuracy": {"n_cases, n_classes = 1000, 4": "n_cases, n_classes = 200, 4", "seed=0, pr": "draws=50, seed=0, pr"},
    "convergence": {"named == 2)[:16]": "named == 2)[:6]"},
    "inferred_reliability": {
        "simulate_annotators(60": "simulate_annotators(24",
        'per="dataset", chains=2': 'per="dataset", draws=50, warmup=50, chains=2',
        "draws=400, chains=2": "draws=50, warmup=50, chains=2",
    },
    "judge": {
        "N, PEOPLE = 300, 6": "N, PEOPLE = 150, 6",
        'model="dawid-skene"': 'model="one-coin"',
        "draws=600, chains=2, warmup=300": "draws=250, chains=2, warmup=100",
    },
    "model_choice": {
        "np.ones(3), size=40": "np.ones(3), size=16",
        "models, seed=0": "models, draws=100, seed=0",
        "reliability=1, seed=0": "reliability=1, draws=100, seed=0",
        "reliability=30, seed=0": "reliability=30, draws=100, seed=0",
        "size=120, p=": "size=60, p=",
        "rng.integers(3, size=100)": "rng.integers(3, size=40)",
        "range(100)": "range(40)",
        '"draws": 50, "chains": 2, "warmup": 50': '"draws": 20, "chains": 2, "warmup": 20',
        "draws=200, chains=2": "draws=50, warmup=50, chains=2",
        "draws=60, chains=2": "draws=20, chains=2",
    },
    "own_model": {"draws=500": "draws=100", "warmup=200": "draws=100, warmup=100"},
    "reliability": {"draws=500, warmup=300": "draws=20, warmup=20", "80": "30"},
    "whom_to_ask_next": {"size=300": "size=100", "concentration=0.3, seed=0": "concentration=0.3, draws=100, seed=0"},
}
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


@pytest.fixture(scope="session")
def kernel():
    """One kernel for all notebooks: importing and tracing take as long in each as what most of them show."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
        patch.setenv("JAX_COMPILATION_CACHE_DIR", jax.config.jax_compilation_cache_dir)
        patch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        manager = OwnKernel()
        run_sync(manager.start_kernel)()
    yield manager
    run_sync(manager.shutdown_kernel)(now=True)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_and_draws(path, tmp_path, kernel):
    notebook = nbformat.read(path, as_version=4)
    # Without a name that another notebook has left.
    notebook.cells.insert(0, nbformat.v4.new_code_cell(f"%reset -f\n%cd -q {tmp_path}"))
    for size, smaller in SMALLER.get(path.stem, {}).items():
        stands = [cell for cell in notebook.cells if size in cell.source]
        assert stands, size
        for cell in stands:
            cell.source = cell.source.replace(size, smaller)
    client = NotebookClient(notebook, km=kernel, timeout=600)
    try:
        client.execute()
    finally:
        client.kc.stop_channels()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    drawing = [cell for cell in cells if "plt.show()" in cell.source]
    assert drawing
    for cell in drawing:
        figures = [output for output in cell.outputs if "image/png" in output.get("data", {})]
        assert len(figures) == cell.source.count("plt.show()"), cell.source
