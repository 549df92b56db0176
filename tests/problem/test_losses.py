"""Tests of problem/formulations.py: a loss, its dual variables and their bounds."""

import numpy as np
import pytest

from manyclass.problem.formulations import LOSSES


@pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
def test_fenchel_young(loss):
    """C loss(xi) - z xi + R(z) >= 0, 0 at the best z; its derivative in z is -dD/dz."""
    costs, xi, z = (
        part.ravel()
        for part in np.meshgrid([0.25, 1.0, 4.0], np.arange(-2, 2, 0.25), np.arange(0, 8, 0.25))
    )
    z = np.minimum(z, loss.upper(costs))

    def term(z):
        return costs * loss.of_positive(np.maximum(0, xi)) - z * xi + loss.ridge(z, costs)

    assert (term(z) >= -1e-12).all()
    assert np.allclose(term(costs * loss.slope(xi)), 0, atol=1e-12)
    slopes = (term(z + 1e-6) - term(z)) / 1e-6
    assert np.allclose(slopes, -loss.gradient(z, xi, costs), atol=1e-5)
