"""One row per case, whose columns hold lists: what data-set hubs, JSON lines and shared tasks on disagreement use.

A record has ``annotations`` (or ``labels``): a list of answers, a mapping from annotator to answer, or text with
commas; and perhaps ``annotators``, equally many names. An answer is a class, a list of tied classes, or a list of
blocks. The case is named by ``case``, ``id``, ``task``, ``item`` or ``uid``, or else counted. Other lists of the same
length belong to the answers, such as the annotators' ages; everything else belongs to the case. In CSV files lists are
JSON. The same as a mapping from case to record, or to ``{annotator: answer}``.

Without answers, a record may have a ``soft_label``: a mapping from class to probability, which counts as so many
annotators as are said to stand behind it.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plausibly.base.errors import AnnotationError, ArgumentError, show
from plausibly.data.annotations.io.answers import Answers, is_list, is_nothing, name_of, parsed, scalars, to_name
from plausibly.data.annotations.io.columns import list_of
from plausibly.data.annotations.io.spellings import ANSWERS, CASE, PEOPLE, SOFT, find
from plausibly.data.annotations.views import rankings_by_case

if TYPE_CHECKING:
    from plausibly.data.annotations._container import Annotations
    from plausibly.data.annotations.io.source import Source

_LIKE_NAME = re.compile(r"(id|key|file|filename|path)$", re.IGNORECASE)
_SINGLE = {"annotator", "worker", "label", "class"}  # columns of a long table


def is_of_cases(names: Iterable[str]) -> bool:
    """Whether these are the columns of a table with a row per case."""
    names = set(map(str, names))
    return bool(names & {*ANSWERS, *SOFT}) and not names & _SINGLE


def is_by_case(source: "Source") -> bool:
    """Whether these are rows with answers in lists, and no tasks of an annotation tool."""
    if source.content is None:
        return is_of_cases(source.names)
    for record in source.records:
        record = _apart(record) if isinstance(record, Mapping) else record
        if not isinstance(record, Mapping) or not is_of_cases(map(str, record)):
            return False
        said = next((record[name] for name in ANSWERS if record.get(name) is not None), None)
        if said is None or (is_list(said) and not len(said)):
            if any(name in record for name in SOFT):
                return True
            continue
        doubtful = is_list(said) and (isinstance(said[0], Mapping) or (is_list(said[0]) and not len(said[0])))
        return not doubtful
    return False


def holds_nested(content: Any) -> bool:
    """Whether this is a mapping from case to record, or from case to ``{annotator: answer}``."""
    if not isinstance(content, Mapping) or not content or {"cases", "images"} & set(content):
        return False
    return all(isinstance(value, Mapping) for value in content.values())


def case_answers(records: Sequence[Any], weight: int | None) -> Answers:
    """Take apart records, one per case."""
    _check_named(records)
    answers, seen = Answers(), set()
    for number, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise AnnotationError(
                f"record {number + 1} is {show(record)}; write an object with the case and its annotations"
            )
        record = _apart(record)
        case = name_of(record, number)
        if case in seen:
            raise AnnotationError(f"case {case!r} has two records; keep one")
        seen.add(case)
        _add(answers, case, record, weight)
    return answers


def _apart(record: Mapping) -> Mapping:
    """Take a list of records of answers, each with its label and perhaps its annotator, apart into two lists.

    Two equally long lists under the names of a label and of an annotator are these.
    """
    label, who = (find(role, map(str, record)) for role in ("label", "annotator"))
    said, people = record.get(label), record.get(who)
    if is_list(said) and is_list(people) and len(said) == len(people):
        named = {label: ANSWERS[0], who: PEOPLE[0]}
        return {named.get(key, key): cell for key, cell in record.items()}
    for name in (*ANSWERS, *PEOPLE):
        said = record.get(name)
        if not is_list(said) or not len(said) or not all(isinstance(one, Mapping) for one in said):
            continue
        keys = set.intersection(*({*map(str, one)} for one in said))
        if (label := find("label", keys)) is None:
            continue
        who = find("annotator", keys)
        people = {} if who is None else {PEOPLE[0]: [one[who] for one in said]}
        return (
            {key: cell for key, cell in record.items() if key != name}
            | people
            | {ANSWERS[0]: [one[label] for one in said]}
        )
    return record


def _check_named(records: Sequence[Any]) -> None:
    """Refuse to count cases that have names, in a field that is not known to hold them."""
    mappings = [record for record in records if isinstance(record, Mapping)]
    if len(mappings) < 2 or any(name in record for record in mappings for name in CASE):
        return
    for name in mappings[0]:
        values = {str(record.get(name)) for record in mappings}
        if _LIKE_NAME.search(str(name)) and len(values) == len(mappings) and name not in (*ANSWERS, *PEOPLE, *SOFT):
            raise AnnotationError(
                f"{name!r} differs in every row and seems to name the cases, but is not one of {', '.join(CASE)}; call "
                "it case"
            )


def nested_answers(source: "Source") -> Answers:
    """Take apart a mapping from case to record, or to ``{annotator: answer}``."""
    content = source.content
    if any(is_of_cases(map(str, _apart(record))) for record in content.values()):
        records = [{**dict(record), "case": to_name(case, "a case")} for case, record in content.items()]
        return case_answers(records, source.soft_weight)
    answers = Answers()
    for case, by_annotator in content.items():
        if not by_annotator:
            answers.leave_out("cases without answers")
        for who, value in by_annotator.items():
            who = to_name(who, f"case {case!r}: an annotator")
            answers.add(str(case), who, None if is_nothing(value) else value, {})
    return answers


def read_case_rows(source: "Source") -> Answers:
    """Take apart records, or the rows of a table, whose cells of text may be JSON."""
    if source.content is not None:
        return case_answers(source.records, source.soft_weight)
    columns = source.columns()
    rows = zip(*map(list_of, columns.values()), strict=True)
    return case_answers([dict(zip(columns, map(parsed, row), strict=True)) for row in rows], source.soft_weight)


def counts_of_soft(probabilities: Any, weight: int, where: str) -> np.ndarray:
    """Share whole annotators among classes in proportion to probabilities, the largest remainders rounded up."""
    p = np.asarray(probabilities, float)
    if not np.isfinite(p).all() or (p < 0).any() or abs(p.sum() - 1) > 0.02:
        raise AnnotationError(
            f"{where}: soft labels are probabilities that sum to 1, got {show(p.tolist())}; correct them"
        )
    exact = weight * p / p.sum()
    counts = np.floor(exact + 1e-9).astype(int)
    order = np.argsort(-(exact - counts), kind="stable")
    counts[order[: weight - counts.sum()]] += 1
    return counts


def write_case_rows(annotations: "Annotations", path: Path) -> None:
    """Write JSON lines, one per case."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for case, said in rankings_by_case(annotations):
            record: dict[str, Any] = {"case": case}
            if not annotations.anonymous:
                record["annotators"] = list(said)
            record["annotations"] = list(said.values() if isinstance(said, dict) else said)
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _add(answers: Answers, case: str, record: Mapping, weight: int | None) -> None:
    where = f"case {case!r}"
    there = [name for name in ANSWERS if not is_nothing(record.get(name))]
    if len(there) > 1:
        raise AnnotationError(f"{where}: there are both {there[0]!r} and {there[1]!r}; keep one")
    soft = next((name for name in SOFT if record.get(name) is not None), None)
    skipped = {*CASE, *ANSWERS, *PEOPLE, *SOFT}
    further = scalars(record, skipped)
    if not there:
        if soft is not None:
            _add_soft(answers, case, parsed(record[soft]), weight, further)
        else:
            answers.leave_out("cases without answers")
        return
    said = parsed(record[there[0]])
    who_field = next((name for name in PEOPLE if not is_nothing(record.get(name))), None)
    people = None if who_field is None else _split(parsed(record[who_field]), f"{where}: {who_field}")
    if isinstance(said, Mapping):
        people, values = list(said), list(said.values())
    else:
        values = _split(said, f"{where}: {there[0]}")
    if people is not None and len(people) != len(values):
        raise AnnotationError(
            f"{where}: there are {len(values)} {there[0]} and {len(people)} annotators; give each answer its annotator"
        )
    more = record.get("other_info")  # where shared tasks put what annotators said of themselves
    lists = {
        str(name): list(cells)
        for name, cells in {**(more if isinstance(more, Mapping) else {}), **record}.items()
        if name not in skipped and is_list(cells) and len(cells) == len(values)
    }
    if not values:
        answers.leave_out("cases without answers")
    for place, value in enumerate(values):
        value = None if is_nothing(value) else value
        who = None if people is None else to_name(people[place], f"{where}: the annotator of answer {place + 1}")
        answers.add(case, who, value, further | {name: cells[place] for name, cells in lists.items()})


def _add_soft(answers: Answers, case: str, soft: Any, weight: int | None, further: Mapping[str, Any]) -> None:
    if weight is None:
        raise ArgumentError(
            f"case {case!r} has soft labels only: say how many annotators each stands for, with soft_weight=10 or by "
            "plausibly convert FILE NEW.csv --soft-weight 10."
        )
    if not isinstance(soft, Mapping) or not soft:
        raise AnnotationError(f"case {case!r}: a soft label is {show(soft)}; write a mapping from class to probability")
    try:
        counts = counts_of_soft(list(soft.values()), weight, f"case {case!r}")
    except (TypeError, ValueError):
        raise AnnotationError(f"case {case!r}: a soft label is {show(soft)}; write a number for each class") from None
    for name, count in zip(soft, counts.tolist(), strict=True):
        for _ in range(count):
            answers.add(case, None, str(name), further)


def _split(cell: Any, where: str) -> list[Any]:
    if is_list(cell):
        return list(cell)
    if isinstance(cell, str):
        return [part.strip() for part in cell.split(",")]
    raise AnnotationError(f"{where} are {show(cell)}; write a list")
