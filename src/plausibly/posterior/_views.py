"""Plausibilities in the forms that are asked for: draws in a row, every class, the most plausible, weighted rows."""

from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float, Int

from plausibly.base.arviz import Posterior
from plausibly.base.compute import run
from plausibly.base.errors import ArgumentError, show
from plausibly.base.random_streams import Words, case_keys, stream_words
from plausibly.data.annotations import Slots
from plausibly.metrics.inputs import check_break_ties, check_size
from plausibly.posterior._container import (
    REMAINDER_NAME,
    case_names,
    check_posterior,
    remainder_concentration,
    slots_of,
)
from plausibly.posterior._files import reading
from plausibly.posterior.blocks import Blocks
from plausibly.posterior.ranked_lists import rank_slots
from plausibly.posterior.says import has_true_class
from plausibly.posterior.split_remainder import split_among_all
from plausibly.posterior.true_class import draw_true_class

_NUMBERS = 2**24  # in memory at once


def stacked_draws(posterior: Posterior) -> Float[np.ndarray, "draw slot"]:
    """Return the plausibilities of all slots, one chain after the other."""
    with reading(posterior):
        plausibility = posterior["posterior"]["plausibility"].transpose("chain", "draw", "slot").values
    return plausibility.reshape(-1, plausibility.shape[-1])


def top_classes(
    posterior: Posterior,
    k: int,
    seed: int = 0,
    *,
    cases: str | Sequence[str] | None = None,
    break_ties: Literal["order", "random"] = "order",
) -> Int[np.ndarray, "draw case {k}"]:
    """Rank the ``k`` most plausible classes of each case in every draw, best first.

    Under a model of one true class, the first is the true class, drawn from the probabilities of the draw, and the
    others follow by these. Otherwise, lists are distributed as if the remainder of every draw were split by its
    Dirichlet and all classes sorted, except that a list is wrong with a probability below 1e-9. With the same seed, a
    shorter list is the beginning of a longer one, and the lists of a case do not depend on the other cases.

    Parameters
    ----------
    posterior
        Posterior from :func:`build_posterior` or :func:`load`.
    k
        Length of the lists, at most the number of classes.
    seed
        Random seed of the split of the remainder, of true classes, and of random ties.
    cases
        Names of the cases, in the order you want; by default all cases.
    break_ties
        How to break ties between plausibilities, such as the zeros of classes without mass: by class order
        (``"order"``) or at random (``"random"``).

    Returns
    -------
    Class indices; chains follow each other along the draws.

    Raises
    ------
    ArgumentError
        If ``k`` or ``seed`` is out of range or a case is unknown.

    Examples
    --------
    >>> from plausibly.posterior import build_posterior
    >>> annotations = pb.Annotations.from_rankings([[[["b"], ["a"]]]], classes=["a", "b", "c"])
    >>> draws = np.array([[[0.6, 0.3, 0.1], [0.4, 0.5, 0.1]]], np.float32)
    >>> posterior = build_posterior(draws, annotations, Slots.of(annotations), point=draws[0, 0], concentration=1.0)
    >>> top_classes(posterior, k=2).tolist()
    [[[0, 1]], [[1, 0]]]
    """
    check_posterior(posterior)
    n_classes = int(posterior.attrs["n_classes"])
    k = check_size("k", k, n_classes)
    check_break_ties(break_ties)
    positions, names = _positions(posterior, cases)
    slots, words = slots_of(posterior), stream_words(case_keys(seed, names))
    draws, probability = stacked_draws(posterior), None
    if has_true_class(posterior.attrs):
        draws, probability = draw_true_class(draws.T, slots, positions, words).T, draws
    return rank_slots(
        draws,
        slots,
        positions,
        words,
        k,
        n_classes=n_classes,
        concentration=remainder_concentration(posterior),
        break_ties=break_ties,
        probability=probability,
    )


def case_draws(posterior: Posterior, case: str) -> xr.Dataset:
    """Take the draws of one case, by the names of its classes.

    In a whole posterior, ArviZ labels plausibilities by slot, such as ``plausibility[17]``; here they are labelled by
    class. (``posterior.sel(case=…)`` does not select them, since their dimension is ``slot``.)

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.aggregate` or :func:`plausibly.load`.
    case
        Name of the case.

    Returns
    -------
    xarray.Dataset
        ``plausibility`` (chain, draw, class_name), the most plausible class first; all classes that no annotator names
        are together in ``"(remainder)"``. For a case of scores also ``mean`` and ``variance`` (chain, draw). ArviZ
        functions such as ``az.summary``, ``az.plot_rank`` and ``az.ess`` accept the result.

    Raises
    ------
    ArgumentError
        If there is no such case, or several are given.

    Examples
    --------
    >>> annotations = pb.Annotations.from_rankings({"cases": {"p": {"ann": [["b"]]}, "q": {"ann": [["a"], ["c"]]}}})
    >>> posterior = pb.aggregate(annotations, "prirn", draws=100, progress=False)
    >>> draws = pb.case_draws(posterior, "q")
    >>> draws["class_name"].values.tolist(), dict(draws.sizes)
    (['a', 'c', '(remainder)'], {'chain': 4, 'draw': 100, 'class_name': 3})
    """
    check_posterior(posterior)
    if np.ndim(case):
        raise ArgumentError(f"case must be the name of one case, but {show(case)} was given: give one name.")
    (at,), (name,) = _positions(posterior, str(case))
    slots, group = slots_of(posterior), posterior["posterior"]
    own = slice(*slots.start[at : at + 2].tolist())
    with reading(posterior):
        plausibility = group["plausibility"].transpose("chain", "draw", "slot")[..., own].values
        chain_draw = {dim: group[dim].values for dim in ("chain", "draw")}
        alone = [found for found in group.data_vars if group[found].dims == ("chain", "draw", "scored_case")]
        of_scores = {str(found): (("chain", "draw"), group[found][..., at].values) for found in alone}
    class_names = posterior["constant_data"]["class_names"].values[slots.class_index[own]]
    class_names = np.where(slots.is_remainder[own], REMAINDER_NAME, class_names).astype(str)
    order = np.argsort(-plausibility.mean((0, 1)), kind="stable")
    return xr.Dataset(
        {"plausibility": (("chain", "draw", "class_name"), plausibility[..., order]), **of_scores},
        coords=chain_draw | {"class_name": class_names[order]},
        attrs={"case": name},
    )


def draws_apart(group: xr.Dataset, number: int) -> dict[str, xr.DataArray]:
    """Where to find so many draws, at equal distances over all chains, for ``isel``: along ``replicate``."""
    n = group.sizes["chain"] * group.sizes["draw"]
    found = np.divmod(np.linspace(0, n - 1, number).round().astype(int), group.sizes["draw"])
    return {dim: xr.DataArray(at, dims="replicate") for dim, at in zip(("chain", "draw"), found, strict=True)}


def dense(
    posterior: Posterior, cases: str | Sequence[str] | None = None, seed: int = 0
) -> Float[np.ndarray, "draw case class"]:
    """Return the plausibilities of every class, with the remainder split at random in every draw.

    Under a model of one true class, these are the probabilities of being the true one.

    The remainder is split apart from :func:`top_classes` and :func:`plausibly.evaluate`: there, each class is the most
    plausible as often as it has the greatest plausibility here, but, where it is unnamed, not in the same draws.

    The array has draws × cases × classes numbers, so ask for a few cases at a time.

    Parameters
    ----------
    posterior
        Posterior from :func:`build_posterior` or :func:`load`.
    cases
        Names of the cases, in the order you want; by default all cases.
    seed
        Random seed of the split of the remainder.

    Returns
    -------
    Plausibilities; they sum to one over classes, and chains follow each other along the draws.

    Raises
    ------
    ArgumentError
        If ``seed`` is out of range or a case is unknown.

    Examples
    --------
    >>> from plausibly.posterior import build_posterior
    >>> annotations = pb.Annotations.from_rankings([[[["b"], ["a"]]]], classes=["a", "b", "c", "d"])
    >>> draws = np.array([[[0.6, 0.3, 0.1], [0.4, 0.5, 0.1]]], np.float32)
    >>> posterior = build_posterior(draws, annotations, Slots.of(annotations), point=draws[0, 0], concentration=1.0)
    >>> dense(posterior, cases=["0"]).sum(axis=2).round(6).tolist()
    [[1.0], [1.0]]
    """
    check_posterior(posterior)
    positions, names = _positions(posterior, cases)
    slots = slots_of(posterior)
    return dense_slots(
        stacked_draws(posterior),
        slots,
        positions,
        stream_words(case_keys(seed, names)),
        int(posterior.attrs["n_classes"]),
        remainder_concentration(posterior),
    )


def dense_slots(
    draws: Float[np.ndarray, "draw slot"],
    slots: Slots,
    cases: Int[np.ndarray, " chosen"],
    words: Words,
    n_classes: int,
    concentration: float | Float[np.ndarray, " class"],
) -> Float[np.ndarray, "draw chosen class"]:
    """Split the remainders of the cases at the given positions; ``words`` are their random keys."""
    blocks = Blocks(np.ascontiguousarray(draws.T), slots, cases, words, n_classes, concentration, room=2 * n_classes)
    out = np.empty((len(draws), len(cases), n_classes), np.float32)
    split = partial(split_among_all, n_classes=n_classes)
    for part, found in run((split_among_all, n_classes), split, blocks.parts, lambda part: (blocks.block(part),)):
        out[:, part.at] = found[:, : len(part.at)].transpose(2, 1, 0)
    return out


def _positions(posterior, cases):
    names = case_names(posterior)
    if cases is None:
        return np.arange(len(names)), names
    wanted = [str(cases)] if np.ndim(cases) == 0 else [str(case) for case in cases]
    place = {name: position for position, name in enumerate(names)}
    unknown = [case for case in wanted if case not in place]
    if unknown:
        raise ArgumentError(f"there is no case {unknown[0]!r} in this posterior: its cases are {str(names[0])!r}, ….")
    return np.array([place[case] for case in wanted], np.int64), wanted


def as_weighted_rows(
    posterior: Posterior, truth: Literal["most-plausible", "plausibility"] = "most-plausible", *, seed: int = 0
) -> pd.DataFrame:
    """Write a posterior as N × K rows, one for each case and class, with weights.

    Give scikit-learn the prediction of a case once for each of its rows, the class as the label and ``sample_weight``:
    its metrics are then those of the mean truth over draws, such as the centres of sampling noise in
    :func:`plausibly.evaluate`, and estimators are trained on soft labels. Without a model, see
    :func:`plausibly.evaluation.label_rows`.

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.aggregate` or :func:`plausibly.load`.
    truth
        What weights are: the share of the draws in which each class is the most plausible (``"most-plausible"``), for
        metrics; or its mean plausibility (``"plausibility"``), for training.
    seed
        Random seed for splitting the remainder, and for true classes, as for :func:`plausibly.evaluate`.

    Returns
    -------
    pandas.DataFrame
        ``case``, ``class`` and ``sample_weight``; the rows of a case follow each other, in the order of the classes,
        and their weights sum to one.

    Raises
    ------
    ArgumentError
        If ``posterior`` is not a posterior, or ``truth`` has another value.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a", "b"], ["b", "b", "b"]])
    >>> posterior = pb.aggregate(annotations, "dirichlet-categorical", concentration=1, progress=False)
    >>> rows = as_weighted_rows(posterior, "plausibility")
    >>> rows["class"].tolist(), rows["sample_weight"].round(1).tolist()
    (['a', 'b', 'a', 'b'], [0.6, 0.4, 0.2, 0.8])

    >>> from sklearn.metrics import accuracy_score
    >>> rows, predicted = as_weighted_rows(posterior), np.array(["a", "b"])
    >>> accuracy = accuracy_score(rows["class"], predicted.repeat(2), sample_weight=rows["sample_weight"])
    >>> results = pb.evaluate(posterior, {"A": np.array([[0.9, 0.1], [0.2, 0.8]])}, progress=False)
    >>> bool(np.isclose(accuracy, results["top1_accuracy"].mean()))
    True
    """
    check_posterior(posterior)
    if truth not in ("most-plausible", "plausibility"):
        raise ArgumentError(f'truth must be "most-plausible" or "plausibility", but {truth!r} was given: choose one.')
    cases, classes = case_names(posterior), posterior["constant_data"]["class_names"].values
    group = posterior["posterior"].sizes
    step = max(1, _NUMBERS // (group["chain"] * group["draw"] * len(classes)))
    weights = np.empty((len(cases), len(classes)))
    for first in range(0, len(cases), step):
        some = cases[first : first + step].tolist()
        weights[first : first + step] = _means(posterior, truth, some, len(classes), seed)
    rows = {"case": np.repeat(cases, len(classes)), "class": np.tile(classes, len(cases))}
    return pd.DataFrame(rows | {"sample_weight": weights.ravel()})


def _means(
    posterior: Posterior, truth: str, cases: list[str], n_classes: int, seed: int
) -> Float[np.ndarray, "case class"]:
    if truth == "plausibility":
        return dense(posterior, cases, seed).mean(axis=0, dtype=float)
    best = top_classes(posterior, 1, seed, cases=cases)[..., 0]
    key = np.arange(len(cases)) * n_classes + best
    return np.bincount(key.ravel(), minlength=len(cases) * n_classes).reshape(-1, n_classes) / len(best)
