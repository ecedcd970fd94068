"""A posterior of many cases from the files of its shards, without having all draws in memory."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import h5netcdf
import numpy as np
import xarray as xr

from plausibly._arviz import Posterior, to_groups
from plausibly._cluster import Cluster
from plausibly._progress import Progress
from plausibly._shards import Shards, work_through
from plausibly.annotations import Annotations, Slots
from plausibly.posterior import COMPRESSION, build_posterior, chunks, load, opened, save, save_groups


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
    manifest = {**described, **json.loads(described["arguments"]), "annotations": annotations.digest(), "shard": shard}
    del manifest["arguments"]
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
        paths = work_through(shards, [len(cases) for cases in parts], make, save, advance, elsewhere)
    whole = paths[0] if len(paths) == 1 else shards.add(len(paths), partial(_join, paths, annotations, slots))
    shards.hand_over(whole, out)
    return load(out, lazy=True)


def _join(paths: Sequence[Path], annotations: Annotations, slots: Slots, out: Path) -> None:
    """Write what the parts are together. All that differs between parts has the case, or what belongs to one, last."""
    with ExitStack() as stack:
        parts = [stack.enter_context(h5netcdf.File(path, "r")) for path in paths]
        with opened(paths[0]) as first:
            attributes = {name: np.asarray(value).item() for name, value in first.attrs.items()}
            groups = to_groups(first)
            kept = {group: {str(n): v.shape[:-1] for n, v in data.data_vars.items()} for group, data in groups.items()}
            point, rule = (_whole(parts, groups, group) for group in ("constant_data", "convergence"))
        for name in ("converged", "exact"):
            if name in attributes:
                total = sum(int(str(part.attrs[name]).split()[0]) for part in parts)
                attributes[name] = f"{total} of {annotations.n_cases} cases"
        concentration = attributes.pop("concentration")
        del attributes["n_classes"]

        def size(group: str, name: str, n: int) -> np.ndarray:
            return np.broadcast_to(np.float32(0), (*kept[group][name], n))

        # Everything but the draws, which take no room here and are left out.
        posterior = build_posterior(
            size("posterior", "plausibility", len(slots)),
            annotations,
            slots,
            point=point["point_plausibility"],
            concentration=concentration,
            sample_stats={
                name: size("sample_stats", name, annotations.n_cases) for name in kept.get("sample_stats", ())
            },
            log_likelihood=size("log_likelihood", "ranking", annotations.n_annotations)
            if "log_likelihood" in kept
            else None,
            convergence=xr.Dataset({name: ("case", values) for name, values in rule.items()}) if rule else None,
            attrs=attributes,
        )
        drawn = [
            (group, name) for group in ("posterior", "sample_stats", "log_likelihood") for name in kept.get(group, ())
        ]
        whole = {
            group: data.drop_vars([n for g, n in drawn if g == group]) for group, data in to_groups(posterior).items()
        }
        save_groups(whole, posterior.attrs, out)
        with h5netcdf.File(out, "r+") as file:
            for group, name in drawn:
                _copy([part[group][name] for part in parts], file[group], name)


def _whole(parts: Sequence[h5netcdf.File], groups: Mapping[str, xr.Dataset], group: str) -> dict[str, np.ndarray]:
    """Join the variables of a group that fit into memory, but for what is the same in every part."""
    variables = groups[group].data_vars if group in groups else {}
    return {
        str(name): np.concatenate([part[group][name][...] for part in parts]).astype(variable.dtype)
        for name, variable in variables.items()
        if name != "class_names"
    }


def _copy(parts: Sequence[h5netcdf.Variable], group: h5netcdf.Group, name: str) -> None:
    """Append the parts of a variable to each other."""
    one = parts[0]
    n = group.dimensions[one.dimensions[-1]].size
    to = group.create_variable(
        name,
        one.dimensions,
        one.dtype,
        chunks=chunks((*one.shape[:-1], n)),
        fillvalue=one.attrs.get("_FillValue"),
        **COMPRESSION,
    )
    for key, value in one.attrs.items():
        if key != "_FillValue":
            to.attrs[key] = value
    at = 0
    for part in parts:
        to[..., at : at + part.shape[-1]] = part[...]
        at += part.shape[-1]
