import pytest


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    """Tables as wide as they like: the workers of pytest-xdist inherit a terminal's 80 columns."""
    monkeypatch.setenv("COLUMNS", "160")
