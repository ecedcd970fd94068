"""What holds of every distance of the package, on simulated labels of its type."""

import numpy as np
import pytest

from plausibly.data.datasets import simulate_labels
from plausibly.distances import BY_TYPE, DISTANCES, PRESETS, find_distance

EVERY = [
    (kind, name, preset)
    for kind, names in BY_TYPE.items()
    for name in names
    for preset in (None, *(one for one in PRESETS if name in PRESETS[one]))
]
OWN_DISTANCE = {"bleu"}  # smoothing takes short texts away from themselves


@pytest.fixture(scope="module")
def labels():
    return {
        kind: simulate_labels(kind, noise=0.4, n_cases=6, n_annotators=3, seed=1)["label"].tolist() for kind in BY_TYPE
    }


@pytest.mark.parametrize(("kind", "name", "preset"), EVERY)
def test_symmetric_zero_to_itself_bounded_and_alike_one_by_one(labels, kind, name, preset):
    distance = find_distance(name, preset)
    assert distance.name == name
    given = [label for label in labels[kind] if label != []]  # to which the greatest distance can be infinite
    given = given[:7] if distance.slow else given
    encoded = distance.encode(given)
    left, right = np.indices((len(given), len(given)))
    found = distance.between(encoded, left, right)
    assert found.shape == left.shape
    assert found.dtype == np.float64
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert (found <= distance.bound + 1e-12).all()
    np.testing.assert_allclose(found, found.T, atol=1e-12)
    if name not in OWN_DISTANCE:
        np.testing.assert_array_equal(np.diag(found), 0)
    assert len(np.unique(found)) > 1
    broadcast = distance.between(encoded, np.arange(4)[:, None], np.arange(5))
    np.testing.assert_array_equal(broadcast, found[:4, :5])
    if name not in ("ordinal", "partial_rankings"):  # these depend on all the labels
        for i, j in ((0, 1), (3, 5), (6, 4)):
            assert distance(given[i], given[j]) == pytest.approx(found[i, j], abs=1e-12)


def test_every_name_is_a_function_of_the_folder():
    import plausibly.distances

    for name, distance in DISTANCES.items():
        assert getattr(plausibly.distances, name) is distance
