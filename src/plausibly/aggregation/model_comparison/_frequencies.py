"""Class frequencies of the other cases: predictions that look at nothing of a case, to which models are compared."""

import numpy as np
from jaxtyping import Float

from plausibly.aggregation.model_comparison._left_out import LeftOut
from plausibly.data.annotations import Annotations

_LOG_TIME = np.arange(-45.0, 7.0, 0.05)  # at which the race of tied classes is summed, in logs


def class_frequencies(annotations: Annotations, *, of_rankings: bool) -> LeftOut:
    """Predict every annotation from how often the other cases name each class at each place, and from nothing else.

    The first block is drawn, without replacement, with the frequencies of classes in first blocks, the second with
    those in second blocks, and so on, from the classes that are left. Ties count by their shares, and one annotation
    that is divided evenly between all classes is added, so that none is impossible. With `of_rankings`, it is
    that of the whole partial ranking, given the sizes of its blocks, as of models; otherwise of the first block.
    """
    predict, n = _rankings if of_rankings else _first, annotations.n_annotations
    elpd, in_sample = (predict(annotations, leave_out=own_case) for own_case in (True, False))
    unknown, no = np.full(n, np.nan), np.zeros(n, bool)
    return LeftOut(elpd, in_sample, np.zeros(n), unknown, no, ~no)


def _frequencies(
    annotations: Annotations, place: int, *, leave_out: bool
) -> tuple[Float[np.ndarray, " class"], Float[np.ndarray, "case class"]]:
    """Number of times that each class is at a place, with what is added, and what is to be taken off for each case."""
    k, here = annotations.n_classes, annotations.entry_block == place
    size = np.bincount(annotations.entry_annotation[here], minlength=annotations.n_annotations)
    share = 1 / size[annotations.entry_annotation[here]]
    key = annotations.entry_case[here].astype(np.int64) * k + annotations.entry_class[here]
    own = np.bincount(key, share, annotations.n_cases * k).reshape(-1, k)
    return own.sum(axis=0) + 1 / k, own * leave_out


def _first(annotations: Annotations, *, leave_out: bool) -> Float[np.ndarray, " annotation"]:
    """Log probability of first blocks."""
    total, own = _frequencies(annotations, 0, leave_out=leave_out)
    first = annotations.entry_block == 0
    case, at = annotations.entry_case[first], annotations.entry_class[first]
    share = (total[at] - own[case, at]) / (total.sum() - own.sum(axis=1))[case]
    return np.log(np.bincount(annotations.entry_annotation[first], share, annotations.n_annotations))


def _rankings(annotations: Annotations, *, leave_out: bool) -> Float[np.ndarray, " annotation"]:
    """Log probability of whole partial rankings, given the sizes of their blocks."""
    found = np.zeros(annotations.n_annotations)
    left = np.ones((annotations.n_annotations, annotations.n_classes), bool)
    case = annotations.annotation_case
    for place in range(int(annotations.entry_block.max(initial=-1)) + 1):
        total, own = _frequencies(annotations, place, leave_out=leave_out)
        here = np.flatnonzero(annotations.entry_block == place)
        rows, start = np.unique(annotations.entry_annotation[here], return_index=True)
        for row, entries in zip(rows, np.split(here, start[1:]), strict=True):
            weight = total - own[case[row]]
            named = annotations.entry_class[entries]
            left[row, named] = False
            found[row] += _log_drawn_first(weight[named], weight[left[row]].sum())
    return found


def _log_drawn_first(weight: Float[np.ndarray, " named"], others: float) -> float:
    """Log probability that classes of these weights are drawn before all others, in any order.

    They are if their exponential times, with these rates, are all shorter than the shortest of the others.
    """
    if not others:
        return 0.0
    if len(weight) == 1:
        return float(np.log(weight[0] / (weight[0] + others)))
    time = np.exp(_LOG_TIME)
    before = np.log(-np.expm1(-weight[:, None] / others * time)).sum(axis=0)
    terms = before - time + _LOG_TIME
    return float(terms.max() + np.log(np.exp(terms - terms.max()).sum() * (_LOG_TIME[1] - _LOG_TIME[0])))
