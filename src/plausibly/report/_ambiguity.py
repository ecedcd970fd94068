"""Which cases need more labels, which no label settles, and on which models disagree."""

from typing import Any

import numpy as np
import pandas as pd

from plausibly.report._tables import representative
from plausibly.sweeps import Run, Sweep

MOST = 20  #: cases in a table
CLEAR = 0.8  #: share of the most common answer from which on a settled case counts as clear
SETTLED, OPEN = 0.95, 0.5  #: certainties from which on a case counts as settled, and below which as open
_COLUMNS = ["case", "top_class", "top_plausibility_point", "expected_entropy", "mutual_information"]


def case_table(run: Run) -> pd.DataFrame:
    """Tabulate ambiguity and uncertainty by case: the case, its most plausible class, and the certainty of that."""
    names = [*_COLUMNS[1:], "annotation_certainty_1"]
    columns = {"case": run.results["case"].values}
    return pd.DataFrame(columns | {name: run.results[name].values for name in names if name in run.results})


def need_labels(run: Run) -> pd.DataFrame:
    """Cases that annotations have not settled, those first of which a further label would tell most."""
    table = case_table(run)
    if "annotation_certainty_1" not in table:
        return table.iloc[:0]
    open_cases = table[table["annotation_certainty_1"] < SETTLED]
    return open_cases.sort_values("mutual_information", ascending=False, kind="stable", ignore_index=True)


def stay_open(run: Run) -> pd.DataFrame:
    """Cases whose most plausible class is settled, and is still far from the only answer; the most ambiguous first.

    None under a model of one true class, whose plausibilities are not shares of annotators.
    """
    table = case_table(run)
    if "annotation_certainty_1" not in table or "assumes" in run.attrs:
        return table.iloc[:0]
    unclear = (table["annotation_certainty_1"] >= SETTLED) & (table["top_plausibility_point"] < CLEAR)
    return table[unclear].sort_values("expected_entropy", ascending=False, kind="stable", ignore_index=True)


def most_ambiguous(run: Run) -> pd.DataFrame:
    """Tabulate the cases with any ambiguity, the most ambiguous first."""
    table = case_table(run)
    table = table[table["expected_entropy"] > 0]
    return table.sort_values("expected_entropy", ascending=False, kind="stable", ignore_index=True)


def disagreements(swept: Sweep) -> pd.DataFrame:
    """Cases on whose most plausible class models disagree, with that of the representative run of every model.

    Examples
    --------
    >>> annotations = pb.Annotations.from_rankings([[[["a"], ["b"]], [["a"], ["b"]], [["b"]], [["b"]]], [[["a"]]]])
    >>> swept = pb.sweep(annotations, {}, {"majority-vote": None, "irn": None}, progress=False)
    >>> disagreements(swept).values.tolist()
    [['0', 'a', 'b']]
    """
    runs = [representative(runs) for runs in swept.models.values()]
    table = pd.DataFrame(
        {"case": swept.annotations.cases} | {run.label: run.results["top_class"].values for run in runs}
    )
    chosen = table[[run.label for run in runs]].to_numpy()
    return table[(chosen != chosen[:, :1]).any(axis=1)].reset_index(drop=True)


def best_attainable(run: Run) -> dict[str, Any]:
    """What the best possible classifier could reach on average, given these annotations.

    ``vote``: how often its first choice would be the most plausible class; ``label``: how often it would agree with a
    random annotator's label; ``given``: the same at the point estimate, with the labels that were given. NaN if
    unknown.
    """
    results = run.results
    weight = results["case_weight"].values if "case_weight" in results else None

    def mean(name: str) -> float:
        return float(np.average(results[name].values, weights=weight)) if name in results else np.nan

    of_labels = "assumes" not in run.attrs  # else a plausibility is the probability of being the true class
    return {
        "vote": mean("annotation_certainty_1") if weight is None else np.nan,
        "label": mean("top_plausibility") if of_labels else np.nan,
        "given": mean("top_plausibility_point") if of_labels else np.nan,
    }
