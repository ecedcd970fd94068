"""Every example in a docstring runs, module by module.

By name, not by path: ``models/`` has no parent package on disk, so collecting files would import it a second time.
"""

import doctest
import importlib
import pkgutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib import pyplot

import plausibly
import plausibly.models

# What an example may use without importing it.
NAMES = {"np": np, "jnp": jnp, "jax": jax, "pb": plausibly}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def modules():
    for package in (plausibly, plausibly.models):
        yield package.__name__
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.name.endswith("__main__"):
                yield module.name


# Public modules whose examples sample; those of private modules are slow, too.
SLOW = {f"plausibly.aggregation.{name}" for name in ("inferred_reliability", "model_comparison.sensitivities")}
SLOW |= {"plausibly.base.random_streams", "plausibly.metrics.certainties", "plausibly.families.ratings.tables"}
SLOW |= {"plausibly.posterior.annotator_tables"}
SLOW |= {f"plausibly.evaluation.{name}" for name in ("checks", "comparison", "freed")}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW or "._" in name)) for name in sorted(set(modules()))],
)
def test_examples(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    result = doctest.testmod(module, extraglobs=NAMES, optionflags=OPTIONS)
    pyplot.close("all")  # of which Matplotlib keeps no more than twenty without a warning
    assert result.failed == 0, f"{result.failed} of {result.attempted} examples of {name} failed: see the output above"


def test_the_walk_reaches_private_modules_and_models():
    names = set(modules())
    assert {"plausibly", "plausibly.models", "plausibly.data.datasets._differentials"} | SLOW <= names
