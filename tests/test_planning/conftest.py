"""Labels of two classes, for which everything has a closed form, and their Dirichlet posterior."""

from types import SimpleNamespace

import numpy as np
import pytest

import plausibly as pb

COUNTS = np.array([(1, 0), (1, 1), (2, 0), (2, 1), (3, 1), (5, 0), (4, 4), (0, 3)] * 3)


def labels_of(counts):
    """Annotations of two classes with so many labels of each."""
    return pb.Annotations.from_labels([["a"] * a + ["b"] * b for a, b in counts], classes=["a", "b"])


@pytest.fixture(scope="session")
def two():
    annotations = labels_of(COUNTS)
    posterior = pb.aggregate(annotations, "dirichlet-categorical", draws=1000, chains=4, seed=0, progress=False)
    random = np.random.default_rng(0)
    predictions = {name: random.dirichlet((1, 1), len(COUNTS)) for name in "AB"}
    return SimpleNamespace(annotations=annotations, posterior=posterior, predictions=predictions, counts=COUNTS)
