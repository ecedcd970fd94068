"""The posterior of a run: sampled, or reused from the file of an earlier sweep."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plausibly._arviz import Posterior
from plausibly.aggregation import aggregate, is_built_in
from plausibly.annotations import Scores
from plausibly.errors import FileError, reason
from plausibly.fingerprint import code_digest, software
from plausibly.posterior import opened, save
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


@contextmanager
def posterior_of(
    plan: "Plan", number: int, folder: Folder | None, say: Callable[[str], None], progress: bool, scheduler: Any
) -> Iterator[Posterior]:
    """Sample the posterior of a run, or open it where it is kept already."""
    model, arguments = plan.steps[number].model, plan.steps[number].arguments
    of_scores = isinstance(plan.observed, Scores)
    options: dict[str, Any] = {**arguments, "seed": plan.seed, "progress": progress}
    options["scheduler"] = None if of_scores else scheduler  # scores share a prior, and are sampled in one piece
    if folder is None:
        yield aggregate(plan.observed, model, **options)
        return
    in_shards = not of_scores and (folder.resume or plan.observed.n_cases > folder.shard)
    path = folder.path / posterior_name(plan.labels[number], in_shards=in_shards)
    if in_shards:
        yield aggregate(plan.observed, model, **options, out=path, shard=folder.shard, fresh=folder.fresh)
        return
    wanted = _fingerprint(plan, number)
    with ExitStack() as stack:
        if path.exists() and not folder.fresh:
            try:
                posterior = stack.enter_context(opened(path))
                found = json.loads(posterior.attrs.get("fingerprint", "{}"))
            except (FileError, ValueError):
                found = {}
            if found == wanted:
                say(f"{path} is of the same data, arguments and versions: reused")
                yield posterior
                return
            names = [name for name in wanted if found.get(name) != wanted[name]]
            what = f"its {', '.join(names)} differ" if found else "it has no fingerprint"
            say(f"{path} is replaced: {what}")
    posterior = aggregate(plan.observed, model, **options)
    posterior.attrs["fingerprint"] = json.dumps(wanted)
    part = path.with_name(f"{path.name}.part")
    try:
        save(posterior, part)
        part.replace(path)
    except OSError as error:
        raise FileError(f"{path} cannot be written ({reason(error)}): choose another place.") from error
    finally:
        part.unlink(missing_ok=True)
    yield posterior


def _fingerprint(plan: "Plan", number: int) -> dict[str, Any]:
    """All that the draws of a run depend on, but the processor."""
    step = plan.steps[number]
    name, about = step.settled.model.name, {"annotations": plan.observed.digest(), "seed": int(plan.seed)}
    if not is_built_in(step.settled.model):
        about["program"] = code_digest(step.model, f"the program {name}")
    about |= {"model": name, "engine": step.settled.engine, **step.settled.arguments}
    return json.loads(json.dumps(about | software()))
