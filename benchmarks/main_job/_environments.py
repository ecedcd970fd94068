"""Two environments: the version that everything is compared with, and the working tree."""

import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks._data import ROOT

BASELINE = "24dfe9e"
#: What jobs need beyond what the package does.
PACKAGES = ("nltk", "rapidfuzz")


def baseline(folder: Path, prepared: Path | None) -> Path:
    """Return the environment of the baseline: the one given, or one that is made in a folder, or was there before."""
    if prepared is not None:
        return _checked(prepared)
    source, environment = folder / "baseline", folder / "baseline-env"
    if not (environment / "done").exists():
        shutil.rmtree(source, ignore_errors=True)
        _call("git", "clone", "--quiet", "--no-checkout", str(ROOT), str(source))
        _call("git", "-C", str(source), "checkout", "--quiet", BASELINE)
        _install(source, environment)
    return _checked(environment)


def working(folder: Path, prepared: Path | None) -> Path:
    """Return the environment of the working tree, with the files as they are now, committed or not."""
    if prepared is not None:
        return _checked(prepared)
    source, environment = folder / "working", folder / "working-env"
    shutil.rmtree(source, ignore_errors=True)
    names = _call("git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    _install(source, environment)
    return _checked(environment)


def versions(environment: Path) -> str:
    """Versions of the libraries that matter."""
    names = ("jax", "numpyro", "arviz", "xarray", "matplotlib")
    code = f"from importlib.metadata import version; print(*(f'{{n}} {{version(n)}}' for n in {names}), sep=', ')"
    return _call(str(environment / "bin" / "python"), "-c", code).strip()


def _install(source: Path, environment: Path) -> None:
    python = environment / "bin" / "python"
    if not python.exists():
        _call(sys.executable, "-m", "venv", str(environment))
    pip = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _call(*pip, str(source), *PACKAGES)
    _call(*pip, "--no-deps", "--force-reinstall", str(source))  # the version number is the same as before
    (environment / "done").touch()


def _checked(environment: Path) -> Path:
    environment = environment.absolute()
    if not (environment / "bin" / "plausibly").exists():
        raise SystemExit(f"{environment} is no environment with plausibly in it: give a folder that has bin/plausibly.")
    return environment


def _call(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout
