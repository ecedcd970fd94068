"""Ambiguity and uncertainty of a case."""

import jax.numpy as jnp
from jax.scipy.special import entr
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from plausibly.metrics._inputs import check_plausibilities


def expected_entropy(plausibilities: Float[ArrayLike, "draw case class"]) -> Float[Array, " case"]:
    r"""Ambiguity: mean entropy of the plausibilities, :math:`E_m H(\lambda^{(m)})`.

    If plausibilities are shares of annotators, this is the expected uncertainty about a random annotator's label that
    would remain if the plausibilities were known. Further annotations do not reduce it on average if the prior is
    right, but they change it where the prior is wrong: with few annotations and many classes, it is mostly the prior's.

    Parameters
    ----------
    plausibilities
        Draws of the class distributions; finite, not negative.

    Returns
    -------
    Entropies in nats, from 0 to the logarithm of the number of classes.

    Raises
    ------
    ArgumentError
        If the shape is not (draw, case, class), or a value is not finite or negative.

    References
    ----------
    Depeweg, Hernández-Lobato, Doshi-Velez & Udluft (2018), Decomposition of uncertainty in Bayesian deep learning,
    section 3.

    Examples
    --------
    >>> draws = [[[0.5, 0.5], [1.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]]]
    >>> print(expected_entropy(draws).round(3), mutual_information(draws).round(3))
    [0.693 0.   ] [0.    0.693]
    """
    return jnp.mean(jnp.sum(entr(check_plausibilities(plausibilities)), axis=2), axis=0)


def mutual_information(plausibilities: Float[ArrayLike, "draw case class"]) -> Float[Array, " case"]:
    r"""Uncertainty: mutual information of the next label and the plausibilities, :math:`H(\bar\lambda) - E_m H`.

    More annotations reduce it towards 0 under a model that learns from them (``Model.learns``). Together with
    :func:`expected_entropy` it adds up to the entropy of the next label.

    Parameters
    ----------
    plausibilities
        As for :func:`expected_entropy`, including the errors.

    Returns
    -------
    Mutual information in nats, at least 0.

    References
    ----------
    As for :func:`expected_entropy`.

    Examples
    --------
    >>> round(float(mutual_information([[[0.9, 0.1]], [[0.1, 0.9]]])[0]), 3)
    0.368
    """
    plausibilities = check_plausibilities(plausibilities)
    whole = jnp.sum(entr(jnp.mean(plausibilities, axis=0)), axis=1)
    return jnp.maximum(whole - expected_entropy(plausibilities), 0)
