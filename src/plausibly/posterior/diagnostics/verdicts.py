"""Reading a table of convergence: the verdict in a sentence, the worst by name, what each of them failed."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.posterior.diagnostics import E_BFMI, ESS_PER_CHAIN, R_HAT

STATISTICS = {
    "r_hat": "R-hat",
    "ess_bulk": "bulk ESS",
    "ess_tail": "tail ESS",
    "n_diverging": "divergences",
    "e_bfmi": "E-BFMI",
    "at_max_depth": "at maximum tree depth",
}
"""What is known of chains, in words."""

MODES = 1.5  #: R-hat from which on chains are taken to be in different modes: their means are then 2 sd apart
_LONG = 1000  # draws, or of the warm-up, that help if the usual ones do not
_USUAL = 250  # draws of each chain that aggregate takes by default
GREATER_IS_WORSE = ("r_hat", "n_diverging", "at_max_depth")


def verdict(convergence: Mapping[str, xr.Dataset], most: int = 10) -> str:
    """Say in one sentence whether the chains converged and, if not, in which cases they did not.

    Parameters
    ----------
    convergence
        Results of :func:`plausibly.diagnose` by the label of the run.
    most
        Largest number of cases to name.

    Examples
    --------
    >>> found = xr.Dataset({"converged": ("case", [True, False]), "r_hat": ("case", [1.0, 1.3])}, {"case": ["p", "q"]})
    >>> verdict({"plackett-luce@3": found})
    "Chains did not converge in 1 of 2 cases (plackett-luce@3: 1): 'q'. Results that depend on them should not be \
trusted: use more draws: draws=1000 (--draws 1000)."
    """
    sampled = {label: found for label, found in convergence.items() if "r_hat" in found}
    if not sampled:
        return "No convergence check is needed: the draws are exact or the models are point estimates."
    first = next(iter(sampled.values()))
    of, what = f"{first['converged'].size:,}", "quantities" if kind(first) == "quantity" else "cases"
    failed = {label: names(found)[~found["converged"].values] for label, found in sampled.items()}
    named = list(dict.fromkeys(str(name) for some in failed.values() for name in some))
    if not named:
        others = " The other models need no chains." if len(sampled) < len(convergence) else ""
        return f"Chains converged in all {of} {what} ({', '.join(sampled)}).{others}"
    counts = ", ".join(f"{label}: {len(some):,}" for label, some in failed.items() if len(some))
    more = f" and {len(named) - most:,} more" if len(named) > most else ""
    shown = ", ".join(map(repr, named[:most]))
    sentence = f"Chains did not converge in {len(named):,} of {of} {what} ({counts}): {shown}{more}."
    short = min((int(found.attrs["draws"]) for found in sampled.values() if "draws" in found.attrs), default=_USUAL)
    if short < ESS_PER_CHAIN:
        return (
            f"{sentence} Chains of {short} draws are too short, since each needs {ESS_PER_CHAIN} effective draws: take "
            f"{_USUAL}."
        )
    depends = "Results that depend on them"
    if all("enough_for_cases" in found.attrs for found in sampled.values()):
        depends = "Their own values (cases need fewer draws of them)"
    return f"{sentence} {depends} should not be trusted: {_next_step(list(sampled.values()))}."


def _next_step(convergence: Sequence[xr.Dataset]) -> str:
    """Say what helps against what failed most often."""
    highest = max(float(found["r_hat"].where(~found["converged"]).max().fillna(0)) for found in convergence)
    if highest >= MODES:
        where = next((f" ({found.attrs['modes']})" for found in convergence if "modes" in found.attrs), "")
        return (
            f"chains disagree as much as chains in different modes do (R-hat up to {highest:.2f}), which more draws do "
            f"not change{where}; compare the chains, and take another model, or more annotations"
        )
    failed = [text for found in convergence for text in failures(found) if text]
    trajectories = sum("divergences" in text or "E-BFMI" in text for text in failed)
    if 2 * trajectories >= len(failed):
        return f"use a longer warm-up, warmup={_LONG} (--warmup {_LONG}), or a lower reliability if that does not help"
    return f"use more draws: draws={_LONG} (--draws {_LONG})"


def kind(found: xr.Dataset) -> str:
    """What the rows of a table of convergence are: a case, or a quantity of a model of labels."""
    return str(found["converged"].dims[0])


def names(found: xr.Dataset) -> np.ndarray:
    """Names of the rows of a table of convergence."""
    return found[kind(found)].values


def worst(found: xr.Dataset, most: int = 6) -> list[str]:
    """Names of the cases whose chains give most cause for concern, the worst first.

    Those that did not converge come before all others; beyond that the statistic counts that is furthest from what is
    asked of it, relative to that. Exact draws and point estimates have none.

    Examples
    --------
    >>> columns = {"converged": ("case", [True, False, True]), "r_hat": ("case", [1.0, 1.3, 1.01])}
    >>> worst(xr.Dataset(columns, {"case": ["p", "q", "r"]}), most=2)
    ['q', 'r']
    """
    if "r_hat" not in found:
        return []
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = [(found["r_hat"].values - 1) / (R_HAT - 1)]
        distances += [least(found) / found[name].values for name in ("ess_bulk", "ess_tail") if name in found]
        if "n_diverging" in found:
            distances.append(np.where(found["n_diverging"].values > 0, 1.0 + found["n_diverging"].values, 0))
        if "e_bfmi" in found:
            distances.append(np.nan_to_num(E_BFMI / found["e_bfmi"].values, nan=0.0))
    # What is not a number cannot be worse.
    severity = np.nan_to_num(np.array(distances, float), nan=np.inf).max(0)
    order = np.lexsort((-severity, found["converged"].values))[:most]
    return [str(name) for name in names(found)[order]]


def table(found: xr.Dataset, some: list[str] | None = None) -> pd.DataFrame:
    """Tabulate the statistics of all cases, or of some by name, and what each case failed.

    Examples
    --------
    >>> columns = {"converged": ("case", [True, False]), "r_hat": ("case", [1.0, 1.3])}
    >>> table(xr.Dataset(columns, {"case": ["p", "q"]})).values.tolist()
    [['p', 1.0, True, ''], ['q', 1.3, False, 'R-hat']]
    """
    columns = {kind(found): names(found).astype(str)}
    columns |= {name: found[name].values for name in STATISTICS if name in found}
    columns |= {"converged": found["converged"].values, "failed": failures(found)}
    rows = pd.DataFrame(columns)
    return rows if some is None else rows.set_index(kind(found)).loc[some].reset_index()


def failures(found: xr.Dataset) -> list[str]:
    """Say of each case which statistics it failed by, nothing where it converged."""
    if "r_hat" not in found:
        return [""] * found["converged"].size
    wrong = {}
    for name in ("ess_bulk", "ess_tail"):
        if name in found:
            wrong[name] = ~(found[name].values >= least(found))
    if "n_diverging" in found:
        wrong["n_diverging"] = found["n_diverging"].values > 0
    if "e_bfmi" in found:
        wrong["e_bfmi"] = found["e_bfmi"].values < E_BFMI
    wrong = {"r_hat": ~(found["r_hat"].values <= r_hat_limits(found))} | wrong
    # What cases share may not have converged. Else, as of a case the greatest R-hat and the least ESS are known, which
    # may be those of two classes: whatever passes everything else failed by R-hat.
    remains = str(found.attrs.get("shared", STATISTICS["r_hat"]))
    texts = []
    for row, passed in enumerate(found["converged"].values):
        named = [STATISTICS[name] for name, which in wrong.items() if which[row]] or [remains]
        texts.append("" if passed else ", ".join(named))
    return texts


def r_hat_limits(found: xr.Dataset) -> np.ndarray:
    """Largest R-hat that counts as converged, by row of a table of convergence."""
    return found["r_hat_limit"].values if "r_hat_limit" in found else np.full(found["r_hat"].shape, R_HAT)


def checks(found: xr.Dataset) -> pd.DataFrame:
    """Table, for every statistic, of the worst value, whose it is, what is asked, and how many cases fail.

    ``failed`` is NaN where nothing is asked. Exact draws and point estimates have no rows.

    Examples
    --------
    >>> columns = {"converged": ("case", [True, False]), "r_hat": ("case", [1.0, 1.3])}
    >>> checks(xr.Dataset(columns, {"case": ["p", "q"]})).values.tolist()
    [['R-hat', 1.3, 'q', 'at most 1.01', 1.0]]
    """
    for_cases = f" ({found.attrs['enough_for_cases']} for cases)" if "enough_for_cases" in found.attrs else ""
    asked = {
        "r_hat": f"at most {R_HAT}",
        "ess_bulk": f"at least {least(found)}{for_cases}",
        "ess_tail": f"at least {least(found)}{for_cases}",
        "n_diverging": "none",
        "e_bfmi": f"at least {E_BFMI}",
        "at_max_depth": "rarely: it costs time",
    }
    failed = failures(found)
    rows = []
    for name, words in STATISTICS.items():
        if name not in found or "r_hat" not in found:
            continue
        values = found[name].values.astype(float)
        if name in ("e_bfmi", "at_max_depth") and np.isnan(values).all():
            continue  # no case has trajectories
        sign = -1 if name in GREATER_IS_WORSE else 1
        undefined = np.inf if name in ("e_bfmi", "at_max_depth") else -np.inf
        at = int(np.argmin(np.where(np.isnan(values), undefined, sign * values)))
        count = np.nan if name == "at_max_depth" else sum(words in text.split(", ") for text in failed)
        limit = r_hat_limits(found)[at] if name == "r_hat" else 0
        required = asked[name] + (f" (by chance up to {limit:.3f})" if limit > R_HAT else "")
        rows.append((words, values[at], str(names(found)[at]), required, float(count)))
    return pd.DataFrame(rows, columns=["statistic", "worst", kind(found), "asked", "failed"])


def least(found: xr.Dataset) -> int:
    """Effective sample size of all chains that each row of a table of convergence needs."""
    return int(found.attrs.get("enough", ESS_PER_CHAIN * int(found.attrs.get("chains", 4))))
