"""``conformal_coverage``: sets calibrated on some cases, and measured on the others, many times."""

from collections.abc import Mapping, Sequence
from itertools import product
from os import PathLike
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Bool, Float, Int

from plausibly._arviz import Posterior
from plausibly._progress import Progress
from plausibly.annotations import Annotations
from plausibly.annotations._names import _show
from plausibly.bootstrap import CI_PROB, REPLICATES, check_probability, check_replicates
from plausibly.conformal._calibrate import Calibrated, shares_of
from plausibly.conformal._conformal import check_alpha, check_loss, check_target, source_of
from plausibly.conformal._coverage_result import MEASURES, Coverage
from plausibly.conformal._groups import ALL, parse_groups, parse_risks
from plausibly.conformal._prior import prior_of
from plausibly.conformal._scores import Function, parse_score
from plausibly.conformal._targets import TARGETS, Weights, weights_of
from plausibly.conformal._thresholds import Steps, threshold_of
from plausibly.errors import ArgumentError
from plausibly.evaluation._ranges import Ranges
from plausibly.posterior import annotations_of, model_of
from plausibly.predictions import line_up, named_predictions
from plausibly.random_streams import Stream, check_seed


def conformal_coverage(
    posterior: Posterior | Annotations | str | PathLike,
    predictions: Mapping[str, Any],
    *,
    alpha: float | Sequence[float] = (0.05, 0.1),
    splits: int = 100,
    share: float = 0.5,
    score: Literal["lac", "aps", "raps", "top-k"] | Function = "lac",
    target: str | Sequence[str] | None = None,
    by: Any = None,
    loss: Literal["risk"] | None = None,
    risks: Any = None,
    penalty: float | None = None,
    free_ranks: int | None = None,
    randomise_scores: bool = False,
    logits: bool = False,
    ci_prob: float = CI_PROB,
    replicates: int = REPLICATES,
    seed: int = 0,
    progress: bool = True,
) -> Coverage:
    r"""Measure how often sets contain the answer, over repeated splits into calibration and test cases.

    Sets calibrated for the vote have a guarantee for the vote only. How often do they contain the first choice of an
    annotator, or a class drawn from the plausibilities? In every split, sets are calibrated for each target, and their
    coverage of all three targets is measured on the test cases, whose annotations were not used.

    Parameters
    ----------
    posterior, predictions, score, by, loss, risks, penalty, free_ranks, randomise_scores, logits
        As for :func:`plausibly.conformal`. Annotations are enough for the targets that need no model.
    alpha
        One or several levels, by default 0.05 and 0.1 (:func:`plausibly.conformal` and the command take 0.1). The
        verdict is about the first.
    splits
        Number of splits.
    share
        Share of the cases to calibrate on.
    target
        Targets to calibrate for, one or several; by default all that the data have.
    ci_prob
        Probability of the intervals.
    replicates
        Number of bootstrap replicates over cases.
    seed
        Random seed.
    progress
        Whether to show progress.

    Returns
    -------
    Coverage
        ``.table`` (one row per alpha, classifier, target and group), ``.splits`` (the same for each split),
        ``.by_draw`` (coverage of the plausibilities in every draw), ``.fit`` (coverage of plausibilities minus coverage
        of annotators' choices), ``.verdict()`` and ``.plot()``.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or a split leaves no calibration or no test case.
    PredictionError
        As for :func:`plausibly.conformal`.

    Notes
    -----
    ``.fit`` checks the aggregation model: how much do the same sets contain according to the posterior, and how much
    according to the annotators themselves? A difference below zero means that the posterior gives plausibility to
    classes that annotators of such cases do not choose first, because of the prior, the remainder or later ranks. With
    few annotators and a wide prior, such a difference arises even if the prior is right on average, because the prior
    does not know what the classifier knows about a case.

    The scores of all cases and classes are in memory at once, eight bytes for each.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a"], ["a", "b"], ["b", "b"]] * 20)
    >>> predictions = {"A": [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]] * 20}
    >>> found = pb.conformal_coverage(annotations, predictions, alpha=0.2, score="lac", progress=False)
    >>> found.table[["target", "vote", "annotator", "size"]].round(2).values.tolist()
    [['annotator', 0.89, 0.89, 1.11], ['vote', 0.89, 0.89, 1.11]]
    """
    check_seed(seed)
    check_probability("ci_prob", ci_prob)
    check_replicates(replicates)
    _check_splits(splits, share)
    named = named_predictions(predictions)
    if not named:
        raise ArgumentError('predictions must name at least one classifier, but none was given: write {"A": scores}.')
    parsed = parse_score(score, penalty=penalty, free_ranks=free_ranks, randomised=randomise_scores, logits=logits)
    with source_of(posterior) as source, Progress(progress) as bars:
        annotations = source if isinstance(source, Annotations) else annotations_of(source)
        model = "" if isinstance(source, Annotations) else model_of(source)
        measures = [name for name in TARGETS if name != "plausibility" or source is not annotations]
        targets = _targets(target, measures, posterior)
        levels = parse_risks(risks, annotations)
        cost, bound = check_loss(loss, levels)
        alphas = [check_alpha(one, bound) for one in np.atleast_1d(np.asarray(alpha, object)).tolist()]
        if not alphas:
            raise ArgumentError("alpha must name a level, but none was given: write for example 0.1.")
        prior = None
        if "plausibility" in targets and loss is None:
            prior = prior_of(source, alphas[0])
        weights = {name: weights_of(name, source, annotations) for name in measures}
        values = [line_up(given, annotations) for given in named.values()]
        grouping, column = parse_groups(by, annotations, levels, values, logits=logits)
        shares = shares_of(annotations.cases, seed, Stream.CALIBRATED_SHARES) if randomise_scores else None
        training = _splits(annotations.n_cases, splits, share, seed)
        advance = bars.task("Calibrating and measuring", len(named) * len(targets), "runs")
        rows, vectors, differences = [], {}, {}
        for name, own in zip(named, values, strict=True):
            group = grouping.of(own, column, name=name)
            calibrated = Calibrated(own, parsed, group, len(grouping.names), shares)
            scores = calibrated.scores(slice(None))
            for one in targets:
                thresholds = _thresholds(
                    weights[one], scores, group, training, alphas, len(grouping.names), cost, bound
                )
                measured = _Measured.of(weights, scores, group, training, thresholds, cost, bound)
                rows += measured.rows(name, one, alphas, grouping.names, group, training)
                for at, level in enumerate(alphas):
                    vectors[level, name, one] = measured.by_slot[at]
                    if "plausibility" in weights:
                        differences[level, name, one] = measured.difference[at]
                advance(1)
        by_draw = _by_draw(source, vectors, bound, seed) if "plausibility" in weights else None
    return Coverage.of(
        pd.DataFrame(rows),
        by_draw,
        differences,
        measures=[name for name in MEASURES if name in measures],
        loss=loss,
        grouped=grouping.names != (ALL,),
        n_cases=annotations.n_cases,
        ci_prob=ci_prob,
        replicates=int(replicates),
        seed=int(seed),
        posterior_model=model,
        prior=prior,
    )


class _Measured:
    """Coverage of test cases by split, for one classifier and target.

    Attributes
    ----------
    covered
        By measure: (alpha, split, case) what the set of each case contains (its share of the greatest loss).
    sizes
        (alpha, split, case) sizes of the sets.
    by_slot
        (alpha, slot) share of every slot in the sets of test cases, mean over splits, summed over cases.
    difference
        (alpha, case) coverage of plausibilities less that of annotators, mean over splits in which the case is tested.
    """

    covered: dict[str, Float[np.ndarray, "alpha split case"]]
    sizes: Float[np.ndarray, "alpha split case"]
    by_slot: Float[np.ndarray, "alpha slot"]
    difference: Float[np.ndarray, "alpha case"]

    @classmethod
    def of(cls, weights, scores, group, training, thresholds, cost, bound) -> "_Measured":
        """Measure the sets of all splits."""
        found = cls()
        n_alphas, n_splits = thresholds.shape[:2]
        n_cases = len(scores)
        found.covered = {name: np.zeros((n_alphas, n_splits, n_cases), np.float32) for name in weights}
        found.sizes = np.zeros((n_alphas, n_splits, n_cases), np.float32)
        slots = weights["plausibility"].slots if "plausibility" in weights else None
        found.by_slot = np.zeros((n_alphas, 0 if slots is None else len(slots)))
        n_tested = np.maximum((~training).sum(axis=0), 1)
        sums = np.zeros((n_alphas, n_cases))
        for at, split in product(range(n_alphas), range(n_splits)):
            limits = thresholds[at, split][group]
            inside = scores >= limits[:, None]
            found.sizes[at, split] = inside.sum(axis=1)
            for name, own in weights.items():
                lost_of_slot = _missed(own, inside, cost)
                lost = np.add.reduceat(own.weight * lost_of_slot, own.slots.start[:-1])
                found.covered[name][at, split] = 1 - lost if cost is None else lost
                if name == "plausibility":
                    tested = ~training[split]
                    found.by_slot[at] += lost_of_slot * tested[own.slots.case] / (tested.sum() * n_splits)
            if slots is not None:
                sums[at] += ~training[split] * (
                    found.covered["plausibility"][at, split] - found.covered["annotator"][at, split]
                )
        found.difference = sums / n_tested
        return found

    def rows(self, name, target, alphas, groups, group, training) -> list[dict[str, Any]]:
        """A row per alpha, split and group, all together first."""
        rows = []
        parts = [(ALL, np.ones(len(group), bool))]
        parts += [] if groups == (ALL,) else [(label, group == at) for at, label in enumerate(groups)]
        for (at, level), split in product(enumerate(alphas), range(len(training))):
            for label, member in parts:
                tested = ~training[split] & member
                row = {"alpha": level, "classifier": name, "target": target, "group": label, "split": split}
                row |= {"n": int((training[split] & member).sum()), "n_tested": int(tested.sum())}
                for measure, covered in self.covered.items():
                    row[measure] = float(covered[at, split][tested].mean()) if tested.any() else np.nan
                row["size"] = float(self.sizes[at, split][tested].mean()) if tested.any() else np.nan
                rows.append(row)
        return rows


def _missed(
    weights: Weights, inside: Bool[np.ndarray, "case class"], cost: Float[np.ndarray, " class"] | None
) -> Float[np.ndarray, " slot"]:
    """What is missed of each slot: 1 or 0 for a class, a share for the classes of a remainder; times the cost."""
    slots, share = weights.slots, weights.share
    missed = (~inside).astype(float) if cost is None else ~inside * cost
    named, rest = ~slots.is_remainder, slots.is_remainder
    case, at = slots.case[named], slots.class_index[named]
    out = np.zeros(len(slots))
    out[named] = missed[case, at]
    if rest.any():
        by = np.ones(inside.shape[1]) if share is None else share
        of_named = np.bincount(case, out[named] * by[at], minlength=len(inside))
        unnamed = by.sum() - np.bincount(case, by[at], minlength=len(inside))
        rows = slots.case[rest]
        out[rest] = (missed @ by - of_named)[rows] / unnamed[rows]
    return out


def _thresholds(
    weights: Weights,
    scores: Float[np.ndarray, "case class"],
    group: Int[np.ndarray, " case"],
    training: Bool[np.ndarray, "split case"],
    alphas: Sequence[float],
    n_groups: int,
    cost: Float[np.ndarray, " class"] | None,
    bound: float,
) -> Float[np.ndarray, "alpha split group"]:
    """Thresholds of all splits: atoms are sorted once, and those of other splits weigh nothing."""
    case, score, weight = weights.atoms(scores, cost)
    order = np.argsort(score, kind="stable")
    case, score, weight = case[order], score[order], weight[order]
    out = np.empty((len(alphas), len(training), n_groups))
    for at in range(n_groups):
        own = group[case] == at
        of_case, ascending, by = case[own], score[own], weight[own]
        for split, member in enumerate(training):
            steps = Steps.of_sorted(ascending, np.where(member[of_case], by, 0.0))
            n = int((member & (group == at)).sum())
            for level, alpha in enumerate(alphas):
                out[level, split, at] = threshold_of(steps, alpha, n, bound)[0]
    return out


def _by_draw(source: Posterior, vectors: dict, bound: float, seed: int) -> xr.DataArray:
    """Coverage of the plausibilities in every draw, mean over splits."""
    ranges = Ranges(source, seed)
    axes = [list(dict.fromkeys(key[axis] for key in vectors)) for axis in range(3)]
    stacked = np.stack([vectors[key] for key in product(*axes)])
    missed = np.zeros((len(stacked), ranges.n_draws))
    start = 0
    for cases in ranges:
        missed += stacked[:, start : start + len(cases.slots)] @ cases.draws
        start += len(cases.slots)
    values = (1 - missed if bound == 1 else missed).reshape(*(len(axis) for axis in axes), ranges.n_draws)
    dims = ("alpha", "classifier", "target", "draw")
    return xr.DataArray(values, dims=dims, coords=dict(zip(dims[:3], axes, strict=True)))


def _splits(n_cases: int, splits: int, share: float, seed: int) -> Bool[np.ndarray, "split case"]:
    """Calibration cases of every split."""
    n = round(share * n_cases)
    if not 1 <= n < n_cases:
        raise ArgumentError(
            f"share={share:g} calibrates on {n} of {n_cases} cases, which leaves none to calibrate on or none "
            "to test: change the share."
        )
    random = np.random.default_rng([seed, 0x73706C74])
    out = np.zeros((splits, n_cases), bool)
    for split in out:
        split[random.permutation(n_cases)[:n]] = True
    return out


def _check_splits(splits: Any, share: Any) -> None:
    whole = isinstance(splits, int | np.integer) and not isinstance(splits, bool)
    if not (whole and splits >= 1):
        raise ArgumentError(f"splits must be a whole number of at least 1, but {splits!r} was given: write 100.")
    number = isinstance(share, int | float | np.integer | np.floating) and not isinstance(share, bool)
    if not (number and 0 < share < 1):
        raise ArgumentError(f"share must lie between 0 and 1, but {share!r} was given: write 0.5.")


def _targets(target: Any, measures: Sequence[str], posterior: Any) -> list[str]:
    if target is None:
        return list(measures)
    names = [target] if isinstance(target, str) else list(target)
    for name in names:
        check_target(name, posterior)
    if not names:
        raise ArgumentError(f"target must name at least one of {', '.join(measures)}, but {_show(target)} was given.")
    return list(dict.fromkeys(names))
