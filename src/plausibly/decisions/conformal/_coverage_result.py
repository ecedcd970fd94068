"""Coverage of sets over repeated splits: tables, and what they say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.base.bootstrap import interval, resampled_means
from plausibly.base.names import figures, listed
from plausibly.base.shown import Shown
from plausibly.decisions.conformal._calibrate import Prior

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = ("vote", "annotator", "plausibility")
_KEYS = ["alpha", "classifier", "target", "group"]


@dataclass(frozen=True, eq=False, repr=False)
class Coverage(Shown, kind="conformal"):
    """Coverage of sets over repeated splits.

    Made by :func:`plausibly.conformal_coverage`. With ``loss="risk"``, the expected risk level of missed answers takes
    the place of coverage.

    Attributes
    ----------
    splits
        One row per alpha, classifier, target (that sets are calibrated for), group and split: the numbers of
        calibration cases (``n``) and test cases (``n_tested``), the coverage of each target (``vote``, ``annotator``
        and ``plausibility``), and the mean ``size`` of the sets. The group ``"all"`` contains all cases.
    table
        Means over splits, with ``_lower`` and ``_upper`` ends of the central interval over splits.
    by_draw
        (alpha, classifier, target, draw) coverage of each draw of the plausibilities, averaged over splits. The spread
        over draws shows how uncertain the coverage is. None without a posterior.
    fit
        By alpha, classifier and target: coverage of the plausibilities minus coverage of the annotators' choices
        (``difference``), with an interval from a bootstrap over cases. None without a posterior.
    measures, loss, ci_prob, posterior_model
        Targets whose coverage was measured, the loss, the probability of the intervals, and the aggregation model
        (empty without a posterior).
    prior
        As for :class:`plausibly.conformal.Conformal`, at the first level.
    """

    splits: pd.DataFrame
    table: pd.DataFrame
    by_draw: xr.DataArray | None
    fit: pd.DataFrame | None
    measures: tuple[str, ...]
    loss: str | None
    ci_prob: float
    posterior_model: str
    prior: Prior | None = None

    def verdict(self) -> str:
        """State :attr:`headline`, and whether the prior makes sets large."""
        return " ".join(filter(None, (self.headline, self.prior.told if self.prior is not None else "")))

    @property
    def headline(self) -> str:
        """How often sets contain annotators' choices at the first level, and whether the model fits these."""
        table = self.table.loc[(self.table["group"] == "all") & (self.table["alpha"] == self.table["alpha"].iloc[0])]
        first = table["classifier"].iloc[0]
        own = table.loc[table["classifier"] == first].set_index("target")
        alpha = float(self.table["alpha"].iloc[0])
        if self.loss:
            told = [
                f"{row['annotator']:.3f} if calibrated on {_name(str(target))} (mean size {row['size']:.1f})"
                for target, row in own.iterrows()
            ]
            return (
                f"Measured on annotators' first choices, the expected risk level that sets of {first} miss is "
                f"{', '.join(told)}; at most {alpha:g} is allowed."
            )
        told = [
            f"in {_percent(row['annotator'])}{' of cases' if not at else ''} if calibrated on {_name(str(target))} "
            f"(mean size {row['size']:.1f})"
            for at, (target, row) in enumerate(own.iterrows())
        ]
        text = (
            f"In cases on which they were not calibrated, sets of {first} that may miss {_percent(alpha)} contain an "
            f"annotator's first choice {listed(told)}."
        )
        return text if self.fit is None else f"{text} {self._fit()}"

    def plot(self) -> "Figure":
        """Draw the coverage by target, and the size of the sets."""
        from plausibly.app.plots.decisions import plot_coverage

        return plot_coverage(self)

    def _fit(self) -> str:
        assert self.fit is not None
        order = [name for name in ("annotator", "plausibility", "vote") if name in set(self.fit["target"])]
        row = self.fit[self.fit["target"] == order[0]].iloc[0]
        points = abs(100 * row["difference"])
        model, on = self.posterior_model or "the aggregation model", f"calibrated on {_name(order[0])}"
        if points < 0.05 or row["lower"] <= 0 <= row["upper"]:
            ends = f"{100 * row['lower']:+.1f} to {100 * row['upper']:+.1f}"
            return (
                f"Sets {on} cover the plausibilities under {model} about as often as annotators' choices (difference "
                f"{ends} points)."
            )
        more = "more" if row["difference"] > 0 else "less"
        ends = " to ".join(f"{100 * end:.1f}" for end in sorted(abs(row[["lower", "upper"]])))
        return (
            f"Sets {on} cover {points:.1f} points ({ends}) {more} of the plausibilities under {model} than of the "
            "annotators' choices."
        )


def means_over_splits(splits: pd.DataFrame, measures: Sequence[str], ci_prob: float) -> pd.DataFrame:
    """Means over splits, with the central interval over splits, by level, classifier, target and group."""
    rows = []
    for keys, part in splits.groupby(_KEYS, sort=False):
        row = dict(zip(_KEYS, keys, strict=True)) | {"n": part["n"].mean()}
        for name in (*measures, "size"):
            values = part[name].dropna().to_numpy()
            lower, upper = interval(values, ci_prob)
            mean = values.mean() if len(values) else np.nan
            row |= {name: mean, f"{name}_lower": float(lower), f"{name}_upper": float(upper)}
        rows.append(row)
    return pd.DataFrame(rows).sort_values("alpha", kind="stable", ignore_index=True)


def fit_of(
    differences: Mapping[tuple[float, str, str], np.ndarray], replicates: int, seed: int, ci_prob: float
) -> pd.DataFrame:
    """Mean difference between coverages over cases, with its interval, by level, classifier and target."""
    values = np.stack(list(differences.values()))
    lower, upper = interval(resampled_means(values, replicates, seed).T, ci_prob)
    table = pd.DataFrame(list(differences), columns=["alpha", "classifier", "target"])
    return table.assign(difference=values.mean(axis=1), lower=lower, upper=upper)


def _percent(share: float) -> str:
    return f"{figures(100 * share, 3)} %"


def _name(target: str) -> str:
    """The target in words."""
    names = {"vote": "the vote", "annotator": "annotators' choices"}
    return names.get(target, "answers drawn from the plausibilities")
