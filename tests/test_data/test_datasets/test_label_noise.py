"""Label noise: shares as asked for, and data that do not depend on how much follows."""

import numpy as np
import pytest

from plausibly.data.datasets import simulate_label_noise, simulate_strictness


def said(noise):
    return noise.labels.pivot(index="case", columns="annotator", values="label").to_numpy()


def test_shares():
    noise = simulate_label_noise(20_000, 2, swap=[0.0, 0.4], models=(0.7, 1.0), n_classes=4)
    labels = said(noise)
    assert (labels[:, 0] == noise.truth).all()
    # Every fourth swapped label is the true one.
    assert np.mean(labels[:, 1] != noise.truth) == pytest.approx(0.3, abs=0.01)
    model = noise.predictions["0.7"]["label"].to_numpy()
    assert np.mean(model == noise.truth) == 0.7
    wrong = (model - noise.truth)[model != noise.truth] % 4
    np.testing.assert_allclose(np.bincount(wrong, minlength=4) / len(wrong), [0, 1 / 3, 1 / 3, 1 / 3], atol=0.02)
    np.testing.assert_allclose(np.bincount(noise.truth) / 20_000, 0.25, atol=0.01)


@pytest.mark.parametrize("simulate", [simulate_label_noise, simulate_strictness])
def test_fewer_cases_or_annotators_are_a_beginning(simulate):
    large, small = simulate(50, 5, 0.3, seed=4), simulate(20, 5, 0.3, seed=4)
    np.testing.assert_array_equal(said(large)[:20], said(small))
    np.testing.assert_array_equal(large.truth[:20], small.truth)
    np.testing.assert_array_equal(said(simulate_label_noise(50, 3, 0.3)), said(simulate_label_noise(50, 5, 0.3))[:, :3])
