"""Newton steps along averaged directions of parts: fewer questions, and the same optimum."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass.distributed.rows.averaged_newton import AveragedNewton, NewtonRows
from manyclass.estimators.logistic import LOGISTIC
from manyclass.problem.dataset import Dataset
from manyclass.problem.problem import Problem
from manyclass.rows.parts import LocalParts
from manyclass.solvers.logistic.engine import PrimalEngine
from manyclass.solvers.logistic.newton import LogisticNewton, NewtonLogistic
from manyclass.solvers.stopping import GapRule

RNG = np.random.default_rng(0)
N, D, K = 4000, 12, 4
X = RNG.normal(size=(N, D)) * np.geomspace(1, 0.1, D)
Y = (X @ RNG.normal(size=(D, K)) * 3 + RNG.gumbel(size=(N, K))).argmax(axis=1)
ALIKE = np.array_split(np.arange(N), 3)
BY_CLASS = np.array_split(np.argsort(Y, kind="stable"), 3)
UNEVEN = [np.arange(0), np.arange(1), np.arange(1, 50), np.arange(50, N)]


class Counted(LocalParts):
    """Parts that count questions."""

    def __init__(self, parts):
        super().__init__(parts)
        self.asked = []

    def add(self, question, given, into):
        self.asked.append(question.__name__)
        super().add(question, given, into)


def train(steps, cuts, rows=X, *, tol=1e-6, bias=1.0, regularized=False, C=0.05):
    """P that is proven, D, and the questions."""
    parts = []
    for cut in cuts:
        data = Dataset.from_matrix(
            rows[cut], Y[cut], n_classes=K, weights=np.ones(len(cut)), bias=bias
        )
        parts.append(NewtonRows(Problem(data, LOGISTIC, C, "log_loss")))
    counted = Counted(parts)
    engine = PrimalEngine(parts[0].problem, counted, regularize_intercept=regularized)
    solver = NewtonLogistic(engine, None, tol=tol, began=0.0, steps=steps)
    rule = GapRule(tol)
    for _ in range(50):
        solver.epoch(rule)
        if solver.promising(rule) and rule.met(proof := solver.certify()):
            return proof, counted.asked
    raise AssertionError("no proof")


@pytest.mark.parametrize("cuts", [ALIKE, BY_CLASS, UNEVEN], ids=["alike", "by class", "uneven"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
def test_the_optimum_is_that_of_newton(cuts, kind):
    rows = {"dense": X, "sparse": sp.csr_array(X * (np.abs(X) > 0.1)), "float32": X.astype("f4")}
    tol = 1e-4 if kind == "float32" else 1e-6
    expected, _ = train(LogisticNewton, cuts, rows[kind], tol=tol)
    found, asked = train(AveragedNewton, cuts, rows[kind], tol=tol)
    assert found.primal_objective == pytest.approx(expected.primal_objective, rel=2 * tol)
    assert found.dual_objective <= expected.primal_objective
    assert "direction" in asked


@pytest.mark.parametrize("options", [{"bias": 0.0}, {"bias": 1.0}, {"regularized": True}])
def test_parts_that_are_alike_need_fewer_questions(options):
    few = train(AveragedNewton, ALIKE, tol=1e-4, **options)[1]
    many = train(LogisticNewton, ALIKE, tol=1e-4, **options)[1]
    assert len(few) < 0.7 * len(many)
    assert "curvature" not in few


def test_parts_that_differ_are_asked_for_one_direction():
    asked = train(AveragedNewton, BY_CLASS)[1]
    assert asked.count("direction") <= 2
    assert "curvature" in asked


def test_a_direction_of_one_part_is_that_of_newton():
    """To its accuracy: the step is as good as the first one of Newton's method."""
    found, asked = train(AveragedNewton, [np.arange(N)], tol=1e-8)
    expected, _ = train(LogisticNewton, [np.arange(N)], tol=1e-8)
    assert found.primal_objective == pytest.approx(expected.primal_objective, rel=2e-8)
    assert "curvature" not in asked
