"""NUTS over a whole data set, and beside NumPyro's own on cases of one shape."""

import time

from benchmarks._data import annotations as load
from benchmarks._process import Timed, apart
from benchmarks._table import Row

RELIABILITY = 3.0
CHAINS, WARMUP, DRAWS, MAX_TREE_DEPTH = 4, 300, 250, 8
ONE_SHAPE = 128  # cases


def measure(quick: bool = False) -> list[Row]:
    whole = [] if quick else _whole()
    return whole + _one_shape(32 if quick else ONE_SHAPE)


def _whole() -> list[Row]:
    (what, first, warm, sampling, ess, converged, divergences), peak = apart(_aggregate)
    settings = f"{CHAINS} × {DRAWS} draws"
    return [
        Row(f"aggregate, {what}, first call", first, "s", remark=f"plackett-luce@3, {settings}, compilation included"),
        Row(f"aggregate, {what}, second call", warm, "s", remark="with diagnoses, likelihoods, point estimate"),
        Row("  of which sampling", sampling, "s", remark=f"bulk ESS min {ess[0]:.0f}, median {ess[1]:.0f}"),
        Row("  peak memory", peak / 2**20, "MiB", remark=f"{converged} converged, {divergences} divergences"),
    ]


def _aggregate():
    import numpy as np

    import plausibly as pb

    annotations, what = load(quick=False)
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        posterior = pb.aggregate(annotations, "plackett-luce", reliability=RELIABILITY, progress=False)
        seconds.append(time.perf_counter() - start)
    diagnosed = pb.diagnose(posterior)
    ess = diagnosed["ess_bulk"].values
    _, sampling = _sample(annotations)
    converged = f"{int(diagnosed['converged'].sum()):,} of {annotations.n_cases:,}"
    return what, *seconds, sampling, (ess.min(), np.median(ess)), converged, int(diagnosed["n_diverging"].sum())


def _sample(annotations):
    """Call the engine alone; returns the effective sample sizes by case, and seconds."""
    import numpy as np

    from plausibly._keys import case_keys
    from plausibly._progress import Progress
    from plausibly.annotations import Slots
    from plausibly.inference import Program, nuts
    from plausibly.models import plackett_luce

    slots = Slots.of(annotations)
    prior = np.ones(len(slots), np.float32)
    keys = case_keys(0, annotations.cases)
    start = time.perf_counter()
    with Progress(False) as progress:
        draws, statistics = nuts(
            annotations,
            slots,
            Program(plackett_luce, (("mode", "power"),)),
            {"reliability": RELIABILITY},
            prior,
            keys,
            chains=CHAINS,
            warmup=WARMUP,
            draws=DRAWS,
            max_tree_depth=MAX_TREE_DEPTH,
            pooled=True,
            progress=progress,
        )
    seconds = time.perf_counter() - start
    return _effective(draws, slots, statistics["diverging"]), seconds


def _effective(draws, slots, diverging):
    from plausibly._progress import Progress
    from plausibly.diagnostics import convergence

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

    from plausibly.annotations import Slots
    from plausibly.inference._batching import bucket_cases

    annotations, _ = load(quick=False)
    slots = Slots.of(annotations)
    buckets = bucket_cases(annotations, slots, np.ones(len(slots), np.float32), pooled=True, fit="ladder")
    largest = max(buckets, key=lambda bucket: len(bucket.cases))
    return annotations.select(annotations.cases[largest.cases[:n_cases]])


def _ours(n_cases: int):
    import numpy as np

    from plausibly.annotations import Slots
    from plausibly.inference._batching import bucket_cases

    annotations = _common(n_cases)
    slots = Slots.of(annotations)
    (bucket,) = bucket_cases(annotations, slots, np.ones(len(slots), np.float32), pooled=True, fit="ladder")
    _, first = _sample(annotations)
    ess, warm = _sample(annotations)
    return bucket.shape, ess, Timed(first, warm)


def _numpyro(n_cases: int):
    """The same program and cases in NumPyro's own sampler, every chain of every case under ``vmap``."""
    import jax
    import numpy as np
    from numpyro.infer import NUTS

    from benchmarks._process import timed
    from plausibly.annotations import Slots
    from plausibly.inference._batching import bucket_cases
    from plausibly.models import plackett_luce

    annotations = _common(n_cases)
    slots = Slots.of(annotations)
    (bucket,) = bucket_cases(annotations, slots, np.ones(len(slots), np.float32), pooled=True, fit="ladder")
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
