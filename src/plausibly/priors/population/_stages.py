"""Parameters of choices after the first, and subsets of tied blocks."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from jaxtyping import ArrayLike, Float

LARGEST_BLOCK = 8  #: classes that may be tied in a block, since its orders are summed over its subsets
LEAST = 1e-30
LEAST_MASS = 1e-3  #: below which less mass changes no length


class Stages(NamedTuple):
    r"""What annotators have in common beyond the plausibilities of a case; every part can be switched off."""

    ratio: Float[ArrayLike, ""] = 1.0  #: reliability of later draws as a share of the first's, 1 to switch it off
    dependence: Float[ArrayLike, ""] = 0.0  #: share w of later draws that follow from the first block, 0 for none
    focus: Float[ArrayLike, ""] = 0.0  #: power of plausibilities in what follows the first block, 0 to switch it off
    sharpness: Float[ArrayLike, ""] = 1.0  #: power of the dictionary there, 1 to take its shares as they are
    discount: Float[ArrayLike, ""] = 0.0  #: power of the shares of the population that is divided out, 0 for none
    careless: Float[ArrayLike, ""] = 0.0  #: probability that a first draw is from the population alone, 0 for none
    careless_later: Float[ArrayLike, ""] = 0.0  #: the same of later draws
    #: log odds that a list ends: after one, two, and more classes, and the slopes on the log of the mass that is left
    #: and on that of the doubt, which is the mass beyond the most plausible class
    stop: Sequence[float] | None = None  #: None to take lengths as given
    #: log odds that a block is tied: the first, after one class, after more, and the slope on the log of the doubt
    tie: Sequence[float] | None = None  #: None to take sizes of blocks as given


@lru_cache(maxsize=64)
def subsets(size: int) -> tuple[tuple[int, ...], ...]:
    """List all subsets of the members of a tied block, smaller ones first."""
    members = range(size)
    return tuple(subset for length in range(size + 1) for subset in combinations(members, length))
