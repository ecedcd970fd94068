"""What annotators do after their first choice, as all cases share it: parameters of the staged Plackett-Luce model."""

import base64
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float, Int
from scipy.sparse import csr_array
from scipy.special import digamma

from plausibly.annotations import Annotations
from plausibly.errors import AnnotationError, ArgumentError

LARGEST_BLOCK = 8  #: classes that may be tied in a block, since its orders are summed over its subsets
LEAST = 1e-30
LEAST_MASS = 1e-3  #: below which less mass changes no length


class Stages(NamedTuple):
    r"""What annotators have in common beyond the plausibilities of a case; every part can be switched off."""

    ratio: Float[ArrayLike, ""] = 1.0  #: reliability of later draws as a share of the first's, 1 to switch it off
    dependence: Float[ArrayLike, ""] = 0.0  #: share w of later draws that follow from the first block, 0 for none
    focus: Float[ArrayLike, ""] = 0.0  #: power of plausibilities in what follows the first block, 0 to switch it off
    sharpness: Float[ArrayLike, ""] = 1.0  #: power of the dictionary there, 1 to take its shares as they are
    discount: Float[ArrayLike, ""] = 0.0  #: power of the shares of the population that is divided out, 0 for none
    careless: Float[ArrayLike, ""] = 0.0  #: probability that a first draw is from the population alone, 0 for none
    careless_later: Float[ArrayLike, ""] = 0.0  #: the same of later draws
    #: log odds that a list ends: after one, two, and more classes, and the slopes on the log of the mass that is left
    #: and on that of the doubt, which is the mass beyond the most plausible class
    stop: Sequence[float] | None = None  #: None to take lengths as given
    #: log odds that a block is tied: the first, after one class, after more, and the slope on the log of the doubt
    tie: Sequence[float] | None = None  #: None to take sizes of blocks as given


@lru_cache(maxsize=64)
def subsets(size: int) -> tuple[tuple[int, ...], ...]:
    """List all subsets of the members of a tied block, smaller ones first."""
    members = range(size)
    return tuple(subset for length in range(size + 1) for subset in combinations(members, length))


@dataclass(frozen=True)
class SharedStages:
    """Stages with the dictionary of what follows what."""

    stages: Stages
    reliability: float  #: of first choices, given or inferred
    head: Int[np.ndarray, " pair"]  #: class of the first block, ascending
    later: Int[np.ndarray, " pair"]  #: class that is named after it
    count: Float[np.ndarray, " pair"]
    base: Float[np.ndarray, " class"]  #: how often each class is named later, as shares
    strength: float  #: number of namings that the base is worth in the dictionary
    own: bool = True  #: whether the cases that are looked at are among those that were counted

    @classmethod
    def count_namings(cls, annotations: Annotations, stages: Stages, reliability: float) -> "SharedStages":
        """Count what is named after what; the strength maximises the probability of these counts."""
        k = annotations.n_classes
        _, one, other, weight = _pairs(annotations)
        if not len(one):
            return cls(stages, reliability, one, other, weight, np.full(k, 1 / k), 1.0)
        pair, inverse = np.unique(one * np.int64(k) + other, return_inverse=True)
        count = np.bincount(inverse, weight)
        head, later = np.divmod(pair, k)
        base = np.bincount(later, count, k) + 0.5
        base /= base.sum()
        return cls(stages, reliability, head, later, count, base, _strength(head, count, base[later]))

    def follows(self, one: int) -> Float[np.ndarray, " class"]:
        """Shares of what follows a class."""
        own = slice(*np.searchsorted(self.head, [one, one + 1]))
        row = self.strength * self.base
        np.add.at(row, self.later[own], self.count[own])
        return row / row.sum()

    def after(self, annotations: Annotations) -> tuple[csr_array, Float[np.ndarray, " annotation"]]:
        """Shares of classes in what follows first blocks, averaged over the classes of each, zero if nothing does.

        The share of class k is entry k of the first result, (annotation, class), and the second result times the base.
        Without what the case itself has added to the counts, if it is among those that were counted: its annotators
        agree with each other because they have seen the same case, which is what plausibilities are for.
        """
        k, of = annotations.n_classes, annotations.entry_annotation
        several = np.bincount(of, annotations.entry_block > 0, annotations.n_annotations) > 0
        first = np.flatnonzero((annotations.entry_block == 0) & several[of])
        head = annotations.entry_class[first]
        rows = csr_array((self.count, (self.head, self.later)), shape=(k, k))[head]
        if self.own:
            case, one, other, weight = _pairs(annotations)
            key = np.concatenate([annotations.entry_case[first] * np.int64(k) + head, case * np.int64(k) + one])
            known, inverse = np.unique(key, return_inverse=True)
            own = csr_array((weight, (inverse[len(first) :], other)), shape=(len(known), k))
            rows = csr_array(rows - own[inverse[: len(first)]])
            rows.data = np.maximum(rows.data, 0)
        times = 1 / ((self.strength + rows.sum(1)) * first_sizes(annotations)[of[first]])
        mean = csr_array((times, (of[first], np.arange(len(first)))), shape=(annotations.n_annotations, len(first)))
        return mean @ rows, np.bincount(of[first], self.strength * times, annotations.n_annotations)

    def without(self, annotations: Annotations, case: int) -> "SharedStages":
        """Take the counts of a case out, if it is among those that were counted."""
        if not self.own:
            return self
        k = annotations.n_classes
        _, one, other, weight = _pairs(annotations.select(np.array([case])))
        at = np.searchsorted(self.head * np.int64(k) + self.later, one * np.int64(k) + other)
        return replace(self, count=np.maximum(self.count - np.bincount(at, weight, len(self.count)), 0))

    def text(self) -> str:
        """Write everything as text, for the attributes of a posterior."""
        file = io.BytesIO()
        single = np.array([*self.stages[:-2], self.reliability, float(self.own)])
        stop, tie = ([] if odds is None else odds for odds in self.stages[-2:])
        columns = {
            "single": single,
            "stop": stop,
            "tie": tie,
            "strength": self.strength,
            "base": self.base.astype(np.float32),
        }
        pairs = {"head": self.head.astype(np.int32), "later": self.later.astype(np.int32), "count": self.count}
        np.savez_compressed(file, **columns, **pairs)
        return base64.b64encode(file.getvalue()).decode()

    @classmethod
    def read(cls, text: str) -> "SharedStages":
        """Read what :meth:`text` wrote."""
        found = np.load(io.BytesIO(base64.b64decode(text)))
        stop, tie = (tuple(found[name].tolist()) or None for name in ("stop", "tie"))
        *single, reliability, own = found["single"].tolist()
        if len(single) != len(Stages._fields) - 2:
            raise ArgumentError("another version of staged-plackett-luce wrote this posterior: aggregate again.")
        base = found["base"].astype(float)
        pairs = (found["head"], found["later"], found["count"])
        return cls(Stages(*single, stop, tie), reliability, *pairs, base, float(found["strength"]), bool(own))

    def describe(self) -> str:
        """Return the single numbers as JSON."""
        single = self.stages._asdict() | {"reliability": self.reliability, "dictionary_strength": self.strength}
        return json.dumps(single)


def check_blocks(annotations: Annotations) -> None:
    """Refuse tied blocks that are too large for a sum over subsets."""
    worst = int(annotations.block_sizes.argmax())
    if annotations.block_sizes[worst] > LARGEST_BLOCK:
        case = annotations.cases[annotations.annotation_case[annotations.block_annotation[worst]]]
        raise AnnotationError(
            f"staged Plackett-Luce is for blocks of up to {LARGEST_BLOCK} tied classes, but case {str(case)!r} has "
            f"one of {annotations.block_sizes[worst]}: use plackett-luce, or break ties."
        )


def first_sizes(annotations: Annotations) -> Int[np.ndarray, " annotation"]:
    """Number of classes in the first block of each annotation."""
    return np.bincount(annotations.entry_annotation[annotations.entry_block == 0], minlength=annotations.n_annotations)


def _pairs(annotations: Annotations):
    """Cases, classes in a first block, classes named later, and weights: each first block as a whole counts once."""
    entry = np.flatnonzero(annotations.entry_block > 0)
    of = annotations.entry_annotation[entry]
    times = first_sizes(annotations)[of]
    place = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    one = annotations.entry_class[np.repeat(annotations.annotation_start[:-1][of], times) + place]
    case, later = annotations.entry_case[entry].astype(np.int64), annotations.entry_class[entry]
    return np.repeat(case, times), one.astype(np.int64), np.repeat(later, times), 1 / np.repeat(times, times)


def _strength(head, count, base) -> float:
    """Strength of the base by marginal likelihood, a fixed-point iteration (Minka 2000)."""
    total = np.bincount(head, count)
    total, strength = total[total > 0], 10.0
    for _ in range(50):
        a = strength * base
        gain = (a * (digamma(a + count) - digamma(a))).sum()
        strength *= gain / (strength * (digamma(strength + total) - digamma(strength))).sum()
        strength = float(np.clip(strength, 0.1, 1e4))
    return strength
