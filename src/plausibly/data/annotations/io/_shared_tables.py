"""Three files in which data of several annotators are published: ChaosNLI, the alternative annotator test, counts.

* ChaosNLI: JSON lines with ``uid`` and ``label_counter``, a mapping from class to the number of annotators. Other
  fields, such as ``old_label``, belong to the case.
* Counts by case as JSON: ``{case: {class: count}}``. Recognised if ``classes`` are given, and name all that is counted.
* The alternative annotator test: ``{annotator: {case: label}}``, and a model's ``{case: label}``. That is the form of
  ``{case: {annotator: label}}``, so it is recognised only where it has at least ten times as many cases as annotators.

Files that are not recognised, or are taken for another, are read by naming their format.
"""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plausibly.base.errors import AnnotationError, PlausiblyWarning, show
from plausibly.data.annotations.io.answers import Answers, is_nothing, name_of, scalars
from plausibly.data.annotations.io.case_rows import holds_nested, is_of_cases
from plausibly.data.annotations.io.verdicts import record_of

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source

ALT_TEST = "alt-test"
_MANY = 10  # cases for each annotator, from which a file is taken for that of the alternative annotator test
_MOST = 10**5  # annotators of a case


def is_chaos_nli(record: Any) -> bool:
    """Whether a record has the counts of ChaosNLI."""
    return isinstance(record, Mapping) and "uid" in record and "label_counter" in record


def chaos_nli_answers(source: "Source") -> Answers:
    """Take apart records with counts into anonymous answers."""
    answers, seen = Answers(), set()
    for number, one in enumerate(source.records):
        record = record_of(one, f"record {number + 1}")
        case = name_of(record, number, ("uid",))
        if case in seen:
            raise AnnotationError(f"case {case!r} has two records; keep one")
        seen.add(case)
        further = scalars(record, {"uid", "label_counter", "example"})
        _count(answers, case, record.get("label_counter"), further)
    return answers


def is_counted(source: "Source") -> bool:
    """Whether this is a mapping from case to counts of known classes."""
    if source.classes is None or not holds_nested(source.content):
        return False
    known = set(map(str, source.classes))
    counts = [counts for counts in source.content.values() if counts]
    return bool(counts) and all(
        set(map(str, said)) <= known and all(_is_count(count) for count in said.values()) for said in counts
    )


def counted_answers(source: "Source") -> Answers:
    """Take apart a mapping from case to counts into anonymous answers."""
    answers = Answers()
    for case, counts in record_of(source.content, "the file").items():
        _count(answers, str(case), counts, {})
    return answers


def is_alt_test(source: "Source") -> bool:
    """Whether this looks like a mapping from annotator to labels by case, rather than from case to annotators."""
    content = source.content
    if source.path is None or not holds_nested(content) or len(content) < 2:
        return False
    if any(is_of_cases(map(str, said)) or any(map(_is_part, said.values())) for said in content.values()):
        return False
    return len({case for said in content.values() for case in said}) >= _MANY * len(content)


def alt_test_answers(source: "Source") -> Answers:
    """Take apart a mapping from annotator to labels by case; a warning says if it was not named as such."""
    answers = Answers()
    content = record_of(source.content, "the file")
    if source.layout is None:
        example = show(next(iter(content)))
        warnings.warn(
            f"{source.path or 'these labels'}: taken for {{annotator: {{case: label}}}}, of which {example} is an "
            'annotator; if it is a case, say layout="nested" (--layout nested)',
            PlausiblyWarning,
            stacklevel=2,
        )
    for who, said in content.items():
        for case, label in record_of(said, f"annotator {who!r}: what she says").items():
            answers.add(str(case), str(who), None if is_nothing(label) else label, {})
    return answers


def _count(answers: Answers, case: str, counts: Any, further: Mapping[str, Any]) -> None:
    """Add as many answers as annotators are counted for each class."""
    if not isinstance(counts, Mapping) or not all(map(_is_count, counts.values())):
        raise AnnotationError(f"case {case!r}: the counts are {show(counts)}; write {{class: number of annotators}}")
    if sum(counts.values()) > _MOST:
        raise AnnotationError(f"case {case!r}: more than {_MOST:,} annotators are counted; give shares of fewer")
    if not sum(counts.values()):
        answers.leave_out("cases without answers")
    for name in sorted(counts):
        for _ in range(counts[name]):
            answers.add(case, None, str(name), further)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_part(value: Any) -> bool:
    return isinstance(value, list | Mapping)
