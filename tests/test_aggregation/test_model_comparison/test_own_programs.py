"""Programs of a user's own, whose labels need not follow the plausibilities, are scored and replicated by their own."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from jax.scipy.special import ndtr
from numpyro.handlers import scale

import plausibly as pb
from plausibly.aggregation import settle
from plausibly.aggregation._contract import check_contract
from plausibly.aggregation._judged import unjudged
from plausibly.base.arviz import from_groups, to_groups
from plausibly.base.errors import ArgumentError
from plausibly.posterior import slots_of
from plausibly.posterior.says import are_shares

CLASSES = ["a", "b", "c"]
LABELS = [[0, 0, 1, 0], [2, 1, 2, 0], [1, 1, 1, 1], [0, 2, 0, 0], [1], [2, 2]]
ANNOTATIONS = pb.Annotations.from_labels([[CLASSES[k] for k in row] for row in LABELS], classes=CLASSES)


def observe(case, probability):
    label = jnp.argmin(case.rankings.positions, axis=-1)
    with numpyro.plate("annotation", case.counts.shape[0]), scale(scale=case.counts):
        numpyro.sample("label", dist.Categorical(probability), obs=label)


def guessing(case):
    """Half of the labels are guesses."""
    plausibility = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    observe(case, 0.5 * plausibility + 0.5 * case.n_classes / case.n_classes.sum())


def dispersed(case):
    """Annotators of a case are more alike than those of others."""
    plausibility = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    counts = case.counts @ case.named
    numpyro.sample("counts", dist.DirichletMultinomial(3 * plausibility, counts.sum()), obs=counts)


def plain(case):
    plausibility = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    with numpyro.plate("annotation", case.counts.shape[0]), scale(scale=case.counts):
        numpyro.factor("choice", jnp.log((case.named & (case.rankings.positions == 0)) @ plausibility))


def tripled(case):
    """A pseudo-likelihood, whose probabilities of a label sum to no 1."""
    plausibility = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    numpyro.factor("votes", 3 * (case.counts @ case.named * jnp.log(plausibility)).sum())


def each_annotator(case):
    plausibility = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    with numpyro.plate("annotation", case.counts.shape[0]):
        guesses = numpyro.sample("guesses", dist.Beta(1, 1))[:, None]
    observe(case, (1 - guesses) * plausibility + guesses / 3)


def model_of(program, **fields):
    return pb.Model(program.__name__, program, takes="labels", concentration=1.0, **fields)


CHECKED = {"reproduced", "not modelled", "given"}
KINDS = {guessing: "alone", dispersed: "counts", plain: "plausibility", tripled: "", each_annotator: ""}


@pytest.mark.parametrize("program", KINDS, ids=lambda program: program.__name__)
def test_the_probability_of_a_label_is_compared_with_its_plausibility(program):
    settled = check_contract(ANNOTATIONS, settle(ANNOTATIONS, model_of(program)))
    assert settled.answers == KINDS[program]
    # Rows of annotations may be split where nothing belongs to a row.
    assert settled.splits == (program is not each_annotator)


@cache
def posterior_of(program):
    return pb.aggregate(ANNOTATIONS, model_of(program), draws=500, seed=0, progress=False)


@pytest.mark.slow
@pytest.mark.parametrize("program", [pytest.param(guessing, marks=pytest.mark.slow), dispersed])
def test_replicates_are_drawn_by_what_the_program_observes(program):
    posterior = posterior_of(program)
    draws = posterior["posterior"]["plausibility"].values.reshape(2000, -1)[:, :3]  # of the first case: a, b and c
    answers = posterior["posterior_predictive"]
    assert not are_shares(posterior.attrs)
    if program is guessing:
        np.testing.assert_allclose(
            answers["first_choice"].values.reshape(2000, -1)[:, :3], draws / 2 + 1 / 6, atol=1e-5
        )
    else:
        labels = answers["label"].values.reshape(2000, -1)[:, :4]
        pairs = [labels[:, i] == labels[:, j] for i in range(4) for j in range(i)]
        # Of two labels of a Dirichlet-multinomial distribution, by its moments.
        pair = (draws * (3 * draws + 1) / 4).sum(1).mean()
        assert np.mean(pairs) == pytest.approx(pair, abs=0.03)
    assert set(pb.predictive_check(posterior, progress=False).table["status"]) == CHECKED


@pytest.mark.slow
def test_what_cannot_be_scored_may_be_declared():
    posterior = posterior_of(tripled)
    with pytest.raises(ArgumentError, match=r"tripled has labels that do not follow .*declare answers='plausibility'"):
        pb.predictive_check(posterior, progress=False)
    with pytest.raises(ArgumentError, match="tripled has plausibilities that are not what annotators choose by"):
        pb.plan(posterior, {"A": np.eye(3)[[0, 2, 1, 0, 1, 2]]}, budget=5, progress=False)
    declared = pb.aggregate(ANNOTATIONS, model_of(tripled, answers="plausibility"), draws=500, seed=0, progress=False)
    np.testing.assert_array_equal(declared["posterior"]["plausibility"], posterior["posterior"]["plausibility"])
    assert pb.predictive_check(declared, progress=False).table["status"][0] in ("reproduced", "not reproduced")


RANKED = pb.Annotations.from_rankings([[[["a"], ["b", "c"]], [["b"], ["a"]]], [[["a", "b"]], [["c"]]]], classes="abc")


def guessed_first(case):
    """Half of the first choices are guesses."""
    plausibility = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    chosen = 0.5 * plausibility + 0.5 * case.n_classes / case.n_classes.sum()
    with numpyro.plate("annotation", case.counts.shape[0]), scale(scale=case.counts):
        numpyro.factor("choice", jnp.log((case.named & (case.rankings.positions == 0)) @ chosen))


def test_first_choices_of_rankings_are_answers_too_and_come_back_from_a_file(tmp_path):
    given = {"draws": 50, "chains": 1, "warmup": 50, "progress": False}
    posterior = unjudged(pb.aggregate)(RANKED, guessed_first, **given)
    answers = posterior["posterior_predictive"]["first_choice"]
    share, slots = posterior["posterior"]["plausibility"], slots_of(posterior)
    np.testing.assert_allclose(answers, share / 2 + slots.n_classes / 6, atol=1e-5)
    pb.save(posterior, tmp_path / "posterior.nc")
    both = posterior, pb.load(tmp_path / "posterior.nc")
    table, again = (pb.predictive_check(one, progress=False).table for one in both)
    assert set(table["status"]) == CHECKED
    assert table.equals(again)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::plausibly.base.errors.ConvergenceWarning")
def test_rankings_of_own_programs_are_left_out_by_refits():
    models = {"mine": {"model": guessed_first}, "prirn": (30,)}
    mine = pb.compare_models(RANKED, models, draws=200, progress=False).pointwise.sel(model="mine")
    assert mine["refitted"].all()  # rankings are no labels, and not integrated
    # Of two annotators one is left out: b after the other ranked a first, and the reverse.
    s = np.random.default_rng(0).dirichlet(np.ones(3), 200_000) / 2 + 1 / 6
    exact = [np.log((s[:, 0] * s[:, 1]).mean() / s[:, 0].mean())] * 2
    assert (np.abs(mine["elpd"][:2] - exact) < 5 * mine["error"][:2] + 0.01).all()


def test_rankings_that_are_declared_have_to_be_drawn_by_the_plausibilities():
    mine = pb.Model("mine", plain, concentration=1.0, replicate="rankings")
    with pytest.raises(ArgumentError, match="mine declares replicate='rankings', which are drawn without replacement"):
        pb.aggregate(RANKED, mine, draws=4, progress=False)


SCORES = pb.Annotations.from_scores(
    pd.DataFrame({"case": [0, 0, 0, 1], "annotator": list("abca"), "score": [1.0, 4, 2, 2]})
)


@pytest.mark.parametrize("guesses", [0.0, 0.5])
def test_scores_below_the_threshold_are_compared_with_plausibilities(guesses):
    def program(case):
        mean = numpyro.sample("mean", dist.Normal(0, 3))
        below = ndtr(case.threshold - mean)
        numpyro.deterministic("plausibility", jnp.stack([below, 1 - below]))
        parts = dist.Normal(jnp.stack([mean, 0 * mean]), jnp.array([1.0, 3.0]))
        shares = dist.Categorical(jnp.array([1 - guesses, guesses]))
        with numpyro.plate("annotation", case.counts.shape[0]), scale(scale=case.counts):
            numpyro.sample("score", dist.MixtureSameFamily(shares, parts), obs=case.scores)

    settled = check_contract(SCORES, settle(SCORES, pb.Model("mine", program, takes="scores"), threshold=2.5))
    assert settled.answers == ("" if guesses else "plausibility")


def with_sites(case):
    plausibility = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    guesses = numpyro.sample("guesses", dist.Beta(2, 2))
    numpyro.sample("reliability", dist.Normal(0, 1).expand([5]).to_event(1))
    if len(plausibility) > 2:
        numpyro.deterministic("stuck", jnp.nan * guesses)
    observe(case, numpyro.deterministic("p", (1 - guesses) * plausibility + guesses * case.n_classes / 3))


@pytest.mark.slow
def test_further_sites_are_in_the_posterior_and_diagnosed(tmp_path):
    labels = ANNOTATIONS.select(["4", "0", "1"])
    given = {"draws": 120, "chains": 2, "seed": 0, "progress": False}
    posterior = unjudged(pb.aggregate)(labels, with_sites, **given)
    draws = posterior["posterior"]
    dims = {name: draws[name].dims[2:] for name in draws.data_vars}
    assert dims == {
        "plausibility": ("slot",),
        "p": ("slot",),
        "guesses": ("sampled_case",),
        "reliability_of_case": ("reliability_of_case_dim_0", "sampled_case"),  # the name has another meaning
        "stuck": ("stuck_value",),
    }
    slots = slots_of(posterior)
    share, guesses = (draws[name].values for name in ("plausibility", "guesses"))
    guesses = guesses[..., slots.case]
    np.testing.assert_allclose(draws["p"], (1 - guesses) * share + guesses * slots.n_classes / 3, rtol=1e-4)
    # What is no number in the two cases of three classes is not converged there, and nowhere else.
    assert pb.diagnose(posterior)["converged"].values[1:].tolist() == [False, False]
    assert pb.diagnose(posterior)["r_hat"][0] < 1.1
    groups = to_groups(posterior)
    again = from_groups({name: groups[name] for name in groups if name != "convergence"}, posterior.attrs)
    assert pb.diagnose(again)["converged"].values.tolist() == pb.diagnose(posterior)["converged"].values.tolist()
    # Shards keep what has the same dimensions in each of them.
    stored = unjudged(pb.aggregate)(labels, with_sites, **given, out=tmp_path / "p.zarr", shard=1)["posterior"]
    assert set(stored.data_vars) == {"plausibility", "guesses"}
    for name in stored.data_vars:
        np.testing.assert_array_equal(stored[name], draws[name])
