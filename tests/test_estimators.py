"""MulticlassSVC as a user meets it."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from manyclass import MulticlassSVC, objective
from manyclass.dataset import Dataset
from manyclass.formulations import FORMULATIONS
from manyclass.problem import Problem

IRIS = load_iris(return_X_y=True)


def tight(**params):
    return MulticlassSVC(**({"tol": 1e-10, "random_state": 0, "max_iter": 10_000} | params))


def fitted(**params):
    return tight(**params).fit(*IRIS)


def test_agrees_with_linear_svc():
    X, y = IRIS
    peer = LinearSVC(
        multi_class="crammer_singer", fit_intercept=False, tol=1e-9, max_iter=1_000_000, C=0.5
    ).fit(X, y)
    ours = tight(C=0.5, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    assert (ours.predict(X) == peer.predict(X)).all()


def test_certificate_holds_for_the_attributes():
    """From coef_ and intercept_ alone: the objective is what the certificate says."""
    X, y = IRIS
    model = tight(intercept_scaling=2.0, class_weight={0: 1, 1: 2, 2: 0.5}).fit(X, y)
    weights = np.vstack([model.coef_.T, model.intercept_ / 2.0])
    data = Dataset.from_matrix(X, y, n_classes=3, weights=np.array([1, 2, 0.5])[y], bias=2.0)
    problem = Problem(data, FORMULATIONS["crammer_singer"], 1.0)
    certificate = model.certificate_
    assert objective.primal(problem, weights) == pytest.approx(certificate.primal_objective)
    assert certificate.relative_gap <= 1e-10
    assert certificate.gap == pytest.approx(
        certificate.primal_objective - certificate.dual_objective, abs=1e-12
    )


def test_intercept_equals_an_appended_column():
    X, y = IRIS
    implicit = tight(intercept_scaling=3.0).fit(X, y)
    explicit = tight(fit_intercept=False).fit(np.column_stack([X, np.full(len(X), 3.0)]), y)
    np.testing.assert_allclose(implicit.coef_, explicit.coef_[:, :-1], atol=1e-6)
    np.testing.assert_allclose(implicit.intercept_, 3 * explicit.coef_[:, -1], atol=1e-6)
    assert (explicit.intercept_ == 0).all()


@pytest.mark.parametrize("name", list(FORMULATIONS))
def test_sample_weights_are_copies_and_zeros_are_absent(name):
    X, y = IRIS
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    # Rounding ends the other five at gaps of some 1e-9 on these unscaled features.
    exact = name in ("crammer_singer", "weston_watkins", "reinforced", "mmr")
    tol, digits = (1e-10, 1e-6) if exact else (1e-8, 1e-3)
    for class_weight in (None, "balanced", {0: 1, 1: 2, 2: 0.5}):
        model = tight(formulation=name, class_weight=class_weight, tol=tol)
        weighted = clone(model).fit(X, y, sample_weight=weights)
        repeated = clone(model).fit(X.repeat(weights, axis=0), y.repeat(weights))
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=digits)


def test_a_class_of_weight_zero_is_absent():
    X, y = IRIS
    assert fitted(class_weight={0: 1, 1: 0, 2: 1}).classes_.tolist() == [0, 2]
    model = tight().fit(X, y, sample_weight=(y != 2).astype(float))
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize(
    "container", [sp.csr_matrix, sp.csr_array, sp.csc_array, np.asfortranarray]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_kinds_of_input(container, dtype):
    X, y = load_digits(return_X_y=True)
    X, y = X[:200].astype(dtype), y[:200]
    model = MulticlassSVC(C=1e-3, tol=1e-5, random_state=0).fit(container(X), y)
    assert model.coef_.dtype == (np.float32 if dtype == np.float32 else np.float64)
    reference = MulticlassSVC(C=1e-3, tol=1e-5, random_state=0).fit(X.astype(np.float64), y)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-3)
    assert (model.predict(container(X)) == reference.predict(X)).mean() > 0.99


def test_int64_indices():
    X = sp.csr_array(IRIS[0])
    wide = sp.csr_array(
        (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape
    )
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    model = tight().fit(wide, IRIS[1])
    np.testing.assert_allclose(model.coef_, fitted().coef_, atol=1e-8)


# For two classes every formulation is the binary machine min 1/2 ||w||^2 + C' sum loss(y w.x): by
# w_1 = -w_0 = u and v = w_1 - w_0 = 2u, 1/2 ||W||^2 is ||v||^2 / 4 = ||u||^2, the loss that of v
# (relative margins, C' = 2C) or of u (absolute ones, C' = C / 2; twice that where both classes are
# targets whose losses are added). One-vs-rest trains the binary machine itself. C' / C, coef_ / w.
BINARY = {
    "crammer_singer": (2, 1),
    "weston_watkins": (2, 1),
    "lee_lin_wahba": (0.5, 2),
    "adm": (0.5, 2),
    "atm": (0.5, 2),
    "mmr": (0.5, 2),
    "ats": (1, 2),
    "reinforced": (1, 2),
    "one_vs_rest": (1, 1),
}


@pytest.mark.parametrize(
    ("name", "loss"), [(name, loss) for name, f in FORMULATIONS.items() for loss in f.losses()]
)
def test_binary_is_the_ordinary_svm(name, loss):
    X, y = IRIS[0][IRIS[1] > 0], IRIS[1][IRIS[1] > 0]
    peer = LinearSVC(loss=loss, dual=True, C=0.2, fit_intercept=False, tol=1e-9, max_iter=10**6)
    peer.fit(X, y)
    cost, stretch = BINARY[name]
    model = tight(formulation=name, loss=loss, fit_intercept=False, C=0.2 / cost).fit(X, y)
    assert model.coef_.shape == (1, 4)
    assert model.intercept_.shape == (1,)
    np.testing.assert_allclose(model.coef_, stretch * peer.coef_, atol=1e-4)
    assert model.decision_function(X).shape == (100,)
    assert (model.predict(X) == peer.predict(X)).all()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_feature_names(frame):
    names = ["a", "b", "c", "d"]
    table = frame(dict(zip(names, IRIS[0].T, strict=True)))
    model = MulticlassSVC().fit(table, IRIS[1])
    assert model.feature_names_in_.tolist() == names
    assert model.predict(table).shape == (150,)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(dict.fromkeys("wxyz", IRIS[0][:, 0])))


@pytest.mark.parametrize(
    "classes", [["no", "yes", "maybe"], [-1, 0, 7], [1.0, 2.0, 3.0], [True, False, True]]
)
def test_kinds_of_classes(classes):
    y = np.array(classes)[IRIS[1]]
    if len(set(classes)) == 2:
        y = y.astype(bool)
    model = MulticlassSVC(random_state=0).fit(IRIS[0], y)
    assert model.classes_.tolist() == sorted(set(classes))
    assert model.score(IRIS[0], y) > 0.6


def test_top_k_begins_with_the_prediction():
    model = fitted()
    X = IRIS[0]
    scores = model.decision_function(X)
    for k in (1, 2, 3):
        top = model.predict_top_k(X, k)
        assert top.shape == (150, k)
        assert (top[:, 0] == model.predict(X)).all()
        assert (top == model.classes_[np.argsort(-scores, axis=1, kind="stable")[:, :k]]).all()
    binary = tight().fit(X[:100], IRIS[1][:100])
    assert (binary.predict_top_k(X, 2)[:, 0] == binary.predict(X)).all()
    for k in (0, 4, -1):
        with pytest.raises(ValueError, match="k must be from 1 to 3"):
            model.predict_top_k(X, k)


def test_sparsify_and_back(monkeypatch):
    model = fitted()
    scores = model.decision_function(IRIS[0])
    assert sp.issparse(model.sparsify().coef_)
    for X in (IRIS[0], sp.csr_array(IRIS[0])):
        np.testing.assert_allclose(model.decision_function(X), scores)
        assert (model.predict(X) == scores.argmax(axis=1)).all()
    assert isinstance(model.densify().coef_, np.ndarray)
    np.testing.assert_allclose(model.decision_function(IRIS[0]), scores)


def test_prediction_in_parts_and_threads(monkeypatch):
    model = fitted()
    whole = model.decision_function(IRIS[0])
    monkeypatch.setattr("manyclass.prediction.WORK_AT_A_TIME", 20)
    for n_jobs in (1, 3):
        model.set_params(n_jobs=n_jobs)
        np.testing.assert_allclose(model.decision_function(IRIS[0]), whole)
        assert (model.predict(sp.csr_array(IRIS[0])) == whole.argmax(axis=1)).all()
        assert (model.predict_top_k(IRIS[0], 1)[:, 0] == whole.argmax(axis=1)).all()


def test_warm_start_continues_and_rescales():
    X, y = IRIS
    model = tight(warm_start=True, C=1.0).fit(X, y)
    cold_epochs = model.n_iter_
    assert model.fit(X, y).n_iter_ < cold_epochs / 4
    for C in (1.1, 0.5, 2.0):
        warm = model.set_params(C=C).fit(X, y)
        cold = tight(C=C).fit(X, y)
        np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-4)
        assert warm.certificate_.relative_gap <= 1e-10


def test_warm_start_on_other_data_starts_anew():
    X, y = IRIS
    model = tight(warm_start=True).fit(X, y)
    model.fit(X[:100], y[:100])
    np.testing.assert_allclose(model.coef_, tight().fit(X[:100], y[:100]).coef_, atol=1e-6)


def test_warning_tells_the_gap_and_what_to_do():
    with pytest.warns(
        ConvergenceWarning, match=r"after 1 epoch.* at relative gap .*raise max_iter"
    ):
        model = MulticlassSVC(tol=1e-9, max_iter=1).fit(*IRIS)
    assert model.certificate_.relative_gap > 1e-9
    assert model.n_iter_ == len(model.history_) == 1


def test_verbose_prints_one_line_per_epoch(capsys):
    model = MulticlassSVC(verbose=1, random_state=0).fit(*IRIS)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("epoch    1 ")
    for word in ("primal", "gap", "active", " s "):
        assert word in lines[0]


def test_history_has_one_record_per_epoch():
    history = fitted().history_
    assert [record.epoch for record in history] == list(range(1, len(history) + 1))
    assert all(b.seconds >= a.seconds for a, b in pairwise(history))
    assert all(0 <= record.active_share <= 1 for record in history)
    assert history[-1].relative_gap <= 1e-9


def test_in_the_tools_of_scikit_learn():
    X, y = IRIS
    search = GridSearchCV(
        make_pipeline(StandardScaler(), MulticlassSVC(random_state=0)),
        {"multiclasssvc__C": [0.01, 1.0]},
        cv=3,
        n_jobs=2,
    ).fit(X, y)
    assert search.best_score_ > 0.9
    calibrated = CalibratedClassifierCV(MulticlassSVC(random_state=0), cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (150, 3)
    model = fitted()
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert (twin.predict(X) == model.predict(X)).all()
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    scores = Parallel(n_jobs=2)(delayed(model.score)(X, y) for _ in range(2))
    assert scores[0] == scores[1] > 0.9


@pytest.mark.parametrize(
    ("X", "y", "weights", "message"),
    [
        ([[1.0], [np.nan]], [0, 1], None, "NaN"),
        ([[1.0], [np.inf]], [0, 1], None, "infinity"),
        ([[1.0], [2.0]], [0, 0], None, "at least two classes"),
        ([[1.0], [2.0]], [0, 1], [1, 0], "one class, .*0"),
        ([[1.0], [2.0]], [0, 1], [0, 0], "no row|non-zero"),
        ([[1.0], [2.0]], [0, 1], [1, -1], "[Nn]egative"),
        ([[1.0], [2.0]], [0, 1, 2], None, "inconsistent"),
        ([[1.0], [2.0]], [0.3, 1.7], None, "[Uu]nknown label type"),
        ([1.0, 2.0], [0, 1], None, "2D array"),
        (np.empty((0, 2)), [], None, "0 sample"),
    ],
)
def test_bad_input_is_one_clear_error(X, y, weights, message):
    model = MulticlassSVC()
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, sample_weight=weights)
    assert not hasattr(model, "coef_")


def test_a_failed_fit_on_other_features_leaves_the_fitted_model_whole():
    model = MulticlassSVC(random_state=0).fit(pd.DataFrame(IRIS[0], columns=list("abcd")), IRIS[1])
    with pytest.raises(ValueError, match="two classes"):
        model.fit(IRIS[0][:, :2], np.zeros(150))
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == list("abcd")
    fresh = MulticlassSVC()
    with pytest.raises(ValueError, match="two classes"):
        fresh.fit(IRIS[0], np.zeros(150))
    assert not hasattr(fresh, "n_features_in_")


def test_warm_start_survives_rows_that_became_empty():
    X, y = IRIS
    model = tight(warm_start=True, fit_intercept=False, tol=1e-6).fit(X, y)
    X = X.copy()
    X[:30] = 0
    warm = model.fit(X, y)
    cold = tight(fit_intercept=False, tol=1e-6).fit(X, y)
    assert warm.certificate_.primal_objective == pytest.approx(
        cold.certificate_.primal_objective, rel=1e-5
    )
    assert warm.history_[-1].primal_estimate == pytest.approx(
        warm.certificate_.primal_objective, rel=1e-3
    )


def test_warm_start_across_formulations_and_absurd_costs_starts_anew():
    model = tight(warm_start=True, C=1e-300, tol=1e-3).fit(*IRIS)
    assert model.set_params(C=1e-2, formulation="one_vs_rest").fit(*IRIS).score(*IRIS) > 0.6
    model.set_params(warm_start=False).fit(*IRIS)
    assert not hasattr(model, "_warm_start")


def test_tiny_features_are_no_obstacle():
    """Scores then differ by less than float32 or float64 can show beside 1."""
    X = np.random.default_rng(0).normal(size=(100, 5))
    for dtype in (np.float32, np.float64):
        for scale in (1e-6, 1e-9, 1e-15):
            rows = (X * scale).astype(dtype)
            model = MulticlassSVC(fit_intercept=False, random_state=0).fit(rows, np.arange(100) % 4)
            assert model.certificate_.relative_gap <= 1e-3


def test_the_warning_points_at_the_caller():
    with pytest.warns(ConvergenceWarning) as caught:
        MulticlassSVC(tol=1e-9, max_iter=1).fit(*IRIS)
    assert caught[0].filename == __file__


def test_a_failed_fit_leaves_the_fitted_model_whole():
    model = fitted()
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="two classes"):
        model.fit(IRIS[0], np.zeros(150))
    with pytest.raises(FloatingPointError, match="scale"):
        model.fit(IRIS[0] * 1e300, IRIS[1])
    assert (model.coef_ == before).all()
    assert model.predict(IRIS[0]).shape == (150,)


@pytest.mark.parametrize(
    "params",
    [
        {"C": 0},
        {"C": "1"},
        {"tol": 0.0},
        {"formulation": "unknown"},
        {"loss": "squared"},
        {"stopping": "never"},
        {"max_iter": 0},
        {"weights": "sparse"},
        {"class_weight": "unbalanced"},
        {"intercept_scaling": 0},
        {"n_jobs": 1.5},
    ],
)
def test_bad_parameters_are_named(params):
    with pytest.raises(ValueError, match=next(iter(params))):
        MulticlassSVC(**params).fit(*IRIS)


def test_negative_class_weights_are_refused():
    with pytest.raises(ValueError, match="class weights must be numbers and not negative"):
        MulticlassSVC(class_weight={0: -1.0}).fit(*IRIS)


INTERRUPTED = """
import signal, sys, threading, os, time
import numpy as np
from manyclass import MulticlassSVC
rng = np.random.default_rng(0)
X = rng.random((4000, 300), dtype=np.float32)
y = rng.integers(0, 1000, 4000)
model = MulticlassSVC(tol=1e-9, warm_start=sys.argv[1] == "warm", random_state=0)
print("ready", flush=True)
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print("interrupted", hasattr(model, "coef_"), flush=True)
model.set_params(tol=0.9).fit(X, y)
print("epochs", model.n_iter_, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("warm", ["warm", "cold"])
def test_ctrl_c(warm):
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, warm], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.7)
    began = time.perf_counter()
    os.kill(process.pid, signal.SIGINT)
    assert process.stdout.readline() == "interrupted False\n"
    assert time.perf_counter() - began < 1
    out, _ = process.communicate(timeout=60)
    assert out.startswith("epochs ")


def test_many_features_few_rows():
    X = sp.random_array((20, 100_000), density=1e-4, rng=np.random.default_rng(0)).tocsr()
    model = MulticlassSVC(random_state=0).fit(X, np.arange(20) % 4)
    assert model.coef_.shape == (4, 100_000)
    assert model.certificate_.relative_gap <= 1e-3


def test_as_many_classes_as_rows():
    X, _ = make_blobs(n_samples=60, centers=60, n_features=20, random_state=0)
    with pytest.warns(UserWarning, match="unique classes is greater than 50%"):
        model = MulticlassSVC(random_state=0).fit(X, np.arange(60))
    assert model.score(X, np.arange(60)) == 1
