"""What comes of a comparison of models: sums of log probabilities, their errors, weights and a verdict."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float
from scipy.optimize import LinearConstraint, minimize

from plausibly.aggregation.model_comparison._left_out import K_HAT, LeftOut
from plausibly.base.names import listed, many
from plausibly.base.shown import Shown
from plausibly.data.annotations import Annotations

SMALLEST = 4.0  #: differences below it are small whatever their standard error (Sivula et al. 2020)

BEST, SAME, WORSE, UNKNOWN = "best", "no difference", "worse", "unknown"
BASELINE = "class frequencies of the other cases"  #: row of predictions that look at nothing of a case


@dataclass(frozen=True, repr=False)
class Comparison(Shown, kind="models"):
    """Result of :func:`plausibly.compare_models`."""

    table: pd.DataFrame  #: one row per model, best first, with the columns that :func:`plausibly.compare_models` lists
    #: by model and annotation: ``elpd``, the log probability of what is left out; ``in_sample``, the same with nothing
    #: left out; ``error``, its Monte Carlo standard error; ``k_hat`` of importance sampling (NaN where none was tried);
    #: ``refitted``; ``converged``. Coordinates ``case`` and ``annotator``; the attributes say what was predicted
    pointwise: xr.Dataset

    @classmethod
    def of(cls, annotations: Annotations, found: dict[str, LeftOut], **attrs: object) -> "Comparison":
        """Combine the results of all models."""
        case = annotations.annotation_case
        columns = {name: [getattr(one, name) for one in found.values()] for name in LeftOut.__dataclass_fields__}
        pointwise = xr.Dataset(
            {name: (("model", "annotation"), np.stack(values)) for name, values in columns.items()},
            coords={
                "model": list(found),
                "case": ("annotation", annotations.cases[case]),
                "annotator": ("annotation", annotations.annotators[annotations.annotation_annotator]),
            },
            attrs=attrs,
        )
        return cls(summarise(pointwise, case), pointwise)

    def verdict(self) -> str:
        """Say which model predicts best, if one does, and which others predict equally well: headline and notes.

        If the class frequencies of the other cases are first, that is the first sentence.

        Examples
        --------
        >>> annotations = Annotations.from_counts([[3, 1], [1, 3], [4, 0], [0, 4]])
        >>> print(pb.compare_models(annotations, {"dirichlet-categorical": (0.1, 1)}, progress=False).verdict())
        No model can be called best yet: dirichlet-categorical@1 has the highest log probability (-8.1), and does not \
clearly differ from dirichlet-categorical@0.1 and class frequencies of the other cases. Report results under each of \
them; more annotations may show which is better.
        """
        return " ".join([self.headline, *self.notes])

    @property
    def headline(self) -> str:
        """Which model predicts left-out annotations best, or which do not differ; the table has the differences."""
        table = self.table
        best, elpd = str(table.index[0]), table["elpd"].iloc[0]
        if not np.isfinite(elpd):
            return (
                "No model can be preferred: each gives probability zero to an annotation that was made. Give one a "
                "prior for unnamed classes."
            )
        equal, same, worse, unknown = self._others
        them, probability = listed([best, *equal]), f"log probability {elpd:.1f}"
        if equal:
            told = f"{them} predict left-out annotations equally well ({probability})"
        elif best == BASELINE:
            told = (
                f"No model predicts left-out annotations better than the {best} ({probability}), which look at nothing "
                "of a case: do not choose a model by this"
            )
        elif table["verdict"].iloc[0] != BEST:
            told = f"No model can be called best yet: {best} has the highest log probability ({elpd:.1f})"
        else:
            told = f"{best} predicts left-out annotations best ({probability})"
        several = bool(equal) or best == BASELINE
        if same:
            told += f", and {'do' if several else 'does'} not clearly differ from {listed(same)}"
        if worse and (same or equal):
            told += f". {'They predict' if several else 'It predicts'} better than {listed(worse)}"
        if unknown:
            told += f". Nothing can be said about {listed(unknown)}"
        return f"{told}."

    @property
    def _others(self) -> tuple[list[str], ...]:
        """Models that equal the first, do not clearly differ from it, are worse, and of which nothing can be said."""
        others = self.table.iloc[1:]
        equal = others["elpd_diff"] == 0
        groups = (equal, *(~equal & (others["verdict"] == one) for one in (SAME, WORSE, UNKNOWN)))
        return tuple([str(name) for name in others.index[chosen]] for chosen in groups)

    @property
    def notes(self) -> list[str]:
        """What to do, and what limits the comparison, the gravest first."""
        table, told = self.table, []
        if not np.isfinite(table["elpd"].iloc[0]):
            return []
        if table["warning"].any():
            names = ", ".join(table.index[table["warning"]])
            told.append(f"Chains of {names} did not converge: use more draws before you rely on the ranking.")
        equal, same, _, unknown = self._others
        if same:
            told.append("Report results under each of them; more annotations may show which is better.")
        elif equal:
            told.append("Report results under each of them.")
        elif unknown:
            told.append("Differences need at least two cases: give more cases.")
        if borrowing := self.pointwise.attrs.get("left_out_cases"):
            told.append(f"What cases share, for {borrowing}, was learned without the cases that it predicts (5 folds).")
        if table["weight"].iloc[0] == 0:
            told.append(
                f"{table.index[0]} has no weight in the best mixture of models, most of which is "
                f"{table['weight'].idxmax()}: take the former as one model, the weights to average several."
            )
        if failed := int(table["k_high"].sum()):
            others = int(table["refits"].sum()) - failed
            more = f", as were {others:,} for which it cannot be used" if others else ""
            told.append(
                f"Importance sampling failed (k-hat above {K_HAT:g}) for {many(failed, 'left-out annotation')}, which "
                f"{'was' if failed == 1 else 'were'} predicted by sampling again{more}: all scores can be trusted."
            )
        return told


def summarise(pointwise: xr.Dataset, case: np.ndarray) -> pd.DataFrame:
    """Sum up log probabilities by model; ``case`` numbers the case of each annotation."""
    elpd, in_sample = pointwise["elpd"].values, pointwise["in_sample"].values
    total = elpd.sum(1)
    impossible = np.isneginf(elpd).sum(1)
    # Those that find something impossible come last, and first among them those that do so least.
    order = np.lexsort((-np.where(np.isneginf(elpd), 0, elpd).sum(1), impossible))
    by_case = np.stack([np.bincount(case, row) for row in elpd])
    error = np.sqrt((pointwise["error"].values ** 2).sum(1))
    best, rows = order[0], []
    for rank, i in enumerate(order):
        difference = dse = both = 0.0
        if i != best:
            with np.errstate(invalid="ignore"):
                difference, dse = total[best] - total[i], _spread(by_case[best] - by_case[i])
            both = np.hypot(dse, np.hypot(error[best], error[i]))
        rows.append(
            {
                "rank": rank,
                "elpd": total[i],
                "p": in_sample[i].sum() - total[i] if np.isfinite(total[i]) else np.nan,
                "elpd_diff": difference,
                "weight": np.nan,
                "se": _spread(by_case[i]),
                "dse": dse,
                "warning": not pointwise["converged"].values[i].all(),
                "scale": "log",
                "error": error[i],
                "impossible": int(impossible[i]),
                "k_high": int((pointwise["k_hat"].values[i] > K_HAT).sum()),
                "refits": int(pointwise["refitted"].values[i].sum()),
                "verdict": BEST if i == best else _verdict(difference, both, impossible[best]),
            }
        )
    table = pd.DataFrame(rows, index=pd.Index([str(pointwise["model"].values[i]) for i in order], name="model"))
    table["weight"] = stacking(elpd[order])
    others = table["verdict"].iloc[1:]
    if (others != WORSE).any():  # then none is the best
        table.loc[table.index[0], "verdict"] = SAME if (others == SAME).any() else UNKNOWN
    return table


def _verdict(difference: float, error: float, impossible: int) -> str:
    if impossible:
        return UNKNOWN
    if np.isinf(difference):
        return WORSE
    if np.isnan(error):
        return UNKNOWN
    return WORSE if difference > max(2 * error, SMALLEST) else SAME


def _spread(by_case: Float[np.ndarray, " case"]) -> float:
    """Standard error of a sum over cases, NaN where a single case says nothing of others."""
    if len(by_case) < 2 or not np.isfinite(by_case).all():
        return np.nan
    return float(np.sqrt(len(by_case)) * by_case.std(ddof=1))


def stacking(elpd: Float[np.ndarray, "model annotation"]) -> Float[np.ndarray, " model"]:
    """Weights of the mixture of predictive distributions that gives annotations left out most probability.

    What all models find impossible says nothing about the weights.
    """
    most = elpd.max(0)
    known = np.isfinite(most)
    n = len(elpd)
    if not known.any():
        return np.full(n, 1 / n)
    p = np.exp(elpd[:, known] - most[known])

    def loss(weight):
        mixed = np.maximum(weight @ p, 1e-300)
        return -np.log(mixed).mean(), -(p / mixed).mean(1)

    sums_to_one = LinearConstraint(np.ones(n), 1, 1)
    start, bounds = np.full(n, 1 / n), [(0, 1)] * n
    found = minimize(loss, start, jac=True, method="SLSQP", bounds=bounds, constraints=sums_to_one)
    weight = np.where(found.x > 1e-9, found.x, 0)  # An optimiser's zeros are not quite zero.
    return weight / weight.sum()
