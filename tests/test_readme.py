"""The Python blocks of the README and of docs/ run, those of a file one after the other, in an empty folder."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def python_blocks(markdown):
    return re.findall(r"^```python\n(.*?)^```$", markdown, flags=re.MULTILINE | re.DOTALL)


DOCUMENTS = {
    path.relative_to(ROOT).as_posix(): blocks
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if (blocks := python_blocks(path.read_text(encoding="utf-8")))
}


def test_blocks_are_found():
    markdown = "text\n```python\na = 1\n\nb = 2\n```\n```sh\nls\n```\n```python\nc = a + b\n```\n"
    assert python_blocks(markdown) == ["a = 1\n\nb = 2\n", "c = a + b\n"]
    assert {"README.md", "docs/architecture.md"} <= DOCUMENTS.keys()


QUICK = ("docs/architecture.md", "docs/start.md")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in DOCUMENTS]
)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "example"}
    for number, block in enumerate(DOCUMENTS[name], start=1):
        exec(compile(block, f"{name}, Python block {number}", "exec"), namespace)
