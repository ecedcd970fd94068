"""Tables of labels of any type, and their file formats."""

from plausibly.labels._container import Labels as Labels
from plausibly.labels._formats import read_labels as read_labels
