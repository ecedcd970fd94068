r"""JAX primitives of the package: so far one, the probability of a tied block.

A tied block :math:`b` of a partial ranking means that its classes were drawn, in an unknown order, before all other
classes that were left. Under Plackett-Luce with weights :math:`\lambda`, and with :math:`\bar Z` the total weight of
the other classes,

.. math:: p(b \mid \lambda) = \Big(\prod_{k \in b} \lambda_k\Big) R(b), \qquad R(\emptyset) = 1, \qquad
   R(A) = \frac{\sum_{a \in A} R(A \setminus a)}{\bar Z + \sum_{a \in A} \lambda_a},

a sum over the :math:`|b|!` orders in :math:`O(2^{|b|} |b|)` operations. For blocks of more than six or seven classes,
the same value is computed as an integral over the time of a race, which costs :math:`O(|b|)`. The value depends on
:math:`r_a = \log \lambda_a - \log \bar Z` alone, so the primitive is unary.

Files: ``_block`` binds the primitive to JAX (evaluation, differentiation, batching, lowering) and chooses by size
between ``_recursion``, the sum, and ``_race``, the integral; each explains how it stays numerically stable.
``_recursion`` draws the unknown order of a block from the recursion.
"""

from plausibly.distributions.primitives._block import block_log_prob as block_log_prob
from plausibly.distributions.primitives._recursion import draw_order as draw_order
from plausibly.distributions.primitives._recursion import order_table as order_table
