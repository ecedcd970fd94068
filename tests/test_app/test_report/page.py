"""Pages of reports as tests read them."""

from html.parser import HTMLParser
from importlib import import_module

import pytest

from plausibly.app.report import render


class Page(HTMLParser):
    """Text of table cells by table, and all tags with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.tags, self._table, self._cell = {}, [], None, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self._table = self.tables.setdefault(dict(attrs).get("id", f"unnamed {len(self.tables)}"), [])
        elif tag == "tr":
            self._table.append([])
        elif tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._table[-1].append("".join(self._cell).strip())
            self._cell = None

    def handle_data(self, data):
        if self._cell is not None:
            self._cell.append(data)


def leave_out_figures(patch):
    # By its module, since the package has a function of the same name.
    patch.setattr(import_module("plausibly.app.report._page"), "undrawn", lambda swept: ())


def without_figures(swept, *given, **further):
    """Text of a report whose figures are left out: they take longer than everything else."""
    with pytest.MonkeyPatch.context() as patch:
        leave_out_figures(patch)
        return render(swept, *given, **further)
