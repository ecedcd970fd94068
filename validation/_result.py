"""What a check finds, and the verdict on all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from validation._ranks import p_values

RATE = 0.01  #: of false alarms, over all p-values of a run together


@dataclass(frozen=True)
class Settings:
    """What all checks are told."""

    seed: int = 0
    quick: bool = False  #: fewer cases and draws
    only: str = ""  #: if not empty, checks leave out what does not contain it
    progress: bool = True


@dataclass(frozen=True)
class Result:
    """One quantity of one check.

    Attributes
    ----------
    group, what, quantity
        The check, what was checked, and by which quantity.
    p_values
        By the name of the test.
    places
        Numbers that are uniform between 0 and 1 if all is well, and independent; None if a test is not about such.
    n
        How many things were looked at.
    remark
        Anything else worth telling.
    """

    group: str
    what: str
    quantity: str
    p_values: dict[str, float]
    n: int
    places: np.ndarray | None = field(default=None, repr=False)
    remark: str = ""

    @classmethod
    def of_places(cls, group: str, what: str, quantity: str, places: np.ndarray, remark: str = "") -> "Result":
        """Test numbers for being uniform."""
        return cls(group, what, quantity, p_values(places), len(places), places, remark)

    @property
    def least(self) -> float:
        """The smallest p-value, 0 if one is not a number."""
        return float(np.nan_to_num(np.array(list(self.p_values.values())), nan=0.0).min())


@dataclass(frozen=True)
class Verdict:
    """All results, and whether they are what chance allows."""

    results: tuple[Result, ...]

    @property
    def n_tests(self) -> int:
        """The number of p-values."""
        return sum(len(result.p_values) for result in self.results)

    @property
    def threshold(self) -> float:
        """Below which a p-value is an alarm."""
        return RATE / max(self.n_tests, 1)

    @property
    def failures(self) -> list[Result]:
        """Results with an alarm."""
        return [result for result in self.results if result.least < self.threshold]

    @property
    def passed(self) -> bool:
        """Whether anything was tested and nothing raised an alarm."""
        return self.n_tests > 0 and not self.failures

    def __str__(self) -> str:
        smallest = min((result.least for result in self.results), default=1.0)
        said = f"{self.n_tests} p-values, the smallest {smallest:.2g}, alarm below {self.threshold:.2g}"
        if self.passed:
            return f"passed: {said} (a false alarm in {RATE:.0%} of runs)."
        worst: Sequence[Result] = sorted(self.failures, key=lambda result: result.least)[:3]
        named = "; ".join(f"{r.what}: {r.quantity}, p = {r.least:.2g}" for r in worst)
        return f"FAILED: {len(self.failures)} of {len(self.results)} results; {said}; {named or 'nothing was tested'}."
