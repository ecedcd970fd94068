"""Who is strict and who is lenient: what annotators say more often, or rate higher, than others of the same cases."""

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import stdtr

from plausibly.annotations.io.spellings import positive_of_two
from plausibly.errors import AnnotationError
from plausibly.labels import Labels

COLUMNS = ["label", "own", "others", "leans"]
LEAST = 8  #: cases shared with others, below which nobody is judged
_MOST = 10  # different labels, above which each is too rare
_DIFFERENT = 5  # cases in which an annotator differs from others, below which a test says little
_LEVEL = 0.01  # of the test of all annotators and labels together


def leanings(labels: Labels, *, nominal: bool) -> pd.DataFrame:
    """Compare annotators with the others of the same cases; see :meth:`plausibly.agreement.Agreement.annotators`.

    Numbers that are `nominal` are names of classes.
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
    n = np.bincount(case)[case]
    some = n > 1
    others = (_sums(case, own, int(case.max()) + 1)[case] - own)[some] / (n[some] - 1)[:, None]
    own, who = own[some], annotator[some]
    shared = np.bincount(who, minlength=people)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        of_own, of_others = (_sums(who, one, people) / shared for one in (own, others))
        difference = of_own - of_others
        spread = _sums(who, (own - others - difference[who]) ** 2, people) / (shared - 1)
        t = np.where(spread > 0, difference / np.sqrt(spread / shared), 0)
        p = 2 * stdtr(np.maximum(shared - 1, 1), -np.abs(t))
    apart = _sums(who, (own != others).astype(float), people)
    at = np.arange(people), np.abs(np.nan_to_num(t)).argmax(1)
    found["label"] = np.where(shared[:, 0] > 0, np.array(names, object)[at[1]], "")
    found["own"], found["others"] = of_own[at], of_others[at]
    sure = (p < _LEVEL / p.size) & (shared >= LEAST) & (apart >= _DIFFERENT)
    found["leans"] = sure[at]
    return found


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
            told.append(f"{row['annotator']} rates the same cases {abs(more):.2g} {'higher' if more > 0 else 'lower'}")
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
