"""The model of all outcomes: its likelihood, its design, and what a result says of it."""

import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from numpyro import handlers
from scipy.optimize import minimize
from scipy.stats import norm

import plausibly as pb
from plausibly.app import results
from plausibly.data.outcomes import Cells, cells_of, read_outcomes
from plausibly.inference import STATISTICS
from plausibly.models.judged_outcomes import Parameters, facets, log_of_cells
from plausibly.systems import _model, _modelled
from plausibly.systems._model import _new_people, lay_out, nodes_of
from plausibly.systems._modelled import check_sentences, design_effect, predictive_checks, widened
from tests.worlds import outcomes

# Davidson (1970): brands of pudding i and j, comparisons, preferences for i, for j, and none.
PUDDINGS = """
1 2 57 19 22 16
1 3 47 16 19 12
2 3 48 19 19 10
1 4 54 18 23 13
2 4 51 23 19 9
3 4 54 19 20 15
1 5 50 13 19 18
2 5 48 16 20 12
3 5 48 16 15 17
4 5 47 17 14 16
1 6 51 18 21 12
2 6 54 22 20 12
3 6 41 13 18 10
4 6 51 14 19 18
5 6 44 11 21 12
"""
GAMES = {"A>B": 2, "B>A": 3, "A>D": 1, "D>A": 4, "B>C": 5, "C>B": 3, "C>D": 1, "D>C": 3}


def pairs_of(won):
    """Table of pairs in which each comparison is a case, by one person."""
    rows = [(a, b, outcome) for a, b, outcome, n in won for _ in range(n)]
    frame = pd.DataFrame(rows, columns=["system_a", "system_b", "outcome"])
    return frame.assign(case=range(len(frame)), rater="ann")


def maximum(frame, systems):
    """Worths of systems that maximise the likelihood of the model without anything but qualities and ties."""
    read = read_outcomes(frame, people=["ann"])
    layout = lay_out(read, np.zeros((0, len(systems))))
    judged, nodes = layout.judged, nodes_of(1, 1, 1)
    k = len(layout.values)

    @jax.jit
    @jax.value_and_grad
    def loss(values):
        step = jnp.zeros((1, k)).at[0, 1:-1].set(values[-1])
        p = Parameters(values[:-1], 0.0, 0.0, 0.0, 0.0, jnp.zeros(1), jnp.ones(1), step, *NOTHING, 0.0)
        return -(judged.times * log_of_cells(judged, nodes, p)).sum()

    with jax.enable_x64(True):
        start = np.zeros(len(systems) + 1)
        found = minimize(lambda x: [np.asarray(one, float) for one in loss(x)], start, jac=True, tol=1e-12)
    order = [read.systems.tolist().index(name) for name in systems]
    return found.x[:-1][order], np.exp(found.x[-1])


NOTHING = jnp.zeros((0, 1)), *[jnp.zeros(0)] * 3


def test_davidsons_puddings():
    won = []
    for line in PUDDINGS.strip().splitlines():
        i, j, _, first, second, tied = line.split()
        won += [(i, j, "a", int(first)), (i, j, "b", int(second)), (i, j, "tie", int(tied))]
    quality, tie = maximum(pairs_of(won), list("123456"))
    worth = np.exp(quality) / np.exp(quality).sum()
    np.testing.assert_allclose(worth, [0.1388, 0.1730, 0.1617, 0.1654, 0.1587, 0.2024], atol=1e-4)
    assert tie == pytest.approx(0.7468, abs=1e-4)


def test_bradley_terry_of_twenty_two_games():
    won = [(*pair.split(">"), "a", n) for pair, n in GAMES.items()]
    quality, _ = maximum(pairs_of(won), list("ABCD"))
    np.testing.assert_allclose(np.exp(quality - quality.mean()), [0.640, 1.043, 0.660, 2.270], atol=1e-3)


KINDS = "pass", "ratings", "pairs"
#: A block of the warm-up, and one after it.
FEW = {"model": True, "draws": 25, "chains": 2, "warmup": 25, "progress": False}


def random_parameters(layout, seed=1):
    random = np.random.default_rng(seed)
    judges, systems = layout.judged.own.shape
    raters, middle = len(layout.raters), len(layout.values) - 2
    step = np.pad(random.normal(size=(raters, middle)), ((0, 0), (1, 1)))
    bias, longer = random.normal(size=(judges, systems)), random.normal(size=judges)
    lapses = random.uniform(0.05, 0.4, judges), random.normal(size=judges)
    centre = 0.0 if layout.judged.opponent is not None else 0.3
    of_raters = random.normal(size=raters), random.uniform(0.5, 1.5, raters), step
    spreads = 1.3, 0.9 if layout.judged.opponent is not None else 0.0, 0.8
    return Parameters(random.normal(size=systems), *spreads, 0.2, *of_raters, bias, longer, *lapses, centre)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_likelihood_is_an_integral_over_what_cells_have_of_their_own(kind):
    frame = outcomes(kind, cases=12)
    if kind == "pairs":
        length = frame["case"] * 31 % 17
        frame["length_a"], frame["length_b"] = 10 + length, 18
    read = read_outcomes(frame, people=["ann", "bob"])
    layout = lay_out(read, np.eye(2, 3))
    p = random_parameters(layout)
    total = float(jax.jit(lambda p: (layout.judged.times * log_of_cells(layout.judged, layout.nodes, p)).sum())(p))
    raters, values = layout.raters.tolist(), layout.values.tolist()
    grid = np.linspace(-6, 6, 61)
    density = np.exp(-(grid**2) / 2) / np.exp(-(grid**2) / 2).sum()
    ends = np.linspace(-3, 3, 121)[1::2]
    within = np.exp(-(ends**2) / 2) / np.exp(-(ends**2) / 2).sum()
    ends /= np.sqrt(within @ ends**2)
    own, alike, error = np.meshgrid(ends, grid[::2], grid, indexing="ij")
    score = (layout.values - layout.values[0]) / (layout.values[-1] - layout.values[0]) - 0.5
    between = np.where(np.abs(score) < 0.5, p.alike_spread, 0)
    scaled = np.zeros(len(read.value)) if read.longer is None else read.longer / read.longer.std()
    expected, cells = 0.0, {}
    for row in range(len(read.value)):
        a, b = read.system[row], -1 if read.opponent is None else read.opponent[row]
        cells.setdefault((read.case[row], min(a, b), max(a, b)), []).append(row)
    for rows in cells.values():
        product = 1.0
        for row in rows:
            a = read.system[row]
            rater = raters.index(read.raters[read.rater[row]])
            x = p.quality[a] - (0 if read.opponent is None else p.quality[read.opponent[row]])
            sign = 1.0 if read.opponent is None or a < read.opponent[row] else -1.0
            x = x + p.longer * scaled[row] + sign * p.output_spread * own
            offset = p.severity[rater]
            if rater > 1:
                x = x + sign * p.error_spread * error - p.centre
                offset += p.bias[rater - 2, a] + p.bias_longer[rater - 2] * scaled[row]
                offset -= 0 if read.opponent is None else p.bias[rater - 2, read.opponent[row]]
            odds = p.discrimination[rater] * x + offset
            each = np.exp(odds[..., None] * score + p.step[rater] + alike[..., None] * between)
            share = each[..., values.index(read.value[row])] / each.sum(-1)
            if rater > 1:
                said = np.exp(p.guess[rater - 2] * score + p.step[rater])
                share = (1 - p.lapse[rater - 2]) * share + p.lapse[rater - 2] * (said / said.sum())[
                    values.index(read.value[row])
                ]
            product = product * share
        expected += np.log(np.einsum("qae,q,a,e", product, within, density[::2] / density[::2].sum(), density))
    assert total == pytest.approx(expected, rel=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_biases_and_people_have_the_prior_that_is_stated(kind):
    """Biases are normal about those of own outputs, and the people here are a sample of all people."""
    judged = lay_out(read_outcomes(outcomes(kind, cases=12), people=["ann", "bob"]), np.eye(2, 3)).judged
    with jax.enable_x64(True):
        trace = handlers.trace(handlers.seed(facets, 3)).get_trace(judged)
        sites = {name: site["value"] for name, site in trace.items()}
        p = jax.tree.map(np.asarray, handlers.substitute(handlers.seed(facets, 0), sites)(judged))
        new = [np.asarray(one) for one in _new_people(sites, 2)]
        wide = 1 + 0.346 * sites["discrimination_of_judges"] ** 2 * (p.output_spread**2 + p.error_spread**2)
        less = np.asarray(jax.nn.sigmoid(-sites["logit_lapse"]) / np.sqrt(wide))
        of_biases = norm.logpdf(p.bias, judged.own * sites["own_bias"], sites["bias_spread"]).sum()
        said = float(trace["said"]["fn"].log_prob(sites["said"]))
    sites = {name: np.asarray(value) for name, value in sites.items()}
    assert said == pytest.approx(of_biases - 3 * np.log(less).sum(), rel=1e-5)  # the change of variables
    means = [p.severity[:2].mean() - sites.get("first", 0), np.log(p.discrimination[:2]).mean()]
    if kind != "pass":
        means.append(p.step[:2, 1].mean() - sites["step_of_people"][0])
    np.testing.assert_allclose(means, 0, atol=1e-6)
    values, weight = [new[0] - sites.get("first", 0), np.log(new[1])], new[3]
    spreads = [sites["severity_spread"], sites["discrimination_spread"]]
    if kind != "pass":
        values.append(new[2][:, 1] - sites["step_of_people"][0])
        spreads.append(sites["middle_spread"])
    for value, spread, shift in zip(values, spreads, sites["population"], strict=False):
        mean = weight @ value
        assert mean == pytest.approx(float(spread * shift) / np.sqrt(2), rel=1e-4)
        assert weight @ (value - mean) ** 2 == pytest.approx(float(spread) ** 2, rel=1e-4)


def test_cells_with_equal_outcomes_are_computed_once():
    frame = outcomes("pass")
    layout = lay_out(read_outcomes(frame, people=["ann", "bob"]), np.zeros((2, 3)))
    assert layout.judged.times.sum() == 120
    assert len(layout.judged.times) < 40


def stored(kind):
    """What `sample` returns of outcomes of a kind: the draws are in a file, as compiling a sampler takes 15 to 30 s.

    `test_export.py` samples outcomes "pass" again.
    """

    def sample(layout, systems, **_):
        with np.load(Path(__file__).parent / f"modelled_{kind}.npz") as file:
            found = {name: file[name] for name in file}
        statistics = {name: found.pop(name) for name in [*found] if name in STATISTICS.values()}
        return _model._posterior(layout, systems, found, statistics, 0, FEW["warmup"], progress=False)

    return sample


@cache
def result_of(kind):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_modelled, "sample", stored(kind))
        return quietly(outcomes(kind), people=["ann", "bob"], **FEW)


def quietly(*given, **options):
    """Result without the warning that B and C never met, of which test_designs is."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Systems met different opponents")
        return pb.systems(*given, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_the_model_stand_beside_the_others(kind):
    result = result_of(kind)
    plain = quietly(outcomes(kind), people=["ann", "bob"])
    rows = result.table.set_index(["system", "estimator", "judge"])
    for key, row in plain.table.set_index(["system", "estimator", "judge"]).iterrows():
        assert rows.loc[key, "mean"] == pytest.approx(row["mean"], nan_ok=True)
    means = result.table[result.table["estimator"] == "model"].set_index("system")
    people = result.table[result.table["estimator"] == "people"].set_index("system")
    assert (np.abs(means["mean"] - people["mean"]) < 3 * people["se"]).all()
    wide = result.table[result.table["estimator"] == "model-people"].set_index("system")
    assert kind == "pairs" or (wide["se"] > means["se"]).all()  # what is shown first cancels out
    low, high = (0, 1) if kind != "ratings" else (1, 5)
    assert means["lower"].min() >= low
    assert means["upper"].max() <= high
    assert result.checks["p"].min() > 0.001
    assert {"agreement of two outcomes by people", "agreement of gpt with people"} <= {*result.checks["check"]}
    bias = result.posterior["posterior"]["bias"].mean(("chain", "draw"))
    favour = bias.sel(system="C") - bias.sel(system="A")
    assert float(favour.sel(judge="gpt")) > float(favour.sel(judge="llama"))


def test_ranking_is_by_the_model_only_if_chains_converged(monkeypatch):
    short = result_of("pass")
    assert not short.posterior["convergence"]["converged"].all()
    assert short.main == "ppi++"
    assert any("did not converge" in note for note in short.notes)
    assert "these_lower" not in short.ranking
    good = short.posterior.copy()
    good["convergence"]["converged"][:] = True
    monkeypatch.setattr(_modelled, "sample", lambda *_, **__: good)
    result = pb.systems(outcomes("pass"), people=["ann", "bob"], model=True)
    assert result.main == "model"
    assert not any("did not converge" in note for note in result.notes)
    assert {"these_lower", "people_upper"} <= {*result.ranking.columns}
    assert result.ranking["p_best"].sum() == pytest.approx(1)
    assert result.differences["p_better"].between(0, 1).all()
    captions = [piece.caption for piece in results.of(result).files]
    assert any(caption.startswith("Ranking by the model of all outcomes") for caption in captions)
    assert "Checks of the model by replicates" in captions


def test_replicates_find_raters_who_agree_too_well():
    """The posterior of one data set, and another in which two people always say the same."""
    frame = outcomes("pass")
    same = frame[frame["rater"] != "bob"]
    same = pd.concat([same, same[same["rater"] == "ann"].assign(rater="bob")])
    layout = lay_out(read_outcomes(same, people=["ann", "bob"]), np.zeros((2, 3)))
    checks = predictive_checks(layout, result_of("pass").posterior, 0.95, 0)
    row = checks.set_index("check").loc["agreement of two outcomes by people"]
    assert row["observed"] == 1 > row["upper"]
    (sentence,) = check_sentences(checks.assign(p=np.where(checks["observed"] == 1, 1e-3, 1)).head(1))
    assert "agreement of two outcomes by people is 1.000, and it expects 0." in sentence


def test_clusters_widen_intervals_on_new_cases():
    read = read_outcomes(outcomes("pass"), people=["ann", "bob"])
    cells = cells_of(read)
    assert 0.8 < design_effect(cells) < 1.3
    four = Cells(*(np.tile(one, 4) for one in (cells.system, cells.cluster, cells.people)))
    assert design_effect(four) == pytest.approx(4, rel=0.1)
    assert design_effect(replace(four, cluster=np.arange(len(four.system)))) == 1
    draws = np.random.default_rng(0).normal(0.5, 0.05, (4000, 3))
    wide = widened(draws, 4.0, np.array([0.0, 1.0]))
    np.testing.assert_allclose(wide.std(0), 2 * draws.std(0), rtol=1e-6)
    np.testing.assert_allclose(wide.mean(0), draws.mean(0))


@pytest.mark.slow
def test_more_nodes_where_outputs_differ_much(monkeypatch):
    """Where raters nearly always agree, outcomes are nearly steps in the quality of outputs, which few nodes miss."""
    random = np.random.default_rng(0)
    truth = random.random((4, 600)) < np.array([0.45, 0.6, 0.7, 0.85])[:, None]
    system, case = np.indices(truth.shape).reshape(2, -1)
    rows = [
        pd.DataFrame({"system": np.array(list("ABCD"))[system], "case": case, "rater": rater, "outcome": said.ravel()})
        for rater, said in (("ann", truth), ("gpt", truth ^ (random.random(truth.shape) < 0.02)))
    ]
    read, sample = read_outcomes(pd.concat(rows).astype({"outcome": int}), people=["ann"]), _model.sample
    layout = lay_out(read, np.zeros((1, 4)))
    # What is sampled again is not sampled here, which would compile everything for more nodes.
    monkeypatch.setattr(_model, "sample", lambda layout, *_, **__: layout)
    again = sample(layout, read.systems, draws=20, warmup=40, chains=1, seed=0, progress=False)
    assert len(layout.nodes.at.quality) == 12
    assert len(again.nodes.at.quality) > 12
