"""A posterior as rows with weights, one for each case and class, which other libraries take as labels."""

from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float

from plausibly._arviz import Posterior
from plausibly.errors import ArgumentError
from plausibly.posterior._container import case_names, check_posterior
from plausibly.posterior._views import dense, top_classes

_NUMBERS = 2**24  # in memory at once


def as_weighted_rows(
    posterior: Posterior, truth: Literal["most-plausible", "plausibility"] = "most-plausible", *, seed: int = 0
) -> pd.DataFrame:
    """Write a posterior as N × K rows, one for each case and class, with weights.

    Give scikit-learn the prediction of a case once for each of its rows, the class as the label and ``sample_weight``:
    its metrics are then those of the mean truth over draws, such as the centres of sampling noise in
    :func:`plausibly.evaluate`, and estimators are trained on soft labels. Without a model, see
    :func:`plausibly.evaluation.label_rows`.

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.aggregate` or :func:`plausibly.load`.
    truth
        What weights are: the share of the draws in which each class is the most plausible (``"most-plausible"``), for
        metrics; or its mean plausibility (``"plausibility"``), for training.
    seed
        Random seed for splitting the remainder, and for true classes, as for :func:`plausibly.evaluate`.

    Returns
    -------
    pandas.DataFrame
        ``case``, ``class`` and ``sample_weight``; the rows of a case follow each other, in the order of the classes,
        and their weights sum to one.

    Raises
    ------
    ArgumentError
        If ``posterior`` is not a posterior, or ``truth`` has another value.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a", "b"], ["b", "b", "b"]])
    >>> posterior = pb.aggregate(annotations, "dirichlet-categorical", concentration=1, progress=False)
    >>> rows = as_weighted_rows(posterior, "plausibility")
    >>> rows["class"].tolist(), rows["sample_weight"].round(1).tolist()
    (['a', 'b', 'a', 'b'], [0.6, 0.4, 0.2, 0.8])

    >>> from sklearn.metrics import accuracy_score
    >>> rows, predicted = as_weighted_rows(posterior), np.array(["a", "b"])
    >>> accuracy = accuracy_score(rows["class"], predicted.repeat(2), sample_weight=rows["sample_weight"])
    >>> results = pb.evaluate(posterior, {"A": np.array([[0.9, 0.1], [0.2, 0.8]])}, progress=False)
    >>> bool(np.isclose(accuracy, results["top1_accuracy"].mean()))
    True
    """
    check_posterior(posterior)
    if truth not in ("most-plausible", "plausibility"):
        raise ArgumentError(f'truth must be "most-plausible" or "plausibility", but {truth!r} was given: choose one.')
    cases, classes = case_names(posterior), posterior["constant_data"]["class_names"].values
    group = posterior["posterior"].sizes
    step = max(1, _NUMBERS // (group["chain"] * group["draw"] * len(classes)))
    weights = np.empty((len(cases), len(classes)))
    for first in range(0, len(cases), step):
        some = cases[first : first + step].tolist()
        weights[first : first + step] = _means(posterior, truth, some, len(classes), seed)
    rows = {"case": np.repeat(cases, len(classes)), "class": np.tile(classes, len(cases))}
    return pd.DataFrame(rows | {"sample_weight": weights.ravel()})


def _means(
    posterior: Posterior, truth: str, cases: list[str], n_classes: int, seed: int
) -> Float[np.ndarray, "case class"]:
    if truth == "plausibility":
        return dense(posterior, cases, seed).mean(axis=0, dtype=float)
    best = top_classes(posterior, 1, seed, cases=cases)[..., 0]
    key = np.arange(len(cases)) * n_classes + best
    return np.bincount(key.ravel(), minlength=len(cases) * n_classes).reshape(-1, n_classes) / len(best)
