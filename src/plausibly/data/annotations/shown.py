"""Annotations that compare a few of many classes, those that were shown, and say nothing about the others.

A partial ranking puts every class that it does not name below those that it names. In comparisons of pairs this would
be wrong, because classes that were not shown are not worse. Both kinds of data may have two classes in every
annotation. Three facts tell them apart:

* In a ranking, what is named is what is preferred: of two classes in an annotation, the one that more annotators of the
  case name tends to stand first. In comparisons, what is named is what was shown, whatever is preferred.
* Nevertheless some classes of comparisons stand first far more often than others, so there is something to prefer.
* In a ranking, annotators of one case name the same classes more often than annotators of different cases do.

If all annotators of a case name the same classes in different orders, in all cases, these classes were shown as well.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import chdtrc

from plausibly.base.errors import AnnotationError, ArgumentError, show

if TYPE_CHECKING:
    from plausibly.data.annotations._container import Annotations

_LEAST = 20  # annotations (and, where all of a case name the same classes, half as many cases)
_MOST_NAMED = 10
_SHARE = 0.9  # of annotations that name the same number of classes
_BY_CHANCE = 1e-6  # probability that classes differ this much in how often they stand first
_MORE_OFTEN = 1.25  # ratio of annotators by which a class is named more often than another
_FEW = 5  # annotations, below which a case cannot show that most of them name the same class
_FAVOURITE = 0.6  # share of annotations that name the same class, above which it is a favourite, of a case or of all
_EVEN = 1.3  # so many times the share of each class, if all are shown equally often, make no favourite
_PREFERRED = 1 / 3  # of the preference between classes, as much at least goes with how often they are named in rankings
_IN_COMMON = 3.0  # ratio of common classes within cases to between cases, from which on cases decide what is named


class ComparisonsError(AnnotationError):
    """Annotations compare the classes that were shown, and are no rankings."""


class Shown(NamedTuple):
    """What looks like comparisons: how many annotations name how many classes, and how many are ties of all of them."""

    n_annotations: int
    n_named: int
    n_ties: int


def shown(annotations: "Annotations") -> Shown | None:
    """Find comparisons of a few classes; None if annotations look like rankings, or too few to say."""
    n_named = np.diff(annotations.annotation_start)
    size = int(np.bincount(n_named).argmax())
    chosen = n_named == size
    n, n_classes = int(chosen.sum()), annotations.n_classes
    if not (2 <= size <= min(_MOST_NAMED, n_classes / 2) and n >= _LEAST and n >= _SHARE * len(n_named)):
        return None
    entries = annotations.annotation_start[:-1][chosen][:, None] + np.arange(size)
    named, block = annotations.entry_class[entries], annotations.entry_block[entries]
    case = annotations.annotation_case[chosen]
    # One number for each set of classes: the sum of random numbers.
    sets = np.random.default_rng(0).integers(0, 2**62, n_classes)[named].sum(axis=1)
    within, alike, common = _pairs(case), _pairs(case, sets), _pairs(np.repeat(case, size), named.ravel())
    if alike == within:  # cases have sets of their own: do annotators disagree about their order?
        several = int((np.bincount(case) > 1).sum())
        differ = np.unique(case[(named != named[np.searchsorted(case, case)]).any(axis=1)])
        found = 2 * several >= _LEAST and 5 * len(differ) >= several and len(np.unique(sets)) > 2
    else:
        others = n * (n - 1) - within - _pairs(sets) + alike
        between = (_pairs(named.ravel()) - common - size * (_pairs(sets) - alike)) / max(others, 1)
        by_case = (common - size * alike) / (within - alike) >= _IN_COMMON * between
        found = not (by_case and others > 0) and _named_whatever_is_preferred(case, named, block, n_classes)
    return Shown(n, size, int((block.max(axis=1) == 0).sum())) if found else None


def check_choices(choices: str | None) -> None:
    """Refuse what annotators cannot have chosen from."""
    if choices not in (None, "all"):
        raise ArgumentError(f'choices must be None or "all", but {show(choices)} was given: leave it out.')


def refuse_comparisons(annotations: "Annotations") -> None:
    """Refuse annotations that compare the classes that were shown; see :func:`shown`."""
    if (found := shown(annotations)) is None:
        return
    what = "pairs" if found.n_named == 2 else f"{found.n_named} classes"
    ties = "" if not found.n_ties else f" ({found.n_ties:,} are ties of all that was shown, and carry no information)"
    raise ComparisonsError(
        f"these look like comparisons of {what}: {found.n_annotations:,} of {annotations.n_annotations:,} annotations "
        f"name {found.n_named} of {annotations.n_classes} classes, whatever is preferred{ties}; a ranking puts classes "
        "that it does not name last, but classes that were not shown are not worse. Rank what was compared with "
        'pb.systems (plausibly systems); if annotators chose from all classes, say choices="all" (--choices all)'
    )


def _pairs(*keys: Int[np.ndarray, " row"]) -> float:
    """Number of ordered pairs of rows with the same keys."""
    counts = np.unique(np.stack(keys), axis=1, return_counts=True)[1].astype(float)
    return float((counts * (counts - 1)).sum())


def _named_whatever_is_preferred(
    case: Int[np.ndarray, " annotation"],
    named: Int[np.ndarray, "annotation named"],
    block: Int[np.ndarray, "annotation named"],
    n_classes: int,
) -> bool:
    """Whether some classes stand first more often than others, but these are not named more often."""
    size = named.shape[1]
    score = (np.sign(block[:, None, :] - block[:, :, None]).sum(axis=2)) / (size - 1)  # 1 if before all, -1 if last
    variance = float((score**2).mean())
    if variance == 0:
        return False
    times = np.bincount(named.ravel(), minlength=n_classes)
    used = times > 0
    mean = np.bincount(named.ravel(), score.ravel(), n_classes) / np.maximum(times, 1)
    if chdtrc(used.sum() - 1, float((times * mean**2).sum()) / variance) > _BY_CHANCE:
        return False
    key = case[:, None].astype(np.int64) * n_classes + named
    different, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
    of_case = np.bincount(case)
    most = np.zeros(len(of_case))
    np.maximum.at(most, different // n_classes, counts)
    large = of_case >= _FEW
    limit = max(_FAVOURITE, _EVEN * size / used.sum())
    if most[large].sum() > limit * of_case[large].sum() or times.max() > limit * len(case):
        return False
    often = (np.floor(np.log(n) / np.log(_MORE_OFTEN)) for n in (counts[inverse.reshape(key.shape)], times[named]))
    by_name = max(_agreement(one, block) for one in often)  # of the case, or of all
    return by_name < _PREFERRED * _agreement(mean[named], block)


def _agreement(values: Float[np.ndarray, "annotation named"], block: Int[np.ndarray, "annotation named"]) -> float:
    """Number of times that the class with the greater value stands first, less those that it stands last."""
    greater = np.sign(values[:, :, None] - values[:, None, :])
    return float((greater * (block[:, :, None] < block[:, None, :])).sum())
