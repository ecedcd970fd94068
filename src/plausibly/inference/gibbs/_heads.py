r"""A mixture of Dirichlet priors in the Gibbs sampler: which of them a case's plausibilities come from.

Before every sweep, the component is drawn from its exact conditional given the plausibilities,

.. math:: P(z \mid \lambda) \propto w_z \Gamma\Big(\sum_k \alpha_{zk}\Big) \prod_k
   \frac{\lambda_k^{\alpha_{zk} - 1}}{\Gamma(\alpha_{zk})};

given it, the sweep is that of an ordinary prior.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.special import gammaln

from plausibly.case import Case
from plausibly.inference._batching import Bucket
from plausibly.inference.gibbs._random import uniforms
from plausibly.inference.gibbs._sweep import LEAST, State, Tallies
from plausibly.inference.program import CaseData

_FIRST = 1 << 31  # index of the first random number, beyond all that a sweep uses


class Heads(NamedTuple):
    """Mixtures of Dirichlet priors."""

    log_weight: Float[np.ndarray, "case head"]
    shape: Float[np.ndarray, "head slot"]


def with_heads(by_case: Callable[[Bucket, np.ndarray], CaseData], heads: Heads, bucket: Bucket, at: np.ndarray):
    """Add the priors of cases to what a program is given."""
    data = by_case(bucket, at)
    of_slot = bucket.slots[at]
    shape = np.where(of_slot < 0, 0, heads.shape[:, np.maximum(of_slot, 0)])
    constant = heads.log_weight[bucket.cases[at]].T - np.where(of_slot < 0, 0, gammaln(np.maximum(shape, 1e-9))).sum(-1)
    constant += gammaln(np.maximum(shape.sum(-1), 1e-9))
    more = {"head_shape": np.moveaxis(shape, -1, 1), "head_constant": constant}
    return data._replace(arguments={**data.arguments, **{name: np.float32(value) for name, value in more.items()}})


def choose_head(
    state: State, *, tallies: Tallies, case: Case, arguments: Mapping[str, Array]
) -> tuple[Tallies, Int[Array, " case"]]:
    """Draw the component of each case, and put its prior into the tallies; without a mixture, leave them."""
    if "head_shape" not in arguments:
        return tallies, jnp.zeros(state.plausibility.shape[-1], jnp.int32)
    shape, constant = arguments["head_shape"], arguments["head_constant"]
    logs = jnp.log(jnp.where(tallies.real, jnp.maximum(state.plausibility, LEAST), 1))
    logs = constant + (shape * logs).sum(1)
    below = jnp.cumsum(jnp.exp(logs - logs.max(0)), axis=0)
    u = uniforms(state.words, state.clock, _FIRST, 1)[0][0]
    head = (below < u * below[-1]).sum(0)
    own = jnp.take_along_axis(shape, head[None, None], 0)[0]
    plain = jnp.where(tallies.real, case.concentration, 0)
    shape = jnp.where(tallies.real, tallies.shape - plain + own, 0)
    # As many draws more from all classes as the prior is worth.
    drawn = tallies.drawn.at[0].add((own * tallies.real).sum(0) - plain.sum(0))
    return tallies._replace(shape=shape, drawn=jnp.maximum(drawn, LEAST)), head
