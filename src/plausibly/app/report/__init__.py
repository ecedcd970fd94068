"""A sweep as one self-contained HTML file: tables, figures with captions, settings, versions.

The function :func:`report` and its folder share a name: ``plausibly.report`` is the function.

Figures and templates take a second to import, so names are imported when they are first used; ``__init__.pyi`` lists
where they come from.
"""

from lazy_loader import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
