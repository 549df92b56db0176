"""TF-IDF weights of a corpus, whole or in blocks."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from manyclass.datasets.documents import Documents, blocks_of
from manyclass.utils.types import CsrArray, DType

MAX_INDEX = np.iinfo(np.int32).max


def joined(
    blocks: Iterable[tuple[slice, CsrArray]],
    shape: tuple[int, int],
    n_words: int,
    dtype: DType,
) -> CsrArray:
    """Put blocks of rows one below the other; ``n_words`` bounds their non-zeros."""
    index_dtype = np.int32 if n_words <= MAX_INDEX else np.int64
    indptr = np.zeros(shape[0] + 1, index_dtype)
    # Memory that isn't used in the end is never touched.
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
    """Write the documents twice: to learn how many use a word, and to weigh it by that."""
    rehearsal = documents.blocks(copy.deepcopy(rng))
    idf = idf_of(counts for _, counts in rehearsal)
    for rows, counts in documents.blocks(rng):
        X = counts.astype(dtype)
        X.has_canonical_format = True
        weigh(X, idf)
        yield X, documents.y[rows]


def idf_of(parts: Iterable[CsrArray]) -> npt.NDArray[np.float64]:
    """Weight of each word, from the number of rows that use it."""
    n_examples, n_using = 0, np.zeros(1, np.int64)
    for X in parts:
        n_examples += X.shape[0]
        for rows in blocks_of(X.indptr[1:]):  # bincount makes a wider copy
            indices = X.indices[X.indptr[rows.start] : X.indptr[rows.stop]]
            n_using = n_using + np.bincount(indices, minlength=X.shape[1])
    return np.log((1 + n_examples) / (1 + n_using)) + 1


def weigh(X: CsrArray, idf: npt.NDArray[np.float64]) -> None:
    """Turn counts into tf-idf weights of unit rows, in place."""
    idf = idf.astype(X.dtype)
    for rows in blocks_of(X.indptr[1:]):
        begins = X.indptr[rows.start : rows.stop]
        part = slice(int(begins[0]), int(X.indptr[rows.stop]))
        weights = (1 + np.log(X.data[part])) * idf[X.indices[part]]
        squares = np.add.reduceat(weights.astype(np.float64) ** 2, begins - begins[0])
        lengths = np.sqrt(squares).repeat(np.diff(X.indptr[rows.start : rows.stop + 1]))
        X.data[part] = weights / lengths
