"""The convergence rule: how often it cries wolf, and what it finds."""

import warnings

import matplotlib
import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot
from scipy import stats

import plausibly as pb
from plausibly.base.arviz import arviz, from_groups, to_groups
from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations, Slots
from plausibly.posterior import build_posterior
from plausibly.posterior.diagnostics import (
    E_BFMI,
    ESS_PER_CHAIN,
    FALSE_ALARM,
    convergence,
    judge,
    r_hat_and_ess,
    r_hat_bound,
    trajectories,
)

matplotlib.use("Agg")

N_CASES = 12
ANNOTATIONS = Annotations.from_labels(
    [["a", "b"]] * N_CASES, classes=["a", "b", "c"], cases=[f"p{i}" for i in range(N_CASES)]
)
SLOTS = Slots.of(ANNOTATIONS)


def good_draws(chains=4, draws=250, seed=0, slots=SLOTS):
    gamma = np.random.default_rng(seed).gamma(2.0, size=(chains, draws, len(slots)))
    return (gamma / np.add.reduceat(gamma, slots.start[:-1], axis=-1)[..., slots.case]).astype(np.float32)


def check(draws, diverging=None, slots=SLOTS):
    chains, n, _ = draws.shape
    none = np.zeros((chains, n, len(slots.start) - 1), bool)
    with Progress(False) as progress:
        return convergence(draws, slots, none if diverging is None else diverging, progress=progress)


def failed(result):
    return np.flatnonzero(~result["converged"].values).tolist()


@pytest.mark.parametrize("chains", [1, 2, 4])
def test_independent_draws_have_converged(chains):
    result = check(good_draws(chains, 400, seed=1))
    assert failed(result) == []
    assert (result["ess_bulk"] > ESS_PER_CHAIN * chains).all()
    assert (result["r_hat"] < 1.1).all()
    assert np.isfinite(result["r_hat"]).all()


@pytest.mark.parametrize("chains", [2, 4])
def test_false_alarms_are_as_rare_as_stated(chains):
    """Of 400 families of 10 quantities from converged chains, at most FALSE_ALARM should exceed the bound on R-hat."""
    families, quantities = 400, 10
    rng = np.random.default_rng(chains)
    draws = rng.normal(size=(chains, 200, families * quantities))
    found = r_hat_and_ess(draws)
    exceeds = (found.r_hat > r_hat_bound(found.ess_r_hat, chains, quantities)).reshape(families, quantities).any(1)
    # Under the stated rate, more than 36 of 400 have a probability below 0.001.
    assert exceeds.sum() <= 36
    assert FALSE_ALARM == 0.05
    # The rule of thumb without the allowance, at the least effective sample size that passes, would not do.
    assert np.sqrt(1 + stats.chi2.isf(0.05, 2 * chains - 1) / (2 * chains - 1) * 2 / 100) > 1.01


def test_draws_that_alternate_raise_no_alarm():
    """Draws of NUTS change sides, so that bulk ESS is large, while their distances from the median hardly change."""
    rng = np.random.default_rng(0)
    draws = np.empty((4, 500, 300))
    side, log_distance = rng.normal(size=(2, 4, 300))
    for number in range(500):
        side = -0.5 * side + np.sqrt(0.75) * rng.normal(size=side.shape)
        log_distance = 0.9 * log_distance + np.sqrt(0.19) * rng.normal(size=side.shape)
        draws[:, number] = side * np.exp(0.5 * log_distance)
    with Progress(False) as progress:
        judged, good = judge(draws, progress=progress)
    assert good.all()
    assert (judged["r_hat"] > r_hat_bound(judged["ess_bulk"], 4, 300)).any()
    shifted = draws + 0.2 * draws.std() * np.arange(4)[:, None, None]
    wider = rng.normal(size=(4, 1000, 200)) * np.array([1, 1, 1, 1.5])[:, None, None]
    with Progress(False) as progress:
        assert not judge(shifted, progress=progress)[1].any()
        assert not judge(wider, progress=progress)[1].any()
        assert not judge(wider, progress=progress, enough=100)[1].any()


def test_enough_effective_draws_are_enough():
    """Of what needs only 100 effective draws, R-hat may be as large as chance makes it with so few."""
    draws = np.random.default_rng(0).normal(size=(4, 250, 30))
    for number in range(1, 250):
        draws[:, number] = 0.72 * draws[:, number - 1] + np.sqrt(1 - 0.72**2) * draws[:, number]
    with Progress(False) as progress:
        judged, good = judge(draws, enough=100, progress=progress)
        assert good.mean() > 0.9
        assert not judge(draws, progress=progress)[1].any()
    assert np.median(judged["ess_bulk"]) < 250


def test_the_bound_grows_with_the_tests_and_never_falls_below_the_rule_of_thumb():
    assert r_hat_bound(np.array([1e9]), 4, 10_000) == 1.01
    bounds = [r_hat_bound(np.array([400.0]), 4, q)[0] for q in (1, 100, 10_000)]
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1] < 1.08


# What befalls the draws (chain, draw) of a slot.
CHAIN, DRAW = np.ogrid[:4, :250]
FAULTS = {
    "one chain elsewhere": lambda x: np.where(CHAIN == 2, x + 2 * x.std(), x),
    "one chain stuck": lambda x: np.where(CHAIN == 1, x[1, 0], x),
    "all chains stuck": lambda x: np.broadcast_to((CHAIN + 1) / 10, x.shape),
    "one NaN": lambda x: np.where((CHAIN == 3) & (DRAW == 17), np.nan, x),
    "all NaN": lambda x: np.full(x.shape, np.nan),
    "infinite": lambda x: np.where((CHAIN == 0) & (DRAW == 3), np.inf, x),
    "slow": lambda x: np.cumsum(np.random.default_rng(0).normal(size=x.shape), axis=1),
    "one chain wider": lambda x: np.where(CHAIN == 0, 0.5 + 6 * (x - 0.5), x),
}


def spoil(draws, fault):
    """Damage the first slot of case 7."""
    draws[..., SLOTS.start[7]] = FAULTS[fault](draws[..., SLOTS.start[7]])
    return draws


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found_in_their_case_and_no_other(fault):
    assert failed(check(spoil(good_draws(), fault))) == [7]


def test_a_drift_or_too_few_draws_are_found_and_what_cannot_move_has_converged():
    draws = good_draws(1, 400)
    draws[0, :, SLOTS.start[3]] += np.linspace(0, 1, 400)
    assert failed(check(draws)) == [3]
    assert failed(check(good_draws(4, 60))) == list(range(N_CASES))
    annotations = Annotations.from_labels([["a"], ["a"]], classes=["a"])
    result = check(np.ones((4, 250, 2), np.float32), slots=Slots.of(annotations))
    assert failed(result) == []


def test_one_divergence_is_enough_and_without_trajectories_there_is_none():
    diverging = np.zeros((4, 250, N_CASES), bool)
    diverging[2, 40, 5] = True
    result = check(good_draws(), diverging)
    assert failed(result) == [5]
    assert result["n_diverging"].values.tolist() == [0] * 5 + [1] + [0] * 6
    draws = good_draws(seed=3)
    with Progress(False) as progress:
        xr.testing.assert_identical(convergence(draws, SLOTS, None, progress=progress), check(draws))


def test_a_case_answers_for_its_own_slots_alone():
    """Cases of different numbers of slots, the last slot of each spoilt in turn."""
    annotations = Annotations.from_rankings(
        [[[["a"], ["b"], ["c"]]], [[["a"]]], [[["b"], ["c"]]]], classes=list("abcd")
    )
    slots = Slots.of(annotations)
    for case in range(3):
        draws = good_draws(slots=slots)
        draws[0, :, slots.start[case + 1] - 1] += 1
        assert failed(check(draws, slots=slots)) == [case]


def test_diagnose_names_the_cases_and_refuses_what_is_no_posterior(tmp_path):
    draws = spoil(good_draws(), "one chain elsewhere")
    result = check(draws)
    posterior = build_posterior(draws, ANNOTATIONS, SLOTS, point=draws[0, 0], concentration=1.0, convergence=result)
    found = pb.diagnose(posterior)
    assert found["case"].values[~found["converged"].values].tolist() == ["p7"]
    assert "convergence" in to_groups(posterior)


def test_exact_draws_have_nothing_to_converge_and_no_energy_to_judge():
    posterior = pb.aggregate(ANNOTATIONS, "dirichlet-categorical", draws=10, progress=False)
    found = pb.diagnose(posterior)
    assert list(found.data_vars) == ["converged"]
    assert found["converged"].all()
    assert found["case"].values.tolist() == ANNOTATIONS.cases.tolist()
    energy, steps = energies(), np.full((4, 250, N_CASES), 7)
    depth = np.full(steps.shape, 3)
    for values in (energy, steps, depth):
        values[..., :4] = 0
    depth[:, :50, 6] = 8
    result = check_with({"energy": energy, "n_steps": steps, "tree_depth": depth})
    assert failed(result) == []
    assert np.isnan(result["e_bfmi"].values).tolist() == [True] * 4 + [False] * 8
    assert result["at_max_depth"].values[4:].tolist() == [0, 0, 0.2, 0, 0, 0, 0, 0]
    assert np.isnan(result["at_max_depth"].values[:4]).all()


def energies(chains=4, draws=250, cases=N_CASES, seed=5):
    return np.random.default_rng(seed).gamma(3.0, size=(chains, draws, cases)).astype(np.float32)


def check_with(statistics, draws=None):
    with Progress(False) as progress:
        found = good_draws() if draws is None else draws
        return convergence(found, SLOTS, None, statistics=statistics, progress=progress)


def test_the_energy_is_judged_as_arviz_does_in_its_case_and_no_other():
    energy = energies()
    expected = [arviz().bfmi(energy[:, :, case]).min() for case in range(N_CASES)]
    np.testing.assert_allclose(trajectories({"energy": energy})["e_bfmi"], expected, rtol=1e-5)
    energy[2, :, 5] = np.cumsum(np.random.default_rng(0).normal(size=250))
    result = check_with({"energy": energy})
    assert failed(result) == [5]
    assert result["e_bfmi"].values[5] < E_BFMI < np.delete(result["e_bfmi"].values, 5).min()


def test_steps_tell_the_depth_and_energies_may_stand_still_or_be_unknown():
    steps = np.full((2, 10), 1023)
    steps[0, :5] = 15
    assert trajectories({"n_steps": steps}, max_tree_depth=10)["at_max_depth"] == 0.75
    result = check_with({"energy": np.ones((4, 250, N_CASES), np.float32)})
    assert failed(result) == []
    assert np.isnan(result["e_bfmi"].values).all()
    assert "e_bfmi" not in check_with({"lp": energies()})


def test_a_lost_convergence_is_computed_again_also_from_a_file(tmp_path):
    draws, energy = spoil(good_draws(), "one chain elsewhere"), energies()
    statistics = {"diverging": energy > 1e9, "energy": energy, "n_steps": np.full(energy.shape, 7)}
    with Progress(False) as progress:
        expected = convergence(draws, SLOTS, statistics["diverging"], statistics=statistics, progress=progress)
    posterior = build_posterior(
        draws, ANNOTATIONS, SLOTS, point=draws[0, 0], concentration=1.0, sample_stats=statistics, convergence=expected
    )
    groups = to_groups(posterior)
    kept = groups.pop("convergence")
    lost = from_groups(groups, posterior.attrs)
    pb.save(lost, tmp_path / "lost.nc")
    for found in (pb.diagnose(lost), pb.diagnose(tmp_path / "lost.nc"), pb.diagnose(str(tmp_path / "lost.nc"))):
        xr.testing.assert_allclose(found, kept)
        assert found["case"].values[~found["converged"].values].tolist() == ["p7"]
        assert found.attrs == kept.attrs == {"chains": 4, "draws": 250, "quantities": len(SLOTS)}


@pytest.mark.parametrize("how", ["memory", "file"])
def test_arviz_draws_traces_and_ranks_as_it_is(how, tmp_path):
    draws = good_draws()
    posterior = build_posterior(draws, ANNOTATIONS, SLOTS, point=draws[0, 0], concentration=1.0)
    if how == "file":
        pb.save(posterior, tmp_path / "p.nc")
        posterior = pb.load(tmp_path / "p.nc")
    some = {"slot": [0, 1]}
    for draw in (arviz().plot_trace, arviz().plot_rank):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what ArviZ says of its own dependencies
            assert draw(posterior, var_names=["plausibility"], coords=some) is not None
    pyplot.close("all")
