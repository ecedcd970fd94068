"""``conformal_regions``: plausibilities that a classifier allows for a new case."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float

from plausibly._arviz import Posterior
from plausibly.annotations import Annotations, read_risks
from plausibly.conformal import _polytope
from plausibly.conformal._conformal import warn_of_few
from plausibly.conformal._curve import Steps, threshold_of
from plausibly.conformal._groups import ALL, RISK_NAMES
from plausibly.conformal._inputs import check_alpha, check_target, read_inputs, read_new
from plausibly.conformal._scores import Function, Score, parse_score
from plausibly.conformal._targets import Weights, ranges_of, weights_of
from plausibly.errors import ArgumentError, check_whole
from plausibly.metrics.inputs import check_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def conformal_regions(
    posterior: Posterior | Annotations | str | PathLike,
    predictions: Mapping[str, Any],
    *,
    alpha: float = 0.1,
    score: Literal["lac", "aps", "raps", "top-k"] | Function = "lac",
    target: Literal["plausibility", "annotator", "vote"] = "plausibility",
    penalty: float | None = None,
    free_ranks: int | None = None,
    logits: bool = False,
) -> "Regions":
    r"""Calibrate regions that contain the plausibilities of a new case with a guaranteed probability.

    A set lists classes. A region says which distributions over classes a new case may have, and therefore which classes
    may be the most plausible ones and how plausible each class can be.

    Parameters
    ----------
    posterior, predictions, alpha, score, penalty, free_ranks, logits
        As for :func:`plausibly.conformal`.
    target
        What a region should contain: the posterior mean of the plausibilities, the shares of the annotators' first
        choices, or the vote.

    Returns
    -------
    Regions
        Object that answers questions about the regions of new cases.

    Raises
    ------
    ArgumentError, PredictionError, FileError
        As for :func:`plausibly.conformal`.

    Warns
    -----
    PlausiblyWarning
        If there are fewer than 1/alpha − 1 cases, so that the region contains every distribution.

    Notes
    -----
    Case i has :math:`v_i = \sum_k \lambda_{ik} s(x_i, k)`; the threshold :math:`\tau` is the value at rank
    :math:`\lfloor \alpha (n + 1) \rfloor` in ascending order, and the region :math:`\{\lambda : \sum_k \lambda_k s(x,
    k) \ge \tau\}` contains the plausibilities of a new case with a probability of at least :math:`1 - \alpha`.
    Questions about a region are linear programs over the simplex with one further constraint; their solutions have
    closed forms.

    References
    ----------
    Stutz et al. (2023), Conformal prediction under ambiguous ground truth, arXiv 2307.09302, section 4.3, where
    regions are found on a grid.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a"], ["a", "b"], ["b", "b"]] * 10)
    >>> predictions = {"A": [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]] * 10}
    >>> regions = pb.conformal_regions(annotations, predictions, alpha=0.5, target="annotator")
    >>> regions.bounds({"A": [[0.9, 0.1]]}).values.round(3).tolist()
    [[[[0.875, 1.0], [0.0, 0.125]]]]
    """
    alpha = check_alpha(alpha)
    parsed = parse_score(score, penalty=penalty, free_ranks=free_ranks)
    check_target(target, posterior)
    with read_inputs(posterior, predictions, logits) as inputs:
        annotations, n = inputs.annotations, inputs.annotations.n_cases
        weights = weights_of(target, inputs.source, annotations)
        means = np.stack([_means(parsed, values, weights) for values in inputs.predictions.values()])
        thresholds, _ = threshold_of(Steps.of(means, np.ones(means.shape)), alpha, n)
    warn_of_few(np.full((len(means), 1), n), alpha, 1.0, (ALL,))
    threshold = xr.DataArray(thresholds, dims="classifier", coords={"classifier": list(inputs.predictions)})
    return Regions(alpha, target, annotations.classes, threshold, parsed, n, inputs.logits)


@dataclass(frozen=True, eq=False)
class Regions:
    """Regions of plausibilities of new cases.

    Made by :func:`plausibly.conformal_regions`. Methods take ``new_scores`` as :meth:`Conformal.predict` does.

    Attributes
    ----------
    alpha, target
        Arguments of :func:`plausibly.conformal_regions`.
    classes
        Names of the classes.
    threshold
        (classifier,) smallest mean score, weighted by plausibility, of a distribution in the region.
    score
        Score of the classes.
    n_cases
        Number of calibration cases.
    logits
        Names of the classifiers whose predictions are logits.
    """

    alpha: float
    target: str
    classes: np.ndarray
    threshold: xr.DataArray
    score: Score
    n_cases: int
    logits: tuple[str, ...] = ()

    def contains(self, new_scores: Any, plausibilities: Any) -> xr.DataArray:
        """Say whether plausibilities (case, class) of the new cases lie in their regions: (classifier, case)."""
        points = np.asarray(plausibilities, float)

        def inside(d: Float[np.ndarray, "case class"]) -> np.ndarray:
            if points.shape != d.shape:
                raise ArgumentError(
                    f"plausibilities must have the shape (case, class), {d.shape}, but have {points.shape}: give one "
                    "for each class of each case."
                )
            return (points * d).sum(axis=1) >= -1e-12

        return self._answers(new_scores, inside)

    def is_empty(self, new_scores: Any) -> xr.DataArray:
        """Say whether the region of each case is empty, because no score reaches the threshold: (classifier, case)."""
        return self._answers(new_scores, _polytope.is_empty)

    def possible_first(self, new_scores: Any) -> xr.DataArray:
        """Say which classes can be the most plausible: boolean (classifier, case, class)."""
        return self._answers(new_scores, _polytope.can_be_first, **{"class": self.classes})

    def bounds(self, new_scores: Any) -> xr.DataArray:
        """Bound the plausibility of each class: (classifier, case, class, bound), NaN if the region is empty."""
        coords = {"class": self.classes, "bound": ["lower", "upper"]}
        return self._answers(new_scores, lambda d: np.stack(_polytope.class_bounds(d), axis=-1), **coords)

    def risk_bounds(self, new_scores: Any, risks: Any) -> xr.DataArray:
        """Bound the plausibility of each risk level: (classifier, case, risk_level, bound).

        Parameters
        ----------
        new_scores
            Predictions of the new cases.
        risks
            Risk level of each class, as for :func:`plausibly.read_risks`.
        """
        levels = np.asarray(read_risks(risks, self.classes))
        member = levels == np.arange(len(RISK_NAMES))[:, None]
        coords = {"risk_level": list(RISK_NAMES), "bound": ["lower", "upper"]}
        return self._answers(new_scores, lambda d: np.stack(_polytope.group_bounds(d, member), axis=-1), **coords)

    def top_sets(self, new_scores: Any, j: int, most: int = 100) -> pd.DataFrame:
        """List the sets of j classes that can be the most plausible ones.

        Parameters
        ----------
        new_scores
            Predictions of the new cases.
        j
            Number of classes in a set.
        most
            Largest number of sets to list for a case, those with the greatest sum of scores first; there can be very
            many.

        Returns
        -------
        pandas.DataFrame
            ``case``, ``classifier``, ``classes`` (names, in class order), and ``complete``: whether all sets of the
            case are listed.
        """
        j = check_size("j", j, len(self.classes))
        most = check_whole("most", most, 1, "write 100")
        cases, above = self._above(new_scores)
        rows = []
        for name, d in above.items():
            for case, own in zip(cases, d, strict=True):
                sets = list(islice(_polytope.top_sets(own, j), most + 1))
                for chosen in sets[:most]:
                    named = tuple(str(self.classes[k]) for k in chosen)
                    rows.append((str(case), name, named, len(sets) <= most))
        return pd.DataFrame(rows, columns=["case", "classifier", "classes", "complete"])

    def plot(self, new_scores: Any, case: str | None = None, *, ax: "Axes | None" = None) -> "Axes":
        """Draw the regions of one new case with three classes in a triangle; by default those of the first case."""
        from plausibly.conformal._plots import plot_region

        if len(self.classes) != 3:
            raise ArgumentError(f"a triangle shows three classes, but there are {len(self.classes)}: use bounds.")
        cases, above = self._above(new_scores)
        row = 0 if case is None else next((at for at, name in enumerate(cases) if str(name) == str(case)), -1)
        if row < 0:
            raise ArgumentError(f"there is no case {case!r} among the new ones: choose one, such as {str(cases[0])!r}.")
        return plot_region({name: _polytope.polygon(d[row]) for name, d in above.items()}, self.classes, ax)

    def _above(self, new_scores: Any) -> tuple[np.ndarray, dict[str, Float[np.ndarray, "case class"]]]:
        """Scores less the threshold."""
        limits = {str(name): float(limit) for name, limit in self.threshold.to_series().items()}
        cases, predictions = read_new(new_scores, list(limits), self.classes, self.logits)
        above = {}
        for name, values in predictions.items():
            scores = self.score.of(values)
            # Without a threshold every distribution is in the region, as if all scores were above it.
            above[name] = np.ones(scores.shape) if limits[name] == -np.inf else scores - limits[name]
        return cases, above

    def _answers(self, new_scores: Any, question: Callable[[np.ndarray], np.ndarray], **more: Any) -> xr.DataArray:
        """Answers to a question of the scores less the threshold, by classifier and case."""
        cases, above = self._above(new_scores)
        coords = {"classifier": list(above), "case": cases, **more}
        return xr.DataArray(np.stack([question(d) for d in above.values()]), dims=tuple(coords), coords=coords)


def _means(score: Score, values: Float[np.ndarray, "case class"], weights: Weights) -> Float[np.ndarray, " case"]:
    """Mean score of each case by its weights."""
    means = np.empty(len(values))
    for cases in ranges_of(*values.shape):
        scores = score.of(np.asarray(values[cases], np.float64))
        case, atom, weight = weights.range(cases).atoms(scores)
        means[cases] = np.bincount(case, atom * weight, minlength=len(scores))
    return means
