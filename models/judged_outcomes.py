"""Outcomes of systems by people and judges: many-facet Rasch of pass/fail and ratings, Davidson of pairs with ties."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array, ArrayLike, Float, Int


class Kinds(NamedTuple):
    """Outcomes by people, or by judges, in codes. Those of one kind are computed once, and so are sets that recur.

    A set is what people, or judges, said of one cell: of an output, or of two that are compared.
    """

    system: Int[ArrayLike, " kind"]  #: of pairs, the first of the cell
    opponent: Int[ArrayLike, " kind"] | None  #: second system of the cell; None except for pairs
    longer: Float[ArrayLike, " kind"]  #: by how many standard deviations the first output is longer, or 0
    rater: Int[ArrayLike, " kind"]  #: people first, then judges
    category: Int[ArrayLike, " kind"]  #: from the worst to the best for the first system
    shown: Float[ArrayLike, " kind"]  #: 1 if severity (of pairs, preference for what is shown first) adds, −1, or 0
    kind: Int[ArrayLike, " outcome"]  #: of the outcomes of each set, one set after the other
    size: Int[ArrayLike, " set"]  #: outcomes in each set


class JudgedOutcomes(NamedTuple):
    """Outcomes in codes. Cells with the same outcomes count several times."""

    by_people: Kinds
    by_judges: Kinds
    system: Int[ArrayLike, " cell"]
    opponent: Int[ArrayLike, " cell"] | None
    longer: Float[ArrayLike, " cell"]
    people: Int[ArrayLike, " cell"]  #: set of what people said of it
    judges: Int[ArrayLike, " cell"]  #: set of what judges said
    times: Float[ArrayLike, " cell"]  #: cells like this
    score: Float[ArrayLike, " category"]  #: from −½ to ½
    own: Float[ArrayLike, "judge system"]  #: 1 for outputs that may be the judge's own
    person: Float[ArrayLike, " person"]  #: outcomes of each person


class Own(NamedTuple):
    """What cells have of their own, in standard deviations: one element for each node, or for each kind and node."""

    quality: Float[ArrayLike, "*kind node"]
    alike: Float[ArrayLike, "*kind node"]  #: of pairs, how alike the two are
    error: Float[ArrayLike, "*kind node"] | None  #: that judges share; None of people


class Nodes(NamedTuple):
    """Nodes of the integral over what cells have of their own, and the logs of their weights."""

    at: Own  #: nodes of each alone
    log_weight: Own


class Parameters(NamedTuple):
    """What determines outcomes, on the scale of log odds of the best category against the worst."""

    quality: Float[Array, " system"]
    output_spread: Float[Array, ""]
    alike_spread: Float[Array, ""]
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


#: The log odds of an average are the average log odds over the root of 1 + this times their variance (Zeger et al.).
AVERAGE = 0.346
#: Each standard deviation is at least the first, as all systems and raters differ; its prior has the second as median;
#: the logarithm of what is above the least has the third as standard deviation. Few systems tell little of how much a
#: judge's biases differ, and a prior near zero would make intervals too narrow.
SPREADS = {
    "system_spread": (0.24, 1.2, 0.7),
    "output_spread": (0.24, 1.2, 0.5),
    "alike_spread": (0.16, 0.8, 0.5),
    "severity_spread": (0.08, 0.4, 0.6),
    "discrimination_spread": (0.06, 0.3, 0.6),
    "middle_spread": (0.16, 0.8, 0.6),
    "bias_spread": (0.24, 2.4, 0.5),
    "error_spread": (0.14, 0.7, 0.5),
}


def judged_outcomes(judged: JudgedOutcomes, nodes: Nodes) -> None:
    r"""Davidson's model and the many-facet Rasch model, with judges who are biased.

    .. math::
       P(y = k) \propto \exp\bigl(v_k\, (d_r x + s_r + b_{r})
       + t_{rk}\bigr), \qquad x = q_a + e, \quad\text{of pairs}\quad x = q_a - q_b + e

    for an outcome in category k with the score :math:`v_k` from −½ to ½; of pairs, the categories are lost, tie, won,
    and :math:`\exp t` is Davidson's tie parameter. A rater r has discrimination d, severity s (of pairs, preference for
    what is shown first, which adds or subtracts), and a preference for the middle categories in t. The people here have
    a mean severity of zero (of pairs, any) and a mean log discrimination of zero, as the level and the scale are
    theirs. A judge also has a bias b of its own for each system, whose mean over systems is in s and which is greater
    for own outputs, a preference for long outputs, lapses, in which its outcome has nothing to do with the output, and,
    with other judges, an error in common by cell. What a cell has of its own, e, and of pairs how alike they are, which
    adds to the t of all raters, is integrated out.

    Two things are sampled in terms of what outcomes tell most directly: qualities as the log odds of an average cell,
    which depend less on the spread of cells, and biases as what the judge says of the system, as that is known from
    many outcomes, however little is known of the quality.

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
    of_cell = log_of_cells(judged, nodes, facets(judged))
    numpyro.factor("outcomes", (judged.times * of_cell).sum())


def facets(judged: JudgedOutcomes) -> Parameters:
    """Prior of :func:`judged_outcomes`."""
    pairs = judged.opponent is not None
    people, (judges, systems), middle = len(judged.person), jnp.shape(judged.own), len(judged.score) - 2

    def spread(name: str) -> Array:
        least, median, log_sd = SPREADS[name]
        more = dist.LogNormal(jnp.log(median - least), log_sd)
        above = dist.transforms.AffineTransform(least, 1.0, domain=dist.constraints.positive)
        return numpyro.sample(name, dist.TransformedDistribution(more, above))

    def several(name: str, *shape: int, mean: float | Array = 0.0, sd: float | Array = 1.0) -> Array:
        mean = jnp.broadcast_to(jnp.asarray(mean, float), shape)
        return numpyro.sample(name, dist.Normal(mean, sd).to_event(len(shape)))

    def apart(name: str) -> Array:
        """Deviations of people from their mean, sampled as multiples of their spread, as few outcomes tell of each."""
        return spread(f"{name}_spread") * numpyro.sample(f"{name}_of_people", dist.ZeroSumNormal(1.0, (people,)))

    of_outputs = spread("output_spread")
    level = 0.0 if pairs else numpyro.sample("level", dist.Normal(0, 1.5))
    average = several("average", systems, mean=level, sd=spread("system_spread"))
    quality, centre = (one * jnp.sqrt(1 + AVERAGE * of_outputs**2) for one in (average, level))
    first = numpyro.sample("first", dist.Normal(0, 0.5)) if pairs else 0.0
    severity = first + apart("severity")
    discrimination = jnp.exp(apart("discrimination"))
    several("population", 3)  # mean severity, log discrimination and liking for the middle of all people, in errors
    longer = numpyro.sample("longer", dist.Normal(0, 0.5)) if pairs else jnp.zeros(())
    step, alike = jnp.zeros((people + judges, 0)), jnp.zeros(())
    if middle:
        usual = several("step_of_people", middle, sd=1.5)
        middles = numpyro.sample("middle_of_people", dist.ZeroSumNormal(spread("middle_spread"), (people,)))
        step = usual + middles[:, None]
        alike = spread("alike_spread") if pairs else alike
    bias, error = jnp.zeros((0, systems)), jnp.zeros(())
    bias_longer = lapse = guess = jnp.zeros(0)
    if judges:
        error = spread("error_spread") if judges > 1 else error
        severity_of_judges = several("severity_of_judges", judges, sd=1.5)
        of_judges = several("discrimination_of_judges", judges, mean=0.7, sd=0.7)
        severity = jnp.concatenate([severity, severity_of_judges])
        discrimination = jnp.concatenate([discrimination, of_judges])
        bias_longer = several("bias_longer", judges, sd=0.5) if pairs else jnp.zeros(judges)
        lapse = jax.nn.sigmoid(several("logit_lapse", judges, mean=-1.5))
        guess = several("guess", judges)
        # What an unbiased judge would say of an average cell, apart from lapses; and by how much less extreme, with
        # lapses, is what the judge says.
        fair = of_judges[:, None] * (quality - centre) + (0.0 if pairs else severity_of_judges[:, None])
        mean = fair + judged.own * several("own_bias", judges, 1, sd=0.7)
        less = (1 - lapse)[:, None] / jnp.sqrt(1 + AVERAGE * of_judges[:, None] ** 2 * (of_outputs**2 + error**2))
        more = 0.0 if pairs else (lapse * guess)[:, None]
        said = several("said", judges, systems, mean=less * mean + more, sd=less * spread("bias_spread"))
        bias = (said - more) / less - fair
        if middle:
            step = jnp.concatenate([step, several("step_of_judges", judges, middle, sd=1.5)])
    return Parameters(
        quality=quality,
        output_spread=of_outputs,
        alike_spread=alike,
        error_spread=error,
        longer=longer,
        severity=severity,
        discrimination=discrimination,
        step=jnp.pad(step, ((0, 0), (1, 1))),
        bias=bias,
        bias_longer=bias_longer,
        lapse=lapse,
        guess=guess,
        centre=jnp.asarray(centre),
    )


def quality_of(of: Kinds | JudgedOutcomes, parameters: Parameters) -> Float[Array, " of"]:
    """Quality of the output, or how much better the first of two is, in an average cell."""
    quality = parameters.quality[of.system] + of.longer * parameters.longer
    return quality if of.opponent is None else quality - parameters.quality[of.opponent]


def log_of_cells(judged: JudgedOutcomes, nodes: Nodes, parameters: Parameters) -> Float[Array, " cell"]:
    """Log probability of the outcomes of each cell."""
    return jax.nn.logsumexp(log_of_nodes(judged, nodes, parameters), axis=(1, 2))


def log_of_nodes(judged: JudgedOutcomes, nodes: Nodes, parameters: Parameters) -> Float[Array, "cell quality alike"]:
    """Log of the weight of each node times the probability there of the outcomes of each cell."""
    at, log_weight = nodes.at, nodes.log_weight
    shape = len(at.quality), len(at.alike)
    people = _log_of_sets(judged, judged.by_people, grid(at._replace(error=None)), parameters)
    log = log_weight.quality[:, None] + log_weight.alike + people[judged.people].reshape(-1, *shape)
    if not len(parameters.bias):
        return log
    judges = _log_of_sets(judged, judged.by_judges, grid(at), parameters).reshape(-1, *shape, len(at.error))
    judges = jax.nn.logsumexp(judges + log_weight.error, axis=-1)
    return log + judges.reshape(len(judges), -1)[judged.judges].reshape(-1, *shape)


def grid(at: Own) -> Own:
    """Nodes of all combinations."""
    parts = [one for one in at if one is not None]
    found = [one.ravel() for one in jnp.meshgrid(*parts, indexing="ij")]
    return Own(*found, *[None] * (len(at) - len(parts)))


def probabilities(
    judged: JudgedOutcomes, kinds: Kinds, own: Own, parameters: Parameters
) -> Float[Array, "kind node category"]:
    """Probability of every category by the rater of each kind, at each node."""
    logs = _log_categories(judged, kinds, own, parameters)
    share = jax.nn.softmax(jnp.stack(jnp.broadcast_arrays(*logs), axis=-1), axis=-1)
    if own.error is None:
        return share
    chance, lapse = _lapses(judged, kinds, parameters)
    return (1 - lapse)[..., None] * share + lapse[..., None] * jnp.exp(chance)[:, None]


def _log_of_sets(judged: JudgedOutcomes, kinds: Kinds, own: Own, parameters: Parameters) -> Float[Array, "set node"]:
    """Log probability of what people, or judges, said of each cell."""
    logs = _log_categories(judged, kinds, own, parameters)
    most = jax.lax.stop_gradient(jnp.abs(logs[-1] - logs[0])) / 2  # no category has greater log odds by its score
    weights = [jnp.exp(one - most) for one in logs]
    if own.error is None:
        log = _of_category(kinds, logs) - most - jnp.log(sum(weights))
    else:
        chance, lapse = _lapses(judged, kinds, parameters)
        chance = jnp.take_along_axis(jnp.exp(chance), kinds.category[:, None], axis=1)
        log = jnp.log((1 - lapse) * _of_category(kinds, weights) / sum(weights) + lapse * chance)
    number = len(kinds.size)
    of = jnp.repeat(jnp.arange(number), kinds.size, total_repeat_length=len(kinds.kind))
    return jax.ops.segment_sum(jax.lax.optimization_barrier(log)[kinds.kind], of, number)


def _of_category(kinds: Kinds, values: list[Float[Array, "kind node"]]) -> Float[Array, "kind node"]:
    return sum(jnp.where((kinds.category == at)[:, None], one, 0) for at, one in enumerate(values))


def _log_categories(
    judged: JudgedOutcomes, kinds: Kinds, own: Own, parameters: Parameters
) -> list[Float[Array, "kind node"]]:
    """Log odds of each category, apart from a constant, by the rater of each kind at each node."""
    p, rater, last = parameters, jnp.asarray(kinds.rater), len(judged.score) - 1
    x = quality_of(kinds, p)[:, None] + p.output_spread * own.quality
    offset = kinds.shown * p.severity[rater]
    if own.error is not None:
        judge = rater - len(judged.person)
        x = x + p.error_spread * own.error
        bias = p.bias[judge, kinds.system] + kinds.longer * p.bias_longer[judge]
        if kinds.opponent is not None:
            bias -= p.bias[judge, kinds.opponent]
        offset += bias - p.discrimination[rater] * p.centre
    odds = p.discrimination[rater][:, None] * x + offset[:, None]
    between = p.alike_spread * own.alike
    return [
        odds * score + p.step[rater, at][:, None] + (between if 0 < at < last else 0)
        for at, score in enumerate(judged.score)
    ]


def _lapses(
    judged: JudgedOutcomes, kinds: Kinds, parameters: Parameters
) -> tuple[Float[Array, "kind category"], Float[Array, "kind 1"]]:
    """Log probability of each category in a judge's lapse, and how often there is one."""
    rater = jnp.asarray(kinds.rater)
    judge = rater - len(judged.person)
    odds = (kinds.shown * parameters.guess[judge])[:, None] * judged.score + parameters.step[rater]
    return jax.nn.log_softmax(odds, axis=-1), parameters.lapse[judge, None]
