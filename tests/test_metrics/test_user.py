"""A metric of the user's own against a loop, and refusals."""

import jax.numpy as jnp
import numpy as np
import pytest

from plausibly import metrics
from plausibly.errors import ArgumentError
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


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda scores, plausibility: scores, r"must return one number, but it returns the shape \(3,\)"),
        (lambda scores, plausibility: None, "must return one number, but it returns no array"),
        (lambda scores: scores.sum(), "must be a function of scores .* but it failed"),
        (lambda scores, plausibility: float(scores.sum()), "that JAX can trace, but it failed"),
        ("accuracy", "must be a function of scores and plausibilities, but 'accuracy' was given"),
    ],
)
def test_functions_that_are_no_metrics_are_refused(function, message):
    with pytest.raises(ArgumentError, match=message):
        metrics.per_draw(function, np.ones((2, 3)), np.ones((1, 2, 3)))


def test_better_is_a_direction_or_a_value():
    with pytest.raises(ArgumentError, match=r"better must be .* or the best value, a number, but 'less' was given"):
        metrics.Metric(brier, better="less")
