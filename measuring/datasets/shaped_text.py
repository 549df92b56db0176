"""Made-up text in given shapes, among them those of the LSHTC corpora.

Not among ``benchmarks.datasets``, as peers that keep W dense would need up to 66 GB for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyclass.datasets.synthetic import corpus_shape, make_text_corpus
from measuring.datasets.base import BaseDataset, Data


@dataclass
class ShapedText(BaseDataset):
    """A corpus of which a further part is made for the test.

    Attributes
    ----------
    name : str
    shape : dict
        Arguments of ``make_text_corpus`` for the training part.
    n_test : int, default=None
        Rows for the test; None: a quarter of those for training.
    """

    name: str
    shape: dict[str, Any]
    n_test: int | None = None

    def load(self) -> Data:
        """Make it; the same one every time."""
        n_train = self.shape["n_examples"]
        n_examples = n_train + (n_train // 4 if self.n_test is None else self.n_test)
        X, y = make_text_corpus(**self.shape | {"n_examples": n_examples}, random_state=2008)
        # The first row of each class is for training, so that no class is missing there.
        first = np.zeros(n_examples, bool)
        first[np.unique(y, return_index=True)[1]] = True
        order = np.argsort(~first, kind="stable")
        train, test = np.sort(order[:n_train]), order[n_train:]
        return Data.from_parts((X[train], y[train]), (X[test], y[test]))


# A tenth of LSHTC-large leaves room for a dense W.
SHAPES = [
    ShapedText("lshtc-small", corpus_shape("lshtc-small")),
    ShapedText("lshtc-tenth", corpus_shape("lshtc-large", scale=0.1)),
    ShapedText("lshtc-large", corpus_shape("lshtc-large")),
    ShapedText("lshtc-2012", corpus_shape("lshtc-2012")),
    ShapedText("lshtc-2011", corpus_shape("lshtc-2011")),
]
