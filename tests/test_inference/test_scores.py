"""The prior of scores, where the data settle it and where they do not; and exact draws."""

import jax
import numpy as np
import pytest
from scipy import optimize, stats

from plausibly.base.random_streams import case_keys
from plausibly.data.annotations import Scores
from plausibly.data.case import NormalInverseGamma, ScoreSums
from plausibly.inference.exact._scores import _different, _loss, draw_scores, estimate_prior

TRUE = NormalInverseGamma(2.0, 0.5, 4.0, 6.0)


def scores_of(by_case):
    sizes = [len(values) for values in by_case]
    return Scores(
        cases=[f"case {i}" for i in range(len(sizes))],
        annotators=[str(i) for i in range(max(sizes))],
        anonymous=True,
        annotation_case=np.repeat(np.arange(len(sizes)), sizes),
        annotation_annotator=np.concatenate([np.arange(n) for n in sizes]),
        score=np.concatenate(by_case).astype(float),
    )


def simulate(n, seed=0, most=7):
    rng = np.random.default_rng(seed)
    variance = TRUE.scale / rng.gamma(TRUE.shape, size=n)
    mean = TRUE.mean + np.sqrt(variance / TRUE.strength) * rng.normal(size=n)
    return scores_of([rng.normal(m, np.sqrt(v), rng.integers(1, most)) for m, v in zip(mean, variance, strict=True)])


def test_sums_by_hand_and_equal_scores_share_a_row():
    sums = ScoreSums.of(scores_of([[1, 2, 6], [4]]))
    assert sums.n.tolist() == [3, 1]
    np.testing.assert_allclose(sums.mean, [3, 4])
    np.testing.assert_allclose(sums.squares, [14, 0])
    # Far from zero nothing is lost, and equal scores have no spread at all.
    assert ScoreSums.of(scores_of([[1e12 + 1, 1e12 + 2], [0.1] * 7])).squares.tolist() == [0.5, 0.0]
    (case, value), counts, row = _different(scores_of([[2, 1, 2], [2]]))
    assert case.tolist() == [0, 0, 1]
    assert value.tolist() == [1, 2, 2]
    assert counts.tolist() == [1, 2, 1]
    assert row.tolist() == [1, 0, 1, 0]


def test_the_prior_where_scores_say_much_little_or_all_the_same():
    found = estimate_prior(simulate(4000))
    np.testing.assert_allclose(found, TRUE, rtol=0.15)
    # Nothing tells the two apart, and the weak assumption is that they are alike.
    rng = np.random.default_rng(5)
    assert estimate_prior(scores_of([[y] for y in rng.normal(size=80)])).strength == pytest.approx(1, rel=0.05)
    # Whole numbers that all agree leave a spread of rounding: certain on both sides of a threshold halfway.
    found = estimate_prior(scores_of([[1.0] * 5, [2.0] * 5, [4.0] * 5]))
    assert found.scale / found.shape == pytest.approx(1 / 12, rel=1e-6)
    below = found.posterior(*ScoreSums.of(scores_of([[1.0] * 5, [2.0] * 5]))).probability_below(1.5)
    assert below[0] > 0.9
    assert below[1] < 0.1


def test_the_prior_is_the_optimum_of_a_loss_with_its_slopes():
    """Of the marginal likelihood and the weak assumptions, by another optimiser from another place."""
    scores = simulate(60, seed=1)
    sums = ScoreSums.of(scores)

    def loss(x):
        m, strength, a, b = x[0], *np.exp(x[1:])
        weak = (np.log(strength) / 2) ** 2 / 2 + ((np.log(a) - np.log(2)) / 2) ** 2 / 2
        return weak - NormalInverseGamma(m, strength, a, b).log_marginal(*sums).sum()

    best = optimize.minimize(
        loss, np.zeros(4), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 9999}
    )
    found = estimate_prior(scores)
    np.testing.assert_allclose([found.mean, *np.log(found[1:])], best.x, atol=1e-3)
    sums = ScoreSums.of(simulate(30, seed=2))
    for x in np.random.default_rng(0).normal(size=(5, 4)):
        assert optimize.check_grad(lambda x: _loss(x, sums)[0], lambda x: _loss(x, sums)[1], x) < 1e-3


@pytest.mark.parametrize(("shift", "unit"), [(0, 1), (-1e6, 1), (0, 1e-3), (1e4, 1e5)])
def test_the_prior_moves_with_the_scores(shift, unit):
    scores = simulate(50, seed=3)
    moved = scores_of(np.split(shift + unit * scores.score, scores.case_start[1:-1]))
    a, b = estimate_prior(scores), estimate_prior(moved)
    expected = (shift + unit * a.mean, a.strength, a.shape, unit**2 * a.scale)
    np.testing.assert_allclose(b, expected, rtol=1e-3)


DEGENERATE = {
    "a single score": [[3.0]],
    "a single case": [[3.0, 4.0, 7.0]],
    "two cases of one score": [[1.0], [2.0]],
    "one score each": [[float(i % 5)] for i in range(40)],
    "all alike": [[3.0] * 3] * 4,
    "constant in each case": [[3.0] * 3, [1.0] * 3, [2.0] * 2],
    "the same in every case": [[-1.0, 1.0]] * 30,
    "far from zero": [[1e14, 1e14 + 1, 1e14 + 2], [1e14 + 4]],
    "next to nothing": [[0.0, 1e-300], [3e-300]],
    "an outlier": [[0.0, 0.1, 0.2], [0.0, 1e9]],
}


@pytest.mark.parametrize("what", DEGENERATE)
def test_what_leaves_the_prior_open_gives_one_all_the_same(what):
    scores = scores_of(DEGENERATE[what])
    found = estimate_prior(scores)
    assert np.isfinite(found).all()
    assert min(found[1:]) > 0
    assert scores.score.min() - 1e-15 <= found.mean <= scores.score.max() + 1e-15
    # A threshold far above all scores is one that scores are likely to stay below.
    threshold = scores.score.max() + 20 * max(np.ptp(scores.score), 1)
    assert (found.posterior(*ScoreSums.of(scores)).probability_below(threshold) > 0.9).all()


@pytest.mark.slow
def test_draws_are_those_of_the_posterior_and_of_the_case_alone():
    found = TRUE.posterior(np.array([3, 1]), np.array([1.0, 4.0]), np.array([2.0, 0.0]))
    plausibility, by_case = draw_scores(found, 1.5, case_keys(0, ["p", "q"]), chains=4, draws=1000)
    assert plausibility.shape == (4, 1000, 4)
    for at in range(2):
        m, strength, a, b = (values[at] for values in found)
        mean, variance = (by_case[name][..., at].ravel() for name in ("mean", "variance"))
        # 0.001 is the false-alarm rate of each of the four.
        assert stats.kstest(variance, stats.invgamma(a, scale=b).cdf).pvalue > 1e-3
        assert stats.kstest(mean, stats.t(2 * a, m, np.sqrt(b / (a * strength))).cdf).pvalue > 1e-3
        expected = stats.norm.cdf(1.5, mean.astype(float), np.sqrt(variance.astype(float)))
        np.testing.assert_allclose(plausibility[..., 2 * at].ravel(), expected, atol=1e-5)
    np.testing.assert_allclose(plausibility.reshape(4, 1000, 2, 2).sum(-1), 1, atol=1e-6)
    alone = NormalInverseGamma(*(values[1:] for values in found))
    keys = case_keys(0, ["p", "q"])
    both = draw_scores(found, 1.5, keys, chains=2, draws=50)[0]
    one = draw_scores(alone, 1.5, keys[1:], chains=2, draws=50)[0]
    np.testing.assert_array_equal(both[..., 2:], one)
    assert not jax.numpy.array_equal(both[..., :2], both[..., 2:])
