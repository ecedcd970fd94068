"""Stretched gaps: there and back, volumes by automatic differentiation, and what they are for."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro.distributions import biject_to
from numpyro.infer.util import log_density, potential_energy

from plausibly import models
from plausibly.data.annotations import Annotations, Slots
from plausibly.distributions import LogRatioDirichlet, StretchedGaps, log_simplex
from plausibly.distributions._log_ratio_dirichlet import shrink
from plausibly.inference._batching import bucket_cases
from plausibly.inference.nuts._engine import with_order

RANKINGS = [[["a"], ["b", "c"]], [["a"], ["d"]], [["b", "c"]]]


def case_of(rankings, classes="abcdef", fit="merged"):
    annotations = Annotations.from_rankings([rankings], classes=classes)
    slots = Slots.of(annotations)
    (bucket,) = bucket_cases(annotations, slots, np.ones(len(slots)), pooled=True, fit=fit)
    return jax.tree.map(lambda a: jax.device_put(a[0]), with_order(bucket, annotations, slots).data)


def test_order_is_by_comparisons_won_with_gaps_for_quarrels_and_nothing_below_what_fills_up():
    """a is preferred to all, nobody tells b from c, the remainder comes last."""
    order = case_of([[["a"], ["b", "c"], ["d"]], [["a"]]], fit="exact").order
    place, group, below = (np.asarray(a).astype(int).tolist() for a in order[:3])
    assert place == np.eye(5, dtype=int).tolist()
    assert group == [[1, 0, 0, 0], [0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]]
    assert below == [[0, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert np.asarray(order.sharp).tolist() == [True] * 4
    assert np.asarray(order.unanimous).tolist() == [True] * 4
    # b and c are tied both times, but above d and below it.
    order = case_of(RANKINGS, fit="exact").order
    place, group, below = (np.asarray(a).astype(int).tolist() for a in order[:3])
    assert place == np.eye(5, dtype=int).tolist()
    assert group == np.eye(4, dtype=int).tolist()
    assert below == [[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert np.asarray(order.unanimous).tolist() == [False, False, False, True]
    order = case_of(RANKINGS).order  # five slots in a shape of six
    assert np.asarray(order.place)[0].tolist() == [False] * 5 + [True]
    assert not order.sharp[0]
    assert not np.asarray(order.below)[0].any()
    assert not np.asarray(order.group)[:, 0].any()


@pytest.mark.parametrize("sharpness", [0.3, 100.0])
def test_transform_returns_and_knows_its_volume(sharpness, float64):
    with float64():
        transform = biject_to(StretchedGaps(case_of(RANKINGS).order, jnp.asarray(sharpness)))
        v = 3 * np.random.default_rng(0).normal(size=transform.order.below.shape[0])

        @jax.jit
        def evaluated(v):
            z = transform(v)
            return transform._inverse(z), jax.jacobian(transform)(v), transform.log_abs_det_jacobian(v, z)

        back, jacobian, found = evaluated(v)
        np.testing.assert_allclose(back, v, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found, np.linalg.slogdet(jacobian)[1], rtol=1e-6)


def test_a_gap_is_the_log_odds_of_being_drawn_first():
    """Of a from among all, at γ = 20: the reason for the coordinates."""
    transform = biject_to(StretchedGaps(case_of(RANKINGS, fit="exact").order, jnp.asarray(20.0)))
    v = jnp.array([0.7, -0.4, 0.2, 1.5])
    weights = np.exp(20 * np.asarray(jax.jit(lambda v: log_simplex(transform(v)))(v), float))
    gap = float(shrink(v[0], 20.0, 1.0))
    np.testing.assert_allclose(weights[0] / weights.sum(), 1 / (1 + np.exp(-20 * gap)), rtol=1e-4)


def test_coordinates_leave_the_distribution_alone_and_pass_through_transformations():
    """The density at a point of the support is the same; of the unconstrained one, that times the volume."""
    case = case_of(RANKINGS)
    plain = case._replace(order=None)
    arguments = {"reliability": 30.0, "mode": "temper"}
    v = jnp.array([0.3, 1.0, -0.5, 0.8, 2.0])
    transform = biject_to(StretchedGaps(case.order, jnp.asarray(30.0)))
    density = jax.jit(lambda case, z: log_density(models.plackett_luce, (case,), arguments, {"log_ratio": z})[0])
    energy = jax.jit(lambda v: potential_energy(models.plackett_luce, (case,), arguments, {"log_ratio": v}))(v)
    z, volume = jax.jit(lambda v: (z := transform(v), transform.log_abs_det_jacobian(v, z)))(v)
    assert density(case, z) == density(plain, z)
    np.testing.assert_allclose(-energy, density(plain, z) + volume, rtol=1e-5)
    support = StretchedGaps(case_of(RANKINGS).order, jnp.asarray(5.0))
    prior = LogRatioDirichlet(jnp.ones(6), coordinates=support)
    assert isinstance(prior.support, StretchedGaps)
    assert isinstance(jax.jit(lambda d: d)(prior).support, StretchedGaps)
    assert bool(prior.support(jnp.zeros(5)))
    assert not bool(prior.support(jnp.full(5, jnp.nan)))
    assert prior.support == StretchedGaps(support.order, jnp.asarray(2.0))
    np.testing.assert_array_equal(prior.support.feasible_like(jnp.ones(5)), np.zeros(5))
    with numpyro.validation_enabled():
        assert np.isfinite(prior.log_prob(jnp.zeros(5)))
