"""Bounds of the leave-one-out error, from one fit.

Let (W, z) have the absolute gap G = P(W) - D(z). Let V_i = x_i a_i' be the part of W(z) from
example i, and E = W - W(z), which is 0 except after a Newton phase. (W, z without row i) is a
primal-dual pair of the problem without example i. Its gap is at most G + ||V_i||^2 / 2 + <V_i, E>,
which bounds half the sum of the squared distances of W and W(z) - V_i from the optimum of that
problem. So the optimum is within

    R_i = sqrt(G + ||V_i||^2 / 4 + <V_i, E> / 2 - ||E||^2 / 4)   of   (W + W(z) - V_i) / 2.

W is at most R_i + ||E + V_i|| / 2 from that optimum. The difference of two classes' scores of x_i
at the optimum differs by at most sqrt(2) R_i ||x_i|| from the difference at the center above. If
this determines the sign of the difference, the prediction is decided. This holds for all
formulations and losses of ``MulticlassSVC``. Source: strong convexity of P and -D; compare Okumura,
Suzuki, Takeuchi: Quick sensitivity analysis for incremental data modification, KDD 2015, sec. 3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.extmath import row_norms

from manyclass.estimators.exact_fit import Training
from manyclass.estimators.svc import MulticlassSVC
from manyclass.estimators.validation import validated
from manyclass.model_selection.folds import TrainingRows, fit
from manyclass.problem.objective import coefficients_of, losses_of
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start
from manyclass.utils.types import Array, Rows, Settings

NUMBERS_AT_A_TIME = 1 << 22
RIGHT, UNDECIDED, WRONG = 1, 0, -1
REFUSED = {"warm_start", "checkpoint", "resume", "communicator", "solver", "weights", "stopping"}


class LeaveOneOutBounds(NamedTuple):
    """Leave-one-out bounds of all examples, from one fit.

    Attributes
    ----------
    lower, upper : float
        Bounds of the leave-one-out error: the share of examples that the model trained without
        them predicts wrongly.
    verdicts : ndarray of shape (n_samples,), int8
        1: the model without the example certainly predicts it correctly; -1: certainly wrongly;
        0: undecided.
    changes : ndarray of shape (n_samples,)
        Upper bounds of the Frobenius norm of the change of the weights without the example,
        including the intercepts (divided by ``intercept_scaling``).
    model : MulticlassSVC
        The model fitted on all examples.
    """

    lower: float
    upper: float
    verdicts: NDArray[np.int8]
    changes: NDArray[np.float64]
    model: MulticlassSVC


def loo_error_bounds(
    X: Rows, y: ArrayLike, *, tol: float = 1e-6, **parameters: Any
) -> LeaveOneOutBounds:
    """Bound the leave-one-out error with a single fit.

    The fit needs a small gap, so it takes longer than with the default `tol`. The number of decided
    examples depends on the data: examples with z_i = 0 are nearly always decided, examples near the
    margin rarely.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    tol : float, default=1e-6
        Relative gap of the fit.
    **parameters
        Parameters of ``MulticlassSVC``: formulation, C, loss, fit_intercept, class_weight, ...

    Returns
    -------
    LeaveOneOutBounds

    Raises
    ------
    ValueError
        As in ``MulticlassSVC.fit``; if a class has weight 0; or if ``class_weight="balanced"``,
        because the weights of a model without an example differ.
    TypeError
        If a parameter is unknown.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manyclass import loo_error_bounds
    >>> X, y = load_iris(return_X_y=True)
    >>> bounds = loo_error_bounds(X, y, C=1.0, random_state=0)
    >>> 0 <= bounds.lower <= bounds.upper <= 1
    True
    """
    model = exact_model("loo_error_bounds", tol, parameters)
    rows, targets = validated(model, X, y, dtype=np.float64)
    found = fit(model, TrainingRows(rows, targets, None))
    problem = Training(model).given(rows, targets, None).problem
    dataset = problem.dataset
    if dataset.n_examples != len(targets):
        raise ValueError("a class of weight 0 is left out of training; give it a positive weight")
    verdicts, changes = _bounds(problem, found.start.start, found.dual_objective)
    # Without its only example, a class is unknown.
    verdicts[np.bincount(dataset.labels)[dataset.labels] == 1] = WRONG
    wrong, right = np.mean(verdicts == WRONG), np.mean(verdicts == RIGHT)
    return LeaveOneOutBounds(float(wrong), float(1 - right), verdicts, changes, model)


def exact_model(function: str, tol: float, parameters: Settings) -> MulticlassSVC:
    """Return the unfitted model of a function that leaves out examples.

    Raises
    ------
    TypeError
        If a parameter is unknown.
    ValueError
        If class weights depend on the examples.
    """
    refused = REFUSED & set(parameters)
    if refused:
        raise TypeError(f"{function} has no parameter {min(refused)!r}")
    if isinstance(parameters.get("class_weight"), str):
        raise ValueError(
            'class_weight="balanced" changes when an example is left out; '
            "give the weights as a dict"
        )
    return MulticlassSVC(**{"max_iter": 10_000, **parameters, "tol": tol}, weights="dense")


def _bounds(
    problem: Problem, end: Start, dual: float
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Compute verdicts and bounds of the changes from the state at the end of training."""
    data, matrix = problem.dataset, problem.dataset.matrix()
    step = max(1, NUMBERS_AT_A_TIME // data.n_classes)
    parts = [slice(begin, begin + step) for begin in range(0, data.n_examples, step)]

    def added(part: slice) -> NDArray[np.float64]:
        return coefficients_of(problem.formulation, data.labels[part], end.duals[part])

    def scores(part: slice, W: Array) -> NDArray[np.float64]:
        return np.asarray(matrix[part] @ W[:-1] + data.bias * W[-1])

    of_z = np.zeros((data.n_features + 1, data.n_classes))
    for part in parts:
        of_z[:-1] += matrix[part].T @ added(part)
        of_z[-1] += data.bias * added(part).sum(axis=0)
    W = of_z if end.weights is None else np.asarray(end.weights)
    losses = [problem.costs[part] @ losses_of(problem, scores(part, W), part) for part in parts]
    gap = max(0.0, 0.5 * float(np.sum(W * W)) + float(np.sum(losses)) - dual)
    apart = float(np.sum((W - of_z) ** 2))
    squares = row_norms(matrix, squared=True) + data.bias**2
    decided = [
        _decided(
            scores(part, W),
            scores(part, of_z),
            added(part),
            data.labels[part],
            squares[part],
            gap,
            apart,
        )
        for part in parts
    ]
    verdicts, changes = zip(*decided, strict=True)
    return np.concatenate(verdicts), np.concatenate(changes)


def _decided(
    scores: NDArray[np.float64],
    scores_of_z: NDArray[np.float64],
    added: NDArray[np.float64],
    labels: NDArray[np.int32],
    squares: NDArray[np.float64],
    gap: float,
    apart: float,
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Compute verdicts and bounds of the changes for some rows; ``apart`` is ||E||^2."""
    rows = np.arange(len(labels))
    center = 0.5 * (scores + scores_of_z - added * squares[:, None])
    own = center[rows, labels].copy()
    center[rows, labels] = -np.inf
    lead = own - center.max(axis=1)
    cross = (added * (scores - scores_of_z)).sum(axis=1)
    of_row = (added**2).sum(axis=1) * squares
    square = np.maximum(gap - apart / 4 + of_row / 4 + cross / 2, 0)
    most = np.sqrt(2 * squares * square)
    verdicts = np.where(lead > most, RIGHT, np.where(lead < -most, WRONG, UNDECIDED))
    # W is (E + V_i) / 2 from that center.
    changes = np.sqrt(square) + 0.5 * np.sqrt(np.maximum(apart + 2 * cross + of_row, 0))
    return verdicts.astype(np.int8), changes
