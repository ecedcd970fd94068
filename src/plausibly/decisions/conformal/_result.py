"""What a calibration finds, and the sets that follow from it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Bool, Float, Int

from plausibly.base.bootstrap import CI_PROB, interval
from plausibly.base.errors import ArgumentError
from plausibly.base.random_streams import Stream
from plausibly.base.shown import Shown
from plausibly.data.groups import check_clusters
from plausibly.decisions.conformal._calibrate import Prior, shares_of
from plausibly.decisions.conformal._curve import Curve
from plausibly.decisions.conformal._inputs import read_new
from plausibly.decisions.conformal._scores import ALL, Grouping, Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WHOM = {
    "plausibility": "a class drawn from its plausibilities",
    "annotator": "the first choice of the next annotator",
    "vote": "the class with the most votes",
}
EVERY = "every class is in every set"

_Scored = Mapping[str, tuple[Float[np.ndarray, "case class"], Int[np.ndarray, " case"]]]


@dataclass(frozen=True, eq=False, repr=False)
class Conformal(Shown, kind="conformal"):
    """Calibrated classifiers, which predict sets of classes.

    Made by :func:`plausibly.conformal`.

    Attributes
    ----------
    alpha
        Largest share that sets may miss on average: a probability or, with ``loss="risk"``, an expected risk level.
    target, loss, samples, random_threshold, seed
        Arguments of :func:`plausibly.conformal`.
    classes
        Names of the classes.
    n_cases
        (classifier, group) number of calibration cases.
    threshold
        (classifier, group): a class is in the set if its score is at least this. Minus infinity if there are too few
        cases, so that every class is in every set; infinity if even the empty set is safe enough.
    keep
        (classifier, group) probability of keeping a class whose score equals the threshold; 1 unless randomised.
    threshold_by_draw
        (classifier, group, draw) threshold if this draw of the plausibilities were the truth; None unless asked for.
    mean_size
        (classifier, group) mean size of the sets of the calibration cases.
    score
        Score, with its parameters.
    curves
        Losses of the calibration cases, by classifier and group.
    grouping
        Rule that assigns cases to groups.
    prior
        Share of the prior in the plausibilities, and the mean size that sets have at least because of it (``share``,
        ``least``); None for other targets, for a loss, and where the share is unknown.
    learned
        Whether the plausibilities of a calibration case depend on the annotations of the others, for example through a
        prior that was learned from them, so that the guarantee is approximate.
    logits
        Names of the classifiers whose predictions are logits.
    """

    alpha: float
    target: str
    loss: str | None
    samples: int | None
    random_threshold: bool
    seed: int
    classes: np.ndarray
    n_cases: xr.DataArray
    threshold: xr.DataArray
    keep: xr.DataArray
    threshold_by_draw: xr.DataArray | None
    mean_size: xr.DataArray
    score: Score
    curves: Mapping[tuple[str, str], Curve]
    grouping: Grouping
    prior: Prior | None = None
    learned: bool = False
    logits: tuple[str, ...] = ()

    @property
    def classifiers(self) -> list[str]:
        """Names of the classifiers."""
        return self.threshold["classifier"].values.tolist()

    @property
    def groups(self) -> list[str]:
        """Names of the groups; ``["all"]`` without groups."""
        return list(self.grouping.names)

    def predict(self, new_scores: Any, by: Any = None) -> xr.DataArray:
        """Predict the set of each new case.

        Parameters
        ----------
        new_scores
            Predictions of the new cases by classifier, in any form that :func:`plausibly.conformal` accepts; for a
            single classifier, its predictions alone.
        by
            Group of each new case, if groups were given as a column.

        Returns
        -------
        xarray.DataArray
            Boolean (classifier, case, class): whether a class is in the set.

        Raises
        ------
        ArgumentError
            If a classifier was not calibrated, or groups are missing or unknown.
        PredictionError
            If predictions do not match each other or the classes, or are not finite.
        """
        cases, scored = self._scored(new_scores, by)
        return self._labelled(self._sets(cases, scored), scored, cases)

    def _sets(self, cases: np.ndarray, scored: _Scored) -> list[Bool[np.ndarray, "case class"]]:
        """Classes in the sets, by classifier."""
        sets = []
        for name, (scores, group) in scored.items():
            at = self.classifiers.index(name)
            threshold, keep = (values.values[at][group][:, None] for values in (self.threshold, self.keep))
            kept = scores >= threshold
            if (keep < 1).any():
                shares = shares_of(cases, self.seed, Stream.AT_THRESHOLD)
                kept &= (scores > threshold) | (shares[:, None] < keep)
            sets.append(kept)
        return sets

    def p_values(self, new_scores: Any, by: Any = None) -> xr.DataArray:
        """Compute how unusual each class would be, as a p-value.

        The set at any ``alpha`` consists of the classes with a p-value above ``alpha``. The p-value of a class drawn
        from the plausibilities of a new case (or from another target) is at most ``a`` with a probability of at most
        ``a``.

        Parameters
        ----------
        new_scores, by
            As for :meth:`predict`.

        Returns
        -------
        xarray.DataArray
            (classifier, case, class), from 1 / (n + 1) to 1.

        Raises
        ------
        ArgumentError
            As for :meth:`predict`; or if the loss is the risk, for which there are no p-values.
        PredictionError
            As for :meth:`predict`.
        """
        if self.loss is not None:
            raise ArgumentError('loss="risk" bounds an expected risk, which has no p-values: calibrate without loss.')
        cases, scored = self._scored(new_scores, by)
        p_values = []
        for name, (scores, group) in scored.items():
            p_values.append(np.empty(scores.shape))
            for number, label in enumerate(self.groups):
                inside = group == number
                p_values[-1][inside] = self.curves[name, label].p_values(scores[inside])
        return self._labelled(p_values, scored, cases)

    def table(self, new_scores: Any, by: Any = None) -> pd.DataFrame:
        """Tabulate the sets of new cases.

        Parameters
        ----------
        new_scores, by
            As for :meth:`predict`.

        Returns
        -------
        pandas.DataFrame
            One row per case and classifier: ``case``, ``classifier``, ``classes`` (names of the classes in the set,
            best first), ``size`` and, with groups, ``group``.
        """
        cases, scored = self._scored(new_scores, by)
        rows = []
        for (name, (scores, group)), inside in zip(scored.items(), self._sets(cases, scored), strict=True):
            order = np.argsort(-scores, axis=1, kind="stable")
            for row, case in enumerate(cases):
                chosen = tuple(str(self.classes[k]) for k in order[row] if inside[row, k])
                rows.append((str(case), name, chosen, len(chosen), self.groups[group[row]]))
        table = pd.DataFrame(rows, columns=["case", "classifier", "classes", "size", "group"])
        return table.drop(columns="group") if self.groups == [ALL] else table

    def summary(self, ci_prob: float = CI_PROB) -> pd.DataFrame:
        """Tabulate classifiers and groups.

        Parameters
        ----------
        ci_prob
            Probability of the interval over draws.

        Returns
        -------
        pandas.DataFrame
            ``classifier``, ``group``, ``n`` (calibration cases), ``threshold``, the ``lower`` and ``upper`` end of its
            interval over draws (NaN without draws), ``mean_size`` of the sets of the calibration cases, ``guaranteed``
            (the coverage or, with ``loss="risk"``, the expected risk), and ``note``, which says if every class is in
            every set.
        """
        table = self.threshold.to_series().rename("threshold").reset_index()
        table.insert(2, "n", self.n_cases.values.ravel())
        bounds = np.full((2, len(table)), np.nan)
        if self.threshold_by_draw is not None:
            draws = self.threshold_by_draw.values.reshape(len(table), -1).T
            bounds = np.stack(interval(draws, ci_prob))
        table["lower"], table["upper"] = bounds
        table["mean_size"] = self.mean_size.values.ravel()
        table["guaranteed"] = self.alpha if self.loss else 1 - self.alpha
        full = (table["threshold"] == -np.inf) | (table["mean_size"] == max(len(self.classes), 2))
        table["note"] = np.where(full, EVERY, "")
        return table

    def guarantee(self) -> str:
        """State the guarantee in a sentence."""
        whom, n_cases = _WHOM[self.target], int(self.n_cases.values[0].sum())
        where = "" if self.groups == [ALL] else ", in each group"
        told = f"For a new case of the same kind as the {n_cases:,} calibration cases{where}, "
        if self.loss:
            most = "about" if self.learned else "at most"
            return f"{told}what a set misses of {whom} has an expected risk level of {most} {self.alpha:g}."
        least = "about" if self.learned else "at least"
        return f"{told}a set contains {whom} with a probability of {least} {1 - self.alpha:g}."

    def verdict(self) -> str:
        """State the guarantee, which sets are useless, and whether that is due to the prior."""
        return " ".join(filter(None, (self.headline, self.prior.told if self.prior is not None else "")))

    @property
    def headline(self) -> str:
        """The guarantee, and which sets are useless."""
        table = self.summary()
        useless = table[table["note"] != ""]
        told = self.guarantee()
        if len(useless):
            first = useless.iloc[0]
            named = "" if self.groups == [ALL] else f" in the group {first['group']!r} ({first['n']} cases)"
            if first["threshold"] == -np.inf:
                told += f" There are too few cases{named}: {EVERY}."
            else:
                told += f" For classifier {first['classifier']}{named}, {EVERY}, which is more than was asked."
        if self.learned:
            told += (
                " It is not exact, because plausibilities of calibration cases were learned from each other; that of "
                'target="annotator" (--target annotator) is.'
            )
        return told

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the guaranteed coverage against the threshold, and mark the chosen thresholds."""
        from plausibly.app.plots.decisions import plot_thresholds

        return plot_thresholds(self, ax)

    def _scored(self, new_scores: Any, by: Any) -> tuple[np.ndarray, _Scored]:
        """Names of new cases, and by classifier their scores and the position of the group of each."""
        cases, predictions = read_new(new_scores, self.classifiers, self.classes, self.logits)
        of_column = self.grouping.function is None
        if by is not None and not of_column:
            raise ArgumentError(
                "groups of new cases are asked for only where calibration cases had a column of groups: leave by= out."
            )
        if by is None and of_column:
            raise ArgumentError("calibration cases had groups given as a column, so new cases need theirs: pass by=….")
        column = check_clusters(by, cases, "group") if of_column else None
        shares = shares_of(cases, self.seed, Stream.NEW_SHARES) if self.score.randomised else None
        scored = {
            name: (self.score.of(values, shares), self.grouping.of(values, column))
            for name, values in predictions.items()
        }
        return cases, scored

    def _labelled(self, values: list[np.ndarray], names: Iterable[str], cases: np.ndarray) -> xr.DataArray:
        coords = {"classifier": list(names), "case": cases, "class": self.classes}
        return xr.DataArray(np.stack(values), dims=tuple(coords), coords=coords)
