"""Methods of every fitted linear classifier: scores, classes, sparse weights."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted, validate_data

from manyclass.arrays.input_arrays import on_host, rows_on_device
from manyclass.arrays.namespace import is_on_device
from manyclass.arrays.places.host_rows import HostRows
from manyclass.arrays.prediction import best_on_device, like, scores_on_device
from manyclass.estimators.coefficients import Plain, as_sklearn_classifier
from manyclass.estimators.costs import Costs, without_frame
from manyclass.estimators.decisions import ScoringModel, decided
from manyclass.estimators.fitted_weights import FittedWeights
from manyclass.estimators.validation import check_parameters
from manyclass.prediction.scoring import best_classes, scores_of
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from manyclass.problem.dataset import Dataset
from manyclass.utils.input_rows import rows_as_given
from manyclass.utils.labels import labels_of
from manyclass.utils.machine import effective_n_jobs
from manyclass.utils.scikit_learn import explain_rows, named_rows
from manyclass.utils.types import Array, ClassWeight, Label, Rows, RowsLike, Settings
from manyclass.utils.user_warning import warn_user

if TYPE_CHECKING:
    from sklearn.utils import Tags

# Rows that are checked for a model that predicts one class: from all rows, and from rows of other
# classes; the share of the latter that may get one of the other classes.
LOOKED_AT, OTHERS_LOOKED_AT = 200, 1000
NEARLY = 0.1


class TrainedModel(ScoringModel, Protocol):
    """A trained model, with advice for its parameters."""

    class_weight: ClassWeight

    @property
    def _remedies(self) -> list[str]: ...


class LinearClassifier(FittedWeights, ClassifierMixin):
    """Mixin for estimators with ``coef_``, ``intercept_``, ``classes_`` and ``n_jobs``."""

    n_iter_: int
    n_jobs: int | None

    def __getstate__(self) -> Settings:
        """Return the attributes for pickle and skops."""
        state: Settings = super().__getstate__()
        return {**state, "costs": without_frame(self.costs)} if hasattr(self, "costs") else state

    def decision_function(self, X: RowsLike) -> Array:
        """Compute the score of every class for every row.

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
            If the number of features of X differs from ``fit``, or X holds NaN or infinity.

        Examples
        --------
        >>> from manyclass import MulticlassSVC
        >>> model = MulticlassSVC().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
        >>> model.decision_function([[0.5]]).shape
        (1, 3)
        """
        now = self._as_of_now()
        scores = now._scores(now._check_rows(X))
        return like(X, scores.ravel() if scores.shape[1] == 1 else scores)

    def predict(
        self,
        X: RowsLike,
        *,
        costs: Costs | None = None,
        reject: float | None = None,
        reject_label: Label | None = None,
    ) -> Array:
        """Predict the class with the largest score or the least expected cost for every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.
        costs : array-like of shape (n_classes, n_classes), dict of dicts or Taxonomy, default=None
            Costs of mistakes, finite and at least 0. Array: row j, column c for predicting
            ``classes_[c]`` if ``classes_[j]`` is true; 0 on the diagonal. Dict:
            ``costs[true][predicted]`` by label; missing pairs cost 1. DataFrame: by the labels of
            its index (true) and its columns (predicted). Needs a model with ``predict_proba``
            and up to 4,096 classes.
        reject : float, default=None
            Rows with a smaller confidence get ``reject_label``. Confidence is the largest
            probability or, for a model without ``predict_proba``, the largest score minus the
            second.
        reject_label : label, default=None
            Must not be a class. None: "" if classes are text, -1 if they are numbers.

        Returns
        -------
        ndarray of shape (n_samples,)
            Entries of ``classes_`` and the label of rejected rows, of a dtype that holds both.

        Raises
        ------
        ValueError
            If the number of features of X differs from ``fit``, or X holds NaN or infinity; if
            costs are given to a model without probabilities, do not fit the classes or are
            negative; if the threshold is negative, or above 1 with probabilities; or
            ``reject_label`` is a class.

        Notes
        -----
        Costs in ``predict`` do not change the weights. Sources: Duda, Hart, Stork 2001, sec. 2.2;
        Chow 1970, eq. 1.

        Examples
        --------
        >>> from manyclass import MulticlassSVC
        >>> model = MulticlassSVC(C=10).fit([[-1.0], [1.0]], ["left", "right"])
        >>> model.predict([[-3.0], [2.0]]).tolist()
        ['left', 'right']
        >>> model.predict([[-3.0], [0.1]], reject=0.5).tolist()
        ['left', '']
        """
        now = self._as_of_now()
        if costs is not None or reject is not None or reject_label is not None:
            return like(X, decided(now, now._check_rows(X), costs, reject, reject_label))
        best = now._labels(now._check_rows(X), 1)
        return like(X, np.asarray(now.classes_[best[:, 0]]))

    def score(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Compute the accuracy: the fraction of rows that are predicted correctly.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.
        y : array-like of shape (n_samples,)
            True labels, of any type that ``fit`` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            From 0 to 1.

        Raises
        ------
        ValueError
            If ``predict`` does not accept X, ``fit`` does not accept y, or they differ in length.

        Examples
        --------
        >>> from manyclass import MulticlassSVC
        >>> model = MulticlassSVC(C=10).fit([[-1.0], [1.0]], ["left", "right"])
        >>> model.score([[-3.0], [2.0]], ["left", "left"])
        0.5
        """
        labels, weights = labels_of(on_host(y)), on_host(sample_weight, "sample_weight")
        found = on_host(self.predict(X))
        return float(accuracy_score(labels, found, sample_weight=weights))

    def predict_top_k(self, X: RowsLike, k: int) -> Array:
        """Predict the k classes with the largest scores for every row, the best first.

        Scores are computed for a few rows at a time, and only the best are kept. A million rows
        with 30,000 classes need memory for their k labels, not for 3e10 scores.

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
            If k is out of range, or ``predict`` does not accept X.

        Examples
        --------
        >>> from manyclass import MulticlassSVC
        >>> model = MulticlassSVC(C=10).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
        >>> model.predict_top_k([[2.0]], 2).tolist()
        [[2, 1]]
        """
        now = self._as_of_now()
        rows = now._check_rows(X)
        n_classes = len(now.classes_)
        if not 1 <= k <= n_classes:
            raise ValueError(f"k must be from 1 to {n_classes}, the number of classes; got {k}")
        return like(X, np.asarray(now.classes_[now._labels(rows, k)]))

    def to_sklearn(self) -> Plain:
        """Return a fitted estimator of scikit-learn that predicts the same without this package.

        Its scores equal the scores of this model up to rounding. Fitting it again solves
        scikit-learn's own problem. Parameters with the same meaning are kept.

        Returns
        -------
        sklearn.svm.LinearSVC, sklearn.linear_model.LogisticRegression or SGDClassifier
            LogisticRegression for models with probabilities, which stay the same; SGDClassifier for
            a StochasticClassifier without probabilities; else LinearSVC. With copies of ``coef_``
            (a CSR array stays one), ``intercept_`` and ``classes_``.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If this model is not fitted.

        Examples
        --------
        >>> from manyclass import MulticlassSVC
        >>> model = MulticlassSVC(C=10).fit([[-1.0], [1.0]], ["left", "right"])
        >>> plain = model.to_sklearn()
        >>> type(plain).__name__, plain.predict([[-3.0], [2.0]]).tolist()
        ('LinearSVC', ['left', 'right'])
        """
        check_is_fitted(self)
        return as_sklearn_classifier(self._as_of_now())

    def _check_rows(self, X: RowsLike) -> Rows:
        check_is_fitted(self)
        if isinstance(X, HostRows):
            X = X.read(slice(None))
        if not isinstance(X, np.ndarray) and is_on_device(X):
            return rows_on_device(self, X, reset=False, finite=False)
        given, types = rows_as_given(X, indices=False)  # the core checks them
        check = validate_data if given is X else partial(named_rows, X)
        return check(
            self,
            given,
            accept_sparse="csr",
            dtype=types,
            reset=False,
            ensure_all_finite=False,  # NaN and infinity are found when rows are scored
        )

    def _validate_params(self) -> None:
        check_parameters(self)

    def _check_finite(self, rows: Rows, part: Rows | None = None) -> None:
        """Refuse NaN and infinity in a part of the rows, or all; rows on a device are left out."""
        if not isinstance(rows, np.ndarray) and is_on_device(rows):
            return
        try:
            assert_all_finite(rows if part is None else part, input_name="X")
        except ValueError as error:
            explain_rows(error, rows, getattr(self, "feature_names_in_", None))
            raise

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of scikit-learn: sparse input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _scores(self, rows: Rows) -> Array:
        if not isinstance(rows, np.ndarray) and is_on_device(rows):
            return scores_on_device(rows, self._dense(), self.intercept_)
        n_jobs = effective_n_jobs(self.n_jobs)
        check = partial(self._check_finite, rows)
        return scores_of(rows, self._coefficients, self.intercept_, n_jobs, check)

    def _dense(self) -> Array:
        """Return the weights as an ndarray."""
        coef = self._coefficients
        return coef.toarray() if isinstance(coef, SparseCoefficients) else coef

    def _labels(self, rows: Rows, top: int) -> NDArray[np.int64]:
        """Return positions in ``classes_`` of the best classes of every row, shape (n, top)."""
        if not isinstance(rows, np.ndarray) and is_on_device(rows):
            return best_on_device(rows, self._dense(), self.intercept_, top)
        n_jobs = effective_n_jobs(self.n_jobs)
        coef, check = self._coefficients, partial(self._check_finite, rows)
        return best_classes(rows, coef, self.intercept_, top, n_jobs, check)


def warn_of_one_class(model: TrainedModel, data: Dataset) -> None:
    """Warn of a model that predicts one class for nearly all training rows of several classes.

    If classes overlap and one is frequent, the optimum of the largest hinge loss may be W near 0:
    the certificate is correct, but the model is useless. A few rows show it.
    """
    if not data.n_examples:
        return
    given = _given(model, data, np.arange(data.n_examples), LOOKED_AT)
    number = int(np.bincount(given).argmax())
    others = np.flatnonzero(data.labels != number)
    if (given != number).mean() > NEARLY or not len(others):
        return
    if (_given(model, data, others, OTHERS_LOOKED_AT) != number).mean() <= NEARLY:
        weights = [] if model.class_weight is not None else ["class_weight='balanced'"]
        *remedies, last = weights + model._remedies
        warn_user(
            f"nearly all training rows are given class {model.classes_[number]!s}, though "
            f"{100 * len(others) / data.n_examples:.2g} % are of other classes, which may be the "
            f"optimum where classes overlap; try {', '.join(remedies)} or {last}"
        )


def _given(
    model: ScoringModel, data: Dataset, rows: NDArray[np.intp], most: int
) -> NDArray[np.int64]:
    """Return the predicted class numbers of some rows, evenly spread."""
    some = rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(np.intp)]
    return np.asarray(model._labels(data.rows(some), 1)).ravel()
