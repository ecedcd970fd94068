"""Samplers broken on purpose, to see that a run notices. Each break stays within one module and is small."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import jax.numpy as jnp

from plausibly.aggregation import _infer
from plausibly.distributions import LogRatioDirichlet, PartialPlackettLuce
from plausibly.inference import _compilation, _scheduling
from plausibly.inference.gibbs import _sweep, _tied_blocks
from plausibly.inference.nuts import _sampler
from plausibly.models import MODELS


@dataclass(frozen=True)
class Break:
    """One thing that is wrong."""

    what: str  #: in words
    only: str  #: the part of a condition's name that it concerns
    group: str  #: the check that has to notice
    apply: Callable[[], list[Any]]  #: patches


def _nuts_acceptance() -> list[Any]:
    """The newest point of every trajectory is taken, instead of one by its weight."""
    original = _sampler.noise

    def noise(*arguments: Any):
        made = original(*arguments)
        return made._replace(log_u=jnp.full_like(made.log_u, -jnp.inf), log_v=jnp.full_like(made.log_v, -jnp.inf))

    return [patch.object(_sampler, "noise", noise)]


def _prior_shape() -> list[Any]:
    original = LogRatioDirichlet.log_prob
    return [
        patch.object(
            LogRatioDirichlet,
            "log_prob",
            lambda self, value: original(LogRatioDirichlet(1.2 * self.concentration), value),
        )
    ]


def _temper_reliability() -> list[Any]:
    known = MODELS["plackett-luce"]

    def plackett_luce(case, *, reliability=1.0, mode="power"):
        known.program(case, reliability=1.1 * reliability, mode=mode)

    return [patch.dict(MODELS, {"plackett-luce": replace(known, program=plackett_luce)})]


def _gibbs_rate() -> list[Any]:
    # Times of sets at a wrong rate would go unnoticed, and rightly: their scale is free, or redrawn along an orbit.
    original = _sweep._complete

    def complete(*arguments: Any):
        made = original(*arguments)
        return made._replace(exposure=made.exposure / 2)

    return [patch.object(_sweep, "_complete", complete)]


def _gibbs_order() -> list[Any]:
    original = _tied_blocks.order_table
    return [patch.object(_tied_blocks, "order_table", lambda ratios: original(jnp.zeros_like(ratios)))]


def _tree_reliability() -> list[Any]:
    original = _infer.dirichlet_tree

    def dirichlet_tree(annotations, slots, reliability, *arguments, **options):
        return original(annotations, slots, 1.2 * reliability, *arguments, **options)

    return [patch.object(_infer, "dirichlet_tree", dirichlet_tree)]


def _dirichlet_shape() -> list[Any]:
    original = _infer.dirichlet

    def dirichlet(concentration, *arguments, **options):
        return original(1.5 * concentration, *arguments, **options)

    return [patch.object(_infer, "dirichlet", dirichlet)]


def _sample_weights() -> list[Any]:
    original = PartialPlackettLuce.sample

    def sample(self, *arguments, **options):
        blunt = PartialPlackettLuce(0.97 * self.log_weights, self.block_sizes, max_block_size=self.max_block_size)
        return original(blunt, *arguments, **options)

    return [patch.object(PartialPlackettLuce, "sample", sample)]


BREAKS = {
    "nuts-acceptance": Break("NUTS takes the newest point of a trajectory", "NUTS", "calibration", _nuts_acceptance),
    "prior-shape": Break("the prior's shape is 20 % too large", "NUTS, power", "calibration", _prior_shape),
    "temper-reliability": Break("γ is 10 % too large", "NUTS, temper, γ = 3", "calibration", _temper_reliability),
    "gibbs-rate": Break("in the rate of weights tied blocks count half", "Gibbs", "calibration", _gibbs_rate),
    "gibbs-order": Break("orders of tied blocks ignore the weights", "Gibbs", "calibration", _gibbs_order),
    "tree-reliability": Break("γ is 20 % too large", "exact tree", "calibration", _tree_reliability),
    "dirichlet-shape": Break("every shape is 50 % too large", "exact Dirichlet", "calibration", _dirichlet_shape),
    "sample-weights": Break("log weights are 3 % too small", "", "goodness", _sample_weights),
}


@contextmanager
def broken(name: str) -> Iterator[Break]:
    """Break something for a while.

    Samplers compiled before are set aside, in memory and on disk, and what is compiled meanwhile is dropped.
    """
    chosen = BREAKS[name]
    others = {key: program for key, program in _scheduling._compiled.items() if key[0][0][0] not in ("nuts", "gibbs")}
    kept = [patch.object(_scheduling, "_compiled", others), patch.object(_compilation, "_folder", lambda: None)]
    patches = [*chosen.apply(), *kept]
    for each in patches:
        each.start()
    try:
        yield chosen
    finally:
        for each in reversed(patches):
            each.stop()
