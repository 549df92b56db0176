"""The Newton phase: its rounds against the quadratic program, when it begins and ends."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass.problem import objective
from manyclass.problem.solution import Certificate, Start, Status
from manyclass.solvers import newton_phase
from manyclass.solvers.newton_phase import NewtonPhase, Pace, beginning, is_allowed
from manyclass.solvers.one_vs_rest import OneVsRest
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.solvers.stopping import GapRule
from manyclass.training.epoch_loop import Interrupted
from tests.helpers.cases import each
from tests.helpers.catalog import make_problem, random_problem, train
from tests.helpers.dual_kernels import engine_for, random_data
from tests.helpers.newton_kernels import digits_of, newton_round, prepared, rows
from tests.helpers.reference import optimal_objective

SOLVERS = ([SequentialDual], [SequentialDual, OneVsRest])  # of classes that are independent


@pytest.fixture
def at_once(monkeypatch):
    """The phase begins after the first epoch, whatever the problem."""
    rounds = []
    play = NewtonPhase.round

    def counted(self):
        rounds.append(play(self))
        return rounds[-1]

    monkeypatch.setattr(NewtonPhase, "round", counted)
    monkeypatch.setattr(newton_phase, "beginning", lambda problem: (2.0, newton_phase.LATE))
    monkeypatch.setattr(newton_phase, "is_allowed", lambda problem: True)
    monkeypatch.setattr(Pace, "is_slow", lambda self, passes=0: True)
    return rounds


@rows
def test_reaches_the_quadratic_program(name, loss, at_once):
    for seed in range(20):
        problem = random_problem(seed, name, loss)
        solution = train(problem, max_iter=3000)
        assert solution.status is Status.CONVERGED
        optimum = optimal_objective(problem)
        assert solution.certificate.primal_objective == pytest.approx(optimum, rel=1e-6)
    assert len(at_once) > 20


@rows
@each("dtype", [np.float32, np.float64])
def test_certificate_equals_numpy(name, loss, dtype, at_once, instruction_set):
    best = -np.inf
    for max_iter in range(2, 7):
        problem = random_data(60, 6, 5, dtype, bias=0.5, name=name, loss=loss)
        solution = train(problem, max_iter=max_iter, tol=0.0)
        ours, z = solution.certificate, solution.duals.toarray()
        theirs = objective.certificate(problem, solution.weights, solution.duals)
        digits = digits_of(problem) * theirs.primal_objective
        assert ours.primal_objective == pytest.approx(theirs.primal_objective, abs=digits)
        assert ours.gap == pytest.approx(theirs.gap, abs=digits)
        assert ours.max_violation == pytest.approx(theirs.max_violation, rel=1e-3, abs=1e-3)
        assert theirs.dual_objective >= best - digits
        best = theirs.dual_objective
        assert (z >= 0).all()
        if loss == "hinge":
            taken = z.sum(axis=1) if name == "crammer_singer" else z.max(axis=1)
            assert (taken <= problem.costs * (1 + 1e-6)).all()
        if problem.formulation.sum_to_zero != "no":
            assert np.abs(solution.weights.sum(axis=1)).max() <= digits_of(problem)
    assert at_once


@pytest.mark.parametrize("stopping", ["gap", "kkt"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_rules_are_met(stopping, dtype, at_once):
    problem = blobs(dtype, n=200, d=6, k=4)
    solution = train(problem, tol=1e-3, stopping=stopping)
    assert solution.status is Status.CONVERGED
    assert at_once


def blobs(dtype=np.float32, n=1500, d=12, k=5, **kind):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, k, n)
    X = rng.normal(size=(k, d))[labels] + 1.5 * rng.normal(size=(n, d))
    return make_problem(X.astype(dtype), labels, n_classes=k, **kind)


def test_begins_by_itself_and_takes_fewer_epochs(monkeypatch):
    problem = blobs()
    fast = train(problem, tol=1e-4)
    monkeypatch.setattr(newton_phase, "is_allowed", lambda problem: False)
    slow = train(problem, tol=1e-4)
    assert fast.status is slow.status is Status.CONVERGED
    assert len(fast.history) < len(slow.history)
    difference = fast.certificate.primal_objective - slow.certificate.primal_objective
    assert abs(difference) <= 1e-4 * slow.certificate.primal_objective


def test_interrupted_the_duals_are_kept(at_once, monkeypatch):
    problem = blobs(np.float64)
    play = NewtonPhase.round

    def interrupted(self):
        found = play(self)
        if self.rounds == 3:
            raise KeyboardInterrupt
        return found

    with monkeypatch.context() as patch:
        patch.setattr(NewtonPhase, "round", interrupted)
        with pytest.raises(Interrupted) as caught:
            train(problem, tol=1e-9)
    z = caught.value.start.duals
    assert objective.dual(problem, z) > 0
    resumed = train(problem, tol=1e-6, start=caught.value.start)
    assert resumed.status is Status.CONVERGED


@rows
@each("dtype", [np.float32, np.float64])
def test_a_second_training_goes_on_from_the_weights(name, loss, dtype, at_once):
    """They are not W(z), from which it would have to find its way again."""
    problem = blobs(dtype, formulation=name, loss=loss)
    for solver in SOLVERS[name == "one_vs_rest"]:
        first = train(problem, solver, tol=1e-4)
        # W(z) is as good where rounds end at the optimum: hinge losses that are summed.
        is_exact = loss == "hinge" and problem.formulation.aggregation == "sum"
        assert first.start.weights is not None or is_exact or name in ("mmr", "reinforced")
        second = train(problem, solver, tol=1e-4, start=first.start)
        assert second.status is Status.CONVERGED
        assert len(second.history) - len(first.history) <= 2 < len(first.history)
        theirs = objective.certificate(problem, second.weights, second.duals)
        assert theirs.relative_gap <= 1.1e-4


def test_what_descent_leaves_is_z_alone():
    problem = random_data(30, 200, 3, np.float32)
    first = train(problem, tol=1e-3)
    assert first.start.weights is None
    # Weights of no use, as from another problem, are not gone on from.
    W = np.full((201, 3), 1e3, np.float32)
    assert len(train(problem, tol=1e-3, start=Start(first.duals, W)).history) == 1


def test_weights_worse_than_those_of_z_are_not_gone_on_from(at_once):
    problem = blobs(np.float64)
    first = train(problem, tol=1e-6)
    W = 100 * first.weights
    again = train(problem, tol=1e-6, start=Start(first.duals, W))
    assert again.status is Status.CONVERGED
    assert again.certificate.primal_objective == pytest.approx(
        first.certificate.primal_objective, rel=1e-5
    )


def test_begins_late_where_descent_never_comes_near():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 2000)
    X = rng.normal(size=(3, 1))[y] + rng.normal(size=(2000, 1))
    solution = train(make_problem(X, y, n_classes=3, C=1e4), tol=1e-3, max_iter=200)
    assert solution.status is Status.CONVERGED
    assert solution.history[newton_phase.LATE_WHOLE - 1].relative_gap > newton_phase.START_WHOLE


def test_a_round_ends_when_its_budget_is_spent():
    problem = random_data(300, 20, 4, np.float64)
    whole, cut = (newton_round(prepared(problem)[0], 1e-3, budget) for budget in (10**9, 3000))
    assert cut.steps < whole.steps
    assert cut.evaluations < whole.evaluations
    core, _, centre, _ = prepared(problem)
    at_centre = objective.dual(problem, sp.csr_array(centre))
    found = newton_round(core, 1e-3, 3000)
    assert found.primal - found.gap >= at_centre


def test_descent_takes_over_when_rounds_bring_nothing(at_once, monkeypatch):
    monkeypatch.setattr(newton_phase, "PROGRESS", 1e-9)
    solution = train(blobs(), tol=1e-3)
    assert solution.status is Status.CONVERGED
    assert 0 < len(at_once) < len(solution.history) - 1


@rows
def test_goes_on_where_rounding_leaves_nothing(name, loss, at_once):
    problem = random_data(30, 4, 3, np.float64, name=name, loss=loss)
    solution = train(problem, tol=0.0, max_iter=100)
    assert at_once
    assert abs(solution.certificate.relative_gap) < 1e-9


def test_where_it_is_allowed():
    assert is_allowed(blobs())
    assert not is_allowed(random_data(30, 200, 3, np.float32))


def test_begins_sooner_where_the_hessian_is_small():
    usual = (newton_phase.START, newton_phase.LATE)
    assert beginning(blobs()) == (newton_phase.START_WHOLE, newton_phase.LATE_WHOLE)
    assert beginning(random_data(400, 200, 40, np.float32)) == usual
    assert beginning(random_data(20, 90, 3, np.float32)) == usual


def ill_conditioned(**kind):
    """Features of scales from 1 to 1,000 with a mean, and a class of five rows."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [700, 495, 5])
    X = (rng.normal(size=(3, 15))[y] + rng.normal(size=(1200, 15)) + 2) * np.logspace(0, -3, 15)
    return make_problem(X, y, n_classes=3, C=10.0, **kind)


@rows
def test_ill_conditioned_problems_converge_in_few_passes(name, loss):
    problem = ill_conditioned(formulation=name, loss=loss)
    solution = train(problem, tol=1e-6, max_iter=300)
    assert solution.status is Status.CONVERGED
    theirs = objective.certificate(problem, solution.weights, solution.duals)
    assert theirs.relative_gap <= 1.1e-6
    scores = sum(record.evaluations for record in solution.history)
    # 22 to 76 passes; 26 to 116 with one matrix for all classes.
    assert scores <= 90 * 1200 * 3


def test_pace_looks_at_what_is_left():
    pace = Pace()
    assert not pace.is_slow()
    pace.add(8.0, 5)
    assert not pace.is_slow()
    pace.add(4.0, 5)  # two units of work for what is left
    assert not pace.is_slow()
    pace.add(3.9, 5)
    pace.add(3.8, 5)
    assert pace.is_slow()
    pace.add(-1.0, 5)
    assert not pace.is_slow()


def test_pace_hears_of_estimates_that_were_too_good():
    pace = Pace()
    pace.correct(5.0)
    pace.add(-1.0, 5)
    pace.add(-1.1, 5)
    assert not pace.is_slow()
    pace.correct(2.0)
    assert pace.is_slow()
    pace.correct(-2.0)
    assert not pace.is_slow()


def test_what_a_certificate_found_goes_back_into_the_estimates(monkeypatch):
    """Descent that says "done" at once does not keep the phase from beginning."""
    problem = blobs()
    monkeypatch.setattr(GapRule, "distance", _too_good)
    assert train(problem, tol=1e-4, max_iter=60).status is Status.CONVERGED


def _too_good(self, found, primal):
    honest = isinstance(found, Certificate)
    return np.log(found.gap / (self.tol * primal)) - (0 if honest else 9)


def test_begins_without_a_tolerance():
    solution = train(blobs(), tol=0.0, max_iter=40)
    assert solution.certificate.relative_gap < 1e-4


def test_weights_of_another_engine_are_refused():
    core, single, small = (
        engine_for(make_problem(np.eye(d, dtype=dtype)[:2], [0, 1], n_classes=3), "dense")
        for d, dtype in [(3, np.float64), (3, np.float32), (2, np.float64)]
    )
    newton = core.newton()
    for other, message in [(single, "type of X"), (small, "laid out")]:
        with pytest.raises(ValueError, match=message):
            newton.read_weights(other.W)
        with pytest.raises(ValueError, match=message):
            newton.write_weights(other.W)
    with pytest.raises(ValueError, match="few classes"):
        engine_for(make_problem(np.eye(3), [0, 1, 2], n_classes=3), "dense", lists=True).newton()


def test_solver_has_no_phase_before_it_begins():
    problem = random_data(30, 200, 3, np.float32)
    assert SequentialDual(problem, None, np.random.default_rng(0))._phase is None


@pytest.mark.parametrize("step", ["__init__", "round"])
def test_without_memory_for_it_descent_goes_on(step, at_once, monkeypatch):
    def without_memory(self, *_):
        raise MemoryError

    monkeypatch.setattr(NewtonPhase, step, without_memory)
    solution = train(blobs(np.float64), tol=1e-2)
    assert solution.status is Status.CONVERGED
