"""The outcome of a judgement: answers to four questions, reasons, a verdict in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from plausibly.agreement.discrepancy._baselines import Reasons
from plausibly.agreement.judge._fit import Fit
from plausibly.agreement.judge._gold import AgainstGold
from plausibly.agreement.judge._test_result import FEWEST, AlternativeAnnotatorTest
from plausibly.base.bootstrap import interval
from plausibly.base.errors import ArgumentError
from plausibly.base.names import many

SURE = 0.95  #: probability from which the answer to a question is yes or no
_NOT_CONVERGED = (
    "chains of the model of annotators did not converge, so its numbers are not shown; give gold labels of some cases "
    "(--gold), sample longer (draws=1000, warmup=1000; --draws 1000 --warmup 1000)"
)
_SIMPLER = ', or choose the simpler model of annotators, model="one-coin" (--model one-coin)'
_NUMBERS = (
    "The labels are numbers, and two different ones count as equally far apart; if they are amounts, judge by "
    'distance="squared" (--distance squared)'
)
QUESTIONS = {
    "closeness": "Is it as close to the annotators as they are to each other?",
    "replacement": "Does it pass the alternative annotator test?",
    "as one of them": "Treated as one more annotator, is it as good as the average annotator?",
    "truth": "Is it as accurate against the inferred truth, or gold labels, as the average annotator?",
}
NAMES = tuple(QUESTIONS)

Answer = Literal["yes", "no", "cannot tell", "open", "unknown"]


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


@dataclass(frozen=True, eq=False)
class Judgement:
    """Answers to four questions about whether models can stand in for an annotator.

    Parameters
    ----------
    test
        Alternative annotator test; its ``comparison`` is the discrepancy ratio.
    fits
        Result of the model of annotators, by model; empty without one.
    model
        Name of the model of annotators, None if there is none.
    left_out
        Reason why there is no model of annotators; None if there is one.
    reasons
        By model, reasons why the answers may differ, by name: ``"shared error"``, ``"base rates"``, ``"ties"``,
        ``"copy"``, ``"unknown labels"``.
    margin, accuracy_margin
        Amounts by which a model may be worse than the annotators, in Δ and in accuracy.
    ci_prob, replicates, seed
        Probability of the intervals, number of bootstrap replicates, and random seed.
    by
        Results by group of cases or annotators, one row for each group and model; None if not asked for.
    gold
        By model, its accuracy and the annotators' against gold labels; None if none were given.
    """

    test: AlternativeAnnotatorTest
    fits: Mapping[str, Fit]
    model: str | None
    left_out: str | None
    reasons: Mapping[str, Mapping[str, str]]
    margin: float
    accuracy_margin: float
    ci_prob: float
    replicates: int
    seed: int
    by: pd.DataFrame | None = None
    gold: Mapping[str, AgainstGold] | None = None

    def __repr__(self) -> str:
        parts = [
            f"{name}: {', '.join(f'{question.name} {question.answer}' for question in questions)}"
            for name, questions in self.questions.items()
        ]
        return f"Judgement({'; '.join(parts)})"

    @property
    def models(self) -> list[str]:
        """Names of the models."""
        return self.test.models

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per model.

        The columns are ``ratio`` (Δ) with ``ratio_lower`` and ``ratio_upper``; ``p_close``, the probability that Δ is
        below 1 + margin; ``winning_rate``; ``advantage`` with its interval; ``passed``, whether the model passes the
        test; the columns of :meth:`Discrepancy.baselines` and :meth:`AlternativeAnnotatorTest.baselines`, of answers
        that look at no case. A model of annotators adds ``ability`` (of the model as one of them) with its interval;
        ``annotators_ability``, the annotators' mean; ``p_able``, the probability that the ability is at most the margin
        below this mean; ``n_beaten``, the number of annotators with a lower mean ability; ``accuracy`` against the
        truth inferred from the annotators' labels, with its interval; ``annotators_accuracy``, the annotators' mean;
        ``p_accurate``, the same as ``p_able`` for accuracy; ``accuracy_independent``, with its interval, and
        ``p_accurate_independent``, if the model errs independently of the annotators; ``vote_accuracy``, the accuracy
        against the vote, and ``vote_lost`` and ``vote_won``, the same if all ties are lost or won; and ``converged``.
        Gold labels add ``gold_accuracy`` with its interval, ``p_gold``, the probability that it is at most the margin
        below ``annotators_gold_accuracy``, and ``n_gold``, the number of cases. Where cases with a gold label differ
        from others, these accuracies are weighted, and those of these cases alone are ``gold_accuracy_unweighted`` and
        ``annotators_gold_accuracy_unweighted``.
        """
        compared = self.test.comparison
        frame = pd.DataFrame({"ratio": compared._ratios}, index=pd.Index(self.models, name="model"))
        if compared.several_clusters:
            drawn = compared.replicates(self.replicates, self.seed, progress=False).to_numpy()
            frame["ratio_lower"], frame["ratio_upper"] = interval(drawn, self.ci_prob)
            frame["p_close"] = (drawn < 1 + self.margin).mean(axis=0)
        tested = self.test.to_frame(self.ci_prob, self.replicates, self.seed)
        names = {"lower": "advantage_lower", "upper": "advantage_upper"}
        frame = frame.join(tested.drop(columns=["n_annotators", "n_cases", "answer"]).rename(columns=names))
        frame = frame.join(compared.baselines(self.ci_prob, self.replicates, self.seed))
        frame = frame.join(self.test.baselines().drop(columns="constant"))
        fitted = {name: self._fitted(found) for name, found in self.fits.items()}
        gold = {name: found.row(self.accuracy_margin, self.ci_prob) for name, found in (self.gold or {}).items()}
        for rows in filter(None, (fitted, gold)):
            frame = frame.join(pd.DataFrame.from_dict(rows, orient="index"))
        return frame

    @cached_property
    def questions(self) -> dict[str, list[Question]]:
        """The four questions with their answers, by model."""
        answers = (self._closeness, self._replacement, self._among, self._truth)
        return {
            model: [Question(name, *answer(model)) for name, answer in zip(NAMES, answers, strict=True)]
            for model in self.models
        }

    def headline(self, model: str) -> str:
        """Summarise the answers to the four questions about a model in one sentence.

        Raises
        ------
        ArgumentError
            If there is no such model.
        """
        if model not in self.models:
            raise ArgumentError(f"there is no model {model!r}: choose from {', '.join(map(repr, self.models))}.")
        known = [question for question in self.questions[model] if question.answer != "unknown"]
        yes, no, untold, open_ = (
            [question for question in known if question.answer == word] for word in ("yes", "no", "cannot tell", "open")
        )
        if "copy" in self.reasons[model] and (yes or untold):
            return f"{model} should not count as another annotator: it repeats the answers of one of them."
        every = {2: "both", 3: "all three", 4: "all four"}[len(known)] + " answers are"
        if len(yes) == len(known):
            return f"{model} can stand in for an annotator: {every} yes."
        if len(no) == len(known):
            return f"{model} should not stand in for an annotator: {every} no."
        if len(open_) == len(known):
            return f"These data do not decide whether {model} can stand in for an annotator: every question is open."
        unknown = [question for question in self.questions[model] if question.answer == "unknown"]
        if untold and not no:
            why = self._untold(model)[untold[0].name][0]
            by_answer = (untold, "cannot tell"), (yes, "yes"), (open_, "open")
            answers = ", ".join(_list(which, answer) for which, answer in by_answer if which)
            return f"These annotators cannot tell whether {model} can stand in for one of them: {why}; {answers}."
        if not no and len(yes) < len(open_) + len(unknown):
            by_answer = (yes, "yes"), (open_, "open"), (unknown, "unknown")
            answers = ", ".join(_list(which, answer) for which, answer in by_answer if which)
            return f"These data leave it largely open whether {model} can stand in for an annotator: {answers}."
        if not no:
            return f"{model} can probably stand in for an annotator: {_list(yes, 'yes')}, {_list(open_, 'open')}."
        rest = "".join(f", {_list(which, word)}" for which, word in ((untold, "cannot tell"), (open_, "open")) if which)
        if not yes:
            return f"{model} should probably not stand in for an annotator: {_list(no, 'no')}{rest}."
        return (
            f"The answers about {model} differ: {_list(yes, 'yes')}, {_list(no, 'no')}{rest}. Find out why before it "
            "stands in for an annotator."
        )

    def verdict(self, model: str | None = None) -> str:
        """Summarise the four answers, why they differ, and what limits them, for all models or for one."""
        if model is None:
            return " ".join(self.verdict(name) for name in self.models)
        further = list(self.reasons.get(model, {}).values())
        if left_out := self._left_out(model):
            which = "questions 3 and 4 are" if self.gold is None else "question 3 is"
            further.append(f"The answer{'s' if self.gold is None else ''} to {which} unknown: {left_out}")
        doubts, notes = self._doubts(model), self._notes_of_test(model)
        selection = None if self.gold is None else self.gold[model].selection
        said = [self.headline(model), *(f"{words}." for words in [*doubts, *further, *notes])]
        return " ".join(said if selection is None else [selection.told, *said])

    def notes(self, model: str) -> list[str]:
        """List the limits of a model's test (see :class:`AlternativeAnnotatorTest`) and of the model of annotators."""
        return [*self._doubts(model), *self._notes_of_test(model)]

    def _left_out(self, model: str) -> str | None:
        """Why questions 3 and 4 have no answer, if they have none."""
        if model not in self.fits:
            return self.left_out
        if self.fits[model].converged:
            return None
        return _NOT_CONVERGED + (_SIMPLER if self.model == "dawid-skene" else "")

    def _doubts(self, model: str) -> list[str]:
        labels = self.test.comparison.labels
        amounts = self.test.comparison.distance == "nominal" and labels.is_numeric and len(np.unique(labels.values)) > 2
        doubts = [_NUMBERS if amounts else None, self._contradicted(model)]
        return [words for words in doubts if words is not None]

    def _notes_of_test(self, model: str) -> list[str]:
        others = tuple(f"{name} and the annotator" for name in self.models if name != model)
        return [note for note in self.test.notes if not note.startswith(others)]

    def _untold(self, model: str) -> Reasons:
        """Why these annotators cannot answer questions 1 and 2 with yes, by name; no reasons where they can."""
        return {"closeness": self._untold_closeness[model], "replacement": self.test.untold[model]}

    @cached_property
    def _untold_closeness(self) -> Reasons:
        return self.test.comparison.untold(self.margin, 1 - SURE, self.replicates, self.seed)

    def _told(self, model: str, question: str, words: str) -> tuple[Answer, str]:
        """Answer with yes, unless these annotators cannot tell."""
        why = self._untold(model)[question]
        return ("cannot tell", f"{words}. These annotators cannot tell: {'; '.join(why)}") if why else ("yes", words)

    def _fitted(self, found: Fit) -> dict[str, Any]:
        own, others = found.ability.iloc[-1], found.ability.iloc[:-1]
        row = {"ability": own["mean"], "ability_lower": own["lower"], "ability_upper": own["upper"]}
        row |= {"annotators_ability": others["mean"].mean(), "p_able": (found.lead >= -self.accuracy_margin).mean()}
        row |= {"n_beaten": int((others["mean"] < own["mean"]).sum()), "accuracy": found.accuracy.mean()}
        row["accuracy_lower"], row["accuracy_upper"] = interval(found.accuracy, self.ci_prob)
        if found.typical is not None:
            row["annotators_accuracy"] = found.typical.mean()
            row["p_accurate"] = (found.accuracy >= found.typical - self.accuracy_margin).mean()
        if found.independent is not None:
            own, others = found.independent
            row["accuracy_independent"] = own.mean()
            row["accuracy_independent_lower"], row["accuracy_independent_upper"] = interval(own, self.ci_prob)
            row["p_accurate_independent"] = (own >= others - self.accuracy_margin).mean()
        row["vote_accuracy"], row["vote_lost"], row["vote_won"] = found.vote
        return row | {"converged": found.converged}

    def _closeness(self, model: str) -> tuple[Answer, str]:
        row = self.table.loc[model]
        words = f"Δ = {row['ratio']:.2f}"
        beside = (
            f"; of the best constant answer ({row['constant']}) {row['constant_ratio']:.2f}, of shuffled predictions "
            f"{row['shuffled_ratio']:.2f}, at chance {row['chance_ratio']:.2f}"
        )
        if "p_close" not in row:
            words += f", without an interval, because there is a single cluster of cases{beside}"
            return self._told(model, "closeness", words) if row["ratio"] <= 1 else ("open", words)
        words += (
            f" ({row['ratio_lower']:.2f} to {row['ratio_upper']:.2f}; below 1, the model is closer to them than they "
            f"are to each other); the probability that Δ is below {1 + self.margin:.2f} is "
            f"{_probability(row['p_close'])}{beside}"
        )
        answer = _answer(row["p_close"])
        return self._told(model, "closeness", words) if answer == "yes" else (answer, words)

    def _replacement(self, model: str) -> tuple[Answer, str]:
        row, own = self.table.loc[model], self.test.table
        own = own[own["model"] == model]
        ends = f" ({row['advantage_lower']:.2f} to {row['advantage_upper']:.2f})" if "advantage_lower" in row else ""
        words = (
            f"Shown to be at most ε = {self.test.epsilon:g} worse than {int(own['rejected'].sum())} of {len(own)} "
            f"annotators; average advantage {row['advantage']:.2f}{ends}, of the best constant answer "
            f"{row['constant_advantage']:.2f}, of shuffled predictions {row['shuffled_advantage']:.2f}; winning rate "
            f"{row['winning_rate']:.2f}, {row['constant_winning_rate']:.2f} and {row['shuffled_winning_rate']:.2f}"
        )
        if row["passed"] and len(own) < FEWEST:
            return "open", f"{words}; the test asks for at least {FEWEST} annotators"
        if row["passed"]:
            return self._told(model, "replacement", words)
        needed = self.test.clusters_needed(0.8, replicates=200, seed=self.seed)
        needed = needed if isinstance(needed, float) else needed[model]
        if np.isnan(needed):
            each = f"half of the annotators share no more than {many(int(own['n_cases'].median()), 'case')} with others"
            return "open", f"{words}; {each}, which is too few to compare the model with each: let fewer annotate more"
        if np.isinf(needed):
            return "no", f"{words}; more cases like these would not change it"
        units = self.test.comparison.resampled
        return "open", f"{words}; with about {needed:,.0f} {units} it would pass with probability 0.8"

    def _among(self, model: str) -> tuple[Answer, str]:
        if left_out := self._left_out(model):
            return "unknown", f"Left out: {left_out}"
        row, unit = self.table.loc[model], self.fits[model].unit
        scale = " (logarithms)" if unit == "reliability" else ""
        words = (
            f"{unit.capitalize()} {row['ability']:.2f} ({row['ability_lower']:.2f} to {row['ability_upper']:.2f}); "
            f"annotators {row['annotators_ability']:.2f} on average; it is better than {int(row['n_beaten'])} of "
            f"{len(self.fits[model].ability) - 1}; the probability that it is at most {self.accuracy_margin:g} below "
            f"the average{scale} is {_probability(row['p_able'])} ({self.model})"
        )
        return _answer(row["p_able"]), words

    def _truth(self, model: str) -> tuple[Answer, str]:
        if self.gold is not None:
            return self._gold(model)
        if left_out := self._left_out(model):
            return "unknown", f"Left out: {left_out}"
        row = self.table.loc[model]
        words = f"{_accuracy(row, 'accuracy')} against the inferred truth, {row['vote_accuracy']:.2f} against the vote"
        if "p_accurate" not in row or pd.isna(row["p_accurate"]):
            return "open", f"{words}; the annotators have no such accuracy to compare it with"
        words = (
            f"{_accuracy(row, 'accuracy')} by the annotators' labels alone, which is too low if it knows more than "
            f"these, and {_accuracy(row, 'accuracy_independent').lower()} if it errs independently of them; "
            f"{row['vote_accuracy']:.2f} against the vote; annotators {row['annotators_accuracy']:.2f} on average; the "
            f"probability that it is at most {self.accuracy_margin:g} below the average is "
            f"{_probability(row['p_accurate'])} and {_probability(row['p_accurate_independent'])}"
        )
        answers = {_answer(row[name]) for name in ("p_accurate", "p_accurate_independent")}
        return answers.pop() if len(answers) == 1 else "open", words

    def _gold(self, model: str) -> tuple[Answer, str]:
        row = self.table.loc[model]
        there = "p_gold" in row and not pd.isna(row["p_gold"])
        ends = f" ({row['gold_accuracy_lower']:.2f} to {row['gold_accuracy_upper']:.2f})" if there else ""
        words = (
            f"Accuracy {row['gold_accuracy']:.2f}{ends} against the gold labels of {int(row['n_gold']):,} cases; "
            f"annotators {row['annotators_gold_accuracy']:.2f} on average"
        )
        if "gold_accuracy_unweighted" in row:
            words += f" (unweighted {row['gold_accuracy_unweighted']:.2f}"
            words += f" and {row['annotators_gold_accuracy_unweighted']:.2f})"
        if not there:
            return "open", f"{words}, without an interval, because there is a single cluster of cases"
        words += f"; the probability that it is at most {self.accuracy_margin:g} below the average is "
        return _answer(row["p_gold"]), words + _probability(row["p_gold"])

    def _contradicted(self, model: str) -> str | None:
        """Whether gold labels say something else than the model of annotators."""
        row, fitted = self.table.loc[model], self.fits.get(model)
        if fitted is None or not fitted.converged or fitted.unit != "accuracy":
            return None
        if "gold_accuracy_lower" not in row or pd.isna(row["gold_accuracy_lower"]):
            return None
        own, gold = ([row[f"{name}_lower"], row[f"{name}_upper"]] for name in ("ability", "gold_accuracy"))
        if abs(row["ability"] - row["gold_accuracy"]) <= self.accuracy_margin:
            return None
        if own[0] <= row["gold_accuracy"] <= own[1] or gold[0] <= row["ability"] <= gold[1]:
            return None
        return (
            f"Gold labels contradict the model of annotators ({self.model}), by which the accuracy of {model} is "
            f"{row['ability']:.2f} ({own[0]:.2f} to {own[1]:.2f}), and against gold labels {row['gold_accuracy']:.2f} "
            f"({gold[0]:.2f} to {gold[1]:.2f}): rely on the gold labels, and not on the answer to question 3"
        )


def _answer(probability: float) -> Answer:
    return "yes" if probability >= SURE else "no" if probability <= 1 - SURE else "open"


def _probability(value: float) -> str:
    return "above 0.99" if value > 0.99 else "below 0.01" if value < 0.01 else f"{value:.2f}"


def _list(questions: list[Question], answer: str) -> str:
    """Numbers of questions with their answer: "yes to questions 1 and 4", "question 2 is open"."""
    numbers = [str(1 + NAMES.index(question.name)) for question in questions]
    several = len(numbers) > 1
    which = f"questions {', '.join(numbers[:-1])} and {numbers[-1]}" if several else f"question {numbers[0]}"
    if answer == "cannot tell":
        return f"{which} {'tell' if several else 'tells'} nothing"
    if answer in ("open", "unknown"):
        return f"{which} {'are' if several else 'is'} {answer}"
    return f"{answer} to {which}"


def _accuracy(row: pd.Series, name: str) -> str:
    return f"Accuracy {row[name]:.2f} ({row[f'{name}_lower']:.2f} to {row[f'{name}_upper']:.2f})"
