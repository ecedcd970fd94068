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
MAIN = ("index", "start", "questions/evaluation", "reference/python/plausibly.sweeps", "reference/commands/plan")
THEIRS = {"scrollable-region-focusable"}  #: rule that the theme's own script keeps a moment after the page is loaded

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("site")]  # one worker builds it


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built without running notebooks."""
    pytest.importorskip("myst_nb", reason="the group docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(folder)]
    done = subprocess.run(
        words, cwd=ROOT, env={**os.environ, "PLAUSIBLY_NOTEBOOKS": "off"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder


class Links(HTMLParser):
    """Targets of the links of a page, and the places in it that links can lead to."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.places = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}
        self.targets |= {given[name] for name in ("href", "src") if tag != "link" and given.get(name)}


def test_every_link_leads_somewhere(site):
    paths = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in paths}
    broken = []
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            found = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages.get(found)
            if not found.exists() or (parts.fragment and known and unquote(parts.fragment) not in known.places):
                broken.append(f"{path.relative_to(site)}: {target}")
    assert not broken
    assert len(pages) > 60


def test_every_command_lists_its_options(site):
    for page in (site / "reference" / "commands").glob("*.html"):
        if page.stem != "index":
            assert re.search(r"Options|Arguments", page.read_text(encoding="utf-8")), page.stem


@pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium")
@pytest.mark.parametrize("width", [1280, 390])
def test_main_pages_fit_the_screen(site, width):
    for name in MAIN:
        path = site / f"{name}.html"
        needed, broken, console = look(path.read_text(encoding="utf-8"), path.parent, width)
        assert needed <= width, name
        assert [found for found in broken if found[0] not in THEIRS] == [], name
        assert [line for line in console if "pydata-sphinx-theme.js" not in line] == [], name
