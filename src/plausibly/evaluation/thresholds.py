"""Operating points: thresholds for each classifier, given or chosen on other cases."""

from collections.abc import Hashable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from jaxtyping import Float

from plausibly.base.arviz import Posterior
from plausibly.base.bootstrap import PANEL
from plausibly.base.errors import ArgumentError, show
from plausibly.base.names import some
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.io.spellings import positive_of_two
from plausibly.data.predictions import Marked, check_positive, line_up, named_predictions
from plausibly.evaluation.evidence import WITHHELD, spread
from plausibly.evaluation.truth import Truth, check_truth, truth_of_labels
from plausibly.metrics.declared import check_probabilities, descending
from plausibly.metrics.inputs import answered, check_share
from plausibly.posterior import annotations_of, as_weighted_rows, opened, reading
from plausibly.posterior.says import are_shares

_ROUNDING = 1e-6  # of shares


def choose_threshold(
    posterior: Posterior | Annotations | str | PathLike,
    predictions: Mapping[Hashable, Any],
    *,
    specificity: float | None = None,
    sensitivity: float | None = None,
    net_benefit: float | None = None,
    truth: Truth = "most-plausible",
    panel: int = PANEL,
    positive: str | None = None,
    extra: str = "refuse",
    logits: Marked = False,
    seed: int = 0,
) -> dict[str, float]:
    """Choose the threshold from which on each classifier names the positive class.

    Choose it on other cases than those that are evaluated: on the same ones, metrics at the threshold are too good.

    Parameters
    ----------
    posterior, predictions, truth, panel, positive, extra, logits, seed
        Arguments of :func:`plausibly.evaluate`, for the other cases. Predictions must be probabilities.
    specificity
        Least specificity; the threshold is the lowest that has it, which has the greatest sensitivity.
    sensitivity
        Least sensitivity; the threshold is the highest that has it, which has the greatest specificity.
    net_benefit
        Risk from which on a case is treated, between 0 and 1; the threshold has the greatest net benefit, in which a
        false positive costs the odds of that risk (:func:`plausibly.metrics.net_benefit`).

    Returns
    -------
    dict
        Threshold of each classifier, between 0 and 1, half-way between two scores; for the argument ``threshold`` of
        :func:`plausibly.evaluate`.

    Raises
    ------
    ArgumentError
        If not exactly one rule is given, it is not between 0 and 1, there is no positive class, no case is of a class,
        no threshold between 0 and 1 has what is wanted, or accuracies are withheld.
    PredictionError
        If predictions do not match the cases or classes, or are not finite.

    References
    ----------
    Pepe (2003), The statistical evaluation of medical tests for classification and prediction, section 4.3.

    Examples
    --------
    >>> annotations = Annotations.from_labels([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]])
    >>> choose_threshold(annotations, {"A": np.array([0.1, 0.6, 0.4, 0.9])}, sensitivity=0.8, truth="annotator")
    {'A': 0.25}
    """
    rules = {"specificity": specificity, "sensitivity": sensitivity, "net_benefit": net_benefit}
    rules = {name: check_share(name, share) for name, share in rules.items() if share is not None}
    if len(rules) != 1:
        raise ArgumentError(
            f"a threshold needs one rule, but {show(rules)} was given: write for example specificity=0.9."
        )
    if check_truth(truth):
        with opened(posterior) if isinstance(posterior, str | PathLike) else reading(posterior) as source:
            if spread(source.attrs) == "unknown" and are_shares(source.attrs):
                raise ArgumentError(WITHHELD)
            annotations = annotations_of(source, every=False)
            weights = as_weighted_rows(source, seed=seed)["sample_weight"].to_numpy()
            weights = weights.reshape(annotations.n_cases, -1)
    else:
        annotations = labels_of_posterior(posterior)
        weights = truth_of_labels(annotations, truth, panel, seed)
    at = positive_index(annotations.classes, positive)
    found = {}
    for name, given in named_predictions(predictions, logits).items():
        values = np.asarray(line_up(given, annotations, extra, positive))
        check_probabilities(values, f" of {name!r}", annotations.cases)
        found[name] = _chosen(values[:, at], weights[:, at], weights.sum(axis=1), *next(iter(rules.items())), name)
    return found


def labels_of_posterior(source: Any) -> Annotations:
    """Annotations, or those that a posterior, or its file, is of."""
    if isinstance(source, Annotations):
        return source
    with opened(source) if isinstance(source, str | PathLike) else reading(source) as posterior:
        return annotations_of(posterior, every=False)


def positive_index(classes: np.ndarray, positive: str | None) -> int:
    """Index of the class that a threshold is for: the one that is named, or of two classes the usual one."""
    if positive is None and len(classes) != 2:
        raise ArgumentError(
            f"a threshold needs a positive class, but there are {len(classes)} classes: name it with positive=."
        )
    return positive_of_two(classes) if positive is None else classes.tolist().index(check_positive(classes, positive))


def check_thresholds(threshold: Any, names: Sequence[str]) -> tuple[float, ...] | None:
    """Threshold of each classifier, from one for all or a mapping; None if there is none."""
    if threshold is None:
        return None
    if not isinstance(threshold, Mapping):
        return (check_share("threshold", threshold),) * len(names)
    given = {str(name): one for name, one in threshold.items()}
    if absent := [name for name in names if name not in given]:
        raise ArgumentError(f"threshold must have one for each classifier, but has none for {some(absent)}: add it.")
    return tuple(check_share(f"threshold of {name!r}", given[name]) for name in names)


def decided(
    predictions: Mapping[str, Float[np.ndarray, "case class"]],
    threshold: Any,
    classes: np.ndarray,
    positive: str | None,
) -> Mapping[str, Float[np.ndarray, "case class"]]:
    """Hard labels of two classes by a threshold; without one, or of more classes, predictions as they are."""
    thresholds = check_thresholds(threshold, list(predictions))
    if thresholds is None or len(classes) != 2:
        return predictions
    at, found = positive_index(classes, positive), {}
    for (name, scores), least in zip(predictions.items(), thresholds, strict=True):
        named = np.where(scores[:, at] >= least, at, 1 - at)
        found[name] = np.eye(2)[named] * answered(scores)[:, None]
    return found


def _chosen(
    scores: Float[np.ndarray, " case"],
    positive: Float[np.ndarray, " case"],
    weights: Float[np.ndarray, " case"],
    rule: str,
    share: float,
    name: str,
) -> float:
    order, end = descending(scores)
    last = np.unique(end)  # of the cases with each score
    ordered = np.concatenate([[1.0], scores[order][last], [0.0]]).astype(float)
    true, false = (np.concatenate([[0], np.cumsum(of[order])[last]]) for of in (positive, weights - positive))
    if not (true[-1] > 0 and false[-1] > 0):
        raise ArgumentError("a threshold needs cases of the positive class and others, but all are alike: give more.")
    if rule == "specificity":
        n_named = np.flatnonzero(false <= (1 - share + _ROUNDING) * false[-1])[-1]
    elif rule == "sensitivity":
        n_named = np.flatnonzero(true >= (share - _ROUNDING) * true[-1])[0]
    else:
        n_named = np.argmax(true - false * share / (1 - share))
    upper, lower = ordered[n_named], ordered[n_named + 1]
    if upper <= lower:
        raise ArgumentError(
            f"no threshold between 0 and 1 gives {name!r} a {rule} of {share:g}, because many cases have the score "
            f"{upper:g}: choose another rule."
        )
    return float((upper + lower) / 2)
