"""The Python blocks of the README run, one after the other, in one namespace and an empty folder."""

import re

import pytest


def python_blocks(markdown):
    return re.findall(r"^```python\n(.*?)^```$", markdown, flags=re.MULTILINE | re.DOTALL)


def test_blocks_are_found():
    markdown = "text\n```python\na = 1\n\nb = 2\n```\n```sh\nls\n```\n```python\nc = a + b\n```\n"
    assert python_blocks(markdown) == ["a = 1\n\nb = 2\n", "c = a + b\n"]


def test_examples_run(root, tmp_path, monkeypatch):
    blocks = python_blocks((root / "README.md").read_text(encoding="utf-8"))
    if not blocks:
        pytest.skip("the README has no Python blocks")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "readme"}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"README.md, Python block {number}", "exec"), namespace)
