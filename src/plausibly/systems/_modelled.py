"""A result with the model: its rows, the ranking by it, where it differs from PPI++, and checks by replicates."""

from collections.abc import Iterator
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.stats import norm

from plausibly.base.arviz import Posterior, to_groups
from plausibly.base.bootstrap import interval, ranked
from plausibly.base.checks import check_whole
from plausibly.base.names import some
from plausibly.data.outcomes import Cells, Outcomes, cells_of
from plausibly.models.judged_outcomes import Kinds, Own, Parameters, probabilities
from plausibly.systems._estimates import mean
from plausibly.systems._model import MEANS, Layout, lay_out, sample
from plausibly.systems._result import MEANT, SURE, Systems, in_ranks, table_of_differences

ESTIMATORS = dict(zip(("model", "model-these", "model-people"), MEANS, strict=True))
_SHORT = {"model-these": "these", "model-people": "people"}  # of their intervals in the ranking


def with_model(
    result: Systems, own: Float[np.ndarray, "judge system"], *, draws: int, chains: int, warmup: int, progress: bool
) -> Systems:
    """Sample the model, and rank by it if its chains converged."""
    for name, value, least in (("draws", draws, 4), ("chains", chains, 1), ("warmup", warmup, 1)):
        check_whole(name, value, least)
    read, ci_prob = result.outcomes, result.ci_prob
    layout = lay_out(read, own)
    posterior = sample(
        layout, read.systems, draws=draws, chains=chains, warmup=warmup, seed=result.seed, progress=progress
    )
    checks = predictive_checks(layout, posterior, ci_prob, result.seed)
    of = {name: _flat(posterior, mean) for name, mean in ESTIMATORS.items()}
    effect = design_effect(cells_of(read))
    of |= {name: widened(of[name], effect, layout.values[[0, -1]]) for name in ("model", "model-people")}
    rows = _rows(result, of)
    failed = int((~posterior["convergence"]["converged"].values).sum())
    changed = {}
    if not failed and not result.cautions:
        order = np.argsort(-of["model"].mean(axis=0), kind="stable")
        changed = {"ranking": _ranking(read, of, order, ci_prob), "main": "model"}
        changed["differences"] = _differences(read, of["model"], order, ci_prob)
    ranking = changed.get("ranking", result.ranking)
    return replace(
        result,
        table=_in_order(pd.concat([result.table, rows], ignore_index=True), ranking["system"].tolist()),
        notes=(
            *result.notes,
            *_notes(result, rows, failed, int(posterior["sample_stats"]["diverging"].sum())),
            *check_sentences(checks),
        ),
        posterior=posterior,
        checks=checks,
        **changed,
    )


def design_effect(cells: Cells) -> float:
    """Variance of the people's means with errors of clusters over that of independent cases, on average; at least 1.

    The model takes cases as independent, so on new cases its intervals have to be as much wider as this is above 1.
    """
    known = ~np.isnan(cells.people)
    _, cluster = np.unique(cells.cluster[known], return_inverse=True)
    seen = Cells(cells.system[known], cluster, cells.people[known])
    together, alone = mean(seen).se, mean(replace(seen, cluster=np.arange(len(cluster)))).se
    usable = (alone > 0) & np.isfinite(together)
    return max(1.0, float(np.mean((together[usable] / alone[usable]) ** 2))) if usable.any() else 1.0


def widened(
    draws: Float[np.ndarray, "draw system"], effect: float, ends: Float[np.ndarray, " end"]
) -> Float[np.ndarray, "draw system"]:
    """Draws whose variance is that of others times a design effect, within the range of outcomes."""
    middle = draws.mean(axis=0)
    return np.clip(middle + np.sqrt(effect) * (draws - middle), *ends)


def _flat(posterior: Posterior, name: str) -> Float[np.ndarray, "draw system"]:
    values = posterior["posterior"][name].transpose("chain", "draw", "system").values
    return values.reshape(-1, values.shape[-1]).astype(float)


def _rows(result: Systems, of: dict[str, Float[np.ndarray, "draw system"]]) -> pd.DataFrame:
    alone = result.table[result.table["estimator"] == "people"].set_index("system")["n_people"]
    judges = result.table[result.table["estimator"] == "judge"]
    seen = {name: of["n_judge"].max() for name, of in judges.groupby("system")}
    systems = result.outcomes.systems
    frames = []
    for estimator, draws in of.items():
        lower, upper = interval(draws, result.ci_prob)
        columns = {
            "system": systems,
            "estimator": estimator,
            "judge": "",
            "n_people": alone.loc[systems].to_numpy(),
            "n_judge": [seen.get(name, 0) for name in systems],
            "mean": draws.mean(axis=0),
            "lower": lower,
            "upper": upper,
            "se": draws.std(axis=0, ddof=1),
            "weight": np.nan,
            "meant": MEANT[estimator],
        }
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def _in_order(table: pd.DataFrame, systems: list[str]) -> pd.DataFrame:
    place = {name: at for at, name in enumerate(systems)}
    return table.sort_values("system", key=lambda column: column.map(place), kind="stable", ignore_index=True)


def _ranking(read: Outcomes, of: dict[str, np.ndarray], order: np.ndarray, ci_prob: float) -> pd.DataFrame:
    """Rank by draws: three intervals of each mean, P(best), and the interval of the rank."""
    means = of["model"]
    columns = {"mean": means.mean(axis=0)}
    columns |= dict(zip(("lower", "upper"), interval(means, ci_prob), strict=True))
    for name, short in _SHORT.items():
        columns |= dict(zip((f"{short}_lower", f"{short}_upper"), interval(of[name], ci_prob), strict=True))
    ranks = ranked(means, ci_prob)
    return in_ranks(read, order, columns | {name: ranks[name] for name in ("p_best", "rank_lower", "rank_upper")})


def _differences(read: Outcomes, means: Float[np.ndarray, "draw system"], order, ci_prob: float) -> pd.DataFrame:
    first, second = (order[index] for index in np.triu_indices(len(order), 1))
    apart = means[:, first] - means[:, second]
    lower, upper = interval(apart, ci_prob)
    return table_of_differences(read, first, second, apart.mean(axis=0), lower, upper, (apart > 0).mean(axis=0))


def _notes(result: Systems, rows: pd.DataFrame, failed: int, diverging: int) -> Iterator[str]:
    """Say whether chains converged, what the intervals rest on, and where the model differs from PPI++."""
    if failed:
        why = f" ({diverging:,} of their steps diverged)" if diverging else ""
        yield (
            f"The model's chains did not converge in {failed:,} quantities{why}, so {result.by} ranks the systems; try "
            "more draws (draws=, --draws), a longer warm-up (warmup=, --warmup), or another seed."
        )
    if result.cautions:
        yield f"The model does not know that systems were not judged alike, so {result.by} ranks them."
    if len(result.outcomes.people) == 1:
        yield "One person rated, so what other people would say rests on the prior alone."
    used = result.table[(result.table["estimator"] == result.main) & (result.table["judge"] == result.judge)]
    both = rows[rows["estimator"] == "model"].merge(used, on="system", suffixes=("", "_other"))
    limit = norm.isf((1 - result.ci_prob) / 2 / len(both))
    apart = both[(both["mean"] - both["mean_other"]).abs() > limit * both[["se", "se_other"]].max(axis=1)]
    if len(apart):
        yield (
            f"The model and {result.by} differ by more than their errors for {some(apart['system'].tolist())}: "
            "do not trust the model there."
        )


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
