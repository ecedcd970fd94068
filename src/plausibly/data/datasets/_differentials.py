"""Simulated differential diagnoses with known plausibilities, and risk levels of their classes."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from plausibly.base.checks import check_seed, check_whole
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import Annotations

# Relative frequencies, rounded, among the 1,947 cases (9,602 annotations, 13,998 blocks) of the dermatology set of
# Stutz, Cemgil, Roy et al. (2025), published with the repository google-deepmind/uncertain_ground_truth (CC BY 4.0).
ANNOTATORS_PER_CASE = np.array([0.013, 0.068, 0.184, 0.223, 0.148, 0.192, 0.050, 0.044, 0.035, 0.043])  # 1 to 10
BLOCKS_PER_ANNOTATION = np.array([0.610, 0.322, 0.067, 0.001])  # 1 to 4
BLOCK_SIZES = np.array([0.8890, 0.0985, 0.0111, 0.0012, 0.0001, 0.0001])  # 1 to 6

# The popularity of the k-th most popular class is proportional to (k + TAIL_OFFSET * n_classes) ** -TAIL_EXPONENT.
# At 419 classes the ten most popular ones are then 35 % of all that is named (34 % in the real set), the hundred
# most popular ones 92 % (95 %).
TAIL_EXPONENT = 3.0
TAIL_OFFSET = 0.1
# A case's plausibilities are a Dirichlet process over the classes, of this concentration (with the share below chosen
# so that cases have as many distinct classes, and annotators' first blocks as much in common, as in the set), ...
CONCENTRATION = 0.7
# ... and a share that every class receives by its popularity: what annotators name when they have no idea.
COMMON_SHARE = 0.09
# Relative frequencies, rounded, among the 419 classes of the real set that the differentials are modelled on.
RISK_SHARES = np.array([0.48, 0.36, 0.16])  # low, medium, high

_STICKS = 24  # of each case's Dirichlet process; at concentration 0.7 the expected rest is 6e-10
_RACE_CELLS = 4_000_000  # (annotation, class) pairs raced at once: 16 MB per array
_SMALLEST_TIME = 2.0**-24  # float32 exponentials can come out as zero, whose logarithm would win any race


@dataclass(frozen=True)
class Differentials:
    """Simulated annotations and the plausibilities that they were drawn from.

    Attributes
    ----------
    annotations
        Partial rankings by anonymous annotators.
    plausibilities
        (case, class), float32, positive, each row sums to one; rows and columns in the order of
        ``annotations.cases`` and ``annotations.classes``.
    """

    annotations: Annotations
    plausibilities: Float[np.ndarray, "case class"]


def simulate_differentials(
    n_cases: int, n_classes: int = 419, reliability: float = 1.0, seed: int = 0
) -> Differentials:
    """Simulate differential diagnoses: partial rankings of a few out of many classes.

    The plausibilities of a case are drawn from a Dirichlet process over classes with a long tail, and mixed with a
    small share of the class frequencies. Each annotator ranks the classes by a Plackett–Luce model with weights
    ``plausibility ** reliability`` and gives the top of this ranking, divided into tied blocks. The numbers of
    annotators per case (1 to 10), blocks per annotation (1 to 4) and classes per block (1 to 6, mostly 1) are drawn
    with the frequencies of a real data set, independently of the plausibilities.

    Parameters
    ----------
    n_cases
        Number of cases, at least 1.
    n_classes
        Number of classes, at least 2. An annotation names at most ``n_classes - 1`` classes; longer ones are cut.
    reliability
        Reliability of the annotators, above 0, as with ``mode="temper"``. At 1 annotators draw from the plausibilities
        themselves; above 1 they agree more; near 0 they rank at random.
    seed
        Random seed. With the same seed, a smaller number of cases gives the first of these cases.

    Returns
    -------
    Differentials
        Annotations and true plausibilities. Cases are named ``"case 000000"``, classes ``"class 001"`` with the most
        frequent first; annotators are anonymous (``"1"``, ``"2"``, … within each case). Every case has at least one
        annotation; the classes that an annotator did not name are unranked.

    Raises
    ------
    ArgumentError
        If there are no cases, fewer than two classes, the reliability is not above 0 and finite, or the seed is not a
        whole number of 32 bits.

    References
    ----------
    Stutz, Cemgil, Roy et al. (2025), section 2.3.3 (the Plackett–Luce model with partial rankings); the numbers of
    annotators, blocks and classes follow the data set published with it. Ma et al. (2021), for drawing rankings by a
    race.

    Examples
    --------
    >>> simulated = simulate_differentials(100, n_classes=20, seed=1)
    >>> simulated.plausibilities.shape
    (100, 20)
    >>> simulated.annotations.n_cases
    100
    """
    check_whole("n_cases", n_cases, 1)
    check_whole("n_classes", n_classes, 2, "with one class there is nothing to rank")
    if not (reliability > 0 and np.isfinite(reliability)):
        raise ArgumentError(
            f"reliability must be above 0 and finite, not {reliability}: use a small value such as 0.01 for annotators "
            "who rank at random."
        )
    # One stream for each purpose, each consumed in the order of the cases: a case's draws never depend on later ones.
    streams = np.random.default_rng(check_seed(seed)).spawn(6)
    count_stream, stick_stream, atom_stream, length_stream, size_stream, race_stream = streams

    n_annotators = 1 + count_stream.choice(len(ANNOTATORS_PER_CASE), p=ANNOTATORS_PER_CASE, size=n_cases)
    start = np.concatenate([[0], np.cumsum(n_annotators)])
    sizes = _block_sizes(length_stream, size_stream, start[-1], n_classes)

    plausibilities = np.empty((n_cases, n_classes), np.float32)
    entries = []
    step = max(1, _RACE_CELLS // (n_classes * len(ANNOTATORS_PER_CASE) // 2))
    for first in range(0, n_cases, step):
        cases = slice(first, min(first + step, n_cases))
        truth = _plausibilities(stick_stream, atom_stream, cases.stop - cases.start, n_classes)
        plausibilities[cases] = truth
        rows = slice(start[cases.start], start[cases.stop])
        log_weights = np.repeat(float(reliability) * np.log(truth), n_annotators[cases], axis=0)
        entries.append(_race(race_stream, log_weights, sizes[rows], first_row=rows.start))
    entry_annotation, entry_class, entry_block = (np.concatenate(column) for column in zip(*entries, strict=True))

    width = max(3, len(str(n_classes)))
    annotation_case = np.repeat(np.arange(n_cases), n_annotators)
    annotations = Annotations(
        cases=np.array([f"case {i:06d}" for i in range(n_cases)]),
        classes=np.array([f"class {k:0{width}d}" for k in range(1, n_classes + 1)]),
        annotators=np.array([str(a) for a in range(1, n_annotators.max() + 1)]),
        anonymous=True,
        annotation_case=annotation_case.astype(np.int32),
        annotation_annotator=(np.arange(start[-1]) - start[annotation_case]).astype(np.int32),
        entry_annotation=entry_annotation.astype(np.int32),
        entry_class=entry_class.astype(np.int32),
        entry_block=entry_block.astype(np.int16),
    )
    return Differentials(annotations, plausibilities)


def _block_sizes(
    length_stream: np.random.Generator, size_stream: np.random.Generator, n_annotations: int, n_classes: int
) -> Int[np.ndarray, "annotation block"]:
    """Sizes of the blocks of every annotation; 0 for the blocks that it does not have."""
    most = len(BLOCKS_PER_ANNOTATION)
    lengths = 1 + length_stream.choice(most, p=BLOCKS_PER_ANNOTATION, size=n_annotations)
    sizes = 1 + size_stream.choice(len(BLOCK_SIZES), p=BLOCK_SIZES, size=(n_annotations, most))
    sizes = np.where(np.arange(most) < lengths[:, None], sizes, 0)
    # Naming all classes but one is a full ranking already: what goes beyond is cut.
    ends = np.minimum(np.cumsum(sizes, axis=1), n_classes - 1)
    return np.diff(ends, axis=1, prepend=0)


def _plausibilities(
    stick_stream: np.random.Generator, atom_stream: np.random.Generator, n_cases: int, n_classes: int
) -> Float[np.ndarray, "case class"]:
    """Plausibilities by stick breaking: each stick falls to a class drawn by popularity, the rest to all of them."""
    popularity = popularities(n_classes)
    kept = stick_stream.random((n_cases, _STICKS)) ** (1 / CONCENTRATION)  # 1 − Beta(1, concentration)
    rest = np.cumprod(kept, axis=1)
    sticks = -np.diff(rest, axis=1, prepend=1.0)
    atoms = atom_stream.choice(n_classes, p=popularity, size=(n_cases, _STICKS))

    peaks = np.zeros((n_cases, n_classes))
    np.add.at(peaks, (np.arange(n_cases)[:, None], atoms), sticks)
    truth = (1 - COMMON_SHARE) * (peaks + rest[:, -1:] * popularity) + COMMON_SHARE * popularity
    return truth.astype(np.float32)


def _race(
    stream: np.random.Generator,
    log_weights: Float[np.ndarray, "annotation class"],
    sizes: Int[np.ndarray, "annotation block"],
    first_row: int,
) -> tuple[Int[np.ndarray, " entry"], Int[np.ndarray, " entry"], Int[np.ndarray, " entry"]]:
    """Annotation, class and block of every named class, sorted by them in the order annotation, block, class.

    Each class arrives at an exponential time of rate ``weight``; the order of arrival is a Plackett–Luce ranking.
    """
    times = stream.standard_exponential(log_weights.shape, dtype=np.float32)
    arrivals = np.log(np.maximum(times, _SMALLEST_TIME)) - log_weights

    ends = np.cumsum(sizes, axis=1)
    n_named = ends[:, -1]
    depth = int(n_named.max())
    top = np.argpartition(arrivals, depth - 1, axis=1)[:, :depth]
    order = np.argsort(np.take_along_axis(arrivals, top, axis=1), axis=1)
    top = np.take_along_axis(top, order, axis=1)

    place = np.arange(depth)
    named: Bool[np.ndarray, "annotation place"] = place < n_named[:, None]
    annotation, column = np.nonzero(named)
    classes = top[annotation, column]
    blocks = (column[:, None] >= ends[annotation]).sum(axis=1)
    by_block = np.lexsort((classes, blocks, annotation))
    return annotation[by_block] + first_row, classes[by_block], blocks[by_block]


def popularities(n_classes: int) -> np.ndarray:
    """Long-tailed class frequencies that sum to one, the most popular class first."""
    frequencies = (np.arange(n_classes) + TAIL_OFFSET * n_classes) ** -TAIL_EXPONENT
    return frequencies / frequencies.sum()


def simulate_risks(n_classes: int, seed: int = 0) -> Int[np.ndarray, " class"]:
    """Simulate a risk level for each class.

    Parameters
    ----------
    n_classes
        Number of classes, at least 1.
    seed
        Random seed. With the same seed, a smaller number of classes gives the first of these levels.

    Returns
    -------
    numpy.ndarray
        (class,) int8: 0 low, 1 medium, 2 high, with the frequencies of a real set.

    Raises
    ------
    ArgumentError
        If there are no classes, or the seed is not a whole number of 32 bits.

    Examples
    --------
    >>> simulate_risks(6, seed=1).shape
    (6,)
    """
    check_whole("n_classes", n_classes, 1)
    levels = np.random.default_rng(check_seed(seed)).random(n_classes)
    return np.searchsorted(RISK_SHARES.cumsum()[:-1], levels, side="right").astype(np.int8)
