"""Checkpoints of MultinomialLogisticRegression."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits

from manyclass import MultinomialLogisticRegression
from manyclass.training.checkpoints import Checkpoints
from tests.helpers.checkpointed import names

X, Y = load_digits(return_X_y=True)
X = X[:300] / 16
Y = Y[:300]


def fit(folder, X=X, **params):
    settings = {"tol": 1e-6, "random_state": 0, "checkpoint_minutes": 0, **params}
    return MultinomialLogisticRegression(checkpoint=folder, **settings).fit(X, Y)


def broken_off(folder, X=X, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(folder, X, max_iter=2, **params)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("regularize_intercept", [False, True])
def test_training_goes_on(folder, dtype, regularize_intercept):
    params = {"regularize_intercept": regularize_intercept, "X": X.astype(dtype)}
    first = broken_off(folder, **params)
    again = fit(folder, resume=True, **params)
    assert again.history_[:2] == first.history_
    assert again.certificate_.relative_gap <= 1e-6
    assert again.coef_.dtype == dtype
    assert len(names(folder)) == 2
    whole = fit(None, **params)
    np.testing.assert_allclose(again.coef_, whole.coef_, atol=5e-3 * np.abs(whole.coef_).max())


def test_checkpoints_of_the_part_in_float64_are_of_the_type_of_x(folder, monkeypatch):
    single = X.astype(np.float32)
    written = []
    add = Checkpoints.add

    def spy(checkpoints, start):
        written.append(start)
        add(checkpoints, start)

    monkeypatch.setattr(Checkpoints, "add", spy)
    whole = fit(folder, single, tol=1e-8, C=10.0)
    assert whole.certificate_.relative_gap <= 1e-8
    assert len(written) == whole.n_iter_ + 2  # at the beginning and the end, too
    assert {start.duals.dtype for start in written} == {np.dtype(np.float32)}


@pytest.mark.parametrize(
    ("params", "differs"),
    [
        ({"C": 2.0}, "C: 1.0 there, 2.0 here"),
        ({"regularize_intercept": True}, "regularize_intercept: False there, True here"),
        ({"X": X[:, :-1]}, "features: 64 there, 63 here"),
    ],
)
def test_another_problem_is_refused(folder, params, differs):
    broken_off(folder)
    with pytest.raises(ValueError, match="is a checkpoint of a different problem") as error:
        fit(folder, resume=True, **params)
    assert differs in str(error.value)


def test_nothing_is_overwritten_and_resume_needs_a_folder(folder):
    broken_off(folder)
    before = names(folder)
    with pytest.raises(ValueError, match="continue it with resume=True"):
        fit(folder)
    assert names(folder) == before
    with pytest.raises(ValueError, match="resume=True needs a folder"):
        fit(None, resume=True)
