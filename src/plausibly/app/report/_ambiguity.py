"""Which cases need more labels, where annotators will keep disagreeing, and where models disagree."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import ArrayLike, Bool, Float

from plausibly.aggregation.sweeps import Run, Sweep
from plausibly.app.report.tables import representative
from plausibly.data.annotations import Annotations, Slots
from plausibly.data.case import Entries
from plausibly.evaluation.ambiguity import CLEAR, DISAGREEMENT
from plausibly.models.majority_vote import winners
from plausibly.posterior.says import learns

MOST = 20  #: cases in a table
SETTLED, OPEN = 0.95, 0.5  #: certainties from which on a case counts as settled, and below which as open
_COLUMNS = ["top_class", "top_plausibility", "expected_entropy", "mutual_information", "prior_share"]


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
