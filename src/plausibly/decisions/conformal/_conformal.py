"""``conformal``: the front door."""

import warnings
from collections.abc import Mapping
from os import PathLike
from typing import Any, Literal

import numpy as np
import xarray as xr

from plausibly.base.arviz import Posterior
from plausibly.base.checks import check_seed, check_whole
from plausibly.base.errors import PlausiblyWarning, renamed
from plausibly.data.annotations import Annotations
from plausibly.data.rounds import tell
from plausibly.decisions.conformal._calibrate import prior_of, sampled, weights_of
from plausibly.decisions.conformal._inputs import check_alpha, check_target, read_inputs
from plausibly.decisions.conformal._result import EVERY, Conformal
from plausibly.decisions.conformal._scores import ALL, Function, parse_score


@renamed(groups="by")
def conformal(
    posterior: Posterior | Annotations | str | PathLike,
    predictions: Mapping[str, Any],
    *,
    alpha: float = 0.1,
    score: Literal["lac", "aps", "raps", "top-k"] | Function = "lac",
    target: Literal["plausibility", "annotator", "vote"] = "plausibility",
    by: Any = None,
    loss: Literal["risk"] | None = None,
    risks: Any = None,
    samples: int | None = None,
    penalty: float | None = None,
    free_ranks: int | None = None,
    randomise_scores: bool = False,
    randomise_threshold: bool = False,
    logits: bool = False,
    by_draw: bool = True,
    seed: int = 0,
) -> Conformal:
    r"""Calibrate sets of classes that contain the answer with a guaranteed probability.

    A set consists of the classes whose score is at least a threshold. Where experts disagree, there is no single answer
    to contain. The threshold is therefore chosen so that sets miss at most ``alpha`` of the *plausibilities*, on
    average over new cases of the same kind.

    Parameters
    ----------
    posterior
        Posterior of the N calibration cases over K classes, from :func:`plausibly.aggregate` or
        :func:`plausibly.load`, or the name of its file. Or, for targets that need no model, ``Annotations``.
    predictions
        Predictions of each classifier by name, as for :func:`plausibly.evaluate`. The classifiers must not have been
        trained on these cases.
    alpha
        Largest share that sets may miss on average: between 0 and 1 or, with ``loss="risk"``, between 0 and the
        greatest risk level. By default 0.1.
    score
        Conformal score. ``"lac"``, the default: the prediction itself, a probability or any other number; ``"aps"``:
        minus the sum of the probabilities of the class and of all classes ranked above it; ``"raps"``: the same, less a
        penalty that grows with the rank; ``"top-k"``: minus the rank. Or a function from (case, class) to (case, class)
        that is greater for more plausible classes and uses only the scores of the same case.
    target
        Answer that sets should contain. ``"plausibility"``: a class drawn from the posterior mean of the
        plausibilities. ``"annotator"``: the first choice of the next annotator; all annotators of a case have the same
        weight, which tied first choices share; no aggregation model is needed. ``"vote"``: the class with the most
        first choices (tied classes share the weight); with this target, the guarantee is about the vote only.
    by
        Groups of cases that get their own threshold, so that the guarantee holds in each: ``"risk"``, the risk level of
        the predicted class; ``"certainty"``, the greatest predicted probability, cut at 0.5, 0.8 and 0.95; a column
        with a value for each case, also known for new cases; or a function from (case, class) to a value for each case.
    loss
        Loss to bound: by default the probability of missing the answer; ``"risk"``, the expected risk level of missed
        answers.
    risks
        Risk level of each class, as for :func:`plausibly.read_risks`; needed by ``loss="risk"`` and ``by="risk"``.
    samples
        Number of labels to draw per case; by default none are drawn, and each class counts with its exact weight.
        Drawing labels gives Monte Carlo conformal prediction as published, for comparison.
    penalty, free_ranks
        Parameters of RAPS, by default 0.01 and 5.
    randomise_scores
        Whether the class itself enters its score (aps, raps, top-k) with a random weight, uniform between 0 and 1. This
        breaks ties between scores, so that coverage is closer to the guarantee and sets are usually smaller. Without
        it, the class ranked last has the same ``"aps"`` or ``"top-k"`` score in every case, so where plausibilities are
        flat, sets hold every class.
    randomise_threshold
        Whether a class whose score equals the threshold is kept at random rather than always, with the probability that
        just meets the guarantee.
    logits
        Whether predictions are logits, to which a softmax is applied.
    by_draw
        Whether to also compute a threshold for each draw (target ``"plausibility"``).
    seed
        Random seed. The random numbers of a case depend on the seed and its name.

    Returns
    -------
    Conformal
        ``.threshold`` and ``.threshold_by_draw``; ``.predict(new_scores)``, ``.p_values(new_scores)`` and
        ``.table(new_scores)`` for new cases; ``.summary()`` and ``.plot()``.

    Raises
    ------
    ArgumentError
        If an argument is out of range or unknown, or a target needs a posterior and annotations were given.
    PredictionError
        If predictions do not match the cases or classes, are not finite, or are not probabilities and the score needs
        probabilities.
    FileError
        If a file cannot be read.

    Warns
    -----
    PlausiblyWarning
        If a group has fewer than 1/alpha − 1 cases, so that its sets contain every class, or they do so because
        scores are equal.

    Notes
    -----
    With scores :math:`s(x, k)` and plausibilities :math:`\lambda_i`, case i loses
    :math:`L_i(\tau) = \sum_k \lambda_{ik} 1[s(x_i, k) < \tau]`, and :math:`\tau` is the largest threshold with
    :math:`(\sum_i L_i(\tau) + 1) / (n + 1) \le \alpha`. If calibration cases and a new case are exchangeable, the new
    case loses at most :math:`\alpha` on average: a class drawn from its plausibilities is in the set with a probability
    of at least :math:`1 - \alpha`. With a randomised threshold, this probability is also at most
    :math:`1 - \alpha + 1 / (n + 1)`. If labels are drawn (``samples``), the loss is the share of drawn labels that are
    missed, and the guarantee is the same.

    The guarantee is exact if the plausibilities of a calibration case do not depend on the annotations of other
    calibration cases. A prior that was learned from these cases breaks this slightly, and so does a model that learns
    about annotators from all cases: the verdict then says "about". Measured on 60 cases, sets under a prior learned
    from them covered as often as under one learned from others. ``target="annotator"`` needs no prior.

    The scores of at most a few thousand cases are in memory at a time. Beyond two million distinct scores,
    neighbouring scores are merged into the lower one, which adds at most a few millionths to the coverage.

    References
    ----------
    Angelopoulos, Bates, Fisch, Lei & Schuster (2022), Conformal risk control, arXiv 2208.02814; Stutz, Roy,
    Matejovicova, Strachan, Cemgil & Doucet (2023), Conformal prediction under ambiguous ground truth, arXiv 2307.09302.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a"], ["a", "b"], ["b", "b"]] * 10)
    >>> predictions = {"A": [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]] * 10}
    >>> found = pb.conformal(annotations, predictions, alpha=0.2, score="lac", target="annotator")
    >>> found.threshold.values.tolist(), found.predict({"A": [[0.7, 0.3], [0.55, 0.45]]}).values.tolist()
    ([[0.6]], [[[True, False], [False, False]]])
    >>> found.guarantee().split(", ")[1]
    'a set contains the first choice of the next annotator with a probability of at least 0.8.'
    """
    check_seed(seed)
    parsed = parse_score(score, penalty=penalty, free_ranks=free_ranks, randomised=randomise_scores)
    check_target(target, posterior)
    if samples is not None:
        samples = check_whole("samples", samples, 1, "leave it out for exact weights")
    with read_inputs(posterior, predictions, logits, loss, risks, by, parsed, seed) as inputs:
        source, annotations, groups = inputs.source, inputs.annotations, inputs.grouping.names
        alpha = check_alpha(alpha, inputs.bound)
        of_draws = target == "plausibility"
        prior = prior_of(source, alpha) if of_draws and loss is None else None
        attrs = {} if isinstance(source, Annotations) else source.attrs
        learned = of_draws and attrs.get("prior_from", "given") != "given"
        if target != "plausibility":
            tell(annotations.rounds)
        weights = exact = weights_of(target, source, annotations)
        if samples is not None:
            weights = sampled(exact, samples, annotations.n_classes, seed)
        coords = {"classifier": list(inputs.classifiers), "group": list(groups)}
        shape = tuple(len(names) for names in coords.values())
        counts, thresholds, keep, sizes = (np.zeros(shape, kind) for kind in (int, float, float, float))
        drawn: list[np.ndarray] = []
        curves = {}
        for at, (name, calibrated) in enumerate(inputs.classifiers.items()):
            of_groups = calibrated.curves(weights, inputs.cost, inputs.bound)
            counts[at] = [curve.n for curve in of_groups]
            thresholds[at], keep[at] = np.transpose([curve.threshold(alpha) for curve in of_groups])
            sizes[at] = calibrated.mean_sizes(thresholds[at])
            curves |= {(name, label): curve for label, curve in zip(groups, of_groups, strict=True)}
            if by_draw and of_draws and samples is None:
                by_group = calibrated.thresholds_by_draw(source, of_groups, exact.share, inputs.cost, alpha, seed)
                drawn.append(by_group)
    if not randomise_threshold:
        keep[:] = 1

    def labelled(array: np.ndarray, *more: str) -> xr.DataArray:
        return xr.DataArray(array, dims=(*coords, *more), coords=coords)

    calibration = Conformal(
        alpha=alpha,
        target=target,
        loss=loss,
        samples=samples,
        random_threshold=bool(randomise_threshold),
        seed=int(seed),
        classes=annotations.classes,
        n_cases=labelled(counts),
        threshold=labelled(thresholds),
        keep=labelled(keep),
        threshold_by_draw=labelled(np.stack(drawn), "draw") if drawn else None,
        mean_size=labelled(sizes),
        score=parsed,
        curves=curves,
        grouping=inputs.grouping,
        prior=prior,
        learned=learned,
        logits=inputs.logits,
    )
    _warn_of_few(counts, alpha, inputs.bound, groups)
    _warn_of_full(calibration)
    return calibration


def _warn_of_few(counts: np.ndarray, alpha: float, bound: float, groups: tuple[str, ...]) -> None:
    """Warn of groups with too few cases; `counts` are by classifier and group."""
    least = int(np.ceil(bound / alpha - 1 - 1e-9))
    small = [(group, n) for group, n in zip(groups, counts.min(axis=0).tolist(), strict=True) if n < least]
    if small:
        where = ", ".join(f"{n} in the group {group!r}" if groups != (ALL,) else f"{n}" for group, n in small)
        warnings.warn(
            f"alpha = {alpha:g} needs at least {least} calibration cases, but there are {where}: every class is in "
            "every set there",
            PlausiblyWarning,
            stacklevel=3,
        )


def _warn_of_full(calibration: Conformal) -> None:
    """Warn of classifiers and groups whose sets all hold every class although there are enough cases."""
    score, groups, n_classes = calibration.score, calibration.groups, len(calibration.classes)
    full = np.argwhere((calibration.mean_size == n_classes).values & np.isfinite(calibration.threshold.values))
    if not len(full) or n_classes == 1:
        return
    where = ", ".join(
        f"{calibration.classifiers[i]!r}" + (f" in the group {groups[j]!r}" if groups != [ALL] else "") for i, j in full
    )
    if score.name in ("lac", "function"):
        fix = "many of its scores are equal, or too little of the plausibility is on classes that it ranks first"
    elif score.randomised:
        fix = 'choose score="lac"'
    else:
        fix = 'the class ranked last has the same score in every case: choose score="lac", or randomise_scores=True'
    warnings.warn(
        f"{EVERY}, so coverage is 1 where {1 - calibration.alpha:g} was asked, for classifier {where}: {fix}",
        PlausiblyWarning,
        stacklevel=4,
    )
