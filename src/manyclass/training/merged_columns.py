"""Training on merged columns (problem/merged_columns.py), with a certificate for the original X.

Input: a problem, the columns to merge, and perhaps a start. The merged problem is trained. Its z is
also the z of the original problem, with W = W(z); W of the Newton phase and of logistic regression
is mapped back and rounded. Output: W, start and certificate of the original problem. If rounding
prevents the certificate from meeting the tolerance, training continues on the original columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from manyclass.problem.merged_columns import MergedColumns
from manyclass.problem.problem import Problem
from manyclass.problem.solution import Certificate, Progress, Solution, Start, Status, Weights
from manyclass.solvers.logistic.certificate import certify, certify_weights
from manyclass.solvers.logistic.engine import LogisticEngine
from manyclass.training.epoch_loop import Interrupted, Options, Solver

OnEpoch: TypeAlias = Callable[[Progress], bool]
Trained: TypeAlias = Callable[[Problem, Options, "Start | None", OnEpoch], Solution]
MakeWith: TypeAlias = Callable[[Problem, "Start | None", Options, np.random.Generator], Solver]


def train_merged(
    problem: Problem,
    options: Options,
    start: Start | None,
    on_epoch: OnEpoch,
    trained: Trained,
    make: MakeWith,
) -> Solution:
    """Train a problem with merged columns, and return the solution of the original one.

    Parameters
    ----------
    problem : Problem
        The original problem.
    options : Options
        Options with the columns to merge.
    start : Start or None
        Start of the original problem.
    on_epoch : callable
        Called with W and starts of the original problem.
    trained : callable
        Trains a problem without merging.
    make : callable
        Creates the solver of a problem, which certifies z.

    Returns
    -------
    Solution

    Raises
    ------
    Interrupted
        On Ctrl-C, with a start of the original problem.
    """
    columns = options.columns
    assert columns is not None
    options = replace(options, columns=None)
    reached = _on_merged(problem, options, columns, start, on_epoch, trained)
    start = columns.unmerged_start(reached.start)
    try:
        W, certificate = _certified(problem, options, columns, reached, start, make)
    except KeyboardInterrupt as interrupt:
        raise Interrupted(start) from interrupt
    if options.rule().met(certificate):
        return Solution(W, start, reached.history, Status.CONVERGED, certificate)
    if reached.status is Status.CONVERGED:
        return trained(problem, options, start.astype(problem.dataset.dtype), on_epoch)
    return Solution(W, start, reached.history, reached.status, certificate)


def _on_merged(
    problem: Problem,
    options: Options,
    columns: MergedColumns,
    start: Start | None,
    on_epoch: OnEpoch,
    trained: Trained,
) -> Solution:
    """Train the merged problem."""
    merged = replace(problem, dataset=columns.dataset(problem.dataset))
    begin = None if start is None else columns.merged(start)

    def shown(progress: Progress) -> bool:
        return on_epoch(
            replace(
                progress,
                weights=lambda: columns.unmerged(progress.weights()),
                start=lambda: columns.unmerged_start(progress.start()),
            )
        )

    try:
        return trained(merged, replace(options, keeps_duals=True), begin, shown)
    except Interrupted as interrupt:
        raise Interrupted(columns.unmerged_start(interrupt.start)) from interrupt


def _certified(
    problem: Problem,
    options: Options,
    columns: MergedColumns,
    reached: Solution,
    start: Start,
    make: MakeWith,
) -> tuple[Weights, Certificate]:
    """Return W of the original problem and its certificate."""
    if problem.loss != "log_loss":
        solver = make(problem, start, options, np.random.default_rng(0))
        certificate = solver.certify()
        return solver.finish(), certificate
    engine = LogisticEngine(
        problem,
        options.n_jobs,
        regularize_intercept=options.regularize_intercept,
        keeps_duals=start.log_u is not None,
    )
    if start.log_u is None:
        W = np.asarray(columns.unmerged(reached.weights))
        return W, certify_weights(engine, W)
    engine.hold(start)
    certificate = certify(engine)
    return engine.weights(), certificate
