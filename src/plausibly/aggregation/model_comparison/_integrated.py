"""Labels left out of a program of a user's own, predicted by integrals."""

import numpy as np
from jaxtyping import Float

from plausibly.aggregation._variants import PlannedRun
from plausibly.aggregation.layout import lay_out
from plausibly.aggregation.model_comparison.folds import Folds, first_block_shares
from plausibly.base.progress import Progress
from plausibly.base.random_streams import case_keys
from plausibly.inference import expected_answers


def integrated(
    run: PlannedRun,
    folds: Folds,
    elpd: Float[np.ndarray, " annotation"],
    in_sample: Float[np.ndarray, " annotation"],
    error: Float[np.ndarray, " annotation"],
    *,
    progress: bool,
) -> bool:
    """Fill in predictions by integrals over the sites of single cases, if they have few dimensions; say whether."""
    settled, copies = run.settled, np.arange(len(folds))
    if len(folds.annotations.entry_class) > folds.annotations.n_annotations:  # rankings are more than their first block
        return False
    parts = [(folds.annotations, folds.annotations.annotation_case, in_sample)]
    if len(copies):
        parts.append((folds.train(copies), folds.copy, elpd))
    for annotations, case, to in parts:
        slots, prior = lay_out(annotations, settled.arguments)
        first = annotations.entry_block == 0
        named = slots.find(annotations.entry_case[first], annotations.entry_class[first])
        counts = np.bincount(named, minlength=len(slots)).astype(np.float32)
        numbers, keys = settled.model.numeric(settled.arguments), case_keys(0, annotations.cases)
        given = slots, settled.program, numbers, prior, counts, keys
        with Progress(progress) as bars:
            found, good = expected_answers(*given, of_counts=settled.answers == "counts", progress=bars)
        if not good:
            return False
        share = first_block_shares(folds.annotations, case, slots, found)
        scored = case >= 0
        to[scored] = np.log(share.mean(0))[scored]
        if to is elpd:
            error[scored] = (share.std(0, ddof=1) / np.sqrt(len(share)) / share.mean(0))[scored]
    return True
