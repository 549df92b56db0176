"""The solver of a problem: the duals that it keeps."""

from __future__ import annotations

import numpy as np
import pytest

from manyclass.solvers.stopping import GapRule
from manyclass.training.epoch_loop import Options, solve
from manyclass.training.train import OneProcess
from tests.helpers.catalog import text_problem


@pytest.mark.parametrize("weights", ["dense", "sparse"])
def test_duals_that_nobody_wants_are_not_kept(weights):
    problem = text_problem()

    def solution(keeps_duals):
        rng = np.random.default_rng(0)

        def make(problem, start):
            options = Options(1e-3, weights=weights, keeps_duals=keeps_duals)
            return OneProcess().solver(problem, start, options, rng)

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
