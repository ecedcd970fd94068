"""A sweep of which everything is read and checked, and nothing computed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.typing import ArrayLike

from plausibly._memory import release_memory
from plausibly.aggregation import aggregate, find_model, settle, takes
from plausibly.annotations import Annotations, Scores, read_risks
from plausibly.annotations._names import _show
from plausibly.errors import ArgumentError
from plausibly.evaluation import METRICS, check_lengths, check_metrics, evaluate
from plausibly.metrics import Metric
from plausibly.metrics._inputs import check_break_ties
from plausibly.metrics._user import Function
from plausibly.predictions import line_up, named_predictions
from plausibly.sweeps._make import make_run
from plausibly.sweeps._posteriors import Folder, posterior_of
from plausibly.sweeps._runs import Run, Sweep, run_label

Models = Mapping[str | Callable[..., None], Sequence[float] | None]


@dataclass(frozen=True)
class Plan:
    """A sweep of which everything is read and checked, and nothing computed."""

    annotations: Annotations  #: labels of two classes, if scores are aggregated
    observed: Annotations | Scores  #: what is aggregated
    predictions: Mapping[str, np.ndarray]
    steps: Sequence[tuple[str | Callable[..., None], str, float, Mapping[str, Any]]]  #: model, name, reliability, rest
    options: Mapping[str, Any]  #: of evaluate
    seed: int

    @classmethod
    def of(
        cls,
        observed: Annotations | Scores,
        predictions: Mapping[str, Any],
        models: Models,
        *,
        k: int | Sequence[int] | None = None,
        sizes: int | Sequence[int] | None = None,
        risks: Any = None,
        metrics: Mapping[str, Metric | Function] | None = None,
        weights: ArrayLike | None = None,
        break_ties: str = "order",
        seed: int = 0,
        **given: Any,
    ) -> "Plan":
        """Read and check; see :func:`sweep`."""
        options = {name: value for name, value in given.items() if value is not None}
        of_scores = isinstance(observed, Scores)
        if not isinstance(observed, Annotations | Scores):
            raise ArgumentError(
                f"a sweep needs Annotations, but {_show(observed)} was given: read them with read_annotations."
            )
        named = named_predictions(predictions)
        if not isinstance(models, Mapping):
            raise ArgumentError(
                f"models must be a mapping to reliabilities, but {_show(models)} was given: write for example "
                '{"prirn": (10, 30), "irn": None}.'
            )
        if not models:
            raise ArgumentError("a sweep needs a model, but none was given: choose one, such as prirn.")
        for name, value in options.items():
            if not any(name in takes(model, of_scores=of_scores) for model in models):
                raise ArgumentError(
                    f"none of the models has a use for {name}={value!r}, but it was given: leave it out, or add a "
                    "model that has."
                )
        steps = []
        for model, wanted in models.items():
            own = {name: value for name, value in options.items() if name in takes(model, of_scores=of_scores)}
            for reliability in reliabilities(model, wanted, of_scores):
                own["reliability"] = reliability
                name, _, _, arguments = settle(observed, model, seed=seed, **own)
                steps.append((model, name, arguments.get("reliability", np.nan), dict(own)))
        labels = [run_label(name, reliability) for _, name, reliability, _ in steps]
        for label in labels:
            if labels.count(label) > 1:
                raise ArgumentError(f"{label} is asked for {labels.count(label)} times: ask for each run once.")
        # No model of scores is settled without a threshold.
        annotations = observed.split(options["threshold"]) if isinstance(observed, Scores) else observed
        check_break_ties(break_ties)
        sizes = check_lengths("sizes", sizes, annotations.n_classes)
        if not sizes:
            raise ArgumentError("sizes must name one, by which a sweep ranks cases, but none was given: choose 1.")
        if weights is not None and np.shape(weights) != (annotations.n_cases,):
            raise ArgumentError(
                f"weights of a sweep must have the shape (case,), {(annotations.n_cases,)}, but the shape is "
                f"{np.shape(weights)}: runs differ in their draws, so give weights per draw to evaluate."
            )
        evaluated = {
            "k": check_lengths("k", k, annotations.n_classes),
            "sizes": sizes,
            "risks": None if risks is None else read_risks(risks, annotations.classes),
            "metrics": check_metrics({} if metrics is None else metrics, annotations.n_classes),
            "weights": weights,
            "break_ties": break_ties,
        }
        return cls(
            annotations,
            observed,
            {name: line_up(source, annotations) for name, source in named.items()},
            steps,
            evaluated,
            seed,
        )

    @property
    def metrics(self) -> list[str]:
        """Names of all metrics, the user's own last."""
        return [f"top{k}_{metric}" for k in self.options["k"] for metric in METRICS] + list(self.options["metrics"])

    @property
    def labels(self) -> list[str]:
        """Of all runs."""
        return [run_label(name, reliability) for _, name, reliability, _ in self.steps]

    def runs(
        self,
        folder: Folder | None = None,
        *,
        progress: bool = True,
        say: Callable[[str], None] = lambda text: None,
        scheduler: Any = None,
    ) -> Iterator[Run]:
        """Compute one run after the other, and drop its draws.

        Parameters
        ----------
        folder
            Where posteriors are kept, and reused if they are there; nothing is kept without it.
        progress
            Show bars.
        say
            Function that is told which run begins, and which posterior is reused or replaced.
        scheduler
            As for :func:`plausibly.aggregate`.
        """
        for number, label in enumerate(self.labels):
            say(f"[{number + 1} of {len(self.labels)}] {label}")
            with posterior_of(self, number, folder, say, progress, scheduler) as posterior:
                run = make_run(self, number, posterior, progress, scheduler)
            del posterior
            release_memory()
            yield run

    def sweep(self, runs: Sequence[Run]) -> Sweep:
        """Join runs with what is the same for all of them."""
        voted = None
        if self.predictions:
            posterior = aggregate(self.annotations, "majority-vote", seed=self.seed, progress=False)
            options = dict(self.options) | {"sizes": [1], "risks": None, "metrics": {}}
            voted = evaluate(posterior, self.predictions, **options, seed=self.seed, progress=False)
        return Sweep(self.annotations, tuple(runs), voted)


def reliabilities(
    model: str | Callable[..., None], wanted: Sequence[float] | None, of_scores: bool = False
) -> Sequence[float | None]:
    """Reliabilities at which to run a model, None for a model that has none."""
    taken = takes(model, of_scores=of_scores)
    if "reliability" not in taken:
        if wanted is not None and np.size(wanted):
            first = wanted if np.ndim(wanted) == 0 else wanted[0]
            raise ArgumentError(f"{model} has no reliability, but {first!r} was given: leave it out.")
        return [None]
    if wanted is None:
        return find_model(model, of_scores).reliabilities or [taken["reliability"]]
    if isinstance(wanted, str) or np.ndim(wanted) != 1:
        raise ArgumentError(
            f"the reliabilities of {model} must be a list of numbers, but {_show(wanted)} was given: write for example "
            "(1, 3, 10)."
        )
    if not len(wanted):
        raise ArgumentError(
            f"{model} needs a reliability, but none was given: name some, or give None for the usual ones."
        )
    return wanted
