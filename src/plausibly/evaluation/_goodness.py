"""How good values of a metric are, whether greater or smaller ones are better, or those near a target."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float


def goodness(values: Float[np.ndarray, "*shape"], attrs: Mapping[str, Any]) -> Float[np.ndarray, "*shape"]:
    """Orient values so that greater ones are better, by the attribute ``better`` of a metric."""
    better = attrs.get("better", "greater")
    if isinstance(better, str):
        return -values if better == "smaller" else values
    return -np.abs(values - better)
