"""What every linear classifier does once it is fitted: scores, classes, sparse coefficients."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

# Rows scored at a time: their scores are at most this many numbers.
SCORES_AT_A_TIME = 1 << 22


class LinearClassifier(ClassifierMixin):
    """Mixin for estimators with ``coef_``, ``intercept_``, ``classes_`` and ``n_jobs``."""

    coef_: Any
    intercept_: NDArray[Any]
    classes_: NDArray[Any]
    n_jobs: int | None

    def decision_function(self, X: ArrayLike) -> NDArray[Any]:
        """Score every class for every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) when binary
            w_c . x + intercept_c; when binary, positive for ``classes_[1]``.

        Raises
        ------
        ValueError
            If X has another number of features than in ``fit``, NaN or infinity.

        Examples
        --------
        >>> from manyclass import MulticlassSVC
        >>> model = MulticlassSVC().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
        >>> model.decision_function([[0.5]]).shape
        (1, 3)
        """
        rows = self._check_rows(X)
        n_scores = self.coef_.shape[0]
        scores = np.empty((rows.shape[0], n_scores), np.result_type(rows.dtype, self.coef_.dtype))

        def fill(part: slice) -> None:
            scores[part] = self._scores(rows[part])

        self._for_each_part(rows.shape[0], fill)
        return scores.ravel() if n_scores == 1 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class of every row, that of the largest score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples,)
            Entries of ``classes_``.

        Raises
        ------
        ValueError
            If X has another number of features than in ``fit``, NaN or infinity.

        Examples
        --------
        >>> from manyclass import MulticlassSVC
        >>> model = MulticlassSVC(C=10).fit([[-1.0], [1.0]], ["left", "right"])
        >>> model.predict([[-3.0], [2.0]]).tolist()
        ['left', 'right']
        """
        rows = self._check_rows(X)
        best = np.empty(rows.shape[0], np.intp)

        def fill(part: slice) -> None:
            scores = self._scores(rows[part])
            best[part] = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)

        self._for_each_part(rows.shape[0], fill)
        return np.asarray(self.classes_[best])

    def predict_top_k(self, X: ArrayLike, k: int) -> NDArray[Any]:
        """Predict the k best classes of every row, the best first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.
        k : int
            From 1 to the number of classes.

        Returns
        -------
        ndarray of shape (n_samples, k)
            Entries of ``classes_``; equal scores in the order of ``classes_``.

        Raises
        ------
        ValueError
            If k is out of range, or X as in ``predict``.

        Examples
        --------
        >>> from manyclass import MulticlassSVC
        >>> model = MulticlassSVC(C=10).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
        >>> model.predict_top_k([[2.0]], 2).tolist()
        [[2, 1]]
        """
        rows = self._check_rows(X)
        n_classes = len(self.classes_)
        if not 1 <= k <= n_classes:
            raise ValueError(f"k must be from 1 to {n_classes}, the number of classes; got {k}")
        best = np.empty((rows.shape[0], k), np.intp)

        def fill(part: slice) -> None:
            scores = self._scores(rows[part])
            if scores.shape[1] == 1:
                scores = np.hstack([np.zeros_like(scores), scores])
            best[part] = _top(scores, k)

        self._for_each_part(rows.shape[0], fill)
        return np.asarray(self.classes_[best])

    def sparsify(self) -> Self:
        """Turn ``coef_`` into a CSR array; smaller when most of it is zero.

        Returns
        -------
        self

        Examples
        --------
        >>> from manyclass import MulticlassSVC
        >>> MulticlassSVC().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]).sparsify().coef_.format
        'csr'
        """
        check_is_fitted(self)
        self.coef_ = sp.csr_array(self.coef_)
        return self

    def densify(self) -> Self:
        """Turn ``coef_`` back into an ndarray.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            self.coef_ = self.coef_.toarray(order="F")
        return self

    def _check_rows(self, X: ArrayLike) -> Any:
        check_is_fitted(self)
        return validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False
        )

    def _scores(self, X: Any) -> NDArray[Any]:
        product = X @ self.coef_.T
        if sp.issparse(product):
            product = product.toarray()
        return np.asarray(product + self.intercept_)

    def _for_each_part(self, n_rows: int, fill: Any) -> None:
        """Call ``fill`` for slices of all rows, in as many threads as n_jobs asks for."""
        n_jobs = effective_n_jobs(self.n_jobs)
        size = max(1, SCORES_AT_A_TIME // self.coef_.shape[0])
        if n_jobs > 1:
            size = min(size, max(1, -(-n_rows // n_jobs)))
        parts = [slice(begin, begin + size) for begin in range(0, n_rows, size)]
        if n_jobs == 1 or len(parts) == 1:
            for part in parts:
                fill(part)
            return
        with ThreadPoolExecutor(n_jobs) as threads:
            list(threads.map(fill, parts))


def _top(scores: NDArray[Any], k: int) -> NDArray[np.intp]:
    """Columns of the k largest scores of every row, the largest first, ties by column."""
    order = np.argsort(-scores, axis=1, kind="stable") if k == scores.shape[1] else None
    if order is not None:
        return order
    best = np.sort(np.argpartition(-scores, k - 1, axis=1)[:, :k], axis=1)
    chosen = np.take_along_axis(scores, best, axis=1)
    return np.take_along_axis(best, np.argsort(-chosen, axis=1, kind="stable"), axis=1)
