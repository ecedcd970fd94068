"""Chromium for tests: what a page writes, how wide it gets, and which rules of accessibility (axe-core) it breaks."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)
POLICY = re.compile("<meta http-equiv[^>]*>")

# A page in a frame is as narrow as it should be; windows of Chromium are at least 500 pixels wide.
_FRAME = (
    '<!DOCTYPE html><html lang="en"><body style="margin:0"><iframe title="page" width="{}" height="900" srcdoc="{}">'
)
_REPORT = """
window.addEventListener("load", () => {{
  const tell = found => {{
    const out = parent.document.createElement("pre");
    out.id = "found";
    out.textContent = JSON.stringify(found);
    parent.document.body.appendChild(out);
  }};
  const width = document.documentElement.scrollWidth;
  const rules = {rules};
  if (!rules) tell({{width, broken: []}});
  else axe.run().then(({{violations}}) => tell({{
    width, broken: violations.map(rule => [rule.id, rule.nodes.slice(0, 3).map(node => node.html)])
  }}));
}});
"""


def browse(path, *flags):
    """Open a page, and return what it wrote on the standard output and the console."""
    words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0", "--hide-scrollbars"]
    words += [f"--user-data-dir={path.parent / 'profile'}", "--virtual-time-budget=9000", *flags, path.as_uri()]
    done = subprocess.run([CHROMIUM, *words], capture_output=True, text=True, timeout=240, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def look(text, folder, width, rules=True):
    """Show a page in a frame of a width: how wide its contents are, and the rules of accessibility that it breaks.

    Parameters
    ----------
    text
        Source of the page.
    folder
        Folder from which the page takes its files, and to which the frame is written.
    width
        Width of the frame in pixels.
    rules
        Whether to check accessibility.
    """
    script = _REPORT.format(rules=json.dumps(rules))
    if rules:
        axe = Path(pytest.importorskip("axe_core_python").__file__).with_name("axe.min.js").read_text(encoding="utf-8")
        script = axe.replace("</script", "<" + chr(92) + "/script") + script
    page = POLICY.sub("", text).replace("</head>", f"<script>{script}</script></head>", 1)
    frame = folder / "frame.html"
    frame.write_text(_FRAME.format(width, html.escape(page)), encoding="utf-8")
    dom, console = browse(frame, "--dump-dom", f"--window-size={max(width, 500)},1000")
    found = re.search(r'<pre id="found">(.*?)</pre>', dom, flags=re.DOTALL)
    assert found, f"the page said nothing: {console}"
    told = json.loads(html.unescape(found[1]))
    return told["width"], told["broken"], console
