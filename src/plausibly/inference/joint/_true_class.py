"""Models of one true class per case: what cases share, sampled, and the probability of each true class given it.

The Gibbs sampler alternates between the true classes of all cases and what the model declares of all else
(:class:`plausibly.TrueClass`). Plausibilities are computed from what cases share alone, so they vary less than the true
classes that were drawn. Every chain starts at true classes drawn from the votes of the case.

Its oracle is NumPyro's NUTS on the model's program, in which true classes are summed out; for small problems it is also
an engine.
"""

from collections.abc import Iterator, Mapping

import jax
import numpy as np
from jaxtyping import Float, Int
from numpyro.infer import MCMC, NUTS, init_to_value

from plausibly._progress import Progress
from plausibly.case import LabelledCases
from plausibly.model import Model

TARGET_ACCEPT = 0.9
START_WARMUP = 5  # sweeps after which NUTS starts

Shared = dict[str, Float[np.ndarray, "chain draw *shape"]]


def sample_shared(
    model: Model,
    labels: LabelledCases,
    *,
    engine: str,
    draws: int,
    chains: int,
    warmup: int,
    seed: int,
    progress: Progress,
) -> tuple[Shared, dict[str, np.ndarray]]:
    """Draw what cases share.

    Parameters
    ----------
    model
        Model with a :class:`plausibly.TrueClass`.
    labels
        Labels of all cases.
    engine
        ``"gibbs"`` or ``"nuts"``.
    draws, chains, warmup
        Kept draws of each chain, chains, and sweeps (Gibbs) or trajectories (NUTS) of each before the first draw.
    seed
        Random seed.
    progress
        Where to report.

    Returns
    -------
    tuple
        Draws (chain, draw, …) by site, and statistics (chain, draw) of the trajectories, if there are any.
    """
    if engine == "nuts":
        return _nuts(model, labels, draws, chains, warmup, seed)
    assert model.true_class is not None
    sites = model.true_class.sites
    advance = progress.task("Sampling what cases share", chains * (draws + warmup), "draws and warm-up sweeps")
    kept: list[dict[str, list]] = []
    for chain in range(chains):
        random = np.random.default_rng([seed, chain])
        sweeps = _sweeps(model, labels, random)
        found: dict[str, list] = {name: [] for name in sites}
        for _ in range(warmup):
            next(sweeps)
            advance(1)
        for _ in range(draws):
            for _ in range(model.true_class.thinning):
                values = next(sweeps)
            for name in sites:
                found[name].append(np.asarray(values[name]))
            advance(1)
        kept.append(found)
    return {name: np.stack([np.stack(found[name]) for found in kept]) for name in sites}, {}


def _sweeps(model: Model, labels: LabelledCases, random: np.random.Generator) -> Iterator[dict]:
    """Sweeps of one chain, without end."""
    assert model.true_class is not None
    truth = _categorical(labels.votes / np.maximum(labels.votes.sum(1, keepdims=True), 1), random)
    values = model.true_class.start(labels.count(truth), random)
    while True:
        of_class = np.bincount(truth, minlength=labels.n_classes)
        values = model.true_class.move(values, labels.count(truth), of_class, random)
        yield values
        log_joint = labels.log_joint(values["prevalence"], model.true_class.confusion(values))
        truth = _categorical(np.exp(log_joint - log_joint.max(1, keepdims=True)), random)


def _categorical(weights: Float[np.ndarray, "case class"], random: np.random.Generator) -> Int[np.ndarray, " case"]:
    total = weights.cumsum(1)
    return (total < random.random((len(weights), 1)) * total[:, -1:]).sum(1)


def _nuts(
    model: Model, labels: LabelledCases, draws: int, chains: int, warmup: int, seed: int
) -> tuple[Shared, dict[str, np.ndarray]]:
    assert model.true_class is not None
    sweeps = _sweeps(model, labels, np.random.default_rng(seed))
    values = [next(sweeps) for _ in range(START_WARMUP)][-1]
    kernel = NUTS(model.program, target_accept_prob=TARGET_ACCEPT, init_strategy=init_to_value(values=_inside(values)))
    sampler = MCMC(
        kernel,
        num_warmup=warmup,
        num_samples=draws,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    sampler.run(jax.random.key(seed), labels, extra_fields=("diverging", "num_steps", "energy"))
    found = sampler.get_samples(group_by_chain=True)
    fields = {name: np.asarray(value) for name, value in sampler.get_extra_fields(group_by_chain=True).items()}
    statistics = {"diverging": fields["diverging"], "n_steps": fields["num_steps"], "energy": fields["energy"]}
    return {name: np.asarray(found[name], float) for name in model.true_class.sites}, statistics


def _inside(values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Distributions that are nowhere nearly zero, where a chain would hardly move, and all else as it is."""
    inside = {}
    for name, value in values.items():
        array = np.asarray(value, np.float32)
        if array.ndim and np.allclose(array.sum(-1), 1, atol=1e-4) and (array >= 0).all():
            array = 0.9 * array + 0.1 / array.shape[-1]
        inside[name] = array
    return inside


def class_probabilities(
    model: Model, labels: LabelledCases, shared: Mapping[str, Float[np.ndarray, "chain draw *shape"]]
) -> tuple[Float[np.ndarray, "chain draw case class"], Float[np.ndarray, "chain draw case"]]:
    """Probability of each true class given the labels of a case, and log probability of these labels, by draw.

    Parameters
    ----------
    model
        Model with a :class:`plausibly.TrueClass`.
    labels
        Labels of all cases, or of some: they need not be those that the draws were conditioned on.
    shared
        Draws from :func:`sample_shared`.
    """
    by_chain = shared["prevalence"].shape[:2]
    n, k = labels.n_cases, labels.n_classes
    assert model.true_class is not None
    plausibility = np.empty((*by_chain, n, k), np.float32)
    total = np.empty((*by_chain, n), np.float32)
    for at in np.ndindex(by_chain):
        values = {name: draws[at] for name, draws in shared.items()}
        log_joint = labels.log_joint(values["prevalence"], model.true_class.confusion(values))
        largest = log_joint.max(1, keepdims=True)
        weights = np.exp(log_joint - largest)
        sums = weights.sum(1, keepdims=True)
        plausibility[at], total[at] = weights / sums, (largest + np.log(sums))[:, 0]
    return plausibility, total
