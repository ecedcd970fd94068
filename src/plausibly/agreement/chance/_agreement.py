"""Agreement between annotators on labels of any type, and which distance tells it from chance best."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import ndtr

from plausibly.agreement.chance._compared_pairs import (
    ComparedPairs,
    across_all,
    across_sample,
    distances_of,
    pairable,
    within,
)
from plausibly.agreement.chance._measures import pathologies, share_of_smallest
from plausibly.agreement.chance._result import Agreement, PairDistances, Weighting
from plausibly.agreement.pairs import distinct, fair_pairs, without_repeats
from plausibly.base.bootstrap import check_probability
from plausibly.base.checks import check_seed
from plausibly.base.errors import AnnotationError, ArgumentError, DistanceError, PlausiblyWarning
from plausibly.base.shown import Shown
from plausibly.data.labels.container import Labels
from plausibly.data.labels.types import check_nominal, usual_distance
from plausibly.distances import BY_TYPE, ON_REQUEST, Distance, find_distance

_ALL_IF, _ALL_IF_SLOW = 3_000_000, 50_000  #: pairs of distinct labels up to which cross="auto" takes all


def agreement(
    labels: Any,
    distance: str | Distance | Callable[[Any, Any], float] | None = None,
    *,
    preset: str | None = None,
    weighting: Weighting = "pairs",
    cross: Literal["auto", "all", "sample"] | int | None = None,
    same_annotator: bool | None = None,
    p: float = 0.05,
    seed: int = 0,
    processes: int = 1,
    progress: bool = True,
) -> Agreement:
    """Measure how well annotators agree on labels of any type, corrected for chance.

    Parameters
    ----------
    labels
        Long table with the columns ``case``, ``annotator`` and ``label``, in any form that :meth:`Labels.of` takes;
        labels may be any objects. Missing labels are left out, and annotators need not label every case. Or annotations
        or scores by named annotators.
    distance
        Name from :mod:`plausibly.distances`, or a function of two labels that returns a number, zero or greater, the
        same in either order. By default it is chosen by the type of the labels: ``"nominal"`` for categories
        (numbers that name them have to be told so), ``"ordinal"`` for grades, which are up to 20 different whole
        numbers, ``"interval"`` for other numbers, ``"partial_rankings"``, ``"bleu"`` for texts, ``"box_iou"`` for
        boxes, ``"keypoint_oks"``, ``"span_f1_lenient_range_strict_tag"`` for spans, ``"tree_edit_norm"``, and
        ``"rmse"`` for vectors.
    preset
        Settings of a publication: ``"braylan2022"`` applies to a distance that is given by name
        (:func:`plausibly.distances.find_distance`), makes ``"sample"`` the default of `cross`, and gives sigma as
        published even where smallest distances are frequent by chance.
    weighting
        ``"pairs"``: every pair has the same weight, and expected distances are between labels of different cases.
        ``"units"``, which makes alpha Krippendorff's: pairs of a case with `m` labels have the weight 1/(m − 1),
        expected distances are between all pairs of labels, and cases with one label are left out.
    cross
        Pairs of labels of different cases to compare: ``"all"``; ``"sample"``, as many as there are pairs within cases,
        drawn with replacement; a number of pairs; or ``"auto"`` (the default without a preset): all if there are at
        most 3,000,000 pairs of distinct labels (50,000 if the distance is slow), else a sample.
    same_annotator
        Whether to count two labels of the same case by the same annotator as a pair. By default only with a preset,
        because how well annotators agree with themselves is another question. By default, too, repeated rows count
        once, if all second labels of an annotator are repetitions.
    p
        Level for sigma: a distance is too small to be due to chance if chance gives one as small with a probability
        below ``p``. If chance gives the smallest distance of all with at least this probability, as it gives equal
        labels of two classes, sigma is NaN, and ``.warnings`` says why.
    seed
        Random seed of the sample.
    processes
        Number of processes that share the work; useful for distances that compare one pair at a time.
    progress
        Whether to show a progress bar if computing distances takes long.

    Returns
    -------
    Agreement
        ``.alpha``, ``.ks``, ``.sigma``, ``.observed``, ``.expected``, ``.interval()``, ``.by_case()``,
        ``.annotators()``. If labels of the same case never differ, alpha is 1; if labels of different cases never
        differ, alpha and sigma are NaN.

    Raises
    ------
    AnnotationError
        If there are fewer than two cases, or no case has two labels; or if it depends on the first labels of a case
        how many it has, and nothing tells which came first (:func:`plausibly.data.rounds.rounds`).
    DistanceError
        If a label has the wrong type; or a function fails, returns something that is not a distance, or is not
        symmetric (fifty pairs are checked). The message names the labels.
    ArgumentError
        If an argument is out of range, the pairs do not fit into memory, the type of the labels is unclear and no
        distance is given, or the distance of free texts, hardly any of which repeat, is ``"nominal"``.

    Examples
    --------
    >>> boxes = {
    ...     "photo 1": {"ann": [(0, 0, 10, 10)], "bob": [(0, 0, 10, 9)]},
    ...     "photo 2": {"ann": [(50, 50, 60, 60), (0, 0, 5, 5)], "bob": [(50, 50, 60, 62)]},
    ... }
    >>> found = agreement(boxes, "box_giou")
    >>> round(found.alpha, 3), found.ks.statistic
    (0.76, 1.0)
    >>> agreement(boxes, lambda a, b: abs(len(a) - len(b))).alpha
    0.0
    """
    check_probability("p", p)
    if weighting not in ("pairs", "units"):
        raise ArgumentError(f'weighting must be "pairs" or "units", but {weighting!r} was given: choose one.')
    is_number = isinstance(cross, int | np.integer) and not isinstance(cross, bool)
    is_named = cross is None or (isinstance(cross, str) and cross in ("auto", "all", "sample"))
    if not (is_named or (is_number and cross > 0)):
        raise ArgumentError(
            f'cross must be "auto", "all", "sample" or a number of pairs, but {cross!r} was given: choose one.'
        )
    check_seed(seed)
    if not (isinstance(processes, int | np.integer) and processes >= 1):
        raise ArgumentError(f"processes must be at least 1, and whole, but {processes!r} was given: write 2.")
    source, labels, units, repeats = labels, Labels.of(labels), weighting == "units", None
    chosen = find_distance(usual_distance(source, labels).name if distance is None else distance, preset)
    if chosen.name == "nominal":
        check_nominal(labels)
    if same_annotator is None and not (same_annotator := preset is not None):
        labels, repeats = without_repeats(labels)
    chosen = chosen.in_order(labels.order)
    if len(np.unique(labels.case)) < 2:
        raise AnnotationError(
            "agreement compares labels of the same case with labels of other cases, but only one case has labels; "
            "give two"
        )

    if repeats:
        warnings.warn(f"{repeats}.", PlausiblyWarning, stacklevel=2)

    def compare(labels: Labels) -> ComparedPairs:
        return _compare(labels, chosen, units, cross or ("sample" if preset else "auto"), same_annotator, p, **work)

    work: dict[str, Any] = {"seed": seed, "processes": processes, "progress": progress}
    fair, depends = fair_pairs(labels)
    compared = compare(fair)
    levels, across = compared.levels, compared.across
    seen, chance = compared.observed(), compared.expected()
    tied = share_of_smallest(seen, chance)
    compared = replace(compared, has_sigma=preset is not None or tied < p)
    measures = compared.measure(seen, chance)
    compared_labels = (*([repeats] if repeats else []), *([depends.told.rstrip(".")] if depends else []))
    return Agreement(
        distance=chosen.name,
        alpha=measures.alpha,
        ks=measures.ks,
        sigma=measures.sigma,
        observed=PairDistances(levels[seen > 0], seen[seen > 0]),
        expected=PairDistances(levels[chance > 0], chance[chance > 0]),
        weighting=weighting,
        n_cross=across.n_all,
        sampled=across.sampled,
        warnings=(
            *compared_labels,
            *pathologies(levels, seen, chance, p, withheld=not compared.has_sigma),
        ),
        _pairs=compared,
        labels=fair,
        n_told=len(compared_labels),
        rounds=depends,
        _every=None if depends is None else partial(compare, labels),
    )


def _compare(
    labels: Labels,
    chosen: Distance,
    units: bool,
    cross: str | int,
    same_annotator: bool,
    p: float,
    *,
    seed: int,
    processes: int,
    progress: bool,
) -> ComparedPairs:
    """Compare pairs of labels of the same case, and of different cases."""
    found = distinct(labels)
    observed = within(labels, found, same_annotator)
    kept = pairable(labels, observed)
    weight = observed.count.astype(np.float64)
    if units:
        labels, found = kept, distinct(kept)
        observed = within(labels, found, same_annotator)
        pairs = np.bincount(observed.case, weights=observed.count, minlength=len(labels.cases))
        weight = observed.count * (np.diff(labels.start) / (2 * np.maximum(pairs, 1)))[observed.case]
    if cross == "auto":
        n_pairs = len(found) * (len(found) + 1) // 2
        cross = "all" if n_pairs <= (_ALL_IF_SLOW if chosen.slow else _ALL_IF) else "sample"
    if cross == "all":
        everything = observed if same_annotator else within(labels, found, same_annotator=True)
        across = across_all(labels, found, everything, own_case=units)
    else:
        size = int(observed.count.sum()) if cross == "sample" else int(cross)
        across = across_sample(labels, found, size, seed, own_case=units)
    keys = np.union1d(observed.key, across.key) if across.sampled else across.key
    distances = distances_of(labels, found, keys, chosen, processes=processes, progress=progress)
    levels, level = np.unique(distances, return_inverse=True)
    return ComparedPairs(
        labels, found, observed, across, weight, keys, distances, chosen, same_annotator, p, True, levels, level
    )


BEST = 0.95  #: probability from which a distance is called the best
Candidate = str | Distance | Callable[[Any, Any], float]


@dataclass(frozen=True, eq=False)
class DistanceChoice(Shown, kind="agreement"):
    """Agreement under several distances.

    Parameters
    ----------
    results
        :class:`Agreement` by distance, best first.
    skipped
        Reason why a distance for the type of label was left out, by name of the distance.
    """

    results: Mapping[str, Agreement]
    skipped: Mapping[str, str] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """Distance with the highest superiority."""
        return next(iter(self.results))

    @property
    def table(self) -> pd.DataFrame:
        """One row per distance, best first.

        Columns ``distance``, ``ks_superiority`` (ties count against the distance), ``ks_ties`` (how much ties could add
        to it), ``ks_statistic``, ``sigma``, ``alpha``, ``observed`` and ``expected`` (mean distances), ``warnings``
        (sentences, separated by semicolons).
        """
        whole = pd.concat([found.to_frame() for found in self.results.values()], ignore_index=True)
        whole = whole[["ks_superiority", "ks_ties", "ks_statistic", "sigma", "alpha", "observed", "expected"]]
        whole.insert(0, "distance", list(self.results))
        return whole.assign(warnings=["; ".join(found.warnings) for found in self.results.values()])

    @property
    def p_best(self) -> float:
        """Probability that the first distance has the higher superiority of the first two, on new cases like these.

        By a normal approximation, with the standard error of the difference over cases; NaN for one distance or case.
        """
        if len(self.results) < 2:
            return float("nan")
        (above, size), (other, _) = (found.superiority_by_case() for found in list(self.results.values())[:2])
        used = np.flatnonzero(size)
        difference = (above - other).sum() / size.sum()
        left = (above - other - difference * size)[used]
        se = np.sqrt((left**2).sum() * len(used) / max(len(used) - 1, 1)) / size.sum()
        if len(used) < 2:
            return float("nan")
        return float(ndtr(difference / se)) if se > 0 else 1.0 if difference > 0 else 0.5

    @property
    def headline(self) -> str:
        """Which distance separates labels best, or that none can be called the best, in a sentence; empty for one."""
        first, *others = self.results
        if not others:
            return ""
        if self.p_best >= BEST:
            return f"{first} separates labels of one case from those of others best (P {min(self.p_best, 0.99):.2f})."
        sure = (
            "too few to tell"
            if np.isnan(self.p_best)
            else f"better than {others[0]} with probability {self.p_best:.2f}"
        )
        return f"No distance can be called best yet: {first} has the highest superiority, {sure}."

    def __repr__(self) -> str:
        return f"DistanceChoice({self.best!r} first of {', '.join(self.results)})"


def choose_distance(
    labels: Any, candidates: str | Iterable[Candidate] | Mapping[str, Candidate], **arguments: Any
) -> DistanceChoice:
    """Rank distances by how well they separate labels of the same case from labels of different cases.

    Alpha depends on the scale of a distance, so distances cannot be chosen by it; superiority depends only on the
    order of distances. Choose the distance by superiority, look at the histograms, then read its sigma: the share of
    pairs on a case that are closer than chance makes likely.

    Parameters
    ----------
    labels
        As for :func:`agreement`.
    candidates
        Names or functions, in a list or a mapping from names of your own; a single function; or a type of label
        (``"boxes"``, ``"spans"``, …), alone or in the list, for all its distances (:data:`plausibly.distances.BY_TYPE`)
        that accept the labels. ``"circular"`` is used only if named.
    **arguments
        Further arguments of :func:`agreement`.

    Returns
    -------
    DistanceChoice
        ``.table``, ``.best``, ``.p_best``, ``.headline``, ``.results``, ``.skipped``; draw it with
        :func:`plausibly.plots.agreement_histograms` and :func:`plausibly.plots.agreement_heatmap`.

    Raises
    ------
    ArgumentError
        If there are no candidates, or two have the same name.
    DistanceError
        If a candidate fails or does not accept the labels; the message begins with its name. If candidates are given as
        a type of label, such distances are skipped with a warning that says why, unless none is left.

    Examples
    --------
    >>> labels = {"p": {"ann": [1, 9], "bob": [2, 8]}, "q": {"ann": [7, 2], "bob": [8, 3]}}
    >>> choice = choose_distance(labels, "vectors")
    >>> choice.best, choice.table["distance"].tolist()
    ('rmse', ['rmse', 'share_unequal'])
    """
    preset = arguments.get("preset")
    named, of_type, skipped = _read_candidates(candidates, preset)
    if not named:
        raise ArgumentError("there are no candidates: give at least one distance.")
    labels = Labels.of(labels)
    found, refused = {}, []
    for name, distance in named.items():
        try:
            found[name] = agreement(labels, distance, **arguments)
        except DistanceError as error:
            if name in of_type:
                skipped[name] = str(error).rstrip(".")
            error.args = (f"{name}: {error}", *error.args[1:])
            if name not in of_type:
                raise
            refused.append(error)
    if not found:
        raise refused[0]
    for name, why in skipped.items():
        warnings.warn(f"the distance {name} is skipped: {why}", PlausiblyWarning, stacklevel=2)
    ranked = sorted(found.items(), key=lambda item: -item[1].ks.superiority)
    return DistanceChoice(dict(ranked), skipped)


def _read_candidates(candidates: Any, preset: str | None) -> tuple[dict[str, Distance], set[str], dict[str, str]]:
    """Read distances by name; those that only a type of label stands for; and those left out unless named."""
    if isinstance(candidates, Mapping):
        return {str(name): find_distance(one, preset) for name, one in candidates.items()}, set(), {}
    if isinstance(candidates, str) and candidates not in BY_TYPE:
        raise ArgumentError(
            f"there is no type of label {candidates!r}: choose from {', '.join(BY_TYPE)}, or list distances."
        )
    if isinstance(candidates, str) or callable(candidates):
        candidates = [candidates]
    if not isinstance(candidates, Iterable):
        raise ArgumentError(
            f"candidates are a type of label, or distances, but {candidates!r} was given: write for example 'boxes'."
        )
    named, grouped = {}, {}
    for one in candidates:
        if isinstance(one, str) and one in BY_TYPE:
            grouped |= {name: find_distance(name, preset) for name in BY_TYPE[one]}
            continue
        distance = find_distance(one, preset)
        if distance.name in named:
            raise ArgumentError(
                f"two candidates are called {distance.name!r}: give a mapping, such as "
                "{'strict': one, 'lenient': other}."
            )
        named[distance.name] = distance
    skipped = {name: f"{ON_REQUEST[name]}, ask for it by name" for name in grouped.keys() & ON_REQUEST - named.keys()}
    grouped = {name: one for name, one in grouped.items() if name not in named | skipped}
    return grouped | named, set(grouped), skipped
