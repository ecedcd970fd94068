"""Classes that are never named, rankings that say nothing, and cases that are alike in all that is said of them."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int
from pandas.util import hash_array

from plausibly.annotations import Annotations
from plausibly.annotations.shown import shown
from plausibly.audit._finding import LONG_TIE, SHOWN, Finding, Prints

_RARE = 0.02  # share of annotations up to which several classes are an oversight


def of_rankings(annotations: Annotations) -> Iterator[Finding]:
    n_classes = annotations.n_classes
    named = np.zeros(n_classes, bool)
    named[annotations.entry_class] = True
    never = np.flatnonzero(~named)
    yield Finding("classes never named", len(never), n_classes, annotations.classes[never[:SHOWN]].tolist())
    labels = (annotations.n_classes > 1) & (np.diff(annotations.annotation_start) == 1).all()
    few = np.flatnonzero(np.diff(annotations.case_start) < n_classes) if labels else np.array([], np.int64)
    of = annotations.n_cases if labels else 0
    yield Finding("fewer labels than classes", len(few), of, annotations.cases[few[:SHOWN]].tolist())
    compared = shown(annotations)
    of = annotations.n_annotations if ((n_named := np.diff(annotations.annotation_start)) > 1).any() else 0
    examples = [] if compared is None else _places(annotations, np.flatnonzero(n_named == compared.n_named)[:SHOWN])
    yield Finding("comparisons", compared.n_annotations if compared else 0, of, examples)
    second = np.flatnonzero(n_named > 1)
    second = second[:0] if len(second) > _RARE * annotations.n_annotations else second
    yield Finding("second answers", len(second), annotations.n_annotations, _places(annotations, second[:SHOWN]))
    sizes, annotation = annotations.block_sizes, annotations.block_annotation
    ranked = len(sizes) > annotations.n_annotations  # some annotation has a second block
    several = annotation[:0] if ranked else annotation[sizes > 1]
    of = 0 if ranked else annotations.n_annotations
    yield Finding("several classes without a rank", len(several), of, _places(annotations, several[:SHOWN]))
    empty = np.flatnonzero((sizes == n_classes) & (n_classes > 1))
    examples = _places(annotations, annotation[empty[:SHOWN]])
    yield Finding("empty annotations", len(empty), annotations.n_annotations, examples)
    long = (sizes > LONG_TIE) | ((sizes >= 4) & (2 * sizes >= n_classes))
    tied = np.unique(annotation[long & (sizes < n_classes)])
    yield Finding("extreme ties", len(tied), annotations.n_annotations, _places(annotations, tied[:SHOWN]))


def identical_cases(annotations: Annotations, prints: Prints) -> Finding:
    said = prints
    if not annotations.anonymous:
        said = hash_array(prints) + annotations.annotation_annotator.astype(np.uint64)
    of_case = np.add.reduceat(hash_array(said), annotations.case_start[:-1])
    key = annotations.entry_case.astype(np.int64) * annotations.n_classes + annotations.entry_class
    n_named = np.bincount(np.unique(key) // annotations.n_classes, minlength=annotations.n_cases)
    eligible = np.flatnonzero(n_named > 1)
    _, first, inverse = np.unique(of_case[eligible], return_index=True, return_inverse=True)
    original = eligible[first[inverse]]
    again = np.flatnonzero(original != eligible)
    names = annotations.cases
    examples = [f"{names[original[i]]} = {names[eligible[i]]}" for i in again[:SHOWN]]
    return Finding("identical cases", len(again), len(eligible), examples)


def _places(annotations: Annotations, rows: Int[np.ndarray, " row"]) -> list[str]:
    who = annotations.annotators[annotations.annotation_annotator[rows]]
    return [
        f"{case} / {annotator}"
        for case, annotator in zip(annotations.cases[annotations.annotation_case[rows]], who, strict=True)
    ]
