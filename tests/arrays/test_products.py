"""Products of rows with matrices, of float16 numbers whose sums are float32."""

from __future__ import annotations

import numpy as np
import pytest

from manyclass.arrays.products import Factor, HalfFactor
from tests.helpers.cases import each

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.slow
SIZES = [(1, 1, 1), (1e-3, 1e-4, 1e-9), (1e30, 1e-30, 1e3), (1e-20, 1e10, 1e20)]


def draw(*shape, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return torch.as_tensor(rng.normal(size=shape) * scale).float()


def error(found, expected):
    return float((found.double() - expected).abs().max() / expected.abs().max())


@each("sizes", SIZES)
@each(("is_fast", "bound"), [(False, 2e-6), (True, 1e-3)])
def test_errors_of_products(sizes, is_fast, bound):
    of_x, of_W, of_R = sizes
    x, W, R = draw(300, 40, scale=of_x), draw(40, 7, scale=of_W), draw(300, 7, scale=of_R)
    weights = draw(300).abs() + 0.1
    factor = HalfFactor(x, is_fast=is_fast)
    assert factor.times(W).dtype == torch.float32
    assert error(factor.times(W), x.double() @ W.double()) < bound
    assert error(factor.back(R), x.double().T @ R.double()) < bound
    weighted = x.double().T @ (weights.double()[:, None] * R.double())
    assert error(factor.back(R, weights), weighted) < bound
    torch.testing.assert_close(Factor(x).back(R, weights), factor.back(R, weights), rtol=1, atol=0)


@each("dtype", ["float16", "bfloat16"])
def test_rows_of_sixteen_bits(dtype):
    x, W, R = draw(50, 8).to(getattr(torch, dtype)), draw(8, 3), draw(50, 3)
    factor = HalfFactor(x, is_fast=False)
    assert error(factor.times(W), x.double() @ W.double()) < 2e-6
    assert error(factor.back(R), x.double().T @ R.double()) < 2e-6


def test_zeros_and_single_numbers():
    assert (HalfFactor(torch.zeros(3, 2), is_fast=False).times(torch.zeros(2, 2)) == 0).all()
    found = HalfFactor(torch.full((1, 1), 3e38), is_fast=False).times(torch.full((1, 1), 1e-38))
    assert error(found, torch.full((1, 1), 3.0).double()) < 1e-6
