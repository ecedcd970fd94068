"""One reader for annotations of any type: classes, rankings, scores, and labels that only a distance can compare."""

import os
from collections.abc import Collection, Iterable
from typing import Any

from plausibly.data.annotations import Annotations, Scores
from plausibly.data.annotations.io.files import naming_file
from plausibly.data.annotations.io.long_table import ORDERINGS
from plausibly.data.annotations.io.read import annotations_of, naming_cases, open_any
from plausibly.data.labels.container import Labels, from_table
from plausibly.data.labels.table import labels_in
from plausibly.data.labels.types import type_of

_NAMES = ("categories", "grades", "numbers", "partial rankings")  #: types of labels that annotations and scores hold


def read(
    source: Any,
    classes: str | os.PathLike | Iterable[str] | None = None,
    control: str | None = None,
    *,
    case: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    score: str | None = None,
    count: str | None = None,
    layout: str | None = None,
    missing: str | Collection[str] | None = None,
    repeats: str | None = None,
) -> Annotations | Scores | Labels:
    """Read annotations of any type, in any known layout.

    Parameters
    ----------
    source, classes, control, case, annotator, label, score, count, layout, missing, repeats
        As for :func:`plausibly.read_annotations`; with ``repeats="readings"``, labels of any type are read.

    Returns
    -------
    Annotations, Scores or plausibly.labels.Labels
        What :func:`plausibly.aggregate` takes, if answers name or rank classes, or are scores; else labels, such as
        texts, boxes or spans, that :func:`plausibly.agreement.agreement` compares.

    Raises
    ------
    AnnotationError, FileError, ArgumentError
        As for :func:`plausibly.read_annotations`.

    Examples
    --------
    >>> read({"p7": {"ann": "wart", "bob": "corn"}, "p8": {"ann": "wart", "bob": "wart"}})
    Annotations(2 cases, 4 annotations by 2 annotators, 2 classes)
    >>> read([("p7", "ann", [(0, 4, "drug")]), ("p7", "bob", [(0, 9, "drug")]), ("p8", "ann", [])])
    Labels(2 cases, 2 annotators, 3 labels)
    """
    roles = {"case": case, "annotator": annotator, "label": label, "score": score, "count": count}
    options = {"layout": layout, "control": control, "missing": missing, "repeats": repeats, "classes": classes}
    with naming_file(source):
        opened = open_any(source, roles, **options)
        table = labels_in(opened)
        ranked = opened.repeats is None and bool({*ORDERINGS} & {*opened.names})
        if table is not None and ranked and type_of(from_table(table, "drop", "readings")) in _NAMES:
            table = None  # several rows are one ranking, and no second answers
        if table is not None:
            with naming_cases(opened):
                labels = from_table(table, "drop", opened.repeats)
            labels = labels.without(opened.missing) if opened.missing else labels
            if opened.repeats == "readings" or type_of(labels) not in _NAMES:
                return labels
        return annotations_of(opened, told=missing is not None)
