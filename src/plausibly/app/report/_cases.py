"""Single cases: the undecided ones, and those of which experts are sure while a classifier is probably wrong."""

from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from plausibly.aggregation.sweeps import Run, Sweep
from plausibly.app.report._ambiguity import SETTLED, FirstChoices
from plausibly.app.report.label_metrics import best_classifiers
from plausibly.app.report.tables import lead
from plausibly.evaluation.ambiguity import CLEAR
from plausibly.metrics.decisions import NO_ANSWER
from plausibly.metrics.words import capitalised
from plausibly.posterior import REMAINDER_NAME, case_names, slots_of, stacked_draws, top_classes

_MOST_CLASSES = 6
_MOST_ANNOTATIONS = 12
_MOST_NAMES = 3
MOST = 5  #: cases of each classifier in a table
UNSURE = 0.8  #: certainty below which experts count as unsure

_OF_EACH = f": at most {MOST} cases of each classifier, the highest scores first"
_WRONG = (
    f"Experts count as sure of a case if one class is the most plausible with a probability of at least {SETTLED:g}, "
    f"and at least {100 * CLEAR:g} % of its labels name one class: {{:,}} of {{:,}} cases. A classifier that names "
    "another class there is probably wrong. Look at these cases."
)
_UNSURE = (
    f"Experts count as unsure if no class is the most plausible with a probability of {UNSURE:g}: {{:,}} cases. There "
    "it says little whether a classifier is right, but one with a high score may be too sure of itself."
)


def undecided(swept: Sweep, run: Run) -> pd.DataFrame:
    """Tabulate the least certain cases of a run, the least certain first: classes, annotations and choices.

    Columns ``case``, ``certainty``, ``plausible classes`` (each with its mean plausibility and the share of draws in
    which it is the most plausible), ``annotations``, and the choices of the best classifiers.
    """
    excerpt, rows = run.excerpt, []
    slots, draws = slots_of(excerpt), stacked_draws(excerpt)
    classes = np.asarray(excerpt["constant_data"]["class_names"].values, dtype=str)
    # The same random numbers as in the evaluation, whose certainty is shown.
    top = top_classes(excerpt, 1, int(run.results.attrs["seed"]), break_ties=run.results.attrs["break_ties"])[..., 0]
    for at, name in enumerate(case_names(excerpt)):
        own = np.arange(slots.start[at], slots.start[at + 1])
        named, rest = slots.class_index[own], slots.is_remainder[own]
        shares = {str(classes[index]): float((top[:, at] == index).mean()) for index in np.unique(top[:, at])}
        means = draws[:, own].mean(0)
        labels = np.where(rest, list(map(_rest, slots.n_classes[own])), classes[named])
        first = [shares.get(str(label), 0.0) for label in labels]
        of_rest = max(1 - sum(share for share, other in zip(first, rest, strict=True) if not other), 0.0)
        leads = run.results["top_class"].sel(case=name).item()  # the class that the tables of cases name
        leading = np.where(rest, REMAINDER_NAME, classes[named]) == leads
        told = [
            f"{labels[one]} {means[one]:.2f} ({100 * (of_rest if rest[one] else first[one]):.0f} %)"
            for one in np.lexsort((-means, ~leading))
        ]
        given = [f"{who}: {ranking}" for who, ranking in _annotations(swept, str(name))]
        row = {"case": str(name), "certainty": f"{max(shares.values()):.2f}"}
        row |= {"plausible classes": _some(told, _MOST_CLASSES), "annotations": _some(given, _MOST_ANNOTATIONS, "; ")}
        if run.choices is not None:
            for classifier in best_classifiers(swept):
                chosen = run.choices.sel(classifier=classifier).values[at]
                row[f"choices of {classifier}"] = ", ".join(map(str, chosen))
        rows.append(row)
    return pd.DataFrame(rows)


def _some(told: list[str], most: int, by: str = ", ") -> str:
    return by.join(told[:most]) + (f"{by}{len(told) - most} more" if len(told) > most else "")


def _rest(n: int) -> str:
    return f"{n:,} unnamed classes together" if n > 1 else REMAINDER_NAME.replace("remainder", "unnamed class")


def _annotations(swept: Sweep, case: str) -> list[tuple[str, str]]:
    annotators: dict[str, list[str]] = {}
    for annotator, blocks in swept.annotations.rankings(case).items():
        annotators.setdefault(" ≻ ".join(" = ".join(block) for block in blocks), []).append(annotator)
    # The most frequent annotations come first; equally frequent ones keep their order.
    ordered = sorted(annotators.items(), key=lambda item: -len(item[1]))
    return [(_who(names, swept.annotations.anonymous), text) for text, names in ordered]


def _who(names: list[str], anonymous: bool) -> str:
    if len(names) > _MOST_NAMES or (anonymous and len(names) > 1):
        return f"{len(names)} annotators"
    return f"annotator {names[0]}" if anonymous else ", ".join(names)


def clear_cases(swept: Sweep, table: str = "") -> list[Any]:
    """List both kinds of cases; `table` is the name of a file with all cases, to which the page links."""
    run = lead(swept)
    known = {"top1_accuracy_by_case", "annotation_certainty_1"} <= set(run.results)
    if swept.named is None or not known or run.results.sizes["draw"] == 1:  # a point estimate is always sure
        return []
    certainty = run.results["annotation_certainty_1"].values
    share = FirstChoices.of(swept.annotations).share
    sure, unsure = (certainty >= SETTLED) & (share >= CLEAR), certainty < UNSURE
    of_each = [_cases(swept, name, share) for name in best_classifiers(swept)]
    wrong = pd.concat([_first(cases[sure & (cases["right"] < 0.5)]) for cases in of_each], ignore_index=True)
    unclear = pd.concat([_first(cases[unsure]) for cases in of_each], ignore_index=True)
    shown: list[Any] = [_WRONG.format(int(sure.sum()), len(sure)) + ("" if len(wrong) else " There are none.")]
    shown += [{f"Classifier probably wrong, experts sure{_OF_EACH}": _shown(wrong)}] if len(wrong) else []
    shown += [_UNSURE.format(int(unsure.sum()))] if len(unclear) else []
    shown += [{f"Experts unsure{_OF_EACH}": _shown(unclear)}] if len(unclear) else []
    shown += [Markup('All cases are in <a href="{0}">{0}</a>.').format(table)] if table else []
    return shown


def _cases(swept: Sweep, name: str, share: np.ndarray) -> pd.DataFrame:
    """Tabulate what a classifier names in every case, and what experts say."""
    assert swept.named is not None
    results, own = lead(swept).results, swept.named.sel(classifier=name)
    right = results["top1_accuracy_by_case"].sel(classifier=name).values
    named = own["named"].values
    columns = {
        "classifier": name,
        "case": results["case"].values.astype(str),
        "names": np.where(named < 0, NO_ANSWER, swept.annotations.classes[named]),
        "score": own["score"].values,
        "most plausible": results["top_class"].values,
        "labels": share,
        "certainty": results["annotation_certainty_1"].values,
        "right": np.where(named == own["first"].values, right, 1 - right),  # of two classes, by a threshold
    }
    return pd.DataFrame(columns)


def _first(cases: pd.DataFrame) -> pd.DataFrame:
    return cases.sort_values("score", ascending=False, kind="stable").head(MOST)


def _shown(cases: pd.DataFrame) -> pd.DataFrame:
    """Name the columns, and print shares in percent."""
    percent = {name: [f"{100 * share:.0f} %" for share in cases[name]] for name in ("labels", "right")}
    decimals = {name: [f"{value:.2f}" for value in cases[name]] for name in ("score", "certainty")}
    headings = {"names": "It names", "labels": "Labels for one class", "right": "Probability that it is right"}
    return cases.assign(**percent, **decimals).rename(columns=headings).rename(columns=capitalised)
