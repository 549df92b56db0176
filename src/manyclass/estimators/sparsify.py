"""``sparsify`` of the support vector machines: removal of small weights, with a report."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from manyclass.estimators.coefficients import set_certificate
from manyclass.estimators.exact_fit import ExactClassifier
from manyclass.estimators.linear import LinearClassifier
from manyclass.prediction.scoring import (
    SCORES_AT_A_TIME,
    Coefficients,
    count_nonzero,
    density,
    scores_of,
    squared_norm,
)
from manyclass.problem.objective import losses_of
from manyclass.problem.problem import Problem, zero_objective
from manyclass.problem.solution import relative
from manyclass.utils.machine import effective_n_jobs, weighted_sum
from manyclass.utils.types import Array, RowsLike

# Rounding error of float32, as a share of the objective.
ROUNDING = 1e-4


class SparsifyMixin(ExactClassifier):
    """Mixin for support vector machines: ``sparsify`` reports the objective on given data."""

    formulation: str
    loss: str
    sparsity_report_: SparsityReport

    def sparsify(
        self,
        threshold: float = 0.0,
        X: RowsLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Remove small weights, store the others as a sparse array, and report the effect.

        Sets ``sparsity_report_``. If a weight becomes zero, ``certificate_`` becomes None, because
        it no longer applies to the weights. With the data of ``fit``, the report contains the
        proven gap of the new weights, because the dual objective is still a lower bound of the
        optimum.

        Parameters
        ----------
        threshold : float, default=0.0
            Weights of at most this magnitude become zero; the intercepts stay.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Data for the report: objectives and accuracies, before and after.
        y : array-like of shape (n_samples,), default=None
            Classes of the rows, at least two.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the threshold is negative, or the data do not fit the model; the model is unchanged.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from manyclass import MulticlassSVC
        >>> X, y = load_iris(return_X_y=True)
        >>> model = MulticlassSVC(random_state=0).fit(X, y).sparsify(0.3, X, y)
        >>> model.coef_.format
        'csr'
        >>> report = model.sparsity_report_
        >>> report.density_after < report.density_before
        True
        >>> report.objective_after > report.objective_before
        True
        """
        check_is_fitted(self)
        if (X is None) != (y is None):
            raise ValueError("sparsify needs both X and y for its report, or neither")
        sparse = copy.copy(self)
        LinearClassifier.sparsify(sparse, threshold)
        report = SparsityReport(
            float(threshold), density(self._coefficients), density(sparse._coefficients)
        )
        if X is not None and y is not None:
            report = self._with_costs(report, sparse, X, y, sample_weight)
        if count_nonzero(sparse._coefficients) < count_nonzero(self._coefficients):
            set_certificate(self, None)
            self.__dict__.pop("temperature_", None)
        self._coefficients, self.sparsity_report_ = sparse._coefficients, report
        return self

    def _with_costs(
        self,
        report: SparsityReport,
        sparse: Self,
        X: RowsLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
    ) -> SparsityReport:
        """Return the report with objective and accuracy of both models on the data."""
        problem, n_jobs = self._problem_like(X, y, sample_weight), effective_n_jobs(self.n_jobs)
        before, after = (
            primal_of(problem, model._coefficients, model.intercept_, n_jobs)
            for model in (self, sparse)
        )
        # P is below the proven bound, by more than rounding, only if the data or C differ from fit,
        # or if the columns of the new W violate the constraint that they sum to zero.
        dual = self.certificate_.dual_objective if self.certificate_ else np.inf
        is_other, zero = after < (1 - ROUNDING) * dual, zero_objective(problem)
        return replace(
            report,
            objective_before=before,
            objective_after=after,
            relative_gap=None if is_other else relative(after - dual, after, zero),
            accuracy_before=float(self.score(X, y, sample_weight)),
            accuracy_after=float(sparse.score(X, y, sample_weight)),
        )

    def _problem_like(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Problem:
        """Return the problem of ``fit`` for data with some or all of its classes."""
        check_consistent_length(X, y, sample_weight)
        dataset, found = self._dataset(
            self._check_rows(X), column_or_1d(y), sample_weight, keeps_dense=False
        )
        if not np.isin(found, self.classes_).all():
            unknown = np.setdiff1d(y, self.classes_).tolist()[0]
            raise ValueError(
                f"y holds {unknown!r}, which is not a class of the model; leave out these rows"
            )
        labels = np.searchsorted(self.classes_, found)[dataset.labels].astype(np.int32)
        dataset = replace(dataset, labels=labels, n_classes=len(self.classes_))
        return self._problem(dataset, self.classes_)


@dataclass(frozen=True, slots=True)
class SparsityReport:
    """Effect of ``sparsify`` on a model.

    Attributes
    ----------
    threshold : float
        Weights of at most this magnitude became zero.
    density_before, density_after : float
        Fraction of non-zero weights in ``coef_``.
    objective_before, objective_after : float or None
        P on the given data.
    relative_gap : float or None
        (P - D) / min(P, P(0) - D) of the new weights, with D from the former certificate. If data
        and C are the same as in ``fit``, the new objective is proven to be within this share of the
        optimum. None without a certificate, or if P < D: then the data or C differ, or W violates
        the constraint of the formulation that it sums to zero over the classes.
    accuracy_before, accuracy_after : float or None
        Accuracy on the given data.
    """

    threshold: float
    density_before: float
    density_after: float
    objective_before: float | None = None
    objective_after: float | None = None
    relative_gap: float | None = None
    accuracy_before: float | None = None
    accuracy_after: float | None = None


def primal_of(problem: Problem, coef: Coefficients, intercept: Array, n_jobs: int) -> float:
    """Compute the primal objective over batches of rows, without dense scores or weights.

    Binary models, with one score, represent the two columns -W and W (one-vs-rest) or -W/2 and W/2.

    Parameters
    ----------
    problem : Problem
    coef : ndarray or SparseCoefficients of shape (k, d), or (1, d) when binary
    intercept : ndarray of shape (k,) or (1,)
    n_jobs : int
        Threads.

    Returns
    -------
    float
    """
    data = problem.dataset
    binary = coef.shape[0] == 1
    scale = np.array([-1.0, 1.0]) if binary else np.ones(1)
    if binary and not problem.formulation.is_separable:
        scale /= 2
    bias = np.divide(intercept, data.bias, dtype=np.float64) if data.bias else np.zeros(1)
    norm = float(scale @ scale) * (squared_norm(coef) + float(bias @ bias))
    loss = 0.0
    step = max(1, SCORES_AT_A_TIME // data.n_classes)
    matrix = data.matrix()
    for begin in range(0, data.n_examples, step):
        part = slice(begin, begin + step)
        scores = scores_of(matrix[part], coef, intercept, n_jobs).astype(np.float64)
        losses = losses_of(problem, scores * scale, part)
        loss += weighted_sum(problem.costs[part], losses)
    return 0.5 * norm + loss
