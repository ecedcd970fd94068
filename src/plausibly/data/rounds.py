"""Which labels of a case came first, and whether how many there are depends on what these say.

Often a third person is asked where the first two differ, a second one where the first sees something, or more where a
case is hard. Then pairs of labels are of selected cases, and agreement over all of them is not that of two experts. A
case gets a further label after its first n, or does not: the first n at which this depends on what they say is where
cases are selected, and the first n labels of every case are a fair sample.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from plausibly.base.errors import AnnotationError, PlausiblyWarning

COLUMNS = ("round", "time")  #: of a table, which say in which order labels were given
LEVEL = 0.001  #: p-value below which the number of labels depends on them
_CLEAR = 0.02  # the same, where it follows from them without exception
_PERMUTATIONS = 1_999
_NUMBERS = 1 << 20  # in memory at once
_CASES = 4_000  # of which, drawn at random, the dependence is tested
_FEWEST = 2  # cases with further labels, and without, of which a rule may be read
_MOST_LABELS, _MOST_CLASSES = 6, 10  # up to which it is tested


@dataclass(frozen=True)
class Rounds:
    """A dependence of the number of labels of a case on its first labels.

    Parameters
    ----------
    first
        Number of labels after which it depends on them whether a case gets another.
    n_cases, n_more
        Number of cases with that many labels, and of those with more.
    rule
        Whether it follows from them without exception: exactly those cases end there whose labels agree (of one label:
        are of some classes).
    agree
        Shares of pairs of labels that are equal, in cases that end there and in others; NaN of one label.
    kept
        Whether each label is one of the first or, by the rule, one of as many that may have been, drawn at random; None
        if neither an order nor a rule tells.
    place
        Place of each label in its case, from 0; None if that is not known.
    """

    first: int
    n_cases: int
    n_more: int
    rule: bool
    agree: tuple[float, float]
    kept: Bool[np.ndarray, " label"] | None
    place: Int[np.ndarray, " label"] | None

    @property
    def found(self) -> str:
        """What was found, as a sentence without its full stop."""
        n, more, all_ = self.first, f"{self.n_more:,}", f"{self.n_cases:,} cases"
        if self.rule and n > 1:
            return f"Cases have a further label where the {self.firsts} differ ({more} of {all_})"
        if n == 1:
            return f"Which cases have a second label ({more} of {all_}) depends on what the first one says"
        if self.kept is None:
            ends, goes_on = (f"{100 * share:.0f} %" for share in self.agree)
            return (
                f"The {more} of {all_} with more than {n} labels are not a random part: their labels agree in "
                f"{goes_on}, those of the others in {ends}"
            )
        return f"Which cases have more than {n} labels ({more} of {all_}) depends on what the {self.firsts} say"

    @property
    def firsts(self) -> str:
        """The first labels, in words."""
        return "first label" if self.first == 1 else f"first {_WORDS.get(self.first, self.first)} labels"

    @property
    def told(self) -> str:
        """What was found, and of which labels agreement therefore is, as sentences."""
        if self.kept is None:
            return f"{self.found}, so how often annotators agree cannot be told: {REMEDY}."
        alone = ", and how often annotators agree with each other cannot be told" if self.first == 1 else ""
        if self.place is None:  # a rule tells which labels may have been the first, and nothing which were
            of = f"{self.firsts.removeprefix('first ')} of each case that may have come first, drawn at random"
        else:
            of = f"the {self.firsts} of each case"
        return f"{self.found}: agreement is of {of}{alone}."

    def refuse(self, what: str = "how often annotators agree") -> None:
        """Refuse what needs pairs of labels, if these cannot be told.

        Raises
        ------
        AnnotationError
            If nothing tells which labels came first, or it depends on the first one whether there is a second one.
        """
        if self.kept is None:
            raise AnnotationError(f"{self.found}, so {what} cannot be told; {REMEDY}")
        if self.first == 1:
            raise AnnotationError(
                f"{self.found}, so {what} cannot be told: the pairs are of selected cases; have some cases, drawn at "
                "random, labelled by a second person, and give these alone"
            )


_WORDS = {2: "two", 3: "three", 4: "four", 5: "five"}
REMEDY = (
    "add a column 'round' (1, 2, …) that says in which order the labels of a case were given, or give the labels of "
    "cases that were drawn at random"
)


def tell(found: Rounds | None) -> None:
    """Warn of what was found, if anything was."""
    if found is not None:
        warnings.warn(found.told, PlausiblyWarning, stacklevel=3)


def rounds(
    case: Int[np.ndarray, " label"],
    code: Int[np.ndarray, " label"],
    order: Int[np.ndarray, " label"] | None,
    number: Float[np.ndarray, " label"] | None = None,
    seed: int = 0,
) -> Rounds | None:
    """Find out whether the number of labels of a case depends on the first ones.

    Tested by permutation: the classes of the first n labels, how often they agree and, of numbers, their mean and
    spread, in cases that have more labels and in those that have not, for n from 1 on. If the order is unknown, n
    labels of each case are drawn at random, which in a design that does not depend on labels are as good as any.

    Parameters
    ----------
    case, code
        Case of every label, not decreasing, and which of the different labels it is.
    order
        Place of every label in the order in which its case got them; None if unknown.
    number
        Labels as numbers, if they are.
    seed
        Random seed of permutations and of the labels drawn.

    Returns
    -------
    None if it does not depend on them, as far as these labels tell.

    Examples
    --------
    A third reader where two differ:

    >>> random = np.random.default_rng(0)
    >>> yes = random.random((100, 3)) < random.beta(0.5, 0.5, (100, 1))
    >>> asked = np.column_stack([yes[:, 0] >= 0, yes[:, 1] >= 0, yes[:, 0] != yes[:, 1]])
    >>> found = rounds(np.nonzero(asked)[0], yes[asked].astype(int), None)
    >>> found.found, found.kept.sum().item()
    ('Cases have a further label where the first two labels differ (32 of 100 cases)', 200)
    """
    if not len(case):
        return None
    _, case, n_labels = np.unique(case, return_inverse=True, return_counts=True)
    if n_labels.min() == n_labels.max():
        return None
    random = np.random.default_rng([seed, 5])
    start = np.cumsum(n_labels) - n_labels
    rank = random.random(len(case)) if order is None else order
    place = np.empty(len(case), np.int64)
    place[np.lexsort((rank, case))] = np.arange(len(case)) - start[case]
    for first in range(int(n_labels.min()), min(int(n_labels.max()), _MOST_LABELS + 1)):
        reached = n_labels >= first
        more = n_labels[reached] > first
        if min(more.sum(), (~more).sum()) < _FEWEST:
            continue
        there = reached[case]
        chosen = there & (place < first)
        of_case = np.cumsum(reached) - 1
        rule = _rule(of_case[case[there]], code[there], more, first)
        if rule is None and min(more.sum(), (~more).sum()) < _FEWEST + 1:
            continue
        features = _features(code[chosen].reshape(-1, first), None if number is None else number[chosen])
        p_value = dependence(features, more, random)
        if p_value > (LEVEL if rule is None else _CLEAR):
            continue
        kept = where = None
        if order is not None and (rule is None or _obeys(code[chosen].reshape(-1, first), more, rule)):
            kept, where = place < first, place
        elif rule is not None:  # whatever that order is one of
            kept = ~there
            kept[there] = _drawn(of_case[case[there]], code[there], more, first, rule, random)
        agree = _agreement(case, code, n_labels)[reached]
        shares = (np.nan, np.nan) if first < 2 else (float(agree[~more].mean()), float(agree[more].mean()))
        return Rounds(first, int(reached.sum()), int(more.sum()), rule is not None, shares, kept, where)
    return None


def _rule(case: np.ndarray, code: np.ndarray, more: np.ndarray, first: int) -> np.ndarray | None:
    """Classes (of one label), or agreement, with which every case ends and no other does; None if there is no rule."""
    n_classes = int(code.max()) + 1
    votes = np.unique(case * n_classes + code)
    if first > 1:
        one_class = np.bincount(votes // n_classes, minlength=len(more)) == 1
        return np.empty(0) if (one_class == ~more).all() else None
    ends = ~more[votes // n_classes]
    last = np.unique(votes[ends] % n_classes)
    others = votes[~ends]
    further = ~np.isin(others % n_classes, last)
    return last if len(np.unique(others[further] // n_classes)) == more.sum() else None


def _obeys(labels: np.ndarray, more: np.ndarray, rule: np.ndarray) -> bool:
    """Whether the first labels of cases are as the rule has it."""
    ends = np.isin(labels[:, 0], rule) if labels.shape[1] == 1 else (labels == labels[:, :1]).all(axis=1)
    return bool((ends == ~more).all())


def _drawn(case: np.ndarray, code: np.ndarray, more: np.ndarray, first: int, rule: np.ndarray, random) -> np.ndarray:
    """Draw labels that may have been the first: all of cases that end, and of others any that go on by the rule."""
    kept = ~more[case]
    left = np.flatnonzero(~kept)
    while len(left):
        own, start = np.unique(case[left], return_index=True)
        chance = random.random(len(left)) + (np.isin(code[left], rule) if first == 1 else 0)
        drawn = left[np.lexsort((chance, case[left]))[start[:, None] + np.arange(first)]]
        fits = np.ones(len(own), bool) if first == 1 else (code[drawn] != code[drawn[:, :1]]).any(axis=1)
        kept[drawn[fits]] = True
        left = left[np.isin(case[left], own[~fits])]
    return kept


def _features(labels: Int[np.ndarray, "case n"], numbers: np.ndarray | None) -> Float[np.ndarray, "case feature"]:
    """Shares of the most frequent labels, how often two agree, and of numbers the mean and the spread."""
    codes, count = np.unique(labels, return_counts=True)
    frequent = codes[np.argsort(-count)[:_MOST_CLASSES]]
    columns = [(labels == one).mean(axis=1) for one in frequent if count[codes == one] > 1]
    if (n := labels.shape[1]) > 1:
        equal = sum((labels[:, i] == labels[:, j]).astype(float) for i in range(n) for j in range(i))
        columns.append(equal)
    if numbers is not None:
        numbers = np.unique(numbers, return_inverse=True)[1].reshape(labels.shape)
        columns += [numbers.mean(axis=1), numbers.std(axis=1)]
    return np.column_stack(columns) if columns else np.zeros((len(labels), 1))


def dependence(
    features: Float[np.ndarray, "case feature"], more: Bool[np.ndarray, " case"], random: np.random.Generator
) -> float:
    """p-value of the greatest standardised difference between two groups of cases, by permutation."""
    if len(more) > _CASES:
        some = random.choice(len(more), _CASES, replace=False)
        features, more = features[some], more[some]
    spread = features.std(axis=0)
    features = ((features - features.mean(axis=0))[:, spread > 0] / spread[spread > 0]).astype(np.float32)
    n_more = int(more.sum())
    if not features.shape[1] or not 0 < n_more < len(more):
        return 1.0
    found = np.abs(features[more].sum(axis=0)).max()
    small = min(n_more, len(more) - n_more)  # either group tells as much
    exceeded, step = 0, max(1, _NUMBERS // len(more))
    for first in range(0, _PERMUTATIONS, step):
        order = random.random((min(step, _PERMUTATIONS - first), len(more)), dtype=np.float32)
        drawn = order <= np.partition(order, small - 1, axis=1)[:, small - 1, None]
        exceeded += int((np.abs(drawn.astype(np.float32) @ features).max(axis=1) >= found * (1 - 1e-5)).sum())
    return (1 + exceeded) / (1 + _PERMUTATIONS)


def _agreement(case: np.ndarray, code: np.ndarray, n_labels: np.ndarray) -> np.ndarray:
    """Share of the pairs of labels of each case that are equal; NaN of one label."""
    _, which, count = np.unique(case * (int(code.max()) + 1) + code, return_index=True, return_counts=True)
    equal = np.bincount(case[which], count * (count - 1.0), len(n_labels))
    return np.divide(equal, n_labels * (n_labels - 1.0), out=np.full(len(n_labels), np.nan), where=n_labels > 1)
