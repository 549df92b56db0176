"""The loop of epochs: when training has stalled, and when a proof is tried."""

from __future__ import annotations

import numpy as np

from manyclass.problem.solution import Certificate, EpochRecord, Start, Status
from manyclass.solvers.stopping import Found, GapRule
from manyclass.training import epoch_loop
from manyclass.training.epoch_loop import has_stalled, solve
from tests.helpers.catalog import random_problem


def test_stalling_needs_patience_and_no_progress():
    flat, falling = [1.0] * 200, [0.9**i for i in range(200)]
    assert not has_stalled(flat[: epoch_loop.PATIENCE], flat[: epoch_loop.PATIENCE], 1e-16)
    assert has_stalled(flat, flat, 1e-16)
    assert not has_stalled(flat, falling, 1e-16)
    assert not has_stalled(list(range(200)), flat, 1e-16)
    assert has_stalled([np.nan], [1.0], 1e-16)
    below = [*falling[:100], *[-1e-9] * 100]  # rounding, no progress
    assert has_stalled(flat, below, 1e-16)


class Solver:
    """A solver whose gap falls to four fifths in an epoch, and is 1.5 times what it estimates."""

    is_exact = False

    def __init__(self, problem, _start):
        self.problem, self.epochs, self.proofs = problem, 0, []

    @property
    def gap(self):
        return 0.8**self.epochs

    @property
    def dual(self):
        return 1 - self.gap

    def epoch(self, _rule):
        self.epochs += 1
        return EpochRecord(self.epochs, 0.0, 1.0, self.gap, 0.1, 1.0, 0, 0, 0, 0, 10.0)

    def promising(self, rule):
        return rule.promising(Found(self.gap, 0.1), 1.0)

    def certify(self):
        self.proofs.append(self.epochs)
        return Certificate.from_gap(1.0, 1.5 * self.gap, 0.0, zero=10.0, penalty=0.5, loss=0.5)

    def start(self):
        data = self.problem.dataset
        return Start.at_zero(data.n_examples, data.n_classes, data.dtype)

    def finish(self):
        return np.zeros((1, 1))

    weights = finish


def test_a_proof_is_tried_again_where_the_last_miss_says_that_it_succeeds():
    made, lines = [], []

    def make(problem, start):
        made.append(Solver(problem, start))
        return made[0]

    problem = random_problem(0, "crammer_singer", "hinge")
    found = solve(problem, make, GapRule(1e-3), max_iter=100, on_epoch=lambda p: lines.append(p))
    assert found.status is Status.CONVERGED
    # The estimate meets the rule at epoch 31 (0.8^31 = 9.9e-4), 1.5 times it at 33.
    assert made[0].proofs == [31, 33]
    assert [p.record.epoch for p in lines if p.is_proving] == [31, 33]
    assert str(lines[30]).endswith("proving")
