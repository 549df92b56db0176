"""What every linear classifier does once it is fitted: scores, classes, sparse coefficients."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted, validate_data

from manyclass.prediction import labels_of, scores_of
from manyclass.threads import effective_n_jobs


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
        scores = self._scores(self._check_rows(X))
        return scores.ravel() if scores.shape[1] == 1 else scores

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
        best = self._labels(self._check_rows(X), 1)
        return np.asarray(self.classes_[best[:, 0]])

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
        return np.asarray(self.classes_[self._labels(rows, k)])

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
            self,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            reset=False,
            ensure_all_finite=False,  # NaN and infinity are found where rows are scored
        )

    def _check_finite(self, rows: Any) -> None:
        assert_all_finite(rows, estimator_name=type(self).__name__, input_name="X")

    def _scores(self, rows: Any) -> NDArray[Any]:
        n_jobs = effective_n_jobs(self.n_jobs)
        return scores_of(rows, self.coef_, self.intercept_, n_jobs, self._check_finite)

    def _labels(self, rows: Any, top: int) -> NDArray[np.int64]:
        """Positions in ``classes_`` of the best classes of every row, shape (n, top)."""
        if self.coef_.shape[0] == 1:
            positive = (self._scores(rows) > 0).astype(np.int64)
            return np.hstack([positive, 1 - positive])[:, :top]
        n_jobs = effective_n_jobs(self.n_jobs)
        return labels_of(rows, self.coef_, self.intercept_, top, n_jobs, self._check_finite)
