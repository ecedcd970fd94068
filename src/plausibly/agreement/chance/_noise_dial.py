"""A dial for noise: whether a measure falls from 1 to 0 as labels lose their meaning."""

from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from plausibly.agreement.chance._agreement import agreement
from plausibly.datasets import simulate_labels
from plausibly.distances import BY_TYPE, Distance


def noise_dial(
    kind: str,
    distances: Iterable[str | Distance | Callable[[Any, Any], float]] | None = None,
    noise: Iterable[float] = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1),
    *,
    n_cases: int = 50,
    n_annotators: int = 4,
    seed: int = 0,
    **arguments: Any,
) -> pd.DataFrame:
    """Measure agreement on simulated labels with increasing noise.

    With a suitable distance, agreement falls steadily from 1 to 0. If it falls at once, or late, the distance reflects
    only part of what annotators can disagree about.

    Parameters
    ----------
    kind
        Type of the labels (:func:`plausibly.datasets.simulate_labels`).
    distances
        Distances to use; by default all distances of the package for this type of label.
    noise
        Levels of noise, from 0 (annotators agree on everything) to 1 (labels have nothing to do with the case).
    n_cases, n_annotators
        Size of the simulated data.
    seed
        Random seed, the same for all levels.
    **arguments
        Further arguments of :func:`agreement`.

    Returns
    -------
    pandas.DataFrame
        Columns ``noise``, ``distance``, ``alpha``, ``ks_superiority``, ``ks_statistic`` and ``sigma``.

    Examples
    --------
    >>> table = noise_dial("vectors", ["rmse"], (0, 0.5, 1))
    >>> table["alpha"].round(1).tolist()
    [1.0, 0.2, -0.0]
    """
    rows = []
    for setting in noise:
        labels = simulate_labels(kind, noise=setting, n_cases=n_cases, n_annotators=n_annotators, seed=seed)
        for distance in BY_TYPE[kind] if distances is None else distances:
            found = agreement(labels, distance, seed=seed, **arguments).to_frame()
            rows.append(found.assign(noise=float(setting)))
    columns = ["noise", "distance", "alpha", "ks_superiority", "ks_statistic", "sigma"]
    return pd.concat(rows, ignore_index=True)[columns]
