"""The discrepancy ratio with its bootstrap, against the definition in a loop over pairs, anew in every replicate."""

import time

from benchmarks._process import apart
from benchmarks._table import Row

ANNOTATORS, REPLICATES = 10, 1000
LOOP_CASES, LOOP_REPLICATES = 200, 3  # that the loop gets; its time grows in proportion to both


def measure(quick: bool = False) -> list[Row]:
    n_cases = 10_000 if quick else 100_000
    rows = []
    for delta in ("nominal", "squared", "absolute"):
        (seconds, expected, found), peak = apart(_ours, n_cases, delta)
        (loop, literal), _ = apart(_loop, delta)
        assert abs(expected - literal) < 1e-9, (expected, literal)
        times = n_cases / LOOP_CASES * (REPLICATES + 1) / LOOP_REPLICATES
        what = f"Δ ({delta}), {n_cases * ANNOTATORS:,} labels, {REPLICATES:,} replicates"
        remark = f"{found:.3f}; loop of {LOOP_CASES} cases × {LOOP_REPLICATES}, times {times:.3g}"
        rows.append(Row(what, seconds, "s", loop * times, remark=remark))
    return [*rows, Row("  peak memory", peak / 2**20, "MiB")]


def _data(n_cases: int):
    import plausibly as pb

    return pb.datasets.simulate_label_noise(n_cases, ANNOTATORS, swap=0.1, models=(0.9,))


def _ours(n_cases: int, delta: str):
    from plausibly.agreement import discrepancy_ratio

    few, noise = _data(LOOP_CASES), _data(n_cases)
    expected = discrepancy_ratio(few.labels, few.predictions, delta).ratio["0.9"]
    start = time.perf_counter()
    result = discrepancy_ratio(noise.labels, noise.predictions, delta, progress=False)
    result.interval(replicates=REPLICATES, progress=False)
    return time.perf_counter() - start, float(expected), float(result.ratio["0.9"])


def _loop(delta: str):
    """SPEC's double sum as it stands."""
    from itertools import permutations

    compare = {
        "nominal": lambda a, b: a != b,
        "squared": lambda a, b: (a - b) ** 2,
        "absolute": lambda a, b: abs(a - b),
    }[delta]
    noise = _data(LOOP_CASES)
    said = noise.labels["label"].to_numpy().reshape(LOOP_CASES, ANNOTATORS).tolist()
    model = noise.predictions["0.9"]["label"].tolist()
    start = time.perf_counter()
    for _ in range(LOOP_REPLICATES):
        alpha = sum(sum(compare(a, b) for a, b in permutations(own, 2)) for own in said) / (ANNOTATORS - 1)
        mu = sum(sum(compare(m, label) for label in own) for m, own in zip(model, said, strict=True))
    return time.perf_counter() - start, mu / alpha
