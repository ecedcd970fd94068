"""Predictions in JSON and JSON lines, as a table with a row per case and a column per class.

A record has the case and, for each class, its probability: in fields of their own, in a field that holds a mapping
(``"probs": {"a": 0.2, "b": 0.8}``), or in one that holds a list as Hugging Face's pipelines return it
(``[{"label": "a", "score": 0.2}, …]``). Such lists alone, and mappings ``{case: {class: probability}}``, are read, too.
A record with a single ``label`` and its ``score`` says the probabilities of two classes; one with a label alone names a
class.
"""

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from plausibly.base.errors import PredictionError, show
from plausibly.data.annotations.io.answers import is_list, to_name
from plausibly.data.annotations.io.spellings import CASE, PREDICTED, find

_FORM = 'write an object per case, such as {"case": "p1", "probs": {"a": 0.2, "b": 0.8}}'
_FIELDS = ("probs", "probabilities", "scores", "predictions")  # which is read if several hold numbers of classes
_SCORE = ("score", "probability", "confidence")


def frame_of_json(content: Any, classes: Collection[str] | None = None) -> pd.DataFrame:
    """Return a column ``case``, if cases have names, and a column for each class, or one that names classes.

    Raises
    ------
    PredictionError
        If a record has another form, or not the same fields as the first one.
    """
    if isinstance(content, Mapping):
        content = [{"case": str(case), "probs": said} for case, said in content.items()]
    if not is_list(content) or not len(content):
        raise PredictionError(f"the file holds {show(content)}; {_FORM}")
    rows = [_row(record, f"record {number}", classes) for number, record in enumerate(content, 1)]
    for number, row in enumerate(rows, 1):
        if {*row} != {*rows[0]}:
            odd = sorted({*row} ^ {*rows[0]})[0]
            raise PredictionError(f"record {number} and record 1 do not both have {odd!r}; give every case all classes")
    return pd.DataFrame(rows)


def _row(record: Any, where: str, classes: Collection[str] | None) -> dict[str, Any]:
    if (scores := _scores(record)) is not None and is_list(record):
        return scores
    if not isinstance(record, Mapping):
        raise PredictionError(f"{where} is {show(record)}; {_FORM}")
    fields = {str(name): value for name, value in record.items()}
    name = find("case", [one for one in fields if one not in (classes or ())], {"case": CASE})
    row = {} if name is None else {"case": to_name(fields.pop(name), f"{where}: the {name}")}
    inner = {one: found for one, value in fields.items() if (found := _scores(value)) is not None}
    if inner:
        chosen = next((one for one in _FIELDS if one in inner), next(iter(inner)))
        if len(inner) > 1 and chosen not in _FIELDS:
            raise PredictionError(f"{where} has numbers of classes in {' and '.join(map(repr, inner))}; keep one")
        return row | inner[chosen]
    if classes is not None and {*classes} <= {*fields}:
        return row | {one: fields[one] for one in classes}
    label = find("label", fields, {"label": PREDICTED})
    score = next((one for one in _SCORE if one in fields), None)
    if label is not None and score is not None and classes is not None:
        if len(classes) != 2 or str(fields[label]) not in classes:
            raise PredictionError(
                f"{where} has the {score} of {show(fields[label])} alone; give those of all classes (in Hugging Face's "
                "pipelines top_k=None)"
            )
        value = fields[score]
        return row | {one: value if one == str(fields[label]) else 1 - value for one in classes}
    if label is not None:
        return row | {PREDICTED[0]: fields[label]}
    numbers = {one: value for one, value in fields.items() if _is_number(value)}
    return row | numbers if classes is not None or len(numbers) == len(fields) else row


def _scores(value: Any) -> dict[str, Any] | None:
    """Numbers by class, from a mapping or from a list of labels with scores; None if it is neither."""
    if (
        is_list(value)
        and len(value)
        and all(isinstance(one, Mapping) and {"label", "score"} <= {*one} for one in value)
    ):
        value = {one["label"]: one["score"] for one in value}
    if not isinstance(value, Mapping) or not value or not all(map(_is_number, value.values())):
        return None
    return {str(name): number for name, number in value.items()}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
