"""Posterior predictive checks of the model: what it expects of outcomes like these, and what they are."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from plausibly._arviz import Posterior
from plausibly.bootstrap import interval
from plausibly.models.judged_outcomes import Parameters, log_odds, probabilities
from plausibly.systems._layout import Layout
from plausibly.systems._result import SURE

_DRAWS, _CELLS = 200, 5000  # of which replicates are simulated
COLUMNS = ["check", "observed", "expected", "lower", "upper", "p"]


def predictive_checks(layout: Layout, posterior: Posterior, ci_prob: float, seed: int) -> pd.DataFrame:
    """Compare agreement and middle outcomes of raters with replicates from the posterior, in cells that people saw.

    Returns
    -------
    pandas.DataFrame
        One row per check: the statistic ``observed``, its mean in replicates (``expected``) with ``lower`` and
        ``upper``, and the two-sided posterior predictive p-value ``p``.
    """
    random = np.random.default_rng(seed)
    kind, cell = _cells_of_people(layout, random)
    judged, nodes = jax.tree.map(jnp.asarray, (layout.judged, layout.nodes))
    observed = _statistics(layout, kind, cell, layout.judged.category[kind])
    group = posterior["posterior"].stack(sample=("chain", "draw")).transpose("sample", ...)
    some = np.unique(np.linspace(0, group.sizes["sample"] - 1, _DRAWS).astype(int))
    share = np.exp(layout.nodes.log_weight)

    @jax.jit
    def cumulative(parameters):
        odds = log_odds(judged, nodes, parameters)
        at = jax.vmap(lambda one: probabilities(judged, parameters, one), in_axes=1, out_axes=1)(odds)
        return jnp.cumsum(at, axis=-1)[..., :-1]

    replicates = []
    for at in some:
        below = np.asarray(cumulative(parameters_of(layout, group.isel(sample=at))))
        node = random.choice(len(share), cell.max() + 1, p=share / share.sum())[cell]
        drawn = (random.random((len(kind), 1)) > below[kind, node]).sum(1)
        replicates.append(_statistics(layout, kind, cell, drawn))
    rows = []
    for check, value in observed.items():
        draws = np.array([one[check] for one in replicates])
        above, equal = (draws > value).mean(), (draws == value).mean()
        p = 2 * min(above + equal / 2, 1 - above - equal / 2)
        rows.append((check, value, draws.mean(), *interval(draws, ci_prob), max(p, 1 / len(draws))))
    return pd.DataFrame(rows, columns=COLUMNS)


def check_sentences(checks: pd.DataFrame) -> Iterator[str]:
    """Say what the model does not expect."""
    for row in checks[checks["p"] < SURE].to_dict("records"):
        yield (
            f"The model does not fit: {row['check']} is {row['observed']:.3f}, and it expects {row['expected']:.3f} "
            f"({row['lower']:.3f} to {row['upper']:.3f})."
        )


def parameters_of(layout: Layout, draw) -> Parameters:
    """Parameters of one draw of a posterior of the model, with zeros for what this kind of outcomes has not."""
    judges, systems = np.shape(layout.judged.own)
    by_judge = dict.fromkeys(("bias_longer", "lapse", "guess"), np.zeros(judges))
    zeros = by_judge | {"bias": np.zeros((judges, systems))}
    values = (draw[name].values if name in draw else zeros.get(name, 0.0) for name in Parameters._fields)
    return Parameters(*map(jnp.asarray, values))


def _cells_of_people(layout: Layout, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Kind and cell of the outcomes in cells that people saw, or some of these, each cell as often as it occurs."""
    judged = layout.judged
    seen = np.unique(judged.cell[judged.rater[judged.kind] < len(judged.person)])
    chosen = np.repeat(seen, judged.times[seen].astype(int))
    if len(chosen) > _CELLS:
        chosen = random.choice(chosen, _CELLS, replace=False)
    start = np.searchsorted(judged.cell, np.arange(len(judged.times) + 1))
    number = np.diff(start)[chosen]
    at = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number) + np.repeat(start[chosen], number)
    return judged.kind[at], np.repeat(np.arange(len(chosen)), number)


def _statistics(layout: Layout, kind, cell, category) -> dict[str, float]:
    judged, n, k = layout.judged, len(layout.judged.person), len(layout.values)
    rater, found = judged.rater[kind], {}
    by_people = np.zeros((cell.max() + 1, k))
    np.add.at(by_people, (cell[rater < n], category[rater < n]), 1)
    total = by_people.sum(1)
    if (total > 1).any():
        agree = (by_people * (by_people - 1)).sum(1)[total > 1] / (total * (total - 1))[total > 1]
        found["agreement of two people on the same output"] = float(agree.mean())
    middle = (category > 0) & (category < k - 1)
    word = "share of ties" if judged.opponent is not None else "share of middle ratings"
    if k > 2:
        found[f"{word} by people"] = float(middle[rater < n].mean())
    for judge, name in enumerate(layout.raters[n:].tolist(), start=n):
        own = rater == judge
        if own.any():
            shares = by_people[cell[own], category[own]] / total[cell[own]]
            found[f"agreement of {name} with people"] = float(shares.mean())
        if own.any() and k > 2:
            found[f"{word} by {name}"] = float(middle[own].mean())
    return found
