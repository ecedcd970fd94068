"""Weighted reliability of labels simulated from accuracies: its interval covers the share of pairs agreeing rightly.

Annotators have accuracies of their own, and give any other label with the same probability where they are wrong. The
share of pairs that agree and are right is the mean of the products of accuracies over the pairs of all cases; 94 %
intervals are to contain it in at least 90 % of data sets, with the true labels known and with them unknown. For
comparison, the remark names the coverage of the published form and of accuracies judged by the majority of the others,
in the first of these data sets.
"""

from collections.abc import Iterator

import numpy as np
from scipy import stats

from plausibly.agreement import weighted_reliability
from plausibly.base.progress import Progress
from validation._result import Result, Settings

N, QUICK, COMPARED = 300, 10, 60
PEOPLE, PER_CASE, N_CASES, REPLICATES = 8, 4, 150, 300
LABELS = (2, 3, 5)
COVERED = 0.9


def simulate(n_labels: int, seed: int) -> tuple[list[tuple[str, str, int]], dict[str, int], float]:
    """Simulate labels; return them, the true labels, and the expected share of pairs that agree and are right."""
    rng = np.random.default_rng([seed, n_labels])
    accuracy = rng.beta(8, 3, PEOPLE)
    truth = rng.integers(n_labels, size=N_CASES)
    rows, products = [], []
    for i, true in enumerate(truth.tolist()):
        people = rng.choice(PEOPLE, PER_CASE, replace=False)
        right = rng.random(PER_CASE) < accuracy[people]
        wrong = (true + 1 + rng.integers(n_labels - 1, size=PER_CASE)) % n_labels
        said = np.where(right, true, wrong)
        rows += [(f"case {i}", f"annotator {who}", int(label)) for who, label in zip(people, said, strict=True)]
        a = accuracy[people]
        products.append((a.sum() ** 2 - (a**2).sum()) / (PER_CASE * (PER_CASE - 1)))
    return rows, {f"case {i}": int(label) for i, label in enumerate(truth)}, float(np.mean(products))


def check(settings: Settings) -> Iterator[Result]:
    """Simulate data sets of each number of labels, and count the intervals that cover."""
    n = QUICK if settings.quick else N
    forms = {
        "known": {"competence": "known"},
        "one-coin": {"competence": "one-coin"},
        "one-coin, published": {"competence": "one-coin", "wrong_labels": "published"},
        "leave-one-out": {"competence": "leave-one-out"},
    }
    for n_labels in LABELS:
        found: dict[str, list[tuple[bool, float]]] = {form: [] for form in forms}
        with Progress(settings.progress) as progress:
            advance = progress.task("Weighing agreement", n, "data sets")
            for simulation in range(n):
                rows, truth, share = simulate(n_labels, settings.seed + simulation)
                for form in list(forms)[: len(forms) if simulation < COMPARED else 2]:
                    known = {"truth": truth} if form == "known" else {}
                    result = weighted_reliability(rows, n_classes=n_labels, progress=False, **forms[form], **known)
                    lower, upper = result.interval(0.94, REPLICATES, simulation, progress=False)
                    found[form].append((lower <= share <= upper, result.reliability - share))
                advance(1)
        covered = {form: np.array([inside for inside, _ in values]) for form, values in found.items()}
        bias = {form: np.mean([error for _, error in values]) for form, values in found.items()}
        for form in ("known", "one-coin"):
            p = float(stats.binomtest(int(covered[form].sum()), n, COVERED, "less").pvalue)
            others = "; ".join(f"{name}: {covered[name].mean():.3f}, {bias[name]:+.3f}" for name in list(forms)[2:])
            remark = f"{covered[form].mean():.3f} cover, bias {bias[form]:+.4f}"
            remark += f" ({others})" if form == "one-coin" else ""
            yield Result("weighted", f"{n_labels} labels, {form}", "94 % interval", {"binomial": p}, n, remark=remark)
