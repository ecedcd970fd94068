"""A warning of chains that did not converge, in the words that the command line prints."""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from plausibly.aggregation._variants import run_label
from plausibly.base.arviz import Posterior
from plausibly.base.errors import ConvergenceWarning, PlausiblyWarning
from plausibly.posterior.diagnostics import diagnose
from plausibly.posterior.diagnostics.verdicts import verdict

P = ParamSpec("P")


def judged(function: Callable[P, Posterior]) -> Callable[P, Posterior]:
    """Warn if chains of the posterior that a function returns did not converge, or annotators err together.

    See :func:`unjudged`.
    """

    @wraps(function)
    def warning(*args: P.args, **kwargs: P.kwargs) -> Posterior:
        posterior = function(*args, **kwargs)
        found = diagnose(posterior)
        label = run_label(str(posterior.attrs["model"]), float(posterior.attrs.get("reliability", float("nan"))))
        said = [] if found["converged"].values.all() else [verdict({label: found})]
        if said:
            warnings.warn(" ".join(said), ConvergenceWarning, stacklevel=2)
        if "err_together" in posterior.attrs:
            warnings.warn(posterior.attrs["err_together"], PlausiblyWarning, stacklevel=2)
        return posterior

    return warning


def unjudged(function: Callable[P, Posterior]) -> Callable[P, Posterior]:
    """Return such a function without the warning, for those who say themselves whether chains converged."""
    return getattr(function, "__wrapped__", function)
