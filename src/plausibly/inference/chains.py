"""The harness of Gibbs samplers: chains of sweeps, in this process, in others or on a cluster, and those on disk."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
from jaxtyping import Float

from plausibly.base.cluster import map_on
from plausibly.base.pools import in_processes, n_processes, small_products
from plausibly.base.progress import Progress
from plausibly.inference.moves import Moves

Chain = dict[str, Float[np.ndarray, " draw *shape"]]
_ALL = 2_000  # labels or ratings of which all chains advance together
_MANY = 5_000  # sweeps, about ten seconds: then chains are shared out over processes


@dataclass(frozen=True, eq=False)
class Sampler:
    """A Gibbs sampler, and how long its chains are.

    ``sweeps(random, chains, double)`` yields the states of so many chains after each sweep, without end; it makes all
    of their moves by ``random``, so that a test can compare these with the program. After ``double`` sweeps, if this is
    not None, there are copies of chains after them (:func:`doubled`). ``kept(state, number)`` returns, by site, the
    arrays (chain, …) of a draw; it may leave sites out of some draws.
    """

    sweeps: Callable[[Moves, int, int | None], Iterator[Any]]
    kept: Callable[[Any, int], Mapping[str, Any]]
    draws: int
    warmup: int  #: sweeps
    seed: int
    thinning: int = 1  #: sweeps for each draw
    #: how many chains advance together, by common random numbers; others have their own and may run anywhere
    abreast: int = 1
    #: whether, from the warm-up on, chains that are abreast are doubled. The two are the halves of a chain, one of them
    #: backwards: it grows at both ends, in little more than half the time, as a call of NumPy takes longer than what it
    #: computes.
    twice: bool = False

    @small_products()
    def run(self, numbers: Sequence[int], advance: Callable[[int], Any] = lambda steps: None) -> list[Chain]:
        """Draws (draw, …) by site of chains that advance together.

        ``advance`` is told of every draw and every warm-up sweep.
        """
        chains, halves = len(numbers), 2 if self.twice else 1
        random = Moves.of(self.seed, *numbers)
        states, random.learning = self.sweeps(random, chains, self.warmup if self.twice else None), True
        for _ in islice(states, self.warmup):
            advance(chains)
        random.learning = False
        found: dict[str, list] = {}
        for draw in range(0, self.draws, halves):
            *_, state = islice(states, self.thinning)
            for name, value in self.kept(state, draw).items():
                found.setdefault(name, []).append(value)
            advance(chains * min(halves, self.draws - draw))
        sites = {name: np.stack(values, 1) for name, values in found.items()}
        if self.twice:
            ends = {name: (of[:chains, ::-1], of[chains:]) for name, of in sites.items()}
            sites = {name: np.concatenate(of, axis=1)[:, : self.draws] for name, of in ends.items()}
        return [{name: values[at] for name, values in sites.items()} for at in range(chains)]

    def sample(
        self, chains: int, progress: Progress, *, doing: str, scheduler: Any = None, **kept: Any
    ) -> dict[str, Float[np.ndarray, "chain draw *shape"]]:
        """Draws by site of all chains, see :func:`sample_chains` for those that are ``kept``.

        Groups of chains that advance together are shared out over processes, of which this is one, or over a cluster,
        if there are many sweeps. They are sampled together even if only some of a group are missing.
        """
        ends = [*range(0, chains, self.abreast), chains]
        groups = [list(range(*part)) for part in pairwise(ends)]

        def sample(missing: Sequence[int]) -> Iterator[tuple[int, Chain]]:
            of_missing = [group for group in groups if not set(missing).isdisjoint(group)]
            for group, found in self._groups(of_missing, progress, doing, scheduler):
                yield from zip(group, found, strict=True)

        return sample_chains(sample, chains, **kept)

    def _groups(
        self, groups: Sequence[list[int]], progress: Progress, doing: str, scheduler: Any
    ) -> Iterator[tuple[list[int], list[Chain]]]:
        steps = [len(group) * (self.draws + self.warmup) for group in groups]
        advance = progress.task(doing, sum(steps), "draws and warm-up sweeps")
        if scheduler is not None:
            for at, found in map_on(scheduler, _one, groups, self):
                yield groups[at], found
                advance(steps[at])
            return
        many = len(groups) * (self.warmup + self.draws * self.thinning) > _MANY
        own, *rest = [list(part) for part in _parts(groups, n_processes(len(groups)) if many else 1)]
        with in_processes(_all, [(self, part) for part in rest]) as others:
            for group in own:
                yield group, self.run(group, advance)
            for part, found in zip(rest, others, strict=True):
                for group, chains in zip(part, found.result() or _all(self, part), strict=True):
                    yield group, chains
                    advance(len(group) * (self.draws + self.warmup))


def abreast(n: int, pairs: int = 0) -> int:
    """Return how many chains of so many labels or ratings advance together: two up to so many that ``pairs`` pay.

    Of few, a call of NumPy takes longer than what it computes; of many, processes share the chains.
    """
    return 1_000 if n <= _ALL else 2 if n <= pairs else 1


def doubled(state: Any) -> Any:
    """Return the state of chains, and that of copies of these after them."""
    if isinstance(state, tuple):
        return tuple(map(doubled, state))
    return {name: doubled(of) for name, of in state.items()} if isinstance(state, dict) else np.concatenate([state] * 2)


def _parts(groups: Sequence[list[int]], n: int) -> list[Sequence[list[int]]]:
    return [[groups[at] for at in part] for part in np.array_split(np.arange(len(groups)), n)]


def _one(numbers: list[int], sampler: Sampler) -> list[Chain]:
    return sampler.run(numbers)


def _all(sampler: Sampler, groups: Sequence[list[int]]) -> list[list[Chain]]:
    return [sampler.run(group) for group in groups]


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
        if number in made:  # sampled again for others that advance with it
            continue
        made[number] = chain
        if keeper is not None:
            keeper.keep_chain(number, chain, chains, dims or {})
    return {site: np.stack([made[number][site] for number in range(chains)]) for site in made[0]}
