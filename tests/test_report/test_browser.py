"""The report in a browser: no script runs, nothing is complained of, and axe finds no barrier to anybody."""

import re

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.report import render
from tests.browser import CHROMIUM, POLICY, browse, look

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium")]

TITLE = "<title>Classifiers under uncertain ground truth</title>"
IMAGE = "<img src=x onerror=\"document.title='owned'\">"
SCRIPT = "\"'></td><script>document.title='owned'</script>"
MARKUP = "</style></title><svg onload=document.title='owned'>{{ 7 * 7 }}"


@pytest.fixture(scope="module")
def text():
    """A report in which every name that somebody chooses holds markup."""
    classes = [IMAGE, SCRIPT, MARKUP]
    rankings = {
        f"{IMAGE}{i}{SCRIPT}": {
            MARKUP: [[classes[i % 3]], [classes[(i + 1) % 3]]],
            SCRIPT: [[classes[(i * i) % 3]]],
            IMAGE: [[classes[i % 2]]],
        }
        for i in range(4)
    }
    annotations = pb.Annotations.from_rankings({"classes": classes, "cases": rankings})
    rng = np.random.default_rng(0)
    scores = {name: rng.random((4, 3)) for name in (IMAGE, SCRIPT)}
    swept = pb.sweep(annotations, scores, {"prirn": (10,)}, risks=[0, 1, 2], k=(1, 2), draws=25, progress=False)
    audit = pd.DataFrame([[IMAGE, 1, 2, SCRIPT, MARKUP]], columns=["check", "count", "of", "examples", "meaning"])
    table = pd.DataFrame({MARKUP: [IMAGE]}, index=pd.Index([SCRIPT], name=IMAGE))
    return render(swept, {IMAGE: SCRIPT}, audit=audit, comparison={MARKUP: table}, checks=IMAGE)


def test_scripts_in_names_would_run_if_they_could(tmp_path):
    """What the next test rests on: in a page that is careless, the same names do run."""
    (tmp_path / "page.html").write_text(f"<title>careless</title><table><td>{SCRIPT}{IMAGE}</table>", encoding="utf-8")
    dom, console = browse(tmp_path / "page.html", "--dump-dom")
    assert "<title>owned</title>" in dom
    (tmp_path / "page.html").write_text("<script>console.error('seen')</script>", encoding="utf-8")
    assert any("seen" in line for line in browse(tmp_path / "page.html", "--dump-dom")[1])
    assert console == [] or "CONSOLE" in console[0]


@pytest.mark.parametrize("policy", [True, False])
def test_scripts_in_names_do_not_run(text, tmp_path, policy):
    """Not even where a browser does not know the policy that forbids all scripts."""
    assert len(POLICY.findall(text)) == 1
    (tmp_path / "report.html").write_text(text if policy else POLICY.sub("", text), encoding="utf-8")
    dom, console = browse(tmp_path / "report.html", "--dump-dom")
    assert TITLE in dom
    assert "<script" not in dom
    assert "onerror=" not in re.sub(r"&lt;.*?&gt;", "", dom)
    assert "{{ 7 * 7 }}" in dom
    assert console == []


def test_axe_would_find_a_barrier(tmp_path):
    page = '<html lang="en"><head><title>t</title></head><main><h1 style="color:#ccc">Grey</h1></main></html>'
    _, broken, _ = look(page, tmp_path, 1280)
    assert "color-contrast" in [rule for rule, _ in broken]


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_in_the_way_of_readers(text, tmp_path, width):
    """Contrast, names, order of headings, tables: with all sections folded, and with all of them open."""
    for page in (text, text.replace('<details class="part">', '<details class="part" open>')):
        needed, broken, _ = look(page, tmp_path, width)
        assert broken == []
        assert needed <= width
