"""A signal inside the compiled core's Newton rounds: heard soon, z feasible, training resumable."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from functools import partial

import numpy as np
import pytest

from manyclass import MulticlassSVC
from manyclass.problem import objective
from manyclass.problem.solution import Status
from manyclass.solvers import newton_phase
from manyclass.solvers.comparison.cutting_plane import CuttingPlane
from manyclass.solvers.comparison.exponentiated_gradient import ExponentiatedGradient
from manyclass.solvers.comparison.most_violating import MostViolating
from manyclass.solvers.newton_phase import NewtonPhase, Pace
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.solvers.stopping import GapRule
from manyclass.training.epoch_loop import Interrupted, solve
from tests.helpers.catalog import make_problem, random_problem, train
from tests.helpers.interrupts import count_calls, interrupt


def clouds(n=8000, d=150, k=10):
    """A Newton round of these takes tenths of a second."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n)
    return 0.3 * rng.normal(size=(k, d))[y] + rng.normal(size=(n, d)), y


@pytest.fixture
def ctrl_c(monkeypatch):
    """Ctrl-C within the first Newton round that lasts long enough; the phase begins at once."""
    inside, over = threading.Event(), threading.Event()
    play = NewtonPhase.round

    def watched(self):
        inside.set()
        try:
            return play(self)
        finally:
            inside.clear()

    def press():
        while not over.wait(0.02):
            if inside.is_set():
                over.set()
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(NewtonPhase, "round", watched)
    monkeypatch.setattr(newton_phase, "START", 10.0)
    monkeypatch.setattr(Pace, "is_slow", lambda self, passes=0: True)
    finger = threading.Thread(target=press)
    finger.start()
    yield over
    over.set()
    finger.join()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("formulation", ["crammer_singer", "weston_watkins"])
def test_a_signal_is_heard_inside_a_newton_round(formulation, n_jobs, ctrl_c):
    X, y = clouds()
    problem = make_problem(X, y, n_classes=10, formulation=formulation)
    solver = partial(SequentialDual, rng=np.random.default_rng(0), n_jobs=n_jobs)
    with pytest.raises(Interrupted) as caught:
        solve(problem, solver, GapRule(1e-12), max_iter=100)
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__cause__.__traceback__)]
    assert "watched" in frames
    z = caught.value.start.duals
    assert (z.data > 0).all()
    taken = z.sum(axis=1) if formulation == "crammer_singer" else z.max(axis=1).toarray()
    assert (taken <= problem.costs * (1 + 1e-9)).all()
    assert objective.dual(problem, z) > 0
    resumed = train(problem, tol=5e-2, start=caught.value.start)
    assert resumed.status is Status.CONVERGED
    assert resumed.certificate.dual_objective >= objective.dual(problem, z)


@pytest.mark.parametrize("formulation", ["crammer_singer", "one_vs_rest"])
def test_an_interrupted_fit_is_resumed(formulation, ctrl_c):
    """One-vs-rest runs its rounds in other threads, which are told to stop."""
    X, y = clouds()
    model = MulticlassSVC(
        formulation=formulation, tol=1e-10, warm_start=True, n_jobs=2, random_state=0
    )
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert ctrl_c.is_set()
    assert not hasattr(model, "coef_")
    assert model.set_params(tol=5e-2).fit(X, y).certificate_.relative_gap <= 5e-2


SOLVERS = [
    CuttingPlane,
    partial(CuttingPlane, line_search=False),
    ExponentiatedGradient,
    MostViolating,
    SequentialDual,
]


@pytest.mark.parametrize("solver", SOLVERS)
def test_ctrl_c_at_any_call_leaves_a_feasible_z(solver):
    problem = random_problem(1, "crammer_singer", "hinge")

    def work():
        train(problem, solver, max_iter=4)

    work()  # imports what it needs, which calls too
    for at in np.linspace(1, count_calls(work), 60).astype(int):
        error = interrupt(work, at)
        assert isinstance(error, KeyboardInterrupt), repr(error)
        if isinstance(error, Interrupted):
            z = error.start.duals
            assert (z.data >= 0).all()
            assert (z.sum(axis=1) <= problem.costs * (1 + 1e-9)).all()
