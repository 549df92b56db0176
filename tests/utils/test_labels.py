"""Numbers of labels, with and without sorting."""

from __future__ import annotations

import numpy as np
import pytest

from manyclass.utils.labels import classes_and_numbers
from tests.helpers.cases import each

LABELS = [
    [3, 1, 2, 1],
    [5],
    [-128, 127, 0] * 100,
    [255, 0] * 100,
    [-2, 3] * 4,
    [2**63 - 1, 2**63 - 3] * 3,
    [-(2**63), -(2**63) + 2] * 3,
    [2**64 - 1, 2**64 - 2],
    [0, 10**9],
]


@each("dtype", "bBhHiIlL")
def test_integers_are_numbered_as_by_sorting(dtype):
    info = np.iinfo(dtype)
    for labels in LABELS:
        if info.min <= min(labels) and max(labels) <= info.max:
            y = np.array(labels, dtype)
            for given in (y, y[::-1]):
                check(given)


@pytest.mark.parametrize("y", [np.array(["b", "a", "b"]), np.array([0.5, -1.0]), np.zeros(0, int)])
def test_other_labels(y):
    check(y)


def check(y):
    found, wanted = classes_and_numbers(y), np.unique(y, return_inverse=True)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
