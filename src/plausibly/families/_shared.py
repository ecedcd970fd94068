"""Draws of what all cases share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int

from plausibly._arviz import Posterior, from_groups, to_groups
from plausibly._progress import Progress
from plausibly.diagnostics import judge_shared

Values = Mapping[str, Float[np.ndarray, "chain draw *shape"]]
Dims = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class SharedDraws:
    """Draws of shared parameters, and their convergence."""

    values: Values
    dims: Dims  #: of each site, after chain and draw
    names: Mapping[str, np.ndarray]  #: coordinates by dimension
    judged: xr.Dataset  #: by quantity, see :func:`plausibly.diagnostics.judge_shared`
    annotator: Int[np.ndarray, " quantity"]  #: whose each quantity is, −1 if it is everybody's
    constants: Mapping[str, Any] = field(default_factory=dict)  #: what else the cases were given

    @classmethod
    def of(
        cls,
        values: Values,
        dims: Dims,
        names: Mapping[str, np.ndarray],
        *,
        progress: Progress,
        n_diverging: int | None = None,
        titles: Mapping[str, str] | None = None,
    ) -> "SharedDraws":
        """Diagnose draws; of the confusion matrices of single annotators, the diagonals.

        ``titles`` are other names of sites, for the names of their quantities.
        """
        quantities, columns, annotator = [], [], []
        for site, own in dims.items():
            draws, title = values[site], (titles or {}).get(site, site)
            if len(own) == 3:
                draws = np.diagonal(draws, axis1=-2, axis2=-1)
            for at in np.ndindex(draws.shape[2:]):
                place = (*at, at[-1]) if len(own) == 3 else at
                of = ", ".join(str(names[dim][i]) for dim, i in zip(own, place, strict=True))
                quantities.append(f"{title} of {of}" if of else title)
                annotator.append(at[own.index("annotator")] if "annotator" in own else -1)
            columns.append(draws.reshape(*draws.shape[:2], -1))
        judged = judge_shared(quantities, np.concatenate(columns, axis=-1), n_diverging=n_diverging, progress=progress)
        return cls(values, dims, names, judged, np.array(annotator))

    def converged(
        self, case: Int[np.ndarray, " annotation"], annotator: Int[np.ndarray, " annotation"], n_cases: int
    ) -> Bool[np.ndarray, " case"]:
        """Whether all quantities have converged that are everybody's or the annotators' of a case, by case."""
        good, own = self.judged["converged"].values, self.annotator >= 0
        of_annotator = np.ones(int(self.annotator.max(initial=0)) + 1, bool)
        np.logical_and.at(of_annotator, self.annotator[own], good[own])
        converged = np.full(n_cases, good[~own].all())
        if own.any():
            np.logical_and.at(converged, case, of_annotator[annotator])
        return converged

    def added_to(self, posterior: Posterior) -> Posterior:
        """Add the draws to a posterior in memory."""
        groups = to_groups(posterior)
        variables = {name: (("chain", "draw", *self.dims[name]), values) for name, values in self.values.items()}
        names = {dim: self.names[dim] for dims in self.dims.values() for dim in dims}
        groups["posterior"] = groups["posterior"].assign(variables).assign_coords(names)
        return from_groups(groups, posterior.attrs)
