"""One coin: every case has one true class, and an annotator is right with one probability, whatever the class."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import Float, Int
from scipy.special import expit, log_ndtr, ndtri_exp

from plausibly.case import LabelledCases
from plausibly.model import Model, TrueClass
from plausibly.models.dawid_skene import PAUN, SKENE, dirichlet, slice_draw, sum_out_truth

LOCATION, SCALE = 1.0, 1.5  # of the mean log odds of being right
SPREAD = 1.0  # scale of the standard deviation of annotators' log odds


def one_coin(labels: LabelledCases) -> None:
    r"""All cases as one model.

    .. math::
       \pi \sim \mathrm{Dirichlet}(1), \quad
       m \sim \mathrm{Normal}(1, 1.5) \; [m > -\log(K - 1)], \quad s \sim \mathrm{HalfNormal}(1), \quad
       \mathrm{logit}\, a_r \sim \mathrm{Normal}(m, s), \quad z_i \sim \mathrm{Categorical}(\pi), \quad
       p(y_{ir} = j) = \begin{cases} a_r & j = z_i \\ (1 - a_r) / (K - 1) & j \ne z_i \end{cases}

    The true class :math:`z_i` is summed out; the plausibility of a class is its probability given the labels and what
    cases share.

    Parameters
    ----------
    labels
        Labels of all cases by known annotators.

    Notes
    -----
    Wrong labels are spread evenly over the other classes, and accuracies are pooled on the logit scale. The
    prior 90 % interval of a typical annotator's accuracy is 0.2 to 0.97. A typical annotator is better than chance
    (the bound of :math:`m`), and chains start at the majority vote, so classes do not change places.

    References
    ----------
    Dawid & Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied
    Statistics 28; Paun et al. (2018), Comparing Bayesian models of annotation, Transactions of the ACL 6.
    """
    k = labels.n_classes
    prevalence = numpyro.sample("prevalence", dist.Dirichlet(jnp.ones(k)))
    mean = numpyro.sample("mean_log_odds", dist.TruncatedNormal(LOCATION, SCALE, low=-np.log(k - 1)))
    spread = numpyro.sample("spread", dist.HalfNormal(SPREAD))
    with numpyro.plate("annotators", labels.n_annotators):
        deviation = numpyro.sample("deviation", dist.Normal(0, 1))
    log_odds = mean + spread * deviation
    accuracy = numpyro.deterministic("accuracy", jax.nn.sigmoid(log_odds))
    wrong = jax.nn.sigmoid(-log_odds) / (k - 1)
    confusion = jnp.where(jnp.eye(k, dtype=bool), accuracy[:, None, None], wrong[:, None, None])
    sum_out_truth(labels, prevalence, confusion)


def start(counts: Int[np.ndarray, "annotator class named"], random: np.random.Generator) -> dict[str, Any]:
    """Start near what the majority vote says of the annotators together."""
    right = np.trace(counts, axis1=1, axis2=2)
    k = counts.shape[-1]
    share = (right.sum() + 2) / (counts.sum() + 3)
    mean = max(float(np.log(share / (1 - share))), 0.1 - np.log(k - 1))
    log_odds = mean + 0.1 * random.standard_normal(len(counts))
    return {
        "mean_log_odds": mean,
        "spread": random.uniform(0.3, 1.0),
        "log_odds": log_odds,
        "accuracy": expit(log_odds),
    }


def move(
    values: dict[str, Any],
    counts: Int[np.ndarray, "annotator class named"],
    truth: Int[np.ndarray, " class"],
    random: np.random.Generator,
) -> dict[str, Any]:
    """Draw everything shared, given the true classes.

    Log odds are drawn by slices, each by itself; mean and spread given them; then mean and spread again with the
    standardised deviations held, which suits annotators of few labels (Yu & Meng 2011, To center or not to center).
    """
    labels = np.trace(counts, axis1=1, axis2=2), counts.sum((1, 2))
    lowest = float(-np.log(counts.shape[-1] - 1))
    mean, spread, x = values["mean_log_odds"], values["spread"], values["log_odds"]
    share = (labels[0] + 1) / (labels[1] + 2)
    width = 5 / np.sqrt(spread**-2 + labels[1] * share * (1 - share))
    x = slice_draw(x, width, lambda x: of_labels(x, *labels) - ((x - mean) / spread) ** 2 / 2, random)

    precision = SCALE**-2 + len(x) / spread**2
    centre = (LOCATION / SCALE**2 + x.sum() / spread**2) / precision
    mean = above(lowest, float(centre), float(precision**-0.5), random)
    wide, squares = np.full(1, 5 / np.sqrt(len(x)) + 0.5), ((x - mean) ** 2).sum()
    log_spread = slice_draw(
        np.log([spread]),
        wide,
        lambda log: of_spread(log) - len(x) * log - squares / (2 * np.exp(2 * log)),
        random,
    )

    deviation = (x - mean) / np.exp(log_spread)
    spread = np.exp(log_spread)
    to = slice_draw(
        np.array([mean]),
        wide,
        lambda to: of_mean(to, lowest) + of_labels(to + spread * deviation, *labels).sum(),
        random,
    )
    log_spread = slice_draw(
        log_spread,
        wide,
        lambda log: of_spread(log) + of_labels(to + np.exp(log) * deviation, *labels).sum(),
        random,
    )
    mean, spread = float(to[0]), float(np.exp(log_spread)[0])
    x = mean + spread * deviation
    return {
        "prevalence": dirichlet(1 + truth, random),
        "mean_log_odds": mean,
        "spread": spread,
        "log_odds": x,
        "accuracy": expit(x),
    }


def of_labels(
    x: Float[np.ndarray, " annotator"], right: Int[np.ndarray, " annotator"], total: Int[np.ndarray, " annotator"]
) -> Float[np.ndarray, " annotator"]:
    """Log probability that so many of all labels of each annotator are right, given log odds."""
    return right * x - total * np.logaddexp(0, x)


def of_mean(mean: Float[np.ndarray, " one"], lowest: float) -> Float[np.ndarray, " one"]:
    """Log prior density of the mean log odds, up to a constant."""
    return np.where(mean > lowest, -(((mean - LOCATION) / SCALE) ** 2) / 2, -np.inf)


def of_spread(log_spread: Float[np.ndarray, " one"]) -> Float[np.ndarray, " one"]:
    """Log prior density of the logarithm of the spread, up to a constant."""
    return log_spread - (np.exp(log_spread) / SPREAD) ** 2 / 2


def above(lowest: float, location: float, scale: float, random: np.random.Generator) -> float:
    """Draw from a normal distribution cut off below.

    Examples
    --------
    >>> above(5.0, 0.0, 1.0, np.random.default_rng(0)) > 5
    True
    """
    inside = log_ndtr((location - lowest) / scale)
    return max(float(location - scale * ndtri_exp(inside + np.log(1 - random.random()))), lowest)


def confusion(values: dict[str, Any]) -> Float[np.ndarray, "*draw annotator class named"]:
    """Confusion matrices of accuracies."""
    accuracy, k = np.asarray(values["accuracy"])[..., None, None], np.shape(values["prevalence"])[-1]
    return np.where(np.eye(k, dtype=bool), accuracy, (1 - accuracy) / (k - 1))


model = Model(
    name="one-coin",
    program=one_coin,
    takes="labels",
    true_class=TrueClass(
        sites={
            "prevalence": ("true_class",),
            "mean_log_odds": (),
            "spread": (),
            "accuracy": ("annotator",),
        },
        start=start,
        move=move,
        confusion=confusion,
    ),
    replicate="rankings",
    citations=(("one true class and annotators who are right or wrong", SKENE), ("pooling of annotators", PAUN)),
)
