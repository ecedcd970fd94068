r"""Annotations predicted by models of one true class, whose shared parameters have not seen the case.

Cases are dealt to a few folds. What cases share is sampled from the other folds; given each draw :math:`\theta`, the
labels of a case have a probability, in which its true class is summed out, so that the probability of a label
:math:`y_r` given the others of its case is

.. math:: p(y_r \mid y_{-r}) = \frac{E_\theta\, p(y_r, y_{-r} \mid \theta)}{E_\theta\, p(y_{-r} \mid \theta)}.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import logsumexp

from plausibly.data.case import LabelledCases, log_mixed
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
    looks = 1 if labels.looks is None else len(labels.looks.shares)
    pieces = -(-len(labels.case) * max(draws, looks) // _PART)
    number = np.arange(labels.n_cases) * pieces // max(labels.n_cases, 1)
    return (number == piece for piece in range(pieces))


def _predict(
    family: "TrueClass", labels: LabelledCases, fold: Int[np.ndarray, " label"], shared: Mapping[str, np.ndarray]
) -> tuple[Float[np.ndarray, " label"], Float[np.ndarray, " label"], Float[np.ndarray, " label"]]:
    """Log probability of each label given those of other folds, and given all; Monte Carlo error of the former."""
    by_chain, n = shared["prevalence"].shape[:2], len(labels.case)
    width, group = int(fold.max()) + 1, labels.group_of_label
    left, of_label = np.unique(labels.case.astype(np.int64) * width + fold, return_inverse=True)
    case = left // width
    given, both, whole, twice = (np.empty((*by_chain, n)) for _ in range(4))
    for at in np.ndindex(by_chain):
        values = {name: np.asarray(draws[at], float) for name, draws in shared.items()}
        confusion = family.confusion(values)
        seen = confusion if labels.looks is None else labels.looks.seen(confusion)
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(seen[labels.annotator, :, labels.label]), -700.0)
        mix: list[Callable[..., np.ndarray]] = [lambda of_class: of_class]
        if labels.looks is not None:
            mix = [partial(log_mixed, given_class=one) for one in labels.looks.given_class(values["looks"])]
        log_prevalence = np.log(np.maximum(prevalence_of(labels, values), 1e-300))
        log_prevalence = np.broadcast_to(log_prevalence, (labels.n_cases, labels.n_classes))
        others, everything = log_prevalence[case], log_prevalence
        of_others, of_all, mixed, mixed_all = [], labels.log_labels(confusion), [], []
        for number, of_case in enumerate(of_all):
            own = group == number
            out = np.zeros((len(left), len(of_case)))
            np.add.at(out, of_label[own], logs[own])
            of_others.append(of_case[:, case] - out.T)
            mixed.append(mix[number](of_others[-1]))
            mixed_all.append(mix[number](of_case))
            others, everything = others + mixed[-1].T, everything + mixed_all[-1].T
        given[at] = logsumexp(others, axis=-1)[of_label]
        whole[at] = logsumexp(everything, axis=-1)[labels.case]
        for number in range(labels.n_groups):
            own = np.flatnonzero(group == number)
            where, who = of_label[own], labels.case[own]
            with_it = mix[number](of_others[number][:, where] + logs[own].T) - mixed[number][:, where]
            both[at][own] = logsumexp(others[where] + with_it.T, axis=-1)
            again = mix[number](of_all[number][:, who] + logs[own].T) - mixed_all[number][:, who]
            twice[at][own] = logsumexp(everything[who] + again.T, axis=-1)
    elpd = logsumexp(both, axis=(0, 1)) - logsumexp(given, axis=(0, 1))
    in_sample = logsumexp(twice, axis=(0, 1)) - logsumexp(whole, axis=(0, 1))
    weights = [np.exp(x - x.max((0, 1))) for x in (both, given)]
    deviation = weights[0] / weights[0].mean((0, 1)) - weights[1] / weights[1].mean((0, 1))
    batches = [part.mean(1) for part in np.array_split(deviation, min(_BATCHES, by_chain[1]), axis=1)]
    means = np.concatenate(batches)
    return elpd, in_sample, means.std(0, ddof=1) / np.sqrt(len(means))
