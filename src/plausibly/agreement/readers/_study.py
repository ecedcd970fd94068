"""Reader studies: a model against readers, or readers in two conditions, for other readers and other cases."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from plausibly.agreement.readers._compare import Effect, effect_of, left_in_turn, parts_of_readers, product_effect
from plausibly.agreement.readers._figures import FIGURES, Figure, delong, jackknife, own_figure
from plausibly.agreement.readers._read import Study, check_truth, read_study
from plausibly.agreement.readers._result import Comparison, ReaderStudy
from plausibly.base.bootstrap import CI_PROB, REPLICATES, check_probability, check_replicates
from plausibly.base.checks import check_choice
from plausibly.base.errors import AnnotationError, ArgumentError


def reader_study(
    readers: Any,
    predictions: Any = None,
    gold: Any = None,
    *,
    conditions: str | None = None,
    compare: Sequence[str] | None = None,
    metric: Literal["auroc", "sensitivity", "specificity", "accuracy"] | Callable[..., float] = "auroc",
    positive: Any = None,
    threshold: float | None = None,
    model_threshold: float | None = None,
    margin: float = 0.05,
    covariance: Literal["jackknife", "delong"] = "jackknife",
    clusters: str | Mapping[str, Any] | None = None,
    ci_prob: float = CI_PROB,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> ReaderStudy:
    """Compare a model with readers, or readers in two conditions, as samples of other readers and other cases.

    Parameters
    ----------
    readers
        Long table with the columns ``case``, ``annotator`` and ``score`` or ``label`` (classes, or numbers of which
        higher ones are more positive), and ``condition`` if there are two: see :meth:`Labels.of`. Readers who did not
        all read the same cases are compared by products of weights of readers and cases.
    predictions
        Scores or classes of a model, or of several by name: a table with the columns ``case`` and ``score`` or
        ``label``, or ``{name: {case: score}}``.
    gold
        True classes of the cases, see :func:`plausibly.labels.read_gold`; others are left out. Without them the
        readers are the truth: the model against every reader, minus every other reader against the same one.
    conditions
        Column of conditions, such as without and with AI; by default ``condition``, if there is one.
    compare
        Two conditions, the first of which is compared with the second; by default in the order of the table.
    metric
        ``"auroc"`` of scores; ``"sensitivity"``, ``"specificity"`` or ``"accuracy"`` of decisions. Or a function of
        truth, answers (1 for positive, 0 for others) and ``sample_weight``, of which greater values are better, such
        as those of scikit-learn.
    positive
        Positive class; by default that which stands for a finding, or the greater of two numbers. With it, more than
        two classes are this one and all others.
    threshold
        Score of readers above which a decision is positive, as that of ratings in :func:`plausibly.aggregate`.
    model_threshold
        Score of models from which on a decision is positive, as that of predictions in :func:`plausibly.evaluate`.
    margin
        Margin of non-inferiority: choose it before you look at the result.
    covariance
        Covariances due to cases: ``"jackknife"``, or ``"delong"`` for ``"auroc"`` without clusters.
    clusters
        Clusters of cases, such as patients: a column of the readers' table, or a mapping from case to cluster.
    ci_prob
        Probability of the intervals. Published studies mostly have 0.95.
    replicates, seed
        Number of weights, and random seed, where readers did not all read the same cases.

    Returns
    -------
    ReaderStudy
        Result with ``table`` (a row per comparison), ``by_reader``, ``means_of_readers``, ``plan()`` for the size of
        the next study, ``verdict()`` and ``notes``. Where nothing varies, such as in perfect readers, there is no
        interval.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or does not fit what readers and models gave.
    AnnotationError
        If readers have no names, or there is just one; a case has two answers; or too few cases of one kind are there.
    PredictionError
        If a case has no prediction, or an answer is neither a number nor one of the classes.

    References
    ----------
    Obuchowski & Rockette (1995), Communications in Statistics 24; Hillis (2007), Statistics in Medicine 26; Hillis
    (2014), Statistics in Medicine 33; Hillis & Obuchowski (2011), Academic Radiology 18; DeLong, DeLong &
    Clarke-Pearson (1988), Biometrics 44; Owen & Eckles (2012), Annals of Applied Statistics 6.

    Examples
    --------
    >>> gold = {str(case): case % 2 for case in range(40)}
    >>> scores = {str(case): case % 2 + case % 7 / 5 for case in range(40)}
    >>> rows = [(case, f"r{j}", scores[case] + int(case) * (j + 3) % 11 / 6) for case in gold for j in range(5)]
    >>> result = reader_study(rows, {"A": scores}, gold, margin=0.1)
    >>> result.table[["comparison", "first", "second", "effect"]].round(3).values.tolist()
    [['A − readers', 0.959, 0.862, 0.097]]
    """
    figure = _figure(metric)
    check_choice("covariance", covariance, ("jackknife", "delong"))
    if covariance == "delong" and (figure.name != "auroc" or clusters is not None):
        raise ArgumentError('covariance="delong" is of AUROC without clusters: leave it out.')
    check_probability("ci_prob", ci_prob)
    check_replicates(replicates)
    if isinstance(margin, bool) or not isinstance(margin, int | float) or not 0 <= margin < 1:
        raise ArgumentError(f"margin must be at least 0 and below 1, but {margin!r} was given: give 0.05.")
    study = read_study(
        readers, predictions, gold, conditions, compare, figure, positive, threshold, model_threshold, clusters
    )
    if study.truth is not None:
        check_truth(study, study.truth, figure, "gold labels")
    if study.truth is None:
        comparisons, means, constant = _by_readers(study, figure)
    elif study.crossed:
        comparisons, means, constant = _crossed(study, figure, covariance)
    else:
        comparisons, means, constant = _not_crossed(study, figure, replicates, seed)
    return ReaderStudy(study, figure, float(margin), ci_prob, comparisons or means, means, constant)


def _figure(metric: Any) -> Figure:
    if callable(metric):
        return own_figure(metric)
    if metric not in FIGURES:
        raise ArgumentError(
            f"metric must be one of {', '.join(FIGURES)}, or a function of truth, answers and sample_weight, but "
            f"{metric!r} was given: choose one."
        )
    return FIGURES[metric]


def _crossed(study: Study, figure: Figure, covariance: str) -> Any:
    """Sides as numbers of the readers with contributions of cases."""
    truth = study.truth

    def of_one(given: np.ndarray) -> tuple[float, np.ndarray]:
        rows = delong(truth, given) if covariance == "delong" else jackknife(figure, truth, given, study.unit)
        return float(figure.value(truth, given)), rows

    def side(given: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, rows = zip(*map(of_one, np.atleast_2d(given)), strict=True)
        n = len(study.readers) // len(values)  # a model stands beside every reader
        return np.repeat(values, n), np.repeat(rows, n, axis=0)

    def effect(first: Any, second: Any = (0, 0)) -> Effect:
        return effect_of(*(one - other for one, other in zip(first, second, strict=True)))

    return _compared(study, figure, side, effect, lambda one: float(one[0].mean()))


def _not_crossed(study: Study, figure: Figure, replicates: int, seed: int) -> Any:
    """Sides as functions of weights of cases."""
    if min(len(study.readers), study.n_units) < 3:
        raise AnnotationError(
            "two readers, or clusters, show nothing of others where readers did not read the same cases; keep those "
            "that all read"
        )

    def side(given: np.ndarray, read: np.ndarray) -> Callable[[np.ndarray], Any]:
        return lambda weights: parts_of_readers(figure, study.truth, np.broadcast_to(given, read.shape), read, weights)

    def effect(*sides: Callable[[np.ndarray], Any]) -> Effect:
        return product_effect(sides, study.unit, len(study.readers), replicates, seed)

    def estimate(one: Callable[[np.ndarray], Any]) -> float:
        above, below = one(np.ones(len(study.truth)))
        return float(above.sum() / below.sum())

    return _compared(study, figure, side, effect, estimate)


def _compared(study: Study, figure: Figure, side: Callable, effect: Callable, estimate: Callable) -> Any:
    """Comparisons, means of readers, and the commonest class against readers, if always answering it can do well."""
    names, given = study.sides, study.answers.of(figure, "readers", "threshold")
    readers = [side(own, read) for own, read in zip(given, study.read, strict=True)]
    values = [estimate(one) for one in readers]
    comparisons = []
    for name, answers in study.models.items():
        own = answers.of(figure, name, "model_threshold")
        for second, of, read, value in zip(names, readers, study.read, values, strict=True):
            model = side(own, read)
            comparisons.append(Comparison(name, second, effect(model, of), (estimate(model), value)))
    if len(names) == 2:
        comparisons.append(Comparison(*names, effect(*readers), tuple(values)))
    means = tuple(
        Comparison(name, "", effect(one), (value, np.nan))
        for name, one, value in zip(names, readers, values, strict=True)
    )
    if figure.name != "accuracy":
        return tuple(comparisons), means, None
    commonest = _commonest(study.truth)
    constant = side(np.full(len(study.truth), commonest), study.read[-1])
    return tuple(comparisons), means, (_called(study, commonest), effect(constant, readers[-1]))


def _commonest(truth: np.ndarray) -> float:
    kinds, counts = np.unique(truth, return_counts=True)
    return float(kinds[counts.argmax()])


def _called(study: Study, code: float) -> str:
    """Name of a class, or of all but the positive one."""
    if study.positive is None:
        return study.classes[int(code)]
    others = [name for name in study.classes if name != study.positive]
    return study.positive if code == 1 else others[0] if len(others) == 1 else f"not {study.positive}"


def _by_readers(study: Study, figure: Figure) -> Any:
    """Models and readers against every reader in turn."""
    answers = study.answers.of(figure, "readers", "threshold")[0]
    if len(study.conditions) > 1 or not study.crossed or len(study.readers) < 3:
        raise AnnotationError(
            "without gold labels, three or more readers must have read the same cases in one condition; give gold "
            "labels, or keep such cases and readers"
        )
    truths = study.truths
    for reader, truth in zip(study.readers, truths, strict=True):
        check_truth(study, truth, figure, f"reader {reader!r}")

    def against(given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pairs = [(figure.value(truth, given), jackknife(figure, truth, given, study.unit)) for truth in truths]
        return np.array([value for value, _ in pairs], float), np.array([rows for _, rows in pairs])

    others = [against(given) for given in answers]
    values, rows = np.array([one for one, _ in others]), np.array([one for _, one in others])
    own, own_rows = left_in_turn(values, rows)
    (name,) = study.sides
    means = (Comparison(name, "", effect_of(own, own_rows), (float(own.mean()), np.nan)),)

    def compared(given: np.ndarray) -> tuple[Effect, float]:
        found, found_rows = against(given)
        return effect_of(found - own, found_rows - own_rows), float(found.mean())

    comparisons = []
    for model, given in study.models.items():
        effect, value = compared(given.of(figure, model, "model_threshold"))
        comparisons.append(Comparison(model, name, effect, (value, float(own.mean()))))
    constant = None
    if figure.name == "accuracy":
        commonest = _commonest(truths)
        constant = _called(study, commonest), compared(np.full(len(study.cases), commonest))[0]
    return tuple(comparisons), means, constant
