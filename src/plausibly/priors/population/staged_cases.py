"""All annotations of some cases as the staged likelihood sees them, evaluated together at many plausibilities."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array
from scipy.special import gammaln, logsumexp

from plausibly.annotations import Annotations, Slots
from plausibly.inference.draws import log_gammas
from plausibly.priors._case_priors import CasePriors
from plausibly.priors.population._population import Population
from plausibly.priors.population.shared_stages import LEAST, LEAST_MASS, SharedStages, Stages, subsets

LATER = 0.5  #: of a label that a later naming is worth in proposals

_NUMBERS = 4_000_000  # of a kind at a time


@dataclass(frozen=True)
class Following:
    """Shares in what follows first blocks, by the dictionary, see :meth:`SharedStages.after`."""

    named: Float[np.ndarray, " entry"]  #: of each named class, where its annotation has several blocks
    annotation: Int[np.ndarray, " longer"]  #: annotations of several blocks
    start: Int[np.ndarray, " longer+1"]  #: bounds of their slots
    slot: Int[np.ndarray, " pair"]  #: all slots of the case of each
    share: Float[np.ndarray, " pair"]  #: of these, 0 for remainders
    more: csr_array  #: of every class, (longer, class), above ``of_base`` times the base
    of_base: Float[np.ndarray, " longer"]
    base: Float[np.ndarray, " class"]

    @classmethod
    def of(cls, annotations: Annotations, slots: Slots, shared: SharedStages) -> "Following":
        """Look up what follows the first blocks of annotations."""
        more, of_base = shared.after(annotations)

        def look_up(annotation: np.ndarray, class_index: np.ndarray) -> np.ndarray:
            return of_base[annotation] * shared.base[class_index] + more[annotation, class_index]

        longer = np.flatnonzero(of_base)
        case = annotations.annotation_case[longer]
        n = np.diff(slots.start)[case]
        start = np.concatenate([[0], np.cumsum(n)])
        slot = np.arange(start[-1]) + np.repeat(slots.start[:-1][case] - start[:-1], n)
        known = np.flatnonzero(~slots.is_remainder[slot])
        share = np.zeros(len(slot))
        share[known] = look_up(np.repeat(longer, n)[known], slots.class_index[slot[known]])
        named = look_up(annotations.entry_annotation, annotations.entry_class)
        return cls(named, longer, start, slot, share, more[longer], of_base[longer], shared.base)

    def total(self, weight: Float[np.ndarray, " class"]) -> Float[np.ndarray, " longer"]:
        """Sum of the shares of all classes, weighted."""
        return self.of_base * (self.base @ weight) + self.more @ weight

    def powered(self, power: float) -> "Following":
        """Raise all shares to a power."""
        if power == 1:
            return self
        more, rows = self.more.copy(), np.repeat(np.arange(len(self.of_base)), np.diff(self.more.indptr))
        plain = self.of_base[rows] * self.base[more.indices]
        more.data = (plain + more.data) ** power - plain**power
        return replace(
            self,
            named=self.named**power,
            share=self.share**power,
            more=more,
            of_base=self.of_base**power,
            base=self.base**power,
        )

    def select(
        self,
        entries: Bool[np.ndarray, " entry"],
        slots: Bool[np.ndarray, " slot"],
        annotations: Bool[np.ndarray, " annotation"],
    ) -> "Following":
        """Take those of some cases."""
        kept, n = annotations[self.annotation], np.diff(self.start)
        pairs = np.repeat(kept, n)
        return Following(
            self.named[entries],
            (np.cumsum(annotations) - 1)[self.annotation[kept]],
            np.concatenate([[0], np.cumsum(n[kept])]),
            (np.cumsum(slots) - 1)[self.slot[pairs]],
            self.share[pairs],
            self.more[kept],
            self.of_base[kept],
            self.base,
        )


@dataclass(frozen=True)
class StagedCases:
    """Cases laid out over the slots of their priors."""

    annotations: Annotations
    priors: CasePriors
    slot: Int[np.ndarray, " entry"]  #: of each named class
    follow: Following
    expected: Float[np.ndarray, " class"]  #: shares by which a careless class is drawn
    concentration: float  #: by which the classes of a remainder share it
    first: Float[np.ndarray, " slot"]  #: label counts: first blocks
    later: Float[np.ndarray, " slot"]  #: and later ones

    @classmethod
    def of(
        cls, annotations: Annotations, priors: CasePriors, shared: SharedStages, population: Population
    ) -> "StagedCases":
        """Look at the cases of annotations."""
        slot = priors.slots.find(annotations.entry_case, annotations.entry_class)
        counts = []
        share = 1 / np.repeat(annotations.block_sizes, annotations.block_sizes)
        for of_stage in (annotations.entry_block == 0, annotations.entry_block > 0):
            counts.append(np.bincount(slot[of_stage], share[of_stage], len(priors.slots)))
        follow = Following.of(annotations, priors.slots, shared)
        return cls(annotations, priors, slot, follow, population.expected, population.concentration, *counts)

    def parts(self, draws: int) -> Iterator["StagedCases"]:
        """Split cases into pieces of which so many draws fit into memory."""
        widest = max(len(self.slot), len(self.priors.slots), len(self.follow.slot))
        pieces = min(-(-widest * draws // _NUMBERS), self.annotations.n_cases)
        for cases in np.array_split(np.arange(self.annotations.n_cases), pieces):
            yield self.select(cases)

    def select(self, cases: Int[np.ndarray, " chosen"]) -> "StagedCases":
        """Take some of the cases."""
        chosen = np.zeros(self.annotations.n_cases, bool)
        chosen[cases] = True
        part = self.annotations.select(cases)
        priors = self.priors.select(chosen)
        inside = chosen[self.annotations.entry_case]
        of_slot = chosen[self.priors.slots.case]
        slot = priors.slots.find(part.entry_case, part.entry_class)
        counts = self.first[of_slot], self.later[of_slot]
        follow = self.follow.select(inside, of_slot, chosen[self.annotations.annotation_case])
        return StagedCases(part, priors, slot, follow, self.expected, self.concentration, *counts)

    def log_likelihood(
        self, log_plausibility: Float[np.ndarray, "draw slot"], stages: Stages, reliability: float
    ) -> Float[np.ndarray, "draw case"]:
        """Log probability of all annotations of every case."""
        each = self.by_annotation(log_plausibility, stages, reliability)
        return np.add.reduceat(each, self.annotations.case_start[:-1], axis=1)

    def by_annotation(
        self, log_plausibility: Float[np.ndarray, "draw slot"], stages: Stages, reliability: float
    ) -> Float[np.ndarray, "draw annotation"]:
        """Log probability of every annotation, see :func:`plausibly.models.staged_plackett_luce.log_prob`."""
        drawn = self._blocks(log_plausibility, stages, reliability)
        return np.log(drawn + LEAST) + self.lengths(log_plausibility, stages)

    def first_choices(
        self, log_plausibility: Float[np.ndarray, "draw slot"], stages: Stages, reliability: float
    ) -> Float[np.ndarray, "draw annotation"]:
        """Log probability that a first choice lies in the first block of each annotation."""
        weight = np.exp(reliability * log_plausibility) * self._several(reliability)
        weight /= np.add.reduceat(weight, self.priors.slots.start[:-1], axis=1)[:, self.priors.slots.case]
        weight = (1 - stages.careless) * weight + stages.careless * self._plain()
        first = np.where(self.annotations.entry_block == 0, weight[:, self.slot], 0)
        return np.log(np.add.reduceat(first, self.annotations.annotation_start[:-1], axis=1) + LEAST)

    def _plain(self) -> Float[np.ndarray, " slot"]:
        """Shares of a careless annotator over slots."""
        slots = self.priors.slots
        out = np.where(slots.is_remainder, 0.0, self.expected[np.maximum(slots.class_index, 0)])
        own = np.add.reduceat(out, slots.start[:-1])
        rest = slots.is_remainder
        out[rest] = np.maximum(self.expected.sum() - own[slots.case[rest]], 0)
        return out

    def _several(self, power: float) -> Float[np.ndarray, " slot"]:
        """Factor of a remainder's power: its classes compete one by one, each with its share of it.

        These shares are Dirichlet; the factor is the expectation of the sum of their powers.
        """
        out, slots = np.ones(len(self.priors.slots)), self.priors.slots
        rest = slots.is_remainder
        if power == 1 or not rest.any():
            return out
        raised, whole = self._raised(power)
        named = np.where(rest, 0, raised[np.maximum(slots.class_index, 0)])
        left = raised.sum() - np.add.reduceat(named, slots.start[:-1])
        out[rest] = np.maximum(left[slots.case[rest]], LEAST) / whole[rest]
        return out

    def _raised(self, power: float) -> tuple[Float[np.ndarray, " class"], Float[np.ndarray, " slot"]]:
        """Expected powers of the shares in a remainder, by class; over those of all of it, by slot."""
        shape = np.maximum(self.concentration * self.expected, LEAST)
        logs = gammaln(shape + power) - gammaln(shape)
        total = np.maximum(self.concentration * self._plain(), LEAST)
        return np.exp(logs - logs.max()), np.exp(gammaln(total + power) - gammaln(total) - logs.max())

    def _following(
        self, logs: Float[np.ndarray, "draw slot"], stages: Stages
    ) -> tuple[Float[np.ndarray, "draw entry"], Float[np.ndarray, "draw annotation"]]:
        """Weights of classes in what follows the first block of their annotation, and sums over all classes."""
        follow, slots = self.follow.powered(stages.sharpness), self.priors.slots
        weight, total = np.exp(stages.focus * logs), np.ones((len(logs), self.annotations.n_annotations))
        common = np.maximum(self.expected, LEAST) ** -stages.discount
        if len(follow.annotation):
            raised, whole = self._raised(stages.focus)
            raised = raised * common
            rest, start = slots.is_remainder[follow.slot], follow.start[:-1]
            number = np.repeat(np.arange(len(start)), np.diff(follow.start))[rest]
            class_index = np.maximum(slots.class_index[follow.slot], 0)
            left = follow.total(raised) - np.add.reduceat(np.where(rest, 0, follow.share * raised[class_index]), start)
            share = follow.share * common[class_index]
            share[rest] = np.maximum(left[number], LEAST) / whole[follow.slot[rest]]
            total[:, follow.annotation] = np.add.reduceat(weight[:, follow.slot] * share, start, axis=1)
        return weight[:, self.slot] * (follow.named * common[self.annotations.entry_class]), total

    def _blocks(self, logs, stages, reliability) -> Float[np.ndarray, "draw annotation"]:
        """Probability of the blocks of every annotation, in their order."""
        of, slots = self.annotations, self.priors.slots
        start = slots.start[:-1]
        powers = reliability, reliability * stages.ratio
        first, later = (np.exp(power * logs) * self._several(power) for power in powers)
        of_first = first[:, self.slot] / np.add.reduceat(first, start, axis=1)[:, of.entry_case]
        total = np.add.reduceat(later, start, axis=1)[:, of.annotation_case]
        starts = np.cumsum(of.block_sizes) - of.block_sizes
        begin = of.annotation_start[:-1][of.block_annotation]

        following, of_following = self._following(logs, stages)

        def with_left(weight, total):
            """Weights of classes, and what is left of their total before each block."""
            before = np.cumsum(weight, axis=-1) - weight
            return weight, total - before[..., starts] + before[..., begin]

        sources = (
            with_left(later[:, self.slot], total[:, of.block_annotation]),
            with_left(following, of_following[:, of.block_annotation]),
            with_left(self.expected[of.entry_class], 1.0),
        )
        of_first = (1 - stages.careless) * of_first + stages.careless * self.expected[of.entry_class]
        number = of.entry_block[starts]
        out = np.ones((len(logs), len(starts)))
        for size in np.unique(of.block_sizes):
            for is_first in (True, False):
                chosen = np.flatnonzero((of.block_sizes == size) & ((number == 0) == is_first))
                if len(chosen):
                    members = starts[chosen, None] + np.arange(size)
                    w, e = 0.0 if is_first else stages.dependence, stages.careless_later
                    shares = (1 - e) * (1 - w), (1 - e) * w, e
                    parts = [
                        (share, weight[..., members], left[..., chosen])
                        for share, (weight, left) in zip(shares, sources, strict=True)
                        if share
                    ]
                    out[:, chosen] = _tied(of_first[:, members] if is_first else None, parts, size)
        at = np.searchsorted(of.block_annotation, np.arange(of.n_annotations))
        return np.multiply.reduceat(out, at, axis=1)

    def lengths(
        self, logs: Float[np.ndarray, "draw slot"], stages: Stages
    ) -> Float[np.ndarray, "draw annotation"] | float:
        """Log probability that lists go on after every block but their last, end there, and have tied blocks or not."""
        total: Float[np.ndarray, "draw block"] | float = 0.0
        if stages.stop is None and stages.tie is None:
            return total
        before, named, last, tied, log_left, doubt = self.blocks(logs)
        if stages.tie is not None:
            odds = np.asarray(stages.tie)[before] + stages.tie[3] * doubt
            total = total - np.logaddexp(0, np.where(tied, -odds, odds))
        if stages.stop is not None:
            odds = np.asarray(stages.stop)[named - 1] + stages.stop[3] * log_left + stages.stop[4] * doubt
            total = total - np.logaddexp(0, np.where(last, -odds, odds))
        at = np.searchsorted(self.annotations.block_annotation, np.arange(self.annotations.n_annotations))
        return np.add.reduceat(total, at, axis=1)

    def blocks(self, logs: Float[np.ndarray, "draw slot"]):
        """What the lengths of lists depend on.

        Of every block how many classes are named before it, up to two, and up to its end, up to three, whether it is
        the last, and whether it is tied; and by draw the log of the mass that is left after it and that of the doubt of
        its case.
        """
        of, slots, plausibility = self.annotations, self.priors.slots, np.exp(logs)
        named = np.cumsum(plausibility[:, self.slot], axis=1)
        named = np.concatenate([np.zeros((len(named), 1)), named], axis=1)
        stops = np.cumsum(of.block_sizes)
        begin = of.annotation_start[:-1][of.block_annotation]
        left = 1 - named[:, stops] + named[:, begin]
        before, after = np.minimum(stops - of.block_sizes - begin, 2), np.minimum(stops - begin, 3)
        last = np.append(of.block_annotation[1:] != of.block_annotation[:-1], True)
        of_classes = np.where(slots.is_remainder, 0, plausibility)
        doubt = 1 - np.maximum.reduceat(of_classes, slots.start[:-1], axis=1)
        logs = (np.log(np.maximum(mass, LEAST_MASS)) for mass in (left, doubt))
        log_left, log_doubt = logs
        case = of.annotation_case[of.block_annotation]
        return before, after, last, of.block_sizes > 1, log_left, log_doubt[:, case]


def _tied(of_first, parts, size):
    """Probability of tied blocks of one size, a sum over the subsets of their classes: (draw, block).

    ``parts`` are the sources of later draws: their shares, weights of the classes, and what is left before the block.
    """
    sums = {(): 1.0}
    for subset in subsets(int(size))[1:]:
        value = 0.0
        for last in subset:
            before = tuple(other for other in subset if other != last)
            if of_first is not None and not before:
                chance = of_first[..., last]
            else:
                chance = 0.0
                for share, weight, left in parts:
                    gone = sum((weight[..., other] for other in before), 0.0)
                    chance = chance + share * weight[..., last] / np.maximum(left - gone, LEAST)
            value = value + sums[before] * np.minimum(chance, 1.0)
        sums[subset] = value
    return sums[tuple(range(int(size)))]


def propose(
    cases: StagedCases, case: int, random: np.random.Generator, n: int, more: StagedCases | None = None
) -> tuple[Float[np.ndarray, "draw slot"], Float[np.ndarray, " draw"]]:
    r"""Draw log plausibilities of a case from posteriors given label counts, and say how they differ from the prior.

    Two posteriors are mixed: given first choices, and given later ones, too, as parts of labels; with ``more``
    annotations of the same cases two others, which have seen these. The second result is
    :math:`\log q(\lambda) - \log p(\lambda)`; heads cancel, since all are mixtures over the same heads:
    :math:`q / p` is the mean over posteriors of :math:`\prod_k \lambda_k^{n_{ck}} / M_c`, with :math:`M_c` the marginal
    likelihood of the counts.
    """
    own = slice(*cases.priors.slots.start[case : case + 2])
    shape = cases.priors.shape[:, own]

    def counted(these: StagedCases) -> np.ndarray:
        return np.array([these.first[own], these.first[own] + LATER * these.later[own]])

    counts = counted(cases)
    if more is not None:
        counts = np.concatenate([counts, counts + counted(more)])
    choose, log_m, below = random.integers(len(counts), size=n), [], []
    for count in counts:
        logs = cases.priors.log_weight[case] + (gammaln(shape + count) - gammaln(shape)).sum(1)
        logs = logs + gammaln(shape.sum(1)) - gammaln(shape.sum(1) + count.sum())
        log_m.append(logsumexp(logs))
        below.append(np.cumsum(np.exp(logs - log_m[-1])))
    u = random.random(n)
    picked = np.choose(choose, [np.searchsorted(one, u) for one in below])
    a = np.maximum(shape[np.minimum(picked, len(shape) - 1)] + counts[choose], 1e-9)
    logs = log_gammas(a, random)
    logs -= logsumexp(logs, axis=1, keepdims=True)
    ratio = [np.where(count > 0, count * logs, 0).sum(1) - m for count, m in zip(counts, log_m, strict=True)]
    return logs, np.logaddexp.reduce(ratio) - np.log(len(counts))
