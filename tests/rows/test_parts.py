"""Parts in one process: sums over any parts are those over all rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from manyclass.problem.problem import Problem
from manyclass.rows.logistic_sums import LogisticRows
from manyclass.rows.parts import LocalParts, OnePart, zeros_like
from manyclass.solvers.logistic.certificate import certify_weights
from manyclass.solvers.logistic.engine import PrimalEngine
from manyclass.solvers.logistic.newton import NewtonLogistic
from manyclass.solvers.stopping import GapRule
from manyclass.training.epoch_loop import solve
from tests.helpers.logistic import gradient, optimum, primal, random_logistic

PROBLEM = random_logistic(5, shape=(90, 6, 4))


def part_of(problem, rows):
    """The rows of a slice."""
    data = problem.dataset
    part = type(data).from_matrix(
        data.matrix()[rows],
        data.labels[rows],
        n_classes=data.n_classes,
        weights=data.weights[rows],
        bias=data.bias,
    )
    return Problem(part, problem.formulation, problem.C, problem.loss)


def parts_of(problem, size, n_jobs=1):
    ends = np.linspace(0, problem.dataset.n_examples, size + 1).astype(int)
    ends[1] = 0  # no row
    slices = [slice(*pair) for pair in itertools.pairwise(ends)]
    return LocalParts([LogisticRows(part_of(problem, rows)) for rows in slices], n_jobs)


@pytest.mark.parametrize("size", [2, 3, 7])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("regularize", [False, True])
def test_they_reach_the_optimum(size, n_jobs, regularize):
    def make(problem, start):
        engine = PrimalEngine(
            problem, parts_of(problem, size, n_jobs), regularize_intercept=regularize
        )
        return NewtonLogistic(engine, start, tol=1e-9, began=0.0)

    found = solve(PROBLEM, make, GapRule(1e-9), max_iter=100)
    W, free = np.asarray(found.weights), not regularize
    assert found.certificate.relative_gap <= 1e-9
    P = primal(PROBLEM, W, free=free)
    assert found.certificate.primal_objective == pytest.approx(P, rel=1e-12)
    best = optimum(PROBLEM, free=free)
    assert found.certificate.dual_objective <= best * (1 + 1e-12)
    assert best == pytest.approx(P, rel=1e-8)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_sums_and_certificates_are_those_of_one_part(n_jobs):
    whole = PrimalEngine(PROBLEM, OnePart(LogisticRows(PROBLEM)), regularize_intercept=False)
    split = PrimalEngine(PROBLEM, parts_of(PROBLEM, 4, n_jobs), regularize_intercept=False)
    assert (split.n_examples, split.n_values) == (whole.n_examples, whole.n_values)
    np.testing.assert_allclose(split.class_costs, whole.class_costs, rtol=1e-14)
    W = np.random.default_rng(0).normal(size=(7, 4))
    for engine in (whole, split):
        engine.matrix(engine.W)[:] = W
    found = split.gradient(split.W)[1]
    expected = gradient(PROBLEM, W, free=True)
    np.testing.assert_allclose(split.matrix(found), expected, rtol=1e-10, atol=1e-12)
    one, other = (certify_weights(engine, W) for engine in (whole, split))
    assert other.gap == pytest.approx(one.gap, rel=1e-12)
    assert other.loss >= other.primal_objective - other.penalty  # roundings are bounded


def test_samples_do_not_depend_on_the_parts():
    found = []
    for parts in (OnePart(LogisticRows(PROBLEM)), parts_of(PROBLEM, 5)):
        engine = PrimalEngine(PROBLEM, parts, regularize_intercept=True)
        gram = np.zeros((7, 7))
        some = engine.n_examples, 20, 1.0
        parts.add(LogisticRows.gram, (engine.W, engine.class_major, *some), (gram,))
        found.append(gram)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_sums_are_aligned_and_parts_are_needed():
    for shape in ((3, 5), (4,), (0, 0)):
        zeros = zeros_like(np.ones(shape, np.float32))
        assert (zeros.shape, zeros.dtype) == (shape, np.float32)
        assert not zeros.size or zeros.ctypes.data % 64 == 0
        assert not zeros.any()
    with pytest.raises(ValueError, match="at least one part"):
        LocalParts([])


class Elsewhere:
    """A made-up place of rows: keeps them in another object, and counts its questions."""

    def __init__(self, rows):
        self.rows, self.n_asked = rows, 0

    def __getattr__(self, name):
        self.n_asked += 1
        return getattr(self.rows, name)


@pytest.mark.parametrize("regularize", [False, True])
def test_solvers_do_not_know_the_place_of_rows(regularize):
    place = Elsewhere(LogisticRows(PROBLEM))

    def train(rows):
        def make(problem, start):
            engine = PrimalEngine(problem, OnePart(rows), regularize_intercept=regularize)
            return NewtonLogistic(engine, start, tol=1e-9, began=0.0)

        return solve(PROBLEM, make, GapRule(1e-9), max_iter=100).weights

    np.testing.assert_array_equal(train(place), train(LogisticRows(PROBLEM)))
    assert place.n_asked > 10
