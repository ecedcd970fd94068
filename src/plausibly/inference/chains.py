"""The harness of Gibbs samplers: chains of sweeps, in this process, in others or on a cluster, and those on disk."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from jaxtyping import Float

from plausibly.base.cluster import map_on
from plausibly.base.pools import in_processes, n_processes
from plausibly.base.progress import Progress
from plausibly.inference.moves import Moves

Chain = dict[str, Float[np.ndarray, " draw *shape"]]
_MANY = 5_000  # sweeps, about ten seconds: then chains are shared out over processes


@dataclass(frozen=True, eq=False)
class Sampler:
    """A Gibbs sampler, and how long its chains are.

    ``sweeps(random)`` yields the state of a chain after each sweep, without end; it makes all of its moves by
    ``random``, so that a test can compare these with the program. ``kept(state, number)`` returns arrays of a draw by
    site; a site need not be in every draw.
    """

    sweeps: Callable[[Moves], Iterator[Any]]
    kept: Callable[[Any, int], Mapping[str, Any]]
    draws: int
    warmup: int  #: sweeps
    seed: int
    thinning: int = 1  #: sweeps for each draw

    def chain(self, number: int, advance: Callable[[int], Any] = lambda steps: None) -> Chain:
        """Draws (draw, …) by site of one chain, which has random numbers of its own.

        ``advance`` is told of every draw and every warm-up sweep.
        """
        states = self.sweeps(Moves.of(self.seed, number))
        for _ in islice(states, self.warmup):
            advance(1)
        found: dict[str, list] = {}
        for draw in range(self.draws):
            *_, state = islice(states, self.thinning)
            for name, value in self.kept(state, draw).items():
                found.setdefault(name, []).append(value)
            advance(1)
        return {name: np.stack(values) for name, values in found.items()}

    def sample(
        self, chains: int, progress: Progress, *, doing: str, scheduler: Any = None, **kept: Any
    ) -> dict[str, Float[np.ndarray, "chain draw *shape"]]:
        """Draws by site of all chains, see :func:`sample_chains` for those that are ``kept``.

        Chains of many sweeps are shared out over processes, of which this is one, or over a cluster.
        """
        return sample_chains(lambda numbers: self._chains(numbers, progress, doing, scheduler), chains, **kept)

    def _chains(
        self, numbers: Sequence[int], progress: Progress, doing: str, scheduler: Any
    ) -> Iterator[tuple[int, Chain]]:
        steps = self.draws + self.warmup
        advance = progress.task(doing, len(numbers) * steps, "draws and warm-up sweeps")
        if scheduler is not None:
            for at, chain in map_on(scheduler, _one, numbers, self):
                yield numbers[at], chain
                advance(steps)
            return
        many = len(numbers) * (self.warmup + self.draws * self.thinning) > _MANY
        own, *rest = [part.tolist() for part in np.array_split(numbers, n_processes(len(numbers)) if many else 1)]
        with in_processes(_all, [(self, part) for part in rest]) as others:
            for number in own:
                yield number, self.chain(number, advance)
            for part, found in zip(rest, others, strict=True):
                for number, chain in zip(part, found.result() or _all(self, part), strict=True):
                    yield number, chain
                    advance(steps)


def _one(number: int, sampler: Sampler) -> Chain:
    return sampler.chain(number)


def _all(sampler: Sampler, numbers: Sequence[int]) -> list[Chain]:
    return [sampler.chain(number) for number in numbers]


def sample_chains(
    sample: Callable[[list[int]], Iterable[tuple[int, Chain]]],
    chains: int,
    *,
    keeper: Any = None,
    dims: Mapping[str, tuple[str, ...]] | None = None,
) -> dict[str, Float[np.ndarray, "chain draw *shape"]]:
    """Draws by site of all chains; those that the ``keeper`` has are not sampled again, and others are given to it.

    ``sample(numbers)`` yields the numbers and draws of chains; ``dims`` are the dimensions of sites after the draws.
    """
    made: dict[int, Chain] = {} if keeper is None else keeper.kept_chains()
    missing = [number for number in range(chains) if number not in made]
    for number, chain in sample(missing) if missing else ():
        made[number] = chain
        if keeper is not None:
            keeper.keep_chain(number, chain, chains, dims or {})
    return {site: np.stack([made[number][site] for number in range(chains)]) for site in made[0]}
