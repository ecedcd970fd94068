"""``mode="temper"`` at a reliability of 100 converges, to what quadrature says; validation has those from 0.5 to 3."""

import numpy as np
import pytest

import plausibly as pb
from plausibly.base.arviz import arviz
from plausibly.data.annotations import Annotations
from tests.test_inference.oracles import log_literal

# Two named classes and a remainder: annotators agree, contradict each other, or tie.
CASES = {
    "one label": [["a"]],
    "one order": [[["a"], ["b"]]],
    "a tie": [[["a", "b"]]],
    "a quarrel": [[["a"], ["b"]], [["b"], ["a"]], [["a"]]],
    "a quarrel over a tie": [[["a", "b"]], [["a"], ["b"]], [["b"]]],
    "many of one mind": [[["b"], ["a"]]] * 6,
}
RANKED = {name: [r if isinstance(r[0], list) else [r] for r in rankings] for name, rankings in CASES.items()}
ANNOTATIONS = Annotations.from_rankings(list(RANKED.values()), classes=list("abcde"))
RELIABILITY = 100.0
SETTINGS = {"engine": "nuts", "draws": 400, "progress": False}


def quadrature(rankings):
    """Posterior means of three plausibilities, and of their squares, by the trapezoidal rule over log ratios.

    A logistic cliff of width 1/100 on a grid of steps of 1/50 is integrated with an error of exp(−π²).
    """
    grid = np.linspace(-16, 16, 1601)
    named = sorted({k for blocks in rankings for block in blocks for k in block})
    u, v = np.meshgrid(grid, grid if len(named) == 2 else np.zeros(1))
    logs = np.stack([u, v, np.zeros_like(u)] if len(named) == 2 else [u, v])
    logs = logs - np.logaddexp.reduce(logs, axis=0)
    x = dict(zip([*named, "rest"], RELIABILITY * logs, strict=True))
    log = logs.sum(0)
    for blocks in rankings:
        log = log + log_literal(blocks, x)
    density = np.exp(log - log.max())
    density /= density.sum()
    shares = np.exp(logs)
    return (density * shares).sum((1, 2)), (density * shares**2).sum((1, 2))


pytestmark = pytest.mark.slow  # test_engines has one reliability of each mode


def test_chains_converge_to_the_moments_of_the_posterior():
    posterior = pb.aggregate(ANNOTATIONS, reliability=RELIABILITY, mode="temper", **SETTINGS)
    found = pb.diagnose(posterior)
    assert found["converged"].values.all(), found.to_dataframe()
    assert posterior["sample_stats"]["n_steps"].values.mean() < 40  # NUTS alone, by log ratios: 80
    plausibility = posterior["posterior"]["plausibility"].astype(float)
    for case, rankings in enumerate(RANKED.values()):
        own = plausibility.isel(slot=np.flatnonzero(posterior["constant_data"]["case_index"].values == case))
        for values, expected in zip((own, own**2), quadrature(rankings), strict=True):
            ess = arviz().ess(values.rename("x").drop_vars(["case", "class_name"]).to_dataset(), method="mean")["x"]
            error = values.std(("chain", "draw")).values / np.sqrt(ess.values)
            off = np.abs(values.mean(("chain", "draw")).values - expected)
            # Five standard errors, 36 times: a false alarm in 50,000 runs, and the seed is fixed.
            assert (off < 5 * error + 1e-4).all(), (list(RANKED)[case], off, error)


def test_dozens_of_slots_are_sampled_by_log_ratios():
    """Above 32 slots no order is given, and the program samples as it is."""
    many = Annotations.from_rankings([[[[f"c{k}"] for k in range(34)]]])
    posterior = pb.aggregate(
        many, "plackett-luce", reliability=2.0, mode="temper", draws=4, chains=1, warmup=20, progress=False
    )
    np.testing.assert_allclose(posterior["posterior"]["plausibility"].sum("slot"), 1, rtol=1e-5)
