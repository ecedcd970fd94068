"""Which distance tells agreement from chance best."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from plausibly.agreement.chance._agreement import agreement
from plausibly.agreement.chance._result import Agreement
from plausibly.distances import BY_TYPE, Distance, find_distance
from plausibly.errors import ArgumentError, DistanceError, PlausiblyWarning
from plausibly.labels._container import Labels

Candidate = str | Distance | Callable[[Any, Any], float]


@dataclass(frozen=True, eq=False)
class DistanceChoice:
    """Agreement by several distances.

    Parameters
    ----------
    results
        :class:`Agreement` by distance, best first.
    """

    results: Mapping[str, Agreement]

    @property
    def best(self) -> str:
        """The distance with the highest KS."""
        return next(iter(self.results))

    @property
    def table(self) -> pd.DataFrame:
        """One row per distance, best first.

        Columns ``distance``, ``ks_superiority``, ``ks_statistic``, ``sigma``, ``alpha``, ``observed`` and ``expected``
        (mean distances), ``warnings`` (sentences, separated by semicolons).
        """
        whole = pd.concat([found.to_frame() for found in self.results.values()], ignore_index=True)
        whole = whole[["ks_superiority", "ks_statistic", "sigma", "alpha", "observed", "expected"]]
        whole.insert(0, "distance", list(self.results))
        return whole.assign(warnings=["; ".join(found.warnings) for found in self.results.values()])

    def __repr__(self) -> str:
        return f"DistanceChoice(best {self.best!r} of {', '.join(self.results)})"


def choose_distance(
    labels: Any, candidates: str | Iterable[Candidate] | Mapping[str, Candidate], **arguments: Any
) -> DistanceChoice:
    """Rank distances by how well they tell labels on one case from labels on different cases.

    Alpha depends on the scale of a distance, so it cannot choose one; KS depends on the order of distances only. Choose
    by it, look at the histograms, then read sigma of the chosen one as a lower bound on agreement that is no chance.

    Parameters
    ----------
    labels
        As for :func:`agreement`.
    candidates
        Names or functions, in a list or a mapping from names of your own; a single function; or a type of label
        (``"boxes"``, ``"spans"``, …) for all its distances (:data:`plausibly.distances.BY_TYPE`).
    **arguments
        Further arguments of :func:`agreement`.

    Returns
    -------
    DistanceChoice
        ``.table``, ``.best``, ``.results``; draw it with :func:`plausibly.plots.agreement_histograms` and
        :func:`plausibly.plots.agreement_heatmap`.

    Raises
    ------
    ArgumentError
        If there are no candidates, or two of one name.
    DistanceError
        If a candidate fails, or cannot take the labels; the message begins with its name. Of a type of label, such
        distances are skipped with a warning, unless none is left.

    Examples
    --------
    >>> labels = {"p": {"ann": [1, 9], "bob": [2, 8]}, "q": {"ann": [7, 2], "bob": [8, 3]}}
    >>> choice = choose_distance(labels, "vectors")
    >>> choice.best, choice.table["distance"].tolist()
    ('rmse', ['rmse', 'share_unequal'])
    """
    group = isinstance(candidates, str)
    if group:
        if candidates not in BY_TYPE:
            raise ArgumentError(
                f"there is no type of label {candidates!r}: choose from {', '.join(BY_TYPE)}, or list distances."
            )
        candidates = list(BY_TYPE[candidates])
    if callable(candidates):
        candidates = [candidates]
    if not isinstance(candidates, Iterable):
        raise ArgumentError(
            f"candidates are a type of label, or distances, but {candidates!r} was given: write for example 'boxes'."
        )
    preset = arguments.get("preset")
    if isinstance(candidates, Mapping):
        named = {str(name): find_distance(one, preset) for name, one in candidates.items()}
    else:
        named = {}
        for one in candidates:
            distance = find_distance(one, preset)
            if distance.name in named:
                raise ArgumentError(
                    f"two candidates are called {distance.name!r}: give a mapping, such as "
                    "{'strict': one, 'lenient': other}."
                )
            named[distance.name] = distance
    if not named:
        raise ArgumentError("there are no candidates: give at least one distance.")
    labels = Labels.of(labels)
    found, skipped = {}, []
    for name, distance in named.items():
        try:
            found[name] = agreement(labels, distance, **arguments)
        except DistanceError as error:
            error.args = (f"{name}: {error}", *error.args[1:])
            if not group:
                raise
            skipped.append(error)
    if not found:
        raise skipped[0]
    for error in skipped:
        warnings.warn(f"skipped {str(error).rstrip('.')}", PlausiblyWarning, stacklevel=2)
    ranked = sorted(found.items(), key=lambda item: -item[1].ks.superiority)
    return DistanceChoice(dict(ranked))
