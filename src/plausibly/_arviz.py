"""The one place that knows which generation of ArviZ is installed.

Before 1.0 ArviZ keeps its groups in ``arviz.InferenceData``; from 1.0 on in :class:`xarray.DataTree`. Both answer to
``posterior["posterior"]["plausibility"]``; what differs is how they are built and how their groups are listed.
"""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpyro  # noqa: F401  before ArviZ, whose own import on demand of it leaves out submodules (arviz-base 1.3)
import xarray as xr
from jaxtyping import Float

with warnings.catch_warnings():
    # ArviZ 0.23 announces its successor on import, once a day.
    warnings.simplefilter("ignore", FutureWarning)
    import arviz as az

HAS_INFERENCE_DATA = int(az.__version__.split(".")[0]) < 1
if TYPE_CHECKING:
    Posterior: TypeAlias = xr.DataTree
else:
    Posterior = az.InferenceData if HAS_INFERENCE_DATA else xr.DataTree


def from_groups(groups: Mapping[str, xr.Dataset], attrs: Mapping[str, Any]) -> Posterior:
    """Container, of the ArviZ that is installed, of data sets by the name of their group, and attributes."""
    if HAS_INFERENCE_DATA:
        return az.InferenceData(**groups, attrs=dict(attrs))
    tree = xr.DataTree.from_dict(dict(groups))
    tree.attrs.update(attrs)
    return tree


def to_groups(posterior: Posterior) -> dict[str, xr.Dataset]:
    """Data sets of a posterior by the name of their group."""
    if HAS_INFERENCE_DATA:
        return {name: posterior[name] for name in posterior.groups()}
    return {name: node.to_dataset() for name, node in posterior.children.items()}


def pareto_smoothed(
    log_weights: Float[np.ndarray, "*row draw"], relative_ess: float = 1.0
) -> tuple[Float[np.ndarray, "*row draw"], Float[np.ndarray, "*row"]]:
    """Smooth the tails of importance weights; return their logarithms, normalised, and the shapes k of the tails.

    Examples
    --------
    >>> log_weights, shape = pareto_smoothed(np.random.default_rng(0).normal(size=(2, 1000)))
    >>> np.exp(log_weights).sum(-1).round(6).tolist(), bool((shape < 0.7).all())
    ([1.0, 1.0], True)
    """
    if HAS_INFERENCE_DATA:
        smoothed, shape = az.psislw(log_weights, relative_ess)
    else:
        from arviz_stats.base import array_stats  # pyright: ignore[reportMissingImports]

        # Of log likelihoods, the logarithms of whose reciprocals the weights are.
        smoothed, shape = array_stats.psislw(-log_weights, relative_ess)
    return np.asarray(smoothed), np.asarray(shape)
