"""The metric of classifiers where the plausibilities are known."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from plausibly.annotations import Annotations
from plausibly.errors import ArgumentError
from plausibly.evaluation._measure import _predicted_lists
from plausibly.metrics import METRICS
from plausibly.metrics._lists import ranked_classes
from plausibly.metrics._user import per_draw
from plausibly.planning._metric import read_metric


def metric_of_truth(
    truth: Any,
    predictions: Sequence[Float[np.ndarray, "case class"]],
    annotations: Annotations,
    metric: str,
    metrics: Any = None,
) -> Float[np.ndarray, " classifier"]:
    """Mean over cases of a metric of each classifier at true plausibilities, which `truth` has by case and class.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a"], ["b"]])
    >>> metric_of_truth([[0.9, 0.1], [0.6, 0.4]], [np.array([[0.8, 0.2], [0.3, 0.7]])], annotations, "top1_accuracy")
    array([0.5])
    """
    values = np.asarray(truth, float)
    if values.shape != (annotations.n_cases, annotations.n_classes):
        raise ArgumentError(
            f"truth must have the shape ({annotations.n_cases}, {annotations.n_classes}), of cases and classes, but "
            f"has {values.shape}."
        )
    _, of_list, k, function, *_ = read_metric(metric, metrics, annotations.n_classes)
    if function is not None:
        return np.array([float(per_draw(function, given, values[None]).mean()) for given in predictions])
    declared = METRICS[of_list]
    found = []
    for given in predictions:
        listed = _predicted_lists(np.asarray(given), k, None)
        covered = np.take_along_axis(values, np.maximum(listed, 0), axis=1) * (listed >= 0)
        other = covered if declared.of_masses else ranked_classes(values, k)
        listed, other = listed.T, other.T
        found.append(
            float(np.mean(declared.value(lambda j, a=listed, b=other: np.asarray(declared.count(a[:j], b[:j])), k)))
        )
    return np.array(found)
