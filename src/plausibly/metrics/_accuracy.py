"""Top-k accuracy."""

import jax.numpy as jnp

from plausibly.metrics._list_metric import list_metric


@list_metric(name="accuracy")
def top_k_accuracy(predicted, plausible):
    """Whether the most plausible class is among the ``k`` that the classifier scores highest.

    The mean over cases and draws is the uncertainty-adjusted top-k accuracy; with one draw it is the usual top-k
    accuracy.

    Parameters
    ----------
    predictions
        Finite scores, on any monotone scale.
    plausibilities
        Draws of the class distributions; finite, not negative.
    k
        Length of the classifier's list, at most the number of classes. Where all scores are 0, which is no answer, none
        of its classes is a right one.
    break_ties
        How to break ties between scores or between plausibilities: by class order (``"order"``) or at random
        (``"random"``).
    seed
        Random seed for random ties.

    Returns
    -------
    Ones and zeros.

    Raises
    ------
    ArgumentError
        If shapes do not fit, a value is not finite, a plausibility is negative or ``k`` is out of range.

    References
    ----------
    Stutz et al. (2025), section 2.5, arXiv 2307.02191.

    Examples
    --------
    >>> predictions = [[0.7, 0.2, 0.1]]
    >>> draws = [[[0.6, 0.3, 0.1]], [[0.3, 0.6, 0.1]]]
    >>> top_k_accuracy(predictions, draws, 1).tolist(), top_k_accuracy(predictions, draws, 2).tolist()
    ([[1.0], [0.0]], [[1.0], [1.0]])
    """
    return jnp.any(predicted == plausible[:1], axis=0).astype(jnp.int32)
