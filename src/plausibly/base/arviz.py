"""The one place that knows which generation of ArviZ is installed.

Before 1.0 ArviZ keeps its groups in ``arviz.InferenceData``; from 1.0 on in :class:`xarray.DataTree`. Both answer to
``posterior["posterior"]["plausibility"]``; what differs is how they are built and how their groups are listed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr
    from jaxtyping import Float

    Posterior: TypeAlias = xr.DataTree
else:
    Posterior = Any  # its class is imported when it is needed

HAS_INFERENCE_DATA = int(version("arviz").split(".")[0]) < 1
_data_trees = not HAS_INFERENCE_DATA


def use_data_trees() -> None:
    """Build every posterior as a data tree, for commands: they return none, and ArviZ takes a second to import."""
    global _data_trees
    _data_trees = True


@cache
def arviz() -> Any:
    """Import ArviZ, which takes as long as JAX."""
    import numpyro  # noqa: F401  before ArviZ, whose own import on demand leaves out submodules (arviz-base 1.3)

    with warnings.catch_warnings():
        # ArviZ 0.23 announces its successor on import, once a day.
        warnings.simplefilter("ignore", FutureWarning)
        import arviz

    return arviz


def is_posterior(thing: object) -> TypeGuard[Posterior]:
    """Whether a thing is a container of groups, of any ArviZ."""
    import xarray as xr

    kinds = (arviz().InferenceData,) if HAS_INFERENCE_DATA and "arviz" in sys.modules else ()
    return isinstance(thing, (xr.DataTree, *kinds))


def from_groups(groups: Mapping[str, xr.Dataset], attrs: Mapping[str, Any]) -> Posterior:
    """Container, of the ArviZ that is installed, of data sets by the name of their group, and attributes."""
    if not _data_trees:
        return arviz().InferenceData(**groups, attrs=dict(attrs))
    import xarray as xr

    tree = xr.DataTree.from_dict(dict(groups))
    tree.attrs.update(attrs)
    return tree


def to_groups(posterior: Posterior) -> dict[str, xr.Dataset]:
    """Data sets of a posterior by the name of their group."""
    import xarray as xr

    if isinstance(posterior, xr.DataTree):
        return {name: node.to_dataset() for name, node in posterior.children.items()}
    return {name: posterior[name] for name in posterior.groups()}


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
    import numpy as np

    if HAS_INFERENCE_DATA:
        smoothed, shape = arviz().psislw(log_weights, relative_ess)
    else:
        from arviz_stats.base import array_stats  # pyright: ignore[reportMissingImports]

        # Of log likelihoods, the logarithms of whose reciprocals the weights are.
        smoothed, shape = array_stats.psislw(-log_weights, relative_ess)
    return np.asarray(smoothed), np.asarray(shape)
