"""Scores for scikit-learn's model selection, against a posterior instead of against one label."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from plausibly.base.arviz import Posterior
from plausibly.base.bootstrap import PANEL
from plausibly.base.errors import ArgumentError, PredictionError, show
from plausibly.base.names import some
from plausibly.data.annotations import Annotations
from plausibly.evaluation._evaluate import evaluate
from plausibly.evaluation.evidence import WITHHELD
from plausibly.evaluation.metrics import Given, public_name, read_metrics
from plausibly.evaluation.of_labels import labels_of
from plausibly.evaluation.summaries import goodness
from plausibly.evaluation.thresholds import check_thresholds, labels_of_posterior
from plausibly.evaluation.truth import Truth, check_truth
from plausibly.posterior import annotations_of


def scorer(
    posterior: Posterior | Annotations,
    metric: str | Given = "top1_accuracy",
    *,
    truth: Truth = "most-plausible",
    panel: int = PANEL,
    positive: str | None = None,
    threshold: float | None = None,
    seed: int = 0,
) -> Callable[..., float]:
    """Make a scorer for ``cross_val_score`` and model selection in scikit-learn, in which rows are cases.

    The estimator is trained on whatever labels it is given, such as the votes; it is scored against the plausibilities
    of the held-out cases. Splits keep neither the positions nor the order of rows, so cases are matched by name: pass
    ``X`` or ``y`` as a pandas object with the case names as its index. If both have an index, that of ``X`` counts.

    Parameters
    ----------
    posterior
        Posterior of the cases, from :func:`plausibly.aggregate`; for a truth of labels, their annotations are enough.
    metric
        Name of a metric in the results of :func:`plausibly.evaluate`, such as ``"top1_accuracy"`` or
        ``"auroc"``, or its function, with one value for a classifier; or a metric of your own, as for its argument
        ``metrics``.
    truth, panel, positive, threshold
        Arguments of :func:`plausibly.evaluate`.
    seed
        Random seed, see :func:`plausibly.evaluate`.

    Returns
    -------
    callable
        ``scorer(estimator, X, y=None)``: the mean over draws of the metric on these cases, with its sign changed if
        smaller values are better; of a metric with a best value, such as a calibration slope, minus the distance from
        it. It calls ``predict_proba``, whose columns are the classes in ``classes_``: names of
        classes, or indices,
        unless a class has that number as its name. Classes that the estimator does not know have the score 0.

    Raises
    ------
    ArgumentError
        If annotations are given for a truth that has draws, there is no such metric, it has a value for every class, or
        (on scoring) rows are not indexed by cases, or the metric is withheld, because most cases have one label.
    PredictionError
        On scoring: if the estimator has no ``predict_proba`` or ``classes_``, or knows a class that the posterior
        lacks.

    Examples
    --------
    >>> import plausibly as pb
    >>> annotations = pb.Annotations.from_labels([["a", "a"], ["b", "b"], ["a", "b"]], cases=["p", "q", "r"])
    >>> posterior = pb.aggregate(annotations, "dirichlet-categorical", progress=False)
    >>> class Prior:
    ...     classes_ = ["a", "b"]
    ...     def predict_proba(self, X): return np.full((len(X), 2), [0.7, 0.3])
    >>> X = pd.DataFrame({"x": [0.0, 1.0]}, index=["p", "q"])
    >>> round(pb.evaluation.scorer(posterior)(Prior(), X), 1)
    0.5
    >>> round(pb.evaluation.scorer(annotations, "log_score", truth="annotator")(Prior(), X), 2)  # its sign is changed
    -0.78
    """
    drawn = check_truth(truth)
    annotations = annotations_of(posterior) if drawn else labels_of_posterior(posterior)
    name = public_name(metric) or "own"
    metrics: Any = [metric if name != "own" else {"own": metric}]
    options: dict[str, Any] = {"threshold": threshold, "drawn": drawn}
    wanted = read_metrics(metrics, [1], annotations.n_classes, **options)
    labels = labels_of(wanted, annotations, positive, check_thresholds(threshold, ["m"]))
    if name not in (*wanted.lists, *wanted.own, *labels.single):
        raise ArgumentError(
            f"a scorer needs a metric with one value, but {name!r} has several: name an average, such as f1_macro, or "
            "a class with positive=."
        )
    about = {"metrics": metrics, "truth": truth, "panel": panel, "positive": positive, "threshold": threshold}

    def score(estimator: Any, X: Any, y: Any = None) -> float:
        position = np.array([annotations.position(case) for case in _cases(X, y, annotations)])
        values = np.full((annotations.n_cases, annotations.n_classes), 1 / annotations.n_classes)
        values[position] = _predicted(estimator, X, annotations)
        weights = np.bincount(position, minlength=annotations.n_cases).astype(float)
        options = {"weights": weights, "replicates": 0, "sizes": 1, "seed": seed, "progress": False}
        found = evaluate(posterior if drawn else annotations, {"m": values}, **about, **options)
        if name not in found:
            raise ArgumentError(WITHHELD)
        return float(found[name].copy(data=goodness(found[name].values, found[name].attrs)).mean())

    return score


def _cases(X: Any, y: Any, annotations: Annotations) -> list[str]:
    """Names of the cases of the rows."""
    for given in (X, y):
        if isinstance(given, pd.DataFrame | pd.Series):
            names = [str(name) for name in given.index]
            known = set(annotations.cases.tolist())
            absent = [name for name in names if name not in known]
            if not absent:
                return names
            if given is y or not isinstance(y, pd.DataFrame | pd.Series):
                raise ArgumentError(
                    f"the index of X or y must hold names of cases, but there is no case {some(absent)} in the "
                    "posterior: set the index, such as X.index = annotations.cases."
                )
    raise ArgumentError(
        f"rows must name their cases, but X is {show(type(X).__name__)} and y {show(type(y).__name__)}: give X, or "
        "y, as a pandas object indexed by case, such as pd.Series(y, index=annotations.cases)."
    )


def _predicted(estimator: Any, X: Any, annotations: Annotations) -> Float[np.ndarray, "row class"]:
    """Predicted probabilities in the order of the posterior's classes."""
    for name in ("predict_proba", "classes_"):
        if not hasattr(estimator, name):
            raise PredictionError(
                f"the estimator {type(estimator).__name__} has no {name}; use a classifier that predicts probabilities"
            )
    given, known = np.asarray(estimator.predict_proba(X), float), list(estimator.classes_)
    if given.ndim != 2 or given.shape[1] != len(known):
        raise PredictionError(
            f"predict_proba gave the shape {given.shape} for {len(known)} classes; give a column for each class"
        )
    places = {str(name): place for place, name in enumerate(annotations.classes)}
    by_index = not any(str(name) in places for name in known)
    values = np.zeros((len(given), annotations.n_classes))
    for column, name in enumerate(known):
        place = places.get(str(name))
        if place is None and by_index and isinstance(name, int | np.integer) and 0 <= name < annotations.n_classes:
            place = int(name)
        if place is None:
            raise PredictionError(
                f"the estimator knows the class {show(str(name))}, which the posterior lacks; aggregate with all "
                "classes"
            )
        values[:, place] = given[:, column]
    return values
