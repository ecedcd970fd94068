"""Exports every compiled program of the package for processors and GPUs, and writes what came of it as JSON.

A program of its own, because ``jax.jit`` has to be replaced before the package is imported. Functions that the package
compiles are recorded when they are traced, with the shapes of their arguments, while a little of everything is
computed; then each is exported for all platforms. Run by ``test_export.py``.
"""

import json
import os
import sys
from dataclasses import replace
from functools import wraps
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jax import export

PLATFORMS = ("cpu", "cuda", "tpu")
jit = jax.jit
recorded = {}


def place(frame):
    """Module and function that call ``jax.jit``."""
    return f"{frame.f_globals['__name__']}:{frame.f_code.co_name}"


def recording(function=None, /, **options):
    """``jax.jit`` that records what the package compiles."""
    if function is None:
        return lambda function: recording(function, **options)
    where = place(sys._getframe(1))
    if not where.startswith("plausibly."):
        return jit(function, **options)

    @wraps(function)
    def traced(*arguments, **named):
        shaped = jax.tree.map(shape, (arguments, named))
        # Of programs that differ in sizes alone, one is exported.
        kind = repr(jax.tree.map(without_sizes, shaped))
        recorded.setdefault((where, function.__qualname__, kind), (function, options, shaped))
        return function(*arguments, **named)

    return jit(traced, **options)


def shape(leaf):
    """Shape of what is traced; static arguments as they are."""
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if isinstance(leaf, jax.core.Tracer) else leaf


def without_sizes(leaf):
    """Dimensions and type of what is traced; static arguments as they are."""
    return (len(leaf.shape), leaf.dtype) if isinstance(leaf, jax.ShapeDtypeStruct) else leaf


LITTLE = {"draws": 20, "chains": 2, "seed": 0, "progress": False}
FOUR = list("abcd")


def workload():
    """A little of everything that compiles; returns posterior means of the model of judged systems."""
    import plausibly as pb
    from plausibly.aggregation import settle
    from plausibly.aggregation._contract import check_contract
    from tests.worlds import outcomes

    rankings = [[[["a"], ["b", "c"]], [["b"], ["a"]]], [[["a", "b"], ["d"]], [["c"]]], [[["d"], ["a"]], [["d"]]]]
    annotations = pb.Annotations.from_rankings(rankings, classes=FOUR)
    posterior = pb.aggregate(annotations, "plackett-luce", reliability=2, engine="nuts", warmup=30, **LITTLE)
    pb.aggregate(annotations, "plackett-luce", reliability=2, engine="gibbs", warmup=30, **LITTLE)
    pb.aggregate(annotations, "plackett-luce", reliability="infer", mode="temper", warmup=30, **LITTLE)
    own = replace(pb.models.MODELS["plackett-luce"], name="mine", gibbs=False)  # rankings of a user's own program
    check_contract(annotations, settle(annotations, own, reliability=2))
    sampled = pb.aggregate(annotations, "prirn", **LITTLE)
    labels = pb.Annotations.from_labels([["a", "b"], ["c"], ["c", "c"]], classes=FOUR)
    counted = pb.aggregate(labels, "dirichlet-categorical", **LITTLE)
    learned = pb.aggregate(labels, "dirichlet-categorical", class_prior="learned", **LITTLE)
    assert np.isfinite(learned["posterior"]["plausibility"].values).all()  # drawn now
    assert np.isfinite(counted["log_likelihood"]["ranking"].values).all()
    assert all(np.isfinite(one["pseudo_log_likelihood"]["ranking"].values).all() for one in (posterior, sampled))
    table = pd.DataFrame({"case": ["p", "p", "q"], "annotator": ["ann", "bob", "ann"], "score": [-1, 2, 0]})
    pb.aggregate(pb.Annotations.from_scores(table), "normal-scores", threshold=0, **LITTLE)
    own = replace(pb.models.MODELS["normal-scores"], name="mine", exact=None)
    check_contract(pb.Annotations.from_scores(table), settle(pb.Annotations.from_scores(table), own, threshold=0))
    pb.primitives.block_log_prob(jnp.array([0.3, -0.2]), 0.5)
    jax.hessian(pb.primitives.block_log_prob)(jnp.array([0.3, -0.2]), 0.5)
    predictions = {"A": np.random.default_rng(0).random((3, 4))}
    pb.aggregate(labels, "common-confusion", predictions=predictions, warmup=30, **LITTLE)
    own = {"expected": lambda given, plausibility: given @ plausibility}
    risks = [0, 1, 2, 2]
    pb.evaluate(sampled, predictions, risks=risks, metrics=own, break_ties="random", progress=False)
    draws = posterior["posterior"].sizes["chain"] * posterior["posterior"].sizes["draw"]
    pb.evaluate(posterior, predictions, weights=np.ones((draws, 3)), progress=False)
    of_labels = {"metrics": ["brier", "f1", "auroc", "calibration_slope", "calibration_temperature"], "replicates": 20}
    shares = {"A": predictions["A"] / predictions["A"].sum(axis=1, keepdims=True)}
    pb.evaluate(counted, shares, **of_labels, progress=False)
    pb.evaluate(labels, shares, **of_labels, truth="annotator")
    pb.metrics.f1(predictions["A"], np.eye(4)[:3])
    pb.metrics.auroc(shares["A"], np.eye(4)[:3])
    pb.evaluation.panels(labels, predictions, replicates=20)
    pb.plan(posterior, predictions, budget=2, progress=False)
    # Tests of systems read stored draws of the same, since this takes half a minute.
    judged = pb.systems(outcomes("pass"), ["ann", "bob"], model=True, draws=25, chains=2, warmup=25, progress=False)
    dense = jnp.asarray(pb.dense(posterior))
    pb.metrics.per_draw(own["expected"], predictions["A"], dense)
    pb.metrics.annotation_certainty(dense, 2)
    pb.metrics.overlap(jnp.asarray(predictions["A"]), dense, 2, break_ties="random")
    means = judged.posterior["posterior"].mean(("chain", "draw"))
    return {name: np.asarray(value, float).tolist() for name, value in means.data_vars.items()}


def attempt(where, name, function, options, shaped):
    """Export one function, and say what is wrong with it."""
    arguments, named = shaped
    try:
        module = export.export(jit(function, **options), platforms=PLATFORMS)(*arguments, **named).mlir_module()
    except Exception as error:
        return {"where": where, "name": name, "wrong": f"{type(error).__name__}: {error}"[:500]}
    wrong = [word for word in ("f64", "callback") if word in module]
    return {"where": where, "name": name, "wrong": ", ".join(wrong)}


if __name__ == "__main__":
    jax.jit = recording
    means = workload()
    found = [attempt(where, name, *of) for (where, name, _), of in list(recorded.items())]
    Path(sys.argv[1]).write_text(json.dumps([found, means]), encoding="utf-8")
