"""What four answers come to, in one sentence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plausibly.agreement.judge._readings import Answer

QUESTIONS = {
    "closeness": "Is it as close to the annotators as they are to each other?",
    "replacement": "Does it pass the alternative annotator test?",
    "as one of them": "Treated as one more annotator, is it as good as the average annotator?",
    "truth": "Is it as accurate against the inferred truth, or gold labels, as the average annotator?",
}
NAMES = tuple(QUESTIONS)
#: What a reason says of answers that are yes, by name.
VETOES = {
    "base rates": "a constant answer would do nearly as well",
    "shared error": "it repeats what the votes get wrong",
    "unknown labels": "it gives labels that no annotator gives",
}
FARTHER = "farther from the annotators than they are from each other, which is worse only if they are right"


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
    words
        Sentence with the numbers behind the answer.
    """

    name: str
    answer: Answer
    words: str


def sentence(
    model: str,
    questions: Sequence[Question],
    reasons: Mapping[str, str],
    untold: Mapping[str, Sequence[str]],
    epsilon: float,
) -> str:
    """Say what the answers about a model come to; `untold` is why annotators cannot tell, by question."""
    by_answer = {
        word: [one for one in questions if one.answer == word] for word in ("yes", "no", "cannot tell", "open")
    }
    yes, no, nothing, open_ = by_answer.values()
    unknown = [one for one in questions if one.answer == "unknown"]
    n_known = len(questions) - len(unknown)
    which = "which" if len(yes) == 1 else "question 2"
    allowed = f" ({which} allows a model that is up to {epsilon:.2f} worse)"
    allowed *= any(one.name == "replacement" for one in yes)

    def listed(*words: str) -> str:
        all_ = by_answer | {"unknown": unknown}
        return ", ".join(_list(all_[word], word) + allowed * (word == "yes") for word in words if all_[word])

    if "copy" in reasons and (yes or nothing):
        return f"{model} should not count as another annotator: it repeats the answers of one of them."
    veto = next((words for name, words in VETOES.items() if name in reasons), None)
    every = {2: "both", 3: "all three", 4: "all four"}[n_known] + " answers are"
    of_distance = all(one.name in NAMES[:2] for one in no)
    if len(no) == n_known:
        if of_distance:
            return f"{model} should not stand in for an annotator if the annotators are right: {every} no."
        return f"{model} should not stand in for an annotator: {every} no."
    if len(open_) == n_known:
        return f"These data do not decide whether {model} can stand in for an annotator: every question is open."
    if nothing and not no:
        passed = "the most frequent class as the answer to every case passes, too"
        why = next((untold[one.name][0] for one in nothing if untold.get(one.name)), passed)
        answers = listed("cannot tell", "yes", "open")
        return f"These annotators cannot tell whether {model} can stand in for one of them: {why}; {answers}."
    if yes and not no and veto:
        answers = listed("yes", "open", "unknown")
        return f"These answers do not show that {model} can stand in for an annotator, because {veto}: {answers}."
    if len(yes) == n_known:
        return f"{model} can stand in for an annotator: {every} yes{allowed}."
    if not no and len(yes) < len(open_) + len(unknown):
        answers = listed("yes", "open", "unknown")
        return f"These data leave it largely open whether {model} can stand in for an annotator: {answers}."
    if not no:
        return f"{model} can probably stand in for an annotator: {listed('yes', 'open')}."
    if of_distance and not yes:
        return f"{model} is {FARTHER}: {listed('no', 'cannot tell', 'open', 'unknown')}."
    if not yes:
        return f"{model} should probably not stand in for an annotator: {listed('no', 'cannot tell', 'open')}."
    differ = f"The answers about {model} differ: {listed('yes', 'no', 'cannot tell', 'open')}."
    if of_distance:
        return f"{differ} It is {FARTHER}."
    return f"{differ} Find out why before it stands in for an annotator."


def _list(questions: Sequence[Question], answer: str) -> str:
    """Numbers of questions with their answer: "yes to questions 1 and 4", "question 2 is open"."""
    numbers = [str(1 + NAMES.index(question.name)) for question in questions]
    several = len(numbers) > 1
    which = f"questions {', '.join(numbers[:-1])} and {numbers[-1]}" if several else f"question {numbers[0]}"
    if answer == "cannot tell":
        return f"{which} {'tell' if several else 'tells'} nothing"
    if answer in ("open", "unknown"):
        return f"{which} {'are' if several else 'is'} {answer}"
    return f"{answer} to {which}"
