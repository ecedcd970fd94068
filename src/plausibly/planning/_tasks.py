"""The chosen cases as a list of tasks for Label Studio."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from plausibly.errors import ArgumentError, show


def tasks_of(chosen: pd.DataFrame, data: Any = None) -> list[dict[str, Any]]:
    """Rows of a plan's table as tasks: ``data`` (what the labelling interface shows), ``meta`` (why it is asked).

    Examples
    --------
    >>> chosen = pd.DataFrame({"case": ["p1"], "place": [1], "value": [0.4], "labels": [2]})
    >>> tasks_of(chosen, {"p1": {"image": "https://example.org/p1.jpg"}})[0]["data"]
    {'case': 'p1', 'image': 'https://example.org/p1.jpg'}
    """
    if isinstance(data, pd.DataFrame):
        if "case" not in data:
            raise ArgumentError("data of tasks must have the column case, but has none: rename the one with the names.")
        data = {str(row.pop("case")): row for row in data.to_dict("records")}
    data = {} if data is None else data
    if not isinstance(data, Mapping):
        raise ArgumentError(
            f'data of tasks must be mappings by case, but {show(data)} was given: write {{"p1": {{"image": "…"}}}}.'
        )
    if lacking := [name for name in chosen["case"] if data and str(name) not in data]:
        raise ArgumentError(f"data of tasks lack the case {str(lacking[0])!r}: add it, or leave the data out.")
    tasks = []
    for row in chosen.to_dict("records"):
        name = str(row["case"])
        meta = {"place": int(row["place"]), "labels": int(row["labels"]), "value": float(row["value"])}
        if "annotator" in row:
            meta["annotator"] = row["annotator"]
        own = {str(key): _plain(value) for key, value in data.get(name, {}).items()}
        tasks.append({"data": {"case": name, **own}, "meta": meta})
    return tasks


def _plain(value: Any) -> Any:
    """Values of NumPy as those of Python, which JSON can hold."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and value != value else value
