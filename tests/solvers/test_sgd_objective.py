"""The objective of stochastic training: its value, and how fast steps approach the optimum."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from manyclass import MulticlassSVC, StochasticClassifier
from manyclass.problem.dataset import Dataset
from manyclass.solvers.sgd_objective import stochastic_objective


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_convergence_at_the_rate_of_the_theorem(loss, average, capsys):
    """f(W_T) - f* falls like log T / T (theorem 2); the slope is printed."""
    X, y = load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    alpha = 0.05
    if loss == "hinge":
        exact = MulticlassSVC(C=1 / (150 * alpha), tol=1e-9).fit(X, y)
        optimum = alpha * exact.certificate_.primal_objective
    else:
        peer = LogisticRegression(
            C=1 / (150 * alpha), fit_intercept=False, tol=1e-10, max_iter=10000
        ).fit(np.hstack([X, np.ones((150, 1))]), y)
        data = Dataset.from_matrix(X, y, n_classes=3, bias=1.0)
        optimum = stochastic_objective([data], loss, alpha, peer.coef_[:, :-1], peer.coef_[:, -1])
    epochs = np.array([4, 16, 64, 256, 1024])
    distance = [
        np.mean(
            [
                StochasticClassifier(
                    loss=loss, alpha=alpha, max_iter=int(e), tol=None, average=average,
                    compute_objective=True, random_state=seed,
                ).fit(X, y).objective_ - optimum
                for seed in range(3)
            ]
        )
        for e in epochs
    ]  # fmt: skip
    slope = np.polyfit(np.log(epochs), np.log(distance), 1)[0]
    with capsys.disabled():
        print(f" {loss}, average={average}: slope {slope:.2f}, f - f* = {distance[-1]:.1e}", end="")
    assert min(distance) > -1e-9
    assert slope < -0.8
    assert distance[-1] < 1e-3 * optimum


def test_objective_equals_that_of_the_exact_machine():
    X, y = load_iris(return_X_y=True)
    exact = MulticlassSVC(C=2.0, tol=1e-6).fit(X, y)
    alpha = 1 / (150 * 2.0)
    data = Dataset.from_matrix(X, y, n_classes=3, bias=1.0)
    f = stochastic_objective([data], "hinge", alpha, exact.coef_, exact.intercept_)
    assert f == pytest.approx(alpha * exact.certificate_.primal_objective, rel=1e-9)
