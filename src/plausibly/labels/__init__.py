"""Tables of labels of any type, and their file formats."""

from plausibly.labels.container import Labels as Labels
from plausibly.labels.formats import read_labels as read_labels
from plausibly.labels.gold import Gold as Gold
from plausibly.labels.gold import read_gold as read_gold
