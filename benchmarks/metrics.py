"""Evaluating classifiers from ranked lists, against arrays of draws × cases × classes."""

import time

from benchmarks._data import annotations as load
from benchmarks._process import Timed, apart
from benchmarks._table import Row

CLASSIFIERS = 4
K = (1, 2, 3)
SUBSET = 50  # cases that the dense baseline gets; its time grows in proportion


def measure(quick: bool = False) -> list[Row]:
    (what, n_cases, n_draws, ours, accuracy), peak = apart(_ours, quick)
    (dense, bytes_held, expected), dense_peak = apart(_dense, quick)
    assert abs(accuracy - expected) < 0.02, (accuracy, expected)
    times = n_cases / SUBSET
    name = f"evaluate, {what} × {n_draws:,} draws × {CLASSIFIERS}"
    timing = f"dense on {SUBSET} cases, times {times:.3g}"
    memory = f"dense: {dense_peak / 2**20:,.0f} MiB for {SUBSET}; draws of all {bytes_held * times / 2**20:,.0f} MiB"
    return [
        Row(name, ours.warm, "s", dense.warm * times, ours.compilation, dense.compilation, timing),
        Row("  peak memory", peak / 2**20, "MiB", remark=memory),
    ]


def _setting(quick: bool):
    import numpy as np

    import plausibly as pb
    from plausibly.posterior import slots_of, stacked_draws

    annotations, what = load(quick)
    posterior = pb.aggregate(annotations, "prirn", reliability=30, progress=False)
    slots = slots_of(posterior)
    rng = np.random.default_rng(0)
    mean = stacked_draws(posterior).mean(0)
    predictions = {}
    for number in range(CLASSIFIERS):
        scores = 0.1 * (number + 1) * rng.random((annotations.n_cases, annotations.n_classes), dtype=np.float32)
        named = ~slots.is_remainder
        scores[slots.case[named], slots.class_index[named]] += mean[named]
        predictions["ABCD"[number]] = scores
    return what, annotations, posterior, predictions


def _ours(quick: bool):
    import plausibly as pb

    what, annotations, posterior, predictions = _setting(quick)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        results = pb.evaluate(posterior, predictions, k=K)
        seconds.append(time.perf_counter() - start)
    accuracy = float(results["top3_accuracy_by_case"][:, :SUBSET].mean())
    return what, annotations.n_cases, results.sizes["draw"], Timed(seconds[0], min(seconds[1:])), accuracy


def _dense(quick: bool):
    """Every definition spelt out; returns seconds, bytes of the draws and a metric to check against."""
    import jax

    *_, posterior, predictions = _setting(quick)
    top = jax.jit(lambda scores: jax.lax.top_k(scores, max(K))[1])
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        size, accuracy = _dense_metrics(posterior, SUBSET, predictions, top)
        seconds.append(time.perf_counter() - start)
    return Timed(*seconds), size, accuracy


def _dense_draws(posterior, n_cases: int):
    import numpy as np

    from plausibly.posterior import slots_of, stacked_draws

    slots, plausibility = slots_of(posterior), stacked_draws(posterior)
    rng, n_classes = np.random.default_rng(0), posterior.attrs["n_classes"]
    draws = np.zeros((len(plausibility), n_cases, n_classes), np.float32)
    for case in range(n_cases):
        own = np.arange(slots.start[case], slots.start[case + 1])
        named = own[~slots.is_remainder[own]]
        draws[:, case, slots.class_index[named]] = plausibility[:, named]
        if len(named) < len(own):
            unnamed = np.setdiff1d(np.arange(n_classes), slots.class_index[named])
            split = rng.dirichlet(np.full(len(unnamed), posterior.attrs["concentration"]), len(draws))
            draws[:, case, unnamed] = plausibility[:, own[-1:]] * split
    return draws


def _dense_metrics(posterior, n_cases, predictions, top):
    import numpy as np

    draws = _dense_draws(posterior, n_cases)
    lists = np.asarray(top(draws))
    accuracies = []
    for scores in predictions.values():
        predicted = np.asarray(top(scores[:n_cases]))
        overlaps = []
        for k in K:
            same = predicted[:, :k, None] == lists[:, :, None, :k]
            overlaps.append(same.any(axis=3).mean(axis=2))
            accuracy = (predicted[:, :k] == lists[..., :1]).any(axis=2)
            for metric in (accuracy, overlaps[-1] == 1, overlaps[-1], np.mean(overlaps, axis=0)):
                metric.mean(axis=1), metric.mean(axis=0)
        accuracies.append(accuracy.mean())
    for k in K:
        sets = np.sort(lists[..., :k], axis=2)
        for case in range(n_cases):
            np.unique(sets[:, case], axis=0, return_counts=True)[1].max() / len(sets)
    return draws.nbytes, float(np.mean(accuracies))
