"""A sweep as one HTML file that needs nothing else: tables, figures with captions, settings, versions.

The function :func:`report` has the name of its folder: ``plausibly.report`` is the function.
"""

from plausibly.report._page import render as render
from plausibly.report._page import report as report
from plausibly.report._tables import headline as headline
