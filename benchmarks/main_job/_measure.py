"""Wall clock, processor time and peak memory of one process."""

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Sample:
    """One run of a command."""

    seconds: float  #: wall clock, of the work alone where the command reports it
    cpu: float  #: seconds of all cores together
    peak: float  #: bytes
    found: Mapping[str, Any]  #: what the command reports


class CommandError(RuntimeError):
    """A command that failed."""


def run(command: Sequence[str], folder: Path, cache: Path) -> Sample:
    """Run a command in a folder, with a folder of caches, and measure it.

    A last line of JSON on its standard output is taken for its report: ``seconds`` and ``cpu`` in it replace those of
    the whole process.
    """
    folder.mkdir(parents=True, exist_ok=True)
    cache.mkdir(parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "PYTHON"))}
    environment |= {"XDG_CACHE_HOME": str(cache), "PYTHONUNBUFFERED": "1", "COLUMNS": "120"}
    output = folder / "output.txt"
    with output.open("w", encoding="utf-8") as out, (folder / "errors.txt").open("w", encoding="utf-8") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(list(command), cwd=folder, env=environment, stdout=out, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        told = (folder / "errors.txt").read_text(encoding="utf-8")[-2000:]
        raise CommandError(f"{' '.join(command)} ended with status {process.returncode}:\n{told}")
    found = _report(output)
    return Sample(
        found.pop("seconds", seconds),
        found.pop("cpu", usage.ru_utime + usage.ru_stime),
        usage.ru_maxrss * 1024.0,  # that of this process, which is small, would count if it were greater
        found,
    )


def _report(output: Path) -> dict[str, Any]:
    *_, last = output.read_text(encoding="utf-8").strip().splitlines() or [""]
    try:
        found = json.loads(last)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
