"""Known optima on real data; skipped where the data are absent."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from manyclass import MulticlassSVC, load_svmlight
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import FORMULATIONS
from manyclass.problem.objective import primal
from manyclass.problem.problem import Problem

# Crammer-Singer, C = 1, no intercept: optimum of the primal, test accuracy.
KNOWN = {
    "news20": (4187.02, 0.8540),
    "sector": (1487.77, 0.9448),
    "letter": (9736.79, None),
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "tol"), [("news20", 1e-6), ("sector", 1e-5), ("letter", 1e-6)])
def test_known_optimum(name, tol, shared_data):
    X, y = load_svmlight(shared_data(f"{name}.scale"))
    objective, accuracy = KNOWN[name]
    model = MulticlassSVC(fit_intercept=False, tol=tol, random_state=0).fit(X, y)
    assert model.certificate_.relative_gap <= tol
    assert model.certificate_.primal_objective == pytest.approx(objective, rel=1e-5)
    labels = np.searchsorted(model.classes_, y)
    problem = Problem(
        Dataset.from_matrix(X, labels, n_classes=len(model.classes_)),
        FORMULATIONS["crammer_singer"],
        1.0,
    )
    weights = np.vstack([model.coef_.T, np.zeros((1, len(model.classes_)))])
    assert primal(problem, weights) == pytest.approx(objective, rel=1e-5)
    if accuracy is not None:
        X_test, y_test = load_svmlight(shared_data(f"{name}.t.scale"), n_features=X.shape[1])
        assert model.score(X_test, y_test) == pytest.approx(accuracy, abs=1e-3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")  # on letter, in 20,000 epochs
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("name", ["news20", "sector", "letter"])
def test_one_vs_rest_reaches_liblinear_in_every_class(name, loss, shared_data):
    X, y = load_svmlight(shared_data(f"{name}.scale"), dtype=np.float64)
    X = sp.csr_matrix(
        (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape
    )
    classes = np.unique(y)

    def of_each_class(model):
        margins = (X @ model.coef_.T) * np.where(y[:, None] == classes, 1, -1)
        losses = np.maximum(0, 1 - margins) ** (1 if loss == "hinge" else 2)
        return 0.5 * (model.coef_**2).sum(axis=1) + losses.sum(axis=0)

    ours = MulticlassSVC(
        formulation="one_vs_rest", loss=loss, fit_intercept=False, tol=1e-7, random_state=0
    ).fit(X, y)
    theirs = LinearSVC(
        loss=loss, fit_intercept=False, tol=1e-5, max_iter=20_000, random_state=0
    ).fit(X, y)
    assert (of_each_class(ours) <= of_each_class(theirs) * (1 + 1e-5)).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins", "one_vs_rest"])
def test_sparse_weights_reach_the_same_objective(name, shared_data):
    """On the classes of wordnet with 30 examples or more."""
    X, y = load_svmlight(shared_data("wordnet.scale"))
    _, labels, sizes = np.unique(y, return_inverse=True, return_counts=True)
    kept = sizes[labels] >= 30
    dense, sparse = (
        MulticlassSVC(formulation=name, weights=weights, tol=1e-4, n_jobs=2, random_state=0)
        .fit(X[kept], y[kept])
        .certificate_.primal_objective
        for weights in ("dense", "sparse")
    )
    assert sparse == pytest.approx(dense, rel=1e-3)
