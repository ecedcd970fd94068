"""Which case to annotate next: planning beside chance, entropy, fewest labels and ActiveLab; and a large posterior.

Replays hide annotations and reveal them as a strategy asks for them. A row is the share of the labels of random choice
with which a strategy reaches the width that random choice reaches in the end. The prior is that of the population of
cases, estimated from the labels that are visible at the beginning: under one that takes all classes for equally common,
two labels seem to settle more than they do, and no strategy narrows what was narrow by mistake. ActiveLab (Goh &
Mueller 2023) takes part where cleanlab is installed, which needs an environment of its own.
"""

from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from benchmarks._data import annotations as measured_on
from benchmarks._process import apart, peak_above
from benchmarks._table import Row

STRATEGIES = ("plan", "random", "entropy", "fewest labels")
QUALITIES = {"A": 0.75, "B": 0.7}
CLASSES = 12
REFITTED, UNNAMED = 30, 4  #: real cases that are fitted again after each answer, and unnamed classes tried of each


def measure(quick: bool = False) -> list[Row]:
    rows = []
    for goal in ("better", "width"):
        rows += apart(_simulated, goal, *((60, 2, 60) if quick else (400, 20, 800)))[0]
        rows += apart(_real, goal, *((40, 2, 40) if quick else (600, 10, 800)))[0]
    rows += apart(_refits, 5 if quick else REFITTED)[0]
    return rows + apart(_large, 2000 if quick else 100_000)[0]


def simulated(n_cases: int, n_labels: int = 12, seed: int = 0) -> tuple[Any, dict[str, Any], Any]:
    """Simulated differentials with so many labels each; classifiers, and true plausibilities."""
    import numpy as np

    import plausibly as pb

    truth = pb.datasets.simulate_differentials(n_cases, CLASSES, seed=seed).plausibilities.astype(float)
    random = np.random.default_rng([seed, 1])
    upto = np.cumsum(truth / truth.sum(axis=1, keepdims=True), axis=1)
    labels = (random.random((n_cases, n_labels, 1)) > upto[:, None]).sum(axis=2).clip(max=truth.shape[1] - 1)
    annotations = pb.Annotations.from_labels(labels.tolist(), classes=[str(k) for k in range(truth.shape[1])])
    return annotations, pb.datasets.simulate_classifiers(truth, QUALITIES, seed=seed), truth


def activelab(classifier: str = "A") -> Callable[..., Any] | None:
    """ActiveLab as a strategy, if cleanlab is installed.

    Its scores of a case depend on all cases of a repetition, so all labels seen so far are kept; scores are made for
    cases with new labels.
    """
    try:
        from cleanlab.multiannotator import get_active_learning_scores
    except ImportError:
        return None
    import numpy as np
    from scipy.special import softmax

    from plausibly.posterior import annotations_of

    known: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}

    def active_lab(posterior, predictions):
        import pandas as pd

        annotations = annotations_of(posterior)
        probabilities = softmax(predictions[classifier], axis=1)
        labels = np.full((annotations.n_cases, len(annotations.annotators)), np.nan)
        first = annotations.annotation_start[:-1]
        labels[annotations.annotation_case, annotations.annotation_annotator] = annotations.entry_class[first]
        scores = np.empty(annotations.n_cases)
        repetitions = np.array([name.split(" ")[0] for name in annotations.cases])
        for at, name in enumerate(annotations.cases):
            known.setdefault(repetitions[at], {})[str(name)] = labels[at], probabilities[at]
        for repetition in np.unique(repetitions):
            of = known[repetition]
            width = max(len(one) for one, _ in of.values())
            table = np.array([np.pad(one, (0, width - len(one)), constant_values=np.nan) for one, _ in of.values()])
            used, codes = np.unique(table[~np.isnan(table)], return_inverse=True)
            table[~np.isnan(table)] = codes
            frame = pd.DataFrame(table).loc[:, ~np.isnan(table).all(axis=0)]
            own = np.array([p[used.astype(int)] for _, p in of.values()])
            with redirect_stdout(StringIO()):  # it prints which classes are rare
                found, _ = get_active_learning_scores(frame, own / own.sum(axis=1, keepdims=True))
            by_name = dict(zip(of, found, strict=True))
            for at in np.flatnonzero(repetitions == repetition):
                scores[at] = -by_name[str(annotations.cases[at])]
        return scores

    return active_lab


def _replayed(what: str, found: Any) -> list[Row]:
    each = found.by_repetition
    last = each[each["labels"] == each["labels"].max()]
    widths = each.set_index(["strategy", "repetition", "labels"])["width"]
    rows = []
    for name in found.strategies:
        own = last[last["strategy"] == name]
        share = found.share_of_labels(name)
        start = each.loc[(each["strategy"] == name) & (each["labels"] == 0), "width"].mean()
        remark = f"width from {start:.4f} to {own['width'].mean():.4f} ± {own['width'].sem():.4f}"
        if name != "random":
            apart = (widths[name] - widths["random"]).groupby("labels").agg(["mean", "sem"]).iloc[1:]
            worst = (apart["mean"] / apart["sem"]).max()
            remark += f", at worst {worst:+.1f} standard errors wider than random"
        if own["right"].notna().any():
            remark += f", right decision {own['right'].mean():.3f} ± {own['right'].sem():.3f}"
        rows.append(Row(f"{what}: {name}, share of labels", share, "", remark=remark))
    return rows


def _simulated(goal: str, n_cases: int, repetitions: int, budget: int) -> list[Row]:
    import plausibly as pb

    annotations, predictions, truth = simulated(n_cases)
    others = [function] if (function := activelab()) else []
    found = pb.replay(
        annotations, predictions, strategy=(*STRATEGIES, *others), goal=goal, budget=budget, step=max(1, budget // 10),
        repetitions=repetitions, truth=truth, class_prior="population", draws=150, progress=False,
    )  # fmt: skip
    return _replayed(f"simulated, {goal}", found)


def _real(goal: str, n_cases: int, repetitions: int, budget: int) -> list[Row]:
    """First choices of dermatologists, of cases with at least five of a single class each."""
    import numpy as np

    import plausibly as pb

    annotations, what = measured_on(quick=False)
    first = annotations.entry_block == 0
    single = np.bincount(annotations.entry_annotation[first], minlength=annotations.n_annotations) == 1
    choice = annotations.entry_class[annotations.annotation_start[:-1]]
    labels = [
        choice[own][single[own]].tolist() for own in np.split(np.arange(len(single)), annotations.case_start[1:-1])
    ]
    labels = [own for own in labels if len(own) >= 5][:n_cases]
    used = np.unique(np.concatenate(labels))
    chosen = pb.Annotations.from_labels(
        [np.searchsorted(used, own).tolist() for own in labels], classes=used.astype(str)
    )
    counts = np.array([np.bincount(np.searchsorted(used, own), minlength=len(used)) for own in labels])
    near = (counts + 0.01) / (counts + 0.01).sum(axis=1, keepdims=True)
    predictions = pb.datasets.simulate_classifiers(near, QUALITIES, seed=0)
    others = [function] if (function := activelab()) else []
    found = pb.replay(
        chosen, predictions, strategy=(*STRATEGIES, *others), goal=goal, budget=budget, step=max(1, budget // 10),
        repetitions=repetitions, class_prior="population", draws=150, progress=False,
    )  # fmt: skip
    return _replayed(f"{'dermatology' if 'real' in what else 'simulated rankings'}, {goal}", found)


def _refits(n_cases: int) -> list[Row]:
    """Values of labels by reweighting, against Plackett–Luce sampled again after every answer."""
    import numpy as np

    import plausibly as pb

    annotations, _ = measured_on(quick=False)
    some = annotations.select(annotations.cases[np.linspace(0, annotations.n_cases - 1, n_cases).astype(int)])
    random = np.random.default_rng(0)
    given: dict[str, Any] = {
        "reliability": 1,
        "concentration": 0.01,
        "unranked": "exact",
        "draws": 500,
        "chains": 4,
        "seed": 0,
        "progress": False,
    }
    posterior = pb.aggregate(some, "plackett-luce", **given)
    chances = pb.dense(posterior).mean(axis=0)
    predictions = {"A": np.log(chances + 1e-9) + 0.7 * random.standard_normal(chances.shape)}
    plan = pb.plan(posterior, predictions, annotation="label", budget=10, progress=False).table.set_index("case")
    more, repeated, weight = {}, [], []
    for at, name in enumerate(some.cases):
        said = some.rankings(str(name))
        named = sorted({one for ranking in said.values() for block in ranking for one in block})
        place = [list(some.classes).index(one) for one in named]
        others = random.choice(np.setdiff1d(np.arange(some.n_classes), place), UNNAMED, replace=False)
        for k in [*place, *others]:
            more[f"{at} {k}"] = {**said, "the next one": [[some.classes[k]]]}
            repeated.append(at)
            weight.append(chances[at, k] if k in place else (1 - chances[at, place].sum()) / UNNAMED)
    after = pb.Annotations.from_rankings({"cases": more}, classes=some.classes)
    refitted = pb.aggregate(after, "plackett-luce", **given)

    def known(posterior, scores):
        results = pb.evaluate(posterior, {"A": scores}, k=1, sizes=(), progress=False)
        mean = results["top1_accuracy_by_case"].values[0]
        return mean * (1 - mean)

    before = known(posterior, predictions["A"])
    left = known(refitted, predictions["A"][repeated])
    removed = before - np.bincount(repeated, np.array(weight) * left)
    value = plan.loc[[str(name) for name in some.cases], "value"].to_numpy(float) * n_cases**2
    remark = f"refits {removed.mean():.4f} on average, reweighting {value.mean():.4f}"
    remark += f"; correlation over {n_cases} cases {np.corrcoef(removed, value)[0, 1]:.2f}"
    error = float(np.sqrt(np.mean(np.square(removed - value))))
    return [Row("variance removed by a label, refits against reweighting, RMS", error, "", remark=remark)]


def _large(n_cases: int) -> list[Row]:
    import os
    import tempfile
    import time
    from pathlib import Path

    import numpy as np

    import plausibly as pb
    from plausibly._memory import release_memory

    random = np.random.default_rng(0)
    truth = random.dirichlet(np.full(8, 0.4), n_cases)
    counts = random.multinomial(3, truth)
    annotations = pb.Annotations.from_counts(counts)
    predictions = {f"C{at}": random.standard_normal((n_cases, 8)).astype(np.float32) + 4 * truth for at in range(4)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "posterior.zarr"
        pb.aggregate(
            annotations, "dirichlet-categorical", draws=250, chains=4, seed=0, progress=False, out=path, shard=10_000
        )
        del annotations
        release_memory()

        def timed() -> tuple[float, float]:
            start, wall = time.process_time(), time.perf_counter()
            pb.plan(path, predictions, budget=1000, progress=False)
            return time.process_time() - start, time.perf_counter() - wall

        (seconds, wall), more = peak_above(timed)
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    remark = f"{wall:.0f} s on the clock (load {load}); memory grew by {more / 2**20:,.0f} MiB at most, draws on disk"
    what = f"planning for {n_cases:,} cases × 1,000 draws × 4 classifiers, CPU seconds"
    return [Row(what, seconds, "s", remark=remark)]
