"""How well the staged model predicts a second choice given the first, with and without dependence on the first.

``python -m benchmarks.second_choices`` takes the annotations of :mod:`benchmarks._data` or of ``--data FOLDER``. What
cases share is estimated from the cases outside ``--fold K`` of ``--folds``, with what follows a first choice
(``follow="inferred"``) and without (``follow="none"``). Every annotation of the fold that names two blocks or more is
left out in turn. Its score is the log probability that the class drawn after its first block lies in its second block,
whose tied classes add up, given its first block and the other annotations of its case; lengths of lists and sizes of
blocks are taken as given. Plausibilities are drawn from proposals, half of which know the second block, and weighted.
The table has means per annotation; standard errors are computed from the sum for each case.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.special import logsumexp

from benchmarks.models import read
from plausibly import Annotations
from plausibly.aggregation import settle
from plausibly.model_comparison._left_out import folds_of_cases, learn_from
from plausibly.priors._case_priors import CasePriors
from plausibly.priors.population import Population, at_population, case_priors
from plausibly.priors.population.staged_cases import StagedCases, propose
from plausibly.random_streams import Stream, case_keys, generator, stream_words

PROPOSALS = 2000  #: plausibilities of every case, half of them by proposals that know the second choice
_TOGETHER = 100  # cases

Rankings = dict[str, list[list[list[str]]]]  # blocks by case and annotation


def left_out(annotations: Annotations) -> tuple[Rankings, Rankings, np.ndarray]:
    """List what is known of each annotation of several blocks, and what is wanted.

    Returns
    -------
    tuple
        By number of the annotation the others of its case and, last, its first block; its first block followed by each
        class of its second, one after the other; and the case of each number.
    """
    given, wanted, cases = {}, {}, []
    for case in range(annotations.n_cases):
        rankings = list(annotations.rankings(case).values())
        for number, (first, *later) in enumerate(rankings):
            if later:
                name = f"{len(cases):06}"
                given[name] = [*rankings[:number], *rankings[number + 1 :], [first]]
                wanted[name] = [[first, [member]] for member in later[0]]
                cases.append(case)
    return given, wanted, np.array(cases)


def score(annotations: Annotations, population: Population, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log probability of each second choice given the first, its Monte Carlo error, and its case."""
    given, wanted, of_case = left_out(annotations)
    found = []
    for names in np.array_split(np.array(list(given)), -(-len(given) // _TOGETHER)):
        seen, named, both = (
            Annotations.from_rankings({"cases": {name: of(name) for name in names}}, annotations.classes)
            for of in (given.get, wanted.get, lambda name: given[name] + wanted[name])
        )
        heads = case_priors(population, seen).heads  # which do not know what is left out
        priors = at_population(replace(case_priors(population, both), heads=heads), population)
        found.append(_score(seen, named, priors, population, seed))
    value, error = np.concatenate(found, axis=1)
    return value, error, of_case


def _score(seen: Annotations, named: Annotations, priors: CasePriors, population: Population, seed: int) -> np.ndarray:
    shared = population.stages
    stages = shared.stages._replace(stop=None, tie=None)
    given, wanted = (StagedCases.of(some, priors, shared, population) for some in (seen, named))
    labels = wanted.later / np.diff(named.case_start)[priors.slots.case]
    known = replace(wanted, first=labels, later=0 * labels)
    logs = np.empty((PROPOSALS, len(priors.slots)))
    weight = np.empty((PROPOSALS, seen.n_cases))
    for case, word in enumerate(stream_words(case_keys(seed, seen.cases))[Stream.POPULATION]):
        own = slice(*priors.slots.start[case : case + 2])
        logs[:, own], log_proposal = propose(given, case, generator(word), PROPOSALS, known)
        weight[:, case] = -log_proposal
    drawn = given.by_annotation(logs, stages, shared.reliability)
    first = seen.case_start[1:] - 1
    lengths = np.broadcast_to(given.lengths(logs, shared.stages), drawn.shape).copy()
    lengths[:, first] = 0
    weight += np.add.reduceat(drawn + lengths, seen.case_start[:-1], axis=1)
    weight -= logsumexp(weight, axis=0)
    both = np.logaddexp.reduceat(wanted.by_annotation(logs, stages, shared.reliability), named.case_start[:-1], axis=1)
    value = both - drawn[:, first]
    total = logsumexp(weight + value, axis=0)
    return np.array([total, np.sqrt((np.exp(2 * weight) * np.expm1(value - total) ** 2).sum(0))])


def mean(values: np.ndarray, case: np.ndarray) -> tuple[float, float]:
    """Mean of values by annotation, and its standard error, cases being independent."""
    off = np.bincount(case, values - values.mean())
    return float(values.mean()), float(np.sqrt((off**2).sum()) / len(values))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.second_choices", description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with rankings and class names")
    parser.add_argument("--cases", type=int, help="how many cases, the first ones")
    parser.add_argument("--folds", type=int, default=4, help="number of folds of cases (4)")
    parser.add_argument("--fold", type=int, default=0, help="the fold to predict, counted from 0 (0)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (0)")
    given = parser.parse_args()
    annotations, what = read(given.data, given.cases)
    inside = folds_of_cases(annotations, given.folds, given.seed) == given.fold
    others, part = annotations.select(~inside), annotations.select(inside)
    found = {}
    for follow in ("inferred", "none"):
        settled = settle(others, "staged-plackett-luce", class_prior="population", follow=follow, seed=given.seed)
        population = learn_from(others, settled, seed=given.seed, progress=False)
        found[follow], error, case = score(part, population, given.seed)
        print(f"follow={follow}: {population.stages.describe()}, Monte Carlo error {np.sqrt((error**2).mean()):.3f}")
    print(f"{what}; fold {given.fold} of {given.folds}: {len(case):,} annotations of {part.n_cases:,} cases")
    for label, values in (*found.items(), ("difference", found["inferred"] - found["none"])):
        print("{:12}{:8.3f} ± {:.3f}".format(label, *mean(values, case)))


if __name__ == "__main__":
    main()
