"""A judgement on one page, for people who decide."""

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd

import plausibly
from plausibly.agreement import Judgement
from plausibly.agreement.judge.judgement import QUESTIONS
from plausibly.app.plots import judgement_by_group
from plausibly.app.plots.discrepancy import judgement_question
from plausibly.app.report._environment import draw_to_uri, template, write_page
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


def judge_report(result: Judgement, path: str | os.PathLike, sources: Mapping[str, str] | None = None) -> None:
    """Write a judgement as one self-contained HTML page.

    Parameters
    ----------
    result
        Result of :func:`plausibly.agreement.judge`.
    path
        Path of the file; an existing file is replaced.
    sources
        Sources of the data, such as ``{"labels": "labels.csv"}``.

    Raises
    ------
    FileError
        If the file cannot be written.
    """
    compared = result.test.comparison
    labels = compared.labels
    models = [_model(result, name) for name in result.models]
    page = template("judge.html.j2").render(
        models=models,
        selection=result.selection,
        questions=list(QUESTIONS.values()),
        facts={
            "cases": f"{compared.n_cases:,} with at least two annotators, {len(compared.excluded):,} with fewer",
            "annotators": f"{len(labels.annotators):,}",
            "labels": f"{len(labels):,}" + (f", {labels.n_missing:,} missing" if labels.n_missing else ""),
            "distance": compared.distance,
            "agreement": _agreement(result),
            "margins": f"Δ below {1 + result.margin:g}; ε = {result.test.epsilon:g}; accuracy at most "
            f"{result.accuracy_margin:g} below the annotators' mean; {100 * result.shared_errors:g} % of shared errors",
            "model of annotators": result.model or f"none: {result.left_out}",
            "intervals": f"{100 * result.ci_prob:g} %, from a bootstrap over {compared.n_clusters:,} "
            f"{compared.resampled} (questions 1 and 2) and from the posterior (questions 3 and 4)",
        },
        sources=dict(sources or {}),
        by=None if result.by is None else _groups(result.by),
        few=FEW,
        assumed=ASSUMED,
        references=SOURCES,
        version=plausibly.__version__,
        ci_prob=f"{100 * result.ci_prob:g} %",
    )
    write_page(page, path)


def _agreement(result: Judgement) -> str:
    """How well annotators agree, and what answers that look at no case have."""
    row = result.table.iloc[0]
    ends = (
        "" if pd.isna(row["agreement_lower"]) else f" ({row['agreement_lower']:z.2f} to {row['agreement_upper']:z.2f})"
    )
    return (
        f"α = {row['agreement']:z.2f}{ends} beyond chance; Δ of an answer by chance {row['chance_ratio']:.2f}, of the "
        f"best constant answer ({row['constant']}) {row['constant_ratio']:.2f}"
    )


def _model(result: Judgement, name: str) -> dict[str, Any]:
    """All that the page says of one model."""
    known = [number for number, question in enumerate(result.questions[name]) if question.answer != "unknown"]
    questions = [draw_to_uri(partial(judgement_question, result, name, number)) for number in known]
    figures = [(f"Evidence about {name}", questions)]
    if result.by is not None and (result.by["of"] == "cases").any():
        by = ", ".join(dict.fromkeys(result.by.loc[result.by["of"] == "cases", "by"]))
        caption = f"{name} by {by}; hollow where there are fewer than {FEW} cases"
        figures.append((caption, [draw_to_uri(partial(judgement_by_group, result, name))]))
    decide = result.questions[name] if result.gold is None else result.questions[name][-1:]
    answers = {question.answer for question in decide} - {"unknown"}
    mood = "good" if answers == {"yes"} and not result.reasons[name] else "bad" if "no" in answers else ""
    return {
        "name": name,
        "verdict": result.headline(name),
        "mood": mood,
        "questions": result.questions[name],
        "reasons": list(result.reasons[name].values()),
        "notes": result.notes(name),
        "figures": figures,
    }


def _groups(by: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for row in by.to_dict("records"):
        cells = {"by": row["by"], "group": row["group"], "of": row["of"], "model": row["model"]}
        cells["n_cases"] = f"{row['n_cases']:,}{' (few)' if row['few'] else ''}"
        for name in ("ratio", "advantage", "accuracy", "difference"):
            cells[name] = _cell(row, name)
        worst = row.get("p_least_accurate")
        worst = row.get("p_worst") if worst is None or pd.isna(worst) else worst
        cells["worst"] = "" if worst is None or pd.isna(worst) else f"{worst:.2f}"
        rows.append(cells)
    return rows


def _cell(row: Mapping[str, Any], name: str) -> str:
    value, lower, upper = (row.get(f"{name}{end}") for end in ("", "_lower", "_upper"))
    if value is None or pd.isna(value):
        return ""
    ends = "" if lower is None or pd.isna(lower) else f" ({lower:z.2f} to {upper:z.2f})"
    return f"{value:z.2f}{ends}"
