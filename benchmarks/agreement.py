"""Agreement on boxes and categories, against a loop over pairs.

The baseline does what a first version would: a Python function of two labels called pair by pair, the statistic of
Kolmogorov and Smirnov from SciPy, sigma by SciPy's density integrated up to every observed distance. It gets a share of
the pairs, and its time grows in proportion to them.
"""

import time

from benchmarks._process import apart
from benchmarks._table import Row

SIZES = (200, 600, 1723)  #: labels; the last is the size of a published data set
PER_CASE = 9
BASELINE_PAIRS = 3000  #: on different cases, that the loop gets
N_NOMINAL, N_ANNOTATORS = 100_000, 5


def measure(quick: bool = False) -> list[Row]:
    rows, before = [], None
    for n in SIZES[:2] if quick else SIZES:
        (seconds, n_pairs, n_observed, ours), peak = apart(_ours, n)
        (per_pair, per_test, expected), _ = apart(_literal, n)
        assert abs(ours - expected) < 0.05, (ours, expected)
        baseline = per_pair * (n_pairs + n_observed) + per_test * n_observed * n_pairs / BASELINE_PAIRS
        growth = (
            "" if before is None else f"; {n_pairs / before[0]:.2g} × the pairs, {seconds / before[1]:.2g} × the time"
        )
        remark = f"loop over {BASELINE_PAIRS:,} pairs, scaled up; peak {peak / 2**20:,.0f} MiB{growth}"
        rows.append(
            Row(f"agreement, GIoU, {n:,} labels, {n_pairs:,} cross pairs", seconds, "s", baseline, remark=remark)
        )
        before = n_pairs, seconds
    n = N_NOMINAL // 10 if quick else N_NOMINAL
    (counted, looped, n_pairs), peak = apart(_nominal, n)
    remark = f"loop over pairs on one case only; peak {peak / 2**20:,.0f} MiB"
    rows.append(Row(f"agreement, nominal, {n:,} cases × {N_ANNOTATORS}", counted, "s", looped, remark=remark))
    return rows


def _boxes(n: int):
    """Labels of one to a dozen boxes, as in photographs, that annotators place a little differently."""
    import numpy as np

    rng = np.random.default_rng(0)
    rows = []
    for case in range(n // PER_CASE):
        truth = [(*at, *(at + size)) for at, size in rng.uniform(40, 500, (1 + int(rng.gamma(2, 2)), 2, 2))]
        for annotator in range(PER_CASE):
            kept = [tuple((box + rng.normal(0, 3, 4)).tolist()) for box in map(np.array, truth) if rng.random() < 0.9]
            rows.append((str(case), str(annotator), kept))
    return rows


def _ours(n: int):
    from plausibly.agreement import Labels, agreement

    labels = Labels.of(_boxes(n))
    start = time.perf_counter()
    found = agreement(labels, "box_giou", cross="all")
    return time.perf_counter() - start, len(found.expected), len(found.observed), found.alpha


def _literal(n: int):
    """Seconds per pair and, of the tests, per observed distance for so many pairs; and alpha."""
    from itertools import combinations

    import numpy as np
    from scipy.stats import gaussian_kde, ks_2samp

    rows = _boxes(n)
    rng = np.random.default_rng(1)
    start = time.perf_counter()
    near = [(a, b) for (case, _, a), (other, _, b) in combinations(rows[:150], 2) if case == other]
    observed = [_best_matches(a, b) for a, b in near]
    pairs = rng.integers(0, len(rows), (2 * BASELINE_PAIRS, 2))
    far = [(rows[i][2], rows[j][2]) for i, j in pairs if rows[i][0] != rows[j][0]][:BASELINE_PAIRS]
    expected = [_best_matches(a, b) for a, b in far]
    per_pair = (time.perf_counter() - start) / (len(near) + len(far))
    start = time.perf_counter()
    ks_2samp(observed, expected, alternative="greater", method="asymp")
    chance = gaussian_kde(expected)
    np.mean([chance.integrate_box_1d(0, d) < 0.05 for d in observed])
    per_test = (time.perf_counter() - start) / len(observed)
    return per_pair, per_test, 1 - np.mean(observed) / np.mean(expected)


def _best_matches(a, b):
    if not (a and b):
        return 2.0 if a or b else 0.0
    there = sum(min(_one_minus_giou(x, y) for y in b) for x in a) / len(a)
    back = sum(min(_one_minus_giou(x, y) for x in a) for y in b) / len(b)
    return (there + back) / 2


def _one_minus_giou(a, b):
    width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - width * height
    hull = (max(a[2], b[2]) - min(a[0], b[0])) * (max(a[3], b[3]) - min(a[1], b[1]))
    return 1 - width * height / union + (hull - union) / hull


def _nominal(n: int):
    from itertools import combinations

    import numpy as np
    import pandas as pd

    from plausibly.agreement import Labels, agreement

    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, (n, 1))
    given = np.where(rng.random((n, N_ANNOTATORS)) < 0.7, truth, rng.integers(0, 5, (n, N_ANNOTATORS)))
    names = np.tile([f"annotator {i}" for i in range(N_ANNOTATORS)], n)
    table = pd.DataFrame({"case": np.repeat(np.arange(n), N_ANNOTATORS), "annotator": names, "label": given.ravel()})
    labels = Labels.of(table)
    start = time.perf_counter()
    found = agreement(labels)
    counted = time.perf_counter() - start
    start = time.perf_counter()
    differ = sum(a != b for row in given.tolist() for a, b in combinations(row, 2))
    looped = time.perf_counter() - start
    assert differ == round(found.observed.weights[-1])
    return counted, looped, len(found.observed)
