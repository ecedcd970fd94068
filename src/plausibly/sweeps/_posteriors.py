"""The posterior of a run: sampled, or reused from the file of an earlier sweep."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plausibly._arviz import Posterior
from plausibly.aggregation import aggregate
from plausibly.annotations import Scores
from plausibly.posterior import difference, read_fingerprint
from plausibly.sweeps._runs import posterior_name

if TYPE_CHECKING:
    from plausibly.sweeps._plan import Plan


@dataclass(frozen=True)
class Folder:
    """Where the posteriors of a sweep are kept.

    Attributes
    ----------
    path
        Folder that exists.
    shard
        Number of cases above which a posterior is a Zarr store, written in shards of as many cases.
    resume
        Whether smaller ones are, too.
    fresh
        Whether to sample again what is there.
    """

    path: Path
    shard: int = 2000
    resume: bool = False
    fresh: bool = False


def posterior_of(
    plan: "Plan", number: int, folder: Folder | None, say: Callable[[str], None], progress: bool, scheduler: Any
) -> Posterior:
    """Sample the posterior of a run, or open it where it is kept already."""
    model, arguments = plan.steps[number].model, plan.steps[number].arguments
    of_scores = isinstance(plan.observed, Scores)
    options: dict[str, Any] = {**arguments, "seed": plan.seed, "progress": progress}
    options["scheduler"] = None if of_scores else scheduler  # scores share a prior, and are sampled in one piece
    if folder is None:
        return aggregate(plan.observed, model, **options)
    in_shards = not of_scores and (folder.resume or plan.observed.n_cases > folder.shard)
    path = folder.path / posterior_name(plan.labels[number], in_shards=in_shards)
    found = None if folder.fresh else read_fingerprint(path)
    existed = path.exists() and not folder.fresh
    posterior = aggregate(plan.observed, model, **options, out=path, shard=folder.shard, fresh=folder.fresh)
    if found is not None and not (what := difference(found, json.loads(posterior.attrs["fingerprint"]))):
        say(f"{path} is of the same data, arguments and versions: reused")
    elif existed:
        say(f"{path} was replaced ({what if found is not None else 'it has no fingerprint'})")
    return posterior
