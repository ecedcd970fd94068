"""Posteriors and evaluation on a GPU, against all cores of the processor in the same machine."""

from collections.abc import Callable
from typing import Any

from benchmarks._process import Timed, apart
from benchmarks._table import Row

CASES, CLASSES = 1947, 419
LABELLED = 10_000  #: cases of ten classes with five labels each


def measure(quick: bool = False) -> list[Row]:
    return apart(_measure, quick)[0]


def _measure(quick: bool) -> list[Row]:
    import jax
    import numpy as np
    from scipy.special import softmax

    import plausibly as pb
    from plausibly.posterior import stacked_draws

    gpu, cpu = jax.devices()[0], jax.devices("cpu")[0]
    if gpu == cpu:
        return [Row("no GPU: nothing to compare", 0.0, "s")]
    times = 10 if quick else 1
    simulated = pb.datasets.simulate_differentials(CASES // times, n_classes=CLASSES, seed=0)
    rankings = simulated.annotations
    qualities = {"A": 0.9, "B": 0.8, "C": 0.7, "D": 0.5}
    predictions = pb.datasets.simulate_classifiers(simulated.plausibilities, qualities, seed=1)
    random = np.random.default_rng(0)
    plausibility = random.dirichlet(np.full(10, 0.3), LABELLED // times)
    labels = pb.Annotations.from_counts(random.multinomial(5, plausibility))
    seen, shape = np.log(plausibility + 1e-6), plausibility.shape
    scores = {
        name: softmax(seen + sd * random.normal(size=shape), axis=1)
        for name, sd in zip("ABC", (1.5, 3, 5), strict=True)
    }

    def compare(what: str, run: Callable[[], Any], summary: Callable[[Any], Any]) -> tuple[Row, Any]:
        seconds, results = [], []
        for device in (gpu, cpu):
            with jax.default_device(device):
                first, result = _seconds(run)
                seconds.append(Timed(first, _seconds(run)[0]))
            results.append(result)
        off = np.abs(summary(results[0]) - summary(results[1])).max()
        compilations = (of.compilation for of in seconds)
        row = Row(what, seconds[0].warm, "s", seconds[1].warm, *compilations, f"results differ by {off:.1g} at most")
        return row, results[1]

    def of_rankings(n: int, model: str, **options: Any) -> Callable[[], Any]:
        some = rankings.select(np.arange(min(n, rankings.n_cases)))
        return lambda: pb.aggregate(some, model, progress=False, **options)

    def mean(posterior: Any) -> Any:
        return stacked_draws(posterior).mean(0)

    def accuracy(results: Any) -> Any:
        return results["top1_accuracy"].values

    exact, posterior = compare(f"exact draws, {CASES} cases", of_rankings(CASES, "prirn"), mean)
    rows = [exact, compare("evaluating them", lambda: pb.evaluate(posterior, predictions, progress=False), accuracy)[0]]
    rows.append(compare("Gibbs, 400 cases", of_rankings(400, "plackett-luce"), mean)[0])
    rows.append(compare("NUTS, 100 cases", of_rankings(100, "plackett-luce", engine="nuts"), mean)[0])
    evidence, knowing = compare(
        f"predictions as evidence, {LABELLED:,} cases",
        lambda: pb.aggregate(labels, predictions=scores, progress=False),
        mean,
    )
    evaluated = compare("evaluating them", lambda: pb.evaluate(knowing, scores, progress=False), accuracy)[0]
    return [*rows, evidence, evaluated]


def _seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    import time

    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result
