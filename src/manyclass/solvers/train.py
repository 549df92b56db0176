"""The solver for a problem, run to its end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from manyclass.parallel.communicator import Communicator, Serial
from manyclass.parallel.consensus import abort_others, any_of
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Progress, Solution, Start, Status
from manyclass.solvers.class_chunks import solve_in_chunks
from manyclass.solvers.comparison.cutting_plane import CuttingPlane
from manyclass.solvers.comparison.exponentiated_gradient import ExponentiatedGradient
from manyclass.solvers.comparison.most_violating import MostViolating
from manyclass.solvers.distributed.crammer_singer import DistributedCrammerSinger
from manyclass.solvers.distributed.one_vs_rest import DistributedOneVsRest
from manyclass.solvers.distributed.sum_to_zero import DistributedSumToZero
from manyclass.solvers.distributed.weston_watkins import DistributedWestonWatkins
from manyclass.solvers.double_precision import go_on, may_go_on
from manyclass.solvers.engine import select_engine
from manyclass.solvers.one_vs_rest import OneVsRest
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.solvers.solver_choice import DEFAULT
from manyclass.solvers.stopping import StoppingRule
from manyclass.solvers.training_loop import Solver, solve
from manyclass.solvers.weights.chunks import classes_in_chunk
from manyclass.solvers.weights.storage_choice import Kind


def in_parts(problem: Problem, weights: Kind) -> bool:
    """Whether some classes are trained after the others, each with ``max_iter`` epochs at most."""
    return problem.formulation.is_separable and weights == "sparse"


def train(
    problem: Problem,
    weights: Kind,
    rule_of: Callable[[], StoppingRule],
    *,
    solver: str = "auto",
    rng: np.random.Generator,
    n_jobs: int,
    max_iter: int,
    start: Start | None = None,
    on_epoch: Callable[[Progress], bool] | None = None,
    keep_duals: bool = True,
    communicator: Communicator | None = None,
    gathers: bool = True,
) -> Solution:
    """Train until a rule is met.

    Parameters
    ----------
    problem : Problem
    weights : {"dense", "sparse"}
        How W is held (storage_choice.py).
    rule_of : callable
        Makes the stopping rule.
    solver : str, default="auto"
        One of ``solver_choice.SOLVERS``.
    rng : numpy.random.Generator
    n_jobs : int
        Threads.
    max_iter : int
        Epochs at most, of each part where there are some.
    start : Start, default=None
        Where to begin; z = 0 when None.
    on_epoch : callable, default=None
        Called after each epoch; training stops when it returns True.
    keep_duals : bool, default=True
        Whether z is wanted; otherwise it may be missing.
    communicator : Communicator, default=None
        The ranks among which the classes are spread. An error on one of them ends all, unless it
        is the same on each (FloatingPointError).
    gathers : bool, default=True
        Whether every rank is given W; otherwise several ranks return a ``ShardedWeights``.

    Returns
    -------
    Solution

    Raises
    ------
    Interrupted, FloatingPointError, MemoryError
        As ``solve``.
    """
    ranks = Serial() if communicator is None else communicator
    several = ranks.size > 1

    def make(problem: Problem, start: Start | None) -> Solver:
        if not several:
            return serial_solver(
                problem, start, weights, rng, n_jobs, solver, keeps_duals=keep_duals
            )
        return distributed_solver(
            problem, start, weights, rng, ranks, n_jobs, gathers=gathers, keeps_duals=keep_duals
        )

    if several:
        on_epoch = _on_any_rank(ranks, on_epoch)
    wider = (
        solver in DEFAULT
        and not several
        and not in_parts(problem, weights)
        and may_go_on(problem, weights)
    )
    keep_duals = keep_duals or wider
    with abort_others(ranks):
        if in_parts(problem, weights):
            return solve_in_chunks(
                problem,
                make,
                rule_of,
                part_size=classes_in_chunk(problem, n_jobs, ranks),
                max_iter=max_iter,
                start=start,
                on_epoch=on_epoch,
                keep_duals=keep_duals,
            )
        reached = solve(
            problem,
            make,
            rule_of(),
            max_iter=max_iter,
            start=start,
            on_epoch=on_epoch,
            leaves_early=wider,
        )
    if not (wider and reached.status is Status.STALLED):
        return reached
    in_double = _training_in_double(weights, rule_of, rng, n_jobs, solver, max_iter)
    return go_on(problem, reached, in_double, rule_of(), on_epoch)


def _training_in_double(
    weights: Kind,
    rule_of: Callable[[], StoppingRule],
    rng: np.random.Generator,
    n_jobs: int,
    solver: str,
    max_iter: int,
) -> Callable[[Problem, Start, Callable[[Progress], bool] | None], Solution]:
    """Return what trains the problem in float64, from where float32 has stalled."""

    def train_in_double(
        problem: Problem, start: Start, on_epoch: Callable[[Progress], bool] | None
    ) -> Solution:
        rule = rule_of()
        rule.tighten()  # for what rounding W to float32 adds

        def make(problem: Problem, start: Start | None) -> Solver:
            return serial_solver(problem, start, weights, rng, n_jobs, solver)

        return solve(problem, make, rule, max_iter=max_iter, start=start, on_epoch=on_epoch)

    return train_in_double


def serial_solver(
    problem: Problem,
    start: Start | None,
    weights: Kind,
    rng: np.random.Generator,
    n_jobs: int,
    solver: str = "auto",
    *,
    keeps_duals: bool = True,
) -> Solver:
    """Return the solver of one process.

    `weights` is how W is stored; one-vs-rest stores it dense, and in chunks where it is sparse.
    """
    match solver:
        case "exponentiated_gradient":
            return ExponentiatedGradient(problem, start, rng, n_jobs)
        case "cutting_plane":
            return CuttingPlane(problem, start, rng, n_jobs)
        case "most_violating":
            return MostViolating(problem, start, rng, n_jobs)
    ascent_only = solver == "sequential_dual"
    if select_engine(problem.formulation, 1) == "one_vs_rest":
        return OneVsRest(problem, start, rng, n_jobs, ascent_only=ascent_only)
    return SequentialDual(
        problem,
        start,
        rng,
        n_jobs,
        storage="tables" if weights == "sparse" else None,
        keeps_duals=keeps_duals,
        ascent_only=ascent_only,
    )


def distributed_solver(
    problem: Problem,
    start: Start | None,
    weights: Kind,
    rng: np.random.Generator,
    ranks: Communicator,
    n_jobs: int,
    *,
    gathers: bool = True,
    keeps_duals: bool = True,
) -> Solver:
    """Return the solver that partitions the classes over ranks.

    `weights` is how W is stored; of one-vs-rest, how it is returned.
    """
    check_ranks(problem)
    sparse = weights == "sparse"
    options = {"gathers": gathers, "keeps_duals": keeps_duals}
    match select_engine(problem.formulation, max(2, ranks.size)):
        case "one_vs_rest":
            return DistributedOneVsRest(
                problem, start, rng, ranks, n_jobs, sparse=sparse, **options
            )
        case "sum_to_zero":
            return DistributedSumToZero(problem, start, rng, ranks, **options)
        case "class_blocks_simplex":
            return DistributedCrammerSinger(problem, start, rng, ranks, sparse=sparse, **options)
        case _:
            return DistributedWestonWatkins(problem, start, rng, ranks, sparse=sparse, **options)


def check_ranks(problem: Problem) -> None:
    """Refuse what cannot be spread over ranks.

    Raises
    ------
    ValueError
    """
    if problem.formulation.takes_maximum and problem.formulation.centred:
        raise ValueError(
            "this formulation takes the largest loss of an example under weights that sum to zero, "
            "and is trained by one process; several processes train all others but 'adm' and 'atm',"
            " such as formulation='crammer_singer'"
        )


def _on_any_rank(
    communicator: Communicator, on_epoch: Callable[[Progress], bool] | None
) -> Callable[[Progress], bool]:
    """Stop on all ranks when one wants to."""

    def call(progress: Progress) -> bool:
        return any_of(communicator, on_epoch is not None and on_epoch(progress))

    return call
