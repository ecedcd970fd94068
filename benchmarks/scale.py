"""What a thousand cases cost among ten thousand, a hundred thousand and a million: `aggregate` and `evaluate` to files.

PrIRN with few draws, so that files, names and bookkeeping weigh as much as they can beside the arithmetic. The ratio is
to the cost of a thousand among the fewest: 1 means that the work grows in proportion. Peak memory is that of a process
that simulates the cases, aggregates them and evaluates a classifier, and nothing else. For a million cases alone:
``python -m benchmarks.scale 1000000``.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks._process import apart
from benchmarks._table import Row, heading, render

NUMBERS = (10_000, 100_000, 1_000_000)
CLASSES = 20
SHARD = 2_000
FEW = {"model": "prirn", "reliability": 30, "draws": 10, "chains": 2}


class Cost(NamedTuple):
    """Seconds by the clock and of all cores together, of each of the two steps, and bytes."""

    aggregate: tuple[float, float]
    evaluate: tuple[float, float]
    posterior: int


def measure(quick: bool = False) -> list[Row]:
    return rows(NUMBERS[:1] if quick else NUMBERS)


def rows(numbers) -> list[Row]:
    """A row for each step and number of cases."""
    found = {n: apart(_cost, n) for n in numbers}
    first = found[numbers[0]][0]
    made = []
    for n, (cost, peak) in found.items():
        for what in ("aggregate", "evaluate"):
            seconds, cores = getattr(cost, what)
            baseline = getattr(first, what)[0] / numbers[0] * 1000
            remark = f"{seconds:.0f} s, {cores:.0f} s of cores"
            made.append(Row(f"{what}, {n:,} cases: per thousand", seconds / n * 1000, "s", baseline, remark=remark))
        made.append(
            Row("  peak memory", peak / 2**20, "MiB", remark=f"the posterior's file {cost.posterior / 2**20:,.0f}")
        )
    return made


def simulate(n: int):
    """Annotations of so many cases, and a classifier's scores, which have something to do with them."""
    import numpy as np

    import plausibly as pb

    annotations = pb.datasets.simulate_differentials(n, n_classes=CLASSES, seed=0).annotations
    scores = np.random.default_rng(0).random((n, CLASSES), dtype=np.float32)
    scores[annotations.entry_case, annotations.entry_class] += 0.3
    return annotations, scores


def run(annotations, scores, folder: Path) -> Cost:
    """Aggregate into a file, evaluate into another."""
    import plausibly as pb

    took = []
    for step in (
        lambda: pb.aggregate(annotations, **FEW, out=folder / "posterior.nc", shard=SHARD),
        lambda: pb.evaluate(
            folder / "posterior.nc", {"A": scores}, out=folder / "results.nc", shard=SHARD, progress=True
        ),
    ):
        begin = time.perf_counter(), time.process_time()
        step()
        took.append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    return Cost(took[0], took[1], (folder / "posterior.nc").stat().st_size)


def _cost(n: int) -> Cost:
    annotations, scores = simulate(n)
    with tempfile.TemporaryDirectory() as folder:
        # Two shards first, after which nothing is left to compile.
        few = annotations.select(annotations.cases[: 2 * SHARD])
        run(few, scores[: 2 * SHARD], Path(folder))
        return run(annotations, scores, Path(folder))


if __name__ == "__main__":
    print(apart(heading)[0], flush=True)
    print(render(rows([int(text) for text in sys.argv[1:]] or NUMBERS)))
