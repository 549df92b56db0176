"""Estimators whose X lies on a device: types, labels, predictions, search, errors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultinomialLogisticRegression,
    MultinomialLogisticRegressionCV,
    StochasticClassifier,
    c_path,
    load_model,
    save_model,
)
from manyclass.arrays import namespace
from manyclass.arrays.rows import ArrayRows
from tests.arrays.problems import asarray, rows, strict
from tests.helpers.cases import each

__all__ = ["asarray", "strict"]
X, y = rows()
NAMES = np.array(["left", "right", "up"])[y]
MODELS = (
    MultinomialLogisticRegression(),
    MulticlassSVC(formulation="one_vs_rest"),
    MulticlassSVC(formulation="weston_watkins", loss="squared_hinge"),
)


@each("model", MODELS)
def test_fit_and_predict_with_labels_of_any_kind(asarray, model):
    model.fit(asarray(X), NAMES)
    here = type(model)(**model.get_params()).fit(X, NAMES)
    assert model.certificate_.relative_gap <= model.tol
    assert isinstance(model.coef_, np.ndarray)
    assert model.n_features_in_ == X.shape[1]
    scores = model.decision_function(asarray(X))
    assert isinstance(scores, np.ndarray)
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(scores, here.decision_function(X), atol=0.2)
    assert model.predict(asarray(X)).tolist() == model.predict(X).tolist()
    assert model.score(asarray(X), NAMES) == model.score(X, NAMES)
    assert model.predict_top_k(asarray(X), 2).shape == (len(X), 2)


def test_y_and_weights_may_lie_on_the_device(asarray):
    weights = np.arange(len(y)) % 3.0  # rows of weight 0 are left out
    model = MultinomialLogisticRegression(tol=1e-5)
    there = model.fit(asarray(X), asarray(y), asarray(weights)).coef_
    here = model.fit(X, y, weights).coef_
    np.testing.assert_allclose(there, here, atol=0.02)
    assert model.score(asarray(X), asarray(y)) == model.score(X, y)


def test_probabilities(asarray):
    model = MultinomialLogisticRegression().fit(asarray(X), y)
    P = model.predict_proba(asarray(X))
    np.testing.assert_allclose(P, model.predict_proba(X), atol=1e-9)
    assert model.predict(asarray(X), reject=0.9).shape == y.shape


def test_costs_and_offsets(asarray):
    costs = 1 + np.arange(9.0).reshape(3, 3) / 5
    np.fill_diagonal(costs, 0)
    for given in ({"costs": costs}, {"class_offset": "logit_adjustment"}):
        model = MulticlassSVC(C=0.1, formulation="weston_watkins", **given)
        there = model.fit(asarray(X), y).certificate_
        here = model.fit(X, y).certificate_
        assert there.dual_objective <= here.primal_objective
        assert here.dual_objective <= there.primal_objective


@each("name", ["float32", "float16", "bfloat16"])
def test_narrow_types_are_widened(asarray, name):
    torch = pytest.importorskip("torch")
    narrow = asarray(X).to(getattr(torch, name))
    model = MultinomialLogisticRegression().fit(narrow, y)
    here = MultinomialLogisticRegression().fit(narrow.float().numpy(), y)
    assert model.coef_.dtype == np.float32
    assert narrow.dtype is getattr(torch, name)
    np.testing.assert_allclose(model.coef_, here.coef_, atol=0.1)
    assert (model.predict(narrow) == model.predict(narrow.float().numpy())).all()


def test_models_are_those_of_the_cpu(asarray, tmp_path):
    model = MulticlassSVC(formulation="one_vs_rest").fit(asarray(X), NAMES)
    save_model(tmp_path / "model", model)
    for copy in (load_model(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert (copy.predict(asarray(X)) == model.predict(X)).all()
    assert (model.to_sklearn().predict(X) == model.predict(X)).all()


def test_warm_starts_and_checkpoints(asarray, tmp_path):
    model = MulticlassSVC(formulation="one_vs_rest", warm_start=True).fit(asarray(X), y)
    first = model.n_iter_
    assert model.fit(asarray(X), y).n_iter_ < first
    folder = tmp_path / "checkpoints"
    model = MulticlassSVC(formulation="one_vs_rest", checkpoint=folder, max_iter=3)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(asarray(X), y)
    model.set_params(max_iter=1000, resume=True).fit(asarray(X), y)
    assert model.certificate_.relative_gap <= model.tol
    assert model.n_iter_ > 3


def test_search(asarray):
    for model in (
        MulticlassSVCCV(formulation="one_vs_rest", Cs=[0.01, 0.1], cv=2, random_state=0),
        MultinomialLogisticRegressionCV(Cs=[0.01, 0.1], cv=2, random_state=0),
    ):
        there = model.fit(asarray(X), y).cv_results_["mean_test_score"]
        here = model.fit(X, y).cv_results_["mean_test_score"]
        np.testing.assert_allclose(there, here, atol=0.05)


def test_path(asarray):
    path = c_path(asarray(X), y, C_min=0.01, C_max=0.1, epsilon=0.1, formulation="logistic")
    assert path.model_at(0.05).score(asarray(X), y) > 0.5


@each(
    ("params", "match"),
    [
        ({"formulation": "lee_lin_wahba"}, "formulation may be"),
        ({"stopping": "kkt"}, "stopping must be 'gap'"),
        ({"solver": "cutting_plane"}, "solver must be 'auto'"),
        ({"weights": "sparse"}, "weights are dense"),
    ],
)
def test_what_is_not_trained_there_is_refused(asarray, params, match):
    with pytest.raises(ValueError, match=match):
        MulticlassSVC(**params).fit(asarray(X), NAMES)


def test_hostile_arrays(asarray):
    model = MultinomialLogisticRegression()
    bad = X.copy()
    for value in (np.nan, np.inf):
        bad[3, 2] = value
        with pytest.raises(ValueError, match="NaN or infinity"):
            model.fit(asarray(bad), y)
    huge = X.copy()
    huge[0, 0] = 1e300
    with pytest.raises(FloatingPointError, match="scale the features"):
        model.fit(asarray(huge), y)
    for wrong, match in (
        (X[:0], "at least one row"),
        (X[:, 0], "2D"),
        (X[:-1], "inconsistent numbers of samples"),
        (X.astype(complex), "Complex"),
    ):
        with pytest.raises(ValueError, match=match):
            model.fit(asarray(wrong), y)
    model.fit(asarray(X), y)
    with pytest.raises(ValueError, match="NaN or infinity"):
        model.predict(asarray(bad))
    with pytest.raises(ValueError, match="features"):
        model.predict(asarray(X[:, :3]))


def test_tensors_of_any_layout(asarray):
    torch = pytest.importorskip("torch")
    if not isinstance(asarray(X), torch.Tensor):
        pytest.skip("layouts are PyTorch's")
    model = MultinomialLogisticRegression(random_state=0)
    plain = model.fit(asarray(X), y).coef_
    fortran = asarray(np.asfortranarray(X))
    wide = torch.zeros(len(X), 2 * X.shape[1], dtype=torch.float64)
    wide[:, ::2] = asarray(X)
    grad = asarray(X).clone().requires_grad_()
    for same in (fortran, wide[:, ::2], grad):
        np.testing.assert_allclose(model.fit(same, y).coef_, plain, atol=1e-8)
    expanded = asarray(X[:1]).expand(len(X), -1)
    assert np.isfinite(model.fit(expanded, y).coef_).all()
    with pytest.raises(ValueError, match="meta"):
        model.fit(torch.empty(5, 3, device="meta"), y[:5])
    with pytest.raises(ValueError, match="sparse"):
        model.fit(asarray(X).to_sparse(), y)


def test_labels_and_weights_that_are_refused(asarray):
    model = MulticlassSVC(formulation="one_vs_rest")
    with pytest.raises(ValueError, match="y is a sparse tensor; give a dense one"):
        model.fit(asarray(X), asarray(y).to_sparse())
    for one in (asarray(np.array(2.0)), np.array(2.0)):
        with pytest.raises(ValueError, match="sample_weight is one number"):
            model.fit(asarray(X), y, one)
    with pytest.raises(ValueError, match="sample_weight is a sparse tensor"):
        model.fit(asarray(X), y, asarray(np.ones(len(y))).to_sparse())
    assert not hasattr(model, "n_features_in_")


def test_whole_numbers_train_in_float64(asarray):
    whole = np.rint(3 * X).astype(np.int64)
    model = MultinomialLogisticRegression().fit(asarray(whole), y)
    assert model.coef_.dtype == np.float64


def test_others_say_where_x_is_trained(asarray, monkeypatch):
    torch = pytest.importorskip("torch")
    tensor = asarray(X)
    if not isinstance(tensor, torch.Tensor):
        pytest.skip("of tensors")

    class Elsewhere(torch.Tensor):
        device = "cuda:0"

    Elsewhere.__module__ = "torch"
    with pytest.raises(ValueError, match="copy X to the CPU"):
        StochasticClassifier().fit(tensor.as_subclass(Elsewhere), y)


@pytest.mark.slow
def test_device_that_is_not_there(monkeypatch):
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match="device='nowhere' does not exist"):
        MulticlassSVC(device="nowhere").fit(X, y)
    assert MulticlassSVC(device="cpu").fit(X, y).score(X, y) > 0.5


@pytest.mark.slow
def test_cpu_tensors_go_to_the_core():
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    assert not namespace.CPU_COUNTS
    tensor = torch.as_tensor(X)
    assert not namespace.is_on_device(tensor)
    one, other = (MulticlassSVC(random_state=0).fit(rows_, y) for rows_ in (tensor, X))
    assert (one.coef_ == other.coef_).all()


def test_device_without_memory(asarray, monkeypatch):
    def fail(self):
        raise RuntimeError("CUDA out of memory. Tried to allocate 9 GiB")

    monkeypatch.setattr(ArrayRows, "squared_norms", fail)
    with pytest.raises(MemoryError, match="more memory than the device has"):
        MulticlassSVC().fit(asarray(X), y)


def test_scores_and_weights_on_the_device(asarray):
    base, weights = np.ones((len(y), 3)), np.ones(len(y))
    model = MultinomialLogisticRegression(class_offset=asarray(np.zeros(3)))
    there = model.fit(asarray(X), y, asarray(weights), base_scores=asarray(base)).coef_
    here = model.fit(X, y, weights, base_scores=base).coef_
    np.testing.assert_allclose(there, here, atol=0.05)
    search = MultinomialLogisticRegressionCV(Cs=[0.01, 0.1], cv=2, random_state=0)
    search.fit(asarray(X), asarray(y), asarray(weights))
    assert search.score(asarray(X), asarray(y), asarray(weights)) > 0.5


def test_arrays_of_the_standard(strict):
    model = MultinomialLogisticRegression().fit(strict(X), NAMES)
    assert (model.predict(strict(X)) == model.predict(X)).all()
    assert model.predict_proba(strict(X)).shape == (len(X), 3)
    search = MultinomialLogisticRegressionCV(Cs=[0.01, 0.1], cv=2, random_state=0)
    assert search.fit(strict(X), y).score(strict(X), y) > 0.5
    for wrong, match in ((X[:0], "at least one row"), (X * np.nan, "NaN"), (X[:, 0], "2D")):
        with pytest.raises(ValueError, match=match):
            model.fit(strict(wrong), y)
    with pytest.raises(ValueError, match="formulation may be"):
        MulticlassSVC(formulation="lee_lin_wahba").fit(strict(X), y)
