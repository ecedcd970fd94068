r"""NumPyro distributions of the package: partial rankings, and plausibilities in unconstrained coordinates.

A **partial ranking** of :math:`K` classes is an ordered sequence of disjoint blocks of tied classes that together
contain all classes; the last block holds the classes that the annotator did not name. As a value it is an integer
vector of length :math:`K`: the *position* of each class's block, 0 for the best. With classes A, B, C, D, E, the
annotation {B} {A, D}, the rest unranked, is ``[1, 0, 2, 1, 2]``. Only the order of the positions counts.

:class:`PartialPlackettLuce` is the distribution. Its ``log_prob`` accepts such vectors, or a :class:`PartialRankings`,
in which annotations are already split into their distinct draws; samplers evaluate the latter some ten million times.
"""

from plausibly.distributions._log_ratio_dirichlet import LogRatioDirichlet as LogRatioDirichlet
from plausibly.distributions._log_ratio_dirichlet import Order as Order
from plausibly.distributions._log_ratio_dirichlet import StretchedGaps as StretchedGaps
from plausibly.distributions._log_ratio_dirichlet import log_ratios as log_ratios
from plausibly.distributions._log_ratio_dirichlet import log_simplex as log_simplex
from plausibly.distributions._partial_plackett_luce import PartialPlackettLuce as PartialPlackettLuce
from plausibly.distributions._partial_plackett_luce import PartialRankings as PartialRankings
from plausibly.distributions._partial_plackett_luce import Ties as Ties
