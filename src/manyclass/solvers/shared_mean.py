"""Sums of losses of absolute margins, sum_c w_c = 0, with the classes spread over ranks.

    max_{z, m}  sum_ic gamma_c z_ic - 1/2 sum_c ||u_c(z) - m||^2 [- sum_ic z_ic^2 / (4 C_i)]
    s.t.        0 <= z_ic <= C_i;     w_c = u_c - m, at the optimum m = mean_c u_c

With m fixed the classes are independent, so each rank visits all examples for its own ones; then
all ranks together set m to the mean of the u_c, for the price of a sum of d + 1 numbers. Given:
x_i, y_i, C_i on every rank. Returned: W, z and the certificate, the same on every rank.
Converges: visits and means are exact steps of ascent in blocks of a smooth problem over a box,
every block in every epoch. Slow where many examples share a direction, such as the intercept's, or
C_i ||x_i||^2 is large: with m fixed, a few z move the classes as far as they may go.
Source: Alber et al. 2017, algorithm 1.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from manyclass import _core
from manyclass.problem import Problem
from manyclass.solution import Certificate, EpochRecord, Start, relative
from manyclass.solvers.core import core_classes, trainer_arguments
from manyclass.solvers.entries import Entries
from manyclass.solvers.separate_classes import problem_of, start_of
from manyclass.solvers.spread_weights import SpreadWeights, blocks_of
from manyclass.solvers.stopping import StoppingRule
from manyclass.solvers.together import (
    Findings,
    OfRanks,
    ending_all,
    gather_entries,
    shares,
)
from manyclass.solvers.weights import allocate_weights, squared_norm

# The mean is set after each of so many parts of an epoch (Alber et al. 2017).
PARTS = 10
# ... and after each loop over the shrunk problem, of which there are so many at most.
SHRUNK_LOOPS = 10


@dataclass(slots=True, eq=False)
class State:
    """Where training stands on this rank."""

    problem: Problem | None  # of the classes here; None where there are none
    weights: NDArray[Any]  # of these classes
    began: float
    trainer: Any = None  # of the core, with the z that it takes
    z: Any = None
    rows: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))  # x_i != 0
    constant: float = 0.0  # loss of the examples with x_i = 0
    dual: float = 0.0
    epoch: int = 0
    full: Findings = field(default_factory=Findings)


class SharedMean(OfRanks):
    """Solver for sums of losses of absolute margins whose weights sum to zero.

    Parameters
    ----------
    rng : numpy.random.Generator
        Orders the loops; in the same state on every rank.
    communicator : Communicator, default=None
        One process alone when None.
    """

    @ending_all
    def init(self, problem: Problem, start: Start | None) -> State:
        """Begin from z = 0, or where another training ended."""
        began = time.perf_counter()
        data = problem.dataset
        classes = self._classes(problem)
        size = classes.stop - classes.start
        _, W = allocate_weights(data.n_features + 1, max(size, 1), data.dtype)
        state = State(problem_of(problem, classes) if size else None, W, began)
        here = Findings()
        if state.problem is not None:
            trainer_of, duals_of = core_classes(state.problem)
            arguments = trainer_arguments(state.problem)
            arguments["formulation"] = _with_fixed_mean(problem)
            state.trainer = trainer_of(**arguments)
            state.z = duals_of(data.n_examples, size)
            norms = state.trainer.squared_norms()
            state.rows = np.flatnonzero(norms > 0).astype(np.int32)
            for i in np.flatnonzero(norms == 0).tolist():
                here.add(state.trainer.inspect(W, state.z, i, i + 1))
        state.constant = state.dual = here.over(self.communicator).loss
        if start is not None:
            self._warm_start(problem, state, start)
        return state

    @ending_all
    def epoch(self, problem: Problem, state: State, rule: StoppingRule) -> EpochRecord:
        """Visit all examples in parts, then those that still move; set the mean in between."""
        here, gain = Findings(), 0.0
        active = []
        order = self.common.permutation(problem.dataset.n_examples)
        for part in np.array_split(order, PARTS):
            active.append(self._full_loop(state, part, here))
            gain += self._set_mean(problem, state)
        rows = np.sort(np.concatenate(active))
        here.n_visited, here.n_active = float(len(state.rows)), float(len(rows))
        goal, violation = rule.shrunk_goal()
        for _ in range(SHRUNK_LOOPS):
            if state.problem is not None:
                rows = self._shrunk_loop(state, rows, goal, violation, here)
            gain += self._set_mean(problem, state)
        here.n_duals = 0.0 if state.z is None else float(state.z.count)
        found = state.full = here.over(self.communicator)
        state.dual += found.dual_gain + gain
        state.epoch += 1
        primal = state.dual + found.gap
        rule.cool(found, primal)
        data = problem.dataset
        return EpochRecord(
            epoch=state.epoch,
            seconds=time.perf_counter() - state.began,
            primal_estimate=primal,
            gap_estimate=found.gap,
            violation=found.max_violation,
            active_share=found.n_active / max(1.0, found.n_visited),
            loops=SHRUNK_LOOPS,
            evaluations=int(found.evaluations),
            n_weights=(data.n_features + 1) * data.n_classes,
            n_duals=int(found.n_duals),
        )

    def promising(self, state: State, rule: StoppingRule) -> bool:
        """Whether the last epoch's estimates say that the rule may be met."""
        return rule.promising(state.full, state.dual + state.full.gap)

    def dual_objective(self, state: State) -> float:
        """Return D, kept by the gains of the visits and of the means."""
        return state.dual

    @ending_all
    def certify(self, problem: Problem, state: State) -> Certificate:
        """Rebuild W from z, then one pass over all examples that changes nothing."""
        n, k = problem.dataset.n_examples, problem.dataset.n_classes
        state.weights.fill(0)
        if state.problem is not None:
            state.trainer.add_duals(state.weights, state.z, 0, n)
        of_u = self._mean(problem, state)
        self._subtract(state, of_u)
        here = Findings()
        if state.problem is not None:
            here.add(state.trainer.inspect(state.weights, state.z, 0, n))
        here.loss += 0.5 * squared_norm(state.weights, self._size(problem), apart=False)
        found = here.over(self.communicator)
        # What rounding leaves of the mean: the gap's terms miss k <mean of W, mean of U>.
        gap = found.gap - k * float(of_u @ self._mean(problem, state))
        state.dual = found.loss - gap
        return Certificate(
            primal_objective=found.loss,
            dual_objective=state.dual,
            gap=gap,
            relative_gap=relative(gap, found.loss),
            max_violation=found.max_violation,
        )

    @ending_all
    def start(self, problem: Problem, state: State) -> Start:
        """Return z of all ranks."""
        data = problem.dataset
        z: Any = sp.coo_array((data.n_examples, 0), dtype=data.dtype)
        if state.z is not None:
            indptr, labels, values = state.z.to_csr()
            shape = (data.n_examples, self._size(problem))
            z = sp.coo_array(sp.csr_array((values, labels, indptr), shape=shape))
        first = self._classes(problem).start
        mine = Entries(z.row.astype(np.int32), (z.col + first).astype(np.int32), z.data)
        everything = gather_entries(self.communicator, mine)
        return Start(everything.matrix(data.n_classes, data.n_examples))

    def spread(self, problem: Problem, state: State) -> SpreadWeights:
        """Return W, shape (d + 1, k), as it is held."""
        data, ranks = problem.dataset, self.communicator
        W = state.weights[:, : self._size(problem)]
        blocks = blocks_of(shares(data.n_classes, ranks.size), ranks.rank, W)
        return SpreadWeights(ranks, blocks, data.n_features + 1, data.dtype, sparse=False)

    def _full_loop(self, state: State, part: NDArray[np.intp], here: Findings) -> NDArray[np.int32]:
        """Visit the examples of a part; returns those that stay active."""
        if state.problem is None:
            return state.rows
        rows = np.intersect1d(part, state.rows).astype(np.int32)
        active = np.empty_like(rows)
        found = state.trainer.full_loop(state.weights, state.z, rows, active, -np.inf, self._seed())
        here.add(found)
        return active[: found.n_active]

    def _shrunk_loop(
        self,
        state: State,
        rows: NDArray[np.int32],
        gap: float,
        violation: float,
        here: Findings,
    ) -> NDArray[np.int32]:
        """One loop over the active examples; returns those that stay so."""
        goal = _core.ShrunkGoal(gap, violation, 1, 0.0)  # the effort of one score: one loop
        found = state.trainer.shrunk_loops(
            state.weights, state.z, rows, len(rows), goal, self._seed()
        )
        here.dual_gain += found.dual_gain
        here.evaluations += found.evaluations
        return rows[: found.n_active]

    def _set_mean(self, problem: Problem, state: State) -> float:
        """Let W sum to zero; returns the gain of the dual objective, the same on every rank."""
        mean = self._mean(problem, state)
        self._subtract(state, mean)
        return 0.5 * problem.dataset.n_classes * float(mean @ mean)

    def _mean(self, problem: Problem, state: State) -> NDArray[np.float64]:
        """Mean of W over the classes of all ranks, shape (d + 1,)."""
        sums = state.weights[:, : self._size(problem)].sum(axis=1, dtype=np.float64)
        return self.communicator.all_sum(sums) / problem.dataset.n_classes

    def _subtract(self, state: State, mean: NDArray[np.float64]) -> None:
        if state.problem is not None:
            k = state.problem.dataset.n_classes
            state.weights[:, :k] -= mean.astype(state.weights.dtype)[:, None]

    def _warm_start(self, problem: Problem, state: State, start: Start) -> None:
        part = start_of(start, self._classes(problem))
        if state.problem is not None and part is not None:
            visited = np.zeros(problem.dataset.n_examples, problem.dataset.dtype)
            visited[state.rows] = 1
            z = sp.csr_array(sp.diags_array(visited) @ part.duals)
            z.eliminate_zeros()
            dtype = problem.dataset.dtype
            state.z.from_csr(
                z.indptr.astype(np.int64), z.indices.astype(np.int32), z.data.astype(dtype)
            )
        self.certify(problem, state)

    def _classes(self, problem: Problem) -> slice:
        return shares(problem.dataset.n_classes, self.communicator.size)[self.communicator.rank]

    def _size(self, problem: Problem) -> int:
        classes = self._classes(problem)
        return int(classes.stop - classes.start)

    def _seed(self) -> int:
        return int(self.rng.integers(2**63))


def _with_fixed_mean(problem: Problem) -> _core.Formulation:
    """Return the formulation for the core, whose classes are independent while m is fixed."""
    formulation = problem.formulation
    return _core.Formulation(
        relative=False,
        others=formulation.targets != "own",
        own=formulation.targets != "others",
        maximum=False,
        centred=False,
        squared=problem.squared,
        gamma=1.0,
        gamma_own=formulation.own_margin(problem.dataset.n_classes),
    )
