"""Axes to draw into, which Matplotlib forgets."""

import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")
