"""Computing a run of a plan, and keeping what it needs.

What a run is made of (results, convergence, the draws of a few cases) is made from its posterior, once. ``InMemory``
makes it and hands it on; ``InFolder`` makes files of it, so that after an interruption nothing is made twice, and draws
can be dropped as soon as nothing needs them.
"""

import json
import os
import shutil
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from plausibly._arviz import Posterior
from plausibly.aggregation import aggregate
from plausibly.annotations import Annotations, Scores, Slots
from plausibly.diagnostics import diagnose
from plausibly.diagnostics._verdict import worst
from plausibly.errors import FileError, reason
from plausibly.evaluation import RiskWeights, evaluate, summary
from plausibly.evaluation._evaluate import write_results
from plausibly.metrics._lists import ranked_classes
from plausibly.metrics._risk import N_LEVELS
from plausibly.posterior import build_posterior, case_names, load, opened, save, slots_of
from plausibly.posterior._shards import Shards, write_whole
from plausibly.sweeps._runs import Run

if TYPE_CHECKING:
    from plausibly.sweeps._plan import Plan

KEPT_CASES = 6  #: the least certain cases of each run, whose draws are kept
KEPT_CHAINS = 3  #: the cases of each run whose chains are worst, whose draws are kept
DEPTH = 3  #: of the lists of the least certain cases


class InMemory:
    """What is made is handed on."""

    def __init__(self, plan: "Plan", number: int, progress: bool, scheduler: Any = None):
        self._plan, self._number, self._progress, self._scheduler = plan, number, progress, scheduler

    @cached_property
    def posterior(self) -> Posterior:
        """Of this run."""
        plan, (model, _, _, arguments) = self._plan, self._plan.steps[self._number]
        options = {"seed": plan.seed, "progress": self._progress, "scheduler": _sampled_by(plan, self._scheduler)}
        return aggregate(plan.observed, model, **options, **arguments)

    def evaluate(self, what: str, **options: Any) -> xr.Dataset:
        """Evaluate the posterior."""
        plan = self._plan
        options |= {"seed": plan.seed, "progress": self._progress, "scheduler": self._scheduler}
        return evaluate(self.posterior, plan.predictions, **options)

    def convergence(self) -> xr.Dataset:
        """Diagnose the posterior."""
        return diagnose(self.posterior)

    def attrs(self) -> dict[str, Any]:
        """Attributes of the posterior."""
        return dict(self.posterior.attrs)

    def excerpt(self, what: str, positions: np.ndarray) -> Posterior:
        """Draws of a few cases."""
        return _excerpt(self._plan.annotations, self.posterior, positions)


class InFolder:
    """What is made is a file first, which is found again."""

    def __init__(self, plan: "Plan", number: int, progress: bool, work: Shards, scheduler: Any = None):
        self._plan, self._number, self._progress, self._scheduler = plan, number, progress, scheduler
        self._work, self._shard = work, work.manifest["shard"]

    def _file(self, what: str, make: Callable[[Path], Any], in_shards: bool = False) -> Path:
        """Find a file, or make it; what comes in shards keeps them beside its place until it is complete."""
        at = self._number * len(_FILES) + _FILES.index(what)
        found = self._work.find(at)
        if found is not None or not in_shards:
            return found or self._work.add(at, make)
        place = self._work.folder / f"{what}-{self._number}"
        if not place.exists():
            make(place)
        return self._work.adopt(at, place)

    @cached_property
    def path(self) -> Path:
        """The file of the posterior, made if need be."""
        plan, (model, _, _, arguments) = self._plan, self._plan.steps[self._number]
        options = {"seed": plan.seed, "progress": self._progress, "shard": self._shard}
        options |= {"scheduler": _sampled_by(plan, self._scheduler)}

        def make(place: Path) -> None:
            aggregate(plan.observed, model, out=place, **options, **arguments)

        return self._file("posterior", make, in_shards=True)

    def evaluate(self, what: str, **options: Any) -> xr.Dataset:
        """Evaluate the posterior, or find what was found."""
        plan = self._plan
        options |= {"progress": self._progress, "shard": self._shard, "seed": plan.seed, "scheduler": self._scheduler}

        def make(place: Path) -> None:
            evaluate(self.path, plan.predictions, out=place, **options)

        made = self._file(what, make, in_shards=True)
        return xr.load_dataset(made, engine="h5netcdf")

    def convergence(self) -> xr.Dataset:
        """Diagnose the posterior, or find the diagnosis."""
        made = self._file("convergence", lambda place: write_results(diagnose(self.path), place))
        return xr.load_dataset(made, engine="h5netcdf")

    def attrs(self) -> dict[str, Any]:
        """Attributes of the posterior."""

        def make(place: Path) -> None:
            with opened(self.path) as posterior:
                plain = {str(name): np.asarray(value).item() for name, value in posterior.attrs.items()}
            place.write_text(json.dumps(plain), encoding="utf-8")

        return json.loads(self._file("attrs", make).read_text(encoding="utf-8"))

    def excerpt(self, what: str, positions: np.ndarray) -> Posterior:
        """Draws of a few cases."""

        def make(place: Path) -> None:
            with opened(self.path) as posterior:
                save(_excerpt(self._plan.annotations, posterior, positions), place)

        return load(self._file(what, make))

    def give(self, out: Path) -> None:
        """Put the posterior where it is wanted; here it stays, too, until all is done."""
        try:
            write_whole(self._copy, lambda path: out, out.parent)
        except OSError as error:
            raise FileError(
                f"{out} cannot be written ({reason(error)}): make room for it, and run the same again, which goes on "
                "with what is finished."
            ) from error

    def _copy(self, place: Path) -> None:
        try:
            os.link(self.path, place)
        except OSError:  # not on every file system
            shutil.copyfile(self.path, place)

    def drop(self) -> None:
        """Forget the posterior, of which nothing more is needed."""
        found = self._work.find(self._number * len(_FILES))
        if found is not None:
            found.unlink()


_FILES = ("posterior", "results", "convergence", "attrs", "certain", "worst", *(f"level-{n}" for n in range(N_LEVELS)))


def compute(plan: "Plan", number: int, made: InMemory | InFolder) -> Run:
    """Make the run of a number."""
    _, name, reliability, _ = plan.steps[number]
    results = made.evaluate("results", **plan.options)
    certainty = next(name for name in results.data_vars if str(name).startswith("annotation_certainty_"))
    order = np.argsort(results[certainty].values, kind="stable")[:KEPT_CASES]
    convergence = made.convergence()
    named = plan.annotations.cases
    doubtful = [int(np.flatnonzero(named == name)[0]) for name in worst(convergence, KEPT_CHAINS)]
    return Run(
        name,
        reliability,
        results,
        convergence,
        made.excerpt("certain", order),
        made.attrs(),
        worst=made.excerpt("worst", np.array(doubtful)) if doubtful else None,
        choices=_choices(plan, order) if plan.predictions else None,
        subgroups=_subgroups(plan, made),
    )


def _sampled_by(plan: "Plan", scheduler: Any) -> Any:
    """Scores, whose cases share a prior, are sampled here, which is quick."""
    return None if isinstance(plan.observed, Scores) else scheduler


def _choices(plan: "Plan", cases: np.ndarray) -> xr.DataArray:
    lists = [
        ranked_classes(scores[cases], min(DEPTH, plan.annotations.n_classes)) for scores in plan.predictions.values()
    ]
    return xr.DataArray(
        plan.annotations.classes[np.array(lists)],
        dims=("classifier", "case", "place"),
        coords={"classifier": list(plan.predictions), "case": plan.annotations.cases[cases]},
    )


def _subgroups(plan: "Plan", made: InMemory | InFolder) -> pd.DataFrame | None:
    """Evaluate the subgroup of each risk level, those that some case may belong to."""
    if plan.options["risks"] is None or not plan.predictions:
        return None
    weights, tables = plan.options["weights"], []
    times = None if weights is None else np.asarray(weights, np.float32)
    for level in range(N_LEVELS):
        member = RiskWeights(np.asarray(plan.options["risks"]), level, plan.options["ties"], times)
        options = dict(plan.options) | {"sizes": [1], "risks": None, "metrics": {}, "weights": member}
        found = made.evaluate(f"level-{level}", **options)
        if found["case_weight"].values.any():
            table = summary(found)
            table.insert(0, "cases", found["case_weight"].values.sum(dtype=np.float64))
            table.insert(0, "risk_level", level)
            tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _excerpt(annotations: Annotations, posterior: Posterior, positions: np.ndarray) -> Posterior:
    """Keep the draws of a few cases, in the order given."""
    slots = slots_of(posterior)
    own = np.concatenate([np.arange(slots.start[at], slots.start[at + 1]) for at in positions])
    size = slots.start[positions + 1] - slots.start[positions]
    chosen = Slots(
        case=np.repeat(np.arange(len(positions)), size).astype(np.int32),
        class_index=slots.class_index[own],
        n_classes=slots.n_classes[own],
        start=np.concatenate([[0], np.cumsum(size)]),
    )
    return build_posterior(
        posterior["posterior"]["plausibility"].transpose("chain", "draw", "slot").isel(slot=own).values,
        annotations.select(case_names(posterior)[positions]),
        chosen,
        point=posterior["constant_data"]["point_plausibility"].values[own],
        concentration=float(posterior.attrs["concentration"]),
        attrs={"model": posterior.attrs["model"]},
    )
