"""The diagonal metric of consensus: exact scaling, the V of each round, certificates in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass.distributed.rows.admm import RELAXATION, ConsensusAdmm, power_of_two, scales
from manyclass.distributed.rows.svm_rows import SvmRows
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import named
from manyclass.problem.objective import certificate
from manyclass.problem.problem import Problem
from manyclass.rows.parts import LocalParts
from manyclass.solvers.stopping import GapRule
from tests.distributed.rows.test_admm import CASES, TOL, alone
from tests.helpers.cases import each
from tests.helpers.parts import WEIGHTS, WIDE, Y

ROWS = sp.csr_array(WIDE * np.exp2(np.arange(WIDE.shape[1]) % 7 - 3.0))


def problem_of(rows, formulation="crammer_singer", loss="hinge", some=slice(None)):
    data = Dataset.from_matrix(
        rows[some], Y[some], n_classes=5, weights=WEIGHTS[some] + 0.5, bias=1.0
    )
    return Problem(data, named(formulation), 0.1, loss)


def parts_of(rows, formulation="crammer_singer", loss="hinge"):
    cuts = np.array_split(np.arange(len(Y)), 3)
    problems = [problem_of(rows, formulation, loss, some) for some in cuts]
    return [SvmRows(problem, number=number) for number, problem in enumerate(problems)]


def test_features_of_large_numbers_are_held_tighter():
    """sqrt(m_j) are powers of 2 that rise with the squares; 1 where rows are not to be scaled."""
    squares = np.array([4.0**j for j in range(-8, 9)] + [0.0])
    scale = scales(squares, 3)
    assert (np.diff(scale[:-1]) >= 0).all()
    assert scale[0] < 0.5 * scale[-2]
    assert scale[-1] == 1
    np.testing.assert_array_equal(np.frexp(scale)[0], 0.5)
    np.testing.assert_array_equal(scales(2.0**70 * squares, 3), scale)
    for given in (np.zeros(3), np.array([1.0, np.nan, 2.0]), np.array([1.0, 1e61])):
        np.testing.assert_array_equal(scales(given, 3), 1)


@each("rows", [ROWS.toarray() + 1.0, ROWS])
def test_dense_rows_are_not_scaled(rows):
    parts = parts_of(rows)
    solver = ConsensusAdmm(problem_of(rows), LocalParts(parts), None)
    solver.epoch(GapRule(TOL))
    is_sparse = sp.issparse(rows)
    assert (len(set(solver._scale.ravel())) > 2) == is_sparse
    assert all((part._scaled is not part.problem) == is_sparse for part in parts)


def test_weights_of_a_round():
    """V_j = rho m_j sum_r (What_rj + U_rj) / (1 + R_j rho m_j), in the units of the rows."""
    parts = parts_of(ROWS)
    solver = ConsensusAdmm(problem_of(ROWS), LocalParts(parts), None)
    for _ in range(4):
        rho, before = solver.rho, solver.V
        solver.epoch(GapRule(TOL))
        total, m = np.zeros(solver.V.shape), np.square(solver._scale)
        for part in parts:
            data, z = part.problem.dataset, part.duals().toarray()
            X = sp.hstack([data.matrix(), np.ones((len(z), 1))])
            U = part._U / solver._scale
            z = (z.sum(axis=1)[:, None] * np.eye(5)[data.labels]) - z
            W = before - U + X.T @ z / (rho * m)
            has = data.used_features()[:, None]
            total += has * (RELAXATION * W + (1 - RELAXATION) * before + U)
        expected = rho * m * total / (1 + solver._holders * rho * m)
        np.testing.assert_allclose(solver.V, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("formulation", "loss"), CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_certificate_is_that_of_numpy(formulation, loss, dtype):
    """Of the rows as they are given; a part is lost after four rounds."""
    rows = ROWS.astype(dtype)
    problem, parts = problem_of(rows, formulation, loss), parts_of(rows, formulation, loss)
    solver = ConsensusAdmm(problem, LocalParts(parts), None)
    known = []
    for number in range(8):
        if number == 4:
            parts[2] = parts_of(rows, formulation, loss)[2]
        solver.epoch(GapRule(TOL))
        z = sp.vstack([part.duals() for part in parts], format="csr")
        known.append(certificate(problem, solver.V, z))
    found = solver.certify()
    best = min(one.primal_objective for one in known)
    dual = max(one.dual_objective for one in known)
    rel = 1e-5 if dtype == np.float32 else 1e-9
    assert found.primal_objective == pytest.approx(best, rel=rel)
    assert found.dual_objective <= dual * (1 + 1e-12)
    assert found.gap == pytest.approx(best - dual, rel=100 * rel)


@each("formulation", ["crammer_singer", "weston_watkins", "one_vs_rest", "lee_lin_wahba"])
def test_the_optimum_is_that_of_one_process(formulation):
    best = alone(ROWS, Y, WEIGHTS + 0.5, formulation=formulation).certificate_
    parts = LocalParts(parts_of(ROWS, formulation, "hinge"))
    solver = ConsensusAdmm(problem_of(ROWS, formulation), parts, None)
    rule = GapRule(TOL)
    for _ in range(60):
        solver.epoch(rule)
        if rule.met(solver.certify()):
            break
    proof = solver.certify()
    assert proof.relative_gap <= TOL
    assert proof.dual_objective <= best.primal_objective
    assert proof.primal_objective >= best.dual_objective


def test_powers_of_two():
    assert [power_of_two(x) for x in (1.0, 8 / 7, 4 / 3, 8 / 3)] == [1.0, 1.0, 1.0, 2.0]
