"""What users would take instead: bootstraps of scikit-learn's metrics, coincidence tables, and Dawid and Skene's EM.

Bootstraps are those of scikit-learn in a loop; of a metric that is written in NumPy, copied and updated for each
replicate as by torchmetrics' ``BootStrapper``; and, for the accuracy alone, binomial, as in packages of confidence
intervals. Krippendorff's alpha is that of a table of coincidences, as in ``krippendorff``. The EM algorithm has the
steps of crowd-kit's, with a convergence check; time is that until an answer whose probabilities hold, which the EM
algorithm never gives where annotators are few.
"""

import time
from collections.abc import Iterator

from benchmarks._process import apart
from benchmarks._table import Row

N_CASES, REPLICATES, PER_CASE = 10_000, 1000, 5
FEW = 20  # replicates that loops get


def measure(quick: bool = False) -> Iterator[Row]:
    n = N_CASES // 10 if quick else N_CASES
    (ours, theirs, ends), _ = apart(_bootstrap, n)
    for name, seconds in theirs.items():
        what = f"accuracy, AUROC, Brier, {n:,} × 2, {REPLICATES:,} replicates"
        remark = f"{name}; half widths of AUROC {ends[0]:.4f}, {ends[1]:.4f}"
        yield Row(what, ours, "s", seconds, remark=remark)
    (ours, theirs, ends), _ = apart(_binomial, n)
    remark = f"SciPy's interval of a share (Wilson), without clusters; half widths {ends[0]:.4f}, {ends[1]:.4f}"
    yield Row(f"accuracy alone and its interval, {n:,}", ours, "s", theirs, remark=remark)
    (ours, theirs, difference), _ = apart(_alpha, n)
    remark = f"table of coincidences, which has no interval; values differ by {difference:.1g}"
    yield Row(f"alpha and its interval, {n:,} cases × {PER_CASE}", ours, "s", theirs, remark=remark)
    (ours, theirs, errors), _ = apart(_dawid_skene, n // 20)
    remark = f"EM; right more often than their probabilities say by {errors[0]:+.3f} (ours) and {errors[1]:+.3f} (EM)"
    yield Row(f"Dawid and Skene, {n // 20:,} cases × {PER_CASE}", ours, "s", theirs, remark=remark)


def _fastest(function, times: int = 3):
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        found = function()
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:] or seconds), found


def _evaluated(n: int, names: list[str]):
    """Labels, probabilities that they are predicted with, and seconds and results of metrics with intervals."""
    import numpy as np

    import plausibly as pb

    random = np.random.default_rng(0)
    label = random.integers(0, 2, n)
    p = 1 / (1 + np.exp(-(2 * label - 1) - 1.5 * random.normal(size=n)))
    annotations = pb.Annotations.from_labels(np.array(["no", "yes"])[label][:, None].tolist(), ["no", "yes"])
    options = {"metrics": names, "truth": "annotator", "replicates": REPLICATES, "progress": False}
    return label, p, *_fastest(lambda: pb.evaluate(annotations, {"A": np.stack([1 - p, p], axis=1)}, **options))


def _binomial(n: int):
    """Seconds of the accuracy with its interval, those of a binomial one, and half of the widths of both."""
    import numpy as np
    from scipy.stats import binomtest

    label, p, ours, results = _evaluated(n, ["accuracy"])
    theirs, found = _fastest(lambda: binomtest(int(((p >= 0.5) == label).sum()), n).proportion_ci(0.95, "wilson"))
    low, high = np.quantile(results["accuracy_total"].values, [0.025, 0.975])
    return ours, theirs, ((high - low) / 2, (found.high - found.low) / 2)


def _bootstrap(n: int):
    """Seconds, those of others by what they do, and half of the width of 95 % intervals, ours and theirs."""
    import numpy as np
    from sklearn import metrics

    label, p, ours, results = _evaluated(n, ["accuracy", "auroc", "brier"])
    random = np.random.default_rng(1)

    def loop():
        found = []
        for _ in range(FEW):
            at = random.integers(n, size=n)
            own, scores = label[at], p[at]
            accuracy = metrics.accuracy_score(own, scores >= 0.5)
            found.append((accuracy, metrics.roc_auc_score(own, scores), metrics.brier_score_loss(own, scores)))
        return np.array(found)

    def copies():
        found = []
        for _ in range(FEW):
            at = random.integers(n, size=n)
            own, scores = label[at], p[at]
            order = np.argsort(scores)
            rank = np.empty(n)
            rank[order] = np.arange(1, n + 1)
            positive = own.sum()
            auroc = (rank[own == 1].sum() - positive * (positive + 1) / 2) / (positive * (n - positive))
            found.append((((scores >= 0.5) == own).mean(), auroc, ((scores - own) ** 2).mean()))
        return np.array(found)

    theirs = {
        "scikit-learn in a loop, scaled up": _fastest(loop)[0] * REPLICATES / FEW,
        "NumPy, resampled for each, scaled up": _fastest(copies)[0] * REPLICATES / FEW,
    }
    error = np.concatenate([loop() for _ in range(10)])[:, 1].std()
    low, high = np.quantile(results["auroc_total"].values, [0.025, 0.975])
    assert abs(float(results["auroc"].item()) - metrics.roc_auc_score(label, p)) < 1e-5
    return ours, theirs, ((high - low) / 2, 1.96 * error)


def _alpha(n: int):
    """Seconds with an interval, those of a table of coincidences, and the difference of the two values."""
    import numpy as np
    import pandas as pd

    from plausibly.agreement import Labels, agreement

    random = np.random.default_rng(0)
    shares = random.dirichlet(np.full(4, 0.4), n).cumsum(axis=1)
    label = (shares[:, None] < random.random((n, PER_CASE, 1))).sum(axis=2).clip(max=3)
    case, annotator = np.divmod(np.arange(n * PER_CASE), PER_CASE)
    labels = Labels.of(
        pd.DataFrame({"case": case, "annotator": annotator, "label": np.array(list("abcd"))[label.ravel()]})
    )

    def with_interval():
        found = agreement(labels, "nominal", weighting="units")
        found.interval()
        return found.alpha

    def coincidences():
        counts = np.stack([(label == value).sum(axis=1) for value in range(4)], axis=1).astype(float)
        pairs = (counts.T @ counts - np.diag(counts.sum(axis=0))) / (PER_CASE - 1)
        own, total = pairs.sum(axis=0), pairs.sum()
        return 1 - (total - 1) * (total - np.trace(pairs)) / (total**2 - (own**2).sum())

    ours, value = _fastest(with_interval, 2)
    theirs, other = _fastest(coincidences, 5)
    return ours, theirs, abs(value - other)


def _dawid_skene(n: int):
    """Seconds, those of the EM algorithm, and by how much each is right more often than its probabilities say."""
    import numpy as np

    import plausibly as pb

    random, k, people = np.random.default_rng(0), 4, 20
    truth, skill = random.integers(k, size=n), random.uniform(0.4, 0.95, people)
    who = np.argsort(random.random((n, people)), axis=1)[:, :PER_CASE]
    right = random.random((n, PER_CASE)) < skill[who]
    label = np.where(right, truth[:, None], random.integers(k, size=(n, PER_CASE)))
    names = np.array(list("abcd"))
    rows = [(str(i), f"r{who[i, j]}", names[label[i, j]]) for i in range(n) for j in range(PER_CASE)]
    annotations = pb.Annotations.from_table(_table(rows), classes=names.tolist())

    def sampled():
        posterior = pb.aggregate(annotations, "dawid-skene", seed=0, progress=False)
        return pb.dense(posterior).mean(axis=0)

    def em():
        one_hot = np.eye(k)[label]
        found = one_hot.mean(axis=1)
        for _ in range(100):  # as many as crowd-kit takes at most
            errors = np.full((people, k, k), 1e-10)
            for j in range(PER_CASE):
                np.add.at(errors, who[:, j], found[:, :, None] * one_hot[:, j, None])
            errors /= errors.sum(axis=2, keepdims=True)
            logs = np.log(found.mean(axis=0)) + sum(np.log(errors)[who[:, j], :, label[:, j]] for j in range(PER_CASE))
            now = np.exp(logs - logs.max(axis=1, keepdims=True))
            now /= now.sum(axis=1, keepdims=True)
            done, found = np.abs(now - found).max() < 1e-5, now
            if done:
                break
        return found

    def excess(probability):
        return float((probability.argmax(axis=1) == truth).mean() - probability.max(axis=1).mean())

    ours, of_ours = _fastest(sampled, 1)
    theirs, of_em = _fastest(em)
    return ours, theirs, (excess(of_ours), excess(of_em))


def _table(rows):
    import pandas as pd

    return pd.DataFrame(rows, columns=["case", "annotator", "class"])
