"""``conformal_sweep``: sets that keep their guarantee whatever the model and the reliability."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from plausibly.aggregation import Variants, aggregate, plan_runs
from plausibly.base.errors import AnnotationError, ArgumentError, show
from plausibly.base.memory import release_memory
from plausibly.base.shown import Shown
from plausibly.data.annotations import Annotations
from plausibly.decisions.conformal._conformal import conformal
from plausibly.decisions.conformal._curve import Curve
from plausibly.decisions.conformal._result import Conformal


def conformal_sweep(
    source: Annotations | Mapping[str, Any],
    predictions: Mapping[str, Any],
    models: Variants | None = None,
    *,
    seed: int = 0,
    draws: int | None = None,
    chains: int | None = None,
    warmup: int | None = None,
    progress: bool = True,
    **arguments: Any,
) -> "ConformalSweep":
    """Calibrate classifiers under every aggregation model at each of its reliabilities.

    A guarantee about plausibilities holds under one model and one reliability. ``.common`` uses the lowest threshold of
    all runs, so the guarantee of its sets holds under each of them.

    Parameters
    ----------
    source
        Annotations, or a mapping from any label to a posterior or the name of its file.
    predictions
        As for :func:`plausibly.conformal`.
    models
        Reliabilities by model, as for :func:`plausibly.sweep`. Leave it out if you pass posteriors.
    seed
        Random seed, the same for all runs.
    draws, chains, warmup
        Arguments of :func:`plausibly.aggregate`, for those of the models that accept them.
    progress
        Whether to show progress.
    arguments
        Arguments of :func:`plausibly.conformal`.

    Returns
    -------
    ConformalSweep
        ``.runs`` by label, ``.table`` of their thresholds, and ``.common``.

    Raises
    ------
    ArgumentError
        If there are neither models nor posteriors, or both, or :func:`plausibly.conformal` does not accept an argument.
    AnnotationError
        If scores are given: convert them to labels first.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a"], ["a", "b"], ["b", "b"]] * 10)
    >>> predictions = {"A": [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]] * 10}
    >>> models = {"prirn": (1, 100), "irn": None}
    >>> swept = pb.conformal_sweep(annotations, predictions, models, alpha=0.3, score="lac", progress=False)
    >>> swept.table[["run", "threshold"]].values.tolist()
    [['prirn@1', 0.6], ['prirn@100', 0.6], ['irn', 0.6]]
    """
    runs: dict[str, Conformal] = {}
    if isinstance(source, Mapping):
        if models is not None:
            raise ArgumentError("models are for annotations, but posteriors were given: leave models out.")
        if not source:
            raise ArgumentError('a sweep needs a posterior, but none was given: write {"prirn@30": posterior}.')
        for label, posterior in source.items():
            runs[str(label)] = conformal(posterior, predictions, seed=seed, **arguments)
    else:
        if not isinstance(source, Annotations):
            raise AnnotationError(
                f"annotations, or posteriors by label, are needed, but {show(source)} was given; turn scores into "
                "labels first, with Scores.split(threshold)"
            )
        if not models:
            raise ArgumentError('a sweep needs models, but none was given: write for example {"prirn": (10, 30, 100)}.')
        given = {"draws": draws, "chains": chains, "warmup": warmup}
        for run in plan_runs(source, models, given, seed=seed):
            posterior = aggregate(source, run.model, **run.arguments, seed=seed, progress=progress)
            runs[run.label] = conformal(posterior, predictions, seed=seed, **arguments)
            del posterior
            release_memory()
    return ConformalSweep(runs)


@dataclass(frozen=True, eq=False, repr=False)
class ConformalSweep(Shown, kind="conformal"):
    """Calibrations under several aggregation models.

    Made by :func:`plausibly.conformal_sweep`.

    Attributes
    ----------
    runs
        Calibrations by the label of the run.
    """

    runs: Mapping[str, Conformal]

    @property
    def table(self) -> pd.DataFrame:
        """Join the :meth:`Conformal.summary` of all runs, with a column ``run``."""
        tables = {label: run.summary() for label, run in self.runs.items()}
        return pd.concat(tables, names=["run"]).reset_index("run").reset_index(drop=True)

    @property
    def common(self) -> Conformal:
        """Calibration with the lowest threshold of all runs, whose guarantee holds under each of them.

        Its p-values are the greatest over the runs.
        """
        runs = list(self.runs.values())
        thresholds = np.stack([run.threshold.values for run in runs])
        lowest, at = thresholds.min(axis=0), thresholds.argmin(axis=0)[None]
        # Where thresholds are equal, a class there is kept with the greatest probability.
        keep = np.where(thresholds == lowest, np.stack([run.keep.values for run in runs]), 0).max(axis=0)
        sizes = np.take_along_axis(np.stack([run.mean_size.values for run in runs]), at, 0)[0]
        first = runs[0]
        return replace(
            first,
            threshold=first.threshold.copy(data=lowest),
            keep=first.keep.copy(data=keep),
            threshold_by_draw=None,
            mean_size=first.mean_size.copy(data=sizes),
            curves={key: _upper([run.curves[key] for run in runs]) for key in first.curves},
            prior=max((run.prior for run in runs if run.prior), key=lambda prior: prior.least, default=None),
            learned=any(run.learned for run in runs),
        )


def _upper(curves: list[Curve]) -> Curve:
    """Least curve above all: as many losses as under the run that loses most, at every threshold."""
    scores = np.unique(np.concatenate([curve.scores for curve in curves]))
    lost = np.max([curve.lost(scores, "right") for curve in curves], axis=0)
    return replace(curves[0], scores=scores, weights=np.diff(lost, prepend=0.0))
