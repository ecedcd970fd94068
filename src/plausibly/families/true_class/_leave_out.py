r"""Annotations predicted by models of one true class, whose shared parameters have not seen the case.

Cases are dealt to a few folds. What cases share is sampled from the other folds; given each draw :math:`\theta`, the
labels of a case have a probability, in which its true class is summed out, so that the probability of a label
:math:`y_r` given the others of its case is

.. math:: p(y_r \mid y_{-r}) = \frac{E_\theta\, p(y_r, y_{-r} \mid \theta)}{E_\theta\, p(y_{-r} \mid \theta)}.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import logsumexp

from plausibly.case import LabelledCases
from plausibly.families.settled import SharedDraws
from plausibly.families.true_class._sampler import prevalence_of

if TYPE_CHECKING:
    from plausibly.families.true_class._family import TrueClass

FOLDS = 5  #: of cases
_BATCHES = 10  # of a chain, whose means give the Monte Carlo error
_PART = 2_000_000  # numbers at a time


def predict_left_out(
    family: "TrueClass",
    labels: LabelledCases,
    fold: Int[np.ndarray, " label"],
    learn: Callable[[LabelledCases], SharedDraws],
    kept: int,
    seed: int,
) -> dict[str, np.ndarray]:
    """Predictions of every label, see :class:`plausibly.families.Family`, by what is learned from other cases.

    ``kept`` is the number of draws that ``learn`` returns.
    """
    n, k = len(labels.case), min(FOLDS, labels.n_cases)
    columns: dict[str, np.ndarray] = {name: np.full(n, np.nan) for name in ("elpd", "in_sample", "error")}
    columns["converged"] = np.ones(n, bool)
    of_case = np.random.default_rng([seed, k]).permutation(labels.n_cases) % k
    for number in range(k):
        rest, own = labels.of_cases(of_case != number), labels.of_cases(of_case == number)
        rest = rest.with_scores(rest.log_scores)  # whose prevalence has not seen the others either
        own = replace(own, log_prevalence=rest.log_prevalence)
        shared = learn(rest)
        at = np.flatnonzero(of_case[labels.case] == number)
        columns["converged"][at] = bool(shared.judged["converged"].values.all())
        for part in _parts(own, kept):
            some, here = own.of_cases(part), at[part[own.case]]
            predicted = _predict(family, some, fold[here], shared.values)
            for name, values in zip(("elpd", "in_sample", "error"), predicted, strict=True):
                columns[name][here] = values
    return columns


def _parts(labels: LabelledCases, draws: int) -> Iterator[Bool[np.ndarray, " case"]]:
    """Cases, in as many parts as memory asks for."""
    pieces = -(-len(labels.case) * draws // _PART)
    number = np.arange(labels.n_cases) * pieces // max(labels.n_cases, 1)
    return (number == piece for piece in range(pieces))


def _predict(
    family: "TrueClass", labels: LabelledCases, fold: Int[np.ndarray, " label"], shared: Mapping[str, np.ndarray]
) -> tuple[Float[np.ndarray, " label"], Float[np.ndarray, " label"], Float[np.ndarray, " label"]]:
    """Log probability of each label given those of other folds, and given all; Monte Carlo error of the former."""
    by_chain = shared["prevalence"].shape[:2]
    width = int(fold.max()) + 1
    _, group = np.unique(labels.case.astype(np.int64) * width + fold, return_inverse=True)
    given, both, whole, twice = (np.empty((*by_chain, len(labels.case))) for _ in range(4))
    for at in np.ndindex(by_chain):
        values = {name: np.asarray(draws[at], float) for name, draws in shared.items()}
        confusion = family.confusion(values)
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
