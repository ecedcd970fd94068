"""Templates of pages, and the files that pages are written to."""

import os
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import jinja2

from plausibly.errors import FileError
from plausibly.evaluation.verdicts import short_shares
from plausibly.plots.words import capitalised, metric_name

_HERE = Path(__file__).parent


def template(name: str, **filters: Any) -> jinja2.Template:
    """Return the template of a page, with further filters."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("plausibly", "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style, script = ((_HERE / name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
    digest = b64encode(sha256(script.encode()).digest()).decode()  # a page may run this script and no other
    environment.globals |= {"style": style, "script": script, "script_hash": f"sha256-{digest}"}
    environment.filters |= {"metric": metric_name, "capitalised": capitalised, "shares": short_shares, **filters}
    return environment.get_template(name)


def write_page(text: str, path: str | os.PathLike) -> None:
    """Write a page into a file, which is replaced."""
    try:
        Path(path).write_text(text, encoding="utf-8", newline="\n", errors="replace")
    except OSError as error:
        raise FileError(f"{path}: the file cannot be written ({error.strerror}); choose another place") from error
