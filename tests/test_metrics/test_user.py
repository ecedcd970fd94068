"""A metric of the user's own against a loop."""

import jax.numpy as jnp
import numpy as np

from plausibly import metrics
from plausibly.metrics.user import map_draws


def brier(scores, plausibility):
    return jnp.sum((scores - plausibility) ** 2)


def test_it_is_computed_in_every_draw_of_every_case():
    rng = np.random.default_rng(0)
    predictions, draws = rng.random((4, 3)), rng.dirichlet(np.ones(3), (5, 4))
    expected = [[((predictions[i] - draw[i]) ** 2).sum() for i in range(4)] for draw in draws]
    np.testing.assert_allclose(metrics.per_draw(brier, predictions, draws), expected, rtol=1e-5)
    np.testing.assert_allclose(metrics.per_draw(metrics.Metric(brier), predictions, draws), expected, rtol=1e-5)


def test_a_function_is_compiled_once_for_each_shape():
    """Also if it is defined again, as in a cell of a notebook that is run twice."""
    before = map_draws._cache_size()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        metrics.per_draw(lambda scores, plausibility: scores @ plausibility, rng.random((4, 3)), rng.random((5, 4, 3)))
    assert map_draws._cache_size() == before + 1
