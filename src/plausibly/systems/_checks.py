"""Posterior predictive checks of the model: what it expects of outcomes like these, and what they are."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jaxtyping import Int

from plausibly.base.arviz import Posterior, to_groups
from plausibly.base.bootstrap import interval
from plausibly.models.judged_outcomes import Kinds, Own, Parameters, probabilities
from plausibly.systems._model import Layout
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
    judged = layout.judged
    seen = _cells_of_people(layout, random)
    parts = [_of_sets(judged.by_people, judged.people[seen]), _of_sets(judged.by_judges, judged.judges[seen])]
    observed = _statistics(layout, parts, [kinds.category for kinds, _ in parts])
    group = to_groups(posterior)["posterior"].stack(sample=("chain", "draw")).transpose("sample", ...)
    some = np.unique(np.linspace(0, group.sizes["sample"] - 1, _DRAWS).astype(int))

    @jax.jit
    def cumulative(kinds, own, parameters):
        return jnp.cumsum(probabilities(judged, kinds, own, parameters)[:, 0], axis=-1)[:, :-1]

    replicates = []
    for at in some:
        parameters = parameters_of(layout, group.isel(sample=at))
        quality, alike, error = random.standard_normal((3, len(seen), 1)).astype(np.float32)
        drawn = []
        for (kinds, cell), shared in zip(parts, (None, error), strict=True):
            own = Own(quality[cell], alike[cell], None if shared is None else shared[cell])
            below = np.asarray(cumulative(kinds, own, parameters)) if len(cell) else np.zeros((0, 1))
            drawn.append((random.random((len(cell), 1)) > below).sum(1))
        replicates.append(_statistics(layout, parts, drawn))
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


def _cells_of_people(layout: Layout, random: np.random.Generator) -> Int[np.ndarray, " chosen"]:
    """Cells that people saw, or some of these, each as often as it occurs."""
    judged = layout.judged
    seen = np.flatnonzero(np.asarray(judged.by_people.size)[judged.people])
    chosen = np.repeat(seen, judged.times[seen].astype(int))
    return random.choice(chosen, _CELLS, replace=False) if len(chosen) > _CELLS else chosen


def _of_sets(kinds: Kinds, sets: Int[np.ndarray, " chosen"]) -> tuple[Kinds, Int[np.ndarray, " outcome"]]:
    """Outcomes of some sets, each as a kind of its own, and the places of their sets among these."""
    number = kinds.size[sets]
    of = np.repeat(np.arange(len(sets)), number)
    start = (np.cumsum(kinds.size) - kinds.size)[sets] - (np.cumsum(number) - number)
    at = kinds.kind[np.arange(len(of)) + start[of]]
    columns = (value if value is None else value[at] for value in kinds[:6])
    return Kinds(*columns, np.arange(len(at)), number), of


def _statistics(
    layout: Layout, parts: list[tuple[Kinds, np.ndarray]], categories: list[np.ndarray]
) -> dict[str, float]:
    judged, n, k, found = layout.judged, len(layout.judged.person), len(layout.values), {}
    (_, cell), (judges, cell_of_judges) = parts
    category, category_of_judges = categories
    by_people = np.zeros((cell.max() + 1, k))
    np.add.at(by_people, (cell, category), 1)
    total = by_people.sum(1)
    if (total > 1).any():
        agree = (by_people * (by_people - 1)).sum(1)[total > 1] / (total * (total - 1))[total > 1]
        found["agreement of two outcomes by people"] = float(agree.mean())
    middle = [(one > 0) & (one < k - 1) for one in categories]
    word = "share of ties" if judged.opponent is not None else "share of middle ratings"
    if k > 2:
        found[f"{word} by people"] = float(middle[0].mean())
    for judge, name in enumerate(layout.raters[n:].tolist(), start=n):
        own = np.asarray(judges.rater) == judge
        if own.any():
            at = cell_of_judges[own]
            found[f"agreement of {name} with people"] = float(
                (by_people[at, category_of_judges[own]] / total[at]).mean()
            )
        if own.any() and k > 2:
            found[f"{word} by {name}"] = float(middle[1][own].mean())
    return found
