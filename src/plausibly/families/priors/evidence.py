"""What a prior learns from: classifiers' scores on one scale, and annotations as labels."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Num

from plausibly.base.errors import PredictionError
from plausibly.base.integers import distinct
from plausibly.base.names import some
from plausibly.data.annotations import Annotations
from plausibly.data.predictions import line_up, named_predictions
from plausibly.families.priors._program import Labels

LEAST = 1e-4  #: probability to which smaller ones are raised, so that one score does not decide a case
_BLOCK = 2**20  # numbers in double precision at once


@dataclass(frozen=True, eq=False)
class Evidence:
    """Scores of classifiers, as logarithms of probabilities, centred over the classes of a case."""

    classifiers: tuple[str, ...]
    cases: np.ndarray  #: names
    log_scores: Float[np.ndarray, "classifier case class"]

    @classmethod
    def of(
        cls, predictions: Mapping[Any, Any] | None, annotations: Annotations, *, ordered: bool = False
    ) -> "Evidence":
        """Read predictions of the cases of annotations, as :func:`plausibly.evaluate` reads them.

        Of ``ordered`` classes, they may be numbers.

        Examples
        --------
        >>> annotations = Annotations.from_counts([[1, 0], [0, 2]])
        >>> Evidence.of({"A": [[0.5, 0.5], [0.0, 1.0]]}, annotations).log_scores.astype(float).round(1).tolist()
        [[[0.0, 0.0], [-4.6, 4.6]]]
        """
        named = named_predictions(predictions or {})
        scores = np.empty((len(named), annotations.n_cases, annotations.n_classes), np.float32)
        for at, source in enumerate(named.values()):
            _fill(scores[at], line_up(source, annotations, ordered=ordered))
        return cls(tuple(named), annotations.cases, scores)

    def of_cases(self, cases: np.ndarray) -> Float[np.ndarray, "classifier case class"]:
        """Return the scores of some of the cases, by name."""
        if not self.classifiers:
            return np.zeros((0, len(cases), self.log_scores.shape[2]), np.float32)
        if np.array_equal(cases, self.cases):
            return self.log_scores
        rows = self._order[np.searchsorted(self.cases, cases, sorter=self._order).clip(max=len(self.cases) - 1)]
        unknown = self.cases[rows] != cases
        if unknown.any():
            raise PredictionError(
                f"the prior of these cases needs predictions for each, but there are none for {some(cases[unknown])}: "
                "predict every case."
            )
        return self.log_scores[:, rows]

    @cached_property
    def _order(self) -> Int[np.ndarray, " case"]:
        return np.argsort(self.cases, kind="stable")

    def with_copies(self, names: np.ndarray, cases: np.ndarray) -> "Evidence":
        """Give copies of cases, by name, the scores of their cases."""
        scores = np.concatenate([self.log_scores, self.of_cases(cases)], axis=1)
        return Evidence(self.classifiers, np.concatenate([self.cases, names]), scores)

    @cached_property
    def digests(self) -> dict[str, str]:
        """Hash of the scores of each classifier."""
        return {
            name: blake2b(np.ascontiguousarray(scores), digest_size=8).hexdigest()
            for name, scores in zip(self.classifiers, self.log_scores, strict=True)
        }

    def describe(self) -> dict[str, Any]:
        """Classifiers and digests of their predictions, as a posterior keeps them."""
        return {"classifiers": list(self.classifiers), "digest": self.digest(), "digests": self.digests}

    def digest(self) -> str:
        """Hash of the classifiers' names and scores."""
        return blake2b(json.dumps(self.digests).encode(), digest_size=8).hexdigest()


def log_scores(scores: Float[np.ndarray, "case class"]) -> Float[np.ndarray, "case class"]:
    """Turn scores into centred logarithms of probabilities of at least 1e-4.

    Scores of at least 0 count as probabilities after they are scaled to sum to 1 in each case; if any is negative, all
    count as logits.
    """
    out = np.empty(scores.shape, np.float32)
    _fill(out, scores)
    return out


def _fill(out: Float[np.ndarray, "case class"], scores: Num[np.ndarray, "case class"]) -> None:
    """Write the logarithms of scores, a block of cases in double precision at a time."""
    logits = scores.min(initial=0) < 0
    size = max(1, _BLOCK // scores.shape[1])
    for first in range(0, len(scores), size):
        values = np.asarray(scores[first : first + size], np.float64)
        if logits:
            values = np.exp(values - values.max(1, keepdims=True))
        total = values.sum(1, keepdims=True)
        share = np.divide(values, total, out=np.full_like(values, 1 / values.shape[1]), where=total > 0)
        logs = np.log(np.maximum(share, LEAST))
        out[first : first + size] = logs - logs.mean(1, keepdims=True)


def labels_of(annotations: Annotations) -> Labels:
    """Reduce annotations to labels: the classes of first blocks, of which tied ones share a label."""
    first = np.flatnonzero(annotations.entry_block == 0)
    case, class_index = annotations.entry_case[first], annotations.entry_class[first]
    size = np.bincount(annotations.entry_annotation[first], minlength=annotations.n_annotations)
    keys, place = distinct(case.astype(np.int64) * annotations.n_classes + class_index)
    count = np.bincount(place, 1 / size[annotations.entry_annotation[first]])
    case, class_index = np.divmod(keys, annotations.n_classes)
    total = np.bincount(annotations.annotation_case, minlength=annotations.n_cases)
    room = _room(len(keys)) - len(keys)
    return Labels(
        np.pad(case, (0, room)).astype(np.int32),
        np.pad(class_index, (0, room)).astype(np.int32),
        np.pad(count, (0, room)).astype(np.float32),
        total.astype(np.float32),
    )


def _room(n: int) -> int:
    """Number of entries to which others are added that count nothing, so that few sizes are compiled."""
    step = 1 << max(n.bit_length() - 3, 4)
    return -(-n // step) * step


def mostly_single(annotations: Annotations) -> bool:
    """Whether more than half of the cases with labels have one, which says nothing of how far experts agree."""
    n_labels = annotations.per_case
    return bool(2 * (n_labels == 1).sum() > (n_labels > 0).sum())


def prevalence(labels: Labels, n_classes: int) -> Float[np.ndarray, " class"]:
    """Share of each class in all labels, with one label more of each, so that none is impossible."""
    counts = 1.0 + np.bincount(labels.class_index, labels.count, n_classes)
    return counts / counts.sum()
