"""Aggregation models ranked by how well they predict annotations that are left out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float
from scipy.optimize import LinearConstraint, minimize

from plausibly._memory import release_memory
from plausibly.aggregation import settle, takes
from plausibly.annotations import Annotations
from plausibly.annotations._names import _show
from plausibly.errors import ArgumentError
from plausibly.inference import nested_cases
from plausibly.model_comparison._folds import Folds
from plausibly.model_comparison._left_out import K_HAT, Candidate, Scores, score
from plausibly.random_streams import check_seed
from plausibly.sweeps import reliabilities, run_label

OBSERVATIONS = ("first", "ranking")
METHODS = ("auto", "refit")
_GIBBS_UP_TO = 10  # Beyond, its sweeps mix too slowly.
SMALLEST = 4.0  #: differences below it are small whatever their standard error (Sivula et al. 2020)

BEST, SAME, WORSE, UNKNOWN = "best", "no difference", "worse", "unknown"

Wanted = Sequence[float] | None | Mapping[str, Any]


class Comparison(pd.DataFrame):
    """The table of :func:`compare`, and what it is made of.

    A data frame like any other, with the models as its index and the columns that :func:`compare` lists. Selecting
    from it keeps the attributes below.

    Attributes
    ----------
    pointwise : xarray.Dataset
        By model and annotation: ``elpd``, the log probability of what is left out; ``in_sample``, the same with nothing
        left out; ``error``, its Monte Carlo standard error; ``k_hat`` of importance sampling (NaN where none was
        tried); ``refitted``; ``converged``. Coordinates ``case`` and ``annotator``. Attributes: what was scored.
    """

    _metadata = ["pointwise"]

    pointwise: xr.Dataset

    @property
    def _constructor(self) -> Callable[..., "Comparison"]:
        return Comparison

    def verdict(self) -> str:
        """Say in a sentence which model predicts best, and from which others it does not differ.

        Examples
        --------
        >>> annotations = Annotations.from_counts([[3, 1], [1, 3], [4, 0], [0, 4]])
        >>> print(compare(annotations, {"dirichlet-categorical": (0.1, 1)}, progress=False).verdict())
        dirichlet-categorical@1 predicts annotations that are left out best (elpd -8.1); no difference from \
dirichlet-categorical@0.1 (by 2.1 ± 2.0).
        """
        best = str(self.index[0])
        if not np.isfinite(self["elpd"].iloc[0]):
            return (
                "No model can be preferred: each gives probability zero to an annotation that was made. Give one a "
                "prior for classes that nobody else named."
            )
        others = self.iloc[1:]

        def named(what: str) -> str:
            chosen = others[others["verdict"] == what]
            return ", ".join(
                f"{name} (by {row['elpd_diff']:.1f} ± {row['dse']:.1f})"
                if np.isfinite(row["elpd_diff"])
                else f"{name} (which finds {int(row['impossible'])} annotations impossible)"
                for name, row in chosen.iterrows()
            )

        parts = [f"{best} predicts annotations that are left out best (elpd {self['elpd'].iloc[0]:.1f})"]
        if same := named(SAME):
            parts.append(f"no difference from {same}")
        if worse := named(WORSE):
            parts.append(f"better than {worse}")
        if unknown := list(others.index[others["verdict"] == UNKNOWN]):
            parts.append(f"nothing can be said of {', '.join(unknown)}")
        return "; ".join(parts) + "."


def compare(
    annotations: Annotations,
    models: Mapping[str | Callable[..., None], Wanted],
    *,
    observation: Literal["first", "ranking"] = "first",
    folds: int | None = None,
    method: Literal["auto", "refit"] = "auto",
    ties: Literal["split", "full"] | None = None,
    mode: Literal["power", "temper"] | None = None,
    unranked: Literal["lumped", "exact", "ignore"] | None = None,
    concentration: float | None = None,
    draws: int | None = None,
    chains: int | None = None,
    warmup: int | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Comparison:
    r"""Compare aggregation models by the annotations that each predicts from the others of their case.

    Every annotation is left out once. What a model learns from the others of its case is a posterior over
    plausibilities, and its score is the logarithm of the probability that this posterior gives to what was left out:
    :math:`\log E[\sum_{k \in b_1} \lambda_k]`, that the annotator's first choice lies in her first block :math:`b_1`.
    Every model has this probability, whatever it takes an annotation for, so all are scored on the same observation.

    Parameters
    ----------
    annotations
        N cases over K classes.
    models
        Reliabilities by model, such as ``{"plackett-luce": (1, 3, 10), "prirn": (10, 30, 100), "irn": None}``, as for
        :func:`plausibly.sweep`: that is how a reliability is chosen by held-out density. Or, by any name, arguments of
        :func:`plausibly.aggregate`, such as ``{"sparse": {"model": "plackett-luce", "concentration": 0.1}}``.
    observation
        ``"first"``: the first block. ``"ranking"``: the whole partial ranking given the sizes of its blocks, which
        Plackett-Luce models alone have a probability for, and Dirichlet-categorical, whose labels are all there is.
    folds
        None to leave out one annotation at a time. A number K ≥ 2 deals the annotations of every case out to K folds
        and leaves out a fold at a time; each annotation is scored given the other folds. Cases are independent, so
        whole cases are never left out: nothing is learnt of a case from others.
    method
        Where a posterior is known by draws alone, as that of Plackett-Luce: ``"auto"`` reweights the draws given all
        annotations by Pareto-smoothed importance sampling, and samples anew, all such cases side by side, wherever
        k-hat is above 0.7 or nobody else named one of the annotation's classes; ``"refit"`` samples anew for each.
        The other models' posteriors without an annotation are known exactly.
    ties, mode, unranked, concentration, draws, chains, warmup
        As for :func:`plausibly.aggregate`; each goes to those of the models that have a use for it.
    seed
        Of all random numbers.
    progress
        Show bars.

    Returns
    -------
    Comparison
        A data frame with a row per model, best first, and the columns of ``arviz.compare``: ``rank`` from 0; ``elpd``,
        the sum of all scores, more is better; ``p``, by how much it falls short of the same with nothing left out, an
        effective number of parameters; ``elpd_diff`` from the best, not negative; ``weight`` in the mixture of the
        models that predicts best (stacking); ``se`` of ``elpd`` and ``dse`` of ``elpd_diff``; ``warning``, whether
        chains that a score rests on did not converge; ``scale``, ``"log"``. Further: ``error``, the Monte Carlo
        standard error of ``elpd``; ``impossible``, how many annotations the model gives probability zero; ``k_high``,
        how many had a k-hat above 0.7; ``refits``, how many scores are those of a refit; and ``verdict``:
        ``"best"``, ``"no difference"`` from it, or ``"worse"``.

    Raises
    ------
    ArgumentError
        If fewer than two models are given, one twice, one that answers another question, or an argument is out of
        range or of no use to any model.
    AnnotationError
        If annotations are not of the kind that a model takes.

    Notes
    -----
    Annotations of a case share its truth, so standard errors are over sums by case: :math:`\sqrt{N}` times the
    standard deviation of the N sums. There is a difference if ``elpd_diff`` exceeds twice its standard error (``dse``
    and the Monte Carlo errors together) and 4, below which models predict alike and the error is itself uncertain.

    A class that only the left-out annotation names belongs, without it, to the remainder: its probability is that of
    the remainder, which falls on its m classes alike. Models without a remainder (``unranked="ignore"``, PrIRN at
    concentration 0, point estimates) find it impossible: minus infinity, which is their answer. Where a case has one
    annotation only, the posterior without it is the prior, under which all classes are alike, and the score is that of
    a guess, :math:`\log |b_1| / K`, for every model: such cases change no difference.

    Scores rest on chains that converged, if they can: a case whose chains given all annotations did not is sampled anew
    without each of them, and where no more than a tenth of what is sampled anew fails the rule, that is repeated with
    four times the draws and twice the warm-up. What fails again, or more than a tenth, is marked by ``warning``.

    Under ``mode="temper"`` annotators choose by :math:`\lambda^\gamma`, and the score takes this for :math:`\lambda`.
    By ``"power"`` the posterior counts every annotation :math:`\gamma` times, which at :math:`\gamma \ne 1` is no
    probability of the data; what it predicts of an annotation left out still is one.

    References
    ----------
    Vehtari, Gelman & Gabry (2017), Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC;
    Vehtari, Simpson, Gelman, Yao & Gabry (2024), Pareto smoothed importance sampling; Yao, Vehtari, Simpson & Gelman
    (2018), Using stacking to average Bayesian predictive distributions; Sivula, Magnusson & Vehtari (2020),
    Uncertainty in Bayesian leave-one-out cross-validation based model comparison.

    Examples
    --------
    >>> annotations = Annotations.from_counts([[3, 1], [1, 3], [4, 0], [0, 4]])
    >>> found = compare(annotations, {"dirichlet-categorical": (0.1, 1), "majority-vote": None}, progress=False)
    >>> found["elpd"].astype(float).round(2).to_dict(), found["impossible"].tolist()
    ({'dirichlet-categorical@1': -8.07, 'dirichlet-categorical@0.1': -10.13, 'majority-vote': -inf}, [0, 0, 2])
    """
    given = {"ties": ties, "mode": mode, "unranked": unranked, "concentration": concentration}
    given |= {"draws": draws, "chains": chains, "warmup": warmup}
    plan = Comparing.of(annotations, models, observation=observation, folds=folds, method=method, seed=seed, **given)
    return plan.table(list(plan.scores(progress=progress)))


@dataclass(frozen=True)
class Comparing:
    """A comparison of which everything is checked, and nothing computed."""

    candidates: Sequence[Candidate]
    folds: Folds
    observation: str
    method: str
    n_folds: int | None
    seed: int

    @classmethod
    def of(
        cls,
        annotations: Annotations,
        models: Mapping[str | Callable[..., None], Wanted],
        *,
        observation: str = "first",
        folds: int | None = None,
        method: str = "auto",
        seed: int = 0,
        **given: Any,
    ) -> "Comparing":
        """Check; see :func:`compare`."""
        for name, value, known in (("observation", observation, OBSERVATIONS), ("method", method, METHODS)):
            if value not in known:
                raise ArgumentError(f"{name} must be one of {', '.join(known)}, but {value!r} was given.")
        if not isinstance(models, Mapping):
            raise ArgumentError(
                f"models must be a mapping to reliabilities, but {_show(models)} was given: write for example "
                '{"prirn": (10, 30), "irn": None}.'
            )
        candidates = list(_candidates(annotations, models, {k: v for k, v in given.items() if v is not None}, seed))
        for candidate in candidates:
            _check_question(candidate, observation)
        labels = [candidate.label for candidate in candidates]
        for label in labels:
            if labels.count(label) > 1:
                raise ArgumentError(f"{label} is asked for {labels.count(label)} times: ask for each model once.")
        if len(candidates) < 2:
            raise ArgumentError(
                f"a comparison needs two models, but {len(candidates) or 'none'} was given: add another, or another "
                "reliability of the same."
            )
        return cls(candidates, Folds.of(annotations, folds, check_seed(seed)), observation, method, folds, int(seed))

    @property
    def labels(self) -> list[str]:
        """Of all models."""
        return [candidate.label for candidate in self.candidates]

    def scores(
        self, *, progress: bool = True, before: Callable[[int, str], None] = lambda number, label: None
    ) -> Iterator[Scores]:
        """Score all annotations by one model after the other.

        Parameters
        ----------
        progress
            Show bars.
        before
            Called with the number and the label of each model when it begins.
        """
        for number, candidate in enumerate(self.candidates):
            before(number, candidate.label)
            yield score(
                candidate,
                self.folds,
                of_rankings=self.observation == "ranking",
                importance=self.method == "auto" and self.n_folds is None,
                seed=self.seed,
                progress=progress,
            )
            release_memory()

    def table(self, scores: Sequence[Scores]) -> Comparison:
        """Put the scores of all models into the table."""
        annotations = self.folds.annotations
        case = annotations.annotation_case
        columns = {
            "elpd": [s.log_score for s in scores],
            "in_sample": [s.in_sample for s in scores],
            "error": [s.error for s in scores],
            "k_hat": [s.k_hat for s in scores],
            "refitted": [s.refitted for s in scores],
            "converged": [s.converged for s in scores],
        }
        pointwise = xr.Dataset(
            {name: (("model", "annotation"), np.stack(values)) for name, values in columns.items()},
            coords={
                "model": self.labels,
                "case": ("annotation", annotations.cases[case]),
                "annotator": ("annotation", annotations.annotators[annotations.annotation_annotator]),
            },
            attrs={"observation": self.observation, "folds": self.n_folds or "one annotation", "seed": self.seed},
        )
        found = Comparison(summarise(pointwise, case))
        found.pointwise = pointwise
        return found


def summarise(pointwise: xr.Dataset, case: np.ndarray) -> pd.DataFrame:
    """Sum up scores by model; ``case`` numbers the case of each annotation."""
    elpd, in_sample = pointwise["elpd"].values, pointwise["in_sample"].values
    total = elpd.sum(1)
    impossible = np.isneginf(elpd).sum(1)
    # Those that find something impossible come last, and first among them those that do so least.
    order = np.lexsort((-np.where(np.isneginf(elpd), 0, elpd).sum(1), impossible))
    by_case = np.stack([np.bincount(case, row) for row in elpd])
    error = np.sqrt((pointwise["error"].values ** 2).sum(1))
    best = order[0]
    rows = []
    for rank, i in enumerate(order):
        with np.errstate(invalid="ignore"):
            difference = total[best] - total[i] if i != best else 0.0
            dse = _spread(by_case[best] - by_case[i]) if i != best else 0.0
        both = np.hypot(dse, np.hypot(error[best], error[i])) if i != best else 0.0
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


def stacking(log_scores: Float[np.ndarray, "model annotation"]) -> Float[np.ndarray, " model"]:
    """Weights of the mixture of predictive distributions that gives annotations left out most probability.

    What all models find impossible says nothing about the weights.

    Examples
    --------
    >>> stacking(np.log([[0.9, 0.9, 0.1], [0.2, 0.2, 0.1]])).round(3).tolist()
    [1.0, 0.0]
    """
    most = log_scores.max(0)
    known = np.isfinite(most)
    n = len(log_scores)
    if not known.any():
        return np.full(n, 1 / n)
    p = np.exp(log_scores[:, known] - most[known])

    def loss(weight):
        mixed = np.maximum(weight @ p, 1e-300)
        return -np.log(mixed).mean(), -(p / mixed).mean(1)

    found = minimize(
        loss,
        np.full(n, 1 / n),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * n,
        constraints=LinearConstraint(np.ones(n), 1, 1),
    )
    weight = np.where(found.x > 1e-9, found.x, 0)  # An optimiser's zeros are not quite zero.
    return weight / weight.sum()


def _candidates(
    annotations: Annotations, models: Mapping[str | Callable[..., None], Wanted], options: Mapping[str, Any], seed: int
) -> Iterator[Candidate]:
    wanted = [(name, *_model_of(name, value)) for name, value in models.items()]
    for _, model, _ in wanted:
        _check_scores(model)
    for option, value in options.items():
        if wanted and not any(option in takes(model) for _, model, _ in wanted):
            raise ArgumentError(
                f"none of the models has a use for {option}={value!r}, but it was given: leave it out, or add a model "
                "that has."
            )
    for label, model, value in wanted:
        own = {name: value for name, value in options.items() if name in takes(model)}
        if isinstance(value, Mapping):
            yield _candidate(label if isinstance(label, str) else None, annotations, model, own | dict(value), seed)
            continue
        for reliability in reliabilities(model, value):
            given = dict(own) if reliability is None else own | {"reliability": reliability}
            yield _candidate(None, annotations, model, given, seed)


def _candidate(
    label: str | None, annotations: Annotations, model: str | Callable[..., None], given: dict[str, Any], seed: int
) -> Candidate:
    """Settle everything; without a label, a model is called by its name and reliability."""
    if given.get("reliability") == "infer":
        raise ArgumentError(
            "an inferred reliability makes one model of all cases, of which no case can be refitted by itself, but "
            f"reliability='infer' was given for {model}: give some reliabilities instead, and the best is chosen."
        )
    name, _, engine, arguments = settle(annotations, model, seed=seed, **given)
    if model == "plackett-luce" and given.get("engine", "auto") == "auto" and arguments["mode"] == "power":
        # Copies of thousands of cases are sampled: by Gibbs in half the time, unless all of them are drawn exactly.
        whole = float(arguments["reliability"]).is_integer() and arguments["reliability"] <= _GIBBS_UP_TO
        if whole and not nested_cases(annotations).all():
            given = given | {"engine": "gibbs"}
            name, _, engine, arguments = settle(annotations, model, seed=seed, **given)
    return Candidate(
        run_label(name, arguments.get("reliability", np.nan)) if label is None else label,
        model,
        given,
        name,
        engine,
        arguments,
    )


def _model_of(name: str | Callable[..., None], value: Wanted) -> tuple[str | Callable[..., None], Wanted]:
    """Which model is meant, and its reliabilities or arguments."""
    if not isinstance(value, Mapping):
        return name, value
    arguments = dict(value)
    model = arguments.pop("model", name)
    for argument in ("seed", "progress"):
        if argument in arguments:
            raise ArgumentError(
                f"{argument} belongs to the whole comparison, but {name!r} has its own: give it to compare."
            )
    return model, arguments


def _check_scores(model: str | Callable[..., None]) -> None:
    if model == "normal-scores":
        raise ArgumentError(
            "normal-scores predicts scores, and the other models annotations, so their predictive densities are of "
            "different observations and cannot be ranked: compare models of annotations."
        )


def _check_question(candidate: Candidate, observation: str) -> None:
    answers = ("plackett-luce", "plackett-luce-ml", "dirichlet-categorical")
    if observation == "ranking" and candidate.model not in answers:
        raise ArgumentError(
            f"{candidate.label} has no probability of whole rankings and cannot be compared by observation='ranking': "
            f"compare by 'first', or leave it out (those that do: {', '.join(answers)})."
        )
