"""Synthetic text corpora of any size, for demonstrations, tests and benchmarks."""

from __future__ import annotations

import operator
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from manyclass.datasets.documents import (
    MAX_INDEX,
    Documents,
    idf_of,
    joined,
    weigh,
    weighted_blocks,
)
from manyclass.utils.types import CsrArray, DType, Settings

__all__ = ["corpus_shape", "iter_text_corpus", "make_text_corpus"]
# Examples, features and classes of the training sets in table 2 of Alber et al. 2017 (lshtc) and
# table I of Chen et al. 2011; words for rows of the same length; topic share and label noise for
# similar error rates.
CORPORA = {
    "lshtc-small": (4_463, 51_033, 1_139, 95.0, 0.2, 0.05),
    "lshtc-large": (128_710, 381_581, 12_294, 95.0, 0.13, 0.05),
    "lshtc-2012": (383_408, 575_555, 11_947, 95.0, 0.13, 0.05),
    "lshtc-2011": (394_754, 594_158, 27_875, 95.0, 0.13, 0.05),
    "rcv1-4": (665_265, 47_236, 4, 93.5, 0.32, 0.01),
    "rcv1-53": (518_571, 47_236, 53, 80.0, 0.26, 0.04),
    "odp": (569_068, 61_016, 11, 259.0, 0.07, 0.05),
}


def make_text_corpus(
    n_examples: int,
    n_features: int,
    n_classes: int,
    *,
    words_per_example: float = 60,
    topic_share: float = 0.5,
    label_noise: float = 0.05,
    random_state: int | np.random.Generator | None = None,
    dtype: npt.DTypeLike = np.float32,
) -> tuple[CsrArray, npt.NDArray[np.int64]]:
    """Generate a synthetic corpus of documents in many classes, with the statistics of real text.

    Word frequencies and class sizes follow Zipf's law. Classes form groups of siblings; there are
    about as many groups as classes in a group. A document mixes common words, words of its group
    and words of its class; the share of words on topic varies between documents. Columns are tf-idf
    weights.

    Parameters
    ----------
    n_examples : int
        Number of documents, at least ``n_classes``.
    n_features : int
        Size of the vocabulary; rare words may occur in no document.
    n_classes : int
        Number of classes, at least 2. Class 0 is the largest. Each class has at least two examples
        if ``n_examples`` is at least twice ``n_classes``, otherwise at least one.
    words_per_example : float, default=60
        Mean length of a document; repeated words count each time, so rows hold fewer non-zeros.
    topic_share : float, default=0.5
        Mean share of a document's words that belong to its group or class, above 0 and below 1.
        Classes are harder to separate with a smaller share.
    label_noise : float, default=0.05
        Share of documents with a text about a different class than their label, a sibling class if
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

    See Also
    --------
    iter_text_corpus : The same corpus in blocks, for sizes larger than the memory.
    corpus_shape : Arguments that resemble real corpora.

    Examples
    --------
    >>> from manyclass.datasets import make_text_corpus
    >>> X, y = make_text_corpus(1000, 5000, 20, random_state=0)
    >>> X.shape, y.shape, len(set(y.tolist()))
    ((1000, 5000), (1000,), 20)
    """
    rng = np.random.default_rng(random_state)
    sizes = _sizes(n_examples, n_features, n_classes)
    _check(words_per_example, topic_share, label_noise)
    dtype = _float_type(dtype)
    documents = Documents.draw(rng, sizes, words_per_example, topic_share, label_noise)
    X = joined(documents.blocks(rng), (sizes[0], sizes[1]), int(documents.lengths.sum()), dtype)
    weigh(X, idf_of([X]))
    return X, documents.y


def iter_text_corpus(
    n_examples: int,
    n_features: int,
    n_classes: int,
    *,
    words_per_example: float = 60,
    topic_share: float = 0.5,
    label_noise: float = 0.05,
    random_state: int | np.random.Generator | None = None,
    dtype: npt.DTypeLike = np.float32,
) -> Iterator[tuple[CsrArray, npt.NDArray[np.int64]]]:
    """Generate the corpus of ``make_text_corpus`` in blocks of rows of about 10 MB.

    The concatenated blocks equal the result of ``make_text_corpus`` with the same arguments. Words
    are drawn twice, first to count the documents of each word. In addition to a block, this needs
    about 30 bytes of memory per document, a few hundred per class and 20 per feature.

    Parameters
    ----------
    n_examples, n_features, n_classes, words_per_example, topic_share, label_noise, random_state, \
dtype
        See ``make_text_corpus``. A Generator advances while blocks are iterated.

    Yields
    ------
    X : scipy.sparse.csr_array of shape (n_rows, n_features)
        The next rows.
    y : ndarray of shape (n_rows,), int64
        Classes of the rows.

    Raises
    ------
    ValueError
        If an argument is out of range; raised by the call, not by the first iteration.
    TypeError
        If a size is not an integer.

    Examples
    --------
    Write a file in svmlight format, block by block:

    >>> import tempfile
    >>> from sklearn.datasets import dump_svmlight_file
    >>> from manyclass.datasets import iter_text_corpus
    >>> with tempfile.TemporaryFile() as file:
    ...     for X, y in iter_text_corpus(1000, 5000, 20, random_state=0):
    ...         dump_svmlight_file(X, y, file, zero_based=False)
    ...     size = file.tell()
    >>> size > 100_000
    True
    """
    rng = np.random.default_rng(random_state)
    sizes = _sizes(n_examples, n_features, n_classes)
    _check(words_per_example, topic_share, label_noise)
    dtype = _float_type(dtype)
    documents = Documents.draw(rng, sizes, words_per_example, topic_share, label_noise)
    return weighted_blocks(documents, rng, dtype)


def corpus_shape(name: str, scale: float = 1.0) -> Settings:
    """Return the arguments of ``make_text_corpus`` that resemble a real corpus.

    The numbers of examples, features and classes equal the real training sets, times ``scale``;
    rows have a similar length. Classes are similarly hard to separate: on the LSHTC corpora (table
    2 of Alber et al. 2017), the errors of Crammer-Singer, Weston-Watkins and one-vs-rest at C = 1
    are within some percentage points of table 3; on the others (table I of Chen et al. 2011), the
    multi-class SVM reaches the accuracies of figures 1 to 4: 97 % (rcv1-4), 89 % (rcv1-53) and
    about 70 % (odp).

    Parameters
    ----------
    name : {"lshtc-small", "lshtc-large", "lshtc-2012", "lshtc-2011", "rcv1-4", "rcv1-53", "odp"}
    scale : float, default=1.0
        Factor of all three sizes; positive.

    Returns
    -------
    dict
        ``n_examples``, ``n_features``, ``n_classes``, ``words_per_example``, ``topic_share`` and
        ``label_noise``.

    Raises
    ------
    ValueError
        If the name is unknown, or ``scale`` is not a positive number.

    Examples
    --------
    >>> from manyclass.datasets import corpus_shape, make_text_corpus
    >>> X, y = make_text_corpus(**corpus_shape("lshtc-large", scale=0.01), random_state=0)
    >>> X.shape
    (1287, 3816)
    """
    if name not in CORPORA:
        raise ValueError(f"name must be one of {', '.join(CORPORA)}; got {name!r}")
    if not 0 < scale < np.inf:
        raise ValueError(f"scale must be a positive number, got {scale}")
    *sizes, words_per_example, topic_share, label_noise = CORPORA[name]
    n_examples, n_features, n_classes = (max(2, round(scale * size)) for size in sizes)
    return {
        "n_examples": n_examples,
        "n_features": n_features,
        "n_classes": n_classes,
        "words_per_example": words_per_example,
        "topic_share": topic_share,
        "label_noise": label_noise,
    }


def _sizes(n_examples: int, n_features: int, n_classes: int) -> tuple[int, int, int]:
    """Refuse sizes out of range; return them as Python integers."""
    n, d, k = map(operator.index, (n_examples, n_features, n_classes))
    if k < 2:
        raise ValueError(f"n_classes must be at least 2, got {k}")
    if not k <= n < MAX_INDEX:
        raise ValueError(f"n_examples must be from n_classes, {k}, to 2^31 - 2; got {n}")
    if not 1 <= d < MAX_INDEX:
        raise ValueError(f"n_features must be from 1 to 2^31 - 2, got {d}")
    return n, d, k


def _check(words_per_example: float, topic_share: float, label_noise: float) -> None:
    """Refuse numbers out of range."""
    if not 1 <= words_per_example <= 1e6:
        raise ValueError(f"words_per_example must be from 1 to 1e6, got {words_per_example}")
    if not 0 < topic_share < 1:
        raise ValueError(f"topic_share must be above 0 and below 1, got {topic_share}")
    if not 0 <= label_noise <= 1:
        raise ValueError(f"label_noise must be from 0 to 1, got {label_noise}")


def _float_type(dtype: npt.DTypeLike) -> DType:
    """Refuse types other than float32 and float64."""
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}")
    return dtype
