"""One piece of work, run as a script in the environment that is measured; it ends with a report as a line of JSON.

``python _work.py NAME [ARGUMENT ...]`` calls the function of that name. It has to run with the baseline, too, so it
keeps to what both versions have.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHAINS, WARMUP, DRAWS, THINNING, MAX_TREE_DEPTH = 4, 300, 250, 3, 8
RELIABILITY = 3.0
QUANTITIES = 12_000
PAIRS, SENTENCES, SAMPLE = 3_000_000, 4_000, 20_000


def timed(function: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Call a function; return its result, and seconds of the clock and of the processor, also those of a command."""
    start, cpu = time.perf_counter(), sum(os.times()[:4])
    result = function()
    return result, {"seconds": time.perf_counter() - start, "cpu": sum(os.times()[:4]) - cpu}


def read(data: str):
    """Read the real annotations."""
    import plausibly as pb

    folder = Path(data) / "dermatology_ddx"
    return pb.read_annotations(
        folder / "dermatology_selectors.json", classes=folder / "dermatology_conditions.txt", progress=False
    )


def predictions(data: str, out: str) -> dict[str, float]:
    """Write the predictions of four simulated classifiers for the real cases."""
    import numpy as np

    import plausibly as pb

    annotations = read(data)
    shares = np.full((annotations.n_cases, annotations.n_classes), 1e-3, np.float32)
    np.add.at(shares, (annotations.entry_case, annotations.entry_class), 1 / (1 + annotations.entry_block))
    shares /= shares.sum(axis=1, keepdims=True)
    for name, scores in pb.datasets.simulate_classifiers(shares, seed=0).items():
        np.save(Path(out) / f"{name}.npy", scores)
    return {}


def aggregate(data: str, engine: str, out: str) -> dict[str, float]:
    """Aggregate the real cases; keep means and standard deviations of the plausibilities."""
    import numpy as np

    import plausibly as pb

    annotations = read(data)
    posterior, spent = timed(
        lambda: pb.aggregate(annotations, "plackett-luce", reliability=RELIABILITY, engine=engine, progress=False)
    )
    draws = posterior["posterior"]["plausibility"].transpose("chain", "draw", "slot").values
    np.savez(out, mean=draws.mean((0, 1)), sd=draws.std((0, 1)))
    found = posterior["convergence"]
    least = float(np.nanmin(found["ess_bulk"].values))
    return spent | {"least_ess": least, "converged": int(found["converged"].sum()), "cases": annotations.n_cases}


def evaluation(data: str, shared: str, model: str, reliability: str, out: str) -> dict[str, Any]:
    """Evaluate four classifiers against a posterior of the real cases, twice; the first call compiles."""
    import numpy as np

    import plausibly as pb

    path = Path(out).with_suffix(".nc")
    if not path.exists():
        settings = {"reliability": float(reliability), "progress": False}
        if model == "plackett-luce":  # an engine that both have, hardly warmed up, as only its speed matters later
            settings |= {"engine": "gibbs", "warmup": 50}
        pb.save(pb.aggregate(read(data), model, **settings), path)
    posterior = pb.load(path)
    predictions = {path.stem: np.load(path) for path in sorted(Path(shared).glob("*.npy"))}

    def evaluate():
        return pb.evaluate(posterior, predictions, k=(1, 2, 3), progress=False)

    (_, first), (found, again) = timed(evaluate), timed(evaluate)
    names = [f"top{k}_{name}" for k in (1, 2, 3) for name in ("accuracy", "average_overlap")]
    means = [value for name in names for value in found[name].mean("draw").values.tolist()]
    return first | {"again": again["seconds"], "again_cpu": again["cpu"], "means": means}


def cases_ours(data: str, n: str) -> dict[str, float]:
    """Sample some real cases by NUTS, twice."""
    import plausibly as pb

    annotations = read(data)
    annotations = annotations.select(annotations.cases[: int(n)])
    settings = {"chains": CHAINS, "warmup": WARMUP, "draws": DRAWS, "engine": "nuts", "progress": False}
    return _twice(lambda: pb.aggregate(annotations, "plackett-luce", reliability=RELIABILITY, **settings))


def cases_numpyro(data: str, n: str) -> dict[str, float]:
    """Sample the same cases, in arrays of one shape, by NumPyro's NUTS under ``vmap``, twice."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from numpyro.infer import MCMC, NUTS

    from plausibly.data.annotations import Slots
    from plausibly.inference._batching import bucket_cases, plan_shapes
    from plausibly.models import plackett_luce

    annotations = read(data)
    annotations = annotations.select(annotations.cases[: int(n)])
    slots = Slots.of(annotations)
    prior = np.ones(len(slots), np.float32)
    fit = "exact" if annotations.n_cases == 1 else "merged"
    one = None if fit == "exact" else plan_shapes(annotations, slots, worth=np.inf, pooled=True)
    (bucket,) = bucket_cases(annotations, slots, prior, pooled=True, fit=fit, shapes=one)
    cases = jax.tree.map(jnp.asarray, bucket.data)
    mcmc = MCMC(
        NUTS(plackett_luce, max_tree_depth=MAX_TREE_DEPTH),
        num_warmup=WARMUP,
        num_samples=DRAWS * THINNING,
        thinning=THINNING,
        num_chains=CHAINS,
        chain_method="vectorized",
        progress_bar=False,
    )

    def sample(key, case):
        mcmc.run(key, case, reliability=RELIABILITY)
        return mcmc.get_samples()["plausibility"]

    of_one, of_all = jax.jit(sample), jax.jit(jax.vmap(sample))

    def all_cases():
        if annotations.n_cases == 1:
            return jax.block_until_ready(of_one(jax.random.key(0), jax.tree.map(lambda a: a[0], cases)))
        keys = jax.random.split(jax.random.key(0), annotations.n_cases)
        return jax.block_until_ready(of_all(keys, cases))

    return _twice(all_cases)


def _twice(function: Callable[[], Any]) -> dict[str, float]:
    _, first = timed(function)
    _, again = timed(function)
    return first | {"again": again["seconds"], "again_cpu": again["cpu"]}


def diagnostics(by: str, cores: str) -> dict[str, Any]:
    """R-hat, bulk and tail effective sample sizes of many quantities, by this package or by ArviZ."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(cores)])
    import numpy as np

    draws = np.random.default_rng(0).gamma(1.0, size=(CHAINS, DRAWS, QUANTITIES)).astype(np.float32)
    draws = draws + 0.3 * np.roll(draws, 1, axis=1)  # correlated, as draws of chains are
    if by == "arviz":
        import arviz as az
        import xarray as xr

        data = az.convert_to_dataset({"x": draws})

        def diagnose():
            found = [az.rhat(data), az.ess(data, method="bulk"), az.ess(data, method="tail")]
            return [np.asarray(one["x"] if isinstance(one, xr.Dataset) else one) for one in found]
    else:
        from plausibly.posterior.diagnostics import r_hat_and_ess

        def diagnose():
            return r_hat_and_ess(draws)

    found, spent = timed(diagnose)
    return spent | {"means": [float(one.mean()) for one in found]}


def gleu(by: str) -> dict[str, float]:
    """GLEU distances of many pairs of short sentences, by this package, or of some of them by nltk, scaled up."""
    import numpy as np

    from plausibly.distances import gleu as distance

    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(300)]
    sentences = [" ".join(rng.choice(words, rng.integers(4, 13))) for _ in range(SENTENCES)]
    left, right = rng.integers(0, SENTENCES, (2, PAIRS))
    if by == "plausibly":
        found, spent = timed(lambda: distance.between(distance.encode(sentences), left, right))
        return spent | {"mean": float(found[:SAMPLE].mean())}
    from nltk.translate.gleu_score import sentence_gleu

    tokens = [sentence.split() for sentence in sentences]

    def pair_by_pair():
        return [1 - sentence_gleu([tokens[a]], tokens[b]) for a, b in zip(left[:SAMPLE], right[:SAMPLE], strict=True)]

    found, spent = timed(pair_by_pair)
    return {name: seconds * PAIRS / SAMPLE for name, seconds in spent.items()} | {"mean": float(np.mean(found))}


def first_answer() -> dict[str, float]:
    """Evaluate two classifiers of 1,000 cases with five labels each, up to the numbers, as the command does."""
    import subprocess

    import numpy as np

    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 1000)
    wrong = rng.random((1000, 7)) < 0.25
    named = np.where(wrong, rng.integers(0, 4, wrong.shape), truth[:, None])
    rows = [f"case {at:04},{who},k{named[at, who]}\n" for at in range(1000) for who in range(5)]
    Path("labels.csv").write_text("case,annotator,label\n" + "".join(rows), encoding="utf-8")
    for name, column in zip("AB", named.T[5:], strict=True):
        np.save(f"{name}.npy", 0.1 + 0.6 * np.eye(4)[column])
    files = [word for name in "AB" for word in ("--predictions", f"{name}={name}.npy")]
    command = [str(Path(sys.executable).with_name("plausibly")), "evaluate", "labels.csv", *files, "--quick", "--fresh"]
    done, spent = timed(lambda: subprocess.run(command, capture_output=True, text=True, check=True))
    return spent | {"agreements": float(done.stdout.count("agrees with an expert"))}


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    print(json.dumps(globals()[name](*arguments)))
