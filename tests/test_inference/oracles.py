"""What the tests of several engines share: moments of draws with their errors, and posteriors by integration."""

from itertools import permutations

import numpy as np
import xarray as xr

from plausibly.base.arviz import arviz
from plausibly.data.annotations import Annotations

LETTERS = list("abcde")
# Three named classes and a remainder in every case, so that one compiled program serves them all.
LABELS = [[0, 0, 0, 1, 2], [1, 2, 0, 0, 0, 0, 2], [2, 2, 1, 0], [0, 1, 2], [2, 1, 2, 0, 2]]
SINGLES = Annotations.from_labels(LABELS, classes=LETTERS, cases=[f"p{i}" for i in range(len(LABELS))])


def draws_of(posterior):
    return posterior["posterior"]["plausibility"].values.astype(float)


def moments(draws, functions):
    """Mean of each function of the draws and its Monte Carlo standard error, by slot."""
    out = []
    for function in functions:
        values = function(draws)
        ess = arviz().ess(xr.Dataset({"x": (("chain", "draw", "slot"), values)}), method="mean")["x"].values
        out.append((values.mean((0, 1)), values.std((0, 1)) / np.sqrt(ess)))
    return out


def agree(found, expected, errors=5.0):
    """Five standard errors: a false alarm in a million, for each of some two hundred numbers in this file."""
    mean, se = found
    assert (np.abs(mean - expected) <= errors * se + 1e-6).all(), (mean, expected, se)


def literal(blocks, weights):
    """Probability of one annotation, for arrays of weights by class."""
    left, p = dict(weights), 1.0
    for block in blocks:
        total = 0.0
        for order in permutations(block):
            q, still = 1.0, dict(left)
            for k in order:
                q = q * left[k] / sum(still.values())
                del still[k]
            total = total + q
        p = p * total
        left = {k: w for k, w in left.items() if k not in block}
    return p


def log_literal(blocks, logs):
    """Log probability of one annotation, given log weights: blocks in every order, one class at a time."""
    left, total = dict(logs), 0.0
    for block in blocks:
        orders = []
        for order in permutations(block):
            still, q = dict(left), 0.0
            for k in order:
                q = q + still[k] - np.logaddexp.reduce(list(still.values()))
                del still[k]
            orders.append(q)
        total = total + np.logaddexp.reduce(orders)
        left = {k: x for k, x in left.items() if k not in block}
    return total


def integrate(annotations, alpha, reliability, mode):
    """Posterior mean and second moments of three plausibilities, by the trapezoidal rule over their log ratios.

    A grid twice as fine changes them by less than 1e-10.
    """
    u, v = np.meshgrid(np.linspace(-40, 40, 601), np.linspace(-40, 40, 601))
    logs = np.stack([u, v, np.zeros_like(u)])
    logs -= np.logaddexp.reduce(logs, axis=0)
    density = np.exp((np.array(alpha)[:, None, None] * logs).sum(0))
    weights = np.exp(reliability * logs if mode == "temper" else logs)
    for blocks in annotations:
        p = literal(blocks, dict(zip("abc", weights, strict=True)))
        density *= p**reliability if mode == "power" else p
    density /= density.sum()
    shares = np.exp(logs)
    return (density * shares).sum((1, 2)), (density * shares**2).sum((1, 2))


TIED = {
    "a tie, an order, a label": [[["a", "b"]], [["a"], ["b"]], [["b"]]],
    "a tie and two labels": [[["a", "b"]], [["a"]], [["a"]]],
    "the same tie twice": [[["a", "b"]], [["a", "b"]], [["a"]]],
}
FULL = {
    "ties before and after": [[["a", "b"], ["c"]], [["c"]], [["b"], ["a"]]],
    "an order twice": [[["c"], ["a", "b"]], [["c"], ["b"], ["a"]], [["c"], ["b"], ["a"]]],
    "a tie of all": [[["a", "b", "c"]], [["b", "c"]]],
}
