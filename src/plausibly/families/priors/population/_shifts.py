"""Which classes a population prior moves, and by how much; which cases are hardest under it."""

import json

import numpy as np
import pandas as pd

from plausibly.base.arviz import Posterior
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import Annotations
from plausibly.families.priors.population._case_priors import case_priors, expected_labels, nodes
from plausibly.families.priors.population._population import Population
from plausibly.posterior import check_posterior

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
    for (_, _, expected, *_), (_, _, plain, named, _) in parts:
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


def difficulties(annotations: Annotations, population: Population) -> pd.DataFrame:
    r"""Rank cases by difficulty, hardest first.

    The concentration of a case is :math:`A_i`, with :math:`\log A_i` normal around :math:`\log A`. If it is large,
    annotators of the case differ as much as annotators of all cases with the same head; if it is small, they agree on
    few classes.

    Parameters
    ----------
    annotations
        N cases over K classes.
    population
        Shared parameters, estimated with ``difficulty=True``.

    Returns
    -------
    pandas.DataFrame
        ``case``; ``annotators``, the number of annotators; ``difficulty``, the posterior mean of :math:`\log A_i - \log
        A`; ``sd``, its posterior standard deviation; ``top_class``, the class that is expected to be most plausible,
        and its ``plausibility``.

    Raises
    ------
    ArgumentError
        If the population has no spread of difficulty.

    Notes
    -----
    Difficulties are computed in closed form, from the same labels as the population. With few annotators, a case can
    hardly be distinguished from the mean.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "b", "a", "b"], ["a", "a", "a", "a"]])
    >>> population = Population(np.array(["a", "b"]), np.array([0.5, 0.5]), np.full((2, 2), 0.5), 2.0, spread=1.0)
    >>> difficulties(annotations, population)["case"].tolist()
    ['0', '1']
    """
    if not population.spread:
        raise ArgumentError(
            "difficulties need a population in which cases differ in difficulty, but in this one they do not: "
            "estimate it with difficulty=True."
        )
    factors, _ = nodes(population)
    priors = case_priors(population, annotations)
    counts = np.zeros(len(priors.core))
    top, share = [], []
    for part, _, expected, (case, label), counted in expected_labels(population, annotations):
        counts[priors.core.find(case + part.start, label)] = counted
        top.append(expected.argmax(1))
        share.append(expected.max(1))
    weight = priors.weights(counts)
    weight = weight.reshape(len(weight), len(factors), -1).sum(2)
    mean = weight @ np.log(factors)
    table = pd.DataFrame(
        {
            "case": annotations.cases,
            "annotators": np.diff(annotations.case_start),
            "difficulty": mean,
            "sd": np.sqrt(np.maximum(weight @ np.log(factors) ** 2 - mean**2, 0)),
            "top_class": np.asarray(population.classes, str)[np.concatenate(top)],
            "plausibility": np.concatenate(share),
        }
    )
    return table.iloc[np.argsort(-mean, kind="stable")].reset_index(drop=True)
