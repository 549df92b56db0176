"""The kernels below the solver: instruction sets, lists of dual variables, refusals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import _core
from manyclass.problem import objective
from manyclass.problem.problem import core_problem, problem_arguments
from manyclass.solvers.engines import NO_COMMON
from manyclass.utils.machine import VARIABLE, instruction_set
from tests.helpers.cases import each
from tests.helpers.catalog import PAIRS, make_problem
from tests.helpers.dual_kernels import (
    duals_of,
    engine_for,
    filled_rows,
    kinds_for,
    random_data,
    set_duals,
    sums_of,
)


def check_sweeps(problem):
    """A few loops; then W, D, gap and violation as NumPy has them."""
    for kind in kinds_for(problem):
        check_sweeps_of(problem, kind)


def check_sweeps_of(problem, kind):
    data = problem.dataset
    k, centred = data.n_classes, problem.formulation.centred and kind == "lists"
    engine, order = engine_for(problem, kind), filled_rows(problem)
    active = np.empty(len(order), np.int32)
    gains = engine.constant_loss()
    for _ in range(3):
        result = engine.full_loop(order, active, -np.inf, 1)
        gains += result.dual_gain
        goal = _core.ShrunkGoal(0.0, 0.0, 20 * k, 0.0)
        gains += engine.shrunk_loops(active, result.n_active, goal, 2).dual_gain
    duals, W = duals_of(engine, problem), engine.copy_weights()
    digits = 1e-4 if data.dtype == np.float32 else 1e-10
    np.testing.assert_allclose(W, objective.weights_of(problem, duals), rtol=digits, atol=digits)
    assert (engine.W.padded[:, k + centred :] == 0).all()
    expected = objective.certificate(problem, W, duals)
    size = expected.primal_objective
    assert gains == pytest.approx(expected.dual_objective, abs=digits * size)
    engine.rebuild()
    np.testing.assert_allclose(engine.W.matrix, W, rtol=digits, atol=digits)
    assert (engine.W.padded[:, k:] == 0).all()
    seen = sums_of(engine.gap_sums(NO_COMMON, float(np.linalg.norm(engine.W.matrix))))
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
    np.testing.assert_allclose(core_problem(problem).squared_norms(), [29, 4])


def engine_of(n, k, kind):
    return engine_for(make_problem(np.ones((n, 1)), np.arange(n) % k, n_classes=k), kind)


KINDS = pytest.mark.parametrize("kind", ["lists", "lanes", "class_major", "tables"])


@KINDS
def test_duals_keep_what_they_are_given(kind):
    rng = np.random.default_rng(0)
    given = sp.random_array((50, 30), density=0.4, random_state=rng, format="csr")
    engine = engine_of(50, 30, kind)
    for matrix in (given, given[::-1], sp.csr_array((50, 30)), given):
        set_duals(engine, matrix)
        indptr, labels, values = engine.export_duals()
        held = sp.csr_array((values, labels, indptr), shape=(50, 30))
        assert (held != sp.csr_array(matrix)).nnz == 0
        assert engine.n_duals == matrix.nnz


def test_lists_keep_what_they_are_given():
    given = sp.random_array(
        (50, 30), density=0.4, random_state=np.random.default_rng(0), format="csr"
    )
    z = _core.Duals64(50, 30)
    z.from_csr(given.indptr.astype(np.int64), given.indices.astype(np.int32), given.data)
    indptr, labels, values = z.to_csr()
    assert (sp.csr_array((values, labels, indptr), shape=(50, 30)) != given).nnz == 0
    assert z.n_bytes >= 16 * given.nnz


@pytest.mark.parametrize(
    ("indptr", "message"),
    [([0, 1], "rows"), ([0, 2, 1, 3], "CSR"), ([0, 1, 2, 9], "CSR"), ([-1, 1, 2, 3], "CSR")],
)
@KINDS
def test_duals_refuse_what_is_no_csr(kind, indptr, message):
    with pytest.raises(ValueError, match=message):
        engine_of(3, 3, kind).set_duals(np.array(indptr), np.arange(3, dtype=np.int32), np.ones(3))


@KINDS
@pytest.mark.parametrize("label", [-1, 3])
def test_duals_refuse_a_class_out_of_range(kind, label):
    with pytest.raises(ValueError, match="class"):
        engine_of(1, 3, kind).set_duals(np.array([0, 1]), np.array([label], np.int32), np.ones(1))


@pytest.mark.parametrize("kind", ["lists", "lanes"])
def test_weights_of_another_problem_are_refused(kind):
    engine = engine_of(3, 3, kind)
    wide = engine_for(make_problem(np.eye(3), [0, 1, 2], n_classes=3), kind)
    with pytest.raises(ValueError, match="weights"):
        engine.gap_sums(NO_COMMON, 0.0, wide.W)
    with pytest.raises(ValueError, match="weights"):
        engine.take(wide.W)
    with pytest.raises(ValueError, match="common"):
        engine.gap_sums(np.zeros(3), 0.0)


@KINDS
def test_nothing_is_left_of_dense_weights_that_were_released(kind):
    engine, rows = engine_of(3, 3, kind), np.arange(3, dtype=np.int32)
    engine.full_loop(rows, rows.copy(), -np.inf, 0)
    kept = None if kind == "tables" else engine.W.matrix
    expected, found = engine.copy_weights(), engine.release_weights()
    if kind == "tables":
        assert engine.n_weights == 0
        return
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(kept, expected)  # the memory that others refer to stays
    with pytest.raises(ValueError, match="released"):
        engine.full_loop(rows, rows.copy(), -np.inf, 0)


def test_an_unknown_instruction_set_is_refused(monkeypatch):
    monkeypatch.setenv(VARIABLE, "mmx")
    with pytest.raises(ValueError, match=r"mmx.*baseline"):
        instruction_set()
    problem = make_problem(np.eye(2), [0, 1], n_classes=2)
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(ValueError, match="mmx"):
        _core.Problem64(**(problem_arguments(problem) | {"instruction_set": "mmx"}))


def test_a_build_for_other_processors_is_refused(monkeypatch):
    monkeypatch.setattr(_core, "instruction_sets", list)
    with pytest.raises(ImportError, match="compiled for a different processor"):
        instruction_set()


def test_the_environment_chooses(instruction_set):
    from manyclass.utils.machine import instruction_set as chosen

    assert chosen() == instruction_set
