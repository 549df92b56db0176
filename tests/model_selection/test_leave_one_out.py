"""Bounds of the leave-one-out error, against training without each example."""

import numpy as np
import pytest

from manyclass import MulticlassSVC, loo_error_bounds
from tests.helpers.catalog import PAIRS
from tests.helpers.iris import IRIS

X, y = IRIS[0][::6], IRIS[1][::6]


def is_right(i, rows, labels, **parameters):
    others = np.arange(len(labels)) != i
    model = MulticlassSVC(tol=1e-8, random_state=0, max_iter=10_000, **parameters)
    return model.fit(rows[others], labels[others]).predict(rows[[i]])[0] == labels[i]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "loss"), PAIRS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_verdicts_are_true(name, loss, fit_intercept):
    parameters = {"formulation": name, "loss": loss, "fit_intercept": fit_intercept, "C": 0.3}
    bounds = loo_error_bounds(X, y, tol=1e-9, random_state=0, **parameters)
    right = np.array([is_right(i, X, y, **parameters) for i in range(len(y))])
    assert right[bounds.verdicts == 1].all()
    assert not right[bounds.verdicts == -1].any()
    assert bounds.lower <= np.mean(~right) <= bounds.upper + 1e-12
    assert bounds.lower == np.mean(bounds.verdicts == -1)


def test_decides_most_of_iris():
    bounds = loo_error_bounds(*IRIS, C=1.0, random_state=0)
    assert np.mean(bounds.verdicts != 0) > 0.5
    assert bounds.model.certificate_.relative_gap <= 1e-6


def test_equal_rows_of_two_labels_need_few_epochs():
    """Coordinate ascent alone stays at a relative gap of nearly 1 for thousands of epochs."""
    rows, labels = np.full((6, 1), 0.8), np.array([0, 1, 1, 1, 1, 0])
    bounds = loo_error_bounds(rows, labels, C=8000.0, intercept_scaling=100.0, random_state=0)
    assert bounds.model.certificate_.relative_gap <= 1e-6
    assert bounds.model.n_iter_ < 300
    assert bounds.verdicts[labels == 0].tolist() == [-1, -1]


def test_verdicts_after_a_newton_phase_are_true():
    """Its W is not W(z)."""
    rng = np.random.default_rng(1)
    labels = np.arange(300) % 3
    rows = rng.normal(size=(300, 4)) + 1.5 * np.eye(3, 4)[labels]
    bounds = loo_error_bounds(rows, labels, C=100.0, random_state=0, tol=1e-8)
    assert np.mean(bounds.verdicts != 0) > 0.5
    for i in [*range(0, 300, 25), *np.flatnonzero(bounds.verdicts == -1)[:12]]:
        assert bounds.verdicts[i] != (-1 if is_right(i, rows, labels, C=100.0) else 1)


def test_two_classes_with_names_and_sparse_rows():
    labels = np.where(y == 0, "no", "yes")
    bounds = loo_error_bounds(X, labels, C=0.1, random_state=0)
    right = np.array([is_right(i, X, labels, C=0.1) for i in range(len(y))])
    assert right[bounds.verdicts == 1].all()
    assert (bounds.verdicts == 1).mean() > 0.5


def test_the_only_example_of_a_class_is_wrong():
    """No model that was trained without it knows its class."""
    horizontal = [2.6, 4.4, 3.4, -0.9, -1.0, -0.1, -0.6]
    rows = np.transpose([horizontal, [1.2, 0.3, -0.5, 2.1, 3.9, 3.1, -1.1]])
    bounds = loo_error_bounds(rows, [0, 0, 0, 1, 1, 1, 2], C=0.1, random_state=0)
    assert bounds.verdicts[-1] == -1
    assert bounds.lower >= 1 / 7


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"class_weight": "balanced"}, ValueError, "give the weights as a dict"),
        ({"solver": "auto"}, TypeError, "no parameter 'solver'"),
        ({"class_weight": {0: 0}}, ValueError, "class of weight 0"),
        ({"nonsense": 1}, TypeError, "nonsense"),
    ],
)
def test_refusals(settings, error, message):
    with pytest.raises(error, match=message):
        loo_error_bounds(X, y, **settings)
