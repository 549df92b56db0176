"""Certificates of multinomial logistic regression, in float64 (formulas: logistic/kernels.hpp).

The dual variables are u = exp(v), or, without v, the softmax u = p of the scores at W itself. For
u = p, all terms of P - D are 0 except 1/2 ||W - W(p)||^2, and W - W(p) is the gradient of P: the
gap is half its squared norm. If intercepts are not regularized, u is first changed so that sum_i
C_i (e_{y_i} - u_i) = 0: classes with an excess lose the same share of their u in every example, and
this amount is distributed in each example to the classes with a deficit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.solution import UNIT, Certificate, rounding_share
from manyclass.solvers.logistic.engine import (
    DOUBLE,
    NO_SHIFT,
    NONE,
    ClassShift,
    GapTerms,
    LogisticEngine,
    PrimalEngine,
)
from manyclass.utils.types import Array

NO_SUMS = np.empty((0, 0))


def class_shift(class_costs: NDArray[np.float64], left: NDArray[np.float64]) -> ClassShift:
    """Return the shift that makes sum_i C_i (e_{y_i} - u_i) 0, from it and sum_i C_i e_{y_i}."""
    more, less = np.maximum(-left, 0), np.maximum(left, 0)
    if not (more.any() and less.any()):
        return NO_SHIFT
    class_sums = class_costs - left
    return ClassShift(more / np.maximum(class_sums, np.finfo(float).tiny), less / less.sum())


def certify(engine: LogisticEngine) -> Certificate:
    """Return the certificate of the W that the engine returns.

    If there is a v and all intercepts are regularized, W is first set to W(u).
    """
    if engine.log_u is None:
        return certify_weights(engine, engine.weights())
    shift = NO_SHIFT
    if engine.is_free:
        left = np.zeros(engine.problem.dataset.n_classes)
        engine.dual_sums(NO_SHIFT, None, left)
        shift = class_shift(engine.class_costs, left)
        engine.left = left
        sums = engine.new_weights(DOUBLE)
        engine.dual_sums(shift, sums, NONE)
    else:
        sums = engine.rebuild(keeps_bias=False)
    if engine.class_major or engine.problem.dataset.n_classes == 2:
        W = as_returned(engine, engine.weights())
        bias = engine.bias(W).copy()
        found = engine.inspect_duals(W, shift)
    else:  # the stored W
        W = engine.W
        with engine.returned_intercepts() as held:
            bias = returned_bias(engine, held)
            found = engine.inspect_held(shift)
    return _from(engine, W, bias, sums, found)


def certify_weights(engine: PrimalEngine, W: Array) -> Certificate:
    """Return the certificate of a W of shape (d + 1, k) by the softmax of its own scores."""
    wide = as_returned(engine, W)
    sums = engine.new_weights(DOUBLE)
    shift = NO_SHIFT
    if engine.is_free:
        left = np.zeros(engine.problem.dataset.n_classes)
        engine.inspect(wide, NO_SHIFT, NO_SUMS, left)
        shift = class_shift(engine.class_costs, left)
    found = engine.inspect(wide, shift, sums, NONE)
    return _from(engine, wide, engine.bias(wide).copy(), sums, found)


def as_returned(engine: PrimalEngine, W: Array) -> NDArray[np.float64]:
    """Return a W of shape (d + 1, k) with the values of ``coef_`` and ``intercept_``, padded.

    With two classes, the rounded difference of their weights. Intercepts are bias * w, rounded.
    """
    if W.shape[1] == 2:
        W = (W[:, 1:] - W[:, :1]) * np.array([-0.5, 0.5], W.dtype)
    wide = engine.new_weights(DOUBLE)
    into = engine.matrix(wide)
    into[:] = W
    into[-1] = returned_bias(engine, W[-1])
    return wide


def returned_bias(engine: PrimalEngine, w: Array) -> NDArray[np.float64]:
    """Return weights of the appended feature that add ``intercept_`` to the scores."""
    bias = w.dtype.type(engine.problem.dataset.rounded_bias)
    return (w * bias).astype(np.float64) / float(bias) if bias else w.astype(np.float64)


def _from(
    engine: PrimalEngine,
    W: Array,
    bias: NDArray[np.float64],
    sums: NDArray[np.float64],
    found: GapTerms | _core.LogisticSums,
) -> Certificate:
    """Return the certificate of W with the given weights of the appended feature."""
    data = engine.problem.dataset
    of_features, W_u = engine.features(W), engine.features(sums)
    square, apart = _core.sum_of_squares(of_features), _core.squared_distance(of_features, W_u)
    if engine.regularize_intercept and data.bias:
        # The penalty of an intercept b is the penalty of b / bias, with the given bias.
        share = data.rounded_bias / data.bias
        bias = bias * share
        square += float(bias @ bias)
        apart += float(np.sum((bias - engine.bias(sums) / share) ** 2))
    n, k = engine.n_examples, engine.problem.dataset.n_classes
    added = engine.parts.n_parts - 1  # sums of parts have one more rounding each
    moved = math.hypot(found.moved_by_features, found.moved_by_bias * engine.regularize_intercept)
    # W(u) is a sum over the examples (Higham 2002, sec. 3.1).
    distance = math.sqrt(apart) + UNIT * (n + 8 + added) * moved
    gap = found.gap + 0.5 * distance * distance
    penalty = 0.5 * square
    return Certificate.from_gap(
        penalty + found.loss,
        gap,
        math.sqrt(2 * gap),
        rounding_share(n, k) + 2 * UNIT * added,
        zero=engine.zero_objective,
        penalty=penalty,
        loss=found.loss + found.loss_error,
    )
