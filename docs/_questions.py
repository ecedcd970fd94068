"""Pages of questions: the notebooks, copies of them for hosted services, and a gallery of them with pictures."""

import base64
import os
from importlib.metadata import version
from pathlib import Path

import nbformat
from nbformat import NotebookNode

#: Notebooks in the order of the gallery, each with the commands that do what it shows.
NOTEBOOKS = {
    "accuracy": ("evaluate",),
    "evaluation": ("simulate", "evaluate", "sweep", "compare"),
    "readers_and_hospitals": ("evaluate",),
    "as_good_as_readers": ("readers",),
    "sets_of_answers": ("conformal",),
    "whom_to_ask_next": ("plan",),
    "judge": ("judge",),
    "systems": ("systems",),
    "discrepancy": ("discrepancy",),
    "agreement": ("audit", "agreement"),
    "reliability": ("reliability",),
    "inferred_reliability": ("aggregate",),
    "model_choice": ("models compare", "models check", "models priors"),
    "convergence": ("diagnose",),
    "labels_counts_scores_rankings": ("aggregate", "convert"),
    "own_model": ("models new",),
}
#: Where Colab finds the built site on GitHub, such as ``owner/name/blob/branch``; empty if it is nowhere.
PUBLISHED = os.environ.get("PLAUSIBLY_PUBLISHED", "")


def write_questions(notebooks: Path, folder: Path, hosted: Path, executed: dict[str, NotebookNode]) -> None:
    """Write every notebook into the folder of questions, with a link, and to where it can be fetched; and the gallery.

    `executed` has notebooks with their outputs, by name. Those that are missing have no picture.
    """
    hosted.mkdir(parents=True, exist_ok=True)
    pictures = folder / "pictures"
    pictures.mkdir(exist_ok=True)
    cards = []
    for name, commands in NOTEBOOKS.items():
        notebook = nbformat.read(notebooks / f"{name}.ipynb", as_version=4)
        nbformat.write(for_hosts(notebook), hosted / f"{name}.ipynb")
        title, _, text = notebook.cells[0].source.partition("\n")
        picture = first_picture(executed[name]) if name in executed else None
        if picture:
            (pictures / f"{name}.png").write_bytes(picture)
        cards.append(_card(name, title.removeprefix("# "), commands, bool(picture)))
        notebook.cells[0].source = f"{title}\n\n{_link(name)}\n{text}"
        nbformat.write(notebook, folder / f"{name}.ipynb")
    grid = ["::::{grid} 1 2 2 3", ":gutter: 3", "", *cards, "::::", ""]
    (folder / "gallery.txt").write_text("\n".join(grid), encoding="utf-8")


def for_hosts(notebook: NotebookNode) -> NotebookNode:
    """Copy a notebook, with a first cell that installs the package, which a hosted service does not have."""
    install = nbformat.v4.new_code_cell(f"%pip install --quiet plausibly=={version('plausibly')}", id="install")
    return NotebookNode({**notebook, "cells": [install, *notebook.cells]})


def first_picture(notebook: NotebookNode) -> bytes | None:
    """Return the first figure of an executed notebook as PNG."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", ()))
    found = (output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {}))
    encoded = next(found, None)
    return encoded and base64.b64decode(encoded)


def read_executed(folder: Path, notebooks: Path) -> dict[str, NotebookNode]:
    """Read outputs from the cache that ``_notebooks.py`` fills; what was not executed is left out."""
    from jupyter_cache import get_cache

    cache, found = get_cache(str(folder)), {}
    for name in NOTEBOOKS if folder.exists() else ():
        try:
            record = cache.match_cache_notebook(nbformat.read(notebooks / f"{name}.ipynb", as_version=4))
        except KeyError:
            continue
        found[name] = cache.get_cache_bundle(record.pk).nb
    return found


def _link(name: str) -> str:
    """Where to run a notebook without installing anything."""
    if PUBLISHED:
        return f'<a href="https://colab.research.google.com/github/{PUBLISHED}/hosted/{name}.ipynb">Open in Colab</a>'
    return (
        f'<a href="../hosted/{name}.ipynb" download>Open in Colab</a>: download the notebook, and upload it to '
        '<a href="https://colab.research.google.com">Colab</a>; its first cell installs plausibly.'
    )


def _card(name: str, title: str, commands: tuple[str, ...], picture: bool) -> str:
    """A card of the gallery."""
    image = [f":img-top: pictures/{name}.png", f":img-alt: First figure of the page “{title}”"] if picture else []
    said = ", ".join(f"`plausibly {command}`" for command in commands)
    return "\n".join([f":::{{grid-item-card}} {title}", f":link: {name}", ":link-type: doc", *image, said, ":::", ""])
