"""Which cases are hardest: the concentration of each case under a population prior."""

import numpy as np
import pandas as pd

from plausibly.annotations import Annotations
from plausibly.errors import ArgumentError
from plausibly.priors.population._case_priors import case_priors, expected_labels, nodes
from plausibly.priors.population._population import Population


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
    for part, _, expected, (case, label) in expected_labels(population, annotations, counted := []):
        counts[priors.core.find(case + part.start, label)] = counted.pop()
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
