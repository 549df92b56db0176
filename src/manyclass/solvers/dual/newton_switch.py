"""Switching from coordinate ascent to rounds of the Newton phase (proximal_newton.py), and back."""

from __future__ import annotations

import time
from collections.abc import Callable

from manyclass import _core
from manyclass.problem.problem import Problem
from manyclass.problem.solution import EpochRecord
from manyclass.solvers.dual import proximal_newton
from manyclass.solvers.dual.proximal_newton import NewtonPhase
from manyclass.solvers.dual.state import State
from manyclass.solvers.weights.dense import allocate_weights

LANE_TRAINERS = (_core.LaneTrainer32, _core.LaneTrainer64)


def next_phase(problem: Problem, state: State, n_jobs: int) -> NewtonPhase | None:
    """Return the Newton phase if the next epoch is one of its rounds, perhaps the first."""
    phase = state.newton
    if phase is not None and phase.running:
        return phase
    if phase is not None and not phase.may_begin():
        return None
    primal = state.dual + state.full.gap
    near = state.epoch > 0 and state.full.gap < proximal_newton.START * primal
    if not ((near or state.epoch >= proximal_newton.LATE) and state.pace.is_slow()):
        return None
    phase = state.newton = phase or new_phase(problem, state, n_jobs)
    if phase is None:
        return None
    phase.begin(state.full.gap, state.pace.rate())
    return phase if phase.running else None


def new_phase(problem: Problem, state: State, n_jobs: int) -> NewtonPhase | None:
    """Return a Newton phase that has not begun, where it is allowed."""
    trainer, data = state.trainer, problem.dataset
    if not (isinstance(trainer, LANE_TRAINERS) and proximal_newton.is_allowed(problem)):
        return None
    _, weights = allocate_weights(len(state.weights), data.n_classes, data.dtype)
    core = trainer.newton(state.z, n_jobs)
    return NewtonPhase(core, data.n_examples * data.n_classes, weights)


def newton_round(
    problem: Problem,
    state: State,
    phase: NewtonPhase,
    rebuild: Callable[[Problem, State], float],
    n_weights: int,
) -> EpochRecord | None:
    """Run one round; None where there is no memory for it, and the phase has ended for good.

    ``rebuild`` sets W to W(z) when the phase ends, for coordinate ascent.
    """
    try:
        found = phase.round()
    except MemoryError:  # z is as it was
        phase.end(for_good=True)
        rebuild(problem, state)
        return None
    state.dual = found.primal + state.constant - found.gap
    state.full = found
    state.epoch += 1
    if not phase.running:
        rebuild(problem, state)
        state.n_active = 0  # the next full loop finds them
    return EpochRecord(
        epoch=state.epoch,
        seconds=time.perf_counter() - state.began,
        primal_estimate=state.dual + found.gap,
        gap_estimate=found.gap,
        violation=found.max_violation,
        active_share=found.n_zone / problem.dataset.n_examples,
        loops=found.steps,
        evaluations=found.evaluations,
        n_weights=n_weights,
        n_duals=state.z.count,
    )
