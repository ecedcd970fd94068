"""The tree that splits a remainder against the Dirichlet written out."""

import jax
import numpy as np
import pytest
from scipy import stats

from plausibly.posterior._split_remainder import NEGLIGIBLE, dirichlet, largest_share, pieces_above

N = 4000


def words(n):
    return np.asarray(jax.random.key_data(jax.random.split(jax.random.key(5), n)))


@pytest.mark.parametrize("concentration", [0.01, 1.0, 7.0])
@pytest.mark.parametrize(("members", "share"), [(2, 0.3), (5, 0.15), (300, 0.012)])
def test_pieces_above_a_threshold_have_the_law_of_the_dirichlet(members, share, concentration):
    pair, position, piece = pieces_above(
        np.full(N, 0.5),
        np.full(N, members),
        np.full(N, 0.5 * share),
        np.tile(words(1), (N, 1)),
        np.arange(N),
        concentration,
    )
    assert (piece > 0.5 * share).all()
    assert len(set(zip(pair, position, strict=True))) == len(pair)
    log_gamma = np.log(np.random.default_rng(0).gamma(concentration + 1, size=(N, members)))
    log_gamma += np.log(np.random.default_rng(1).random((N, members))) / concentration
    pieces = np.exp(log_gamma - np.logaddexp.reduce(log_gamma, axis=1, keepdims=True)) * 0.5
    above = pieces > 0.5 * share
    # Three comparisons in each of nine settings at a rate of 1e-5: one false alarm in 3,700 seeds.
    counts = np.bincount(pair, minlength=N)
    same = np.stack([np.bincount(counts, minlength=members + 1), np.bincount(above.sum(axis=1), minlength=members + 1)])
    assert chi_square(same) > 1e-5
    if len(piece):
        # Rounded, because shares within single precision of 1 are 1 in one sample and not in the other.
        assert stats.ks_2samp(piece.round(5), pieces[above].round(5)).pvalue > 1e-5
        sevenths = [np.bincount(places * 7 // members, minlength=7) for places in (position, np.nonzero(above)[1])]
        assert chi_square(np.stack(sevenths)) > 1e-5


def chi_square(table):
    """p-value that two rows of counts have one law, rare columns pooled."""
    rare = table.sum(axis=0) < 20
    table = np.concatenate([table[:, ~rare], table[:, rare].sum(axis=1, keepdims=True)], axis=1)
    table = table[:, table.sum(axis=0) > 0]
    return stats.chi2_contingency(table).pvalue if table.shape[1] > 1 else 1.0


def test_all_pieces_together_are_the_remainder():
    pair, _, piece = pieces_above(
        np.full(50, 0.7), np.full(50, 13), np.full(50, 1e-300), words(50), np.zeros(50, int), 1.0
    )
    assert np.bincount(pair).tolist() == [13] * 50
    np.testing.assert_allclose(np.bincount(pair, piece), 0.7, rtol=1e-5)


def test_a_single_class_takes_the_whole_remainder():
    one = np.ones(1, int)
    pair, position, piece = pieces_above(np.array([0.3]), one, np.array([0.2]), words(1), 0 * one, 1.0)
    assert (pair.tolist(), position.tolist(), piece.round(6).tolist()) == ([0], [0], [0.3])


@pytest.mark.parametrize("concentration", [0.01, 1.0])
def test_the_threshold_keeps_its_promise(concentration):
    for members in (2, 10, 419, 10_000):
        share = largest_share(members, concentration)
        expected = members * stats.beta.sf(share, concentration, (members - 1) * concentration)
        assert expected <= NEGLIGIBLE * (1 + 1e-6)


@pytest.mark.parametrize("concentrations", [[2.0, 0.0, 6.0], [0.02, 0.0, 3.0], [0.05, 0.03, 0.04]])
def test_shares_of_unequal_parts(concentrations):
    shares = dirichlet(np.random.default_rng(0), np.array(concentrations), N)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    total = sum(concentrations)
    for share, own in zip(shares.T, concentrations, strict=True):
        if own:
            # Rounded, because shares within double precision of 0 or 1 are 0 or 1. Seven tests at a rate of 1e-5.
            expected = np.random.default_rng(1).beta(own, total - own, N)
            assert stats.ks_2samp(share.round(9), expected.round(9)).pvalue > 1e-5
        else:
            assert (share == 0).all()


@pytest.mark.parametrize("concentration", [0.02, 1.0])
def test_a_pair_does_not_depend_on_the_others(concentration):
    data, draws = words(9), np.arange(900) % 100
    arguments = np.full(900, 0.8), np.full(900, 40), np.full(900, 0.05), np.repeat(data, 100, axis=0), draws
    pair, position, piece = pieces_above(*arguments, concentration)
    part = slice(250, 270)
    own = pieces_above(*(argument[part] for argument in arguments), concentration)
    inside = (pair >= 250) & (pair < 270)
    found = sorted(zip(pair[inside] - 250, position[inside], piece[inside], strict=True))
    assert found == sorted(zip(*own, strict=True))
    assert len(found) > 5


@pytest.mark.parametrize("most", [1, 2, 5])
def test_pieces_of_no_use_may_be_left_out(most):
    arguments = (
        np.full(50, 0.9),
        np.full(50, 30),
        np.full(50, 0.02),
        np.repeat(words(1), 50, axis=0),
        np.arange(50),
        1.0,
    )
    pair, position, piece = pieces_above(*arguments)
    few = pieces_above(*arguments, most=most)
    for at in range(50):
        largest = sorted(zip(piece[pair == at], position[pair == at], strict=True))[-most:]
        assert sorted(zip(few[2][few[0] == at], few[1][few[0] == at], strict=True)) == largest
