"""One-vs-rest with the hinge loss on a device, by ADMM in graph form.

    min_{W, S}  1/2 ||W||^2 + sum_i C_i sum_c max(0, gamma - sigma_ic (s_ic + b_ic)),   S = X W

with sigma_ic = 1 for c = y_i, else -1, and a weight rho_i > 0 for each row. A round, with the
elementwise response z = clip(rho (gamma - sigma (v + b)), 0, C):

    U = -sigma z / rho,   S = v - U                      z is feasible
    W = (I + X^T R X)^-1 X^T R (2 S - v),   R = diag rho
    v <- v + alpha (X W - S)                             alpha = 1.9

P at W and D at z are computed in every round, from its two products with X. rho balances
||X W - S|| / ||X W|| and ||S - S_before|| / ||U||; rows without a z strictly between its bounds
have a tenth of it, because they need not constrain W. Sources: Boyd et al. 2011, sec. 7; Parikh,
Boyd 2014 (Block splitting for distributed optimization), sec. 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass.arrays.namespace import Place, to_numpy
from manyclass.arrays.rows import ArrayRows
from manyclass.arrays.svm.certificate import feasible
from manyclass.arrays.svm.hinge_solver import HingeSolver
from manyclass.arrays.svm.row_visits import RELAXATION, OneVsRest
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate, EpochRecord, Start, Weights, scale_of
from manyclass.solvers.stopping import StoppingRule
from manyclass.utils.types import Array, CsrArray, DeviceArray

FIRST_RHO = 0.3  # factor of the root of C over the mean of q_i
LESS = 0.1  # share of rho, for rows with all z at a bound
FIRST_BALANCE, BALANCE_EVERY = 8, 10  # rounds
MOST_CHANGE = 5.0  # largest change of rho at a time
# Products are fast (products.py) down to this relative gap, or until more than this share of the
# gap is left between two balances: W is a difference of sums, so that fast products stall at some
# gap.
FAST_UNTIL, STALLED = 0.008, 0.7
AT_BOUND = 1e-5  # share of the bound within which z is at it
Relaxation = Callable[[OneVsRest, slice, DeviceArray, DeviceArray], tuple[DeviceArray, DeviceArray]]


class OneVsRestAdmm(HingeSolver):
    """The solver, from v = 0 or from the z and W of a start."""

    def __init__(self, problem: Problem, start: Start | None, *, keeps_duals: bool = True) -> None:
        super().__init__(problem, keeps_duals=keeps_duals)
        rows = self.rows
        self.gamma, self.own_gamma = problem.margins()
        self.caps = self.xp.astype(rows.costs, rows.dtype)
        square = float(self.norms.mean())
        self._rho = FIRST_RHO * math.sqrt(float(np.mean(problem.costs)) / max(square, 1e-30))
        self.rho = self._rho + 0 * self.caps
        self.best_W, self._best_primal = self.W, math.inf
        self.v = rows.numbers()
        self.dual = -math.inf
        self._kernel = _kernel_for(rows)
        self._gap_before, self._has_stalled = math.inf, False  # at the last balance
        if start is not None and start.duals.nnz:
            self._load(start)
        with self.place.current(), self.place.exact_products():
            self._factorize()
            self._set_sums()

    # Interface of the training loop

    @property
    def scale(self) -> float:
        """Denominator of the relative gap, from the estimates."""
        return scale_of(self.gap, self._best_primal, self.zero_objective)

    @property
    def gap(self) -> float:
        """P - D of the best W and the current z; infinite at first."""
        return max(0.0, self._best_primal - self.dual)

    def epoch(self, _rule: StoppingRule) -> EpochRecord:
        """Run one round."""
        number = self._n_epochs + 1
        is_due = number >= FIRST_BALANCE and (number - FIRST_BALANCE) % BALANCE_EVERY == 0
        with self.place.current(), self.place.exact_products():
            if self._is_fast and self._needs_exact_products():
                self._use_exact_products()
            self._round(is_due)
        if is_due:
            self._has_stalled = self.gap > STALLED * self._gap_before
            self._gap_before = self.gap
        n_duals = self.rows.n * self.rows.k
        return self.record(
            self._best_primal, active_share=1.0, loops=0, evaluations=n_duals, n_duals=n_duals
        )

    def _needs_exact_products(self) -> bool:
        """Whether fast products no longer reduce the gap enough."""
        is_near = math.isfinite(self.gap) and self.gap <= FAST_UNTIL * self.scale
        return is_near or self._has_stalled

    def _use_exact_products(self) -> None:
        """Switch to exact products; recompute sums and discard estimates of fast products."""
        self._is_fast = False
        self._factorize()
        self._set_sums()
        self._best_primal, self.dual = math.inf, -math.inf

    def promising(self, rule: StoppingRule) -> bool:
        """Whether the stopping criterion may be met, by the estimates."""
        return not self._is_fast and super().promising(rule)

    @property
    def returned(self) -> DeviceArray:
        """The W with the lowest P."""
        return self.best_W

    def _chosen(self, _of_duals: NDArray[np.float64]) -> Array:
        return to_numpy(self.best_W).copy()

    def _take(self, W: DeviceArray, found: Certificate) -> None:
        self.best_W = W
        self._best_primal, self.dual = found.primal_objective, found.dual_objective

    def _start(self, duals: CsrArray) -> Start:
        return Start(duals, to_numpy(self.best_W).copy())

    def finish(self) -> Weights:
        """Return W."""
        del self.v
        return self.weights()

    # Rounds

    def _signs(self, part: slice) -> DeviceArray:
        """Return whether each class is the own class of each row."""
        return self.rows.own(self.rows.of(self.rows.labels, part))

    def _slacks(self, part: slice, S: DeviceArray) -> DeviceArray:
        """Return gamma - sigma (s + b) of some rows."""
        if self.rows.has_base:
            S = S + self.xp.astype(self.rows.base(part), S.dtype)
        return self.xp.where(self._signs(part), self.own_gamma - S, self.gamma + S)

    def _response(self, part: slice, v: DeviceArray) -> DeviceArray:
        """Return z of some rows."""
        xp, rho, cap = self.xp, self.rho[part][:, None], self.caps[part][:, None]
        return xp.minimum(xp.clip(rho * self._slacks(part, v), 0, None), cap)

    def _scores_of(self, part: slice, v: DeviceArray, z: DeviceArray) -> DeviceArray:
        """Return S = v - U."""
        change = z / self.rho[part][:, None]
        return v + self.xp.where(self._signs(part), change, -change)

    def _factorize(self) -> None:
        """Compute (I + X^T R X)^-1, and X^T R X."""
        xp, rows = self.xp, self.rows
        size = self.problem.dataset.n_features + 1
        gram = self.place.zeros((size, size), self.place.wide)
        for part in rows.blocks():
            of_rows = rows.gram_of(part, self.rho[part], is_fast=self._is_fast)
            gram += xp.astype(of_rows, self.place.wide)
        unit = xp.eye(size, dtype=self.place.wide, device=self.place.device)
        self._gram = xp.astype(gram, rows.dtype)
        try:
            inverse = xp.linalg.inv(gram + unit)
        except (RuntimeError, np.linalg.LinAlgError) as error:  # the identity is lost in rounding
            if not bool(xp.all(xp.isfinite(gram))):
                raise FloatingPointError(
                    "sums of squares of X overflow; scale the features to about one"
                ) from error
            values, vectors = xp.linalg.eigh(gram)
            scale = 1 / (1 + xp.clip(values, 0, None))
            inverse = (vectors * scale[None, :]) @ vectors.T
        self._inverse = xp.astype(inverse, rows.dtype)

    def _set_sums(self) -> None:
        """Set X^T R S and X^T R v from v."""
        shape = tuple(self.W.shape)
        self._of_scores = self.place.zeros(shape, self.rows.dtype)
        self._of_v = self.place.zeros(shape, self.rows.dtype)
        for part in self.rows.blocks():
            v, x = self.v.of(part), self.rows.factor(part, is_fast=self._is_fast)
            S, rho = self._scores_of(part, v, self._response(part, v)), self.rho[part]
            self.rows.add_back(self._of_scores, x, S, rho)
            self.rows.add_back(self._of_v, x, v, rho)

    def _round(self, is_due: bool) -> None:
        """Make a round; if it is due, balance rho at its end."""
        xp, rows = self.xp, self.rows
        W = self._inverse @ (2 * self._of_scores - self._of_v)
        of_duals = self._of_scores - self._of_v  # W(z) of the current z
        sums = self.place.zeros(tuple(W.shape), rows.dtype)
        primal, linear = 0.5 * _square(self.place, W), -0.5 * _square(self.place, of_duals)
        found = []
        for part in rows.blocks():
            x = rows.factor(part, is_fast=self._is_fast)
            R, terms = self._relax(part, rows.products(x, W))
            rows.add_back(sums, x, R)
            found.append(terms)
        of_rows = to_numpy(xp.sum(xp.stack(found), axis=0))
        primal, linear, sizes = primal + of_rows[0], linear + of_rows[1], of_rows[2:]
        self._of_v = self._of_v + RELAXATION * (self._gram @ W - self._of_scores)
        self._of_scores, self.W = sums, W
        self.dual = linear
        if primal < self._best_primal:
            self.best_W, self._best_primal = W, primal
        if is_due:
            self._balance(sizes)

    def _relax(self, part: slice, T: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        """Move the v of some rows, given X W.

        Return rho S at the new v; and sums over the rows, in the dtype of sums: of C loss at X W,
        of z (gamma - sigma b) at the old v, and the four squares that balance rho.
        """
        v = self.v.of(part)
        if self._kernel is not None:
            found = self._kernel(self, part, T, v)
            if not self.v.is_there:
                self.v.put(part, v)
            return found
        xp, rho = self.xp, self.rho[part][:, None]
        z = self._response(part, v)
        S = self._scores_of(part, v, z)
        linear = xp.where(self._signs(part), self.own_gamma * z, self.gamma * z)
        if self.rows.has_base:
            base = xp.astype(self.rows.base(part), v.dtype)
            linear = linear + xp.where(z > 0, z * xp.where(self._signs(part), -base, base), 0 * z)
        moved = v + RELAXATION * (T - S)
        self.v.put(part, moved)
        z = self._response(part, moved)
        after = self._scores_of(part, moved, z)
        squares = rho * (T - S) ** 2, rho * T * T, rho * (after - S) ** 2, z * z / rho
        loss = self.caps[part][:, None] * xp.clip(self._slacks(part, T), 0, None)
        terms = [xp.sum(numbers, dtype=self.place.wide) for numbers in (loss, linear, *squares)]
        return rho * after, xp.stack(terms)

    def _balance(self, sizes: np.ndarray) -> None:
        """Adjust rho; z does not change."""
        apart, size, moved, of_duals = np.sqrt(sizes)
        ratio = (apart / max(size, 1e-30)) / max(moved / max(of_duals, 1e-30), 1e-12)
        self._rho *= min(max(math.sqrt(ratio), 1 / MOST_CHANGE), MOST_CHANGE)
        for part in self.rows.blocks():
            v, cap = self.v.of(part), self.caps[part]
            z = self._response(part, v)
            S = self._scores_of(part, v, z)
            free = (z > AT_BOUND * cap[:, None]) & (z < (1 - AT_BOUND) * cap[:, None])
            has_free = self.xp.any(free, axis=1)
            self.rho[part] = self.xp.where(
                has_free, self._rho + 0 * cap, LESS * self._rho + 0 * cap
            )
            change = z / self.rho[part][:, None]
            self.v.put(part, S + self.xp.where(self._signs(part), -change, change))
        self._factorize()
        self._set_sums()

    # z

    def duals(self, rows: ArrayRows, part: slice) -> DeviceArray:
        """Return feasible z of some rows, in float64."""
        return feasible(rows, self._response(part, self.v.of(part)), rows.costs[part])

    def _load(self, start: Start) -> None:
        """Set z, and W or W(z): v = S + U, with S the scores at W."""
        duals: CsrArray = sp.csr_array(start.duals)

        def given(rows: ArrayRows, part: slice) -> DeviceArray:
            z = duals[part].toarray().astype(np.float64)
            return feasible(rows, rows.place.asarray(z), rows.costs[part])

        W = start.weights
        of_duals = self.certificate.weights_of(given)[0] if W is None else np.asarray(W)
        self.W = self.place.asarray(of_duals, self.rows.dtype)
        in_double = self.certificate.parts[0].rows
        for part in self.rows.blocks():
            x, z = self.rows.factor(part), given(in_double, part)
            change = self.xp.astype(self._here(z), self.rows.dtype) / self.rho[part][:, None]
            U = self.xp.where(self._signs(part), -change, change)
            self.v.put(part, self.rows.products(x, self.W) + U)
        self.best_W = self.W

    def _here(self, z: DeviceArray) -> DeviceArray:
        """Return float64 numbers, perhaps from the CPU, on the device."""
        return z if self.place.has_double else self.place.asarray(to_numpy(z))


def _kernel_for(rows: ArrayRows) -> Relaxation | None:
    """Return the kernel of ``triton_kernels.py`` where it runs."""
    if rows.place.is_torch:
        from manyclass.arrays.svm import triton_kernels

        if triton_kernels.serves(rows):
            return triton_kernels.relax
    return None


def _square(place: Place, W: DeviceArray) -> float:
    """Return ||W||^2."""
    return float(place.xp.sum(W * W, dtype=place.wide))
