"""Dawid-Skene: every case has one true class, and each annotator has a confusion matrix."""

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array, ArrayLike, Float, Int
from scipy.special import betaln, expit, gammaln, log_expit, logit

from plausibly.data.case import LabelledCases
from plausibly.data.regression import expected_shares, prior_moments, split
from plausibly.families.model import Model
from plausibly.families.true_class import OPTIONS, TrueClass
from plausibly.inference.moves import AHEAD, Moves

STRENGTH, EXPECTED = 5.0, 0.8  # of the common confusion: how many labels its prior is worth, how many of them are right
SHAPE, RATE = 2.0, 0.2  # of the concentration, about 10: an annotator resembles the others as if by ten labels a class
FEW = 600  # cells with labels, of all chains; with more, points of a slice are looked at one by one
ATTENTION_SHAPE, ATTENTION_RATE = 2.0, 1.0  # of the strength of attention: below 2, most annotators attend or do not


def dawid_skene(labels: LabelledCases) -> None:
    r"""Dawid-Skene model of all cases: every annotator has a confusion matrix.

    .. math::
       \pi \sim \mathrm{Dirichlet}(1), \quad
       m_k \sim \mathrm{Dirichlet}(a_k) \; [m_{kk} \ge m_{kj}], \quad \kappa_k \sim \mathrm{Gamma}(2, 0.2), \quad
       \mu \sim \mathrm{Uniform}(0, 1), \quad \nu \sim \mathrm{Gamma}(2, 1), \quad
       g_r \sim \mathrm{Beta}(\nu \mu, \nu (1 - \mu)), \quad h_r \sim \mathrm{Dirichlet}(1), \\
       \theta_{rk} \sim \mathrm{Dirichlet}\big(\kappa_k (g_r m_k + (1 - g_r) h_r)\big), \quad
       z_i \sim \mathrm{Categorical}(\pi), \quad y_{ir} \sim \mathrm{Categorical}(\theta_{r z_i})

    The true class :math:`z_i` is summed out; the plausibility of a class is its probability given the labels and the
    shared parameters. With predictions, :math:`z_i \sim \mathrm{Categorical}(m_i)`, see
    ``plausibly.models.dawid_skene.draw_prevalence``.

    Parameters
    ----------
    labels
        Labels of all cases by named annotators, and what classifiers say of the cases, if that is known.

    Notes
    -----
    Dawid & Skene estimate the confusion matrices :math:`\theta_r` of annotators by maximum likelihood, which fails for
    annotators with few labels. Here, as in the hierarchical model of Paun et al., the rows are pooled towards a common
    matrix :math:`m`. An annotator is close to it in all rows or in none: with probability :math:`g_r`, her attention,
    she labels like attentive annotators, otherwise by a habit :math:`h_r` that does not depend on the case, as in the
    model of Hovy et al. Without this link between rows, a few labels of each class would not reveal a spammer. The
    distribution of attention is learned from all annotators: at a strength :math:`\nu` below 2, attention may be
    concentrated at 0 and 1, so that a few spammers do not change the estimates of the others.

    The prior of a row of :math:`m` is worth five labels, of which four name the true class and the others are spread
    evenly. This prior and that of :math:`\kappa_k`, between 1.8 and 24 with 90 % probability, are weak: forty labels of
    a class outweigh both. Label switching does not occur, because in a row of :math:`m` no class is more probable than
    the true one, and chains start at the majority vote.

    The above is ``difficulty="same"``. By default (``"by-case"``), :math:`z_i` gives way to what the case looks like: a
    look has shares :math:`\lambda_p` of classes, see :class:`plausibly.case.Looks`, and

    .. math::
       \omega \sim \mathrm{Dirichlet}(4 / K, \ldots; 0.5 / M, \ldots), \quad p_i \sim \mathrm{Categorical}(\omega),
       \quad z_i, s_{ir} \sim \mathrm{Categorical}(\lambda_{p_i}), \quad
       y_{ir} \sim \mathrm{Categorical}(\theta_{r s_{ir}}), \quad m = I

    for K kinds of clear looks and M of unclear ones. Which classes look alike is then a matter of the cases, and
    attentive annotators name what they see. Groups of annotators who err together have a look each, given
    :math:`z_i`; those of a named group may all take a case for another class.

    In simulated crowds of 40 annotators with 30 % spammers (whose distribution differs from this prior), 90 % intervals
    contained 88 % of the accuracies; without spammers, 93 %. Where nearly all of a few annotators label by habit, the
    labels have several explanations, between which chains move slowly; R-hat is then large.

    References
    ----------
    Dawid & Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied
    Statistics 28; Paun, Carpenter, Chamberlain, Hovy, Kruschwitz & Poesio (2018), Comparing Bayesian models of
    annotation, Transactions of the ACL 6; Hovy, Berg-Kirkpatrick, Vaswani & Hovy (2013), Learning whom to trust with
    MACE, Proceedings of NAACL.
    """
    k = labels.n_classes
    prevalence, of_case, looks = draw_prevalence(labels)
    if labels.looks is None:
        common = draw_common_confusion(labels)
    else:  # attentive annotators name what they see
        common = numpyro.deterministic("common_confusion", jnp.eye(k))
    with numpyro.plate("true classes of the common confusion", k):
        concentration = numpyro.sample("concentration", dist.Gamma(SHAPE, RATE))
    mean = numpyro.sample("mean_attention", dist.Uniform())
    strength = numpyro.sample("attention_strength", dist.Gamma(ATTENTION_SHAPE, ATTENTION_RATE))
    with numpyro.plate("annotators", labels.n_annotators):
        attention = numpyro.sample("attention", dist.Beta(strength * mean, strength * (1 - mean)))[:, None, None]
        habit = numpyro.sample("habit", dist.Dirichlet(jnp.ones(k)))[:, None]
    with numpyro.plate("annotators by class", labels.n_annotators, dim=-2), numpyro.plate("true classes", k, dim=-1):
        centre = attention * common + (1 - attention) * habit
        confusion = numpyro.sample("confusion", dist.Dirichlet(concentration[:, None] * centre))
    numpyro.deterministic("accuracy", accuracies(labels, prevalence, confusion, looks))
    sum_out_truth(labels, of_case, confusion, looks)


def draw_prevalence(
    labels: LabelledCases,
) -> tuple[Float[Array, " class"], Float[Array, "*case class"], Float[Array, "group kind"] | None]:
    r"""Sample the probability of each true class, in all cases together and in each, and how common each look is.

    Without predictions, classes are as probable in each case. With them, case i has :math:`m_i` of
    ``plausibly.data.regression``, and all cases together the mean of these. If cases differ in difficulty, their looks
    tell how probable classes are, unless there are predictions or several groups of annotators.
    """
    looks = None
    if labels.looks is not None and labels.n_groups == 1:
        looks = numpyro.sample("looks", dist.Dirichlet(labels.looks.prior[None]).to_event(1))
    elif labels.looks is not None:
        looks = numpyro.deterministic("looks", jnp.stack([of_group(labels, g) for g in range(labels.n_groups)]))
    if labels.log_scores is not None and labels.log_prevalence is not None:
        sizes = len(labels.log_scores), labels.n_classes
        coefficients = numpyro.sample("coefficients", dist.Normal(*prior_moments(*sizes)).to_event(1))
        of_case = expected_shares(split(coefficients, *sizes), jnp.asarray(labels.log_scores), labels.log_prevalence)
        return numpyro.deterministic("prevalence", of_case.mean(0)), of_case, looks
    if labels.looks is not None and labels.n_groups == 1:
        prevalence = numpyro.deterministic("prevalence", labels.looks.expected(looks)[0])
    else:
        prevalence = numpyro.sample("prevalence", dist.Dirichlet(jnp.ones(labels.n_classes)))
    return prevalence, prevalence, looks


def of_group(labels: LabelledCases, group: int) -> Float[Array, "class kind"]:
    """Sample how common each kind of look is to a group of annotators, given the true class."""
    assert labels.looks is not None
    prior = labels.looks.prior_by_class(labels.together[group])
    kinds = np.nonzero(prior)[1].reshape(len(prior), -1)  # as many of each class
    shares = numpyro.sample(f"looks of group {group}", dist.Dirichlet(np.take_along_axis(prior, kinds, 1)).to_event(1))
    return jnp.zeros(prior.shape).at[np.arange(len(prior))[:, None], kinds].set(shares)


def sum_out_truth(
    labels: LabelledCases,
    prevalence: Float[ArrayLike, "*case class"],
    confusion: Float[ArrayLike, "annotator class named"],
    looks: Float[Array, "group kind"] | None = None,
) -> None:
    """Add the log probability of all labels, and the site "plausibility" (case, class), of the true class given them.

    Parameters
    ----------
    labels
        Labels of all cases.
    prevalence
        Probability of each true class, in all cases or in each.
    confusion
        Probability that each annotator names each class, by true class, or by the class that a case looks like.
    looks
        How common each kind of look is, to each group of annotators, if cases have looks.
    """
    log_joint = jnp.log(prevalence)
    if labels.looks is None:
        of_label = jnp.log(confusion)[labels.annotator, :, labels.label]
        log_joint += jax.ops.segment_sum(of_label, labels.case, labels.n_cases)
    else:
        of_label = jnp.log(labels.looks.seen(confusion))[labels.annotator, :, labels.label]
        for group, given_class in enumerate(labels.looks.given_class(looks)):
            own = labels.group_of_label == group
            logs = jax.ops.segment_sum(of_label[own], labels.case[own], labels.n_cases)
            log_joint += jax.nn.logsumexp(logs[..., None], axis=1, b=given_class)
    numpyro.factor("labels", jax.nn.logsumexp(log_joint, axis=-1).sum())
    numpyro.deterministic("plausibility", jax.nn.softmax(log_joint, axis=-1))


def draw_common_confusion(labels: LabelledCases) -> Float[Array, "class named"]:
    """Sample the confusion that annotators have in common, in which no class is more probable than the true one."""
    k = labels.n_classes
    with numpyro.plate("classes of the common confusion", k):
        common = numpyro.sample("common_confusion", dist.Dirichlet(common_shape(k)))
        diagonal = jnp.diagonal(jnp.asarray(common))
        numpyro.factor("true class first", jnp.where(diagonal >= jnp.max(common, axis=1), 0, -jnp.inf))
    return common


def even(right: Float[ArrayLike, "*shape"], n_classes: int) -> Float[Array, "*shape class named"]:
    """Return the confusion matrices of annotators who are so often right and name other classes evenly.

    Examples
    --------
    >>> even(0.8, 3).round(2).tolist()
    [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    """
    array = np if isinstance(right, float | np.ndarray) else jnp
    right = array.asarray(right)[..., None, None]
    return array.where(np.eye(n_classes, dtype=bool), right, (1 - right) / (n_classes - 1))


def accuracies(
    labels: LabelledCases,
    prevalence: Float[ArrayLike, " class"],
    confusion: Float[ArrayLike, "annotator class named"],
    looks: Float[ArrayLike, "group kind"] | None,
) -> Float[Array, " annotator"]:
    """Return how often each annotator names the true class, in cases of such looks."""
    if labels.looks is None:
        right = jnp.diagonal(confusion, axis1=-2, axis2=-1)
    else:
        right = labels.looks.right(confusion, looks, labels.group_of_annotator)
    return right @ prevalence


def common_shape(n_classes: int) -> Float[np.ndarray, "class named"]:
    """Shapes of the prior of the common confusion.

    Examples
    --------
    >>> common_shape(3).round(2).tolist()
    [[4.0, 0.5, 0.5], [0.5, 4.0, 0.5], [0.5, 0.5, 4.0]]
    """
    others = STRENGTH * (1 - EXPECTED) / (n_classes - 1)
    return np.where(np.eye(n_classes, dtype=bool), STRENGTH * EXPECTED, others)


def start(counts: Int[np.ndarray, "chain annotator class named"], random: Moves) -> dict[str, Any]:
    """Start near what the majority vote says of the annotators together, all of whom attend."""
    chains, n, k, _ = counts.shape
    return {
        "common_confusion": start_common(counts),
        "concentration": random.gamma(SHAPE, 1 / RATE, (chains, k)),
        "mean_attention": random.uniform(0.6, 0.9, chains),
        "attention_strength": random.uniform(1.0, 2.0, chains),
        "attention": random.uniform(0.6, 1.0, (chains, n)),
        "habit": random.dirichlet(np.ones(k), (chains, n)),
    }


def start_common(counts: Int[np.ndarray, "chain annotator class named"]) -> Float[np.ndarray, "chain class named"]:
    """Confusion matrix of all annotators near their counts, in which the true class is the most probable."""
    k = counts.shape[-1]
    total = counts.sum(1) + common_shape(k)
    diagonals(total)[:] = np.maximum(diagonals(total), np.where(np.eye(k, dtype=bool), 0, total).max(-1) + 1)
    return total / total.sum(-1, keepdims=True)


def draw_common(
    common: Float[np.ndarray, "chain class named"], counts: Int[np.ndarray, "chain class named"], random: Moves
) -> Float[np.ndarray, "chain class named"]:
    """Draw the common confusion given counts of labels; a row in which another class is more probable is refused."""
    return random.rows("common_confusion", common_shape(counts.shape[-1]) + counts, common)


def start_seeing(counts: Int[np.ndarray, "chain annotator class named"], random: Moves) -> dict[str, Any]:
    """Start as :func:`start`, where attentive annotators name what they see."""
    started = start(counts, random)
    return started | {"common_confusion": np.zeros(started["common_confusion"].shape) + np.eye(counts.shape[-1])}


def move(
    values: dict[str, Any],
    counts: Int[np.ndarray, "chain annotator class named"],
    truth: Int[np.ndarray, "chain class"],
    random: Moves,
    draw_common: Callable[..., Float[np.ndarray, "chain class named"]] = draw_common,
) -> dict[str, Any]:
    r"""Draw everything shared, given the true classes.

    Without :math:`\theta`, counts have a Dirichlet-multinomial distribution, of which :math:`\kappa_k` is drawn by
    slices. Given how many tables of a Chinese restaurant the labels occupy (Teh, Jordan, Beal & Blei 2006, Hierarchical
    Dirichlet processes), and which of them are of attention and which of habit, :math:`m_k` and :math:`h_r` have
    Dirichlet distributions, and :math:`g_r` a beta distribution, whose mean and strength are drawn by slices before,
    :math:`g_r` integrated out. A row of :math:`m` outside its bounds is not accepted.
    """
    common, concentration = values["common_confusion"], values["concentration"]
    attention, habit = values["attention"][..., None, None], values["habit"][..., None, :]
    centre = attention * common[:, None] + (1 - attention) * habit
    tables = random.tables("tables", concentration[:, None, :, None] * centre, counts)
    attended = random.among("attended", tables, np.minimum(attention * common[:, None] / centre, 1))
    by_habit = tables - attended
    common = draw_common(common, attended.sum(1), random)
    tables = attended.sum((2, 3)), by_habit.sum((2, 3))
    mean, strength = draw_attention(values["mean_attention"], values["attention_strength"], *tables, random)
    shapes = (strength * mean)[:, None] + tables[0], (strength * (1 - mean))[:, None] + tables[1]
    attention = random.betas("attention", *shapes)
    habit = random.rows("habit", 1 + by_habit.sum(2))
    centre = attention[..., None, None] * common[:, None] + (1 - attention)[..., None, None] * habit[:, :, None]
    some = counts.nonzero()
    log_density = partial(of_concentration, counts[some], centre[some], some[0], some[2], counts.sum(3))
    ahead = AHEAD if len(some[0]) < FEW else 1
    concentration = np.exp(random.slices("log concentration", np.log(concentration), 2.0, log_density, ahead=ahead))
    confusion = random.rows("confusion", concentration[:, None, :, None] * centre + counts)
    prevalence = random.rows("prevalence", 1 + truth)
    return {
        "prevalence": prevalence,
        "common_confusion": common,
        "concentration": concentration,
        "mean_attention": mean,
        "attention_strength": strength,
        "attention": attention,
        "habit": habit,
        "confusion": confusion,
        "accuracy": (diagonals(confusion) @ prevalence[..., None])[..., 0],
    }


def draw_attention(
    mean: Float[np.ndarray, " chain"],
    strength: Float[np.ndarray, " chain"],
    attended: Int[np.ndarray, "chain annotator"],
    by_habit: Int[np.ndarray, "chain annotator"],
    random: Moves,
) -> tuple[Float[np.ndarray, " chain"], Float[np.ndarray, " chain"]]:
    r"""Draw mean and strength of attention given how many tables of each annotator are of attention and of habit."""

    def log_density(logit: np.ndarray, log_strength: np.ndarray) -> np.ndarray:
        mean, strength = expit(logit), np.exp(log_strength)
        a, b = np.maximum(strength * mean, 1e-300), np.maximum(strength * (1 - mean), 1e-300)
        of_tables = betaln(a[..., None] + attended, b[..., None] + by_habit).sum(-1) - attended.shape[1] * betaln(a, b)
        prior = ATTENTION_SHAPE * log_strength - ATTENTION_RATE * strength
        return of_tables + prior + log_expit(logit) + log_expit(-logit)

    of_mean, of_strength = np.log(mean) - np.log1p(-mean), np.log(strength)
    of_mean = random.slices("logit mean_attention", of_mean, 3.0, lambda x: log_density(x, of_strength))
    of_strength = random.slices("log attention_strength", of_strength, 3.0, lambda x: log_density(of_mean, x))
    return np.clip(expit(of_mean), 1e-12, 1 - 1e-12), np.exp(of_strength)


def of_concentration(
    counts: Int[np.ndarray, " cell"],
    centre: Float[np.ndarray, " cell"],
    chain: Int[np.ndarray, " cell"],
    of_class: Int[np.ndarray, " cell"],
    total: Int[np.ndarray, "chain annotator class"],
    log_size: Float[np.ndarray, "point chain class"],
) -> Float[np.ndarray, "point chain class"]:
    r"""Log density of each :math:`\log \kappa_k` given all counts, up to a constant.

    Cells without labels tell nothing, and are left out; the others are of a ``chain`` and of a true class.
    """
    size, row = np.exp(log_size), chain * log_size.shape[2] + of_class
    shape = size.reshape(len(size), -1)[:, row] * centre
    cell = row + size[0].size * np.arange(len(size))[:, None]
    of_cells = np.bincount(cell.ravel(), (gammaln(shape + counts) - gammaln(shape)).ravel(), size.size)
    of_rows = total.shape[1] * gammaln(size) - gammaln(size[:, :, None] + total).sum(2)
    return of_cells.reshape(size.shape) + of_rows + SHAPE * log_size - RATE * size


def shift(
    values: dict[str, Any], by: Float[np.ndarray, "point chain #annotator class"]
) -> tuple[dict[str, Any], Float[np.ndarray, "point chain"]]:
    """Add to the log odds that each annotator names each class that she sees, and the mean to those of her attention.

    What else she names keeps its proportions. The mean attention moves by the mean of all. See ``TrueClass``.
    """
    shares = np.concatenate([values["attention"], values["mean_attention"][:, None]], 1)
    of_each = np.broadcast_to(by.mean(-1), (*by.shape[:2], shares.shape[1] - 1))
    shares = moved(shares, np.concatenate([of_each, by.mean((-2, -1))[..., None]], -1))
    logs, of_rest, attention, mean = np.log(shares), np.log1p(-shares), shares[..., :-1], shares[..., -1]
    strength, concentration, named = values["attention_strength"], values["concentration"], values["confusion"]
    k, right = named.shape[-1], moved(diagonals(named), by)
    confusion = named * ((1 - right) / (1 - np.minimum(diagonals(named), 1 - 1e-12)))[..., None]
    diagonals(confusion)[:] = right
    shape = concentration[:, None, :, None] * ((1 - attention)[..., None] * values["habit"])[..., None, :]
    diagonals(shape)[:] += concentration[:, None] * attention[..., None]
    # Of a Dirichlet distribution over rows, in coordinates of the log odds and the proportions of the rest.
    of_cells = ((shape - 1) * np.log(np.maximum(confusion, 1e-290)) - gammaln(shape)).sum((-3, -2, -1))
    a, b = strength * mean, strength * (1 - mean)
    of_attention = a * logs[..., :-1].sum(-1) + b * of_rest[..., :-1].sum(-1) - attention.shape[-1] * betaln(a, b)
    of_right = (np.log(right) + (k - 1) * np.log1p(-right)).sum((-2, -1))
    of_rows = of_cells + of_right + attention.shape[-1] * gammaln(concentration).sum(-1)
    values = values | {"confusion": confusion, "attention": attention, "mean_attention": mean}
    return values, of_rows + of_attention + logs[..., -1] + of_rest[..., -1]


def diagonals(matrices: Float[np.ndarray, "*row k k"]) -> Float[np.ndarray, "*row k"]:
    """Return the diagonals of matrices, to be read and written."""
    return np.einsum("...kk->...k", matrices)


def moved(share: Any, by: Any) -> Any:
    """Add to the log odds of shares."""
    odds = logit(np.minimum(np.maximum(share, 1e-12), 1 - 1e-12))
    return np.minimum(np.maximum(expit(odds + by), 1e-12), 1 - 1e-12)


SKENE = (
    "Dawid & Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied "
    "Statistics 28."
)
PAUN = (
    "Paun, Carpenter, Chamberlain, Hovy, Kruschwitz & Poesio (2018), Comparing Bayesian models of annotation, "
    "Transactions of the Association for Computational Linguistics 6."
)
HOVY = "Hovy, Berg-Kirkpatrick, Vaswani & Hovy (2013), Learning whom to trust with MACE, Proceedings of NAACL."

model = Model(
    name="dawid-skene",
    program=dawid_skene,
    takes="labels",
    family=TrueClass(
        sites={
            "prevalence": ("true_class",),
            "common_confusion": ("true_class", "named_class"),
            "concentration": ("true_class",),
            "mean_attention": (),
            "attention_strength": (),
            "attention": ("annotator",),
            "habit": ("annotator", "named_class"),
            "accuracy": ("annotator",),
            "confusion": ("annotator", "true_class", "named_class"),
        },
        start=start,
        move=move,
        confusion=itemgetter("confusion"),
        thinning=16,
        above=("concentration", "mean_attention", "attention_strength", "attention", "habit"),
        by_case={
            "start": start_seeing,
            "move": partial(move, draw_common=lambda common, *_: common),
            "shift": shift,
            "thinning": 10,
        },
    ),
    options=OPTIONS,
    shares=False,
    replicate="rankings",
    citations=(
        ("one true class and annotators who confuse classes", SKENE),
        ("pooling of annotators", PAUN),
        ("habits of inattentive annotators", HOVY),
    ),
)
