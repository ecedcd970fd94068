"""Closed forms of posteriors: the Dirichlet distributions of cases, of which draws are made when they are wanted.

The random numbers of a case follow from its name, so that its draws are the same whichever cases are drawn with it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Float, Int, UInt32

from plausibly.base.compute import compiler_options
from plausibly.base.pools import threads
from plausibly.base.programs import kept, kept_on_disk
from plausibly.base.random_streams import Stream, case_keys, generator, stream_words
from plausibly.data.annotations import Slots
from plausibly.data.regression import prior_shapes
from plausibly.inference.draws import log_gammas
from plausibly.inference.exact._dirichlet import dirichlet

_BLOCK = 2**22  # numbers in memory at once
_LEAST = 1e-9
_CASES = 100  # that a thread draws one after the other


@dataclass(frozen=True, eq=False)
class Form(ABC):
    """Closed form of the posterior of some cases."""

    slots: Slots
    names: np.ndarray  #: of the cases
    seed: int
    #: dimensions, in files, of the fields by name; the cases or slots of a shard are last
    dims: ClassVar[Mapping[str, tuple[str, ...]]]

    def draw(self, chains: int, draws: int, cases: slice | None = None) -> Float[np.ndarray, "chain draw slot"]:
        """Draws of the plausibilities of neighbouring cases, by default of all."""
        cases = slice(0, len(self.names)) if cases is None else cases
        own = slice(int(self.slots.start[cases.start]), int(self.slots.start[cases.stop]))
        return self._draw(chains, draws, self.slots.range(cases), cases, own)

    @abstractmethod
    def _draw(
        self, chains: int, draws: int, slots: Slots, cases: slice, own: slice
    ) -> Float[np.ndarray, "chain draw slot"]:
        """Draws of cases, whose slots are ``own`` of all."""


@dataclass(frozen=True, eq=False)
class Dirichlets(Form):
    """A Dirichlet distribution of each case."""

    shape: Float[np.ndarray, " slot"]
    dims: ClassVar = {"shape": ("slot",)}

    def _draw(self, chains, draws, slots, cases, own):
        keys = case_keys(self.seed, self.names[cases])
        return dirichlet(self.shape[own], slots, keys, chains=chains, draws=draws)


@dataclass(frozen=True, eq=False)
class Regressions(Form):
    """A Dirichlet distribution of each case in every draw: a regression on scores of classifiers, plus labels.

    ``parameters`` are draws of those of the regression (``plausibly.data.regression``), which draws of plausibilities
    take in turn; ``counts`` are numbers of labels.
    """

    parameters: Mapping[str, np.ndarray]
    log_scores: Float[np.ndarray, "classifier class case"]
    log_prevalence: Float[np.ndarray, " class"]
    counts: Float[np.ndarray, " slot"]
    numbers: Int[np.ndarray, " draw"] | None = None  #: of the parameters of each draw, if they do not take turns
    dims: ClassVar = {
        "log_scores": ("classifier", "class_id", "case"),
        "log_prevalence": ("class_id",),
        "counts": ("slot",),
    }

    def _draw(self, chains, draws, slots, cases, own):
        turns = np.arange(chains * draws) % len(self.parameters["log_concentration"])
        numbers = turns if self.numbers is None else self.numbers
        parameters = {name: values[numbers] for name, values in self.parameters.items()}
        log_scores = np.moveaxis(self.log_scores[..., cases], 2, 1)
        shape = slot_shapes(parameters, log_scores, self.log_prevalence, slots, len(self.names))
        shape += self.counts[own][:, None]
        words = stream_words(case_keys(self.seed, self.names[cases]))[Stream.PRIOR]
        draw_in_place(shape, slots, words)
        return shape.reshape(-1, chains, draws).transpose(1, 2, 0)


def slot_shapes(
    parameters: Mapping[str, np.ndarray],
    log_scores: Float[np.ndarray, "classifier case class"],
    log_prevalence: Float[np.ndarray, " class"],
    slots: Slots,
    of_cases: int | None = None,
) -> Float[np.ndarray, "slot draw"]:
    """Dirichlet shapes of the slots of cases, given draws of the parameters; a remainder has those of its classes.

    Where the cases are some of more, the number ``of_cases`` keeps the last digits from depending on which they are.
    """
    n_cases, n_draws = log_scores.shape[1], len(parameters["log_concentration"])
    out = np.empty((len(slots), n_draws), np.float32)
    size = min(max(1, _BLOCK // (len(log_prevalence) * n_draws)), 2 * (of_cases or n_cases) - 1)
    size = 1 << size.bit_length() - 1  # few sizes are compiled
    for first in range(0, n_cases, size):
        part = slice(first, min(first + size, n_cases))
        own = slice(int(slots.start[part.start]), int(slots.start[part.stop]))
        rows = np.minimum(np.arange(first, first + size), part.stop - 1) if part.stop - first < size else part
        dense = class_shapes(parameters, log_scores[:, rows], log_prevalence)[: part.stop - first]
        case, class_index, rest = slots.case[own] - first, slots.class_index[own], slots.is_remainder[own]
        if np.array_equal(class_index, np.tile(np.arange(dense.shape[1]), len(dense))):
            out[own] = dense.reshape(-1, n_draws)
            continue
        found = dense[case, np.maximum(class_index, 0)]
        if rest.any():
            found[rest] = 0
            start = slots.start[part.start : part.stop] - own.start
            left = dense.sum(1) - np.add.reduceat(found, start, axis=0)
            found[rest] = np.maximum(left[case[rest]], 1e-6)
        out[own] = found
    return out


def class_shapes(
    parameters: Mapping[str, np.ndarray],
    log_scores: Float[np.ndarray, "classifier case class"],
    log_prevalence: Float[np.ndarray, " class"],
) -> Float[np.ndarray, "case class draw"]:
    """Dirichlet shapes of all classes of cases, given draws of the parameters."""
    with kept_on_disk():
        return np.asarray(_compiled()(dict(parameters), log_scores, log_prevalence))


@cache
def _compiled() -> Any:
    """The shapes of every draw, compiled for a little while."""
    every_draw = jax.vmap(prior_shapes, in_axes=(0, None, None), out_axes=-1)
    return kept(jax.jit(every_draw, compiler_options=compiler_options()))


def draw_in_place(shape: Float[np.ndarray, "slot draw"], slots: Slots, words: UInt32[np.ndarray, "case 2"]) -> None:
    """Replace shapes by draws, case by case: as there is one shape for each draw, JAX would take ten times as long."""

    def draw(cases: range) -> None:
        for case in cases:
            own = slice(*slots.start[case : case + 2])
            shape[own] = dirichlet_rows(generator(words[case]), shape[own].T).T

    with threads() as pool:
        n = len(words)
        list(pool.map(draw, (range(first, min(first + _CASES, n)) for first in range(0, n, _CASES))))


def dirichlet_rows(
    random: np.random.Generator, shape: Float[np.ndarray, "draw slot"]
) -> Float[np.ndarray, "draw slot"]:
    """One draw for each row of shapes; by logarithms, where small shapes are not lost."""
    shape = np.maximum(shape, _LEAST, order="C")
    values = log_gammas(shape, random).T.copy()  # NumPy is slow along rows as short as these
    values -= values.max(0)
    np.exp(values, out=values)
    values /= values.sum(0)
    return values.T


KINDS: dict[str, type[Form]] = {"dirichlet": Dirichlets, "regression": Regressions}
_VERSION = 1  # another one where draws from a form become others, but for rounding


def drawn_by() -> str:
    """What draws from a form depend on besides it, to be compared: our version, and NumPy's gamma variables."""
    of_numpy = dirichlet_rows(generator(np.array([1, 2], np.uint32)), np.array([[0.1, 1.0, 2.5, 30.0]] * 4))
    return f"{_VERSION} {' '.join(f'{value:.2g}' for value in of_numpy.ravel())}"
