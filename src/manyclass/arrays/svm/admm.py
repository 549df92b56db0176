"""One-vs-rest with the hinge loss on a device, by ADMM in graph form.

    min_{W, S}  1/2 ||W||^2 + sum_i C_i sum_c max(0, gamma - sigma_ic (s_ic + b_ic)),   S = X W

with sigma_ic = 1 for c = y_i, else -1, and a weight rho_i > 0 for each row. A round, with
z = clip(rho (gamma - sigma (v + b)), 0, C) the response of each number by itself:

    U = -sigma z / rho,   S = v - U                      z is feasible
    W = (I + X^T R X)^-1 X^T R (2 S - v),   R = diag rho
    v <- v + alpha (X W - S)                             alpha = 1.9

P at W and D at z are at hand in every round, by the two products with X that it needs. rho follows
the balance of ||X W - S|| / ||X W|| and ||S - S_before|| / ||U||; rows without a z strictly between
its bounds have a tenth of it, as they need not hold W where it is. Sources: Boyd et al. 2011, sec.
7; Parikh, Boyd 2014 (Block splitting for distributed optimization), sec. 3.
"""

from __future__ import annotations

import math
import time
from types import ModuleType

import numpy as np
import scipy.sparse as sp

from manyclass.arrays.namespace import to_numpy
from manyclass.arrays.rows import ArrayRows
from manyclass.arrays.svm.certificate import SvmCertificate, feasible
from manyclass.arrays.svm.kernel_choice import relaxation_of
from manyclass.arrays.svm.row_visits import RELAXATION
from manyclass.problem.problem import Problem, check_squared_norms, zero_objective
from manyclass.problem.solution import Certificate, EpochRecord, Start, Weights, scale_of
from manyclass.solvers.stopping import Found, StoppingRule
from manyclass.utils.types import CsrArray, DeviceArray

FIRST_RHO = 0.3  # times the root of C over the mean of q_i
LESS = 0.1  # of rho, for rows whose z are all at a bound
FIRST_BALANCE, BALANCE_EVERY = 8, 10  # rounds
MOST_CHANGE = 5.0  # of rho at once
# Products are in TF32 down to this relative gap, or until rounds between two balances leave more
# than this part of it: W is a difference of sums, and at some gap TF32 stalls.
FAST_UNTIL, STALLED = 0.008, 0.7
AT_BOUND = 1e-5  # share of the bound within which z is at it


class OneVsRestAdmm:
    """The solver, from v = 0 or from the z and W of a start.

    Parameters
    ----------
    problem : Problem
        Of a ``DeviceDataset``: one-vs-rest with the hinge loss.
    start : Start or None
    keeps_duals : bool, default=True
        Whether ``start`` returns z.

    Raises
    ------
    FloatingPointError
        If the square of a row overflows.
    """

    is_exact = False

    def __init__(self, problem: Problem, start: Start | None, *, keeps_duals: bool = True) -> None:
        self._began = time.perf_counter()
        self.problem, self.keeps_duals = problem, keeps_duals
        self.rows = rows = ArrayRows(problem)
        self.xp, self.place = rows.xp, rows.place
        norms = rows.squared_norms()
        check_squared_norms(to_numpy(norms))
        self.zero_objective = zero_objective(problem)
        self.certificate = SvmCertificate(rows, norms, self.zero_objective)
        self.gamma, self.own_gamma = problem.margins()
        self.caps = self.xp.astype(rows.costs, rows.dtype)
        square = float(self.xp.mean(norms))
        self._rho = FIRST_RHO * math.sqrt(float(np.mean(problem.costs)) / max(square, 1e-30))
        self.rho = self._rho + 0 * self.caps
        shape = problem.dataset.n_features + 1, rows.k
        self.W = self.place.zeros(shape, rows.dtype)  # of the last round
        self.best_W, self._best_primal = self.W, math.inf
        self.v = self.place.zeros((rows.n, rows.k), rows.dtype)
        self.dual = -math.inf
        self._n_epochs = 0
        self._kernel = relaxation_of(rows)
        self._gap_before = math.inf  # at the last balance
        self._is_fast = self.place.is_gpu and rows.dtype == self.xp.float32
        if start is not None and start.duals.nnz:
            self._load(start)
        self._factorize()
        self._set_sums()

    # What the training loop asks

    @property
    def scale(self) -> float:
        """What the gap is measured against, by the estimates."""
        return scale_of(self._gap, self._best_primal, self.zero_objective)

    @property
    def _gap(self) -> float:
        return max(0.0, self._best_primal - self.dual)  # infinite at first

    def epoch(self, _rule: StoppingRule) -> EpochRecord:
        """Make one round."""
        self._n_epochs += 1
        if self._is_fast and self._gap <= FAST_UNTIL * self.scale:
            self._use_exact_products()
        is_due = self._n_epochs >= FIRST_BALANCE
        is_due = is_due and (self._n_epochs - FIRST_BALANCE) % BALANCE_EVERY == 0
        with self.place.current(), self.place.fast_products(self._is_fast):
            self._round(is_due)
        if is_due and self._is_fast:
            if self._gap > STALLED * self._gap_before:
                self._use_exact_products()
            self._gap_before = self._gap
        data = self.problem.dataset
        return EpochRecord(
            epoch=self._n_epochs,
            seconds=time.perf_counter() - self._began,
            primal_estimate=self._best_primal,
            gap_estimate=self._gap,
            violation=math.sqrt(2 * self._gap),
            active_share=1.0,
            loops=0,
            evaluations=data.n_examples * data.n_classes,
            n_weights=(data.n_features + 1) * data.n_classes,
            n_duals=data.n_examples * data.n_classes,
            zero_objective=self.zero_objective,
        )

    def _use_exact_products(self) -> None:
        """Leave TF32; sums and estimates in it are of no use from now on."""
        self._is_fast = False
        self._set_sums()
        self._best_primal, self.dual = math.inf, -math.inf

    def promising(self, rule: StoppingRule) -> bool:
        """Whether the estimates say that the rule may be met."""
        if self._is_fast:
            return False
        return rule.promising(Found(self._gap, math.sqrt(2 * self._gap)), self.scale)

    def certify(self) -> Certificate:
        """Compute P at the best W and D at z, in float64."""
        W = to_numpy(self.best_W).copy()
        of_duals, rounding = self.certificate.weights_of(self._duals)
        found = self.certificate.at(W, self._duals, of_duals, rounding)
        self.best_W = self.place.asarray(W)
        self._best_primal, self.dual = found.primal_objective, found.dual_objective
        return found

    def weights(self) -> Weights:
        """Return the W with the lowest P, shape (d + 1, k), an ndarray."""
        return to_numpy(self.best_W).copy(order="F")

    def start(self) -> Start:
        """Return z and W, from which training can continue."""
        data = self.problem.dataset
        if not self.keeps_duals:
            return Start.at_zero(data.n_examples, data.n_classes, data.dtype)
        parts = [sp.csr_array(to_numpy(self._duals(part))) for part in self.rows.blocks()]
        z = sp.csr_array(sp.vstack(parts, format="csr").astype(data.dtype))
        return Start(z, to_numpy(self.best_W).copy())

    def finish(self) -> Weights:
        """Return W."""
        self.v = None
        return self.weights()

    # Rounds

    def _signs(self, part: slice) -> DeviceArray:
        """Return whether each class is that of each row."""
        return self.rows.own(self.rows.labels[part])

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
        gram = self.place.zeros((size, size), xp.float64)
        for part in rows.blocks():
            x = rows.features(part, rows.dtype)
            x = xp.concat([x, xp.full_like(x[:, :1], rows.bias)], axis=1)
            gram += xp.astype((x * self.rho[part][:, None]).T @ x, xp.float64)
        unit = xp.eye(size, dtype=xp.float64, device=self.place.device)
        self._gram = xp.astype(gram, rows.dtype)
        self._inverse = xp.astype(xp.linalg.inv(gram + unit), rows.dtype)

    def _set_sums(self) -> None:
        """Set X^T R S and X^T R v from v."""
        shape = tuple(self.W.shape)
        self._of_scores = self.place.zeros(shape, self.rows.dtype)
        self._of_v = self.place.zeros(shape, self.rows.dtype)
        for part in self.rows.blocks():
            v, x = self.v[part, :], self.rows.features(part, self.rows.dtype)
            S, rho = self._scores_of(part, v, self._response(part, v)), self.rho[part][:, None]
            self.rows.add_back(self._of_scores, x, rho * S)
            self.rows.add_back(self._of_v, x, rho * v)

    def _round(self, is_due: bool) -> None:
        """Make a round; if it is due, balance rho at its end."""
        xp, rows = self.xp, self.rows
        W = self._inverse @ (2 * self._of_scores - self._of_v)
        of_duals = self._of_scores - self._of_v  # W(z) of the z at hand
        sums = self.place.zeros(tuple(W.shape), rows.dtype)
        primal, linear = 0.5 * _square(xp, W), -0.5 * _square(xp, of_duals)
        found = []
        for part in rows.blocks():
            x = rows.features(part, rows.dtype)
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

        Returned: rho S at the new v; and sums over the rows in float64: of C loss at X W, of
        z (gamma - sigma b) at the old v, and the four squares that balance rho.
        """
        if self._kernel is not None:
            return self._kernel(self, part, T)
        xp, v, rho = self.xp, self.v[part, :], self.rho[part][:, None]
        z = self._response(part, v)
        S = self._scores_of(part, v, z)
        linear = xp.where(self._signs(part), self.own_gamma * z, self.gamma * z)
        if self.rows.has_base:
            base = xp.astype(self.rows.base(part), v.dtype)
            linear = linear + xp.where(z > 0, z * xp.where(self._signs(part), -base, base), 0 * z)
        moved = v + RELAXATION * (T - S)
        self.v[part, :] = moved
        z = self._response(part, moved)
        after = self._scores_of(part, moved, z)
        squares = rho * (T - S) ** 2, rho * T * T, rho * (after - S) ** 2, z * z / rho
        loss = self.caps[part][:, None] * xp.clip(self._slacks(part, T), 0, None)
        terms = [xp.sum(numbers, dtype=xp.float64) for numbers in (loss, linear, *squares)]
        return rho * after, xp.stack(terms)

    def _balance(self, sizes: np.ndarray) -> None:
        """Choose rho again; z stays."""
        apart, size, moved, of_duals = np.sqrt(sizes)
        ratio = (apart / max(size, 1e-30)) / max(moved / max(of_duals, 1e-30), 1e-12)
        self._rho *= min(max(math.sqrt(ratio), 1 / MOST_CHANGE), MOST_CHANGE)
        for part in self.rows.blocks():
            v, cap = self.v[part, :], self.caps[part]
            z = self._response(part, v)
            S = self._scores_of(part, v, z)
            free = (z > AT_BOUND * cap[:, None]) & (z < (1 - AT_BOUND) * cap[:, None])
            has_free = self.xp.any(free, axis=1)
            self.rho[part] = self.xp.where(
                has_free, self._rho + 0 * cap, LESS * self._rho + 0 * cap
            )
            change = z / self.rho[part][:, None]
            self.v[part, :] = S + self.xp.where(self._signs(part), -change, change)
        self._factorize()
        self._set_sums()

    # z

    def _duals(self, part: slice) -> DeviceArray:
        z = self._response(part, self.v[part, :])
        return feasible(self.rows, z, self.rows.costs[part])

    def _load(self, start: Start) -> None:
        """Take over z, and W or W(z): v = S + U, with S the scores at W."""
        duals: CsrArray = sp.csr_array(start.duals)

        def given(part: slice) -> DeviceArray:
            z = duals[part].toarray().astype(np.float64)
            return feasible(self.rows, self.place.asarray(z), self.rows.costs[part])

        if start.weights is not None:
            self.W = self.place.asarray(np.asarray(start.weights), self.rows.dtype)
        else:
            self.W = self.xp.astype(self.certificate.weights_of(given)[0], self.rows.dtype)
        for part in self.rows.blocks():
            x = self.rows.features(part, self.rows.dtype)
            change = self.xp.astype(given(part), self.rows.dtype) / self.rho[part][:, None]
            U = self.xp.where(self._signs(part), -change, change)
            self.v[part, :] = self.rows.products(x, self.W) + U
        self.best_W = self.W


def _square(xp: ModuleType, W: DeviceArray) -> float:
    """Return ||W||^2, summed in float64."""
    return float(xp.sum(W * W, dtype=xp.float64))
