"""Posteriors and evaluation on a GPU, against all cores of the processor in the same machine."""

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks._process import Timed, apart
from benchmarks._table import Row

CASES, CLASSES = 1947, 419
LABELLED = 10_000  #: cases of ten classes with five labels each


def measure(quick: bool = False) -> Iterator[Row]:
    """Yield rows as they are measured, each part in a fresh process."""
    if not apart(_has_gpu)[0]:
        yield Row("no GPU: nothing to compare", 0.0, "s")
        return
    for part in (_of_labels, _of_rankings):
        yield from apart(part, 10 if quick else 1)[0]


def _has_gpu() -> bool:
    import jax

    return jax.devices()[0] != jax.devices("cpu")[0]


def _of_labels(fewer: int) -> list[Row]:
    import numpy as np
    from scipy.special import softmax

    import plausibly as pb

    random = np.random.default_rng(0)
    plausibility = random.dirichlet(np.full(10, 0.3), LABELLED // fewer)
    labels = pb.Annotations.from_counts(random.multinomial(5, plausibility))
    seen, shape = np.log(plausibility + 1e-6), plausibility.shape
    scores = {
        name: softmax(seen + sd * random.normal(size=shape), axis=1)
        for name, sd in zip("ABC", (1.5, 3, 5), strict=True)
    }
    rows: list[Row] = []
    posterior = _compared(
        rows,
        f"predictions as evidence, {LABELLED:,} cases",
        lambda: pb.aggregate(labels, predictions=scores, progress=False),
        _mean,
    )
    _compared(rows, "evaluating them", lambda: pb.evaluate(posterior, scores, progress=False), _accuracy)
    return rows


def _of_rankings(fewer: int) -> list[Row]:
    import numpy as np

    import plausibly as pb

    simulated = pb.datasets.simulate_differentials(CASES // fewer, n_classes=CLASSES, seed=0)
    rankings = simulated.annotations
    qualities = {"A": 0.9, "B": 0.8, "C": 0.7, "D": 0.5}
    predictions = pb.datasets.simulate_classifiers(simulated.plausibilities, qualities, seed=1)

    def draws(n: int, model: str, **options: Any) -> Callable[[], Any]:
        some = rankings.select(np.arange(min(n, rankings.n_cases)))
        return lambda: pb.aggregate(some, model, progress=False, **options)

    rows: list[Row] = []
    posterior = _compared(rows, f"exact draws, {CASES:,} cases", draws(CASES, "prirn"), _mean)
    _compared(rows, "evaluating them", lambda: pb.evaluate(posterior, predictions, progress=False), _accuracy)
    _compared(rows, "Gibbs, 400 cases", draws(400, "plackett-luce"), _mean)
    _compared(rows, "NUTS, 100 cases", draws(100, "plackett-luce", engine="nuts"), _mean)
    return rows


def _compared(rows: list[Row], what: str, run: Callable[[], Any], summary: Callable[[Any], Any]) -> Any:
    """Add a row of how long a function takes on the GPU and on the processor; returns its result on the latter."""
    import jax
    import numpy as np

    seconds, results = [], []
    for device in (jax.devices()[0], jax.devices("cpu")[0]):
        with jax.default_device(device):
            first, result = _seconds(run)
            seconds.append(Timed(first, _seconds(run)[0]))
        results.append(result)
    off = np.abs(summary(results[0]) - summary(results[1])).max()
    compilations = (of.compilation for of in seconds)
    remark = f"results differ by {off:.1g} at most"
    rows.append(Row(what, seconds[0].warm, "s", seconds[1].warm, *compilations, remark))
    return results[1]


def _mean(posterior: Any) -> Any:
    from plausibly.posterior import stacked_draws

    return stacked_draws(posterior).mean(0)


def _accuracy(results: Any) -> Any:
    return results["top1_accuracy"].values


def _seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    import time

    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result
