"""``conformal_coverage``: sets calibrated on some cases, and measured on the others, many times."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from os import PathLike
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Bool, Float, Int

from plausibly.base.arviz import Posterior
from plausibly.base.bootstrap import CI_PROB, REPLICATES, check_probability, check_replicates
from plausibly.base.checks import check_seed, check_whole
from plausibly.base.errors import ArgumentError, renamed, show
from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations
from plausibly.decisions.conformal._calibrate import Atoms, Calibrated, Weights, prior_of, weights_of
from plausibly.decisions.conformal._coverage_result import MEASURES, Coverage, fit_of, means_over_splits
from plausibly.decisions.conformal._curve import Steps, threshold_of
from plausibly.decisions.conformal._inputs import TARGETS, check_alpha, check_target, read_inputs
from plausibly.decisions.conformal._scores import ALL, Function, parse_score
from plausibly.metrics.inputs import check_share
from plausibly.posterior import model_of
from plausibly.posterior.ranges import Ranges

_Costs = Float[np.ndarray, " class"] | None


@renamed(groups="by")
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
    splits, share = check_whole("splits", splits, 1, "write 100"), check_share("share", share)
    parsed = parse_score(score, penalty=penalty, free_ranks=free_ranks, randomised=randomise_scores)
    with (
        read_inputs(posterior, predictions, logits, loss, risks, by, parsed, seed) as inputs,
        Progress(progress) as bars,
    ):
        source, annotations, groups = inputs.source, inputs.annotations, inputs.grouping.names
        known = [name for name in TARGETS if name != "plausibility" or source is not annotations]
        targets = _targets(target, known, posterior)
        alphas = [check_alpha(level, inputs.bound) for level in np.atleast_1d(np.asarray(alpha, object)).tolist()]
        if not alphas:
            raise ArgumentError("alpha must name a level, but none was given: write for example 0.1.")
        prior = prior_of(source, alphas[0]) if "plausibility" in targets and loss is None else None
        weights = {name: weights_of(name, source, annotations) for name in known}
        training = _splits(annotations.n_cases, splits, share, seed)
        advance = bars.task("Calibrating and measuring", len(inputs.classifiers) * len(targets), "runs")
        rows, missed, differences = [], {}, {}
        for (name, calibrated), of_target in product(inputs.classifiers.items(), targets):
            scores = calibrated.scores(slice(None))
            limits = _thresholds(
                weights[of_target].atoms(scores, inputs.cost), calibrated, training, alphas, inputs.bound
            )
            for level, thresholds in zip(alphas, limits, strict=True):
                key = {"alpha": level, "classifier": name, "target": of_target}
                measured, by_slot = _measure(weights, scores, calibrated.group, training, thresholds, inputs.cost)
                rows += [key | row for row in _rows(measured, groups, calibrated.group, training)]
                if "plausibility" in weights:
                    missed[tuple(key.values())] = by_slot
                    # Mean over the splits in which a case is tested.
                    gap = np.where(training, 0, measured["plausibility"] - measured["annotator"])
                    tested = np.maximum((~training).sum(axis=0), 1)
                    differences[tuple(key.values())] = gap.sum(axis=0, dtype=float) / tested
            advance(1)
        bound = inputs.bound
        by_draw = _by_draw(source, missed, bound, seed) if missed else None
    measures = tuple(name for name in MEASURES if name in known)
    table = pd.DataFrame(rows)[["alpha", "classifier", "target", "group", "split", "n", "n_tested", *measures, "size"]]
    return Coverage(
        splits=table,
        table=means_over_splits(table, measures, ci_prob),
        by_draw=by_draw,
        fit=fit_of(differences, int(replicates), int(seed), ci_prob) if differences else None,
        measures=measures,
        loss=loss,
        ci_prob=ci_prob,
        posterior_model="" if source is annotations else model_of(source),
        prior=prior,
    )


def _measure(
    weights: Mapping[str, Weights],
    scores: Float[np.ndarray, "case class"],
    group: Int[np.ndarray, " case"],
    training: Bool[np.ndarray, "split case"],
    thresholds: Float[np.ndarray, "split group"],
    cost: _Costs,
) -> tuple[dict[str, Float[np.ndarray, "split case"]], Float[np.ndarray, " slot"]]:
    """Coverage of each case by measure (its share of the greatest loss), with the size of its set, in every split.

    Also the share of every slot of the plausibilities that sets of test cases miss, mean over splits, summed over
    cases.
    """
    measured = {name: np.zeros(training.shape, np.float32) for name in (*weights, "size")}
    # Of all slots, whatever their weight: each is missed in part.
    atoms = {name: replace(of, weight=np.ones(len(of.slots))).atoms(scores, cost) for name, of in weights.items()}
    by_slot = np.zeros(len(weights["plausibility"].slots) if "plausibility" in weights else 0)
    for split, calibrated in enumerate(training):
        limit = thresholds[split][group]
        measured["size"][split] = (scores >= limit[:, None]).sum(axis=1)
        for name, (slot, case, score, weight) in atoms.items():
            slots = weights[name].slots
            missed = np.bincount(slot, weight * (score < limit[case]), len(slots))
            lost = np.add.reduceat(weights[name].weight * missed, slots.start[:-1])
            measured[name][split] = 1 - lost if cost is None else lost
            if name == "plausibility":
                by_slot += missed * ~calibrated[slots.case] / ((~calibrated).sum() * len(training))
    return measured, by_slot


def _rows(measured, groups, group, training) -> list[dict[str, Any]]:
    """A row per split and group, all together first."""
    members = {ALL: np.ones(len(group), bool)}
    members |= {} if groups == (ALL,) else {label: group == number for number, label in enumerate(groups)}
    rows = []
    for (split, calibrated), (label, member) in product(enumerate(training), members.items()):
        tested = ~calibrated & member
        row = {"group": label, "split": split, "n": int((calibrated & member).sum()), "n_tested": int(tested.sum())}
        means = {name: values[split][tested].mean() if tested.any() else np.nan for name, values in measured.items()}
        rows.append(row | {name: float(mean) for name, mean in means.items()})
    return rows


def _thresholds(
    atoms: Atoms,
    calibrated: Calibrated,
    training: Bool[np.ndarray, "split case"],
    alphas: Sequence[float],
    bound: float,
) -> Float[np.ndarray, "alpha split group"]:
    """Thresholds of all splits: atoms are sorted once, and those of other splits weigh nothing."""
    order = np.argsort(atoms.score, kind="stable")
    _, case, score, weight = (column[order] for column in atoms)
    thresholds = np.empty((len(alphas), len(training), calibrated.n_groups))
    for number in range(calibrated.n_groups):
        inside = calibrated.group[case] == number
        for split, used in enumerate(training):
            steps = Steps.of_sorted(score[inside], np.where(used[case[inside]], weight[inside], 0.0))
            n = int((used & (calibrated.group == number)).sum())
            thresholds[:, split, number] = [threshold_of(steps, alpha, n, bound)[0] for alpha in alphas]
    return thresholds


def _by_draw(source: Posterior, missed: Mapping, bound: float, seed: int) -> xr.DataArray:
    """Coverage of the plausibilities in every draw, mean over splits; by what is missed of every slot."""
    ranges = Ranges(source, seed)
    axes = [list(dict.fromkeys(key[axis] for key in missed)) for axis in range(3)]
    by_slot = np.stack([missed[key] for key in product(*axes)])
    lost = np.zeros((len(by_slot), ranges.n_draws))
    start = 0
    for cases in ranges:
        lost += by_slot[:, start : start + len(cases.slots)] @ cases.draws
        start += len(cases.slots)
    values = (1 - lost if bound == 1 else lost).reshape(*(len(axis) for axis in axes), ranges.n_draws)
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


def _targets(target: Any, measures: Sequence[str], posterior: Any) -> list[str]:
    if target is None:
        return list(measures)
    names = [target] if isinstance(target, str) else list(target)
    for name in names:
        check_target(name, posterior)
    if not names:
        raise ArgumentError(f"target must name at least one of {', '.join(measures)}, but {show(target)} was given.")
    return list(dict.fromkeys(names))
