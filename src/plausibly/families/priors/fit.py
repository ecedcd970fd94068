"""Posterior of what cases share: Laplace's approximation, corrected by importance weights, or else NUTS."""

from collections.abc import Callable
from functools import cache, lru_cache
from hashlib import blake2b
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpyro import handlers
from numpyro.infer import MCMC, NUTS
from numpyro.infer.util import log_density
from scipy.optimize import minimize

from plausibly.base.compute import compiler_options
from plausibly.base.programs import kept, kept_on_disk

PROPOSALS = 2000  #: parameters drawn from an approximation
ROUNDS = 4  #: approximations at most, each but the first made from the weighted proposals of the one before it
ENOUGH = 200  #: effective size of the weighted proposals below which NUTS samples instead
_HEAVY = 10.0  # degrees of freedom of the proposals, whose tails are heavier than those of the posterior
_TOGETHER = 2**20  # numbers in memory at once
_LARGE = 2**12  # pairs of case and class from which programs that run twice as fast are worth compiling
_POLISH = 10  # Newton steps of Laplace's approximation at most


class Fit(NamedTuple):
    """Draws of the shared parameters, and how they were made."""

    parameters: dict[str, Float[np.ndarray, " draw *shape"]]
    method: str  #: "importance" or "nuts"
    effective_size: float  #: of the weighted proposals


def fit(
    program: Callable[..., None],
    *given: Any,
    draws: int,
    seed: int,
    start: dict[str, Float[np.ndarray, "*shape"]] | None = None,
    proposals: int = PROPOSALS,
    width: int = 1,
    exact: bool = True,
) -> Fit:
    """Draws of what cases share from its posterior, given log scores, log prevalence and what else the program takes.

    The program, such as :func:`case_prior`, has the same parameters without data but scores and prevalence. The mode is
    searched from ``start``, and otherwise from the prior means. ``width`` is the number of numbers that the program
    keeps in memory for each case and class. If too few ``proposals`` count after some rounds, NUTS samples where
    ``exact``. Tierney & Kadane (1986), Accurate approximations for posterior moments and marginal densities, Journal of
    the American Statistical Association 81.
    """
    places = _layout(program, len(given[0]), len(given[1]))[1]
    found = _proposed(program, _Inputs(given, start), seed, proposals, width)
    enough = found.effective_size >= ENOUGH * proposals / PROPOSALS
    if enough or not exact:
        random = np.random.default_rng()
        random.bit_generator.state = found.state
        at = (np.arange(draws) + random.random()) / draws  # systematic: each about as often as it weighs
        chosen = np.minimum(np.searchsorted(np.cumsum(found.weight), at), proposals - 1)
        vectors = found.vectors[random.permutation(chosen)]
    else:
        density = _density(program, len(given[0]), len(given[1]))
        with kept_on_disk():
            vectors = _by_nuts(found.center, found.root, density, given, draws, seed)
    method = "importance" if enough or not exact else "nuts"
    return Fit({name: part(vectors) for name, part in places.items()}, method, found.effective_size)


class _Inputs:
    """What a fit is given, the same if all numbers are."""

    def __init__(self, given: tuple[Any, ...], start: dict[str, Any] | None):
        self.given, self.start = given, start
        digest = blake2b()
        for path, values in jax.tree_util.tree_leaves_with_path((given, start)):
            array = np.ascontiguousarray(values)
            digest.update(f"{path} {array.dtype} {array.shape}".encode() + array.tobytes())
        self.digest = digest.digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Inputs) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


class _Proposed(NamedTuple):
    """Weighted proposals, and the approximation that they were drawn from."""

    vectors: Float[np.ndarray, "proposal parameter"]
    weight: Float[np.ndarray, " proposal"]
    center: Float[np.ndarray, " parameter"]
    root: Float[np.ndarray, "parameter other"]
    state: Any  #: of the generator that drew them, from which draws go on

    @property
    def effective_size(self) -> float:
        return _effective_size(self.weight)


@lru_cache(maxsize=1)  # the posterior and its checks need the same
def _proposed(program: Callable[..., None], inputs: _Inputs, seed: int, proposals: int, width: int) -> _Proposed:
    """Approximate the posterior, and weigh proposals by it."""
    given = inputs.given
    log_scores, log_prevalence = given[:2]
    middle, places = _layout(program, len(log_scores), len(log_prevalence))
    middle = middle.copy()
    for name, values in (inputs.start or {}).items():
        places[name](middle)[...] = values
    density = _density(program, len(log_scores), len(log_prevalence))
    most = min(proposals, max(1, _TOGETHER // (width * log_scores.shape[1] * log_scores.shape[2])))
    together = next(n for n in range(most, 0, -1) if proposals % n == 0)  # of a rest, a second program would be traced
    of_many = _of_many(density, together)
    with kept_on_disk():
        given = jax.tree.map(jnp.asarray, given)  # sent once, not for each of a hundred steps
        mode, hessian = laplace(lambda vector: compiled(_with_gradient(density))(vector, *given), middle)
        root = np.linalg.cholesky(np.linalg.inv(hessian))
        random = np.random.default_rng([int(seed), len(mode)])
        vectors, weight = _weighted(mode, root, of_many, given, proposals, random)
        for _ in range(ROUNDS - 1):
            if _effective_size(weight) >= ENOUGH * proposals / PROPOSALS:
                break
            mode, root = _fitted(vectors, weight)
            vectors, weight = _weighted(mode, root, of_many, given, proposals, random)
    return _Proposed(vectors, weight, mode, root, random.bit_generator.state)


def _weighted(
    center: np.ndarray,
    root: np.ndarray,
    of_many: Callable[..., Array],
    given: tuple[Any, ...],
    n: int,
    random: np.random.Generator,
) -> tuple[Float[np.ndarray, "proposal parameter"], Float[np.ndarray, " proposal"]]:
    """Draw proposals from a multivariate t distribution, and weigh them by the posterior."""
    steps = random.standard_normal((n, len(center)))
    steps *= np.sqrt(_HEAVY / random.chisquare(_HEAVY, (n, 1)))
    proposals = (center + steps @ root.T).astype(np.float32)
    logs = np.asarray(compiled(of_many, large=prod(given[0].shape[1:]) >= _LARGE)(proposals, *given), np.float64)
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
def _layout(
    program: Callable[..., None], n_classifiers: int, n_classes: int
) -> tuple[np.ndarray, dict[str, Callable[[Any], Any]]]:
    """Prior mean of all parameters as one vector, and for every parameter the function that takes it from vectors."""
    nothing = np.zeros((n_classifiers, 1, n_classes), np.float32), np.zeros(n_classes, np.float32)
    at_means = handlers.substitute(program, substitute_fn=_prior_mean)  # which draws nothing
    means = {name: np.asarray(site["value"]) for name, site in handlers.trace(at_means).get_trace(*nothing).items()}
    ends = np.cumsum([mean.size for mean in means.values()])
    places = {
        name: itemgetter((..., slice(end - mean.size, end) if mean.ndim else end - 1))
        for (name, mean), end in zip(means.items(), ends.tolist(), strict=True)
    }
    return np.concatenate([mean.ravel() for mean in means.values()]), places


def _prior_mean(site: dict[str, Any]) -> Any:
    return site["fn"].mean if site["type"] == "sample" else None


@cache
def _density(program: Callable[..., None], n_classifiers: int, n_classes: int) -> Callable[..., Array]:
    """Log density of parameters, as one vector, and data; the same function for the same program and sizes."""
    _, places = _layout(program, n_classifiers, n_classes)

    def log_probability(vector: Float[Array, " parameter"], *given: Any) -> Float[Array, ""]:
        return log_density(program, given, {}, {name: part(vector) for name, part in places.items()})[0]

    return log_probability


@cache
def _of_many(density: Callable[..., Array], together: int) -> Callable[..., Array]:
    """Log density of many vectors, some of them at once."""

    def log_probabilities(vectors: Float[Array, "proposal parameter"], *given: Any) -> Float[Array, " proposal"]:
        return jax.lax.map(lambda vector: density(vector, *given), vectors, batch_size=together)

    return log_probabilities


@cache
def compiled(function: Callable[..., Any], *, large: bool = False) -> Callable[..., Any]:
    """Compile for a little while, as the programs run for a second or less, unless data are large."""
    return kept(jax.jit(function, compiler_options=compiler_options(repeated=large)))


_with_gradient = cache(jax.value_and_grad)


def _by_nuts(
    mode: np.ndarray,
    root: np.ndarray,
    density: Callable[..., Array],
    given: tuple[Any, ...],
    draws: int,
    seed: int,
) -> Float[np.ndarray, "draw parameter"]:
    """Sample the parameters in coordinates in which the approximation is a standard normal distribution."""
    center, scale = jnp.asarray(mode, jnp.float32), jnp.asarray(root, jnp.float32)
    kernel = NUTS(potential_fn=lambda u: -density(center + scale @ u, *given))
    sampler = MCMC(kernel, num_warmup=300, num_samples=draws, progress_bar=False)
    sampler.run(jax.random.key(int(seed)), init_params=jnp.zeros(len(mode)))
    return np.asarray(center + sampler.get_samples() @ scale.T)


def laplace(
    log_density: Callable[[np.ndarray], tuple[Any, Any]], start: Float[np.ndarray, " parameter"]
) -> tuple[Float[np.ndarray, " parameter"], Float[np.ndarray, "parameter other"]]:
    """Find the mode of a density, and the negative Hessian there by differences of gradients.

    ``log_density`` returns the logarithm and its gradient, in single precision.

    Examples
    --------
    >>> mode, hessian = laplace(lambda x: (-2 * ((x - 1) ** 2).sum(), -4 * (x - 1)), np.zeros(2))
    >>> mode.round(3).tolist(), hessian.round(2).tolist()
    ([1.0, 1.0], [[4.0, 0.0], [0.0, 4.0]])
    """

    def negative(vector: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = log_density(vector.astype(np.float32))
        return -float(value), -np.asarray(gradient, np.float64)

    at = minimize(negative, start, jac=True, method="L-BFGS-B").x
    scale = np.full(len(at), 0.1)
    for _ in range(_POLISH):
        columns = [
            (negative(at + step)[1] - negative(at - step)[1]) / (2 * size)
            for step, size in zip(np.diag(scale), scale, strict=True)
        ]
        hessian = (np.array(columns) + np.array(columns).T) / 2
        values, vectors = np.linalg.eigh(hessian)
        values = np.maximum(np.abs(values), 0.1)  # less than any prior has
        here, gradient = negative(at)
        hessian, along = vectors * values @ vectors.T, vectors.T @ gradient
        before, scale = scale, np.sqrt(np.diag(np.linalg.inv(hessian))) / 2  # over about a standard deviation
        if (along**2 / values).sum() < 1e-3:
            break
        step = vectors @ (along / values)
        shares = (share for share in (1, 1 / 2, 1 / 4) if negative(at - share * step)[0] <= here)
        share = next(shares, 0)  # a whole step may go too far; else differences were over too much, and are less next
        if not share and np.allclose(scale, before, rtol=0.01):
            break  # single precision tells no better point
        at = at - share * step
    return at, hessian
