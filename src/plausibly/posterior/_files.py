"""Posteriors on disk: one netCDF file, or a Zarr folder that :func:`plausibly.aggregate` writes shard by shard.

A netCDF file carries HDF5's own checksums, of every chunk (Fletcher 32) and of the metadata, which the format of
``libver="latest"`` has. Every chunk of a Zarr folder carries a CRC32C.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import h5netcdf
import h5py
import numpy as np
import xarray as xr
from xarray.backends import H5NetCDFStore

from plausibly.base.arviz import Posterior, from_groups, to_groups
from plausibly.base.errors import ArgumentError, FileError, PlausiblyError, reason, show
from plausibly.base.progress import logged
from plausibly.posterior._container import GROUPS, check_posterior
from plausibly.posterior.on_demand import not_drawn, with_draws, with_form
from plausibly.posterior.store_reading import is_damage, read_store, with_plain_names

_COMPRESSION = {"compression": "gzip", "compression_opts": 1, "shuffle": True}
_CHUNK = 2**18  # numbers that are compressed together


def save(posterior: Posterior, path: str | Path) -> None:
    """Write a posterior to a netCDF file, compressed and with checksums.

    The same posterior always gives the same bytes.

    All groups are written. Log likelihoods that have not been computed yet are computed first; ``aggregate(…,
    out="x.nc")`` leaves them out. Of a posterior that has a closed form, the file has this form, of which
    :func:`load` makes the same draws, and only those log likelihoods that were read before.

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.aggregate`, :func:`build_posterior` or :func:`load`.
    path
        Name of the file, usually ending in ``.nc``; an existing file is overwritten.

    Raises
    ------
    FileError
        If the file cannot be written.
    ArgumentError
        If ``posterior`` is not a posterior, or ``path`` is not a path.
    """
    check_posterior(posterior, of_plausibilities=False)
    check_path(path)
    whole = BytesIO()  # HDF5 crashes where a disk is full
    part = Path(path).with_name(f"{Path(path).name}.part")
    try:
        with logged(f"Writing {path}"), reading(posterior), h5netcdf.File(whole, "w", libver="latest") as file:
            for name, data in with_form(to_groups(posterior)).items():
                data.dump_to_store(H5NetCDFStore(file, group=name, mode="w"), encoding=_encodings(data))
            file.attrs.update(sorted(posterior.attrs.items()))
            hdf5: Any = file._h5file
            hdf5.visititems(_fix_texts)
            _fix_texts("/", hdf5)
        part.write_bytes(whole.getbuffer())
        part.replace(path)  # a process that is killed leaves no half of a file
    except (OSError, RuntimeError) as error:
        raise FileError(f"{path} cannot be written ({reason(error)}): choose another place.") from error
    finally:
        with suppress(OSError):
            part.unlink()


def _fix_texts(name: str, thing: Any) -> None:
    """Give attributes that are texts a fixed length: HDF5 keeps no checksum of the heap that others lie in."""
    for key, value in thing.attrs.items():
        if isinstance(value, str) and value:
            text = value.encode()
            thing.attrs.create(key, text, dtype=h5py.string_dtype("utf-8", len(text)))
        elif isinstance(value, np.number):
            thing.attrs.create(key, value)  # in the order in which they were


def _encodings(data: xr.Dataset) -> dict[str, Any]:
    """How variables are stored: compressed; names as characters, which unlike HDF5's strings can stay in the file."""
    found = {}
    for name, variable in data.variables.items():
        if not variable.ndim or not variable.size:
            continue
        chunk = chunks(variable.shape)
        encoding: dict[str, Any] = {}
        if variable.dtype.kind in "UO":
            width = max(1, np.char.encode(np.asarray(variable.values, str), "utf-8").dtype.itemsize)
            encoding, chunk = {"dtype": "S1"}, (*chunk[:-1], max(1, min(chunk[-1], _CHUNK // width)), width)
        found[str(name)] = {**_COMPRESSION, "fletcher32": True, **encoding, "chunksizes": chunk}
    return found


def chunks(shape: tuple[int, ...], most: int = _CHUNK) -> tuple[int, ...]:
    """Shape of chunks: all draws of a few cases lie together on disk, as they are read.

    Examples
    --------
    >>> chunks((4, 250, 100_000)), chunks((5,))
    ((4, 250, 262), (5,))
    """
    *others, n = shape or (1,)
    return (*others, max(1, min(n, most // max(1, math.prod(others))))) if shape else ()


def load(path: str | Path, *, lazy: bool = False) -> Posterior:
    """Read a posterior that :func:`save` or :func:`plausibly.aggregate` wrote.

    Parameters
    ----------
    path
        Name of the netCDF file or of the Zarr folder.
    lazy
        Whether to leave the draws on disk until they are needed; :func:`plausibly.evaluate` then reads a few cases at a
        time.

    Raises
    ------
    FileError
        If the file is missing, damaged, incomplete, or not a posterior.
    ArgumentError
        If ``path`` is not a path, or the contents of the file are inconsistent.
    """
    tree, posterior = _open(path)
    if lazy:
        return posterior
    try:
        with reading(posterior, path):
            groups = {name: with_plain_names(_loaded(data)) for name, data in to_groups(posterior).items()}
        return from_groups(groups, posterior.attrs)
    finally:
        tree.close()


def _loaded(data: xr.Dataset) -> xr.Dataset:
    """Load all variables, except for draws that are made when they are read."""
    for variable in data.variables.values():
        if not_drawn(variable) is None:
            variable.load()
    return data


@contextmanager
def opened(path: str | Path) -> Iterator[Posterior]:
    """Open a posterior on disk, and close it afterwards.

    Raises
    ------
    FileError, ArgumentError
        As :func:`load` does.
    """
    tree, posterior = _open(path)
    try:
        with reading(posterior, path):
            yield posterior
    finally:
        tree.close()


@contextmanager
def reading(posterior: Posterior, path: str | Path | None = None) -> Iterator[Posterior]:
    """Use a posterior whose draws may still be on disk, and report damaged files as errors.

    Raises
    ------
    FileError
        If draws cannot be read.
    """
    try:
        yield posterior
    except Exception as error:
        if not is_damage(error):
            raise
        if path is None:
            variables = to_groups(posterior)["posterior"].variables.values()
            path = next((v.encoding["source"] for v in variables if "source" in v.encoding), "the posterior's file")
        raise _unreadable(path, error) from error


def _unreadable(path: Any, error: Exception) -> FileError:
    return FileError(f"{path} cannot be read ({reason(error)}): save the posterior again, or take another copy.")


def _open(path: str | Path) -> tuple[xr.DataTree, Posterior]:
    check_path(path)
    try:
        if not Path(path).exists():
            raise FileError(f"{path} does not exist: check the path.")
        if Path(path).is_dir():
            if not any((Path(path) / name).exists() for name in ("zarr.json", ".zgroup")):
                within = next((f", such as {one}" for one in sorted(Path(path).glob("*.nc"))), "")
                raise FileError(f"{path} is a folder, and no posterior: give a file that plausibly wrote{within}.")
            tree, groups = read_store(path)
        elif not _is_hdf5(Path(path)):
            raise FileError(f"{path} is not a posterior: give a file that plausibly aggregate or pb.save wrote.")
        else:
            tree = xr.open_datatree(path, engine="h5netcdf")
            groups = {name: node.to_dataset() for name, node in tree.children.items()}
        groups = with_draws(groups, path)
    except PlausiblyError:
        raise
    except Exception as error:  # damaged files can end in almost any: HDF5 says RuntimeError, what reads it TypeError
        raise _unreadable(path, error) from error
    if not groups.keys() >= set(GROUPS):
        tree.close()
        raise FileError(
            f"{path} holds no posterior, only {sorted(groups)}: give a file that plausibly aggregate or pb.save wrote."
        )
    return tree, from_groups(groups, tree.attrs)


def _is_hdf5(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(8) == b"\x89HDF\r\n\x1a\n"


def check_path(path: object) -> None:
    """Refuse anything but a path.

    Raises
    ------
    ArgumentError
        If it is none.
    """
    if not isinstance(path, str | PathLike) or "\0" in str(path):
        raise ArgumentError(f"the name of a file is needed, but {show(path)} was given: write for example 'p.nc'.")
