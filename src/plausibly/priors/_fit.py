"""Posterior of what cases share: Laplace's approximation, corrected by importance weights, or else NUTS."""

from collections.abc import Callable
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpyro import handlers
from numpyro.infer import MCMC, NUTS
from numpyro.infer.util import log_density

from plausibly.inference._compilation import compiler_options, kept_on_disk
from plausibly.inference._laplace import laplace
from plausibly.priors._program import Labels, case_prior

PROPOSALS = 2000  #: parameters drawn from an approximation
ROUNDS = 4  #: approximations at most, each but the first made from the weighted proposals of the one before it
ENOUGH = 200  #: effective size of the weighted proposals below which NUTS samples instead
_HEAVY = 10.0  # degrees of freedom of the proposals, whose tails are heavier than those of the posterior
_TOGETHER = 2**22  # numbers in memory at once


class Fit(NamedTuple):
    """Draws of the shared parameters, and how they were made."""

    parameters: dict[str, Float[np.ndarray, "draw *shape"]]
    method: str  #: "importance" or "nuts"
    effective_size: float  #: of the weighted proposals


def fit(
    log_scores: Float[np.ndarray, "classifier case class"],
    log_prevalence: Float[np.ndarray, " class"],
    labels: Labels,
    *,
    draws: int,
    seed: int,
) -> Fit:
    """Draw what cases share from its posterior given the labels; the data are those of :func:`case_prior`.

    References
    ----------
    Tierney & Kadane (1986), Accurate approximations for posterior moments and marginal densities, Journal of the
    American Statistical Association 81.
    """
    given = log_scores, log_prevalence, labels
    with kept_on_disk():
        mode, hessian = _approximate(given)
        root = np.linalg.cholesky(np.linalg.inv(hessian))
        random = np.random.default_rng([int(seed), len(mode)])
        proposals, weight = _weighted(mode, root, given, random)
        for _ in range(ROUNDS - 1):
            if _effective_size(weight) >= ENOUGH:
                break
            mode, root = _fitted(proposals, weight)
            proposals, weight = _weighted(mode, root, given, random)
        effective = _effective_size(weight)
        if effective >= ENOUGH:
            places = (np.arange(draws) + random.random()) / draws  # systematic: each about as often as it weighs
            chosen = np.minimum(np.searchsorted(np.cumsum(weight), places), PROPOSALS - 1)
            vectors, method = proposals[random.permutation(chosen)], "importance"
        else:
            vectors, method = _by_nuts(mode, root, given, draws, seed), "nuts"
    _, places = _layout(len(log_scores), len(log_prevalence))
    return Fit({name: part(vectors) for name, part in places.items()}, method, effective)


def _weighted(
    center: np.ndarray, root: np.ndarray, given: tuple[Any, ...], random: np.random.Generator
) -> tuple[Float[np.ndarray, "proposal parameter"], Float[np.ndarray, " proposal"]]:
    """Draw proposals from a multivariate t distribution, and weigh them by the posterior."""
    steps = random.standard_normal((PROPOSALS, len(center)))
    steps *= np.sqrt(_HEAVY / random.chisquare(_HEAVY, (PROPOSALS, 1)))
    proposals = (center + steps @ root.T).astype(np.float32)
    logs = np.asarray(compiled(_log_probabilities)(proposals, *given), np.float64)
    logs += (_HEAVY + len(center)) / 2 * np.log1p((steps**2).sum(1) / _HEAVY)
    weight = np.exp(logs - logs.max())
    return proposals, weight / weight.sum()


def _effective_size(weight: Float[np.ndarray, " proposal"]) -> float:
    return float(1 / (weight**2).sum())


def _fitted(
    proposals: Float[np.ndarray, "proposal parameter"], weight: Float[np.ndarray, " proposal"]
) -> tuple[Float[np.ndarray, " parameter"], Float[np.ndarray, "parameter other"]]:
    """Mean of weighted proposals and root of their covariance; a few large weights are cut, so that many count."""
    for _ in range(30):
        if _effective_size(weight) >= len(weight) / 10:
            break
        weight = np.minimum(weight, weight.max() / 2)
        weight = weight / weight.sum()
    center = weight @ proposals
    off = proposals - center
    return center, np.linalg.cholesky((off * weight[:, None]).T @ off + 1e-8 * np.eye(len(center)))


@cache
def _layout(n_classifiers: int, n_classes: int) -> tuple[np.ndarray, dict[str, Callable[[Any], Any]]]:
    """Prior mean of all parameters as one vector, and for every parameter the function that takes it from vectors."""
    nothing = np.zeros((n_classifiers, 1, n_classes), np.float32), np.zeros(n_classes, np.float32)
    sites = handlers.trace(handlers.seed(case_prior, 0)).get_trace(*nothing).values()
    means = {site["name"]: np.asarray(site["fn"].mean) for site in sites if site["type"] == "sample"}
    ends = np.cumsum([mean.size for mean in means.values()])
    places = {
        name: itemgetter((..., slice(end - mean.size, end) if mean.ndim else end - 1))
        for (name, mean), end in zip(means.items(), ends.tolist(), strict=True)
    }
    return np.concatenate([mean.ravel() for mean in means.values()]), places


def _log_probability(vector: Float[Array, " parameter"], *given: Any) -> Float[Array, ""]:
    log_scores, log_prevalence, _ = given
    _, places = _layout(len(log_scores), len(log_prevalence))
    return log_density(case_prior, given, {}, {name: part(vector) for name, part in places.items()})[0]


def _log_probabilities(vectors: Float[Array, "proposal parameter"], *given: Any) -> Float[Array, " proposal"]:
    log_scores = given[0]
    size = max(1, min(len(vectors), _TOGETHER // (log_scores.shape[1] * log_scores.shape[2])))
    return jax.lax.map(lambda vector: _log_probability(vector, *given), vectors, batch_size=size)


@cache
def compiled(function: Callable[..., Array]) -> Callable[..., Any]:
    """Compile for a little while: the programs run for a second or less."""
    return jax.jit(function, compiler_options=compiler_options())


_value_and_gradient = jax.value_and_grad(_log_probability)


def _approximate(
    given: tuple[Any, ...],
) -> tuple[Float[np.ndarray, " parameter"], Float[np.ndarray, "parameter other"]]:
    """Find the mode, and the negative Hessian there."""
    log_scores, log_prevalence, _ = given

    def log_density(vector: np.ndarray) -> tuple[Any, Any]:
        return compiled(_value_and_gradient)(vector, *given)

    return laplace(log_density, _layout(len(log_scores), len(log_prevalence))[0])


def _by_nuts(
    mode: np.ndarray, root: np.ndarray, given: tuple[Any, ...], draws: int, seed: int
) -> Float[np.ndarray, "draw parameter"]:
    """Sample the parameters in coordinates in which the approximation is a standard normal distribution."""
    center, scale = jnp.asarray(mode, jnp.float32), jnp.asarray(root, jnp.float32)
    kernel = NUTS(potential_fn=lambda u: -_log_probability(center + scale @ u, *given))
    sampler = MCMC(kernel, num_warmup=300, num_samples=draws, progress_bar=False)
    sampler.run(jax.random.key(int(seed)), init_params=jnp.zeros(len(mode)))
    return np.asarray(center + sampler.get_samples() @ scale.T)
