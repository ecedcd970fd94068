"""A seal on a netCDF file, by which damage is noticed before HDF5 goes astray in it.

HDF5 believes what it finds: a flipped bit ends in another number, another name, or a loop without end. All that it
checks is what is compressed, for zlib keeps a checksum of that. So the seal is a checksum of all the rest, appended to
the file with the places of what is compressed. The rest is small, and it is checked whenever a file is opened; draws
are not read for that. Readers of netCDF take no notice of what follows the end that HDF5 gives, and whoever changes
the file with HDF5 cuts it off there, and the seal with it.
"""

import struct
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import h5py
import numpy as np

from plausibly.errors import FileError

_MARK = b"\r\nplausibly seal\n\x1a"
_END = struct.Struct(f"<QQI{len(_MARK)}s")  # bytes that are sealed, places left out, checksum, mark
_BLOCK = 2**20
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_EOF_AT = {0: 40, 1: 44, 2: 28, 3: 28}  # where a superblock of each version says how long the file is


def seal(path: str | Path) -> None:
    """Append the seal to a complete file.

    Parameters
    ----------
    path
        Of netCDF, closed.

    Examples
    --------
    >>> with h5py.File("p.nc", "w") as file:
    ...     file["x"] = 1.5
    >>> seal("p.nc")
    >>> is_sealed("p.nc")
    True
    >>> damaged = bytearray(Path("p.nc").read_bytes())
    >>> damaged[500] ^= 1
    >>> _ = Path("p.nc").write_bytes(damaged)
    >>> is_sealed("p.nc")
    Traceback (most recent call last):
        ...
    plausibly.errors.FileError: p.nc is damaged (its checksum is another): save the posterior again, or take another
    copy of the file.
    """
    with h5py.File(path) as file:
        places = np.array(_compressed(file), "<u8").reshape(-1, 2)
    with open(path, "rb+") as file:
        size = file.seek(0, 2)
        checksum = _checksum(file, size, places)
        file.seek(size)
        file.write(places.tobytes() + _END.pack(size, len(places), checksum, _MARK))


def is_sealed(path: str | Path) -> bool:
    """Whether a file has a seal, which then is checked; one of other programs, or of earlier versions, has none.

    Raises
    ------
    FileError
        If the seal does not fit the file.
    OSError
        If the file cannot be read.
    """
    with open(path, "rb") as file:
        whole = file.seek(0, 2)
        file.seek(max(0, whole - _END.size))
        last = file.read()
        if not last.endswith(_MARK) or len(last) < _END.size:
            end = _end_of_hdf5(file)
            if end is not None and end < whole:
                raise _damaged(path, f"{whole - end} bytes follow its end, which are no seal")
            if end is not None and end > whole:
                raise _damaged(path, f"it is cut off after {whole} of {end} bytes")
            return False
        size, n_places, checksum, _ = _END.unpack(last)
        if size + n_places * 16 + _END.size != whole:
            raise _damaged(path, "its size is another than was sealed")
        file.seek(size)
        places = np.frombuffer(file.read(n_places * 16), "<u8").reshape(-1, 2)
        bounds = np.append(places.ravel(), size)
        if (bounds[:-1] > bounds[1:]).any() or checksum != _checksum(file, size, places):
            raise _damaged(path, "its checksum is another")
    return True


def _compressed(file: Any) -> list[tuple[int, int]]:
    """Begin and end of what zlib keeps a checksum of, in order."""
    found: list[tuple[int, int]] = []

    def keep(chunk: Any) -> None:
        if not chunk.filter_mask:
            found.append((chunk.byte_offset, chunk.byte_offset + chunk.size))

    def look(name: str, thing: Any) -> None:
        if isinstance(thing, h5py.Dataset) and thing.compression == "gzip":
            thing.id.chunk_iter(keep)

    file.visititems(look)
    return sorted(found)


def _checksum(file: BinaryIO, size: int, places: np.ndarray) -> int:
    """Of all but what lies in some places, of these, and of how much that is."""
    checksum = zlib.crc32(places.tobytes(), zlib.crc32(struct.pack("<QQ", size, len(places))))
    begins, ends = [0, *places[:, 1].tolist()], [*places[:, 0].tolist(), size]
    for begin, end in zip(begins, ends, strict=True):
        file.seek(begin)
        while begin < end and (block := file.read(min(end - begin, _BLOCK))):
            checksum = zlib.crc32(block, checksum)
            begin += len(block)
    return checksum


def _end_of_hdf5(file: BinaryIO) -> int | None:
    """Where HDF5 says that a file ends."""
    file.seek(0)
    head = file.read(64)
    if not head.startswith(_SIGNATURE) or len(head) < 64 or head[8] not in _EOF_AT:
        return None
    at = _EOF_AT[head[8]]
    return int.from_bytes(head[at : at + 8], "little")


def _damaged(path: str | Path, what: str) -> FileError:
    return FileError(f"{path} is damaged ({what}): save the posterior again, or take another copy of the file.")
