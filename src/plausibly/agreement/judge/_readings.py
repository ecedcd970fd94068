"""Questions 3 and 4: how accurate a model is, by each of two readings of its labels, and by gold labels.

By the annotators' labels alone, a model that knows more of a case than they say is rated too low (the dependent
reading); by its own, too, one that errs where they do is rated too high (the independent one). Cases that mislead all
annotators leave no trace in their labels: by either reading, a model that falls for them is rated too high, and one
that does not too low.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd

from plausibly.agreement.discrepancy._result import Discrepancy
from plausibly.agreement.judge._fit import Fit
from plausibly.base.bootstrap import interval, resampled_sums

Answer = Literal["yes", "no", "cannot tell", "open", "unknown"]
Row = Mapping[str, Any] | pd.Series

SURE = 0.95  #: probability from which the answer to a question is yes or no


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


def as_one_of_them(row: Row, fit: Fit, margin: float, model: str | None) -> tuple[Answer, str]:
    """Answer question 3 by both readings; of rankings, by the independent one."""
    scale = " (logarithms)" if fit.unit == "reliability" else ""
    people, beaten = len(fit.alone), str(int(row["n_beaten"]))
    own = f"{row['ability']:.2f} ({row['ability_lower']:.2f} to {row['ability_upper']:.2f})"
    words = f"{fit.unit.capitalize()} {own} if it errs independently of the annotators"
    answer, chance = answer_of(row["p_able"]), in_words(row["p_able"])
    if "p_accurate" in row and not pd.isna(row["p_accurate"]):
        ends = f"{row['accuracy_lower']:.2f} to {row['accuracy_upper']:.2f}"
        words += f", and {row['accuracy']:.2f} ({ends}) by their labels alone"
        low, high = sorted((int(row["n_beaten"]), int(row["n_beaten_dependent"])))
        beaten = str(low) if low == high else f"{low} to {high}"
        answer = both(answer, answer_of(row["p_accurate"]))
        chance += f" and {in_words(row['p_accurate'])}"
    words += (
        f"; annotators {row['annotators_ability']:.2f} on average; it is better than {beaten} of {people}; the "
        f"probability that it is at most {margin:g} below the average{scale} is {chance} ({model})"
    )
    if "agreeing" in row and not pd.isna(row["agreeing"]):
        words += (
            f"; it agrees with an annotator in {100 * row['agreeing']:.0f} % of the cases, and two annotators in "
            f"{100 * row['annotators_agreeing']:.0f} %"
        )
    return answer, words


def value_in(row: Row, name: str, otherwise: float) -> float:
    """A value of a row, or another where the row has none."""
    return float(row[name]) if name in row else otherwise


def held_back(
    answer: Answer, words: str, row: Row, others: Mapping[int, Answer], doubt: str | None, untold: str
) -> tuple[Answer, str]:
    """Take back a yes to question 3 that other answers, agreement or gold labels contradict, or a constant gets."""
    if answer != "yes":
        return answer, words
    said = [f"question {number}" for number, other in others.items() if other == "no"]
    if value_in(row, "p_agreeing", 1.0) <= 1 - SURE:
        said.append("agreement alone")
    if doubt is not None:
        said.append("the accuracy against gold labels")
    if said:
        return "open", f"{words}; open, since {' and '.join(said)} {'say' if len(said) > 1 else 'says'} no"
    return unless_untold(*unless_constant(answer, words, row, "p_constant"), untold)


def unless_untold(answer: Answer, words: str, untold: str) -> tuple[Answer, str]:
    """Take back a yes where annotators may agree no more than by chance."""
    if answer == "yes" and untold:
        return "cannot tell", f"{words}. These annotators cannot tell: {untold}"
    return answer, words


def unless_constant(answer: Answer, words: str, row: Row, name: str) -> tuple[Answer, str]:
    """Take back a yes that the most frequent class as the answer to every case gets, too."""
    if answer == "yes" and value_in(row, name, 0.0) >= SURE:
        return "cannot tell", f"{words}; the most frequent class as the answer to every case passes, too"
    return answer, words


def truth(row: Row, margin: float, shared: float) -> tuple[Answer, str]:
    """Answer question 4 by both readings."""
    words = f"{_accuracy(row, 'accuracy')} against the inferred truth, {row['vote_accuracy']:.2f} against the vote"
    if "p_accurate" not in row or pd.isna(row["p_accurate"]):
        return "open", f"{words}; the annotators have no such accuracy to compare it with"
    words = (
        f"{_accuracy(row, 'accuracy')} by the annotators' labels alone, which is too low if it knows more than "
        f"these, and {_accuracy(row, 'accuracy_independent').lower()} if it errs independently of them; "
        f"{row['vote_accuracy']:.2f} against the vote; annotators {row['annotators_accuracy']:.2f} on average; the "
        f"probability that it is at most {margin:g} below the average is "
        f"{in_words(row['p_accurate'])} and {in_words(row['p_accurate_independent'])}"
    )
    if shared:
        words += (
            f". If {100 * shared:g} % of the cases mislead the annotators together, accuracy may be anything from "
            f"{row['accuracy_least']:.2f} to {row['accuracy_most']:.2f}"
        )
    answer = both(*(answer_of(row[name]) for name in ("p_accurate", "p_accurate_independent")))
    return unless_misled(*unless_constant(answer, words, row, "p_constant"), row, shared)


def gold(row: Row, margin: float) -> tuple[Answer, str]:
    """Answer question 4 by gold labels."""
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
    words += f"; the probability that it is at most {margin:g} below the average is {in_words(row['p_gold'])}"
    return unless_constant(answer_of(row["p_gold"]), words, row, "p_gold_constant")


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
        f"Gold labels contradict the model of annotators ({model}), by which the accuracy of {name} is "
        f"{row['ability']:.2f} ({own[0]:.2f} to {own[1]:.2f}), and against gold labels {row['gold_accuracy']:.2f} "
        f"({of_gold[0]:.2f} to {of_gold[1]:.2f}): rely on the gold labels, and not on the answer to question 3"
    )


def misled(accuracy: Any, shared: float) -> Any:
    """Accuracy of who is misled in a share of the cases, and there as often wrong as seemingly right."""
    return accuracy - shared * np.maximum(2 * accuracy - 1, 0)


def knowing(accuracy: Any, shared: float) -> Any:
    """Accuracy of who is not misled where annotators are, but as often right there as elsewhere; at most 1."""
    return np.minimum(accuracy + shared * np.maximum(2 * accuracy - 1, 0), 1)


def if_misled(row: Row, name: str, shared: float) -> str:
    """What it would do to each answer if a share of the cases misled the annotators together."""
    own = (row["accuracy"] + row["accuracy_independent"]) / 2
    return (
        f"Cases that mislead the annotators together leave no trace in their labels. If {100 * shared:g} % of the "
        f"cases do, they are right in about {misled(row['annotators_accuracy'], shared):.2f} of all. {name} is then "
        f"right in about {misled(own, shared):.2f} if it errs there as they do, which changes the answers little; or "
        f"in {knowing(own, shared):.2f} if it does not, and all answers rate it too low (now {own:.2f})"
    )


def unless_misled(answer: Answer, words: str, row: Row, shared: float) -> tuple[Answer, str]:
    """Take back a no that would not be one if a share of the cases misled the annotators, and not the model."""
    if answer == "no" and value_in(row, "p_accurate_misled", 0.0) > 1 - SURE:
        return "open", f"{words}; open, since {100 * shared:g} % of cases that mislead the annotators would explain it"
    return answer, words


def both(one: Answer, other: Answer) -> Answer:
    """Answer to a question of which two readings must say the same."""
    return one if one == other else "open"


def answer_of(probability: float) -> Answer:
    """Answer to a question, from the probability that it is yes."""
    return "yes" if probability >= SURE else "no" if probability <= 1 - SURE else "open"


def in_words(probability: float) -> str:
    """Format a probability; none is 0 or 1."""
    return "above 0.99" if probability > 0.99 else "below 0.01" if probability < 0.01 else f"{probability:.2f}"


def _accuracy(row: Row, name: str) -> str:
    return f"Accuracy {row[name]:.2f} ({row[f'{name}_lower']:.2f} to {row[f'{name}_upper']:.2f})"
