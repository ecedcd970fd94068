"""Plans: whether what they forecast comes true, over simulated worlds.

A world has cases with true plausibilities, two classifiers and two labels of each case. A plan forecasts how wide the
interval of the difference will be, and with what probability the better classifier will be known, after so many labels.
The labels are then drawn from the true plausibilities and the posterior is fitted again.
"""

from collections.abc import Iterator

import numpy as np
from scipy import stats

import plausibly as pb
from plausibly._progress import Progress
from plausibly.evaluation.comparison import probability_better
from validation._result import Result, Settings

WORLDS, QUICK = 150, 12
N_CASES, N_CLASSES, PRIOR, START, BUDGET = 100, 3, 0.5, 2, 300
LEVEL, NEAR = 0.95, (0.5, 0.98)  #: forecasts that are looked at: they are neither certain nor hopeless
WIDE = 0.05  #: bias of the width, of which a smaller one is none


def check(settings: Settings) -> Iterator[Result]:
    """Compare forecasts with what comes of them."""
    worlds = QUICK if settings.quick else WORLDS
    found = []
    with Progress(settings.progress) as progress:
        advance = progress.task("Simulating plans", worlds, "worlds")
        for number in range(worlds):
            found.append(world([settings.seed, 31, number]))
            advance(1)
    ratio = np.array([one[2] for one in found])
    error = ratio.std(ddof=1) / np.sqrt(len(ratio))
    away = (abs(ratio.mean() - 1) - WIDE) / error
    remark = f"mean {ratio.mean():.3f}, sd {ratio.std():.3f}; within 10 %: {(abs(ratio - 1) < 0.1).mean():.0%}"
    p_values = {f"within {WIDE:.0%}": float(stats.norm.sf(away))}
    yield Result("planning", "width that came / forecast", "mean", p_values, len(ratio), remark=remark)
    forecast, decided = (np.array([one[at] for one in found]) for at in (0, 1))
    used = ~np.isnan(forecast)
    forecast, decided = forecast[used], decided[used].astype(bool)
    if not len(forecast):
        return
    spread = np.sqrt((forecast * (1 - forecast)).sum())
    p_value = 2 * stats.norm.sf(abs((decided - forecast).sum()) / spread)
    near = forecast >= 0.85
    remark = f"forecast {forecast.mean():.3f}, came true {decided.mean():.3f}"
    if near.any():
        remark += f"; of {near.sum()} forecasts of {forecast[near].mean():.2f}, {decided[near].mean():.0%} came true"
    yield Result("planning", "P(decided)", "share", {"two-sided": float(p_value)}, len(forecast), remark=remark)


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
    wanted = random.uniform(0.85, 0.95) if random.random() < 0.6 else random.uniform(*NEAR)

    def fit(counts):
        annotations = pb.Annotations.from_counts(counts)
        given = {"concentration": PRIOR, "draws": 150, "seed": 0, "progress": False}
        return pb.aggregate(annotations, "dirichlet-categorical", **given)

    plan = pb.plan(fit(counts), predictions, goal="better", budget=BUDGET, level=LEVEL, progress=False)
    rows = plan.forecast[(plan.forecast["versus"] != "") & (plan.forecast["labels"] > 0)]
    row = rows.iloc[int(np.argmin(abs(rows["decided"] - wanted)))]
    chosen = np.bincount(np.array(plan.sequence[: int(row["labels"])], int), minlength=N_CASES)
    counts = counts + random.multinomial(chosen, truth)
    results = pb.evaluate(fit(counts), predictions, k=1, sizes=(), progress=False)
    better = probability_better(results, "top1_accuracy", "A", "B")
    draws = results["top1_accuracy"].values
    width = np.ptp(np.quantile(draws[0] - draws[1], [0.03, 0.97]))
    inside = NEAR[0] <= row["decided"] <= NEAR[1]
    decided = max(better, 1 - better) >= LEVEL
    return (row["decided"] if inside else np.nan), float(decided), float(width / row["width"])
