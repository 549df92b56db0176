"""MultinomialLogisticRegression far from features and costs of about one."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from manyclass import MultinomialLogisticRegression

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(120, 6)), RNG.integers(0, 4, 120)
WINE = load_wine(return_X_y=True)
DIGITS = load_digits(return_X_y=True)


def fit(X, y, **params):
    return MultinomialLogisticRegression(random_state=0, **params).fit(X, y)


@pytest.mark.parametrize(
    ("data", "dtype", "C"),
    [
        (WINE, np.float64, 1e4),
        (WINE, np.float32, 100.0),
        ((DIGITS[0][:500], DIGITS[1][:500]), np.float32, 1e3),
        ((X * 1e10, Y), np.float64, 1.0),
        ((X * 1e5, Y), np.float32, 1.0),
        ((X, Y), np.float32, 1e9),
    ],
)
def test_descent_that_does_not_get_on_ends_at_the_optimum(data, dtype, C):
    model = fit(data[0].astype(dtype), data[1], C=C)
    assert model.certificate_.relative_gap <= 1e-4


@pytest.mark.filterwarnings("ignore:nearly all training rows")
@pytest.mark.parametrize("C", [1e-4, 1e-8, 1e-12, 1e-30])
def test_small_costs_leave_the_shares_of_classes(C):
    model = fit(X, Y, C=C, tol=1e-6)
    assert model.certificate_.relative_gap <= 1e-6
    shares = np.bincount(Y) / len(Y)
    np.testing.assert_allclose(model.predict_proba(X).mean(axis=0), shares, rtol=2e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("intercept_scaling", [1e-3, 1.0, 1e3])
def test_the_scale_of_a_free_intercept_does_not_matter(intercept_scaling, dtype):
    model = fit(X.astype(dtype), Y, intercept_scaling=intercept_scaling, tol=1e-7)
    same = LogisticRegression(tol=1e-10, max_iter=1000).fit(X, Y)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=2e-3)
    np.testing.assert_allclose(model.intercept_, same.intercept_, atol=2e-3)


@pytest.mark.parametrize("intercept_scaling", [1e-46, 1e160])
def test_a_scale_that_rounding_loses_is_refused(intercept_scaling):
    with pytest.raises(ValueError, match=r"intercept_scaling=1e.* in float32; choose about 1"):
        fit(X.astype(np.float32), Y, intercept_scaling=intercept_scaling)


def test_two_classes_have_the_violation_of_their_gap():
    model = fit(X, Y > 1)
    proof, last = model.certificate_, model.history_[-1]
    assert proof.max_violation == pytest.approx(np.sqrt(2 * proof.gap))
    assert last.violation == pytest.approx(np.sqrt(2 * last.gap_estimate))


def test_warm_starts_go_on_or_begin_anew():
    whole = fit(X, Y, tol=1e-8)
    model = MultinomialLogisticRegression(tol=1e-8, warm_start=True, max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(whole.n_iter_ // 5 + 2):
            model.fit(X, Y)
    assert model.certificate_.relative_gap <= 1e-8
    model = pickle.loads(pickle.dumps(fit(X, Y, warm_start=True)))
    model.coef_[:] = np.nan
    assert model.fit(X, Y).certificate_.relative_gap <= 1e-4


def test_weights_that_do_not_fit_are_refused_with_bytes():
    wide = sp.csr_array((np.ones(4), ([0, 1, 2, 3], [0, 1, 2, 2**30 - 1])), shape=(4, 2**30))
    with pytest.raises(MemoryError, match=r"need \d+\.\d GB; .* fewer features"):
        fit(wide, [0, 1, 2, 3])


@pytest.mark.filterwarnings("ignore:nearly all training rows")
@pytest.mark.parametrize("seed", [40, 122, 186])
def test_float32_without_curvature_begins_anew_in_float64(seed):
    """Descent ends where the scores are so large that no example's loss has curvature."""
    rng = np.random.default_rng(seed)
    rows, labels = rng.standard_normal((8, 10)).astype(np.float32), rng.integers(0, 2, 8)
    weights = 10.0 ** rng.uniform(-4, 2.5, 8)
    model = MultinomialLogisticRegression(C=144.0, tol=1e-2, random_state=0)
    assert model.fit(rows, labels, weights).certificate_.relative_gap <= 1e-2


@pytest.mark.filterwarnings("ignore:nearly all training rows")
@pytest.mark.parametrize("seed", [1, 2])
def test_conjugate_gradients_end_where_the_residual_underflows(seed):
    rng = np.random.default_rng(seed)
    rows, labels = rng.normal(size=(40, 3)).astype(np.float32), np.r_[np.arange(8), np.full(32, 7)]
    rows[:, 0] = 1
    assert fit(rows, labels, C=1e16, tol=1e-10).certificate_.relative_gap <= 1e-10


def test_a_tiny_feature_of_intercepts_ends_as_stalled_with_a_certificate():
    rows, labels = np.random.default_rng(7).normal(size=(15, 3)), np.arange(15) % 3
    with pytest.warns(ConvergenceWarning, match="rounding prevents"):
        model = fit(rows, labels, C=0.1, intercept_scaling=1e-300)
    assert 1e-4 < model.certificate_.relative_gap < 1


@pytest.mark.parametrize("C", [1e6, 1e10, 1e14])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_certificates_of_large_costs_keep_their_digits(C, dtype):
    """1 - p_y and the losses are far below the rounding of p_y and of the scores."""
    model = fit(np.eye(2, dtype=dtype), [0, 1], C=C, fit_intercept=False, tol=1e-3)
    proof, w = model.certificate_, model.coef_[0].astype(np.float64)
    P = 0.5 * w @ w + C * (np.log1p(np.exp(w[0])) + np.log1p(np.exp(-w[1])))
    assert proof.primal_objective == pytest.approx(P, rel=1e-14)
    # By symmetry the optimum is W = (-a, a), with a = C / (1 + exp(a)).
    a = scipy.optimize.brentq(
        lambda a: np.log(a) + np.logaddexp(0, a) - np.log(C), 1, 50, xtol=1e-14, rtol=1e-15
    )
    optimum = a * a + 2 * C * np.log1p(np.exp(-a))
    assert proof.dual_objective <= optimum * (1 + 1e-14) <= P * (1 + 1e-13)
    assert proof.relative_gap <= 1e-3
