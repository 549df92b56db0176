"""Counts of the first pass over an svmlight file: rows, features, labels."""

from __future__ import annotations

import numpy as np

from manyclass.io.svmlight.labels import Labels
from manyclass.io.svmlight.parser import Placed


class Survey:
    """Counts that chunks are added to; memory grows with the number of labels alone."""

    def __init__(self, name: str) -> None:
        self.labels = Labels(name)
        self.label_counts = np.zeros(0, np.int64)  # may be longer than there are labels
        self.n_rows = self.n_nonzero = self.n_lines = self.largest_block = 0
        self.max_index = -1
        self._block = 0  # rows of the block under way

    def add(self, placed: Placed) -> None:
        """Count a chunk in."""
        chunk = placed.chunk
        codes = self.labels.merge(chunk.labels, placed.n_lines + chunk.label_lines)
        if len(self.labels) > len(self.label_counts):
            self.label_counts.resize(2 * len(self.labels), refcheck=False)
        self.label_counts[codes] += np.bincount(chunk.codes, minlength=len(codes))
        self.n_rows += len(chunk.codes)
        self.n_nonzero += len(chunk.indices)
        self.n_lines += chunk.n_lines
        self.max_index = max(self.max_index, chunk.max_index)
        self._block += len(chunk.codes)
        self.largest_block = max(self.largest_block, self._block)
        if placed.share == 1.0:
            self._block = 0
