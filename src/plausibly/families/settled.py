"""The protocol of a family of models, draws of what all cases share, and a model with its arguments."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int

from plausibly.base.arviz import Posterior, from_groups, to_groups
from plausibly.base.fingerprint import versions_text
from plausibly.base.memory import release_memory
from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations, Scores, Slots
from plausibly.data.case import Entries
from plausibly.families.model import Model
from plausibly.families.priors import ClassPrior, Evidence
from plausibly.inference import Program, nested_cases
from plausibly.posterior import LIKELIHOOD, PSEUDO_LIKELIHOOD, build_posterior
from plausibly.posterior.diagnostics import convergence, judge_shared, passed
from plausibly.posterior.says import ONE_TRUE_CLASS

BY_PLAUSIBILITY, BY_CONFUSION = "plausibility", "confusion"
BY_PROGRAM = "alone", "together", "counts"

Values = Mapping[str, Float[np.ndarray, "chain draw *shape"]]
Dims = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Facts:
    """Facts about the models of a family that others ask for."""

    engines: tuple[str, ...]  #: names of the engines, the first of which is the usual one
    assumes: str = ""  #: what is assumed of each case, such as "one true class"; an attribute of posteriors
    shares: bool = False  #: whether cases share parameters, which are sampled from all of them
    named: bool = False  #: whether annotators must have names
    every_class: bool = False  #: whether every class of every case has a slot
    takes_prior: bool = True  #: whether plausibilities have a Dirichlet prior, which may be learned
    grades: bool = False  #: whether scores without a threshold are classes
    groups: bool = False  #: whether annotators may err together, in groups that are named
    #: how annotators answer: by the ``"plausibility"`` or, where one class is true, by ``"confusion"``; else the
    #: family predicts them by ``leave_out``, and replicates them by ``replicate`` if it can
    answers: str = ""


class Family(Protocol):
    """Functions of a family; :class:`plausibly.TrueClass` is an example.

    ``settled`` has the model, its engine and all of its arguments. One function is optional: ``replicate(posterior,
    annotations, settled)`` returns labels that annotators would give if they answered again, the number of a class by
    (chain, draw, annotation). :func:`plausibly.predictive_check` needs it unless ``Facts.answers`` says how they do.
    """

    def says(self, model: Model) -> Facts:
        """State the facts about a model of this family."""
        ...

    def check(self, observed: Annotations | Scores, settled: "Settled") -> Any:
        """Refuse annotations that the model cannot learn from; return what ``learn`` can use again, if anything."""
        ...

    def learn(
        self,
        observed: Annotations | Scores,
        settled: "Settled",
        *,
        progress: bool,
        scheduler: Any = None,
        keeper: Callable[[Slots], Any] | None = None,
    ) -> "Settled":
        """Learn from all cases what a shard needs of them, such as draws of shared parameters (``settled.shared``).

        ``keeper`` opens the :class:`plausibly.posterior.Store` of a posterior with such slots, which keeps finished
        chains.
        """
        ...

    def layout(self, observed: Annotations | Scores, settled: "Settled") -> Slots:
        """Lay out the slots of the posterior of cases, once the rest is learned."""
        ...

    def draw(
        self, observed: Annotations | Scores, settled: "Settled", *, progress: bool, point: str = "now"
    ) -> Posterior:
        """Draw the posterior of some or all of the cases from which was learned.

        Its point estimate is that of the model, computed ``"now"`` or ``"later"``, when it is read, or else the
        ``"mean"`` of the draws.
        """
        ...

    def log_likelihood(
        self, posterior: Posterior, observed: Annotations | Scores, settled: "Settled", *, progress: bool, now: bool
    ) -> Posterior:
        """Add the group :attr:`Settled.likelihood`, computed now or when it is read, if the model has one."""
        ...

    def leave_out(
        self, annotations: Annotations, settled: "Settled", fold: Int[np.ndarray, " annotation"], *, progress: bool
    ) -> dict[str, np.ndarray] | None:
        """Predict each annotation from those of its case in other folds, by parameters from other cases.

        Returns
        -------
        dict
            By annotation: the log probability ``elpd``, its Monte Carlo ``error``, the log probability ``in_sample``
            given all annotations, and whether chains ``converged``. None if nothing but the prior is shared, so that
            fits of copies of cases without an annotation predict it.
        """
        ...


APART = 1.1  #: R-hat from which on chains say different things of annotators
ENOUGH = 100  #: effective draws of all chains that a quantity needs for cases to rest on it


@dataclass(frozen=True)
class SharedDraws:
    """Draws of shared parameters, and their convergence."""

    values: Values
    dims: Dims  #: of each site, after chain and draw
    names: Mapping[str, np.ndarray]  #: coordinates by dimension
    judged: xr.Dataset  #: by quantity, see :func:`plausibly.diagnostics.judge_shared`
    annotator: Int[np.ndarray, " quantity"]  #: whose each quantity is, −1 if it is everybody's, −2 if cases need it not
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
        unjudged: Collection[str] = (),
        above: Collection[str] = (),
    ) -> "SharedDraws":
        """Diagnose draws; of the confusion matrices of single annotators, the diagonals.

        ``titles`` are other names of sites, for the names of their quantities; those ``unjudged`` are not diagnosed.
        Cases do not depend on those ``above``, parameters of the prior of the others.
        """
        quantities, columns, annotator = [], [], []
        for site, own in dims.items():
            if site in unjudged:
                continue
            draws, title = values[site], (titles or {}).get(site, site)
            if len(own) == 3:
                draws = np.diagonal(draws, axis1=-2, axis2=-1)
            for at in np.ndindex(draws.shape[2:]):
                place = (*at, at[-1]) if len(own) == 3 else at
                of = ", ".join(str(names[dim][i]) for dim, i in zip(own, place, strict=True))
                quantities.append(f"{title} of {of}" if of else title)
                whose = at[own.index("annotator")] if "annotator" in own else -1
                annotator.append(-2 if site in above else whose)
            columns.append(draws.reshape(*draws.shape[:2], -1))
        judged = judge_shared(
            quantities,
            np.concatenate(columns, axis=-1),
            n_diverging=n_diverging,
            enough_for_cases=ENOUGH,
            progress=progress,
        )
        return cls(values, dims, names, judged, np.array(annotator))

    def converged(
        self, case: Int[np.ndarray, " annotation"], annotator: Int[np.ndarray, " annotation"], n_cases: int
    ) -> Bool[np.ndarray, " case"]:
        """Whether quantities that are everybody's are known well enough, and the annotators' of a case, by case.

        The draws of a case are judged themselves, so what they rest on needs only ``ENOUGH`` effective draws.
        """
        judged, own = self.judged, self.annotator >= 0
        good = judged["converged"].values | passed(judged, ENOUGH)
        if "n_diverging" in judged:
            good &= judged["n_diverging"].values == 0
        of_annotator = np.ones(int(self.annotator.max(initial=0)) + 1, bool)
        np.logical_and.at(of_annotator, self.annotator[own], good[own])
        converged = np.full(n_cases, good[self.annotator == -1].all())
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


@dataclass(frozen=True)
class Settled:
    """A model, its engine and all its arguments, checked against each other and against the annotations."""

    model: Model
    family: Family
    engine: str
    automatic: bool  #: whether the engine was left to choose, so that cases with a known posterior are drawn exactly
    arguments: Mapping[str, Any]  #: all of them, with their defaults
    seed: int
    prior: ClassPrior | None = None  #: what cases have in common, if it is given or learned
    learned: bool = False  #: whether it is learned from these cases
    evidence: Evidence | None = None  #: what classifiers say of the cases, for a prior that is learned from it
    #: groups that cases of ratings belong to, by name: names of groups, and which of them each case is in
    case_groups: Mapping[str, tuple[np.ndarray, Int[np.ndarray, " case"]]] | None = None
    coded: Any = None  #: annotations as the family's check has coded them, for ``learn``
    shared: SharedDraws | None = None  #: of parameters that cases share, once they are sampled
    #: how annotators answer: by the ``"plausibility"``; by what the program observes, each ``"alone"``, given the
    #: others (``"together"``), or as ``"counts"`` that have one probability for all orders; as their family says;
    #: ``""`` if that is not known
    answers: str = BY_PLAUSIBILITY
    splits: bool = True  #: whether the program takes an annotation that occurs n times for two of n / 2 times
    shapes: Any = None  #: what cases are padded to, decided from all of them
    quantities: int | None = None  #: plausibilities of all cases, which are judged together

    @property
    def says(self) -> Facts:
        """Facts about the model."""
        return self.family.says(self.model)

    @property
    def borrows(self) -> bool:
        """Whether cases learn from each other, through a Dirichlet prior that is learned."""
        return self.says.takes_prior and self.arguments.get("class_prior", "uniform") != "uniform"

    @property
    def likelihood(self) -> str:
        """Group of log likelihoods: whether each annotation has a probability that enters the posterior once."""
        once = self.model.count(self.arguments) == 1 and self.model.answers != BY_PLAUSIBILITY
        return LIKELIHOOD if once and self.arguments.get("unranked") != "ignore" else PSEUDO_LIKELIHOOD

    @property
    def has_draws(self) -> bool:
        """Whether the posterior is known only through its draws."""
        return self.engine in ("nuts", "gibbs")

    @property
    def program(self) -> Program:
        """Program of the model, with its options."""
        return Program(self.model.program, tuple(self.model.static(self.arguments).items()))

    def numbers(self, *names: str) -> dict[str, int]:
        """Select settings of the engine by name."""
        return {name: self.arguments[name] for name in names}

    def known_cases(self, annotations: Annotations) -> Bool[np.ndarray, " case"]:
        """Cases whose posterior has a closed form: they are drawn exactly, although the engine samples the others."""
        known = self.model.gibbs and self.automatic and not self.borrows
        known = known and self.model.choice_power(self.arguments) in (None, 1)
        return nested_cases(annotations) if known else np.zeros(annotations.n_cases, bool)

    def posterior(
        self,
        plausibility: Float[np.ndarray, "chain draw case class"],
        annotations: Annotations,
        slots: Slots,
        *,
        annotator: Int[np.ndarray, " annotation"],
        thinning: int,
        progress: bool,
        enough: int | None = None,
        **more: Any,
    ) -> Posterior:
        """Join draws of cases to those of what they share, and diagnose both.

        ``annotator`` numbers annotators as the shared draws do, ``thinning`` is of a Gibbs sampler, and a plausibility
        needs ``enough`` effective draws, see :func:`plausibly.posterior.diagnostics.convergence`.
        """
        shared, n_cases = self.shared, annotations.n_cases
        assert shared is not None
        draws = plausibility.reshape(*plausibility.shape[:2], -1)
        with Progress(progress) as bars:
            diagnosed = convergence(draws, slots, None, quantities=self.quantities, progress=bars, enough=enough)
        diagnosed["converged"] &= shared.converged(annotations.annotation_case, annotator, n_cases)
        diagnosed.attrs["shared"] = "shared parameters"
        diagnosed.attrs |= {"modes": shared.constants["modes"]} if shared.constants.get("modes") else {}
        described = self.describe() | {"thinning": thinning if self.engine == "gibbs" else 1}
        described["converged"] = f"{int(diagnosed['converged'].sum())} of {n_cases} cases"
        said = shared.constants.get("err_together")
        if said and np.nanquantile(shared.judged["r_hat"].values, 0.75) < APART:  # else by chain, others err together
            described["err_together"] = said
        if self.evidence is not None:
            described["evidence"] = json.dumps(self.evidence.describe() | {"method": self.engine})
        point, about = draws.mean((0, 1)), {"convergence": diagnosed, "attrs": described}
        posterior = build_posterior(draws, annotations, slots, point=point, concentration=0.0, **about, **more)
        release_memory()
        return from_groups(to_groups(posterior) | {"shared_convergence": shared.judged}, posterior.attrs)

    def describe(self) -> dict[str, Any]:
        """Attributes of the posterior."""
        model, arguments, says = self.model, self.arguments, self.says
        described: dict[str, Any] = {"model": model.name, "engine": self.engine, "seed": self.seed}
        left_out = {"concentration", "prior", "annotator_groups"}  # arrays, or in the text of all arguments below
        left_out |= {key for key, value in arguments.items() if value is None}
        described |= {key: value for key, value in arguments.items() if key not in left_out}
        described |= {"assumes": says.assumes} if says.assumes else {}
        if self.prior is not None or says.shares:
            described["prior_from"] = "cases" if self.learned or says.shares else "given"
        described |= {"arguments": json.dumps(arguments, sort_keys=True), "versions": versions_text()}
        count, power = annotation_count(model, arguments), model.choice_power(arguments)
        known = self.answers in (BY_PLAUSIBILITY, BY_CONFUSION)
        shares = says.assumes != ONE_TRUE_CLASS and (known or model.family is not None)
        kept = declaration(model, power, count, shares=shares) | {"defaults": model.arguments}
        kept |= {} if known else {"answers": self.answers}
        kept |= {} if says.takes_prior else {"takes_prior": False}
        return described | {"declaration": json.dumps(kept)}


def declaration(model: Model, choice_power: float | None, count: float = 1.0, *, shares: bool = True) -> dict[str, Any]:
    """Facts about a model for those who read a posterior without it; ``shares`` is whether its family has shares."""
    kept = {"replicate": model.replicate, "choice_power": choice_power, "reliability": model.reliability}
    kept |= {"shares": model.shares and shares and choice_power in (None, 1)}
    return kept | {"learns": model.learns and count > 0, "count": count, "citations": model.citations}


def annotation_count(model: Model, arguments: Mapping[str, Any]) -> float:
    """Number of labels that one more annotation adds to what a case is known from.

    It is the power to which an annotation's probability enters the posterior or, of exact Dirichlet posteriors, what a
    second equal label adds to the sum of the shapes: nothing where all annotations of a case together have a fixed
    weight.
    """
    if not model.learns:
        return 0.0
    if model.repeats is not None:
        return float(model.count(arguments))
    if model.exact is None or model.of_scores:
        return 1.0
    two = Annotations.from_labels([["a"], ["a", "a"]], classes=["a", "b"])
    slots = Slots.of(two)
    shapes = model.call("exact", Entries.of(two, slots), np.ones(len(slots)), **model.passed(arguments))
    once, twice = np.add.reduceat(shapes, slots.start[:-1])
    return round(float(twice - once), 9)
