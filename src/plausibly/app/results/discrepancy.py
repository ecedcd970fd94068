"""The discrepancy ratio, whether models are closer to the annotators than these are to each other: what it says."""

from collections.abc import Iterator
from functools import partial

import pandas as pd

from plausibly.agreement import MARGIN, Discrepancy, Labels, odd_annotators
from plausibly.app import plots
from plausibly.app.screen import About, Piece, Screen, Table, cell, over_groups, percent, with_interval
from plausibly.base.bootstrap import CI_PROB, REPLICATES
from plausibly.base.errors import Fault
from plausibly.base.names import many, some
from plausibly.data.labels.types import may_be_names

ASSUMED = (
    ("Annotators", "Their labels are taken as the truth: a model that knows better than they do counts as farther."),
    ("Cases", "These are a random sample, or clusters of them are."),
)
SOURCES = (
    "Lovchinsky et al. (2020), Discrepancy ratio: evaluating model performance when even experts disagree, ICLR.",
)
_RATIOS = "Δ of each model, with its interval, beside annotators and answers that look at no case"


def screen(
    compared: Discrepancy,
    margin: float = MARGIN,
    replicates: int = REPLICATES,
    ci_prob: float = CI_PROB,
    seed: int = 0,
    *,
    labels: Labels | None = None,
    progress: bool = False,
) -> Screen:
    """Models with their ratios and whether they are non-inferior; `labels` are all that were read."""
    labels = compared.labels if labels is None else labels
    frame = compared.to_frame(ci_prob, replicates, seed, progress=progress)
    frame = frame.join(compared.baselines(ci_prob, replicates, seed))
    if compared.several_clusters:
        tested = compared.non_inferiority(margin, replicates=replicates, seed=seed)
        frame = frame.join(tested[["p_value", "non_inferior", "answer", "why"]])
    if compared.by is not None:
        frame["mean_per_class"] = compared.mean_per_class
    told, notes = [], []
    for model in frame.index if "answer" in frame else ():
        if frame.loc[model, "answer"] == "cannot tell":
            told.append(f"These annotators cannot tell whether {model} is as close to them as they are to each other.")
            notes += [f"{compared.beside_constant(replicates, seed)[model]}.", f"{frame.loc[model, 'why']}."]
    told += _headline(frame, margin)
    notes = [*beside_odd(compared.labels), *notes]
    notes += [*_notes(compared, frame, labels), *_over_groups(compared), *_left_out(compared, labels)]
    width = ci_prob if compared.several_clusters else None
    people = partial(compared.annotators, width, replicates, seed)
    files = [
        Piece("discrepancy.csv", frame.reset_index(), "Models"),
        Piece("annotators.csv", lambda: people().reset_index(), "Annotators as models"),
        Piece("cases.csv", lambda: compared.by_case().reset_index(), "By case"),
        Piece("discrepancy.png", lambda: plots.discrepancy_ratios(compared, ci_prob, replicates, seed), _RATIOS),
        *[Piece("groups.csv", compared.by_group, "By group")] * (compared.by is not None),
        Piece("without_annotators.csv", compared.without_annotators, "Without each annotator"),
    ]
    facts = {"labels": str(compared.labels), "distance": compared.distance, "margin": f"Δ below {1 + margin:g}"}
    about = About("Is it as close to annotators as they are to each other?", facts, ASSUMED, SOURCES)
    return Screen(" ".join(told), _table(frame, ci_prob), notes, "discrepancy.csv", files=files, about=about)


def beside_odd(labels: Labels) -> Iterator[str]:
    """Say who among the annotators, with whom models are compared, is at chance."""
    for words in odd_annotators(labels, leaning=False):
        yield Fault(f"{words} Answers compare models with all annotators, these included: also try without them.")


def _headline(frame: pd.DataFrame, margin: float) -> Iterator[str]:
    """State the ratio of the best models, and whether they are non-inferior."""
    for model in frame.index[frame["ratio"].argsort()][:2]:
        row = frame.loc[model]
        value = with_interval(row["ratio"], row.get("lower", float("nan")), row.get("upper", float("nan")))
        level = f"below {1 + margin:g} at the 5 % level"
        verdict = {"yes": f", {level}: non-inferior, if the annotators are right"}
        verdict |= {"not shown": f", not {level}: not shown to be non-inferior"}
        yield f"{model} is at Δ = {value}{verdict.get(str(row.get('answer', 'not shown')), '')}."


def _table(frame: pd.DataFrame, ci_prob: float) -> Table:
    """A row for each model, with the ratios of answers that look at no case."""
    names = {"constant_ratio": "best constant answer", "shuffled_ratio": "shuffled predictions"}
    names |= {"mean_per_class": "mean per class"} if "mean_per_class" in frame else {}
    rows = []
    for model, row in frame.iterrows():
        ends = [row[end] for end in ("lower", "upper")] if "lower" in frame else []
        cells = [cell(row[name]) for name in names if name in frame]
        rows.append((str(model), with_interval(row["ratio"], *ends), *cells, str(row.get("answer", ""))))
    title = f"Δ: distance to annotators, relative to that between two ({percent(ci_prob)} intervals)"
    return Table(("model", "Δ", *(names[name] for name in names if name in frame), "non-inferior"), rows, title)


def _notes(compared: Discrepancy, frame: pd.DataFrame, labels: Labels) -> Iterator[str]:
    """Say how well annotators agree, where they stand themselves, and on whom a ratio depends most."""
    if told := may_be_names(labels, compared.distance):
        yield f"{told}."
    one = frame.iloc[0]
    relative = compared.annotators()["relative"].dropna().sort_values()
    # Where further labels follow from the first, they are left out.
    if len(relative) > 2 and len(compared.labels) == len(labels):
        yield (
            f"Annotators themselves have Δ from {relative.iloc[0]:.2f} ({relative.index[0]}) to "
            f"{relative.iloc[-1]:.2f} ({relative.index[-1]})."
        )
        first = compared.without_annotators().iloc[0]
        if abs(first["change"]) >= 0.0005:  # which three digits show
            yield (
                f"Δ depends most on {first['annotator']}: without {first['annotator']}, {first['model']} is at "
                f"{first['ratio']:.3f} instead of {frame.loc[first['model'], 'ratio']:.3f}."
            )
    if not pd.isna(one["agreement"]):
        ends = one[["agreement_lower", "agreement_upper"]] if "lower" in frame else ()
        agreement = with_interval(one["agreement"], *ends, digits=2, form=" ({} to {})")
        yield (
            f"Annotators agree beyond chance by {agreement}. Answers at random would have Δ = "
            f"{one['chance_ratio']:.2f}, and {one['constant']} as the answer to every case {one['constant_ratio']:.2f}."
        )


def _over_groups(compared: Discrepancy) -> Iterator[str]:
    """Say between which values Δ of the first model lies over the groups."""
    if compared.by is not None:
        table = compared.by_group()
        own = table[table["model"] == table["model"].iloc[0]] if "model" in table and len(table) else table
        yield from over_groups("group", "Δ", own, "ratio")


def _left_out(compared: Discrepancy, labels: Labels) -> Iterator[str]:
    few = f"{many(len(compared.excluded), 'case')} with fewer than two annotators ({some(compared.excluded)})"
    left_out = [*[few] * bool(compared.excluded)]
    left_out += [f"{many(labels.n_missing, 'row')} without a label"] * bool(labels.n_missing)
    if left_out:
        yield f"Left out: {' and '.join(left_out)}."
