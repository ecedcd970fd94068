"""Annotations and scores as labels, which agreement compares."""

from typing import Any

import numpy as np

from plausibly.annotations import Annotations, Scores
from plausibly.annotations._by_case import check_annotated
from plausibly.annotations._views import blocks_by_annotation
from plausibly.errors import AnnotationError
from plausibly.labels._table import to_objects


def usual_distance(source: Any) -> str:
    """Name the distance that compares labels of this kind unless another is asked for."""
    if isinstance(source, Scores):
        return "interval"
    return "partial_rankings" if isinstance(source, Annotations) and not _are_single(source) else "nominal"


def columns_of(annotations: Annotations | Scores) -> dict[str, Any]:
    """Arrange annotations as the columns of :class:`Labels`: names of classes, blocks of them, or scores."""
    check_annotated(annotations)
    if annotations.anonymous:
        raise AnnotationError(
            "agreement compares annotators, but these annotations do not say who gave them; give each a name"
        )
    if isinstance(annotations, Scores):
        values = annotations.score
    elif _are_single(annotations):
        values = to_objects(annotations.classes[annotations.entry_class].tolist())
    else:
        values = to_objects(blocks_by_annotation(annotations, annotations.classes[annotations.entry_class].tolist()))
    return {
        "cases": annotations.cases,
        "annotators": annotations.annotators,
        "case": annotations.annotation_case.astype(np.int64),
        "annotator": annotations.annotation_annotator.astype(np.int64),
        "values": values,
        "columns": {},
        "rows": np.arange(len(values)),
    }


def _are_single(annotations: Annotations) -> bool:
    return bool((np.diff(annotations.annotation_start) == 1).all())
