"""Synthetic documents, all at once or in blocks: subject, length, words, tf-idf weights."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from manyclass.utils.types import Array, CsrArray, DType, IntArray

# Words drawn at a time, to bound the memory. A seed gives different documents for a different size,
# because the order of the draws changes.
WORDS_AT_A_TIME = 1 << 20
WORDS_OF_GROUP = 100
WORDS_OF_CLASS = 25
# Share of a document's words on topic that only its class uses, but not its siblings.
OWN_SHARE = 0.4
MAX_INDEX = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """Words of each subject, the most frequent first; words are columns of X.

    common (n_features,): all words. group_words (n_groups, WORDS_OF_GROUP) and class_words
    (n_classes, WORDS_OF_CLASS): a word may belong to several. group_of_class (n_classes,).
    """

    common: npt.NDArray[np.int32]
    group_words: npt.NDArray[np.int32]
    class_words: npt.NDArray[np.int32]
    group_of_class: npt.NDArray[np.int64]

    @classmethod
    def draw(cls, rng: np.random.Generator, n_features: int, n_classes: int) -> Self:
        """Draw the words of all groups and classes, rarely the most frequent ones."""
        n_groups = max(1, round(n_classes**0.5))
        common = rng.permutation(n_features).astype(np.int32)
        return cls(
            common=common,
            group_words=common[_zipf(rng, n_features, (n_groups, WORDS_OF_GROUP), lowest=0.4)],
            class_words=common[_zipf(rng, n_features, (n_classes, WORDS_OF_CLASS), lowest=0.4)],
            group_of_class=rng.permutation(n_classes) % n_groups,
        )

    def words(
        self, rng: np.random.Generator, about: Array, topical: Array
    ) -> npt.NDArray[np.int32]:
        """Draw a word per entry for the class ``about``, on topic with probability ``topical``."""
        words = self.common[_zipf(rng, len(self.common), about.shape)]
        kind = rng.random(about.shape, dtype=np.float32)
        own = np.flatnonzero(kind < topical * OWN_SHARE)
        words[own] = self.class_words[about[own], _zipf(rng, WORDS_OF_CLASS, own.shape)]
        shared = np.flatnonzero((kind >= topical * OWN_SHARE) & (kind < topical))
        groups = self.group_of_class[about[shared]]
        words[shared] = self.group_words[groups, _zipf(rng, WORDS_OF_GROUP, shared.shape)]
        return words


def _zipf(
    rng: np.random.Generator, n: int, shape: tuple[int, ...], lowest: float = 0.0
) -> npt.NDArray[np.int64]:
    """Draw ranks from 0 to n - 1, rank r with a probability proportional to about 1 / (r + 1).

    The n ** lowest most frequent ranks, which are common to all subjects, are left out.
    """
    exponent = rng.random(shape, dtype=np.float32) * np.float32(1 - lowest) + np.float32(lowest)
    ranks = np.float64(n + 1) ** exponent - 1
    return np.minimum(ranks.astype(np.int64), n - 1)


def _labels(rng: np.random.Generator, n_examples: int, n_classes: int) -> npt.NDArray[np.int64]:
    """Draw labels with Zipf-distributed class sizes, in random order."""
    least = min(2, n_examples // n_classes)
    spare = n_examples - least * n_classes
    shares = 1 / np.arange(1, n_classes + 1)
    ends = np.rint(np.cumsum(shares) / shares.sum() * spare).astype(np.int64)
    sizes = least + np.diff(ends, prepend=0)
    return rng.permutation(np.repeat(np.arange(n_classes), sizes))


def _about(
    rng: np.random.Generator,
    y: npt.NDArray[np.int64],
    group_of_class: npt.NDArray[np.int64],
    label_noise: float,
) -> npt.NDArray[np.int64]:
    """Return the subject of each document: its label or, with label noise, a sibling of it.

    The noise changes the text instead of y, so that classes keep their sizes.
    """
    noisy = np.flatnonzero(rng.random(len(y)) < label_noise)
    order = np.argsort(group_of_class, kind="stable")
    sizes = np.bincount(group_of_class)
    starts = np.cumsum(sizes) - sizes
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    group = group_of_class[y[noisy]]
    step = 1 + (rng.random(len(noisy)) * (sizes[group] - 1)).astype(np.int64)
    sibling = starts[group] + (place[y[noisy]] - starts[group] + step) % sizes[group]
    alone = sizes[group] == 1
    sibling[alone] = (place[y[noisy]][alone] + 1) % len(order)
    about = y.copy()
    about[noisy] = order[sibling]
    return about


def _lengths(
    rng: np.random.Generator, n_examples: int, words_per_example: float
) -> npt.NDArray[np.int64]:
    """Draw the number of words of each document: at least one, log-normal, with a given mean."""
    sigma = 0.5
    lengths = rng.lognormal(np.log(words_per_example) - sigma**2 / 2, sigma, n_examples)
    return np.maximum(1, np.rint(lengths)).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """Labels, subjects and lengths of n documents, drawn before their words.

    y (n,): label. about (n,): class of the text. lengths (n,):
    words. topical (n,): share of the words on topic.
    """

    topics: Topics
    y: npt.NDArray[np.int64]
    about: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    topical: npt.NDArray[np.float32]

    @classmethod
    def draw(
        cls,
        rng: np.random.Generator,
        sizes: tuple[int, int, int],
        words_per_example: float,
        topic_share: float,
        label_noise: float,
    ) -> Self:
        """Draw n documents of d words in k classes; ``sizes`` is (n, d, k)."""
        n_examples, n_features, n_classes = sizes
        y = _labels(rng, n_examples, n_classes)
        topics = Topics.draw(rng, n_features, n_classes)
        about = _about(rng, y, topics.group_of_class, label_noise)
        lengths = _lengths(rng, n_examples, words_per_example)
        topical = rng.beta(6 * topic_share, 6 * (1 - topic_share), n_examples).astype(np.float32)
        return cls(topics, y, about, lengths, topical)

    def blocks(self, rng: np.random.Generator) -> Iterator[tuple[slice, CsrArray]]:
        """Draw the words; yield slices of the documents and their word counts (int64)."""
        n_features = len(self.topics.common)
        for rows in row_blocks(np.cumsum(self.lengths)):
            n_rows = rows.stop - rows.start
            of_word = np.repeat(np.arange(n_rows), self.lengths[rows])
            words = self.topics.words(rng, self.about[rows][of_word], self.topical[rows][of_word])
            keys, times = np.unique(of_word * n_features + words, return_counts=True)
            ends = np.cumsum(np.bincount(keys // n_features, minlength=n_rows))
            indptr = np.concatenate([[0], ends]).astype(np.int32)
            indices = (keys % n_features).astype(np.int32)
            yield rows, csr_array((times, indices, indptr), shape=(n_rows, n_features))


def row_blocks(ends: IntArray) -> list[slice]:
    """Divide rows that end at ``ends`` into blocks of about WORDS_AT_A_TIME, at least one row."""
    cuts = np.arange(WORDS_AT_A_TIME, ends[-1] + WORDS_AT_A_TIME, WORDS_AT_A_TIME)
    stops = np.unique(np.minimum(np.searchsorted(ends, cuts) + 1, len(ends)))
    return [slice(int(a), int(b)) for a, b in zip([0, *stops[:-1]], stops, strict=True)]


def joined(
    blocks: Iterable[tuple[slice, CsrArray]], shape: tuple[int, int], n_words: int, dtype: DType
) -> CsrArray:
    """Concatenate blocks of rows; ``n_words`` bounds their non-zeros."""
    index_dtype = np.int32 if n_words <= MAX_INDEX else np.int64
    indptr = np.zeros(shape[0] + 1, index_dtype)
    # The system allocates on first use.
    indices, counts = np.empty(n_words, index_dtype), np.empty(n_words, dtype)
    for rows, block in blocks:
        begin = int(indptr[rows.start])
        indices[begin : begin + block.nnz] = block.indices
        counts[begin : begin + block.nnz] = block.data
        np.add(block.indptr[1:], begin, out=indptr[rows.start + 1 : rows.stop + 1])
    indices.resize(indptr[-1], refcheck=False)
    counts.resize(indptr[-1], refcheck=False)
    X = csr_array((counts, indices, indptr), shape=shape)
    X.has_canonical_format = True
    return X


def weighted_blocks(
    documents: Documents, rng: np.random.Generator, dtype: DType
) -> Iterator[tuple[CsrArray, npt.NDArray[np.int64]]]:
    """Draw the documents twice: to count the documents of each word, and to weight the words."""
    first_pass = documents.blocks(copy.deepcopy(rng))
    idf = idf_of(counts for _, counts in first_pass)
    for rows, counts in documents.blocks(rng):
        X = counts.astype(dtype)
        X.has_canonical_format = True
        weigh(X, idf)
        yield X, documents.y[rows]


def idf_of(parts: Iterable[CsrArray]) -> npt.NDArray[np.float64]:
    """Compute the inverse document frequency of each word."""
    n_examples, n_using = 0, np.zeros(1, np.int64)
    for X in parts:
        n_examples += X.shape[0]
        for rows in row_blocks(X.indptr[1:]):  # bincount would make a wider copy
            indices = X.indices[X.indptr[rows.start] : X.indptr[rows.stop]]
            n_using = n_using + np.bincount(indices, minlength=X.shape[1])
    return np.log((1 + n_examples) / (1 + n_using)) + 1


def weigh(X: CsrArray, idf: npt.NDArray[np.float64]) -> None:
    """Turn counts into tf-idf weights with rows of length 1, in place."""
    idf = idf.astype(X.dtype)
    for rows in row_blocks(X.indptr[1:]):
        begins = X.indptr[rows.start : rows.stop]
        part = slice(int(begins[0]), int(X.indptr[rows.stop]))
        weights = (1 + np.log(X.data[part])) * idf[X.indices[part]]
        squares = np.add.reduceat(weights.astype(np.float64) ** 2, begins - begins[0])
        lengths = np.sqrt(squares).repeat(np.diff(X.indptr[rows.start : rows.stop + 1]))
        X.data[part] = weights / lengths
