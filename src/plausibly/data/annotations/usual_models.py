"""Aggregation models that are used where none is named, by kind of annotations."""

import numpy as np

from plausibly.base.errors import AnnotationError, ArgumentError
from plausibly.data.annotations._container import Annotations
from plausibly.data.annotations.scores import MOST_GRADES, Scores

OF_RANKINGS = ("plackett-luce@3", "prirn@30")
OF_LABELS = ("dirichlet-categorical@1",)
OF_SCORES = ("ordinal-scores", "normal-scores")  #: few distinct scores, or many
OF_RATINGS = "ordinal-scores:raters=differ"  #: few distinct scores by named raters, without a threshold
MOST_CATEGORIES = 21  #: distinct scores up to which they are taken for categories
ENOUGH_LABELS = 20  #: of an annotator, from which they tell how she differs from others
MOST_CONFUSIONS = 100_000  #: numbers in the confusion matrices of all annotators, whose draws have to be kept


def check_annotations(annotations: object) -> None:
    """Refuse what has not been read."""
    if not isinstance(annotations, Annotations | Scores):
        raise ArgumentError(
            "annotations must be an Annotations or Scores, but an object of type "
            f"{type(annotations).__name__} was given: read it with pb.read (a file, a table of pandas or another, …)."
        )


def usual_models(annotations: Annotations | Scores) -> tuple[str, ...]:
    """Name the default models: those of labels if every annotation names one class, of rankings or of scores."""
    check_annotations(annotations)
    if not isinstance(annotations, Scores):
        return OF_LABELS if len(annotations.entry_class) == annotations.n_annotations else OF_RANKINGS
    categories, numbers = OF_SCORES
    return (categories,) if len(set(annotations.score.tolist())) <= MOST_CATEGORIES else (numbers,)


def are_ratings(annotations: Annotations | Scores) -> bool:
    """Whether these are scores of few values by named raters, each of which may be a class: no threshold is needed."""
    if not isinstance(annotations, Scores) or annotations.anonymous or len(annotations.annotators) < 2:
        return False
    return 3 <= len(set(annotations.score.tolist())) <= MOST_GRADES


def recommended_models(annotations: Annotations | Scores, *, predictions: bool) -> tuple[str, ...]:
    """Name the models that ``plausibly evaluate`` takes where nothing is named, the one to believe first.

    It counts every annotation once and learns the prior: from the classifiers' predictions if there are any, else how
    common classes are. The other is the published method, for comparison.
    """
    published = usual_models(annotations)[0]
    if isinstance(annotations, Scores):
        return (published,)
    prior = "predictions" if predictions else "learned"
    return f"{published.partition('@')[0]}@1:class_prior={prior}", published


def one_truth_model(annotations: Annotations | Scores, *, predictions: bool) -> tuple[str, str]:
    """Name the model for a task in which each case has one true class, and say why it was chosen.

    Annotators have confusion matrices of their own if they are named and most labels come from annotators with enough
    of them to tell; otherwise all share one. Scores, and annotations that name several classes, are refused.
    """
    if isinstance(annotations, Scores):
        raise AnnotationError("one true class is for labels, but scores were given: leave --one-truth out.")
    several = np.diff(annotations.annotation_start) > 1
    if several.any():
        case = annotations.cases[annotations.annotation_case[several.argmax()]]
        raise AnnotationError(
            f"one true class is for annotations that name one class, but in case {str(case)!r} an annotation names "
            "several: a ranking of alternatives does not say which one is thought to be true. Leave --one-truth out, "
            "or give first choices only."
        )
    each = np.bincount(annotations.annotation_annotator, minlength=len(annotations.annotators))
    known = each[each >= ENOUGH_LABELS].sum() / each.sum()
    name, why = "common-confusion", f"most labels are of annotators with fewer than {ENOUGH_LABELS}, so all share one"
    if annotations.anonymous:
        why = "annotators are anonymous, so all share one"
    elif len(each) < 2:
        why = "there is one annotator with one"
    elif len(each) * annotations.n_classes**2 > MOST_CONFUSIONS:
        why = "there are too many annotators and classes to keep one for each, so all share one"
    elif known > 0.5:
        name, why = "dawid-skene", "annotators are named and have enough labels, so each has a"
    return name + (":class_prior=predictions" if predictions else ""), f"{why} confusion matrix"


def usual_model(annotations: Annotations | Scores) -> str:
    """Name the first of the default models without its reliability, which is the model's own default."""
    return usual_models(annotations)[0].partition("@")[0]
