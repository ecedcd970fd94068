"""Distances between labels, one module for each type of label (categories, numbers and vectors share one).

A distance is a function of two labels, zero or greater, the same in either order. The distances here are called like
functions (``distances.box_iou(a, b)``), and can also compare all pairs of many labels at once; :func:`find_distance`
finds them by name. Their names, by type of label:

=================  ==============================================================================================
categories         ``nominal``, ``ordinal``
numbers            ``interval`` (or ``squared``), ``ordinal``, ``ratio`` (zero or greater), and if named ``circular``
                   (in degrees): all squared, as in Krippendorff's alpha; if named ``absolute``, which is not
sets               ``jaccard``, ``masi``
vectors            ``share_unequal``, ``rmse``
boxes              ``box_count``, ``box_iou``, ``box_giou``, ``box_l2``
keypoints          ``keypoint_count``, ``keypoint_iou``, ``keypoint_oks``
spans              ``span_count``, ``span_f1_…_range_…_tag`` with lenient or strict ranges and tags
ranked lists       ``kendall``, ``spearman``, ``kendall_at_5``
text               ``bleu``, ``gleu``, ``levenshtein`` (this one: ``pip install 'plausibly[text]'``)
trees              ``tree_edit``, ``tree_edit_norm``, ``tree_edit_diff`` (``pip install 'plausibly[trees]'``)
partial rankings   ``partial_rankings``
=================  ==============================================================================================

Their classes have arguments for other conventions, such as ``Boxes("iou", pixel=1)`` or ``Circular(24)``, and
``BestMatches`` extends any distance between single objects to labels with several objects. Boxes are given by two
corners, the `end` of a span is exclusive, and text is split at blanks; each class documents how it treats an empty
label.

Distances for the same type of label may have different scales, so compare agreement, not distances. With the preset
``"braylan2022"`` of :func:`find_distance`, names stand for the distances in the table of Braylan, Alonso and Lease
(2022): boxes are measured in pixels, best matches are pooled and at most 1, empty labels are at distance 1 from each
other, and ranked lists are padded with fifty members that neither list names.

An unknown name, choice or number raises :class:`plausibly.ArgumentError`, as does a missing library; a label of another
type raises :class:`plausibly.DistanceError`. Braylan, Alonso and Lease (2022), "Measuring annotator agreement generally
across complex structured, multi-object, and free-text annotation tasks", have most of these distances in a table.

To write your own, pass a function, or derive from :class:`Distance`.
"""

from plausibly.distances._base import Distance as Distance
from plausibly.distances._base import FunctionDistance as FunctionDistance
from plausibly.distances._base import LabelRefused as LabelRefused
from plausibly.distances._base import PairRefused as PairRefused
from plausibly.distances._boxes import BoxDistance as BoxDistance
from plausibly.distances._boxes import Boxes as Boxes
from plausibly.distances._keypoints import Keypoints as Keypoints
from plausibly.distances._keypoints import PoseDistance as PoseDistance
from plausibly.distances._named import BY_TYPE as BY_TYPE
from plausibly.distances._named import DISTANCES as DISTANCES
from plausibly.distances._named import ON_REQUEST as ON_REQUEST
from plausibly.distances._named import PRESETS as PRESETS
from plausibly.distances._named import find_distance as find_distance
from plausibly.distances._objects import BestMatches as BestMatches
from plausibly.distances._objects import ObjectCount as ObjectCount
from plausibly.distances._sets import Jaccard as Jaccard
from plausibly.distances._sets import Masi as Masi
from plausibly.distances._sets import set_of as set_of
from plausibly.distances._spans import SpanF1 as SpanF1
from plausibly.distances._text import Bleu as Bleu
from plausibly.distances._text import Gleu as Gleu
from plausibly.distances._text import Levenshtein as Levenshtein
from plausibly.distances._trees import Tree as Tree
from plausibly.distances._trees import TreeEdit as TreeEdit
from plausibly.distances._trees import tree_of as tree_of
from plausibly.distances.categories import Absolute as Absolute
from plausibly.distances.categories import Circular as Circular
from plausibly.distances.categories import Interval as Interval
from plausibly.distances.categories import Nominal as Nominal
from plausibly.distances.categories import Ordinal as Ordinal
from plausibly.distances.categories import Ratio as Ratio
from plausibly.distances.categories import RootMeanSquare as RootMeanSquare
from plausibly.distances.categories import ShareUnequal as ShareUnequal
from plausibly.distances.rankings import PartialRankings as PartialRankings
from plausibly.distances.rankings import RankedLists as RankedLists

# The named ones, as functions.
nominal, ordinal = BY_TYPE["categories"].values()
interval, ordinal, ratio, circular = BY_TYPE["numbers"].values()
absolute = DISTANCES["absolute"]
jaccard, masi = BY_TYPE["sets"].values()
share_unequal, rmse = BY_TYPE["vectors"].values()
box_count, box_iou, box_giou, box_l2 = BY_TYPE["boxes"].values()
keypoint_count, keypoint_iou, keypoint_oks = BY_TYPE["keypoints"].values()
span_count, span_f1_lenient_range_lenient_tag, span_f1_lenient_range_strict_tag, *_strict = BY_TYPE["spans"].values()
span_f1_strict_range_lenient_tag, span_f1_strict_range_strict_tag = _strict
kendall, spearman, kendall_at_5 = BY_TYPE["rankings"].values()
levenshtein, bleu, gleu = BY_TYPE["text"].values()
tree_edit, tree_edit_norm, tree_edit_diff = BY_TYPE["trees"].values()
(partial_rankings,) = BY_TYPE["partial rankings"].values()
