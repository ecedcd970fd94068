"""What comes of a comparison of models: sums of log probabilities, their errors, weights and a verdict."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float
from scipy.optimize import LinearConstraint, minimize

from plausibly.aggregation.model_comparison._left_out import K_HAT, LeftOut
from plausibly.base.names import listed, many
from plausibly.data.annotations import Annotations

SMALLEST = 4.0  #: differences below it are small whatever their standard error (Sivula et al. 2020)

BEST, SAME, WORSE, UNKNOWN = "best", "no difference", "worse", "unknown"
BASELINE = "class frequencies of the other cases"  #: row of predictions that look at nothing of a case


@dataclass(frozen=True, repr=False)
class Comparison:
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

    def __repr__(self) -> str:
        return f"{self.table.round(3).to_string()}\n{self.verdict()}"

    def verdict(self) -> str:
        """Say in a sentence which model predicts best, if one does, and which others predict equally well.

        If the class frequencies of the other cases are first, that is the first sentence.

        Examples
        --------
        >>> annotations = Annotations.from_counts([[3, 1], [1, 3], [4, 0], [0, 4]])
        >>> print(pb.compare_models(annotations, {"dirichlet-categorical": (0.1, 1)}, progress=False).verdict())
        No model can be called best yet: dirichlet-categorical@1 has the highest elpd (-8.1). It does not clearly \
differ from dirichlet-categorical@0.1 (2.1 ± 2.0) and class frequencies of the other cases (6.7 ± 3.9). Where models \
do not clearly differ, report results under each; more annotations may show which is better.
        """
        table = self.table
        best, elpd = str(table.index[0]), table["elpd"].iloc[0]
        if not np.isfinite(elpd):
            return (
                "No model can be preferred: each gives probability zero to an annotation that was made. Give one a "
                "prior for unnamed classes."
            )
        others = table.iloc[1:]
        equal = [str(name) for name in others.index[others["elpd_diff"] == 0]]
        others = others.drop(index=equal)

        def named(what: str, by: str = "") -> str:
            chosen = others[others["verdict"] == what]
            return listed(
                [
                    f"{name} ({by}{row['elpd_diff']:.1f} ± {row['dse']:.1f})"
                    if np.isfinite(row["elpd_diff"])
                    else f"{name} (which finds {row['impossible']} annotations impossible)"
                    for name, row in chosen.iterrows()
                ],
                most=len(chosen),
            )

        it, does, predicts = "It", "does", "predicts"
        parts = [f"{best} predicts left-out annotations best (elpd {elpd:.1f})"]
        if best == BASELINE:
            parts = [
                f"No model predicts left-out annotations better than the {best} (elpd {elpd:.1f}), which look at "
                "nothing of a case: do not choose a model by this"
            ]
            it, does, predicts = "They", "do", "predict"
        elif table["verdict"].iloc[0] != BEST:
            parts = [f"No model can be called best yet: {best} has the highest elpd ({elpd:.1f})"]
        if equal:
            parts = [f"{listed([best, *equal])} predict left-out annotations equally well (elpd {elpd:.1f})"]
            it, does, predicts = "They", "do", "predict"
        if same := named(SAME):
            parts.append(f"{it} {does} not clearly differ from {same}")
        if worse := named(WORSE, "by "):
            parts.append(f"{it} {predicts} better than {worse}")
        if unknown := list(others.index[others["verdict"] == UNKNOWN]):
            parts.append(f"Nothing can be said about {listed(unknown)}")
        said = ". ".join(parts) + "."
        if same:
            said += (
                " Where models do not clearly differ, report results under each; more annotations may show which is "
                "better."
            )
        elif equal:
            said += " Report results under each."
        elif unknown:
            said += " Differences need at least two cases: give more cases."
        if borrowing := self.pointwise.attrs.get("left_out_cases"):
            said += f" Shared parameters of {borrowing} were estimated without the cases that they predict (5 folds)."
        if table["weight"].iloc[0] == 0:
            leading = str(table["weight"].idxmax())
            said += (
                f" {table.index[0]} has no weight in the best mixture, to which {leading} contributes most, since the "
                f"other models together predict as well. Choose {table.index[0]} if you want one model, the weights if "
                "you average several."
            )
        if table["warning"].any():
            names = ", ".join(table.index[table["warning"]])
            said += f" Chains of {names} did not converge: use more draws before you rely on the ranking."
        if failed := int(table["k_high"].sum()):
            others = int(table["refits"].sum()) - failed
            more = f", as were {others:,} for which it cannot be used" if others else ""
            said += (
                f" Importance sampling failed (k-hat above {K_HAT:g}) for {many(failed, 'left-out annotation')}, which "
                f"{'was' if failed == 1 else 'were'} predicted by sampling again{more}: all scores can be trusted."
            )
        return said


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
