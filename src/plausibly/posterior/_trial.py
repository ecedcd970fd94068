"""Try out, in a process of its own, whether a file can be read at all: HDF5 may crash in damage, or go on for ever."""

import subprocess
import sys
from pathlib import Path

import h5py

from plausibly.errors import FileError
from plausibly.posterior import _walk

# Read to its end, or could not even begin: Python exits with 1 or 2 for that, shells with 126 or 127.
_NO_HARM = (0, 1, 2, 126, 127)


def try_out(path: str | Path) -> None:
    """Let another process read a file that has no seal, which takes a fifth of a second, or longer if it is large.

    Raises
    ------
    FileError
        If it does not come back within its time, crashes, or needs more memory than such a file can fill.
    """
    if not h5py.is_hdf5(path):
        return
    if not sys.executable or not Path(_walk.__file__).exists():  # inside of another program
        return
    command = [sys.executable, "-P", _walk.__file__, str(path)]
    patience = 60 + Path(path).stat().st_size // 10**6  # where the system does not limit a process
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=patience
        )
    except OSError:  # no further process may be started
        return
    except subprocess.TimeoutExpired:
        status = -1
    else:
        status = done.returncode
    if status not in _NO_HARM:
        large = status == _walk.TOO_LARGE
        what = "needs more memory than it can have filled" if large else "crashes or does not end"
        raise FileError(
            f"{path} is damaged (reading it {what}): save the posterior again, or take another copy of the file."
        )
