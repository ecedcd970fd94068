"""Annotators taken out: as models of the others, beside the models, and what the ratio is without them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.sparse import csr_array

from plausibly.agreement.discrepancy._label_sets import LabelSets


def ratio_of(model: Any, annotators: Any) -> np.ndarray:
    """Ratio; nothing by nothing is 1, since the model is as close to the annotators as they are to each other."""
    model, annotators = np.broadcast_arrays(np.asarray(model, float), np.asarray(annotators, float))
    alike = np.where(model > 0, np.inf, 1.0)
    return np.divide(model, annotators, out=alike, where=annotators > 0)


def taken_out(
    sets: LabelSets, to_others: Float[np.ndarray, " set"], n_annotators: int
) -> Float[csr_array, "case statistic"]:
    """Discrepancies of every annotator as a model of the others, in the cases in which they have two others.

    With fewer the others have no discrepancy of their own. For every case the columns hold the discrepancy to the
    others, for all annotators; then the others' discrepancy to each other; then 1 where the annotator is judged.
    """
    n = sets.n_annotators[sets.case]
    counts = n >= 3
    values = np.column_stack([to_others / np.maximum(n - 1, 1), _among_others(sets, to_others), np.ones(len(n))])
    return _by_annotator(sets, counts, values, n_annotators)


def relative_to_all(
    sets: LabelSets, to_others: Float[np.ndarray, " set"], n_annotators: int
) -> Float[csr_array, "case statistic"]:
    """Discrepancies of every annotator, less that of two annotators of the same case.

    For every case the columns hold this difference, for all annotators; then 1 where the annotator has others to be
    compared with.
    """
    others = sets.n_annotators[sets.case] - 1
    total = np.bincount(sets.case, to_others)[sets.case]
    more = to_others / np.maximum(others, 1) - total / np.maximum(others * (others + 1), 1)
    return _by_annotator(sets, others >= 1, np.column_stack([more, np.ones(len(more))]), n_annotators)


def _among_others(sets: LabelSets, to_others: Float[np.ndarray, " set"]) -> Float[np.ndarray, " set"]:
    """Discrepancy among the others of a set's case; 0 where there are not two."""
    n, total = sets.n_annotators[sets.case], np.bincount(sets.case, to_others)[sets.case]
    # A case of which one annotator is taken out leaves a sum of nothing where the others agree.
    left = total - 2 * to_others
    return np.where(left > 1e-12 * total, left, 0.0) / np.maximum((n - 1) * (n - 2), 1)


def _by_annotator(
    sets: LabelSets, counts: Bool[np.ndarray, " set"], values: Float[np.ndarray, "set statistic"], n_annotators: int
) -> Float[csr_array, "case statistic"]:
    """Statistics of the sets that count by case, each in as many columns as there are annotators."""
    width, shape = values.shape[1], (len(sets.start) - 1, values.shape[1] * n_annotators)
    columns = sets.annotator[counts, None] + n_annotators * np.arange(width)
    return csr_array((values[counts].ravel(), (np.repeat(sets.case[counts], width), columns.ravel())), shape=shape)


def without_each(
    sets: LabelSets, to_others: Float[np.ndarray, " set"], to_models: Sequence[Float[np.ndarray, " set"]], people: int
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
