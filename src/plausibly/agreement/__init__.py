"""How good are the labels, and how good is a model among those who gave them? Answers that fit no model of the truth.

Everything here starts from a long table of labels, one row per label, with the columns ``case``, ``annotator`` and
``label`` (:class:`Labels`); a label may be any Python object that the measure at hand can compare.
"""

from plausibly.agreement._alternatives import annotator_first_ratio as annotator_first_ratio
from plausibly.agreement._alternatives import others_consensus_ratio as others_consensus_ratio
from plausibly.agreement._alternatives import relative_f1 as relative_f1
from plausibly.agreement._discrepancy import discrepancy_ratio as discrepancy_ratio
from plausibly.agreement._labels import Labels as Labels
from plausibly.agreement._ratios import Discrepancy as Discrepancy
from plausibly.agreement._threshold import ThresholdCurve as ThresholdCurve
from plausibly.agreement._threshold import threshold_curve as threshold_curve
