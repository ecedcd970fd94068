"""Pages of questions: every notebook, with a picture where it was executed, and a copy that installs the package."""

import base64
import re
import runpy
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import plausibly

PNG = base64.b64encode(b"\x89PNG figure").decode()


@pytest.fixture
def questions(root, monkeypatch):
    """The module, which lies in the folder of the site."""
    monkeypatch.syspath_prepend(root / "docs")
    yield __import__("_questions")
    sys.modules.pop("_questions")


def test_every_notebook_has_a_card_and_every_command_of_the_readme_too(root, questions):
    stored = {path.stem for path in (root / "notebooks").glob("*.ipynb")}
    assert questions.NOTEBOOKS.keys() == stored
    listed = (root / "docs/questions/index.md").read_text(encoding="utf-8").split(":hidden:")[1]
    assert re.findall(r"^\w+$", listed, re.MULTILINE) == list(questions.NOTEBOOKS)
    readme = (root / "README.md").read_text(encoding="utf-8").split("| command | question |")[1].split("\n\n")[0]
    named = {command for row in readme.splitlines()[2:] for command in re.findall(r"`([^`]+)`", row.split("|")[1])}
    shown = {command for commands in questions.NOTEBOOKS.values() for command in commands}
    assert named - {"doctor"} == shown  # which has a page of its own


def test_pages_have_a_link_a_picture_and_a_copy_that_installs(root, questions, tmp_path, monkeypatch):
    (tmp_path / "questions").mkdir()
    figure = new_output("display_data", {"image/png": PNG, "text/plain": ""})
    executed = new_notebook(cells=[new_markdown_cell("text"), new_code_cell("plt.show()", outputs=[figure])])
    questions.write_questions(root / "notebooks", tmp_path / "questions", tmp_path / "hosted", {"accuracy": executed})
    gallery = (tmp_path / "questions/gallery.txt").read_text(encoding="utf-8")
    assert gallery.index("pictures/accuracy.png") < gallery.index("{grid-item-card} Is my classifier better")
    assert gallery.count(":img-top:") == 1
    assert (tmp_path / "questions/pictures/accuracy.png").read_bytes() == b"\x89PNG figure"
    stored = nbformat.read(root / "notebooks/accuracy.ipynb", as_version=4)
    page = nbformat.read(tmp_path / "questions/accuracy.ipynb", as_version=4)
    assert "../hosted/accuracy.ipynb" in page.cells[0].source
    assert page.cells[1:] == stored.cells[1:]  # so that outputs are found in the cache
    copy = nbformat.read(tmp_path / "hosted/accuracy.ipynb", as_version=4)
    nbformat.validate(copy)
    assert copy.cells[0].source == f"%pip install --quiet plausibly=={plausibly.__version__}"
    assert copy.cells[1:] == stored.cells


def test_a_published_site_is_opened_in_colab(root, monkeypatch):
    monkeypatch.setenv("PLAUSIBLY_PUBLISHED", "owner/name/blob/site")
    link = runpy.run_path(str(root / "docs/_questions.py"))["_link"]("judge")
    assert 'href="https://colab.research.google.com/github/owner/name/blob/site/hosted/judge.ipynb"' in link


def test_outputs_are_read_from_the_cache(root, questions, tmp_path):
    cache = pytest.importorskip("jupyter_cache").get_cache(str(tmp_path / "cache"))
    notebook = nbformat.read(root / "notebooks/judge.ipynb", as_version=4)
    for number, cell in enumerate((cell for cell in notebook.cells if cell.cell_type == "code"), start=1):
        cell.execution_count = number
    figure = new_output("display_data", {"image/png": PNG})
    next(cell for cell in notebook.cells if cell.cell_type == "code").outputs = [figure]
    path = tmp_path / "judge.ipynb"
    nbformat.write(notebook, path)
    cache.cache_notebook_file(str(path), check_validity=False)
    found = questions.read_executed(tmp_path / "cache", root / "notebooks")
    assert found.keys() == {"judge"}
    assert questions.first_picture(found["judge"]) == b"\x89PNG figure"
    assert questions.read_executed(tmp_path / "nowhere", root / "notebooks") == {}
