"""Input of aggregation models: one case, for programs, or all cases, for computations without a program."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Num
from scipy.sparse import csr_array
from scipy.special import gammaln, stdtr

from plausibly.data.annotations import Annotations, Scores, Slots
from plausibly.distributions import Order, PartialRankings

_SMALLEST_LOG = -700.0  # of a probability that is too small for a number
_SMALLEST, _LEAST = 1e-290, 1e-30  # probability of a label, and of those of a case in a unit of theirs


class Case(NamedTuple):
    """Annotations of one case over its *slots*: the named classes, then the remainder of unnamed classes.

    Identical annotations appear once, with their number in ``counts``. Cases of similar size are padded to the same
    shape, with annotations that name nothing (probability one under every model) or slots with zero classes.
    """

    #: the different annotations of the case; ``rankings.positions`` has shape (annotation, slot)
    rankings: PartialRankings
    counts: Float[Array, " annotation"]  #: how many annotators gave each annotation
    #: whether the annotation names the slot's class; what it does not name makes its last block
    named: Bool[Array, "annotation slot"]
    #: how many classes are tied with the slot's class where it is named, 1 elsewhere
    block_sizes: Int[Array, "annotation slot"]
    #: prior shape of each slot; for the remainder it depends on how unranked classes are treated
    concentration: Float[Array, " slot"]
    #: how many classes a slot stands for: 1, more for the remainder, 0 for one that only fills the shape
    n_classes: Int[Array, " slot"]
    order: Order | None = None  #: in what order annotators prefer the slots, for a sampler to move by; not always there


@dataclass(frozen=True)
class Entries:
    """Annotations of all cases, with one entry for each class that an annotation names.

    Point estimates and exact posteriors that are sums over entries are computed from it for all cases at once.

    Examples
    --------
    >>> annotations = Annotations.from_rankings([[[["a"], ["b", "c"]], [["b"]]]])
    >>> entries = Entries.of(annotations, Slots.of(annotations))
    >>> entries.position.tolist(), entries.block_size.tolist()
    ([0, 1, 1, 0], [1, 2, 2, 1])
    >>> entries.shares(1 / entries.block_size).tolist()
    [0.3333333333333333, 0.5, 0.16666666666666666]
    """

    position: Int[np.ndarray, " entry"]  #: position of the class's block in its annotation, 0 for the best
    block_size: Int[np.ndarray, " entry"]  #: how many classes are tied in that block
    slot: Int[np.ndarray, " entry"]  #: slot of the class in its case
    slots: Slots  #: slots of all cases

    @classmethod
    def of(cls, annotations: Annotations, slots: Slots) -> "Entries":
        """Collect the entries of annotations."""
        return cls(
            annotations.entry_block,
            np.repeat(annotations.block_sizes, annotations.block_sizes),
            slots.find(annotations.entry_case, annotations.entry_class),
            slots,
        )

    def totals(self, weight: Float[np.ndarray, " entry"]) -> Float[np.ndarray, " slot"]:
        """Sum the weights of entries by slot."""
        return np.bincount(self.slot, weight, len(self.slots))

    def shares(self, weight: Float[np.ndarray, " entry"]) -> Float[np.ndarray, " slot"]:
        """Sum the weights of entries by slot, as shares of their case."""
        return self.normalised(self.totals(weight))

    def normalised(self, values: Float[np.ndarray, " slot"]) -> Float[np.ndarray, " slot"]:
        """Divide values of slots by their sum over the case."""
        return values / np.add.reduceat(values, self.slots.start[:-1])[self.slots.case]

    def largest(self, values: Float[np.ndarray, " slot"]) -> Float[np.ndarray, " slot"]:
        """Return, for each slot, the largest value in its case."""
        return np.maximum.reduceat(values, self.slots.start[:-1])[self.slots.case]


class NormalInverseGamma(NamedTuple):
    r"""Distribution of the mean and the variance of a case's scores.

    .. math:: \sigma^2 \sim \mathrm{InverseGamma}(a, b), \quad \mu \sim \mathrm{Normal}(m, \sigma^2 / \kappa)
    """

    mean: Float[ArrayLike, "*case"]  #: :math:`m`, where the mean is expected
    strength: Float[ArrayLike, "*case"]  #: :math:`\kappa > 0`, how many scores that expectation is worth
    shape: Float[ArrayLike, "*case"]  #: :math:`a > 0`; the variance is known as if from 2a scores
    scale: Float[ArrayLike, "*case"]  #: :math:`b > 0`; the variance is expected about b / a

    def posterior(
        self,
        n: Num[ArrayLike, "*case"],
        mean: Float[ArrayLike, "*case"],
        squares: Float[ArrayLike, "*case"],
        reliability: Num[ArrayLike, ""] = 1.0,
    ) -> "NormalInverseGamma":
        r"""Return the posterior given scores that each count :math:`\gamma` times, the reliability.

        .. math::
           \kappa' = \kappa + \gamma n, \quad m' = \frac{\kappa m + \gamma n \bar y}{\kappa'}, \quad
           a' = a + \frac{\gamma n}{2}, \quad
           b' = b + \frac{\gamma}{2} \sum_r (y^r - \bar y)^2 + \frac{\kappa \gamma n}{2 \kappa'} (\bar y - m)^2

        The scores of a case are summarised by their number, their mean, and the sum of their squared distances from the
        mean.

        Examples
        --------
        >>> NormalInverseGamma(0.0, 1.0, 2.0, 1.0).posterior(3, 2.0, 6.0)
        NormalInverseGamma(mean=1.5, strength=4.0, shape=3.5, scale=5.5)
        """
        weight = reliability * n
        strength = self.strength + weight
        return NormalInverseGamma(
            (self.strength * self.mean + weight * mean) / strength,
            strength,
            self.shape + weight / 2,
            self.scale + reliability * squares / 2 + self.strength * weight / (2 * strength) * (mean - self.mean) ** 2,
        )

    def log_marginal(
        self, n: Num[ArrayLike, "*case"], mean: Float[ArrayLike, "*case"], squares: Float[ArrayLike, "*case"]
    ) -> Float[ArrayLike, "*case"]:
        r"""Return the log density of the scores of a case, with mean and variance integrated out.

        .. math::
           \log p(y) = \log \frac{\Gamma(a')}{\Gamma(a)} + a \log b - a' \log b'
           + \frac12 \log \frac{\kappa}{\kappa'} - \frac n2 \log 2 \pi

        Examples
        --------
        A single score follows Student's t:

        >>> from scipy.stats import t
        >>> one = float(NormalInverseGamma(0.0, 1.0, 2.0, 3.0).log_marginal(1, 0.7, 0.0))
        >>> bool(np.isclose(one, t(4, 0, np.sqrt(3.0)).logpdf(0.7)))
        True
        """
        found = self.posterior(n, mean, squares)
        return (
            gammaln(found.shape)
            - gammaln(self.shape)
            + self.shape * np.log(self.scale)
            - found.shape * np.log(found.scale)
            + np.log(self.strength / found.strength) / 2
            - np.asarray(n) / 2 * np.log(2 * np.pi)
        )

    def probability_below(self, threshold: Float[ArrayLike, ""]) -> Float[ArrayLike, "*case"]:
        r"""Return the probability that the next score is at most the threshold.

        .. math:: y \sim \mathrm{Student}_{2 a}\!\left(m, \frac{b}{a} \Bigl(1 + \frac{1}{\kappa}\Bigr)\right)

        If the distribution is a posterior, this is the posterior mean of :math:`P(y \le t \mid \mu, \sigma^2)`; the
        certainty of a case is this number or one minus it, whichever is greater.

        Examples
        --------
        >>> float(NormalInverseGamma(1.0, 2.0, 3.0, 4.0).probability_below(1.0))
        0.5
        """
        sd = np.sqrt(self.scale / self.shape * (1 + 1 / np.asarray(self.strength)))
        return stdtr(2 * np.asarray(self.shape), (threshold - np.asarray(self.mean)) / sd)


class ScoredCase(NamedTuple):
    """Scores of one case, which a threshold turns into two classes: scores up to it, and scores above it.

    Equal scores appear once, with their number in ``counts``.
    """

    scores: Float[Array, " annotation"]  #: the different scores of the case
    counts: Float[Array, " annotation"]  #: how many annotators gave each score
    threshold: Float[Array, ""]  #: A score equal to it is in the first class
    prior: NormalInverseGamma  #: of the mean and the variance of the case's scores: given, or estimated from all cases
    n_classes: Int[Array, " slot"]  #: 1 for each of the two classes
    lower: Float[Array, " annotation"] | None = None  #: where scores are categories: lower ends of their intervals
    upper: Float[Array, " annotation"] | None = None  #: and upper ends, both on the latent scale


class ScoreSums(NamedTuple):
    """Sums over the scores of every case, the input of normal models."""

    n: Int[np.ndarray, " case"]  #: number of scores
    mean: Float[np.ndarray, " case"]  #: their mean
    squares: Float[np.ndarray, " case"]  #: sum of their squared distances from the mean

    @classmethod
    def of(cls, scores: Scores) -> "ScoreSums":
        """Sum up scores by case."""
        start, case = scores.case_start[:-1], scores.annotation_case
        n = np.diff(scores.case_start)
        # Equal scores are summed to their multiple but for rounding; distances from the first have none.
        first = scores.score[start]
        mean = first + np.add.reduceat(scores.score - first[case], start) / n
        return cls(n, mean, np.add.reduceat((scores.score - mean[case]) ** 2, start))


@dataclass(frozen=True)
class Looks:
    r"""What a case may look like: one class, two classes in some proportion, or one class and any.

    To an annotator, a case of look p is of class k with probability :math:`\lambda_{pk}`, and so it is in truth. Looks
    of one kind differ in the proportion; all proportions have the same probability.

    Examples
    --------
    >>> looks = Looks.of(2)
    >>> looks.names(["a", "b"])
    ['a', 'b', 'a or b']
    >>> looks.shares.round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.83, 0.17], [0.67, 0.33], [0.5, 0.5], [0.33, 0.67], [0.17, 0.83]]
    >>> looks.expected(np.array([0.5, 0.1, 0.4])).round(3).tolist()
    [0.7, 0.3]
    """

    shares: Float[np.ndarray, "look class"]  #: :math:`\lambda_{pk}`; the first looks are those of one class each
    kind: Int[np.ndarray, " look"]  #: of each look; kinds that are not of one class follow the classes
    of_kind: Float[np.ndarray, "kind look"]  #: probability of each look given its kind

    @classmethod
    def of(cls, n_classes: int) -> "Looks":
        """Return the looks of so many classes."""
        own, kinds = np.eye(n_classes), [np.eye(n_classes)[:, None]]
        proportion = (np.arange(GRADES) + 1) / (GRADES + 1)
        other = proportion[:, None]
        if n_classes <= MOST_IN_PAIRS:
            pairs = combinations(range(n_classes), 2)
            kinds.append(np.array([(1 - other) * own[a] + other * own[b] for a, b in pairs]))
        if n_classes > 2:
            kinds.append(np.array([(1 - other) * own[a] + other / n_classes for a in range(n_classes)]))
        number = np.repeat(np.arange(sum(map(len, kinds))), np.concatenate([[k.shape[1]] * len(k) for k in kinds]))
        of_kind = np.eye(number[-1] + 1)[:, number]
        return cls(np.concatenate([k.reshape(-1, n_classes) for k in kinds]), number, of_kind / of_kind.sum(1)[:, None])

    @cached_property
    def safe(self) -> int:
        """Number of labels whose probability is 1e-8 or more of some look, whatever they name."""
        return max(1, int(np.log(1e8) / np.log((GRADES + 1) / GRADES * self.shares.shape[1])))

    def names(self, classes: Sequence[str]) -> list[str]:
        """Return the names of the kinds of looks."""
        pairs = [f"{a} or {b}" for a, b in combinations(classes, 2)] if len(classes) <= MOST_IN_PAIRS else []
        return [*map(str, classes), *pairs, *([f"{a} or any" for a in classes] if len(classes) > 2 else [])]

    @cached_property
    def prior(self) -> Float[np.ndarray, " kind"]:
        """Shapes of the Dirichlet prior of how common each kind is."""
        k, kinds = self.shares.shape[1], len(self.of_kind)
        return np.concatenate([np.full(k, CLEAR / k), np.full(kinds - k, UNCLEAR / (kinds - k))])

    def expected(self, weights: Any) -> Any:
        """Return the share of cases of each class, if kinds, (…, kind), are so common."""
        return weights @ self.of_class

    @cached_property
    def of_class(self) -> Float[np.ndarray, "kind class"]:
        """Probability of each true class, given the kind of look."""
        return self.of_kind @ self.shares

    @cached_property
    def means(self) -> Float[np.ndarray, "kind look"]:
        """Weights of the mean over the looks of each kind, which follow each other and are as probable."""
        return self.of_kind.astype(np.float32)

    def given_class(self, weights: Any) -> Any:
        """Return the probability of each look given the true class, if kinds are so common, (group, look, class).

        Where kinds have weights by class, a group may take cases for another class altogether.
        """
        if weights.ndim == 3:
            return (weights[..., None] * self.grades).sum(2).transpose(0, 2, 1)
        joint = (weights @ self.of_kind)[..., None] * self.shares
        return joint / self.expected(weights)[..., None, :]

    @cached_property
    def grades(self) -> Float[np.ndarray, "class kind look"]:
        """Probability of each look given its kind and the true class, as far as cases of that class look so."""
        k = self.shares.shape[1]
        weight = self.of_kind * self.shares.T[:, None, :]
        share = weight.sum(-1, keepdims=True)
        mixed = np.where(share > 1 / 3, weight / np.maximum(share, 1e-9), 0)
        mixed[:, :k] = self.of_kind[:k]
        return mixed

    def prior_by_class(self, together: bool) -> Float[np.ndarray, "class kind"]:
        """Shapes of the prior of how common kinds are given the class; those who err together take it for others."""
        k, unclear = self.shares.shape[1], self.grades.any(-1)
        unclear[:, :k] = False
        prior = UNCLEAR * unclear / np.maximum(unclear.sum(1, keepdims=True), 1)
        prior[:, :k] = np.where(np.eye(k, dtype=bool), CLEAR, UNCLEAR / (k - 1) * together)
        return prior

    def right(self, confusion: Any, weights: Any, group: Int[np.ndarray, " annotator"]) -> Any:
        """Return the probability that an annotator names the true class, (annotator, class), by looks of her group."""
        return (self.seen(confusion) * self.given_class(weights)[group]).sum(1)

    def seen(self, confusion: Any) -> Any:
        """Return the probability that an annotator names a class, given the look: (…, annotator, look, named)."""
        return self.shares.astype(confusion.dtype) @ confusion


def coordinates_of_looks(classes: Sequence[str], groups: np.ndarray) -> dict[str, np.ndarray]:
    """Return the names of kinds of looks, and of the groups of annotators who see them, by dimension.

    Examples
    --------
    >>> coordinates_of_looks(["a", "b"], np.array(["models", "people"]))["look"].tolist()
    ['a', 'b', 'a or b']
    """
    return {"annotator_group": groups, "look": np.array(Looks.of(len(classes)).names(classes))}


GRADES = 5  #: proportions in which two classes may look alike
MOST_IN_PAIRS = 10  #: classes of which each two may look alike
CLEAR, UNCLEAR = 4.0, 0.5  #: of the prior: how many clear cases, and unclear ones, it is worth


@dataclass(frozen=True)
class LabelledCases:
    """Single labels of all cases by named annotators, the input of programs for all cases.

    Examples
    --------
    >>> labels = LabelledCases.of(Annotations.from_labels([["a", "b"], ["b", "b"]], annotators=["ann", "bob"]))
    >>> labels.case.tolist(), labels.annotator.tolist(), labels.label.tolist()
    ([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 1])
    """

    case: Int[np.ndarray, " label"]  #: case of each label, non-decreasing
    annotator: Int[np.ndarray, " label"]  #: who gave it
    label: Int[np.ndarray, " label"]  #: the class that it names
    n_cases: int
    n_annotators: int
    n_classes: int
    #: what classifiers say, as logarithms that are centred over the classes of a case; None if that is not known
    log_scores: Float[np.ndarray, "classifier case class"] | None = None
    log_prevalence: Float[np.ndarray, " class"] | None = None  #: with scores, of the share of each class in all labels
    looks: Looks | None = None  #: what cases may look like, if they differ in difficulty
    group: Int[np.ndarray, " annotator"] | None = None  #: whose annotators see the same look of a case; None for one
    together: tuple[bool, ...] = (True,)  #: of each group, whether its annotators may all take a case for another class

    @classmethod
    def of(cls, annotations: Annotations, *, alike: bool = False) -> "LabelledCases":
        """Collect the labels of annotations that name one class each; of annotators who are alike, as those of one."""
        of = annotations
        who = np.zeros_like(of.annotation_annotator) if alike else of.annotation_annotator
        sizes = of.n_cases, 1 if alike else len(of.annotators), of.n_classes
        return cls(of.annotation_case, who, of.entry_class, *sizes)

    def with_scores(
        self,
        log_scores: Float[np.ndarray, "classifier case class"] | None,
        log_prevalence: Float[np.ndarray, " class"] | None = None,
    ) -> "LabelledCases":
        """Add what classifiers say; the prevalence is by default that in these labels, with one more of each class."""
        if log_prevalence is None:
            counts = 1.0 + self.votes.sum(0)
            log_prevalence = np.log(counts / counts.sum()).astype(np.float32)
        return self if log_scores is None else replace(self, log_scores=log_scores, log_prevalence=log_prevalence)

    def of_cases(self, which: Bool[np.ndarray, " case"]) -> "LabelledCases":
        """Return the labels of some cases, renumbered; annotators and classes do not change."""
        inside = which[self.case]
        number = np.cumsum(which) - 1
        scores = None if self.log_scores is None else self.log_scores[:, which]
        labels = {"annotator": self.annotator[inside], "label": self.label[inside], "log_scores": scores}
        return replace(self, case=number[self.case[inside]], n_cases=int(which.sum()), **labels)

    @cached_property
    def votes(self) -> Int[np.ndarray, "case class"]:
        """Number of labels of each case that name each class."""
        size = self.n_cases * self.n_classes
        votes = np.bincount(self.case * np.int64(self.n_classes) + self.label, minlength=size)
        return votes.reshape(self.n_cases, self.n_classes)

    @property
    def n_groups(self) -> int:
        """Number of groups of annotators who see the same look of a case."""
        return len(self.together)

    @property
    def group_of_annotator(self) -> Int[np.ndarray, " annotator"]:
        """Group of each annotator."""
        return np.zeros(self.n_annotators, int) if self.group is None else self.group

    @cached_property
    def group_of_label(self) -> Int[np.ndarray, " label"]:
        """Group of the annotator of each label."""
        return self.group_of_annotator[self.annotator]

    @cached_property
    def _of_groups(self) -> list[tuple[Int[np.ndarray, " label"], Int[np.ndarray, " label"]]]:
        """Case of each label, and number of its (annotator, label) pair, by group."""
        pair = self.annotator.astype(np.int64) * self.n_classes + self.label
        own = [slice(None)] if self.group is None else [self.group_of_label == g for g in range(self.n_groups)]
        return [(self.case[at], pair[at]) for at in own]

    @cached_property
    def _tables(self) -> list[csr_array]:
        """Which (annotator, label) pairs each case has, by group."""
        shape = self.n_cases, self.n_annotators * self.n_classes
        kind = float if self.looks is None else np.float32  # many looks: half the time
        return [csr_array((np.ones(len(pair), kind), (case, pair)), shape=shape) for case, pair in self._of_groups]

    @cached_property
    def _rounds(self) -> list[list[tuple[Any, Int[np.ndarray, " case"]]]]:
        """By group: for the first label of cases, the second and so on, which cases have one, and its pair."""
        found = []
        for case, pair in self._of_groups:
            number = np.arange(len(case)) - np.searchsorted(case, case)
            parts = np.split(np.argsort(number, kind="stable"), np.cumsum(np.bincount(number))[:-1])
            found.append([(slice(None) if len(at) == self.n_cases else case[at], pair[at]) for at in parts])
        return found

    def count(self, truth: Int[np.ndarray, "*chain case"]) -> Int[np.ndarray, "*chain annotator class named"]:
        """Count how often each annotator names each class, for each true class."""
        return self.count_seen(truth[..., self.case])

    def count_seen(self, seen: Int[np.ndarray, "*chain label"]) -> Int[np.ndarray, "*chain annotator class named"]:
        """Count how often each annotator names each class, for each class that she saw when she gave a label."""
        k = self.n_classes
        cell = (self.annotator.astype(np.int64) * k + seen) * k + self.label
        return counted(cell, self.n_annotators * k * k).reshape(*seen.shape[:-1], self.n_annotators, k, k)

    def log_labels(
        self, confusion: Float[np.ndarray, "*chain annotator class named"]
    ) -> list[Float[np.ndarray, "*chain look case"]]:
        """Compute the log probability of the labels of each case, by group, for each look, or each class without looks.

        ``confusion`` is the probability that an annotator names a class, given the one that she sees.
        """
        seen = confusion if self.looks is None else self.looks.seen(confusion.astype(np.float32))
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(seen), _SMALLEST_LOG)
        *chains, n_annotators, n_looks, k = logs.shape
        by_pair = np.moveaxis(logs, (-3, -1), (0, 1)).reshape(n_annotators * k, -1)
        found = [np.ascontiguousarray((table @ by_pair.astype(table.dtype)).T) for table in self._tables]
        return [of.reshape(*chains, n_looks, self.n_cases) for of in found]

    def of_looks(
        self, confusion: Float[np.ndarray, "*chain annotator class named"]
    ) -> list[tuple[Float[np.ndarray, "*chain case look"], Float[np.ndarray, "*chain case"]]]:
        """Compute the probability of the labels of each case, by group, for each look, and the logarithm of its unit.

        It is the product over labels, whose units are their probabilities given the class that makes each most
        probable. As unclear looks show every class, one of m labels is at least (5 / 6 K)^m of some look, so that it is
        far from the smallest number of single precision; if it is not, units change. Below 1e-30, it is 1e-30:
        arithmetic with numbers too small for full precision is ten times slower.
        """
        assert self.looks is not None
        *chains, n_annotators, k, _ = confusion.shape
        unit = np.maximum(confusion.max(-2), _SMALLEST)
        shown = np.ascontiguousarray((confusion / unit[..., None, :]).swapaxes(-1, -2), np.float32).reshape(-1, k)
        of_pair = (shown @ self.looks.shares.T.astype(np.float32)).reshape(-1, n_annotators * k, len(self.looks.shares))
        log_unit, found = np.log(unit).reshape(len(of_pair), -1).T, []
        for rounds, table in zip(self._rounds, self._tables, strict=True):
            logs = (table @ log_unit).T
            product = np.ones((len(of_pair), self.n_cases, of_pair.shape[-1]), np.float32)
            for number, (cases, pairs) in enumerate(rounds, 1):
                product[:, cases] *= of_pair.take(pairs, axis=1)
                if number % self.looks.safe == 0:
                    largest = product.max(-1)
                    product = np.maximum(product / largest[..., None], _LEAST)
                    logs += np.log(largest)
            np.maximum(product, _LEAST, out=product)
            found.append((product.reshape(*chains, *product.shape[1:]), logs.reshape(*chains, -1)))
        return found

    def log_joint(
        self,
        prevalence: Float[np.ndarray, "*case class"],
        confusion: Float[np.ndarray, "annotator class named"],
        looks: Float[np.ndarray, "group *class kind"] | None = None,
    ) -> Float[np.ndarray, "case class"]:
        r"""Compute the joint log probability of each true class and the labels of the case.

        .. math:: \log \pi_k + \sum_r \log \theta_{r k y_r}, \quad\text{or}\quad
           \log \pi_k + \sum_g \log \sum_p p_g(p \mid k) \prod_{r \in g} \sum_s \lambda_{ps} \theta_{r s y_r}

        Parameters
        ----------
        prevalence
            :math:`\pi_k`, the probability of each class, in all cases or in each.
        confusion
            :math:`\theta_{rkj}`, the probability that annotator r names class j if the true class is k, or if the case
            looks like k.
        looks
            How common each kind of look is, to each group of annotators; needed if cases have looks.
        """
        with np.errstate(divide="ignore"):
            total = np.maximum(np.log(prevalence), _SMALLEST_LOG)
        if self.looks is None:
            return self.log_labels(confusion)[0].T + total
        assert looks is not None
        for of_looks, given_class in zip(self.of_looks(confusion), self.looks.given_class(looks), strict=True):
            total = total + mixed(*of_looks, given_class).T
        return total


def counted(numbers: Int[np.ndarray, "*row n"], size: int) -> Int[np.ndarray, "*row size"]:
    """Count how often each number below a size is in each row."""
    rows = numbers.reshape(-1, numbers.shape[-1])
    cell = rows + size * np.arange(len(rows))[:, None]
    return np.bincount(cell.ravel(), minlength=size * len(rows)).reshape(*numbers.shape[:-1], size)


def log_mixed(
    logs: Float[np.ndarray, "look row"], given_class: Float[np.ndarray, "look class"]
) -> Float[np.ndarray, "class row"]:
    """Compute log probabilities given each class, from those given each look.

    Examples
    --------
    >>> np.exp(log_mixed(np.log([[0.2], [0.6]]), np.array([[0.5, 1.0], [0.5, 0.0]]))).round(3).tolist()
    [[0.4], [0.2]]
    """
    largest = logs.max(-2)
    return mixed(np.exp(np.maximum(logs - largest, -60)).T, largest, given_class)


def mixed(
    probability: Float[np.ndarray, "*chain row look"],
    log_unit: Float[np.ndarray, "*chain row"],
    given_class: Float[np.ndarray, "*chain look class"],
) -> Float[np.ndarray, "*chain class row"]:
    """Compute what :func:`log_mixed` does, from probabilities and the logarithm of the unit of each row."""
    with np.errstate(divide="ignore"):
        of_class = np.log(given_class.swapaxes(-1, -2) @ probability.swapaxes(-1, -2))
    return np.maximum(of_class, _SMALLEST_LOG) + log_unit[..., None, :]
