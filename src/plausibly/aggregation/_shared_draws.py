"""What cases share under a model of one true class: chains sampled, here or on a cluster, kept, judged and joined."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float

from plausibly._progress import Progress
from plausibly.annotations import Annotations
from plausibly.case import LabelledCases
from plausibly.cluster import map_on
from plausibly.diagnostics import judge
from plausibly.inference import DIVERGING, Chain, sample_by_nuts, sample_chain, sites_of
from plausibly.model import Model, TrueClass
from plausibly.priors import Evidence
from plausibly.regression import names as coefficient_names


class Keeper(Protocol):
    """Where chains are kept as soon as they are finished, such as :class:`plausibly.posterior.Store`."""

    def kept_chains(self) -> dict[int, Chain]:
        """Return finished chains by number."""
        ...

    def keep_chain(self, number: int, chain: Chain, n_chains: int, dims: Mapping[str, tuple[str, ...]]) -> None:
        """Keep a finished chain, whose sites have these dimensions after the draws."""
        ...


@dataclass(frozen=True)
class SharedDraws:
    """Draws of what cases share, and their convergence."""

    values: Mapping[str, Float[np.ndarray, "chain draw *shape"]]
    dims: Mapping[str, tuple[str, ...]]  #: of each site, after chain and draw
    judged: xr.Dataset  #: by quantity; "annotator" is whose it is, −1 if it is everybody's
    names: Mapping[str, np.ndarray]  #: of annotators, classes and coefficients, by dimension
    sampler: TrueClass
    evidence: Evidence | None = None  #: what classifiers say of the cases
    log_prevalence: Float[np.ndarray, " class"] | None = None  #: that the coefficients go with

    @classmethod
    def of(
        cls,
        sampler: TrueClass,
        dims: Mapping[str, tuple[str, ...]],
        chains: Sequence[Chain],
        names: Mapping[str, np.ndarray],
        progress: Progress,
    ) -> "SharedDraws":
        """Join chains and judge them; of the confusion matrices of single annotators, the diagonals.

        ``names`` are those of annotators, classes and coefficients by dimension.
        """
        values = {name: np.stack([chain[name] for chain in chains]) for name in dims}
        diverging = sum(int(chain[DIVERGING].sum()) for chain in chains) if DIVERGING in chains[0] else None
        return cls(values, dims, _judge(values, dims, names, diverging, progress), names, sampler)

    def labels_of(self, annotations: Annotations) -> LabelledCases:
        """Collect the labels of some of the cases, with annotators numbered as here."""
        labels = labels_of_cases(annotations, self.sampler, self.evidence, self.log_prevalence)
        if not self.sampler.named:
            return labels
        place = {name: number for number, name in enumerate(self.names["annotator"].tolist())}
        number = np.array([place[name] for name in annotations.annotators.tolist()])
        return replace(labels, annotator=number[labels.annotator], n_annotators=len(place))

    def converged_cases(self, labels: LabelledCases) -> Bool[np.ndarray, " case"]:
        """Whether everything that a case's plausibilities rest on has converged, by case."""
        good, whose = self.judged["converged"].values, self.judged["annotator"].values
        of_annotator = np.ones(labels.n_annotators, bool)
        np.logical_and.at(of_annotator, whose[whose >= 0], good[whose >= 0])
        converged = np.full(labels.n_cases, good[whose < 0].all())
        np.logical_and.at(converged, labels.case, of_annotator[labels.annotator])
        return converged


def labels_of_cases(
    annotations: Annotations,
    sampler: TrueClass,
    evidence: Evidence | None = None,
    log_prevalence: Float[np.ndarray, " class"] | None = None,
) -> LabelledCases:
    """Collect the labels of cases, and what classifiers say of these (:meth:`LabelledCases.with_scores`)."""
    labels = LabelledCases.of(annotations, alike=not sampler.named)
    return labels if evidence is None else labels.with_scores(evidence.of_cases(annotations.cases), log_prevalence)


def names_of(annotations: Annotations, evidence: Evidence | None = None) -> dict[str, np.ndarray]:
    """Return names of annotators, classes and coefficients of predictions by dimension."""
    classes = annotations.classes
    found = {"annotator": annotations.annotators, "true_class": classes, "named_class": classes}
    return found | ({} if evidence is None else {"coefficient": coefficient_names(evidence.classifiers, classes)})


def sample_shared(
    model: Model,
    sampler: TrueClass,
    labels: LabelledCases,
    names: Mapping[str, np.ndarray],
    *,
    engine: str,
    draws: int,
    chains: int,
    warmup: int,
    seed: int,
    progress: Progress,
    scheduler: Any = None,
    keeper: Keeper | None = None,
) -> SharedDraws:
    """Sample the quantities that all cases share, except for chains that are already kept.

    Parameters
    ----------
    model, sampler
        A model of one true class, and its ``true_class``.
    labels
        Labels of all cases.
    names
        Names of annotators, classes and coefficients by dimension.
    engine, draws, chains, warmup, seed, scheduler
        As for :func:`plausibly.aggregate`.
    progress
        Progress to report to.
    keeper
        Storage for finished chains; None to keep none.
    """
    found = {} if keeper is None else keeper.kept_chains()
    dims = sites_of(sampler, labels)

    def keep(number: int, chain: Chain) -> None:
        found[number] = chain
        if keeper is not None:
            keeper.keep_chain(number, chain, chains, dims)

    missing = [number for number in range(chains) if number not in found]
    settings = {"draws": draws, "warmup": warmup, "seed": int(seed)}
    if engine == "nuts" and missing:
        for number, chain in enumerate(sample_by_nuts(model.program, sampler, labels, chains=chains, **settings)):
            keep(number, chain)
    elif missing:
        advance = progress.task("Sampling shared parameters", chains * (draws + warmup), "draws and warm-up sweeps")
        advance(len(found) * (draws + warmup))
        if scheduler is None:
            for number in missing:
                keep(number, sample_chain(sampler, labels, chain=number, advance=advance, **settings))
        else:
            for at, chain in map_on(scheduler, _one_chain, missing, sampler, labels, settings):
                keep(missing[at], chain)
                advance(draws + warmup)
    return SharedDraws.of(sampler, dims, [found[number] for number in range(chains)], names, progress)


def _one_chain(number: int, sampler: TrueClass, labels: LabelledCases, settings: Mapping[str, int]) -> Chain:
    return sample_chain(sampler, labels, chain=number, **settings)


def _judge(
    values: Mapping[str, np.ndarray],
    sites: Mapping[str, tuple[str, ...]],
    names: Mapping[str, np.ndarray],
    diverging: int | None,
    progress: Progress,
) -> xr.Dataset:
    quantities, columns, whose = [], [], []
    for site, dims in sites.items():
        draws = values[site]
        if len(dims) == 3:
            draws = np.diagonal(draws, axis1=-2, axis2=-1)
        for at in np.ndindex(draws.shape[2:]):
            place = (*at, at[-1]) if len(dims) == 3 else at
            of = ", ".join(str(names[dim][i]) for dim, i in zip(dims, place, strict=True))
            quantities.append(f"{site} of {of}" if of else site)
            whose.append(at[dims.index("annotator")] if "annotator" in dims else -1)
        columns.append(draws.reshape(*draws.shape[:2], -1))
    joined = np.concatenate(columns, axis=-1)
    r_hat, bulk, tail, good = judge(joined, progress=progress, what="shared quantities")
    found: dict[str, Any] = {"r_hat": r_hat, "ess_bulk": bulk, "ess_tail": tail, "annotator": np.array(whose)}
    if diverging is not None:
        found["n_diverging"] = np.full(len(good), diverging)
        good = good & (diverging == 0)
    found["converged"] = good
    return xr.Dataset(
        {name: ("quantity", column) for name, column in found.items()},
        {"quantity": np.array(quantities, str)},
        {"chains": joined.shape[0], "quantities": len(quantities)},
    )
