"""The plots: what they hold, and that they can be drawn."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegressionCV

from manyclass import (
    ConvergenceDisplay,
    CPathDisplay,
    MulticlassSVC,
    MulticlassSVCCV,
    MultinomialLogisticRegression,
    StochasticClassifier,
    c_path,
)
from tests.helpers.iris import IRIS

pytest.importorskip("matplotlib")

import matplotlib as mpl
from matplotlib import pyplot as plt

mpl.use("Agg")
X, y = IRIS


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_scores_of_an_estimator(tmp_path):
    model = MulticlassSVCCV(Cs=[0.01, 0.1, 1], cv=3, random_state=0).fit(X, y)
    display = CPathDisplay.from_estimator(model, color="C4")
    known = np.isfinite(model.scores_).all(axis=0)
    np.testing.assert_array_equal(display.Cs, model.Cs_[known])
    np.testing.assert_array_equal(display.score_mean, model.scores_[:, known].mean(axis=0))
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_ylabel() == "accuracy"
    assert display.lines_[0].get_color() == "C4"
    display.figure_.savefig(tmp_path / "plot.png")


def test_path_with_and_without_accuracies():
    settings = {"C_min": 0.1, "C_max": 1.0, "epsilon": 0.05, "random_state": 0}
    display = CPathDisplay.from_path(c_path(X, y, **settings))
    assert display.gap_ax_ is display.ax_
    assert display.gaps.max() <= 0.05
    display = CPathDisplay.from_path(c_path(X, y, validation=(X, y), **settings))
    assert display.gap_ax_ is not display.ax_


@pytest.mark.parametrize("estimator", [MulticlassSVC(), MultinomialLogisticRegression()])
def test_convergence(estimator):
    model = estimator.fit(X, y)
    _, ax = plt.subplots()
    display = ConvergenceDisplay.from_estimator(model, ax=ax, objective=True)
    assert display.ax_ is ax
    assert display.gap == model.certificate_.relative_gap
    assert len(display.seconds) == model.n_iter_
    assert display.tol == model.tol
    assert display.objective_ax_.get_ylabel() == "objective P"
    assert ConvergenceDisplay.from_estimator(model).objective_ax_ is None


def test_what_has_nothing_to_plot_is_refused():
    with pytest.raises(NotFittedError):
        ConvergenceDisplay.from_estimator(MulticlassSVC())
    with pytest.raises(NotFittedError):
        CPathDisplay.from_estimator(MulticlassSVCCV())
    with pytest.raises(TypeError, match="not StochasticClassifier"):
        ConvergenceDisplay.from_estimator(StochasticClassifier(random_state=0).fit(X, y))
    with pytest.raises(TypeError, match="not MulticlassSVC"):
        CPathDisplay.from_estimator(MulticlassSVC().fit(X, y))
    with pytest.raises(TypeError, match="not LogisticRegressionCV"):
        CPathDisplay.from_estimator(LogisticRegressionCV())
