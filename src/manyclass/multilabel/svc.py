"""The multi-label support vector machine, a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted

from manyclass.arrays.input_arrays import on_host
from manyclass.arrays.prediction import like
from manyclass.estimators.linear import LinearClassifier
from manyclass.estimators.parameters.documented import documented
from manyclass.estimators.validation import input_restored
from manyclass.multilabel.label_sets import (
    LabelSets,
    decoded,
    encoded,
    holds_sets_of_labels,
    is_dense,
)
from manyclass.multilabel.thresholds import thresholds_of
from manyclass.multilabel.to_sklearn import as_one_vs_rest_classifier
from manyclass.multilabel.training import Labelled, Trained, trained, wants_sparse
from manyclass.multilabel.validation import checked_sets
from manyclass.multilabel.warm_start import LabelStart
from manyclass.prediction.sparse_coefficients import SparseCoefficients
from manyclass.problem.solution import Certificate, Start, Status
from manyclass.training.epoch_loop import Options
from manyclass.training.row_matching import Prints, row_prints
from manyclass.utils.machine import effective_n_jobs
from manyclass.utils.scikit_learn import fit_context, suggests_parameters
from manyclass.utils.suggestions import OF_MULTILABEL
from manyclass.utils.types import (
    Array,
    CsrArray,
    Label,
    LossName,
    Rows,
    RowsLike,
    Settings,
    Threshold,
    WeightsName,
)
from manyclass.utils.user_warning import warn_user

if TYPE_CHECKING:
    from sklearn.utils import Tags

# Number of scores in memory at a time during prediction.
SCORES_AT_A_TIME = 1 << 22


@documented()
class MultilabelSVC(LinearClassifier, BaseEstimator):
    """Multi-label linear support vector machine: one binary SVM per label, with a certificate.

    Solves, for examples x_i with the labels Y_i, and every label c,

        min_w_c  1/2 ||w_c||^2 + sum_i C_i loss(1 - s_ic w_c . x_i),   s_ic = 1 if c in Y_i else -1

    with C_i = C * sample_weight_i, by the sequential dual method, until the relative duality gap is
    at most ``tol``. The predicted labels of a row are the labels with a score above their
    threshold.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Loss of a margin.
    max_iter : int, default=1000
        Maximum number of epochs per group of labels.
    warm_start : bool, default=False
        Whether the next fit starts from the dual variables of this one, for the rows and labels
        that are there again. Thresholds are tuned again. Ignored if X is on a device.
    weights : {"auto", "dense", "sparse"}, default="auto"
        Storage of ``coef_``. "auto" chooses sparse weights if dense ones would need more than a
        quarter of the memory. In both cases, labels are trained in groups of at most 32.
    n_jobs : int, default=None
        Threads (None = 1, -1 = all cores) for training and prediction. In training, each thread
        trains a group of labels.
    random_state : int, RandomState instance, default=None
        Orders the updates, and draws the folds. An int gives the same result every time, for any
        `n_jobs` up to the number of groups.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels: column names, column numbers, or the labels in the sets, ascending.
    coef_ : ndarray or CSR array of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
    thresholds_ : ndarray of shape (n_labels,)
    learnt_from_sets_ : bool
        Whether `fit` was given label sets.
    predicts_sparse_ : bool
        Whether ``predict`` returns a CSR array.
    certificate_ : Certificate
        The sum over the labels; None if `prune` has changed the weights.
    n_iter_ : int
        Largest number of epochs of a group of labels.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Only if X had string column names.

    Notes
    -----
    If all training rows have a label, or none has it, the label is not trained, and ``fit`` warns.
    Its weights are 0, its intercept is 1 or -1, and its threshold is 0 for any `threshold`.

    See Also
    --------
    sklearn.multiclass.OneVsRestClassifier : With ``LinearSVC(loss="hinge")``, the same problem.

    Examples
    --------
    >>> from manyclass import MultilabelSVC
    >>> X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    >>> Y = [{"red"}, {"round"}, {"red", "round"}, set()]
    >>> model = MultilabelSVC(C=10, random_state=0).fit(X, Y)
    >>> [sorted(labels) for labels in model.predict_labels(X)]
    [['red'], ['round'], ['red', 'round'], []]
    """

    @suggests_parameters(OF_MULTILABEL)
    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: LossName = "hinge",
        threshold: Threshold = "zero",
        n_folds: int = 5,
        tol: float = 1e-3,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        max_iter: int = 1000,
        warm_start: bool = False,
        weights: WeightsName = "auto",
        prune: float = 0.0,
        device: str | Sequence[str] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.threshold = threshold
        self.n_folds = n_folds
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.weights = weights
        self.prune = prune
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state

    certificate_: Certificate
    thresholds_: NDArray[np.float64]
    n_iter_: int
    predicts_sparse_: bool
    learnt_from_sets_: bool
    _warm_start: LabelStart

    @fit_context
    def fit(self, X: RowsLike, y: LabelSets, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training examples. float32 gives float32 weights, any other dtype float64. If `tol` is
            1e-5 or more and all values are 0 or of magnitude 1/256 to 256 and exact in float32,
            training uses float32.
        y : {array-like, sparse matrix, data frame} of shape (n_samples, n_labels), or sequence
            A matrix of 0 and 1, or for every row the set (list, tuple) of its labels, which may be
            empty. Lists of equal length with only 0 and 1 are a matrix.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. A weight of 2 equals two copies of the row; a weight of 0 leaves
            the row out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X or y have the wrong shape, hold NaN or infinity, there is no label, or a weight is
            negative.
        FloatingPointError
            If the weights overflow.
        MemoryError
            If the weights do not fit into memory.
        """
        y = on_host(y)
        with input_restored(self):
            labelled, classes = checked_sets(
                self, X, y, sample_weight, bias=self._bias, C=float(self.C), loss=self.loss
            )
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            options = Options(
                tol=float(self.tol),
                max_iter=self.max_iter,
                n_jobs=effective_n_jobs(self.n_jobs),
                keeps_duals=False,
            )
            prints, start = self._begin(labelled, classes, options.n_jobs)
            found = trained(
                labelled,
                replace(options, keeps_duals=prints is not None),
                seed,
                sparse=wants_sparse(labelled, self.weights),
                prune=float(self.prune),
                start=start,
            )
            thresholds = thresholds_of(labelled, self.threshold, options, seed, self.n_folds)
            self._adopt(labelled, found, classes, thresholds)
            self.__dict__.pop("_warm_start", None)
            if prints is not None:
                known = labelled, found.duals, classes, prints
                self._warm_start = LabelStart.from_training(*known)
            self.predicts_sparse_ = not is_dense(y)
            self.learnt_from_sets_ = holds_sets_of_labels(y)
        self._warn(labelled, found)
        return self

    def decision_function(self, X: RowsLike) -> Array:
        """Compute the score of every label for every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            w_c . x + intercept_c; two-dimensional for a single label, too.

        Raises
        ------
        ValueError
            If the number of features of X differs from ``fit``, or X holds NaN or infinity.
        """
        return like(X, self._scores(self._check_rows(X)))

    def predict(  # type: ignore[override]  # label sets have no costs
        self, X: RowsLike
    ) -> Array | CsrArray:
        """Predict the labels with a score above their threshold for every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray or CSR array of shape (n_samples, n_labels), int64
            1 if a row has a label, else 0. An ndarray if `fit` got an array, lists or a data frame;
            a CSR array if it got a sparse matrix or sets.

        Raises
        ------
        ValueError
            As in ``decision_function``.
        """
        found = self._indicator(X)
        return found if self.predicts_sparse_ else like(X, found.toarray())

    def predict_labels(self, X: RowsLike) -> list[set[Label]]:
        """Predict the labels of every row as sets of entries of ``classes_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        list of set

        Raises
        ------
        ValueError
            As in ``decision_function``.
        """
        return decoded(self._indicator(X), self.classes_)

    def score(self, X: RowsLike, y: LabelSets, sample_weight: ArrayLike | None = None) -> float:
        """Compute the subset accuracy: the fraction of rows with exactly the right labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : matrix of 0 and 1 of shape (n_samples, n_labels), or sequence of sets
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If y holds a label that did not occur in `fit`, or X and y differ in length.
        """
        found = self._indicator(X)
        truth, _ = encoded(on_host(y), self.classes_, holds_sets=self.learnt_from_sets_)
        check_consistent_length(found, truth)
        wrong = np.asarray(abs(truth - found).sum(axis=1)).ravel()
        given = on_host(sample_weight, "sample_weight")
        weights = _check_sample_weight(given, found, dtype=np.float64)
        return float(np.average(wrong == 0, weights=weights))

    def to_sklearn(self) -> OneVsRestClassifier:
        """Return a fitted OneVsRestClassifier of LinearSVC with the same predictions.

        It does not need manyclass. Its labels are the column numbers of ``predict``, 0 to
        n_labels - 1, and the thresholds are subtracted from its scores.

        Returns
        -------
        sklearn.multiclass.OneVsRestClassifier
            With copies of the weights; sparse weights stay sparse.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If this model is not fitted.
        """
        check_is_fitted(self)
        return as_one_vs_rest_classifier(self)

    def _indicator(self, X: RowsLike) -> CsrArray:
        """Predict a CSR array; scores are computed for some rows at a time."""
        rows = self._check_rows(X)
        step, n = max(1, SCORES_AT_A_TIME // len(self.classes_)), rows.shape[0]
        try:
            parts = [
                sp.csr_array(self._scores(rows[begin : min(n, begin + step), :]) > self.thresholds_)
                for begin in range(0, n, step)
            ]
        except ValueError:
            self._check_finite(rows)  # its error counts all rows
            raise
        return sp.csr_array(sp.vstack(parts, format="csr"), dtype=np.int64)

    @property
    def _bias(self) -> float:
        """Value of the appended feature; 0 = no intercept."""
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _begin(
        self, labelled: Labelled, classes: Array, n_jobs: int
    ) -> tuple[Prints | None, Start | None]:
        """Return the fingerprints of the rows and the start of training, for a warm start."""
        if not self.warm_start or labelled.rows.lies_on_device:
            return None, None
        prints = row_prints(labelled.whole_rows(), n_jobs)
        known = getattr(self, "_warm_start", None)
        return prints, None if known is None else known.start_for(labelled, classes, prints)

    def _adopt(self, labelled: Labelled, found: Trained, classes: Array, thresholds: Array) -> None:
        """Set the fitted attributes, all at once."""
        W, data = found.weights, labelled.rows
        coef: Array | SparseCoefficients
        if isinstance(W, np.ndarray):
            coef, last = W[:-1].T, W[-1]
        else:
            coef = SparseCoefficients.from_rows(W, labelled.n_features)
            last = W[-1:].toarray().ravel()
        counts = np.bincount(labelled.indicator.indices, minlength=len(classes))
        alone = np.where(counts > 0, 1, -1).astype(data.dtype)
        fitted: Settings = {
            "classes_": classes,
            "_coefficients": coef,
            "intercept_": np.where(labelled.constant(), alone, data.bias * last),
            "thresholds_": thresholds,
            "certificate_": None if self.prune else found.certificate,
            "n_iter_": found.n_epochs,
        }
        self.__dict__ = {**vars(self), **fitted}

    def _warn(self, labelled: Labelled, found: Trained) -> None:
        constant = labelled.constant()
        if constant.any():
            name = self.classes_[constant].tolist()[0]
            warn_user(
                f"{constant.sum()} of {len(constant)} labels occur in all rows or in none, "
                f"such as {name!r}: they are predicted for every row or for none",
            )
        if found.status is not Status.CONVERGED:
            warn_user(
                f"training stopped at relative gap {found.certificate.relative_gap:.2e} "
                f"(requested: {self.tol:g}): {found.status.value}",
                ConvergenceWarning,
            )

    def _labels(self, rows: Rows, top: int) -> NDArray[np.int64]:
        if len(self.classes_) == 1:
            return np.zeros((rows.shape[0], 1), np.int64)
        return super()._labels(rows, top)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of scikit-learn: multi-label."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags
