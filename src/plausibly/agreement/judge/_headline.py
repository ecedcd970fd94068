"""What four answers come to, in a few sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plausibly.agreement.judge._readings import CONSTANT, FARTHER, Answer

QUESTIONS = {
    "closeness": "Is it as close to the annotators as they are to each other?",
    "replacement": "Does it pass the alternative annotator test?",
    "as one of them": "Treated as one more annotator, is it as good as the average annotator?",
    "truth": "Is it as accurate against the inferred truth, or gold labels, as the average annotator?",
}
NAMES = tuple(QUESTIONS)
IF_RIGHT = "A yes holds if the annotators are right"  #: what an answer of yes rests on
#: What a reason says of answers that are yes, by name.
VETOES = {
    "base rates": "a constant answer would do nearly as well",
    "shared error": "it repeats what the votes get wrong",
    "unknown labels": "it gives labels that no annotator gives",
}


@dataclass(frozen=True)
class Question:
    """One of the four questions, and its answer.

    Parameters
    ----------
    name
        ``"closeness"``, ``"replacement"``, ``"as one of them"`` or ``"truth"``.
    answer
        ``"yes"`` or ``"no"``, with a probability of at least 0.95 (in question 2 by the test); otherwise ``"open"``;
        ``"unknown"`` for a question that was left out. ``"cannot tell"`` replaces yes where answers that look at no
        case would get it, too, or annotators may agree no more than by chance: these annotators cannot tell.
    sentences
        Sentences with the numbers behind the answer, the most important ones first.
    allowed
        What a yes allows, such as "allowing it to be up to 0.20 worse".
    """

    name: str
    answer: Answer
    sentences: tuple[str, ...] = ()
    allowed: str = ""

    @property
    def words(self) -> str:
        """All sentences, without the last full stop."""
        return ". ".join(self.sentences)


def headline(
    model: str,
    questions: Sequence[Question],
    reasons: Mapping[str, str],
    why: Mapping[str, Sequence[str]],
    beside: str,
    by_gold: Sequence[str] | None,
) -> list[str]:
    """Say what the answers about a model come to.

    `why` is why annotators cannot tell, by question, `beside` how the model compares with the best constant answer, and
    `by_gold` what gold labels say of it, which decides.
    """
    if "scale" in reasons:
        return [reasons["scale"], "So no answer says how good it is: put both on one scale first"]
    worse = next(f" ({one.allowed})" for one in questions if one.name == "replacement")
    told = (
        f"{one.name} {one.answer}{worse * (one.name == 'replacement' and one.answer == 'yes')}" for one in questions
    )
    answers = f"Answers: {', '.join(told)}"
    said = {one.answer for one in questions}
    if by_gold is not None:
        counted = ["Closeness and replacement count the annotators' errors as right"]
        return [*by_gold, answers, *counted * (questions[0].answer == "no" or questions[1].answer == "no")]
    first = _verdict(model, questions, reasons) or [
        beside,
        f"These annotators cannot tell whether {model} can stand in for one of them",
        next((why[one.name][0] for one in questions if one.answer == "cannot tell" and why.get(one.name)), CONSTANT),
    ]
    return [*first, answers, *[IF_RIGHT] * ("yes" in said and not any("are right" in one for one in first))]


def _verdict(model: str, questions: Sequence[Question], reasons: Mapping[str, str]) -> list[str]:
    """Say what answers come to that take annotators for right; nothing where these cannot tell."""
    words = "yes", "no", "cannot tell", "open"
    yes, no, nothing, open_ = ([one.name for one in questions if one.answer == word] for word in words)
    n_unknown = sum(one.answer == "unknown" for one in questions)
    farther = set(no) <= set(NAMES[:2]) and "closeness" in no
    if "copy" in reasons and (yes or nothing):
        return [f"{model} should not count as another annotator: it repeats the answers of one of them"]
    if len(no) + n_unknown == len(questions):
        right = "If the annotators are right, " * farther
        return [f"{right}{model} should not stand in for {'one of them' if farther else 'an annotator'}"]
    if no and yes:
        closing = f"It is {FARTHER}" if farther else "Find out why before it stands in for an annotator"
        return [f"The answers about {model} differ", closing]
    if no:
        return [f"{model} is {FARTHER}" if farther else f"{model} should probably not stand in for an annotator"]
    if len(open_) + n_unknown == len(questions):
        return [f"These data do not decide whether {model} can stand in for an annotator"]
    if nothing:
        return []
    if veto := next((words for name, words in VETOES.items() if name in reasons), None):
        return [f"These answers do not show that {model} can stand in for an annotator", f"The reason is that {veto}"]
    if len(yes) < len(open_) + n_unknown and open_:
        return [f"Whether {model} can stand in for an annotator is largely open"]
    return [f"If the annotators are right, {model} can{' probably' * bool(open_)} stand in for one of them"]
