"""Sets of labels of rows that lie on a device, or go to one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import MultilabelSVC, MultilabelSVCCV
from manyclass.arrays import namespace
from tests.arrays.problems import asarray, rows, strict
from tests.helpers.cases import each

__all__ = ["asarray", "strict"]
X, _ = rows(n=60, d=8)
Y = (X @ np.random.default_rng(1).normal(size=(8, 4)) > 0.5).astype(int)
SETS = [set(np.array(list("abcd"))[row > 0].tolist()) for row in Y]


def certified_as_on_the_cpu(there, here, tol):
    """Compare the claims of two fits: each bound holds for the other one's weights."""
    found, best = there.certificate_, here.certificate_
    assert found.relative_gap <= tol
    assert found.dual_objective <= best.primal_objective * (1 + 1e-12)
    assert found.primal_objective >= best.dual_objective * (1 - 1e-12)


@each("loss", ["hinge", "squared_hinge"])
def test_certificates_and_predictions(strict, loss):
    given = {"loss": loss, "C": 0.1, "random_state": 0}
    there = MultilabelSVC(**given, tol=0.02).fit(strict(X), Y)
    here = MultilabelSVC(**given, tol=1e-5).fit(X, Y)
    certified_as_on_the_cpu(there, here, 0.02)
    np.testing.assert_allclose(there.decision_function(strict(X)), there.decision_function(X))
    assert (there.predict(strict(X)) == there.predict(X)).all()
    assert there.score(strict(X), strict(Y)) == there.score(X, Y)


def test_labels_of_any_kind(asarray):
    model = MultilabelSVC(C=0.1, random_state=0)
    plain = model.fit(asarray(X), Y).coef_
    for same in (asarray(Y), Y.tolist(), sp.csr_array(Y), SETS, asarray(Y.astype(bool))):
        np.testing.assert_allclose(model.fit(asarray(X), same).coef_, plain, atol=1e-9)
    assert model.learnt_from_sets_ is False
    model.fit(asarray(X), SETS)
    assert model.predict_labels(asarray(X)) == model.predict_labels(X)
    assert model.classes_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="y is a sparse tensor; give a dense one"):
        model.fit(asarray(X), asarray(Y).to_sparse())


def test_weights_thresholds_and_constant_labels(asarray):
    weights = np.arange(len(X)) % 3
    model = MultilabelSVC(C=0.1, tol=1e-5, threshold="tuned", random_state=0)
    constant = np.column_stack([Y, np.ones(len(X), int)])
    with pytest.warns(UserWarning, match="occur in all rows or in none"):
        model.fit(asarray(X), constant, asarray(weights))
    found = model.thresholds_, model.coef_
    with pytest.warns(UserWarning, match="occur in all rows or in none"):
        here = model.fit(X, constant, weights)
    np.testing.assert_allclose(found[1], here.coef_, atol=5e-3)
    np.testing.assert_allclose(found[0], here.thresholds_, atol=0.05)


def test_labels_in_groups_and_rows_that_are_streamed(asarray, monkeypatch):
    narrow = X.astype(np.float32)
    given = {"C": 0.1, "random_state": 0}
    here = MultilabelSVC(**given, tol=1e-5).fit(narrow, Y)
    monkeypatch.setattr(namespace, "FREE_MEMORY", 30_000)
    for loss in ("hinge", "squared_hinge"):
        here.set_params(loss=loss, device=None, tol=1e-5).fit(narrow, Y)
        there = MultilabelSVC(**given, loss=loss, device="cpu").fit(narrow, Y)
        certified_as_on_the_cpu(there, here, 1e-3)


def test_search(asarray):
    search = MultilabelSVCCV(Cs=[0.01, 0.1], cv=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        there = search.fit(asarray(X), SETS).cv_results_["mean_test_score"]
        here = search.fit(X, SETS).cv_results_["mean_test_score"]
        copied = search.set_params(device="cpu").fit(X, SETS).cv_results_["mean_test_score"]
    np.testing.assert_allclose(there, here, atol=0.05)
    np.testing.assert_allclose(copied, there, atol=0.01)
    assert search.score(asarray(X), SETS) > 0.3
