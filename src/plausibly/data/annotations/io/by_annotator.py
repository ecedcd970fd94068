"""Files by one annotator each, such as ``{"alice": "alice.jsonl", "bob": "bob.csv"}``, put together.

A file may be in any format that holds answers by case, be it without names of annotators or with one; or a table, or
records, with a case and a label, a class with its rank or confidence, or a score in each; or JSON ``{case: label}``.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from plausibly.base.errors import AnnotationError
from plausibly.base.names import some
from plausibly.data.annotations.io._platforms import finished, rows_of
from plausibly.data.annotations.io.answers import Answers, is_nothing, to_name
from plausibly.data.annotations.io.columns import is_number
from plausibly.data.annotations.io.files import naming
from plausibly.data.annotations.io.spellings import CASE, find

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source


def answers_by_annotator(sources: Mapping[str, "Source"], read: Callable[["Source"], Any]) -> Answers:
    """Answers of all annotators; `read` takes apart a file in a known format, and returns None of another."""
    answers, parts = Answers(), []
    for who, source in sources.items():
        with naming(source.path):
            part = read(source) or source
            part = part if isinstance(part, Answers) else _of_rows(part)
            names = list(dict.fromkeys(one for one in part.annotator if one is not None))
            if len(names) > 1:
                raise AnnotationError(
                    f"this is to be the file of {who!r} alone, and holds answers of {some(names)}; give such a file by "
                    "itself, or one file for each annotator"
                )
        parts.append(part)
        for case, value, further in zip(part.case, part.value, part.further, strict=True):
            answers.add(case, who, value, further)
        for what, number in part.left_out.items():
            answers.left_out[what] = answers.left_out.get(what, 0) + number
    answers.rating = all(part.rating for part in parts)
    answers.scores = any(part.scores for part in parts) and all(part.rating or part.scores for part in parts)
    return answers


def _of_rows(source: "Source") -> Answers:
    """Take apart rows with a case and a label, or a mapping from case to label."""
    answers = Answers()
    if isinstance(source.content, Mapping):
        for case, value in source.content.items():
            answers.add(str(case), None, None if is_nothing(value) else value, {})
        return finished(answers)
    rows = rows_of(source)
    names = list(dict.fromkeys(name for row in rows for name in row))
    case = find("case", names, {"case": CASE})
    rest = [name for name in names if name != case]
    label = find("label", rest) or next((name for name in rest if name == "score" or len(rest) == 1), None)
    if case is None or label is None:
        raise AnnotationError(
            f"the columns are {some(names, 9)}; those of a file by one annotator are case and label, or a class with "
            "its rank"
        )
    order = next((name for name in ("rank", "confidence") if name in rest), None)
    who = find("annotator", rest)
    further = [name for name in rest if name not in (label, order, who)]
    ranked: dict[str, dict[float, list[Any]]] = {}
    for number, row in enumerate(rows, 1):
        name = to_name(row.get(case), f"row {number}: the {case}")
        if order is None:
            named = None if who is None or row.get(who) is None else str(row[who])
            answers.add(name, named, row.get(label), {one: row.get(one) for one in further})
            continue
        if not is_number(str(row.get(order))):
            raise AnnotationError(f"row {number}: the {order} is {row.get(order)!r}; write a number")
        place = float(row[order]) * (1 if order == "rank" else -1)
        ranked.setdefault(name, {}).setdefault(place, []).append(row.get(label))
    for name, blocks in ranked.items():
        answers.add(name, None, [blocks[place] for place in sorted(blocks)], {})
    return answers if order else finished(answers)
