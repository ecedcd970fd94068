"""Annotators compared with each other and with classifiers, from the rankings alone, without a model."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import xarray as xr
from jaxtyping import Float

from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import Annotations, Slots
from plausibly.data.annotations.views import blocks_by_annotation
from plausibly.data.predictions import line_up, named_predictions
from plausibly.distances import PartialRankings
from plausibly.metrics import ranked_classes
from plausibly.metrics.declared import check_answers
from plausibly.metrics.inputs import check_break_ties, check_size


def annotator_agreement(
    annotations: Annotations,
    *,
    ties: Literal["split", "full"] = "split",
    break_ties: Literal["order", "random"] = "order",
    seed: int = 0,
) -> Float[np.ndarray, " case"]:
    """Compute the share of annotators of each case who name the class that the others rank first.

    The class that the others rank first has the greatest inverse rank normalisation (IRN) over all rankings of the case
    except the annotator's own.

    Parameters
    ----------
    annotations
        N cases.
    ties
        Weight of tied classes in the IRN: the weight of their rank is split among them (``"split"``), or each gets the
        full weight (``"full"``).
    break_ties
        How to break ties between classes to which the others give equal weight: by class order (``"order"``) or at
        random (``"random"``).
    seed
        Random seed.

    Returns
    -------
    (N,) shares between 0 and 1; NaN for a case with a single annotator.

    Examples
    --------
    >>> rankings = [[[["a"], ["b"]], [["b"]], [["c"], ["b"]]], [[["a"]]]]
    >>> annotator_agreement(Annotations.from_rankings(rankings)).round(3).tolist()
    [0.667, nan]
    """
    if ties not in ("split", "full"):
        raise ArgumentError(f'ties must be "split" or "full", but {ties!r} was given: choose one of the two.')
    check_break_ties(break_ties)
    slots = Slots.of(annotations, remainder=False)
    entry_slot = slots.find(annotations.entry_case, annotations.entry_class)
    sizes = np.repeat(annotations.block_sizes, annotations.block_sizes)
    weight = 1 / ((annotations.entry_block + 1.0) * (sizes if ties == "split" else 1))
    total = np.bincount(entry_slot, weight, minlength=len(slots))
    # One row of a ragged table for each annotation, over the slots of its case.
    width = np.diff(slots.start)[annotations.annotation_case]
    begin = np.concatenate([[0], np.cumsum(width)])
    row = np.repeat(np.arange(len(width)), width)
    slot = slots.start[annotations.annotation_case][row] + np.arange(begin[-1]) - begin[row]
    cell = begin[annotations.entry_annotation] + entry_slot - slots.start[annotations.entry_case]
    others, own = total[slot], np.zeros(len(slot), bool)
    others[cell] -= weight
    own[cell] = True
    # Sums in another order differ by rounding: what is as good as equal is a tie.
    best = others >= np.maximum.reduceat(others, begin[:-1])[row] - 1e-9
    preference = np.random.default_rng(seed).random(len(slot)) if break_ties == "random" else -np.arange(len(slot))
    chosen = np.lexsort((-preference, ~best, row))[begin[:-1]]
    agrees = np.bincount(annotations.annotation_case, own[chosen], minlength=annotations.n_cases)
    n_annotators = np.diff(annotations.case_start)
    return np.where(n_annotators > 1, agrees / n_annotators, np.nan)


def annotator_overlap(annotations: Annotations, k: int = 3) -> Float[np.ndarray, " case"]:
    """Compute the mean average overlap between the annotators of each case.

    Parameters
    ----------
    annotations
        N cases. Classes that an annotator does not name are tied in the last place.
    k
        Number of places to compare, at most the number of classes.

    Returns
    -------
    (N,) mean over pairs of annotators, between 0 and 1; NaN for a case with a single annotator.

    Examples
    --------
    >>> rankings = [[[["a"], ["b"]], [["a"], ["b"]]], [[["a"]]]]
    >>> annotator_overlap(Annotations.from_rankings(rankings, classes="abc"), k=2).tolist()
    [1.0, nan]
    """
    k = check_size("k", k, annotations.n_classes)
    distance = PartialRankings(k, range(annotations.n_classes))
    out = np.full(annotations.n_cases, np.nan)
    for case, rankings in enumerate(_rankings_by_case(annotations)):
        if len(rankings) > 1:
            pairs = np.triu_indices(len(rankings), 1)
            out[case] = 1 - distance.between(distance.encode(rankings), *pairs).mean()
    return out


def classifier_overlap(annotations: Annotations, predictions: Mapping[str, Any], k: int = 3) -> xr.DataArray:
    """Compute the mean average overlap of each classifier with the annotators of each case.

    This is the same measure as :func:`annotator_overlap`, so classifiers can be compared with annotators. Values are
    between 0 and 1, by classifier and case. Predictions that do not match the cases or classes raise
    :class:`plausibly.PredictionError`.

    Parameters
    ----------
    annotations
        N cases.
    predictions
        Predictions by name of classifier, as for :func:`plausibly.evaluate`. Ties are broken by class order.
    k
        Number of places to compare, at most the number of classes.

    Examples
    --------
    >>> annotations = Annotations.from_rankings([[[["a"], ["b"], ["c"]]]])
    >>> classifier_overlap(annotations, {"A": [[0.6, 0.3, 0.1]], "B": [[0.1, 0.2, 0.7]]}, k=1).values.tolist()
    [[1.0], [0.0]]
    """
    named = named_predictions(predictions)
    k = check_size("k", k, annotations.n_classes)
    lists = np.empty((annotations.n_cases, len(named), k), np.int64)
    for place, (name, source) in enumerate(named.items()):
        scores = line_up(source, annotations)
        check_answers(scores, f" of {name!r}", annotations.cases)
        lists[:, place] = ranked_classes(scores, k)
    distance = PartialRankings(k, range(annotations.n_classes))
    out = np.full((len(named), annotations.n_cases), np.nan)
    for case, rankings in enumerate(_rankings_by_case(annotations)):
        if rankings:
            encoded = distance.encode([*lists[case].tolist(), *rankings])
            each = distance.between(encoded, np.arange(len(named))[:, None], len(named) + np.arange(len(rankings)))
            out[:, case] = 1 - each.mean(axis=1)
    coords = {"classifier": list(named), "case": annotations.cases}
    return xr.DataArray(out, dims=("classifier", "case"), coords=coords, name=f"mean_average_overlap_{k}")


def agreement_correlation(
    results: xr.Dataset,
    certainty: str = "annotation_certainty_1",
    *,
    method: Literal["pearson", "spearman"] = "pearson",
) -> float:
    """Compute the correlation, over cases, between annotator agreement and the certainty under a model.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate`.
    certainty
        Name of a variable by case.
    method
        Correlation of values (``"pearson"``) or of ranks (``"spearman"``).

    Returns
    -------
    float
        Correlation between −1 and 1, over cases with at least two annotators; NaN if one of the two is constant.

    Examples
    --------
    >>> values = {"annotation_certainty_1": [0.4, 0.9, 1.0, 1.0], "annotator_agreement": [0.2, 0.7, 0.8, np.nan]}
    >>> round(agreement_correlation(xr.Dataset({name: ("case", column) for name, column in values.items()})), 3)
    1.0
    """
    known = [str(name) for name, variable in results.data_vars.items() if variable.dims == ("case",)]
    for name in (certainty, "annotator_agreement"):
        if name not in known:
            raise ArgumentError(f"there is no {name!r} by case in these results: choose from {', '.join(known)}.")
    if method not in ("pearson", "spearman"):
        raise ArgumentError(f'method must be "pearson" or "spearman", but {method!r} was given: choose one of the two.')
    columns = np.stack([results[name].values.astype(float) for name in (certainty, "annotator_agreement")])
    columns = columns[:, np.isfinite(columns).all(axis=0)]
    if method == "spearman":
        from scipy.stats import rankdata  # a second to import

        columns = rankdata(columns, axis=1)
    if columns.shape[1] < 2 or (np.ptp(columns, axis=1) == 0).any():
        return float("nan")
    return float(np.corrcoef(columns)[0, 1])


def _rankings_by_case(annotations: Annotations) -> list[list[list[list[int]]]]:
    """Blocks of classes of every annotation of each case."""
    rankings = blocks_by_annotation(annotations, annotations.entry_class.tolist())
    return [rankings[begin:end] for begin, end in pairwise(annotations.case_start.tolist())]
