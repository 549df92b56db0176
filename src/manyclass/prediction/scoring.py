"""Coefficients from W; scores and best classes of rows from them, in parts and in threads.

Conventions
-----------
``coef`` has the shape (k, d), with one row of weights per class. Dense coefficients are passed to
the compiled core as their transpose (d, k), which is the layout of training; sparse coefficients
are passed directly (sparse_coefficients.py). If only labels are needed, there is no array of n x k
numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from numbers import Real
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite

from manyclass import _core
from manyclass.prediction.sparse_coefficients import ENTRIES_AT_A_TIME, SparseCoefficients
from manyclass.utils.input_rows import is_sparse
from manyclass.utils.machine import core_class, instruction_set
from manyclass.utils.types import Array, CsrArray, DType, Rows

# Multiply-adds in one part, about a millisecond: signals are checked between parts, threads do not
# wait long for the last one, and less work does not justify a second thread.
WORK_AT_A_TIME = 1 << 22
CORE_DTYPES = (np.float32, np.float64)
# Non-zeros of rows in the sample that estimates the work.
SAMPLE = 1 << 16
Coefficients = Array | SparseCoefficients

# Raises ValueError if rows hold NaN or infinity.
Check = Callable[[Rows], None]
# Number of float64 scores in memory at a time.
SCORES_AT_A_TIME = 1 << 21


class Model(Protocol):
    """Coefficients that score rows."""

    dtype: DType

    def work(self, rows: Rows) -> float:
        """Return the approximate number of multiply-adds for all rows."""

    def scores(self, rows: Rows, part: slice, out: Array) -> None:
        """Write the scores of a part of the rows, shape (n, k)."""

    def labels(self, rows: Rows, part: slice, out: NDArray[np.int64]) -> None:
        """Write the best columns of a part of the rows, shape (n, top), the best first."""


class CoreModel:
    """Dense coefficients, by the compiled core.

    Dense rows are checked only if their scores are not finite, because checking all of X first
    would take a third of the time of scoring.
    """

    def __init__(self, coef: Array, intercept: Array, dtype: DType, check: Check) -> None:
        self.dtype = dtype
        self._check = check
        predictor_of = core_class("Predictor", dtype)
        self._predictor = predictor_of(
            np.ascontiguousarray(coef.T, dtype),
            np.ascontiguousarray(np.broadcast_to(intercept, coef.shape[0]), dtype),
            instruction_set(),
        )
        self._n_classes = coef.shape[0]

    def work(self, rows: Rows) -> float:
        """Return the number of multiply-adds for all rows."""
        entries = rows.nnz if is_sparse(rows) else rows.size
        return float(self._n_classes * (entries + rows.shape[0]))

    def scores(self, rows: Rows, part: slice, out: Array) -> None:
        """Write the scores of a part of the rows."""
        if is_sparse(rows):
            self._predictor.csr_scores(*_csr(rows, part, self.dtype), out)
        elif not self._predictor.dense_scores(np.ascontiguousarray(rows[part], self.dtype), out):
            self._check(rows[part])

    def labels(self, rows: Rows, part: slice, out: NDArray[np.int64]) -> None:
        """Write the best columns of a part of the rows; equal scores in the order of columns."""
        if is_sparse(rows):
            self._predictor.csr_labels(*_csr(rows, part, self.dtype), out)
        elif not self._predictor.dense_labels(np.ascontiguousarray(rows[part], self.dtype), out):
            self._check(rows[part])


class SparseCoreModel:
    """Sparse coefficients, by the compiled core; zeros of dense rows are skipped."""

    def __init__(self, coef: SparseCoefficients, intercept: Array, dtype: DType) -> None:
        self.dtype = dtype
        predictor_of: type = _core.SparsePredictor64
        if coef.dtype == np.float32:
            is_single = dtype == np.float32
            predictor_of = _core.SparsePredictor32 if is_single else _core.SparsePredictor64Of32
        intercepts = np.ascontiguousarray(np.broadcast_to(intercept, coef.shape[0]), dtype)
        self._predictor = predictor_of(coef.core, intercepts, instruction_set())
        self._coef = coef

    def work(self, rows: Rows) -> float:
        """Return the number of multiply-adds for all rows, from a sample of non-zeros."""
        n_classes, n_features = self._coef.shape
        if not is_sparse(rows):
            return float(rows.shape[0] * (self._coef.nnz + n_classes))
        sample = rows.indices[:: 1 + rows.nnz // SAMPLE].clip(0, n_features - 1)
        entries = self._coef.indptr[sample + 1] - self._coef.indptr[sample]
        return float(rows.shape[0] * n_classes + rows.nnz * (entries.mean() if rows.nnz else 0))

    def scores(self, rows: Rows, part: slice, out: Array) -> None:
        """Write the scores of a part of the rows."""
        self._predictor.csr_scores(*self._rows(rows, part), out)

    def labels(self, rows: Rows, part: slice, out: NDArray[np.int64]) -> None:
        """Write the best columns of a part of the rows; equal scores in the order of columns."""
        self._predictor.csr_labels(*self._rows(rows, part), out)

    def _rows(self, rows: Rows, part: slice) -> tuple[NDArray[np.int64], NDArray[np.int32], Array]:
        if is_sparse(rows):
            return _csr(rows, part, self.dtype)
        return _csr(sp.csr_array(rows[part]), slice(0, part.stop - part.start), self.dtype)


def _csr(
    rows: CsrArray, part: slice, dtype: DType
) -> tuple[NDArray[np.int64], NDArray[np.int32], Array]:
    """Return a part of CSR rows as arrays for the compiled core."""
    indptr = rows.indptr[part.start : part.stop + 1].astype(np.int64)
    entries = slice(indptr[0], indptr[-1])
    indices = rows.indices[entries]
    if indices.dtype != np.int32:
        # An index that does not fit into int32 would wrap to a different feature.
        indices = np.clip(indices, -1, np.iinfo(np.int32).max).astype(np.int32)
    values = np.ascontiguousarray(rows.data[entries], dtype)
    return indptr - indptr[0], np.ascontiguousarray(indices), values


class NumPyModel:
    """Dense coefficients of a dtype that the compiled core does not support, by NumPy."""

    def __init__(self, coef: Array, intercept: Array, dtype: DType) -> None:
        self.dtype = dtype
        self._weights = coef.T
        self._intercept = intercept

    def work(self, rows: Rows) -> float:
        """Return the number of scores, as their cost is unknown but they need memory."""
        return float(self._weights.shape[1] * rows.shape[0])

    def scores(self, rows: Rows, part: slice, out: Array) -> None:
        """Write the scores of a part of the rows."""
        out[:] = rows[part] @ self._weights
        out += self._intercept

    def labels(self, rows: Rows, part: slice, out: NDArray[np.int64]) -> None:
        """Write the best columns of a part of the rows; equal scores in the order of columns."""
        scores = np.empty((len(out), self._weights.shape[1]), self.dtype)
        self.scores(rows, part, scores)
        if out.shape[1] == 1:
            out[:] = scores.argmax(axis=1, keepdims=True)
        else:
            out[:] = np.argsort(-scores, axis=1, kind="stable")[:, : out.shape[1]]


def model_of(rows: Rows, coef: Coefficients, intercept: Array, check: Check) -> Model:
    """Return the scorer for rows and coefficients; check rows that the scorer does not check."""
    dtype = np.result_type(rows.dtype, coef.dtype)
    dense = not isinstance(coef, SparseCoefficients)
    if is_sparse(rows) or not (dense and dtype in CORE_DTYPES):
        check(rows)
    if isinstance(coef, SparseCoefficients):
        return SparseCoreModel(coef, intercept, dtype)
    if dtype not in CORE_DTYPES:
        return NumPyModel(coef, intercept, dtype)
    return CoreModel(coef, intercept, dtype, check)


def scores_of(
    rows: Rows,
    coef: Coefficients,
    intercept: Array,
    n_jobs: int,
    check: Check = assert_all_finite,
) -> Array:
    """Compute the score of every class for every row.

    Parameters
    ----------
    rows : ndarray or CSR of shape (n, d)
    coef : ndarray or SparseCoefficients of shape (k, d)
    intercept : ndarray of shape (k,)
    n_jobs : int
        Threads.
    check : callable, default=sklearn.utils.assert_all_finite
        Called with rows that may hold NaN or infinity; raises if they do.

    Returns
    -------
    ndarray of shape (n, k)

    Raises
    ------
    ValueError
        If the rows are not a valid CSR matrix, or if ``check`` raises it.
    """
    model = model_of(rows, coef, intercept, check)
    out = np.empty((rows.shape[0], coef.shape[0]), model.dtype)
    _fill(out, partial(model.scores, rows), model.work(rows), n_jobs)
    return out


def best_classes(
    rows: Rows,
    coef: Coefficients,
    intercept: Array,
    top: int,
    n_jobs: int,
    check: Check = assert_all_finite,
) -> NDArray[np.int64]:
    """Find the classes with the largest scores for every row.

    Parameters
    ----------
    rows, coef, intercept, n_jobs, check
        As in ``scores_of``; binary coefficients have the shape (1, d).
    top : int
        Number of classes, from 1 to k.

    Returns
    -------
    ndarray of shape (n, top), int64
        The largest score first, equal scores in the order of the classes.
    """
    if coef.shape[0] == 1:
        positive = (scores_of(rows, coef, intercept, n_jobs, check) > 0).astype(np.int64)
        return np.hstack([positive, 1 - positive])[:, :top]
    model = model_of(rows, coef, intercept, check)
    out = np.empty((rows.shape[0], top), np.int64)
    _fill(out, partial(model.labels, rows), model.work(rows), n_jobs)
    return out


def _fill(out: Array, write: Callable[[slice, Array], None], work: float, n_jobs: int) -> None:
    """Write rows of an array in equal parts, as many for each thread."""
    count = -(-work // WORK_AT_A_TIME)
    if count > 1:
        count = -(-count // n_jobs) * n_jobs
    n_rows = len(out)
    size = max(1, -int(-n_rows // max(1, count)))
    parts = [slice(begin, min(begin + size, n_rows)) for begin in range(0, n_rows, size)]
    if n_jobs == 1 or len(parts) == 1:
        for part in parts:
            write(part, out[part])
    else:
        _for_each(parts, lambda part: write(part, out[part]), n_jobs)


def _for_each(parts: list[slice], fill: Callable[[slice], None], n_jobs: int) -> None:
    """Call ``fill`` for every part in threads, including the caller's."""
    queue = iter(parts)

    def work() -> None:
        for part in queue:
            fill(part)

    with ThreadPoolExecutor(n_jobs - 1) as threads:
        others = [threads.submit(work) for _ in range(min(n_jobs, len(parts)) - 1)]
        try:
            work()
        finally:
            list(queue)  # after an error or Ctrl-C in this thread, the others stop
        for other in others:
            other.result()


def split_weights(
    W: Array | CsrArray, bias: float, *, one_is_enough: bool = False
) -> tuple[Coefficients, Array]:
    """Turn W into coefficients and intercepts.

    Parameters
    ----------
    W : ndarray or CSR array of shape (d + 1, k)
    bias : float
        Value of the appended feature; 0 = no intercept.
    one_is_enough : bool, default=False
        For k = 2: whether the coefficients are the weights of the second class instead of the
        difference.

    Returns
    -------
    coef : ndarray of shape (k, d), or (1, d) when k = 2; or SparseCoefficients
    intercept : ndarray of shape (k,) or (1,)
    """
    if W.shape[1] == 2:
        W = W[:, 1:] if one_is_enough else W[:, 1:] - W[:, :1]
    if isinstance(W, np.ndarray):
        return W[:-1].T, bias * W[-1]
    coef = SparseCoefficients.from_rows(W, W.shape[0] - 1)
    return coef, bias * W[-1:].toarray().ravel()


def join_weights(coef: Coefficients, intercept: Array, bias: float) -> Array | CsrArray:
    """Turn coefficients and intercepts into W, shape (d + 1, k).

    For k = 2, they are split evenly between the two classes.
    """
    halves = np.array([-0.5, 0.5], coef.dtype)
    last = intercept / bias if bias else np.zeros_like(intercept)
    if isinstance(coef, SparseCoefficients):
        W = sp.vstack([coef.by_feature(), sp.csr_array(last[None])], format="csr")
        return sp.csr_array(W @ sp.csr_array(halves[None])) if coef.shape[0] == 1 else W
    W = np.vstack([coef.T, last[None].astype(coef.dtype)])
    return W * halves if coef.shape[0] == 1 else W


def thresholded(coef: Coefficients, threshold: float) -> SparseCoefficients:
    """Return the coefficients with a magnitude above a threshold.

    Raises
    ------
    ValueError
        If the threshold is negative or not a number.
    """
    if not isinstance(threshold, Real) or not threshold >= 0:
        raise ValueError(f"threshold must be a non-negative number, got {threshold!r}")
    if isinstance(coef, SparseCoefficients):
        return coef.thresholded(threshold)
    return SparseCoefficients.from_dense(coef, threshold)


def count_nonzero(coef: Coefficients) -> int:
    """Count the non-zero coefficients."""
    values = coef.values if isinstance(coef, SparseCoefficients) else coef
    return int(np.count_nonzero(values))


def density(coef: Coefficients) -> float:
    """Return the fraction of non-zero coefficients."""
    return float(count_nonzero(coef) / (coef.shape[0] * coef.shape[1]))


def squared_norm(coef: Coefficients) -> float:
    """Return the sum of squares in float64; for a dense array, in memory order."""
    if isinstance(coef, SparseCoefficients):
        flat = coef.values
        parts = [
            flat[begin : begin + ENTRIES_AT_A_TIME]
            for begin in range(0, len(flat), ENTRIES_AT_A_TIME)
        ]
    else:
        step = max(1, ENTRIES_AT_A_TIME // coef.shape[0])
        parts = [coef[:, begin : begin + step] for begin in range(0, coef.shape[1], step)]
    return float(sum(np.sum(np.square(part, dtype=np.float64)) for part in parts))
