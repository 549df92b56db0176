"""scikit-learn's dispatch by arrays: predictions in the namespace and on the device of X.

SciPy must be told of it before it is imported, so the checks run in a process of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CHECK = """
import sys
import numpy as np
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import check_array_api_input

from manyclass import (
    MulticlassSVC, MulticlassSVCCV, MultilabelSVC, MultinomialLogisticRegression,
    StochasticClassifier, predict_top_k,
)
from manyclass.arrays import namespace

package = sys.argv[1]
xp = __import__(package)
if package == "torch":
    xp.set_num_threads(1)


class Held(ClassifierMixin, BaseEstimator):
    '''A model without fitted arrays of its own: those of ours are of NumPy always.'''

    def __init__(self, model=None):
        self.model = model

    def fit(self, X, y, sample_weight=None):
        self.model_ = clone(self.model).fit(X, y, sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def decision_function(self, X):
        return self.model_.decision_function(X)

    def score(self, X, y):
        return self.model_.score(X, y)


class Scores(Held):
    predict_proba = None


def check(counts):
    '''Check arrays that count as lying on a device, or do not.'''
    namespace.CPU_COUNTS = counts
    tight = {"tol": 1e-2 if counts else 1e-8, "random_state": 0}
    models = (
        Held(MultinomialLogisticRegression(**tight)),
        Scores(MulticlassSVC(formulation="one_vs_rest", loss="squared_hinge", **tight)),
    )
    for model in models:
        for weighted in (False, True):
            check_array_api_input(
                "model", model, package, dtype_name="float64", check_values=not counts,
                check_sample_weight=weighted,
            )

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    y = (X @ rng.normal(size=(5, 3))).argmax(axis=1)
    names = np.array(["a", "b", "c"])[y]
    there = xp.asarray(X)
    kind = type(there)
    with sklearn.config_context(array_api_dispatch=True):
        model = MulticlassSVC(formulation="ovr", tol=0.1).fit(there, xp.asarray(y))
        assert isinstance(model.coef_, np.ndarray)
        for method in (model.predict, model.decision_function, lambda X: model.predict_top_k(X, 2)):
            assert isinstance(method(there), kind)
        assert isinstance(model.predict(X), np.ndarray)
        assert model.score(there, xp.asarray(y)) > 0.8
        assert isinstance(model.fit(there, names).predict(there), np.ndarray)
        search = MulticlassSVCCV(formulation="ovr", tol=0.1, Cs=[0.1, 1], cv=2)
        search.fit(there, xp.asarray(y))
        assert search.score(there, xp.asarray(y)) > 0.5
        several = MultilabelSVC(tol=0.1).fit(there, xp.asarray(np.eye(3, dtype=int)[y]))
        assert isinstance(several.predict(there), kind)
        assert isinstance(several.decision_function(there), kind)
        line = make_pipeline(MinMaxScaler(), StochasticClassifier()).fit(there, xp.asarray(y))
        assert isinstance(predict_top_k(line, there, 2), kind)
        calm = MultinomialLogisticRegression().fit(there, xp.asarray(y))
        assert isinstance(calm.predict(there, reject=0.5), kind)
        assert isinstance(calm.predict(there, costs=1 - np.eye(3)), kind)
    assert isinstance(model.fit(there, y).predict(there), np.ndarray)


for counts in (False, True):
    check(counts)
print("equal")
"""


@pytest.mark.parametrize(
    "package", [pytest.param("torch", marks=pytest.mark.slow), "array_api_strict"]
)
def test_predictions_are_where_x_is(package):
    pytest.importorskip("array_api_compat")
    pytest.importorskip(package)
    command = [sys.executable, "-W", "ignore", "-c", CHECK, package]
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    found = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert found.stdout.strip() == "equal", found.stderr
