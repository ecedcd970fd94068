"""Arguments and data that are refused with one sentence; the tables are in `tests/refused`."""

import re
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

TABLES = {
    path.stem: import_module(f"tests.refused.{path.stem}").REFUSED
    for path in sorted((Path(__file__).parent / "refused").glob("[!_]*.py"))
}


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{area}: {row.what}") for area, rows in TABLES.items() for row in rows]
)
def test_refused(row, tmp_path):
    with pytest.raises(row.error) as raised:
        row.call(*[tmp_path] * len(signature(row.call).parameters))
    for text in row.names:
        assert re.search(text, str(raised.value)), f"{text!r} is not in {str(raised.value)!r}"
    assert not re.search(r"\bnp\.\w+\(", str(raised.value)), str(raised.value)


def test_every_row_names_something():
    for area, rows in TABLES.items():
        assert all(row.names and all(row.names) for row in rows), area
        assert len({row.what for row in rows}) == len(rows), area
