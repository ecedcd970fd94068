"""Each model's program against its formula, written out; and what relabelling and permuting must not change."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpyro.handlers import seed, substitute, trace
from numpyro.infer.util import log_density
from scipy import optimize, stats

import plausibly as pb
from plausibly import models
from plausibly.data.annotations import Annotations, Slots
from plausibly.distributions import log_ratios
from plausibly.inference._batching import bucket_cases
from plausibly.models.plackett_luce_ml import update
from tests.test_inference.oracles import literal

CLASSES = list("abcde")
RANKINGS = [[["a"], ["b", "c"]], [["b", "c", "d"]], [["c"], ["a"]], [["c"], ["a"]], [["d"], ["c"], ["b"], ["a"]]]
LABELS = [[["a"]], [["b"]], [["a"]], [["d"]]]


def one_case(rankings, classes=CLASSES, remainder=True, alpha=1.0, exact=False, fit="exact"):
    """A case as programs see it, with its slots' class indices."""
    annotations = Annotations.from_rankings([rankings], classes=classes)
    slots = Slots.of(annotations, remainder=remainder)
    concentration = alpha * np.where(slots.is_remainder & exact, slots.n_classes, 1)
    (bucket,) = bucket_cases(annotations, slots, concentration, fit=fit)
    return jax.tree.map(lambda a: jax.device_put(a[0]), bucket.data), slots


def log_probability(rankings, weights):
    return sum(np.log(literal(blocks, weights)) for blocks in rankings)


def names(slots):
    return [CLASSES[k] if k >= 0 else "rest" for k in slots.class_index]


def shares(n, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(n))


@cache
def compiled(program, **options):
    """Log density and plausibility, compiled as a whole, since every operation on its own would be a program, too."""

    def evaluate(case, p, reliability):
        sites = {"log_ratio": log_ratios(p)} if program is models.plackett_luce else {"plausibility": p}
        value, found = log_density(program, (case,), {"reliability": reliability, **options}, sites)
        return value, found["plausibility"]["value"]

    return jax.jit(evaluate)


@cache
def shares_by(program, **options):
    """Plausibilities of a program without parameters."""
    return jax.jit(lambda case: trace(program).get_trace(case, **options)["plausibility"]["value"])


def density(program, case, p, reliability, **options):
    """Of the program at a plausibility, less the Jacobian of the coordinates that Plackett-Luce takes."""
    p = np.asarray(p, np.float32)
    value, found = compiled(program, **options)(case, p, reliability)
    np.testing.assert_allclose(found, p, rtol=1e-4)
    if program is models.plackett_luce:
        value -= np.log(p).sum() + np.log(len(p)) / 2
    return float(value)


@pytest.mark.parametrize("mode", ["power", "temper"])
@pytest.mark.parametrize("unranked", ["lumped", "exact", "ignore"])
@pytest.mark.parametrize("reliability", [0.4, 1.0, 3.0])
def test_plackett_luce(mode, unranked, reliability):
    case, slots = one_case(RANKINGS, alpha=0.7, remainder=unranked != "ignore", exact=unranked == "exact")
    p = shares(len(slots))
    alpha = 0.7 * np.where(slots.is_remainder & (unranked == "exact"), slots.n_classes, 1)
    weights = dict(zip(names(slots), p ** (reliability if mode == "temper" else 1), strict=True))
    expected = stats.dirichlet(alpha).logpdf(p)
    expected += (reliability if mode == "power" else 1) * log_probability(RANKINGS, weights)
    np.testing.assert_allclose(
        density(models.plackett_luce, case, p, reliability=reliability, mode=mode), expected, rtol=1e-5
    )


def test_at_reliability_one_the_modes_are_the_same_to_the_bit():
    case, slots = one_case(RANKINGS)
    z = jnp.asarray(np.random.default_rng(0).normal(size=len(slots) - 1), jnp.float32)

    def f(z, mode):
        return log_density(models.plackett_luce, (case,), {"reliability": 1.0, "mode": mode}, {"log_ratio": z})[0]

    values = [jax.jit(jax.value_and_grad(f), static_argnums=1)(z, mode) for mode in ("power", "temper")]
    for a, b in zip(*values, strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_fills_a_shape_up_takes_no_part():
    """The same posterior of the real slots from a wider shape: the density of their shares, the rest integrated out."""
    rankings = [[["a"], ["b", "c"]], [["b", "c"]], [["a"]]]
    tight, slots = one_case(rankings, remainder=False)
    wide, _ = one_case(rankings, remainder=False, fit="merged")
    n, width = len(slots), wide.concentration.shape[0]
    assert width > n

    @jax.jit
    def likelihood(case, z):
        value, sites = log_density(models.plackett_luce, (case,), {"reliability": 3.0}, {"log_ratio": z})
        prior = sites["log_ratio"]["fn"].log_prob(z)
        return value - prior, sites["plausibility"]["value"]

    z = jnp.asarray(np.random.default_rng(1).normal(size=width - 1), jnp.float32)
    found, p = likelihood(wide, z)
    assert (p[n:] == 0).all()
    np.testing.assert_allclose(p[:n].sum(), 1, rtol=1e-6)
    np.testing.assert_allclose(found, likelihood(tight, log_ratios(p[:n]))[0], rtol=1e-5)


def test_dirichlet_categorical():
    case, slots = one_case(LABELS, alpha=0.6)
    p = shares(len(slots))
    counts = np.array([sum(labels == [[name]] for labels in LABELS) for name in names(slots)])
    expected = stats.dirichlet(np.full(len(p), 0.6)).logpdf(p) + 2.5 * (counts * np.log(p)).sum()
    assert density(models.dirichlet_categorical, case, p, reliability=2.5) == pytest.approx(expected, rel=1e-5)


def inverse_ranks(rankings, slots, ties):
    totals = dict.fromkeys(names(slots), 0.0)
    for blocks in rankings:
        for i, block in enumerate(blocks):
            for k in block:
                totals[k] += 1 / (i + 1) / (len(block) if ties == "split" else 1)
    values = np.array(list(totals.values()))
    return values / values.sum()


@pytest.mark.parametrize("ties", ["split", "full"])
def test_inverse_rank_normalisation_and_its_posterior(ties):
    case, slots = one_case(RANKINGS, alpha=0.3)
    p = shares(len(slots))
    irn = inverse_ranks(RANKINGS, slots, ties)
    expected = stats.dirichlet(np.full(len(p), 0.3)).logpdf(p) + 12 * (irn * np.log(p)).sum()
    assert density(models.prirn, case, p, reliability=12.0, ties=ties) == pytest.approx(expected, rel=1e-5)
    found = shares_by(models.irn, ties=ties)(case)
    np.testing.assert_allclose(found, irn, rtol=1e-6)


def by_hand(rankings, model, classes=CLASSES, **options):
    posterior = pb.aggregate(Annotations.from_rankings([rankings], classes=classes), model, progress=False, **options)
    found = posterior["posterior"]["plausibility"]
    assert found.shape[:2] == (1, 1)
    np.testing.assert_array_equal(posterior["constant_data"]["point_plausibility"].values, found.values[0, 0])
    return dict(zip(found["class_name"].values.tolist(), found.values[0, 0].tolist(), strict=True))


def test_inverse_ranks_and_majority_votes_by_hand():
    rankings = [[["a"], ["b", "c"]], [["b"]]]
    assert by_hand(rankings, "irn") == pytest.approx({"a": 1 / 2.5, "b": 1.25 / 2.5, "c": 0.25 / 2.5})
    assert by_hand(rankings, "irn", ties="full") == pytest.approx({"a": 1 / 3, "b": 1.5 / 3, "c": 0.5 / 3})
    assert by_hand([[["a"]], [["b"]], [["a"]]], "majority-vote") == {"a": 1, "b": 0}
    assert by_hand([[["a"]], [["b"]]], "majority-vote") == {"a": 0.5, "b": 0.5}
    assert by_hand([[["a", "b"]], [["b"], ["c"]]], "majority-vote") == {"a": 0, "b": 1, "c": 0}
    # Three thirds against one vote.
    thirds = [[["a", "b", "c"]]] * 3
    assert by_hand([*thirds, [["d"]]], "majority-vote") == pytest.approx(dict.fromkeys("abcd", 0.25))
    case, _ = one_case([*thirds, [["d"]]])
    np.testing.assert_allclose(shares_by(models.majority_vote)(case)[:4], 0.25, rtol=1e-6)


def test_maximum_likelihood_reaches_the_boundary():
    """Where nobody contradicts, the first class takes all; plain updates approach it as one over their number."""
    found = by_hand([[["a"], ["b"], ["c"]]] * 3, "plackett-luce-ml")
    assert found["a"] > 1 - 1e-4  # how close depends on rounding
    root = np.sqrt(2)  # of a twice before c and b, and twice b before c and a
    split = by_hand([[["a"], ["c"]], [["b"], ["c"]]] * 2, "plackett-luce-ml")
    assert split == pytest.approx({"a": 1 - root / 2, "b": 1 - root / 2, "c": root - 1}, abs=2e-5)


TIED = [[["a", "b"]], [["b"], ["c"]], [["c"], ["a"]], [["a"], ["c", "b"]], [["c", "a"], ["b"]]]


def test_maximum_likelihood_is_the_optimum():
    rankings = TIED
    letters = sorted({k for blocks in rankings for block in blocks for k in block})

    def loss(x):
        return -log_probability(rankings, dict(zip(letters, np.exp(np.append(x, 0.0)), strict=True)))

    best = optimize.minimize(loss, np.zeros(len(letters) - 1), tol=1e-12, options={"gtol": 1e-9})
    weights = np.exp(np.append(best.x, 0.0))
    expected = dict(zip(letters, weights / weights.sum(), strict=True))
    assert by_hand(rankings, "plackett-luce-ml") == pytest.approx(expected, abs=2e-4)
    case, _ = one_case(rankings, remainder=False)
    found = shares_by(models.plackett_luce_ml, iterations=300)(case)
    np.testing.assert_allclose(found, list(expected.values()), atol=2e-4)


def test_the_likelihood_never_falls_by_an_update():
    case, slots = one_case(RANKINGS)
    step = jax.jit(update)
    p = shares(len(slots), seed=3).astype(np.float32)
    before = -np.inf
    for i in range(40):
        p = step(p, case)
        assert p[-1] == 0  # nobody named the rest
        after = log_probability(RANKINGS, dict(zip(names(slots), np.asarray(p, float), strict=True)))
        assert after > before - 1e-5, i
        before = after
    assert before > log_probability(RANKINGS, dict.fromkeys(names(slots)[:-1], 0.25)) + 0.1


CASES = st.lists(
    st.lists(st.permutations(CLASSES), min_size=1, max_size=3).map(
        lambda orders: [[[o[0]], o[1:3]] if i % 2 else [[o[0]], [o[1]]] for i, o in enumerate(orders)]
    ),
    min_size=1,
    max_size=2,
)


@pytest.mark.parametrize("program", [models.plackett_luce, models.prirn, models.irn, models.majority_vote])
@settings(max_examples=5)
@given(rankings=CASES.map(lambda cases: cases[0]), order=st.permutations(range(5)), data=st.data())
def test_names_of_classes_and_order_of_annotators_do_not_matter(program, rankings, order, data):
    rename = dict(zip(CLASSES, [CLASSES[k] for k in order], strict=True))
    other = [[[rename[k] for k in block] for block in blocks] for blocks in data.draw(st.permutations(rankings))]
    found = []
    for annotated, name in ((rankings, lambda k: k), (other, {v: k for k, v in rename.items()}.get)):
        case, slots = one_case(annotated)
        labels = [name(CLASSES[k]) if k >= 0 else "rest" for k in slots.class_index]
        weight = {k: i + 1.0 for i, k in enumerate([*CLASSES, "rest"])}
        p = np.array([weight[k] for k in labels])
        if program in (models.irn, models.majority_vote):
            value = np.asarray(shares_by(program)(case))
            found.append(dict(zip(labels, value.tolist(), strict=True)))
        else:
            found.append({"density": density(program, case, p / p.sum(), reliability=2.0)})
    assert found[0] == pytest.approx(found[1], rel=1e-5, abs=1e-5)


def test_programs_can_be_run_forwards():
    """From the prior, as any NumPyro program."""
    case, slots = one_case(LABELS)
    for program in (models.plackett_luce, models.dirichlet_categorical, models.prirn):
        p = shares_by(seed(program, jax.random.PRNGKey(0)))(case)
        assert p.shape == (len(slots),)
        np.testing.assert_allclose(p.sum(), 1, rtol=1e-5)
        assert (p > 0).all()
    fixed = substitute(models.plackett_luce, {"log_ratio": jnp.zeros(len(slots) - 1)})
    np.testing.assert_allclose(shares_by(fixed)(case), 1 / len(slots), rtol=1e-6)
