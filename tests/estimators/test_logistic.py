"""MultinomialLogisticRegression as users meet it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from manyclass import MultinomialLogisticRegression, load_data, load_model, save_data, save_model
from manyclass.problem import dataset
from manyclass.rows import logistic_sums


@pytest.fixture(scope="module")
def three_classes():
    return make_classification(
        300, 12, n_informative=8, n_classes=3, n_clusters_per_class=1, random_state=0
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_coefficients_of_scikit_learn(n_classes, fit_intercept, sparse):
    X, y = make_classification(
        200, 8, n_informative=6, n_classes=n_classes, n_clusters_per_class=1, random_state=1
    )
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    ours = MultinomialLogisticRegression(C=0.7, tol=1e-13, fit_intercept=fit_intercept)
    ours.fit(sp.csr_array(X) if sparse else X, y, weight)
    theirs = LogisticRegression(
        C=0.7, tol=1e-10, max_iter=10_000, fit_intercept=fit_intercept, solver="newton-cg"
    ).fit(X, y, weight)
    assert ours.coef_.shape == theirs.coef_.shape
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    expected = theirs.intercept_ - (theirs.intercept_.mean() if n_classes > 2 else 0)
    np.testing.assert_allclose(ours.intercept_, expected, atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


def test_binary_certificate_is_that_of_the_binary_objective():
    X, y = make_classification(100, 5, random_state=0)
    model = MultinomialLogisticRegression(tol=1e-8).fit(X, y)
    signs = 2 * y - 1
    losses = np.logaddexp(0, -signs * model.decision_function(X)).sum()
    P = 0.5 * (model.coef_**2).sum() + losses
    assert model.certificate_.primal_objective == pytest.approx(P, rel=1e-12)
    assert model.history_[-1].primal_estimate == pytest.approx(P, rel=1e-3)


def test_intercept_may_be_regularized(three_classes):
    X, y = three_classes
    model = MultinomialLogisticRegression(
        tol=1e-11, regularize_intercept=True, intercept_scaling=2.0
    ).fit(X, y)
    wide = np.column_stack([X, np.full(len(X), 2.0)])
    same = LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=10_000, solver="newton-cg")
    same.fit(wide, y)
    np.testing.assert_allclose(model.coef_, same.coef_[:, :-1], atol=1e-5)
    np.testing.assert_allclose(model.intercept_, 2 * same.coef_[:, -1], atol=1e-5)


def test_the_scaling_does_not_matter_to_free_intercepts(three_classes):
    X, y = three_classes
    small, large = (
        MultinomialLogisticRegression(tol=1e-11, intercept_scaling=scaling).fit(X, y)
        for scaling in (0.1, 10.0)
    )
    np.testing.assert_allclose(small.intercept_, large.intercept_, atol=1e-5)


def test_probabilities_sum_to_one_for_any_scores(three_classes):
    X, y = three_classes
    model = MultinomialLogisticRegression().fit(X, y)
    for factor in (1e-9, 1.0, 1e9):
        p = model.predict_proba(factor * X)
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(axis=1), 1)


def test_model_file(tmp_path, three_classes):
    X, y = three_classes
    model = MultinomialLogisticRegression(C=0.3, regularize_intercept=True).fit(X, y)
    save_model(tmp_path / "model", model)
    again = load_model(tmp_path / "model")
    assert isinstance(again, MultinomialLogisticRegression)
    assert again.get_params() == model.get_params()
    assert again.certificate_ == model.certificate_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_warm_start_needs_fewer_epochs(three_classes):
    X, y = three_classes
    model = MultinomialLogisticRegression(warm_start=True, tol=1e-8).fit(X, y)
    cold, coef = model.n_iter_, model.coef_.copy()
    model.fit(X, y)
    assert model.n_iter_ <= cold / 2
    np.testing.assert_allclose(model.coef_, coef, atol=1e-3)
    model.fit(X[:, :5], y)  # another shape begins anew
    assert model.coef_.shape == (3, 5)


def test_max_iter_warns_and_keeps_the_model():
    X, y = load_iris(return_X_y=True)
    model = MultinomialLogisticRegression(C=100, max_iter=2, tol=1e-10)
    with pytest.warns(ConvergenceWarning, match="after 2 epoch"):
        model.fit(X, y)
    assert model.certificate_.relative_gap > 1e-10
    assert model.predict(X).shape == y.shape


def test_lines_and_seeds(capsys, three_classes):
    MultinomialLogisticRegression(verbose=1).fit(*three_classes)
    assert capsys.readouterr().out.startswith("epoch    1")
    X, y = three_classes
    one, two = (MultinomialLogisticRegression(random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_bad_values_leave_the_model(value, three_classes):
    X, y = three_classes
    model = MultinomialLogisticRegression().fit(X, y)
    coef = model.coef_.copy()
    bad = X.copy()
    bad[3, 2] = value
    with pytest.raises((ValueError, FloatingPointError)):
        model.fit(bad, y)
    np.testing.assert_array_equal(model.coef_, coef)


def test_sparsify_drops_the_certificate():
    model = MultinomialLogisticRegression().fit(*load_iris(return_X_y=True))
    assert model.sparsify(0.3).certificate_ is None


@pytest.mark.parametrize("converted", [False, True])
def test_rows_on_disk_that_exceed_the_memory_are_read_in_passes(converted, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 30)), rng.integers(0, 3, 2000)
    best = MultinomialLogisticRegression(tol=1e-7).fit(X, y).certificate_.primal_objective
    if converted:
        save_data(tmp_path / "data", X, y)
        mapped, y = load_data(tmp_path / "data")
    else:
        np.save(tmp_path / "data.npy", X)
        mapped = np.load(tmp_path / "data.npy", mmap_mode="r")
    monkeypatch.setattr(logistic_sums, "VALUES_AT_A_TIME", 900)
    monkeypatch.setattr(dataset, "available_memory", lambda: X.nbytes // 3)
    model = MultinomialLogisticRegression(tol=1e-5).fit(mapped, y)
    assert all(record.n_duals == 0 for record in model.history_)
    assert model.certificate_.primal_objective == pytest.approx(best, rel=1.1e-5)
    assert model.certificate_.relative_gap <= 1e-5
    monkeypatch.setattr(dataset, "available_memory", lambda: 10 * X.nbytes)
    assert MultinomialLogisticRegression().fit(mapped, y).history_[0].n_duals
