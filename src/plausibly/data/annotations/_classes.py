"""What goes with annotations: the names of the classes, and their risk levels."""

import os
from collections import Counter
from collections.abc import Iterable
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from plausibly.base.errors import AnnotationError, show
from plausibly.base.names import some, to_names
from plausibly.data.annotations.io.files import lines_of, naming, read_text
from plausibly.data.annotations.io.table_files import header_of, read_columns
from plausibly.data.annotations.matching import by_name


def read_classes(path: str | os.PathLike) -> np.ndarray:
    r"""Read class names from a text file, one per line, or from a text with commas; index 0 stands for the first.

    Parameters
    ----------
    path
        UTF-8 text. A line break at the end of the file does not start another name. If there is no such file, names
        with commas between them, such as ``"0,1"``.

    Returns
    -------
    numpy.ndarray
        (K,) text.

    Raises
    ------
    FileError
        If the file cannot be read or is empty.
    AnnotationError
        If a line is blank, a name begins or ends with a blank, or a name occurs twice.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "classes.txt").write_text("eczema\npsoriasis\n")
    ...     read_classes(folder + "/classes.txt").tolist()
    ['eczema', 'psoriasis']
    """
    if "," in str(path) and not Path(path).exists():
        return to_names([name.strip() for name in str(path).split(",")], "class")
    with naming(path):
        names = lines_of(read_text(Path(path)))
        lines: dict[str, int] = {}
        for number, name in enumerate(names, 1):
            if not name.strip():
                raise AnnotationError(
                    f"line {number} is blank, and each line names a class; name it, or remove the line"
                )
            if "\t" in name:
                raise AnnotationError(f"line {number} has a tab, but names a class; if this is a table, call it .tsv")
            if lines.setdefault(name, number) != number:
                raise AnnotationError(
                    f"line {number}: the class {name!r} is already listed in line {lines[name]}; list each class once"
                )
        return to_names(names, "class")


def read_risks(source: Any, classes: Iterable[str]) -> Int[np.ndarray, " class"]:
    """Read the risk level of each class: 0 low, 1 medium, 2 high.

    Parameters
    ----------
    source
        A text file with one level per line, in the order of the classes; a CSV file with the columns ``class`` and
        ``risk``; a mapping, or a pandas Series, from class name to level; or levels in the order of the classes.
    classes
        (K,) class names.

    Returns
    -------
    numpy.ndarray
        (K,) int8.

    Raises
    ------
    FileError
        If the file cannot be read.
    AnnotationError
        If a level is none of 0, 1, 2, or classes and levels do not match one to one.

    Examples
    --------
    >>> read_risks({"melanoma": 2, "acne": 0}, ["acne", "melanoma"]).tolist()
    [0, 2]
    """
    names = to_names(classes, "class").tolist()
    if isinstance(source, str | os.PathLike):
        with naming(source):
            return _levels(_parse(Path(source)), names)
    return _levels(source, names)


def _parse(path: Path) -> dict[str, str] | list[str]:
    """Read a file of risks in either form, the levels still text."""
    lines = lines_of(read_text(path))
    if "," not in lines[0]:
        return lines
    header = header_of(path)
    if sorted(header) != ["class", "risk"]:
        raise AnnotationError(f"a table of risks has the columns 'class' and 'risk', got {some(header)}; rename them")
    columns = read_columns(path)
    names, levels = (columns[name].to_pylist() for name in ("class", "risk"))
    found = dict(zip(names, levels, strict=True))
    if len(found) < len(names):
        name, times = Counter(names).most_common(1)[0]
        raise AnnotationError(f"the class {name!r} has {times} risks; give each class one")
    return found


def _levels(source: Any, classes: list[str]) -> np.ndarray:
    """Match levels to classes and check them."""
    levels = list(by_name(source, np.array(classes), "risk", "class", AnnotationError))
    if len(levels) != len(classes):
        raise AnnotationError(
            f"there are {len(levels)} risks for {len(classes)} classes; give one per class, in their order"
        )
    texts = [str(level).strip() if isinstance(level, str | Integral) else "" for level in levels]
    for level, text, name in zip(levels, texts, classes, strict=True):
        if text not in ("0", "1", "2"):
            raise AnnotationError(f"class {name!r}: the risk is {show(level)}; write 0 (low), 1 (medium) or 2 (high)")
    return np.array([int(text) for text in texts], dtype=np.int8)


def in_own_order(classes: Iterable[str] | None) -> bool:
    """Whether names are in an order of their own; those that this package writes are sorted unless they have one."""
    names = [] if classes is None else [str(name) for name in classes]
    return names != sorted(names)
