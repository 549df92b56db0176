"""Files in ``tests/data`` were written by version 0.1.0, commit bfb7840: they must still load."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import MulticlassSVC, StochasticClassifier, load_data, load_model

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(name="expected")
def expected_fixture():
    with np.load(DATA / "expected.npz") as arrays:
        return dict(arrays)


@pytest.mark.parametrize("name", ["dense", "sparse", "stochastic"])
def test_an_old_model_predicts_the_same(name, expected):
    model = load_model(DATA / f"{name}.model")
    assert isinstance(model, StochasticClassifier if name == "stochastic" else MulticlassSVC)
    assert sp.issparse(model.coef_) == (name == "sparse")
    scores = model.decision_function(expected["X"])
    np.testing.assert_allclose(scores, expected[name], rtol=1e-6, atol=1e-6)
    assert set(model.predict(expected["X"])) <= set(expected["y"])


def test_an_old_stochastic_model_trains_on(expected):
    model = load_model(DATA / "stochastic.model").partial_fit(expected["X"], expected["y"])
    scores = model.decision_function(expected["X"])
    np.testing.assert_allclose(scores, expected["continued"], rtol=1e-4, atol=1e-5)


def test_an_old_data_file_holds_the_same(expected):
    X, y = load_data(DATA / "converted.data")
    np.testing.assert_array_equal(X.toarray(), expected["X"])
    np.testing.assert_array_equal(y, expected["y"])


def test_training_resumes_from_an_old_checkpoint(tmp_path, expected):
    folder = tmp_path / "checkpoints"
    shutil.copytree(DATA / "checkpoints", folder)
    params = {"tol": 1e-6, "random_state": 0}
    resumed = MulticlassSVC(checkpoint=folder, resume=True, **params)
    resumed.fit(expected["X"], expected["y"])
    whole = MulticlassSVC(**params).fit(expected["X"], expected["y"])
    assert resumed.n_iter_ > expected["checkpoint_iter"]
    np.testing.assert_allclose(resumed.coef_, whole.coef_, atol=1e-3)
