"""All that runs in several threads of the compiled core: the same as from one, and no data race.

The last is what the thread sanitizer looks for when it runs this file (tests/sanitize.sh).
"""

import numpy as np
import pytest

from manyclass import (
    MulticlassSVC,
    MultinomialLogisticRegression,
    StochasticClassifier,
    load_svmlight,
)
from manyclass.solvers import newton_phase
from manyclass.solvers import sgd as sgd
from manyclass.solvers.newton_phase import Pace
from tests.helpers.catalog import PAIRS
from tests.helpers.clusters import clusters


def fit(X, y, name="one_vs_rest", loss="hinge", n_jobs=3, tol=1e-2, weights="dense"):
    model = MulticlassSVC(
        formulation=name, loss=loss, n_jobs=n_jobs, tol=tol, weights=weights, random_state=0
    )
    return model.fit(X, y)


@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_training(name, loss):
    X, y = clusters()
    one, three = (fit(X, y, name, loss, n_jobs) for n_jobs in (1, 3))
    assert three.certificate_.relative_gap <= 1e-2
    assert three.certificate_.primal_objective == pytest.approx(
        one.certificate_.primal_objective, rel=2e-2
    )
    again = fit(X, y, name, loss, 3)
    assert (again.coef_ == three.coef_).all()


@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins", "one_vs_rest"])
def test_training_with_sparse_weights(name):
    X, y = clusters(600, d=200, k=150)
    one, three, again = (fit(X, y, name, n_jobs=n, weights="sparse") for n in (1, 3, 3))
    assert three.certificate_.relative_gap <= 1e-2
    assert (again.coef_ != three.coef_).nnz == 0
    assert three.certificate_.primal_objective == pytest.approx(
        one.certificate_.primal_objective, rel=2e-2
    )


@pytest.mark.parametrize(
    ("name", "loss"), [("crammer_singer", "hinge"), ("one_vs_rest", "squared_hinge")]
)
def test_the_newton_phase(name, loss, monkeypatch):
    monkeypatch.setattr(newton_phase, "START", 10.0)
    monkeypatch.setattr(Pace, "is_slow", lambda self, passes=0: True)
    X, y = clusters(4000, 20, 5, dense=True)
    fits = [fit(X.astype(np.float64), y, name, loss, n_jobs, tol=1e-6) for n_jobs in (1, 3, 3)]
    for model in fits:
        assert model.certificate_.relative_gap <= 1e-6
        np.testing.assert_allclose(model.coef_, fits[0].coef_, atol=1e-2)
    assert (fits[1].coef_ == fits[2].coef_).all()


@pytest.mark.parametrize("dense", [False, True])
def test_prediction(dense):
    X, y = clusters(dense=dense)
    model = fit(X, y)
    results = []
    for n_jobs in (1, 3):
        model.set_params(n_jobs=n_jobs)
        results.append((model.decision_function(X), model.predict(X), model.predict_top_k(X, 5)))
    for one, three in zip(*results, strict=True):
        assert (one == three).all()


def test_reading(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "data"
    lines = (f"{i % 7} {1 + i % 50}:{rng.random():.6f} 60:1\n" for i in range(20_000))
    path.write_text("".join(lines))
    (X_one, y_one), (X_three, y_three) = (load_svmlight(path, n_jobs=n) for n in (1, 3))
    assert (X_one != X_three).nnz == 0
    assert (y_one == y_three).all()


@pytest.mark.parametrize(
    ("loss", "weights"),
    [("hinge", "dense"), ("hinge", "sparse"), ("log_loss", "dense"), ("perceptron", "sparse")],
)
@pytest.mark.parametrize("batch_size", [1, 16])
def test_stochastic_steps(loss, weights, batch_size, monkeypatch):
    monkeypatch.setattr(sgd, "WORK_OF_THREAD", 1)
    X, y = clusters(600, d=100, k=90)

    def fitted(n_jobs):
        model = StochasticClassifier(
            loss=loss, weights=weights, batch_size=batch_size, average=True, n_jobs=n_jobs,
            max_iter=5, tol=None, random_state=0,
        )  # fmt: skip
        return model.fit(X, y).densify()

    one, three, again = (fitted(n_jobs) for n_jobs in (1, 3, 3))
    assert (again.coef_ == three.coef_).all()
    assert abs(three.score(X, y) - one.score(X, y)) < 0.05


@pytest.mark.parametrize("dense", [False, True])
def test_logistic_regression_does_not_depend_on_threads(dense):
    X, y = clusters(400, 300, 20, dense=dense)
    fits = [MultinomialLogisticRegression(n_jobs=n, random_state=0).fit(X, y) for n in (1, 3)]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    assert fits[0].certificate_ == fits[1].certificate_
