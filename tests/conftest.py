"""What all tests share: the platform, run-time type checks, the compilation cache, the path of data kept elsewhere."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

# Before anything imports JAX.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# XLA warns of every cached program that its own preferences are not features of this machine.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import jax
import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

ROOT = Path(__file__).resolve().parent.parent

# Shapes are checked where arrays are made and passed on. The folders that take what users pass check it themselves,
# with errors of their own, which the hook would forestall.
install_import_hook(
    [f"plausibly.{folder}" for folder in ("primitives", "distributions", "models")], "beartype.beartype"
)

# One folder for each worker: JAX does not write its entries atomically.
jax.config.update("jax_compilation_cache_dir", str(ROOT / ".jax_cache" / os.environ.get("PYTEST_XDIST_WORKER", "main")))

# Two cores shared by two workers and a compiler: no example can promise a time.
settings.register_profile("plausibly", deadline=None)
settings.load_profile("plausibly")


@pytest.fixture(scope="module", autouse=True)
def little_memory():
    """Forget compiled programs when they have become many: those of three thousand tests take gigabytes."""
    yield
    status = Path("/proc/self/status")
    if status.exists() and int(status.read_text().split("VmRSS:")[1].split()[0]) > 2_500_000:
        from plausibly._memory import release_memory
        from plausibly.inference import _scheduling

        _scheduling._compiled.clear()
        jax.clear_caches()
        release_memory()


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def float64() -> Callable[[], AbstractContextManager[None]]:
    """``with float64():`` lets JAX compute in double precision."""

    def enable() -> AbstractContextManager[None]:
        if hasattr(jax, "enable_x64"):
            return jax.enable_x64(True)
        # Before JAX 0.8.
        from jax.experimental import enable_x64

        return enable_x64()

    return enable


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data beside the checkout, or the one that PLAUSIBLY_SHARED names; skips where it is absent."""
    path = Path(os.environ.get("PLAUSIBLY_SHARED", ROOT.parent / "shared")).resolve()
    if not (path / "data").is_dir():
        pytest.skip(f"no data at {path}: set PLAUSIBLY_SHARED to the folder that has data/")
    return path
