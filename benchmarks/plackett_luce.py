"""Plackett-Luce: tied blocks by size, both samplers over a data set, NumPyro's and ours, more and more cases."""

import time

from benchmarks import primitive
from benchmarks._data import annotations as load
from benchmarks._process import Timed, apart
from benchmarks._table import Row

RELIABILITY = 3.0
CHAINS, WARMUP, DRAWS, MAX_TREE_DEPTH = 4, 300, 250, 8
ONE_SHAPE = 128  # cases
NUMBERS = (100, 1_000, 2_000, 10_000, 100_000)  # of cases, for what a case costs
BASELINE = 2_000
MOST_BY_NUTS = 10_000
FEW = {"chains": 2, "draws": 50, "warmup": 100}  # where only the number of cases matters


def measure(quick: bool = False) -> list[Row]:
    blocks = primitive.measure(quick=quick)
    samplers = [] if quick else [*_aggregate_rows(), *_sampler_rows()]
    return [*blocks, *samplers, *_one_shape(32 if quick else ONE_SHAPE), *([] if quick else _numbers())]


def _aggregate_rows() -> list[Row]:
    (what, first, warm, converged, divergences), peak = apart(_aggregate)
    return [
        Row(f"aggregate, {what}, first call", first, "s", remark=f"plackett-luce@{RELIABILITY:g}, {CHAINS} × {DRAWS}"),
        Row(f"aggregate, {what}, second call", warm, "s", remark="with diagnoses, likelihoods, point estimate"),
        Row("  peak memory", peak / 2**20, "MiB", remark=f"{converged} converged, {divergences} divergences"),
    ]


def _aggregate():
    import plausibly as pb

    annotations, what = load(quick=False)
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        posterior = pb.aggregate(annotations, "plackett-luce", reliability=RELIABILITY, progress=False)
        seconds.append(time.perf_counter() - start)
    diagnosed = pb.diagnose(posterior)
    converged = f"{int(diagnosed['converged'].sum()):,} of {annotations.n_cases:,}"
    return what, *seconds, converged, int(diagnosed["n_diverging"].sum())


def _sampler_rows() -> list[Row]:
    """What each sampler takes for all cases; NUTS is the baseline of Gibbs."""
    rows, baseline = [], {}
    for engine in ("nuts", "gibbs"):
        (what, found, ess, gradients), peak = apart(_sampler, engine)
        least, median = float(ess.min()), float(ess[len(ess) // 2])
        name = {"nuts": "NUTS", "gibbs": "Gibbs"}[engine]
        work = f"{gradients:,.0f} gradients after warm-up" if gradients else "no gradients"
        sizes = f"bulk ESS min {least:,.0f}, median {median:,.0f}; min per second {least / found.warm:.3g}"
        numbers = {
            f"{name}, {what}, sampling": (found.warm, "s", f"{CHAINS} × {DRAWS} draws; {work}"),
            "  per 1,000 effective draws of the worst case": (1000 * found.warm / least, "s", sizes),
            "  per 1,000 effective draws of the median case": (1000 * found.warm / median, "s", ""),
            "  peak memory": (peak / 2**20, "MiB", "two calls, the first of which compiles"),
        }
        for place, (label, (value, unit, remark)) in enumerate(numbers.items()):
            compiling = found.compilation if place == 0 else None
            before = baseline.get(place, (None, None))
            rows.append(Row(label, value, unit, before[0], compiling, before[1], remark))
            baseline[place] = value, compiling
    return rows


def _sampler(engine: str):
    import numpy as np

    annotations, what = load(quick=False)
    _, first, _ = _sample(annotations, engine)
    ess, warm, gradients = _sample(annotations, engine)
    return what, Timed(first, warm), np.sort(ess), gradients


def _sample(annotations, engine: str = "nuts"):
    """Call an engine alone; returns the effective sample sizes by case, seconds, and the gradients of all draws."""
    import numpy as np

    from plausibly.base.progress import Progress
    from plausibly.base.random_streams import case_keys
    from plausibly.data.annotations import Slots
    from plausibly.inference import Program, gibbs, nuts
    from plausibly.models import plackett_luce

    slots = Slots.of(annotations)
    prior = np.ones(len(slots), np.float32)
    keys = case_keys(0, annotations.cases)
    settings = {"chains": CHAINS, "warmup": WARMUP, "draws": DRAWS}
    start = time.perf_counter()
    with Progress(False) as progress:
        if engine == "gibbs":
            draws, statistics = gibbs(annotations, slots, RELIABILITY, prior, keys, **settings, progress=progress)
        else:
            program = Program(plackett_luce, (("mode", "power"),))
            numbers = {"reliability": RELIABILITY}
            options = {"max_tree_depth": MAX_TREE_DEPTH, "pooled": True, "progress": progress}
            draws, statistics = nuts(annotations, slots, program, numbers, prior, keys, **settings, **options)
    seconds = time.perf_counter() - start
    gradients = float(statistics["n_steps"].sum()) if "n_steps" in statistics else 0.0
    return _effective(draws, slots, statistics.get("diverging")), seconds, gradients


def _effective(draws, slots, diverging):
    from plausibly.base.progress import Progress
    from plausibly.posterior.diagnostics import convergence

    with Progress(False) as progress:
        return convergence(draws, slots, diverging, progress=progress)["ess_bulk"].values


def _one_shape(n_cases: int) -> list[Row]:
    import numpy as np

    (shape, ess, seconds), peak = apart(_ours, n_cases)
    (_, baseline_ess, baseline), baseline_peak = apart(_numpyro, n_cases)
    name = f"{n_cases} cases × {CHAINS} chains of {shape.slots} slots"
    ours, theirs = (found.warm / np.median(e) * 1000 for found, e in ((seconds, ess), (baseline, baseline_ess)))
    compilations = seconds.compilation, baseline.compilation
    return [
        Row(
            f"{name}: per 1,000 effective draws", ours, "s", theirs, *compilations, "NumPyro's NUTS, vmap; median case"
        ),
        Row("  per 1,000 in the worst case", *_worst(seconds, ess), "s", _worst(baseline, baseline_ess)[0]),
        Row("  run time", seconds.warm, "s", baseline.warm, remark="ours keeps one of several trajectories"),
        Row("  peak memory", peak / 2**20, "MiB", baseline_peak / 2**20),
    ]


def _worst(seconds: Timed, ess) -> tuple[float]:
    return (seconds.warm / ess.min() * 1000,)


def _common(n_cases: int):
    """Cases of the shape that most cases have."""
    import numpy as np

    from plausibly.data.annotations import Slots
    from plausibly.inference._batching import bucket_cases

    annotations, _ = load(quick=False)
    slots = Slots.of(annotations)
    buckets = bucket_cases(annotations, slots, np.ones(len(slots), np.float32), pooled=True, fit="merged")
    largest = max(buckets, key=lambda bucket: len(bucket.cases))
    return annotations.select(annotations.cases[largest.cases[:n_cases]])


def _ours(n_cases: int):
    import numpy as np

    from plausibly.data.annotations import Slots
    from plausibly.inference._batching import bucket_cases

    annotations = _common(n_cases)
    slots = Slots.of(annotations)
    (bucket,) = bucket_cases(annotations, slots, np.ones(len(slots), np.float32), pooled=True, fit="merged")
    _, first, _ = _sample(annotations)
    ess, warm, _ = _sample(annotations)
    return bucket.shape, ess, Timed(first, warm)


def _numpyro(n_cases: int):
    """The same program and cases in NumPyro's own sampler, every chain of every case under ``vmap``."""
    import jax
    import numpy as np
    from numpyro.infer import NUTS

    from benchmarks._process import timed
    from plausibly.data.annotations import Slots
    from plausibly.inference._batching import bucket_cases
    from plausibly.models import plackett_luce

    annotations = _common(n_cases)
    slots = Slots.of(annotations)
    (bucket,) = bucket_cases(annotations, slots, np.ones(len(slots), np.float32), pooled=True, fit="merged")
    kernel = NUTS(plackett_luce, max_tree_depth=MAX_TREE_DEPTH)
    arguments = {"reliability": RELIABILITY}

    def chain(key, case):
        def advance(state, _):
            state = kernel.sample(state, (case,), arguments)
            return state, (kernel.postprocess_fn((case,), arguments)(state.z)["plausibility"], state.diverging)

        state = kernel.init(key, WARMUP, None, (case,), arguments)
        state = jax.lax.fori_loop(0, WARMUP, lambda _, state: kernel.sample(state, (case,), arguments), state)
        return jax.lax.scan(advance, state, length=DRAWS)[1]

    keys = jax.random.split(jax.random.key(0), (n_cases, CHAINS))
    run = jax.jit(jax.vmap(jax.vmap(chain, in_axes=(0, None))))
    seconds = timed(run, keys, bucket.data)
    plausibility, diverging = (np.asarray(a) for a in run(keys, bucket.data))
    draws = np.empty((CHAINS, DRAWS, len(slots)), np.float32)
    case, slot = np.nonzero(bucket.slots >= 0)
    draws[:, :, bucket.slots[case, slot]] = plausibility[case, :, :, slot].transpose(1, 2, 0)
    by_case = np.empty((CHAINS, DRAWS, n_cases), bool)
    by_case[:, :, bucket.cases] = diverging.transpose(1, 2, 0)
    return bucket.shape, _effective(draws, slots, by_case), seconds


def _numbers() -> list[Row]:
    """What a case costs, among more and more of them; the baseline is the cost among 2,000."""
    rows = []
    for engine, most in (("nuts", MOST_BY_NUTS), ("gibbs", NUMBERS[-1])):
        numbers = [n for n in NUMBERS if n <= most]
        found = {n: apart(_per_case, engine, n) for n in numbers}
        baseline = found[BASELINE]
        name = {"nuts": "NUTS", "gibbs": "Gibbs"}[engine]
        settings = f"{FEW['chains']} × {FEW['draws']} draws after {FEW['warmup']}"
        for n, ((seconds, compilation), peak) in found.items():
            remark = f"aggregate to a file, {settings}; peak memory {peak / 2**20:,.0f} MiB"
            label = f"{name}, {n:,} simulated cases: per case"
            rows.append(
                Row(label, seconds / n * 1e3, "ms", baseline[0][0] / BASELINE * 1e3, compilation, remark=remark)
            )
    return rows


def _per_case(engine: str, n: int) -> tuple[float, float]:
    """Seconds of a call that compiles little or nothing, and of what came before, less such a call's share."""
    import tempfile

    import plausibly as pb

    annotations = pb.datasets.simulate_differentials(n, seed=0).annotations
    # A first call for a shard, which has nearly all shapes.
    part = annotations if n <= BASELINE else annotations.select(annotations.cases[:BASELINE])
    settings = {"reliability": RELIABILITY, "engine": engine, "progress": False, **FEW}
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        for cases in (part, annotations):
            start = time.perf_counter()
            pb.aggregate(cases, "plackett-luce", out=f"{folder}/posterior.nc", shard=BASELINE, **settings)
            seconds.append(time.perf_counter() - start)
    first, warm = seconds
    return warm, max(first - warm * part.n_cases / n, 0.0)
