"""A row of the audit, and what several checks share."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt64
from pandas.util import hash_array

from plausibly.annotations import Annotations

SHOWN = 3  #: examples
HANDFUL = 5  #: cases, below which little can be said of an annotator


class Finding(NamedTuple):
    """A check: how often it found something, of how many, with examples and what a finding means."""

    check: str
    count: int
    of: int
    examples: Sequence[str]
    meaning: str


def known_names(annotations: Annotations) -> np.ndarray:
    """Return the names of the annotators; none if they are anonymous."""
    return annotations.annotators[:0] if annotations.anonymous else annotations.annotators


def fingerprints(annotations: Annotations) -> UInt64[np.ndarray, " annotation"]:
    """Return a number for every annotation that two share if, and almost certainly only if, they say the same."""
    entry = annotations.entry_block.astype(np.uint64) * np.uint64(annotations.n_classes) + np.uint64(1)
    hashed = hash_array(entry + annotations.entry_class.astype(np.uint64))
    return np.add.reduceat(hashed, annotations.annotation_start[:-1])
