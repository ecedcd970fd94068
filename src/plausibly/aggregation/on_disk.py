"""Posteriors that ``aggregate`` writes: whole, to a netCDF file, or in shards of cases, to a Zarr folder."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np

from plausibly.aggregation.registry import AnyModel
from plausibly.base.arviz import Posterior
from plausibly.base.cluster import check_reachable, map_on
from plausibly.base.errors import FileError, reason
from plausibly.base.fingerprint import code_digest, processor, software
from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations, Scores, Slots
from plausibly.families import Settled
from plausibly.posterior import Store, difference, load, read_fingerprint, save
from plausibly.posterior.sites import of_shard


def fingerprint_of(
    annotations: Annotations | Scores, settled: Settled, seed: int, model: AnyModel, version: str | None = None
) -> dict[str, Any]:
    """List everything that a posterior depends on: data, model, engine, seed, arguments and versions.

    ``model`` is the one that was given, and ``version`` what a user gives in place of the code of her own.
    """
    found = {"model": settled.model.name, "engine": settled.engine, "seed": int(seed)} | dict(settled.arguments)
    if not settled.model.built_in:
        found["program"] = version or code_digest(model, f"the program {settled.model.name}")
    found |= {"annotations": annotations.digest()} | software() | {"processor": processor()}
    return json.loads(json.dumps(found))


def as_file(out: Path, fingerprint: Mapping[str, Any], fresh: bool, infer: Callable[[], Posterior]) -> Posterior:
    """Infer a posterior and write it as netCDF, or return what is there if its fingerprint is the same."""
    found = None if fresh else read_fingerprint(out)
    if found is not None and not difference(found, fingerprint):
        return load(out)
    if found is not None and found.get("annotations") != fingerprint["annotations"]:
        raise FileError(
            f"{out} is a posterior of other annotations: name another file, or replace it with fresh=True (--fresh)."
        )
    try:  # whether it can be written, before all is computed
        if out.is_dir():
            raise IsADirectoryError("it is a folder")
        out.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(prefix=f"{out.name}.", dir=out.parent):
            pass
    except OSError as error:
        raise FileError(f"{out} cannot be written ({reason(error)}): choose another place.") from error
    posterior = infer()
    posterior.attrs["fingerprint"] = json.dumps(fingerprint)
    save(posterior, out)
    return posterior


def as_store(
    out: Path,
    fingerprint: Mapping[str, Any],
    fresh: bool,
    annotations: Annotations,
    settled: Settled,
    *,
    shard: int,
    progress: bool,
    scheduler: Any,
    log_likelihood: bool,
) -> None:
    """Infer a posterior shard by shard into a Zarr folder, here or on a Dask cluster.

    Arguments are those of :class:`plausibly.posterior.Store` and :func:`plausibly.aggregate`.
    """
    if scheduler is not None:
        check_reachable(scheduler)  # before fresh removes anything
    opened: list[Store] = []

    def store_of(slots: Slots) -> Store:
        if not opened:
            given = {**fingerprint, "shard": int(shard)}, annotations, slots
            opened.append(Store(out, *given, shard=int(shard), fresh=fresh))
        return opened[0]

    settled = settled.family.learn(annotations, settled, progress=progress, scheduler=scheduler, keeper=store_of)
    store = store_of(settled.family.layout(annotations, settled))
    missing = store.missing()

    def part(number: int) -> Annotations:
        cases = store.cases(number)
        return annotations if store.n_shards == 1 else annotations.select(np.arange(cases.start, cases.stop))

    alone = scheduler is None and store.n_shards == 1
    with Progress(progress and not alone) as bars:
        advance = bars.task("Aggregating", annotations.n_cases, "cases")
        left = sum(store.cases(number).stop - store.cases(number).start for number in missing)
        advance(annotations.n_cases - left)
        parts = map(part, missing)
        if scheduler is None:
            made = enumerate(_draw(some, settled, log_likelihood, progress and alone) for some in parts)
        else:
            made = map_on(scheduler, _draw, parts, settled, log_likelihood)
        for index, posterior in made:
            store.write(missing[index], posterior)
            advance(posterior["observed_data"].sizes["case"])


def _draw(annotations: Annotations, settled: Settled, log_likelihood: bool, progress: bool = False) -> Posterior:
    posterior = of_shard(settled.family.draw(annotations, settled, progress=progress))
    if log_likelihood:  # here, and not where a cluster sends it
        posterior = settled.family.log_likelihood(posterior, annotations, settled, progress=progress, now=True)
    return posterior
