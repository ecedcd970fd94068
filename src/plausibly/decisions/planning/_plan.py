"""``plan``: the front door."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Int

from plausibly.base.arviz import Posterior
from plausibly.base.bootstrap import CI_PROB, check_probability
from plausibly.base.checks import check_seed
from plausibly.base.errors import ArgumentError, show
from plausibly.data.annotations import Annotations
from plausibly.data.predictions import Marked
from plausibly.decisions.planning._annotators import parse_annotators, usual_length
from plausibly.decisions.planning._forecast import forecast, what_is_known
from plausibly.decisions.planning._result import Plan
from plausibly.decisions.planning._values import Source, Values, ask, value
from plausibly.decisions.planning._worth import (
    Dirichlets,
    Worth,
    choose,
    goal_rows,
    removed_at_random,
    rows_by_draw,
    table_of,
    with_closed_forms,
)
from plausibly.decisions.planning.advice import advise, noise_of
from plausibly.evaluation.evidence import spread
from plausibly.evaluation.metrics import Metrics
from plausibly.posterior import annotations_of, model_of, opened, reading
from plausibly.posterior.says import learns

GOALS = ("width", "better", "information")


def plan(
    posterior: Posterior | str | PathLike,
    predictions: Mapping[str, Any] | None = None,
    *,
    metric: Any = None,
    goal: Literal["width", "better", "information"] = "width",
    compare: Sequence[str] | None = None,
    budget: float = 100,
    cost: Any = None,
    annotators: Any = None,
    candidates: Iterable[str] | None = None,
    annotation: Literal["label", "ranking"] | None = None,
    metrics: Metrics = None,
    logits: Marked = False,
    level: float = 0.95,
    ci_prob: float = CI_PROB,
    break_ties: Literal["order", "random"] = "order",
    seed: int = 0,
    progress: bool = True,
) -> Plan:
    r"""Plan which cases to annotate next, and forecast how much the labels will help.

    For every possible answer of the next annotator, draws are reweighted by the probability of that answer; no new fit
    is needed. Draws are read in blocks of cases.

    Parameters
    ----------
    posterior
        Posterior of N cases, from :func:`plausibly.aggregate` or :func:`plausibly.load`, or the name of its file.
    predictions
        Predictions of each classifier by name, as for :func:`plausibly.evaluate`. Not needed for the goal
        ``"information"``.
    metric
        Name of a metric of :func:`plausibly.evaluate` that is a mean over cases, such as ``"top3_coverage"`` or
        ``"brier"`` (against the most plausible class of every draw). By default ``"top1_accuracy"``, or the only one of
        ``metrics``. Its function, or the name of one of ``metrics``, will do, too.
    goal
        What the labels should achieve. ``"width"``: a narrower interval for the metric, on average over classifiers.
        ``"better"``: a decision on which of two classifiers is better. ``"information"``: more information about the
        plausibilities themselves.
    compare
        Names of the two classifiers to decide between, for the goal ``"better"`` and for the forecast of a decision. By
        default the best two.
    budget
        Number of labels to plan or, with ``cost``, their total cost.
    cost
        Cost of a label: a number, one for each case (an array, or a mapping or pandas Series by name), or one for each
        of the ``annotators`` by name. The default is 1.
    annotators
        Reliability of each annotator by name, or a data frame with the columns ``annotator``, ``reliability`` and,
        optionally, ``cost``; or ``"inferred"``, the posterior medians of the reliabilities that ``infer_reliability(…,
        per="annotator")`` inferred. Each case then gets one label, from the annotator with the greatest value per cost
        among those who have not annotated the case. By default all annotators have the reliability of the model.
    candidates
        Names of the cases to choose from. By default all.
    annotation
        Form of the next annotations, ``"label"`` or ``"ranking"``. By default the form of most annotations so far;
        planned rankings have as many blocks as the median annotation so far.
    metrics
        Metrics, also your own, as for :func:`plausibly.evaluate`.
    logits
        Classifiers whose predictions are logits, as for :func:`plausibly.evaluate`.
    level
        Probability at which the better classifier counts as known.
    ci_prob
        Probability of the interval for the metric over draws.
    break_ties
        Rule for ties, as for :func:`plausibly.evaluate`.
    seed
        Random seed.
    progress
        Whether to show progress: a bar on a terminal or in a notebook, elsewhere a line on standard error.

    Returns
    -------
    Plan
        Plan with ``.table``, ``.forecast``, ``.advice``, ``.plot()`` and ``.tasks()``.

    Raises
    ------
    ArgumentError
        If an argument is out of range or unknown, the goal needs predictions, the posterior has no draws, or its model
        assumes one true class.
    PredictionError
        If predictions do not match the cases or classes, or are not finite.
    FileError
        If a file cannot be read.

    Warns
    -----
    PlausiblyWarning
        If the model does not learn from more annotations, so that no forecast can come true.

    Notes
    -----
    The metric is a mean over cases, :math:`M = N^{-1} \sum_i g_i`. An answer y of the next annotator of case i has the
    probability :math:`p_y`, the mean of :math:`\lambda_{iy}` over draws (or of :math:`\lambda_{iy}^\gamma`,
    renormalised, if annotators choose with these weights), and changes the weights of draws to :math:`w_y \propto
    \lambda_{iy}^c` if a label counts c times. Cases are ordered by the **expected variance removed** from M,

    .. math:: N^{-2} \Big( \mathrm{Var}(g_i) - \sum_y p_y \mathrm{Var}_{w_y}(g_i) \Big),

    which, where labels count once, equals :math:`N^{-2} \sum_y p_y (E_{w_y} g_i - E g_i)^2`. For the goal ``"better"``,
    g is the difference of the two classifiers. Removing the variance :math:`\Delta_i` narrows the interval by
    :math:`1 - \sqrt{1 - \Delta_i / \mathrm{Var}(M)}` of its width; this share, in percent, is the ``value`` in the
    table. Expected information is the mutual information of the next label and the plausibilities,
    :math:`H(E \lambda_i) - E H(\lambda_i)`, in nats.

    Cases are assumed to be independent. If they share sampled parameters that were learned from their own L annotations
    (``class_prior="learned"`` or ``"predictions"``), the variance that these explain is assumed to be
    :math:`L / (L + n)` of it after n more labels, wherever they go: posterior variance falls in inverse proportion to
    the number of observations (Bernstein–von Mises). If they were learned from other cases, if labels do not say how
    far annotators agree (one per case), or if reliabilities are inferred, it is assumed to stay as it is.

    Three things are simulated: the second and later labels of a case, rankings, and the forecasts. One draw is taken as
    the truth, annotations are drawn from it, and all draws are reweighted. This is done for the most valuable cases
    only (at most 20,000), and for at most eight labels per case.

    A forecast is only as good as the prior. If cases have few annotations, use ``class_prior="learned"`` in
    :func:`plausibly.aggregate`, which learns from all cases how common and how ambiguous classes are. If a uniform
    prior does not fit, planned labels may narrow intervals no more than labels of random cases. A posterior without the
    classifiers' predictions assumes that they know no more about a case than its annotations say. If they know more,
    the cases on which they differ are more ambiguous than it says, and forecasts for the goal ``"better"`` are too
    optimistic: plan under a posterior that knows the predictions (``predictions=``), or again once some of the labels
    are in.

    In simulations under a prior that fits (``validation/planning.py``), intervals turned out 2 % wider than forecast
    (10 % narrower under posteriors that know predictions), and decisions that were forecast with a mean probability of
    0.83 occurred with a frequency of 0.82. Values look only one label ahead: in replays of simulated cases with twelve
    classes, choosing one label at a time by value for the goal ``"width"`` narrowed intervals less in the end than
    choosing by entropy.

    Reweighting cannot be trusted if few draws carry all the weight after an answer. ``effective_draws`` in the table is
    the effective number of draws, averaged over answers; below 50, more draws or a new fit are needed, and the advice
    says so. Up to 16 classes are distinguished; with more, all classes that no annotator of the case has named count as
    one answer. If the prior changes when a class is first named (``unranked="lumped"``), a new fit after such an answer
    would differ from the reweighted draws.

    References
    ----------
    Lindley (1956), On a measure of the information provided by an experiment, Annals of Mathematical Statistics 27;
    Raiffa & Schlaifer (1961), Applied Statistical Decision Theory, chapter 4 (preposterior analysis).

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "b"], ["a", "a", "a"], ["b", "b"], ["a"]] * 5)
    >>> posterior = pb.aggregate(annotations, "dirichlet-categorical", seed=0, progress=False)
    >>> found = plan(posterior, {"A": [[0.9, 0.1]] * 20, "B": [[0.4, 0.6]] * 20}, budget=6, progress=False)
    >>> int(found.chosen["labels"].sum()), len(found.sequence), int(found.forecast["labels"].max())
    (6, 6, 6)
    """
    _check(goal, budget, level, ci_prob, seed)
    with opened(posterior) if isinstance(posterior, str | PathLike) else reading(posterior) as draws:
        annotations = annotations_of(draws)
        asked = parse_annotators(draws, annotations, annotators, cost)
        offered = _candidates(candidates, annotations)
        length = usual_length(annotations, annotation)
        pairs = partial(_pairs, compare=compare, goal=goal)
        source = ask(draws, predictions, metric, metrics, pairs, asked.settings, length, seed, break_ties, logits)
        if goal != "information" and not source.names:
            raise ArgumentError(
                f"the goal {goal!r} needs the predictions of classifiers, but none were given: add predictions, or "
                'choose goal="information".'
            )
        source, values = _best_pair(source, value(source, progress=progress))
        exact = Dirichlets.of(draws, annotations)
        values = with_closed_forms(source, values, exact)
        rows = rows_by_draw(source, values)
        # Whether cases share parameters that were sampled with them.
        shared = "class_prior_shape" in draws.attrs or "reliability" in draws["posterior"]
        learned_from = _learned_from(draws, annotations)
        now = what_is_known(values, rows, source.n_cases, ci_prob, shared=shared, learned_from=learned_from)
        common = 0.0 if goal == "information" else float(now.removed(1)[goal_rows(source, goal)].mean())
        worth = Worth.of(source, values, goal, exact, asked, offered, common)
        if (worth.annotator[offered] < 0).all():
            raise ArgumentError(
                "every case that may be annotated has been annotated by all of the annotators: name other annotators "
                "or cases."
            )
        bank, order = choose(worth, float(budget), progress=progress)
        # Numbers of labels that are forecast: none, and up to ten more.
        points = np.unique(np.linspace(0, len(order.case), 11).round().astype(int))
        if source.names:
            at_random = removed_at_random(worth, points)
            told = forecast(values, bank, order, now, source.labels, points, at_random, level=level, seed=seed)
        else:
            gained, spent = (np.append(0.0, column) for column in (np.cumsum(order.gain), order.cost))
            told = pd.DataFrame({"labels": points, "cost": spent[points], "information": gained[points]})
        result = Plan(
            table=table_of(worth, bank, order, now.variance),
            forecast=told,
            noise=noise_of(source, values, seed) if source.names else None,
            goal=goal,
            metric=source.metric,
            compare=source.labels[-1] if source.question.pairs else None,
            level=level,
            ci_prob=ci_prob,
            budget=float(budget),
            length=length,
            n_cases=source.n_cases,
            labels_per_case=annotations.n_annotations / source.n_cases,
            label_cost=float(worth.cost[offered].mean()),
            posterior_model=model_of(draws),
            class_prior=str(draws.attrs.get("class_prior", "")),
            learns=learns(draws.attrs),
            sequence=tuple(str(name) for name in annotations.cases[bank.cases[order.case]]),
        )
    return replace(result, advice=tuple(advise(result)))


def _check(goal: Any, budget: Any, level: Any, ci_prob: Any, seed: Any) -> None:
    if goal not in GOALS:
        raise ArgumentError(f"goal must be one of {', '.join(GOALS)}, but {show(goal)} was given: choose one of them.")
    if isinstance(budget, bool) or not isinstance(budget, int | float | np.number) or not 0 < budget < np.inf:
        raise ArgumentError(f"budget must be a positive number, but {show(budget)} was given: write for example 100.")
    check_probability("level", level)
    if level <= 0.5:
        raise ArgumentError(f"level must be above 0.5, but {level:g} was given: write for example 0.95.")
    check_probability("ci_prob", ci_prob)
    check_seed(seed)


def _candidates(candidates: Any, annotations: Annotations) -> Int[np.ndarray, " offered"]:
    if candidates is None:
        return np.arange(annotations.n_cases)
    names = [candidates] if isinstance(candidates, str) else list(candidates)
    place = {str(name): at for at, name in enumerate(annotations.cases)}
    for name in names:
        if str(name) not in place:
            raise ArgumentError(f"there is no case {str(name)!r} among the cases of the posterior: name others.")
    if not names:
        raise ArgumentError("candidates must name a case, but none is named: leave them out to take all.")
    return np.unique([place[str(name)] for name in names])


def _pairs(names: tuple[str, ...], compare: Any, goal: str) -> list[tuple[int, int]]:
    """The pair asked for, or all, of which the best two are taken later."""
    if compare is not None:
        wanted = [str(name) for name in compare] if not isinstance(compare, str) else [compare]
        if len(wanted) != 2 or wanted[0] == wanted[1]:
            raise ArgumentError(f"compare must name two classifiers, but {show(compare)} was given.")
        for name in wanted:
            if name not in names:
                raise ArgumentError(f"there is no classifier {name!r} to compare: choose from {', '.join(names)}.")
        return [(names.index(wanted[0]), names.index(wanted[1]))]
    if goal == "better" and len(names) == 1:
        raise ArgumentError('the goal "better" needs two classifiers, but one was given: add another.')
    return [(a, b) for a in range(len(names)) for b in range(a + 1, len(names))]


def _best_pair(source: Source, values: Values) -> tuple[Source, Values]:
    """Keep, of all pairs, that of the two classifiers that do best."""
    pairs, n = source.question.pairs, len(source.names)
    if not pairs:
        return source, values
    goodness = source.question.sign * values.by_draw.mean(axis=1)
    first, second = np.argsort(-goodness, kind="stable")[:2]
    at = 0 if len(pairs) == 1 else pairs.index((min(first, second), max(first, second)))
    rows = [*range(n), n + at]
    kept = {name: getattr(values, name)[rows] for name in ("mean", "variance")}
    values = replace(values, **kept, removed=values.removed[:, rows])
    return replace(source, question=source.question._replace(pairs=(pairs[at],))), values


def _learned_from(posterior: Posterior, annotations: Annotations) -> float:
    """Number of annotations from which the parameters that cases share are learned; infinite if further ones add none.

    Of very many cases, a sample is learned from (:class:`plausibly.priors.PredictionsPrior`); of the labels now and of
    those to come, it has the same share, so that the ratio of the two is that of all cases.
    """
    attrs = posterior.attrs
    of_cases = attrs.get("prior_from") == "cases" and "class_prior_shape" in attrs and spread(attrs) == "labels"
    return float(annotations.n_annotations) if of_cases and "reliability" not in posterior["posterior"] else math.inf
