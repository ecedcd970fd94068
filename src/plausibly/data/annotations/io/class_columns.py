"""Columns of predictions that are called after classes, or after none, in the ways that programs call them."""

import re
from collections.abc import Sequence

import numpy as np

from plausibly.data.annotations.io.columns import is_number
from plausibly.data.annotations.io.spellings import PREDICTED

#: Names of a single column that no class has: it is of the positive class of two.
POSITIVE = ("probability", "score", "positive", "prob", "proba", "y_prob", "y_proba", "y_score", "p_positive")
#: Words around the names of classes in headers.
_AROUND = {"p", "pr", "prob", "proba", "probability", "score", "pred", "prediction", "logit", "confidence", "class"}


def same_classes(columns: Sequence[str] | None, classes: Sequence[str] | np.ndarray) -> dict[str, str] | None:
    """Match columns with classes that differ in case, blanks and signs, and words such as "prob" around all of them.

    None if all columns are classes as they are, or not every column is one class in one way.

    Examples
    --------
    >>> same_classes(["p_Normal", "p_Pleural_Effusion"], ["normal", "pleural effusion"])
    {'p_Normal': 'normal', 'p_Pleural_Effusion': 'pleural effusion'}
    """
    names = list(map(str, classes))
    known = {tuple(_words(name)): name for name in names}
    of_two = columns is not None and len(columns) == 1 and len(names) == 2
    if columns is None or len(known) < len(names) or {*columns} <= {*names}:
        return None
    if (of_two and any(map(is_number, names))) or not (of_two or len(columns) == len(names)):
        return None
    if of_two and columns[0] in (*POSITIVE, *PREDICTED):
        return None
    words = [_words(column) for column in columns]
    tries = [words]
    for end, rest in ((0, slice(1, None)), (-1, slice(-1))):  # a word that all columns begin or end with
        if len(common := {one[end] for one in words}) == 1 and common <= _AROUND:
            tries.append([one[rest] for one in words])
    for tried in tries:
        found = [known.get(tuple(one)) for one in tried]
        if None not in found and len({*found}) == len(columns):
            return dict(zip(columns, found, strict=True))
    return None


def names_class(name: str, classes: Sequence[str] | np.ndarray) -> bool:
    """Whether the name of one column of numbers says which of two classes these are of."""
    return name in (*map(str, classes), *POSITIVE, *PREDICTED) or same_classes([name], classes) is not None


def class_of_column(name: str, classes: Sequence[str] | np.ndarray) -> str | None:
    """Guess which of two classes a column is of: the one most of whose words, all of them, are in its name.

    None if there is none.

    Examples
    --------
    >>> classes = ["effusion", "no effusion"]
    >>> [class_of_column(name, classes) for name in ("Pleural Effusion", "no effusion", "gpt")]
    ['effusion', 'no effusion', None]
    """
    words = {str(one): {*_words(str(one))} for one in classes}
    found = [one for one, own in words.items() if own <= {*_words(name)}]
    return max(found, key=lambda one: len(words[one]), default=None)


def _words(name: str) -> list[str]:
    """Words of a name, without their case and what is between them."""
    return re.findall(r"[^\W_]+", name.casefold()) or [name]
