r"""Estimating what annotators share, together with how plausibilities vary between cases.

Plausibilities of every case are drawn once from proposals that are wider than any posterior; the marginal likelihood of
the annotations under other shared parameters is a mean of their weights there, as smooth a function as the model's own.
Its greatest value, with the priors below, is found by a quasi-Newton method (L-BFGS-B); proposals are then drawn again,
with the concentration that was found, and the search goes on.

Priors, all normal on unbounded scales: :math:`\log A` around :math:`\log 5` and :math:`\log \tau` around
:math:`\log 0.5` (sd 1), :math:`\log \gamma_1` around 0 (sd 0.5), :math:`\log \rho` around :math:`\log 0.7`
(sd 0.7), :math:`\log \eta` around 0 (sd 1), :math:`\log \beta` around 0 (sd 0.7), :math:`\log \delta` around
:math:`\log 0.3` (sd 1), the log odds of :math:`w` around 0 and those of :math:`\epsilon_1` and
:math:`\epsilon` around 3 % (sd 2).
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize
from scipy.special import expit, gammaln, logit, logsumexp

from plausibly.annotations import Annotations
from plausibly.priors._case_priors import CasePriors
from plausibly.priors.population._case_priors import at_population, case_priors
from plausibly.priors.population._estimate import estimate
from plausibly.priors.population._population import Population
from plausibly.priors.population.shared_stages import SharedStages, Stages
from plausibly.priors.population.staged_cases import StagedCases, propose
from plausibly.random_streams import Stream, case_keys, generator, stream_words

MOST = 1200  #: cases by which shared parameters are estimated
FOLDS = 3  #: of cases, looked at under populations of the others
SWEEPS = 50  #: by which these are estimated, and as many before
FEW = 60  #: plausibilities of each case by which lengths of lists are estimated
#: cases, plausibilities of each at which they are looked at, and steps of the search, in each of two rounds
ROUNDS = ((300, 100, 12), (MOST, 100, 6))

#: what is estimated: where its prior is centred, and how wide, on its unbounded scale
PRIORS: Mapping[str, tuple[float, float]] = {
    "concentration": (np.log(5), 1.0),
    "spread": (np.log(0.5), 1.0),
    "reliability": (0.0, 0.5),
    "ratio": (np.log(0.7), 0.7),
    "dependence": (0.0, 2.0),
    "focus": (0.0, 1.0),
    "sharpness": (0.0, 0.7),
    "discount": (np.log(0.3), 1.0),
    "careless": (float(logit(0.03)), 2.0),
    "careless_later": (float(logit(0.03)), 2.0),
}
_SCALES = {name: expit if name in ("dependence", "careless", "careless_later") else np.exp for name in PRIORS}
_OF_DRAWS = Stages._fields[:-2]
_OFF = {**Stages()._asdict(), "spread": 0.0}
REACH = 3  #: standard deviations of the priors within which the search stays
_WIDE = 1.0  # spread of the proposals' concentrations
_STEP = 0.02


def estimate_stages(
    annotations: Annotations,
    population: Population,
    *,
    inferred: Mapping[str, bool],
    lengths: bool = True,
    reliability: float = 1.0,
    seed: int = 0,
    learnt: bool = True,
) -> Population:
    """Estimate the parameters that are ``inferred``; the result has them, concentration and spread included.

    ``learnt``: the population was learnt from these cases, so every case is looked at under one that was not.
    """
    names = [name for name in PRIORS if inferred.get(name)]
    values = _OFF | {"concentration": population.concentration, "reliability": reliability, "spread": population.spread}
    x = np.array([PRIORS[name][0] for name in names])
    shared, odds = SharedStages.count_namings(annotations, Stages(), reliability), Stages()
    parts = _parts(annotations, population, seed, learnt)
    centre, width = np.array([PRIORS[name] for name in names]).reshape(-1, 2).T

    def problems_at(now: dict[str, float], number: int, proposals: int, most: int) -> list["_Problem"]:
        some = [(part.select(np.arange(part.n_cases)[: most // len(parts)]), other) for part, other in parts]
        return [_Problem(*part, shared, odds, now, number, seed, proposals) for part in some]

    for number, (cases, proposals, steps) in enumerate(ROUNDS):
        problems = problems_at(values | _natural(names, x), number, proposals, cases)

        def loss(x: np.ndarray, problems=problems) -> float:
            at = values | _natural(names, x)
            return 0.5 * (((x - centre) / width) ** 2).sum() - sum(one.log_likelihood(at) for one in problems)

        if names:
            how = {"eps": _STEP, "maxiter": steps, "maxfun": 10 * steps * len(x)}
            bounds = list(zip(centre - REACH * width, centre + REACH * width, strict=True))
            x = minimize(loss, x, method="L-BFGS-B", bounds=bounds, options=how).x
    now = values | _natural(names, x)
    for _ in range(2 if lengths else 0):  # plausibilities are weighted by the lengths, too
        odds = _regress([one.of_blocks(now) for one in problems_at(now, len(ROUNDS), FEW, MOST)])
    stages = odds._replace(**{name: now[name] for name in _OF_DRAWS})
    shared = replace(shared, stages=stages, reliability=now["reliability"])
    return replace(population, concentration=now["concentration"], spread=now["spread"], stages=shared)


def _parts(annotations, population, seed, learnt) -> list[tuple[Annotations, Population]]:
    """Some cases, with populations that do not know them.

    Profiles that have learnt from a case fit it better than they would fit another, as if concentrations were greater.
    """
    order = np.random.default_rng(seed).permutation(annotations.n_cases)
    if not learnt or len(order) < 2 * FOLDS:
        return [(annotations.select(order[:MOST]), population)]
    found = []
    for fold in np.array_split(order, FOLDS):
        others = annotations.select(np.setdiff1d(order, fold))
        other = estimate(others, draws=SWEEPS, warmup=SWEEPS, chains=1, seed=seed, difficulty=population.spread > 0)
        found.append((annotations.select(fold[: MOST // FOLDS]), other))
    return found


def _natural(names: list[str], x: Float[np.ndarray, " inferred"]) -> dict[str, float]:
    return {name: float(_SCALES[name](value)) for name, value in zip(names, x, strict=True)}


class _Problem:
    """Plausibilities at which shared parameters are looked at."""

    def __init__(self, annotations, population, shared, odds, values, number, seed, proposals):
        wide = replace(population, concentration=values["concentration"], spread=max(_WIDE, values["spread"]))
        self.population = wide
        self.cases = StagedCases.of(annotations, case_priors(wide, annotations), shared, wide)
        priors = self.cases.priors
        self.logs = np.empty((proposals, len(priors.slots)))
        self.log_proposal = np.empty((proposals, annotations.n_cases))
        words = stream_words(case_keys(seed, annotations.cases))[Stream.POPULATION]
        for case, word in enumerate(words):
            own = slice(*priors.slots.start[case : case + 2])
            random = generator(word, 90 + number)
            self.logs[:, own], self.log_proposal[:, case] = propose(self.cases, case, random, proposals)
        self.log_proposal += log_density(priors, self.logs)
        of_lengths = self.cases.lengths(self.logs, odds)
        if np.ndim(of_lengths):
            self.log_proposal -= np.add.reduceat(of_lengths, annotations.case_start[:-1], axis=1)
        self._prior: tuple = (None, None)
        self._stages: tuple = (None, None)

    def log_weight(self, values: Mapping[str, float]) -> Float[np.ndarray, "draw case"]:
        """Log weights of the plausibilities; each of the two terms is kept until its parameters change."""
        key = values["concentration"], values["spread"]
        if self._prior[0] != key:
            changed = replace(self.population, concentration=key[0], spread=key[1])
            self._prior = key, log_density(at_population(self.cases.priors, changed), self.logs)
        key = tuple(values[name] for name in (*_OF_DRAWS, "reliability"))
        if self._stages[0] != key:
            stages = Stages(*key[:-1])
            self._stages = key, self.cases.log_likelihood(self.logs, stages, key[-1])
        return self._prior[1] + self._stages[1] - self.log_proposal

    def log_likelihood(self, values: Mapping[str, float]) -> float:
        """Log probability of the annotations, plausibilities averaged out.

        The logarithm of a mean of n weights lies below that of their expectation, by half their relative variance over
        n, to first order; without that term, concentrations under which weights vary less would seem the better ones.
        """
        weight = self.log_weight(values)
        n, total = len(weight), logsumexp(weight, axis=0)
        variance = n * np.exp(logsumexp(2 * weight, axis=0) - 2 * total) - 1
        return float((total - np.log(n) + variance / (2 * n)).sum())

    def of_blocks(self, values: Mapping[str, float]) -> list[np.ndarray]:
        """What ends of lists and ties depend on, see :meth:`StagedCases.blocks`, and the weights, all by draw."""
        weight = self.log_weight(values)
        weight = np.exp(weight - logsumexp(weight, axis=0))
        of = self.cases.annotations
        weight = weight[:, of.annotation_case[of.block_annotation]]
        return [np.broadcast_to(one, weight.shape).ravel() for one in (*self.cases.blocks(self.logs), weight)]


def _regress(parts: list[list[np.ndarray]]) -> Stages:
    """Regress ends of lists and ties on the number of classes named, the mass that is left, and the doubt."""
    columns = [np.concatenate(some) for some in zip(*parts, strict=True)]
    before, named, last, tied, log_left, doubt, weight = columns
    stop, tie = np.eye(3)[named - 1], np.eye(3)[before]
    return Stages(
        stop=_logistic(np.column_stack([stop, log_left, doubt]), last, weight),
        tie=_logistic(np.column_stack([tie, doubt]), tied, weight),
    )


def _logistic(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, ...]:
    """Logistic regression with a ridge, Newton's method."""
    beta = np.zeros(x.shape[1])
    for _ in range(25):
        p = expit(x @ beta)
        bend = (x.T * (weight * p * (1 - p))) @ x + 0.5 * np.eye(len(beta))
        beta = beta + np.linalg.solve(bend, x.T @ (weight * (y - p)) - 0.5 * beta)
    return tuple(beta.tolist())


def log_density(priors: CasePriors, logs: Float[np.ndarray, "draw slot"]) -> Float[np.ndarray, "draw case"]:
    """Log density of the prior of every case, as of the logarithms of plausibilities but one."""
    out = np.empty((len(logs), len(priors.slots.start) - 1))
    for case in range(out.shape[1]):
        own = slice(*priors.slots.start[case : case + 2])
        shape = priors.shape[:, own]
        norm = priors.log_weight[case] + gammaln(shape.sum(1)) - gammaln(shape).sum(1)
        out[:, case] = logsumexp(logs[:, own] @ shape.T + norm, axis=1)
    return out
