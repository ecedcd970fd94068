"""Disagreements δ between two labels, sets of labels by annotator and case, and how far these and models are apart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from plausibly.agreement.pairs import different, pairs_across, pairs_within
from plausibly.base.errors import ArgumentError, DistanceError, show, suggest
from plausibly.base.progress import Progress
from plausibly.data.annotations.io.answers import literal
from plausibly.data.labels.container import Labels
from plausibly.data.labels.table import to_objects
from plausibly.distances import BY_TYPE, DISTANCES, Distance, Jaccard, LabelRefused, PairRefused, find_distance

Compare: TypeAlias = Callable[[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]], Float[np.ndarray, " pair"]]

NUMERIC = ("squared", "absolute", "hinge")
NAMES = ("nominal", *NUMERIC)

_PART = 1 << 17  # pairs of different labels that a distance compares at a time

#: Distances of labels that have parts, which in a cell of a table are written as text.
_OF_PARTS = tuple(
    {
        type(one)
        for of in ("sets", "vectors", "boxes", "keypoints", "spans", "rankings", "partial rankings")
        for one in BY_TYPE[of].values()
    }
)


@dataclass(frozen=True)
class Delta:
    """A disagreement: a formula, or a distance between two labels.

    A distance is taken to be symmetric; `tolerance` is λ of ``"hinge"``.
    """

    name: str
    distance: Distance | None = None
    tolerance: float = 0.0

    @property
    def is_numeric(self) -> bool:
        """Whether labels have to be numbers."""
        return self.distance is None and self.name in NUMERIC

    @property
    def pairs_of_seconds(self) -> int:
        """Number of pairs that take seconds: by a formula, by arrays of labels' parts, or by a call for each."""
        return 20_000_000 if self.distance is None else 20_000 if self.distance.slow else 500_000

    def compare(self, values: np.ndarray, n_labels: int | None = None) -> Compare:
        """Return a function that gives the disagreements of pairs of these labels, by their indices.

        `values` are codes for ``"nominal"``, float64 for numeric disagreements, else objects; the first `n_labels` of
        them (all if None) are the annotators'. A distance that depends on how frequent labels are (ordinal) counts
        those only, so that no model alters the annotators' disagreement. Raises LabelRefused if a distance cannot take
        a label.
        """
        if self.distance is not None:
            return _by_distance(self.distance, values, len(values) if n_labels is None else n_labels)
        if self.name == "nominal":
            return lambda left, right: (values[left] != values[right]).astype(np.float64)
        if self.name == "squared":
            return lambda left, right: (values[left] - values[right]) ** 2
        return lambda left, right: np.maximum(np.abs(values[left] - values[right]) - self.tolerance, 0.0)


def find_delta(delta: str | Callable[[Any, Any], float], tolerance: float | None = None) -> Delta:
    """Find a disagreement by a name in :data:`NAMES` or in ``plausibly.distances``, or make one of a function.

    `tolerance` is λ of ``"hinge"``, at least 0: the distance of two numbers up to which they do not disagree.
    """
    if tolerance is not None and not (isinstance(delta, str) and delta == "hinge"):
        raise ArgumentError(f"only hinge has a tolerance, but {tolerance!r} was given with {delta!r}: leave it out.")
    if isinstance(delta, str) and delta in NAMES:
        if delta == "hinge" and (tolerance is None or not 0 <= tolerance < np.inf):
            raise ArgumentError(
                f"hinge needs a tolerance of at least 0, but {tolerance!r} was given: pass for example tolerance=1."
            )
        return Delta(delta, None, tolerance or 0.0)
    try:
        distance = find_distance(delta)
    except ArgumentError:
        names = [*dict.fromkeys([*NAMES, *DISTANCES])]
        fix = suggest(delta, names, f"choose from {', '.join(names)}, or pass a function.")
        raise ArgumentError(f"there is no distance {show(delta)}: {fix}") from None
    return Delta(delta if isinstance(delta, str) else distance.name, distance)


def _parsed(value: Any, distance: Distance) -> Any:
    """Read text as what it stands for; a set may also be text such as ``a|b``, which its distance reads."""
    if isinstance(value, str) and (not isinstance(distance, Jaccard) or value.lstrip()[:1] in ("[", "(", "{")):
        return literal(value)
    return value


def _by_distance(distance: Distance, values: np.ndarray, n_labels: int) -> Compare:
    """Compare each pair of different labels once in a call."""
    if isinstance(distance, _OF_PARTS):
        values = to_objects(_parsed(value, distance) for value in values.tolist())
    first, code = different(values)
    distinct = values[first].tolist()
    try:
        encoded = distance.encode(distinct, np.bincount(code[:n_labels], minlength=len(distinct)))
    except LabelRefused as error:
        raise LabelRefused(str(error), int(first[error.position])) from error
    known: dict[int, float] = {}  # of a slow distance, from earlier calls

    def between(keys: np.ndarray) -> np.ndarray:
        a, b = np.divmod(keys, len(distinct))
        try:
            found = distance.between(encoded, a, b)
        except PairRefused as error:
            pair = f"{show(distinct[error.left])} and {show(distinct[error.right])}"
            raise DistanceError(f"{error} on {pair}; correct the function") from error.__cause__
        for bad in np.flatnonzero(~((found >= 0) & (found < np.inf)))[:1]:
            raise ArgumentError(
                f"a disagreement is a finite number of at least 0, but that of {show(distinct[a[bad]])} and "
                f"{show(distinct[b[bad]])} is {found[bad]:g}: correct the function."
            )
        return found

    def compare(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        # Annotators' and models' labels keep their order within a pair.
        keys, place = np.unique(code[left] * len(distinct) + code[right], return_inverse=True)
        if distance.slow:
            new = np.array([key for key in keys.tolist() if key not in known], np.int64)
            known.update(zip(new.tolist(), between(new).tolist(), strict=True))
            return np.array([known[key] for key in keys.tolist()])[place]
        parts = [between(keys[begin : begin + _PART]) for begin in range(0, len(keys), _PART)]
        return np.concatenate([*parts, np.empty(0)])[place]

    return compare


PerSet = Float[np.ndarray, " set"]


@dataclass(frozen=True)
class LabelSets:
    """All labels that one annotator gave one case form a set: mostly a single label, several if it was repeated."""

    case: Int[np.ndarray, " set"]  # in the order of the labels
    annotator: Int[np.ndarray, " set"]
    size: Int[np.ndarray, " set"]  # number of labels
    of_label: Int[np.ndarray, " label"]  # set of every label
    start: Int[np.ndarray, " boundary"]  # the sets of case i are those from start[i] to start[i + 1]

    @classmethod
    def of(cls, labels: Labels) -> "LabelSets":
        """Gather the labels of each annotator in each case."""
        first = np.concatenate([[True], (np.diff(labels.case) != 0) | (np.diff(labels.annotator) != 0)])
        of_label = np.cumsum(first) - 1
        case = labels.case[first]
        start = np.searchsorted(case, np.arange(len(labels.cases) + 1))
        return cls(case, labels.annotator[first], np.bincount(of_label), of_label, start)

    @property
    def n_annotators(self) -> Int[np.ndarray, " case"]:
        """Number of annotators of each case."""
        return np.diff(self.start)


def discrepancy_to_others(
    labels: Labels, values: np.ndarray, sets: LabelSets, delta: Delta, compare: Compare, progress: Progress
) -> PerSet:
    r"""Sum a set's discrepancies to all other sets of its case, :math:`\sum_{j' \ne j} \psi(Y_j, Y_{j'})`.

    `values` are the labels in the form that `delta` compares, and `compare` its function of pairs of them.
    """
    if delta.name == "nominal" and delta.distance is None:
        return _nominal(values, sets)
    total = np.zeros(len(sets.case))
    sizes = np.diff(labels.start).astype(np.int64)
    advance = progress.task("Comparing labels", int((sizes * (sizes - 1) // 2).sum()), "pairs")
    for left, right in pairs_within(labels.start):
        advance(len(left))
        first, second = sets.of_label[left], sets.of_label[right]
        other = first != second
        first, second = first[other], second[other]
        mean = compare(left[other], right[other]) / (sets.size[first] * sets.size[second])
        total += np.bincount(first, mean, len(total)) + np.bincount(second, mean, len(total))
    return total


def discrepancy_to_model(
    model_case: Int[np.ndarray, " prediction"],
    place: Int[np.ndarray, " prediction"],
    labels: Labels,
    sets: LabelSets,
    compare: Compare,
    progress: Progress,
) -> PerSet:
    r"""Discrepancy of a model's predictions to every set of labels, :math:`\psi(m, Y_j)`; NaN without a prediction.

    A case may have several predictions; `place` is the index of each in what `compare` compares.
    """
    total = np.zeros(len(sets.case))
    advance = progress.task("Comparing predictions", int(np.diff(labels.start)[model_case].sum()), "pairs")
    for left, right in pairs_across(model_case, labels.start):
        advance(len(left))
        total += np.bincount(sets.of_label[right], compare(place[left], right), len(total))
    n_pairs = np.bincount(model_case, minlength=len(labels.cases))[sets.case] * sets.size
    return np.divide(total, n_pairs, out=np.full(len(total), np.nan), where=n_pairs > 0)


def mean_by_case(values: PerSet, sets: LabelSets) -> Float[np.ndarray, " case"]:
    """Mean over the sets of each case; NaN without one."""
    n = sets.n_annotators
    return np.divide(np.bincount(sets.case, values, len(n)), n, out=np.full(len(n), np.nan), where=n > 0)


def _nominal(code: np.ndarray, sets: LabelSets) -> np.ndarray:
    """From counts: two sets agree as often as their shares of each label meet."""
    n_labels = int(code.max()) + 1
    cells, place = np.unique(sets.of_label * n_labels + code, return_inverse=True)
    of_set = cells // n_labels
    share = np.bincount(place) / sets.size[of_set]
    _, place = np.unique(sets.case[of_set] * n_labels + cells % n_labels, return_inverse=True)
    of_case = np.bincount(place, share)[place]
    agreement = np.bincount(of_set, share * (of_case - share), len(sets.case))
    # What is left of a difference of sums of shares such as 1/3 is not a disagreement.
    others = sets.n_annotators[sets.case] - 1
    return np.where(np.isclose(agreement, others, rtol=1e-12, atol=0), 0.0, others - agreement)


def ratio_of(model: Any, annotators: Any) -> np.ndarray:
    """Ratio; nothing by nothing is 1, since the model is as close to the annotators as they are to each other."""
    model, annotators = np.broadcast_arrays(np.asarray(model, float), np.asarray(annotators, float))
    alike = np.where(model > 0, np.inf, 1.0)
    return np.divide(model, annotators, out=alike, where=annotators > 0)


def taken_out(sets: LabelSets, to_others: PerSet, n_annotators: int) -> Float[csr_array, "case statistic"]:
    """Discrepancies of every annotator as a model of the others, by case, each in a column for every annotator.

    In cases with two others, since fewer have no discrepancy of their own: the discrepancy to the others, theirs to
    each other, and 1. In cases with others: the discrepancy to them less that of two annotators of the case, and 1.
    """
    n, total = sets.n_annotators[sets.case], np.bincount(sets.case, to_others)[sets.case]
    each, ones = to_others / np.maximum(n - 1, 1), np.ones(len(n))
    more = each - total / np.maximum(n * (n - 1), 1)
    values = np.column_stack([each, _among_others(sets, to_others), ones, more, ones])
    there = np.column_stack([n >= 3] * 3 + [n >= 2] * 2)
    place, statistic = np.nonzero(there)
    columns = sets.annotator[place] + n_annotators * statistic
    shape = (len(sets.start) - 1, n_annotators * values.shape[1])
    return csr_array((values[there], (sets.case[place], columns)), shape=shape)


def _among_others(sets: LabelSets, to_others: PerSet) -> PerSet:
    """Discrepancy among the others of a set's case; 0 where there are not two."""
    n, total = sets.n_annotators[sets.case], np.bincount(sets.case, to_others)[sets.case]
    # A case of which one annotator is taken out leaves a sum of nothing where the others agree.
    left = total - 2 * to_others
    return np.where(left > 1e-12 * total, left, 0.0) / np.maximum((n - 1) * (n - 2), 1)


def ratios_of_annotators(
    sums: Float[np.ndarray, "*replicate statistic"], people: int
) -> tuple[Float[np.ndarray, "*replicate annotator"], Float[np.ndarray, "*replicate annotator"]]:
    """Ratios of annotators left out, and their disagreement with the others relative to α; NaN without a case."""
    each = sums[..., :-2].reshape(*sums.shape[:-1], 5, people)
    discrepancy, others, n_left_out, more, n_compared = np.moveaxis(each, -2, 0)
    alpha = (sums[..., -2] / sums[..., -1])[..., None]
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = np.where(alpha > 0, 1 + more / n_compared / alpha, np.where(n_compared > 0, 1.0, np.nan))
    return np.where(n_left_out > 0, ratio_of(discrepancy, others), np.nan), relative


def without_each(
    sets: LabelSets, to_others: PerSet, to_models: Sequence[PerSet], people: int
) -> tuple[Float[np.ndarray, "annotator 1+model"], Float[np.ndarray, " annotator"]]:
    """Sum discrepancies over the cases that two annotators are left of, as if an annotator had never taken part.

    Returns sums of the annotators' discrepancy and every model's, and the number of these cases, for each annotator.
    """
    n = sets.n_annotators
    n_cases, case, annotator = len(n), sets.case, sets.annotator
    total = np.bincount(case, to_others, n_cases)
    models = [np.bincount(case, values, n_cases) for values in to_models]
    pairs, each = np.maximum(n * (n - 1), 1), np.maximum(n, 1)
    whole = np.column_stack([total / pairs, *(model / each for model in models), np.ones(n_cases)])
    sums = np.tile(whole[n >= 2].sum(axis=0), (people, 1))
    # Of the cases of an annotator, take what is there away, and put back what is left without them.
    left = n[case] - 1
    two = left >= 2
    rest = [(model[case] - values) / np.maximum(left, 1) for model, values in zip(models, to_models, strict=True)]
    change = np.where(two[:, None], np.column_stack([_among_others(sets, to_others), *rest, np.ones(len(case))]), 0.0)
    change = (change - whole[case])[n[case] >= 2]
    np.add.at(sums, annotator[n[case] >= 2], change)
    return sums[:, :-1], sums[:, -1]
