"""One evaluation for every model and reliability, kept small enough to hold all of them at once.

Reliability is not known, so results are reported over a range of it. A posterior over thousands of cases takes a
hundred megabytes; of each only the results, the convergence by case and the draws of a few cases stay.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from jax.typing import ArrayLike

from plausibly._arviz import Posterior
from plausibly._memory import release_memory
from plausibly._verdict import verdict as verdict
from plausibly._verdict import worst
from plausibly.aggregation import aggregate, find_model, settle, takes
from plausibly.annotations import Annotations, Scores, Slots, read_risks
from plausibly.annotations._names import _show
from plausibly.comparison import rankings
from plausibly.diagnostics import diagnose
from plausibly.errors import ArgumentError
from plausibly.evaluation import METRICS, check_metrics, evaluate, summary
from plausibly.metrics import Metric
from plausibly.metrics._inputs import check_size, check_ties
from plausibly.metrics._lists import ranked_classes
from plausibly.metrics._risk import N_LEVELS
from plausibly.metrics._user import Function
from plausibly.posterior import build_posterior, case_names, slots_of
from plausibly.predictions import named_predictions, read_predictions
from plausibly.subgroups import risk_weights

KEPT_CASES = 6  #: the least certain cases of each run, whose draws are kept
KEPT_CHAINS = 3  #: the cases of each run whose chains are worst, whose draws are kept
STATISTICS = ("r_hat", "ess_bulk", "ess_tail", "n_diverging")
DEPTHS = (1, 2, 3)

Models = Mapping[str | Callable[..., None], Sequence[float] | None]


@dataclass(frozen=True)
class Run:
    """One model at one reliability.

    Attributes
    ----------
    model
        Its name.
    reliability
        NaN for a model that has none.
    results
        From :func:`plausibly.evaluate`.
    convergence
        From :func:`plausibly.diagnose`.
    excerpt
        The posterior of the least certain cases alone, the least certain first.
    attrs
        Of the posterior: arguments, seed, versions.
    worst
        The posterior of the cases whose chains are worst alone, the worst first; None where there are no chains.
    choices
        Classes that each classifier prefers in the least certain cases, (classifier, case, place); None without
        classifiers.
    subgroups
        With risks, and classifiers: :func:`plausibly.summary` of the subgroup of every risk level, see
        :func:`plausibly.risk_weights`, with the columns ``risk_level`` and ``cases``, the mean number of cases in it.
    """

    model: str
    reliability: float
    results: xr.Dataset
    convergence: xr.Dataset
    excerpt: Posterior
    attrs: Mapping[str, Any]
    worst: Posterior | None = None
    choices: xr.DataArray | None = None
    subgroups: pd.DataFrame | None = None

    @property
    def label(self) -> str:
        """Model and reliability, as the command line takes them: ``"plackett-luce@3"``."""
        return run_label(self.model, self.reliability)

    @property
    def arguments(self) -> dict[str, Any]:
        """All arguments of the model and its engine."""
        return json.loads(self.attrs["arguments"])

    @property
    def has_chains(self) -> bool:
        """Whether the draws are those of chains, which have to converge."""
        return "r_hat" in self.convergence

    def metrics(self) -> pd.DataFrame:
        """Tabulate :func:`plausibly.summary` with the model and the reliability."""
        table = summary(self.results)
        table.insert(1, "model", self.model)
        table.insert(2, "reliability", self.reliability)
        return table

    def certainty(self) -> pd.DataFrame:
        """Tabulate, by case, how certain the annotations are and whether the chains converged."""
        columns: dict[str, Any] = {
            "case": self.results["case"].values,
            "model": self.model,
            "reliability": self.reliability,
        }
        for name, variable in self.results.data_vars.items():
            if variable.dims == ("case",):
                columns[str(name)] = variable.values
            elif variable.dims == ("case", "risk_level"):
                columns |= {
                    f"{name}_{level}": variable.values[:, level] for level in range(variable.sizes["risk_level"])
                }
        missing = np.full(len(columns["case"]), np.nan)
        for name in STATISTICS:
            values = self.convergence[name].values if name in self.convergence else missing
            columns[name] = pd.array(values, dtype="Int64") if name == "n_diverging" else values
        columns["converged"] = self.convergence["converged"].values
        return pd.DataFrame(columns)

    def not_converged(self) -> list[str]:
        """Names of the cases whose chains did not converge."""
        return [str(name) for name in self.convergence["case"].values[~self.convergence["converged"].values]]


@dataclass(frozen=True)
class Sweep:
    """All runs of a sweep, in the order in which they were asked for.

    Attributes
    ----------
    annotations, runs
        What was evaluated, and the results.
    voted
        The classifiers against the label by majority vote, from :func:`plausibly.evaluate` with a single draw: what
        uncertainty-adjusted metrics are to be compared with. None without classifiers.
    """

    annotations: Annotations
    runs: tuple[Run, ...]
    voted: xr.Dataset | None = None

    @property
    def metrics(self) -> pd.DataFrame:
        """One row per classifier, model, reliability and metric; see :func:`plausibly.summary` for the columns."""
        return pd.concat([run.metrics() for run in self.runs], ignore_index=True)

    @property
    def dataset(self) -> xr.Dataset:
        """The table ``metrics`` as arrays over (model, reliability, classifier, metric).

        At the reliability ``inf`` stands the limit, the value at the point estimate, with no spread. What was not asked
        for is NaN.
        """
        table = self.metrics
        limits = []
        for model, runs in self.models.items():
            last = max(runs, key=lambda run: -np.inf if np.isnan(run.reliability) else run.reliability)
            own = table[(table["model"] == model) & (table["reliability"].eq(last.reliability) | (len(runs) == 1))]
            at_point = {name: own["point"] for name in ("mean", "lower", "upper", "best", "worst")}
            limits.append(own.assign(reliability=np.inf, sd=0.0, **at_point))
        table = pd.concat([table.dropna(subset="reliability"), *limits], ignore_index=True)
        names = ["model", "reliability", "classifier", "metric"]
        order = {name: list(dict.fromkeys(table[name])) for name in names}
        order["reliability"] = sorted(order["reliability"])
        return table.set_index(names).to_xarray().reindex(order)

    def rankings(self, metric: str) -> pd.DataFrame:
        """Tabulate how each run ranks the classifiers, and where that changes with the reliability.

        Parameters
        ----------
        metric
            One of the metrics, such as ``"top3_accuracy"``.

        Returns
        -------
        pandas.DataFrame
            ``model``, ``reliability`` in rising order (``inf`` for the point estimate), ``ranking`` by the mean over
            draws, such as ``"B > A"``, its ``probability``, the share of draws with the same ranking (NaN for the point
            estimate), and whether it ``changes`` from the row before.

        Raises
        ------
        ArgumentError
            If there is no such metric.
        """
        rows = []
        for model, runs in self.models.items():
            ordered = sorted(runs, key=lambda run: run.reliability)
            before = None
            for run in [*(run for run in ordered if not np.isnan(run.reliability)), None]:
                results = ordered[-1].results if run is None else run.results
                found = rankings(results, metric).set_index("ranking")["probability"]
                if not len(found):
                    continue
                over = results[f"{metric}_point"] if run is None else results[metric].mean("draw")
                single = over.expand_dims(draw=1).assign_attrs(results[metric].attrs)
                ranking = rankings(xr.Dataset({metric: single}), metric)["ranking"].iloc[0]
                rows.append(
                    {
                        "model": model,
                        "reliability": np.inf if run is None else run.reliability,
                        "ranking": ranking,
                        "probability": np.nan if run is None else found.get(ranking, 0.0),
                        "changes": before is not None and ranking != before,
                    }
                )
                before = ranking
        return pd.DataFrame(rows, columns=["model", "reliability", "ranking", "probability", "changes"])

    @property
    def certainty(self) -> pd.DataFrame:
        """One row per case, model and reliability: annotation certainties, risks, and convergence."""
        return pd.concat([run.certainty() for run in self.runs], ignore_index=True)

    @property
    def classifiers(self) -> list[str]:
        """Names of the classifiers."""
        return [str(name) for name in self.runs[0].results["classifier"].values]

    @property
    def models(self) -> dict[str, list[Run]]:
        """Runs by the name of their model."""
        models: dict[str, list[Run]] = {}
        for run in self.runs:
            models.setdefault(run.model, []).append(run)
        return models

    @property
    def converged(self) -> bool:
        """Whether all chains of all runs did."""
        return not any(run.not_converged() for run in self.runs)

    def verdict(self, most: int = 10) -> str:
        """Say in one sentence whether the chains converged and, if not, which cases did not.

        Parameters
        ----------
        most
            How many cases to name.
        """
        return verdict({run.label: run.convergence for run in self.runs}, most)


def run_label(model: str, reliability: float) -> str:
    """Join the name of a model and a reliability, if there is one.

    Examples
    --------
    >>> run_label("prirn", 10.0), run_label("irn", float("nan"))
    ('prirn@10', 'irn')
    """
    return model if np.isnan(reliability) else f"{model}@{reliability:.15g}"


def sweep(
    annotations: Annotations | Scores,
    predictions: Mapping[str, Any],
    models: Models,
    *,
    k: int | Sequence[int] | None = None,
    sizes: int | Sequence[int] | None = None,
    risks: Any = None,
    metrics: Mapping[str, Metric | Function] | None = None,
    weights: ArrayLike | None = None,
    break_ties: Literal["order", "random"] = "order",
    ties: Literal["split", "full"] | None = None,
    mode: Literal["power", "temper"] | None = None,
    unranked: Literal["lumped", "exact", "ignore"] | None = None,
    concentration: float | None = None,
    threshold: float | None = None,
    prior: Sequence[float] | None = None,
    draws: int | None = None,
    chains: int | None = None,
    warmup: int | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Sweep:
    """Aggregate and evaluate with every model at each of its reliabilities.

    Everything that can be wrong with the arguments is found before the first model is run.

    Parameters
    ----------
    annotations
        N cases over K classes, or scores of N cases, which a threshold parts into two classes.
    predictions
        Scores of each classifier by its name, as for :func:`plausibly.evaluate`.
    models
        Reliabilities by model, such as ``{"plackett-luce": (1, 3, 10), "prirn": (10, 30, 100)}``; None for a model's
        usual ones, or for a model that has none. A model is a name or a NumPyro program.
    k
        Lengths of the classifiers' lists; by default 1, 2 and 3, as far as there are so many classes.
    sizes
        Sizes of the sets whose annotation certainty to report, as for :func:`plausibly.evaluate`.
    risks
        Risk level of each class, see :func:`plausibly.read_risks`.
    metrics
        Metrics of your own by name, as for :func:`plausibly.evaluate`.
    weights
        How much each case counts, (case,), as for :func:`plausibly.evaluate`.
    break_ties
        Equal scores, and equal plausibilities, in class order (``"order"``) or at random (``"random"``): what
        :func:`plausibly.evaluate` calls ``ties``.
    ties, mode, unranked, concentration, threshold, prior, draws, chains, warmup
        As for :func:`plausibly.aggregate`; each goes to those of the models that have a use for it.
    seed
        Of all random numbers; the same for all runs.
    progress
        Show bars.

    Returns
    -------
    Sweep
        Its ``metrics`` and ``certainty`` are tidy tables, ``dataset`` has the metrics as arrays, ``rankings`` says
        where the order of the classifiers changes, ``runs`` hold the rest.

    Raises
    ------
    ArgumentError
        If an argument is out of range, a model is there twice with one reliability, or no model has a use for an
        argument.
    PlausiblyError
        If annotations, predictions or risks break a rule.

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, section 3.

    Examples
    --------
    >>> annotations = Annotations.from_rankings([[[["a"], ["b"]], [["b"]]], [[["a"]], [["a"]]]])
    >>> scores = {"A": np.array([[0.9, 0.1], [0.8, 0.2]])}
    >>> swept = sweep(annotations, scores, {"prirn": (10, 100), "irn": None}, k=1, progress=False)
    >>> [run.label for run in swept.runs], list(swept.metrics.columns[:4])
    (['prirn@10', 'prirn@100', 'irn'], ['classifier', 'model', 'reliability', 'metric'])
    """
    given = {"ties": ties, "mode": mode, "unranked": unranked, "concentration": concentration}
    given |= {"threshold": threshold, "prior": prior, "draws": draws, "chains": chains, "warmup": warmup}
    asked = {"k": k, "sizes": sizes, "risks": risks, "metrics": metrics, "weights": weights, "break_ties": break_ties}
    plan = Plan.of(annotations, predictions, models, **asked, seed=seed, **given)
    return plan.sweep([run for run, _ in plan.runs(progress=progress)])


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
            for reliability in _reliabilities(model, wanted, of_scores):
                own["reliability"] = reliability
                name, _, _, arguments = settle(observed, model, seed=seed, **own)
                steps.append((model, name, arguments.get("reliability", np.nan), dict(own)))
        labels = [run_label(name, reliability) for _, name, reliability, _ in steps]
        for label in labels:
            if labels.count(label) > 1:
                raise ArgumentError(f"{label} is asked for {labels.count(label)} times: ask for each run once.")
        # No model of scores is settled without a threshold.
        annotations = observed.split(options["threshold"]) if isinstance(observed, Scores) else observed
        if k is None:
            k = [size for size in DEPTHS if size <= annotations.n_classes]
        ks = [check_size("k", size, annotations.n_classes) for size in ([k] if np.ndim(k) == 0 else k)]
        if not ks:
            raise ArgumentError("k must name the length of a list, but none was given: choose some, such as (1, 3).")
        check_ties(break_ties)
        if sizes is not None:
            sizes = [check_size("sizes", n, annotations.n_classes) for n in ([sizes] if np.ndim(sizes) == 0 else sizes)]
            if not sizes:
                raise ArgumentError("sizes must name one, by which a sweep ranks cases, but none was given: choose 1.")
        if weights is not None and np.shape(weights) != (annotations.n_cases,):
            raise ArgumentError(
                f"weights of a sweep must have the shape (case,), {(annotations.n_cases,)}, but the shape is "
                f"{np.shape(weights)}: runs differ in their draws, so give weights per draw to evaluate."
            )
        evaluated = {
            "k": list(dict.fromkeys(ks)),
            "sizes": sizes,
            "risks": None if risks is None else read_risks(risks, annotations.classes),
            "metrics": check_metrics({} if metrics is None else metrics, annotations.n_classes),
            "weights": weights,
            "ties": break_ties,
        }
        return cls(
            annotations,
            observed,
            {name: read_predictions(source, annotations) for name, source in named.items()},
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
        self, *, progress: bool = True, before: Callable[[int, str], None] = lambda number, label: None
    ) -> Iterator[tuple[Run, Posterior]]:
        """Compute one run after the other; the posterior is the caller's to keep or drop.

        Parameters
        ----------
        progress
            Show bars.
        before
            Called with the number and the label of each run when it begins.
        """
        for number, (model, name, reliability, arguments) in enumerate(self.steps):
            before(number, self.labels[number])
            posterior = aggregate(self.observed, model, seed=self.seed, progress=progress, **arguments)
            results = evaluate(posterior, self.predictions, **self.options, seed=self.seed, progress=progress)
            certainty = next(name for name in results.data_vars if str(name).startswith("annotation_certainty_"))
            order = np.argsort(results[certainty].values, kind="stable")[:KEPT_CASES]
            convergence = diagnose(posterior)
            named = case_names(posterior)
            doubtful = [int(np.flatnonzero(named == name)[0]) for name in worst(convergence, KEPT_CHAINS)]
            run = Run(
                name,
                reliability,
                results,
                convergence,
                _excerpt(self.annotations, posterior, order),
                dict(posterior.attrs),
                worst=_excerpt(self.annotations, posterior, np.array(doubtful)) if doubtful else None,
                choices=self._choices(order) if self.predictions else None,
                subgroups=self._subgroups(posterior, progress),
            )
            release_memory()
            yield run, posterior

    def sweep(self, runs: Sequence[Run]) -> Sweep:
        """Join runs with what is the same for all of them."""
        voted = None
        if self.predictions:
            posterior = aggregate(self.annotations, "majority-vote", seed=self.seed, progress=False)
            options = dict(self.options) | {"sizes": [1], "risks": None, "metrics": {}}
            voted = evaluate(posterior, self.predictions, **options, seed=self.seed)
        return Sweep(self.annotations, tuple(runs), voted)

    def _choices(self, cases: np.ndarray) -> xr.DataArray:
        depth = min(max(DEPTHS), self.annotations.n_classes)
        lists = [ranked_classes(scores[cases], depth) for scores in self.predictions.values()]
        return xr.DataArray(
            self.annotations.classes[np.array(lists)],
            dims=("classifier", "case", "place"),
            coords={"classifier": list(self.predictions), "case": self.annotations.cases[cases]},
        )

    def _subgroups(self, posterior: Posterior, progress: bool) -> pd.DataFrame | None:
        """Evaluate the subgroup of each risk level, those that some case may belong to."""
        if self.options["risks"] is None or not self.predictions:
            return None
        ties, tables = self.options["ties"], []
        for level in range(N_LEVELS):
            weights = risk_weights(posterior, self.options["risks"], level, ties=ties, seed=self.seed)
            if self.options["weights"] is not None:
                weights = weights * np.asarray(self.options["weights"], np.float32)
            if weights.any():
                options = dict(self.options) | {"sizes": [1], "risks": None, "metrics": {}, "weights": weights}
                table = summary(evaluate(posterior, self.predictions, **options, seed=self.seed, progress=progress))
                table.insert(0, "cases", weights.sum(axis=1).mean())
                table.insert(0, "risk_level", level)
                tables.append(table)
        return pd.concat(tables, ignore_index=True)


def _reliabilities(
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
        posterior["posterior"]["plausibility"].values[..., own],
        annotations.select(case_names(posterior)[positions]),
        chosen,
        point=posterior["constant_data"]["point_plausibility"].values[own],
        concentration=float(posterior.attrs["concentration"]),
        attrs={"model": posterior.attrs["model"]},
    )
