"""Sets with a guarantee: their sizes beside the published method's at equal coverage, and a million cases."""

from benchmarks._process import apart, peak_above
from benchmarks._table import Row

ALPHA = 0.1
SIZES, QUICK = (50, 200, 1000), (50,)
CLASSES, TEST = 6, 100
MILLION = 1_000_000


def measure(quick: bool = False) -> list[Row]:
    rows = [row for n in (QUICK if quick else SIZES) for row in apart(_sizes, n, 100 if quick else 400)[0]]
    return rows + apart(_million, MILLION // 10 if quick else MILLION)[0]


def simulate(random, shape):
    """Classifiers that know plausibilities more or less well: probabilities and plausibilities, (…, class)."""
    import numpy as np

    def dirichlet(shapes):
        values = random.standard_gamma(shapes) + 1e-12
        return values / values.sum(-1, keepdims=True)

    truth = dirichlet(np.full((*shape, CLASSES), 0.4))
    return dirichlet(8 * truth + 0.3), truth


def average_p_values(first, weights, scores):
    """Mean over all labels of p-values from the first half: the published average at infinitely many samples."""
    import numpy as np

    order = np.argsort(first.ravel())
    upto = np.concatenate([[0.0], np.cumsum(weights.ravel()[order])])
    return (1 + upto[np.searchsorted(first.ravel()[order], scores, side="right")]) / (len(first) + 1)


def corrected_sets(scores, weights, new, labels, alpha):
    """Monte Carlo conformal prediction with ECDF correction (Stutz et al. 2023, algorithm 2).

    Half of the cases make p-values, averaged over sampled labels; the empirical distribution function of these p-values
    at sampled labels of the other half corrects them.
    """
    import numpy as np

    half = len(scores) // 2
    at_labels = np.sort(average_p_values(scores[:half], weights[:half], scores[half:][np.arange(len(labels)), labels]))
    averaged = average_p_values(scores[:half], weights[:half], new)
    corrected = (1 + np.searchsorted(at_labels, averaged, side="right")) / (len(at_labels) + 1)
    return corrected > alpha


def _sizes(n: int, repetitions: int) -> list[Row]:
    import numpy as np

    from plausibly.decisions.conformal._curve import Steps, threshold_of
    from plausibly.decisions.conformal._scores import Score

    random = np.random.default_rng(n)
    levels = ALPHA * np.linspace(0.4, 1.4, 41)
    rows = []
    for name in ("lac", "aps"):
        ours, theirs = [], []
        for _ in range(repetitions):
            p, truth = simulate(random, (n + TEST,))
            scores = Score(name).of(p)
            new, weights = scores[n:], truth[n:]
            steps = Steps.of(scores[:n].ravel(), truth[:n].ravel())
            sets = [new >= threshold_of(steps, alpha, n)[0] for alpha in levels]
            ours.append([((weights * one).sum(1).mean(), one.sum(1).mean()) for one in sets])
            half = n // 2
            labels = (random.random((n - half, 1)) > np.cumsum(truth[half:n], axis=1)).sum(1).clip(max=CLASSES - 1)
            one = corrected_sets(scores[:n], truth[:n], new, labels, ALPHA)
            theirs.append(((weights * one).sum(1).mean(), one.sum(1).mean()))
        covered, size = np.mean(ours, axis=0).T
        their_cover, their_size = np.mean(theirs, axis=0)
        equal = float(np.interp(their_cover, covered[::-1], size[::-1]))
        remark = f"coverage {their_cover:.4f}; at 0.9 asked for: ours {np.interp(ALPHA, levels, covered):.4f}"
        what = f"sets of {n} calibration cases, {name}: mean size at equal coverage"
        rows.append(Row(what, equal, "", float(their_size), remark=remark))
    return rows


def _million(n: int) -> list[Row]:
    import time

    import numpy as np

    import plausibly as pb

    random = np.random.default_rng(0)
    p, truth = simulate(random, (n,))
    counts = random.multinomial(4, truth / truth.sum(-1, keepdims=True))
    annotations = pb.Annotations.from_counts(counts)
    p = p.astype(np.float32)

    def calibrate() -> float:
        start = time.process_time()
        pb.conformal(annotations, {"A": p}, alpha=ALPHA, target="annotator")
        return time.process_time() - start

    seconds, more = peak_above(calibrate)
    what = f"calibrating on {n:,} cases of {CLASSES} classes, CPU seconds"
    return [Row(what, seconds, "s", remark=f"memory grew by {more / 2**20:,.0f} MiB at most")]
