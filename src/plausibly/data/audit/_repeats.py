"""Cases with the same annotations as others, more often than chance gives: duplicates, and tables pasted twice."""

import numpy as np
from jaxtyping import Float, Int
from pandas.util import hash_array

from plausibly.base.names import many
from plausibly.data.annotations import Annotations
from plausibly.data.audit._finding import SHOWN, Finding, Prints, fingerprints

_BY_CHANCE = 0.05  # how many cases may be expected to have by chance what is reported of them
_PASTED = 1e-6  # probability that chance gives a run of equal cases, below which it is a copy
_FREQUENT = 8  # equal cases, from which on it is looked at what follows them
_LEAST_PASTED = 3  # cases in a run
_LAGS = 3  # distances between equal cases, the most frequent ones, at which a run is looked for


def identical_cases(annotations: Annotations, prints: Prints) -> Finding:
    """Find cases with the annotations of an earlier one, where these are so rare that chance does not explain it."""
    key = annotations.entry_case.astype(np.int64) * annotations.n_classes + annotations.entry_class
    n_named = np.bincount(np.unique(key) // annotations.n_classes, minlength=annotations.n_cases)
    eligible = np.flatnonzero(n_named > 1)
    _, first, inverse = np.unique(_of_case(annotations, prints)[eligible], return_index=True, return_inverse=True)
    # Of the rarest patterns, as many as leave hardly any repetition to be expected.
    log_p = _log_chance(annotations)[eligible]
    order = np.argsort(log_p, kind="stable")
    expected = np.empty(len(eligible))
    expected[order] = np.cumsum(np.exp(log_p[order])) * annotations.n_cases / 2
    original = eligible[first[inverse]]
    again = np.flatnonzero((original != eligible) & (expected <= _BY_CHANCE))
    names = annotations.cases
    examples = [f"{names[original[i]]} = {names[eligible[i]]}" for i in again[:SHOWN]]
    return Finding("identical cases", len(again), len(eligible), examples)


def pasted(annotations: Annotations) -> str | None:
    """Say that a row of cases repeats an earlier one under other names, as where a table was pasted twice.

    Looks for the longest run of cases with the same annotations as those at one distance before them. None if there is
    no run that chance, by the frequencies of the answers to cases that look alike, cannot explain.
    """
    annotations = annotations.annotated
    n = annotations.n_cases
    if n < 2 * _LEAST_PASTED:
        return None
    said = _of_case(annotations, fingerprints(annotations))
    log_p = np.maximum(_log_chance(annotations), _log_chance_after(said))
    order = np.argsort(said, kind="stable")
    near = np.diff(order)[np.diff(said[order].astype(np.int64)) == 0]
    lags, counts = np.unique(near, return_counts=True)
    often = lags[np.argsort(-counts, kind="stable")[:_LAGS]].tolist()
    best: tuple[float, int, int, int] | None = None
    for lag in sorted({*often, n // 2} - {0}):
        same = np.concatenate([[False], said[lag:] == said[:-lag], [False]])
        begin, end = (
            np.flatnonzero(np.diff(same.astype(np.int8)) == 1),
            np.flatnonzero(np.diff(same.astype(np.int8)) == -1),
        )
        upto = np.append(0.0, np.cumsum(log_p[:-lag]))
        for first, last in zip(begin.tolist(), end.tolist(), strict=True):
            # Each is a case and its copy; a run longer than the lag is a pattern that repeats itself.
            size = min(last - first, lag)
            chance = upto[first + size] - upto[first] + 2 * np.log(n)
            if size >= _LEAST_PASTED and chance < np.log(_PASTED) and (best is None or chance < best[0]):
                best = chance, first, size, lag
    if best is None:
        return None
    _, first, size, lag = best
    names = annotations.cases
    one, other = (f"{names[at]!s} to {names[at + size - 1]!s}" for at in (first + lag, first))
    return (
        f"The {many(size, 'case')} {one} repeat the cases {other}, annotation by annotation: if they are the same "
        "cases under other names, leave them out, since intervals take them for new ones."
    )


def _log_chance_after(said: Prints) -> Float[np.ndarray, " case"]:
    """Log share of what follows the same case as the one before, which is 0 in sorted tables; −∞ if it is rare."""
    _, code, times = np.unique(said, return_inverse=True, return_counts=True)
    _, pair, both = np.unique(code[:-1] * len(times) + code[1:], return_inverse=True, return_counts=True)
    before = times[code[:-1]]
    return np.append(-np.inf, np.where(before >= _FREQUENT, np.log(both[pair] / before), -np.inf))


def _of_case(annotations: Annotations, prints: Prints) -> Prints:
    """Return a number for every case that two share if the same annotators say the same."""
    said = prints
    if not annotations.anonymous:
        said = hash_array(prints) + annotations.annotation_annotator.astype(np.uint64)
    return np.add.reduceat(hash_array(said), annotations.case_start[:-1])


def _log_chance(annotations: Annotations) -> Float[np.ndarray, " case"]:
    """Log probability that another case gets the same annotations, if these depend on its most frequent class only.

    Each place of an annotation is drawn by the frequencies of the classes there among cases of that class.
    """
    k, case = annotations.n_classes, annotations.entry_case.astype(np.int64)
    first = annotations.entry_block == 0
    votes = np.bincount(case[first] * k + annotations.entry_class[first], minlength=annotations.n_cases * k)
    top: Int[np.ndarray, " case"] = votes.reshape(-1, k).argmax(1)
    key = np.unique(
        (annotations.entry_block.astype(np.int64) * k + top[case]) * k + annotations.entry_class, return_inverse=True
    )[1]
    number = np.bincount(key)[key]
    of = np.unique(annotations.entry_block.astype(np.int64) * k + top[case], return_inverse=True)[1]
    shares = number / np.bincount(of)[of]
    of_top = np.bincount(top, minlength=k)[top] / annotations.n_cases
    return np.log(of_top) + np.bincount(case, np.log(shares), annotations.n_cases)
