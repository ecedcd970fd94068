"""A judgement, whether a model can stand in for an annotator: what it says."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from plausibly.agreement import Judgement
from plausibly.agreement.judge.judgement import IF_RIGHT, QUESTIONS
from plausibly.app import plots
from plausibly.app.results.discrepancy import beside_odd
from plausibly.app.screen import About, Part, Piece, Screen, Table, over_groups, percent, with_interval
from plausibly.evaluation.summaries import FEW

ASSUMED = (
    (
        "Questions 1 and 2",
        "The annotators' labels are taken as the truth: a model that repeats an error of all annotators counts as "
        "right, and one that knows better than they do as wrong. A yes holds if they are right, and allows what stands "
        "beside it. Where answers that look at no case pass, too, these annotators cannot tell.",
    ),
    (
        "Questions 3 and 4",
        "Every case has one true class, and annotators err independently of each other, given this class. If cases are "
        "truly ambiguous, or annotators copy each other, the answers are too certain. Accuracy is shown by the "
        "annotators' labels alone, which rates a model too low if it knows more of a case, and as if it erred "
        "independently of them, which rates it too high if it errs where they do. A yes or no is what both say. With "
        "gold labels, question 4 assumes only that these are right.",
    ),
    (
        "Shared errors",
        "Cases that mislead the annotators together leave no trace in their labels. A model that falls for them, too, "
        "keeps its answers, while its accuracy and theirs look higher than they are. One that does not looks farther "
        "from the annotators, and less accurate, in all four answers: a no to question 1 is worse only if they are "
        "right. The widest interval of question 4, and its no, allow for such cases.",
    ),
    ("All questions", "Future cases and annotators are like those in these data."),
)
SOURCES = (
    "Lovchinsky et al. (2020), Discrepancy ratio: evaluating model performance when even experts disagree, ICLR.",
    "Calderon, Reichart & Dror (2025), The alternative annotator test for LLM-as-a-judge, arXiv 2501.10970.",
    "Dawid & Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm.",
)

_TO = " ({} to {})"
_BY_GROUP = (
    "A difference is the group's accuracy minus the accuracy in all other cases. P(worst) is the probability that no "
    "group of the same column is worse: by accuracy or, where that is unknown, by Δ; for groups of annotators, by "
    f"advantage. Groups of fewer than {FEW} cases have no P(worst), because their results are too uncertain, even if "
    "they look clear."
)


def screen(result: Judgement) -> Screen:
    """Answers, of one model with the numbers behind them; what they come to, and what limits it."""
    several = len(result.models) > 1
    rows: list[Any] = [(name, *(one.answer for one in asked)) for name, asked in result.questions.items()]
    columns = ["model", *QUESTIONS]
    if not several:
        columns, asked = ["question", "answer", "evidence"], result.questions[result.models[0]]
        rows = [(one.name, one.answer, one.sentences[0]) for one in asked]
    told = [] if result.selection is None else [result.selection]
    for name in result.models:
        # The table has the answers, and what they rest on is said once.
        said = [words for words in result.sentences(name) if not words.startswith("Answers: ")]
        said = said[:-1] if told and said[-1] == IF_RIGHT else said
        told.append(f"{'. '.join(said)}.")
    limits = [words for name in result.models for words in result.limits(name)]
    notes = dict.fromkeys(f"{words}." for words in limits if several or not words.startswith("The answer"))
    of_answers = Table(columns, rows, "" if several else f"{percent(result.ci_prob)} intervals", n_left=len(columns))
    files = [Piece("judge.csv", result.table.reset_index()), Piece("annotators.csv", result.test.table)]
    files += [] if result.by is None else [Piece("groups.csv", result.by)]
    figures = {}
    for number, (name, asked) in enumerate(result.questions.items(), 1):
        files.append(Piece(f"judge-{number}.png", lambda name=name: plots.judgement(result, name)))
        known = [at for at, one in enumerate(asked) if one.answer != "unknown"]
        caption = f"Evidence about {name}. Lines are {percent(result.ci_prob)} intervals."
        figures[caption] = tuple(partial(_draw, result, name, at) for at in known)
    odd = beside_odd(result.test.comparison.labels)
    notes = [*odd, *_over_groups(result.by), *sorted(notes, key=lambda words: not words.startswith("Offset"))]
    return Screen(" ".join(told), of_answers, notes, "judge.html", figures, files, _about(result))


def _draw(result: Judgement, name: str, question: int) -> Any:
    from plausibly.app.plots.discrepancy import judgement_question  # with Matplotlib

    return judgement_question(result, name, question)


def _over_groups(by: pd.DataFrame | None) -> Iterator[str]:
    """Say between which values the ratio of each model lies over the groups."""
    for (model, column), rows in () if by is None else by.groupby(["model", "by"], sort=False):
        yield from over_groups(column, f"Δ of {model}", rows, "ratio")


def _about(result: Judgement) -> About:
    """The four questions of each model in full, groups, and what the answers rest on."""
    compared, parts = result.test.comparison, []
    labels = compared.labels
    for name, asked in result.questions.items():
        rows = [
            (words, f"{one.answer}, {one.allowed}" if one.answer == "yes" else one.answer, f"{one.words}.")
            for words, one in zip(QUESTIONS.values(), asked, strict=True)
        ]
        told = {f"{name}: four questions": pd.DataFrame(rows, columns=["question", "answer", "evidence"])}
        parts.append(Part(f"{name}: four questions", told, f"questions-{len(parts) + 1}", open=True))
    if result.by is not None:
        groups: list[Any] = [_BY_GROUP, {"By group": _by_group(result.by)}]
        for name in result.models if (result.by["of"] == "cases").any() else ():
            caption = f"{name} by group of cases; hollow where there are fewer than {FEW}. "
            caption += f"Lines are {percent(result.ci_prob)} intervals."
            groups.append({caption: lambda name=name: plots.judgement_by_group(result, name)})
        parts.append(Part("By group", groups, "groups"))
    facts = {
        "cases": f"{compared.n_cases:,} with at least two annotators, {len(compared.excluded):,} with fewer",
        "annotators": f"{len(labels.annotators):,}",
        "labels": f"{len(labels):,}" + (f", {labels.n_missing:,} missing" if labels.n_missing else ""),
        "distance": compared.distance,
        "agreement": _agreement(result),
        "margins": f"Δ below {1 + result.margin:g}; ε = {result.test.epsilon:g}; accuracy at most "
        f"{result.accuracy_margin:g} below the annotators' mean; {percent(result.shared_errors)} of shared errors",
        "model of annotators": result.model or f"none: {result.left_out}",
        "intervals": f"{percent(result.ci_prob)}, from a bootstrap over {compared.n_clusters:,} "
        f"{compared.resampled} (questions 1 and 2) and from the posterior (questions 3 and 4)",
    }
    title = f"Can {' or '.join(result.models)} stand in for an annotator?"
    return About(title, facts, ASSUMED, SOURCES, parts)


def _agreement(result: Judgement) -> str:
    """How well annotators agree, and what answers that look at no case have."""
    row = result.table.iloc[0]
    agreement = with_interval(*row[["agreement", "agreement_lower", "agreement_upper"]], digits=2, form=_TO)
    return (
        f"α = {agreement} beyond chance; Δ of an answer by chance {row['chance_ratio']:.2f}, of the "
        f"best constant answer ({row['constant']}) {row['constant_ratio']:.2f}"
    )


def _by_group(by: pd.DataFrame) -> pd.DataFrame:
    """Results of groups as text: a row each."""
    rows = []
    for row in by.to_dict("records"):
        of = " (annotators)" if row["of"] == "annotators" else ""
        cells = {"model": row["model"], "by": row["by"] + of, "group": row["group"]}
        cells["cases"] = f"{row['n_cases']:,}{' (few)' if row['few'] else ''}"
        names = {"ratio": "Δ", "advantage": "advantage", "accuracy": "accuracy", "difference": "difference"}
        cells |= {words: _cell(row, name) for name, words in names.items()}
        worst = row.get("p_least_accurate")
        worst = row.get("p_worst") if worst is None or pd.isna(worst) else worst
        rows.append(cells | {"P(worst)": "" if worst is None or pd.isna(worst) else f"{worst:.2f}"})
    return pd.DataFrame(rows)


def _cell(row: Mapping[str, Any], name: str) -> str:
    values = (row.get(f"{name}{end}") for end in ("", "_lower", "_upper"))
    return with_interval(*(np.nan if one is None else one for one in values), digits=2, form=_TO)
