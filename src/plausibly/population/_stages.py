"""What annotators do after their first choice, learnt from all cases: parameters of the staged Plackett-Luce model."""

import base64
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize
from scipy.special import digamma, expit, gammaln, logit, logsumexp

from plausibly.annotations import Annotations
from plausibly.errors import AnnotationError
from plausibly.models.staged_plackett_luce import LARGEST_BLOCK, Stages, log_prob
from plausibly.population._case_priors import CasePriors, case_priors
from plausibly.population._population import Population
from plausibly.random_streams import Stream, case_keys, generator, stream_words

CASES = 200  #: by which ratio, dependence and carelessness are estimated
PROPOSALS = 48  #: plausibilities at which each of them is looked at
LATER = 0.5  #: of a label that a later naming is worth in proposals

_START = (np.log(0.7), logit(0.5), logit(0.03))


@dataclass(frozen=True)
class SharedStages:
    """Stages with the dictionary of what follows what, and the sizes of blocks."""

    stages: Stages
    head: Int[np.ndarray, " pair"]  #: class of the first block
    later: Int[np.ndarray, " pair"]  #: class that is named after it
    count: Float[np.ndarray, " pair"]
    base: Float[np.ndarray, " class"]  #: how often each class is named later, as shares
    strength: float  #: number of namings that the base is worth in the dictionary

    def follows(self, block: Sequence[int]) -> Float[np.ndarray, " class"]:
        """Shares of what follows a first block, averaged over its classes."""
        out = np.zeros(len(self.base))
        for one in block:
            own = slice(*np.searchsorted(self.head, [one, one + 1]))
            row = self.strength * self.base
            np.add.at(row, self.later[own], self.count[own])
            out += row / row.sum()
        return out / len(block)

    def text(self) -> str:
        """Write everything as text, for the attributes of a posterior."""
        file = io.BytesIO()
        single = [np.nan if value is None else value for value in self.stages[:3]]
        stop = [] if self.stages.stop is None else self.stages.stop
        columns = {"single": single, "stop": stop, "strength": self.strength, "base": self.base.astype(np.float32)}
        pairs = {"head": self.head.astype(np.int32), "later": self.later.astype(np.int32), "count": self.count}
        np.savez_compressed(file, **columns, **pairs)
        return base64.b64encode(file.getvalue()).decode()

    @classmethod
    def read(cls, text: str) -> "SharedStages":
        """Read what :meth:`text` wrote."""
        found = np.load(io.BytesIO(base64.b64decode(text)))
        stop = tuple(found["stop"].tolist()) or None
        stages = Stages(*found["single"].tolist(), stop)
        base = found["base"].astype(float)
        return cls(stages, found["head"], found["later"], found["count"], base, float(found["strength"]))

    def describe(self) -> str:
        """Return the single numbers as JSON."""
        return json.dumps(self.stages._asdict() | {"dictionary_strength": self.strength})


def blocks_of(annotations: Annotations, annotation: int) -> list[list[int]]:
    """Classes of each named block, best first."""
    own = slice(*annotations.annotation_start[annotation : annotation + 2])
    classes, block = annotations.entry_class[own], annotations.entry_block[own]
    return [classes[block == number].tolist() for number in range(block.max() + 1)]


def check_blocks(annotations: Annotations) -> None:
    """Refuse tied blocks that are too large for a sum over subsets."""
    worst = int(annotations.block_sizes.argmax())
    if annotations.block_sizes[worst] > LARGEST_BLOCK:
        case = annotations.cases[annotations.annotation_case[annotations.block_annotation[worst]]]
        raise AnnotationError(
            f"staged Plackett-Luce is for blocks of up to {LARGEST_BLOCK} tied classes, but case {str(case)!r} has "
            f"one of {annotations.block_sizes[worst]}: use plackett-luce, or break ties."
        )


def estimate_stages(
    annotations: Annotations,
    population: Population,
    *,
    later: bool = True,
    follow: bool = True,
    careless: bool = True,
    lengths: bool = True,
    reliability: float = 1.0,
    seed: int = 0,
) -> SharedStages:
    """Estimate the shared parameters of annotators, each part if it is wanted.

    The dictionary is counted, with its strength by marginal likelihood; lengths are a logistic regression on the mass
    that is left; the other three maximise a simulated marginal likelihood of some of the cases.
    """
    head, after, count, base, strength = _dictionary(annotations)
    found = SharedStages(Stages(), head, after, count, base, strength)
    cases = np.sort(np.random.default_rng(seed).permutation(annotations.n_cases)[:CASES])
    part = annotations.select(cases)
    priors = case_priors(population, part)
    seen = [CaseView.of(part, priors, found, population, case) for case in range(part.n_cases)]
    words = stream_words(case_keys(seed, part.cases))[Stream.POPULATION]
    drawn = [propose(view, priors, generator(word, 99), PROPOSALS) for view, word in zip(seen, words, strict=True)]
    stop = _regress(seen, drawn) if lengths else None
    wanted = np.array([later, follow, careless])
    if not wanted.any():
        return SharedStages(Stages(stop=stop), head, after, count, base, strength)

    def stages(x: np.ndarray) -> Stages:
        full = np.array(_START)
        full[wanted] = x
        values = np.where(wanted, [np.exp(full[0]), expit(full[1]), expit(full[2])], [1.0, 0.0, 0.0])
        return Stages(*values.tolist())

    def loss(x: np.ndarray) -> float:
        at, total = stages(x), 0.0
        for view, (plausibility, log_proposal) in zip(seen, drawn, strict=True):
            values = view.log_likelihood(plausibility, at, reliability) - log_proposal
            total += logsumexp(values) - np.log(len(values))
        return -total + 0.5 * ((x - np.array(_START)[wanted]) ** 2 / 4).sum()

    best = minimize(loss, np.array(_START)[wanted], method="Nelder-Mead", options={"maxfev": 70, "xatol": 0.02})
    return SharedStages(stages(best.x)._replace(stop=stop), head, after, count, base, strength)


@dataclass(frozen=True)
class CaseView:
    """One case as the likelihood sees it."""

    case: int
    rankings: list[list[list[int]]]  #: different annotations, as slots of the case
    times: list[int]
    follow: list[np.ndarray]  #: over slots
    population: np.ndarray  #: over slots
    rest: np.ndarray | None  #: shares of the classes of the remainder
    first: np.ndarray  #: label counts over slots: first blocks
    later: np.ndarray  #: and later ones

    @classmethod
    def of(
        cls, annotations: Annotations, priors: CasePriors, shared: SharedStages, population: Population, case: int
    ) -> "CaseView":
        """Look at a case of annotations."""
        own = slice(*priors.slots.start[case : case + 2])
        index = priors.slots.class_index[own]
        place = {int(k): at for at, k in enumerate(index) if k >= 0}
        counted: dict[tuple, int] = {}
        for number in range(*annotations.case_start[case : case + 2]):
            ranking = tuple(map(tuple, blocks_of(annotations, number)))
            counted[ranking] = counted.get(ranking, 0) + 1

        def on_slots(shares: np.ndarray) -> np.ndarray:
            out = np.where(index >= 0, shares[np.maximum(index, 0)], 0)
            out[index < 0] = max(shares.sum() - out.sum(), 0)
            return out

        rankings = [[[place[k] for k in block] for block in ranking] for ranking in counted]
        first, later = np.zeros(len(index)), np.zeros(len(index))
        for ranking, times in zip(rankings, counted.values(), strict=True):
            for number, block in enumerate(ranking):
                (later if number else first)[block] += times / len(block)
        follow = [on_slots(shared.follows(ranking[0])) for ranking in counted]
        expected, rest = population.expected, None
        if index[-1] < 0:
            rest = np.delete(expected, index[index >= 0])
            rest = rest / rest.sum()
        return cls(case, rankings, list(counted.values()), follow, on_slots(expected), rest, first, later)

    def log_likelihood(self, plausibility: np.ndarray, stages: Stages, reliability: float) -> np.ndarray:
        """Log probability of all annotations of the case at every draw."""
        each = self.by_annotation(plausibility, stages, reliability)
        return sum(times * values for times, values in zip(self.times, each, strict=True))

    def by_annotation(self, plausibility: np.ndarray, stages: Stages, reliability: float) -> list[np.ndarray]:
        """Log probability of each different annotation at every draw."""
        return [
            log_prob(
                plausibility, ranking, follow, self.population, stages, reliability=reliability, rest=self.rest, xp=np
            )
            for ranking, follow in zip(self.rankings, self.follow, strict=True)
        ]


def propose(
    view: CaseView, priors: CasePriors, random: np.random.Generator, n: int
) -> tuple[Float[np.ndarray, "draw slot"], Float[np.ndarray, " draw"]]:
    r"""Draw plausibilities of a case from posteriors given label counts, and say how they differ from the prior.

    Two posteriors are mixed: given first choices, and given later ones, too, as parts of labels. The second result is
    :math:`\log q(\lambda) - \log p(\lambda)`; heads cancel, since both are mixtures over the same heads:
    :math:`q / p = \sum_c \tfrac12 \prod_k \lambda_k^{n_{ck}} / M_c`, with :math:`M_c` the marginal likelihood of the
    counts.
    """
    own = slice(*priors.slots.start[view.case : view.case + 2])
    shape = priors.shape[:, own]
    counts = [view.first, view.first + LATER * view.later]
    choose, log_m, posteriors = random.integers(2, size=n), [], []
    for count in counts:
        logs = priors.log_weight[view.case] + (gammaln(shape + count) - gammaln(shape)).sum(1)
        logs = logs + gammaln(shape.sum(1)) - gammaln(shape.sum(1) + count.sum())
        log_m.append(logsumexp(logs))
        posteriors.append(np.cumsum(np.exp(logs - log_m[-1])))
    u = random.random(n)
    picked = np.where(choose, np.searchsorted(posteriors[1], u), np.searchsorted(posteriors[0], u))
    a = np.maximum(shape[np.minimum(picked, len(shape) - 1)] + np.array(counts)[choose], 1e-9)
    logs = np.log(random.standard_gamma(a + 1)) - random.standard_exponential(a.shape) / a
    logs -= logsumexp(logs, axis=1, keepdims=True)
    ratio = [np.where(count > 0, count * logs, 0).sum(1) - m for count, m in zip(counts, log_m, strict=True)]
    return np.exp(logs), np.logaddexp(*ratio) - np.log(2)


def _dictionary(annotations: Annotations):
    """Count what is named after what, and how strongly that binds."""
    k = annotations.n_classes
    keys, weights = [], []
    for number in range(annotations.n_annotations):
        first, *rest = blocks_of(annotations, number)
        for one in first:
            for other in (c for block in rest for c in block):
                keys.append(one * k + other)
                weights.append(1 / len(first))
    if not keys:
        return np.zeros(0, int), np.zeros(0, int), np.zeros(0), np.full(k, 1 / k), 1.0
    pair, inverse = np.unique(keys, return_inverse=True)
    count = np.bincount(inverse, weights)
    head, later = np.divmod(pair, k)
    base = np.bincount(later, count, k) + 0.5
    base /= base.sum()
    total = np.bincount(head, count)
    total = total[total > 0]
    strength = 10.0
    for _ in range(50):
        a = strength * base[later]
        gain = (a * (digamma(a + count) - digamma(a))).sum()
        strength *= gain / (strength * (digamma(strength + total) - digamma(strength))).sum()
        strength = float(np.clip(strength, 0.1, 1e4))
    return head, later, count, base, strength


def _regress(seen: Sequence[CaseView], drawn: Sequence[tuple]) -> tuple[float, ...]:
    """Regress the ends of lists on the place in the list and the log of the mass that is left, Newton's method."""
    rows, ends = [], []
    for view, (plausibility, log_proposal) in zip(seen, drawn, strict=True):
        del log_proposal
        mean = plausibility.mean(0)
        for ranking, times in zip(view.rankings, view.times, strict=True):
            left = 1.0
            for number, block in enumerate(ranking):
                left -= mean[block].sum()
                row = np.zeros(4)
                row[min(number, 2)], row[3] = 1, np.log(max(left, 1e-6))
                rows += [row] * times
                ends += [number == len(ranking) - 1] * times
    x, y, beta = np.array(rows), np.array(ends, float), np.zeros(4)
    for _ in range(25):
        p = expit(x @ beta)
        beta = beta + np.linalg.solve((x.T * (p * (1 - p))) @ x + 0.5 * np.eye(4), x.T @ (y - p) - 0.5 * beta)
    return tuple(beta.tolist())
