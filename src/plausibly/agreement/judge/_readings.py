"""The four questions: answers, and the sentences with the numbers behind them.

By the annotators' labels alone, a model that knows more of a case than they say is rated too low (the dependent
reading); by its own, too, one that errs where they do is rated too high (the independent one). Cases that mislead all
annotators leave no trace in their labels: by either reading, a model that falls for them is rated too high, and one
that does not too low.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import binom

from plausibly.agreement.discrepancy._result import Discrepancy
from plausibly.agreement.judge._fit import Fit
from plausibly.agreement.judge._test_result import FEWEST
from plausibly.base.bootstrap import interval, resampled_sums
from plausibly.base.names import many

Answer = Literal["yes", "no", "cannot tell", "open", "unknown"]
Answered = tuple[Answer, tuple[str, ...]]
Row = Mapping[str, Any] | pd.Series

SURE = 0.95  #: probability from which the answer to a question is yes or no
FARTHER = "farther from the annotators than they are from each other, which is worse only if they are right"
_ALONE = "There is no interval, because there is a single cluster of cases"
CONSTANT = "Always giving the most frequent class passes, too"


def columns_of(found: Fit, margin: float, shared: float, ci_prob: float) -> dict[str, Any]:
    """Columns of a table: ability, and accuracy by both readings and if a share of cases misleads the annotators."""
    own, others = found.ability.iloc[-1], found.ability.iloc[:-1]
    row = {"ability": own["mean"], "ability_lower": own["lower"], "ability_upper": own["upper"]}
    row |= {"annotators_ability": others["mean"].mean(), "p_able": (found.lead >= -margin).mean()}
    row |= {"n_beaten": int((others["mean"] < own["mean"]).sum()), "accuracy": found.accuracy.mean()}
    row["accuracy_lower"], row["accuracy_upper"] = interval(found.accuracy, ci_prob)
    if found.typical is not None and found.independent is not None and found.constant is not None:
        row["n_beaten_dependent"] = int((found.alone < row["accuracy"]).sum())
        row["annotators_accuracy"] = found.typical.mean()
        row["p_accurate"] = (found.accuracy >= found.typical - margin).mean()
        row["p_constant"] = (found.constant >= found.typical - margin).mean()
        own, others = found.independent
        row["accuracy_independent"] = own.mean()
        row["accuracy_independent_lower"], row["accuracy_independent_upper"] = interval(own, ci_prob)
        row["p_accurate_independent"] = (own >= others - margin).mean()
        row["p_accurate_misled"] = (knowing(own, shared) >= misled(others, shared) - margin).mean()
        ends = [(row[f"{name}_lower"], row[f"{name}_upper"]) for name in ("accuracy", "accuracy_independent")]
        row["accuracy_least"] = misled(min(lower for lower, _ in ends), shared)
        row["accuracy_most"] = knowing(max(upper for _, upper in ends), shared)
    row["vote_accuracy"], row["vote_lost"], row["vote_won"] = found.vote
    return row | {"converged": found.converged}


def agreement_of(equal: Discrepancy, margin: float, replicates: int, seed: int) -> pd.DataFrame:
    """By model, how often it agrees with an annotator, how often two annotators do, and whether it is as often.

    `equal` are discrepancies of 0 or 1. ``p_agreeing`` is the probability that it is at most the margin below.
    """
    apart = equal._by_case
    mean = 1 - apart.mean(axis=0)
    frame = pd.DataFrame({"agreeing": mean[1:], "annotators_agreeing": mean[0]}, equal._index)
    if equal.several_clusters:
        sums = resampled_sums(np.column_stack([apart, np.ones(len(apart))]), equal._cluster, replicates, seed)
        drawn = sums[:, :-1] / sums[:, -1:]
        frame["p_agreeing"] = (drawn[:, 1:] <= drawn[:, :1] + margin).mean(axis=0)
    return frame


def take_back(answered: Answered, taken: Answer, instead: Answer, *why: str) -> Answered:
    """Replace an answer by another one where there is a reason."""
    answer, sentences = answered
    why = tuple(filter(None, why))
    return (instead, (*sentences, *why)) if answer == taken and why else answered


def cannot_tell(answered: Answered, why: Sequence[str]) -> Answered:
    """Take back a yes where these annotators cannot tell, and say why."""
    return take_back(answered, "yes", "cannot tell", "These annotators cannot tell" * bool(why), *why)


def unless_constant(answered: Answered, row: Row, name: str) -> Answered:
    """Take back a yes that the most frequent class as the answer to every case gets, too."""
    return take_back(answered, "yes", "cannot tell", CONSTANT * (value_in(row, name, 0.0) >= SURE))


def unless_misled(answered: Answered, row: Row, shared: float) -> Answered:
    """Take back a no that would not be one if a share of the cases misled the annotators, and not the model."""
    words = f"It is open, since {100 * shared:g} % of cases that mislead the annotators would explain a no"
    return take_back(answered, "no", "open", words * (value_in(row, "p_accurate_misled", 0.0) > 1 - SURE))


def held_back(answered: Answered, row: Row, others: Mapping[int, Answer], doubt: str | None) -> Answered:
    """Take back a yes to question 3 that other answers, agreement or gold labels contradict, or a constant gets."""
    said = [f"question {number}" for number, other in others.items() if other == "no"]
    said += ["agreement alone"] * (value_in(row, "p_agreeing", 1.0) <= 1 - SURE)
    said += ["the accuracy against gold labels"] * (doubt is not None)
    words = f"It is open, since {' and '.join(said)} {'say' if len(said) > 1 else 'says'} no"
    return unless_constant(take_back(answered, "yes", "open", words * bool(said)), row, "p_constant")


def closeness(row: Row, margin: float, why: Sequence[str]) -> Answered:
    """Answer question 1."""
    beside = (
        f"; best constant {row['constant_ratio']:.2f} (always {row['constant']}), shuffled "
        f"{row['shuffled_ratio']:.2f}, chance {row['chance_ratio']:.2f}"
    )
    if "p_close" not in row:
        answer: Answer = "yes" if row["ratio"] <= 1 else "open"
        return cannot_tell((answer, (f"Δ = {row['ratio']:.2f}{beside}", _ALONE)), why)
    answer = answer_of(row["p_close"])
    means = "Below 1, the model is closer to the annotators than they are to each other"
    words = (
        f"Δ = {_with_ends(row, 'ratio')}{beside}",
        f"The probability that Δ is below {1 + margin:.2f} is {in_words(row['p_close'])}",
        f"It is {FARTHER}" if answer == "no" else means,
    )
    return cannot_tell((answer, words), why)


def replacement(
    row: Row, own: pd.DataFrame, epsilon: float, why: Sequence[str], needed: Callable[[], float], units: str
) -> Answered:
    """Answer question 2, from the test with each annotator and, if it is not passed, the number of cases needed."""
    words = (
        f"Allowing it to be up to {epsilon:.2f} worse, winning rate {row['winning_rate']:.2f} "
        f"(constant {row['constant_winning_rate']:.2f}, shuffled {row['shuffled_winning_rate']:.2f})",
        f"It is shown to be no worse than that for {int(own['rejected'].sum())} of {len(own)} annotators",
        f"Average advantage {_with_ends(row, 'advantage')} "
        f"(constant {row['constant_advantage']:.2f}, shuffled {row['shuffled_advantage']:.2f})",
    )
    if row["passed"] and len(own) < FEWEST:
        return "open", (*words, f"The test asks for at least {FEWEST} annotators")
    if row["passed"]:
        return cannot_tell(("yes", words), why)
    n = needed()
    if np.isnan(n):
        each = many(int(np.median(own["n_cases"])), "case")
        few = f"Half of the annotators share no more than {each} with others, which is too few"
        return "open", (*words, few, "Let fewer people annotate more cases")
    if np.isinf(n):
        return "no", (*words, "More cases like these would not change it")
    if row["constant_advantage"] >= row["advantage"]:  # which would pass with as many cases
        return "open", (*words, "The best constant answer does as well")
    return "open", (*words, f"With about {n:,.0f} {units} it would pass with probability 0.8")


def as_one_of_them(row: Row, fit: Fit, margin: float, model: str | None) -> Answered:
    """Answer question 3 by both readings; of rankings, by the independent one."""
    scale = " (logarithms)" if fit.unit == "reliability" else ""
    beaten, alone = str(int(row["n_beaten"])), None
    answer, chance = answer_of(row["p_able"]), in_words(row["p_able"])
    if "p_accurate" in row and not pd.isna(row["p_accurate"]):
        alone = _with_ends(row, "accuracy")
        low, high = sorted((int(row["n_beaten"]), int(row["n_beaten_dependent"])))
        beaten = str(low) if low == high else f"{low} to {high}"
        answer = both(answer, answer_of(row["p_accurate"]))
        chance = f"{in_words(row['p_accurate'])} and {chance}"
    words = (
        _readings(fit.unit, alone, _with_ends(row, "ability"), row["annotators_ability"]),
        f"It is better than {beaten} of {len(fit.alone)} annotators, by the model {model}",
        f"The probability that it is at most {margin:g} below the average{scale} is {chance}",
    )
    if "agreeing" in row and not pd.isna(row["agreeing"]):
        own, others = (f"{100 * row[name]:.0f} %" for name in ("agreeing", "annotators_agreeing"))
        words += (f"It agrees with an annotator in {own} of the cases, and two annotators in {others}",)
    return answer, words


def truth(row: Row, margin: float, shared: float) -> Answered:
    """Answer question 4 by both readings."""
    vote = f"Against the vote, its accuracy is {row['vote_accuracy']:.2f}"
    if "p_accurate" not in row or pd.isna(row["p_accurate"]):
        first = f"Accuracy {_with_ends(row, 'accuracy')} against the inferred truth"
        return "open", (first, vote, "The annotators have no such accuracy to compare it with")
    chances = [in_words(row[name]) for name in ("p_accurate", "p_accurate_independent")]
    own, independent = _with_ends(row, "accuracy"), _with_ends(row, "accuracy_independent")
    words = (
        _readings("accuracy", own, independent, row["annotators_accuracy"]),
        "The first is too low if it knows more than their labels, the second too high if it errs where they do",
        f"The probability that it is at most {margin:g} below the average is {' and '.join(chances)}",
        vote,
    )
    if shared:
        words += (
            f"If {100 * shared:g} % of the cases mislead the annotators together, it may be anything from "
            f"{row['accuracy_least']:.2f} to {row['accuracy_most']:.2f}",
        )
    answer = both(*(answer_of(row[name]) for name in ("p_accurate", "p_accurate_independent")))
    return unless_misled(unless_constant((answer, words), row, "p_constant"), row, shared)


def gold(row: Row, margin: float) -> Answered:
    """Answer question 4 by gold labels."""
    there = "p_gold" in row and not pd.isna(row["p_gold"])
    own = _with_ends(row, "gold_accuracy") if there else f"{row['gold_accuracy']:.2f}"
    words = (
        f"Accuracy {own} against the gold labels of {many(int(row['n_gold']), 'case')}; "
        f"annotators {row['annotators_gold_accuracy']:.2f} on average",
    )
    if "gold_accuracy_unweighted" in row:
        of_both = (f"{row[f'{of}gold_accuracy_unweighted']:.2f}" for of in ("", "annotators_"))
        words += (f"Unweighted, these are {' and '.join(of_both)}",)
    if not there:
        return "open", (*words, _ALONE)
    words += (f"The probability that it is at most {margin:g} below the average is {in_words(row['p_gold'])}",)
    return unless_constant((answer_of(row["p_gold"]), words), row, "p_gold_constant")


def decided_by_gold(row: Row, model: str, answer: Answer, margin: float, *, copies: bool) -> list[str]:
    """Compare a model with the annotators by gold labels, and say what follows."""
    own, others = row["gold_accuracy"], row["annotators_gold_accuracy"]
    start = f"By gold labels of {many(int(row['n_gold']), 'case')}, {model} is"
    numbers = f"the average annotator: {own:.2f} and {others:.2f}"
    if "gold_difference_lower" not in row or pd.isna(row["gold_difference_lower"]):
        beside = "more accurate than" if own > others else "less accurate than" if own < others else "as accurate as"
        return [f"{start} {beside} {numbers}", f"{_ALONE}, so it is open whether {model} can stand in for an annotator"]
    lower, upper = row["gold_difference_lower"], row["gold_difference_upper"]
    beside = "more accurate than" if lower > 0 else "less accurate than" if upper < 0 else "about as accurate as"
    beside = "not shown to be as accurate as" if beside[0] == "a" and answer == "open" else beside
    first = f"{start} {beside} {numbers} (difference {lower:+z.2f} to {upper:+z.2f})"
    allowed = "" if lower > 0 else f", allowing it to be up to {margin:.2f} less accurate"
    if answer == "cannot tell":
        constant = "more" if row["gold_over_constant_lower"] > 0 else "no more"
        return [
            first,
            f"It is {constant} accurate than always {row['gold_constant']} ({row['gold_constant_accuracy']:.2f})",
            f"Since that would pass, too, these cases cannot tell whether {model} can stand in for an annotator",
        ]
    shares, differs = _errors(row)
    if answer == "yes" and shares:
        n, repeated = int(row["n_wrong"]), int(row["n_repeated"])
        told = f"of {n} answers that most of them get wrong, it gives {repeated}"
        follows = f"So it can replace an annotator, but it is no further opinion{allowed}"
        return [first, f"But it shares the annotators' errors: {told}", follows]
    if answer == "yes" and copies and not differs:
        return [first, f"But {model} should not count as another annotator: it repeats the answers of one of them"]
    follows = {"yes": f"can stand in for an annotator{allowed}", "no": "should not stand in for an annotator"}
    if answer in follows:
        return [first, f"So {model} {follows[answer]}"]
    return [first, f"Whether it is within {margin:.2f} of them, and so can stand in for an annotator, is open"]


def _errors(row: Row) -> tuple[bool, bool]:
    """Whether a model gives more than half, or fewer, of the answers that most annotators get wrong."""
    n, repeated = value_in(row, "n_wrong", 0.0), value_in(row, "n_repeated", 0.0)
    chances = binom.sf(repeated - 1, n, 0.5), binom.cdf(repeated, n, 0.5)
    return float(chances[0]) <= 1 - SURE, float(chances[1]) <= 1 - SURE


def contradiction(row: Row, name: str, margin: float, model: str | None) -> str | None:
    """Whether gold labels say something else of the accuracy of `name` than the model of annotators."""
    if "gold_accuracy_lower" not in row or pd.isna(row["gold_accuracy_lower"]):
        return None
    own, of_gold = ([row[f"{name}_lower"], row[f"{name}_upper"]] for name in ("ability", "gold_accuracy"))
    if abs(row["ability"] - row["gold_accuracy"]) <= margin:
        return None
    if own[0] <= row["gold_accuracy"] <= own[1] or of_gold[0] <= row["ability"] <= of_gold[1]:
        return None
    return (
        f"Gold labels contradict the model of annotators ({model}): accuracy {_with_ends(row, 'gold_accuracy')} and "
        f"{_with_ends(row, 'ability')}. Rely on the gold labels, and not on the answer to question 3"
    )


def misled(accuracy: Any, shared: float) -> Any:
    """Accuracy of who is misled in a share of the cases, and there as often wrong as seemingly right."""
    return accuracy - shared * np.maximum(2 * accuracy - 1, 0)


def knowing(accuracy: Any, shared: float) -> Any:
    """Accuracy of who is not misled where annotators are, but as often right there as elsewhere; at most 1."""
    return np.minimum(accuracy + shared * np.maximum(2 * accuracy - 1, 0), 1)


def if_misled(row: Row, name: str, shared: float) -> str:
    """What it would do to each answer if a share of the cases misled the annotators together; empty if nothing."""
    own, others = (row["accuracy"] + row["accuracy_independent"]) / 2, misled(row["annotators_accuracy"], shared)
    if round(misled(own, shared), 2) == round(own, 2):  # whom such an error would not make worse
        return ""
    return (
        f"Errors that all annotators share leave no trace in their labels. With such an error in {100 * shared:g} % of "
        f"the cases, the annotators would be right in about {others:.2f} of all. {name}, here right in {own:.2f}, "
        f"would be right in {misled(own, shared):.2f} if it made the same errors. If it made none of them, it would be "
        f"right in {knowing(own, shared):.2f}, and all answers rate it too low"
    )


def value_in(row: Row, name: str, otherwise: float) -> float:
    """A value of a row, or another where the row has none."""
    return float(row[name]) if name in row and not pd.isna(row[name]) else otherwise


def both(one: Answer, other: Answer) -> Answer:
    """Answer to a question of which two readings must say the same."""
    return one if one == other else "open"


def answer_of(probability: float) -> Answer:
    """Answer to a question, from the probability that it is yes."""
    return "yes" if probability >= SURE else "no" if probability <= 1 - SURE else "open"


def in_words(probability: float) -> str:
    """Format a probability; none is 0 or 1."""
    return "above 0.99" if probability > 0.99 else "below 0.01" if probability < 0.01 else f"{probability:.2f}"


def _readings(unit: str, alone: str | None, independent: str, others: float) -> str:
    by_labels = "" if alone is None else f"{alone} by their labels alone, "
    return f"{unit.capitalize()} {by_labels}{independent} if it errs independently; annotators {others:.2f}"


def _with_ends(row: Row, name: str) -> str:
    ends = f" ({row[f'{name}_lower']:.2f} to {row[f'{name}_upper']:.2f})" if f"{name}_lower" in row else ""
    return f"{row[name]:.2f}{ends}"
