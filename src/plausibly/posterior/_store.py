"""A posterior that is written in shards of cases: one Zarr group, whose regions are complete one after the other.

The names of cases and classes are kept once, and coordinates of slots and annotations by their numbers; reading puts
the names back. The group ``shards`` says which shards are complete. Zarr writes a chunk to a file of its own that
replaces the old one, and a shard is marked last, so a process may be killed at any moment: what is not marked is
written again. One process writes at a time, since neighbouring shards may share a chunk.

Chunks have checksums, and all of a complete store have to be there.

Chains of what cases share are kept as soon as each is finished: arrays (draw, …, chain) of the group ``chains``, a
chunk per chain, beside the checksum of every finished chain. Reading the whole makes them variables of the posterior.
"""

import asyncio
import json
import math
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from plausibly.base.arviz import Posterior, to_groups
from plausibly.base.errors import ArgumentError, FileError, PlausiblyWarning, reason
from plausibly.base.fingerprint import data_digest
from plausibly.data.annotations import Annotations, Slots
from plausibly.posterior._container import build_posterior
from plausibly.posterior._files import chunks
from plausibly.posterior.on_demand import FORM, LIKELIHOOD, LIKELIHOODS, with_form
from plausibly.posterior.sites import CASE as SAMPLED_CASE
from plausibly.posterior.store_reading import (
    CHAINS,
    COMPLETE,
    COUNTED,
    FINGERPRINT,
    PROGRESS,
    SITES,
    damaged,
    difference,
    is_damage,
    read_fingerprint,
)

_CHUNK = 2**19  # numbers in a chunk
_WRITTEN = ("plausibility", "point_plausibility", "prior_share")  #: of the groups that have other variables, too
_FINISHED = "checksum"  # by chain, 0 of one that is not finished


class Store:
    """A Zarr folder that receives the shards of a posterior.

    Parameters
    ----------
    fingerprint
        Everything that the posterior depends on, as texts and numbers by name. A different ``"processor"`` is only a
        warning.
    annotations, slots
        Annotations and slots of all cases.
    shard
        Number of cases in a shard.
    fresh
        Whether to start over.

    Raises
    ------
    ArgumentError
        If the folder holds another posterior, or something else.
    FileError
        If the folder cannot be written.
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
                raise ArgumentError(f"{path} holds something other than a posterior: choose another place.")
            if found is not None and fresh:
                remove_store(path)
                found = None
            if found is None:
                attributes = {FINGERPRINT: json.dumps(self._fingerprint)}
                self._root = zarr.create_group(path, attributes=attributes, zarr_format=3)
            else:
                _compare(path, found, self._fingerprint)
                self._root = zarr.open_group(path, mode="r+")
            for left in filter(_is_partial, path.rglob("*")):
                left.unlink()  # of a process that was killed

    @property
    def _laid_out(self) -> bool:
        """Whether all groups are there; the last array that :meth:`_create` writes says which shards are complete."""
        return f"{PROGRESS}/{COMPLETE}" in self._root

    def cases(self, number: int) -> slice:
        """Return the cases of a shard."""
        return slice(number * self._shard, min((number + 1) * self._shard, self._annotations.n_cases))

    def missing(self) -> list[int]:
        """Return the numbers of the shards that are not complete."""
        if not self._laid_out:
            return list(range(self.n_shards))
        return np.flatnonzero(~self._root[PROGRESS][COMPLETE][:]).tolist()

    def _regions(self, number: int) -> dict[str, slice]:
        """Return what belongs to a shard, by dimension."""
        cases = self.cases(number)
        bounds = np.array([cases.start, cases.stop])
        return {
            "case": cases,
            SAMPLED_CASE: cases,
            "slot": slice(*self._slots.start[bounds].tolist()),
            "annotation": slice(*np.searchsorted(self._annotations.annotation_case, bounds).tolist()),
        }

    def kept_chains(self) -> dict[int, dict[str, np.ndarray]]:
        """Return the chains of the quantities that all cases share, finished and undamaged ones, by number."""
        with _writing(self._path):
            root: Any = self._root
            if CHAINS not in root or _FINISHED not in root[CHAINS]:
                return {}
            group, chains = root[CHAINS], {}
            names = set(group.array_keys()) - {_FINISHED}
            for number in np.flatnonzero(group[_FINISHED][:]).tolist():
                chain = {name: group[name][..., number] for name in names}
                if _checksum(chain) == int(group[_FINISHED][number]):
                    chains[number] = chain
            return chains

    def keep_chain(
        self, number: int, chain: Mapping[str, np.ndarray], n_chains: int, dims: Mapping[str, tuple[str, ...]]
    ) -> None:
        """Write a finished chain, arrays (draw, …) by name, of the quantities that all cases share.

        ``dims`` are the dimensions, after the draws, of the arrays that become variables of the posterior.
        """
        import zarr

        with _writing(self._path), zarr.config.set({"array.write_empty_chunks": True}):
            group: Any = self._root.require_group(CHAINS)
            if _FINISHED not in group:
                group.attrs[SITES] = list(dims)
                for name, values in chain.items():
                    group.create_array(
                        name,
                        shape=(*values.shape, n_chains),
                        chunks=(*values.shape, 1),
                        dtype=values.dtype,
                        dimension_names=["draw", *dims.get(name, ()), "chain"],
                        overwrite=True,
                        compressors=_compressors(),
                    )
                # Last: without it, nothing here counts.
                group.create_array(
                    _FINISHED, shape=(n_chains,), dtype="uint64", dimension_names=["chain"], overwrite=True
                )
            for name, values in chain.items():
                group[name][..., number] = values
            group[_FINISHED][number] = _checksum(chain)

    def write(self, number: int, posterior: Posterior) -> None:
        """Write the posterior of a shard's cases.

        Raises
        ------
        FileError
            If the shard cannot be written, for example because the disk is full; finished shards are kept.
        """
        import zarr

        regions = self._regions(number)
        with _writing(self._path), zarr.config.set({"array.write_empty_chunks": True}):
            if not self._laid_out:
                self._create(posterior)
            for group, names in _sharded(with_form(to_groups(posterior))).items():
                for name, variable in names.items():
                    if name in self._root[group]:  # a site that the first cases lack has no place
                        region = regions[str(variable.dims[-1])]
                        self._root[group][name][..., region] = variable.values
            progress = self._root[PROGRESS]
            for name in COUNTED:
                if name in progress:
                    progress[name][number] = int(str(posterior.attrs[name]).split()[0])
            progress[COMPLETE][number] = True

    def _create(self, posterior: Posterior) -> None:
        """Lay out the whole, given the posterior of some cases; what a killed process left is replaced."""
        sizes = {
            "case": self._annotations.n_cases,
            SAMPLED_CASE: self._annotations.n_cases,
            "slot": len(self._slots),
            "annotation": self._annotations.n_annotations,
        }
        groups = with_form(to_groups(posterior))
        sharded = _sharded(groups)
        whole = {
            group: {
                name: np.broadcast_to(v.dtype.type(0), (*v.shape[:-1], sizes[str(v.dims[-1])]))
                for name, v in names.items()
            }
            for group, names in sharded.items()
        }
        likelihood = next((name for name in LIKELIHOODS if name in whole), LIKELIHOOD)
        of_cases = [name for name in whole["posterior"] if name != "plausibility"]
        attrs = {name: value for name, value in posterior.attrs.items() if name not in ("concentration", "n_classes")}
        draws = groups["posterior"].sizes
        nothing = np.broadcast_to(np.float32(0), (draws["chain"], draws["draw"], len(self._slots)))
        laid_out = build_posterior(
            whole["posterior"].get("plausibility", nothing),
            self._annotations,
            self._slots,
            point=whole["constant_data"]["point_plausibility"],
            concentration=float(posterior.attrs["concentration"]),
            sample_stats=whole.get("sample_stats"),
            log_likelihood=whole.get(likelihood, {}).get("ranking"),
            likelihood=likelihood,
            convergence=None
            if "convergence" not in whole
            else xr.Dataset(
                {name: ("case", values) for name, values in whole["convergence"].items()},
                attrs=to_groups(posterior)["convergence"].attrs | {"quantities": len(self._slots)},
            ),
            sites=xr.Dataset(
                {name: (("chain", "draw", SAMPLED_CASE), whole["posterior"][name]) for name in of_cases},
                {SAMPLED_CASE: self._annotations.cases} if of_cases else {},
            ),
            prior_share=whole["constant_data"].get("prior_share"),
            attrs=attrs,
            named=False,
        )
        for group, data in (groups | to_groups(laid_out)).items():
            names = sharded.get(group, {})
            rest = data.drop_vars([*names, *({"plausibility"} & data.keys())])
            # Zarr has a specification of strings of any length only.
            rest = rest.assign(
                {name: rest[name].astype(object) for name, v in rest.variables.items() if v.dtype.kind == "U"}
            )
            encoding = {str(name): _encoding(variable) for name, variable in rest.variables.items()}
            rest.to_zarr(self._path, group=group, mode="w", encoding=encoding, consolidated=False, zarr_format=3)
            for name, of_shard in names.items():
                variable = xr.Variable(of_shard.dims, whole[group][name])
                self._root.require_group(group).create_array(
                    name,
                    shape=variable.shape,
                    dtype=variable.dtype,
                    dimension_names=[str(dim) for dim in variable.dims],
                    fill_value=np.nan if variable.dtype.kind == "f" else None,
                    overwrite=True,
                    **_encoding(variable),
                )
        self._root.attrs.update({str(name): value for name, value in laid_out.attrs.items()})
        counted = [name for name in COUNTED if name in attrs]
        progress = xr.Dataset({name: ("shard", np.zeros(self.n_shards, np.int64)) for name in counted})
        progress[COMPLETE] = "shard", np.zeros(self.n_shards, bool)
        progress.to_zarr(self._path, group=PROGRESS, mode="w", consolidated=False, zarr_format=3)


def _sharded(groups: Mapping[str, xr.Dataset]) -> dict[str, dict[str, xr.Variable]]:
    """Variables that belong to the cases of a shard; all else is known before sampling."""
    found = {}
    for group in ("posterior", "sample_stats", *LIKELIHOODS, "convergence", "constant_data", FORM):
        if group in groups:
            names = [name for name in groups[group].data_vars if group != "constant_data" or name in _WRITTEN]
            if group == FORM:
                names = [name for name in names if groups[group][name].dims[-1] in ("case", "slot")]
            found[group] = {str(name): groups[group][name].variable for name in names}
    return found


def _encoding(variable: xr.Variable) -> dict[str, Any]:
    if not variable.ndim:
        return {}
    return {"compressors": _compressors(), "chunks": chunks(variable.shape, _CHUNK)}


def _compressors() -> Any:
    from zarr.codecs import BloscCodec, Crc32cCodec

    return BloscCodec(cname="zstd", clevel=1, shuffle="shuffle"), Crc32cCodec()


def _checksum(chain: Mapping[str, np.ndarray]) -> int:
    return int(data_digest({name: chain[name] for name in sorted(chain)})[:15], 16) + 1


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


def remove_store(path: Path) -> None:
    """Remove a store; if this is interrupted, the rest is still recognised as a store."""
    for group in path.iterdir():
        if group.is_dir():
            shutil.rmtree(group)
    for file in path.iterdir():
        file.unlink()


async def _others() -> None:
    """Wait for the chunks that Zarr is still writing: what is unfinished when Python ends is a traceback of each."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """A context in which errors of writing become a sentence."""
    try:
        yield
    except Exception as error:
        if is_damage(error):
            raise damaged(path, reason(error)) from error
        if not isinstance(error, OSError):
            raise
        from zarr.core.sync import sync

        sync(_others())
        raise FileError(
            f"{path} cannot be written ({reason(error)}): make room or choose another place; repeat the call to "
            "continue with the missing shards."
        ) from error
