"""Made-up text: words with Zipf frequencies, a few hundred topics, rows of unit length."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.datasets.synthetic import make_text_corpus
from measuring.datasets.base import BaseDataset, Data


class SyntheticText(BaseDataset):
    """Documents whose words come from their class's topic or from the common language.

    Class sizes and word frequencies fall like 1/rank, as they do in real corpora: a few long
    columns of X, many short ones, and classes with few examples.
    """

    name = "text"
    n_train, n_test = 8_000, 2_000
    n_words, n_classes = 30_000, 200
    n_topic_words, topic_share = 400, 0.1
    mean_length = 80

    def load(self) -> Data:
        """Make the corpus; the same one every time."""
        rng = np.random.default_rng(2008)
        topics = rng.integers(self.n_words, size=(self.n_classes, self.n_topic_words))
        y = _zipf(rng, self.n_classes, self.n_train + self.n_test, shift=20.0)
        X = self._documents(rng, topics, y)
        cut = self.n_train
        return Data.from_parts((X[:cut], y[:cut]), (X[cut:], y[cut:]))

    def _documents(
        self, rng: np.random.Generator, topics: NDArray[np.int64], y: NDArray[np.int64]
    ) -> sp.csr_array:
        rows = np.repeat(np.arange(len(y)), rng.poisson(self.mean_length, size=len(y)) + 1)
        words = _zipf(rng, self.n_words, len(rows))
        ranks = _zipf(rng, self.n_topic_words, len(rows), shift=5.0)
        is_topical = rng.random(len(rows)) < self.topic_share
        words = np.where(is_topical, topics[y[rows], ranks], words)
        counts = sp.coo_array((np.ones(len(rows)), (rows, words)), shape=(len(y), self.n_words))
        return _tf_idf(sp.csr_array(counts))


def _zipf(
    rng: np.random.Generator, n_values: int, size: int, shift: float = 1.0
) -> NDArray[np.int64]:
    """Draw from 0..n_values-1 with probabilities in proportion to 1 / (value + shift)."""
    cumulated = np.cumsum(1.0 / (np.arange(n_values) + shift))
    return np.searchsorted(cumulated, rng.random(size) * cumulated[-1])


def _tf_idf(counts: sp.csr_array) -> sp.csr_array:
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    idf = np.log((1 + counts.shape[0]) / (1 + frequency)) + 1
    X = sp.csr_array(
        ((1 + np.log(counts.data)) * idf[counts.indices], counts.indices, counts.indptr),
        shape=counts.shape,
    )
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1 / lengths) @ X)


class ShortText(BaseDataset):
    """A corpus of short documents in many classes (``make_text_corpus``)."""

    default = False

    def __init__(self, name: str, n: int, n_words: int, n_classes: int, length: float) -> None:
        self.name = name
        self.shape = {"n_features": n_words, "n_classes": n_classes, "words_per_example": length}
        self.n = n

    def load(self) -> Data:
        """Make the corpus; the same one every time."""
        X, y = make_text_corpus(self.n + self.n // 5, **self.shape, random_state=2008)
        cut = self.n
        return Data.from_parts((X[:cut], y[:cut]), (X[cut:], y[cut:]))


DATASETS: list[BaseDataset] = [
    SyntheticText(),
    ShortText("intents", 18_000, 35_107, 150, 18),
    ShortText("verses", 24_877, 11_656, 1_186, 25),
]
