"""Layout of cases under a prior that is learned: slots and Dirichlet shapes."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from jaxtyping import Bool, Float, Int

from plausibly.data.annotations import REMAINDER, Annotations, Slots


@dataclass(frozen=True)
class CasePriors:
    """Slots and prior shapes of some cases."""

    slots: Slots  #: named classes, likely ones, and the remainder
    core: Slots  #: named classes and the remainder of all others, over which engines sample
    shape: Float[np.ndarray, " slot"]  #: prior shapes over ``slots``
    core_shape: Float[np.ndarray, " core"]  #: the same over ``core``

    def select(self, which: Bool[np.ndarray, " case"]) -> "CasePriors":
        """Return the priors of some cases."""
        of_slot, of_core = which[self.slots.case], which[self.core.case]
        return CasePriors(
            self.slots.select(which),
            self.core.select(which),
            self.shape[of_slot],
            self.core_shape[of_core],
        )

    def core_of(self) -> Int[np.ndarray, " slot"]:
        """Slot of ``core`` that each of ``slots`` belongs to."""
        named = self._is_named()
        out = np.empty(len(self.slots), np.int64)
        out[named] = np.flatnonzero(~self.core.is_remainder)
        out[~named] = self.core.start[1:][self.slots.case[~named]] - 1
        return out

    def on_slots(self, counts: Float[np.ndarray, " core"]) -> Float[np.ndarray, " slot"]:
        """Expand label counts of the core slots to all slots; counts of a remainder are 0."""
        return np.where(self._is_named(), counts[self.core_of()], 0)

    def _is_named(self) -> np.ndarray:
        width = int(self.slots.class_index.max(initial=0)) + 2
        keys, core = (slots.case.astype(np.int64) * width + slots.class_index for slots in (self.slots, self.core))
        return ~self.slots.is_remainder & np.isin(keys, core[~self.core.is_remainder])


class ClassPrior(Protocol):
    """Prior over classes that is known or learned: Dirichlet shapes of cases, given draws of what cases share."""

    kind: ClassVar[str]  #: as the argument ``class_prior``
    evidence: Any  #: what classifiers say of the cases, None if nothing

    @property
    def n_draws(self) -> int:
        """Number of draws of the shared parameters."""
        ...

    @property
    def mean_shape(self) -> float:
        """Mean prior shape of a class."""
        ...

    @property
    def expected(self) -> Float[np.ndarray, " class"]:
        """Expected plausibilities of a case of which nothing is known."""
        ...

    def lay_out(self, annotations: Annotations) -> CasePriors:
        """Lay out the slots of cases, with shapes given the first draw."""
        ...

    def given(self, priors: CasePriors, annotations: Annotations, number: int) -> CasePriors:
        """Return the same layout with the shapes given a draw of the shared parameters."""
        ...

    def closed_form(
        self, cases: np.ndarray, slots: Slots, counts: Float[np.ndarray, " slot"], seed: int, **numbers: Any
    ) -> Any:
        """Posterior (``plausibly.inference.Form``) of cases given label counts.

        ``numbers=`` are those of the draws of the shared parameters, of which every draw has another.
        """
        ...

    def arguments(self) -> dict[str, Any]:
        """Arguments of an aggregation with this prior."""
        ...

    def digest(self) -> str:
        """Hash of everything that a posterior depends on."""
        ...

    def attributes(self) -> dict[str, Any]:
        """Attributes of the posterior."""
        ...


def with_likely(core: Slots, likely: Int[np.ndarray, "2 likely"], n_classes: int) -> Slots:
    """Give likely classes slots of their own."""
    last = core.start[1:] - 1
    left = np.where(core.is_remainder[last], core.n_classes[last], 0)
    left = left - np.bincount(likely[0], minlength=len(left))
    named = ~core.is_remainder
    rest = np.flatnonzero(left)
    case = np.concatenate([core.case[named], likely[0], rest])
    class_index = np.concatenate([core.class_index[named], likely[1], np.full(len(rest), REMAINDER)])
    size = np.concatenate([core.n_classes[named], np.ones(likely.shape[1], np.int32), left[rest]])
    order = np.lexsort((np.where(class_index == REMAINDER, n_classes, class_index), case))
    case = case[order].astype(np.int32)
    return Slots(
        case=case,
        class_index=class_index[order].astype(np.int32),
        n_classes=size[order].astype(np.int32),
        start=np.searchsorted(case, np.arange(len(left) + 1)).astype(np.int64),
    )
