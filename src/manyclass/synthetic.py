"""Text-like data of any size, for demonstrations, tests and benchmarks."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

__all__ = ["make_text_corpus"]

MAX_INDEX = np.iinfo(np.int32).max
# Words drawn at a time, so that the memory beside the result stays small. The size is part of
# what a seed means: another one draws in another order.
WORDS_AT_A_TIME = 1 << 20
WORDS_OF_GROUP = 100
WORDS_OF_CLASS = 25
# Of a document's words about its topic, the share that only its class uses, not its siblings.
OWN_SHARE = 0.4


def make_text_corpus(
    n_examples: int,
    n_features: int,
    n_classes: int,
    *,
    words_per_example: float = 60,
    label_noise: float = 0.05,
    random_state: int | np.random.Generator | None = None,
    dtype: npt.DTypeLike = np.float32,
) -> tuple[csr_array[Any], npt.NDArray[np.int64]]:
    """Make a collection of documents in many classes that behaves like real text.

    Word frequencies and class sizes follow Zipf's law. Classes form groups of siblings, about as
    many groups as there are classes in one; a document mixes common words, words of the group and
    words of its class, some documents more of the latter than others. Columns are tf-idf weights.

    Parameters
    ----------
    n_examples : int
        Number of documents, at least ``n_classes``.
    n_features : int
        Size of the vocabulary; rare words may occur in no document.
    n_classes : int
        At least 2. Class 0 is the largest; each has two examples or more if ``n_examples`` is at
        least twice ``n_classes``, otherwise one or more.
    words_per_example : float, default=60
        Mean length of a document; repeated words count each time, so rows hold fewer non-zeros.
    label_noise : float, default=0.05
        Share of documents whose text is about another class than their label says, a sibling if
        there is one.
    random_state : int, numpy.random.Generator or None, default=None
        An int gives the same corpus every time.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the values of `X`.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (n_examples, n_features)
        Rows of Euclidean length 1, indices strictly ascending.
    y : ndarray of shape (n_examples,), int64
        Classes from 0 to ``n_classes`` - 1, all of them present, in random order.

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If a size is not an integer.

    Examples
    --------
    >>> from manyclass.synthetic import make_text_corpus
    >>> X, y = make_text_corpus(1000, 5000, 20, random_state=0)
    >>> X.shape, y.shape, len(set(y.tolist()))
    ((1000, 5000), (1000,), 20)
    """
    dtype = np.dtype(dtype)
    sizes = _check(n_examples, n_features, n_classes, words_per_example, label_noise, dtype)
    n_examples, n_features, n_classes = sizes
    rng = np.random.default_rng(random_state)
    y = _labels(rng, n_examples, n_classes)
    topics = _Topics.draw(rng, n_features, n_classes)
    about = _about(rng, y, topics.group_of_class, label_noise)
    lengths = _lengths(rng, n_examples, words_per_example)
    X = _count_words(rng, topics, about, lengths, n_features, dtype)
    _weigh(X)
    return X, y


def _check(
    n_examples: int,
    n_features: int,
    n_classes: int,
    words_per_example: float,
    label_noise: float,
    dtype: np.dtype[Any],
) -> tuple[int, int, int]:
    """Refuse arguments out of range; return the sizes as Python's own integers."""
    n, d, k = map(operator.index, (n_examples, n_features, n_classes))
    if k < 2:
        raise ValueError(f"n_classes must be at least 2, got {k}")
    if not k <= n < MAX_INDEX:
        raise ValueError(f"n_examples must be from n_classes, {k}, to 2^31 - 2; got {n}")
    if not 1 <= d < MAX_INDEX:
        raise ValueError(f"n_features must be from 1 to 2^31 - 2, got {d}")
    if not 1 <= words_per_example <= 1e6:
        raise ValueError(f"words_per_example must be from 1 to 1e6, got {words_per_example}")
    if not 0 <= label_noise <= 1:
        raise ValueError(f"label_noise must be from 0 to 1, got {label_noise}")
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}")
    return n, d, k


@dataclass(frozen=True, slots=True, eq=False)
class _Topics:
    """Which words a subject uses, most frequent first; words are columns of X.

    common (n_features,): all words. group_words (n_groups, WORDS_OF_GROUP) and class_words
    (n_classes, WORDS_OF_CLASS): the same word may serve several. group_of_class (n_classes,).
    """

    common: npt.NDArray[np.int32]
    group_words: npt.NDArray[np.int32]
    class_words: npt.NDArray[np.int32]
    group_of_class: npt.NDArray[np.int64]

    @classmethod
    def draw(cls, rng: np.random.Generator, n_features: int, n_classes: int) -> Self:
        n_groups = max(1, round(n_classes**0.5))
        common = rng.permutation(n_features).astype(np.int32)
        return cls(
            common=common,
            group_words=common[_zipf(rng, n_features, (n_groups, WORDS_OF_GROUP), lowest=0.4)],
            class_words=common[_zipf(rng, n_features, (n_classes, WORDS_OF_CLASS), lowest=0.4)],
            group_of_class=rng.permutation(n_classes) % n_groups,
        )

    def words(
        self, rng: np.random.Generator, about: npt.NDArray[Any], topical: npt.NDArray[Any]
    ) -> npt.NDArray[np.int32]:
        """Draw a word for each entry: of the class ``about``, on topic with chance ``topical``."""
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
    """Draw ranks from 0 to n - 1, rank r with a chance of about 1 / (r + 1).

    ``lowest`` leaves out the most frequent n ** lowest ranks, as subjects have no say in those.
    """
    exponent = rng.random(shape, dtype=np.float32) * np.float32(1 - lowest) + np.float32(lowest)
    ranks = np.float64(n + 1) ** exponent - 1
    return np.minimum(ranks.astype(np.int64), n - 1)


def _labels(rng: np.random.Generator, n_examples: int, n_classes: int) -> npt.NDArray[np.int64]:
    """Classes of Zipf sizes, in random order."""
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
    """Return what each document is about: its label, or, where that is noise, a sibling of it.

    The noise is in the text and not in y, so that classes keep their sizes.
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
    """Words of each document: at least one, log-normal, with the mean that was asked for."""
    sigma = 0.5
    lengths = rng.lognormal(np.log(words_per_example) - sigma**2 / 2, sigma, n_examples)
    return np.maximum(1, np.rint(lengths)).astype(np.int64)


def _count_words(
    rng: np.random.Generator,
    topics: _Topics,
    about: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    n_features: int,
    dtype: np.dtype[Any],
) -> csr_array[Any]:
    """Write the documents and count their words."""
    ends = np.cumsum(lengths)
    index_dtype = np.int32 if ends[-1] <= MAX_INDEX else np.int64
    indptr = np.zeros(len(about) + 1, index_dtype)
    # Memory that isn't used in the end is never touched.
    indices, counts = np.empty(ends[-1], index_dtype), np.empty(ends[-1], dtype)
    topical = rng.beta(3, 3, len(about)).astype(np.float32)
    for rows in _blocks(ends):
        of_word = np.repeat(np.arange(rows.start, rows.stop), lengths[rows])
        words = topics.words(rng, about[of_word], topical[of_word])
        keys, times = np.unique((of_word - rows.start) * n_features + words, return_counts=True)
        begin = int(indptr[rows.start])
        end = begin + len(keys)
        indices[begin:end], counts[begin:end] = keys % n_features, times
        per_row = np.bincount(keys // n_features, minlength=rows.stop - rows.start)
        indptr[rows.start + 1 : rows.stop + 1] = begin + np.cumsum(per_row)
    indices.resize(indptr[-1], refcheck=False)
    counts.resize(indptr[-1], refcheck=False)
    X = csr_array((counts, indices, indptr), shape=(len(about), n_features))
    X.has_canonical_format = True
    return X


def _blocks(ends: npt.NDArray[np.integer[Any]]) -> list[slice]:
    """Cut rows that end at ``ends`` into blocks of about WORDS_AT_A_TIME, one row at least."""
    cuts = np.arange(WORDS_AT_A_TIME, ends[-1] + WORDS_AT_A_TIME, WORDS_AT_A_TIME)
    stops = np.unique(np.minimum(np.searchsorted(ends, cuts) + 1, len(ends)))
    return [slice(int(a), int(b)) for a, b in zip([0, *stops[:-1]], stops, strict=True)]


def _weigh(X: csr_array[Any]) -> None:
    """Turn counts into tf-idf weights of unit rows, in place."""
    n, d = X.shape
    documents = np.zeros(d, np.int64)
    blocks = _blocks(X.indptr[1:])
    for rows in blocks:
        part = slice(int(X.indptr[rows.start]), int(X.indptr[rows.stop]))
        documents += np.bincount(X.indices[part], minlength=d)
    idf = (np.log((1 + n) / (1 + documents)) + 1).astype(X.dtype)
    for rows in blocks:
        begins = X.indptr[rows.start : rows.stop]
        part = slice(int(begins[0]), int(X.indptr[rows.stop]))
        weights = (1 + np.log(X.data[part])) * idf[X.indices[part]]
        squares = np.add.reduceat(weights.astype(np.float64) ** 2, begins - begins[0])
        lengths = np.sqrt(squares).repeat(np.diff(X.indptr[rows.start : rows.stop + 1]))
        X.data[part] = weights / lengths
