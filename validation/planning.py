"""Plans: whether what they forecast comes true, over simulated worlds.

A world has cases, two labels of each, and two classifiers that know these labels and no more, as the model takes them
to. A plan forecasts how wide the interval of the difference will be, and with what probability the better classifier
will be known, after so many labels. The labels are then drawn many times, each time from plausibilities drawn from the
exact posterior. What is known then is computed without draws: the probability that a class is the most plausible one
under a Dirichlet posterior, by quadrature.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

import plausibly as pb
from plausibly._progress import Progress
from validation._result import Result, Settings

WORLDS, QUICK, TIMES = 160, 40, 100
N_CASES, N_CLASSES, PRIOR, START, BUDGET = 100, 3, 0.5, 2, 300
LEVEL, NEAR = 0.95, (0.5, 0.98)  #: forecasts that are looked at: they are neither certain nor hopeless
SURE = (0.86, 0.94)  #: forecasts of about 0.9
WIDE, OFF = 0.05, 0.02  #: bias of the width and of a probability, of which a smaller one is none


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
