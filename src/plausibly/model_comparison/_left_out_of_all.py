r"""Annotations predicted by models of one true class, whose shared parameters have not seen the case.

Cases are dealt to a few folds. What cases share is sampled from the other folds; given each draw :math:`\theta`, the
labels of a case have a probability, in which its true class is summed out, so that the probability of a label
:math:`y_r` given the others of its case is

.. math:: p(y_r \mid y_{-r}) = \frac{E_\theta\, p(y_r, y_{-r} \mid \theta)}{E_\theta\, p(y_{-r} \mid \theta)}.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import logsumexp

from plausibly._progress import Progress
from plausibly.aggregation import PlannedRun, labels_of_cases, names_of, sample_shared
from plausibly.case import LabelledCases
from plausibly.inference import prevalence_of
from plausibly.model import TrueClass
from plausibly.model_comparison._folds import Folds
from plausibly.model_comparison._left_out import LeftOut

FOLDS = 5  #: of cases
_BATCHES = 10  # of a chain, whose means give the Monte Carlo error
_PART = 2_000_000  # numbers at a time


def leave_out_of_all(run: PlannedRun, sampler: TrueClass, folds: Folds, *, seed: int, progress: bool) -> LeftOut:
    """Predict every label from the others of its case that are not in its fold, by parameters from other cases."""
    annotations, settled = folds.annotations, run.settled
    labels, n = labels_of_cases(annotations, sampler, settled.evidence), annotations.n_annotations
    out = LeftOut(*(np.full(n, np.nan) for _ in range(4)), refitted=np.ones(n, bool), converged=np.ones(n, bool))
    k = min(FOLDS, annotations.n_cases)
    of_case = np.random.default_rng([seed, k]).permutation(annotations.n_cases) % k
    settings = {name: settled.arguments[name] for name in ("draws", "chains", "warmup")}
    with Progress(progress) as bars:
        for number in range(k):
            rest, own = labels.of_cases(of_case != number), labels.of_cases(of_case == number)
            rest = rest.with_scores(rest.log_scores)  # whose prevalence has not seen the others either
            own = replace(own, log_prevalence=rest.log_prevalence)
            how = {"engine": settled.engine, **settings, "seed": seed, "progress": bars}
            shared = sample_shared(settled.model, sampler, rest, names_of(annotations, settled.evidence), **how)
            at = np.flatnonzero(of_case[annotations.annotation_case] == number)
            out.converged[at] = bool(shared.judged["converged"].values.all())
            for part in _parts(own, settings["draws"] * settings["chains"]):
                some, here = own.of_cases(part), at[part[own.case]]
                out.elpd[here], out.in_sample[here], out.error[here] = _predict(
                    sampler, some, folds.fold[here], shared.values
                )
    return out


def _parts(labels: LabelledCases, draws: int) -> list[Bool[np.ndarray, " case"]]:
    """Cases, in as many parts as memory asks for."""
    pieces = -(-len(labels.case) * draws // _PART)
    number = np.arange(labels.n_cases) * pieces // max(labels.n_cases, 1)
    return [number == piece for piece in range(pieces)]


def _predict(
    sampler: TrueClass, labels: LabelledCases, fold: Int[np.ndarray, " label"], shared: Mapping[str, np.ndarray]
) -> tuple[Float[np.ndarray, " label"], Float[np.ndarray, " label"], Float[np.ndarray, " label"]]:
    """Log probability of each label given those of other folds, and given all; Monte Carlo error of the former."""
    by_chain = shared["prevalence"].shape[:2]
    width = int(fold.max()) + 1
    _, group = np.unique(labels.case.astype(np.int64) * width + fold, return_inverse=True)
    given, both, whole, twice = (np.empty((*by_chain, len(labels.case))) for _ in range(4))
    for at in np.ndindex(by_chain):
        values = {name: np.asarray(draws[at], float) for name, draws in shared.items()}
        confusion = sampler.confusion(values)
        all_labels = labels.log_joint(prevalence_of(labels, values), confusion)
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(confusion[labels.annotator, :, labels.label]), -700.0)
        left = np.zeros((int(group.max()) + 1, labels.n_classes))
        np.add.at(left, group, logs)
        others = all_labels[labels.case] - left[group]
        given[at], both[at] = logsumexp(others, axis=-1), logsumexp(others + logs, axis=-1)
        whole[at] = logsumexp(all_labels, axis=-1)[labels.case]
        twice[at] = logsumexp(all_labels[labels.case] + logs, axis=-1)
    elpd = logsumexp(both, axis=(0, 1)) - logsumexp(given, axis=(0, 1))
    in_sample = logsumexp(twice, axis=(0, 1)) - logsumexp(whole, axis=(0, 1))
    weights = [np.exp(x - x.max((0, 1))) for x in (both, given)]
    deviation = weights[0] / weights[0].mean((0, 1)) - weights[1] / weights[1].mean((0, 1))
    batches = [part.mean(1) for part in np.array_split(deviation, min(_BATCHES, by_chain[1]), axis=1)]
    means = np.concatenate(batches)
    return elpd, in_sample, means.std(0, ddof=1) / np.sqrt(len(means))
