"""Tables of labels of any type, and their file formats."""

from plausibly.labels.container import Labels as Labels
from plausibly.labels.formats import read_labels as read_labels
