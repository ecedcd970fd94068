"""Gwet's AC1 and AC2, and Fleiss' kappa: agreement beyond two ideas of chance, with intervals over cases."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from plausibly.agreement.pairs import check_two_annotators, count_votes, single_labels
from plausibly.base.bootstrap import cluster_counts
from plausibly.base.checks import check_choice, to_numbers
from plausibly.base.errors import AnnotationError, ArgumentError, show
from plausibly.data.labels.container import Labels

Weights = Literal["nominal", "ordinal", "linear", "quadratic"]
WEIGHTS = ("nominal", "ordinal", "linear", "quadratic")


def gwet_ac(labels: Any, weights: Weights = "nominal", classes: Iterable[Any] | None = None) -> float:
    r"""Compute Gwet's AC1 or, with weights for labels that nearly agree, AC2.

    With :math:`w` the weights of pairs of the q classes, :math:`\pi` the mean shares of the classes and :math:`p_a` the
    mean weight of two labels of a case,

    .. math::
       p_e = \frac{\sum_{kl} w_{kl}}{q (q - 1)} \sum_k \pi_k (1 - \pi_k), \qquad AC = \frac{p_a - p_e}{1 - p_e}.

    Kappa and alpha fall where one class is frequent, AC does not: there chance gives little agreement by its
    definition. 1 is perfect agreement, even if a single class is in use.

    Parameters
    ----------
    labels
        See :meth:`Labels.of`; an annotator labels a case at most once. Cases with one label count in the shares.
    weights
        ``"nominal"`` for AC1. For AC2 of numbers, or of classes in their order, ``"linear"`` or ``"quadratic"``, by the
        difference over the greatest one; ``"ordinal"``, by the number of pairs of classes from one to the other.
    classes
        All classes in their order, including unused ones, which count in q; by default the labels that occur
        and, if these have an order, all that it has.

    Raises
    ------
    AnnotationError
        If no case has two annotators, an annotator labels a case twice, or a label is none of the classes.
    ArgumentError
        If there are no such weights, or classes that are not numbers are compared by order without having one.

    References
    ----------
    Gwet (2008), Computing inter-rater reliability and its variance in the presence of high agreement, British Journal
    of Mathematical and Statistical Psychology 61; Gwet (2014), Handbook of inter-rater reliability, 4th edition.

    Examples
    --------
    >>> labels = {"p": {"a": 1, "b": 1}, "q": {"a": 1, "b": 1}, "r": {"a": 0, "b": 1}}
    >>> round(gwet_ac(labels), 3)
    0.538
    """
    labels = single_labels(Labels.of(labels), "AC1" if weights == "nominal" else "")
    return CaseShares.of(labels, weights, classes).value()


@dataclass(frozen=True)
class CaseShares:
    """How often each class is given in each case that has labels, and how well these agree (NaN of one label).

    Coefficients are functions of sums over cases, of which the bootstrap draws some.
    """

    counts: Float[np.ndarray, "case class"]
    agree: Float[np.ndarray, " case"]
    weights: Float[np.ndarray, "class class"]

    @classmethod
    def of(cls, labels: Labels, weights: str = "nominal", classes: Iterable[Any] | None = None) -> "CaseShares":
        """Count the labels of each case; see :func:`gwet_ac`."""
        n = np.diff(labels.start)
        check_two_annotators(labels, n)
        names, code = _classes(labels, classes)
        between = agreement_weights(weights, names, ordered=classes is not None or labels.order is not None)
        counts = count_votes(labels.case, code, len(n), len(names))[n > 0].astype(float)
        n = n[n > 0]
        alike = (counts * (counts @ between)).sum(1) - n
        agree = np.divide(alike, n * (n - 1), out=np.full(len(n), np.nan), where=n > 1)
        return cls(counts, agree, between)

    @property
    def _columns(self) -> Float[np.ndarray, "case 3+2*class"]:
        two, n = ~np.isnan(self.agree), self.counts.sum(1)
        ones = np.ones(len(n))
        rest = self.counts / n[:, None], self.counts * two[:, None]
        return np.column_stack([np.where(two, self.agree, 0), two, ones, *rest])

    def _by_chance(self, sums: Float[np.ndarray, "draw column"], *, fleiss: bool) -> Float[np.ndarray, " draw"]:
        """Agreement that Fleiss, or Gwet, takes for chance."""
        q = self.counts.shape[1]
        if fleiss:
            shares = sums[:, 3 + q :] / np.maximum(sums[:, 3 + q :].sum(1, keepdims=True), 1e-300)
            return (shares**2).sum(1)
        shares = sums[:, 3 : 3 + q] / sums[:, 2, None]
        return self.weights.sum() / max(q * (q - 1), 1) * (shares * (1 - shares)).sum(1)

    def value(self, *, fleiss: bool = False) -> float:
        """AC1, AC2 or Fleiss' kappa."""
        sums = self._columns.sum(0)[None]
        return float(_beyond(sums[:, 0] / sums[:, 1], self._by_chance(sums, fleiss=fleiss))[0])

    def bootstrap(self, replicates: int, seed: int, *, fleiss: bool = False) -> Float[np.ndarray, " replicate"]:
        """The same of drawn cases, and of one more that by the toss of a coin agrees perfectly or as by chance."""
        columns = self._columns
        sums = np.concatenate([counts @ columns for _, counts in cluster_counts(len(columns), replicates, seed)])
        by_chance = self._by_chance(sums, fleiss=fleiss)
        random = np.random.default_rng([seed, 1])
        more = random.standard_exponential(replicates)
        alike = np.where(random.random(replicates) < 0.5, 1.0, by_chance)
        return _beyond((sums[:, 0] + more * alike) / (sums[:, 1] + more), by_chance)


def agreement_weights(weights: str, names: Any, *, ordered: bool) -> Float[np.ndarray, "class class"]:
    """Weights of pairs of classes, 1 of the same, in one of the ways of :func:`gwet_ac`."""
    q = len(names)
    check_choice("weights", weights, WEIGHTS)
    if weights == "nominal" or q == 1:
        return np.eye(q)
    numbers = to_numbers(names)
    if np.isnan(numbers).any() and not ordered:
        raise ArgumentError(
            f"{weights} weights are of numbers, or of classes in their order, but one is {show(names[0])}: "
            "give classes=[…], the lowest first."
        )
    places = np.arange(q, dtype=float)
    if weights != "ordinal" and not np.isnan(numbers).any():
        places = numbers
    apart = np.abs(places[:, None] - places)
    if weights == "ordinal":
        apart = apart * (apart + 1) / 2
    apart /= apart.max()
    return 1 - (apart**2 if weights == "quadratic" else apart)


def _classes(labels: Labels, classes: Iterable[Any] | None) -> tuple[Any, np.ndarray]:
    """All classes, in their order, and the index of every label among them."""
    names, code = labels.coded
    order = list(labels.order or names.tolist()) if classes is None else list(classes)
    place = {name: at for at, name in enumerate(order)}
    for label in np.flatnonzero([name not in place for name in names.tolist()])[:1]:
        raise AnnotationError(
            f"{labels.where(int(np.flatnonzero(code == label)[0]))}: the label {show(names.tolist()[label])} is none "
            f"of the classes; add it there"
        )
    return order, np.array([place[name] for name in names.tolist()])[code]


def _beyond(observed: Float[np.ndarray, " draw"], expected: Float[np.ndarray, " draw"]) -> Float[np.ndarray, " draw"]:
    """Agreement beyond chance; 1 where labels agree perfectly, whatever chance gives."""
    room = 1 - expected
    return np.divide(observed - expected, room, out=np.ones(len(room)), where=(room > 0) & (observed < 1))
