"""Plans: whether what they forecast comes true, over simulated worlds.

A world has cases with true plausibilities, two classifiers and two labels of each case. A plan forecasts how wide the
interval of the difference will be, and with what probability the better classifier will be known, after so many labels.
The labels are then drawn from the true plausibilities. What is known then is computed without draws: the probability
that a class is the most plausible one under a Dirichlet posterior, by quadrature.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

import plausibly as pb
from plausibly._progress import Progress
from validation._result import Result, Settings

WORLDS, QUICK = 160, 40
N_CASES, N_CLASSES, PRIOR, START, BUDGET = 100, 3, 0.5, 2, 300
LEVEL, NEAR = 0.95, (0.5, 0.98)  #: forecasts that are looked at: they are neither certain nor hopeless
WIDE = 0.05  #: bias of the width, of which a smaller one is none
SURE, CAME = (0.86, 0.94), (0.85, 0.95)  #: forecasts of about 0.9, and the share of them that has to come true


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
    error = ratio.std(ddof=1) / np.sqrt(len(ratio))
    p_values = {f"within {WIDE:.0%}": float(stats.norm.sf((abs(ratio.mean() - 1) - WIDE) / error))}
    remark = f"mean {ratio.mean():.3f}, sd {ratio.std():.3f}; within 10 %: {(abs(ratio - 1) < 0.1).mean():.0%}"
    yield Result("planning", "width that came / forecast", "mean", p_values, len(ratio), remark=remark)
    used = (forecast >= NEAR[0]) & (forecast <= NEAR[1])
    yield _calibrated("P(decided)", forecast[used], decided[used])
    sure = (forecast >= SURE[0]) & (forecast <= SURE[1])
    yield _calibrated("P(decided) of about 0.9", forecast[sure], decided[sure], *CAME)


def _calibrated(what: str, forecast: np.ndarray, came: np.ndarray, lower: float = 1, upper: float = 0) -> Result:
    """Whether forecasts came true as often as they said, or within limits."""
    share, n = came.mean(), len(came)
    spread = np.sqrt((forecast * (1 - forecast)).sum())
    p_value = 2 * stats.norm.sf(abs((came - forecast).sum()) / spread)
    remark = f"forecast {forecast.mean():.3f}, came true {share:.3f} ± {np.sqrt(share * (1 - share) / n):.3f}"
    if lower < upper:
        remark += f"; aim {lower:.2f} to {upper:.2f}"
    return Result("planning", what, "share", {"two-sided": float(p_value)}, n, remark=remark)


def world(seed: list[int], *, sees_truth: bool = False) -> tuple[float, float, float]:
    """Forecast of a decision, whether it was made, and the width that came over the width forecast.

    Classifiers know what the first labels say and no more, as the model takes them to; or they see the truth.
    """
    random = np.random.default_rng(seed)
    truth = random.dirichlet(np.full(N_CLASSES, PRIOR), N_CASES)
    counts = random.multinomial(START, truth)
    known = truth if sees_truth else counts + PRIOR
    gap = random.uniform(0.3, 1.5)
    noise = random.standard_normal((2, N_CASES, N_CLASSES))
    predictions = {name: np.log(known + 1e-9) + (1 + gap * at) * noise[at] for at, name in enumerate("AB")}
    wanted = random.uniform(*SURE) if random.random() < 0.8 else random.uniform(*NEAR)
    annotations = pb.Annotations.from_counts(counts)
    given = {"concentration": PRIOR, "draws": 150, "seed": 0, "progress": False}
    posterior = pb.aggregate(annotations, "dirichlet-categorical", **given)
    plan = pb.plan(posterior, predictions, goal="better", budget=BUDGET, level=LEVEL, progress=False)
    rows = plan.forecast[(plan.forecast["versus"] != "") & (plan.forecast["labels"] > 0)]
    row = rows.iloc[int(np.argmin(abs(rows["decided"] - wanted)))]
    chosen = np.bincount(np.array(plan.sequence[: int(row["labels"])], int), minlength=N_CASES)
    mean, sd = difference(counts + random.multinomial(chosen, truth), *predictions.values())
    better = stats.norm.cdf(mean / sd)
    width = 2 * stats.norm.ppf(0.97) * sd
    return float(row["decided"]), float(max(better, 1 - better) >= LEVEL), float(width / row["width"])


def difference(
    counts: Int[np.ndarray, "case class"],
    first: Float[np.ndarray, "case class"],
    second: Float[np.ndarray, "case class"],
) -> tuple[float, float]:
    """Mean and standard deviation of the difference of two accuracies under the Dirichlet posterior of these counts."""
    rows, own, other = np.arange(len(counts)), first.argmax(axis=1), second.argmax(axis=1)
    chance = most_plausible(counts + PRIOR)
    a, b = chance[rows, own], chance[rows, other]
    variance = np.where(own == other, 0, a + b - (a - b) ** 2)
    return float((a - b).mean()), float(np.sqrt(variance.sum()) / len(counts))


def most_plausible(shapes: Float[np.ndarray, "case class"]) -> Float[np.ndarray, "case class"]:
    """Probability that each class is the most plausible one under Dirichlet distributions, by quadrature.

    Plausibilities are gamma variables over their sum, so it is the probability that one of them is the largest.
    """
    different, which = np.unique(shapes, axis=0, return_inverse=True)
    # Quantiles of every class in turn, where its own distribution has equal steps.
    steps = (np.arange(400) + 0.5) / 400
    found = np.empty(different.shape)
    for k in range(different.shape[1]):
        at = stats.gamma.ppf(steps, different[:, k, None])
        others = np.delete(different, k, axis=1)
        found[:, k] = np.prod(stats.gamma.cdf(at[:, None], others[:, :, None]), axis=1).mean(axis=1)
    return found[which.ravel()]
