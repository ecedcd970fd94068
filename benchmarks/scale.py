"""What a thousand cases cost among ten thousand, a hundred thousand and a million, from files to files.

PrIRN with few draws, so that files, names and bookkeeping weigh as much as they can beside the arithmetic: annotations
are read from Parquet and aggregated into a posterior; that and a classifier's scores (``.npy``) are evaluated. The
ratio is to the cost of a thousand among the fewest: 1 means that the work grows in proportion. Peak memory is that of a
process that does one of the two and nothing else, as the commands do. For a million cases alone:
``python -m benchmarks.scale 1000000``.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks._process import apart
from benchmarks._table import Row, heading, render

NUMBERS = (10_000, 100_000, 1_000_000)
CLASSES = 20
SHARD = 2_000
FEW = {"model": "prirn", "reliability": 30, "draws": 10, "chains": 2}


class Cost(NamedTuple):
    """Of a step: seconds by the clock and of all cores together, and bytes of what it wrote."""

    seconds: float
    cores: float
    written: int


def measure(quick: bool = False) -> list[Row]:
    return rows(NUMBERS[:1] if quick else NUMBERS)


def rows(numbers) -> list[Row]:
    """A row for each step and number of cases."""
    made, first = [], {}
    for n in numbers:
        with tempfile.TemporaryDirectory() as folder:
            apart(simulate, n, folder)
            apart(simulate, 2 * SHARD, f"{folder}/few")
            for step in (aggregate, evaluate):
                cost, peak = apart(_cost, step, folder)
                per_thousand = cost.seconds / n * 1000
                name = f"{step.__name__}, {n:,} cases: per thousand"
                remark = f"{cost.seconds:.0f} s, {cost.cores:.0f} s of cores; {cost.written / 2**20:,.0f} MiB written"
                made += [
                    Row(name, per_thousand, "s", first.setdefault(step, per_thousand), remark=remark),
                    Row("  peak memory", peak / 2**20, "MiB"),
                ]
    return made


def simulate(n: int, folder: str) -> None:
    """Write annotations of so many cases, and a classifier's scores, which have something to do with them."""
    import numpy as np

    import plausibly as pb

    Path(folder).mkdir(exist_ok=True)
    annotations = pb.datasets.simulate_differentials(n, n_classes=CLASSES, seed=0).annotations
    scores = np.random.default_rng(0).random((n, CLASSES), dtype=np.float32)
    scores[annotations.entry_case, annotations.entry_class] += 0.3
    pb.annotations.write_annotations(annotations, f"{folder}/annotations.parquet")
    np.save(f"{folder}/scores.npy", scores)


def aggregate(folder: Path) -> Path:
    """Read and aggregate into a file."""
    import plausibly as pb

    annotations = pb.read_annotations(folder / "annotations.parquet", progress=True)
    pb.aggregate(annotations, **FEW, out=folder / "posterior.zarr", shard=SHARD)
    return folder / "posterior.zarr"


def evaluate(folder: Path) -> Path:
    """Evaluate what is in that file into another."""
    import plausibly as pb

    results = pb.evaluate(folder / "posterior.zarr", {"A": folder / "scores.npy"})
    results.to_netcdf(folder / "results.nc", engine="h5netcdf")
    return folder / "results.nc"


def _cost(step: Callable, folder: str) -> Cost:
    step(Path(folder) / "few")  # two shards first, after which nothing is left to compile
    begin = time.perf_counter(), time.process_time()
    written = step(Path(folder))
    return Cost(
        time.perf_counter() - begin[0],
        time.process_time() - begin[1],
        sum(file.stat().st_size for file in (written, *written.rglob("*")) if file.is_file()),
    )


if __name__ == "__main__":
    print(apart(heading)[0], flush=True)
    print(render(rows([int(text) for text in sys.argv[1:]] or NUMBERS)))
