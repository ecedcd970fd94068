"""Labels of two classes, for which everything has a closed form, and their Dirichlet posterior."""

import pytest

import plausibly as pb
from tests import worlds
from tests.worlds import COUNTS as COUNTS


def labels_of(counts):
    """Annotations of two classes with so many labels of each."""
    return pb.Annotations.from_labels([["a"] * a + ["b"] * b for a, b in counts], classes=["a", "b"])


@pytest.fixture(scope="session")
def two():
    return worlds.counts()
