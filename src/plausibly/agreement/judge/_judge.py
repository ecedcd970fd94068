"""Whether a model can stand in for an annotator: a test, four questions, and why their answers differ."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from plausibly.agreement.discrepancy._delta import find_delta
from plausibly.agreement.discrepancy._discrepancy_ratio import discrepancy_of, discrepancy_ratio
from plausibly.agreement.discrepancy._result import Discrepancy
from plausibly.agreement.judge._by import by_group, columns_of
from plausibly.agreement.judge._fit import RANKED, Answers, answers_of, dense_draws, fit
from plausibly.agreement.judge._gold import against_gold
from plausibly.agreement.judge._reasons import copied, offset, other_scale, reasons_of, unknown_labels
from plausibly.agreement.judge._test_result import AlternativeAnnotatorTest
from plausibly.agreement.judge._tests import FEW
from plausibly.agreement.judge.judgement import Judgement
from plausibly.agreement.pairs import counted_once
from plausibly.base.bootstrap import CI_PROB, REPLICATES, check_probability, check_replicates
from plausibly.base.checks import check_choice, check_share, check_whole
from plausibly.base.errors import ArgumentError, renamed
from plausibly.data.annotations.io.long_table import check_repeats
from plausibly.data.labels.container import Labels, column_names
from plausibly.data.labels.gold import Gold, read_gold
from plausibly.data.labels.predictions import Predictions, beside_models, read_models
from plausibly.data.labels.types import usual_distance


@renamed(groups="clusters")
def alternative_annotator_test(
    labels: Any,
    predictions: Any,
    *,
    epsilon: float = 0.2,
    distance: str | Callable[[Any, Any], float] | None = None,
    fdr: float = 0.05,
    few_cases: int = FEW,
    clusters: str | Mapping[str, Any] | None = None,
    tolerance: float | None = None,
    progress: bool = True,
) -> AlternativeAnnotatorTest:
    r"""Test whether a model can stand in for an annotator, given that annotators cost more.

    Every annotator :math:`j` is left out in turn. In each case :math:`i` that she shares with others, the model's mean
    distance to the labels of the others is compared with her own. Let :math:`W^f_{ij}` be 1 if the model is at least as
    close as she is, else 0, and :math:`W^h_{ij}` be 1 if she is at least as close as the model, else 0. The advantages
    are :math:`\rho^f_j = \mathrm{mean}_i W^f_{ij}` and :math:`\rho^h_j = \mathrm{mean}_i W^h_{ij}`. For each annotator,
    a paired one-sided test asks whether

    .. math:: H_{0j}: \rho^f_j \le \rho^h_j - \varepsilon

    can be rejected. This is a t-test, or Wilcoxon's signed-rank test if there are few cases; the false discovery rate
    over annotators is controlled (Benjamini & Yekutieli). The winning rate :math:`\omega` is the share of annotators
    for whom the hypothesis is rejected. The model passes if it is at least one half. The published test ends here; the
    result also has bootstrap intervals over clusters of cases, and the power.

    Parameters
    ----------
    labels
        Long table with the columns ``case``, ``annotator``, ``label``: see :meth:`Labels.of`. Annotators need not label
        every case, and may label a case several times. Cases with fewer than two annotators do not count.
    predictions
        Labels of a model, or of several by name, as for :func:`discrepancy_ratio`.
    epsilon
        Cost-benefit parameter ε, from 0 to 1: how far an annotator's advantage may exceed the model's because the
        model costs less. The authors suggest 0.2 for experts, 0.15 for skilled annotators and 0.1 for crowd workers.
    distance
        Distance between two labels: classes (``"nominal"``), numbers (``"squared"``: the comparison of root mean
        squared errors; ``"absolute"``, ``"hinge"``), or any distance of :mod:`plausibly.distances` for texts, boxes,
        partial rankings and others; see ``distance`` of :func:`discrepancy_ratio`, also for the default. Only the order
        of distances matters.
    fdr
        False discovery rate over annotators.
    few_cases
        Number of cases below which Wilcoxon's signed-rank test replaces the t-test; 30, as published. With 0, the
        t-test is always used. Wilcoxon's test is not a test of the mean if differences are −1, 0 and 1: in simulations
        with fewer than 30 cases, models that were worse by a little more than ε passed in up to 39 % of studies, and
        with the t-test in at most 5 %.
    clusters
        Clusters that the bootstrap draws, such as patients with several cases, as for :func:`discrepancy_ratio`. The
        tests always assume independent cases, as published.
    tolerance
        Tolerance λ of ``"hinge"``.
    progress
        Whether to show progress.

    Returns
    -------
    AlternativeAnnotatorTest
        Result with ``winning_rate``, ``advantage``, ``passed``, ``table`` (by model and annotator), ``notes`` (what
        limits the conclusion, such as few annotators or many equal distances), ``interval()`` and ``power()``.

    Raises
    ------
    ArgumentError
        If ``epsilon``, ``fdr`` or a distance is out of range or unknown.
    PlausiblyError
        As for :func:`discrepancy_ratio`.

    References
    ----------
    Calderon, Reichart & Dror (2025), The alternative annotator test for LLM-as-a-judge: how to statistically justify
    replacing human annotators with LLMs, arXiv 2501.10970; Benjamini & Yekutieli (2001), The control of the false
    discovery rate in multiple testing under dependency, Annals of Statistics 29.

    Examples
    --------
    >>> says = {"ann": "aabb" * 15, "bob": "aabb" * 14 + "bbbb", "cy": "aabb" * 14 + "aaaa"}
    >>> rows = [(str(case), who, label) for who, labels in says.items() for case, label in enumerate(labels)]
    >>> test = alternative_annotator_test(rows, {"A": [(str(case), label) for case, label in enumerate("aabb" * 15)]})
    >>> test.winning_rate.to_dict(), test.advantage.round(3).to_dict()
    ({'A': 1.0}, {'A': 1.0})
    """
    check_share("epsilon", epsilon, "give 0.2, or 0.1 in a crowd")
    check_whole("few_cases", few_cases, 0, "give 30")
    check_probability("fdr", fdr)
    compared = discrepancy_ratio(labels, predictions, distance, clusters, tolerance=tolerance, progress=progress)
    return AlternativeAnnotatorTest(compared, float(epsilon), float(fdr), few_cases)


MODELS = ("auto", "one-coin", "dawid-skene", RANKED)


@renamed(groups="clusters")
def judge(
    labels: Any,
    predictions: Any,
    *,
    gold: Any = None,
    extra: Literal["refuse", "ignore"] = "refuse",
    distance: str | Callable[[Any, Any], float] | None = None,
    epsilon: float = 0.2,
    margin: float = 0.1,
    accuracy_margin: float = 0.05,
    shared_errors: float = 0.1,
    fdr: float = 0.05,
    clusters: str | Mapping[str, Any] | None = None,
    by: str | Sequence[str] | Mapping[str, Mapping[str, Any]] | None = None,
    intersections: bool = False,
    repeats: Literal["refuse", "first", "last", "ties", "readings"] | None = None,
    tolerance: float | None = None,
    model: Literal["auto", "one-coin", "dawid-skene", "plackett-luce"] | None = "auto",
    ci_prob: float = CI_PROB,
    replicates: int = REPLICATES,
    draws: int = 250,
    chains: int = 4,
    warmup: int = 300,
    seed: int = 0,
    progress: bool = True,
) -> Judgement:
    """Decide from the answers to four questions whether a model can stand in for an annotator.

    1. *Closeness.* Is it as close to the annotators as they are to each other (:func:`discrepancy_ratio`)?
    2. *Replacement.* Does it pass the :func:`alternative_annotator_test`? The t-test is used even if annotators share
       few cases, where the published rule certifies too many models.
    3. *As one of them.* Treated as one more annotator in a model of annotators' errors, is it as accurate (for
       rankings, as reliable) as the annotators are on average? Not if question 1 or 4, or how often labels are equal,
       says no.
    4. *Truth.* Is it as accurate as the annotators, against the inferred truth or, on the cases that have one, ``gold``
       labels? These decide: the verdict begins with the difference of the accuracies, and whether the model gives the
       answers that most annotators get wrong.

    Questions 1 and 2 take the annotators for right. Questions 3 and 4 assume that they err independently of each other
    and, except for rankings, that every case has one true class. By the annotators' labels alone, a model that knows
    more of a case than they say is rated too low; by its labels, too, one that errs where they do is rated too high.
    Both must say yes or no, and a model that is right where ``shared_errors`` mislead the annotators must not be a no.
    An answer is yes or no from a probability of 0.95 on (question 2: by the test), else open. Where answers that look
    at no case would get a yes, too, or annotators may agree no more than by chance, these annotators cannot tell.

    Parameters
    ----------
    labels
        Labels of the annotators, see :meth:`Labels.of`.
    predictions
        Labels of a model, or of several by name, as for :func:`discrepancy_ratio`.
    gold
        Gold labels of some of the cases, known to be right, as a table with the columns ``case`` and ``label`` or as
        ``{case: label}``. Others are left out; :func:`plausibly.labels.read_gold` counts them.
    extra
        ``"ignore"`` leaves out predictions of cases that are not annotated, with a warning; ``"refuse"`` refuses them.
    distance, tolerance
        Distance between two labels for questions 1 and 2, see :func:`alternative_annotator_test`.
    epsilon
        Cost-benefit parameter ε of the alternative annotator test: 0.2 for experts, 0.15 if skilled, 0.1 for crowds.
    fdr
        False discovery rate of the alternative annotator test, see :func:`alternative_annotator_test`.
    margin
        Amount by which Δ may exceed 1 in question 1.
    accuracy_margin
        Amount by which the model's accuracy (for rankings, the logarithm of its reliability) may fall below the
        annotators' mean in questions 3 and 4.
    shared_errors
        Share of the cases in which all annotators may make the same error, which their labels cannot show.
    clusters
        Clusters of cases for the bootstrap, such as patients: a column of the labels, or a mapping from case.
    by
        Columns of the table of labels that group cases or annotators, or mappings ``{case: group}`` by name; results
        are also reported for each group.
    intersections
        Whether to also report groups that combine several columns about cases.
    repeats
        What to do with several labels of one annotator, or of a model, for one case, as for :meth:`Labels.of`. With
        ``"readings"``, questions 3 and 4 are left out.
    model
        Model of the annotators for questions 3 and 4: ``"dawid-skene"``, ``"one-coin"`` or ``"plackett-luce"``
        (rankings, tempered, with inferred reliabilities). ``"auto"`` uses the last for the distance
        ``"partial_rankings"``; for up to 30 classes, Dawid-Skene if annotators gave each class often enough (ten
        times for every class) and chains converge, else one-coin; otherwise none. With None, and for labels of other
        kinds, questions 3 and 4 are left out.
    ci_prob, replicates
        Probability of all intervals, and number of bootstrap replicates.
    draws, chains, warmup
        Numbers of draws per chain, of chains and of warm-up sweeps for the model of annotators. Every fourth sweep is
        kept, or every 32nd if chains do not converge otherwise (with ``model="auto"``, every 16th).
    seed
        Random seed.
    progress
        Whether to show progress.

    Returns
    -------
    Judgement
        Result with ``table`` (one row per model, with all numbers behind the answers), ``questions`` (with their
        answers in words), ``reasons`` (why these differ), ``verdict()``, ``by`` and the underlying results.

    Raises
    ------
    ArgumentError
        If an argument is out of range.
    PlausiblyError
        As for :func:`discrepancy_ratio`.

    References
    ----------
    Lovchinsky et al. (2020), Discrepancy ratio; Calderon, Reichart & Dror (2025), arXiv 2501.10970; Dawid & Skene
    (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied Statistics 28.

    Examples
    --------
    >>> says = {"ann": "aabb" * 15, "bob": "aabb" * 14 + "bbbb", "cy": "aabb" * 14 + "aaaa"}
    >>> rows = [(str(case), who, label) for who, labels in says.items() for case, label in enumerate(labels)]
    >>> judged = judge(rows, {"A": [(str(i), label) for i, label in enumerate("aabb" * 15)]}, model=None)
    >>> [(question.name, question.answer) for question in judged.questions["A"]]
    [('closeness', 'yes'), ('replacement', 'yes'), ('as one of them', 'unknown'), ('truth', 'unknown')]
    """
    check_share("epsilon", epsilon, "give 0.2, or 0.1 in a crowd")
    check_choice("extra", extra, ("refuse", "ignore"))
    for name, value in (("fdr", fdr), ("ci_prob", ci_prob)):
        check_probability(name, value)
    check_replicates(replicates)
    for name, value in (("margin", margin), ("accuracy_margin", accuracy_margin), ("shared_errors", shared_errors)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
            raise ArgumentError(f"{name} must be at least 0 and below 1, but {value!r} was given: give 0.1.")
    if model == "rasch":
        raise ArgumentError(
            'model="rasch" needs answers that are known to be right or wrong, but a judgement has no truth: give '
            '"one-coin", which infers it.'
        )
    if model is not None:
        check_choice("model", model, MODELS)
    source, columns = labels, [*dict.fromkeys([*column_names(clusters), *columns_of(by)])]
    labels = Labels.of(source, columns=columns, repeats=repeats)
    distance = usual_distance(source, labels).name if distance is None else distance
    labels = counted_once(beside_models(labels, predictions))
    counted = np.diff(labels.start) >= 2
    models = read_models(predictions, labels, counted, extra=extra, repeats=check_repeats(repeats))
    compared = discrepancy_ratio(labels, models, distance, clusters, tolerance=tolerance, progress=progress)
    test = AlternativeAnnotatorTest(compared, float(epsilon), float(fdr), few_cases=0)
    truths = None
    if gold is not None:
        joined = gold if isinstance(gold, Gold) else read_gold(gold, labels)
        truths = against_gold(joined, compared.labels, models, compared.clusters, replicates, seed)
    answers = "no model of annotators was asked for" if model is None else answers_of(labels, models, distance, model)
    fits, reasons = {}, {name: {} for name in models}
    if distance == "nominal":
        strange = {name: unknown_labels(labels, one.values, name) for name, one in models.items()}
        reasons = {name: {} if words is None else {"unknown labels": words} for name, words in strange.items()}
    for name, one in models.items():
        if told := other_scale(labels, one.values, name, compared.distance):
            reasons[name]["scale"] = told
        elif distance != "nominal" and (told := offset(labels, one, name)):
            reasons[name]["offset"] = told
        if told := copied(compared.labels, one, test, name):
            reasons[name]["copy"] = told
    equal, simplified = None, False
    if isinstance(answers, Answers):
        wanted = answers.model
        if wanted != RANKED:
            equal = _equal(compared, models)
        sampling = {"draws": draws, "chains": chains, "warmup": warmup, "seed": seed, "progress": progress}
        answers, fits, alone = fit(answers, compared.clusters, ci_prob, sampling, simplify=model == "auto")
        simplified = answers.model != wanted
        truth = None if answers.model == RANKED else dense_draws(alone, answers.votes.shape).mean(axis=0)
        for name, found in fits.items():
            reasons[name] |= reasons_of(truth if found.converged else None, answers, found, test, name)
    result = Judgement(
        test=test,
        fits=fits,
        model=answers.model if isinstance(answers, Answers) else None,
        left_out=answers if isinstance(answers, str) else None,
        gold=truths,
        reasons=reasons,
        margin=float(margin),
        accuracy_margin=float(accuracy_margin),
        equal=equal,
        shared_errors=float(shared_errors),
        simplified=simplified,
        ci_prob=ci_prob,
        replicates=replicates,
        seed=seed,
    )
    if by is None:
        return result
    return by_group(result, by, answers.case if isinstance(answers, Answers) else None, intersections=intersections)


def _equal(compared: Discrepancy, models: Mapping[str, Predictions]) -> Discrepancy:
    """Compare labels by whether they are equal."""
    if compared.distance == "nominal":
        return compared
    found = discrepancy_of(compared.labels, compared.label_sets, models, find_delta("nominal"), None, progress=False)
    return replace(found, clusters=compared.clusters)
