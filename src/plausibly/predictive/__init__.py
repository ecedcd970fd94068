"""What aggregation models predict, held against what annotators said.

:func:`compare` leaves annotations out and asks which model gave them most probability.
"""

from plausibly.predictive._compare import Comparison as Comparison
from plausibly.predictive._compare import compare as compare
