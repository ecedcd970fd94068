"""What all tests share: platform, compiler options, run-time type checks, compilation cache, path of the data."""

import gc
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

# Before anything imports JAX or NumPy. Matrices of tests are small: threads that wait for one take a seventh of a test.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Compiling takes most of the time, also of tests that sample for long, so XLA compiles each program in one piece and
# optimises nothing. The second flag went in JAX 0.11, and XLA stops at flags that it does not know. Workers inherit all
# this, and `unchanged.py` optimises.
os.environ.setdefault(
    "OPTIMISED_XLA_FLAGS",
    f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_parallel_codegen_split_count=1"
    + (" --xla_cpu_use_fusion_emitters=false" if tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 11) else ""),
)
os.environ["XLA_FLAGS"] = f"{os.environ['OPTIMISED_XLA_FLAGS']} --xla_backend_optimization_level=0"

import jax
import pytest
from hypothesis import settings
from jax.experimental import serialize_executable
from jaxtyping import install_import_hook

from plausibly.base import compute
from plausibly.base import programs as programs_on_disk
from plausibly.base.memory import release_memory
from plausibly.base.programs import _processor
from tests.worlds import CACHE

ROOT = Path(__file__).resolve().parent.parent
UNCHECKED = "dawid_skene", "one_coin"

# Compiling all tests and modules to bytecode takes ten seconds in each worker, and some in each process of a test.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Shapes are checked where arrays are made and passed on. Folders that take users' arguments check these themselves,
# with errors that the hook would forestall. The samplers of two models call their functions a hundred thousand times.
install_import_hook(
    ["plausibly.distributions"]
    + [f"plausibly.models.{path.stem}" for path in (ROOT / "models").glob("*.py") if path.stem not in UNCHECKED],
    "beartype.beartype",
)

# Tracing makes many small objects, and locations of the source for each: a fifth of the time of tests.
gc.set_threshold(500_000, 20, 100)
jax.config.update("jax_traceback_in_locations_limit", 0)

# What one worker compiles, all find, and so does the next run in any checkout, however small it is.
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_compilation_cache_dir", str(CACHE / _processor() / "programs"))
# The package's own programs are found without being traced, too, as they are where JAX is not configured: in a folder
# for each version of the source. What JAX has read from its cache cannot be written again.
read = threading.local()
were_read: set = set()  # also by another thread, from whose memory this one gets the program
one_at_a_time = threading.Lock()


def compile_and_save(lowered, options, place, compiled_and_saved=programs_on_disk.compiled_and_saved):
    """Compile a program, and save it unless JAX has read it."""
    with one_at_a_time:
        read.serialize = None if place in were_read else serialize_executable.serialize
        program = compiled_and_saved(lowered, options, place)
        if read.serialize is None:
            were_read.add(place)
        return program


def notice_reading(event: str, **_: object) -> None:
    """Note that this thread has read a program: an attempt to serialize it raises an error, which is left unsaid."""
    if event == "/jax/compilation_cache/cache_hits":
        read.serialize = None


jax.monitoring.register_event_listener(notice_reading)
programs_on_disk.serialize_executable = SimpleNamespace(
    serialize=lambda program: read.serialize(program), deserialize_and_load=serialize_executable.deserialize_and_load
)
for module in (compute, programs_on_disk):
    module.own_folder = lambda: CACHE / _processor() / "untraced"
    module.compiled_and_saved, module.without_jax = compile_and_save, nullcontext

# XLA warns of every cached program that its own preferences are not features of this machine.
jax.config.update("jax_logging_level", "CRITICAL")

# Two workers and a compiler share two cores, so no example has a deadline.
settings.register_profile("plausibly", deadline=None)
settings.load_profile("plausibly")


def pytest_collection_finish() -> None:
    """Leave what is there now out of later collections of garbage."""
    gc.freeze()


def forget_programs() -> None:
    """Forget what this process has compiled."""
    compute._compiled.clear()
    jax.clear_caches()
    release_memory()


programs: Counter[str] = Counter()  # traced, and compiled or found in JAX's cache, by the tests of a folder
folder = ["tests"]


def count_program(event: str, seconds: float, **_: object) -> None:
    """Count a program for the folder of the test that runs."""
    programs[folder[0]] += event == "/jax/core/compile/backend_compile_duration"


jax.monitoring.register_event_duration_secs_listener(count_program)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Say whose programs are counted."""
    folder[0] = item.path.relative_to(ROOT / "tests").parts[0].removesuffix(".py")
    return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Add up what the workers have counted."""
    programs.update(getattr(node, "workeroutput", {}).get("programs", {}))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """After the whole quick suite: at most two processes have compiled no more programs than `test_house.py` allows."""
    gc.collect()
    gc.freeze()  # pytest collects five times, and Python when it ends
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["programs"] = dict(programs)
    elif session.config.option.markexpr == "not slow" and session.config.args == ["tests"]:
        from tests.test_house import LIMITS

        limit = LIMITS["programs compiled by quick tests"]["all"]
        print(f"\n{programs.total()} programs compiled or loaded:", dict(sorted(programs.items())))
        if programs.total() > limit and (session.config.getoption("numprocesses", None) or 1) <= 2:
            print(f"more than tests/test_house.py allows: {limit}")
            session.exitstatus = session.exitstatus or 1


@pytest.fixture(scope="module", autouse=True)
def little_memory():
    """Forget compiled programs when there are many: those of all tests take gigabytes."""
    yield
    status = Path("/proc/self/status")
    if status.exists() and int(status.read_text().split("VmRSS:")[1].split()[0]) > 5_000_000:
        forget_programs()


@pytest.fixture
def no_report(monkeypatch):
    """Of ``plausibly evaluate`` not the report, nor what is for it: they take longer than everything else."""
    for place, name in (
        ("app.report", "report"),
        ("app.cli._evaluate", "measure_sets"),
        ("app.cli._evaluate", "plan_labels"),
        ("aggregation.sweeps._plan", "freed_shifts"),
    ):
        monkeypatch.setattr(import_module(f"plausibly.{place}"), name, lambda *given, **options: None)


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
