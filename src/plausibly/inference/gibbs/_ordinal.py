"""Scores as intervals of a latent scale: cutpoints, the prior that cases share, and draws by data augmentation.

Given the latent number of every score, mean and variance of a case have the posterior of normal scores; given these,
latent numbers are normal variables between two cutpoints (Albert & Chib 1993). The prior is that of the greatest
marginal likelihood: draws of the latent numbers and the best prior given them take turns, and the second half of the
turns is averaged (stochastic EM, Celeux & Diebolt 1985).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri

from plausibly.base.progress import Progress
from plausibly.data.annotations import Scores
from plausibly.data.case import NormalInverseGamma, ScoreSums
from plausibly.inference.chains import Sampler, abreast, doubled
from plausibly.inference.exact._scores import estimate_prior
from plausibly.inference.moves import Moves

ORDINAL_THINNING = 6  #: sweeps per kept draw
_TURNS = 40  # of stochastic EM


@dataclass(frozen=True)
class Categories:
    """Values that scores take, and the cutpoints between them."""

    values: Float[np.ndarray, " value"]  #: distinct scores, ascending
    cuts: Float[np.ndarray, " value+1"]  #: from minus to plus infinity
    typical: Float[np.ndarray, " value"]  #: a number of each interval on the latent scale

    @classmethod
    def of(cls, scores: Scores, cutpoints: str) -> "Categories":
        """Find cutpoints: ``"midpoints"`` of neighbouring values, or ``"inferred"`` from how often each is used."""
        values, counts = np.unique(scores.score, return_counts=True)
        if cutpoints == "midpoints":
            inner, typical = (values[1:] + values[:-1]) / 2, values
        else:
            share = np.cumsum(counts) / counts.sum()
            inner = ndtri(share[:-1])
            typical = ndtri(share - counts / counts.sum() / 2)
        return cls(values, np.concatenate([[-np.inf], inner, [np.inf]]), typical)

    def threshold(self, value: float) -> float:
        """Cutpoint between the scores up to a value and those above it."""
        return float(self.cuts[np.searchsorted(self.values, value, side="right")])

    def bounds(self, score: Float[np.ndarray, " score"]) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the intervals of scores."""
        at = np.searchsorted(self.values, score)
        return self.cuts[at], self.cuts[at + 1]


def _start(scores: Scores, categories: Categories) -> tuple[np.ndarray, np.ndarray]:
    typical = categories.typical[np.searchsorted(categories.values, scores.score)]
    sums = ScoreSums.of(replace(scores, score=typical))
    spread = max(float(typical.std()), 1e-3)
    return sums.mean, np.sqrt(sums.squares / sums.n + (spread / 4) ** 2)


def _update(
    scores: Scores,
    bounds: tuple[np.ndarray, np.ndarray],
    prior: NormalInverseGamma,
    mean: Float[np.ndarray, "*chain case"],
    sd: Float[np.ndarray, "*chain case"],
    random: Moves,
) -> tuple[Float[np.ndarray, "*chain score"], Float[np.ndarray, "*chain case"], Float[np.ndarray, "*chain case"]]:
    """One sweep: latent numbers, means and standard deviations."""
    case, first, n = scores.annotation_case, scores.case_start[:-1], np.diff(scores.case_start)
    z = random.between("latent", *bounds, mean[..., case], sd[..., case])
    centre = np.add.reduceat(z, first, axis=-1) / n
    squares = np.add.reduceat((z - centre[..., case]) ** 2, first, axis=-1)
    found = prior.posterior(n, centre, squares)
    variance = 1 / random.gammas("precision", found.shape, found.scale)
    mean = random.normals("mean", found.mean, np.sqrt(variance / found.strength))
    return z, mean, np.sqrt(variance)


def estimate_ordinal_prior(scores: Scores, categories: Categories, seed: int) -> NormalInverseGamma:
    """Prior on the latent scale under which the marginal likelihood of all scores is greatest."""
    random, bounds = Moves.of(seed, 1), categories.bounds(scores.score)
    typical = categories.typical[np.searchsorted(categories.values, scores.score)]
    prior = estimate_prior(replace(scores, score=typical), levels=categories.typical)
    mean, sd = _start(scores, categories)
    kept = []
    for turn in range(_TURNS):
        for _ in range(3):
            z, mean, sd = _update(scores, bounds, prior, mean, sd, random)
        prior = estimate_prior(replace(scores, score=z), levels=categories.typical)
        if 2 * turn >= _TURNS:
            kept.append([prior.mean, np.log(prior.strength), np.log(prior.shape), np.log(prior.scale)])
    m, *logs = np.mean(kept, axis=0)
    return NormalInverseGamma(float(m), *(float(np.exp(value)) for value in logs))


def ordinal(
    scores: Scores,
    categories: Categories,
    threshold: float,
    prior: NormalInverseGamma,
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int,
    progress: Progress,
) -> tuple[Float[np.ndarray, "chain draw slot"], dict[str, Float[np.ndarray, "chain draw case"]]]:
    """Draws of the shares of both classes of every case, and of mean and variance on the latent scale.

    ``threshold`` is the score that divides the classes; ``warmup`` counts sweeps of each chain.
    """
    together = abreast(len(scores.score))
    sweeps = partial(_sweeps, scores, categories, prior)
    sizes = {"draws": draws, "warmup": warmup, "seed": seed, "thinning": ORDINAL_THINNING}
    sampler = Sampler(sweeps, _kept, **sizes, abreast=together, twice=together > 1)
    found = sampler.sample(chains, progress, doing="Sampling scores")
    z = (categories.threshold(threshold) - found["mean"]) / np.sqrt(found["variance"])
    plausibility = np.stack([ndtr(z), ndtr(-z)], axis=-1).reshape(chains, draws, 2 * scores.n_cases)
    return plausibility.astype(np.float32), found


def _sweeps(
    scores: Scores,
    categories: Categories,
    prior: NormalInverseGamma,
    random: Moves,
    chains: int,
    double: int | None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Sweeps as :class:`Sampler` asks for."""
    bounds, (mean, sd) = categories.bounds(scores.score), _start(scores, categories)
    mean, sd = np.repeat(mean[None], chains, 0), sd * random.uniform(0.5, 2, (chains, scores.n_cases))
    for number in count():
        if number == double:
            mean, sd = doubled((mean, sd))
        _, mean, sd = _update(scores, bounds, prior, mean, sd, random)
        yield mean, sd


def _kept(state: tuple[np.ndarray, np.ndarray], _: int) -> dict[str, np.ndarray]:
    return {"mean": state[0], "variance": state[1] ** 2}
