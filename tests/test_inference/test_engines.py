"""NUTS against closed forms, numerical integration and NumPyro; seeds; programs of the user's own; likelihoods."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy import stats

import plausibly as pb
from plausibly.aggregation import unjudged
from plausibly.base.arviz import to_groups
from plausibly.data.annotations import Annotations
from plausibly.posterior import slots_of
from tests.test_inference.oracles import (
    LABELS,
    LETTERS,
    SINGLES,
    TIED,
    agree,
    draws_of,
    integrate,
    literal,
    moments,
)

SETTINGS = {"engine": "nuts", "draws": 250, "chains": 4, "warmup": 250, "progress": False}


@pytest.mark.slow
def test_of_single_labels_the_posterior_is_dirichlet_and_statistics_describe_trajectories():
    reliability = 3
    posterior = pb.aggregate(SINGLES, "plackett-luce", reliability=reliability, **SETTINGS, seed=3)
    draws = draws_of(posterior).reshape(4, 250, len(LABELS), 4)
    for case, labels in enumerate(LABELS):
        alpha = 1.0 + reliability * np.bincount(labels, minlength=4)  # the fourth is the remainder, of shape 1
        share = alpha / alpha.sum()
        mine = draws[:, :, case]
        exact = stats.dirichlet(alpha).rvs(200_000, random_state=case)
        top = np.bincount(exact.argmax(1), minlength=4) / len(exact)
        first, second, best = moments(
            mine,
            [lambda x: x, lambda x, m=share: (x - m) ** 2, lambda x: (x == x.max(-1, keepdims=True)).astype(float)],
        )
        agree(first, share)
        agree(second, share * (1 - share) / (alpha.sum() + 1))
        assert (np.abs(best[0] - top) <= 5 * np.hypot(np.where(np.isfinite(best[1]), best[1], 0), 0.0015)).all()
    found = posterior["sample_stats"]
    assert not found["diverging"].values.any()
    assert (found["n_steps"].values >= 1).all()
    assert 0.7 < found["acceptance_rate"].values.mean() < 1
    assert found["tree_depth"].values.max() <= 8
    assert found["energy"].dims == ("chain", "draw", "case")
    assert posterior["convergence"]["converged"].values.all()


@pytest.mark.slow
def test_ties_agree_with_integration_and_likelihoods_with_their_formula():
    """By temper, of all classes; ``python -m validation`` calibrates the other readings."""
    how = {"reliability": 5.0, "mode": "temper"}
    cases = dict(list(TIED.items())[:2])
    annotations = Annotations.from_rankings(list(cases.values()), classes=LETTERS)
    posterior = pb.aggregate(annotations, "plackett-luce", unranked="exact", **how, **SETTINGS)
    draws = draws_of(posterior).reshape(4, 250, len(cases), 3)
    for case, ranked in enumerate(cases.values()):
        mean, square = integrate(ranked, [1.0, 1.0, 3.0], **how)  # a, b and three others
        first, second = moments(draws[:, :, case], [lambda x: x, np.square])
        agree(first, mean)
        agree(second, square)
        weights = np.moveaxis(draws[:, :, case], -1, 0) ** how["reliability"]
        of_case = posterior["log_likelihood"]["case"].values == str(case)
        found = posterior["log_likelihood"]["ranking"].values[..., of_case]
        for got, blocks in zip(np.moveaxis(found, -1, 0), ranked, strict=True):
            usual = weights.min(0) > 1e-25
            expected = np.log(literal(blocks, dict(zip("abc", weights, strict=True))))
            np.testing.assert_allclose(got[usual], expected[usual], rtol=1e-4, atol=1e-4)
            assert usual.mean() > 0.9


EXACT = {"draws": 50, "chains": 2, "progress": False}


@pytest.mark.slow
@pytest.mark.parametrize("model", ["plackett-luce", "dirichlet-categorical"])
def test_other_cases_do_not_change_a_case(model):
    """NUTS within one shape and chunk size to the bit; arrays of another length may be rounded otherwise."""
    options = EXACT | ({"engine": "nuts", "draws": 20, "warmup": 20} if model == "plackett-luce" else {})
    every = unjudged(pb.aggregate)(SINGLES, model, reliability=3, seed=3, **options)
    some = unjudged(pb.aggregate)(SINGLES.select(["p4", "p1"]), model, reliability=3, seed=3, **options)
    slots = slots_of(every)
    for i, case in enumerate(("p4", "p1")):
        own = slice(slots.start[int(case[1])], slots.start[int(case[1]) + 1])
        rounding = 0 if model == "plackett-luce" else 1e-4
        np.testing.assert_allclose(draws_of(some)[..., 4 * i : 4 * i + 4], draws_of(every)[..., own], rtol=rounding)
    other, draws = unjudged(pb.aggregate)(SINGLES, model, reliability=3, seed=4, **options), draws_of(every)
    assert (draws_of(other) != draws).mean() > 0.99
    assert (draws[0] != draws[1]).mean() > 0.99


def own_program(case, reliability=2.0):
    """Labels with a share of mistakes, itself unknown."""
    mistakes = numpyro.sample("mistakes", dist.Beta(2.0, 2.0))
    plausibility = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    k = case.concentration.shape[0]
    label = jnp.argmin(case.rankings.positions, axis=-1)
    with numpyro.plate("annotation", case.counts.shape[0]), numpyro.handlers.scale(scale=reliability * case.counts):
        numpyro.sample("label", dist.Categorical((1 - mistakes) * plausibility + mistakes / k), obs=label)


@pytest.mark.slow
def test_a_program_of_the_users_own_runs_through():
    annotations = SINGLES.select(["p2"])
    posterior = pb.aggregate(annotations, own_program, reliability=1.5, seed=1, **SETTINGS)
    draws = draws_of(posterior)
    assert posterior.attrs["model"] == "own_program"
    np.testing.assert_allclose(draws.sum(-1), 1, rtol=1e-5)
    assert "log_likelihood" not in to_groups(posterior)
    np.testing.assert_allclose(posterior["constant_data"]["point_plausibility"].values, draws.mean((0, 1)), rtol=1e-5)
    # Importance sampling from the prior.
    rng = np.random.default_rng(0)
    share, mistakes = rng.dirichlet(np.ones(4), 400_000), rng.beta(2, 2, (400_000, 1))
    log_p = np.log((1 - mistakes) * share + mistakes / 4)
    weight = np.exp(1.5 * log_p[:, LABELS[2]].sum(1))
    ess = weight.sum() ** 2 / (weight**2).sum()
    ((mean, se),) = moments(draws, [lambda x: x])
    agree((mean, np.hypot(se, 0.25 / np.sqrt(ess))), (weight[:, None] * share).sum(0) / weight.sum())


@pytest.mark.slow
def test_a_case_with_a_single_slot_is_sampled_beside_others():
    annotations = pb.Annotations.from_labels([["a", "a"], ["a", "b"]], classes=["a", "b", "c"])
    settings = {"draws": 20, "warmup": 20, "chains": 2, "progress": False}
    draws = draws_of(pb.aggregate(annotations, own_program, unranked="ignore", seed=1, **settings))
    assert (draws[..., 0] == 1).all()
    np.testing.assert_allclose(draws[..., 1:].sum(-1), 1, rtol=1e-5)
    assert (draws[..., 1].std((0, 1)) > 0.05).all()


def test_likelihoods_of_labels_are_categorical():
    posterior = pb.aggregate(SINGLES, "dirichlet-categorical", reliability=5, draws=20, chains=2, progress=False)
    draws, got = (
        draws_of(posterior).reshape(2, 20, len(LABELS), 4),
        posterior["pseudo_log_likelihood"]["ranking"].values,
    )
    expected = np.concatenate([np.log(draws[:, :, case, labels]) for case, labels in enumerate(LABELS)], axis=-1)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
