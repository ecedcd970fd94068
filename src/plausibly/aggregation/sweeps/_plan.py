"""A sweep: read and checked, then run after run, whose posteriors are sampled or reused from an earlier sweep."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from jax.typing import ArrayLike

from plausibly.aggregation._aggregate import aggregate
from plausibly.aggregation._judged import unjudged
from plausibly.aggregation._variants import PlannedRun, Variants, plan_runs
from plausibly.aggregation.on_disk import fingerprint_of
from plausibly.aggregation.sweeps._make import make_run
from plausibly.aggregation.sweeps.label_results import against_an_expert, named_classes
from plausibly.aggregation.sweeps.runs import Run, Sweep, posterior_name, usual_position
from plausibly.base.arviz import Posterior, from_groups, to_groups
from plausibly.base.bootstrap import CI_PROB, REPLICATES, check_probability
from plausibly.base.errors import ArgumentError, FileError, PlausiblyError, reason
from plausibly.base.fingerprint import of_thread
from plausibly.base.memory import release_memory
from plausibly.base.pools import threads
from plausibly.base.progress import LOGGER
from plausibly.data.annotations import Annotations, Scores
from plausibly.data.annotations.usual_models import check_annotations
from plausibly.data.predictions import Marked, line_up, named_predictions, with_predicted
from plausibly.evaluation import check_lengths, evaluate_draws, known_predictions, panels
from plausibly.evaluation.checks import label_checks
from plausibly.evaluation.freed import METRIC, freed_shifts
from plausibly.evaluation.metrics import LISTS
from plausibly.evaluation.of_labels import read_question
from plausibly.models import MODELS
from plausibly.posterior import difference, opened, read_fingerprint, remove_store
from plausibly.posterior.says import has_shape

VOTE = next(model for model in MODELS.values() if model.baseline)  #: classifiers are compared with its labels, too
_FEW = 2**17  # pairs of a case and a draw that are evaluated faster than another program is compiled


@dataclass(frozen=True)
class Folder:
    """Folder in which the posteriors of a sweep are kept."""

    path: Path  #: of an existing folder
    shard: int = 2000  #: cases in a shard; a posterior with more cases is a Zarr store, written shard by shard
    resume: bool = False  #: whether smaller posteriors are Zarr stores, too
    fresh: bool = False  #: whether to sample again instead of reusing existing posteriors


@dataclass(frozen=True)
class Plan:
    """A sweep that is completely read and checked, but not computed yet."""

    annotations: Annotations  #: labels of two classes, if scores are aggregated
    observed: Annotations | Scores  #: what is aggregated
    predictions: Mapping[str, np.ndarray]
    steps: Sequence[PlannedRun]
    options: Mapping[str, Any]  #: of evaluate
    seed: int
    metrics: Sequence[str]  #: names of those with one value for a classifier
    brief: bool = False  #: whether only what the screen says is computed, and nothing for a report
    ci_prob: float = CI_PROB  #: of all intervals

    @classmethod
    def of(
        cls,
        observed: Annotations | Scores,
        predictions: Mapping[str, Any],
        models: Variants,
        *,
        k: int | Sequence[int] | None = None,
        sizes: int | Sequence[int] | None = None,
        risks: Any = None,
        metrics: Any = None,
        logits: Marked = False,
        ordered: bool = False,
        weights: ArrayLike | None = None,
        clusters: Any = None,
        replicates: int = REPLICATES,
        ci_prob: float = CI_PROB,
        by: Any = None,
        intersections: bool = False,
        break_ties: str = "order",
        extra: str = "refuse",
        positive: str | None = None,
        threshold: float | Mapping[str, float] | None = None,
        prevalence: float | None = None,
        seed: int = 0,
        brief: bool = False,
        **given: Any,
    ) -> "Plan":
        """Read and check all arguments; see :func:`sweep`.

        Unless they are named, a `brief` plan has only the metrics of lists and the sizes of sets that the screen shows:
        accuracies, and the certainty of the most plausible class.
        """
        check_annotations(observed)
        if ordered and isinstance(observed, Scores):
            observed = observed.grades()
        check_probability("ci_prob", ci_prob)
        named = named_predictions(predictions, logits)
        if extra == "include":
            observed, extra = with_predicted(observed, named), "refuse"
        if isinstance(observed, Annotations):
            named = {
                name: line_up(source, observed, extra, positive, ordered=ordered) for name, source in named.items()
            }
        if isinstance(observed, Scores):
            given, threshold = {**given, "threshold": threshold}, None
        steps = plan_runs(observed, models, given, predictions=named, seed=seed)
        if not steps:
            raise ArgumentError(f"a sweep needs a model, but none was given: choose from {', '.join(MODELS)}.")
        at = steps[0].settled.arguments.get("threshold")
        if isinstance(observed, Annotations):
            annotations = observed
        else:
            annotations, ordered = observed.as_classes(at), ordered or at is None
        sizes = check_lengths("sizes", 1 if brief and sizes is None else sizes, annotations.n_classes)
        if not sizes:
            raise ArgumentError("sizes must name one, by which a sweep ranks cases, but none was given: choose 1.")
        if weights is not None and np.shape(weights) != (annotations.n_cases,):
            raise ArgumentError(
                f"weights of a sweep must have the shape (case,), {(annotations.n_cases,)}, but the shape is "
                f"{np.shape(weights)}: runs differ in their draws, so give weights per draw to evaluate."
            )
        if by is not None and not named:
            raise ArgumentError("by reports metrics of classifiers by group, but there are no predictions: give some.")
        if not (metrics is None or isinstance(metrics, Mapping)):
            metrics = [LISTS, *(metrics if isinstance(metrics, list | tuple) else [metrics])]
        options: dict[str, Any] = {"k": k, "ordered": ordered, "positive": positive, "threshold": threshold}
        options |= {"prevalence": prevalence, "replicates": replicates, "break_ties": break_ties}
        about = {"metrics": metrics, "risks": risks, "clusters": clusters, "by": by, "intersections": intersections}
        question = read_question(annotations, named, drawn=True, extra=extra, **options, **about)
        wanted = question.metrics
        if brief and k is None and metrics is None:
            wanted = wanted._replace(lists={name: of for name, of in wanted.lists.items() if of[0] == "accuracy"})
        options |= {"sizes": sizes, "weights": weights, "metrics": wanted, "risks": question.risks}
        options |= {"by": question.groups, "clusters": None if clusters is None else question.cluster}
        single = (*wanted.lists, *wanted.own, *question.labels.single)
        scores = dict(zip(question.names, question.predictions, strict=True))
        return cls(annotations, observed, scores, steps, options, seed, single, brief, ci_prob)

    @property
    def labels(self) -> list[str]:
        """Labels of all runs."""
        return [step.label for step in self.steps]

    def runs(
        self,
        folder: Folder | None = None,
        *,
        progress: bool = True,
        say: Callable[[str], None] = lambda text: None,
        scheduler: Any = None,
    ) -> Iterator[Run]:
        """Compute one run after the other, dropping the draws of each.

        A run of few cases is evaluated while the next posterior is sampled; of many, one posterior is in memory at a
        time. Posteriors are kept, and reused, in the folder. ``say`` receives messages about which run begins, and
        which posterior is reused or replaced.
        """
        say = _telling(say)
        with threads(1) as pool:
            few = scheduler is None and max(self._draws) * self.observed.n_cases <= _FEW
            ahead = int(few and of_thread() == pool.submit(of_thread).result())
            if ahead and self.predictions and not self.brief:
                pool.submit(lambda: self._voted)  # which compiles the program of the others
            coming: deque[Callable[[], Run]] = deque()
            for number, label in enumerate(self.labels):
                begun = f"[{number + 1} of {len(self.labels)}] {label}"
                try:
                    posterior = self._posterior(self.steps[number], folder, begun, say, progress, scheduler)
                except BaseException:
                    yield from _taken(coming)  # those before it are not lost
                    raise
                made = partial(make_run, self, number, posterior, progress, scheduler)
                coming.append(pool.submit(made).result if ahead else made)
                del posterior, made
                if len(coming) > ahead:
                    yield coming.popleft()()
                release_memory()
            yield from _taken(coming)

    def _posterior(
        self,
        step: PlannedRun,
        folder: Folder | None,
        begun: str,
        say: Callable[[str], None],
        progress: bool,
        scheduler: Any,
    ) -> Posterior:
        """Sample the posterior of a run, or open it where it is kept already; say that it has `begun`, and which."""
        whole = step.settled.model.of_scores  # the prior that cases share comes from all of them
        options: dict[str, Any] = {**step.arguments, "seed": self.seed, "progress": progress}
        options["scheduler"] = None if whole else scheduler
        if folder is None:
            say(begun)
            return unjudged(aggregate)(self.observed, step.model, **options)
        in_shards = not whole and (folder.resume or self.observed.n_cases > folder.shard)
        path, other = (folder.path / posterior_name(step.label, in_shards=kind) for kind in (in_shards, not in_shards))
        wanted = fingerprint_of(self.observed, step.settled, self.seed, step.model)
        wanted |= {"shard": folder.shard} if in_shards else {}
        kept = None if folder.fresh else read_fingerprint(path)
        what = difference(kept, wanted) if kept is not None else ""
        existed = path.exists() and not folder.fresh
        matches = kept is not None and not what
        done = "reused" if matches and _is_complete(path) else "continued"
        options |= {"out": path, "shard": folder.shard, "fresh": folder.fresh or bool(what)}
        replaced = f" (posterior replaced: {what or 'it has no fingerprint'})" if existed else ""
        say(begun + (f" (posterior {done})" if matches else replaced))
        posterior = unjudged(aggregate)(self.observed, step.model, **options)
        if read_fingerprint(other) is not None:
            _remove(other)
            say(f"{other} was removed: {path.name} takes its place")
        return posterior

    def sweep(self, runs: Sequence[Run], fresh: Annotations | None = None, *, like: Sweep | None = None) -> Sweep:
        """Join runs into a sweep; check what its accuracies rest on if a prior was learned, or by fresh annotations.

        ``like`` is a sweep of the first runs, whose checks hold if the others say nothing of evidence.
        """
        if not self.predictions:
            return Sweep(self.annotations, tuple(runs))
        if like is not None and not any(_judges_evidence(run) for run in runs[len(like.runs) :]):
            return replace(like, runs=tuple(runs))
        options = {name: self.options[name] for name in ("clusters", "replicates", "break_ties")}
        found = panels(self.annotations, self.predictions, **options, seed=self.seed)
        found.attrs["ci_prob"] = self.ci_prob
        learned = next(filter(_judges_evidence, runs), None)
        checks = None
        if learned is not None or fresh is not None:
            attrs = (learned or runs[0]).attrs
            options = {name: self.options[name] for name in ("clusters", "break_ties")} | {"fresh": fresh}
            checks = label_checks(self.annotations, self.predictions, attrs, **options, seed=self.seed)
        if self.brief:
            return Sweep(self.annotations, tuple(runs), panels=found, checks=checks)
        withheld = any("withheld" in run.results.attrs for run in runs)
        of_labels = against_an_expert(self, by_group=withheld), named_classes(self)
        return Sweep(self.annotations, tuple(runs), self._voted, found, checks, self._freed(runs), *of_labels)

    def _freed(self, runs: Sequence[Run]) -> pd.DataFrame | None:
        """Free the shape of disagreement if a run depends on it."""
        known = [run for run in runs if set(known_predictions(run.attrs)) == set(self.predictions)]
        run = next((run for run in known if has_shape(run.attrs) and METRIC in run.results), None)
        if self.options["weights"] is not None or run is None:
            return None
        options = {"break_ties": self.options["break_ties"], "kappa": run.arguments.get("prior_kappa")}
        options |= {"ci_prob": self.ci_prob}
        return freed_shifts(self.annotations, self.predictions, **options, seed=self.seed)

    @cached_property
    def leading(self) -> int:
        """Number of the run that stands for all: of the first model with draws, at its usual reliability."""
        models = [step.variant for step in self.steps]
        drawn = [model for model, draws in zip(models, self._draws, strict=True) if draws > 1]
        own = [at for at, model in enumerate(models) if model == (drawn or models)[0]]
        usual = self.steps[own[0]].settled.model.reliability
        return own[usual_position([self.steps[at].reliability for at in own], usual)]

    @property
    def _draws(self) -> list[int]:
        """Number of draws of each run."""
        arguments = [step.settled.arguments for step in self.steps]
        return [sizes.get("chains", 1) * sizes.get("draws", 1) for sizes in arguments]

    @cached_property
    def _voted(self) -> xr.Dataset:
        """Evaluate annotated cases against the majority vote, by the program of the runs where no other is cheaper."""
        draws, annotations = min(self._draws), self.annotations.annotated
        voted = np.flatnonzero(self.annotations.per_case)
        predictions = {name: scores[voted] for name, scores in self.predictions.items()}
        posterior = aggregate(annotations, VOTE, seed=self.seed, progress=False)
        of_cases = {name: self.options[name] for name in ("weights", "clusters") if self.options[name] is not None}
        of_cases = {name: np.asarray(values)[voted] for name, values in of_cases.items()}
        options = {**self.options, **of_cases, "by": None, "seed": self.seed, "progress": False, "scheduler": None}
        alike = not self.options["metrics"].own and self.options["by"] is None
        fits = alike and draws * annotations.n_cases <= _FEW
        if fits:  # as many equal draws as a run has
            groups = to_groups(posterior)
            groups["posterior"] = groups["posterior"].isel(draw=np.zeros(draws, int))
            posterior = from_groups(groups, posterior.attrs)
        else:
            options |= {"metrics": {}, "risks": None, "sizes": 1, "replicates": 0}
        return evaluate_draws(posterior, predictions, **options).isel(draw=[0]).assign_attrs(ci_prob=self.ci_prob)


def _judges_evidence(run: Run) -> bool:
    """Whether the prior of a run was learned, from labels or from predictions, too."""
    return "evidence" in run.attrs or "learned_prior" in run.attrs


def _telling(say: Callable[[str], None]) -> Callable[[str], None]:
    """Log what is said, too."""

    def tell(text: str) -> None:
        LOGGER.info("%s", text)
        say(text)

    return tell


def _taken(coming: deque[Callable[[], Run]]) -> Iterator[Run]:
    """Wait for runs, the first come first."""
    while coming:
        yield coming.popleft()()


def _remove(path: Path) -> None:
    """Remove a posterior."""
    try:
        if path.is_dir():
            remove_store(path)
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()
    except OSError as error:
        raise FileError(f"{path} cannot be removed ({reason(error)}): remove it, and try again.") from error


def _is_complete(path: Path) -> bool:
    try:
        with opened(path):
            return True
    except PlausiblyError:
        return False
