"""Common confusion: every case has one true class, and all annotators share one confusion matrix."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import Float, Int
from scipy.special import expit, logit

from plausibly.data.case import LabelledCases
from plausibly.families.model import Model
from plausibly.families.true_class import OPTIONS, TrueClass
from plausibly.inference.moves import Moves
from plausibly.models.dawid_skene import (
    EXPECTED,
    PAUN,
    SKENE,
    STRENGTH,
    diagonals,
    draw_common,
    draw_common_confusion,
    draw_prevalence,
    even,
    start_common,
    sum_out_truth,
)


def common_confusion(labels: LabelledCases) -> None:
    r"""Model of one true class in which all annotators confuse classes alike.

    .. math::
       \pi \sim \mathrm{Dirichlet}(1), \quad m_k \sim \mathrm{Dirichlet}(a_k) \; [m_{kk} \ge m_{kj}], \quad
       z_i \sim \mathrm{Categorical}(\pi), \quad y_{ir} \sim \mathrm{Categorical}(m_{z_i})

    The true class :math:`z_i` is summed out; the plausibility of a class is its probability given the labels and the
    shared parameters. With predictions, :math:`z_i \sim \mathrm{Categorical}(m_i)`, see
    ``plausibly.models.dawid_skene.draw_prevalence``.

    Parameters
    ----------
    labels
        Labels of all cases, as those of one annotator, and what classifiers say of the cases, if that is known.

    Notes
    -----
    Annotators may be anonymous, or have a few labels each, which would not tell how they differ. If they do differ, and
    each case is labelled by any of them, labels of a case are still independent draws from the mean of their confusion
    matrices; but a label then counts the same whoever gave it. The prior of a row is that of the common confusion in
    :func:`plausibly.models.dawid_skene`.

    The above is ``difficulty="same"``. By default, cases have looks as in :func:`plausibly.models.dawid_skene`, and one
    accuracy, that of naming what is seen, takes the place of :math:`m`.

    References
    ----------
    Dawid & Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied
    Statistics 28; the pooled model of Paun et al. (2018), Comparing Bayesian models of annotation, Transactions of the
    ACL 6.
    """
    _, of_case, looks = draw_prevalence(labels)
    if labels.looks is None:
        common = draw_common_confusion(labels)
    else:  # which classes look alike is a matter of the cases, and what else annotators name is not
        right = numpyro.sample("right", dist.Beta(STRENGTH * EXPECTED, STRENGTH * (1 - EXPECTED)))
        numpyro.factor("true class first", jnp.where(right >= 1 / labels.n_classes, 0, -jnp.inf))
        common = numpyro.deterministic("common_confusion", even(right, labels.n_classes))
    sum_out_truth(labels, of_case, common[None], looks)


def start(counts: Int[np.ndarray, "chain annotator class named"], random: Moves) -> dict[str, Any]:
    """Start near what the majority vote says."""
    return {"common_confusion": start_common(counts)}


def start_even(counts: Int[np.ndarray, "chain annotator class named"], random: Moves) -> dict[str, Any]:
    """Start as :func:`start`, with one accuracy for all classes."""
    common = start(counts, random)["common_confusion"]
    return {"common_confusion": even(diagonals(common).mean(-1), common.shape[-1])}


def draw_even(
    common: Float[np.ndarray, "chain class named"], counts: Int[np.ndarray, "chain class named"], random: Moves
) -> Float[np.ndarray, "chain class named"]:
    """Draw the one accuracy of all classes given counts of labels; one below chance is refused."""
    right, k = diagonals(counts).sum(-1), counts.shape[-1]
    first, second = STRENGTH * EXPECTED + right, STRENGTH * (1 - EXPECTED) + counts.sum((1, 2)) - right
    return even(random.betas("right", first, second, common[:, 0, 0], 1 / k), k)


def move(
    values: dict[str, Any],
    counts: Int[np.ndarray, "chain annotator class named"],
    truth: Int[np.ndarray, "chain class"],
    random: Moves,
    draw_common: Callable[..., Float[np.ndarray, "chain class named"]] = draw_common,
) -> dict[str, Any]:
    """Draw everything shared, given the true classes."""
    common = draw_common(values["common_confusion"], counts.sum(1), random)
    return {"prevalence": random.rows("prevalence", 1 + truth), "common_confusion": common}


def shift(
    values: dict[str, Any], by: Float[np.ndarray, "point chain #annotator class"]
) -> tuple[dict[str, Any], Float[np.ndarray, "point chain"]]:
    """Add the mean of numbers to the log odds that anybody names what a case looks like; return the log density."""
    k = values["common_confusion"].shape[-1]
    moved = expit(logit(values["common_confusion"][:, 0, 0]) + by.mean((-2, -1)))
    right = np.clip(moved, 1 / k, 1 - 1e-16)
    prior = STRENGTH * EXPECTED * np.log(right) + STRENGTH * (1 - EXPECTED) * np.log1p(-right)
    return values | {"common_confusion": even(right, k), "right": right}, np.where(moved == right, prior, -np.inf)


def confusion(values: dict[str, Any]) -> Float[np.ndarray, "*draw annotator class named"]:
    """Confusion matrix of all annotators."""
    return values["common_confusion"][..., None, :, :]


model = Model(
    name="common-confusion",
    program=common_confusion,
    takes="labels",
    family=TrueClass(
        sites={"prevalence": ("true_class",), "common_confusion": ("true_class", "named_class")},
        start=start,
        move=move,
        confusion=confusion,
        named=False,
        by_case={"start": start_even, "move": partial(move, draw_common=draw_even), "shift": shift},
    ),
    options=OPTIONS,
    shares=False,
    replicate="rankings",
    citations=(("one true class and annotators who confuse classes alike", SKENE), ("pooled annotators", PAUN)),
)
