"""Reliability inferred: the density written out, quadrature, a spammer among experts, and what is refused."""

import warnings
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib import pyplot
from numpyro.infer.util import log_density
from scipy import stats

import plausibly as pb
from plausibly.base.arviz import arviz
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import Annotations, Slots
from plausibly.distributions import log_simplex
from plausibly.inference import bucket_cases, plan_shapes
from plausibly.inference.joint._density import make_group
from plausibly.inference.joint._moves import trajectories
from plausibly.models import tempered_plackett_luce
from tests import worlds
from tests.test_inference.oracles import log_literal

RANKINGS = {
    "p": {"ann": [["a"], ["b", "c"]], "bob": [["b", "a"]], "cy": [["c"]]},
    "q": {"ann": [["b"]], "cy": [["b"], ["a"]]},
}
ANNOTATIONS = Annotations.from_rankings({"cases": RANKINGS}, classes=list("abcd"))


def buckets(fit, pooled, annotations=ANNOTATIONS):
    slots = Slots.of(annotations)
    shapes = plan_shapes(annotations, slots, worth=np.inf, pooled=pooled, fit=fit)
    found = bucket_cases(annotations, slots, np.ones(len(slots)), pooled=pooled, fit=fit, shapes=shapes)
    (bucket,) = found
    return replace(bucket, data=jax.tree.map(jax.device_put, bucket.data)), slots


@pytest.mark.parametrize("per", ["dataset", "annotator"])
def test_density_of_the_program_is_the_formula(per, float64):
    rng = np.random.default_rng(1)
    bucket, slots = buckets("apart" if per == "annotator" else "merged", per == "dataset")
    z = jnp.asarray(rng.normal(size=(2, 1, bucket.shape.slots - 1)), jnp.float32)
    m, t, e = 0.4, 0.8, rng.normal(size=3)
    gammas = np.exp(m + t * e) if per == "annotator" else np.full(3, np.exp(m))
    whose = np.full((2, bucket.shape.annotations), 0)
    whose[bucket.case, bucket.row] = ANNOTATIONS.annotation_annotator[bucket.annotations]
    values = {"log_reliability": m, "spread": t, "deviation": e, "log_ratio_0": z}
    sizes = {"n_annotators": 3} if per == "annotator" else {}
    with float64():

        @jax.jit
        def density(values):
            total, sites = log_density(tempered_plackett_luce, ([bucket.data], [whose]), sizes, values)
            return total, sites["log_ratio_0"]["fn"].log_prob(z).sum()

        found, prior = map(float, density(values))
        logs = np.asarray(log_simplex(z[:, 0]))
    expected = prior + stats.norm(0, 1.5).logpdf(m)
    if per == "annotator":
        expected += stats.halfnorm.logpdf(t) + stats.norm.logpdf(e).sum()
    for place, case in enumerate(bucket.cases):
        own = slots.class_index[slots.start[case] : slots.start[case + 1]]
        for who, blocks in RANKINGS["pq"[case]].items():
            gamma = gammas[["ann", "bob", "cy"].index(who)]
            weights = {"abcd"[k] if k >= 0 else "rest": gamma * x for k, x in zip(own, logs[place], strict=False)}
            expected += log_literal(blocks, weights)
    np.testing.assert_allclose(float(found), expected, rtol=1e-5)


SETTINGS = {"draws": 250, "chains": 4, "warmup": 400, "progress": False}

# Two named classes and a remainder, for integration by hand.
SMALL = {
    "p": {"ann": [["a"], ["b"]], "bob": [["a"], ["b"]], "cy": [["a"], ["b"]]},
    "q": {"ann": [["b"], ["a"]], "bob": [["b"], ["a"]], "cy": [["a"], ["b"]]},
    "r": {"ann": [["b"], ["a"]], "bob": [["b"], ["a"]], "cy": [["b"]]},
}


def evidence(rankings, gamma):
    """The probability of a case's annotations, and the posterior mean of a, by quadrature over two log ratios."""
    u, v = np.meshgrid(np.linspace(-14, 14, 281), np.linspace(-14, 14, 281))
    logs = np.stack([u, v, np.zeros_like(u)])
    logs -= np.logaddexp.reduce(logs, axis=0)
    log = logs.sum(0)
    weights = dict(zip(["a", "b", "rest"], gamma * logs, strict=True))
    for blocks in rankings.values():
        log = log + log_literal(blocks, weights)
    density = np.exp(log)
    return density.sum(), (density * np.exp(logs[0])).sum()


@pytest.fixture(scope="module")
def small():
    annotations = Annotations.from_rankings({"cases": SMALL}, classes=list("abcdefgh"))
    return pb.infer_reliability(annotations, seed=2, **SETTINGS)


@pytest.mark.slow
def test_one_reliability_has_the_posterior_of_quadrature(small):
    assert pb.diagnose(small)["converged"].values.all(), pb.diagnose(small).to_dataframe()
    assert small["posterior"]["reliability"].shape == (4, 250)
    assert small.attrs["model"] == "tempered-plackett-luce"
    with pytest.raises(ArgumentError, match="no reliabilities of single annotators"):
        pb.annotators.annotator_reliabilities(small)
    # The likelihood of an annotation at a draw, from plausibilities and reliability.
    p = small["posterior"]["plausibility"].values[1, 5, :3].astype(float)
    gamma = float(small["posterior"]["reliability"].values[1, 5])
    expected = log_literal(SMALL["p"]["ann"], dict(zip(["a", "b", "rest"], gamma * np.log(p), strict=True)))
    np.testing.assert_allclose(small["log_likelihood"]["ranking"].values[1, 5, 0], expected, rtol=1e-3, atol=1e-4)
    grid = np.linspace(-5.5, 5, 40)
    evidences = np.array([[evidence(case, np.exp(t)) for case in SMALL.values()] for t in grid])
    log = np.log(evidences[..., 0]).sum(1) + stats.norm(0, 1.5).logpdf(grid)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    of_p = (weight * evidences[:, 0, 1] / evidences[:, 0, 0]).sum()
    logs = np.log(small["posterior"]["reliability"].astype(float))
    own = small["posterior"]["plausibility"].isel(slot=0).astype(float)
    for values, expected in ((logs, (weight * grid).sum()), (logs**2, (weight * grid**2).sum()), (own, of_p)):
        ess = arviz().ess(np.asarray(values))
        error = np.asarray(values).std() / np.sqrt(ess)
        assert abs(float(values.mean()) - expected) < 5 * error + 1e-3, (expected, float(values.mean()), error)


@pytest.mark.slow
def test_a_trajectory_that_is_lost_diverges_and_goes_nowhere():
    bucket, _ = buckets("merged", True)
    group = make_group(tempered_plackett_luce, bucket, None, 0)
    dim, n = bucket.shape.slots - 1, len(group.real)
    z = jnp.ones((dim, n))
    identity = jnp.broadcast_to(jnp.eye(dim)[..., None], (dim, dim, n))
    for step, diverges in ((1e-3, False), (1e9, True)):
        moved, rate, diverging, energy = trajectories(
            jax.random.key(0), group, z, jnp.log(jnp.array([30.0])), jnp.full(n, step), identity
        )
        assert (np.asarray(diverging) == diverges).all()
        assert (np.asarray(moved == z).all(0) == diverges).all()
        np.testing.assert_allclose(rate, 0 if diverges else 1, atol=1e-3)
        assert np.isfinite(energy).all()


def test_positions_are_not_people(monkeypatch):
    anonymous = Annotations.from_rankings([[[["a"]], [["b"]]], [[["a"]]]])
    sampled = []

    def stop(program, buckets, whose, n_annotators, *others, **settings):
        sampled.append((whose.tolist(), n_annotators))
        raise KeyboardInterrupt

    monkeypatch.setattr("plausibly.aggregation.inferred_reliability.sample_jointly", stop)
    with pytest.raises(KeyboardInterrupt):
        pb.infer_reliability(anonymous, per="annotator", same_positions=True, progress=False)
    assert sampled == [([0, 1, 0], 2)]


def test_aggregate_infers(monkeypatch):
    given, inferred = {}, worlds.rankings().posterior
    monkeypatch.setattr(
        "plausibly.aggregation._aggregate.infer_reliability",
        lambda annotations, model, **options: given.update(options, annotations=annotations, model=model) or inferred,
    )
    options = {"draws": 4, "chains": 1, "warmup": 0, "progress": False}
    assert pb.aggregate(ANNOTATIONS, reliability="infer", **options) is inferred
    assert given == {"annotations": ANNOTATIONS, "model": "plackett-luce", "seed": 0} | options


@pytest.fixture(scope="module")
def panel():
    """Reliabilities of the annotators of some cases, and of a newcomer with one annotation; short chains."""
    rankings = SMALL | {"q": SMALL["q"] | {"newcomer": [["a"]]}}
    annotations = Annotations.from_rankings({"cases": rankings}, classes=list("abcdefgh"))
    short = SETTINGS | {"draws": 20, "chains": 3, "warmup": 20}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pb.ConvergenceWarning)
        return pb.infer_reliability(annotations, per="annotator", seed=1, **short)


@pytest.mark.slow
def test_the_posterior_is_one_like_any_other_with_likelihoods_by_annotator(panel, tmp_path):
    scores = np.random.default_rng(0).random((3, 8))
    result = pb.evaluate(panel, {"A": scores}, metrics="top1_accuracy", replicates=0, progress=False)
    assert 0 <= float(result["top1_accuracy"].mean()) <= 1
    pb.save(panel, tmp_path / "p.nc")
    group = panel["posterior"]
    np.testing.assert_array_equal(
        pb.load(tmp_path / "p.nc")["posterior"]["annotator_reliability"], group["annotator_reliability"]
    )
    case = pb.posterior.annotations_of(panel)
    r = 4
    slots = np.flatnonzero(panel["constant_data"]["case_index"].values == case.annotation_case[r])
    names = ["rest" if "(" in name else str(name) for name in group["class_name"].values[slots]]
    p = group["plausibility"].values[2, 9, slots].astype(float)
    gamma = float(group["annotator_reliability"].values[2, 9, case.annotation_annotator[r]])
    said = case.rankings(int(case.annotation_case[r]))[str(case.annotators[case.annotation_annotator[r]])]
    expected = log_literal(said, dict(zip(names, gamma * np.log(p), strict=True)))
    np.testing.assert_allclose(panel["log_likelihood"]["ranking"].values[2, 9, r], expected, rtol=2e-3, atol=1e-4)
    with pytest.raises(ArgumentError, match="ci_prob must lie between 0 and 1, but 2"):
        pb.annotators.annotator_reliabilities(panel, ci_prob=2)
    table = pb.annotators.annotator_reliabilities(panel)
    assert table.set_index("annotator").loc["newcomer", "annotations"] == 1
    assert table["reliability"].is_monotonic_decreasing
    ax = pb.plots.annotator_reliabilities(panel)
    assert [label.get_text() for label in ax.get_yticklabels()] == table["annotator"].tolist()
    assert ax.yaxis_inverted()  # the first is at the top
    few = pb.plots.annotator_reliabilities(panel, most=3)
    assert len(few.get_yticklabels()) == 3
    assert "1 in between left out" in few.get_xlabel().replace("\n", " ")
    pyplot.close("all")
