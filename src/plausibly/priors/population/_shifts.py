"""Which classes a population prior moves, and by how much."""

import json

import numpy as np
import pandas as pd

from plausibly._arviz import Posterior
from plausibly.annotations import Annotations
from plausibly.errors import ArgumentError
from plausibly.posterior import check_posterior
from plausibly.priors.population._case_priors import expected_labels
from plausibly.priors.population._population import Population

LARGEST = 30  #: rows that a posterior keeps
CLASS_SHIFTS = "class_shifts"  #: of a posterior
_DIGITS = 4
_NEXT_TO_NONE = 1e-6  # concentration of a prior that leaves shares as they are
_TIED = 1e-4


def shifts(annotations: Annotations, population: Population) -> pd.DataFrame:
    """Compare expected plausibilities under a population prior with the shares of labels, class by class.

    Parameters
    ----------
    annotations
        N cases over K classes.
    population
        Shared parameters, of these or of other cases.

    Returns
    -------
    pandas.DataFrame
        One row per named class, the largest absolute shift first: ``class_name``; ``cases``, the number of cases in
        which it is named; ``prevalence`` in the population; means over these cases of its ``share`` of the labels and
        of its expected ``plausibility``, and their difference ``shift``; ``lost``, the number of these cases in which
        it has more labels than any other class but is not the most plausible one.

    Raises
    ------
    AnnotationError
        If the classes are not those of the population.

    Notes
    -----
    A population prior pulls rare classes towards common ones. This improves predictions, but it can hide a rare
    disease, so look at this table before you rely on such a prior. Any prior takes plausibility from the named classes;
    this one takes least from classes that are common or often named together with the others. Expected plausibilities
    are computed in closed form, from the same labels as the population, so that the table is the same for every
    aggregation model; later ranks count as fractions of labels.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a"], ["b"]], classes=["a", "b"])
    >>> population = Population.of(["a", "b"], [0.9, 0.1], concentration=1.0)
    >>> shifts(annotations, population)[["class_name", "shift"]].round(2).values.tolist()
    [['b', -0.45], ['a', -0.05]]
    """
    k = len(population.classes)
    flat = Population.of(population.classes, np.full(k, 1 / k), concentration=_NEXT_TO_NONE)
    count, lost, sums = np.zeros(k), np.zeros(k), np.zeros((2, k))
    parts = zip(expected_labels(population, annotations), expected_labels(flat, annotations), strict=True)
    for (_, _, expected, _), (_, _, plain, named) in parts:
        count += np.bincount(named[1], minlength=k)
        sums += [np.bincount(named[1], found[named], k) for found in (plain, expected)]
        top = plain.argmax(1)
        alone = (plain > plain.max(1, keepdims=True) - _TIED).sum(1) == 1
        lost += np.bincount(top[alone & (top != expected.argmax(1))], minlength=k)
    known = np.flatnonzero(count)
    means = sums[:, known] / count[known]
    table = pd.DataFrame(
        {
            "class_name": np.asarray(population.classes, str)[known],
            "cases": count[known].astype(int),
            "prevalence": population.prevalence[known],
            "share": means[0],
            "plausibility": means[1],
            "shift": means[1] - means[0],
            "lost": lost[known].astype(int),
        }
    )
    return table.iloc[np.argsort(-table["shift"].abs().values, kind="stable")].reset_index(drop=True)


def shifts_text(annotations: Annotations, population: Population) -> str:
    """Write the largest shifts (:func:`shifts`) as JSON, which posteriors store as an attribute."""
    table = shifts(annotations, population).head(LARGEST)
    rounded = {name: table[name].round(_DIGITS) if table[name].dtype.kind == "f" else table[name] for name in table}
    return json.dumps({name: values.tolist() for name, values in rounded.items()})


def largest_shifts(posterior: Posterior) -> pd.DataFrame:
    """Look up which classes the population prior of a posterior moved most.

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.aggregate` with ``class_prior="population"``.

    Returns
    -------
    pandas.DataFrame
        The first 30 rows of :func:`shifts`, for all cases and the population that was used.

    Raises
    ------
    ArgumentError
        If the posterior has no population prior.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a"], ["a", "b"], ["a"], ["a", "a"]], classes=["a", "b"])
    >>> options = {"class_prior": "population", "draws": 10, "progress": False}
    >>> posterior = pb.aggregate(annotations, "dirichlet-categorical", **options)
    >>> bool(largest_shifts(posterior).set_index("class_name")["shift"]["b"] < 0)
    True
    """
    check_posterior(posterior)
    if CLASS_SHIFTS not in posterior.attrs:
        raise ArgumentError(
            "this posterior has no population prior, which could shift classes: aggregate with "
            "class_prior='population'."
        )
    return pd.DataFrame(json.loads(str(posterior.attrs[CLASS_SHIFTS])))
