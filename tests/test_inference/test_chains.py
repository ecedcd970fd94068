"""Chains of Gibbs samplers: widths that slices learn in the warm-up, and chains that grow at both ends."""

from itertools import count

import numpy as np
from scipy.stats import kstest

from plausibly.inference.chains import Sampler
from plausibly.inference.moves import BROAD, Moves

SD, MOVES = 0.01, 4_000


def test_slices_learn_their_width_in_the_warm_up():
    random, calls = Moves.of(1), []

    def log_density(x):
        calls.append(x)
        return -((x / SD) ** 2) / 2

    def run(moves, x):
        calls.clear()
        for _ in range(moves):
            x = random.slices("x", x, BROAD, log_density, ahead=1)
            yield x

    *_, x = run(MOVES, np.zeros(3))
    before = len(calls)
    random.learning = True
    *_, x = run(200, x)
    random.learning = False
    drawn = np.array(list(run(MOVES, x)))
    assert len(calls) < 0.7 * before
    assert kstest(drawn[::4].ravel() / SD, "norm").pvalue > 1e-3


def test_a_chain_grows_at_both_ends_from_where_its_warm_up_ended():
    def sweeps(random, chains, double):
        state = 10.0 * np.arange(chains)
        for number in count(1):
            state = state + 1
            if number == double + 1:
                state = np.concatenate([state, state + 0.5])
            yield state

    sampler = Sampler(sweeps, lambda state, _: {"x": state}, draws=5, warmup=3, seed=0, abreast=2, twice=True)
    told = []
    first, second = sampler.run([0, 1], told.append)
    assert first["x"].tolist() == [6, 5, 4, 4.5, 5.5]
    assert second["x"].tolist() == [16, 15, 14, 14.5, 15.5]
    assert sum(told) == 2 * (5 + 3)  # as the bar was told before
