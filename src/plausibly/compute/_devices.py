"""The devices of this process, and which of them does what.

Every program runs on one device, with sizes that do not depend on how many there are, so neither does anything that
comes out of it: devices share the cases, not the arrays. A program laid over all devices would need as many cases of
one shape as fill it everywhere, and devices would wait for each other at the end of every call.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import numpy as np
from jaxtyping import Float

Device: TypeAlias = Any  #: a ``jax.Device``, of which type checkers know nothing

_CHOICE = "jax_default_device"


def devices() -> list[Device]:
    """Those to compute on: all that JAX has here, or the one that ``jax.default_device`` names."""
    chosen = getattr(jax.config, _CHOICE)
    if chosen is None or isinstance(chosen, str):
        return jax.local_devices(backend=chosen)
    return [chosen]


def parted(costs: Sequence[float] | Float[np.ndarray, " unit"], n: int) -> list[int]:
    """The number of a device, of ``n``, for every unit of work: a run of units to each, of about the same cost.

    Runs, because units of one shape follow each other, and the fewer devices do them, the fewer programs are compiled.
    """
    costs = np.asarray(costs, float)
    middle = np.cumsum(costs) - costs / 2
    return np.minimum(middle * n / max(costs.sum(), 1e-30), n - 1).astype(int).tolist()
