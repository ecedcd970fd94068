"""Annotators who lean towards a label, or rate higher, than the others of the same cases."""

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from scipy.special import ndtri, stdtr

from plausibly.base.errors import AnnotationError
from plausibly.base.names import figures
from plausibly.data.annotations.io.spellings import positive_of_two
from plausibly.data.labels.container import Labels

COLUMNS = ["label", "own", "others", "leans"]
LEAST = 8  #: cases shared with others, below which nobody is judged
_MOST = 10  # different labels, above which each is too rare
_DIFFERENT = 5  # cases in which an annotator differs from others, below which a test says little
_LEVEL_OF_LEANING = 0.01  # of the test of all annotators and labels together
_FAR = 0.7  # standard deviations, from which on somebody leans: honest readers differ by less


def leanings(labels: Labels, *, nominal: bool) -> pd.DataFrame:
    """Compare annotators with the others of the same cases; see :meth:`plausibly.agreement.Agreement.annotators`.

    Numbers that are `nominal` are names of classes. Who leans is taken from the others, the clearest quarter at a time,
    until nobody else does: one who is lenient makes all others look strict.
    """
    people = len(labels.annotators)
    nothing = {"label": "", "own": np.nan, "others": np.nan, "leans": False}
    found = pd.DataFrame(nothing, index=range(people), columns=COLUMNS).astype({"label": object})
    try:
        names, values = _values(labels, nominal=nominal)
    except AnnotationError:  # labels that only a distance compares
        return found
    if not names:
        return found
    unit, of_label, n_own = np.unique(labels.case * people + labels.annotator, return_inverse=True, return_counts=True)
    own = _sums(of_label, values, len(unit)) / n_own[:, None]
    case, annotator = unit // people, unit % people
    usual, at = np.ones(people, bool), np.arange(people)
    while True:
        one, other, t, sure = _differences(case, annotator, own, usual, scale=values.std() if names == [""] else None)
        column = (np.abs(t) + 1e9 * sure).argmax(1)
        clear = np.where(usual & sure.any(1), np.abs(t)[at, column], 0)
        n = min(-(-np.count_nonzero(clear) // 4), np.count_nonzero(usual) - 2)
        if n <= 0:
            break
        usual[np.argsort(-clear, kind="stable")[:n]] = False
    found["label"] = np.where(np.isnan(one[:, 0]), "", np.array(names, object)[column])
    found["own"], found["others"] = one[at, column], other[at, column]
    found["leans"] = sure[at, column]
    return found


def _differences(
    case: np.ndarray,
    annotator: np.ndarray,
    own: Float[np.ndarray, "unit column"],
    usual: Bool[np.ndarray, " annotator"],
    scale: float | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Means of annotators and of the `usual` others of the same cases, t of their differences, and which are sure.

    How far shares differ is in standard deviations of what lies below them, a threshold apart; that of numbers has a
    `scale`.
    """
    people, counts = len(usual), usual[annotator]
    n = np.bincount(case, counts)[case] - counts
    others = _sums(case, own * counts[:, None], int(case.max()) + 1)[case] - own * counts[:, None]
    some = n > 0
    own, others, who = own[some], others[some] / n[some, None], annotator[some]
    shared = np.bincount(who, minlength=people)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        of_own, of_others = (_sums(who, one, people) / shared for one in (own, others))
        difference = of_own - of_others
        spread = _sums(who, (own - others - difference[who]) ** 2, people) / (shared - 1)
        t = np.nan_to_num(np.where(spread > 0, difference / np.sqrt(spread / shared), 0))
        p = 2 * stdtr(np.maximum(shared - 1, 1), -np.abs(t))
        if scale is None:
            shares = ((share * shared + 0.5) / (shared + 1) for share in (of_own, of_others))
            gap = np.subtract(*map(ndtri, shares))
        else:
            gap = difference / scale
    apart = _sums(who, (own != others).astype(float), people)
    sure = (np.abs(gap) >= _FAR) & (p < _LEVEL_OF_LEANING / p.size) & (shared >= LEAST) & (apart >= _DIFFERENT)
    return of_own, of_others, t, sure


def leaning_in_words(table: pd.DataFrame) -> str:
    """Say who leans to what, the most clearly first; nothing if nobody does.

    Examples
    --------
    >>> table = pd.DataFrame([["ann", "yes", 0.61, 0.48, True], ["bob", "yes", 0.5, 0.52, False]])
    >>> leaning_in_words(table.set_axis(["annotator", "label", "own", "others", "leans"], axis=1))
    "ann says 'yes' in 61 % of cases, others in 48 % of the same ones."
    """
    leaning = table[table["leans"]]
    more = np.asarray(leaning["own"]) - np.asarray(leaning["others"])
    leaning = leaning.iloc[np.argsort(-np.abs(more), kind="stable")]
    told = []
    for row in leaning.head(3).to_dict("records"):
        if row["label"] == "":
            more = row["own"] - row["others"]
            told.append(
                f"{row['annotator']} rates the same cases {figures(abs(more))} {'higher' if more > 0 else 'lower'}"
            )
            continue
        shares = f"in {100 * row['own']:.0f} % of cases, others in {100 * row['others']:.0f} % of the same ones"
        told.append(f"{row['annotator']} says {row['label']!r} {shares}")
    if len(leaning) > 3:
        told.append(f"{len(leaning) - 3:,} more lean, too")
    return f"{'; '.join(told)}." if told else ""


def _values(labels: Labels, *, nominal: bool) -> tuple[list[str], Float[np.ndarray, "label column"]]:
    """Numbers to compare: of ratings themselves, of few other labels whether each is given, of two one of them."""
    names, code = labels.coded
    if labels.is_numeric and len(names) > 2 and not nominal:
        return [""], labels.numbers[:, None]
    if len(names) < 2 or len(names) > _MOST:
        return [], np.empty((0, 0))
    texts = [str(name) for name in names.tolist()]
    chosen = [positive_of_two(texts)] if len(names) == 2 else list(range(len(names)))
    return [texts[one] for one in chosen], (code[:, None] == chosen).astype(float)


def _sums(
    group: np.ndarray, values: Float[np.ndarray, "row column"], n_groups: int
) -> Float[np.ndarray, "group column"]:
    return np.stack([np.bincount(group, one, n_groups) for one in values.T], axis=1)
