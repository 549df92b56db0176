"""Initial z of Crammer-Singer from one epoch of stochastic steps.

The steps minimize the same objective (sgd.py: the hinge loss, with v_i = C_i and
alpha = 1 / sum_i C_i, one row per step, every row once). With m_i the class that was updated
against row i, if any,

    z_ic = C_i [c = m_i]

is feasible, and S / (alpha T) = S, the W after the steps, is W(z): training continues from this z
like from any other. More epochs (then z_ic = C_i n_ic / E, with n_ic the number of updates of c
against i in E epochs) have no clear benefit (docs/development/trials.md).

D(z) may be below D(0): the start helps because most examples are already at their final bounds. The
best multiple of z, t z with t = sum z / ||W(z)||^2, has a larger D but does not save time.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.problem import Problem
from manyclass.solvers.engines import Engine
from manyclass.solvers.weights.storage import squared_norm
from manyclass.utils.machine import core_class, weighted_sum

# Examples per weight from which the start saves time: most z of the optimum are then 0 or C_i, as
# in the start. With fewer examples, more z are between (measured: a tenth slower on dna).
EXAMPLES_PER_WEIGHT = 6
# ... and the least mean of C_i q_i. A first visit of descent from z = 0 moves W by about
# min(C_i, 1 / q_i) x_i, which cancels the effect of other visits if 1 / q_i is much less than C_i
# (measured: the start saves a tenth to a half of the time); otherwise descent is as fast.
COST_TIMES_NORM = 30.0


def is_worthwhile(problem: Problem, norms: NDArray[np.float64]) -> bool:
    """Whether a stochastic start saves time; ``norms`` are the q_i."""
    data = problem.dataset
    return (
        problem.base is None
        and problem.formulation is FORMULATIONS["crammer_singer"]
        and data.n_examples >= EXAMPLES_PER_WEIGHT * data.n_features * data.n_classes
        and weighted_sum(problem.costs, norms) >= COST_TIMES_NORM * data.n_examples
    )


def stochastic_start(
    engine: Engine, rows: NDArray[np.int32], rng: np.random.Generator
) -> float | None:
    """Make the steps.

    Parameters
    ----------
    engine : Engine
        Engine for Crammer-Singer with dense W, at z = 0 and W = 0; holds z and W(z) afterwards, or
        0 after an error.
    rows : ndarray of shape (m,), int32
        The examples with x_i != 0.
    rng : numpy.random.Generator
        Orders the rows.

    Returns
    -------
    float or None
        D(z) - D(0); None if W may overflow: z and W are 0 then.
    """
    problem, data, W = engine.problem, engine.problem.dataset, engine.W
    assert W is not None
    trainer = core_class("StochasticTrainer", data.dtype)(engine.core)
    clock = _core.StochasticClock()
    clock.alpha = 1 / problem.costs[rows].sum()
    passage = _core.Passage(_core.StochasticLoss.hinge, batch_size=1, n_threads=1)
    moved = np.full(data.n_examples, -1, np.int32)  # the class that is updated against each example
    try:
        trainer.steps(W.padded, None, clock, passage, rng.permutation(rows), moved)
    except BaseException as error:
        W.padded.fill(0)
        if isinstance(error, OverflowError):
            return None  # descent makes shorter steps
        raise
    is_moved = moved >= 0
    indptr = np.append(0, np.cumsum(is_moved))
    costs = problem.costs[is_moved].astype(data.dtype)
    shape = data.n_examples, data.n_classes
    z = sp.csr_array((costs, moved[is_moved], indptr), shape=shape)
    engine.load(z)
    return float(z.sum(dtype=np.float64)) - 0.5 * squared_norm(W.matrix)
