"""The report in a browser: no other script than its own runs, and axe finds no barrier to anybody."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.app.report import render
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
    long = pd.DataFrame({"name": [f"n{i}" for i in range(12)], "value": [*NUMBERS, np.nan], "share": SHARES})
    return render(swept, {IMAGE: SCRIPT}, audit=audit, comparison={MARKUP: table, "Long": long}, checks=IMAGE)


NUMBERS = [10.5, -2, 1234.5, 0.0001, *range(3, 10)]  # text would be in another order
SHARES = [*(f"{share} (1–100)" for share in (77.1, 100.0, 9.5, "−3.0")), *(f"{share} ± 2" for share in range(10, 18))]
USE = """
const table = document.getElementById("comparison-2"), heads = [...table.tHead.rows[0].cells], told = [];
const shown = at => [...table.tBodies[0].rows].filter(row => !row.hidden).map(row => row.cells[at].textContent);
const states = () => heads.map(head => head.getAttribute("aria-sort"));
for (const at of [1, 1, 0, 2]) {
  const button = heads[at].querySelector("button");
  button.focus();
  told.push(document.activeElement === button);
  button.click();
  told.push(shown(at), states());
}
const line = table.parentElement.previousElementSibling, input = line.querySelector("label input");
for (const words of ["N1", ""]) {
  input.value = words;
  input.dispatchEvent(new Event("input"));
  told.push(shown(0).length, line.querySelector("output").textContent);
}
document.body.replaceChildren(JSON.stringify(told));
"""


def test_a_click_on_a_head_sorts_and_words_filter(text, tmp_path):
    page = POLICY.sub("", text).replace('<details class="part">', '<details class="part" open>')
    (tmp_path / "page.html").write_text(page.replace("</body>", f"<script>{USE}</script></body>"), encoding="utf-8")
    dom, console = browse(tmp_path / "page.html", "--dump-dom")
    assert console == []
    told = json.loads(re.search(r"<body>(.*)</body>", dom, flags=re.DOTALL)[1].strip())
    cells = [f"{value:,.3f}" if abs(value) >= 0.001 else "0.0001" for value in sorted(NUMBERS)]
    assert told[:3] == [True, [*cells, ""], [None, "ascending", None]]
    assert told[3:6] == [True, [*cells[::-1], ""], [None, "descending", None]]
    assert told[6:9] == [True, [f"n{i}" for i in range(12)], ["ascending", None, None]]  # n2 before n10
    assert told[9:12] == [True, [SHARES[at] for at in (3, 2, *range(4, 12), 0, 1)], [None, None, "ascending"]]
    assert told[12:] == [3, "3 of 12 rows", 12, ""]


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
    """Not even where a browser does not know the policy that forbids all scripts but the page's own."""
    assert len(POLICY.findall(text)) == 1
    (tmp_path / "report.html").write_text(text if policy else POLICY.sub("", text), encoding="utf-8")
    dom, console = browse(tmp_path / "report.html", "--dump-dom")
    assert TITLE in dom
    assert dom.count("<script") == 1
    assert ">most plausible class</button>" in dom  # that one runs, as the policy says which it is
    assert "onerror=" not in re.sub(r"&lt;.*?&gt;", "", dom)
    assert "{{ 7 * 7 }}" in dom
    assert console == []


def test_axe_would_find_a_barrier(tmp_path):
    page = '<html lang="en"><head><title>t</title></head><main><h1 style="color:#ccc">Grey</h1></main></html>'
    _, broken, _ = look(page, tmp_path, 1280)
    assert "color-contrast" in [rule for rule, _ in broken]


@pytest.mark.parametrize(("width", "state"), [(1280, ""), (390, " open")])
def test_nothing_is_in_the_way_of_readers(text, tmp_path, width, state):
    """Contrast, names, order of headings, tables: with all sections folded, and on a phone with all of them open."""
    page = text.replace('<details class="part">', f'<details class="part"{state}>')
    needed, broken, _ = look(page, tmp_path, width)
    assert broken == []
    assert needed <= width
