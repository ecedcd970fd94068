"""Metrics of labels with their intervals, against a loop of scikit-learn over draws and replicates.

The loop computes the same metrics, of the same draws and with the same numbers of weighted rows, a few times; its time
grows in proportion to draws and replicates, and is multiplied.
"""

import time

from benchmarks._data import annotations as load
from benchmarks._process import Timed, apart, peak_above
from benchmarks._table import Row

N_CASES, N_DRAWS, CLASSIFIERS = 10_000, 1000, "ABCD"
FEW = 2  # draws, and replicates, that the loop gets
METRICS = ("binary", "probability")


def measure(quick: bool = False) -> list[Row]:
    n_cases = 1000 if quick else N_CASES
    ours, _ = apart(_two_classes, n_cases)
    loop, _ = apart(_loop, n_cases)
    many, _ = apart(_many_classes, quick)
    assert abs(ours["auroc"] - loop["auroc"]) < 1e-5, (ours["auroc"], loop["auroc"])
    whole, alone = ours["all"], ours["alone"]
    name = f"{' and '.join(METRICS)}, {n_cases:,} × 2 × {N_DRAWS:,} draws × {len(CLASSIFIERS)}"
    timing = f"scikit-learn on {FEW} draws and {FEW} replicates, times {N_DRAWS / FEW:g}"
    rows = [
        Row(name, whole.warm, "s", loop["seconds"] * N_DRAWS / FEW, whole.compilation, remark=timing),
        Row("  top-1 accuracy alone", alone.warm, "s", remark=f"all take {whole.warm / alone.warm:.1f} times as long"),
    ]
    for metric, (seconds, peak) in many["metrics"].items():
        name = f"{metric}, {many['what']} × {many['classes']} × {many['draws']:,} draws"
        rows.append(Row(name, seconds, "s", remark=f"cold; {peak / 2**30:.2g} GiB of memory above what is held before"))
    return rows


def _world(n_cases: int):
    import numpy as np

    import plausibly as pb

    random = np.random.default_rng(0)
    plausibility = random.beta(0.4, 1.6, n_cases)
    shares = np.stack([1 - plausibility, plausibility], axis=1)
    annotations = pb.Annotations.from_counts(random.multinomial(3, shares))
    logit = np.log(plausibility + 0.02) - np.log(1.02 - plausibility)
    chances = {name: 1 / (1 + np.exp(-logit - random.normal(size=n_cases))) for name in CLASSIFIERS}
    predictions = {name: np.stack([1 - p, p], axis=1) for name, p in chances.items()}
    options = {"predictions": predictions, "chains": 4, "draws": N_DRAWS // 4, "progress": False}
    posterior = pb.aggregate(annotations, "dirichlet-categorical", reliability=1, **options)
    return posterior, predictions


def _two_classes(n_cases: int):
    import plausibly as pb

    posterior, predictions = _world(n_cases)

    def timed(metrics):
        seconds = []
        for _ in range(4):
            start = time.perf_counter()
            results = pb.evaluate(posterior, predictions, metrics=metrics, replicates=N_DRAWS, progress=False)
            seconds.append(time.perf_counter() - start)
        return results, Timed(seconds[0], min(seconds[1:]))

    _, alone = timed("top1_accuracy")
    results, whole = timed(list(METRICS))
    return {"alone": alone, "all": whole, "auroc": float(results["auroc"][0, 0])}


def _loop(n_cases: int):
    """Return seconds for some draws and replicates, and a metric to check against."""
    import numpy as np
    from sklearn import metrics

    from plausibly import dense

    posterior, predictions = _world(n_cases)
    draws = dense(posterior)
    truth = draws[..., 1] > 0.5
    mean, random, first = truth.mean(axis=0), np.random.default_rng(0), None
    bins = np.linspace(0, 1, 11)

    def all_of(label, p, weights, shares):
        named = (p >= 0.5).astype(int)
        weighted = {"sample_weight": weights}
        found = [metrics.roc_auc_score(label, p, **weighted), metrics.average_precision_score(label, p, **weighted)]
        for positive in (0, 1):
            found.append(metrics.recall_score(label, named, pos_label=positive, **weighted))
            found.append(metrics.precision_score(label, named, pos_label=positive, **weighted))
        found += [metrics.f1_score(label, named, **weighted), metrics.balanced_accuracy_score(label, named, **weighted)]
        found += [metrics.matthews_corrcoef(label, named, **weighted)]
        found += [metrics.cohen_kappa_score(label, named, **weighted)]
        found += [metrics.brier_score_loss(label, p, **weighted), metrics.log_loss(label, p, **weighted)]
        gaps = np.bincount(np.digitize(p, bins[1:-1], right=True), weights * (label - p), 10)
        entropy = -sum(q * np.log(np.clip(q, 1e-7, 1)) for q in (shares, 1 - shares))
        own = -sum(q * np.log(np.clip(q, 1e-7, 1)) for q in (p, 1 - p))
        cross = -(shares * np.log(p) + (1 - shares) * np.log(1 - p))
        by_row = (shares * (1 - shares), (p - shares) ** 2, entropy, cross - entropy)
        by_row += (np.abs(p - shares), np.abs(own - entropy))
        return [*found, np.abs(gaps).sum() / weights.sum(), *(np.average(one, weights=weights) for one in by_row)]

    start = time.perf_counter()
    for draw in range(FEW):
        weights = random.exponential(size=n_cases)
        rows = np.concatenate([weights * (1 - mean), weights * mean])
        for scores in predictions.values():
            p = scores[:, 1]
            found = all_of(truth[draw].astype(int), p, np.ones(n_cases), draws[draw, :, 1])
            first = found[0] if first is None else first
            label = np.repeat([0, 1], n_cases)
            all_of(label, np.tile(p, 2), rows, np.tile(draws[draw, :, 1], 2))
    return {"seconds": time.perf_counter() - start, "auroc": first}


def _many_classes(quick: bool):
    import numpy as np

    import plausibly as pb

    annotations, what = load(quick)
    posterior = pb.aggregate(annotations, "prirn", reliability=30, ties="full", draws=N_DRAWS // 4, progress=False)
    scores = np.random.default_rng(0).random((annotations.n_cases, annotations.n_classes))
    predictions = {"A": scores / scores.sum(axis=1, keepdims=True)}
    found = {}
    for metric in ("confusion", "auroc"):
        start = time.perf_counter()
        _, peak = peak_above(
            lambda metric=metric: pb.evaluate(posterior, predictions, metrics=[metric], progress=False)
        )
        found[metric] = time.perf_counter() - start, peak
    return {"what": what, "classes": annotations.n_classes, "draws": N_DRAWS, "metrics": found}
