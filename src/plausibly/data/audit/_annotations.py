"""Checks of annotators and of their rankings."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse
from jaxtyping import Int
from pandas.util import hash_array
from scipy.sparse.csgraph import connected_components

from plausibly.base.memory import runs
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.shown import shown
from plausibly.data.audit._finding import HANDFUL, LONG_TIE, SHOWN, Finding, Prints, known_names

_BY_CHANCE = 0.5  # how many annotators may be expected by chance to do what is reported of them
_PAIRS_BY_CHANCE = 0.05  # how many pairs
#: Share of cases in which two people may agree before anything is known: of single labels, and of longer answers; and
#: how many pairs of answers that counts for.
_EXPECTED, _EXPECTED_OF_LONG, _WEIGHT = 0.9, 0.5, 10
_PAIRS = 2**22  # of annotators, held at once


def of_annotators(annotations: Annotations, prints: Prints) -> Iterator[Finding]:
    n = np.diff(annotations.case_start)
    alone = np.flatnonzero(n == 1)
    yield Finding("one-annotator cases", len(alone), annotations.n_cases, annotations.cases[alone[:SHOWN]].tolist())
    names = known_names(annotations)
    who = annotations.annotation_annotator[: 0 if annotations.anonymous else None]
    n_cases = np.bincount(who, minlength=len(names))
    few = np.flatnonzero(n_cases < min(HANDFUL, annotations.n_cases))
    yield Finding("annotators of few cases", len(few), len(names), names[few[:SHOWN]].tolist())
    constant = _constant(who, prints[: len(who)], n_cases)
    yield Finding("constant annotators", len(constant), len(names), names[constant[:SHOWN]].tolist())
    single = len(annotations.entry_class) == annotations.n_annotations
    pairs = identical(who, annotations.annotation_case, prints, len(names), single=single) if len(names) > 1 else []
    examples = [f"{names[a]} = {names[b]}" for a, b in pairs[:SHOWN]]
    yield Finding("identical annotators", len(pairs), len(names) * (len(names) - 1) // 2, examples)
    apart = _apart(annotations) if len(names) else np.array([], np.int64)
    yield Finding("disconnected annotators", len(apart), len(names), names[apart[:SHOWN]].tolist())


def follows(annotations: Annotations) -> Finding:
    """Cases with more labels because of what their first ones say."""
    rounds, of = annotations.rounds, int((annotations.per_case > 0).sum())
    if rounds is None:
        return Finding("labels that follow from labels", 0, of, [], "How many labels a case has depends on them.")
    return Finding("labels that follow from labels", rounds.n_more, of, [], rounds.told)


def _constant(
    who: Int[np.ndarray, " annotation"], prints: Prints, n_cases: Int[np.ndarray, " annotator"]
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


def identical(
    who: Int[np.ndarray, " annotation"],
    case: Int[np.ndarray, " annotation"],
    prints: Prints,
    n_annotators: int,
    *,
    single: bool,
) -> list[tuple[int, int]]:
    """Find pairs of annotators who agree on all cases they share, and do not owe it to agreement in general.

    The frequency of agreement is that of all other pairs, and that of good annotators, which counts for a few. Pairs
    who only ever gave one answer are constant instead. Each annotates a case once; of `single` labels, good annotators
    agree more often.
    """
    _, opinion = np.unique(hash_array(prints) + case.astype(np.uint64), return_inverse=True)
    ones = np.ones(len(who), np.int32)
    per_case = np.bincount(case)
    seen = scipy.sparse.csr_array((ones, (who, case)), shape=(n_annotators, len(per_case)))
    said = scipy.sparse.csr_array((ones, (who, opinion)), shape=(n_annotators, opinion.max(initial=0) + 1))
    # Of each annotator, whether he gave more than one answer at all.
    _, answer = np.unique(prints, return_inverse=True)
    kinds = answer.max() + 1
    n_answers = np.bincount(np.unique(who.astype(np.int64) * kinds + answer) // kinds, minlength=n_annotators)
    together, alike, candidates = 0, 0, []
    # An annotator shares cases with at most as many others as there are annotations of his cases.
    others = seen @ per_case
    for rows in runs(np.minimum(others, n_annotators), _PAIRS):
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
    expected = _EXPECTED if single else _EXPECTED_OF_LONG
    if together == alike:  # of all pairs, who cannot show each other's frequency
        together = alike = 0
    found = []
    for one, other, number in candidates:
        rest, same = max(together - number, 0), max(alike - number, 0)
        frequency = (same + _WEIGHT * expected) / (rest + _WEIGHT)
        if frequency**number * n_pairs < _PAIRS_BY_CHANCE and min(n_answers[[one, other]]) > 1:
            found.append((one, other))
    return found


def _apart(annotations: Annotations) -> Int[np.ndarray, " annotator"]:
    """Find the annotators outside the largest group of those joined by shared cases."""
    n_annotators = len(annotations.annotators)
    size = n_annotators + annotations.n_cases
    ends = annotations.annotation_annotator, annotations.annotation_case + n_annotators
    graph = scipy.sparse.coo_array((np.ones(len(ends[0]), bool), ends), shape=(size, size))
    _, group = connected_components(graph, directed=False)
    of_annotator = group[:n_annotators]
    return np.flatnonzero(of_annotator != np.bincount(of_annotator).argmax())


_TIES = 0.5  # share of annotations from which on several classes without a rank are one answer
_RARE = 0.02  # share of annotations up to which several classes are an oversight


def of_rankings(annotations: Annotations) -> Iterator[Finding]:
    n_classes = annotations.n_classes
    named = np.zeros(n_classes, bool)
    named[annotations.entry_class] = True
    never = np.flatnonzero(~named)
    yield Finding("classes never named", len(never), n_classes, annotations.classes[never[:SHOWN]].tolist())
    labels = (annotations.n_classes > 1) & (np.diff(annotations.annotation_start) == 1).all()
    few = np.flatnonzero(np.diff(annotations.case_start) < n_classes) if labels else np.array([], np.int64)
    of = annotations.n_cases if labels else 0
    yield Finding("fewer labels than classes", len(few), of, annotations.cases[few[:SHOWN]].tolist())
    compared = shown(annotations)
    of = annotations.n_annotations if ((n_named := np.diff(annotations.annotation_start)) > 1).any() else 0
    examples = [] if compared is None else _places(annotations, np.flatnonzero(n_named == compared.n_named)[:SHOWN])
    yield Finding("comparisons", compared.n_annotations if compared else 0, of, examples)
    second = np.flatnonzero(n_named > 1)
    most = _RARE if (annotations.entry_block > 0).any() else _TIES
    second = second[:0] if len(second) >= max(most * annotations.n_annotations, 1) else second
    yield Finding("second answers", len(second), annotations.n_annotations, _places(annotations, second[:SHOWN]))
    sizes, annotation = annotations.block_sizes, annotations.block_annotation
    ranked = len(sizes) > annotations.n_annotations  # some annotation has a second block
    several = annotation[:0] if ranked else annotation[sizes > 1]
    of = 0 if ranked else annotations.n_annotations
    yield Finding("several classes without a rank", len(several), of, _places(annotations, several[:SHOWN]))
    empty = np.flatnonzero((sizes == n_classes) & (n_classes > 1))
    examples = _places(annotations, annotation[empty[:SHOWN]])
    yield Finding("empty annotations", len(empty), annotations.n_annotations, examples)
    long = (sizes > LONG_TIE) | ((sizes >= 4) & (2 * sizes >= n_classes))
    tied = np.unique(annotation[long & (sizes < n_classes)])
    yield Finding("extreme ties", len(tied), annotations.n_annotations, _places(annotations, tied[:SHOWN]))


def _places(annotations: Annotations, rows: Int[np.ndarray, " row"]) -> list[str]:
    who = annotations.annotators[annotations.annotation_annotator[rows]]
    return [
        f"{case} / {annotator}"
        for case, annotator in zip(annotations.cases[annotations.annotation_case[rows]], who, strict=True)
    ]
