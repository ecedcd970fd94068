"""Site: configuration of Sphinx. ``make docs`` writes it into ``build/docs``."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import _pages
import _questions

import plausibly

project = "plausibly"
author = "the plausibly developers"
copyright = f"2026, {author}"
version = release = plausibly.__version__

# Notebooks stand at the top of the checkout, where analysts look for them; modules and commands document themselves.
nb_execution_mode = os.environ.get("PLAUSIBLY_NOTEBOOKS", "cache")
nb_execution_cache_path = str(HERE.parent / "build" / "notebooks")
notebooks = HERE.parent / "notebooks"
executed = _questions.read_executed(Path(nb_execution_cache_path), notebooks) if nb_execution_mode == "cache" else {}
_questions.write_questions(notebooks, HERE / "questions", HERE / "_hosted" / "hosted", executed)
_pages.write_python(HERE / "reference" / "python")
_pages.write_formats(HERE / "reference" / "formats.txt")
_pages.write_versions(HERE / "reference" / "versions.txt", HERE.parent / "pyproject.toml")
_pages.write_commands(HERE / "reference" / "commands")

extensions = [
    "myst_nb",
    "sphinx_design",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
exclude_patterns = ["**.ipynb_checkpoints", "_hosted"]
templates_path: list[str] = []

nb_execution_in_temp = True
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = False
autodoc_typehints = "none"  # signatures stay readable; shapes and types stand under Parameters
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
default_role = "code"
smartquotes = False  # --out is an option

html_theme = "pydata_sphinx_theme"
html_title = "plausibly"
html_static_path = ["_static"]
html_extra_path = ["_hosted"]
html_css_files = ["site.css"]
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "start": []}
html_show_sourcelink = False

nitpicky = True
nitpick_ignore = [("py:class", "numpy.random.Generator"), ("py:class", "pandas.Series")]
# Functions of one model's file, which shares its name with the model's program and so has no page.
nitpick_ignore_regex = [
    ("py:func", r"(.*\.)?(posterior_concentration|inverse_rank|log_prob|update|declaration)"),
    ("py:attr", r"NAMES"),
    ("py:mod", r"plausibly\.aggregation\.inferred_reliability"),
]


def shortest(app, env, node, contnode):
    """Resolve a name that is written short, as in its own module, to the documented name that ends so."""
    if node.get("refdomain") != "py":
        return None
    names = node["reftarget"].split(".")
    domain = env.get_domain("py")
    for target in (names[start:] for start in range(len(names))):
        found = [name for name in domain.objects if name.split(".")[-len(target) :] == target]
        if found:
            best = min(found, key=len)
            return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", best, node, contnode)
    return None


def setup(app):
    app.connect("missing-reference", shortest)
