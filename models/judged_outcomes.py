"""Outcomes of systems by people and judges: many-facet Rasch of pass/fail and ratings, Davidson of pairs with ties."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array, ArrayLike, Float, Int


class JudgedOutcomes(NamedTuple):
    """Outcomes in codes. Those of one kind are computed once, and cells with the same outcomes count several times.

    A cell is an output, or two outputs that are compared. Raters are numbered, people first.
    """

    system: Int[ArrayLike, " kind"]  #: of pairs, the first of the cell
    opponent: Int[ArrayLike, " kind"] | None  #: second system of the cell; None except for pairs
    rater: Int[ArrayLike, " kind"]
    category: Int[ArrayLike, " kind"]  #: from the worst to the best for the first system
    shown: Float[ArrayLike, " kind"]  #: 1 if severity (of pairs, preference for what is shown first) adds, −1, or 0
    longer: Float[ArrayLike, " kind"]  #: by how many standard deviations the first output is longer, or 0
    kind: Int[ArrayLike, " outcome"]
    cell: Int[ArrayLike, " outcome"]  #: sorted
    times: Float[ArrayLike, " cell"]  #: cells that have these outcomes
    score: Float[ArrayLike, " category"]  #: from −½ to ½
    own: Float[ArrayLike, "judge system"]  #: 1 for outputs that may be the judge's own
    person: Float[ArrayLike, " person"]  #: outcomes of each person


class Nodes(NamedTuple):
    """Nodes of the integral over what cells have of their own, in standard deviations."""

    quality: Float[ArrayLike, " node"]
    error: Float[ArrayLike, " node"]  #: that judges share
    log_weight: Float[ArrayLike, " node"]


class Parameters(NamedTuple):
    """What determines outcomes, on the scale of log odds of the best category against the worst."""

    quality: Float[Array, " system"]
    output_spread: Float[Array, ""]
    error_spread: Float[Array, ""]
    longer: Float[Array, ""]  #: what people like better in an output that is longer
    severity: Float[Array, " rater"]
    discrimination: Float[Array, " rater"]
    step: Float[Array, "rater category"]  #: log odds of each category, beside its score
    bias: Float[Array, "judge system"]  #: of a judge's log odds
    bias_longer: Float[Array, " judge"]
    lapse: Float[Array, " judge"]  #: share of outcomes that have nothing to do with the output
    guess: Float[Array, " judge"]  #: log odds of the best category, or of what is shown first, among these
    centre: Float[Array, ""]  #: quality at which a judge's log odds are its severity and bias


#: Median and log standard deviation of the prior of each standard deviation. None is near zero, as all raters differ.
SPREADS = {
    "system_spread": (0.7, 0.7),
    "output_spread": (1.2, 0.5),
    "severity_spread": (0.4, 0.7),
    "discrimination_spread": (0.3, 0.6),
    "middle_spread": (0.8, 0.6),
    "bias_spread": (0.7, 0.7),
    "error_spread": (0.7, 0.7),
}


def judged_outcomes(judged: JudgedOutcomes, nodes: Nodes) -> None:
    r"""Davidson's model and the many-facet Rasch model, with judges who are biased.

    .. math::
       P(y = k) \propto \exp\bigl(v_k\, (d_r x + s_r + b_{r})
       + t_{rk}\bigr), \qquad x = q_a + e, \quad\text{of pairs}\quad x = q_a - q_b + e

    for an outcome in category k with the score :math:`v_k` from −½ to ½; of pairs, the categories are lost, tie, won,
    and :math:`\exp t` is Davidson's tie parameter. A rater r has discrimination d, severity s (of pairs, preference for
    what is shown first, which adds or subtracts), and a preference for the middle categories in t. A judge also has a
    bias b of its own for each system, whose mean over systems is in s and which is greater for own outputs, a
    preference for long outputs, lapses, in which its outcome has nothing to do with the output, and, with other judges,
    an error in common by cell. What a cell has of its own, e, is integrated out.

    Qualities q are sampled as the log odds of an average cell, which depend less on the spread of cells.

    Parameters
    ----------
    judged
        The outcomes.
    nodes
        Nodes of the integral.

    References
    ----------
    Davidson (1970), On extending the Bradley–Terry model to accommodate ties in paired comparison experiments, Journal
    of the American Statistical Association 65; Linacre (1989), Many-facet Rasch measurement; Zeger, Liang & Albert
    (1988), Models for longitudinal data, Biometrics 44, for the log odds of an average.
    """
    parameters = facets(judged)
    of_cell = jax.nn.logsumexp(log_of_nodes(judged, nodes, parameters), axis=-1)
    numpyro.factor("outcomes", (judged.times * of_cell).sum())


def facets(judged: JudgedOutcomes) -> Parameters:
    """Prior of :func:`judged_outcomes`."""
    pairs = judged.opponent is not None
    people, (judges, systems), middle = len(judged.person), jnp.shape(judged.own), len(judged.score) - 2

    def spread(name: str) -> Array:
        median, log_sd = SPREADS[name]
        return numpyro.sample(name, dist.LogNormal(jnp.log(median), log_sd))

    def several(name: str, *shape: int, mean: float | Array = 0.0, sd: float | Array = 1.0) -> Array:
        mean = jnp.broadcast_to(jnp.asarray(mean, float), shape)
        return numpyro.sample(name, dist.Normal(mean, sd).to_event(len(shape)))

    of_outputs = spread("output_spread")
    scale = jnp.sqrt(1 + 0.346 * of_outputs**2)
    level = 0.0 if pairs else numpyro.sample("level", dist.Normal(0, 1.5))
    average = several("average", systems, mean=level, sd=spread("system_spread"))
    first = numpyro.sample("first", dist.Normal(0, 0.5)) if pairs else 0.0
    severity = several("severity_of_people", people, mean=first, sd=spread("severity_spread"))
    discrimination = jnp.exp(several("log_discrimination", people, sd=spread("discrimination_spread")))
    longer = numpyro.sample("longer", dist.Normal(0, 0.5)) if pairs else jnp.zeros(())
    step = jnp.zeros((people + judges, 0))
    if middle:
        usual = several("step_of_people", middle, sd=1.5)
        step = (
            several("middle_of_people", people, mean=usual[0], sd=spread("middle_spread"))[:, None] + usual - usual[0]
        )
    bias, error = jnp.zeros((0, systems)), jnp.zeros(())
    bias_longer = lapse = guess = jnp.zeros(0)
    if judges:
        error = spread("error_spread") if judges > 1 else error
        severity = jnp.concatenate([severity, several("severity_of_judges", judges, sd=1.5)])
        of_judges = several("discrimination_of_judges", judges, mean=0.7, sd=0.7)
        discrimination = jnp.concatenate([discrimination, of_judges])
        bias_longer = several("bias_longer", judges, sd=0.5) if pairs else jnp.zeros(judges)
        mean = judged.own * several("own_bias", judges, 1, sd=0.7)
        bias = several("bias", judges, systems, mean=mean, sd=spread("bias_spread"))
        lapse = jax.nn.sigmoid(several("logit_lapse", judges, mean=-1.5))
        guess = several("guess", judges)
        if middle:
            step = jnp.concatenate([step, several("step_of_judges", judges, middle, sd=1.5)])
    return Parameters(
        quality=average * scale,
        output_spread=of_outputs,
        error_spread=error,
        longer=longer,
        severity=severity,
        discrimination=discrimination,
        step=jnp.pad(step, ((0, 0), (1, 1))),
        bias=bias,
        bias_longer=bias_longer,
        lapse=lapse,
        guess=guess,
        centre=jnp.asarray(level * scale),
    )


def log_odds(judged: JudgedOutcomes, nodes: Nodes, parameters: Parameters) -> Float[Array, "kind node"]:
    """Log odds of the best category against the worst, for the rater of each kind, at each node."""
    p, rater, n = parameters, judged.rater, len(judged.person)
    quality = quality_of(judged, p)
    offset = judged.shown * p.severity[rater]
    error = 0.0
    if len(p.bias):
        judge, at = rater >= n, jnp.maximum(rater - n, 0)
        bias = p.bias[at, judged.system] + judged.longer * p.bias_longer[at]
        if judged.opponent is not None:
            bias -= p.bias[at, judged.opponent]
        offset += jnp.where(judge, bias - p.discrimination[rater] * p.centre, 0)
        error = jnp.where(judge, p.error_spread, 0)[:, None] * nodes.error
    x = quality[:, None] + p.output_spread * nodes.quality + error
    return p.discrimination[rater][:, None] * x + offset[:, None]


def quality_of(judged: JudgedOutcomes, parameters: Parameters) -> Float[Array, " kind"]:
    """Quality of the output, or how much better the first of two is, in an average cell."""
    quality = parameters.quality[judged.system] + judged.longer * parameters.longer
    return quality if judged.opponent is None else quality - parameters.quality[judged.opponent]


def log_of_nodes(judged: JudgedOutcomes, nodes: Nodes, parameters: Parameters) -> Float[Array, "cell node"]:
    """Log of the weight of each node times the probability there of the outcomes of each cell."""
    odds, step = log_odds(judged, nodes, parameters), parameters.step[judged.rater]
    most = jax.lax.stop_gradient(jnp.abs(odds)) / 2  # no category has greater log odds by its score
    categories = (odds * score + step[:, at, None] for at, score in enumerate(judged.score))
    total = most + jnp.log(sum(jnp.exp(one - most) for one in categories))
    own = odds * judged.score[judged.category][:, None] + step[jnp.arange(len(step)), judged.category, None]
    log = own - total
    if len(parameters.bias):
        chance, lapse, judge = _lapses(judged, parameters)
        chance = jnp.take_along_axis(chance, judged.category[:, None], axis=1)
        log = jnp.where(judge, jnp.logaddexp(log + jnp.log1p(-lapse), chance + jnp.log(lapse)), log)
    by_cell = jax.ops.segment_sum(log[judged.kind], judged.cell, len(judged.times), indices_are_sorted=True)
    return nodes.log_weight + by_cell


def probabilities(
    judged: JudgedOutcomes, parameters: Parameters, odds: Float[Array, " kind"]
) -> Float[Array, "kind category"]:
    """Probability of every category, given the log odds of each kind in its cell."""
    share = jax.nn.softmax(odds[:, None] * judged.score + parameters.step[judged.rater], axis=-1)
    if not len(parameters.bias):
        return share
    chance, lapse, judge = _lapses(judged, parameters)
    return jnp.where(judge, (1 - lapse) * share + lapse * jnp.exp(chance), share)


def _lapses(judged: JudgedOutcomes, parameters: Parameters) -> tuple[Array, Array, Array]:
    """Log probability of each category in a lapse, how often there is one, and whether the rater is a judge at all."""
    n, rater = len(judged.person), jnp.asarray(judged.rater)
    at = jnp.maximum(rater - n, 0)
    odds = (judged.shown * parameters.guess[at])[:, None] * judged.score + parameters.step[judged.rater]
    return jax.nn.log_softmax(odds, axis=-1), parameters.lapse[at, None], rater[:, None] >= n
