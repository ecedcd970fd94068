"""Read all that a netCDF file holds: run as a script, by a process of its own, that may come to harm in it.

It says nothing; how it ends, tells. It imports nothing of the package, so that it takes a fraction of a second.
"""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5netcdf
import h5py

TOO_LARGE = 3  #: exit status: the file needs more memory than it can hold numbers
_EXPANSION = 1100  # no more than 1,032 bytes come out of one that zlib compressed
_SMALL = 2**26  # bytes; of more, numbers are left unread: what leads to them, is read


def main(path: str) -> None:
    """Read a file within limits of time and memory, and end the process."""
    size = Path(path).stat().st_size
    with suppress(ImportError, ValueError, OSError):  # not on every system
        _limit(10 + size // 2**20, _taken() + 2**32 + 16 * size)
    try:
        with h5netcdf.File(path, phony_dims="access") as file:
            _read(file, size)
    except MemoryError:
        sys.exit(TOO_LARGE)
    except OSError as error:
        sys.exit(TOO_LARGE if "alloc" in str(error) else 0)
    except Exception:
        sys.exit(0)  # whoever asked comes upon it, too, and can say it better


def _taken() -> int:
    """Bytes of addresses that libraries have taken already: gigabytes, where there is a processor of many cores."""
    import resource

    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return 0


def _limit(seconds: int, memory: int) -> None:
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + 1 + seconds,) * 2)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _read(group: Any, size: int) -> None:
    dict(group.attrs)
    for variable in group.variables.values():
        dict(variable.attrs)
        text = h5py.check_string_dtype(variable.dtype) is not None
        needed = variable.dtype.itemsize
        for length in variable.shape:
            needed *= length
        if needed > _EXPANSION * size:
            sys.exit(TOO_LARGE)
        if text or needed <= _SMALL:
            variable[...]
    for inner in group.groups.values():
        _read(inner, size)


if __name__ == "__main__":
    main(sys.argv[1])
