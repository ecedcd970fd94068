"""Canonical sizes of test data: JAX compiles a program for every new shape, so tests of the same sizes share programs.

    from tests.shapes import MEDIUM
    draws = random.dirichlet(np.ones(MEDIUM.classes), (MEDIUM.draws, MEDIUM.cases))

A test that needs another size, such as a list of 400 classes, says why.
"""

from typing import NamedTuple


class Shape(NamedTuple):
    """Sizes of one problem."""

    cases: int
    classes: int
    classifiers: int
    draws: int  #: in each chain
    chains: int
    k: int  #: length of the ranked lists

    @property
    def samples(self) -> int:
        """Draws of all chains together."""
        return self.draws * self.chains


SMALL = Shape(cases=3, classes=3, classifiers=1, draws=3, chains=1, k=1)  # literal loops and hypothesis
MEDIUM = Shape(cases=24, classes=4, classifiers=2, draws=20, chains=2, k=2)  # whatever passes through `evaluate`
LARGE = Shape(cases=120, classes=6, classifiers=2, draws=200, chains=2, k=3)  # shares, intervals, convergence
REPLICATES = 20  #: bootstrap replicates, where no quantile of them is tested
