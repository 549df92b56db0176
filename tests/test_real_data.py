"""Known optima on real data; skipped where the data are absent."""

from __future__ import annotations

import numpy as np
import pytest

from manyclass import MulticlassSVC, load_svmlight
from manyclass.dataset import Dataset
from manyclass.formulations import FORMULATIONS
from manyclass.objective import primal
from manyclass.problem import Problem

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
