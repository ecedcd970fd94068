"""The container of labels and its reader, which belong to the face of this package, too."""

from plausibly.labels import Labels as Labels
from plausibly.labels import read_labels as read_labels
