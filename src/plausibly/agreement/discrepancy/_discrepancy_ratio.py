"""The discrepancy ratio, which asks whether a model is closer to the annotators than they are to each other."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from plausibly.agreement.discrepancy._baselines import Compared, with_constants
from plausibly.agreement.discrepancy._delta import (
    Delta,
    LabelSets,
    discrepancy_to_model,
    discrepancy_to_others,
    find_delta,
)
from plausibly.agreement.discrepancy._result import Discrepancy
from plausibly.agreement.pairs import check_two_annotators, fair_pairs
from plausibly.base.errors import AnnotationError, DistanceError, renamed
from plausibly.base.progress import Progress
from plausibly.data.labels.container import Labels, by_case, column_names
from plausibly.data.labels.predictions import MODEL, Predictions, beside_models, read_models
from plausibly.data.labels.table import to_objects
from plausibly.data.labels.types import check_nominal, usual_distance
from plausibly.distances import LabelRefused


@renamed(groups="clusters", strata="by", delta="distance")
def discrepancy_ratio(
    labels: Any,
    predictions: Any,
    distance: str | Callable[[Any, Any], float] | None = None,
    clusters: str | Mapping[str, Any] | None = None,
    *,
    by: str | Mapping[str, Any] | None = None,
    tolerance: float | None = None,
    progress: bool = True,
) -> Discrepancy:
    r"""Compare a model's disagreement with annotators to their disagreement with each other.

    With :math:`\psi` the mean disagreement over all pairs of two sets of labels, :math:`Y_j^i` the labels of annotator
    :math:`j` for case :math:`i`, and :math:`A^i` the number of annotators of the case,

    .. math::
       \alpha^i = \frac{1}{A^i (A^i - 1)} \sum_{j \ne j'} \psi(Y_j^i, Y_{j'}^i), \quad
       \mu^i = \frac{1}{A^i} \sum_j \psi(m^i, Y_j^i), \quad
       \Delta = \frac{\mathrm{mean}_i \mu^i}{\mathrm{mean}_i \alpha^i}.

    Below 1, the model is closer to the annotators than they are to each other.

    Parameters
    ----------
    labels
        Long table with the columns ``case``, ``annotator``, ``label``: see :meth:`Labels.of`. An annotator may
        label a case several times. Rows without a label are left out and counted.
    predictions
        Table with the columns ``case`` and ``label`` (a data frame, a path, a mapping of columns, a list of rows), or a
        mapping from the names of models to such tables or to mappings ``{case: label}``. A model may predict several
        labels for a case.
    distance
        Distance δ between two labels, at least 0: ``"nominal"`` (0 or 1), ``"squared"``, ``"absolute"``,
        ``"hinge"`` (``max(0, |y − y'| − tolerance)``), ``"jaccard"`` (one minus the share of common members of two
        lists, or of text such as ``"a|b"``), a distance from :mod:`plausibly.distances` or its name, or a function,
        which must be symmetric and is called once for every pair of different labels. If a distance compares labels
        with parts (boxes, spans, ranked lists), text is read as JSON or Python literals, like the cells in
        :func:`read_labels`. ``"ordinal"`` counts the annotators' labels only; ``"partial_rankings"`` takes classes and
        depth from all labels, including the models', unless ``PartialRankings(depth, classes)`` sets them. By default
        it is chosen by the type of the labels, see :func:`agreement`.
    clusters
        Clusters that the bootstrap draws, such as patients with several cases: the name of a column of the labels, or a
        mapping from case to cluster. By default each case is a cluster.
    by
        Groups of cases, such as their diagnosis, to get Δ by group and its mean: a column or a mapping, as for
        ``clusters``.
    tolerance
        Tolerance λ of ``"hinge"``.
    progress
        Whether to show progress.

    Returns
    -------
    Discrepancy
        Result with ``ratio``, ``model_discrepancy``, ``annotator_discrepancy``, ``interval()`` and more. Cases with
        fewer than two annotators do not count, and are listed in ``excluded``. If annotators agree perfectly, Δ is 1
        for a model that also agrees with them perfectly, and infinite for any other.

    Raises
    ------
    AnnotationError
        If no case has two annotators, labels are not of the type that ``distance`` compares, or numbers are so far
        apart that their disagreement is not finite.
    DistanceError
        If a distance does not accept a label, or a function fails; the message names the label.
    PredictionError
        If a case that counts has no prediction, or predictions and labels are of different types.
    ArgumentError
        If there is no such distance; or none is given, and the type of the labels is unclear; or labels are free texts,
        hardly any of which repeat, and the distance is ``"nominal"``.

    References
    ----------
    Lovchinsky et al. (2020), Discrepancy ratio: evaluating model performance when even experts disagree on the truth,
    ICLR.

    Examples
    --------
    >>> labels = {"p": {"ann": "wart", "bob": "wart", "cy": "corn"}, "q": {"ann": "corn", "bob": "corn"}}
    >>> result = discrepancy_ratio(labels, {"A": {"p": "wart", "q": "corn"}, "B": {"p": "corn", "q": "wart"}})
    >>> round(result.annotator_discrepancy, 3), result.ratio.round(3).to_dict()
    (0.333, {'A': 0.5, 'B': 2.5})
    """
    chosen = None if distance is None else find_delta(distance, tolerance)
    source, labels = labels, Labels.of(labels, columns=column_names(clusters, by))
    if chosen is None:
        chosen = find_delta(usual_distance(source, labels).name, tolerance)
    elif chosen.name == "nominal":
        check_nominal(labels)
    if chosen.distance is not None:
        chosen = replace(chosen, distance=chosen.distance.in_order(labels.order))
    labels, _ = fair_pairs(beside_models(labels, predictions))
    sets = LabelSets.of(labels)
    check_two_annotators(labels, sets.n_annotators)
    models = read_models(predictions, labels, sets.n_annotators >= 2)
    single = list(models) == [MODEL] and not (isinstance(predictions, Mapping) and MODEL in predictions)
    return discrepancy_of(labels, sets, models, chosen, clusters, by, single=single, progress=progress)


def discrepancy_of(
    labels: Labels,
    sets: LabelSets,
    models: Mapping[str, Predictions],
    delta: Delta,
    clusters: str | Mapping[str, Any] | None,
    by: str | Mapping[str, Any] | None = None,
    *,
    single: bool = False,
    progress: bool = True,
) -> Discrepancy:
    """Compare annotators with each other and with models, if there are any."""
    joined, n_added = with_constants(labels, sets, comparable(labels, models, delta), delta)
    cluster, group = by_case(clusters, labels, "cluster")[1], by_case(by, labels, "group")
    sizes = np.diff(labels.start).astype(np.int64)
    slow = int((sizes * (sizes - 1) // 2).sum()) > delta.pairs_of_seconds
    with Progress(progress and slow) as bars, np.errstate(over="ignore", invalid="ignore"):
        try:
            compare = delta.compare(joined, len(labels))
        except LabelRefused as error:
            raise DistanceError(f"{_where(error.position, labels, models)}: {error}") from error
        to_others = discrepancy_to_others(labels, joined[: len(labels)], sets, delta, compare, bars)
        to_sets, said, offset = {}, {}, len(labels)
        for name, model in models.items():
            said[name] = model.case, np.arange(offset, offset + len(model.case))
            to_sets[name] = discrepancy_to_model(*said[name], labels, sets, compare, bars)
            offset += len(model.case)
    counts = sets.n_annotators[sets.case] >= 2
    for values in (to_others, *(values[counts] for values in to_sets.values())):
        if not np.isfinite(values).all():
            raise AnnotationError(
                f"labels are so far apart that their disagreement ({delta.name}) is not finite; change their unit"
            )
    return Discrepancy(
        labels=labels,
        label_sets=sets,
        distance=delta.name,
        to_others=to_others,
        single=single,
        clusters=cluster,
        by=None if by is None else group,
        to_sets=to_sets,
        compared=Compared(
            delta=delta,
            values=joined,
            given=[labels.values, *(model.values for model in models.values())],
            n_added=n_added,
            models=said,
        ),
    )


def comparable(labels: Labels, models: Mapping[str, Predictions], delta: Delta) -> np.ndarray:
    """Join the labels of annotators and of models, in the form that a disagreement compares."""
    parts = [labels.values, *(model.values for model in models.values())]
    if delta.is_numeric:
        if not labels.is_numeric:
            _ = labels.numbers  # of which one fails, and says where
        return np.concatenate([labels.numbers, *(part.astype(np.float64) for part in parts[1:])])
    joined = np.concatenate(parts) if labels.is_numeric else to_objects(value for part in parts for value in part)
    if delta.distance is None and delta.name == "nominal":
        if labels.is_numeric:
            return np.unique(joined, return_inverse=True)[1]
        names, code = labels.coded
        known = {name: number for number, name in enumerate(names)}
        others = (known.setdefault(value, len(known)) for part in parts[1:] for value in part)
        return np.concatenate([code, np.fromiter(others, np.int64)])
    return joined


def _where(place: int, labels: Labels, models: Mapping[str, Predictions]) -> str:
    """Name the place of a label among those of annotators and of models."""
    if place < len(labels):
        return labels.where(place)
    place -= len(labels)
    for name, model in models.items():
        if place < len(model.case):
            return f"predictions of {name}, case {str(labels.cases[model.case[place]])!r}"
        place -= len(model.case)
    raise AssertionError(place)
