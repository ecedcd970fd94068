"""The shared parameters of all cases."""

import json
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float

from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import Annotations
from plausibly.families.priors._case_priors import CasePriors
from plausibly.families.priors.population._case_priors import at_population, case_priors


@dataclass(frozen=True, eq=False)
class Population:
    """Prevalence and profiles of classes, and how strongly they bind a case; see :mod:`plausibly.priors.population`.

    Parameters
    ----------
    classes
        (K,) class names.
    prevalence
        (K,) share of the cases with each head, summing to one.
    profiles
        (K, K) mean plausibilities of cases by head (rows), each summing to one.
    concentration
        Number of annotations that the prior of a case is worth, positive.
    strength
        Number of cases that the prior of a profile is worth, positive or infinite.
    self_share
        Share of the prior of a profile that falls on its head, from 0 to 1.
    spread
        Standard deviation of the log concentration between cases; 0 if all are equally difficult.
    samples
        Draws of the shared parameters, each a Population, for full Bayesian inference; empty for an estimate only.
    convergence
        Diagnostics of the shared parameters by ``quantity``: ``r_hat``, ``r_hat_limit``, ``ess_bulk``, ``ess_tail``,
        ``converged``.

    Examples
    --------
    >>> population = Population.of(["a", "b"], [0.8, 0.2], concentration=2.0, self_share=0.5)
    >>> population.profiles.round(2).tolist()
    [[0.9, 0.1], [0.4, 0.6]]
    """

    classes: np.ndarray
    prevalence: Float[np.ndarray, " class"]
    profiles: Float[np.ndarray, "class class"]
    concentration: float
    strength: float = np.inf
    self_share: float = 0.0
    spread: float = 0.0
    samples: tuple["Population", ...] = ()
    convergence: xr.Dataset | None = field(default=None, repr=False)

    def __post_init__(self):
        k = len(self.classes)
        if np.shape(self.prevalence) != (k,) or np.shape(self.profiles) != (k, k):
            raise ArgumentError(
                f"a population of {k} classes needs as many prevalences, and as many profiles of as many classes, "
                f"but the shapes are {np.shape(self.prevalence)} and {np.shape(self.profiles)}."
            )
        for name, values in (("prevalence", self.prevalence), ("profiles", self.profiles)):
            if not (np.min(values) >= 0 and np.allclose(np.sum(values, axis=-1), 1, atol=1e-4)):
                raise ArgumentError(f"the {name} of a population must be shares that sum to 1, none of them negative.")
        if not 0 < self.concentration < np.inf:
            raise ArgumentError(
                f"the concentration of a population must be positive, but {self.concentration!r} was given: write 5."
            )

    @classmethod
    def of(
        cls,
        classes: object,
        prevalence: object,
        *,
        concentration: float,
        strength: float = np.inf,
        self_share: float = 0.0,
    ) -> "Population":
        """Make a population whose profiles have not learned from any case.

        With a uniform prevalence and no self share, it is the uniform prior of concentration A / K for each class.
        """
        names, pi = np.asarray(classes, dtype=str), np.asarray(prevalence, float)
        profiles = self_share * np.eye(len(names)) + (1 - self_share) * pi
        return cls(names, pi, profiles, float(concentration), float(strength), float(self_share))

    kind: ClassVar = "population"  #: as the argument ``class_prior``
    evidence: ClassVar = None  #: no predictions are known
    closed_form: ClassVar = None  #: draws of a chain share the shared parameters

    def arguments(self) -> dict[str, Any]:
        """Arguments of an aggregation with this prior."""
        return {"class_prior": f"{self.kind} {self.digest()}"}

    @property
    def has_samples(self) -> bool:
        """Whether there are draws of the shared parameters, not just an estimate."""
        return bool(self.samples)

    def estimated(self) -> "Population":
        """Return the estimate without draws of the shared parameters."""
        return replace(self, samples=())

    @property
    def n_draws(self) -> int:
        """Number of draws of the shared parameters; 1 for an estimate."""
        return max(len(self.samples), 1)

    @property
    def mean_shape(self) -> float:
        """Mean prior shape of a class."""
        first = self.samples[0] if self.samples else self
        return first.concentration / len(first.classes)

    def lay_out(self, annotations: Annotations) -> CasePriors:
        """Lay out the slots of cases, with their priors given the estimate."""
        return case_priors(self, annotations)

    def given(self, priors: CasePriors, annotations: Annotations, number: int) -> CasePriors:
        """Return the same layout given a draw of the shared parameters; each has other heads."""
        if not self.samples:
            return priors
        drawn = self.samples[number]
        return at_population(replace(priors, heads=case_priors(drawn, annotations).heads), drawn)

    def attributes(self) -> dict[str, Any]:
        """Attributes of the posterior: the shared parameters, and the prior shape of every class in a remainder."""
        rounded = [float(f"{value:.4g}") for value in self.concentration * self.expected]
        return {"population": json.dumps(self.describe()), "class_prior_shape": json.dumps(rounded)}

    def digest(self) -> str:
        """Hash of everything that a posterior depends on."""
        found = blake2b("\0".join(map(str, self.classes)).encode(), digest_size=8)
        for one in (self, *self.samples):
            for values in (one.prevalence, one.profiles, np.array([one.concentration, one.spread])):
                found.update(np.ascontiguousarray(values, np.float64).tobytes())
        return found.hexdigest()

    @property
    def expected(self) -> Float[np.ndarray, " class"]:
        """Expected plausibilities of a case without annotations."""
        return self.prevalence @ self.profiles

    def expected_in(self, annotations: Annotations) -> Float[np.ndarray, "case class"]:
        """Expected plausibilities of cases without their annotations, which are those of any case."""
        return np.broadcast_to(self.expected, (annotations.n_cases, len(self.classes)))

    def describe(self) -> dict[str, object]:
        """Return the shared parameters that are single numbers, and their convergence, as plain data."""
        found: dict[str, object] = {
            "concentration": self.concentration,
            "strength": self.strength if np.isfinite(self.strength) else None,
            "self_share": self.self_share,
            "spread": self.spread,
        }
        if self.convergence is not None:
            columns = {str(name): values.values.tolist() for name, values in self.convergence.data_vars.items()}
            found["convergence"] = {"quantity": self.convergence["quantity"].values.tolist()} | columns
        return found

    @property
    def table(self) -> pd.DataFrame:
        """Classes in order of decreasing prevalence, with the classes most often named together with them.

        Columns: ``class_name``, ``prevalence``, ``self`` (the share of the profile on the class itself), and
        ``together``, the three other classes with the largest shares, as text.
        """
        others = self.profiles.copy()
        np.fill_diagonal(others, -1)
        most = np.argsort(-others, axis=1, kind="stable")[:, :3]
        rows = [
            {
                "class_name": str(self.classes[k]),
                "prevalence": float(self.prevalence[k]),
                "self": float(self.profiles[k, k]),
                "together": ", ".join(f"{self.classes[j]} {others[k, j]:.2f}" for j in most[k] if j != k),
            }
            for k in np.argsort(-self.prevalence, kind="stable")
        ]
        return pd.DataFrame(rows)
