"""The certified path: what it claims, checked by training at other C."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from manyclass import MulticlassSVC, MultinomialLogisticRegression, c_path
from tests.helpers.catalog import PAIRS
from tests.helpers.iris import IRIS
from tests.trials import long_paths

X, y = IRIS
EPSILON = 0.02


def weights_of(model):
    """W of shape (d + 1, k) of a model with intercept_scaling 1, as it was trained."""
    W = np.vstack([model.coef_.T, model.intercept_])
    if W.shape[1] > 1 or isinstance(model, MultinomialLogisticRegression):
        return W
    separate = getattr(model, "formulation", "") == "one_vs_rest"
    return W * (np.array([-1.0, 1.0]) if separate else np.array([-0.5, 0.5]))


def check_path(path, make):
    """Compare the bounds with optima at random C."""
    for C in np.exp(np.random.default_rng(0).uniform(np.log(0.01), np.log(10), 12)):
        proof = make(C).fit(X, y).certificate_
        low, high = path.bounds_at(C)
        assert low <= proof.primal_objective * (1 + 1e-9)
        assert high >= proof.dual_objective * (1 - 1e-9)
        assert high <= (1 + EPSILON) * proof.primal_objective
        assert path.gap_at(C) <= EPSILON


@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_every_c_has_a_model_near_its_optimum(name, loss):
    parameters = {"formulation": name, "loss": loss}
    path = c_path(X, y, C_min=0.01, C_max=10, epsilon=EPSILON, random_state=0, **parameters)
    check_path(path, lambda C: MulticlassSVC(C=C, tol=1e-5, random_state=0, **parameters))
    assert len(path.models) == len(path.Cs) <= 40


@pytest.mark.parametrize(
    "parameters", [{}, {"regularize_intercept": True}, {"fit_intercept": False}]
)
def test_logistic(parameters):
    path = c_path(
        X, y, C_min=0.01, C_max=10, epsilon=EPSILON, formulation="logistic", random_state=0,
        **parameters,
    )  # fmt: skip
    check_path(path, lambda C: MultinomialLogisticRegression(C=C, tol=1e-6, **parameters))


def test_upper_bound_is_the_objective_of_the_stored_model():
    path = c_path(X, y, C_min=0.01, C_max=10, epsilon=EPSILON, random_state=0)
    for C in (0.01, 0.3, 10):
        model = path.model_at(C)
        scores = np.c_[X, np.ones(len(X))] @ weights_of(model)
        rivals = scores + 1
        rivals[np.arange(len(y)), y] -= 1
        loss = np.sum(rivals.max(axis=1) - scores[np.arange(len(y)), y])
        penalty = 0.5 * np.sum(weights_of(model) ** 2)
        assert path.bounds_at(C)[1] == pytest.approx(penalty + C * loss, rel=1e-9)
        assert path.weights_at(C) is model.coef_
        assert path.intercept_at(C) is model.intercept_


def test_ends_early_where_nothing_changes_any_more():
    separable = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    labels = [0, 0, 1, 1]
    path = c_path(separable, labels, C_min=1.0, C_max=1e6, random_state=0)
    assert path.Cs[-1] < 1e6
    assert path.gap_at(1e6) <= 0.01
    direct = MulticlassSVC(C=1e6, random_state=0).fit(separable, labels)
    assert path.bounds_at(1e6)[1] <= 1.01 * direct.certificate_.primal_objective


@pytest.mark.parametrize("number", [4, 5, 36, 49])
def test_long_paths_claim_no_less_than_the_true_gap(number):
    """P = 1/2 ||W||^2 + C L, with L of the size of rounding and C up to 1e12."""
    figures = long_paths.run(0, [number])
    assert figures.paths == 1
    assert not figures.false


def test_warnings_of_rounding_and_of_too_few_fits():
    rng = np.random.default_rng(6)
    rows, labels = rng.normal(size=(5, 5)), np.r_[np.arange(3), rng.integers(0, 3, 2)]
    with pytest.warns(ConvergenceWarning, match="path is proven to .* smaller C_max"):
        path = c_path(rows, labels, C_min=0.3, C_max=3e16, fit_intercept=False, random_state=0)
    assert path.gap_at(3e16) > 0.01
    with pytest.warns(ConvergenceWarning, match="raise max_fits"):
        path = c_path(X, y, C_min=1e-3, C_max=100, max_fits=6, random_state=0)
    assert len(path.Cs) == 6


def test_sparse_weights_stay_sparse_and_lines(capsys):
    path = c_path(
        sp.csr_array(X), y, C_min=0.1, C_max=1.0, epsilon=0.1, weights="sparse", random_state=0
    )
    assert sp.issparse(path.weights_at(0.5))
    path = c_path(X, y, C_min=0.1, C_max=1.0, epsilon=0.1, random_state=0, verbose=1)
    assert len(capsys.readouterr().out.splitlines()) == len(path.Cs)


def test_validation_and_seed():
    settings = {"C_min": 0.1, "C_max": 1.0, "epsilon": 0.05, "random_state": 3}
    path = c_path(X[::2], y[::2], validation=(X[1::2], y[1::2]), **settings)
    again = c_path(X[::2], y[::2], **settings)
    assert path.accuracies.shape == path.Cs.shape
    assert path.accuracies[0] == path.models[0].score(X[1::2], y[1::2])
    assert again.accuracies is None
    np.testing.assert_array_equal(path.objectives, again.objectives)
    assert (path.dual_objectives <= path.objectives).all()


@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ({"C_min": 1, "C_max": 1}, ValueError, "C_min must be less"),
        ({"C_min": 0, "C_max": 1}, ValueError, "C_min"),
        ({"C_min": 1, "C_max": np.inf}, ValueError, "finite"),
        ({"C_min": 1, "C_max": 2, "epsilon": 0}, ValueError, "epsilon"),
        ({"C_min": 1, "C_max": 2, "max_fits": 1}, ValueError, "max_fits"),
        ({"C_min": 1, "C_max": 2, "C": 1}, TypeError, "no parameter 'C'"),
        ({"C_min": 1, "C_max": 2, "formulation": "nonsense"}, ValueError, "formulation"),
        ({"C_min": 1, "C_max": 2, "nonsense": 1}, TypeError, "nonsense"),
    ],
)
def test_refusals(settings, error, match):
    with pytest.raises(error, match=match):
        c_path(X, y, **settings)


def test_c_out_of_range_is_refused():
    path = c_path(X, y, C_min=0.1, C_max=1.0, epsilon=0.1, random_state=0)
    with pytest.raises(ValueError, match=r"from 0\.1 to 1"):
        path.model_at(2.0)
    with pytest.raises(TypeError, match="C must be"):
        path.gap_at("1")
