"""The protocol of a family of models."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from jaxtyping import Int

from plausibly._arviz import Posterior
from plausibly.annotations import Annotations, Scores, Slots
from plausibly.model import Model

if TYPE_CHECKING:
    from plausibly.families._settled import Settled


@dataclass(frozen=True)
class Facts:
    """Facts about the models of a family that others ask for."""

    engines: tuple[str, ...]  #: names of the engines, the first of which is the usual one
    assumes: str = ""  #: what is assumed of each case, such as "one true class"; an attribute of posteriors
    shares: bool = False  #: whether cases share parameters, which are sampled from all of them
    named: bool = False  #: whether annotators must have names
    every_class: bool = False  #: whether every class of every case has a slot
    takes_prior: bool = True  #: whether plausibilities have a Dirichlet prior, which may be learned


class Family(Protocol):
    """Functions of a family; :class:`plausibly.TrueClass` is an example.

    ``settled`` has the model, its engine and all of its arguments.
    """

    def says(self, model: Model) -> Facts:
        """State the facts about a model of this family."""
        ...

    def check(self, observed: Annotations | Scores, settled: "Settled") -> None:
        """Refuse annotations that the model cannot learn from."""
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
        """Add the group ``log_likelihood``, computed now or when it is read, if the model has one."""
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
