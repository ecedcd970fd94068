r"""The shape of disagreement, freed: Dirichlet distributions tilted towards, or away from, classifiers' first choices.

Two to five labels a case do not show how often the most plausible class is the one that a classifier names. Here, the
density of the plausibilities of a case is

.. math::
   p(\lambda_i) \propto \mathrm{Dirichlet}(\lambda_i \mid \kappa_i m_i)
   \exp\Big(\sum_j \rho_j 1[\arg\max_k \lambda_{ik} = c_{ij}]\Big), \quad \rho_j \sim \mathcal{N}(0, 0.5^2),

with the first choice :math:`c_{ij}` of classifier :math:`j`. At :math:`\rho = 0` it is that of :func:`case_prior`.
Labels change the shapes by their counts :math:`n_i` and leave the tilt, so with
:math:`s_{ik} = \sum_j \rho_j 1[c_{ij} = k]`, their likelihood is that under the Dirichlet distribution, times

.. math::
   \frac{\sum_k P(\arg\max_l \lambda_{il} = k \mid \kappa_i m_i + n_i) e^{s_{ik}}}
   {\sum_k P(\arg\max_l \lambda_{il} = k \mid \kappa_i m_i) e^{s_{ik}}},

and the terms of the numerator are the posterior probabilities of each class to be the most plausible one.

Probability of each class to be the most plausible one under a Dirichlet distribution, differentiable in its shapes.

Plausibilities are gamma variables over their sum, so with the distribution functions :math:`F_k` of these,

.. math:: P(\arg\max_l \lambda_l = k) = \int \prod_{l \ne k} F_l(x) \, dF_k(x),

here a sum over nodes between the smallest and the largest quantile of the maximum. :math:`F_k` is an asymptotic
expansion (Temme 1979) for shapes from three on, to which smaller ones are raised by recursion: everything is in closed
form, so that gradients are cheap, and nothing iterates.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import erfc, gammaln
from jaxtyping import Array, Bool, Float, Int, Key

from plausibly.base.programs import kept_on_disk
from plausibly.data.annotations import Annotations
from plausibly.data.regression import prior_shapes
from plausibly.families.priors._predictions import PredictionsPrior
from plausibly.families.priors._program import Labels, label_log_prob, shared_parameters
from plausibly.families.priors.evidence import Evidence, labels_of
from plausibly.families.priors.fit import compiled, fit

NODES = 17  #: of the integral, an odd number
_BEYOND = 1e-3  # probability of the maximum below the first node, and above the last
_RAISED = 3  # by which shapes are raised
_NEAR = 0.05  # logarithm of x over the shape up to which series take the place of differences


def probability_of_most_plausible(
    shape: Float[Array, "case class"], present: Bool[Array, "case class"]
) -> Float[Array, "case class"]:
    """Probability of each class to be the most plausible one, among those that are present.

    References
    ----------
    Temme (1979), The asymptotic expansion of the incomplete gamma functions, SIAM Journal on Mathematical Analysis 10.
    """
    present = present.T  # cases last, in the order in which processors take numbers
    shape = jnp.where(present, jnp.maximum(shape.T, 1e-6), 0.0)
    lower, upper = jax.lax.stop_gradient(_ends(shape, present))
    nodes = lower + (upper - lower) * jnp.linspace(0, 1, NODES)[:, None]
    below = jnp.where(present, _distribution(shape, nodes[:, None]), 1.0)  # (node, class, case)
    logs = jnp.log(jnp.maximum(below, 1e-30))
    of_others = jnp.exp(logs.sum(1, keepdims=True) - logs)
    found = (4 * _integral(below, of_others) - _integral(below[::2], of_others[::2])) / 3  # Richardson's extrapolation
    found = jnp.where(present, jnp.maximum(found, 1e-12), 0.0)
    return (found / found.sum(0)).T


def _integral(
    below: Float[Array, "node class case"], of_others: Float[Array, "node class case"]
) -> Float[Array, "class case"]:
    return ((below[1:] - below[:-1]) * (of_others[1:] + of_others[:-1])).sum(0) / 2


def _ends(
    shape: Float[Array, "class case"], present: Bool[Array, "class case"]
) -> tuple[Float[Array, " case"], Float[Array, " case"]]:
    """Logarithms between which the largest of the gamma variables nearly always lies."""
    most = shape.max(0)
    spread = jnp.log(present.sum(0) / _BEYOND)
    upper = jnp.log(most + jnp.sqrt(2 * most * spread) + spread)  # Chernoff's bound
    lower = (jnp.log(_BEYOND) + gammaln(shape + 1).sum(0)) / shape.sum(0)  # F(x) is at most x^shape / Γ(shape + 1)
    root = 1 - 1 / (9 * most) - 3.1 / (3 * jnp.sqrt(most))  # of a quantile of the largest (Wilson and Hilferty)
    of_largest = jnp.log(most) + 3 * jnp.log(jnp.maximum(root, 0.1))
    return jnp.where(root > 0.1, jnp.maximum(lower, of_largest), lower), upper


def _distribution(shape: Float[Array, "*n"], log_x: Float[Array, "*m"]) -> Float[Array, "*l"]:
    """Distribution function of gamma variables, to 2e-4."""
    raised = shape + _RAISED
    off = log_x - jnp.log(raised)
    near = jnp.abs(off) < _NEAR
    excess = jnp.expm1(off)
    half = excess - off  # of the square of Temme's η
    eta = jnp.sign(off) * jnp.sqrt(2 * jnp.where(near, 1.0, half))
    eta = jnp.where(near, off * (1 + off / 6 + off**2 / 36), eta)
    first = 1 / jnp.where(near, 1.0, excess) - 1 / jnp.where(near, 1.0, eta)
    first = jnp.where(near, eta / 12 - 1 / 3, first)
    log_density = -raised * half - 0.5 * jnp.log(2 * np.pi * raised)
    found = 0.5 * erfc(-eta * jnp.sqrt(raised / 2)) - jnp.exp(log_density) * first
    steps = [shape + step for step in range(1, _RAISED + 1)]
    log_term = log_density - 1 / (12 * raised) + sum(map(jnp.log, steps)) - _RAISED * log_x
    x = jnp.exp(log_x)
    return jnp.clip(found + jnp.exp(log_term) * (1 + x / steps[0] * (1 + x / steps[1])), 0.0, 1.0)


ENOUGH_CASES, ENOUGH_NUMBERS = 2000, 3000  #: cases, and pairs of case and class, to learn from at most
PROPOSALS = 300  #: parameters drawn from an approximation
DRAWS = 300  #: of the accuracy
_USUAL_PLACES = 16  # of a case that has not one for each of its classes


class Places(NamedTuple):
    """Classes that may be the most plausible ones of cases, in as many places of every case."""

    class_index: Int[Array, "case place"]
    present: Bool[Array, "case place"]
    count: Float[Array, "case place"]  #: labels
    chosen: Float[Array, "classifier case place"]  #: whether it is the classifier's first choice

    @classmethod
    def of(
        cls, prior: PredictionsPrior, annotations: Annotations, choice: Int[np.ndarray, "classifier case"]
    ) -> "Places":
        """Lay out named, chosen and likely classes; where there are few classes, all."""
        slots, labels = prior.lay_out(annotations).slots, labels_of(annotations)
        place = np.arange(len(slots)) - slots.start[slots.case]
        shape = annotations.n_cases, int(place.max()) + 1
        class_index, count = np.full(shape, -1, np.int32), np.zeros(shape, np.float32)
        class_index[slots.case, place] = slots.class_index
        given = labels.count > 0
        at = slots.find(labels.case[given], labels.class_index[given])
        count[slots.case[at], place[at]] = labels.count[given]
        chosen = ((class_index == choice[..., None]) & (class_index >= 0)).astype(np.float32)
        return cls(np.maximum(class_index, 0), class_index >= 0, count, chosen)


def freed_case_prior(
    log_scores: Float[Array, "classifier case class"],
    log_prevalence: Float[Array, " class"],
    labels: Labels | None = None,
    places: Places | None = None,
    log_kappa: float | Float[Array, ""] = 1.0,
) -> None:
    """NumPyro program of :func:`case_prior` with the shape of disagreement freed; plausibilities are summed out."""
    parameters = shared_parameters(len(log_scores), len(log_prevalence), log_kappa)
    each = dist.Normal(0.0, 0.5).expand([len(log_scores)]).to_event(1)
    parameters["tilt"] = numpyro.sample("tilt", each)
    if labels is None or places is None:
        return
    shape = prior_shapes(parameters, log_scores, log_prevalence)
    numpyro.factor("labels", label_log_prob(shape, labels))
    shape = jnp.take_along_axis(shape, places.class_index, axis=1)
    given_labels, before = _tilted(jnp.stack([shape + places.count, shape]), places, parameters["tilt"])
    numpyro.factor("most_plausible", jnp.log(given_labels.sum(1) / before.sum(1)).sum())


def _tilted(
    shape: Float[Array, "*of case place"], places: Places, tilt: Float[Array, " classifier"]
) -> Float[Array, "*of case place"]:
    """Probability of each class to be the most plausible one, times what its tilt multiplies it by."""
    # All in one call, as more cases: the program takes seconds to compile.
    rows, present = shape.reshape(-1, shape.shape[-1]), jnp.broadcast_to(places.present, shape.shape)
    found = probability_of_most_plausible(rows, present.reshape(rows.shape)).reshape(shape.shape)
    return found * jnp.exp(jnp.einsum("j,jip->ip", tilt, places.chosen, precision="highest"))


def accuracies(
    annotations: Annotations,
    evidence: Evidence,
    choice: Int[np.ndarray, "classifier case"],
    *,
    seed: int,
    kappa: float | None = None,
) -> tuple[Float[np.ndarray, "classifier draw"], Float[np.ndarray, "classifier draw"]]:
    """Draw accuracies against the most plausible class given first choices of annotators, also with the shape freed.

    Of more than 2,000 cases, or of fewer with many classes, both are those of the same random sample, each drawn by
    importance.
    """
    most = min(ENOUGH_CASES, ENOUGH_NUMBERS // min(annotations.n_classes, _USUAL_PLACES))
    if few := annotations.n_cases > most:
        random = np.random.default_rng([int(seed), annotations.n_cases])
        chosen = np.sort(random.choice(annotations.n_cases, most, False))
        annotations, choice = annotations.select(chosen), choice[:, chosen]
    prior = PredictionsPrior.learn(annotations, evidence, draws=DRAWS, seed=seed, kappa=kappa, exact=not few)
    scores, labels = evidence.of_cases(annotations.cases), labels_of(annotations)
    places = Places.of(prior, annotations, choice)
    given = scores, prior.log_prevalence, labels, places, np.float32(1.0 if kappa is None else np.log(kappa))
    start = {name: values.mean(0) for name, values in prior.fit.parameters.items()}
    options = {"draws": DRAWS, "seed": seed, "start": start, "proposals": PROPOSALS, "width": 8 * NODES, "exact": False}
    freed = fit(freed_case_prior, *given, **options).parameters
    main = prior.fit.parameters | {"tilt": np.zeros((DRAWS, len(scores)), np.float32)}
    keys = jax.random.split(jax.random.key(int(seed)), DRAWS)
    with kept_on_disk():
        draw = compiled(_accuracies)
        found = [np.asarray(draw(of, keys, scores, prior.log_prevalence, places)).T for of in (main, freed)]
    return found[0], found[1]


def _accuracies(
    parameters: dict[str, Array],
    keys: Key[Array, " draw"],
    log_scores: Float[Array, "classifier case class"],
    log_prevalence: Float[Array, " class"],
    places: Places,
) -> Float[Array, "draw classifier"]:
    """Draw the most plausible class of every case, and count how often classifiers choose it."""

    def of_draw(given: tuple[dict[str, Array], Key[Array, ""]]) -> Float[Array, " classifier"]:
        own, key = given
        shape = jnp.take_along_axis(prior_shapes(own, log_scores, log_prevalence), places.class_index, axis=1)
        weight = _tilted(shape + places.count, places, own["tilt"])
        below = jnp.cumsum(weight, axis=1)
        drawn = (below < jax.random.uniform(key, (len(weight), 1)) * below[:, -1:]).sum(1)
        drawn = jnp.minimum(drawn, weight.shape[1] - 1)
        return jnp.take_along_axis(places.chosen, drawn[None, :, None], axis=2)[..., 0].mean(1)

    return jax.lax.map(of_draw, (parameters, keys))
