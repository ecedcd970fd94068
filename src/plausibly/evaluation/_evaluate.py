"""``evaluate``: arguments checked, ranges of cases measured, and the results named."""

import json
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal

import numpy as np
import xarray as xr
from jax.typing import ArrayLike
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from plausibly.base.arviz import Posterior
from plausibly.base.bootstrap import CI_PROB, PANEL, REPLICATES, check_probability
from plausibly.base.checks import check_whole
from plausibly.base.cluster import in_order, map_on
from plausibly.base.compute import ahead
from plausibly.base.errors import ArgumentError, DataWarning, PlausiblyWarning, renamed
from plausibly.base.integers import distinct
from plausibly.base.memory import release_memory
from plausibly.base.names import listed, some
from plausibly.base.pools import small_products
from plausibly.base.programs import kept_on_disk
from plausibly.base.progress import Progress, logged
from plausibly.base.random_streams import Stream, key_words
from plausibly.data.annotations import Annotations, Scores
from plausibly.data.audit import exchanged_classes
from plausibly.data.groups import check_weights
from plausibly.data.predictions import Marked
from plausibly.data.rounds import tell
from plausibly.evaluation._label_results import label_values
from plausibly.evaluation._unseen_case import columns, unseen_cases
from plausibly.evaluation._values import Values, values_of_lists, variables
from plausibly.evaluation.ambiguity import DISAGREEMENT, UNNAMED
from plausibly.evaluation.cautions import limits
from plausibly.evaluation.curves import mean_known
from plausibly.evaluation.evidence import (
    SEEN,
    WITHHELD,
    accuracy_bounds,
    known_predictions,
    knows_more,
    named_where_one_is_true,
    paired,
    says_how_named,
    spread,
    unknown_predictions,
)
from plausibly.evaluation.experts import (
    MOST_EXPERTS,
    SAME,
    Panels,
    Readers,
    answers,
    check_readers,
    differences,
    draw_panels,
    labels_suffice,
    of_others,
)
from plausibly.evaluation.measure import Measures, Part, Totals, join, list_rows, measure
from plausibly.evaluation.metrics import Metrics, check_lengths
from plausibly.evaluation.of_labels import (
    Question,
    against_labels,
    described,
    number_of_annotators,
    read_question,
    sizes_of,
    with_against,
)
from plausibly.evaluation.panel_tables import Average, agreement, agreement_noise, averages, first_choices, numbers_of
from plausibly.evaluation.program import Plan
from plausibly.evaluation.rankings import annotator_agreement
from plausibly.evaluation.seen_labels import above_ceiling
from plausibly.evaluation.thresholds import labels_of_posterior
from plausibly.evaluation.truth import Truth, check_truth, first_choice_shares, truth_of_labels
from plausibly.metrics import METRICS
from plausibly.metrics.risk import N_LEVELS
from plausibly.posterior import REMAINDER_NAME, annotations_of, opened, reading
from plausibly.posterior.ranges import CASES, Ranges
from plausibly.posterior.says import ORDERED, are_shares

_KEPT = ("model", "reliability", "assumes", "err_together", "declaration", "evidence")  # attributes of the posterior


@renamed(groups="clusters")
def evaluate(
    posterior: Posterior | Annotations | Scores | str | PathLike,
    predictions: Mapping[str, Any],
    *,
    metrics: Metrics = None,
    logits: Marked = False,
    ordered: bool = False,
    truth: Truth = "most-plausible",
    panel: int = PANEL,
    readers: Readers | None = None,
    positive: str | None = None,
    threshold: float | Mapping[str, float] | None = None,
    prevalence: float | None = None,
    k: int | Sequence[int] | None = None,
    sizes: int | Sequence[int] | None = None,
    risks: Any = None,
    weights: ArrayLike | None = None,
    clusters: Sequence[Hashable] | Mapping[str, Hashable] | None = None,
    replicates: int = REPLICATES,
    ci_prob: float = CI_PROB,
    by: Any = None,
    intersections: bool = False,
    break_ties: Literal["order", "random"] = "order",
    extra: Literal["refuse", "ignore"] = "refuse",
    seed: int = 0,
    progress: bool = True,
    scheduler: Any = None,
) -> xr.Dataset:
    r"""Evaluate classifiers against draws of the plausibilities, and measure how certain the annotations are.

    Every metric has three kinds of draws, which give two intervals and a standard deviation
    (:func:`plausibly.summary`). With :math:`g_i(\lambda)` the metric of case i and :math:`\bar g_i` its mean over
    draws,

    * *annotation*: :math:`\sum_i g_i(\lambda_i^{(m)}) / N`, the value on these cases;
    * *sampling*: :math:`\sum_i w_i^{(m)} \bar g_i`, the effect of sampling other cases;
    * *total*: sampling noise plus the part of annotation noise that it does not already contain; this is the interval
      for new cases like these,

    where :math:`w^{(m)} \sim \mathrm{Dirichlet}(1, \dots, 1)`, the Bayesian bootstrap, is the same for all classifiers.
    One of these cases is unseen, and right or wrong by the toss of a coin, as no sample of few cases shows all there
    are.
    Other cases come with other annotations, so annotation noise that is independent between cases is already part of
    the spread between cases. Two kinds of noise are added: noise that cases share, for example because a reliability is
    inferred, and just enough noise that no total variance (of a metric or of a difference) is expected to be smaller
    than the annotation variance. This holds for variances; a single total interval may be slightly narrower than its
    annotation interval. :func:`plausibly.evaluation.total_noise` has the formula.

    Under a model of one true class (``"dawid-skene"``, ``"one-coin"``), plausibilities are probabilities of being the
    true class. The truth of a draw is then a class drawn from them; lists rank it first, and the others by probability.
    The point estimate is not drawn: its most plausible class is its truth.

    Draws are read in blocks of cases. If a posterior does not fit into memory, pass the name of its file, or the result
    of :func:`plausibly.load` with ``lazy=True``. Run time is proportional to draws, cases and classifiers. Annotations,
    predictions (except those in ``.npy`` files) and results by case are in memory: about 100 bytes per case and
    classifier.

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.aggregate` or :func:`plausibly.load`, or the name of its file; for a truth of
        labels, annotations are enough (scores, if they are ``ordered``). If it has cases without annotations, metrics
        are over all cases; agreement and truths of labels are over the annotated ones.
    predictions
        Predictions of each classifier by name: an array (case, class), a data frame, or a path that
        :func:`plausibly.read_predictions` understands. May be empty. The columns of an array must be in the class order
        of the annotations (``annotations.classes``), which cannot be checked: a classifier with another order gets
        wrong results without a warning. A data frame with the class names as columns (and the case names as index or
        as the column "case") is checked and put in order by name. Of two classes, one column is enough: the probability
        of the class that is its name, or of the positive one. A case in which all scores are 0 gets no answer, which is
        never right: its class counts as missed, none as named. Metrics of probabilities and of order refuse it.
    metrics
        Names of metrics, and of no others: those of lists, such as ``"top3_overlap"``, those of labels
        (:mod:`plausibly.metrics`), such as ``"auroc"``, ``"sensitivity_at_specificity_0.9"``, ``"net_benefit_0.2"`` or
        ``"f1_macro"``, and groups of them: ``"binary"``, ``"classes"``, ``"probability"``, ``"distribution"``,
        ``"curves"``, ``"ordered"``, ``"lists"`` and ``"usual"`` (the default). The functions of
        :mod:`plausibly.metrics` stand for their names. Or a mapping from names to your own metrics, which are added to
        those of lists: :class:`plausibly.metrics.SumMetric`, :class:`plausibly.metrics.OrderMetric`, or a JAX function
        of one case's scores (class,) and plausibilities (class,) that returns a number, also as a
        :class:`plausibly.metrics.Metric`, which says whether smaller is better. Such functions are much slower than the
        built-in metrics. A list may hold names and mappings, such as ``["auroc", {"mine": metric}]``. The default
        depends on the data. For two classes: ``"top1_accuracy"``, sensitivity, specificity, PPV and NPV; AUROC, unless
        a classifier gives hard labels (ones and zeros); and the Brier score, if all give probabilities. For more: all
        metrics of lists and the balanced accuracy; for at most 30 classes, also sensitivity and PPV of each.
    logits
        Classifiers whose predictions are logits, by name, or True for all: they become probabilities by a softmax over
        classes (a single column by a sigmoid) before anything else.
    ordered
        Whether to take the classes as grades, in their order, as they always are under a model of ratings without a
        threshold. A single column of numbers then names the nearest grade in each case. Where no metrics are named,
        these are then the accuracy and the group ``"ordered"`` (of which the last needs probabilities): mean absolute
        error, share within one grade, quadratic kappa, and ranked probability score.
    truth
        What predictions are compared with: the most plausible class of each case in every draw (``"most-plausible"``);
        what one expert would say, the share of a case's annotations that name each class first, without a model
        (``"annotator"``); or what a panel of experts would decide (``"panel"``). With annotations alone, or under a
        model of one true class, panels are those of a case's labels, see :func:`plausibly.evaluation.panels`. Under a
        posterior of shares of annotators, a panel is drawn in every draw, whatever the number of labels.
    panel
        Number of experts in a panel; with annotations alone, cases with fewer labels do not count.
    readers
        Members of panels under a posterior: other experts (``"others"``, the default if annotators have names), who
        differ from these in strictness and skill as these do from each other; or these annotators (``"these"``, always
        so for grades), where a case that has too few labels gets further ones by drawing them. Labels that a case has
        because of what others say are not in panels of these (:attr:`plausibly.Annotations.rounds`).
    positive
        Positive class; all others together are the negative one. By default, of two classes the one that stands for a
        success (as in pass and fail, yes and no, Inspect's C and I), or the second; of more, each has its own value.
    threshold
        Probability from which on a classifier names the positive class. By default it names the class with the highest
        score. A mapping has one for each classifier, see :func:`plausibly.evaluation.choose_threshold`. (A number is
        the threshold of ``"net_benefit"``, too, which is 0.5 by default.)
    prevalence
        Prevalence elsewhere, between 0 and 1, at which PPV and NPV are computed, too, as ``ppv_at_prevalence_0.02`` and
        ``npv_at_prevalence_0.02``, from sensitivity and specificity by Bayes' rule in every draw.
    k
        Values of k for the top-k metrics, each at most the number of classes. By default 1, 2 and 3, leaving out values
        that are not below the number of classes: if all classes are listed, accuracy is always 1. Of two classes, the
        only metric of lists is then ``top1_accuracy``: the others are equal to it, or one minus it.
    sizes
        Sizes of the sets of classes whose annotation certainty is reported. Defaults and limits are those of ``k``.
    risks
        Risk level of each class, 0 (low), 1 or 2 (high), in any form that :func:`plausibly.read_risks` understands.
        They are also what the metric ``"expected_cost"`` needs, in which naming a class of another level than the true
        one costs the difference between the levels, whichever is higher, and naming one of the same level nothing. If
        missing a high risk is worse than a false alarm, declare :func:`plausibly.metrics.expected_cost` with a matrix.
    weights
        Weight of each case, (case,), or of each case in each draw, (draw, case); not negative. A pandas Series indexed
        by case, or an xarray DataArray with a coordinate "case", is matched by name; against labels, so is what
        :func:`plausibly.labels.selected` found out about gold labels. To get the results of a subgroup,
        pass the probability that each case belongs to it, or its membership in each draw. In each draw a metric is the
        weighted mean over cases, or NaN if all weights are 0. The point estimate uses the mean weight over draws.
    clusters
        Cluster of each case, such as its patient, (case,); cases of a cluster are resampled together. A mapping, a
        pandas Series or an xarray DataArray is matched by name, as for ``weights``. By default each case is its own.
    replicates
        Minimum number of bootstrap replicates; every draw gets the same number. With 0 there are
        neither sampling draws nor total intervals.
    ci_prob
        Probability of the intervals of all tables, sentences and figures of these results, which is an attribute of
        them.
    by
        Groups of cases for which every metric is also computed, in the same pass: a table with one row per case (a data
        frame, such as columns of :func:`plausibly.read_metadata`, or a path), a mapping from case to group, or,
        for several of these, a mapping from a name to each. :func:`plausibly.evaluation.by_group` tabulates them, and
        :func:`plausibly.evaluation.group_difference` returns draws of the difference between two groups.
    intersections
        Whether to also report groups that combine several columns of ``by``.
    break_ties
        How to break ties between predictions or between plausibilities: by class order (``"order"``) or at random
        (``"random"``).
    extra
        Whether to refuse or to ignore predictions of cases that are not annotated; see
        :func:`plausibly.read_predictions`.
    seed
        Random seed for splitting the remainder among the unnamed classes, for true classes, and for random ties.
    progress
        Whether to show progress: a bar on a terminal or in a notebook, elsewhere a line on standard error.
    scheduler
        A ``dask.distributed.Client``, or the address of a Dask scheduler, whose workers evaluate the blocks of cases.
        Results are the same. Workers receive the draws and predictions of their cases (at most 2 MB for each slot of a
        case), so they need neither the disk of this process nor the files.

    Returns
    -------
    xarray.Dataset
        For each k, with X one of ``accuracy``, ``set_accuracy``, ``overlap``, ``average_overlap``, ``coverage``,
        ``kendall_tau`` and ``spearman_footrule``: ``top{k}_X`` (classifier, draw), the mean over cases;
        ``top{k}_X_by_case`` (classifier, case), the mean over draws; ``top{k}_X_point`` (classifier), the value at the
        model's point estimate; ``top{k}_X_total`` and ``top{k}_X_sampling`` (classifier, replicate), which include
        sampling noise and are NaN if there is a single cluster; the total of a point estimate is unknown and NaN,
        too, as its annotation noise is. The attribute ``better`` of ``top{k}_X`` says whether
        greater or smaller values are better. The same variables exist for your own metrics.

        A metric of labels has the same variables, but none by case. For each class separately it has the further
        dimension ``class_name`` after ``classifier``. Its attribute ``undefined`` is the number of values that are NaN,
        such as the sensitivity in draws in which no case is positive; NaN takes no part in intervals. ``infinite`` is
        the share of values that are infinite, such as likelihood ratios in draws without a false positive. ``against``
        says what it is compared with: metrics of whole distributions, such as ``dist_ce``, are against the
        plausibilities. Where ``better`` is a number, such as 1 for a calibration slope, values near it are. The
        sampling draws weigh cases with their mean truth over draws. A metric with values along further axes, such as
        ``roc_curve``, has them as dimensions before the draws (``confusion``: ``true_class`` and ``named_class``);
        ``results.sel(threshold=0.2)`` chooses a value. Against labels there is a single draw, and ``…_total`` is the
        effect of sampling cases with their annotations.
        The attributes ``truth`` (if it is not the most plausible class), ``panel``, ``readers``, ``positive`` and
        ``threshold`` say what metrics are about. Of panels under a posterior, ``strictness`` and ``skill`` are by how
        much experts differ (the posterior medians of their standard deviations, on log odds),
        ``effective_annotators`` is by how many annotators the mean of all is known, and ``panel_excess`` (classifier)
        is by how much the accuracy against panels of the attribute ``panel_checked`` of these annotators
        that the posterior expects exceeds what their labels say without it, with ``panel_excess_error``;
        ``of_these_sd`` (classifier), of panels of others, is the standard deviation over draws of the accuracy against
        panels of these annotators. The point estimate of a metric is its mean over draws.

        Without a model, from the annotations alone: ``expert_agreement`` (classifier), how often an annotator of a case
        names the classifier's first choice first, and ``human_level`` (), how often two annotators of a case name the
        same class first (NaN if no case has two); ``expert_agreement_total`` and ``human_level_total``, which add
        ``replicate``. :func:`plausibly.evaluation.panels` has the definitions, and accuracy against panels.

        ``annotation_certainty_{size}`` (case), the largest share of draws that agree on which classes, that many of
        them, are the most plausible; ``annotator_agreement`` (case), see
        :func:`plausibly.annotators.annotator_agreement`. ``expected_entropy`` (case), the expected ambiguity, which is
        mostly the prior's where annotations are few; ``mutual_information`` (case), the uncertainty that further
        annotations reduce if the model learns from them; both are in nats (see
        :func:`plausibly.metrics.expected_entropy`) and averaged over splits of the remainder (for a model of one true
        class, the former is 0 and the latter the entropy of the true class); ``top_plausibility`` (case), the greatest
        mean plausibility; the coordinate ``top_class`` (case), the class with this plausibility ("(remainder)" if no
        annotator named that class); ``top_plausibility_point`` (case), the greatest plausibility at the point estimate;
        and, where plausibilities are shares of annotators (:class:`plausibly.Model`), ``disagreement_probability``
        (case), the probability that fewer than 80 % of further annotators would agree on any one class, if they answer
        like these. With ``risks``: ``risk_certainty`` (case), the largest share of draws in which the most plausible
        class has one and the same risk level; ``risk_level_certainty`` (case), the largest share of draws in which one
        and the same risk level is the most plausible; ``risk_plausibility`` (case, risk_level), the mean over draws;
        ``expected_risk_mean``, ``_min`` and ``_max`` (case), mean, minimum and maximum of the expected risk level over
        draws. For a posterior of scores: ``score_certainty`` (case), the probability that a score is at most the
        threshold, or that it is above, whichever is greater; averaged over the posterior. ``prior_share`` (case): the
        share of the prior in the posterior concentration, NaN where it is unknown; from 1/2 on the prior counts as much
        as the annotations, or more. With ``weights``: ``case_weight`` (case), the mean over draws.

        With ``by``, every metric also has ``…_by_group`` (group, classifier, draw), ``…_point_by_group`` and, with
        replicates, ``…_total_by_group``. The coordinates ``group_column``, ``group_value`` and ``group_n_cases`` are
        the group's column, value and number of cases.

        The draws of all chains are concatenated; ``chain`` names the chain of each. Replicates use these draws in this
        order, every draw equally often. If the model is right, total intervals cover the value on all cases of this
        kind with their stated probability. If classifiers know more about the truth than the annotations reveal, their
        accuracy is underestimated on average, and no interval corrects for that, unless the posterior knows their
        predictions.

        Where a prior was learned from cases most of which have one label, accuracies cannot be known: of the metrics of
        lists, only ``coverage``, which is linear in the plausibilities, is there. The attribute ``withheld`` says so,
        and ``top1_accuracy_lower_bound`` and ``top1_accuracy_upper_bound`` (classifier) bound top-1 accuracy, sharply
        given ``expert_agreement``. With ``prior_kappa`` of :func:`plausibly.aggregate`, the metrics are there; the
        attribute ``spread``, what says how far experts agree in a case (``"labels"``, ``"assumed"`` or ``"unknown"``),
        is ``"assumed"``. Your own metrics are always there; only those that are linear can be known. The same holds
        where the posterior knows the predictions of a classifier that agrees with more labels than is possible without
        having seen them (:func:`plausibly.evaluation.evidence_checks`, ``ceiling``), whose bounds are NaN: taken as
        evidence, they spoil the accuracies of all classifiers.

        The metric ``coverage`` splits the
        remainder at random among the classes that any of the classifiers lists. Adding a classifier therefore changes
        the coverage of the others slightly, because other random numbers are drawn from the same distribution.

    Raises
    ------
    ArgumentError
        If ``posterior`` is not a posterior, two classifiers share a name, a classifier has no name, one of
        ``k``, ``sizes``, ``replicates`` and ``break_ties`` is out of range, weights or clusters do not match the cases,
        weights are negative, there is no such metric, truth or class, predictions are no probabilities where a metric
        needs them, or a metric is not a function of two vectors that returns a number, or shares its name with another
        metric; or if some cases have no annotations, and the posterior does not know a classifier.
    PredictionError
        If predictions do not match the cases or classes, or are not finite.
    FileError
        If a file cannot be read.
    ClusterError
        If the cluster cannot be reached or fails, or its workers have other package versions.
    AnnotationError
        If ``risks`` do not match the classes.

    Warns
    -----
    PlausiblyWarning
        If the posterior knows predictions, but not those of a classifier that is evaluated, which is then underrated;
        if it knows none, and annotators name a classifier's first choices more often than it expects (by at least a
        point and two standard errors), so that its accuracy is underestimated; if the columns of an array agree with
        the annotations better in another order; if accuracies are withheld; and if the annotations limit what can be
        known (:func:`plausibly.evaluation.limits`) under a posterior that knows predictions.

    References
    ----------
    Stutz et al. (2025), sections 2.4, 2.5 and 3.3, arXiv 2307.02191. Rubin (1981), The Bayesian bootstrap, Annals of
    Statistics 9.

    Examples
    --------
    >>> from plausibly.annotations import Annotations, Slots
    >>> from plausibly.posterior import build_posterior
    >>> annotations = Annotations.from_rankings([[[["b"], ["a"]]]], classes=["a", "b", "c"])
    >>> draws = np.array([[[0.6, 0.3, 0.1], [0.4, 0.5, 0.1]]])
    >>> posterior = build_posterior(draws, annotations, Slots.of(annotations), point=[0.4, 0.6, 0], concentration=1.0)
    >>> results = evaluate(posterior, {"A": np.array([[0.2, 0.7, 0.1]])}, k=(1, 2))
    >>> results["top1_accuracy"].values.tolist(), results["top1_accuracy_point"].values.tolist()
    ([[0.0, 1.0]], [1.0])
    >>> results = evaluate(annotations, {"A": np.array([[0.2, 0.7, 0.1]])}, metrics=["brier"], truth="annotator")
    >>> round(results["brier"].item(), 3)
    0.14
    """
    options: dict[str, Any] = {"metrics": metrics, "logits": logits, "ordered": ordered, "risks": risks}
    options |= {"positive": positive, "threshold": threshold, "prevalence": prevalence, "weights": weights}
    options |= {"clusters": clusters, "replicates": replicates, "by": by, "intersections": intersections}
    options |= {"break_ties": break_ties, "extra": extra, "seed": seed, "readers": readers}
    check_probability("ci_prob", ci_prob)
    posterior = posterior.grades() if ordered and isinstance(posterior, Scores) else posterior
    drawn = {"k": k, "sizes": sizes, "progress": progress, "scheduler": scheduler}
    read: Any = posterior
    if not check_truth(truth):
        of_labels = truth == "annotator" or isinstance(posterior, Annotations | Scores)
        if not of_labels:
            check_whole("panel", panel, 1, "give for example 5")
        read = annotations = labels_of_posterior(posterior)
        if of_labels or labels_suffice(posterior, annotations, panel, readers, ordered=ordered):
            tell(annotations.rounds)
            results = against_labels(annotations, predictions, truth, panel=panel, **options)
            _tell_order(read, predictions)
            return results.assign_attrs(ci_prob=ci_prob)
        if panel > MOST_EXPERTS:
            raise ArgumentError(
                f"a panel that is drawn has at most {MOST_EXPERTS} experts, but {panel} were given: take "
                'truth="most-plausible" (--truth most-plausible), which is what very many would name.'
            )
        drawn |= {"k": None, "sizes": (), "of_panels": panel}
    results = evaluate_draws(posterior, predictions, **options, **drawn).assign_attrs(ci_prob=ci_prob)
    limited = f"What limits these accuracies: {results.attrs['limits']}" if "limits" in results.attrs else None
    attrs = results.attrs
    told = attrs.get("rounds"), attrs.get("withheld"), limited, *knows_more(results).values()
    for sentence in filter(None, told):
        warnings.warn(sentence, PlausiblyWarning, stacklevel=3)
    _tell_order(read, predictions)
    return results


def _tell_order(source: Any, predictions: Mapping[str, Any]) -> None:
    """Warn of arrays, which have no names, whose columns agree with the annotations better in another order."""
    arrays = {name: values for name, values in predictions.items() if isinstance(values, np.ndarray)}
    if not arrays:
        return
    annotations = labels_of_posterior(source)
    for name, values in arrays.items():
        of_all = values.shape == (annotations.n_cases, annotations.n_classes)
        if of_all and (pairs := exchanged_classes(annotations, values.argmax(1))):
            warnings.warn(
                f"The columns of {name} agree with the annotations better under the names of other classes "
                f"({some(pairs)}): they may be in another order than the classes, {some(annotations.classes)}.",
                DataWarning,
                stacklevel=4,
            )


@kept_on_disk()
@small_products()
def evaluate_draws(
    posterior: Posterior | str | PathLike,
    predictions: Mapping[str, Any],
    *,
    sizes: int | Sequence[int] | None,
    weights: Any,
    seed: int,
    progress: bool,
    scheduler: Any,
    of_panels: int | None = None,
    readers: Readers | None = None,
    **options: Any,
) -> xr.Dataset:
    """Evaluate under the draws of a posterior, against its most plausible classes or panels; see :func:`evaluate`."""
    from_file = isinstance(posterior, str | PathLike)
    with (
        logged("Evaluating"),
        opened(posterior) if from_file else reading(posterior) as source,
        Progress(progress) as bars,
    ):
        annotations, attrs = annotations_of(source, every=False), source.attrs
        options["ordered"] = options.get("ordered", False) or bool(attrs.get(ORDERED))
        question = read_question(
            annotations, predictions, drawn=of_panels is None, panels=of_panels is not None, **options
        )
        names, lined_up, wanted, labels, cluster, groups, risks = question
        break_ties = options["break_ties"]
        ranges = Ranges(source, seed, annotations.cases)
        checked = None if weights is None else check_weights(weights, ranges.n_draws, annotations.cases)
        unknown = unknown_predictions(attrs, dict(zip(names, lined_up, strict=True)), annotations)
        for sentence in unknown.values():
            if not annotations.per_case.all():
                raise ArgumentError(f"{sentence} Cases without annotations are known by the predictions alone.")
            warnings.warn(sentence, PlausiblyWarning, stacklevel=4)
        choice = first_choices(lined_up, annotations.cases, break_ties, seed)
        shares, known = are_shares(attrs), known_predictions(attrs)
        withheld, seen = _withheld(attrs, annotations, question, choice, seed) if names and shares else ("", [])
        expects = bool(names) and not known and (shares or says_how_named(source))  # agreement, which is compared
        lists = wanted.lists | ({"top1_coverage": ("coverage", 1)} if expects or withheld else {})
        lengths = check_lengths("sizes", sizes, annotations.n_classes)
        plan, panels, given, about_panels = _plan(question, lists, lengths, break_ties), None, None, {}
        if of_panels is not None:
            whom = check_readers(readers, annotations, grades=bool(options["ordered"]))
            panels, about_panels = _panels(annotations, of_panels, whom, ranges.n_draws, seed)
            drawn = {about_panels["panel_checked"], of_panels if panels else 0} - {0} if names else ()
            plan = plan._replace(panel=of_panels, these=tuple(sorted(drawn)), median=bool(options["ordered"]))
            given = None if panels else answers(annotations, seed)
            about_panels |= {"median": "grades"} if plan.median else {}
        rounds = -(-int(options["replicates"]) // ranges.n_draws)  # every draw has as many replicates
        measures = Measures(plan, lists, wanted.own, labels, risks, rounds, panels)
        case_weight = None if checked is None else checked.mean(axis=0, dtype=float)
        of_cases = agreement(annotations, choice, case_weight)
        numbers, words = numbers_of(of_cases), key_words(seed, cluster, Stream.BOOTSTRAP)
        member = np.empty((0, ranges.n_cases)) if groups is None else groups.member
        advance = bars.task("Evaluating", ranges.n_cases, "cases")

        def parts() -> Iterator[Part]:
            for number, cases in enumerate(ranges):
                if number:
                    release_memory()
                at = cases.cases
                scores = [np.array(values[at]) for values in lined_up]
                for name, values in zip(names, scores, strict=True):
                    labels.check(name, values, cases.names)
                weights = None if checked is None else checked[:, at]
                of_these = None if given is None else given.of_cases(at)
                yield cases, scores, weights, words[at], member[:, at], numbers[:, at], of_these

        here = (measure(part, measures) for part in ahead(parts()))
        made = here if scheduler is None else in_order(map_on(scheduler, measure, parts(), measures))
        totals = join(made, ranges.n_cases, advance)
        release_memory()
        chain = np.repeat(np.arange(ranges.n_chains), ranges.draws_per_chain)
        clusters = len(distinct((words if checked is None else words[checked.any(axis=0)]).view(np.uint64).ravel())[0])
        coords: dict[str, Any] = {"classifier": np.array(names, dtype=str), "draw": np.arange(ranges.n_draws)}
        coords |= {"chain": ("draw", chain), "case": annotations.cases}
        coords |= {} if risks is None else {"risk_level": np.arange(N_LEVELS)}
        kept = {name: attrs[name] for name in _KEPT if name in attrs}
        kept |= {"break_ties": break_ties, "seed": seed, "clusters": clusters, "spread": spread(attrs)}
        kept |= number_of_annotators(annotations)
        kept |= {"withheld": withheld} if withheld else {}
        kept |= {"outside": json.dumps(list(unknown))} if unknown else {}
        kept |= about_panels
        results = xr.Dataset(coords=coords, attrs=kept)
        if annotations.rounds is not None:
            results.attrs["rounds"] = annotations.rounds.told
        others = panels is not None
        if known and not withheld and (said := limits(annotations, others=others)["rounds" in results.attrs :]):
            results.attrs["limits"] = " ".join(said)
        hidden = () if "top1_coverage" in wanted.lists or (withheld and wanted.lists) else ("top1_coverage",)
        reported = [
            name
            for name, (metric, k) in measures.names.items()
            if name not in hidden and not (withheld and k and not METRICS[metric].of_masses)
        ]
        n_replicates, column = rounds * ranges.n_draws, columns(lined_up)
        first = first_choice_shares(annotations)[0]
        weight = np.ones(ranges.n_cases) if case_weight is None else case_weight
        case, class_index = np.divmod(first.key, annotations.n_classes)
        truth = csr_array((first.value, (case, labels.sides(class_index))), (ranges.n_cases, labels.n_sides))
        del first, case, class_index  # large where cases are many
        results.attrs |= sizes_of(labels, truth[np.flatnonzero(weight)])
        truth.data *= np.repeat(weight, np.diff(truth.indptr))
        unseen = unseen_cases(truth, words, question.members, column, n_replicates)
        values = [
            {name: of for name, of in values_of_lists(measures, totals, *one).items() if name in reported}
            for one in enumerate(unseen)
        ]
        of_labels = bool(labels and names and not withheld)
        if of_labels:
            small = labels.small(len(names) * ranges.n_draws * len(member))
            case_weights = np.ones((ranges.n_cases, 1)) if checked is None else checked.T
            named = labels.choices(list(choice), lined_up)
            by_case = named, None, case_weights, question.members, words, unseen
            more = label_values(labels, small, totals, lined_up, *by_case)
            values = [one | other for one, other in zip(values, more, strict=True)]
            values = values if of_panels is None else [{name: _point(one) for name, one in of.items()} for of in values]
        del truth, unseen
        results = results.assign(variables(values, drawn=True, single=clusters < 2))
        results = results.assign(_of_cases(totals, source, annotations, shares))
        noise: dict[str, Any] = {}
        if names and n_replicates and of_others(readers, annotations):
            noise = agreement_noise(annotations, choice, 0, cluster, n_replicates, seed, case_weight)
        agreed = averages(of_cases, cluster, words, column, totals.sampling_numbers, noise)
        if expects and ranges.n_draws > 1:
            if shares:
                named_by = totals.by_case["metrics"][list(measures.names).index("top1_coverage")]
            else:
                named_by = named_where_one_is_true(source, annotations, choice)
            agreed |= _expected(named_by, of_cases["expert_agreement"], cluster)
        if about_panels.get("panel_checked") and names:
            checked_by = choice, plan.these[0], of_cases["expert_agreement"], cluster, seed
            agreed |= _excess(totals, annotations, *checked_by, ordered=plan.median)
        if others and names and not withheld:
            with np.errstate(invalid="ignore"):  # draws in which nothing has weight
                accuracy = totals.these[:, :-1] / totals.weight[0, 0, :-1]
            agreed |= {"of_these_sd": ("classifier", np.nanstd(accuracy, axis=1))}
        if withheld:
            of_unseen = np.where(np.isin(names, seen), np.nan, agreed["expert_agreement"][1])
            bounds = zip(("lower", "upper"), accuracy_bounds(of_unseen, annotations.n_classes), strict=True)
            agreed |= {f"top1_accuracy_{end}_bound": ("classifier", bound) for end, bound in bounds}
        top = totals.by_case["top_class"].astype(int)
        top_class = np.where(top == UNNAMED, REMAINDER_NAME, annotations.classes[top])
        results = results.assign(agreed).assign_coords(top_class=("case", top_class))
        if groups is not None:
            results = results.assign_coords(groups.coords)
        if groups is not None and of_labels:
            sides = labels.sides_of(truth_of_labels(annotations, "annotator", seed=seed))
            results = results.assign_coords(groups.positive(sides))
        if of_labels:
            about = float(totals.weight[0, 0, -1]), options.get("threshold"), named, lined_up
            results = described(results, labels, annotations, *about)
        return with_against(results, wanted)


def _plan(question: Question, lists: Mapping[str, tuple[str, int]], sizes: Sequence[int], break_ties: str) -> Plan:
    """Program that measures the classifiers."""
    return Plan(
        n_classes=question.labels.n_classes,
        depth=max([1, *(k for _, k in lists.values() if question.names), *sizes]),
        rows=tuple(list_rows(lists.values())),
        sizes=tuple(sizes),
        own=tuple(metric.function for metric in question.metrics.own.values()),
        best=bool(question.labels and question.names),
        break_ties=break_ties,
    )


def _panels(
    annotations: Annotations, size: int, whom: Readers, n_draws: int, seed: int
) -> tuple[Panels | None, dict[str, Any]]:
    """Experts of panels of others, and what results say of panels, with the size of those that labels can check."""
    of = differences(annotations, seed) if whom == "others" else SAME
    checked = 0 if annotations.rounds is not None else int(min(size, np.median(annotations.annotated.per_case)))
    drawn = draw_panels(of, size, annotations.n_classes, n_draws, seed) if whom == "others" else None
    about = {"truth": "panel", "panel": size, "readers": whom, "panel_checked": checked}
    about |= {"effective_annotators": of.n_annotators}
    return drawn, about | {"strictness": of.strictness.median, "skill": of.skill.median}


def _point(values: Values) -> Values:
    """Take the mean over draws for the point estimate, which no panel has."""
    draws = values.draws.copy()
    draws[..., -1] = mean_known(draws[..., :-1])
    return values._replace(draws=draws)


def _excess(
    totals: Totals,
    annotations: Annotations,
    choice: Int[np.ndarray, "classifier case"],
    size: int,
    agreed: Average,
    cluster: np.ndarray,
    seed: int,
    *,
    ordered: bool,
) -> dict[str, Any]:
    """How much more often panels of these annotators decide as a classifier than those of their labels, over cases."""
    there = annotations.per_case >= size
    truth = truth_of_labels(annotations, "panel", size, seed, ordered=ordered)
    of_labels = np.where(choice < 0, 0, truth[np.arange(len(there)), choice])
    mean, error = paired(totals.by_case["these"] - of_labels, cluster, agreed.weight * there)
    return {"panel_excess": ("classifier", mean), "panel_excess_error": ("classifier", error)}


def _withheld(
    attrs: Mapping[str, Any],
    annotations: Annotations,
    question: Question,
    choice: Int[np.ndarray, "classifier case"],
    seed: int,
) -> tuple[str, list[str]]:
    """Reason why accuracies are not stated, empty if they are, and the classifiers that have seen the labels."""
    known = known_predictions(attrs)
    at = [number for number, name in enumerate(question.names) if name in known]
    names = [question.names[number] for number in at]
    seen = above_ceiling(annotations, names, choice[at], question.cluster, seed) if at else []
    if spread(attrs) == "unknown":
        return WITHHELD, seen
    return SEEN.format(listed(seen)) if seen else "", seen


def _of_cases(totals: Totals, source: Posterior, annotations: Annotations, shares: bool) -> dict[str, Any]:
    """Quantities of single cases, besides metrics."""
    left_out = {"metrics", "top_class", "best", "these", *(() if shares else (DISAGREEMENT,))}
    by_case: dict[str, Any] = {name: ("case", of) for name, of in totals.by_case.items() if name not in left_out}
    if "risk_plausibility" in by_case:
        by_case["risk_plausibility"] = ("case", "risk_level"), totals.by_case["risk_plausibility"].T
    constants = source["constant_data"]
    if "score_certainty" in constants:
        by_case["score_certainty"] = "case", constants["score_certainty"].values
    prior_share = np.full(annotations.n_cases, np.nan, np.float32)
    if "prior_share" in constants:
        by_slot = constants["prior_share"].values
        prior_share = np.bincount(constants["case_index"].values, by_slot).astype(np.float32)
    return by_case | {"prior_share": ("case", prior_share), "annotator_agreement": ("case", _agreement(annotations))}


def _expected(expected: Float[np.ndarray, "classifier case"], observed: Average, cluster: np.ndarray) -> dict[str, Any]:
    """How often annotators would name first choices, and the standard error by which it may differ from how often."""
    mean, error = paired(observed.values - expected, cluster, observed.weight)
    agreed = paired(observed.values, cluster, observed.weight)[0]
    return {"expected_agreement": ("classifier", agreed - mean), "expected_agreement_error": ("classifier", error)}


def _agreement(annotations: Annotations) -> Float[np.ndarray, " case"]:
    """Agreement of the annotators, some cases at a time, since it needs more memory than the annotations."""
    agreed, annotated = np.full(annotations.n_cases, np.nan, np.float32), np.flatnonzero(annotations.per_case)
    for cases in np.split(annotated, np.arange(CASES, len(annotated), CASES)):
        some = annotations if len(cases) == annotations.n_cases else annotations.select(cases)
        agreed[cases] = annotator_agreement(some)
    return agreed
