"""Coefficients of agreement beside alpha, KS and sigma, with intervals, in one table."""

import pandas as pd

from plausibly.agreement.chance._gwet import CaseShares
from plausibly.agreement.chance._intraclass import intraclass_of
from plausibly.agreement.pairs import further_labels
from plausibly.base.bootstrap import check_replicates, interval
from plausibly.base.errors import PlausiblyError
from plausibly.data.labels.container import Labels

#: Weights of AC2 that go with a distance.
_WEIGHTS = {"nominal": "nominal", "ordinal": "ordinal", "interval": "quadratic", "absolute": "linear"}


def coefficients(labels: Labels, distance: str, ci_prob: float, replicates: int, seed: int) -> pd.DataFrame:
    """Tabulate AC1 or AC2, kappa and intraclass correlations; see :meth:`plausibly.agreement.Agreement.coefficients`.

    Labels are as they are to be compared: of no more of each case than :func:`plausibly.agreement.pairs.fair_pairs`
    leaves.
    """
    if replicates:
        check_replicates(replicates, 2)
    table = pd.DataFrame(columns=["value", "lower", "upper", "meaning"])
    if further_labels(labels).any():
        return table
    weights = _WEIGHTS.get(distance)
    try:
        shares = CaseShares.of(labels, weights) if weights else None
    except PlausiblyError:  # lists, or words without an order
        shares = None
    if shares is not None:
        named = weights == "nominal"
        meaning = "classes as names" if named else f"{weights} weights"
        for fleiss in (False, True) if named else (False,):
            ends = interval(shares.bootstrap(replicates, seed, fleiss=fleiss), ci_prob) if replicates else ()
            name = "Fleiss' kappa" if fleiss else f"Gwet's AC{1 if named else 2}"
            table.loc[name] = [shares.value(fleiss=fleiss), *(ends or (float("nan"),) * 2), meaning]
    if labels.is_numeric and labels.values.dtype.kind != "b" and len(set(labels.values.tolist())) > 2:
        try:
            found = intraclass_of(labels, ci_prob)
        except PlausiblyError:  # cases with gaps
            return table
        found = found.loc[found["value"].notna(), ["value", "lower", "upper", "meaning"]]
        table = pd.concat([table, found]) if len(table) else found
    return table.astype({"value": float, "lower": float, "upper": float})
