"""What is odd about annotations and predictions, before any model sees them.

Nothing here is an error: every row of the table is a question to ask of the data, with the number of times it arises,
how often it could have, and examples. Whatever depends on who annotated is left out (``of`` is 0) where annotators are
anonymous. :data:`SERIOUS` lists the checks whose findings make results wrong rather than uncertain.
"""

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse
from jaxtyping import Float, Int, UInt64
from scipy.sparse.csgraph import connected_components

from plausibly.annotations import Annotations, read_annotations, read_classes
from plausibly.annotations._names import to_names
from plausibly.annotations._repeats import Repeats, without_repeats
from plausibly.annotations.io._columns import frame_columns, is_frame
from plausibly.annotations.io._files import check_path, naming
from plausibly.annotations.io._long_table import READ, is_long, parse_table
from plausibly.annotations.io._table_files import header_of, read_columns
from plausibly.errors import PlausiblyError
from plausibly.predictions import line_up, named_predictions

#: Checks whose findings make results wrong rather than uncertain.
SERIOUS = (
    "repeated annotations",
    "identical annotators",
    "alike class names",
    "mismatched predictions",
    "unrelated predictions",
)
HANDFUL = 5  #: cases, below which little can be said of an annotator
COLUMNS = ("check", "count", "of", "examples", "meaning")
_BY_CHANCE = 0.5  # how many annotators (pairs) may be expected by chance to do what is reported of them
_LONG_TIE = 10
_SHOWN = 3  # examples
_FEW_CASES = 30  # below which a good classifier may look like an unrelated one
_PAIRS = 2**22  # of annotators, held at once
_SEPARATORS = re.compile(r"(?<=[^\W\d_])[\s_.\-]+(?=[^\W_])|(?<=[^\W_])[\s_.\-]+(?=[^\W\d_])")
_NUMBERED = re.compile(r"(.*[^\W\d_].*?)(?:[\s_.#/-]*\(\d{1,2}\)|[_.#/-]\d{1,2}|\s+#?\d{1,2})")


class _Finding(NamedTuple):
    check: str
    count: int
    of: int
    examples: Sequence[str]
    meaning: str


def audit(
    annotations: Annotations | str | os.PathLike | Any,
    predictions: Mapping[str, Any] | None = None,
    classes: str | os.PathLike | Iterable[str] | None = None,
) -> pd.DataFrame:
    """List what is odd about annotations, and about predictions beside them.

    Parameters
    ----------
    annotations
        Annotations; or a file or a long table (data frame) of them. Only the latter two can hold an annotator who says
        the same thing of a case twice, which :func:`plausibly.read_annotations` refuses: here it is counted, and the
        better rank kept for the other checks.
    predictions
        Scores of each classifier by its name, as for :func:`plausibly.evaluate`. One that does not fit is a finding
        and no error.
    classes
        Of a file or a table, as for :func:`plausibly.read_annotations`.

    Returns
    -------
    pandas.DataFrame
        A row per check, whether it found anything or not: its name (``check``), how often it found something
        (``count``) of how many (``of``; 0 where it does not apply), names of the first ones (``examples``) and what a
        finding means (``meaning``). A case of a single annotator, ties and classes without a name are themselves
        findings. Linear in the annotations, and in the pairs of annotators who share a case.

    Raises
    ------
    PlausiblyError
        If the annotations cannot be read for any other reason, or the predictions are no mapping.

    Examples
    --------
    >>> rankings = {"p": {"ann": [["a"]]}, "q": {"ann": [["a"]], "bob": [["b"]]}}
    >>> found = audit(Annotations.from_rankings({"cases": rankings}, classes="abc"))
    >>> found.loc[found["count"] > 0, ["check", "count", "of", "examples"]].values.tolist()
    [['one-annotator cases', 1, 2, "'p'"], ['annotators of few cases', 1, 2, "'bob'"], \
['classes never named', 1, 3, "'c'"]]
    """
    repeats = None
    if not isinstance(annotations, Annotations):
        annotations, repeats = _read(annotations, classes)
    prints = _fingerprints(annotations)
    findings = [
        *_of_names(annotations),
        *_of_repeats(annotations, repeats, prints),
        _identical_cases(annotations, prints),
        *_of_annotators(annotations, prints),
        *_of_rankings(annotations),
    ]
    if predictions is not None:
        findings += _of_predictions(annotations, named_predictions(predictions))
    rows = [(f.check, f.count, f.of, _list(f.examples, f.count), f.meaning) for f in findings]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"count": np.int64, "of": np.int64})


def serious(found: pd.DataFrame) -> list[str]:
    """Names of the checks that found what makes results wrong.

    Examples
    --------
    >>> serious(audit(Annotations.from_labels([["wart", "Wart"]])))
    ['alike class names']
    """
    return found.loc[(found["count"] > 0) & found["check"].isin(SERIOUS), "check"].tolist()


def _read(source: Any, classes: Any) -> tuple[Annotations, Repeats | None]:
    """Read annotations from a file or a table; a long table without its repeats."""
    if is_frame(source):
        names = None if classes is None else _names_of(classes)
        columns = frame_columns(source)
        return _of_table(columns, names) if is_long(columns) else (Annotations.from_counts(source, names), None)
    check_path(source, "annotations, or a table or a file of them,")
    path = Path(source)
    if path.suffix.lower() in (".csv", ".tsv", ".parquet"):
        with naming(path):
            if is_long(header_of(path)):
                return _of_table(read_columns(path, READ), None if classes is None else _names_of(classes))
    return read_annotations(path, classes), None


def _names_of(classes: Any) -> np.ndarray:
    return read_classes(classes) if isinstance(classes, str | os.PathLike) else to_names(classes, "class")


def _of_table(columns: dict, classes: np.ndarray | None) -> tuple[Annotations, Repeats | None]:
    columns, repeats = without_repeats(columns)
    return Annotations._from_rows(parse_table(columns, classes, anonymous=False)), repeats


def _list(examples: Sequence[str], count: int) -> str:
    shown = ", ".join(map(repr, examples[:_SHOWN]))
    return shown if count <= _SHOWN else f"{shown} and {count - _SHOWN:,} more"


# Names


def _of_names(annotations: Annotations) -> Iterator[_Finding]:
    for what, names in (
        ("class", annotations.classes),
        ("case", annotations.cases),
        ("annotator", _known(annotations)),
    ):
        alike = _alike(names.tolist())
        meaning = {
            "class": "Classes whose names differ in capitals, blanks or punctuation alone are probably one class.",
            "case": "Cases whose names differ in capitals, blanks or punctuation alone are probably one case.",
            "annotator": "Annotators whose names differ in capitals, blanks or punctuation alone are probably one "
            "person.",
        }[what]
        yield _Finding(f"alike {what} names", len(alike), len(names), alike, meaning)


def _known(annotations: Annotations) -> np.ndarray:
    """Names of the annotators; none if they are anonymous."""
    return annotations.annotators[:0] if annotations.anonymous else annotations.annotators


def _alike(names: list[str]) -> list[str]:
    """Names that look like an earlier one, each written with it."""
    first: dict[str, str] = {}
    found = []
    for name in names:
        earlier = first.setdefault(_plain(name), name)
        if earlier != name:
            found.append(f"{earlier} = {name}")
    return found


def _plain(name: str) -> str:
    """Write a name without what readers overlook; what stands between two digits tells numbers apart and stays."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return _SEPARATORS.sub("", folded)


# Repeats


def _of_repeats(
    annotations: Annotations, repeats: Repeats | None, prints: UInt64[np.ndarray, " annotation"]
) -> Iterator[_Finding]:
    """Find what one annotator said of one case several times, under one name or under two."""
    if repeats is not None:
        yield _Finding(
            "repeated rows",
            len(repeats.repeated),
            repeats.n_rows,
            [" / ".join(row) for row in repeats.repeated],
            "Rows that repeat the case, annotator and class of another. The better rank was kept here; elsewhere the "
            "table is refused.",
        )
        yield _Finding(
            "several classes without a rank",
            len(repeats.unordered),
            repeats.n_annotations,
            [" / ".join(pair) for pair in repeats.unordered],
            "Annotators who name several classes of a case where nothing orders them: read as tied, not as a first and "
            "a second opinion.",
        )
    seconds = _numbered(_known(annotations).tolist())
    who, case = annotations.annotation_annotator, annotations.annotation_case
    second = np.flatnonzero(np.isin(who, list(seconds))) if not annotations.anonymous else np.array([], np.int64)
    keys = case.astype(np.int64) * len(annotations.annotators) + who
    first = np.array([seconds[code] for code in who[second].tolist()], np.int64)
    wanted = case[second].astype(np.int64) * len(annotations.annotators) + first
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    both = keys[at] == wanted
    found = second[both]
    same = int((prints[found] == prints[at[both]]).sum())
    yield _Finding(
        "repeated annotations",
        len(found),
        0 if annotations.anonymous else annotations.n_annotations,
        [f"{annotations.cases[case[r]]} / {annotations.annotators[who[r]]}" for r in found[:_SHOWN]],
        "Annotations of a case by somebody who, judging by the names, annotated it already; they count as further "
        f"annotators{f', and {same:,} say the same again' if same else ''}.",
    )


def _numbered(names: list[str]) -> dict[int, int]:
    """Annotators whose name is another's with a number behind it, such as "ann (2)" or "ann_2"; and that other's."""
    at: dict[str, int] = {}
    for code, name in enumerate(names):
        at.setdefault(_plain(name), code)
    found = {}
    for code, name in enumerate(names):
        match = _NUMBERED.fullmatch(name)
        original = at.get(_plain(match.group(1) if match else name), code)
        if original != code:
            found[code] = original
    return found


def _fingerprints(annotations: Annotations) -> UInt64[np.ndarray, " annotation"]:
    """Return a number for every annotation that two share if, and with all but certainty only if, they say the same."""
    entry = annotations.entry_block.astype(np.uint64) * np.uint64(annotations.n_classes)
    return np.add.reduceat(_mix(entry + annotations.entry_class.astype(np.uint64)), annotations.annotation_start[:-1])


def _mix(numbers: UInt64[np.ndarray, " n"]) -> UInt64[np.ndarray, " n"]:
    """Scatter whole numbers over 64 bits (the finaliser of SplitMix64)."""
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _identical_cases(annotations: Annotations, prints: UInt64[np.ndarray, " annotation"]) -> _Finding:
    said = prints
    if not annotations.anonymous:
        said = _mix(prints) + annotations.annotation_annotator.astype(np.uint64)
    of_case = np.add.reduceat(_mix(said), annotations.case_start[:-1])
    key = annotations.entry_case.astype(np.int64) * annotations.n_classes + annotations.entry_class
    n_named = np.bincount(np.unique(key) // annotations.n_classes, minlength=annotations.n_cases)
    eligible = np.flatnonzero(n_named > 1)
    _, first, inverse = np.unique(of_case[eligible], return_index=True, return_inverse=True)
    original = eligible[first[inverse]]
    again = np.flatnonzero(original != eligible)
    names = annotations.cases
    return _Finding(
        "identical cases",
        len(again),
        len(eligible),
        [f"{names[original[i]]} = {names[eligible[i]]}" for i in again[:_SHOWN]],
        "Cases that repeat an earlier one in everything that every annotator said, of those in which several classes "
        "are named: duplicates, unless classes are few and rankings short.",
    )


# Annotators


def _of_annotators(annotations: Annotations, prints: UInt64[np.ndarray, " annotation"]) -> Iterator[_Finding]:
    n = np.diff(annotations.case_start)
    alone = np.flatnonzero(n == 1)
    yield _Finding(
        "one-annotator cases",
        len(alone),
        annotations.n_cases,
        annotations.cases[alone[:_SHOWN]].tolist(),
        "Cases with a single annotator, whom nobody could contradict: their uncertainty is the model's assumption.",
    )
    names = _known(annotations)
    who = annotations.annotation_annotator[: 0 if annotations.anonymous else None]
    n_cases = np.bincount(who, minlength=len(names))
    few = np.flatnonzero(n_cases < min(HANDFUL, annotations.n_cases))
    yield _Finding(
        "annotators of few cases",
        len(few),
        len(names),
        names[few[:_SHOWN]].tolist(),
        f"Annotators of fewer than {HANDFUL} cases, and not of all: too few to tell how far they can be trusted.",
    )
    constant = _constant(who, prints[: len(who)], n_cases)
    yield _Finding(
        "constant annotators",
        len(constant),
        len(names),
        names[constant[:_SHOWN]].tolist(),
        "Annotators who always say the same, more often than the frequency of that answer among the others explains.",
    )
    pairs = _identical(annotations, prints) if len(names) > 1 else []
    yield _Finding(
        "identical annotators",
        len(pairs),
        len(names) * (len(names) - 1) // 2,
        [f"{names[a]} = {names[b]}" for a, b in pairs[:_SHOWN]],
        f"Pairs of annotators who say the same of every case they share, {HANDFUL} or more, oftener than agreement "
        "explains: one person under two names, or a copy.",
    )
    apart = _apart(annotations) if len(names) else np.array([], np.int64)
    yield _Finding(
        "disconnected annotators",
        len(apart),
        len(names),
        names[apart[:_SHOWN]].tolist(),
        "Annotators whom no chain of shared cases joins to the largest group: their skill cannot be compared with it.",
    )


def _constant(
    who: Int[np.ndarray, " annotation"],
    prints: UInt64[np.ndarray, " annotation"],
    n_cases: Int[np.ndarray, " annotator"],
) -> Int[np.ndarray, " found"]:
    """Find annotators of one answer: three times or more, and not to be expected of anyone by chance."""
    if not len(who):
        return np.array([], np.int64)
    _, answer = np.unique(prints, return_inverse=True)
    least, greatest = np.full(len(n_cases), len(answer)), np.full(len(n_cases), -1)
    np.minimum.at(least, who, answer)
    np.maximum.at(greatest, who, answer)
    same = np.flatnonzero((least == greatest) & (n_cases >= 3))
    frequency = np.bincount(answer)[least[same]] - n_cases[same]
    share = frequency / np.maximum(len(who) - n_cases[same], 1)
    return same[share ** n_cases[same] * len(n_cases) < _BY_CHANCE]


def _identical(annotations: Annotations, prints: UInt64[np.ndarray, " annotation"]) -> list[tuple[int, int]]:
    """Find pairs of annotators who agree on all cases they share, and do not owe it to agreement in general.

    The frequency of agreement is that of all other pairs. Pairs who only ever gave one answer are constant instead.
    """
    n_annotators, who = len(annotations.annotators), annotations.annotation_annotator
    case = annotations.annotation_case.astype(np.uint64)
    _, opinion = np.unique(_mix(prints) + case, return_inverse=True)
    ones = np.ones(len(who), np.int32)
    seen = scipy.sparse.csr_array((ones, (who, annotations.annotation_case)))
    said = scipy.sparse.csr_array((ones, (who, opinion)))
    # Of each annotator, whether he gave more than one answer at all.
    _, answer = np.unique(prints, return_inverse=True)
    n_answers = np.bincount(np.unique(who.astype(np.int64) * (answer.max() + 1) + answer) // (answer.max() + 1))
    together, alike, candidates = 0, 0, []
    # An annotator shares cases with at most as many others as there are annotations of his cases.
    others = seen @ np.diff(annotations.case_start)
    for rows in _slices(np.minimum(others, n_annotators)):
        shared, agreed = seen[rows] @ seen.T, said[rows] @ said.T
        together += int(shared.sum() - shared.diagonal(rows.start).sum())
        alike += int(agreed.sum() - agreed.diagonal(rows.start).sum())
        differ, shared = (shared - agreed).tocoo(), shared.tocoo()
        differ.eliminate_zeros()
        enough = (shared.row + rows.start < shared.col) & (shared.data >= HANDFUL)
        pair = shared.row[enough] * np.int64(n_annotators) + shared.col[enough]
        differ = differ.row * np.int64(n_annotators) + differ.col
        for at in np.flatnonzero(~np.isin(pair, differ)).tolist():
            one, other = divmod(int(pair[at]), n_annotators)
            candidates.append((one + rows.start, other, int(shared.data[enough][at])))
    together, alike = together // 2, alike // 2
    n_pairs = n_annotators * (n_annotators - 1) / 2
    found = []
    for one, other, number in candidates:
        rest = together - number
        frequency = (alike - number) / rest if rest else 0.0
        unanimous = together == alike
        if (unanimous or frequency**number * n_pairs < _BY_CHANCE) and min(n_answers[[one, other]]) > 1:
            found.append((one, other))
    return found


def _slices(sizes: Int[np.ndarray, " row"]) -> Iterator[slice]:
    """Cut rows into runs of bounded total size."""
    total, start = np.cumsum(sizes), 0
    while start < len(sizes):
        before = total[start - 1] if start else 0
        end = max(int(np.searchsorted(total, before + _PAIRS, side="right")), start + 1)
        yield slice(start, end)
        start = end


def _apart(annotations: Annotations) -> Int[np.ndarray, " annotator"]:
    """Find the annotators outside the largest group of those joined by shared cases."""
    n_annotators = len(annotations.annotators)
    size = n_annotators + annotations.n_cases
    ends = annotations.annotation_annotator, annotations.annotation_case + n_annotators
    _, group = connected_components(
        scipy.sparse.coo_array((np.ones(len(ends[0]), bool), ends), shape=(size, size)), directed=False
    )
    of_annotator = group[:n_annotators]
    return np.flatnonzero(of_annotator != np.bincount(of_annotator).argmax())


# Rankings


def _of_rankings(annotations: Annotations) -> Iterator[_Finding]:
    n_classes = annotations.n_classes
    named = np.zeros(n_classes, bool)
    named[annotations.entry_class] = True
    never = np.flatnonzero(~named)
    yield _Finding(
        "classes never named",
        len(never),
        n_classes,
        annotations.classes[never[:_SHOWN]].tolist(),
        "Classes that nobody named of any case: their plausibilities are the prior's.",
    )
    sizes, annotation = annotations.block_sizes, annotations.block_annotation
    empty = np.flatnonzero((sizes == n_classes) & (n_classes > 1))
    yield _Finding(
        "annotations of nothing",
        len(empty),
        annotations.n_annotations,
        _places(annotations, annotation[empty[:_SHOWN]]),
        "Annotations that tie all classes, which says nothing about the case.",
    )
    long = (sizes > _LONG_TIE) | ((sizes >= 4) & (2 * sizes >= n_classes))
    tied = np.unique(annotation[long & (sizes < n_classes)])
    yield _Finding(
        "extreme ties",
        len(tied),
        annotations.n_annotations,
        _places(annotations, tied[:_SHOWN]),
        f"Annotations that tie four classes or more that are at least half of all, or more than {_LONG_TIE}: "
        "defaults of a tool, or lists without an order.",
    )


def _places(annotations: Annotations, rows: Int[np.ndarray, " row"]) -> list[str]:
    who = annotations.annotators[annotations.annotation_annotator[rows]]
    return [
        f"{case} / {annotator}"
        for case, annotator in zip(annotations.cases[annotations.annotation_case[rows]], who, strict=True)
    ]


# Predictions


def _of_predictions(annotations: Annotations, named: Mapping[str, Any]) -> Iterator[_Finding]:
    """Check classifiers one by one, holding the scores of one at a time."""
    wrong, unrelated, likeness, n_flat, flat, n_alike, alike = [], [], {}, 0, [], 0, []
    for name, source in named.items():
        try:
            scores = line_up(source, annotations)
        except PlausiblyError as error:
            wrong.append(f"{name}: {error.args[0]}")
            continue
        best = scores.argmax(axis=1)
        if _is_unrelated(annotations, best):
            unrelated.append(name)
        constant = np.flatnonzero(scores.max(axis=1) == scores.min(axis=1))
        n_flat += len(constant)
        flat += [f"{name} / {case}" for case in annotations.cases[constant[:_SHOWN]]]
        rows = _rows(scores)
        _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
        again = np.setdiff1d(np.flatnonzero(first[inverse] != np.arange(len(rows))), constant)
        n_alike += len(again)
        alike += [
            f"{name} / {annotations.cases[first[inverse[row]]]} = {annotations.cases[row]}" for row in again[:_SHOWN]
        ]
        likeness.setdefault(hashlib.sha256(rows).digest(), []).append(name)
    n_read = len(named) - len(wrong)
    yield _Finding(
        "mismatched predictions",
        len(wrong),
        len(named),
        wrong,
        "Classifiers whose scores do not fit the cases and classes.",
    )
    yield _Finding(
        "unrelated predictions",
        len(unrelated),
        n_read,
        unrelated,
        "Classifiers whose first choices meet the annotations no oftener than if the rows were shuffled: probably "
        "cases or classes in another order.",
    )
    twins = [f"{names[0]} = {other}" for names in likeness.values() for other in names[1:]]
    yield _Finding(
        "identical classifiers", len(twins), n_read, twins, "Classifiers with the same scores throughout as another."
    )
    yield _Finding(
        "identical predictions",
        n_alike,
        n_read * annotations.n_cases,
        alike,
        "Cases with exactly the scores of an earlier one: duplicates, unless scores are coarse.",
    )
    yield _Finding(
        "predictions of nothing",
        n_flat,
        n_read * annotations.n_cases,
        flat,
        "Cases all of whose classes have the same score, which class order or chance will rank.",
    )


def _rows(scores: Float[np.ndarray, "case class"]) -> UInt64[np.ndarray, " case"]:
    """Return a number for every row that two share if, and with all but certainty only if, their scores are equal."""
    out = np.zeros(len(scores), np.uint64)
    for column in scores.T:
        out = _mix(out ^ np.ascontiguousarray(column + 0.0, np.float64).view(np.uint64))  # + 0.0 makes 0 of −0
    return out


def _is_unrelated(annotations: Annotations, best: Int[np.ndarray, " case"]) -> bool:
    """Whether first choices are among the annotators' no oftener than those of other cases would be.

    Not said of a classifier that always chooses the same class, nor of fewer than thirty cases.
    """
    n_cases, n_classes = annotations.n_cases, annotations.n_classes
    chosen = np.bincount(best, minlength=n_classes) / n_cases
    if n_cases < _FEW_CASES or chosen.max() == 1:
        return False
    first = annotations.entry_block == 0
    key = np.unique(annotations.entry_case[first].astype(np.int64) * n_classes + annotations.entry_class[first])
    named = np.bincount(key % n_classes, minlength=n_classes) / n_cases
    expected = chosen @ named
    met = np.isin(np.arange(n_cases) * n_classes + best, key).mean()
    return bool(expected < 1 and met <= expected + 1.64 * np.sqrt(expected * (1 - expected) / n_cases))
