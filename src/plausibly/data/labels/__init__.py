"""Tables of labels of any type, and their file formats."""

from plausibly.data.labels.container import Labels as Labels
from plausibly.data.labels.formats import read_labels as read_labels
from plausibly.data.labels.gold import Gold as Gold
from plausibly.data.labels.gold import read_gold as read_gold
from plausibly.data.labels.verified import Selection as Selection
from plausibly.data.labels.verified import selected as selected
