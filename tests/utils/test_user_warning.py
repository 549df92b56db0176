"""Warnings name the line of the user's code."""

import warnings

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyclass import MulticlassSVC


def test_also_through_scikit_learn_and_joblib():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.integers(0, 3, 60)
    unfinished = MulticlassSVC(max_iter=1, tol=1e-9)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        unfinished.fit(X, y)
        make_pipeline(StandardScaler(), unfinished).fit(X, y)
        GridSearchCV(unfinished, {"C": [1.0]}, cv=2).fit(X, y)
    assert len(seen) > 3
    assert {one.filename for one in seen} == {__file__}
