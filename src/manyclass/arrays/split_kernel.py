"""A Triton kernel that splits float32 numbers into float16 numbers, for products.py.

With functions of PyTorch, splitting takes about six passes over the numbers.
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

SIZE = 1024  # numbers per program


def serves(A: DeviceArray) -> bool:
    """Whether the kernel supports the device of A: a GPU, or the CPU interpreter for tests."""
    return triton is not None and (A.is_cuda or bool(os.environ.get("TRITON_INTERPRET")))


if triton is not None:

    @triton.jit
    def _split(
        A, weights, scales, out, n, width,
        has_weights: tl.constexpr, n_parts: tl.constexpr, is_left: tl.constexpr, size: tl.constexpr,
    ):  # fmt: skip
        """Write the halves of some numbers of A; each row of A becomes n_parts rows."""
        at = tl.program_id(0).to(tl.int64) * size + tl.arange(0, size)
        inside = at < n
        row = at // width
        a = tl.load(A + at, mask=inside, other=0.0).to(tl.float32)
        if has_weights:
            a *= tl.load(weights + row, mask=inside, other=0.0)
        a *= tl.load(scales)
        high = a.to(tl.float16)
        to = out + row * n_parts * width + at % width
        tl.store(to, high, mask=inside)
        if n_parts > 1:
            low = (a - high.to(tl.float32)).to(tl.float16)
            tl.store(to + width, high if is_left else low, mask=inside)
            if n_parts > 2:
                tl.store(to + 2 * width, low if is_left else high, mask=inside)


def split(
    A: DeviceArray, weights: DeviceArray | None, scale: DeviceArray, n_parts: int, *, is_left: bool
) -> DeviceArray:
    """Return the halves of an array of shape (m, c), times weights of the rows and a scale.

    The result has the shape (m, n_parts, c).
    """
    A = A.contiguous()
    out = torch.empty((A.shape[0], n_parts, A.shape[1]), dtype=torch.float16, device=A.device)
    n = A.numel()
    with torch.cuda.device_of(A):
        _split[(triton.cdiv(n, SIZE),)](
            A, A if weights is None else weights, scale, out, n, A.shape[1],
            has_weights=weights is not None, n_parts=n_parts, is_left=is_left, size=SIZE,
        )  # fmt: skip
    return out
