"""Figures of posteriors and results.

Every function draws into the axes given (``ax=``) or into a new figure, and returns the axes; those that draw several
panels return their figure. An unknown case, class, metric, model or diagnostic raises :class:`plausibly.ArgumentError`
or :class:`plausibly.AnnotationError`, whose message lists the known names. Colours are safe for colour-blind readers,
and lines and rows are labelled directly.

>>> import xarray as xr
>>> results = xr.Dataset({"annotation_certainty_1": ("case", [1.0, 0.4, 0.7])})
>>> axes = pb.plots.certainty_curve(results)
>>> axes.lines[0].get_ydata().tolist(), pb.plots.certainty_histogram(results, ax=axes) is axes
([0.4, 0.4, 0.7, 1.0], True)
"""

from typing import Any as _Any

from lazy_loader import attach_stub as _attach_stub

_lazily, __dir__, __all__ = _attach_stub(__name__, __file__)


def __getattr__(name: str) -> _Any:
    """A function, which refuses what it does not draw in a sentence."""
    found = _lazily(name)
    if name in __all__:
        from plausibly.app.plots.style import draws_its_kind

        found = globals()[name] = draws_its_kind(found)  # in place of what the library may have put there
    return found
