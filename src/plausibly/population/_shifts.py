"""Which classes a population prior moves, and by how much."""

import numpy as np
import pandas as pd

from plausibly.annotations import Annotations
from plausibly.population._case_priors import expected_labels
from plausibly.population._population import Population


def shifts(annotations: Annotations, population: Population) -> pd.DataFrame:
    """Compare expected plausibilities under a population prior with those under a uniform one of equal concentration.

    Parameters
    ----------
    annotations
        N cases over K classes.
    population
        Shared parameters, of these or of other cases.

    Returns
    -------
    pandas.DataFrame
        A row for every class that is named, the largest absolute shift first: ``class_name``; ``cases``, how many name
        it; ``prevalence`` in the population; means over these cases of the expected plausibility, ``uniform`` and
        ``population``, and their difference ``shift``; ``lost``, in how many of these cases it is the most plausible
        class under the uniform prior and not under the population's.

    Raises
    ------
    AnnotationError
        If the classes are not those of the population.

    Notes
    -----
    A population prior pulls rare classes towards common ones, which is what prediction wants, and not always what a
    rare disease deserves: look here before you rely on it. Expectations are those of the labels by which the population
    is estimated, in closed form, so that the table is the same for every aggregation model.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a"], ["b"]], classes=["a", "b"])
    >>> population = Population.of(["a", "b"], [0.9, 0.1], concentration=1.0)
    >>> shifts(annotations, population)["shift"].round(2).tolist()
    [0.2, -0.2]
    """
    k = annotations.n_classes
    flat = Population.of(population.classes, np.full(k, 1 / k), concentration=population.concentration)
    count, lost, sums = np.zeros(k), np.zeros(k), np.zeros((2, k))
    parts = zip(expected_labels(population, annotations), expected_labels(flat, annotations), strict=True)
    for (_, _, expected, _), (_, _, plain, named) in parts:
        count += np.bincount(named[1], minlength=k)
        sums += [np.bincount(named[1], found[named], k) for found in (plain, expected)]
        top = plain.argmax(1)
        lost += np.bincount(top[top != expected.argmax(1)], minlength=k)
    known = np.flatnonzero(count)
    means = sums[:, known] / count[known]
    table = pd.DataFrame(
        {
            "class_name": np.asarray(population.classes, str)[known],
            "cases": count[known].astype(int),
            "prevalence": population.prevalence[known],
            "uniform": means[0],
            "population": means[1],
            "shift": means[1] - means[0],
            "lost": lost[known].astype(int),
        }
    )
    return table.iloc[np.argsort(-table["shift"].abs().values, kind="stable")].reset_index(drop=True)
