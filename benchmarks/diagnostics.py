"""R-hat, bulk and tail effective sample size of many quantities, against ArviZ, on one core and on all.

Both get the same draws, of chains that are a little autocorrelated, and have to say the same.
"""

import os
import time

from benchmarks._process import apart
from benchmarks._table import Row

QUANTITIES, CHAINS, DRAWS = 12_000, 4, 250


def measure(quick: bool = False) -> list[Row]:
    n = QUANTITIES // 10 if quick else QUANTITIES
    rows = []
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    for some in (cores[:1], cores) if len(cores) > 1 else (cores,):
        (seconds, baseline), peak = apart(_both, n, some)
        what = f"R-hat and ESS, {n:,} quantities × {CHAINS} × {DRAWS}, {len(some) or 'all'} core{'s'[: len(some) != 1]}"
        rows.append(Row(what, seconds, "s", baseline, remark=f"ArviZ; peak of both {peak / 2**20:,.0f} MiB"))
    return rows


def _both(n: int, cores: list[int]) -> tuple[float, float]:
    """Seconds of ours, and of ArviZ."""
    if cores:
        os.sched_setaffinity(0, cores)
    import numpy as np
    import xarray as xr

    from plausibly._arviz import az
    from plausibly.diagnostics import r_hat_and_ess

    draws = np.random.default_rng(0).normal(size=(CHAINS, DRAWS, n)).astype(np.float32)
    for draw in range(1, DRAWS):
        draws[:, draw] += 0.3 * draws[:, draw - 1]
    data = xr.Dataset({"x": (("chain", "draw", "quantity"), draws)})
    start = time.perf_counter()
    found = r_hat_and_ess(draws)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    expected = [az.rhat(data), az.ess(data, method="bulk"), az.ess(data, method="tail")]
    baseline = time.perf_counter() - start
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs["x"].values, rtol=1e-6)
    return seconds, baseline
