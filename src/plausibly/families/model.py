"""The declaration of an aggregation model: everything about it that the rest of the package needs to know.

A model is one file: a NumPyro program of one case and, below it, a :class:`Model` called ``model``. The registry,
argument checks, engines, point estimates, :func:`plausibly.compare_models`, :func:`plausibly.predictive_check`, sweeps,
the report's citations and the command line read its fields, so a copy of a built-in file behaves as the built-in.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from plausibly.base.errors import ArgumentError, PlausiblyError, raised

STUTZ = (
    "Stutz, Cemgil, Roy et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, "
    "Medical Image Analysis; arXiv 2307.02191."
)
CARON = (
    "Caron & Doucet (2012), Efficient Bayesian inference for generalized Bradley–Terry models, Journal of "
    "Computational and Graphical Statistics 21."
)


SETTINGS = {"draws": 250, "chains": 4, "warmup": 300}  #: of the engines that draw

#: options that decide on slots, their prior and cutpoints, not on the program
LAYOUT = ("unranked", "class_prior", "difficulty", "cutpoints", "raters")

#: options of models with a concentration, whose prior can be learned from labels and predictions of all cases
INFORMED = {"class_prior": ("uniform", "learned", "predictions")}


@dataclass(frozen=True, eq=False)
class Model:
    r"""Declaration of an aggregation model.

    Fields that are functions are called with the same keyword arguments as the program: ``reliability``, if the model
    has one, and its options. ``point_estimate`` is called with the options alone.

    A model knows one case at a time. Cases are computed in shards, some of them are left out to compare models, and any
    engine may take the place of another, so results are well defined only if

    * ``program`` describes one case, and ``exact``, ``evidence`` and ``point_estimate``, which are called for many
      cases at once, return for each what they would return for it alone;
    * ``exact`` adds the ``concentration`` of each slot to what the annotations are worth, also a concentration of 0:
      priors that are learned put their own in its place, and the share of the prior follows from it;
    * ``exact`` is the posterior of ``program``.

    :func:`plausibly.aggregate` checks this on a few cases when a model of your own is first used with its arguments;
    the program is compared with ``exact`` if its only latent site is the plausibility. A prior that all cases determine
    is not part of a model: it is ``class_prior="learned"`` or ``"predictions"``, which every model of rankings or
    labels with a ``concentration`` and draws of its own accepts. The exceptions are ``joint`` and models with a
    ``family``, whose programs describe all cases.

    Parameters
    ----------
    name
        Name in tables, figures and files.
    program
        NumPyro program for one case, called as ``program(case, **arguments)`` with a :class:`plausibly.case.Case`, or a
        :class:`plausibly.case.ScoredCase` if the model takes scores. It has a site "plausibility" of shape (slot,).
    takes
        Kind of annotations: partial ``"rankings"``, ``"labels"`` (rankings that name one class each), or ``"scores"``.
        Models of scores have two more arguments, ``threshold`` and ``prior``, or ``case_groups`` if they have a family.
    reliability
        Default reliability :math:`\gamma`; None for a model without one.
    concentration
        Default prior concentration :math:`\alpha` of each class, which the program receives as ``case.concentration``;
        None for a model without one. Under a prior that is learned, ``case.concentration`` differs between slots.
    options
        Allowed values of each further argument by name, the default first. ``unranked``, ``class_prior`` and
        ``difficulty`` are not passed to the program, because they determine the slots of a case and their prior.
    reliabilities
        Usual reliabilities, for sweeps that name none.
    deterministic
        Whether the model has a point estimate only and no draws.
    exact
        Exact posterior of each case, called for many at once. For rankings and labels, ``exact(entries, concentration,
        **arguments)``, with :class:`plausibly.case.Entries`, returns the concentrations of Dirichlet distributions,
        (slot,): the given concentration, plus what the annotations of the slot's case are worth. For scores,
        ``exact(sums, prior, **arguments)``, with :class:`plausibly.case.ScoreSums`, returns a
        :class:`plausibly.case.NormalInverseGamma`.
    zero_concentration
        Whether the exact posterior also exists at concentration 0, where unnamed classes have no mass.
    gibbs
        Whether the prior is Dirichlet and annotations have Plackett-Luce probabilities with weights :math:`\lambda^p`,
        where p is given by ``first_choice``. If p is None, the Gibbs sampler can be used if ``repeats`` is an integer,
        and cases whose annotators all chose from the same classes at every rank have an exact posterior.
    repeats
        ``repeats(**arguments)``: power to which the posterior raises the probability of each annotation. It lets
        :func:`plausibly.compare_models` leave annotations out by importance sampling; None to refit instead.
    evidence
        ``evidence(entries, **arguments)``: amount that annotations add to the prior concentration of each slot,
        (slot,), of each case by itself; it determines the share of the prior in a posterior. None for the amount that
        ``exact`` adds; without either, the share is unknown.
    first_choice
        ``first_choice(**arguments)``: power p with which annotators choose. The first choice is class k with
        probability :math:`\lambda_k^p / \sum_j \lambda_j^p`. None, or a function that returns None, for p = 1.
    replicate
        Part of an annotation that the model has a probability for and :func:`plausibly.predictive_check` replicates:
        whole ``"rankings"``, by draws without replacement, or first blocks only (``"first"``). A label is a whole
        ranking.
    point_estimate
        Plausibilities to which the posterior contracts as the reliability grows: ``point_estimate(entries, **options)``
        or, for scores, ``point_estimate(sums, threshold)``, of shape (slot,), of each case by itself. None for the mean
        of the draws.
    update
        One step of an iteration whose fixed point is the point estimate, such as maximum likelihood:
        ``update(plausibility, case)`` with the slots of one case. Used instead of ``point_estimate``.
    log_likelihood
        Whether draws have a log probability of every annotation: for rankings and labels, that of the program's
        observed sites; for scores, the normal density. For rankings and labels, the program may then have no latent
        site other than "plausibility" or "log_ratio".
    joint
        Program for all cases at once, with a prior on the reliability, for :func:`plausibly.infer_reliability`.
    family
        Family of models whose cases share more than a prior, an object with the functions of
        :class:`plausibly.families.Family`; None if cases are independent but for a prior that is learned. With a
        :class:`plausibly.TrueClass`, for labels, the program describes all cases, ``program(labels)`` with
        :class:`plausibly.case.LabelledCases`; its site "plausibility" has shape (case, class). Predictions may tell the
        true class if the model declares the option (``plausibly.families.true_class.OPTIONS``); its program then calls
        ``plausibly.models.dawid_skene.draw_prevalence``.
    instead
        Declarations that take the place of this one where an option has another value than its default, by option and
        value. The model that takes the place has the same name, and allows the option this value only.
    categories
        Whether a model of scores treats them as categories, that is, as intervals on a latent normal scale. A Gibbs
        sampler then draws the latent values. The option ``cutpoints`` sets the ends of the intervals.
    answers
        How annotators answer, for :func:`plausibly.compare_models` and :func:`plausibly.predictive_check`:
        ``"plausibility"`` if they choose classes by the plausibilities (or their powers, see ``first_choice``),
        whatever the program observes, as where it is a pseudo-likelihood. None for what the program says: the
        probability of a label is that of its observed sites.
    shares
        Whether a plausibility is the share of annotators like these who would name the class first. Reports say how
        annotators will answer only where it is. Never of a model of one true class, or where annotators choose by a
        power of the plausibilities.
    learns
        Whether further annotations of a case narrow its posterior. If not, no report or plan advises to ask for them.
    baseline
        Whether sweeps also evaluate classifiers against this model's labels, as evaluations usually do that ignore
        uncertainty.
    citations
        Sources to cite, as pairs (purpose, source).

    Examples
    --------
    >>> [model.name for model in pb.models.MODELS.values() if model.exact]
    ['dirichlet-categorical', 'normal-scores', 'prirn']
    >>> pb.models.MODELS["prirn"].arguments
    {'reliability': 30.0, 'concentration': 0.01, 'ties': 'split', 'class_prior': 'uniform'}
    """

    name: str
    program: Callable[..., None]
    takes: Literal["rankings", "labels", "scores"] = "rankings"
    reliability: float | None = None
    concentration: float | None = None
    options: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    reliabilities: tuple[float, ...] = ()
    deterministic: bool = False
    exact: Callable[..., Any] | None = None
    zero_concentration: bool = False
    gibbs: bool = False
    repeats: Callable[..., float] | None = None
    evidence: Callable[..., Any] | None = None
    first_choice: Callable[..., float | None] | None = None
    replicate: Literal["rankings", "first"] = "first"
    point_estimate: Callable[..., Any] | None = None
    update: Callable[..., Any] | None = None
    log_likelihood: bool = False
    joint: Callable[..., None] | None = None
    family: Any = None
    instead: Mapping[tuple[str, Any], "Model"] = field(default_factory=dict)
    categories: bool = False
    answers: Literal["plausibility"] | None = None
    shares: bool = True
    learns: bool = True
    baseline: bool = False
    citations: tuple[tuple[str, str], ...] = ()

    def __post_init__(self):
        if not (isinstance(self.name, str) and self.name):
            raise ArgumentError(f"the name of a Model must be a text, but {self.name!r} was given: call it 'my-model'.")
        if not callable(self.program):
            raise ArgumentError(f"the program of the Model {self.name} must be a function, but it is {self.program!r}.")
        if self.takes not in ("rankings", "labels", "scores"):
            raise ArgumentError(
                f"the Model {self.name} must take rankings, labels or scores, but takes={self.takes!r} was given."
            )
        if self.answers not in (None, "plausibility"):
            raise ArgumentError(
                f"answers of the Model {self.name} must be 'plausibility' or None, for what its program observes, but "
                f"{self.answers!r} was given."
            )
        if self.deterministic and self.point_estimate is None and self.update is None:
            raise ArgumentError(
                f"the Model {self.name} is deterministic, so it needs a point_estimate or an update: declare one."
            )
        alone = self.deterministic or self.of_scores or self.family is not None
        if self.concentration is not None and not alone and "class_prior" not in self.options:
            object.__setattr__(self, "options", {**self.options, **INFORMED})

    @property
    def built_in(self) -> bool:
        """Whether this is one of the package's own models."""
        module = getattr(self.program, "__module__", None) or ""
        declared = getattr(sys.modules.get(module), "model", None)
        known = isinstance(declared, Model) and (declared is self or self in declared.instead.values())
        return module.startswith("plausibly.models.") and known

    @property
    def of_scores(self) -> bool:
        """Whether the model takes scores."""
        return self.takes == "scores"

    @property
    def engines(self) -> tuple[str, ...]:
        """Names of the engines that the model can use."""
        if self.deterministic:
            return ("point",) if self.update is None else ("ml",)
        if self.family is not None:
            return self.family.says(self).engines
        if self.categories:
            return "gibbs", "nuts"
        return (*(("exact",) if self.exact else ()), "nuts", *(("gibbs",) if self.gibbs else ()))

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments by name, with their defaults."""
        found = {"reliability": self.reliability, "concentration": self.concentration}
        found = {name: value for name, value in found.items() if value is not None}
        found |= {name: values[0] for name, values in self.options.items()}
        of_scores = ("threshold", "prior" if self.family is None else "case_groups")
        return found | (dict.fromkeys(of_scores) if self.of_scores else {})

    def given(self, arguments: Mapping[str, Any]) -> "Model":
        """Return the declaration that takes the place of this one, given the values of options, or this one."""
        return next((other for (name, value), other in self.instead.items() if arguments.get(name) == value), self)

    def static(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Options that the program takes."""
        return {name: arguments[name] for name in self.options if name not in LAYOUT}

    def numeric(self, arguments: Mapping[str, Any]) -> dict[str, float]:
        """Numeric arguments that the program takes."""
        return {} if self.reliability is None else {"reliability": arguments["reliability"]}

    def passed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments that the program takes."""
        return self.numeric(arguments) | self.static(arguments)

    def call(self, name: str, *given: Any, **arguments: Any) -> Any:
        """Call a declared function; one of a user's that fails is named in a sentence."""
        function = getattr(self, name)
        try:
            return function(*given, **arguments)
        except (PlausiblyError, MemoryError):
            raise
        except Exception as error:
            if self.built_in:
                raise
            raise ArgumentError(f"{name}= of the model {self.name} {raised(function, error)}") from error

    def choice_power(self, arguments: Mapping[str, Any]) -> float | None:
        """Power of the plausibilities with which annotators choose; None for the plausibilities themselves."""
        return self.first_choice and self.first_choice(**self.passed(arguments))

    def count(self, arguments: Mapping[str, Any]) -> float:
        """How many times an annotation counts in the posterior."""
        if self.repeats is None:
            return arguments.get("reliability", 1.0)
        return self.repeats(**self.passed(arguments))
