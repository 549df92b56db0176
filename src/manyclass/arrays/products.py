"""Products of some rows of X with matrices: X W, and X^T (w R) with a weight for each row.

On an NVIDIA GPU, products of float32 numbers are computed from products of float16 numbers, with
sums in float32:

    A = 2^-a (A1 + A2),   A1 = half(2^a A),   A2 = half(2^a A - A1)
    exact   A B = 2^-(a+b) (A1 B1 + A1 B2 + A2 B1)    error about 2^-22 |A| |B|, as of float32
    fast    A B = 2^-(a+b) A1 B1                      error about 2^-11 |A| |B|, as of TF32

with a such that the largest number of 2^a A is nearly 2^14. The three products are one,
[A1 A1 A2] [B1; B2; B1]; rows given in float16 have A2 = 0. Source: Ootomo, Yokota 2022
(Recovering single precision accuracy from Tensor Cores), sec. 3.
"""

from __future__ import annotations

import math
import sys

from manyclass.arrays.namespace import Place
from manyclass.utils.types import DeviceArray

LARGEST = 14  # exponent of the largest number; float16 supports up to 15
MOST_EXPONENT = 126
FIRST_RELEASE = (2, 8)  # version of PyTorch with float32 results for float16 products


class Factor:
    """Some rows of X as a factor of products in the type of X."""

    def __init__(self, x: DeviceArray) -> None:
        self.x = x

    def times(self, W: DeviceArray) -> DeviceArray:
        """Return X W; W has the shape (d, k)."""
        return self.x @ W

    def back(self, R: DeviceArray, weights: DeviceArray | None = None) -> DeviceArray:
        """Return X^T R, or X^T (w R); R has the shape (m, k), weights (m,)."""
        return self.x.T @ (R if weights is None else R * weights[:, None])


class HalfFactor(Factor):
    """Some rows as a factor of products of float16 numbers, which are float32."""

    def __init__(self, x: DeviceArray, *, is_fast: bool) -> None:
        super().__init__(x)
        is_half = x.dtype == sys.modules["torch"].float16
        self._n_parts = 1 if is_fast else 2 if is_half else 3
        scale, self._inverse = _scales(x)
        self._halves = _split(x, None, scale, self._n_parts, is_left=True)

    def times(self, W: DeviceArray) -> DeviceArray:
        """Return X W."""
        scale, inverse = _scales(W)
        halves = _split(W, None, scale, self._n_parts, is_left=False).transpose(0, 1)
        left = self._halves.reshape(len(self._halves), -1)
        product = _product(left, halves.reshape(-1, W.shape[1]))
        product *= self._inverse * inverse
        return product

    def back(self, R: DeviceArray, weights: DeviceArray | None = None) -> DeviceArray:
        """Return X^T R, or X^T (w R)."""
        scale, inverse = _scales(R, weights)
        halves = _split(R, weights, scale, self._n_parts, is_left=False)
        left = self._halves.reshape(-1, self._halves.shape[2]).T
        return _product(left, halves.reshape(-1, R.shape[1])) * (self._inverse * inverse)


def multiplies_halves(place: Place) -> bool:
    """Whether float32 products are computed from float16 products on a device."""
    if not place.is_gpu:
        return False
    release = sys.modules["torch"].__version__.split(".")[:2]
    return tuple(int(number) for number in release) >= FIRST_RELEASE


def _scales(A: DeviceArray, weights: DeviceArray | None = None) -> tuple[DeviceArray, DeviceArray]:
    """Return a power of two as the scale of A times the weights, and its inverse."""
    torch = sys.modules["torch"]
    exponent = torch.frexp(torch.linalg.vector_norm(A, ord=math.inf)).exponent
    if weights is not None:
        exponent = exponent + torch.frexp(torch.linalg.vector_norm(weights, ord=math.inf)).exponent
    up = (LARGEST - exponent).clamp(-MOST_EXPONENT, MOST_EXPONENT).to(torch.float32)
    return torch.exp2(up), torch.exp2(-up)


def _split(
    A: DeviceArray, weights: DeviceArray | None, scale: DeviceArray, n_parts: int, *, is_left: bool
) -> DeviceArray:
    """Return the float16 parts of A, times weights of the rows and a scale; (m, n_parts, c)."""
    from manyclass.arrays import split_kernel

    if split_kernel.serves(A):
        return split_kernel.split(A, weights, scale, n_parts, is_left=is_left)
    torch = sys.modules["torch"]
    weighted = A.to(torch.float32)
    scaled = (weighted if weights is None else weighted * weights[:, None]) * scale
    high = scaled.to(torch.float16)
    low = (scaled - high).to(torch.float16)
    parts = [high, high, low] if is_left else [high, low, high]
    return torch.stack(parts[:n_parts], dim=1)


def _product(A: DeviceArray, B: DeviceArray) -> DeviceArray:
    """Return a product of float16 matrices in float32."""
    torch = sys.modules["torch"]
    if A.is_cuda:
        return torch.mm(A, B, out_dtype=torch.float32)
    return A.to(torch.float32) @ B.to(torch.float32)
