"""Closed forms of posteriors: the Dirichlet distributions of cases, of which draws are made when they are wanted.

The random numbers of a case follow from its name, so that its draws are the same whichever cases are drawn with it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt32

from plausibly.base.compute import compiler_options
from plausibly.base.pools import threads
from plausibly.base.programs import kept, kept_on_disk
from plausibly.base.random_streams import Stream, case_keys, key_words, random_bits
from plausibly.data.annotations import Slots
from plausibly.data.regression import prior_shapes
from plausibly.inference.exact._dirichlet import dirichlet
from plausibly.inference.gibbs._random import factored_gammas, midpoints

_BLOCK = 2**19  # numbers in memory at once
_LEAST = 1e-9
_NUMBERS = 2**18  # gamma variables that a program proposes
_TOGETHER = 2**13  # of those that it rejects, at a time
_FEW = 2**15  # up to which all are proposed as rejected ones are


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
        words = key_words(self.seed, self.names[cases], Stream.PRIOR)
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
    """The shapes of every draw."""
    every_draw = jax.vmap(prior_shapes, in_axes=(0, None, None), out_axes=-1)
    return kept(jax.jit(every_draw, compiler_options=compiler_options(repeated=True)))


def draw_in_place(shape: Float[np.ndarray, "slot draw"], slots: Slots, words: UInt32[np.ndarray, "case 2"]) -> None:
    """Replace shapes by draws, whose random numbers follow from a case's key, the draw and the place of a slot.

    Gamma variables are normalised as logarithms, where small ones are not lost. Some cases at a time, since arrays that
    a core's cache holds take half the time.
    """
    n_slots, n_draws = shape.shape
    rows, draw = max(1, _NUMBERS // n_draws), np.arange(n_draws, dtype=np.uint32)
    place = (np.arange(n_slots) - slots.start[slots.case]).astype(np.uint32)
    of_slot = words[slots.case]

    def log_gammas(own: slice) -> Float[np.ndarray, "slot draw"]:
        given, keys, number = shape[own], of_slot[own], place[own]
        logs, attempt = np.full(given.shape, np.inf, np.float32), 0
        if given.size > _FEW:
            at = np.minimum(np.arange(rows), len(given) - 1)  # repeated to the size of the program
            logs = np.array(_proposed()(given[at], keys[at][:, None], draw, number[at][:, None]))[: len(given)]
            attempt = 1
        missing = np.flatnonzero(logs == np.inf)
        while len(missing):
            for first in range(0, len(missing), _TOGETHER):
                some = missing[first : first + _TOGETHER]
                row, column = np.divmod(np.resize(some, _TOGETHER), n_draws)
                again = given[row, column], keys[row], draw[column], number[row] + np.uint32(attempt << 24)
                logs.flat[some] = np.asarray(_proposed()(*again))[: len(some)]
            missing, attempt = missing[logs.flat[missing] == np.inf], attempt + 1
        return logs

    def normalise(cases: slice) -> None:
        own = slice(int(slots.start[cases.start]), int(slots.start[cases.stop]))
        for first in range(own.start, own.stop, rows):
            part = slice(first, min(first + rows, own.stop))
            shape[part] = log_gammas(part)
        start, case, values = slots.start[cases] - own.start, slots.case[own] - cases.start, shape[own]
        values -= np.maximum.reduceat(values, start)[case]
        np.exp(values, out=values)
        values /= np.add.reduceat(values, start)[case]

    ends = [0]
    while ends[-1] < len(words):
        most = np.searchsorted(slots.start, slots.start[ends[-1]] + rows, side="right") - 1
        ends.append(max(ends[-1] + 1, int(most)))
    with kept_on_disk(), threads() as pool:
        list(pool.map(normalise, map(slice, ends, ends[1:])))


@cache
def _proposed() -> Any:
    """Logarithms of proposed gamma variables, infinite where the proposal is rejected."""

    def proposed(
        shape: Float[Array, "*shape"],
        words: UInt32[Array, "*#shape 2"],
        draw: UInt32[Array, "*#shape"],
        number: UInt32[Array, "*#shape"],
    ) -> Float[Array, "*shape"]:
        bits = random_bits(words, draw, number)
        value, log_power, found = factored_gammas(jnp.maximum(shape, _LEAST), *midpoints(bits))
        return jnp.where(found | jnp.isnan(shape), jnp.log(value) + log_power, jnp.inf)

    return kept(jax.jit(proposed, compiler_options=compiler_options(repeated=True)))


KINDS: dict[str, type[Form]] = {"dirichlet": Dirichlets, "regression": Regressions}
DRAWN_BY = "2"  #: another one where draws from a form become others, but for rounding
