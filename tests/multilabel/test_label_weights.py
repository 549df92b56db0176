"""W of many labels: features that no row has, weights that are left out, parts put together."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import MultilabelSVC, load_model, save_model
from manyclass.persistence.model_file import describe_model
from tests.helpers.cases import each

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(90, 12)) * (RNG.random((90, 12)) < 0.5)
Y = (DENSE @ RNG.normal(size=(12, 45)) + RNG.normal(size=(90, 45)) > 1).astype(int)
PLACES = np.sort(RNG.choice(500, 12, replace=False))
WIDE = sp.csr_array(
    (sp.csr_array(DENSE).data, PLACES[sp.csr_array(DENSE).indices], sp.csr_array(DENSE).indptr),
    shape=(90, 500),
)


def fitted(X, **params):
    return MultilabelSVC(**{"random_state": 0, **params}).fit(X, Y)


def coef_of(model):
    return model.coef_.toarray() if sp.issparse(model.coef_) else np.asarray(model.coef_)


@each("weights", ["dense", "sparse"])
@each("threshold", ["zero", "tuned"])
@pytest.mark.parametrize("prune", [0.0, 0.05])
def test_features_that_no_row_has(weights, threshold, prune):
    """The same bits as without them, and weights of 0."""
    params = {"weights": weights, "threshold": threshold, "prune": prune}
    wide, narrow = fitted(WIDE, **params), fitted(sp.csr_array(DENSE), **params)
    assert wide.coef_.shape == (45, 500)
    np.testing.assert_array_equal(coef_of(wide)[:, PLACES], coef_of(narrow))
    assert np.count_nonzero(coef_of(wide)) == np.count_nonzero(coef_of(narrow))
    np.testing.assert_array_equal(wide.intercept_, narrow.intercept_)
    np.testing.assert_array_equal(wide.thresholds_, narrow.thresholds_)
    np.testing.assert_array_equal(wide.predict(WIDE), narrow.predict(DENSE))
    rows = sp.csr_array(RNG.random((3, 500)))
    np.testing.assert_allclose(
        wide.decision_function(rows), rows @ coef_of(wide).T + wide.intercept_
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_small_weights_are_left_out(loss):
    whole = fitted(WIDE, loss=loss, weights="sparse")
    kept = np.where(np.abs(coef_of(whole)) < 0.1, 0, coef_of(whole))
    assert 0 < np.count_nonzero(kept) < np.count_nonzero(coef_of(whole))
    for weights in ("sparse", "dense"):
        pruned = fitted(WIDE, loss=loss, weights=weights, prune=0.1)
        np.testing.assert_array_equal(coef_of(pruned), kept)
        np.testing.assert_array_equal(pruned.intercept_, whole.intercept_)
        assert pruned.certificate_ is None
    assert whole.certificate_ is not None


def test_all_weights_may_be_left_out():
    model = fitted(WIDE, weights="sparse", prune=100.0)
    assert model.coef_.nnz == 0
    assert model.predict(WIDE).shape == Y.shape
    with pytest.raises(ValueError, match="prune"):
        fitted(WIDE, prune=-1.0)


def test_a_file_of_what_is_left(tmp_path):
    model = fitted(WIDE, prune=0.1, weights="sparse")
    save_model(tmp_path / "model", model)
    loaded = load_model(tmp_path / "model")
    assert loaded.prune == 0.1
    assert loaded.certificate_ is None
    np.testing.assert_array_equal(coef_of(loaded), coef_of(model))
    assert describe_model(tmp_path / "model")["certificate"] is None
