"""All checks in one table."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import Annotations, Scores
from plausibly.data.annotations._rows import Rows
from plausibly.data.annotations.io.exports import rows_in
from plausibly.data.annotations.io.files import naming_file
from plausibly.data.annotations.io.read import as_annotations, open_any
from plausibly.data.audit._annotations import follows, of_annotators, of_rankings
from plausibly.data.audit._finding import SHOWN, Finding, fingerprints, of_severities
from plausibly.data.audit._predictions import of_predictions
from plausibly.data.audit._repeats import identical_cases, pasted
from plausibly.data.audit.names import of_names, repeated_annotations
from plausibly.data.predictions import named_predictions

#: Checks whose findings make results wrong rather than uncertain.
SERIOUS = (
    "comparisons",
    "repeated rows",
    "repeated annotations",
    "second answers",
    "identical annotators",
    "cases pasted twice",
    "similar class names",
    "misspelt class names",
    "odd classes among numbers",
    "missing labels as classes",
    "mismatched predictions",
    "unrelated predictions",
    "predictions by an annotator",
    "exchanged classes",
)
TOLD = (
    "identical annotators",
    "cases pasted twice",
    "similar class names",
    "misspelt class names",
)  #: by every command that reads them
COLUMNS = ("check", "count", "of", "examples", "meaning")
#: Checks of classes, which scores do not have.
_OF_CLASSES = (
    "similar class names",
    "misspelt class names",
    "missing labels as classes",
    "unclear classes",
    "classes never named",
    "second answers",
    "several classes without a rank",
    "comparisons",
    "empty annotations",
    "extreme ties",
)
_OFTEN = 0.05  # share of scores with one value, from which on they are categories


def audit(
    annotations: Annotations | Scores | str | os.PathLike | Any,
    predictions: Mapping[str, Any] | None = None,
    classes: str | os.PathLike | Iterable[str] | None = None,
    *,
    choices: str | None = None,
    extra: str = "refuse",
) -> pd.DataFrame:
    """Check annotations and predictions for problems.

    Who answers at random, copies another, or is strict or lenient, is in the table
    ``pb.agreement.agreement(annotations).annotators()``; the command ``plausibly audit`` prints both.

    Parameters
    ----------
    annotations
        Annotations or scores; a file of them; a table (long, or with a row per case); or any input of
        :meth:`plausibly.Annotations.from_case_rows`. In a long table an annotator may name a class of a case twice.
        :func:`plausibly.read_annotations` refuses this; here it is counted, and the better rank is used for the other
        checks. For scores, every distinct value is treated as a class.
    predictions
        Predictions of each classifier by name, as for :func:`plausibly.evaluate`. Predictions that do not match are a
        finding, not an error. Not available for scores, which have no classes.
    classes
        Classes of a file or a table, as for :func:`plausibly.read_annotations`.
    choices
        What annotators chose from, as for :func:`plausibly.read_annotations`. Annotations that look like comparisons
        are a finding even so.
    extra
        ``"ignore"`` leaves out predictions of cases that are not annotated; with ``"refuse"`` they are a finding.

    Returns
    -------
    pandas.DataFrame
        One row per check, with or without findings: its name (``check``), the number of findings (``count``) among the
        number checked (``of``; 0 if the check does not apply), the first findings (``examples``) and their meaning
        (``meaning``). Run time is proportional to the number of annotations and of pairs of annotators who share a
        case.

    Raises
    ------
    PlausiblyError
        If the annotations cannot be read for any other reason, or the predictions are not a mapping.

    Examples
    --------
    >>> rankings = {"p": {"ann": [["a"]]}, "q": {"ann": [["a"]], "bob": [["b"]]}}
    >>> found = audit(Annotations.from_rankings({"cases": rankings}, classes="abc"))
    >>> found.loc[found["count"] > 0, ["check", "count", "of", "examples"]].values.tolist()
    [['one-annotator cases', 1, 2, "'p'"], ['annotators of few cases', 1, 2, "'bob'"], \
['classes never named', 1, 3, "'c'"], ['fewer labels than classes', 2, 2, "'p', 'q'"]]
    """
    repeats = None
    if not isinstance(annotations, Annotations | Scores):
        annotations, repeats = read_for_audit(annotations, classes, choices)
    return checks_of(annotations, repeats, predictions, extra)


def checks_of(
    annotations: Annotations | Scores, repeats: Finding | None, predictions: Mapping[str, Any] | None, extra: str
) -> pd.DataFrame:
    """Check annotations that were read, with what was found while reading them; see :func:`audit`."""
    scores = None
    if isinstance(annotations, Scores):
        if predictions is not None:
            raise ArgumentError(
                "predictions are of classes, but the annotations are scores: give scores.split(threshold), or leave "
                "the predictions out."
            )
        scores = annotations
        values, code = np.unique(scores.score, return_inverse=True)
        annotations = scores._labels(code, [f"{value:.17g}" for value in values])
    prints = fingerprints(annotations)
    findings = [
        follows(annotations),
        *of_names(annotations),
        *([repeats] if repeats else []),
        repeated_annotations(annotations, prints),
        identical_cases(annotations, prints),
        _pasted(annotations),
        *of_annotators(annotations, prints),
        *of_rankings(annotations),
    ]
    if predictions is not None:
        findings += of_predictions(annotations, named_predictions(predictions), extra)
    if scores is not None:
        findings = [finding for finding in findings if finding.check not in _OF_CLASSES] + [_frequent(scores)]
        findings.append(of_severities(scores))
    rows = [(f.check, f.count, f.of, _list(f.examples, f.count), f.meaning) for f in findings]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"count": np.int64, "of": np.int64})


def serious(found: pd.DataFrame, *, told: bool = True) -> list[str]:
    """Return the names of the checks that found serious problems, which make results wrong.

    Without those that every command tells when it reads the data, if not `told`.

    Examples
    --------
    >>> serious(audit(Annotations.from_labels([["wart", "Wart"]])))
    ['similar class names']
    """
    names = found.loc[(found["count"] > 0) & found["check"].isin(SERIOUS), "check"].tolist()
    return [name for name in names if told or name not in TOLD]


def read_for_audit(source: Any, classes: Any, choices: str | None) -> tuple[Annotations | Scores, Finding | None]:
    """Read annotations from a file or a table; a long table without its repeats, which are a finding."""
    with naming_file(source):
        opened = open_any(source, {}, classes=classes)
        rows = rows_in(replace(opened, repeats=opened.repeats or "ties"))
        if isinstance(rows, Rows) and rows.of_labels:
            return _once(rows, choices)
        return as_annotations(rows, opened, choices), None


def _once(rows: Rows, choices: str | None) -> tuple[Annotations, Finding]:
    """Leave out rows that repeat another; of two with the same class the better rank is kept."""
    order = np.lexsort((rows.rank, rows.class_index, rows.annotator, rows.case))
    case, annotator = rows.case[order], rows.annotator[order]
    same = (np.diff(case) == 0) & (np.diff(annotator) == 0)
    again = np.append(False, same & (np.diff(rows.class_index[order]) == 0))
    repeated = [
        f"{rows.cases[rows.case[row]]} / {rows.annotators[rows.annotator[row]]} / {rows.classes[rows.class_index[row]]}"
        for row in np.sort(order[again]).tolist()
    ]
    share = f"{len(repeated) / max(len(order), 1):.1%}".replace("%", " %")
    if repeated:
        kept = np.sort(order[~again])
        fields = {what: getattr(rows, what)[kept] for what in ("case", "annotator", "class_index", "rank", "order")}
        rows = replace(rows, **fields)
    finding = Finding("repeated rows", len(repeated), len(order), repeated, share)
    return Annotations._from_rows(rows, choices), finding


def _pasted(annotations: Annotations) -> Finding:
    """Cases that repeat others in their order."""
    told = pasted(annotations)
    return Finding("cases pasted twice", int(told is not None), 1, [] if told is None else [told.split(":")[0]])


def _frequent(scores: Scores) -> Finding:
    """Values that many scores have."""
    values, counts = np.unique(scores.score, return_counts=True)
    often = np.flatnonzero(counts > _OFTEN * counts.sum())
    often = often[np.argsort(-counts[often], kind="stable")]
    shown = [f"{values[i]:g}: {counts[i] / counts.sum():.0%}".replace("%", " %") for i in often]
    return Finding("frequent scores", len(often), len(values), shown)


def _list(examples: Sequence[str], count: int) -> str:
    shown = ", ".join(map(repr, examples[:SHOWN]))
    return shown if count <= SHOWN else f"{shown} and {count - SHOWN:,} more"
