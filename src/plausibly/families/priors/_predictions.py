"""Prior that knows what classifiers say of each case, or, without classifiers, how common classes are."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float

from plausibly.base.errors import AnnotationError
from plausibly.data.annotations import Annotations, Slots
from plausibly.families.priors._case_priors import CasePriors, with_likely
from plausibly.families.priors._program import case_prior
from plausibly.families.priors.evidence import Evidence, labels_of, mostly_single, prevalence
from plausibly.families.priors.fit import Fit, fit
from plausibly.inference import Regressions, class_shapes, slot_shapes

ENOUGH_CASES, ENOUGH_NUMBERS = 2000, 100_000  #: cases to learn from at most, or pairs of case and class if more
EVERY_CLASS = 32  #: number of classes up to which each class of every case has a slot
LIKELY = 0.01  #: expected plausibility from which an unnamed class gets a slot, where there are more classes
LIKELIEST = 8  #: number of such classes at most, besides the first choices of the classifiers
KAPPA = math.e  #: prior median of the concentration of a case, unless another is given
_BLOCK = 2**22  # numbers in memory at once


@dataclass(frozen=True, eq=False)
class PredictionsPrior:
    """Draws of what cases share, and the scores of the cases, which make a Dirichlet prior of each case."""

    classes: np.ndarray
    evidence: Evidence
    log_prevalence: Float[np.ndarray, " class"]
    fit: Fit
    spread: Literal["labels", "assumed", "unknown"] = "labels"  #: what says how far experts agree in a case
    kind: ClassVar = "predictions"  #: as the argument ``class_prior``

    def arguments(self) -> dict[str, Any]:
        """Arguments of an aggregation with this prior."""
        return {"class_prior": f"{self.kind} {self.digest()}"}

    @classmethod
    def learn(
        cls,
        annotations: Annotations,
        evidence: Evidence,
        *,
        draws: int,
        seed: int,
        kappa: float | None = None,
        exact: bool = True,
    ) -> "PredictionsPrior":
        """Learn from the labels of cases how scores predict plausibilities; cases without annotations say nothing.

        Where most cases have one label, labels say nothing of how far experts agree in a case: the concentration is
        that of its prior, whose median is ``kappa`` (by default e, about 2.7).

        Of very many cases, a random sample says enough of some twenty parameters: 2,000 cases, or those that have
        100,000 pairs of case and class if these are more. Unless ``exact``, NUTS never samples.

        Examples
        --------
        >>> annotations = Annotations.from_counts([[2, 0], [1, 1], [0, 2], [2, 0]] * 10)
        >>> scores = [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.7, 0.3]] * 10
        >>> prior = PredictionsPrior.learn(annotations, Evidence.of({"A": scores}, annotations), draws=100, seed=0)
        >>> shapes = prior.shapes(annotations, prior.lay_out(annotations).slots, range(100)).mean(0)
        >>> bool(shapes[0] > shapes[1] and shapes[4] < shapes[5])
        True
        """
        annotations = annotations.annotated
        logs = np.log(prevalence(labels_of(annotations), annotations.n_classes)).astype(np.float32)
        most = max(ENOUGH_CASES, ENOUGH_NUMBERS // annotations.n_classes)
        if annotations.n_cases > most:
            chosen = np.random.default_rng([int(seed), annotations.n_cases]).choice(annotations.n_cases, most, False)
            annotations = annotations.select(np.sort(chosen))
        spread = "labels" if not mostly_single(annotations) else "unknown" if kappa is None else "assumed"
        scores, log_kappa = evidence.of_cases(annotations.cases), math.log(KAPPA if kappa is None else kappa)
        given = scores, logs, labels_of(annotations), np.float32(log_kappa)
        shared = fit(case_prior, *given, draws=draws, seed=seed, exact=exact)
        return cls(annotations.classes, evidence, logs, shared, spread)

    @property
    def n_draws(self) -> int:
        """Number of draws of the shared parameters."""
        return len(self.fit.parameters["log_concentration"])

    def digest(self) -> str:
        """Hash of everything that a posterior depends on."""
        found = blake2b("\0".join(map(str, self.classes)).encode() + self.evidence.digest().encode(), digest_size=8)
        for values in (self.log_prevalence, *self.fit.parameters.values()):
            found.update(np.ascontiguousarray(values).tobytes())
        return found.hexdigest()

    def attributes(self) -> dict[str, Any]:
        """Attributes of the posterior: classifiers, how parameters were drawn, and the prior of unnamed classes."""
        parameters = {
            name: {"mean": values.mean(0).round(4).tolist(), "sd": values.std(0).round(4).tolist()}
            for name, values in self.fit.parameters.items()
        }
        found = self.evidence.describe() | {"method": self.fit.method, "parameters": parameters}
        found["effective_size"] = round(self.fit.effective_size)
        found["spread"] = self.spread
        rounded = [float(f"{value:.4g}") for value in self._shape]
        kind = "evidence" if self.evidence.classifiers else "learned_prior"
        return {kind: json.dumps(found), "class_prior_shape": json.dumps(rounded)}

    @property
    def mean_shape(self) -> float:
        """Mean prior shape of a class."""
        return float(self._shape.mean())

    @property
    def expected(self) -> Float[np.ndarray, " class"]:
        """Expected plausibilities of a case of which nothing is known but that it is one of these."""
        return self._shape / self._shape.sum()

    def expected_in(self, annotations: Annotations) -> Float[np.ndarray, "case class"]:
        """Expected plausibilities of cases without their annotations."""
        every = Slots.of_every_class(annotations.n_cases, annotations.n_classes)
        numbers = np.linspace(0, self.n_draws - 1, 20).astype(int)
        shape = self.shapes(annotations, every, numbers).reshape(len(numbers), annotations.n_cases, -1)
        return (shape / shape.sum(-1, keepdims=True)).mean(0)

    @cached_property
    def _shape(self) -> Float[np.ndarray, " class"]:
        cases = self.evidence.cases[:2000]
        return class_shapes(self._parameters([0]), self.evidence.of_cases(cases), self.log_prevalence).mean((0, 2))

    def lay_out(self, annotations: Annotations) -> CasePriors:
        """Lay out the slots of cases, with the shapes given the first draw of the shared parameters."""
        if not np.array_equal(np.asarray(annotations.classes, str), np.asarray(self.classes, str)):
            raise AnnotationError(
                f"the prior has {len(self.classes)} classes, which are not the {annotations.n_classes} of the "
                "annotations: learn it from annotations of the same classes, in the same order."
            )
        core = Slots.of(annotations)
        if annotations.n_classes <= EVERY_CLASS:
            slots = Slots.of_every_class(annotations.n_cases, annotations.n_classes)
        else:
            slots = self._likely_slots(annotations, core)
        return self.given(CasePriors(slots, core, np.zeros(0), np.zeros(0)), annotations, 0)

    def given(self, priors: CasePriors, annotations: Annotations, number: int) -> CasePriors:
        """Return the same layout with the shapes given another draw of the shared parameters."""
        shape, core_shape = (self.shapes(annotations, slots, [number])[0] for slots in (priors.slots, priors.core))
        return replace(priors, shape=shape.astype(np.float64), core_shape=core_shape.astype(np.float64))

    def shapes(self, annotations: Annotations, slots: Slots, numbers: Sequence[int]) -> Float[np.ndarray, "draw slot"]:
        """Prior shapes of the slots of cases, given some of the draws of the shared parameters."""
        scores = self.evidence.of_cases(annotations.cases)
        return slot_shapes(self._parameters(numbers), scores, self.log_prevalence, slots).T

    def closed_form(
        self, cases: np.ndarray, slots: Slots, counts: Float[np.ndarray, " slot"], seed: int, **numbers: Any
    ) -> Regressions:
        """Posterior of cases given label counts."""
        log_scores = np.moveaxis(self.evidence.of_cases(cases), 2, 1)
        given = self.fit.parameters, log_scores, self.log_prevalence, counts.astype(np.float32)
        return Regressions(slots, cases, seed, *given, **numbers)

    def _parameters(self, numbers: Sequence[int]) -> dict[str, np.ndarray]:
        return {name: values[np.asarray(numbers)] for name, values in self.fit.parameters.items()}

    def _likely_slots(self, annotations: Annotations, core: Slots) -> Slots:
        """Slots for named classes, the first choices of classifiers, other likely classes, and the remainder."""
        log_scores, k = self.evidence.of_cases(annotations.cases), annotations.n_classes
        middle = self._parameters(np.linspace(0, self.n_draws - 1, 8).astype(int))
        likely = []
        size = max(1, _BLOCK // (8 * k))
        for first in range(0, annotations.n_cases, size):
            part = log_scores[:, first : first + size]
            shape = class_shapes(middle, part, self.log_prevalence).mean(2)
            share = shape / shape.sum(1, keepdims=True)
            chosen = np.argsort(-share, axis=1, kind="stable")[:, :LIKELIEST]
            wanted = np.zeros(share.shape, bool)
            np.put_along_axis(wanted, chosen, np.take_along_axis(share, chosen, 1) >= LIKELY, axis=1)
            for of_one in part:
                wanted[np.arange(len(of_one)), of_one.argmax(1)] = True
            inside = slice(int(core.start[first]), int(core.start[min(first + size, annotations.n_cases)]))
            named = inside.start + np.flatnonzero(~core.is_remainder[inside])
            wanted[core.case[named] - first, core.class_index[named]] = False
            at, column = np.nonzero(wanted)
            likely.append(np.stack([at + first, column]))
        return with_likely(core, np.concatenate(likely, axis=1), k)
