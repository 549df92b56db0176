"""Rows in the order of their classes take no more work than shuffled ones."""

from __future__ import annotations

import numpy as np
import pytest

from manyclass import MulticlassSVC


def work(X, y, formulation):
    """Scores computed until the gap is proven, a mean over seeds."""
    found = []
    for seed in range(3):
        model = MulticlassSVC(formulation=formulation, tol=1e-3, random_state=seed)
        found.append(sum(record.evaluations for record in model.fit(X, y).history_))
    return np.mean(found)


@pytest.mark.parametrize("formulation", ["crammer_singer", "weston_watkins"])
def test_sorted_rows_take_the_work_of_shuffled_ones(formulation):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(26), 200))
    X = (rng.normal(size=(26, 16))[y] + rng.normal(size=(len(y), 16))).astype(np.float32)
    order = np.argsort(y, kind="stable")
    shuffled, in_order = work(X, y, formulation), work(X[order], y[order], formulation)
    assert in_order <= 1.1 * shuffled
