"""The container of labels and its reader, which belong to the face of this package, too."""

from plausibly.data.labels import Labels as Labels
from plausibly.data.labels import read_labels as read_labels
