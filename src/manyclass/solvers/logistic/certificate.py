"""Certificates of multinomial logistic regression, in float64 (formulas: logistic/kernels.hpp).

The dual variables are u = exp(v), or, without v, the softmax u = p of the scores at W itself. For
these, every term of P - D but 1/2 ||W - W(p)||^2 is 0, and W - W(p) is the gradient of P: then the
gap is half its squared norm. Where intercepts are not regularised, u is first moved to where
sum_i C_i (e_{y_i} - u_i) = 0: every class with too much gives up the same share of its u in every
example, and what an example's classes give up is dealt out among those with too little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.problem import Problem
from manyclass.problem.solution import UNIT, Certificate, rounding_share
from manyclass.solvers.logistic.state import (
    State,
    as_matrix,
    bias_of,
    class_counts,
    features_of,
    new_weights,
)
from manyclass.utils.types import Array

NONE = np.empty(0)
DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class ClassShift:
    """Shares that classes give up of their u, and shares in which that is dealt out."""

    leaves: NDArray[np.float64]
    enters: NDArray[np.float64]


NO_SHIFT = ClassShift(NONE, NONE)


def class_shift(problem: Problem, left: NDArray[np.float64]) -> ClassShift:
    """Return what makes sum_i C_i (e_{y_i} - u_i) zero, given that sum."""
    more, less = np.maximum(-left, 0), np.maximum(left, 0)
    if not (more.any() and less.any()):
        return NO_SHIFT
    class_sums = class_counts(problem) - left
    return ClassShift(more / np.maximum(class_sums, np.finfo(float).tiny), less / less.sum())


def certify(problem: Problem, state: State, *, regularize_intercept: bool) -> Certificate:
    """Return the certificate of the W that the state returns.

    Where there is a v and all intercepts are regularised, W becomes W(u) first.
    """
    if state.log_u is not None:
        return _certify_duals(problem, state, regularize_intercept)
    W = returned(problem, state, regularize_intercept=regularize_intercept)
    return certify_weights(problem, state, W, regularize_intercept=regularize_intercept)


def returned(problem: Problem, state: State, *, regularize_intercept: bool) -> Array:
    """Return W, a copy of shape (d + 1, k).

    A constant that is added to intercepts that are not regularised changes nothing: their mean
    becomes 0.
    """
    W = as_matrix(state.weights, problem, class_major=state.class_major).copy(order="F")
    if problem.dataset.bias and not regularize_intercept:
        W[-1] -= W[-1].mean()
    return W


def certify_weights(
    problem: Problem, state: State, W: Array, *, regularize_intercept: bool
) -> Certificate:
    """Return the certificate of a W of shape (d + 1, k) by the softmax of its own scores."""
    wide = as_returned(problem, state, W)
    sums = new_weights(problem, DOUBLE, state.class_major)
    shift = NO_SHIFT
    if problem.dataset.bias and not regularize_intercept:
        left = np.zeros(problem.dataset.n_classes)
        _inspect(problem, state, wide, None, NO_SHIFT, None, left)
        shift = class_shift(problem, left)
    found = _inspect(problem, state, wide, None, shift, sums, NONE)
    return _from(problem, state, wide, sums, found, regularize_intercept)


def _certify_duals(problem: Problem, state: State, regularize_intercept: bool) -> Certificate:
    assert state.log_u is not None
    free = bool(problem.dataset.bias) and not regularize_intercept
    shift = NO_SHIFT
    if free:
        left = np.zeros(problem.dataset.n_classes)
        _dual_sums(state, NO_SHIFT, None, left)
        shift = class_shift(problem, left)
        state.left = left
        sums = new_weights(problem, DOUBLE, state.class_major)
        _dual_sums(state, shift, sums, NONE)
    else:
        sums = rebuild(problem, state, NONE, keeps_bias=False)
    W = returned(problem, state, regularize_intercept=regularize_intercept)
    wide = as_returned(problem, state, W)
    found = _inspect(problem, state, wide, state.log_u, shift, None, NONE)
    return _from(problem, state, wide, sums, found, regularize_intercept)


def rebuild(
    problem: Problem, state: State, left: NDArray[np.float64], *, keeps_bias: bool
) -> NDArray[np.float64]:
    """W <- W(u), rounded; returned in float64. Intercepts that are not regularised stay."""
    sums = new_weights(problem, DOUBLE, state.class_major)
    _dual_sums(state, NO_SHIFT, sums, left)
    kept = bias_of(state.weights, problem, class_major=state.class_major).copy()
    as_matrix(state.weights, problem, class_major=state.class_major)[:] = as_matrix(
        sums, problem, class_major=state.class_major
    )
    if keeps_bias:
        bias_of(state.weights, problem, class_major=state.class_major)[:] = kept
    return sums


def as_returned(problem: Problem, state: State, W: Array) -> NDArray[np.float64]:
    """Return a W of shape (d + 1, k) with the values of ``coef_`` and ``intercept_``, padded.

    Two classes: the rounded difference of their weights. Intercepts: bias * w, rounded.
    """
    if W.shape[1] == 2:
        W = (W[:, 1:] - W[:, :1]) * np.array([-0.5, 0.5], W.dtype)
    wide = new_weights(problem, DOUBLE, state.class_major)
    into = as_matrix(wide, problem, class_major=state.class_major)
    into[:] = W
    bias = W.dtype.type(problem.dataset.bias)
    if bias:
        into[-1] = (W[-1] * bias).astype(np.float64) / float(bias)
    return wide


def _dual_sums(
    state: State,
    shift: ClassShift,
    sums: NDArray[np.float64] | None,
    left: NDArray[np.float64],
) -> None:
    assert state.log_u is not None
    state.trainer.dual_sums(state.log_u, shift.leaves, shift.enters, sums, left, state.class_major)


def _inspect(
    problem: Problem,
    state: State,
    wide: NDArray[np.float64],
    v: Array | None,
    shift: ClassShift,
    sums: NDArray[np.float64] | None,
    left: NDArray[np.float64],
) -> _core.LogisticSums:
    W = as_matrix(wide, problem, class_major=state.class_major)
    largest = np.maximum(W.max(axis=1), -W.min(axis=1))
    return state.trainer.inspect(
        wide, largest, v, shift.leaves, shift.enters, sums, left, state.class_major
    )


def _from(
    problem: Problem,
    state: State,
    wide: NDArray[np.float64],
    sums: NDArray[np.float64],
    found: _core.LogisticSums,
    regularize_intercept: bool,
) -> Certificate:
    part = as_matrix if regularize_intercept else features_of
    W = part(wide, problem, class_major=state.class_major)
    apart = W - part(sums, problem, class_major=state.class_major)
    n, k = problem.dataset.n_examples, problem.dataset.n_classes
    moved = math.hypot(found.moved_by_features, found.moved_by_bias * regularize_intercept)
    # W(u) is a sum over the examples (Higham 2002, sec. 3.1).
    distance = math.sqrt(_core.sum_of_squares(apart)) + UNIT * (n + 8) * moved
    gap = found.gap + 0.5 * distance * distance
    penalty = 0.5 * _core.sum_of_squares(W)
    return Certificate.from_gap(
        penalty + found.loss,
        gap,
        math.sqrt(2 * gap),
        rounding_share(n, k),
        penalty=penalty,
        loss=found.loss + found.loss_error,
    )
