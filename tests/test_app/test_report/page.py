"""Pages of reports as tests read them."""

from html.parser import HTMLParser
from importlib import import_module

import pytest

from plausibly.app.report import render


class Page(HTMLParser):
    """Text of table cells by the caption of the table, and all tags with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.tags, self._rows, self._text = {}, [], None, None
        self.feed(text)

    def table(self, start):
        """Rows of the first table whose caption starts with some words."""
        return next(rows for caption, rows in self.tables.items() if caption.startswith(start))

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th", "caption"):
            self._text = []

    def handle_endtag(self, tag):
        if tag == "caption":
            caption = "".join(self._text).strip()
            self._rows = self.tables[caption if caption not in self.tables else f"{caption} {len(self.tables)}"] = []
        elif tag in ("td", "th"):
            self._rows[-1].append("".join(self._text).strip())
        if tag in ("td", "th", "caption"):
            self._text = None

    def handle_data(self, data):
        if self._text is not None:
            self._text.append(data)


def leave_out_figures(patch):
    # By its module, since the package has a function of the same name.
    patch.setattr(import_module("plausibly.app.report._sweep"), "undrawn", lambda swept: ())
    patch.setattr(import_module("plausibly.app.results.evaluation"), "_figures", lambda *given: {})


def without_figures(swept, *given, **further):
    """Text of a report whose figures are left out: they take longer than everything else."""
    with pytest.MonkeyPatch.context() as patch:
        leave_out_figures(patch)
        return render(swept, *given, **further)
