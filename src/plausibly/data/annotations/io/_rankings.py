"""Rankings as nested lists or objects, in Python and in JSON, and single labels, which are rewritten as such.

*List form*: list of cases → list of annotators → list of blocks, best first → list of class indices or names. Cases
are named "0", "1", … and annotators, whom nothing identifies across cases, are anonymous.

*Object form*: the same with names::

    {"classes": ["Eczema", "Psoriasis", "Tinea"],
     "cases": {"case-7": {"dr. x": [["Eczema"], ["Psoriasis", "Tinea"]],
                          "dr. y": [["Tinea"]]}}}

`classes` may be absent; a case may hold a list in place of the object, and its annotators are then anonymous, but one
file does not mix the two.
"""

import json
import os
from array import array
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from plausibly.base.errors import AnnotationError, show
from plausibly.base.names import outside, some, to_names, unknown_class
from plausibly.data.annotations._rows import Rows
from plausibly.data.annotations.views import rankings_by_case

if TYPE_CHECKING:
    from plausibly.data.annotations._container import Annotations


def parse_rankings(rankings: object, classes: np.ndarray | None) -> Rows:
    """Read rankings in list form or object form; see :meth:`plausibly.Annotations.from_rankings`."""
    cases, classes = _top_level(rankings, classes)
    names: list[str] = []
    collected = Collector(classes)
    annotators: dict[str, int] = {}
    anonymous: bool | None = None
    for position, (case, annotations) in enumerate(cases):
        names.append(case)
        named = isinstance(annotations, Mapping)
        if not named and not is_list(annotations):
            raise AnnotationError(
                f"case {case!r}: a case is a list of annotations, got {show(annotations)}; write [[[class, …], …], …]"
            )
        if not len(annotations):
            raise AnnotationError(f"case {case!r} has no annotators; annotate it, or remove the case")
        if anonymous is None:
            anonymous = not named
        elif anonymous is named:
            raise AnnotationError(
                f"case {case!r}: some cases name their annotators and others do not; name them in every case or in none"
            )
        numbered: Iterable[tuple[str, object]] = (
            annotations.items() if named else ((str(i), a) for i, a in enumerate(annotations, 1))
        )
        for annotator, blocks in numbered:
            collected.add(position, case, annotators.setdefault(annotator, len(annotators)), annotator, blocks)
    return collected.rows_of(to_names(names, "case"), to_names(annotators, "annotator"), bool(anonymous))


class Collector:
    """Gathers (case, annotator, block, class) rows, checking every class on the way."""

    def __init__(self, classes: np.ndarray | None):
        self.classes = classes
        self.codes = {} if classes is None else {str(name): index for index, name in enumerate(classes)}
        self.n_classes = None if classes is None else len(classes)
        self.rows = array("i")  # four numbers each; a list of tuples would take twenty times the memory

    def rows_of(self, cases: np.ndarray, annotators: np.ndarray, anonymous: bool, *, numeric: bool = False) -> Rows:
        """Return the rows; classes that nobody listed are sorted, by their numbers if they are `numeric`."""
        classes, rename = self.classes, np.arange(len(self.codes))
        if classes is None:
            names = sorted(self.codes, key=float if numeric else str)
            place = {name: index for index, name in enumerate(names)}
            classes, rename = to_names(names, "class"), np.array([place[name] for name in self.codes])
        columns = np.frombuffer(self.rows, dtype=np.int32).reshape(-1, 4)
        return Rows(
            cases=cases,
            classes=classes,
            annotators=annotators,
            anonymous=anonymous,
            case=columns[:, 0],
            annotator=columns[:, 1],
            class_index=rename[columns[:, 3]],
            rank=columns[:, 2],
            order=np.arange(len(columns)),
        )

    def add(self, position: int, case: str, code: int, annotator: str, blocks: object) -> None:
        where = f"case {case!r}, annotator {annotator!r}"
        if not is_list(blocks):
            raise AnnotationError(
                f"{where}: an annotation is a list of blocks, got {show(blocks)}; write a single label as [[label]]"
            )
        if not len(blocks):
            raise AnnotationError(f"{where}: the annotation is empty; name at least one class, or remove the annotator")
        for rank, block in enumerate(blocks):
            if not is_list(block):
                raise AnnotationError(
                    f"{where}: block {rank + 1} is {show(block)}, and a block is a list of classes; "
                    f"write [{show(block)}]"
                )
            if not len(block):
                raise AnnotationError(f"{where}: block {rank + 1} is empty; name a class in it, or remove the block")
            for name in block:
                self.rows.extend((position, code, rank, self._class(name, where)))

    def _class(self, name: object, where: str) -> int:
        if isinstance(name, str):
            index = self.codes.get(name)
            if index is None:
                if self.n_classes is not None:
                    raise AnnotationError(f"{where}: {unknown_class(name, self.codes)}")
                index = self.codes[name] = len(self.codes)
            return index
        if not isinstance(name, Integral) or isinstance(name, bool):
            raise AnnotationError(f"{where}: a class is an index or a name, got {show(name)}; write one of these")
        if self.n_classes is None:
            raise AnnotationError(
                f"{where}: the class index {name} has no name yet; pass classes= (--classes), the names"
            )
        index = int(name)
        if not 0 <= index < self.n_classes:
            raise AnnotationError(f"{where}: {outside(index, self.n_classes)}")
        return index


def _top_level(rankings: object, classes: np.ndarray | None) -> tuple[list[tuple[str, object]], np.ndarray | None]:
    """Return (name, annotations) of every case, and the classes that rule."""
    if isinstance(rankings, Mapping):
        unknown = [key for key in rankings if key not in ("classes", "cases")]
        nested = any(isinstance(one, Mapping | list) for one in rankings.values())
        if unknown and nested and "cases" not in rankings:
            raise AnnotationError(
                f"an object with {some(unknown, 5)} is of no form that is known here; write a table with the columns "
                "case, annotator and class, or {case: {annotator: label}}"
            )
        if unknown or "cases" not in rankings:
            what = f"the key {unknown[0]!r}" if unknown else "no key 'cases'"
            raise AnnotationError(
                f"the object form of rankings has {what}; "
                'write {"classes": [name, …], "cases": {case: {annotator: [[class, …], …]}}}, or, of labels, {case: '
                "{annotator: label}}"
            )
        if "classes" in rankings:
            classes = _own_classes(rankings["classes"], classes)
        if not isinstance(rankings["cases"], Mapping):
            raise AnnotationError(
                f"'cases' is {show(rankings['cases'])}; write an object, {{case: {{annotator: [[class, …], …]}}}}"
            )
        cases = list(rankings["cases"].items())
    elif is_list(rankings):
        cases = [(str(number), annotations) for number, annotations in enumerate(rankings)]
    else:
        raise AnnotationError(f"rankings are a list of cases, or an object with 'cases'; got {show(rankings)}")
    if not cases:
        raise AnnotationError("there are no cases; give at least one")
    return cases, classes


def _own_classes(listed: object, classes: np.ndarray | None) -> np.ndarray:
    """Return the classes listed with the rankings; those given, if any, have to be the same."""
    if not is_list(listed):
        raise AnnotationError(f"'classes' is {show(listed)}; write a list of class names")
    own = to_names(listed, "class")
    if classes is not None and not np.array_equal(own, classes):
        raise AnnotationError(
            f"the {len(own)} classes listed with the rankings are not the {len(classes)} given; "
            "give only one of the two lists"
        )
    return own


def is_list(value: object) -> TypeGuard[Sequence]:
    """Whether a value is a sequence of things; text is not."""
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def write_rankings(annotations: "Annotations", path: str | os.PathLike) -> None:
    """Write rankings in object form, one case to a line so that versions compare well."""

    def as_json(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    with Path(path).open("w", encoding="utf-8") as file:
        file.write(f'{{\n  "classes": {as_json(annotations.classes.tolist())},\n  "cases": {{')
        for number, (case, ranking) in enumerate(rankings_by_case(annotations)):
            file.write(f"{',' if number else ''}\n    {as_json(case)}: {as_json(ranking)}")
        file.write("\n  }\n}\n")


def labels_as_rankings(
    labels: Any, cases: Iterable[str] | None, annotators: Iterable[str] | None, missing: object
) -> dict:
    """Rewrite labels as rankings in object form, each a block; see :meth:`plausibly.Annotations.from_labels`."""
    if not is_list(labels):
        raise AnnotationError(f"labels are a list of cases, got {show(labels)}; write [[label, …], …]")
    if isinstance(labels, np.ndarray) and labels.dtype.kind == "f" and missing != missing:
        # An array with NaN in it cannot be one of integers; what is not whole is refused below.
        labels = np.frompyfunc(lambda label: int(label) if label.is_integer() else label, 1, 1)(labels)
    rows = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    case_names = to_names(range(len(rows)) if cases is None else cases, "case").tolist()
    if len(case_names) != len(rows):
        raise AnnotationError(
            f"there are {len(rows)} rows of labels for {len(case_names)} case names; give one per row"
        )
    persons = None if annotators is None else to_names(annotators, "annotator").tolist()
    content = {}
    for case, row in zip(case_names, rows, strict=True):
        if not is_list(row):
            raise AnnotationError(f"case {case!r}: the labels of a case are a list, got {show(row)}; write [label, …]")
        if persons is not None and len(row) != len(persons):
            raise AnnotationError(
                f"case {case!r}: there are {len(row)} labels for {len(persons)} annotators; "
                "give one each, and missing= for those without"
            )
        blocks = {}
        for number, label in enumerate(row):
            if label is missing or label == missing or (label != label and missing != missing):  # NaN equals NaN here
                continue
            if not isinstance(label, str | Integral):
                raise AnnotationError(
                    f"case {case!r}, annotator {number + 1}: a label is a class index or a name, got {show(label)}; "
                    "say with missing= what stands for no label"
                )
            blocks[number if persons is None else persons[number]] = [[label]]
        content[case] = list(blocks.values()) if persons is None else blocks
    return {"cases": content}
