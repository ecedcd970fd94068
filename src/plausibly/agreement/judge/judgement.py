"""The outcome of a judgement: answers to four questions, reasons, a verdict in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from plausibly.agreement.discrepancy._baselines import Reasons
from plausibly.agreement.discrepancy._result import Discrepancy
from plausibly.agreement.judge import _readings as readings
from plausibly.agreement.judge._fit import Fit
from plausibly.agreement.judge._gold import AgainstGold
from plausibly.agreement.judge._headline import IF_RIGHT as IF_RIGHT
from plausibly.agreement.judge._headline import NAMES, Question, headline
from plausibly.agreement.judge._headline import QUESTIONS as QUESTIONS
from plausibly.agreement.judge._readings import SURE, Answer
from plausibly.agreement.judge._test_result import AlternativeAnnotatorTest
from plausibly.base.bootstrap import interval
from plausibly.base.errors import ArgumentError
from plausibly.base.shown import Shown
from plausibly.data.labels.types import may_be_names

_NOT_CONVERGED = (
    "chains of the model of annotators did not converge, so its numbers are not shown. Give gold labels of some cases "
    "(--gold), or sample longer: draws=1000 (--draws 1000) and warmup=1000 (--warmup 1000)"
)
_SIMPLIFIED = (
    "Chains of dawid-skene did not converge, so the model of annotators is one-coin. By it, an annotator errs as often "
    "in one class as in another"
)
_SIMPLER = '. A simpler model of annotators is model="one-coin" (--model one-coin)'


@dataclass(frozen=True, eq=False)
class Judgement(Shown, kind="judge"):
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
        ``"copy"``, ``"unknown labels"``, ``"offset"`` of grades or numbers.
    margin, accuracy_margin
        Amounts by which a model may be worse than the annotators, in Δ and in accuracy.
    ci_prob, replicates, seed
        Probability of the intervals, number of bootstrap replicates, and random seed.
    by
        Results by group of cases or annotators, one row for each group and model; None if not asked for.
    gold
        By model, its accuracy and the annotators' against gold labels; None if none were given.
    equal
        Discrepancy ratio of labels that are equal or not; None without classes.
    shared_errors
        Share of the cases that may mislead the annotators together.
    simplified
        Whether the model of annotators is simpler than first chosen, whose chains did not converge.
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
    equal: Discrepancy | None = None
    shared_errors: float = 0.0
    simplified: bool = False

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
        below this mean; ``n_beaten``, the number of annotators with a lower mean ability, and ``n_beaten_dependent``,
        the same by their labels alone; ``accuracy`` against the truth inferred from the annotators' labels, with its
        interval; ``annotators_accuracy``, the annotators' mean; ``p_accurate``, the same as ``p_able`` for accuracy;
        ``p_constant``, that of the most frequent class as the answer to every case; ``accuracy_independent``, with its
        interval, and ``p_accurate_independent``, if the model errs independently of the annotators; ``accuracy_least``
        and ``accuracy_most``, the ends of both intervals if ``shared_errors`` of the cases mislead the annotators, and
        ``p_accurate_misled``, if the model is not misled there; ``agreeing``, the share of equal labels of model and
        annotator, ``annotators_agreeing``, that of two annotators, and ``p_agreeing``, the probability that it is at
        most the margin below; ``vote_accuracy``, the accuracy against the vote, and ``vote_lost`` and ``vote_won``, the
        same if all ties are lost or won; and ``converged``.
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
        of_fit = self.accuracy_margin, self.shared_errors, self.ci_prob
        fitted = {name: readings.columns_of(found, *of_fit) for name, found in self.fits.items()}
        if self.equal is not None:
            frame = frame.join(readings.agreement_of(self.equal, self.accuracy_margin, self.replicates, self.seed))
        gold = {name: found.row(self.accuracy_margin, self.ci_prob) for name, found in (self.gold or {}).items()}
        for rows in filter(None, (fitted, gold)):
            frame = frame.join(pd.DataFrame.from_dict(rows, orient="index"))
        return frame

    @cached_property
    def questions(self) -> dict[str, list[Question]]:
        """The four questions with their answers, by model."""
        found = {}
        for model in self.models:
            close = readings.closeness(self.table.loc[model], self.margin, self._untold_closeness[model])
            true = self._truth(model)
            answers = close, self._replacement(model), self._among(model, close[0], true[0]), true
            accurate = f"allowing it to be up to {self.accuracy_margin:.2f} less accurate"
            worse = f"allowing it to be up to {self.test.epsilon:.2f} worse"
            allowed = f"allowing Δ up to {1 + self.margin:.2f}", worse, accurate, accurate
            found[model] = [Question(n, *answer, of) for n, answer, of in zip(NAMES, answers, allowed, strict=True)]
        return found

    def headline(self, model: str) -> str:
        """Summarise the answers to the four questions about a model in a few sentences; gold labels decide.

        Raises
        ------
        ArgumentError
            If there is no such model.
        """
        return f"{'. '.join(self.sentences(model))}."

    def sentences(self, model: str) -> list[str]:
        """Return the sentences of :meth:`headline`, without their full stops."""
        if model not in self.models:
            raise ArgumentError(f"there is no model {model!r}: choose from {', '.join(map(repr, self.models))}.")
        questions, reasons = self.questions[model], self.reasons[model]
        by_gold = None
        if self.gold is not None:
            told = self.table.loc[model], model, questions[3].answer, self.accuracy_margin
            by_gold = readings.decided_by_gold(*told, copies="copy" in reasons)
        why = {"closeness": self._untold_closeness[model], "replacement": self.test.untold[model]}
        beside = self.test.comparison.beside_constant(self.replicates, self.seed)[model]
        return headline(model, questions, reasons, why, beside, by_gold)

    def verdict(self, model: str | None = None, *, selection: bool = True) -> str:
        """Summarise the four answers, why they differ, and what limits them, for all models or for one.

        Parameters
        ----------
        model
            Name of the model; None for all.
        selection
            Whether to begin with :attr:`selection`, if cases with a gold label differ from others.
        """
        first = [self.selection] if selection and self.selection is not None else []
        if model is None:
            return " ".join([*first, *(self.verdict(name, selection=False) for name in self.models)])
        told = " ".join(f"{words}." for words in self.limits(model))
        return " ".join([*first, self.headline(model), told]).strip()

    @property
    def selection(self) -> str | None:
        """How cases with a gold label differ from others, in sentences; None if nothing shows that they do."""
        found = next((one.selection for one in (self.gold or {}).values()), None)
        return None if found is None else found.told

    def limits(self, model: str) -> list[str]:
        """List what to know of a model's answers, the most important first: doubts, reasons why they differ, limits."""
        left_out = self._left_out(model)
        which = "questions 3 and 4 are" if self.gold is None else "question 3 is"
        unknown = [f"The answer{'s' * (self.gold is None)} to {which} unknown: {left_out}"] if left_out else []
        reasons = [words for name, words in self.reasons.get(model, {}).items() if name != "scale"]  # said first
        return [*self._doubts(model), *reasons, *unknown, *self._notes_of_test(model)]

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
        compared = self.test.comparison
        numbers = may_be_names(compared.labels, compared.distance)
        return [*[_SIMPLIFIED] * self.simplified, *filter(None, [numbers, self._contradicted(model)])]

    def _notes_of_test(self, model: str) -> list[str]:
        others = tuple(f"{name} and the annotator" for name in self.models if name != model)
        notes = [note for note in self.test.notes if not note.startswith(others)]
        if self.gold is not None or not self.shared_errors or self.equal is None or self._left_out(model):
            return notes
        tied = [note for note in notes if note.startswith(f"{model} and the annotator")]
        misled = readings.if_misled(self.table.loc[model], model, self.shared_errors)
        return [*(note for note in notes if note not in tied), *filter(None, [misled]), *tied]

    @cached_property
    def _untold_agreement(self) -> list[str]:
        why = self.test.comparison.untold_agreement(self.replicates, self.seed)
        return [why] if why else []

    @cached_property
    def _untold_closeness(self) -> Reasons:
        return self.test.comparison.untold(self.margin, 1 - SURE, self.replicates, self.seed)

    def _replacement(self, model: str) -> readings.Answered:
        test, own = self.test, self.test.table

        def needed() -> float:
            found = test.clusters_needed(0.8, replicates=200, seed=self.seed)
            return found if isinstance(found, float) else float(found[model])

        own, units = own[own["model"] == model], test.comparison.resampled
        return readings.replacement(self.table.loc[model], own, test.epsilon, test.untold[model], needed, units)

    def _among(self, model: str, close: Answer, true: Answer) -> readings.Answered:
        if left_out := self._left_out(model):
            return "unknown", (f"Left out: {left_out}",)
        row = self.table.loc[model]
        found = readings.as_one_of_them(row, self.fits[model], self.accuracy_margin, self.model)
        found = readings.unless_misled(found, row, self.shared_errors)
        found = readings.held_back(found, row, {1: close, 4: true}, self._contradicted(model))
        return readings.cannot_tell(found, self._untold_agreement)

    def _truth(self, model: str) -> readings.Answered:
        if self.gold is not None:
            return readings.gold(self.table.loc[model], self.accuracy_margin)
        if left_out := self._left_out(model):
            return "unknown", (f"Left out: {left_out}",)
        found = readings.truth(self.table.loc[model], self.accuracy_margin, self.shared_errors)
        return readings.cannot_tell(found, self._untold_agreement)

    def _contradicted(self, model: str) -> str | None:
        """Whether gold labels say something else than the model of annotators."""
        fitted = self.fits.get(model)
        if fitted is None or not fitted.converged or fitted.unit != "accuracy":
            return None
        return readings.contradiction(self.table.loc[model], model, self.accuracy_margin, self.model)
