"""How good are the labels, and how good is a model compared with those who gave them? Without a model of the truth.

Everything here starts from a long table of labels, one row per label, with the columns ``case``, ``annotator`` and
``label`` (:class:`Labels`); a label may be any Python object that the measure can compare.

* :func:`agreement`: do annotators agree more than by chance? `Do` are the distances of pairs of labels on one case,
  `De` those of pairs on different cases, by a distance from :mod:`plausibly.distances` or any function of two labels.
  **alpha** is 1 − mean `Do` / mean `De`; **KS** says how far the two distributions are apart; **sigma** is the share
  of `Do` too small to be chance (Braylan, Alonso and Lease 2022). Alpha depends on the scale of a distance, KS does
  not: :func:`choose_distance` ranks distances by KS. :func:`noise_dial` shows what a distance is sensitive to,
  :func:`measures_of_distances` takes distances from elsewhere.
* :func:`discrepancy_ratio`: is a model closer to the annotators than they are to each other? With
  :func:`threshold_curve` for scores, and the biased alternatives :func:`annotator_first_ratio`,
  :func:`others_consensus_ratio` and :func:`relative_f1`.
* :func:`weighted_reliability`: how much agreement is neither luck nor a common mistake? With
  :func:`majority_accuracy`, :func:`ground_truth_accuracy`, :func:`actual_accuracy` and :func:`required_reliability`,
  which say what it means for a model that is measured by the labels; and for comparison :func:`cohen_kappa`,
  :func:`fleiss_kappa` and, in Krippendorff's form, ``agreement(labels, weighting="units").alpha``.

An argument out of range raises :class:`ArgumentError`; labels or predictions that do not fit raise
:class:`AnnotationError` or :class:`PredictionError`, and a distance that cannot take a label :class:`DistanceError`.
Sources are Braylan, Alonso and Lease (2022), "Measuring annotator agreement generally across complex structured,
multi-object, and free-text annotation tasks", for agreement and distances; Lovchinsky et al. (2020), "Discrepancy
ratio: evaluating model performance when even experts disagree on the truth", ICLR, for discrepancies; Cabitza,
Campagner et al. (2020), "The elephant in the machine: proposing a new metric of data reliability and its application to
a medical case to assess classification reliability", Applied Sciences 10, 4014, for weighted reliability.
"""

from plausibly.agreement.chance._agreement import agreement as agreement
from plausibly.agreement.chance._choose_distance import DistanceChoice as DistanceChoice
from plausibly.agreement.chance._choose_distance import choose_distance as choose_distance
from plausibly.agreement.chance._compared_pairs import AnnotatorDistances as AnnotatorDistances
from plausibly.agreement.chance._kappa import cohen_kappa as cohen_kappa
from plausibly.agreement.chance._kappa import fleiss_kappa as fleiss_kappa
from plausibly.agreement.chance._measures import KS as KS
from plausibly.agreement.chance._measures import Measures as Measures
from plausibly.agreement.chance._measures import alpha as alpha
from plausibly.agreement.chance._measures import ks as ks
from plausibly.agreement.chance._measures import measures_of_distances as measures_of_distances
from plausibly.agreement.chance._measures import sigma as sigma
from plausibly.agreement.chance._noise_dial import noise_dial as noise_dial
from plausibly.agreement.chance._pathologies import pathologies as pathologies
from plausibly.agreement.chance._result import Agreement as Agreement
from plausibly.agreement.chance._result import PairDistances as PairDistances
from plausibly.agreement.discrepancy._alternatives import annotator_first_ratio as annotator_first_ratio
from plausibly.agreement.discrepancy._alternatives import others_consensus_ratio as others_consensus_ratio
from plausibly.agreement.discrepancy._alternatives import relative_f1 as relative_f1
from plausibly.agreement.discrepancy._discrepancy_ratio import discrepancy_ratio as discrepancy_ratio
from plausibly.agreement.discrepancy._result import Discrepancy as Discrepancy
from plausibly.agreement.discrepancy._threshold import ThresholdCurve as ThresholdCurve
from plausibly.agreement.discrepancy._threshold import threshold_curve as threshold_curve
from plausibly.agreement.reliability._nomogram import actual_accuracy as actual_accuracy
from plausibly.agreement.reliability._nomogram import ground_truth_accuracy as ground_truth_accuracy
from plausibly.agreement.reliability._nomogram import majority_accuracy as majority_accuracy
from plausibly.agreement.reliability._nomogram import required_reliability as required_reliability
from plausibly.agreement.reliability._result import WeightedReliability as WeightedReliability
from plausibly.agreement.reliability._weighted_reliability import weighted_reliability as weighted_reliability
from plausibly.labels._container import Labels as Labels
from plausibly.labels._formats import read_labels as read_labels
