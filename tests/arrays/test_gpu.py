"""Training on an NVIDIA GPU, where there is one: kernels, graphs, TF32."""

from __future__ import annotations

import numpy as np
import pytest

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from tests.arrays.problems import KINDS, rows
from tests.helpers.cases import each

torch = pytest.importorskip("torch")
pytest.importorskip("array_api_compat")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.slow,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU"),
]


def model_of(name, loss, **params):
    if name == "logistic":
        return MultinomialLogisticRegression(random_state=0, **params)
    return MulticlassSVC(formulation=name, loss=loss, random_state=0, **params)


@each(("name", "loss"), KINDS)
@each("dtype", ["float32", "float64"])
def test_optimum_is_that_of_the_core(name, loss, dtype):
    X, y = rows(n=3000, d=64, k=20, dtype=dtype)
    there = model_of(name, loss).fit(torch.as_tensor(X, device="cuda"), y).certificate_
    here = model_of(name, loss, tol=1e-6).fit(X, y).certificate_
    assert there.relative_gap <= 1e-3
    assert there.dual_objective <= here.primal_objective * (1 + 1e-6)
    assert there.primal_objective >= here.dual_objective * (1 - 1e-6)


def test_results_repeat():
    X, y = rows(n=3000, d=64, k=20, dtype=np.float32)
    tensor = torch.as_tensor(X, device="cuda")
    one, other = (model_of("crammer_singer", "hinge").fit(tensor, y) for _ in range(2))
    assert (one.coef_ == other.coef_).all()


def test_numpy_rows_are_copied_to_the_device():
    X, y = rows(dtype=np.float32)
    model = MultinomialLogisticRegression(device="cuda").fit(X, y)
    assert (model.predict(torch.as_tensor(X, device="cuda")) == model.predict(X)).all()
