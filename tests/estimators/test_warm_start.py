"""Fits that go on where another ended, or was ended by Ctrl-C."""

from __future__ import annotations

import signal
from functools import partial

import numpy as np
import pytest

from manyclass import MulticlassSVC, MultinomialLogisticRegression, StochasticClassifier
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.objective import dual, primal, weights_of
from manyclass.problem.problem import Problem
from manyclass.solvers.sequential_dual import SequentialDual
from manyclass.training.row_matching import Match
from tests.helpers.iris import IRIS, tight


def test_warm_start_continues_and_rescales():
    X, y = IRIS
    model = tight(warm_start=True, C=1.0).fit(X, y)
    cold_epochs = model.n_iter_
    assert model.fit(X, y).n_iter_ < cold_epochs / 4
    for C in (1.1, 0.5, 2.0):
        warm = model.set_params(C=C).fit(X, y)
        cold = tight(C=C).fit(X, y)
        np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-4)
        assert warm.certificate_.relative_gap <= 1e-10


def test_gap_at_another_cost_is_as_documented():
    X, y = IRIS
    C, t = 0.7, 1.2
    model = tight(warm_start=True, C=C, tol=1e-2).fit(X, y)
    data = Dataset.from_matrix(X, y, n_classes=3, bias=1.0)
    before, after = (Problem(data, FORMULATIONS[model.formulation], c) for c in (C, t * C))
    z = model._warm_start.start.duals
    W = weights_of(before, z)
    same = Match.unchanged(len(y), 3)
    scaled = model._warm_start.start_for(after, same).duals
    gap = primal(before, W) - dual(before, z)
    wanted = 0.5 * (t - 1) ** 2 * np.sum(W * W) + t * gap
    assert primal(after, W) - dual(after, scaled) == pytest.approx(wanted, rel=1e-9)


def test_warm_start_on_other_data_starts_anew():
    X, y = IRIS
    model = tight(warm_start=True).fit(X, y)
    model.fit(X[:100], y[:100])
    np.testing.assert_allclose(model.coef_, tight().fit(X[:100], y[:100]).coef_, atol=1e-6)


@pytest.mark.parametrize(
    "kind",
    [
        *(
            partial(MulticlassSVC, formulation=name, tol=1e-6)
            for name in ("cs", "ww", "llw", "ovr")
        ),
        partial(MultinomialLogisticRegression, tol=1e-6),
        partial(StochasticClassifier, max_iter=5, tol=None),
    ],
)
def test_warm_start_with_other_features_starts_anew(kind):
    """Training with many rows ends in the Newton phase, whose W was put in place of another's."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), np.arange(600) % 3
    model = kind(warm_start=True, random_state=0).fit(X, y)
    for columns in ([0, 1], [0, 1, 2, 0]):
        warm, cold = model.fit(X[:, columns], y), kind(random_state=0).fit(X[:, columns], y)
        np.testing.assert_array_equal(warm.coef_, cold.coef_)


def test_warm_start_survives_rows_that_became_empty():
    X, y = IRIS
    model = tight(warm_start=True, fit_intercept=False, tol=1e-6).fit(X, y)
    X = X.copy()
    X[:30] = 0
    warm = model.fit(X, y)
    cold = tight(fit_intercept=False, tol=1e-6).fit(X, y)
    assert warm.certificate_.primal_objective == pytest.approx(
        cold.certificate_.primal_objective, rel=1e-5
    )
    assert warm.history_[-1].primal_estimate == pytest.approx(
        warm.certificate_.primal_objective, rel=1e-3
    )


def test_warm_start_across_formulations_and_absurd_costs_starts_anew():
    model = tight(warm_start=True, C=1e-300, tol=1e-3).fit(*IRIS)
    assert model.set_params(C=1e-2, formulation="one_vs_rest").fit(*IRIS).score(*IRIS) > 0.6
    model.set_params(warm_start=False).fit(*IRIS)
    assert not hasattr(model, "_warm_start")


@pytest.mark.parametrize("warm", [False, True])
def test_ctrl_c(warm, ctrl_c_in):
    """It interrupts the epoch that runs; the next fit trains as ever."""
    rng = np.random.default_rng(0)
    X = rng.random((4000, 300), dtype=np.float32)
    y = rng.integers(0, 1000, 4000)
    model = MulticlassSVC(tol=1e-9, warm_start=warm, random_state=0)
    epochs = ctrl_c_in(SequentialDual, "epoch")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert epochs[-1] is signal.SIGINT
    assert not hasattr(model, "coef_")
    assert model.set_params(tol=0.9).fit(X, y).certificate_.relative_gap <= 0.9
