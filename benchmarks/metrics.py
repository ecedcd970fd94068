"""Evaluating classifiers: all metrics from ranked lists, against 0/1 sets of draws × cases × classes.

The dense way is the definitions as they stand, under ``vmap`` and ``jit``: for every draw the 0/1 vector of its k most
plausible classes, times the classifier's, summed. It is given its dense draws; splitting the remainders to make them is
timed apart. Kendall's distance, which would take classes × classes pairs, it is spared.
"""

import time

from benchmarks import label_metrics
from benchmarks._data import annotations as load
from benchmarks._process import Timed, apart, peak_above
from benchmarks._table import Row

CLASSIFIERS = 4
K = (1, 2, 3)
SUBSET = 100  # cases that the dense baseline gets; its time grows in proportion
LINEAR = ("draws", "cases", "classifiers")


def measure(quick: bool = False) -> list[Row]:
    ours, _ = apart(_ours, quick)
    (dense, splitting, expected), _ = apart(_dense, quick)
    assert abs(ours["accuracy"] - expected) < 0.02, (ours["accuracy"], expected)
    times = ours["cases"] / min(SUBSET, ours["cases"])
    seconds = ours["seconds"].warm
    dense_bytes = ours["bytes"] / ours["slots"] * ours["cases"] * ours["classes"]
    name = f"evaluate, {ours['what']} × {ours['draws']:,} draws × {CLASSIFIERS}"
    timing = f"dense on {SUBSET} cases, times {times:.3g}; {splitting * times:.3g} s more to split its remainders"
    rate, dense_rate = ours["bytes"] / seconds / 1e9, dense_bytes / seconds / 1e9
    speed = (
        f"copying {ours['copy'] / 1e9:.3g} GB/s; {ours['bytes'] / 2**20:.0f} MiB of draws read at {rate:.2g} GB/s, "
        f"as good as their {dense_bytes / 2**20:,.0f} MiB dense at {dense_rate:.3g}"
    )
    memory = f"above the {ours['bytes'] / 2**20:.0f} MiB of draws and what the process holds before"
    rows = [
        Row(name, seconds, "s", dense.warm * times, ours["seconds"].compilation, dense.compilation, timing),
        Row("  bandwidth", rate, "GB/s", remark=speed),
        Row("  peak memory", ours["peak"] / 2**20, "MiB", dense_bytes / 2**20, remark=memory),
        Row("  from a file", ours["from_file"], "s", remark="compressed netCDF, read in slices"),
    ]
    for what in LINEAR:
        half = ours["half"][what]
        rows.append(Row(f"  half the {what}", half, "s", remark=f"{half / seconds:.2f} of the time"))
    return rows + label_metrics.measure(quick)


def _setting(quick: bool):
    import numpy as np

    import plausibly as pb
    from plausibly.posterior import slots_of, stacked_draws

    annotations, what = load(quick)
    posterior = pb.aggregate(annotations, "prirn", reliability=30, ties="full", progress=False)
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


def _seconds(function, repeats: int = 3) -> list[float]:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return seconds


def _ours(quick: bool):
    import tempfile
    from pathlib import Path

    import numpy as np

    import plausibly as pb
    from plausibly.posterior import stacked_draws

    what, annotations, posterior, predictions = _setting(quick)
    draws = stacked_draws(posterior)
    results, peak = peak_above(lambda: pb.evaluate(posterior, predictions, k=K))
    first = _seconds(lambda: pb.evaluate(posterior, predictions, k=K), 4)
    two = dict(list(predictions.items())[: CLASSIFIERS // 2])
    half = {
        "draws": _seconds(lambda: pb.evaluate(_fewer(posterior), predictions, k=K)),
        "classifiers": _seconds(lambda: pb.evaluate(posterior, two, k=K)),
    }
    cases = annotations.cases[: annotations.n_cases // 2]
    few = pb.aggregate(annotations.select(cases), "prirn", reliability=30, ties="full", progress=False)
    few_predictions = {name: scores[: len(cases)] for name, scores in predictions.items()}
    half["cases"] = _seconds(lambda: pb.evaluate(few, few_predictions, k=K))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "posterior.nc"
        pb.save(posterior, path)
        from_file = min(_seconds(lambda: pb.evaluate(path, predictions, k=K)))
    source, target = np.ones(2**26, np.float32), np.zeros(2**26, np.float32)  # pages that are really there
    copy = 2 * source.nbytes / min(_seconds(lambda: np.copyto(target, source), 5))
    return {
        "what": what,
        "cases": annotations.n_cases,
        "classes": annotations.n_classes,
        "draws": len(draws),
        "slots": draws.shape[1],
        "bytes": draws.nbytes,
        "seconds": Timed(first[0], min(first[1:])),
        "half": {name: min(seconds[1:]) for name, seconds in half.items()},
        "from_file": from_file,
        "copy": copy,
        "peak": peak,
        "accuracy": float(results["top3_accuracy_by_case"][:, :SUBSET].mean()),
    }


def _fewer(posterior):
    """Half of the draws of every chain."""
    from plausibly.base.arviz import from_groups, to_groups

    groups = to_groups(posterior)
    groups["posterior"] = groups["posterior"].isel(draw=slice(None, None, 2))
    return from_groups(groups, posterior.attrs)


def _dense(quick: bool):
    """Every definition spelt out; returns seconds with and for the split, and a metric to check against."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    import plausibly as pb

    _, annotations, posterior, predictions = _setting(quick)
    cases = annotations.cases[:SUBSET]
    splitting = min(_seconds(lambda: pb.dense(posterior, cases), 1))
    draws = jnp.asarray(pb.dense(posterior, cases))
    n_classes = annotations.n_classes

    def sets(scores):
        """0/1 vectors of the k highest, for every k: (k, class)."""
        best = jax.lax.top_k(scores, max(K))[1]
        return jnp.cumsum(jax.nn.one_hot(best, n_classes), axis=0)

    def one(scores, plausibility):
        """All metrics of one case in one draw."""
        predicted, plausible = sets(scores), sets(plausibility)
        overlaps = jnp.sum(predicted * plausible, axis=1) / jnp.arange(1, max(K) + 1)
        found = []
        for k in K:
            accuracy = jnp.sum(predicted[k - 1] * plausible[0])
            coverage = jnp.sum(predicted[k - 1] * plausibility)
            places = jnp.sum(predicted[:k], axis=0) - jnp.sum(plausible[:k], axis=0)
            footrule = jnp.sum(jnp.abs(places)) / (k * (k + 1))
            found += [accuracy, overlaps[k - 1] == 1, overlaps[k - 1], jnp.mean(overlaps[:k]), coverage, footrule]
        return jnp.stack([jnp.asarray(value, jnp.float32) for value in found])

    over = jax.jit(jax.vmap(jax.vmap(one), in_axes=(None, 0)))
    certain = jax.jit(jax.vmap(jax.vmap(sets)))

    def run():
        accuracies = []
        for scores in predictions.values():
            values = over(jnp.asarray(scores[: len(cases)]), draws)
            by_draw, by_case = np.asarray(values.mean(axis=1)), np.asarray(values.mean(axis=0))
            accuracies.append(by_case[:, 6 * (len(K) - 1)].mean())
            assert len(by_draw)
        found = np.asarray(certain(draws), bool)
        for k in K:
            packed = np.packbits(found[:, :, k - 1], axis=-1)
            for case in range(len(cases)):
                np.unique(packed[:, case], axis=0, return_counts=True)[1].max() / len(packed)
        return float(np.mean(accuracies))

    seconds = _seconds(run, 2)
    return Timed(*seconds), splitting, run()
