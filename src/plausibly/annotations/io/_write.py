"""The one format that keeps everything: rankings as JSON in object form."""

import json
import os
from pathlib import Path

from plausibly.annotations._container import Annotations
from plausibly.annotations._views import rankings_by_case
from plausibly.errors import AnnotationError, FileError


def write_rankings(annotations: Annotations, path: str | os.PathLike) -> None:
    """Write annotations as rankings JSON in object form, one case to a line so that versions compare well.

    Reading the file gives equal annotations back: names, ties, classes nobody named, and order are kept.

    Parameters
    ----------
    annotations
        What to write.
    path
        The file, replaced where it exists.

    Raises
    ------
    FileError
        If the file cannot be written.
    AnnotationError
        If they are no annotations, or scores.

    Examples
    --------
    >>> import tempfile, plausibly.annotations as pa
    >>> annotations = pa.Annotations.from_rankings([[[["a"], ["b"]], [["b"]]]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pa.write_rankings(annotations, folder + "/a.json")
    ...     pa.read_annotations(folder + "/a.json") == annotations
    True
    """
    if not isinstance(annotations, Annotations):
        raise AnnotationError(
            f"rankings can be written, but a {type(annotations).__name__} was given; write scores as a table, by "
            "Scores.to_table().to_csv"
        )
    try:
        with Path(path).open("w", encoding="utf-8") as file:
            file.write(f'{{\n  "classes": {_json(annotations.classes.tolist())},\n  "cases": {{')
            for number, (case, ranking) in enumerate(rankings_by_case(annotations)):
                file.write(f"{',' if number else ''}\n    {_json(case)}: {_json(ranking)}")
            file.write("\n  }\n}\n")
    except OSError as error:
        raise FileError(f"{path}: the file cannot be written ({error.strerror}); check the folder") from error


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
