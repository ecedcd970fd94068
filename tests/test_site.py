"""The site: it builds without warnings, every link within it leads somewhere, and its main pages fit every screen."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser import CHROMIUM, look

ROOT = Path(__file__).parent.parent
MAIN = ("index", "start", "reference/python/plausibly.sweeps", "reference/commands/plan")
THEIRS = {"scrollable-region-focusable"}  #: rule that the theme's own script keeps a moment after the page is loaded


class Links(HTMLParser):
    """Targets of the links of a page, and the places in it that links can lead to."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.places, self.actions = set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}
        self.actions |= {given["action"]} if given.get("action") else set()
        self.targets |= {given[name] for name in ("href", "src") if tag != "link" and given.get(name)}


def test_variables_of_the_environment_are_documented():
    page = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
    places = ("src/**/*.py", "docs/*.py", "tests/conftest.py", "tests/worlds.py", "benchmarks/**/*.py")
    source = "".join(path.read_text(encoding="utf-8") for place in places for path in ROOT.glob(place))
    read = re.findall(r'os\.environ(?:\.get\(|\[)"(\w+)"|"(\w+)" (?:not )?in os\.environ', source)
    names = {first or second for first, second in read} - {"OPTIMISED_XLA_FLAGS"}  # of tests alone
    assert {"PLAUSIBLY_SHARED", "PLAUSIBLY_NOTEBOOKS", "PLAUSIBLY_PUBLISHED", "XLA_FLAGS", "COLUMNS"} <= names
    assert {name for name in names if f"`{name}" not in page} == set()
    assert set(re.findall(r"`(PLAUSIBLY_\w+)", page)) <= names


@pytest.mark.slow
def test_links_lead_somewhere_and_main_pages_fit_the_screen(tmp_path):
    """One test, so that the site is built once, without running notebooks."""
    pytest.importorskip("myst_nb", reason="the group docs is not installed")
    words = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(tmp_path)]
    done = subprocess.run(
        words, cwd=ROOT, env={**os.environ, "PLAUSIBLY_NOTEBOOKS": "off"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    paths = [path for path in tmp_path.rglob("*.html") if "_static" not in path.parts]
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in paths}
    assert len(pages) > 60
    broken = [
        f"{path.relative_to(tmp_path)}: {target}"
        for path, page in pages.items()
        for target in page.targets
        if not leads_somewhere(target, path, pages)
    ]
    assert not broken
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        targets = pages[tmp_path / "questions" / f"{notebook.stem}.html"].targets
        assert f"../hosted/{notebook.name}" in targets
        assert f"{notebook.stem}.html" in pages[tmp_path / "questions" / "index.html"].targets
    assert pages[tmp_path / "index.html"].actions == {"search.html"}
    assert tmp_path / "search.html" in pages
    assert "plackett" in (tmp_path / "searchindex.js").read_text(encoding="utf-8")
    for page in (tmp_path / "reference" / "commands").glob("*.html"):
        if page.stem != "index":
            assert re.search(r"Options|Arguments", page.read_text(encoding="utf-8")), page.stem
    # What is wide or hard to read is so on a phone; one page shows that the theme's columns fit a screen, too.
    for name, width in [*((name, 390) for name in MAIN[:-1]), (MAIN[-1], 1280)] if CHROMIUM else ():
        page = tmp_path / f"{name}.html"
        needed, barriers, console = look(page.read_text(encoding="utf-8"), page.parent, width)
        assert needed <= width, (name, width)
        assert [found for found in barriers if found[0] not in THEIRS] == [], (name, width)
        assert [line for line in console if "pydata-sphinx-theme.js" not in line] == [], (name, width)


def leads_somewhere(target, path, pages):
    """Whether a link of a page leads to another site, or to a page, and a place in it, of this one."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return True
    found = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    known = pages.get(found)
    return found.exists() and not (parts.fragment and known and unquote(parts.fragment) not in known.places)
