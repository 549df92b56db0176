"""Triton kernels of the log loss, for tensors of PyTorch: a program for each row.

Functions of PyTorch read the numbers of rows and classes about twenty times for a certificate and
five times for a product with the Hessian; these kernels read and write them once.
"""

from __future__ import annotations

import os

from manyclass.utils.types import DeviceArray

try:
    import torch
    import triton
    import triton.language as tl
except ImportError:  # PyTorch without Triton
    triton = None

MOST_CLASSES = 8192  # numbers in the registers of a program
N_TERMS = 7


def serves(S: DeviceArray) -> bool:
    """Whether the kernels support the device of S: a GPU, or the CPU interpreter for tests."""
    runs = S.is_cuda or bool(os.environ.get("TRITON_INTERPRET"))
    return triton is not None and runs and S.shape[1] <= MOST_CLASSES


if triton is not None:

    @triton.jit
    def _terms(
        S, labels, leaves, enters, out, n, k,
        has_shift: tl.constexpr, size: tl.constexpr,
    ):  # fmt: skip
        """Compute the terms of a row; set S to e_y - u'."""
        m = tl.program_id(0).to(tl.int64)
        c = tl.arange(0, size)
        inside = c < k
        is_own = c == tl.load(labels + m)
        other = inside & (c != tl.load(labels + m))
        s = tl.load(S + m * k + c, mask=inside, other=0.0)
        top = tl.max(tl.where(inside, s, float("-inf")), 0)
        own = tl.sum(tl.where(is_own, s, 0.0), 0)
        u = tl.where(inside, tl.exp(s - top), 0.0)
        total = tl.sum(u, 0)
        u /= total
        tl.store(out + m, tl.sum(tl.where(other, u, 0.0), 0))
        tl.store(out + n + m, own - top - tl.log(total))
        if has_shift:
            leaving = u * tl.load(leaves + c, mask=inside, other=0.0)
            entering = tl.sum(leaving, 0) * tl.load(enters + c, mask=inside, other=0.0)
            u = u - leaving + entering
        rest = tl.sum(tl.where(other, u, 0.0), 0)
        logs = tl.log(tl.where(u > 0, u, 1.0))
        tl.store(out + 2 * n + m, tl.sum(tl.where(is_own, u, 0.0), 0))
        tl.store(out + 3 * n + m, rest)
        tl.store(out + 4 * n + m, -tl.sum(tl.where(other, u * logs, 0.0), 0))
        tl.store(out + 5 * n + m, tl.sum(tl.where(inside, u * (s - own), 0.0), 0))
        tl.store(out + 6 * n + m, tl.max(tl.where(inside, tl.abs(s), 0.0), 0))
        tl.store(S + m * k + c, tl.where(is_own, rest, -u), mask=inside)

    @triton.jit
    def _product(P, T, k, size: tl.constexpr):
        """Set T to p * (t - p . t) for a row."""
        m = tl.program_id(0).to(tl.int64)
        c = tl.arange(0, size)
        inside = c < k
        p = tl.load(P + m * k + c, mask=inside, other=0.0)
        t = tl.load(T + m * k + c, mask=inside, other=0.0)
        tl.store(T + m * k + c, p * (t - tl.sum(p * t, 0)), mask=inside)


def program_of(k: int) -> tuple[int, int]:
    """Return the numbers of a program, and its warps."""
    size = triton.next_power_of_2(max(k, 16))
    return size, min(16, max(1, size // 256))


def terms(
    S: DeviceArray, labels: DeviceArray, shift: tuple[DeviceArray, DeviceArray] | None
) -> tuple[DeviceArray, DeviceArray]:
    """Return e_y - u' in the memory of S, and the numbers of ``LogLossTerms``, shape (7, m)."""
    S, (m, k) = S.contiguous(), S.shape
    out = torch.empty((N_TERMS, m), dtype=S.dtype, device=S.device)
    leaves, enters = (S, S) if shift is None else shift
    size, warps = program_of(k)
    with torch.cuda.device_of(S):
        _terms[(m,)](
            S, labels, leaves, enters, out, m, k,
            has_shift=shift is not None, size=size, num_warps=warps,
        )  # fmt: skip
    return S, out


def softmax_product(P: DeviceArray, T: DeviceArray) -> DeviceArray:
    """Return p * (t - p . t) of each row, in the memory of T if it is contiguous."""
    T = T.contiguous()
    size, warps = program_of(T.shape[1])
    with torch.cuda.device_of(T):
        _product[(T.shape[0],)](P.contiguous(), T, T.shape[1], size=size, num_warps=warps)
    return T
