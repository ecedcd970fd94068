"""Offsets of annotations, and of their blocks of tied classes, in flat columns of entries."""

from functools import cached_property

import numpy as np
from jaxtyping import Int

from plausibly.annotations._by_case import ByCase


class InBlocks(ByCase):
    """A frozen data class of columns with an entry for every named class, sorted by annotation and block."""

    entry_annotation: Int[np.ndarray, " entry"]
    entry_block: Int[np.ndarray, " entry"]

    @cached_property
    def annotation_start(self) -> Int[np.ndarray, " annotation+1"]:
        """Offsets: the entries of annotation r are ``annotation_start[r]`` up to ``annotation_start[r + 1]``."""
        return np.append(np.flatnonzero(np.diff(self.entry_annotation, prepend=-1)), len(self.entry_annotation))

    @property
    def entry_case(self) -> Int[np.ndarray, " entry"]:
        """Case of every entry."""
        return self.annotation_case[self.entry_annotation]

    @cached_property
    def block_start(self) -> Int[np.ndarray, " block+1"]:
        """Offsets: the entries of block b (numbered through all annotations) are from ``block_start[b]`` on."""
        new = (np.diff(self.entry_annotation, prepend=-1) != 0) | (np.diff(self.entry_block, prepend=-1) != 0)
        return np.append(np.flatnonzero(new), len(self.entry_block))

    @property
    def block_sizes(self) -> Int[np.ndarray, " block"]:
        """Number of classes tied in each named block, in the order of annotations and of blocks within them."""
        return np.diff(self.block_start)

    @property
    def block_annotation(self) -> Int[np.ndarray, " block"]:
        """Annotation that each named block belongs to."""
        return self.entry_annotation[self.block_start[:-1]]
