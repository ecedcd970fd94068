"""What a posterior knows of the classifiers that are evaluated against it, and sentences where that matters."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from plausibly.annotations import Annotations
from plausibly.priors import Evidence

ERRORS = 2  #: standard errors from which a difference of means over cases counts
POINTS = 0.01  #: excess of agreement over what is expected that is too small to matter


def paired(
    difference: Float[np.ndarray, "*shape case"], cluster: np.ndarray, weight: Float[np.ndarray, " case"] | None = None
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """Mean of a difference over cases, and its standard error over clusters; NaN for a single cluster.

    Examples
    --------
    >>> paired(np.array([0.0, 1.0, 1.0, 0.0]), np.arange(4))[0].item()
    0.5
    >>> bool(paired(np.array([0.0, 1.0] * 8), np.arange(16))[1] == np.std([0.0, 1.0] * 8, ddof=1) / 4)
    True
    """
    weight = np.ones(len(cluster)) if weight is None else weight
    code = np.unique(cluster[weight > 0], return_inverse=True)[1]
    weight, difference = weight[weight > 0], difference[..., weight > 0]
    n = int(code.max(initial=-1)) + 1
    if n == 0:
        nothing = np.full(difference.shape[:-1], np.nan)
        return nothing, nothing
    mean = (difference * weight).sum(-1) / weight.sum()
    sums = np.zeros((*difference.shape[:-1], n))
    np.add.at(sums, (..., code), (difference - mean[..., None]) * weight)
    error = np.sqrt((sums**2).sum(-1) * n / (n - 1)) / weight.sum() if n > 1 else np.full(mean.shape, np.nan)
    return mean, error


def known_predictions(attrs: Mapping[str, Any]) -> dict[str, str]:
    """Digests of the predictions that a posterior knows, by classifier, from its attributes."""
    return json.loads(attrs.get("evidence", "{}")).get("digests", {})


def digests(predictions: Mapping[str, Any], annotations: Annotations) -> dict[str, str]:
    """Digests of predictions by classifier, one classifier in memory at a time."""
    return {name: Evidence.of({name: source}, annotations).digests[name] for name, source in predictions.items()}


def unknown_predictions(
    attrs: Mapping[str, Any], predictions: Mapping[str, Any], annotations: Annotations
) -> dict[str, str]:
    """Sentences on classifiers that a posterior does not know though it knows others, or knows by other predictions.

    Examples
    --------
    >>> annotations = Annotations.from_counts([[1, 0], [0, 2]])
    >>> scores = [[0.6, 0.4], [0.1, 0.9]]
    >>> attrs = {"evidence": json.dumps({"digests": digests({"A": scores}, annotations)})}
    >>> unknown_predictions(attrs, {"A": scores}, annotations)
    {}
    >>> list(unknown_predictions(attrs, {"A": [[0.5, 0.5]] * 2, "B": scores}, annotations))
    ['A', 'B']
    """
    expected, found = known_predictions(attrs), {}
    if not expected:
        return found
    for name in predictions:
        if name not in expected:
            found[name] = (
                f"The posterior knows the predictions of {', '.join(expected)}, but not those of {name}, so {name} is "
                "underrated: pass the predictions of every classifier to pb.aggregate."
            )
        elif digests({name: predictions[name]}, annotations)[name] != expected[name]:
            found[name] = (
                f"The predictions of {name} are not those of {name} that the posterior knows (or have been rounded "
                f"since), so {name} may be underrated: pass these predictions to pb.aggregate."
            )
    return found


def knows_more(results: xr.Dataset) -> dict[str, str]:
    """Sentences on classifiers that agree with annotators more often than the posterior expects.

    They are empty for a posterior that knows their predictions, for a point estimate, where plausibilities are not
    shares of annotators, and where top-1 metrics were not computed.
    """
    if "expected_agreement" not in results:
        return {}
    observed, expected, error = (
        results[name].values for name in ("expert_agreement", "expected_agreement", "expected_agreement_error")
    )
    excess = observed - expected
    return {
        str(name): (
            f"{name} knows more about these cases than the annotations do, or has seen these annotations: it agrees "
            f"with annotators in {100 * observed[at]:.1f} %, where {100 * expected[at]:.1f} % were expected. Its "
            "accuracy is underestimated: pass its predictions to pb.aggregate, unless it has seen the annotations."
        )
        for at, name in enumerate(results["classifier"].values)
        if excess[at] >= POINTS and excess[at] > ERRORS * error[at]
    }
