"""A posterior that is written in shards of cases: one Zarr group, whose regions are complete one after the other.

The names of cases and classes are kept once, and coordinates of slots and annotations by their numbers; reading puts
the names back. The group ``shards`` says which shards are complete. Zarr writes a chunk to a file of its own that
replaces the old one, and a shard is marked last, so a process may be killed at any moment: what is not marked is
written again. One process writes at a time, since neighbouring shards may share a chunk.

Chunks have checksums. So have the metadata of all groups and arrays together, in the attribute ``metadata_checksum`` of
the whole: an array without its metadata would not be missed. That attribute is written when all is laid out.
"""

import json
import math
import shutil
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from plausibly._arviz import Posterior, to_groups
from plausibly.annotations import Annotations, Slots
from plausibly.errors import ArgumentError, FileError, PlausiblyError, PlausiblyWarning, reason
from plausibly.fingerprint import data_digest
from plausibly.posterior._container import REMAINDER_NAME, build_posterior

_CHUNK = 2**19  # numbers in a chunk
_PROGRESS = "shards"
_FINGERPRINT = "fingerprint"  #: attribute, as JSON
_CHECKSUM = "metadata_checksum"  #: attribute, written when all is laid out
_COUNTED = ("converged", "exact")  #: attributes that say how many of a shard's cases
_WRITTEN = ("plausibility", "point_plausibility")  #: of the groups that have other variables, too


class Store:
    """A Zarr folder that receives the shards of a posterior.

    Parameters
    ----------
    path
        Its name.
    fingerprint
        Everything that the posterior depends on, texts and numbers by name. Of ``"processor"`` another is a warning.
    annotations, slots
        Of all cases.
    shard
        Cases in a shard.
    fresh
        Start over.

    Raises
    ------
    ArgumentError
        If the folder holds another posterior, or something else.
    FileError
        If it cannot be written.
    """

    def __init__(
        self,
        path: Path,
        fingerprint: Mapping[str, Any],
        annotations: Annotations,
        slots: Slots,
        *,
        shard: int,
        fresh: bool = False,
    ):
        import zarr  # a quarter of a second, which netCDF files do not need

        self._path, self._annotations, self._slots, self._shard = path, annotations, slots, shard
        self._fingerprint = json.loads(json.dumps(fingerprint))
        self.n_shards = math.ceil(annotations.n_cases / shard)
        with _writing(path):
            found = read_fingerprint(path) if path.is_dir() else None
            if path.exists() and found is None and not (path.is_dir() and all(map(_is_partial, path.iterdir()))):
                raise ArgumentError(f"{path} holds something else than a posterior: name another place.")
            if found is not None and fresh:
                _remove(path)
                found = None
            if found is None:
                attributes = {_FINGERPRINT: json.dumps(self._fingerprint)}
                self._root = zarr.create_group(path, attributes=attributes, zarr_format=3)
            else:
                _compare(path, found, self._fingerprint)
                self._root = zarr.open_group(path, mode="r+")
                if self._laid_out:
                    _check_metadata(path)
                    complete = np.setdiff1d(np.arange(self.n_shards), self.missing())
                    _check_chunks(path, [self._regions(number) for number in complete])
            for left in filter(_is_partial, path.rglob("*")):
                left.unlink()  # of a process that was killed

    @property
    def _laid_out(self) -> bool:
        """Whether all groups are there; the last thing that :meth:`_create` writes is this attribute."""
        return _CHECKSUM in self._root.attrs

    def cases(self, number: int) -> slice:
        """Return the cases of a shard."""
        return slice(number * self._shard, min((number + 1) * self._shard, self._annotations.n_cases))

    def missing(self) -> list[int]:
        """Return the numbers of the shards that are not complete."""
        if not self._laid_out:
            return list(range(self.n_shards))
        return np.flatnonzero(~self._root[_PROGRESS]["complete"][:]).tolist()

    def _regions(self, number: int) -> dict[str, slice]:
        """Return what belongs to a shard, by dimension."""
        cases = self.cases(number)
        bounds = np.array([cases.start, cases.stop])
        return {
            "case": cases,
            "slot": slice(*self._slots.start[bounds].tolist()),
            "annotation": slice(*np.searchsorted(self._annotations.annotation_case, bounds).tolist()),
        }

    def write(self, number: int, posterior: Posterior) -> None:
        """Write the posterior of a shard's cases.

        Raises
        ------
        FileError
            If it cannot be written, for example because the disk is full; what is complete stays.
        """
        import zarr

        regions = self._regions(number)
        with _writing(self._path), zarr.config.set({"array.write_empty_chunks": True}):
            if not self._laid_out:
                self._create(posterior)
            for group, names in _sharded(to_groups(posterior)).items():
                for name, variable in names.items():
                    region = regions[str(variable.dims[-1])]
                    self._root[group][name][..., region] = variable.values
            progress = self._root[_PROGRESS]
            for name in _COUNTED:
                if name in progress:
                    progress[name][number] = int(str(posterior.attrs[name]).split()[0])
            progress["complete"][number] = True

    def _create(self, posterior: Posterior) -> None:
        """Lay out the whole, given the posterior of some cases; what a killed process left is replaced."""
        sizes = {
            "case": self._annotations.n_cases,
            "slot": len(self._slots),
            "annotation": self._annotations.n_annotations,
        }
        sharded = _sharded(to_groups(posterior))
        whole = {
            (group, name): np.broadcast_to(v.dtype.type(0), (*v.shape[:-1], sizes[str(v.dims[-1])]))
            for group, names in sharded.items()
            for name, v in names.items()
        }

        def of(group: str) -> dict[str, np.ndarray] | None:
            return {name: values for (g, name), values in whole.items() if g == group} or None

        attrs = {name: value for name, value in posterior.attrs.items() if name not in ("concentration", "n_classes")}
        likelihood = of("log_likelihood")
        found = of("convergence")
        laid_out = build_posterior(
            whole["posterior", "plausibility"],
            self._annotations,
            self._slots,
            point=whole["constant_data", "point_plausibility"],
            concentration=float(posterior.attrs["concentration"]),
            sample_stats=of("sample_stats"),
            log_likelihood=None if likelihood is None else likelihood["ranking"],
            convergence=None
            if found is None
            else xr.Dataset(
                {name: ("case", values) for name, values in found.items()},
                attrs=to_groups(posterior)["convergence"].attrs | {"quantities": len(self._slots)},
            ),
            attrs=attrs,
            named=False,
        )
        for group, data in to_groups(laid_out).items():
            names = sharded.get(group, {})
            rest = data.drop_vars(list(names))
            # Zarr has a specification of strings of any length only.
            rest = rest.assign(
                {name: rest[name].astype(object) for name, v in rest.variables.items() if v.dtype.kind == "U"}
            )
            encoding = {str(name): _encoding(variable) for name, variable in rest.variables.items()}
            rest.to_zarr(self._path, group=group, mode="w", encoding=encoding, consolidated=False, zarr_format=3)
            for name in names:
                variable = data[name].variable
                self._root.require_group(group).create_array(
                    name,
                    shape=variable.shape,
                    dtype=variable.dtype,
                    dimension_names=[str(dim) for dim in variable.dims],
                    overwrite=True,
                    **_encoding(variable),
                )
        self._root.attrs.update({str(name): value for name, value in laid_out.attrs.items()})
        counted = [name for name in _COUNTED if name in attrs]
        progress = xr.Dataset({name: ("shard", np.zeros(self.n_shards, np.int64)) for name in counted})
        progress["complete"] = "shard", np.zeros(self.n_shards, bool)
        progress.to_zarr(self._path, group=_PROGRESS, mode="w", consolidated=False, zarr_format=3)
        self._root.attrs[_CHECKSUM] = _checksum(self._path)


def read_fingerprint(path: Path) -> dict[str, Any] | None:
    """Return the fingerprint of a posterior on disk, if there is one."""
    try:
        if path.is_dir():
            import zarr

            attrs: Any = zarr.open_group(path, mode="r").attrs
            return json.loads(attrs[_FINGERPRINT])
        with xr.open_dataset(path, engine="h5netcdf") as data:
            return json.loads(data.attrs[_FINGERPRINT])
    except Exception:
        return None


def read_store(path: str | Path) -> tuple[xr.DataTree, dict[str, xr.Dataset]]:
    """Open the groups of a Zarr folder, names put back, nothing read but the coordinates.

    Raises
    ------
    FileError
        If it is not complete.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Object at .*partial")  # what a killed process left
        tree = xr.open_datatree(path, engine="zarr", consolidated=False, chunks=None)
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    for variable in groups["posterior"].variables.values() if "posterior" in groups else ():
        variable.encoding["source"] = str(path)  # as variables from netCDF have it
    if _FINGERPRINT not in tree.attrs and _CHECKSUM not in tree.attrs:
        return tree, groups
    complete = np.zeros(1, bool)
    if _CHECKSUM in tree.attrs:
        _check_metadata(path)
        del tree.attrs[_CHECKSUM]
        progress = groups.pop(_PROGRESS).load()
        complete = progress["complete"].values
    if not complete.all():
        raise FileError(
            f"{path} is not complete ({complete.sum()} of {complete.size} shards): make the same call of aggregate() "
            "again, which goes on with it."
        )
    _check_chunks(path)
    n_cases = groups["observed_data"].sizes["case"]
    for name in _COUNTED:
        if name in progress:
            tree.attrs[name] = f"{int(progress[name].sum())} of {n_cases} cases"
    return tree, _named({name: with_plain_names(data) for name, data in groups.items()})


def with_plain_names(data: xr.Dataset) -> xr.Dataset:
    """Make arrays of NumPy's plain text of names, which come from disk as one object each."""
    names = [name for name, variable in data.variables.items() if variable.dtype.kind in "OT"]
    return data.assign({name: (data[name].dims, np.array(data[name].values.tolist(), str)) for name in names})


def _checksum(path: Path) -> str:
    """Checksum of the metadata of all groups and arrays."""
    whole = json.loads((path / "zarr.json").read_bytes())
    whole["attributes"].pop(_CHECKSUM, None)
    files = sorted([*path.glob("*/zarr.json"), *path.glob("*/*/zarr.json")])
    return data_digest(json.dumps(whole), *((str(file.relative_to(path)), file.read_bytes()) for file in files))


def _check_metadata(path: str | Path) -> None:
    """Without its metadata an array would not be missed."""
    wanted = json.loads((Path(path) / "zarr.json").read_bytes())["attributes"][_CHECKSUM]
    if _checksum(Path(path)) != wanted:
        raise _damaged(path, "metadata have changed")


def _check_chunks(path: str | Path, complete: Sequence[Mapping[str, slice]] | None = None) -> None:
    """A chunk that is lost would be read as zeros; of a store that is not complete, those of some shards count."""
    import zarr

    for name, array in zarr.open_group(path, mode="r").members(max_depth=None):
        if isinstance(array, zarr.Array) and array.shape and array.size:
            n, chunk = array.shape[-1], array.chunks[-1]  # chunks divide the last dimension
            metadata: Any = array.metadata
            dim = (metadata.dimension_names or ("",))[-1]
            spans = [slice(0, n)] if complete is None else [shard.get(dim, slice(0, n)) for shard in complete]
            wanted = {number for own in spans for number in range(own.start // chunk, -(-own.stop // chunk))}
            lost = wanted - {
                int(file.name)
                for file in (Path(path) / name / "c").rglob("*")
                if file.name.isdigit() and file.is_file()
            }
            if lost:
                raise _damaged(path, f"{len(lost)} chunks of {name} are lost")


def _damaged(path: str | Path, what: str) -> FileError:
    return FileError(f"{path} is damaged ({what}): take another copy, or aggregate again with fresh=True (--fresh).")


def _named(groups: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Give slots and annotations the names of their cases, classes and annotators."""
    constant, observed = groups["constant_data"], groups["observed_data"]
    cases, annotators = (observed[name].values for name in ("case", "annotator"))
    classes = np.append(constant["class_names"].values, REMAINDER_NAME)  # last, where the index -1 finds it
    of_slots = {
        "case": _Names("slot", cases, constant["case_index"].values),
        "class_name": _Names("slot", classes, constant["class_index"].values),
    }
    of_annotations = {
        "case": _Names("annotation", cases, observed["annotation_case"].values),
        "annotator": _Names("annotation", annotators, observed["annotation_annotator"].values),
    }
    for group, names in {
        "posterior": of_slots,
        "constant_data": of_slots,
        "log_likelihood": of_annotations,
    }.items():
        if group in groups:
            groups[group] = groups[group].assign_coords({name: made.variable() for name, made in names.items()})
    return groups


class _Names(BackendArray):
    """Names by their numbers, looked up where they are asked for: of millions of slots they would fill a gigabyte."""

    def __init__(self, dim: str, names: np.ndarray, index: np.ndarray):
        self._dim, self._names, self._index = dim, names, index
        self.shape, self.dtype = index.shape, names.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> np.ndarray:
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.VECTORIZED, lambda own: self._names[self._index[own]]
        )

    def variable(self) -> xr.Variable:
        return xr.Variable(self._dim, indexing.LazilyIndexedArray(self))


def _sharded(groups: Mapping[str, xr.Dataset]) -> dict[str, dict[str, xr.Variable]]:
    """Variables that belong to the cases of a shard; all else is known before sampling."""
    found = {}
    for group in ("posterior", "sample_stats", "log_likelihood", "convergence", "constant_data"):
        if group in groups:
            names = [name for name in groups[group].data_vars if group != "constant_data" or name in _WRITTEN]
            found[group] = {str(name): groups[group][name].variable for name in names}
    return found


def _encoding(variable: xr.Variable) -> dict[str, Any]:
    if not variable.ndim:
        return {}
    from zarr.codecs import BloscCodec, Crc32cCodec

    *others, n = variable.shape
    chunk = (*others, max(1, min(n, _CHUNK // max(1, math.prod(others)))))
    return {"compressors": (BloscCodec(cname="zstd", clevel=1, shuffle="shuffle"), Crc32cCodec()), "chunks": chunk}


def difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Say in what two fingerprints differ; another processor changes no more than last digits, and counts for nothing.

    Examples
    --------
    >>> difference({"seed": 0, "numpy": "2.3"}, {"seed": 1, "numpy": "2.3"})
    'seed was 0 and is 1'
    """
    names = [name for name in {**found, **wanted} if found.get(name) != wanted.get(name) and name != "processor"]
    return ", ".join(f"{name} was {found.get(name)} and is {wanted.get(name)}" for name in names)


def _compare(path: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    if what := difference(found, wanted):
        raise ArgumentError(
            f"{path} holds another posterior ({what}): make the same call again, name another place, or start over "
            "with fresh=True (--fresh)."
        )
    if found.get("processor") != wanted.get("processor"):
        warnings.warn(
            f"{path} was begun on another processor ({found.get('processor')}), whose last digits may differ from "
            f"those of this one ({wanted.get('processor')})",
            PlausiblyWarning,
            stacklevel=4,
        )


def _is_partial(path: Path) -> bool:
    """Whether Zarr has not renamed a file, because the process was killed."""
    return path.suffix == ".partial"


def _remove(path: Path) -> None:
    """Remove a store; as long as any of it is left, it is known for one."""
    for group in path.iterdir():
        if group.is_dir():
            shutil.rmtree(group)
    for file in path.iterdir():
        file.unlink()


def is_damage(error: BaseException) -> bool:
    """Whether HDF5 or the codecs of Zarr found damage."""
    read = isinstance(error, OSError | RuntimeError | ValueError) and not isinstance(error, PlausiblyError)
    return read and any(words in str(error) for words in ("read data", "checksum", "decompress"))


class _writing:
    """A context in which errors of writing become a sentence."""

    def __init__(self, path: Path):
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, where: Any) -> None:
        if error is not None and is_damage(error):
            raise _damaged(self._path, reason(error)) from error
        if isinstance(error, OSError):
            raise FileError(
                f"{self._path} cannot be written ({reason(error)}): make room or choose another place; the same call "
                "again goes on with what is complete."
            ) from error
