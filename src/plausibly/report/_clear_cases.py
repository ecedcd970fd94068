"""Cases in which experts are sure and a classifier is probably wrong, and cases of which experts are not sure."""

from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from plausibly.evaluation._ambiguity import CLEAR
from plausibly.metrics._decisions import NO_ANSWER
from plausibly.plots._words import capitalised
from plausibly.report._ambiguity import SETTLED, FirstChoices
from plausibly.report._label_metrics import best_classifiers
from plausibly.report._tables import lead
from plausibly.sweeps import Sweep

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
