"""Verdicts on the outputs of language models, as the tools that test such models export them.

A verdict is what a rater (a scorer, a judge, a person) answers to a question (a metric, a score's name) about a case
(an output). Raters who answer one question are annotators of it; of several questions one is chosen. What the tested
model itself says, and the answer that a test expects, are told apart from verdicts: they are read only where they are
asked for, or as predictions.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from plausibly.base.errors import AnnotationError, show
from plausibly.base.names import some
from plausibly.data.annotations.io.answers import Answers, choose, is_nothing, to_name, whole

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source

LEFT_OUT = "verdicts without a value"
TARGET = "target"  #: question of what the test expects the tested model to say
_NAMED = 9  # questions or raters that an error lists


@dataclass(frozen=True)
class Output:
    """What a source says of the output that a case is."""

    system: str | None = None  #: that produced it
    task: str | None = None  #: name of what was asked, if the case's name has the system in it
    cluster: str | None = None  #: what the case is a part of, such as a trace, or a sample with several outputs
    fields: Mapping[str, Any] = field(default_factory=dict)  #: further fields, such as tags and times


@dataclass(frozen=True)
class Verdict:
    """A value that a rater gives a case, in answer to a question."""

    question: str
    case: str
    rater: str
    value: Any  #: None if missing, which is counted
    further: Mapping[str, Any] = field(default_factory=dict)  #: what else the source says of the case
    of_model: bool = False  #: whether it is what the tested model says, or what the test expects it to say
    person: bool = False  #: whether the source says that the rater is a person
    number: float | None = None  #: what the value counts, if it is a grade
    output: Output = field(default_factory=Output)
    aside: bool = False  #: whether it is read only if its question is asked for


Reader = Callable[["Source"], Iterable[Verdict]]


def answers_to_one(verdicts: Iterable[Verdict], wanted: str | None) -> Answers:
    """Take the verdicts on one question, the only one or the one `wanted`, which may also name a single rater."""
    answers = Answers()
    for row in verdicts_on_one(verdicts, wanted):
        if is_nothing(row.value):
            answers.leave_out(LEFT_OUT)
        else:
            answers.add(row.case, row.rater, row.value, row.further)
    numbers = [value for value in answers.value if isinstance(value, int | float) and not isinstance(value, bool)]
    answers.scores = len(numbers) == len(answers.value) and not set(numbers) <= {0, 1}
    return answers


def answers_of_one(verdicts: Iterable[Verdict], known: Collection[str]) -> dict[str, list[Any]]:
    """Take one rater's verdicts, or the tested model's own answers, as predictions: columns ``case`` and ``label``.

    Of several questions it is the one that is answered with `known` values only, such as the classes of annotations.
    """
    rows = [row for row in verdicts if not (is_nothing(row.value) or row.aside)]
    rows = [row for row in rows if not (row.of_model and row.question == TARGET)]
    questions = list(dict.fromkeys(row.question for row in rows))
    fitting = [one for one in questions if all(str(whole(row.value)) in known for row in rows if row.question == one)]
    if len(questions) > 1 and len(fitting) != 1:
        many = f"more than one question, {some(fitting, _NAMED)}, has" if fitting else "no question has"
        raise AnnotationError(
            f"{many} answers that are all among {some(sorted(known), _NAMED)}, of {some(questions, _NAMED)}; write one "
            f"to a table of its own: plausibly convert FILE NEW.csv --control {(fitting or questions)[0]}"
        )
    rows = [row for row in rows if row.question in (fitting or questions)]
    raters = list(dict.fromkeys(row.rater for row in rows))
    if len(raters) > 1:
        raise AnnotationError(
            f"there are verdicts of {some(raters, _NAMED)}, and predictions are one rater's; write those of one to a "
            f"table of their own: plausibly convert FILE NEW.csv --control {raters[0]}"
        )
    if not rows:
        raise AnnotationError("there are no verdicts; export a run that was scored")
    return {"case": [row.case for row in rows], "label": [whole(row.value) for row in rows]}


def record_of(record: Any, what: str) -> Mapping:
    """Refuse what is no JSON object."""
    if not isinstance(record, Mapping):
        raise AnnotationError(f"{what} is {show(record)}; write an object, or export again")
    return record


def list_in(record: Mapping, name: str, where: str) -> Sequence:
    """Return a list in a record, empty if it has none of that name."""
    found = record.get(name)
    if found is None:
        return []
    if not isinstance(found, list):
        raise AnnotationError(f"{where}: {name} is {show(found)}; write a list, or export again")
    return found


def passed(value: Any, where: str) -> str | None:
    """Say whether a test was passed, as a class."""
    if value is None:
        return None
    if not isinstance(value, bool):
        raise AnnotationError(f"{where}: the verdict is {show(value)}; write true or false, or export again")
    return "pass" if value else "fail"


def first_name(record: Mapping, fields: Iterable[str], what: str) -> str | None:
    """Return the first of some fields of a record that names something; None if none does."""
    for name in fields:
        if not is_nothing(record.get(name)):
            return to_name(record[name], f"{what}: the {name}")
    return None


def verdicts_on_one(verdicts: Iterable[Verdict], wanted: str | None) -> Sequence[Verdict]:
    """Choose the verdicts on one question, the only one or the one `wanted`, which may also name a single rater."""
    rows = list(verdicts)
    verdicts = [row for row in rows if not (row.of_model or row.aside)]
    questions = list(dict.fromkeys(row.question for row in verdicts))
    if wanted is None and not questions:
        raise AnnotationError("there are no verdicts; export a run that was scored")
    of_rater = [row for row in verdicts if row.rater == wanted]
    if wanted not in questions and len({row.question for row in of_rater}) == 1:
        return of_rater
    everything = list(dict.fromkeys([*questions, *(row.question for row in rows)]))
    question = choose(questions if wanted is None else everything, wanted, "question")
    return [row for row in rows if row.question == question]
