"""Visits of rows from the same W by two Triton kernels, for tensors of PyTorch.

The array functions of ``row_visits.py`` read n x k numbers about thirty times in a round; these
kernels read scores and z once and write the coefficients of the steps, with a program for each row.
"""

from __future__ import annotations

import os

from manyclass.arrays.rows import ArrayRows
from manyclass.arrays.smooth.log_loss_kernels import MOST_CLASSES, program_of
from manyclass.arrays.svm.row_visits import RELAXATION, OneVsRest, RowVisits
from manyclass.utils.types import DeviceArray

try:
    import torch
    import triton
    import triton.language as tl
except ImportError:  # PyTorch without Triton
    triton = None

MOST_STEPS, CLOSE = 40, 1e-6


def serves(rows: ArrayRows) -> bool:
    """Whether the kernels support the device: a GPU, or the CPU interpreter for tests."""
    is_gpu = str(rows.place.device).startswith("cuda") or bool(os.environ.get("TRITON_INTERPRET"))
    return triton is not None and is_gpu and rows.k <= MOST_CLASSES


if triton is not None:

    @triton.jit
    def _root_of_maximum(b, cap, height, steps: tl.constexpr, close: tl.constexpr):
        """Return theta of Crammer-Singer minus the height."""
        top = tl.max(b, 0)
        theta = tl.maximum(tl.maximum((top - height) / 2, top - cap), -height)
        moves = True
        left = steps
        while moves & (left > 0):
            over = b > theta
            total = tl.sum(tl.where(over, b, 0.0), 0)
            count = tl.sum(tl.where(over, 1.0, 0.0), 0)
            bound = (total - cap) / tl.maximum(count, 1.0)
            new = tl.maximum(tl.maximum((total - height) / (count + 1), bound), -height)
            moves = tl.abs(new - theta) > close * cap
            theta = new
            left -= 1
        return theta

    @triton.jit
    def _root_of_sum(b, cap, k, steps: tl.constexpr, close: tl.constexpr):
        """Return theta of Weston-Watkins."""
        low = 0.0 * cap
        high = tl.sum(tl.maximum(b, 0.0), 0)
        theta = high / (k + 1)
        moves = True
        left = steps
        while moves & (left > 0):
            z = tl.minimum(tl.maximum(b - theta, 0.0), cap)
            value = tl.sum(z, 0) - theta
            free = tl.sum(tl.where((z > 0) & (z < cap), 1.0, 0.0), 0)
            low = tl.where(value > 0, theta, low)
            high = tl.where(value > 0, high, theta)
            new = theta + value / (free + 1)
            new = tl.where((new > low) & (new < high), new, (low + high) / 2)
            moves = tl.abs(new - theta) > close * cap
            theta = new
            left -= 1
        return theta

    @triton.jit
    def _visit(
        S, Z, rows, n_rows, labels, caps, norms, last, shift, table, table_rows, V, slopes, gaps,
        numbers, k,
        has_base: tl.constexpr, is_max: tl.constexpr, size: tl.constexpr,
        steps: tl.constexpr, close: tl.constexpr,
    ):  # fmt: skip
        """Solve the block of a row; rows from n_rows on are padding."""
        m = tl.program_id(0).to(tl.int64)
        gamma, bias = tl.load(numbers), tl.load(numbers + 1)
        i = tl.load(rows + m)
        c = tl.arange(0, size)
        inside = c < k
        y = tl.load(labels + i)
        cap, q = tl.load(caps + i), tl.load(norms + i)
        s = tl.load(S + m * k + c, mask=inside, other=0.0)
        s += bias * tl.load(last + c, mask=inside, other=0.0)
        if has_base:
            s += tl.load(table + tl.load(table_rows + i) * k + c, mask=inside, other=0.0)
        other = inside & (c != y) & (m < tl.load(n_rows))
        own = tl.sum(tl.where(c == y, s, 0.0), 0)
        xi = tl.where(other, gamma + s - own, 0.0)
        z = tl.load(Z + i * k + c, mask=inside, other=0.0)
        moved = tl.load(shift + c, mask=inside, other=0.0)
        shifted = s - own + moved - tl.load(shift + y)
        height = tl.sum(z, 0) + gamma / q
        b = tl.where(other, z + shifted / q, float("-inf"))
        if is_max:
            theta = _root_of_maximum(b, cap, height, steps, close)
            new = tl.maximum(b - theta, 0.0)
            loss = tl.maximum(tl.max(xi, 0), 0.0)
        else:
            b += height
            theta = _root_of_sum(b, cap, k, steps, close)
            new = tl.minimum(tl.maximum(b - theta, 0.0), cap)
            loss = tl.sum(tl.maximum(xi, 0.0), 0)
        step = tl.where(other, new - z, 0.0)
        tl.store(V + m * k + c, tl.where(c == y, tl.sum(step, 0), -step), mask=inside)
        tl.store(slopes + m, tl.sum(tl.where(step != 0, step * xi, 0.0), 0))
        tl.store(gaps + m, cap * loss - tl.sum(tl.where(z > 0, z * xi, 0.0), 0))

    @triton.jit
    def _store(Z, rows, n_rows, labels, V, theta, k, size: tl.constexpr):
        """Apply theta times the step of a row."""
        m = tl.program_id(0).to(tl.int64)
        i = tl.load(rows + m)
        c = tl.arange(0, size)
        n_classes = tl.where(m < tl.load(n_rows), k, 0)
        other = (c < n_classes) & (c != tl.load(labels + i))
        z = tl.load(Z + i * k + c, mask=other, other=0.0)
        v = tl.load(V + m * k + c, mask=other, other=0.0)
        tl.store(Z + i * k + c, tl.maximum(z - tl.load(theta) * v, 0.0), mask=other)

    @triton.jit
    def _relax(
        T, V, labels, rhos, caps, table, table_rows, sums, numbers, n, k,
        has_base: tl.constexpr, has_sets: tl.constexpr, size: tl.constexpr,
    ):  # fmt: skip
        """Move v of a row of one-vs-rest; set T to rho S."""
        m = tl.program_id(0).to(tl.int64)
        c = tl.arange(0, size)
        inside = c < k
        gamma, own, relaxation = tl.load(numbers), tl.load(numbers + 1), tl.load(numbers + 2)
        rho, cap = tl.load(rhos + m), tl.load(caps + m)
        t = tl.load(T + m * k + c, mask=inside, other=0.0)
        v = tl.load(V + m * k + c, mask=inside, other=0.0)
        if has_sets:
            is_own = tl.load(labels + m * k + c, mask=inside, other=0) != 0
        else:
            is_own = c == tl.load(labels + m)
        sign = tl.where(is_own, 1.0, -1.0).to(t.dtype)
        b = 0.0 * t
        if has_base:
            b = tl.load(table + tl.load(table_rows + m) * k + c, mask=inside, other=0.0)
        margin = tl.where(sign > 0, own, gamma) - sign * b
        slack = tl.where(inside, margin - sign * t, 0.0)
        loss = cap * tl.sum(tl.maximum(slack, 0.0), 0)
        z = tl.where(inside, tl.minimum(tl.maximum(rho * (margin - sign * v), 0.0), cap), 0.0)
        linear = tl.sum(tl.where(z > 0, z * margin, 0.0), 0)
        s = v + sign * z / rho
        v += relaxation * (t - s)
        tl.store(V + m * k + c, v, mask=inside)
        z = tl.where(inside, tl.minimum(tl.maximum(rho * (margin - sign * v), 0.0), cap), 0.0)
        after = v + sign * z / rho
        tl.store(T + m * k + c, rho * after, mask=inside)
        apart, moved = tl.where(inside, t - s, 0.0), tl.where(inside, after - s, 0.0)
        tl.store(sums + m, loss)
        tl.store(sums + n + m, linear)
        tl.store(sums + 2 * n + m, rho * tl.sum(apart * apart, 0))
        tl.store(sums + 3 * n + m, rho * tl.sum(t * t, 0))
        tl.store(sums + 4 * n + m, rho * tl.sum(moved * moved, 0))
        tl.store(sums + 5 * n + m, tl.sum(z * z, 0) / rho)


def relax(
    solver: OneVsRest, part: slice, T: DeviceArray, v: DeviceArray
) -> tuple[DeviceArray, DeviceArray]:
    """Relax the v of some rows, as in ``OneVsRestAdmm``, in one kernel."""
    rows, (m, k) = solver.rows, T.shape
    sums = torch.empty((6, m), dtype=T.dtype, device=T.device)
    base, labels = rows.base_table(), rows.labels[part]
    has_sets = labels.ndim == 2
    table, table_rows = (T, rows.costs) if base is None else base
    size, warps = program_of(k)
    T = T.contiguous()
    given = [solver.gamma, solver.own_gamma, RELAXATION]
    numbers = torch.tensor(given, dtype=T.dtype, device=T.device)
    _relax[(m,)](
        T, v, labels.to(torch.int8) if has_sets else labels, solver.rho[part], solver.caps[part],
        table, table_rows[part], sums, numbers, m, k,
        has_base=base is not None, has_sets=has_sets, size=size, num_warps=warps,
    )  # fmt: skip
    return T, sums.sum(1, dtype=rows.place.wide)


class TritonVisits(RowVisits):
    """Visits by kernels; arguments as of ``ArrayVisits``."""

    def __init__(self, rows: ArrayRows, q: DeviceArray, Z: DeviceArray) -> None:
        self.rows, self.q, self.Z = rows, q, Z
        self._caps = rows.xp.astype(rows.costs, rows.dtype)
        base = rows.base_table()
        self._table, self._table_rows = (self._caps, rows.labels) if base is None else base
        # How many of the given rows are visited.
        self.n_rows = torch.zeros(1, dtype=torch.int64, device=self.Z.device)
        self._size, self._warps = program_of(rows.k)
        numbers = [rows.problem.margins()[0], rows.bias]  # Python's would be float32 in a kernel
        self._numbers = torch.tensor(numbers, dtype=self.Z.dtype, device=self.Z.device)

    def visit(
        self, products: DeviceArray, W: DeviceArray, i: DeviceArray, shift: DeviceArray
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
        """Solve the blocks of rows i."""
        rows, m = self.rows, i.shape[0]
        V = torch.empty_like(products)
        sums = torch.empty((2, m), dtype=products.dtype, device=products.device)
        _visit[(m,)](
            products, self.Z, i, self.n_rows, rows.labels, self._caps, self.q, W[-1], shift,
            self._table, self._table_rows, V, sums[0], sums[1], self._numbers, rows.k,
            has_base=rows.has_base, is_max=rows.problem.formulation.takes_maximum,
            size=self._size, steps=MOST_STEPS, close=CLOSE, num_warps=self._warps,
        )  # fmt: skip
        slope, gap = sums.sum(1)
        return V, slope, gap

    def store(self, i: DeviceArray, V: DeviceArray, theta: DeviceArray) -> None:
        """Apply theta times the steps of rows i."""
        k = self.rows.k
        given = self.Z, i, self.n_rows, self.rows.labels, V, theta, k
        _store[(i.shape[0],)](*given, size=self._size, num_warps=self._warps)
