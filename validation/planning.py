"""Plans: whether what they forecast comes true, over simulated worlds.

A world has cases, two labels of each, and two classifiers that know these labels and no more, as the model takes them
to. A plan forecasts how wide the interval of the difference will be, and with what probability the better classifier
will be known, after so many labels. The labels are then drawn many times, each time from plausibilities drawn from the
exact posterior. What is known then is computed without draws: the probability that a class is the most plausible one
under a Dirichlet posterior, by quadrature.

Posteriors that know predictions have parameters in common, which further labels inform. There a plan is compared with
refits to labels that are really drawn. ``python -m validation.planning`` prints a table, for the worlds of
:data:`validation._worlds.HOLDS` and, where ``--data`` has it, for ChaosNLI (see :mod:`validation.chaosnli`).
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

import plausibly as pb
from plausibly.base.progress import Progress
from validation._result import Result, Settings
from validation._worlds import HOLDS, Data
from validation.chaosnli import read
from validation.published import ROOT

WORLDS, QUICK, TIMES = 160, 12, 100
N_CASES, N_CLASSES, PRIOR, START, BUDGET = 100, 3, 0.5, 2, 300
LEVEL, NEAR = 0.95, (0.5, 0.98)  #: forecasts that are looked at: they are neither certain nor hopeless
SURE = (0.86, 0.94)  #: forecasts of about 0.9
WIDE, OFF = 0.05, 0.02  #: bias of the width and of a probability, of which a smaller one is none
SHARED = "4 classes, 3 labels, 600 cases"  #: world in which cases share parameters
SHARES = 0.3, 1.0  #: new labels in the table, as shares of those there
REFITS, ROUGH = 6, 0.15  #: data sets of it, and bias of the width under it, of which a smaller one is none


def check(settings: Settings) -> Iterator[Result]:
    """Compare forecasts with what comes of them."""
    worlds = QUICK if settings.quick else WORLDS
    found = []
    with Progress(settings.progress) as progress:
        advance = progress.task("Simulating plans", worlds, "worlds")
        for number in range(worlds):
            found.append(world([settings.seed, 31, number]))
            advance(1)
    forecast, decided, ratio = np.array(found).T
    remark = f"mean {ratio.mean():.3f}, sd {ratio.std():.3f}; within 10 %: {(abs(ratio - 1) < 0.1).mean():.0%}"
    yield Result("planning", "width that came / forecast", "mean", _bias(ratio - 1, WIDE), len(ratio), remark=remark)
    for what, (lower, upper) in (("P(decided)", NEAR), ("P(decided) of about 0.9", SURE)):
        used = (forecast >= lower) & (forecast <= upper)
        gap = decided[used] - forecast[used]
        remark = f"forecast {forecast[used].mean():.3f}, came true {decided[used].mean():.3f}"
        remark += f" ± {gap.std(ddof=1) / np.sqrt(len(gap)):.3f}"
        yield Result("planning", what, "share", _bias(gap, OFF), len(gap), remark=remark)
    if settings.quick:
        return
    found = []
    for number in range(REFITS):
        random = np.random.default_rng([settings.seed, 32, number])
        found.append([after / forecast for *_, forecast, after in refits(HOLDS[SHARED](random), (1.0,), random)])
    planned, at_random = np.array(found).T
    bias = _bias((planned + at_random) / 2 - 1, ROUGH)
    remark = f"planned {planned.mean():.3f}, at random {at_random.mean():.3f}"
    yield Result("planning", "width of refits with predictions / forecast", "mean", bias, REFITS, remark=remark)


def _bias(gap: Float[np.ndarray, " world"], most: float) -> dict[str, float]:
    """Test whether a mean gap is larger than this."""
    error = gap.std(ddof=1) / np.sqrt(len(gap))
    return {f"within {most:.0%}": float(stats.t.sf((abs(gap.mean()) - most) / error, len(gap) - 1))}


def world(seed: list[int]) -> tuple[float, float, float]:
    """Probability of a decision by forecast, the same by simulation, and the mean width that came over its forecast."""
    random = np.random.default_rng(seed)
    counts = random.multinomial(START, random.dirichlet(np.full(N_CLASSES, PRIOR), N_CASES))
    gap = random.uniform(0.3, 1.5)
    noise = random.standard_normal((2, N_CASES, N_CLASSES))
    predictions = {name: np.log(counts + PRIOR) + (1 + gap * at) * noise[at] for at, name in enumerate("AB")}
    wanted = random.uniform(*SURE) if random.random() < 0.8 else random.uniform(*NEAR)
    annotations = pb.Annotations.from_counts(counts)
    given = {"concentration": PRIOR, "draws": 150, "seed": 0, "progress": False}
    posterior = pb.aggregate(annotations, "dirichlet-categorical", **given)
    plan = pb.plan(posterior, predictions, goal="better", budget=BUDGET, level=LEVEL, progress=False)
    rows = plan.forecast[(plan.forecast["versus"] != "") & (plan.forecast["labels"] > 0)]
    row = rows.iloc[int(np.argmin(abs(rows["decided"] - wanted)))]
    chosen = np.bincount(np.array(plan.sequence[: int(row["labels"])], int), minlength=N_CASES)
    share = random.gamma(counts + PRIOR, size=(TIMES, N_CASES, N_CLASSES))
    after = counts + random.multinomial(chosen, share / share.sum(axis=-1, keepdims=True))
    mean, sd = difference(after, *(given.argmax(axis=1) for given in predictions.values()))
    better = stats.norm.cdf(mean / sd)
    width = 2 * stats.norm.ppf((1 + plan.ci_prob) / 2) * sd.mean()
    return float(row["decided"]), float((np.maximum(better, 1 - better) >= LEVEL).mean()), float(width / row["width"])


def difference(
    counts: Int[np.ndarray, "time case class"], own: Int[np.ndarray, " case"], other: Int[np.ndarray, " case"]
) -> tuple[Float[np.ndarray, " time"], Float[np.ndarray, " time"]]:
    """Mean and standard deviation of the difference of two accuracies under the Dirichlet posterior of these counts."""
    rows = np.arange(counts.shape[1])
    chance = most_plausible(counts + PRIOR)
    a, b = chance[:, rows, own], chance[:, rows, other]
    variance = np.where(own == other, 0, a + b - (a - b) ** 2)
    return (a - b).mean(axis=1), np.sqrt(variance.sum(axis=1)) / counts.shape[1]


def most_plausible(shapes: Float[np.ndarray, "*case class"]) -> Float[np.ndarray, "*case class"]:
    """Probability that each class is the most plausible one under Dirichlet distributions, by quadrature.

    Plausibilities are gamma variables over their sum, so it is the probability that one of them is the largest.
    """
    order = np.argsort(shapes, axis=-1)
    ranked = np.take_along_axis(shapes, order, axis=-1).reshape(-1, shapes.shape[-1])
    different, which = np.unique(ranked, axis=0, return_inverse=True)
    # Quantiles of every class in turn, where its own distribution has equal steps.
    steps = (np.arange(400) + 0.5) / 400
    found = np.empty(different.shape)
    for k in range(different.shape[1]):
        at = stats.gamma.ppf(steps, different[:, k, None])
        others = np.delete(different, k, axis=1)
        found[:, k] = np.prod(stats.gamma.cdf(at[:, None], others[:, :, None]), axis=1).mean(axis=1)
    return np.take_along_axis(found[which.ravel()].reshape(shapes.shape), np.argsort(order, axis=-1), axis=-1)


def refits(
    data: Data, shares: Sequence[float], random: np.random.Generator
) -> list[tuple[float, str, float, float, float]]:
    """Forecast and refitted standard deviations of accuracy, means over classifiers.

    Each row has the number of new labels as a share of those there, how their cases are chosen, and the standard
    deviation now, by forecast, and after a refit to labels that were drawn. Labels at random are spread evenly.
    """
    n_cases, n_labels = len(data.counts), int(data.counts.sum())

    def fit(counts):
        annotations = pb.Annotations.from_counts(counts)
        return pb.aggregate(annotations, predictions=data.scores, draws=500, seed=0, progress=False)

    def deviation(posterior):
        found = pb.evaluate(posterior, data.scores, k=1, progress=False)["top1_accuracy"]
        return float(found.std("draw").mean())

    posterior = fit(data.counts)
    budget = round(max(shares) * n_labels)
    plan = pb.plan(posterior, data.scores, budget=budget, progress=False)
    widths = plan.forecast[plan.forecast["versus"] == ""].groupby("labels")[["width", "width_at_random"]].mean()
    now, rows = deviation(posterior), []
    for share in shares:
        n = int(widths.index[np.argmin(abs(widths.index - share * n_labels))])
        even = np.bincount(np.concatenate([random.permutation(n_cases) for _ in range(n // n_cases + 1)])[:n])
        planned = np.bincount(np.array(plan.sequence[:n], int), minlength=n_cases)
        for how, column, at in (("planned", "width", planned), ("at random", "width_at_random", even)):
            at = np.pad(at, (0, n_cases - len(at)))
            after = deviation(fit(data.counts + random.multinomial(at, data.plausibility)))
            forecast = now * float(widths.loc[n, column] / widths[column].iloc[0])
            rows.append((n / n_labels, how, now, forecast, after))
    return rows


def _worlds(folder: Path) -> dict[str, Callable[[np.random.Generator], Data]]:
    """Worlds all of whose cases have labels, and votes of ChaosNLI, drawn with replacement, where the folder has it."""
    found = {name: world for name, world in HOLDS.items() if " of 1500 " not in name}
    if not (folder / "chaosnli/snli.npz").is_file():
        print(f"skipped, no data: {folder / 'chaosnli/snli.npz'}")
        return found
    votes, scores = read(folder / "chaosnli")
    share = votes / votes.sum(axis=1, keepdims=True)
    return found | {
        f"ChaosNLI, {m} labels, {len(votes)} cases": lambda random, m=m: Data(
            share, random.multinomial(m, share), scores
        )
        for m in (2, 3)
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print forecast and refitted standard deviations; returns 0."""
    parser = argparse.ArgumentParser(prog="python -m validation.planning", description="Forecasts against refits.")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data", metavar="FOLDER",
                        help="folder that holds chaosnli")  # fmt: skip
    parser.add_argument("--only", default="", metavar="TEXT", help="worlds whose name contains this")
    parser.add_argument("--repetitions", type=int, default=3, help="data sets of each world (3)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (0)")
    given = parser.parse_args(arguments)
    worlds = _worlds(given.data)
    print(
        "| world | new labels | cases | sd now | forecast | refit | refit / forecast |\n|---|---|---|---|---|---|---|"
    )
    for at, (name, world) in enumerate(worlds.items()):
        if given.only not in name:
            continue
        found = []
        for number in range(given.repetitions):
            random = np.random.default_rng([given.seed, 33, at, number])
            found.append(refits(world(random), SHARES, random))
        for rows in zip(*found, strict=True):
            share, how = np.mean([row[0] for row in rows]), rows[0][1]
            now, forecast, after = np.sqrt(np.mean(np.square([row[2:] for row in rows]), axis=0))
            cells = f"{now:.4f} | {forecast:.4f} | {after:.4f} | {after / forecast:.2f}"
            print(f"| {name} | +{share:.0%} | {how} | {cells} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
