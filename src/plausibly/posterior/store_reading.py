"""Reading of the Zarr folder of a posterior: whether it is whole, and what it holds, nothing read but coordinates."""

import json
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from plausibly.base.errors import FileError, PlausiblyError
from plausibly.data.case import coordinates_of_looks
from plausibly.data.groups import codes_of_annotators
from plausibly.data.regression import names as coefficient_names
from plausibly.posterior.on_demand import with_names

PROGRESS = "shards"
CHAINS = "chains"  #: of what cases share, see :mod:`plausibly.posterior._store`
SITES = "sites"  #: attribute of their group: which arrays are variables of the posterior
FINGERPRINT = "fingerprint"  #: attribute, as JSON
COMPLETE = "complete"  #: which shards are; written last when a store is laid out
_CHECKSUMS = re.compile(r"was [0-9a-f]{16,} and is [0-9a-f]{16,}")  # which say nothing to a reader
COUNTED = ("converged", "exact")  #: attributes that say how many of a shard's cases


def read_store(path: str | Path) -> tuple[xr.DataTree, dict[str, xr.Dataset]]:
    """Open the groups of a Zarr folder, which has to be complete: names put back, nothing read but the coordinates."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Object at .*partial")  # what a killed process left
        tree = xr.open_datatree(path, engine="zarr", consolidated=False, chunks=None)
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    for variable in groups["posterior"].variables.values() if "posterior" in groups else ():
        variable.encoding["source"] = str(path)  # as variables from netCDF have it
    if FINGERPRINT not in tree.attrs:
        return tree, groups
    progress = groups.pop(PROGRESS, xr.Dataset()).load()
    complete = progress[COMPLETE].values if COMPLETE in progress else np.zeros(1, bool)
    if not complete.all():
        raise FileError(
            f"{path} is not complete ({complete.sum()} of {complete.size} shards): repeat the call of aggregate() to "
            "continue."
        )
    _check_chunks(path)
    n_cases = groups["observed_data"].sizes["case"]
    for name in COUNTED:
        if name in progress:
            tree.attrs[name] = f"{int(progress[name].sum())} of {n_cases} cases"
    chains = groups.pop(CHAINS, None)
    groups = with_names({name: with_plain_names(data) for name, data in groups.items()})
    return tree, groups if chains is None else _with_shared(groups, chains, tree.attrs)


def _with_shared(groups: dict[str, xr.Dataset], chains: xr.Dataset, attrs: Mapping[str, Any]) -> dict[str, xr.Dataset]:
    """Make variables of the posterior of the chains of what cases share."""
    annotators, classes = groups["observed_data"]["annotator"].values, groups["constant_data"]["class_names"].values
    sites = chains[list(chains.attrs[SITES])].transpose("chain", "draw", ...)
    names = {"annotator": annotators, "true_class": classes, "named_class": classes}
    if "evidence" in attrs:
        names["coefficient"] = coefficient_names(json.loads(attrs["evidence"])["classifiers"], classes)
    if "look" in sites.dims:
        named, _ = codes_of_annotators(json.loads(attrs["arguments"]).get("annotator_groups"), annotators)
        names |= coordinates_of_looks(classes.tolist(), named)
    names = {dim: values for dim, values in names.items() if dim in sites.dims}
    return groups | {"posterior": groups["posterior"].assign(sites.data_vars).assign_coords(names)}


def with_plain_names(data: xr.Dataset) -> xr.Dataset:
    """Make arrays of NumPy's plain text of names, which come from disk as one object each."""
    names = [name for name, variable in data.variables.items() if variable.dtype.kind in "OT"]
    return data.assign({name: (data[name].dims, np.array(data[name].values.tolist(), str)) for name in names})


def read_fingerprint(path: Path) -> dict[str, Any] | None:
    """Return the fingerprint of a posterior on disk, if there is one."""
    try:
        if path.is_dir():
            import zarr

            attrs: Any = zarr.open_group(path, mode="r").attrs
            return json.loads(attrs[FINGERPRINT])
        with xr.open_dataset(path, engine="h5netcdf") as data:
            return json.loads(data.attrs[FINGERPRINT])
    except Exception:
        return None


def difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Say how two fingerprints differ. A different processor is ignored, because it changes the last digits only.

    Examples
    --------
    >>> difference({"seed": 0, "numpy": "2.3"}, {"seed": 1, "numpy": "2.3"})
    'seed was 0 and is 1'
    >>> difference({"source": "0123456789abcdef"}, {"source": "fedcba9876543210"})
    'the source code of plausibly changed'
    """
    names = [name for name in {**found, **wanted} if found.get(name) != wanted.get(name) and name != "processor"]
    told = ", ".join(f"{name} was {found.get(name)} and is {wanted.get(name)}" for name in names)
    return _CHECKSUMS.sub("changed", told).replace("source changed", "the source code of plausibly changed")


def _check_chunks(path: str | Path) -> None:
    """Refuse a store that has lost chunks, which Zarr reads as if nothing had been written there."""
    import zarr

    for name, array in zarr.open_group(path, mode="r").members(max_depth=None):
        if isinstance(array, zarr.Array) and (lost := array.nchunks - array.nchunks_initialized):
            raise damaged(path, f"{lost} chunks of {name} are lost")


def damaged(path: str | Path, what: str) -> FileError:
    """Error that says what is damaged, and what to do."""
    return FileError(f"{path} is damaged ({what}): take another copy, or aggregate again with fresh=True (--fresh).")


def is_damage(error: BaseException) -> bool:
    """Whether HDF5 or the codecs of Zarr found damage."""
    read = isinstance(error, OSError | RuntimeError | ValueError) and not isinstance(error, PlausiblyError)
    return read and any(words in str(error) for words in ("read data", "checksum", "decompress"))
