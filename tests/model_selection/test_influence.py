"""Support vectors, and models without single rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from manyclass import (
    MulticlassSVC,
    MultinomialLogisticRegression,
    leave_out,
    load_state,
    loo_error_bounds,
    save_state,
    support,
)
from tests.helpers.catalog import PAIRS
from tests.helpers.iris import IRIS

X, y = IRIS[0][::6], IRIS[1][::6]
EXACT = {"tol": 1e-9, "random_state": 0}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "loss"), PAIRS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_bounds_of_changes_are_true(name, loss, n_classes):
    parameters = {"formulation": name, "loss": loss, "C": 0.3, **EXACT}
    labels = np.minimum(y, n_classes - 1)
    bounds = loo_error_bounds(X, labels, **parameters)
    found = leave_out(X, labels, np.arange(len(labels)), **parameters)
    assert (found.changes <= bounds.changes + 1e-6).all()
    decided = bounds.verdicts != 0
    np.testing.assert_array_equal(found.margins[decided] > 0, bounds.verdicts[decided] > 0)


def test_models_without_a_row():
    found = leave_out(X, y, [7, 2], C=0.3, **EXACT)
    whole = MulticlassSVC(C=0.3, **EXACT).fit(X, y)
    for place, row in enumerate([7, 2]):
        others = np.arange(len(y)) != row
        one = MulticlassSVC(C=0.3, **EXACT).fit(X[others], y[others])
        apart = np.hstack([one.coef_ - whole.coef_, (one.intercept_ - whole.intercept_)[:, None]])
        np.testing.assert_allclose(found.changes[place], np.linalg.norm(apart), atol=1e-4)
        scores = one.decision_function(X[[row]])[0]
        lead = scores[y[row]] - np.delete(scores, y[row]).max()
        np.testing.assert_allclose(found.margins[place], lead, atol=1e-3)
    np.testing.assert_array_equal(found.rows, [7, 2])


def test_the_only_row_of_a_class():
    labels = y.copy()
    labels[0] = 5
    found = leave_out(X, labels, [0], **EXACT)
    assert found.margins[0] < 0


def test_rows_without_support_do_not_count():
    model = MulticlassSVC(C=0.3, warm_start=True, **EXACT).fit(*IRIS)
    rows, duals = support(model)
    assert 0 < len(rows) < len(IRIS[1])
    assert duals.shape == (len(rows), 3)
    assert (duals.sum(axis=1) > 0).all()
    less = MulticlassSVC(C=0.3, **EXACT).fit(IRIS[0][rows], IRIS[1][rows])
    np.testing.assert_allclose(less.coef_, model.coef_, atol=1e-3)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="fit it with warm_start=True"):
        support(MulticlassSVC().fit(X, y))
    with pytest.raises(NotFittedError):
        support(MulticlassSVC(warm_start=True))
    with pytest.raises(TypeError, match="takes a MulticlassSVC, not MultinomialLogistic"):
        support(MultinomialLogisticRegression())
    for rows in ([-1], [len(y)]):
        with pytest.raises(ValueError, match=f"from 0 to {len(y) - 1}; got "):
            leave_out(X, y, rows)
    for rows in ([0.5], [[1]], ["a"]):
        with pytest.raises(ValueError, match="a list of row numbers"):
            leave_out(X, y, rows)
    with pytest.raises(TypeError, match="leave_out has no parameter 'warm_start'"):
        leave_out(X, y, [0], warm_start=True)


def test_a_row_of_a_class_of_weight_0_cannot_be_left_out():
    weights = {0: 0.0, 1: 1.0, 2: 1.0}
    with pytest.raises(ValueError, match="row 0 is not trained: its class 0 has the weight 0"):
        leave_out(*IRIS, [70, 0], class_weight=weights, random_state=0)


def test_support_numbers_the_rows_of_x(tmp_path):
    X, y = IRIS[0][::2], IRIS[1][::2]
    weights = np.ones(len(y))
    weights[:30:2] = 0
    model = MulticlassSVC(warm_start=True, random_state=0).fit(X, y, sample_weight=weights)
    found, trained = support(model), np.flatnonzero(weights)
    alone = MulticlassSVC(warm_start=True, random_state=0).fit(X[trained], y[trained])
    assert_array_equal(found.rows, trained[support(alone).rows])
    assert found.rows.max() > len(trained)
    save_state(tmp_path / "state", model)
    assert_array_equal(support(load_state(tmp_path / "state")).rows, found.rows)
