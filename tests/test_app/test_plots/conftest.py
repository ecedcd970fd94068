"""Axes to draw into, which Matplotlib forgets."""

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")


def drawn_rows(ax):
    """Marks of rows (x, y), with their faces, and the ends of their intervals, in the order in which they are drawn."""
    marks, lines = ([of for of in ax.collections if isinstance(of, kind)] for kind in (PathCollection, LineCollection))
    faces = [np.broadcast_to(of.get_facecolor(), (len(of.get_offsets()), 4)) for of in marks]
    ends = [segment[:, 0] for of in lines for segment in of.get_segments()]
    return np.concatenate([of.get_offsets() for of in marks]), np.concatenate(faces), np.array(ends)
