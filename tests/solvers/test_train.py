"""Training by one process: which duals it keeps."""

from __future__ import annotations

import numpy as np
import pytest

from manyclass.solvers.stopping import GapRule
from manyclass.solvers.train import serial_solver
from manyclass.solvers.training_loop import solve
from tests.helpers.catalog import text_problem


@pytest.mark.parametrize("weights", ["dense", "sparse"])
def test_duals_that_nobody_wants_are_not_kept(weights):
    problem = text_problem()

    def solution(keeps_duals):
        rng = np.random.default_rng(0)

        def make(problem, start):
            return serial_solver(problem, start, weights, rng, 1, keeps_duals=keeps_duals)

        return solve(
            problem,
            make,
            GapRule(1e-3),
            max_iter=100,
        )

    with_duals, without = solution(True), solution(False)
    assert with_duals.duals.nnz > 0
    assert without.duals.nnz == 0
    assert without.duals.shape == with_duals.duals.shape
    assert without.certificate == with_duals.certificate
