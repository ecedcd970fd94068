"""A toy problem on a line: three classes whose plausibilities are curves, and annotators who give one label each."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from plausibly.base.checks import check_seed, check_whole
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import Annotations

CLASSES = ("low", "middle", "high")
_CENTRES, _WIDTHS, _HEIGHTS = np.array([0.15, 0.5, 0.85]), np.array([0.16, 0.13, 0.2]), np.array([1.0, 0.9, 1.0])
_FLOOR = 0.02  # nothing is ever impossible


@dataclass(frozen=True)
class ToyProblem:
    """Cases on a line, with their labels and the plausibilities that these were drawn from.

    Attributes
    ----------
    annotations
        Single labels by anonymous annotators.
    positions
        (case,) position of each case, from 0 to 1.
    plausibilities
        (case, class), each row sums to one: the three curves at the cases' positions.
    """

    annotations: Annotations
    positions: Float[np.ndarray, " case"]
    plausibilities: Float[np.ndarray, "case class"]


def toy_plausibilities(positions: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape class"]:
    r"""Return the three curves :math:`p(y \mid x)` of the toy problem.

    Each class is a bump, and the bumps are normalised at every position: "low" leads on the left, "middle" in the
    middle and "high" on the right. In between, two classes are about equally plausible.

    Parameters
    ----------
    positions
        Finite numbers; cases lie between 0 and 1.

    Raises
    ------
    ArgumentError
        If a position is not a finite number.

    Examples
    --------
    >>> toy_plausibilities(np.array([0.0, 0.5, 1.0])).round(2).tolist()
    [[0.94, 0.03, 0.03], [0.09, 0.73, 0.19], [0.02, 0.03, 0.95]]
    """
    x = np.asarray(positions)
    if x.dtype.kind not in "iuf" or not np.isfinite(x).all():
        raise ArgumentError(f"positions must be finite numbers, but {positions!r} was given: let them lie in [0, 1].")
    bumps = _FLOOR + _HEIGHTS * np.exp(-(((x[..., None] - _CENTRES) / _WIDTHS) ** 2) / 2)
    return bumps / bumps.sum(axis=-1, keepdims=True)


def simulate_toy(n_cases: int, n_annotators: int = 5, seed: int = 0) -> ToyProblem:
    """Simulate single labels of cases that lie on a line.

    The position of a case is uniform between 0 and 1, its plausibilities are the values of three curves at this
    position (:func:`toy_plausibilities`), and each annotator draws a label from them. No annotator errs, and yet they
    disagree, most in cases near the crossing of two curves.

    Parameters
    ----------
    n_cases
        Number of cases, at least 1.
    n_annotators
        Number of annotators per case, at least 1.
    seed
        Random seed. With the same seed and number of annotators, a smaller number of cases gives the first of these
        cases.

    Returns
    -------
    ToyProblem
        Cases are named ``"case 000"``, …; classes "low", "middle" and "high"; annotators are anonymous.

    Raises
    ------
    ArgumentError
        If there are no cases or annotators, or the seed is not a whole number of 32 bits.

    References
    ----------
    Stutz, Cemgil, Roy et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, for the
    idea (Figure 2); the curves are our own.

    Examples
    --------
    >>> toy = simulate_toy(40, n_annotators=3, seed=1)
    >>> toy.annotations
    Annotations(40 cases, 120 annotations by anonymous annotators, 3 classes)
    """
    check_whole("n_cases", n_cases, 1)
    check_whole("n_annotators", n_annotators, 1)
    place, choice = np.random.default_rng(check_seed(seed)).spawn(2)
    positions = place.random(n_cases)
    plausibilities = toy_plausibilities(positions)
    chance = choice.random((n_cases, n_annotators))
    below = np.cumsum(plausibilities, axis=1)[:, None, :-1]
    labels = (chance[..., None] > below).sum(axis=-1)
    width = max(3, len(str(n_cases - 1)))
    annotations = Annotations.from_labels(
        labels, classes=CLASSES, cases=[f"case {i:0{width}d}" for i in range(n_cases)]
    )
    return ToyProblem(annotations, positions, plausibilities)
