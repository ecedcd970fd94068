"""Agreement of annotators, and of models with annotators, on labels of any type.

The input is a long table of labels, one row per label, with the columns ``case``, ``annotator`` and ``label``
(:class:`Labels`); a label may be any Python object that the measure can compare.

* :func:`agreement`: do annotators agree more than by chance? `Do` are the distances between two labels of the same
  case, `De` those between labels of different cases, under a distance from :mod:`plausibly.distances` or any function
  of two labels. **alpha** is 1 − mean `Do` / mean `De`, pairs weighted equally; in Krippendorff's alpha
  (``weighting="units"``), cases weigh as many as they have labels and `De` are between all labels. **superiority** is
  the probability that a `De` exceeds a `Do`; **sigma** is the share of `Do` too small to be due to chance, NaN where
  the smallest is frequent by chance (Braylan, Alonso and Lease 2022, who call superiority KS). Alpha depends on the
  scale of a distance, superiority does not: :func:`choose_distance` ranks distances by superiority, and
  :func:`measures_of_distances` accepts distances computed elsewhere.
* :func:`discrepancy_ratio`: is a model closer to the annotators than they are to each other? With
  :func:`threshold_curve` for scores. Ratios and tests stand beside those of answers that look at no case (the best
  constant one, predictions in shuffled order, chance); where these pass, too, annotators cannot tell.
* :func:`alternative_annotator_test`: can a model replace an annotator? Each annotator is left out in turn, and the
  model is compared with her: which of the two is closer to the others? :func:`judge` asks four questions: closeness,
  that test, ability as one more annotator, and accuracy against the inferred truth.
* :func:`weighted_reliability`: how much agreement is due to neither chance nor shared mistakes? With
  :func:`majority_accuracy`, :func:`ground_truth_accuracy`, :func:`actual_accuracy` and :func:`required_reliability`,
  which show what it means for a model that is measured against the labels; and, for comparison, :func:`cohen_kappa`,
  :func:`fleiss_kappa`, :func:`gwet_ac`, :func:`intraclass_correlations` and Krippendorff's alpha,
  ``agreement(labels, weighting="units").alpha``; :meth:`Agreement.coefficients` has them in one table.

An argument out of range raises :class:`ArgumentError`; invalid labels or predictions raise :class:`AnnotationError` or
:class:`PredictionError`, and a label that a distance does not accept raises :class:`DistanceError`.
Sources are Braylan, Alonso and Lease (2022), "Measuring annotator agreement generally across complex structured,
multi-object, and free-text annotation tasks", for agreement and distances; Lovchinsky et al. (2020), "Discrepancy
ratio: evaluating model performance when even experts disagree on the truth", ICLR, for discrepancies; Cabitza,
Campagner et al. (2020), "The elephant in the machine: proposing a new metric of data reliability and its application to
a medical case to assess classification reliability", Applied Sciences 10, 4014, for weighted reliability; Calderon,
Reichart and Dror (2025), "The alternative annotator test for LLM-as-a-judge", arXiv 2501.10970, for that test.
"""

from lazy_loader import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
