"""Rows on the workers of Dask, which are threads: models, lazy predictions, checkpoints."""

from __future__ import annotations

import gc
import re
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from manyclass import MulticlassSVC, MultinomialLogisticRegression, load_model, save_model
from tests.helpers.parts import DATA, WEIGHTS, K, X, Y, check_certificate, ends

pytest.importorskip(
    "distributed", reason="needs Dask: pip install 'dask[array,dataframe]' distributed"
)

import dask.array as da
from dask.distributed import Client, LocalCluster

from manyclass.dask import DaskMulticlassSVC, DaskMultinomialLogisticRegression
from manyclass.distributed.clusters import dask_parts
from tests.helpers.dask import collection, fit, fit_svm, is_free, threads

# Of Dask's own threads, at the end of a cluster.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="module", name="client")
def client_fixture():
    yield from threads(2)


def test_weights_classes_and_intercepts_are_those_of_one_process(client):
    names = np.array(["a", "bb", "ccc", "dddd", "e"])[Y]
    params = {"class_weight": "balanced", "tol": 1e-7, "regularize_intercept": True, "n_jobs": 2}
    alone = MultinomialLogisticRegression(**params).fit(X, names, WEIGHTS)
    order = np.argsort(Y, kind="stable")  # most parts lack most classes
    model = fit(X[order], names[order], WEIGHTS[order], size=7, **params)
    assert list(model.classes_) == ["a", "bb", "ccc", "dddd", "e"]
    P = alone.certificate_.primal_objective
    assert model.certificate_.primal_objective == pytest.approx(P, rel=2e-7)


def test_predictions_are_lazy_and_the_plain_estimator_is_saved(client, tmp_path):
    y = np.minimum(Y, 1)
    model = fit(X, y, tol=1e-7)
    rows, targets = collection(X, ends(7)), collection(y, ends(7))
    local = model.to_local()
    assert type(local) is MultinomialLogisticRegression
    with pytest.raises(TypeError, match=re.escape("save its to_local()")):
        save_model(tmp_path / "model", model)
    save_model(tmp_path / "model", local)
    loaded = load_model(tmp_path / "model")
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        found, expected = getattr(model, name)(rows), getattr(loaded, name)(X)
        assert isinstance(found, da.Array)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(found.compute(), expected)
        np.testing.assert_array_equal(getattr(model, name)(X), expected)
    np.testing.assert_array_equal(model.predict_top_k(rows, 2).compute()[:, 0], loaded.predict(X))
    assert model.predict(rows, reject=0.6, reject_label=7).compute().max() == 7
    assert model.score(rows, targets) == pytest.approx(loaded.score(X, y))
    weights = collection(WEIGHTS, ends(7))
    assert model.score(rows, targets, weights) == pytest.approx(loaded.score(X, y, WEIGHTS))


def test_results_repeat_and_a_warm_start_continues(client, capsys):
    first = fit(X, Y, warm_start=True, verbose=1)
    np.testing.assert_array_equal(fit(X, Y).coef_, first.coef_)
    assert "gap" in capsys.readouterr().out
    n_first = first.n_iter_
    assert fit(X, Y).set_params(warm_start=True).n_iter_ == n_first
    cuts = ends(2)
    assert first.fit(collection(X, cuts), collection(Y, cuts)).n_iter_ < n_first


class StopsAfterTwo:
    """A callback, which predicts on the collection."""

    def setup(self, estimator, context):
        self.shapes = []

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        if context.task_name == "epoch":
            self.shapes.append(fitted_estimator.predict(X).shape)
        return len(self.shapes) == 2


def test_callbacks_run_on_the_client(client):
    pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")
    callback = StopsAfterTwo()
    model = DaskMultinomialLogisticRegression(tol=1e-9).set_callbacks(callback)
    model.fit(collection(X, ends(3)), collection(Y, ends(3)))
    assert model.n_iter_ == 2
    assert callback.shapes == [Y.shape] * 2


def test_a_checkpoint_is_continued(client, tmp_path):
    stored = {"checkpoint": tmp_path / "kept", "C": 3.0}
    with pytest.warns(match="training stopped after 2 epoch"):
        fit(X, Y, max_iter=2, **stored)
    assert fit(X, Y, resume=True, **stored).n_iter_ > 2
    with pytest.raises(ValueError, match="different problem"):
        fit(X, 4 - Y, resume=True, **stored)


def test_arguments_that_are_no_parts_are_refused(client):
    model = DaskMultinomialLogisticRegression()
    rows, y = collection(X, ends(3)), collection(Y, ends(3))
    with pytest.raises(TypeError, match="X must be a dask array"):
        model.fit(X, y)
    with pytest.raises(TypeError, match="y must be a dask array"):
        model.fit(rows, Y)
    with pytest.raises(ValueError, match=re.escape("X.rechunk({1: -1})")):
        model.fit(rows.rechunk({1: 3}), y)
    with pytest.raises(ValueError, match="X has 3 parts and y 2"):
        model.fit(rows, collection(Y[1:], ends(2, len(Y) - 1)))
    with pytest.raises(TypeError, match="no parameter 'communicator'"):
        DaskMultinomialLogisticRegression(communicator=None)
    with pytest.raises(ValueError, match="'tol' parameter"):
        model.set_params(tol=-1.0).fit(rows, y)
    with pytest.raises(ValueError, match="at least two classes"):
        fit(X, np.zeros(len(Y), int))
    assert not hasattr(model, "n_features_in_")


def test_slow_answers_leave_nothing_on_the_workers(client, monkeypatch):
    """Waiting in vain leaves no cycles, which Python might collect much later."""
    n_waits = 0

    class Slow(threading.Semaphore):
        """The first two waits for the answers to a question are in vain."""

        def __init__(self, value):
            super().__init__(value)
            self.in_vain = 2

        def acquire(self, timeout):
            nonlocal n_waits
            self.in_vain -= 1
            n_waits += self.in_vain >= 0
            return self.in_vain < 0 and super().acquire(timeout=timeout)

    monkeypatch.setattr(dask_parts, "Semaphore", Slow)
    gc.disable()
    try:
        fit(X, Y)
        assert n_waits > 0
        assert is_free(client)
    finally:
        gc.enable()


def test_two_trainings_share_a_cluster(client):
    models = {}
    threads = [
        threading.Thread(target=lambda C=C: models.update({C: fit(X, Y, C=C)})) for C in (0.5, 4.0)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for C, model in models.items():
        check_certificate(model, X, Y, C)


@pytest.mark.parametrize(
    ("size", "params"),
    [
        (2, {"formulation": "weston_watkins", "loss": "squared_hinge"}),
        (7, {"costs": np.abs(np.subtract.outer(np.arange(K), np.arange(K))) / 4.0}),
        (2, {"formulation": "ww", "costs": 2 - 2 * np.eye(K), "cost_scaling": "slack"}),
        (3, {"formulation": "one_vs_rest", "class_weight": "balanced"}),
        (3, {"formulation": "lee_lin_wahba"}),
        (7, {"formulation": "one_vs_rest", "loss": "squared_hinge", "tol": 1e-7}),
        (3, {"formulation": "adm", "tol": 1e-6}),
    ],
)
def test_support_vector_machines(client, size, params, tmp_path):
    names = np.array(["a", "bb", "ccc", "dddd", "e"])[Y]
    model = fit_svm(X, names, WEIGHTS, size=size, **params)
    alone = MulticlassSVC(**{"C": 0.1, **params, "tol": 1e-7}).fit(X, names, WEIGHTS).certificate_
    assert model.certificate_.relative_gap <= params.get("tol", 1e-3)
    assert model.certificate_.dual_objective <= alone.primal_objective
    assert model.certificate_.primal_objective >= alone.dual_objective
    local = model.to_local()
    assert type(local) is MulticlassSVC
    with pytest.raises(TypeError, match=re.escape("save its to_local()")):
        save_model(tmp_path / "model", model)
    save_model(tmp_path / "model", local)
    rows = collection(X, ends(7))
    predicted = model.predict(rows).compute()
    np.testing.assert_array_equal(predicted, load_model(tmp_path / "model").predict(X))
    score = model.score(rows, collection(names, ends(7)))
    assert score == pytest.approx(np.mean(predicted == names))


def test_what_is_refused_of_support_vector_machines(client):
    with pytest.raises(TypeError, match="solver"):
        DaskMulticlassSVC(solver="cutting_plane")


def test_parts_are_asked_as_many_at_once_as_the_memory_holds(client, monkeypatch):
    expected = fit(X, Y, size=7, tol=1e-6)
    monkeypatch.setattr(dask_parts, "SHARE_OF_MEMORY", 1e-12)  # each part alone
    found = fit(X, Y, size=7, tol=1e-6)
    P = expected.certificate_.primal_objective
    assert found.certificate_.primal_objective == pytest.approx(P, rel=1e-9)
    parts = dask_parts.DaskParts(client, [()] * 5, [])
    parts.groups = {"a": [0, 2, 3, 4]}
    parts.parts = [SimpleNamespace(key=n) for n in range(5)]
    parts.sizes = {0: 5, 2: 4, 3: 7, 4: 30}
    for most, pieces in {
        10: [[0, 2], [3], [4]],
        0: [[0, 2, 3, 4]],
        1: [[0], [2], [3], [4]],
    }.items():
        parts.most = {"a": most}
        assert parts._held_at_once("a") == pieces


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_parts_that_exceed_the_memory_of_a_worker_are_mapped_from_its_disk(monkeypatch, kind):
    seen, original = [], dask_parts.on_disk

    def on_disk(part, folder):
        seen.append(part.number)
        return original(part, folder)

    monkeypatch.setattr(dask_parts, "on_disk", on_disk)
    monkeypatch.setattr(dask_parts, "SHARE_IN_MEMORY", 1e-12)
    limited = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "16GB"}
    with LocalCluster(processes=False, dashboard_address=":0", **limited) as few, Client(few):
        model = fit(DATA[kind], Y, size=3, tol=1e-5)
        machine = fit_svm(DATA[kind], Y, size=3)
    assert sorted(seen) == [0, 0, 1, 1, 2, 2]
    check_certificate(model, DATA[kind], Y)
    assert machine.certificate_.relative_gap <= 1e-3
