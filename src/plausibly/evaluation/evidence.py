"""What a posterior knows of the classifiers that are evaluated against it, and sentences where that matters."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from plausibly.base.arviz import Posterior
from plausibly.data.annotations import Annotations
from plausibly.families.priors import Evidence
from plausibly.families.true_class.confusion import Confusion
from plausibly.posterior import draws_apart
from plausibly.posterior.says import has_true_class

WITHHELD = (
    "Most cases have one label, so accuracy against the class that most experts would name cannot be known, however "
    "many cases there are. Agreement with an expert can, and bounds of the accuracy. To assume how far experts agree, "
    "aggregate with prior_kappa= (--prior-kappa)."
)
SEEN = (
    "The agreement of {0} with the labels is not possible without having seen them. The posterior takes the "
    "predictions of {0} as evidence, so no accuracy is stated, of {0} or of others: leave {0} out, or collect fresh "
    "labels."
)
ERRORS = 2  #: standard errors from which a difference of means over cases counts
_DRAWS = 100  # of which means are taken, at equal distances
POINTS = 0.01  #: excess of agreement over what is expected that is too small to matter


def paired(
    difference: Float[np.ndarray, "*shape case"], cluster: np.ndarray, weight: Float[np.ndarray, " case"] | None = None
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """Mean of a difference over cases, and its standard error over clusters; NaN for a single cluster."""
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


def spread(attrs: Mapping[str, Any]) -> str:
    """What says how far experts agree in a case: the labels, an assumption, or nothing ("unknown").

    A prior that is not learned from labels says it, as published.
    """
    learned = attrs.get("evidence", attrs.get("learned_prior", "{}"))
    return json.loads(learned).get("spread", "labels")


def accuracy_bounds(
    agreement: Float[np.ndarray, "*shape"], n_classes: int
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    r"""Bound the accuracy against the most plausible class by the agreement with an expert, over K classes.

    Let :math:`c` be the classifier's choice in a case. Where it is not the most plausible class, :math:`\lambda_c \le
    1/2`, since another is at least as plausible; where it is, :math:`\lambda_c \ge 1/K`. With accuracy :math:`A` and
    agreement :math:`A_1 = E \lambda_c`, therefore :math:`A / K \le A_1 \le A + (1 - A) / 2`, that is

    .. math::
       \max(0, 2 A_1 - 1) \le A \le \min(1, K A_1).

    The bounds are sharp if nothing but :math:`A_1` is known. The lower one is attained where all agree on the choice in
    a share :math:`A` of the cases, and it ties with another class in the others; the upper one where the choice ties
    with all others in a share :math:`A`, and none names it elsewhere.
    """
    return np.maximum(0, 2 * agreement - 1), np.minimum(1, n_classes * agreement)


def digests(predictions: Mapping[str, Any], annotations: Annotations) -> dict[str, str]:
    """Digests of predictions by classifier, one classifier in memory at a time."""
    return {name: Evidence.of({name: source}, annotations).digests[name] for name, source in predictions.items()}


def unknown_predictions(
    attrs: Mapping[str, Any], predictions: Mapping[str, Any], annotations: Annotations
) -> dict[str, str]:
    """Sentences on classifiers that a posterior does not know though it knows others, or knows by other predictions."""
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


def says_how_named(posterior: Posterior) -> bool:
    """Whether a posterior says how annotators name the one true class; one that was built by hand need not."""
    return has_true_class(posterior.attrs) and "true_class" in posterior["posterior"].sizes


def named_where_one_is_true(
    posterior: Posterior, annotations: Annotations, choice: Int[np.ndarray, "classifier case"]
) -> Float[np.ndarray, "classifier case"]:
    """Mean probability that the annotators of a case name a choice, where one class is true; 0 without annotators."""
    group, constants = posterior["posterior"], posterior["constant_data"]
    some = group.isel(draws_apart(group, _DRAWS))
    named = Confusion.of(posterior, some).given_truth()
    true = np.zeros((annotations.n_cases, named.shape[1]))
    true[constants["case_index"].values, group["class_index"].values] = some["plausibility"].mean("replicate").values
    annotations = annotations.fair or annotations
    case = annotations.annotation_case
    who, chosen = np.minimum(annotations.annotation_annotator, len(named) - 1), choice[:, case]
    given = sum(true[case, of] * named[who, of, chosen] for of in range(named.shape[1])) * (chosen >= 0)
    return np.stack([np.bincount(case, of, annotations.n_cases) for of in given]) / np.maximum(annotations.per_case, 1)


def knows_more(results: xr.Dataset) -> dict[str, str]:
    """Sentences on classifiers that agree with annotators more often than the posterior expects.

    They are empty for a posterior that knows their predictions, for a point estimate, where plausibilities are neither
    shares of annotators nor probabilities of a true class, and where top-1 metrics were not computed.
    """
    if "expected_agreement" not in results:
        return {}
    observed, expected, error = (
        results[name].values for name in ("expert_agreement", "expected_agreement", "expected_agreement_error")
    )
    excess = observed - expected
    return {
        str(name): (
            f"{name} knows more about these cases than the annotations do; its accuracy is underestimated. It agrees "
            f"with annotators in {100 * observed[at]:.1f} %, where {100 * expected[at]:.1f} % were expected: pass its "
            "predictions to pb.aggregate, unless it has seen these annotations."
        )
        for at, name in enumerate(results["classifier"].values)
        if excess[at] >= POINTS and excess[at] > ERRORS * error[at]
    }
