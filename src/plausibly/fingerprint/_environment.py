"""What results depend on beside data and arguments: the packages at work, their settings, and what computes.

Versions are part of every posterior. Work that goes on after an interruption, or in other processes, needs all of it to
be the same, since the last digits depend on it.
"""

import json
import platform
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import jax
import jax.numpy as jnp

PACKAGES = ("plausibly", "numpyro", "jax", "jaxlib", "numpy", "scipy", "arviz", "xarray", "h5netcdf", "h5py")
SETTINGS = ("jax_enable_x64", "jax_default_matmul_precision", "jax_threefry_partitionable", "jax_disable_jit")

_CHOICE = "jax_default_device"

# Of what a processor can do, that for which programs are compiled in another way.
_ABLE = ("avx", "avx2", "avx512f", "fma", "sve", "sve2")


def versions() -> dict[str, str]:
    """Versions of the packages that results depend on.

    Examples
    --------
    >>> list(versions())[:3]
    ['plausibly', 'numpyro', 'jax']
    """
    return {package: _version(package) for package in PACKAGES}


def versions_text() -> str:
    """The same as JSON, as posteriors have it for an attribute."""
    return json.dumps(versions())


def settings() -> dict[str, str]:
    """Settings of JAX, as they are in this thread: those that JAX was given as a context are others in another.

    Examples
    --------
    >>> settings()["jax_enable_x64"]
    'False'
    """
    return {name: str(getattr(jax.config, name)) for name in SETTINGS}


def of_thread() -> dict[str, str]:
    """Settings, and the device that was chosen: all that may hold in one thread alone.

    Examples
    --------
    >>> of_thread()["jax_default_device"]
    'None'
    """
    return settings() | {_CHOICE: str(getattr(jax.config, _CHOICE))}


def software() -> dict[str, str]:
    """Versions of Python and of packages, and settings.

    Examples
    --------
    >>> software()["jax_enable_x64"]
    'False'
    """
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **versions(), **settings()}


def surroundings() -> dict[str, str]:
    """All of it, also the processor.

    Examples
    --------
    >>> surroundings().keys() - software().keys()
    {'processor'}
    """
    return software() | {"processor": processor()}


def processor() -> str:
    """What computes here, in words: the devices of JAX, and the machine's processor, on which NumPy works."""
    (one,) = jnp.zeros(()).devices()
    same = jax.local_devices(backend=one.platform) if getattr(jax.config, _CHOICE) is None else [one]
    kinds = sorted({device.device_kind for device in same})
    return _machine() if one.platform == "cpu" else f"{', '.join(kinds)} beside {_machine()}"


@cache
def _machine() -> str:
    text = ""
    with suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    return describe(text) or platform.processor() or platform.machine()


def describe(cpuinfo: str) -> str:
    r"""Name a processor from what Linux says of it; nothing, if that says nothing.

    The model's name alone would not do: virtual machines often have a name in common that is none.

    Examples
    --------
    >>> describe("model name: Some  CPU\ncpu family: 25\nmodel: 17\nflags: sse2 fma avx2\n\nmodel: 18")
    'Some CPU 25 17 (avx2 fma)'
    >>> describe("CPU implementer : 0x41\nCPU part : 0xd40\nFeatures : fp sve\n")
    '0x41 0xd40 (sve)'
    """
    about: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            about.setdefault(name.strip(), " ".join(value.split()))
    names = ("model name", "cpu family", "model", "CPU implementer", "CPU part")
    words = [about[name] for name in names if name in about]
    able = about.get("flags", about.get("Features", "")).split()
    return " ".join([*words, f"({' '.join(name for name in _ABLE if name in able)})"]) if words else ""


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
