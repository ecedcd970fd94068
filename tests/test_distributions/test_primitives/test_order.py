"""The order of a tied block: the table and the draws against enumeration."""

from itertools import permutations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from plausibly.distributions.primitives import draw_order, order_table


@jax.jit
def draw(r, u):
    """Orders drawn from the table, as (class, place, draw)."""
    return draw_order(order_table(r), u)


def enumerated(weights, rest):
    """Probability of every order of the block, given that all of it comes before the rest."""
    out = {}
    for order in permutations(range(len(weights))):
        p, total = 1.0, rest + sum(weights)
        for k in order:
            p *= weights[k] / total
            total -= weights[k]
        out[order] = p
    total = sum(out.values())
    return {order: p / total for order, p in out.items()}


@pytest.mark.parametrize(
    ("weights", "rest"), [([3.0, 1.0], 1.0), ([0.2, 5.0, 1.0], 0.7), ([1.0, 0.2, 0.7, 4.0, 2.0], 0.4)]
)
def test_orders_come_with_their_probabilities(weights, rest):
    n = 40_000
    r = np.broadcast_to(np.log(np.array(weights, np.float32) / rest)[:, None], (len(weights), n)).astype(np.float32)
    drawn = np.asarray(draw(r, np.random.default_rng(0).random((len(weights) - 1, n), np.float32)))
    assert (drawn.sum(0) == 1).all()
    assert (drawn.sum(1) == 1).all()
    who = drawn.argmax(1).T
    expected = enumerated(weights, rest)
    orders, counts = np.unique(who, axis=0, return_counts=True)
    found = dict(zip(map(tuple, orders.tolist()), counts.tolist(), strict=True))
    observed = np.array([found.get(order, 0) for order in expected])
    assert stats.chisquare(observed, n * np.array(list(expected.values()))).pvalue > 1e-5


@pytest.mark.slow
def test_of_larger_blocks_every_place_is_taken_as_often_as_it_should_be():
    """Beyond the sizes that are masked, probabilities are looked up."""
    weights, rest, n = [0.2, 5.0, 1.0, 0.5, 30.0, 0.1, 2.0], 0.7, 20_000
    r = jnp.broadcast_to(jnp.log(jnp.array(weights) / rest)[:, None], (7, n))
    drawn = draw(r, jax.random.uniform(jax.random.key(7), (6, n)))
    expected = np.zeros((7, 7))
    for order, p in enumerated(weights, rest).items():
        expected[np.arange(7), list(order)] += p
    error = np.sqrt(expected * (1 - expected) / n)
    assert (np.abs(np.asarray(drawn).mean(-1) - expected) < 5 * error).all()
