"""Which distance tells agreement from chance best."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from plausibly.agreement.chance._agreement import agreement
from plausibly.agreement.chance._result import Agreement
from plausibly.base.errors import ArgumentError, DistanceError, PlausiblyWarning
from plausibly.data.labels.container import Labels
from plausibly.distances import BY_TYPE, ON_REQUEST, Distance, find_distance

BEST = 0.95  #: probability from which a distance is called the best
Candidate = str | Distance | Callable[[Any, Any], float]


@dataclass(frozen=True, eq=False)
class DistanceChoice:
    """Agreement under several distances.

    Parameters
    ----------
    results
        :class:`Agreement` by distance, best first.
    skipped
        Reason why a distance for the type of label was left out, by name of the distance.
    """

    results: Mapping[str, Agreement]
    skipped: Mapping[str, str] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """Distance with the highest superiority."""
        return next(iter(self.results))

    @property
    def table(self) -> pd.DataFrame:
        """One row per distance, best first.

        Columns ``distance``, ``ks_superiority`` (ties count against the distance), ``ks_ties`` (how much ties could add
        to it), ``ks_statistic``, ``sigma``, ``alpha``, ``observed`` and ``expected`` (mean distances), ``warnings``
        (sentences, separated by semicolons).
        """
        whole = pd.concat([found.to_frame() for found in self.results.values()], ignore_index=True)
        whole = whole[["ks_superiority", "ks_ties", "ks_statistic", "sigma", "alpha", "observed", "expected"]]
        whole.insert(0, "distance", list(self.results))
        return whole.assign(warnings=["; ".join(found.warnings) for found in self.results.values()])

    @property
    def p_best(self) -> float:
        """Probability that the first distance has the higher superiority of the first two, on new cases like these.

        By a normal approximation, with the standard error of the difference over cases; NaN for one distance or case.
        """
        if len(self.results) < 2:
            return float("nan")
        (above, size), (other, _) = (found.superiority_by_case() for found in list(self.results.values())[:2])
        used = np.flatnonzero(size)
        difference = (above - other).sum() / size.sum()
        left = (above - other - difference * size)[used]
        se = np.sqrt((left**2).sum() * len(used) / max(len(used) - 1, 1)) / size.sum()
        if len(used) < 2:
            return float("nan")
        return float(ndtr(difference / se)) if se > 0 else 1.0 if difference > 0 else 0.5

    @property
    def headline(self) -> str:
        """Which distance separates labels best, or that none can be called the best, in a sentence; empty for one."""
        first, *others = self.results
        if not others:
            return ""
        if self.p_best >= BEST:
            return f"{first} separates labels of one case from those of others best (P {min(self.p_best, 0.99):.2f})."
        sure = (
            "too few to tell"
            if np.isnan(self.p_best)
            else f"better than {others[0]} with probability {self.p_best:.2f}"
        )
        return f"No distance can be called best yet: {first} has the highest superiority, {sure}."

    def __repr__(self) -> str:
        return f"DistanceChoice({self.best!r} first of {', '.join(self.results)})"


def choose_distance(
    labels: Any, candidates: str | Iterable[Candidate] | Mapping[str, Candidate], **arguments: Any
) -> DistanceChoice:
    """Rank distances by how well they separate labels of the same case from labels of different cases.

    Alpha depends on the scale of a distance, so distances cannot be chosen by it; superiority depends only on the
    order of distances. Choose the distance by superiority, look at the histograms, then read its sigma: the share of
    pairs on a case that are closer than chance makes likely.

    Parameters
    ----------
    labels
        As for :func:`agreement`.
    candidates
        Names or functions, in a list or a mapping from names of your own; a single function; or a type of label
        (``"boxes"``, ``"spans"``, …), alone or in the list, for all its distances (:data:`plausibly.distances.BY_TYPE`)
        that accept the labels. ``"circular"`` is used only if named.
    **arguments
        Further arguments of :func:`agreement`.

    Returns
    -------
    DistanceChoice
        ``.table``, ``.best``, ``.p_best``, ``.headline``, ``.results``, ``.skipped``; draw it with
        :func:`plausibly.plots.agreement_histograms` and :func:`plausibly.plots.agreement_heatmap`.

    Raises
    ------
    ArgumentError
        If there are no candidates, or two have the same name.
    DistanceError
        If a candidate fails or does not accept the labels; the message begins with its name. If candidates are given as
        a type of label, such distances are skipped with a warning that says why, unless none is left.

    Examples
    --------
    >>> labels = {"p": {"ann": [1, 9], "bob": [2, 8]}, "q": {"ann": [7, 2], "bob": [8, 3]}}
    >>> choice = choose_distance(labels, "vectors")
    >>> choice.best, choice.table["distance"].tolist()
    ('rmse', ['rmse', 'share_unequal'])
    """
    preset = arguments.get("preset")
    named, of_type, skipped = _read_candidates(candidates, preset)
    if not named:
        raise ArgumentError("there are no candidates: give at least one distance.")
    labels = Labels.of(labels)
    found, refused = {}, []
    for name, distance in named.items():
        try:
            found[name] = agreement(labels, distance, **arguments)
        except DistanceError as error:
            if name in of_type:
                skipped[name] = str(error).rstrip(".")
            error.args = (f"{name}: {error}", *error.args[1:])
            if name not in of_type:
                raise
            refused.append(error)
    if not found:
        raise refused[0]
    for name, why in skipped.items():
        warnings.warn(f"the distance {name} is skipped: {why}", PlausiblyWarning, stacklevel=2)
    ranked = sorted(found.items(), key=lambda item: -item[1].ks.superiority)
    return DistanceChoice(dict(ranked), skipped)


def _read_candidates(candidates: Any, preset: str | None) -> tuple[dict[str, Distance], set[str], dict[str, str]]:
    """Read distances by name; those that only a type of label stands for; and those left out unless named."""
    if isinstance(candidates, Mapping):
        return {str(name): find_distance(one, preset) for name, one in candidates.items()}, set(), {}
    if isinstance(candidates, str) and candidates not in BY_TYPE:
        raise ArgumentError(
            f"there is no type of label {candidates!r}: choose from {', '.join(BY_TYPE)}, or list distances."
        )
    if isinstance(candidates, str) or callable(candidates):
        candidates = [candidates]
    if not isinstance(candidates, Iterable):
        raise ArgumentError(
            f"candidates are a type of label, or distances, but {candidates!r} was given: write for example 'boxes'."
        )
    named, grouped = {}, {}
    for one in candidates:
        if isinstance(one, str) and one in BY_TYPE:
            grouped |= {name: find_distance(name, preset) for name in BY_TYPE[one]}
            continue
        distance = find_distance(one, preset)
        if distance.name in named:
            raise ArgumentError(
                f"two candidates are called {distance.name!r}: give a mapping, such as "
                "{'strict': one, 'lenient': other}."
            )
        named[distance.name] = distance
    skipped = {name: f"{ON_REQUEST[name]}, ask for it by name" for name in grouped.keys() & ON_REQUEST - named.keys()}
    grouped = {name: one for name, one in grouped.items() if name not in named | skipped}
    return grouped | named, set(grouped), skipped
