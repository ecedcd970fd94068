"""Aggregation models that are used where none is named, by kind of annotations."""

from plausibly.annotations._container import Annotations
from plausibly.annotations._scores import Scores

OF_RANKINGS = ("plackett-luce@3", "prirn@30")
OF_LABELS = ("dirichlet-categorical@1",)
OF_SCORES = ("ordinal-scores", "normal-scores")  #: few distinct scores, or many
MOST_CATEGORIES = 21  #: distinct scores up to which they are taken for categories


def usual_models(annotations: Annotations | Scores) -> tuple[str, ...]:
    """Name the default models: those of labels if every annotation names one class, of rankings or of scores.

    Examples
    --------
    >>> usual_models(Annotations.from_labels([["a", "b"]]))
    ('dirichlet-categorical@1',)
    """
    if not isinstance(annotations, Scores):
        return OF_LABELS if len(annotations.entry_class) == annotations.n_annotations else OF_RANKINGS
    categories, numbers = OF_SCORES
    return (categories,) if len(set(annotations.score.tolist())) <= MOST_CATEGORIES else (numbers,)


def recommended_models(annotations: Annotations | Scores, *, predictions: bool) -> tuple[str, ...]:
    """Name the models that ``plausibly evaluate`` takes where nothing is named, the one to believe first.

    It counts every annotation once and learns the prior: from the classifiers' predictions if there are any, else how
    common classes are. The other is the published method, for comparison.

    Examples
    --------
    >>> recommended_models(Annotations.from_labels([["a", "b"]]), predictions=True)
    ('dirichlet-categorical@1:class_prior=predictions', 'dirichlet-categorical@1')
    """
    published = usual_models(annotations)[0]
    if isinstance(annotations, Scores):
        return (published,)
    prior = "predictions" if predictions else "learned"
    return f"{published.partition('@')[0]}@1:class_prior={prior}", published


def usual_model(annotations: Annotations | Scores) -> str:
    """Name the first of the default models without its reliability, which is the model's own default.

    Examples
    --------
    >>> usual_model(Annotations.from_rankings([[[["a"], ["b"]]]]))
    'plackett-luce'
    """
    return usual_models(annotations)[0].partition("@")[0]
