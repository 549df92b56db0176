"""Solvers of several ranks: the optimum of one process, proven, the same on every rank."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from manyclass.distributed.communicator import Serial
from manyclass.distributed.ranks_backend import Ranks
from manyclass.distributed.solvers.crammer_singer import DistributedCrammerSinger
from manyclass.distributed.solvers.one_vs_rest import DistributedOneVsRest
from manyclass.distributed.solvers.sum_to_zero import DistributedSumToZero
from manyclass.distributed.solvers.weston_watkins import DistributedWestonWatkins
from manyclass.problem import objective
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.solution import Status
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.solvers.stopping import RULES
from manyclass.training.epoch_loop import Interrupted, Options, solve
from tests.helpers.catalog import five_points, make_problem, random_problem, text_problem, train
from tests.helpers.ranks import on_ranks
from tests.helpers.reference import optimal_objective
from tests.trials.exact import Exact, ExactProblem

SOLVERS = {
    "crammer_singer": DistributedCrammerSinger,
    "weston_watkins": DistributedWestonWatkins,
    "one_vs_rest": DistributedOneVsRest,
    "lee_lin_wahba": DistributedSumToZero,
    "ats": DistributedSumToZero,
    "reinforced": DistributedSumToZero,
    "mmr": DistributedSumToZero,
}
SPARSE = [("crammer_singer", True), ("weston_watkins", True)]
RNG = np.random.default_rng(0)
machines = pytest.mark.parametrize("name", SOLVERS)
combinations = pytest.mark.parametrize(
    ("name", "loss"), [(name, loss) for name in SOLVERS for loss in FORMULATIONS[name].losses]
)
sizes = pytest.mark.parametrize("size", [1, 2, 3, 4])


def train_on(size, problem, *, tol=1e-9, stopping="gap", max_iter=2000, sparse=False, **options):
    """The solutions of all ranks."""

    def call(rank):
        weights = "sparse" if sparse else "dense"
        make = partial(
            Ranks(rank).solver,
            options=Options(tol, weights=weights),
            rng=np.random.default_rng(0),
        )
        return solve(problem, make, RULES[stopping](tol), max_iter=max_iter, **options)

    return on_ranks(size, call)


def dense(weights):
    return weights.toarray() if sp.issparse(weights) else weights


def check(problem, solutions, optimum, tol=1e-9):
    first = solutions[0]
    assert first.status is Status.CONVERGED
    assert first.certificate.primal_objective == pytest.approx(optimum, rel=1e-6)
    assert first.certificate.relative_gap <= tol
    theirs = objective.certificate(problem, dense(first.weights), first.duals)
    assert first.certificate.primal_objective == pytest.approx(theirs.primal_objective, rel=1e-9)
    assert first.certificate.gap == pytest.approx(theirs.gap, abs=1e-9 * optimum)
    assert first.certificate.max_violation == pytest.approx(theirs.max_violation, abs=1e-8)
    for other in solutions[1:]:
        assert other.certificate == first.certificate
        np.testing.assert_array_equal(dense(other.weights), dense(first.weights))
        assert (other.duals != first.duals).nnz == 0


@combinations
@sizes
def test_five_points_by_hand(name, loss, size):
    solved = five_points(name, loss)
    solutions = train_on(size, solved.problem)
    check(solved.problem, solutions, solved.objective)
    np.testing.assert_allclose(solutions[0].weights, solved.weights, atol=1e-3)
    made = Ranks(Serial()).solver(solved.problem, None, Options(1e-3), RNG)
    assert isinstance(made, SOLVERS[name])


@pytest.mark.slow
@combinations
def test_equals_the_quadratic_program(name, loss):
    for seed, size in [(0, 2), (1, 3)]:
        problem = random_problem(seed, name, loss)
        check(problem, train_on(size, problem), optimal_objective(problem))


@machines
@sizes
def test_equals_one_process(name, size):
    problem = text_problem(name, "hinge", np.float64, n=120, d=100, k=17)
    one = train(problem, SequentialDual)
    check(problem, train_on(size, problem), one.certificate.primal_objective)


@machines
def test_float32_to_a_modest_gap(name):
    problem = text_problem(name)
    solutions = train_on(2, problem, tol=1e-3)
    assert solutions[0].weights.dtype == np.float32
    exact = objective.certificate(problem, solutions[0].weights, solutions[0].duals)
    assert exact.relative_gap <= 1.1e-3


@machines
def test_stopping_by_violation(name):
    problem = text_problem(name)
    for solution in train_on(3, problem, tol=0.01, stopping="kkt"):
        assert solution.certificate.max_violation < 0.01


def test_two_classes_have_opposite_weights():
    """The estimator keeps one of them, and the certificate is of both."""
    problem = text_problem("one_vs_rest", n=60, d=40, k=2, dtype=np.float64)
    for solution in train_on(2, problem, tol=0.1):
        np.testing.assert_array_equal(solution.weights[:, 0], -solution.weights[:, 1])


def test_sparse_weights_of_one_vs_rest_are_the_same():
    problem = random_problem(3, "one_vs_rest")
    expected = train_on(2, problem)[0].weights
    for solution in train_on(2, problem, sparse=True):
        assert sp.issparse(solution.weights)
        np.testing.assert_array_equal(solution.weights.toarray(), expected)


@pytest.mark.parametrize(
    ("name", "loss"),
    [("crammer_singer", "hinge"), ("weston_watkins", "hinge"), ("weston_watkins", "squared_hinge")],
)
@sizes
def test_weights_in_tables_reach_the_same_optimum(name, loss, size):
    problem = text_problem(name, loss, np.float64, n=120, d=100, k=41)
    one = train(problem, SequentialDual)
    solutions = train_on(size, problem, sparse=True)
    check(problem, solutions, one.certificate.primal_objective)
    assert all(sp.issparse(solution.weights) for solution in solutions)
    np.testing.assert_allclose(dense(solutions[0].weights), one.weights, atol=1e-3)
    numbers = [record.n_weights for record in solutions[0].history]
    assert 0 < numbers[-1] < 2 * one.weights.size


@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins"])
def test_weights_in_tables_with_more_ranks_than_classes(name):
    problem = random_problem(3, name)
    optimum = train(problem, SequentialDual).certificate.primal_objective
    check(problem, train_on(5, problem, sparse=True), optimum)


@machines
def test_warm_start_ends_at_once(name):
    problem = text_problem(name, dtype=np.float64, n=100, k=10)
    cold = train_on(3, problem, tol=1e-6)[0]
    warm = train_on(2, problem, tol=1e-5, start=cold.start)
    assert len(warm[0].history) == len(cold.history) + 1
    assert warm[0].certificate.relative_gap <= 1e-5


def test_the_same_numbers_every_time():
    problem = text_problem("weston_watkins")
    first, second = (train_on(2, problem, tol=1e-3)[0] for _ in range(2))
    np.testing.assert_array_equal(first.weights, second.weights)
    assert [r.gap_estimate for r in first.history] == [r.gap_estimate for r in second.history]


@settings(max_examples=25)
@given(
    st.integers(0, 10_000),
    st.integers(2, 4),
    st.sampled_from(["crammer_singer", "weston_watkins", "lee_lin_wahba"]),
    st.booleans(),
)
def test_the_dual_objective_never_falls(seed, size, name, sparse):
    problem = random_problem(seed, name)
    sparse = sparse and name != "lee_lin_wahba"
    solution = train_on(size, problem, max_iter=6, sparse=sparse)[0]
    before = -np.inf
    for epochs in range(1, 4):
        z = train_on(size, problem, tol=1e-300, max_iter=epochs, sparse=sparse)[0].duals
        now = objective.dual(problem, z)
        assert now >= before - 1e-9 * abs(now)
        before = now
    assert (solution.duals.data > 0).all()
    assert (solution.duals.data <= problem.costs.max() * (1 + 1e-9)).all()
    if name == "crammer_singer":
        assert (solution.duals.sum(axis=1) <= problem.costs * (1 + 1e-12)).all()


def test_classes_without_an_example_and_rows_without_a_feature():
    X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    for name in SOLVERS:
        problem = make_problem(X, [0, 3, 3, 0], n_classes=6, formulation=name)
        one = train(problem).certificate.primal_objective
        for size in (1, 2, 5):
            check(problem, train_on(size, problem), one)


@machines
def test_an_error_on_one_rank_ends_all(name):
    problem = text_problem(name)

    def broken(values):
        raise RuntimeError("one rank fails")

    def call(rank):
        if rank.rank == 1:
            rank.all_gather = broken
        make = partial(Ranks(rank).solver, options=Options(1e-3), rng=np.random.default_rng(0))
        return solve(problem, make, RULES["gap"](1e-3), max_iter=10)

    with pytest.raises(RuntimeError, match="one rank fails"):
        on_ranks(3, call)


def test_interrupted_alone_it_can_go_on():
    problem = text_problem("weston_watkins", dtype=np.float64)

    def interrupt(progress):
        if progress.record.epoch == 2:
            raise KeyboardInterrupt
        return False

    with pytest.raises(Interrupted) as caught:
        train_on(1, problem, on_epoch=interrupt)
    z = caught.value.start.duals
    assert z.nnz > 0
    assert len(train_on(1, problem, start=caught.value.start)[0].history) > 0


@pytest.mark.parametrize(("name", "sparse"), [*((n, False) for n in SOLVERS), *SPARSE])
@pytest.mark.parametrize("size", [1, 3])
def test_certificates_hold_without_rounding(name, sparse, size):
    """In float32, with intercepts that are rounded, and rows enough for their sums to be.

    One process trains most epochs, as it is faster.
    """
    rng = np.random.default_rng(0)
    y = np.append(np.arange(4), rng.integers(0, 4, 596))
    X = (rng.normal(size=(600, 3)) + rng.normal(size=(4, 3))[y]).astype(np.float32)
    X[5] = 0
    problem = make_problem(X, y, n_classes=4, formulation=name, C=0.3, bias=0.37)
    near = train(problem, tol=1e-6, max_iter=100)
    most = len(near.history) + 3
    solution = train_on(size, problem, sparse=sparse, max_iter=most, start=near.start)[0]
    claim = solution.certificate
    primal, dual = exact_objectives(problem, X, solution)
    assert primal - dual <= Fraction(claim.gap)
    assert Fraction(claim.dual_objective) <= dual


def exact_objectives(problem, X, solution):
    """P of W as users have it, and D of z."""
    data, formulation = problem.dataset, problem.formulation
    exact = ExactProblem.from_rows(
        X, data.labels, problem.costs, data.n_classes, formulation, bias=data.bias, squared=False
    )
    held = dense(solution.weights)
    coef, last = (
        Exact.from_array(held[:-1]),
        Exact.from_array(held[-1:] * held.dtype.type(data.bias)),
    )
    last = last.over(Fraction(data.bias))
    W = Exact(np.vstack([coef.ints * last.unit, last.ints * coef.unit]), coef.unit * last.unit)
    W = W.centred() if formulation.centred else W
    return exact.primal(W), exact.dual(solution.duals.toarray())
