"""Single cases: which need labels, where people or models disagree, and where a classifier is probably wrong."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import ArrayLike, Bool, Float
from markupsafe import Markup

from plausibly.aggregation.sweeps import Run, Sweep
from plausibly.app.report.label_metrics import best_classifiers
from plausibly.app.report.tables import lead, representative
from plausibly.data.annotations import Annotations, Slots
from plausibly.data.case import Entries
from plausibly.evaluation.ambiguity import CLEAR, DISAGREEMENT
from plausibly.metrics.decisions import NO_ANSWER
from plausibly.metrics.words import capitalised
from plausibly.models.majority_vote import winners
from plausibly.posterior import REMAINDER_NAME, case_names, slots_of, stacked_draws, top_classes
from plausibly.posterior.says import learns

MOST_LISTED = 20  #: cases in a table
SETTLED, OPEN = 0.95, 0.5  #: certainties from which on a case counts as settled, and below which as open
_COLUMNS = ["top_class", "top_plausibility", "expected_entropy", "mutual_information", "prior_share"]
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


def of_prior(share: Float[ArrayLike, " case"]) -> Bool[np.ndarray, " case"]:
    """Whether the prior counts at least as much as the annotations; not where its share is unknown."""
    return np.asarray(share) >= 0.5 - 1e-6  # a half, in single precision


def case_table(run: Run) -> pd.DataFrame:
    """Tabulate ambiguity and uncertainty by case: the case, its most plausible class, and the certainty of that."""
    names = [*_COLUMNS, "annotation_certainty_1", DISAGREEMENT]
    columns = {"case": run.results["case"].values}
    return pd.DataFrame(columns | {name: run.results[name].values for name in names if name in run.results})


def need_labels(run: Run) -> pd.DataFrame:
    """Cases that annotations have not settled, those first of which a further label would tell most.

    None under a model that learns nothing from further labels.
    """
    table = case_table(run)
    if "annotation_certainty_1" not in table or not learns(run.attrs):
        return table.iloc[:0]
    open_cases = table[table["annotation_certainty_1"] < SETTLED]
    return open_cases.sort_values("mutual_information", ascending=False, kind="stable", ignore_index=True)


def stay_open(swept: Sweep, run: Run) -> pd.DataFrame:
    """Cases whose leading class is settled although annotators will very probably keep disagreeing; by ambiguity.

    None under a model whose plausibilities are not shares of annotators, nor where the prior says so and not the
    annotators, who have agreed so far.
    """
    table = case_table(run)
    if not {"annotation_certainty_1", DISAGREEMENT} <= set(table):
        return table.iloc[:0]
    unclear = (table[["annotation_certainty_1", DISAGREEMENT]] >= SETTLED).all(axis=1)
    unclear &= FirstChoices.of(swept.annotations).share < CLEAR
    return table[unclear & ~of_prior(table["prior_share"])].sort_values(
        "expected_entropy", ascending=False, kind="stable", ignore_index=True
    )


def most_ambiguous(run: Run) -> pd.DataFrame:
    """Tabulate the cases with any ambiguity, the most ambiguous first."""
    table = case_table(run)
    table = table[table["expected_entropy"] > 0]
    return table.sort_values("expected_entropy", ascending=False, kind="stable", ignore_index=True)


def disagreements(swept: Sweep) -> pd.DataFrame:
    """Cases on whose most plausible class models disagree, with that of the representative run of every model."""
    runs = [representative(runs) for runs in swept.models.values()]
    table = pd.DataFrame(
        {"case": swept.annotations.cases} | {run.label: run.results["top_class"].values for run in runs}
    )
    chosen = table[[run.label for run in runs]].to_numpy()
    return table[(chosen != chosen[:, :1]).any(axis=1)].reset_index(drop=True)


def best_attainable(run: Run) -> float:
    """Expected top-1 accuracy of a classifier that always chooses what the annotations favour; NaN if unknown."""
    results = run.results
    if "annotation_certainty_1" not in results or "case_weight" in results or results.sizes["draw"] == 1:
        return np.nan  # a weighted mean over cases has another limit, and a point estimate leaves nothing open
    return float(results["annotation_certainty_1"].mean())


@dataclass(frozen=True)
class FirstChoices:
    """First choices of the annotators, counted."""

    n_tied: int  #: cases in which several classes have the most votes
    share: Float[np.ndarray, " case"]  #: of the annotators who put the commonest first choice first, alone or tied
    most_frequent: float  #: the same of all annotations

    @classmethod
    def of(cls, annotations: Annotations) -> "FirstChoices":
        """Count the first choices of annotations."""
        slots = Slots.of(annotations)
        entries = Entries.of(annotations, slots)
        n_winners = np.add.reduceat(winners(entries) > 0, slots.start[:-1], dtype=int)
        named = entries.totals((entries.position == 0).astype(float))
        most = np.maximum.reduceat(named, slots.start[:-1])
        with np.errstate(invalid="ignore"):  # of a case without annotations, NaN
            share = most / annotations.per_case
        return cls(int((n_winners > 1).sum()), share, float(most.sum() / annotations.n_annotations))


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
