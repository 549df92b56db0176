"""Solvers that an estimator offers, with the problems of each; the solver of a problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manyclass.arrays.choice import lies_on_device, solver_on_device
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.losses import LOSSES
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Start
from manyclass.solvers.comparison.cutting_plane import CuttingPlane
from manyclass.solvers.comparison.exponentiated_gradient import ExponentiatedGradient
from manyclass.solvers.comparison.most_violating import MostViolating
from manyclass.solvers.logistic.multinomial import MultinomialLogistic
from manyclass.solvers.one_vs_rest import OneVsRest
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.solvers.weights.storage_choice import dense_bytes
from manyclass.training.epoch_loop import Solver
from manyclass.training.options import Options
from manyclass.utils.machine import available_memory

DEFAULT = ("auto", "sequential_dual")
RELATIVE = ("crammer_singer", "weston_watkins")


@dataclass(frozen=True, slots=True)
class Scope:
    """What a comparison method can train.

    Attributes
    ----------
    formulations : tuple of str
    losses : tuple of str
    kkt : bool
        Whether it can stop at a violation; z that are never 0 always violate the conditions.
    keeps : str
        Its arrays of n x k numbers.
    bytes_per_score, bytes_per_entry : int
        Memory for each of n x k, and for each number of X.
    """

    formulations: tuple[str, ...]
    losses: tuple[str, ...]
    kkt: bool
    keeps: str
    bytes_per_score: int
    bytes_per_entry: int = 0


# z in lists takes 16 bytes an entry, and 20 more while it is written.
COMPARISON = {
    "exponentiated_gradient": Scope(RELATIVE, ("hinge",), False, "a dual variable", 8 + 3 * 8 + 36),
    "cutting_plane": Scope(
        (*RELATIVE, "one_vs_rest"), tuple(LOSSES), False, "at most a dual variable", 36
    ),
    "most_violating": Scope(RELATIVE, ("hinge",), True, "a score", 8, 12),
}
SOLVERS = (*DEFAULT, *COMPARISON)


def make_solver(
    problem: Problem, start: Start | None, options: Options, rng: np.random.Generator
) -> Solver:
    """Make the solver of a problem in one process.

    One-vs-rest holds W dense, and trains in parts where it is to be sparse (class_chunks.py).
    """
    n_jobs = options.n_jobs
    if lies_on_device(problem):
        return solver_on_device(
            problem,
            start,
            rng,
            tol=options.tol,
            regularize_intercept=options.regularize_intercept,
            keeps_duals=options.keeps_duals,
        )
    if problem.loss == "log_loss":
        return MultinomialLogistic(
            problem,
            start,
            rng,
            n_jobs,
            regularize_intercept=options.regularize_intercept,
            tol=options.tol,
        )
    match options.solver:
        case "exponentiated_gradient":
            return ExponentiatedGradient(problem, start, rng, n_jobs)
        case "cutting_plane":
            return CuttingPlane(problem, start, rng, n_jobs)
        case "most_violating":
            return MostViolating(problem, start, rng, n_jobs)
    ascent_only = options.solver == "sequential_dual"
    if problem.formulation.is_separable:
        return OneVsRest(problem, start, rng, n_jobs, ascent_only=ascent_only)
    return SequentialDual(
        problem,
        start,
        rng,
        n_jobs,
        storage="tables" if options.weights == "sparse" else None,
        keeps_duals=options.keeps_duals,
        ascent_only=ascent_only,
    )


def check_solver(solver: str, problem: Problem, *, stopping: str, weights: str) -> None:
    """Refuse a solver that cannot train a problem.

    Parameters
    ----------
    solver : str
        One of ``SOLVERS``.
    problem : Problem
    stopping : {"gap", "kkt"}
    weights : {"auto", "dense", "sparse"}

    Raises
    ------
    ValueError
        If they do not go together; the message names what does.
    MemoryError
        If its arrays do not fit into memory.
    """
    if solver in DEFAULT:
        return
    scope, name = COMPARISON[solver], f"solver='{solver}'"
    names = [f"'{f}'" for f in scope.formulations]
    if problem.formulation not in [FORMULATIONS[f] for f in scope.formulations]:
        raise ValueError(
            f"{name} trains formulation={', '.join(names[:-1])} or {names[-1]}; for the others "
            "use solver='sequential_dual'"
        )
    if problem.base is not None or problem.factors is not None:
        raise ValueError(
            f"{name} trains without costs of mistakes, class_offset and base_scores; leave them "
            "out, or use solver='sequential_dual'"
        )
    if problem.loss not in scope.losses:
        raise ValueError(
            f"{name} trains loss='hinge'; for the squared hinge use solver='cutting_plane' or "
            "solver='sequential_dual'"
        )
    if stopping == "kkt" and not scope.kkt:
        raise ValueError(
            f"{name} stops at a gap: the conditions of 'kkt' are never near for all its dual "
            "variables; use stopping='gap'"
        )
    if weights == "sparse":
        raise ValueError(f"{name} holds dense weights; use weights='dense'")
    _check_memory(name, scope, problem)


def _check_memory(name: str, scope: Scope, problem: Problem) -> None:
    data, free = problem.dataset, available_memory()
    scores = data.n_examples * data.n_classes * scope.bytes_per_score
    needed = scores + len(data.values) * scope.bytes_per_entry + 3 * dense_bytes(problem)
    if needed > free:
        raise MemoryError(
            f"{name} keeps {scope.keeps} for each of {data.n_examples} examples and "
            f"{data.n_classes} classes: {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free; "
            "use solver='sequential_dual'"
        )
