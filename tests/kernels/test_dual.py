"""The kernels below the solver: instruction sets, lists of dual variables, refusals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import _core
from manyclass.problem import objective
from manyclass.solvers.kernels import NO_COMMON, problem_arguments
from manyclass.solvers.weights.dense import allocate_weights
from manyclass.utils.machine import VARIABLE, instruction_set
from tests.helpers.cases import each
from tests.helpers.catalog import PAIRS, make_problem
from tests.helpers.dual_kernels import duals_of, kinds_for, random_data, trainer_for


def check_sweeps(problem):
    """A few loops; then W, D, gap and violation as NumPy has them."""
    for kind in kinds_for(problem):
        check_sweeps_of(problem, kind)


def check_sweeps_of(problem, kind):
    data = problem.dataset
    k, centred = data.n_classes, problem.formulation.centred and kind == "lists"
    trainer, z = trainer_for(problem, kind)
    _, weights = allocate_weights(data.n_features + 1, k + centred, data.dtype)
    order = np.flatnonzero(trainer.problem.squared_norms() > 0).astype(np.int32)
    active = np.empty(len(order), np.int32)
    gains = sum(
        trainer.inspect(weights, z, NO_COMMON, 0.0, i, i + 1).loss
        for i in np.flatnonzero(trainer.problem.squared_norms() == 0)
    )
    for _ in range(3):
        result = trainer.full_loop(weights, z, order, active, -np.inf, 1)
        gains += result.dual_gain
        goal = _core.ShrunkGoal(0.0, 0.0, 20 * k, 0.0)
        gains += trainer.shrunk_loops(weights, z, active, result.n_active, goal, 2).dual_gain
    duals = duals_of(z, problem)
    W = weights[:, :k] - weights[:, k : k + 1] if centred else weights[:, :k]
    digits = 1e-4 if data.dtype == np.float32 else 1e-10
    np.testing.assert_allclose(W, objective.weights_of(problem, duals), rtol=digits, atol=digits)
    assert (weights[:, k + centred :] == 0).all()
    expected = objective.certificate(problem, W, duals)
    size = expected.primal_objective
    assert gains == pytest.approx(expected.dual_objective, abs=digits * size)
    rebuilt = allocate_weights(data.n_features + 1, k + centred, data.dtype)[1]
    common = objective.weights_of(problem, duals, centred=False).mean(axis=1)
    trainer.rebuild(rebuilt, z, common if problem.formulation.centred else NO_COMMON)
    np.testing.assert_allclose(rebuilt[:, :k], W, rtol=digits, atol=digits)
    assert (rebuilt[:, k:] == 0).all()
    seen = trainer.inspect(rebuilt, z, NO_COMMON, np.linalg.norm(rebuilt), 0, data.n_examples)
    assert seen.gap == pytest.approx(expected.gap, abs=digits * size)
    assert seen.max_violation == pytest.approx(expected.max_violation, rel=1e-2, abs=digits)


# Every number of 64-byte blocks that has code of its own (1 to 8), and beyond.
@each("k", [2, 3, 16, 17, 33, 50, 65, 81, 97, 113, 128, 129, 150, 270])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bias", [0.0, 0.5])
def test_sweeps_agree_with_numpy(k, dtype, bias, instruction_set):
    check_sweeps(random_data(30, 20, k, dtype, bias=bias))


@pytest.mark.parametrize(("name", "loss"), PAIRS)
@each("k", [2, 15, 16, 150])
@each("dtype", [np.float32, np.float64])
def test_formulations_agree_with_numpy(name, loss, k, dtype, instruction_set):
    check_sweeps(random_data(30, 20, k, dtype, bias=0.5, name=name, loss=loss))


def test_norms_with_the_appended_feature():
    problem = make_problem(np.array([[3.0, 4.0], [0, 0]]), [0, 1], n_classes=2, bias=2.0)
    np.testing.assert_allclose(trainer_for(problem)[0].problem.squared_norms(), [29, 4])


@pytest.mark.parametrize("duals", [_core.Duals64, _core.LaneDuals64])
def test_duals_keep_what_they_are_given(duals):
    rng = np.random.default_rng(0)
    given = sp.random_array((50, 30), density=0.4, rng=rng, format="csr")
    z = duals(50, 30)
    for matrix in (given, given[::-1], sp.csr_array((50, 30)), given):
        csr = sp.csr_array(matrix)
        z.from_csr(csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data)
        indptr, labels, values = z.to_csr()
        assert (sp.csr_array((values, labels, indptr), shape=(50, 30)) != csr).nnz == 0
        assert z.count == csr.nnz
    assert z.n_bytes >= 16 * given.nnz


@pytest.mark.parametrize(
    ("indptr", "message"),
    [([0, 1], "rows"), ([0, 2, 1, 3], "CSR"), ([0, 1, 2, 9], "CSR"), ([-1, 1, 2, 3], "CSR")],
)
@pytest.mark.parametrize("duals", [_core.Duals64, _core.LaneDuals64])
def test_duals_refuse_what_is_no_csr(duals, indptr, message):
    with pytest.raises(ValueError, match=message):
        duals(3, 3).from_csr(np.array(indptr), np.arange(3, dtype=np.int32), np.ones(3))


@pytest.mark.parametrize("duals", [_core.Duals64, _core.LaneDuals64])
@pytest.mark.parametrize("label", [-1, 3])
def test_duals_refuse_a_class_out_of_range(duals, label):
    with pytest.raises(ValueError, match="class"):
        duals(1, 3).from_csr(np.array([0, 1]), np.array([label], np.int32), np.ones(1))


@pytest.mark.parametrize("kind", ["lists", "lanes"])
def test_weights_of_a_wrong_shape_are_refused(kind):
    problem = make_problem(np.eye(3), [0, 1, 2], n_classes=3)
    trainer, z = trainer_for(problem, kind)
    for shape in [(3, 8), (4, 7), (4, 2)]:
        with pytest.raises(ValueError, match="weights"):
            trainer.inspect(np.zeros(shape), z, NO_COMMON, 0.0, 0, 3)
    _, weights = allocate_weights(4, 3, np.dtype(np.float64))
    with pytest.raises(ValueError, match="rows out of range"):
        trainer.inspect(weights, z, NO_COMMON, 0.0, 0, 4)
    with pytest.raises(ValueError, match="z must have"):
        trainer.inspect(weights, type(z)(2, 3), NO_COMMON, 0.0, 0, 3)


def test_an_unknown_instruction_set_is_refused(monkeypatch):
    monkeypatch.setenv(VARIABLE, "mmx")
    with pytest.raises(ValueError, match=r"mmx.*baseline"):
        instruction_set()
    problem = make_problem(np.eye(2), [0, 1], n_classes=2)
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(ValueError, match="mmx"):
        _core.Problem64(**(problem_arguments(problem) | {"instruction_set": "mmx"}))


def test_the_environment_chooses(instruction_set):
    from manyclass.utils.machine import instruction_set as chosen

    assert chosen() == instruction_set
