"""Overlapping Gaussian clouds: dense rows, few features, many more examples than features."""

from __future__ import annotations

import numpy as np

from measuring.datasets.base import BaseDataset, Data


class Blobs(BaseDataset):
    """One cloud per class, around a random centre."""

    name = "blobs"
    default = False
    n_train, n_test = 12_000, 4_000
    n_features, n_classes = 64, 30
    spread = 1.6

    def load(self) -> Data:
        """Make the clouds; the same ones every time."""
        rng = np.random.default_rng(2008)
        centres = rng.uniform(-1, 1, size=(self.n_classes, self.n_features))
        y = rng.integers(self.n_classes, size=self.n_train + self.n_test)
        noise = rng.standard_normal((len(y), self.n_features))
        X = (centres[y] + self.spread * noise) / (1 + self.spread)
        cut = self.n_train
        return Data.from_parts((X[:cut], y[:cut]), (X[cut:], y[cut:]))


DATASETS = [Blobs()]
