"""A posterior of many cases from the files of its shards, without having all draws in memory."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import h5netcdf
import h5py
import numpy as np
import xarray as xr

from plausibly._arviz import Posterior, to_groups
from plausibly._progress import Progress
from plausibly.annotations import Annotations, Slots
from plausibly.cluster import Cluster
from plausibly.fingerprint import surroundings
from plausibly.posterior import (
    COMPRESSION,
    REMAINDER_NAME,
    build_posterior,
    chunks,
    encoded,
    load,
    opened,
    room_for,
    save,
    save_groups,
    text_chunks,
)
from plausibly.posterior._seal import seal
from plausibly.posterior._shards import Shards, work_through

_KEPT = {"coordinates", "dtype", "units", "calendar"}  #: attributes by which xarray knows what a variable is


def aggregate_in_shards(
    infer: Callable[..., Posterior],
    annotations: Annotations,
    slots: Slots,
    described: Mapping[str, Any],
    out: Path,
    *,
    shard: int,
    fresh: bool,
    progress: bool,
    cluster: Cluster | None = None,
) -> Posterior:
    """Infer shard by shard into a file; see :func:`plausibly.aggregate`.

    Parameters
    ----------
    infer
        Makes the posterior of some cases, with ``progress=True`` or without.
    annotations, slots
        Of all cases.
    described
        Everything else that the posterior depends on.
    out
        The file to write.
    shard, fresh, progress
        As for :func:`plausibly.aggregate`.
    cluster
        Where to infer; here if none.
    """
    n = annotations.n_cases
    known = {name: value for name, value in described.items() if name not in ("arguments", "versions")}
    known |= json.loads(described["arguments"])
    manifest = {**known, "annotations": annotations.digest(), "shard": shard, "surroundings": surroundings()}
    shards = Shards(out.with_name(f"{out.name}.parts"), manifest, fresh=fresh)
    parts = [np.arange(first, min(first + shard, n)) for first in range(0, n, shard)]

    def part(number: int, progress: bool = False) -> Callable[[], Posterior]:
        some = annotations if len(parts) == 1 else annotations.select(parts[number])
        return partial(infer, some, progress=progress)

    def make(number: int) -> Posterior:
        return part(number, progress and len(parts) == 1)()

    elsewhere = None if cluster is None else partial(cluster.compute, part, save)
    with Progress(progress and (len(parts) > 1 or cluster is not None)) as bars:
        advance = bars.task("Aggregating", n, "cases")
        paths = work_through(shards, [len(cases) for cases in parts], make, save, advance, elsewhere, room_for)
    whole = paths[0]
    if len(paths) > 1:
        room = sum(path.stat().st_size for path in paths)
        whole = shards.add(len(paths), partial(_join, paths, annotations, slots), room)
    shards.hand_over(whole, out)
    return load(out, lazy=True)


def _join(paths: Sequence[Path], annotations: Annotations, slots: Slots, out: Path) -> None:
    """Write what the parts are together. All that differs between parts has the case, or what belongs to one, last.

    One part is open at a time, and draws go from file to file, so that of them no more than a part is in memory; nor of
    the names that every slot and every annotation carries.
    """
    with opened(paths[0]) as first:
        attributes = {name: np.asarray(value).item() for name, value in first.attrs.items()}
        groups = to_groups(first)
        rule = (
            {str(name): v.dtype for name, v in groups["convergence"].data_vars.items()}
            if "convergence" in groups
            else {}
        )
        sizes = {"slot": len(slots), "case": annotations.n_cases, "annotation": annotations.n_annotations}
        kinds = {
            (group, str(name)): (variable.dims, variable.shape)
            for group, data in groups.items()
            for name, variable in data.variables.items()
        }
        drawn = [
            (g, str(n))
            for g in ("posterior", "sample_stats", "log_likelihood")
            if g in groups
            for n in groups[g].data_vars
        ]
    point, found, counts = _small(paths, rule, [name for name in ("converged", "exact") if name in attributes])
    attributes |= {name: f"{count} of {annotations.n_cases} cases" for name, count in counts.items()}
    concentration = attributes.pop("concentration")
    del attributes["n_classes"]

    def left_out(group: str) -> dict[str, np.ndarray]:
        """Arrays of the right shape, which take no room."""
        shapes = {name: kinds[g, name] for g, name in drawn if g == group}
        return {
            name: np.broadcast_to(np.float32(0), (*shape[:-1], sizes[dims[-1]]))
            for name, (dims, shape) in shapes.items()
        }

    posterior = build_posterior(
        left_out("posterior")["plausibility"],
        annotations,
        slots,
        point=point,
        concentration=concentration,
        sample_stats=left_out("sample_stats"),
        log_likelihood=left_out("log_likelihood").get("ranking"),
        convergence=xr.Dataset(
            {name: ("case", values) for name, values in found.items()},
            attrs={"chains": kinds["posterior", "plausibility"][1][0], "quantities": len(slots)},
        )
        if rule
        else None,
        attrs=attributes,
        named=False,
    )
    rest = {group: data.drop_vars([n for g, n in drawn if g == group]) for group, data in to_groups(posterior).items()}
    save_groups(rest, posterior.attrs, out)
    with h5netcdf.File(out, "r+") as file:
        cases = encoded(annotations.cases)
        classes = encoded(np.append(annotations.classes, REMAINDER_NAME))  # last, where the index -1 finds it
        for group in ("posterior", "constant_data"):
            _name(file[group], "case", "slot", cases, slots.case)
            _name(file[group], "class_name", "slot", classes, slots.class_index)
        if "log_likelihood" in groups:
            group = file["log_likelihood"]
            _name(group, "case", "annotation", cases, annotations.annotation_case)
            _name(group, "annotator", "annotation", encoded(annotations.annotators), annotations.annotation_annotator)
        _copy(paths, file, {(group, name): (kinds[group, name][0], sizes) for group, name in drawn})
    seal(out)


def _open(path: Path) -> Any:
    """A part; h5py does not tell types of what is in a file."""
    return h5py.File(path)


def _small(
    paths: Sequence[Path], rule: Mapping[str, np.dtype], counted: Sequence[str]
) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, int]]:
    """Join what fits into memory: the point estimate, the convergence of each case, and numbers of cases."""
    point: list[np.ndarray] = []
    found: dict[str, list[np.ndarray]] = {name: [] for name in rule}
    counts = dict.fromkeys(counted, 0)
    for path in paths:
        with _open(path) as part:
            point.append(part["constant_data"]["point_plausibility"][...])
            for name, values in found.items():
                values.append(part["convergence"][name][...].astype(rule[name]))
            for name in counts:
                counts[name] += int(str(part.attrs[name]).split()[0])
    return np.concatenate(point), {name: np.concatenate(values) for name, values in found.items()}, counts


def _name(group: h5netcdf.Group, name: str, dim: str, names: np.ndarray, index: np.ndarray) -> None:
    """Write the names that a coordinate has along a dimension, as many at a time as lie together in the file."""
    width = int(np.char.str_len(names[np.unique(index)]).max())
    names = names.astype(f"S{width}")
    if dim not in group.dimensions:
        group.dimensions[dim] = len(index)
    characters = f"string{width}"
    if characters not in group.dimensions:
        group.dimensions[characters] = width
    shape = text_chunks((len(index), width))
    to = group.create_variable(name, (dim, characters), "S1", chunks=shape, **COMPRESSION)
    to.attrs["_Encoding"] = "utf-8"
    for first in range(0, len(index), shape[0]):
        some = names[index[first : first + shape[0]]]
        to[first : first + len(some)] = some.view("S1").reshape(-1, width)


def _copy(
    paths: Sequence[Path],
    file: h5netcdf.File,
    wanted: Mapping[tuple[str, str], tuple[tuple[str, ...], Mapping[str, int]]],
) -> None:
    """Append the variables of parts to each other, given their dimensions and the sizes of these."""
    made, at = {}, dict.fromkeys(wanted, 0)
    with _open(paths[0]) as one:
        for (group, name), (dims, sizes) in wanted.items():
            part, n = one[group][name], sizes[dims[-1]]
            if dims[-1] not in file[group].dimensions:
                file[group].dimensions[dims[-1]] = n
            made[group, name] = file[group].create_variable(
                name,
                dims,
                part.dtype,
                chunks=chunks((*part.shape[:-1], n)),
                fillvalue=part.attrs["_FillValue"][0] if "_FillValue" in part.attrs else None,
                **COMPRESSION,
            )
        for group in file.groups:
            for name, variable in file[group].variables.items():
                for key in _KEPT & one[group][name].attrs.keys():
                    variable.attrs[key] = one[group][name].attrs[key]
    for path in paths:
        with _open(path) as part:
            for (group, name), to in made.items():
                values = part[group][name][...]
                first = at[group, name]
                at[group, name] = last = first + values.shape[-1]
                to[..., first:last] = values
