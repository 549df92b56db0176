"""Training on an NVIDIA GPU, where there is one: kernels, graphs, TF32, streams, CuPy."""

from __future__ import annotations

import numpy as np
import pytest

from manyclass import (
    MulticlassSVC,
    MultilabelSVC,
    MultinomialLogisticRegression,
    MultinomialLogisticRegressionCV,
)
from manyclass.arrays import namespace
from manyclass.arrays.places import memory
from tests.arrays.problems import KINDS
from tests.arrays.problems import rows as random_rows
from tests.helpers.cases import each

torch = pytest.importorskip("torch")
pytest.importorskip("array_api_compat")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.slow,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU"),
]
SIZE = {"n": 3000, "d": 64, "k": 20}


def rows(**size):
    """Draw rows of unit length."""
    X, y = random_rows(**size)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def model_of(name, loss, **params):
    if name == "logistic":
        return MultinomialLogisticRegression(random_state=0, **params)
    return MulticlassSVC(formulation=name, loss=loss, random_state=0, **params)


def on_gpu(X):
    return torch.as_tensor(X, device="cuda")


def check(there, here):
    """Compare a certificate with that of a solution that is nearer to the optimum."""
    assert there.relative_gap <= 1e-3
    assert there.dual_objective <= here.primal_objective * (1 + 1e-6)
    assert there.primal_objective >= here.dual_objective * (1 - 1e-6)


@each(("name", "loss"), KINDS)
@each("dtype", ["float32", "float64"])
def test_optimum_is_that_of_the_core(name, loss, dtype):
    X, y = rows(**SIZE, dtype=dtype)
    there = model_of(name, loss).fit(on_gpu(X), y)
    check(there.certificate_, model_of(name, loss, tol=1e-4).fit(X, y).certificate_)


@each(("name", "loss"), KINDS)
@each("params", [{"C": 10.0}, {"C": 1e-3}, {"fit_intercept": False}, {"class_weight": "balanced"}])
def test_settings(name, loss, params):
    X, y = rows(**SIZE, dtype=np.float32)
    there = model_of(name, loss, **params).fit(on_gpu(X), y)
    check(there.certificate_, model_of(name, loss, tol=1e-4, **params).fit(X, y).certificate_)


@each("dtype", ["float16", "bfloat16"])
def test_narrow_rows(dtype):
    X, y = rows(**SIZE, dtype=np.float32)
    narrow = on_gpu(X).to(getattr(torch, dtype))
    here = narrow.float().cpu().numpy()
    for name in ("logistic", "crammer_singer"):
        there = model_of(name, "hinge").fit(narrow, y)
        check(there.certificate_, model_of(name, "hinge", tol=1e-4).fit(here, y).certificate_)
        assert (there.predict(narrow) == there.predict(here)).mean() > 0.999


def test_results_repeat():
    X, y = rows(**SIZE, dtype=np.float32)
    tensor = on_gpu(X)
    one, other = (model_of("crammer_singer", "hinge").fit(tensor, y) for _ in range(2))
    assert (one.coef_ == other.coef_).all()


@each(("name", "loss"), KINDS)
def test_warm_starts(name, loss):
    X, y = rows(**SIZE, dtype=np.float32)
    tensor, model = on_gpu(X), model_of(name, loss, warm_start=True)
    for C in (0.1, 1.0, 0.3):
        there = model.set_params(C=C).fit(tensor, y)
        check(there.certificate_, model_of(name, loss, C=C, tol=1e-4).fit(X, y).certificate_)


def test_numpy_rows_are_copied_to_the_device():
    X, y = rows(dtype=np.float32)
    model = MultinomialLogisticRegression(device="cuda").fit(X, y)
    assert (model.predict(on_gpu(X)) == model.predict(X)).all()


@each(("name", "loss"), KINDS)
@each("share", [0.5, 0.25])
def test_streamed_rows(name, loss, share, monkeypatch):
    X, y = rows(n=20000, d=64, k=20, dtype=np.float32)
    here = model_of(name, loss, tol=1e-4).fit(X, y)
    monkeypatch.setattr(memory, "NUMBERS_AT_A_TIME", 500 * 64)
    monkeypatch.setattr(namespace, "FREE_MEMORY", int(1e6 + share * X.nbytes))
    check(model_of(name, loss, device="cuda").fit(X, y).certificate_, here.certificate_)


@each(("name", "loss"), [kind for kind in KINDS if kind[1] != "hinge"])
def test_two_parts_on_a_device(name, loss):
    X, y = rows(**SIZE, dtype=np.float32)
    there = model_of(name, loss, device=["cuda:0", "cuda:0"]).fit(X, y)
    check(there.certificate_, model_of(name, loss, tol=1e-4).fit(X, y).certificate_)


@each(("name", "loss"), KINDS)
def test_cupy(name, loss):
    cupy = pytest.importorskip("cupy")
    X, y = rows(**SIZE, dtype=np.float32)
    there = model_of(name, loss).fit(cupy.asarray(X), y)
    check(there.certificate_, model_of(name, loss, tol=1e-4).fit(X, y).certificate_)
    assert (there.predict(cupy.asarray(X)) == there.predict(X)).mean() > 0.999


@each("loss", ["hinge", "squared_hinge"])
def test_sets_of_labels(loss):
    X, y = rows(**SIZE, dtype=np.float32)
    sets = np.eye(20, dtype=bool)[y] | np.eye(20, dtype=bool)[(3 * y + 1) % 20]
    there = MultilabelSVC(loss=loss, random_state=0).fit(on_gpu(X), sets)
    here = MultilabelSVC(loss=loss, random_state=0).fit(X, sets)
    assert (there.predict(on_gpu(X)) == here.predict(X)).mean() > 0.99


def test_cross_validation():
    X, y = rows(**SIZE, dtype=np.float32)
    there = MultinomialLogisticRegressionCV(Cs=[0.01, 0.1, 1.0], cv=3).fit(on_gpu(X), y)
    here = MultinomialLogisticRegressionCV(Cs=[0.01, 0.1, 1.0], cv=3).fit(X, y)
    assert abs(there.best_score_ - here.best_score_) < 0.01


def test_large_weights():
    """Weights of 1e20 stay within the range of float32, their products may not."""
    X, y = rows(**SIZE, dtype=np.float32)
    there = model_of("logistic", "log_loss", C=1e-20)
    there.fit(on_gpu(X), y, sample_weight=np.full(len(y), 1e20))
    check(there.certificate_, model_of("logistic", "log_loss", tol=1e-4).fit(X, y).certificate_)
