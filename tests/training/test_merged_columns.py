"""Training on merged columns: the same model, with a certificate of the original X."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

import manyclass.problem.merged_columns as module
from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultinomialLogisticRegression,
    MultinomialLogisticRegressionCV,
    c_path,
)
from manyclass.problem.merged_columns import find_merged
from manyclass.problem.objective import primal
from manyclass.training.checkpoint_file import read_checkpoint
from manyclass.training.checkpoints import found_in
from tests.helpers.catalog import PAIRS, make_problem
from tests.helpers.merged_columns import hostile_columns

MODELS = [*PAIRS, ("logistic", "log_loss")]
TYPES = (np.float32, np.float64)


@pytest.fixture(autouse=True)
def small_problems_too(monkeypatch):
    monkeypatch.setattr(module, "SMALL", 0)


def labelled(dtype, k=4, **sizes):
    X = hostile_columns(dtype, **sizes)
    return X, np.random.default_rng(1).integers(0, k, X.shape[0])


def model_of(formulation, loss, **parameters):
    if formulation == "logistic":
        return MultinomialLogisticRegression(random_state=0, **parameters)
    return MulticlassSVC(formulation=formulation, loss=loss, random_state=0, **parameters)


def objective(model, X, y, formulation, loss):
    """P at the returned weights, in NumPy."""
    W = np.vstack([model.coef_.T, model.intercept_[None]]).astype(np.float64)
    if formulation == "logistic":
        s = X.astype(np.float64) @ W[:-1] + W[-1]
        top = s.max(axis=1)
        losses = np.log(np.exp(s - top[:, None]).sum(axis=1)) + top - s[np.arange(len(y)), y]
        return 0.5 * np.sum(W[:-1] ** 2) + losses.sum()
    problem = make_problem(
        X, y, n_classes=len(model.classes_), formulation=formulation, loss=loss, bias=1.0
    )
    return primal(problem, W)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("formulation", "loss"), MODELS)
def test_certificates_are_of_the_original_rows(formulation, loss, dtype):
    X, y = labelled(dtype)
    merged = model_of(formulation, loss, tol=1e-3).fit(X, y)
    plain = model_of(formulation, loss, tol=1e-3, merge_columns=False).fit(X, y)
    assert merged.coef_.shape == plain.coef_.shape
    P, Q = (objective(model, X, y, formulation, loss) for model in (merged, plain))
    proof, other = merged.certificate_, plain.certificate_
    assert proof.relative_gap <= 1e-3
    # Of W that is to sum to zero, the mean that rounding leaves is taken off first.
    digits = 1e-7 if dtype == np.float32 else 1e-10
    assert proof.primal_objective == pytest.approx(P, rel=digits)
    assert max(proof.dual_objective, other.dual_objective) <= min(P, Q) * (1 + 0.01 * digits)


@pytest.mark.parametrize("formulation", ["crammer_singer", "one_vs_rest", "logistic"])
def test_a_tolerance_below_the_rounding_of_float32(formulation):
    X, y = labelled(np.float32)
    model = model_of(formulation, "hinge", tol=1e-6).fit(X, y)
    P = objective(model, X, y, formulation, "hinge")
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.primal_objective == pytest.approx(P, rel=1e-10)


def test_thousands_of_copies():
    X, y = labelled(np.float32, d=20, copies=3000)
    model = MulticlassSVC(tol=0.2, random_state=0).fit(X, y)  # of labels at random
    P = objective(model, X, y, "crammer_singer", "hinge")
    assert model.certificate_.relative_gap <= 0.2
    assert model.certificate_.primal_objective == pytest.approx(P, rel=1e-10)


def test_sparse_weights():
    X, y = labelled(np.float32, k=30)
    model = MulticlassSVC(weights="sparse", fit_intercept=False, random_state=0).fit(X, y)
    assert sp.issparse(model.coef_)
    W = np.vstack([model.coef_.toarray().T, np.zeros(30)])
    P = primal(make_problem(X, y, n_classes=30), W)
    assert model.certificate_.relative_gap <= 1e-3
    assert model.certificate_.primal_objective == pytest.approx(P, rel=1e-10)


@pytest.mark.parametrize("formulation", ["crammer_singer", "logistic"])
def test_threads_and_two_classes(formulation):
    X, y = labelled(np.float64, k=2)
    model = model_of(formulation, "hinge", n_jobs=2).fit(X, y)
    assert model.coef_.shape == (1, X.shape[1])
    assert model.certificate_.relative_gap <= 1e-3


def test_a_switch_and_a_line(capsys):
    X, y = labelled(np.float64)
    MulticlassSVC(verbose=1, random_state=0).fit(X, y)
    assert "columns merged: " in capsys.readouterr().out
    MulticlassSVC(verbose=1, merge_columns=False, random_state=0).fit(X, y)
    assert "merged" not in capsys.readouterr().out
    for wrong in (True, "never", None):
        with pytest.raises(ValueError, match="merge_columns"):
            MulticlassSVC(merge_columns=wrong).fit(X, y)


def test_where_nothing_is_merged(monkeypatch):
    X, y = load_iris(return_X_y=True)
    assert find_merged(make_problem(X, y, n_classes=3)) is None
    X, y = labelled(np.float64)
    problem = make_problem(X, y, n_classes=4)
    assert find_merged(problem) is not None
    monkeypatch.setattr(module, "SMALL", X.nnz + 1)
    assert find_merged(problem) is None


@pytest.mark.parametrize("formulation", ["crammer_singer", "one_vs_rest", "logistic"])
def test_checkpoints_and_warm_starts_are_of_the_original_columns(formulation, tmp_path):
    X, y = labelled(np.float64)
    settings = {"checkpoint": tmp_path / "folder", "checkpoint_minutes": 0.0, "tol": 1e-3}
    model_of(formulation, "hinge", **settings).fit(X, y)
    tensors, facts = read_checkpoint(found_in(tmp_path / "folder")[0])
    assert facts["features"] == str(X.shape[1])
    if "weights" in tensors:
        assert tensors["weights"].shape == (X.shape[1] + 1, 4)
    for merge in ("auto", False):
        settings |= {"resume": True, "tol": 1e-5, "merge_columns": merge}
        model = model_of(formulation, "hinge", **settings).fit(X, y)
        assert model.certificate_.relative_gap <= 1e-5
    model = model_of(formulation, "hinge", warm_start=True, tol=1e-4).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ <= max(3, first // 2)
    assert model.certificate_.relative_gap <= 1e-4


def test_cross_validation_and_paths():
    X, y = labelled(np.float32)
    for search in (MulticlassSVCCV, MultinomialLogisticRegressionCV):
        both = [
            search(Cs=[0.1, 1.0], cv=3, random_state=0, merge_columns=merge).fit(X, y)
            for merge in ("auto", False)
        ]
        assert both[0].gaps_.max() <= 1e-2
        assert both[0].best_estimator_.merge_columns == "auto"
        assert np.abs(both[0].scores_ - both[1].scores_).max() <= 0.05
    path = c_path(X, y, C_min=0.1, C_max=1.0, epsilon=0.05, random_state=0)
    assert path.gap_at(0.5) <= 0.05


def test_columns_are_looked_for_once_in_each_fold(monkeypatch):
    X, y = labelled(np.float32)
    calls = []
    search = module.find_merged

    def counted(problem):
        calls.append(problem)
        return search(problem)

    monkeypatch.setattr("manyclass.estimators.exact_fit.find_merged", counted)
    MulticlassSVCCV(Cs=[0.01, 0.1, 1.0], cv=3, random_state=0).fit(X, y)
    assert len(calls) <= 3 + 3 + 1  # folds, those trained anew, the last fit
