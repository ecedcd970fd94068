"""Set accuracy."""

import jax.numpy as jnp

from plausibly.metrics._list_metric import list_metric, shared


@list_metric()
def set_accuracy(predicted, plausible):
    """Whether the ``k`` highest scores and the ``k`` highest plausibilities are the same set of classes.

    Arguments, treatment of ties, errors and source are those of :func:`top_k_accuracy`.

    Returns
    -------
    Ones and zeros.

    Examples
    --------
    >>> set_accuracy([[0.7, 0.2, 0.1]], [[[0.3, 0.6, 0.1]], [[0.6, 0.1, 0.3]]], 2).tolist()
    [[1.0], [0.0]]
    """
    return (shared(predicted, plausible) == len(predicted)).astype(jnp.int32)
