"""Certificates of support vector machines on a device, in float64 (formulas: certificate/gap.hpp).

    P - D = sum_i [C_i loss(xi_i) - z_i . xi_i + R_i] + 1/2 ||W - W(z)||^2,   xi_i at W

with R_i = sum_c z_ic^2 / (4 C_i) for the squared hinge. The error of every xi is at most e_i
(Higham 2002, sec. 3.1): the same bound as in the core, which holds for inner products that are
summed in any order, as on a device. Sums over the rows of a block have a separate bound, and sums
of blocks are exact to the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from manyclass.arrays.namespace import to_numpy
from manyclass.arrays.rows import ArrayRows
from manyclass.problem.base_scores import EXCLUDED, BaseScores
from manyclass.problem.problem import Problem
from manyclass.problem.solution import UNIT, Certificate
from manyclass.solvers.engines import Found, as_returned, certificate_of
from manyclass.solvers.weights.storage import antisymmetric
from manyclass.utils.types import Array, DeviceArray

AT_BOUND = 1 - 1e-6  # z above this share of its bound cannot increase
# Feasible z of some rows, in float64, on the device of the given rows.
Duals = Callable[[ArrayRows, slice], DeviceArray]


def feasible(rows: ArrayRows, z: DeviceArray, costs: DeviceArray) -> DeviceArray:
    """Return z of some rows in float64, clipped or scaled to its bounds; `rows` have float64."""
    xp, problem = rows.xp, rows.problem
    z = xp.clip(xp.astype(rows.place.taken(z), xp.float64), 0, None)
    if problem.formulation.takes_maximum:
        return z * (costs / xp.maximum(costs, xp.sum(z, axis=1)))[:, None]
    return z if problem.slack_loss.has_ridge else xp.minimum(z, costs[:, None])


def coefficients(rows: ArrayRows, z: DeviceArray, labels: DeviceArray) -> DeviceArray:
    """Return a_i of W(z) = sum_i x_i a_i^T, for relative or absolute margins."""
    if rows.problem.formulation.is_relative:
        return rows.add_to_own(-z, labels, rows.xp.sum(z, axis=1))
    return rows.xp.where(rows.own(labels), z, -z)


def slacks(rows: ArrayRows, S: DeviceArray, labels: DeviceArray) -> DeviceArray:
    """Return xi from scores with base scores; 0 for classes that are not targets."""
    gamma, own = rows.problem.margins()
    if rows.problem.formulation.is_relative:
        return rows.place.where(~rows.own(labels), S - (rows.pick(S, labels) - gamma), 0.0)
    return rows.xp.where(rows.own(labels), own - S, gamma + S)


class SvmCertificate:
    """P at some W and D at some z, of parts in the order of the rows."""

    def __init__(
        self, problem: Problem, parts: Sequence[ArrayRows], norms: NDArray[np.float64], zero: float
    ) -> None:
        self.problem, self.zero = problem, zero
        wide, ends = [rows.in_double() for rows in parts], np.cumsum([rows.n for rows in parts])
        own = np.split(norms, ends[:-1])
        self.parts = [PartCertificate(*part) for part in zip(wide, own, strict=True)]

    def weights_of(self, duals: Duals) -> tuple[NDArray[np.float64], float]:
        """Return W(z) in float64, an ndarray, and a bound of its rounding."""
        found = [part.weights_of(duals) for part in self.parts]
        total = sum((of_duals for of_duals, _, _ in found[1:]), found[0][0])
        moved = math.fsum(moved for _, moved, _ in found)
        n_sums = max(n_sums for _, _, n_sums in found) + len(self.parts)
        return total, UNIT * n_sums * moved

    def at(
        self, W: Array, duals: Duals, of_duals: NDArray[np.float64], rounding: float
    ) -> Certificate:
        """Return the certificate of W, shape (d + 1, k), an ndarray in the type of training.

        ``of_duals`` is W(z), with an error of at most ``rounding``. With two classes, W may move to
        (-v, v).
        """
        problem = self.problem
        if problem.dataset.n_classes == 2 and problem.is_antisymmetric:
            antisymmetric(W)
        apart = W.astype(np.float64) - of_duals
        square = float(np.vdot(apart, apart))
        distance = math.sqrt(square) * (1 + UNIT * (8 + W.size)) + rounding
        at = as_returned(problem, W)
        found = [one for part in self.parts for one in part.found(W, duals, at.norm)]
        return certificate_of(problem, at, found, distance, self.zero)


class PartCertificate:
    """The terms of some rows, where there is float64; `norms` are the q_i."""

    def __init__(self, rows: ArrayRows, norms: NDArray[np.float64]) -> None:
        self.rows, self.norms = rows, rows.place.asarray(norms)
        base = rows.problem.base
        self._largest = 0.0
        if isinstance(base, BaseScores):
            known = np.abs(base.table[base.table > EXCLUDED])
            self._largest = float(known.max(initial=0.0))

    def weights_of(self, duals: Duals) -> tuple[NDArray[np.float64], float, int]:
        """Return W(z), the sum of the magnitudes of its terms, and their number."""
        rows, xp, data = self.rows, self.rows.xp, self.rows.problem.dataset
        total = rows.place.zeros((data.n_features + 1, data.n_classes), xp.float64)
        moved = []
        for part in rows.blocks():
            V = coefficients(rows, duals(rows, part), rows.of(rows.labels, part))
            rows.add_back(total, rows.wide_factor(part), V)
            moved.append(float(xp.sum(xp.sqrt(self.norms[part] * xp.sum(V * V, axis=1)))))
        n_sums = min(rows.n, rows.rows_of_block) + len(moved) + 8
        return to_numpy(total), math.fsum(moved), n_sums

    def found(self, W: Array, duals: Duals, norm: float) -> list[Found]:
        """Return the terms of W and z for each block."""
        rows, returned = self.rows, self._returned(W)
        return [self._found(part, returned, duals(rows, part), norm) for part in rows.blocks()]

    def _returned(self, W: Array) -> DeviceArray:
        """Return W with the returned intercepts: bias * w, rounded to the dtype of W."""
        wide, bias = W.astype(np.float64), W.dtype.type(self.rows.bias)
        if bias:
            wide[-1] = (W[-1] * bias).astype(np.float64) / float(bias)
        return self.rows.place.asarray(wide)

    def _found(self, part: slice, W: DeviceArray, z: DeviceArray, norm: float) -> Found:
        """Return the terms of a block."""
        rows, xp, problem = self.rows, self.rows.xp, self.rows.problem
        labels, costs = rows.of(rows.labels, part), rows.costs[part]
        scores = rows.scores(rows.wide_factor(part), part, W)
        xi, error = slacks(rows, scores, labels), self._error(part, norm)
        if problem.formulation.takes_maximum:
            loss, most, gap, violation = self._of_largest(xi, z, costs, error)
        else:
            loss, most, gap, violation = self._of_sum(xi, z, costs, error, labels)
        has_features = self.norms[part] > 0  # without features, best z attain the constant loss
        gap = rows.place.where(has_features, xp.clip(gap, 0, None), 0.0)
        violation = rows.place.where(has_features, violation, 0.0)
        sums = [float(xp.sum(numbers)) for numbers in (loss, most, gap)]
        of_sums = UNIT * labels.shape[0]  # sums over the rows of the block
        return Found(
            gap=sums[2] + of_sums * (sums[0] + sums[2]),
            loss=sums[0],
            most_loss=sums[1] * (1 + of_sums),
            max_violation=float(xp.max(violation)),
        )

    def _error(self, part: slice, norm: float) -> DeviceArray:
        """Return a bound of the error of the computed slacks of each row."""
        problem = self.rows.problem
        products = math.sqrt(2) if problem.formulation.is_relative else 1.0
        size = max(problem.margins()) + 2 * self._largest
        size = size + products * norm * self.rows.xp.sqrt(self.norms[part])
        return UNIT * (problem.dataset.n_features + 9) * size

    def _of_largest(
        self, xi: DeviceArray, z: DeviceArray, costs: DeviceArray, error: DeviceArray
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray, DeviceArray]:
        xp = self.rows.xp
        largest = xp.max(xi, axis=1)  # the term of the own class is 0
        loss = costs * xp.clip(largest, 0, None)
        most = costs * xp.clip(largest + error, 0, None)
        sums, n_duals = xp.sum(z, axis=1), xp.sum(xp.astype(z > 0, z.dtype), axis=1)
        used = xp.where(z > 0, xi, 0 * xi)
        size = xp.max(xp.abs(used), axis=1) + xp.abs(largest)
        rounding = UNIT * (2 * n_duals + 8) * sums * size
        gap = most - xp.sum(z * used, axis=1) + error * sums + rounding
        lowest = xp.min(xp.where(z > 0, xi, 0 * xi + xp.inf), axis=1)
        low = xp.where(sums >= costs * AT_BOUND, lowest, xp.clip(lowest, None, 0.0))
        return loss, most, gap, xp.clip(largest, 0, None) - low

    def _of_sum(
        self,
        xi: DeviceArray,
        z: DeviceArray,
        costs: DeviceArray,
        error: DeviceArray,
        labels: DeviceArray,
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray, DeviceArray]:
        xp, problem = self.rows.xp, self.rows.problem
        loss_of, cost, e = problem.slack_loss, costs[:, None], error[:, None]
        own = self.rows.own(labels)
        is_target = ~own if problem.formulation.is_relative else own | ~own
        zero = 0 * xi
        power = loss_of.power
        above = xp.clip(xi, 0, None) ** power
        most = xp.where(is_target, xp.clip(xi + e, 0, None) ** power, zero)
        used = xp.where(z > 0, z, zero)
        term = cost * most - used * xp.where(z > 0, xi, zero) + e * used
        gradient = xi
        if loss_of.has_ridge:
            term = term + used * used / (4 * cost)
            gradient = xi - used / (2 * cost)
        rounding = 8 * UNIT * used * xp.abs(xp.where(z > 0, xi, zero))
        rises = is_target & (used < cost * AT_BOUND) if not loss_of.has_ridge else is_target
        violation = xp.maximum(xp.where(rises, gradient, zero), xp.where(used > 0, -gradient, zero))
        return (
            costs * xp.sum(xp.where(is_target, above, zero), axis=1),
            costs * xp.sum(most, axis=1),
            xp.sum(xp.clip(term, 0, None) + rounding, axis=1),
            xp.max(violation, axis=1),
        )
