"""Inverse rank normalisation: a deterministic aggregate of partial rankings."""

import numpy as np
import numpyro
from jaxtyping import ArrayLike, Float, Num

from plausibly.data.case import Case, Entries
from plausibly.families.model import STUTZ, Model


def inverse_rank(
    position: Num[ArrayLike, "*entry"], block_size: Num[ArrayLike, "*entry"], ties: str
) -> Float[ArrayLike, "*entry"]:
    r"""Return the weight that an annotation gives to a class it names.

    Parameters
    ----------
    position
        Position :math:`i - 1` of the class's block, 0 for the best.
    block_size
        Number of classes tied in this block.
    ties
        Weight of tied classes. ``"split"``: a block's weight is shared by its classes, :math:`1 / (i |b_i|)` (Stutz et
        al. 2025, Eq. 3); ``"full"``: each of them gets :math:`1 / i`, as in that paper's figures and released results.

    Examples
    --------
    >>> float(inverse_rank(1, 2, "split")), float(inverse_rank(1, 2, "full"))
    (0.25, 0.5)
    """
    return 1 / ((position + 1.0) * (block_size if ties == "split" else 1))


def irn(case: Case, *, ties: str = "split") -> None:
    r"""Point estimate of one case: plausibilities proportional to inverse ranks, summed over annotators.

    .. math:: \lambda_k \propto \sum_r \sum_{i < L_r} w_i \, [k \in b_i^r]

    Parameters
    ----------
    case
        Annotations over slots.
    ties
        Weight of tied classes, see :func:`inverse_rank`.

    References
    ----------
    Stutz, Cemgil, Roy et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth,
    section 2.3.1.
    """
    total = case.counts @ (case.named * inverse_rank(case.rankings.positions, case.block_sizes, ties))
    numpyro.deterministic("plausibility", total / total.sum())


def inverse_ranks(entries: Entries, *, ties: str) -> Float[np.ndarray, " slot"]:
    """Inverse ranks of all cases, summed over annotators, as shares of a case."""
    return entries.shares(inverse_rank(entries.position, entries.block_size, ties))


model = Model(
    name="irn",
    program=irn,
    options={"ties": ("split", "full")},
    deterministic=True,
    point_estimate=inverse_ranks,
    shares=False,
    learns=False,
    citations=(("inverse rank normalisation", STUTZ),),
)
