"""Readers, models and the truth of a reader study as arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly.agreement.readers._figures import Figure
from plausibly.base.checks import to_numbers
from plausibly.base.errors import AnnotationError, ArgumentError, PredictionError, show
from plausibly.base.names import some
from plausibly.data.annotations.io.answers import whole
from plausibly.data.annotations.io.spellings import positive_of_two
from plausibly.data.labels.container import Labels, by_case, column_names
from plausibly.data.labels.gold import Gold, read_gold
from plausibly.data.labels.predictions import read_models
from plausibly.data.predictions import check_positive

CONDITION = "condition"  #: column of conditions, unless it is named
_ENOUGH = 2  # cases of a kind, without which one cannot be left out


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of one reader in all conditions, or of a model.

    Attributes
    ----------
    scores
        What is ordered, as given, or 1 and 0 if the answers are decisions; NaN where there is none.
    decisions
        1 for the positive class and 0 for others, or numbers of classes; None if no threshold tells.
    """

    scores: Float[np.ndarray, "*of case"]
    decisions: Float[np.ndarray, "*of case"] | None

    @property
    def scored(self) -> bool:
        """Whether there is more to order than decisions."""
        return self.decisions is None or not np.array_equal(self.scores, self.decisions, equal_nan=True)

    def of(self, figure: Figure, whose: str, option: str) -> Float[np.ndarray, "*of case"]:
        """Answers that a figure of merit takes."""
        if figure.of == "scores" or (self.decisions is None and figure.own):
            return self.scores
        if self.decisions is None:
            raise ArgumentError(
                f"{figure.name} is of decisions, but {whose} gave scores: name the threshold of a positive decision "
                f"with {option}=, or measure auroc."
            )
        return self.decisions


@dataclass(frozen=True, eq=False)
class Study:
    """What was read.

    Attributes
    ----------
    cases, unit, n_units
        Names of cases, the cluster of each (or itself), and how many there are.
    truth
        1 for positive cases and 0 for others, or numbers of classes; None if readers are the truth.
    readers, conditions
        Their names; a study in one condition has the condition ``""``.
    answers
        Answers of the readers, (condition, reader, case).
    models
        Answers of models (case,) by name.
    positive, classes
        The positive class, if there are two kinds, and all classes.
    n_left_out
        Number of cases that were left out because they have no gold label, or no reader.
    """

    cases: np.ndarray
    unit: Int[np.ndarray, " case"]
    n_units: int
    truth: Float[np.ndarray, " case"] | None
    readers: list[str]
    conditions: list[str]
    answers: Answers
    models: Mapping[str, Answers]
    positive: str | None
    classes: list[str]
    n_left_out: int

    @property
    def read(self) -> np.ndarray:
        """Whether each reader read each case, in each condition."""
        return ~np.isnan(self.answers.scores)

    @property
    def truths(self) -> Float[np.ndarray, "truth case"]:
        """The gold labels, or the decisions of every reader."""
        if self.truth is not None:
            return self.truth[None]
        assert self.answers.decisions is not None  # which reading sees to
        return self.answers.decisions[0]

    @property
    def sides(self) -> list[str]:
        """What the readers of each condition are called."""
        if self.conditions == [""]:
            return ["readers"]
        named = [f"{CONDITION} {one}" if _is_number(one) else one for one in self.conditions]
        return named if len(named) == 2 else [f"readers ({named[0]})"]

    @property
    def crossed(self) -> bool:
        """Whether every reader read every case in every condition."""
        return bool(self.read.all())


def read_study(
    readers: Any,
    predictions: Any,
    gold: Any,
    conditions: str | None,
    compare: Sequence[str] | None,
    figure: Figure,
    positive: Any,
    threshold: float | None,
    model_threshold: float | None,
    clusters: Any,
) -> Study:
    """Read a study; raises PlausiblyError if something does not fit."""
    for name, value in (("threshold", threshold), ("model_threshold", model_threshold)):
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, Real) or not np.isfinite(float(value))
        ):
            raise ArgumentError(f"{name} must be a number, but {value!r} was given: give a score.")
    columns = [*column_names(clusters, conditions)]
    labels = Labels.of(readers, columns=columns, optional=(CONDITION,), repeats="readings")
    if labels.numbered:
        raise AnnotationError("readers are compared, but these have no names; add a column annotator that names them")
    if len(labels.annotators) < 2:
        raise AnnotationError(
            f"there is one reader, {str(labels.annotators[0])!r}, and one shows nothing of other readers; give two or "
            "more, or measure it like a model with plausibly evaluate --gold"
        )
    names, code, kept = _conditions(labels, conditions, compare)
    n = len(labels.cases)
    place = (code * len(labels.annotators) + labels.annotator) * n + labels.case
    _refuse_repeats(labels, np.where(kept, place, -1 - np.arange(len(place))), names)
    own = np.arange(n) if gold is None else (found := _gold(gold, labels)).case
    own = own[np.isin(own, labels.case[kept])]
    known, truth = _kinds(labels) if gold is None else (_names(found.values), None)
    classes = sorted({*known})
    binary, positive = _positive(classes, positive, figure, known)

    def answers(values: np.ndarray, at: Any, shape: Any, whose: str, cut: float | None, over: Any) -> Answers:
        scores, decisions = _values(values, classes, positive if binary else None, whose, cut, over)
        return Answers(*(None if one is None else _placed(one, at, shape)[..., own] for one in (scores, decisions)))

    shape = len(names), len(labels.annotators), n
    given = answers(labels.values[kept], place[kept], shape, "readers", threshold, np.greater)
    if gold is not None:
        codes = _values(found.values, classes, positive if binary else None, "gold")[0]
        truth = _placed(codes, found.case, (n,))[own]
    elif given.decisions is None:
        raise ArgumentError(
            "without gold labels the readers are the truth, but they gave scores: name the score above which one is "
            "positive with threshold=, or give gold labels."
        )
    needed = np.zeros(n, bool)
    needed[own] = True
    models = {}
    for name, one in (
        read_models(predictions, labels, needed, "score", "ignore").items() if predictions is not None else ()
    ):
        if len(again := one.case[1:][np.diff(one.case) == 0]):
            raise PredictionError(f"{name}, case {str(labels.cases[again[0]])!r}: there is more than one; keep one")
        models[name] = answers(one.values, one.case, (n,), name, model_threshold, np.greater_equal)
    cluster = by_case(clusters, labels, "cluster")[1][own]
    distinct, unit = np.unique(cluster, return_inverse=True)
    return Study(
        cases=labels.cases[own],
        unit=unit,
        n_units=len(distinct),
        truth=truth,
        readers=labels.annotators.tolist(),
        conditions=names,
        answers=given,
        models=models,
        positive=positive if binary else None,
        classes=classes,
        n_left_out=n - len(own),
    )


def _gold(gold: Any, labels: Labels) -> Gold:
    return gold if isinstance(gold, Gold) else read_gold(gold, labels, alike=False)


def _conditions(labels: Labels, column: str | None, compare: Sequence[str] | None) -> tuple[list[str], np.ndarray, Any]:
    """Names of conditions, that of each label among them, and which labels are of these."""
    column = CONDITION if column is None and CONDITION in labels.columns else column
    if column is None:
        if compare is not None:
            raise ArgumentError(f"compare names conditions, {some(compare)}, but there are none: name their column.")
        return [""], np.zeros(len(labels), int), np.ones(len(labels), bool)
    known, code = labels.names_of(column)
    first = np.unique(code[np.argsort(labels.rows, kind="stable")], return_index=True)[1]
    order = [str(known[at]) for at in np.argsort(first)]
    if compare is None and len(order) > 2:
        raise ArgumentError(
            f"two conditions are compared, but there are {len(order)}, {some(order)}: choose two with "
            f"compare=({order[0]!r}, {order[1]!r})."
        )
    chosen = order if compare is None else [str(one) for one in compare]
    if len({*chosen}) != len(chosen) or len(chosen) > 2:
        raise ArgumentError(f"compare names two conditions, but {some(chosen)} was given: choose two of {some(order)}.")
    for name in chosen:
        if name not in order:
            raise ArgumentError(f"there is no condition {name!r}: choose of {some(order)}.")
    number = np.array([chosen.index(str(name)) if str(name) in chosen else -1 for name in known])[code]
    return chosen, number, number >= 0


def _refuse_repeats(labels: Labels, place: np.ndarray, names: Sequence[str]) -> None:
    order = np.argsort(place, kind="stable")
    for label in order[1:][np.diff(place[order]) == 0][:1]:
        within = "" if names == [""] else " in one condition"
        fix = "name the column of conditions, or keep one" if names == [""] else "keep one"
        raise AnnotationError(f"{labels.where(label)}: there are two answers{within}; {fix}")


def _kinds(labels: Labels) -> tuple[list[str], None]:
    """Names of the readers' own classes; two, named by number, if a threshold makes them of scores."""
    names = sorted({*_names(labels.values)})
    return (["0", "1"] if labels.is_numeric and len(names) > 2 else names), None


def _positive(classes: list[str], positive: Any, figure: Figure, known: Sequence[str]) -> tuple[bool, str | None]:
    """Whether cases are positive or not, and the positive class."""
    if positive is not None:
        return True, check_positive(np.array(classes), *_names(np.array([positive], object)))
    if len(classes) == 2:
        return True, classes[1] if all(map(_is_number, classes)) else classes[positive_of_two(classes)]
    if len(classes) == 1:
        raise AnnotationError(
            f"all {len(known):,} cases are {classes[0]!r}, which shows nothing of other classes; add cases of another"
        )
    if figure.of != "classes":
        raise ArgumentError(
            f"{figure.name} needs a positive class, but there are {len(classes):,} classes, {some(classes)}: name one "
            "with positive=, or measure accuracy."
        )
    return False, None


def _names(values: np.ndarray) -> list[str]:
    """Labels as text; truth values are 1 and 0."""
    return [str(int(one)) if isinstance(one, bool) else str(whole(one)) for one in values.tolist()]


def _is_number(text: str) -> bool:
    return not np.isnan(to_numbers([text])[0])


def _values(
    values: np.ndarray,
    classes: Sequence[str],
    positive: str | None,
    whose: str,
    threshold: float | None = None,
    over: np.ufunc = np.greater,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Scores and decisions, of classes that are known or of numbers that a threshold makes some."""
    names = _names(values)
    if {*names} <= {*classes}:
        number = {name: at if positive is None else float(name == positive) for at, name in enumerate(classes)}
        codes = np.array([number[name] for name in names], float)
        return codes, codes
    scores = to_numbers(values)
    for bad in np.flatnonzero(~np.isfinite(scores))[:1]:
        raise PredictionError(
            f"{whose} gave {show(names[bad])}, which is neither a number nor one of the classes, {some(classes)}; "
            "write classes alike in all files"
        )
    if threshold is None:
        decided = positive is not None and {*scores.tolist()} <= {0.0, 1.0}
        if decided and len(classes) == 2 and classes[positive_of_two(classes)] != positive:
            raise PredictionError(
                f"{whose} gave 0 and 1, which do not say that 1 stands for {positive!r}; write classes alike in all "
                "files"
            )
        return scores, scores if decided else None
    return scores, over(scores, threshold).astype(float)


def _placed(values: np.ndarray, at: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    found = np.full(int(np.prod(shape)), np.nan)
    found[at] = values
    return found.reshape(shape)


def check_truth(study: Study, truth: np.ndarray, figure: Figure, whose: str) -> None:
    """Refuse a truth in which one kind of cases, or of clusters that have any, is too rare to leave one out."""
    kinds = {"sensitivity": ["positive"], "specificity": ["negative"], "accuracy": ["known"]}
    for kind in kinds.get(figure.name, ["positive", "negative"]):
        counts = np.ones(len(truth), bool) if kind == "known" else truth == (kind == "positive")
        n = len(np.unique(study.unit[counts]))
        if n < _ENOUGH:
            what = "case" if study.n_units == len(truth) else "cluster"
            raise AnnotationError(
                f"{figure.name} needs {_ENOUGH} {what}s or more that are {kind} by {whose}, but there "
                f"{'is' if n == 1 else 'are'} {n}; add {what}s, or name another positive class or truth"
            )
