"""What makes a distance unfit to tell agreement from chance, read from its two distributions."""

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from plausibly.agreement.chance._measures import Levels, share_of_smallest

_AT_TOP, _PROMINENCE, _GRID = 0.25, 0.1, 256


def pathologies(
    levels: Levels, observed: Levels, expected: Levels, p: float = 0.05, *, withheld: bool = False
) -> tuple[str, ...]:
    """Describe in sentences what is wrong with a distance or with the data.

    * Labels of different cases never differ.
    * At least a share `p` of the expected distances are tied at the smallest of all: then no distance is too small to
      be due to chance. If sigma is withheld for this reason, the sentence says so.
    * At least a quarter of the observed distances have the greatest possible value: the distance does not distinguish
      labels that differ somewhat from labels that differ completely. (This does not apply to distances with two
      values.)
    * The distribution of expected distances has several modes: the cases are a mixture, for example of texts of
      different lengths, and chance differs between its parts.

    Parameters
    ----------
    levels, observed, expected
        As for :func:`plausibly.agreement.alpha`.
    p
        Probability below which a distance is too small to be due to chance.
    withheld
        Whether sigma is withheld.

    Examples
    --------
    >>> for sentence in pathologies(np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), np.array([1.0, 0.0, 3.0])):
    ...     print(sentence)
    25 % of the expected distances are tied at the smallest, 0...
    50 % of the observed distances are the greatest that occur...
    """
    some = (observed > 0) | (expected > 0)
    levels, chance, seen = levels[some], expected[some] / expected.sum(), observed[some] / observed.sum()
    if chance[levels > 0].sum() == 0:
        return (
            "labels of different cases never differ under this distance, so agreement cannot be distinguished "
            "from chance",
        )
    found = []
    tied = share_of_smallest(seen, chance)
    if tied >= p:
        so = ", so sigma is not given" if withheld else ""
        found.append(
            f"{tied:.0%} of the expected distances are tied at the smallest, {levels[0]:.3g}: no observed distance is "
            f"too small to be due to chance{so}".replace("%", " %")
        )
    at_top = float(seen[-1])
    if at_top >= _AT_TOP and len(levels) > 2:
        found.append(
            f"{at_top:.0%} of the observed distances are the greatest that occur: the distance does not distinguish "
            "labels that differ somewhat from labels that differ completely".replace("%", " %")
        )
    n = n_modes(levels, chance)
    if n > 1:
        found.append(
            f"the expected distances have {n} modes: the cases may be a mixture, with chance different in each"
        )
    return tuple(found)


def n_modes(levels: Levels, weights: Levels) -> int:
    """Number of modes of a smoothed distribution that stand out by a tenth of the highest.

    Smoothed by a fifth of the standard deviation at least, so that steps of a distance that takes few values (such as
    shares of seven) are none. Distances of fewer than eight values are not judged.
    """
    some = weights > 0
    points, shares = levels[some], weights[some] / weights.sum()
    if len(points) < 8:
        return 1
    spread = np.sqrt(shares @ (points - shares @ points) ** 2)
    step = np.diff(points).max() if len(points) <= 64 else 0.0
    width = max(spread / 5, step)
    edges = np.linspace(points[0] - 3 * width, points[-1] + 3 * width, _GRID + 1)
    cells = np.clip(np.searchsorted(edges, points, "right") - 1, 0, _GRID - 1)
    mass = np.bincount(cells, weights=shares, minlength=_GRID)
    centres = (edges[1:] + edges[:-1]) / 2
    distribution = ndtr((edges[:, None] - centres[None, :]) / width) @ mass
    density = np.diff(distribution)
    return n_peaks(density, _PROMINENCE * density.max())


def n_peaks(density: Float[np.ndarray, " cell"], prominence: float) -> int:
    """Number of peaks of at least a prominence: how often the density rises by that much and then falls by it.

    Equal to the number that ``scipy.signal.find_peaks`` finds, whose import takes a second, but for peaks of exactly
    the same height, which count as one unless the density falls far enough between them.
    """
    n, lowest, highest = 0, density[0], None
    for height in density:
        if highest is None:
            lowest = min(lowest, height)
            highest = height if height - lowest >= prominence else None
        else:
            highest = max(highest, height)
            if highest - height >= prominence:
                n, lowest, highest = n + 1, height, None
    return n
