"""Which case to annotate next: planning against chance, entropy, fewest labels and ActiveLab; and a large posterior.

Replays hide annotations and reveal them as a strategy asks for them. A row is the share of the labels of random choice
with which a strategy reaches the width that random choice reaches in the end; standard errors are over repetitions. The
prior is learned from the labels that are visible at the beginning: under one that takes all classes for equally common,
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
CLASSES, START = 12, 2
REFITTED, UNNAMED = 30, 4  #: real cases that are fitted again after each answer, and unnamed classes tried of each


def measure(quick: bool = False, long: bool = False) -> list[Row]:
    sizes = (60, 2, 60) if quick else (400, 10, 400) if long else (200, 3, 200)
    rows = []
    for goal in ("better", "width"):
        rows += apart(_simulated, goal, False, *sizes)[0] + apart(_real, goal, *sizes)[0]
        rows += apart(_simulated, goal, True, *sizes)[0] if long else []
    rows += apart(_refits, 5 if quick else REFITTED)[0]
    return rows + apart(_large, 2000 if quick else 100_000 if long else 20_000)[0]


def simulated(n_cases: int, n_labels: int = 12, seed: int = 0) -> tuple[Any, Any]:
    """Simulated differentials with so many labels each, and true plausibilities."""
    import numpy as np

    import plausibly as pb

    truth = pb.datasets.simulate_differentials(n_cases, CLASSES, seed=seed).plausibilities.astype(float)
    random = np.random.default_rng([seed, 1])
    upto = np.cumsum(truth / truth.sum(axis=1, keepdims=True), axis=1)
    labels = (random.random((n_cases, n_labels, 1)) > upto[:, None]).sum(axis=2).clip(max=truth.shape[1] - 1)
    annotations = pb.Annotations.from_labels(labels.tolist(), classes=[str(k) for k in range(truth.shape[1])])
    return annotations, truth


def activelab(classifier: str = "A") -> Callable[..., Any] | None:
    """ActiveLab as a strategy, if cleanlab is installed.

    Its scores of a case depend on all cases, so all labels seen so far are kept.
    """
    try:
        from cleanlab.multiannotator import get_active_learning_scores
    except ImportError:
        return None
    import numpy as np
    from scipy.special import softmax

    from plausibly.posterior import annotations_of

    known: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def active_lab(posterior, predictions):
        import pandas as pd

        annotations = annotations_of(posterior)
        probabilities = softmax(predictions[classifier], axis=1)
        labels = np.full((annotations.n_cases, len(annotations.annotators)), np.nan)
        first = annotations.annotation_start[:-1]
        labels[annotations.annotation_case, annotations.annotation_annotator] = annotations.entry_class[first]
        known.update(zip(map(str, annotations.cases), zip(labels, probabilities, strict=True), strict=True))
        width = max(len(one) for one, _ in known.values())
        table = np.array([np.pad(one, (0, width - len(one)), constant_values=np.nan) for one, _ in known.values()])
        used, codes = np.unique(table[~np.isnan(table)], return_inverse=True)
        table[~np.isnan(table)] = codes
        frame = pd.DataFrame(table).loc[:, ~np.isnan(table).all(axis=0)]
        own = np.array([p[used.astype(int)] for _, p in known.values()])
        with redirect_stdout(StringIO()):  # it prints which classes are rare
            found, _ = get_active_learning_scores(frame, own / own.sum(axis=1, keepdims=True))
        by_name = dict(zip(known, found, strict=True))
        return np.array([-by_name[str(name)] for name in annotations.cases])

    return active_lab


def first_choices(n_cases: int) -> tuple[Any, str]:
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
    named = [np.searchsorted(used, own).tolist() for own in labels]
    return pb.Annotations.from_labels(named, classes=used.astype(str)), what.split()[1]


def replayed(
    annotations: Any, goal: str, repetitions: int, budget: int, truth: Any = None, *, sees_truth: bool = False
) -> tuple[Any, list[float]]:
    """Replay all strategies; returns also, for each repetition, the width that came of a plan over its forecast.

    Each repetition has classifiers of its own, simulated from one draw of the posterior given the annotations that are
    visible at its beginning: they err as somebody may who knows these annotations, and know nothing of the hidden ones,
    as a plan takes them to. Simulated from all annotations or the truth, they would know where the hidden annotations
    differ from the visible ones. Then intervals of their difference come wider than any plan made from the visible
    annotations can forecast.
    """
    from dataclasses import replace

    import numpy as np
    import pandas as pd

    import plausibly as pb
    from benchmarks._replay import Hidden, replay
    from plausibly.families.priors import Evidence, PredictionsPrior

    n = annotations.n_cases
    parts, ratios, every = [], [], np.arange(n)
    for seed in range(repetitions):
        hidden = Hidden.of(annotations, START, seed)
        visible = hidden.first()
        begun = hidden.visible(every, visible)
        learned = PredictionsPrior.learn(begun, Evidence.of(None, begun), draws=600, seed=seed)
        given = {"class_prior": learned, "draws": 150}
        posterior = pb.aggregate(begun, "dirichlet-categorical", seed=seed, progress=False, **given)
        known = truth if sees_truth else np.maximum(pb.dense(posterior)[0], 1e-4)
        predictions = pb.datasets.simulate_classifiers(known, QUALITIES, seed=seed)
        others = [function] if (function := activelab()) else []
        steps = {"budget": budget, "step": max(1, budget // 10), "goal": goal}
        found = replay(hidden, predictions, (*STRATEGIES, *others), truth=truth, seed=seed, **steps, **given)
        parts.append(found.by_repetition.assign(repetition=seed))
        given |= {"seed": seed, "progress": False}
        ratios.append(_came_over_forecast(posterior, predictions, goal, budget, hidden, visible, given))
    return replace(found, by_repetition=pd.concat(parts, ignore_index=True)), ratios


def _came_over_forecast(posterior, predictions, goal, budget, hidden, visible, given) -> float:
    """Width of the interval once the labels of a plan are known, over the width that the plan forecasts.

    At the largest number of labels for which at least 95 % of those planned are there to be revealed.
    """
    import numpy as np
    import pandas as pd

    import plausibly as pb

    def widths(plan: Any) -> Any:
        pair = plan.forecast["versus"] != ""
        return plan.forecast[pair if goal == "better" else ~pair].groupby("labels")["width"].mean()

    n, total = len(visible), hidden.total
    names = hidden.annotations.cases.tolist()
    left = [name for name, more in zip(names, total > visible, strict=True) if more]
    plan = pb.plan(posterior, predictions, goal=goal, budget=budget, candidates=left, progress=False)
    case = pd.Index(names).get_indexer(plan.sequence)
    for labels in plan.forecast["labels"].unique()[::-1]:
        wanted = visible + np.bincount(case[:labels], minlength=n)
        after = np.minimum(wanted, total)
        if (wanted - after).sum() <= 0.05 * labels:
            break
    then = pb.aggregate(hidden.visible(np.arange(n), after), "dirichlet-categorical", **given)
    came = widths(pb.plan(then, predictions, goal=goal, budget=1, progress=False))
    return float(came[0] / widths(plan)[labels])


def _rows(what: str, found: Any, ratios: list[float]) -> list[Row]:
    """A row for each strategy."""
    import numpy as np

    each = found.by_repetition
    last = each[each["labels"] == each["labels"].max()].set_index("strategy")
    widths = each.set_index(["strategy", "repetition", "labels"])["width"]
    rows = []
    for name in found.strategies:
        own = last.loc[name]
        error = _error_of_share(found, name)
        remark = f"± {error:.2f}; " if np.isfinite(error) else ""
        remark += f"width {widths[name].xs(0, level='labels').mean():.4f} → "
        remark += f"{own['width'].mean():.4f} ± {own['width'].sem():.4f}"
        if own["right"].notna().any():
            remark += f"; P(right) {own['right'].mean():.3f} ± {own['right'].sem():.3f}"
        if name != "random":
            apart = (widths[name] - widths["random"]).groupby("labels").agg(["mean", "sem"]).iloc[1:]
            remark += f"; at worst {(apart['mean'] / apart['sem']).max():+.1f} standard errors wider than random"
        if name == "plan":
            error = np.std(ratios, ddof=1) / np.sqrt(len(ratios))
            remark += f"; width that came / forecast {np.mean(ratios):.2f} ± {error:.2f}"
        rows.append(Row(f"{what}: {name}, share of labels", found.share_of_labels(name), "", remark=remark))
    return rows


def _error_of_share(found: Any, strategy: str) -> float:
    """Standard error of the share of labels, by leaving out one repetition at a time."""
    from dataclasses import replace

    import numpy as np

    each = found.by_repetition
    numbers = each["repetition"].unique()
    without = [replace(found, by_repetition=each[each["repetition"] != at]) for at in numbers]
    shares = [one.share_of_labels(strategy) for one in without]
    return float(np.sqrt((len(numbers) - 1) * np.var(shares)))


def _simulated(goal: str, sees_truth: bool, n_cases: int, repetitions: int, budget: int) -> list[Row]:
    annotations, truth = simulated(n_cases)
    what = "simulated, classifiers see the truth" if sees_truth else "simulated"
    return _rows(f"{what}, {goal}", *replayed(annotations, goal, repetitions, budget, truth, sees_truth=sees_truth))


def _real(goal: str, n_cases: int, repetitions: int, budget: int) -> list[Row]:
    annotations, what = first_choices(n_cases)
    return _rows(f"{what}, {goal}", *replayed(annotations, goal, repetitions, budget))


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
    narrower = plan.loc[[str(name) for name in some.cases], "value"].to_numpy(float) / 100
    value = before.sum() * (1 - (1 - narrower) ** 2)
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
    from plausibly.base.memory import release_memory

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
