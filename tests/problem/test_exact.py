"""The exact objectives of the trials agree with those of ``manyclass.problem.objective``."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass.problem.objective import dual, primal, targets
from tests.helpers.cases import each
from tests.helpers.catalog import PAIRS, make_problem
from tests.trials.exact import Exact, ExactProblem
from tests.trials.random_problems import draw


@pytest.mark.parametrize(("name", "loss"), PAIRS)
@each("bias", [0.0, 3.7])
def test_exact_objectives_agree_with_the_rounded_ones(name, loss, bias):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 3)), np.arange(12) % 4
    X[3] = 0
    given = {"n_classes": 4, "formulation": name, "loss": loss, "C": 2.5, "bias": bias}
    problem = make_problem(X, y, weights=rng.random(12) + 0.1, **given)
    costs, options = problem.costs, {"bias": bias, "squared": loss == "squared_hinge"}
    exact = ExactProblem.from_rows(X, y.astype(np.int32), costs, 4, problem.formulation, **options)
    W = rng.standard_normal((4, 4))
    if bias == 0:
        W[-1] = 0
    assert float(exact.primal(Exact.from_array(W))) == pytest.approx(primal(problem, W), rel=1e-13)
    z = np.where(targets(problem), rng.random((12, 4)) * costs[:, None] / 4, 0)
    if bias == 0:
        z[3] = 0
    assert float(exact.dual(z)) == pytest.approx(dual(problem, sp.csr_array(z)), rel=1e-13)
    assert exact.dual(z + 1e9) <= exact.primal(Exact.from_array(np.zeros((4, 4))))


def test_floats_and_numbers_of_problems_are_kept():
    values = np.array([[0.0, 5e-324, -1e308], [0.1, 3.0, 2.0**70]])
    exact = Exact.from_array(values)
    back = [int(i) / exact.unit for i in exact.ints.ravel()]
    np.testing.assert_array_equal(back, values.ravel())
    one, again = draw(3, 14), draw(3, 14)
    assert str(one) == str(again)
    np.testing.assert_array_equal(one.X, again.X)
