"""One coin: every case has one true class, and each annotator has one accuracy, whatever the class."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import Float, Int
from scipy.special import expit

from plausibly.data.case import LabelledCases
from plausibly.families.model import Model
from plausibly.families.true_class import OPTIONS, TrueClass
from plausibly.inference.moves import Moves, half_normal
from plausibly.models.dawid_skene import PAUN, SKENE, accuracies, diagonals, draw_prevalence, even, sum_out_truth

LOCATION, SCALE = 1.0, 1.5  # of the mean log odds of being right
SPREAD = 1.0  # scale of the standard deviation of annotators' log odds
UNLIKE, LIKE = 1.0, 4.0  # shapes of the prior of the share of annotators who are unlike the others


def one_coin(labels: LabelledCases) -> None:
    r"""One-coin model of all cases: every annotator has one accuracy.

    .. math::
       \pi \sim \mathrm{Dirichlet}(1), \quad
       m \sim \mathrm{Normal}(1, 1.5) \; [m > -\log(K - 1)], \quad s \sim \mathrm{HalfNormal}(1), \quad
       \rho \sim \mathrm{Beta}(1, 4), \\
       \mathrm{logit}\, a_r \sim (1 - \rho)\, \mathrm{Normal}(m, s) + \rho\, \mathrm{Logistic}(0, 1), \\
       z_i \sim \mathrm{Categorical}(\pi), \quad
       p(y_{ir} = j) = \begin{cases} a_r & j = z_i \\ (1 - a_r) / (K - 1) & j \ne z_i \end{cases}

    The true class :math:`z_i` is summed out; the plausibility of a class is its probability given the labels and the
    shared parameters. With predictions, :math:`z_i \sim \mathrm{Categorical}(m_i)`, see
    ``plausibly.models.dawid_skene.draw_prevalence``.

    Parameters
    ----------
    labels
        Labels of all cases by named annotators, and what classifiers say of the cases, if that is known.

    Notes
    -----
    Wrong labels are spread evenly over the other classes, and accuracies are pooled on the logit scale. The prior 90 %
    interval of a typical annotator's accuracy is 0.2 to 0.97. A share :math:`\rho` of annotators is unlike the others:
    their accuracies are uniform, so that a few spammers do not change the estimates of the others. A typical annotator
    is better than chance (the bound of :math:`m`), and chains start at the majority vote, so label switching does not
    occur.

    The model does not fit a spammer who favours one class: she is always right in that class and never in the others.
    In simulated crowds with 30 % spammers, 90 % intervals contained 83 % of the accuracies, and 72 % with two classes
    (92 % without spammers); use :mod:`plausibly.models.dawid_skene` for such crowds.

    The above is ``difficulty="same"``. By default, cases have looks as in :func:`plausibly.models.dawid_skene`, and
    :math:`a_r` is the attention of an annotator: how often she names the class that she sees.

    References
    ----------
    Dawid & Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied
    Statistics 28; Paun et al. (2018), Comparing Bayesian models of annotation, Transactions of the ACL 6.
    """
    k, (prevalence, of_case, looks) = labels.n_classes, draw_prevalence(labels)
    mean = numpyro.sample("mean_log_odds", dist.TruncatedNormal(LOCATION, SCALE, low=-np.log(k - 1)))
    spread = numpyro.sample("spread", dist.HalfNormal(SPREAD))
    unlike = numpyro.sample("share_unlike", dist.Beta(UNLIKE, LIKE))
    kinds = dist.Categorical(jnp.stack([1 - unlike, unlike]))
    with numpyro.plate("annotators", labels.n_annotators):
        either = dist.MixtureGeneral(kinds, [dist.Normal(mean, spread), dist.Logistic(0, 1)])
        log_odds = numpyro.sample("log_odds", either)
    right, wrong = jax.nn.sigmoid(log_odds), jax.nn.sigmoid(-log_odds) / (k - 1)
    confusion = jnp.where(jnp.eye(k, dtype=bool), right[:, None, None], wrong[:, None, None])
    if labels.looks is None:
        numpyro.deterministic("accuracy", right)
    else:
        numpyro.deterministic("attention", right)
        numpyro.deterministic("accuracy", accuracies(labels, prevalence, confusion, looks))
    sum_out_truth(labels, of_case, confusion, looks)


def start(counts: Int[np.ndarray, "chain annotator class named"], random: Moves) -> dict[str, Any]:
    """Start near what the majority vote says of the annotators together."""
    chains, n, k, _ = counts.shape
    share = (diagonals(counts).sum((1, 2)) + 2) / (counts.sum((1, 2, 3)) + 3)
    mean = np.maximum(np.log(share / (1 - share)), 0.1 - np.log(k - 1))
    log_odds = mean[:, None] + 0.1 * random.standard_normal((chains, n))
    return {
        "mean_log_odds": mean,
        "spread": random.uniform(0.3, 1.0, chains),
        "share_unlike": random.uniform(0.05, 0.2, chains),
        "log_odds": log_odds,
        "accuracy": expit(log_odds),
    }


def move(
    values: dict[str, Any],
    counts: Int[np.ndarray, "chain annotator class named"],
    truth: Int[np.ndarray, "chain class"],
    random: Moves,
) -> dict[str, Any]:
    """Draw everything shared, given the true classes.

    Log odds are drawn by slices, each by itself; who is unlike the others given them; mean and spread given the log
    odds of those who are like each other; then mean and spread again with their standardised deviations held, which
    suits annotators of few labels (Yu & Meng 2011, To center or not to center).
    """
    labels = diagonals(counts).sum(-1), counts.sum((2, 3))
    lowest = float(-np.log(counts.shape[-1] - 1))
    mean, spread, x = values["mean_log_odds"], values["spread"], np.array(values["log_odds"], float)
    share = (labels[0] + 1) / (labels[1] + 2)
    width = 6 / np.sqrt(0.2 + labels[1] * share * (1 - share))
    prior = partial(of_log_odds, mean=mean, spread=spread, unlike=values["share_unlike"])
    x = random.slices("log_odds", x, width, lambda x: of_labels(x, *labels) + np.logaddexp(*prior(x)))
    unlike = random.whether("unlike", expit(np.subtract(*prior(x)[::-1])))
    n = (~unlike).sum(1)
    share_unlike = random.betas("share_unlike", UNLIKE + unlike.sum(1), LIKE + n)

    precision = SCALE**-2 + n / spread**2
    centre = (LOCATION / SCALE**2 + np.where(unlike, 0, x).sum(1) / spread**2) / precision
    mean = random.between("mean_log_odds", lowest, np.inf, centre, precision**-0.5)
    distance = np.where(unlike, 0, x - mean[:, None])
    wide, squares = 5 / np.sqrt(n + 1) + 0.5, (distance**2).sum(1)
    log_spread = random.slices(
        "log spread",
        np.log(spread),
        wide,
        lambda log: half_normal(log, SPREAD) - n * log - squares / (2 * np.exp(2 * log)),
    )

    deviation = distance / np.exp(log_spread)[:, None]

    def at(mean: np.ndarray, log_spread: np.ndarray) -> np.ndarray:
        return np.where(unlike, x, mean[..., None] + np.exp(log_spread)[..., None] * deviation)

    def to(mean: np.ndarray, log_spread: np.ndarray) -> dict[str, Any]:
        return {"mean_log_odds": mean, "spread": np.exp(log_spread), "log_odds": at(mean, log_spread)}

    def log_density(mean: np.ndarray, log_spread: np.ndarray) -> np.ndarray:
        of_shared = of_mean(mean, lowest) + half_normal(log_spread, SPREAD)
        return of_shared + of_labels(at(mean, log_spread), *labels).sum(-1)

    given = log_spread
    mean = random.slices(
        "mean, deviations held", mean, wide, lambda at: log_density(at, given), lambda at: to(at, given)
    )
    log_spread = random.slices(
        "spread, deviations held", given, wide, lambda at: log_density(mean, at), lambda at: to(mean, at)
    )
    moved = to(mean, log_spread)
    shared = {"prevalence": random.rows("prevalence", 1 + truth), "share_unlike": share_unlike}
    return shared | moved | {"accuracy": expit(moved["log_odds"])}


def of_log_odds(
    x: Float[np.ndarray, "*point chain annotator"],
    *,
    mean: Float[np.ndarray, "*point chain"],
    spread: Float[np.ndarray, " chain"],
    unlike: Float[np.ndarray, " chain"],
) -> tuple[Float[np.ndarray, "*point chain annotator"], Float[np.ndarray, "*point chain annotator"]]:
    """Log prior density of log odds of annotators who are like the others, and of those who are not.

    Examples
    --------
    >>> like, unlike = of_log_odds(np.zeros((1, 1)), mean=np.zeros(1), spread=np.ones(1), unlike=np.array([0.5]))
    >>> (np.exp(like) * 2).round(3).tolist(), (np.exp(unlike) * 2).round(3).tolist()
    ([[0.399]], [[0.25]])
    """
    mean, spread, unlike = mean[..., None], spread[..., None], unlike[..., None]
    normal = -(((x - mean) / spread) ** 2) / 2 - np.log(spread) - np.log(2 * np.pi) / 2
    return np.log1p(-unlike) + normal, np.log(unlike) - np.logaddexp(0, x) - np.logaddexp(0, -x)


def of_labels(
    x: Float[np.ndarray, "*point chain annotator"],
    right: Int[np.ndarray, "chain annotator"],
    total: Int[np.ndarray, "chain annotator"],
) -> Float[np.ndarray, "*point chain annotator"]:
    """Log probability that so many of all labels of each annotator are right, given log odds."""
    return right * x - total * np.logaddexp(0, x)


def of_mean(mean: Float[np.ndarray, "*point chain"], lowest: float) -> Float[np.ndarray, "*point chain"]:
    """Log prior density of the mean log odds, up to a constant."""
    return np.where(mean > lowest, -(((mean - LOCATION) / SCALE) ** 2) / 2, -np.inf)


def confusion(values: dict[str, Any]) -> Float[np.ndarray, "*draw annotator class named"]:
    """Confusion matrices of accuracies, or of how often annotators name what a case looks like."""
    return even(np.asarray(values.get("attention", values["accuracy"])), np.shape(values["prevalence"])[-1])


def move_attention(values: dict[str, Any], *given: Any) -> dict[str, Any]:
    """Draw everything shared as :func:`move`, given what annotators saw."""
    values = move(values, *given)
    return values | {"attention": values["accuracy"]}


def shift(
    values: dict[str, Any], by: Float[np.ndarray, "point chain #annotator class"]
) -> tuple[dict[str, Any], Float[np.ndarray, "point chain"]]:
    """Add to the log odds that each annotator names what a case looks like, and to their mean; see ``TrueClass``."""
    mean, x = values["mean_log_odds"] + by.mean((-2, -1)), values["log_odds"] + by.mean(-1)
    prior = of_log_odds(x, mean=mean, spread=values["spread"], unlike=values["share_unlike"])
    k = values["prevalence"].shape[-1]
    of_all = of_mean(mean, float(-np.log(k - 1))) + np.logaddexp(*prior).sum(-1)
    return values | {"mean_log_odds": mean, "log_odds": x, "attention": expit(x)}, of_all


model = Model(
    name="one-coin",
    program=one_coin,
    takes="labels",
    family=TrueClass(
        sites={
            "prevalence": ("true_class",),
            "mean_log_odds": (),
            "spread": (),
            "share_unlike": (),
            "accuracy": ("annotator",),
        },
        start=start,
        move=move,
        confusion=confusion,
        above=("mean_log_odds", "spread", "share_unlike"),
        by_case={
            "sites": {"attention": ("annotator",)},
            "start": lambda counts, random: (found := start(counts, random)) | {"attention": found["accuracy"]},
            "move": move_attention,
            "shift": shift,
            "thinning": 8,
        },
    ),
    options=OPTIONS,
    shares=False,
    replicate="rankings",
    citations=(("one true class and annotators who are right or wrong", SKENE), ("pooling of annotators", PAUN)),
)
