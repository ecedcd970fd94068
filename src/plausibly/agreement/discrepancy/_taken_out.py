"""Every annotator taken out and treated as a model of the others."""

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_array

from plausibly.agreement.discrepancy._label_sets import LabelSets


def taken_out(
    sets: LabelSets, to_others: Float[np.ndarray, " set"], n_annotators: int
) -> Float[csr_array, "case statistic"]:
    """Discrepancies of every annotator, in the cases in which they have two others.

    With fewer the others have no discrepancy of their own. For every case the columns hold the discrepancy to the
    others, for all annotators; then the others' discrepancy to each other; then 1 where the annotator is judged.
    """
    n = sets.n_annotators[sets.case]
    total = np.bincount(sets.case, to_others, len(sets.start) - 1)
    counts = n >= 3
    case, annotator, n = sets.case[counts], sets.annotator[counts], n[counts]
    own = to_others[counts] / (n - 1)
    # A case of which one annotator is taken out leaves a sum of nothing where the others agree.
    left = total[case] - 2 * to_others[counts]
    others = np.where(left > 1e-12 * total[case], left, 0.0) / ((n - 1) * (n - 2))
    columns = annotator[:, None] + n_annotators * np.arange(3)
    values = np.column_stack([own, others, np.ones(len(own))])
    shape = (len(sets.start) - 1, 3 * n_annotators)
    return csr_array((values.ravel(), (np.repeat(case, 3), columns.ravel())), shape=shape)
