"""What aggregation models predict, held against what annotators said.

:func:`compare` leaves annotations out and asks which model gave them most probability.
"""

from plausibly.predictive._check import PredictiveCheck as PredictiveCheck
from plausibly.predictive._check import predictive_check as predictive_check
from plausibly.predictive._compare import Comparing as Comparing
from plausibly.predictive._compare import Comparison as Comparison
from plausibly.predictive._compare import compare as compare
