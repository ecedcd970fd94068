"""Moves that are compiled, against their programs: Plackett-Luce, reliabilities inferred, coefficients of predictions.

As in ``test_conditionals.py``, differences of the log density that a move goes by are compared with those of NumPyro's;
and slices keep the distribution that they go by.
"""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from jax.scipy.special import xlogy
from numpyro.infer.util import log_density
from scipy import stats

from plausibly.data.annotations import Annotations, Slots
from plausibly.data.regression import prior_moments
from plausibly.distributions import log_ratios
from plausibly.distributions.primitives import block_log_prob
from plausibly.families.true_class import _coefficients
from plausibly.inference import bucket_cases
from plausibly.inference.gibbs import _sweep
from plausibly.inference.gibbs._sweep import _complete, _Latent, _rescale, tally
from plausibly.inference.joint import _moves
from plausibly.inference.joint._density import Globals, Prior, make_group
from plausibly.models import plackett_luce, tempered_plackett_luce
from tests.test_aggregation.test_inferred_reliability import ANNOTATIONS, buckets

RELIABILITY = 2.0
RANKED = Annotations.from_rankings(
    [[[["a"], ["b"]], [["b"], ["c", "a"]], [["b", "c"]], [["a"], ["c"], ["b"]]]], classes=list("abcd")
)


@pytest.fixture
def sampled(monkeypatch):
    """A case on the last axis, its tallies, and a sampler whose gamma variables are 1, and those of orbits 2."""
    slots = Slots.of(RANKED)
    (bucket,) = bucket_cases(RANKED, slots, np.full(len(slots), 0.7), pooled=True)
    case = jax.tree.map(lambda a: jnp.asarray(np.moveaxis(np.asarray(a), 0, -1)), bucket.data)
    shapes = []

    def ones(words, clock, shape):
        return jnp.ones_like(shape), jnp.zeros_like(shape), shape > 0

    def twos(shape, *numbers):
        shapes.append(shape)
        return jnp.full_like(shape, 2.0), shape > 0

    monkeypatch.setattr(_sweep, "proposed_gammas", ones)
    monkeypatch.setattr(_sweep, "gammas", twos)
    monkeypatch.setattr(_sweep, "MOVES", 0)
    return case, jax.jit(tally)(case, np.full(1, RELIABILITY, np.float32)), shapes


def augmented(case, tallies, weights, times, exposure):
    """Log density in log weights, times and arrivals: of the program, and of these given weights."""
    own = jax.tree.map(lambda a: a[..., 0], case)
    sites = {"log_ratio": log_ratios(weights[:, 0])}
    found = log_density(plackett_luce, (own,), {"reliability": RELIABILITY}, sites)[0]
    rate = (tallies.sets * weights).sum(1)
    found += jnp.where(tallies.drawn > 0, dist.Gamma(jnp.maximum(tallies.drawn, 1e-3), rate).log_prob(times), 0).sum()
    at = 0
    for ties in tallies.ties:
        for number in range(len(ties.members)):
            members = ties.members[number]
            logs = (members * jnp.log(weights)).sum(1)[..., 0]
            rest = jnp.log((ties.rest[number] * weights).sum())
            block = block_log_prob(logs, rest, members.sum(1)[..., 0] > 0)
            arrivals = ties.repeats[number, 0] * (logs.sum() - block) - (exposure[at] * weights).sum()
            found += jnp.where(ties.repeats[number, 0] > 0, arrivals, 0)
            at += 1
    return found


def test_weights_and_orbits_of_plackett_luce(sampled):
    """Of gamma variables with a shape and a rate, which are seen from what 1, or 2, in their place leads to."""
    case, tallies, shapes = sampled
    words, random = jnp.array([[7], [11]], jnp.uint32), np.random.default_rng(0)
    start = jnp.asarray(random.dirichlet(np.full(len(tallies.real), 2.0))[:, None], jnp.float32)

    @jax.jit
    def run(start):
        state = _sweep.State(start, jnp.zeros_like(tallies.drawn), words, jnp.int32(3))
        tied = _complete(start, tallies, words, state.clock, len(tallies.drawn) + len(start))
        times = jnp.where(tallies.drawn > 0, 1 / (tallies.sets * start).sum(1), 0)
        latent = _Latent(start, times, tied.exposure, tied.before)
        tilted = latent._replace(weights=start * jnp.exp(0.4 * jnp.arange(len(start)) - 0.5)[:, None])

        def along(orbit):
            return _rescale(latent, orbit, (), tied, tallies), shapes.pop()

        moved, of_orbits = jax.lax.map(along, tallies.orbits)
        points = jax.tree.map(lambda *a: jnp.concatenate([jnp.stack(a[:2]), a[2]]), latent, tilted, moved)
        logs = jax.lax.map(lambda one: augmented(case, tallies, one.weights, one.times, one.exposure), points)
        return _sweep.sweep(state, tallies), points, logs, of_orbits, tied

    new, points, logs, of_orbits, tied = jax.tree.map(np.asarray, run(start))
    latent, point, *moved = (_Latent(*(part[at] for part in points)) for at in range(len(logs)))
    exposure = (np.asarray(tallies.sets) * latent.times[:, None]).sum(0) + tied.exposure.sum(0)
    np.testing.assert_allclose(new.plausibility, (1 / exposure) / (1 / exposure).sum(), rtol=1e-4)
    shape = np.asarray(tallies.shape)
    declared = (xlogy(shape, point.weights / start) - exposure * (point.weights - start)).sum()
    assert declared == pytest.approx(logs[1] - logs[0], rel=1e-3, abs=1e-3)
    compared = 0
    for one, log, orbit, (of_orbit,) in zip(moved, logs[2:], np.asarray(tallies.orbits), of_orbits, strict=True):
        inside = one.weights[:, 0] / latent.weights[:, 0]
        if not (np.abs(inside - 1) > 1e-6).any():
            continue
        factor = inside[np.abs(inside - 1).argmax()]
        within = ~((np.asarray(tallies.left)[..., 0] > 0) & (np.abs(inside - 1) < 1e-6)).any(1)
        own = orbit[0] - (len(tallies.sets) - 1) == np.arange(len(within))
        arrivals = np.where(own, tied.after[:, 0], np.where(within, np.asarray(tallies.arrived)[:, 0], 0)).sum()
        used = latent.times > 0
        found = log - logs[0] + np.log(one.times[used] / latent.times[used]).sum() - arrivals * np.log(factor)
        declared = of_orbit * np.log(factor) - 2 / factor * (factor - 1)
        assert declared == pytest.approx(found, rel=2e-3, abs=2e-3)
        compared += 1
    assert compared >= 3


def of_annotators():
    """Two cases as a group, and the log density of the program of both at plausibilities and what annotators share."""
    bucket, _ = buckets("apart", pooled=False)
    whose = np.full((2, bucket.shape.annotations), 0)
    whose[bucket.case, bucket.row] = ANNOTATIONS.annotation_annotator[bucket.annotations]

    @jax.jit
    def joint(state):
        shared, n = state.shared, len(bucket.cases)
        values = {"log_reliability": shared.mean, "spread": jnp.exp(shared.spread)}
        values |= {"deviation": (shared.each - shared.mean) / values["spread"], "log_ratio_0": state.z[0].T[:n, None]}
        found = log_density(tempered_plackett_luce, ([bucket.data], [whose]), {"n_annotators": 3}, values)[0]
        return found + (1 - 3) * shared.spread  # in coordinates of the log spread and of reliabilities themselves

    return bucket, make_group(tempered_plackett_luce, bucket, ANNOTATIONS.annotation_annotator, 3), joint


def test_moves_of_inferred_reliabilities(monkeypatch):
    """Along lines, each annotator by herself, all by the mean and by the spread, and with plausibilities."""
    bucket, group, joint = of_annotators()
    prior = Prior(0.0, 1.5, 1.0)
    random, lanes = np.random.default_rng(1), jnp.array([0.3, -0.4, 0.2])
    z = jnp.asarray(random.normal(size=(bucket.shape.slots - 1, len(group.real))), jnp.float32)
    kept = []

    def line(key, width, moved, density, *, together=False):
        by = jnp.where(together, 0.3, lanes)[: len(width)]
        states = [moved(at) for at in (jnp.zeros_like(by), by)]
        found = jnp.stack([density(state, at) for state, at in zip(states, (jnp.zeros_like(by), by), strict=True)])
        states = [state if hasattr(state, "z") else _moves.State((z,), state) for state in states]
        kept.append((found, states))
        return moved(by), kept.pop() if scanned else jnp.zeros_like(by)

    monkeypatch.setattr(_moves, "line", line)
    scanned = True

    @jax.jit
    def run(shared):
        nonlocal scanned
        state, key, widths = _moves.State((z,), shared), jax.random.key(0), jnp.ones((3, 3))
        moved, (found, states) = _moves.along_lines(key, (group,), state, widths, prior, False, jnp.bool_(False))
        scanned = False
        moved, _ = _moves.with_reliabilities_held(key, moved, widths, prior)
        _moves.rescale(key, (group,), _moves.State((z,), moved), widths[0], prior)
        each = [(found[at], jax.tree.map(lambda a, at=at: a[at], states)) for at in range(3)]
        return [*each, *kept]

    start = Globals(jnp.float32(0.4), jnp.float32(-0.3), jnp.asarray(random.normal(size=3), jnp.float32))
    by, size = float(lanes[0]), (len(bucket.cases)) * len(z)
    volumes = {2: 3 * by, 5: -size * by}
    found = run(start)
    assert len(found) == 6
    for number, (declared, (before, after)) in enumerate(found):
        declared = np.diff(declared, axis=0)[0]
        change = float(joint(after) - joint(before)) + volumes.get(number, 0)
        if number:
            assert declared[0] == pytest.approx(change, rel=1e-3, abs=1e-3), number
            continue
        assert declared.sum() == pytest.approx(change, rel=1e-3, abs=1e-3)
        for who in range(3):
            alone = before.shared.each.at[who].set(after.shared.each[who])
            change = joint(before._replace(shared=before.shared._replace(each=alone))) - joint(before)
            assert declared[who] == pytest.approx(float(change), rel=1e-3, abs=1e-3)


def test_trajectories_of_plausibilities():
    """Their energies at two points, from the same velocities, and acceptance by the difference of these."""
    bucket, group, joint = of_annotators()
    n, random, dim = len(bucket.cases), np.random.default_rng(2), bucket.shape.slots - 1
    shared = Globals(jnp.float32(0.4), jnp.float32(-0.3), jnp.asarray(random.normal(size=3), jnp.float32))
    identity = jnp.broadcast_to(jnp.eye(dim)[..., None], (dim, dim, len(group.real)))

    @jax.jit
    def run(key, z, step):
        return _moves.trajectories(key, group, z, shared.each, jnp.full(len(group.real), step), identity)

    points = [jnp.asarray(random.normal(size=(dim, len(group.real))), jnp.float32) for _ in range(2)]
    energies = [run(jax.random.key(0), z, 0.0)[3][:n].sum() for z in points]
    found = [joint(_moves.State((z,), shared)) for z in points]
    assert float(energies[0] - energies[1]) == pytest.approx(float(found[1] - found[0]), rel=1e-3, abs=1e-3)
    accepted, rates = [], []
    for key in jax.random.split(jax.random.key(1), 150):
        (_, _, _, before), (z, rate, _, after) = run(key, points[0], 0.0), run(key, points[0], 1.7)
        moved = np.asarray((z != points[0]).any(0))
        np.testing.assert_allclose(np.minimum(before - after, 0)[moved], np.log(np.asarray(rate)[moved]), atol=1e-3)
        accepted.append(moved)
        rates.append(rate)
    assert 0.1 < np.mean(rates) < 0.9
    assert abs(np.mean(accepted) - np.mean(rates)) < 0.08


def test_compiled_slices_keep_the_distribution():
    """A cut Laplace distribution, from draws of it."""
    cut, n = stats.laplace.cdf(1), 4000
    x = jnp.asarray(stats.laplace.ppf(cut * np.random.default_rng(0).random(n)), jnp.float32)

    def log_density(by):
        return jnp.where(x + by > 1, -jnp.inf, -jnp.abs(x + by))

    by, _ = jax.jit(lambda key: _moves.slice_move(key, jnp.full(n, 3.0), log_density))(jax.random.key(3))
    assert stats.kstest(np.asarray(x + by), lambda x: stats.laplace.cdf(x) / cut).pvalue > 0.001
    assert (by != 0).all()


def test_coefficients_of_predictions_keep_the_distribution():
    """Their prior, where labels say nothing, by ellipses around another normal distribution."""
    random, n = np.random.default_rng(0), 400
    moments = prior_moments(1, 2)
    size = len(moments[0])
    vector = (moments[0] + moments[1] * random.standard_normal((n, size))).astype(np.float32)
    centre = np.repeat((moments[0] + 0.5 * moments[1])[None], n, 0)
    root = np.repeat(np.diag(1.5 * moments[1])[None], n, 0)
    steps, uniform = random.standard_normal((n, 3, size)), random.random((n, 3, 41))
    given = vector, centre, root, np.ones((n, 2, 2)), steps, uniform, np.zeros((1, 2, 2)), np.log([0.5, 0.5]), *moments
    moved, _ = jax.jit(_coefficients._moves)(*(np.asarray(own, np.float32) for own in given))
    assert stats.kstest(((moved - moments[0]) / moments[1]).ravel(), "norm").pvalue > 0.001
    assert (moved != vector).any(1).mean() > 0.95
