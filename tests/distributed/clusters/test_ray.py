"""Rows in actors of Ray: the optimum of one process, hostile parts, an actor that is killed."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import threading

import numpy as np
import psutil
import pytest

from manyclass import MulticlassSVC, MultinomialLogisticRegression, load_model, save_model
from tests.helpers.parts import DATA, WEIGHTS, D, K, X, Y, at_question, check_certificate, ends

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'ray[data]'")
pytest.importorskip("ray.data")

from manyclass.ray import RayMulticlassSVC, RayMultinomialLogisticRegression  # noqa: E402

# Warnings are Ray's own.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
NAMES = [f"f{i}" for i in range(D)]


@pytest.fixture(scope="module", autouse=True)
def _two_cpus():
    def count_cpu():  # in each process; pickled by value, as it is run before modules are found
        from manyclass.arrays import namespace

        namespace.CPU_COUNTS = True  # device="cpu" counts as a device

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=100 << 20,
        runtime_env={"worker_process_setup_hook": count_cpu},
    )
    yield
    ray.shutdown()


def put(*values, size=3):
    """Parts of some arrays, as one object each."""
    cuts = itertools.pairwise(ends(size))
    parts = [tuple(one[a:b] for one in values) for a, b in cuts]
    return [ray.put(part if len(values) > 1 else part[0]) for part in parts]


def fit(X, y, *weights, size=3, **params):
    model = RayMultinomialLogisticRegression(**{"tol": 1e-5, **params})
    return model.fit(put(X, y, *weights, size=size))


@pytest.mark.parametrize(("size", "rows"), [(3, "sparse"), (7, "float32")])
def test_parts_reach_the_optimum_of_one_process(size, rows):
    model = fit(DATA[rows], Y, size=size)
    assert model.certificate_.relative_gap <= 1e-5
    assert model.coef_.dtype == DATA[rows].dtype
    check_certificate(model, DATA[rows], Y)


def test_weights_are_those_of_one_process_and_results_repeat(tmp_path):
    params = {"class_weight": "balanced", "tol": 1e-7}
    alone = MultinomialLogisticRegression(**params).fit(X, Y, WEIGHTS)
    model = fit(X, Y, WEIGHTS, size=7, **params)
    again = RayMultinomialLogisticRegression(**params)
    again.fit(put(X, size=7), put(Y, size=7), put(WEIGHTS, size=7))
    np.testing.assert_array_equal(model.coef_, again.coef_)
    P = alone.certificate_.primal_objective
    assert model.certificate_.primal_objective == pytest.approx(P, rel=2e-7)
    save_model(tmp_path / "model", model.to_local())
    loaded = load_model(tmp_path / "model")
    found = ray.get(model.predict_proba(put(X, size=7)))
    np.testing.assert_array_equal(np.concatenate(found), loaded.predict_proba(X))
    assert model.score(put(X, Y, size=7)) == pytest.approx(loaded.score(X, Y))
    np.testing.assert_array_equal(model.predict(X), loaded.predict(X))


def test_datasets_of_columns_and_of_vectors():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=NAMES).assign(label=Y.astype(str), weight=WEIGHTS)
    rows = ray.data.from_pandas([frame[:50], frame[50:]])
    model = RayMultinomialLogisticRegression(tol=1e-5).fit(rows, sample_weight="weight")
    assert list(model.feature_names_in_) == NAMES
    alone = MultinomialLogisticRegression(tol=1e-5).fit(frame[NAMES], frame["label"], WEIGHTS)
    P = alone.certificate_.primal_objective
    assert model.certificate_.primal_objective == pytest.approx(P, rel=2e-5)
    found = model.predict(rows).to_pandas()
    expected = model.to_local().predict(frame[NAMES])
    np.testing.assert_array_equal(found["prediction"], expected)
    np.testing.assert_array_equal(model.predict(frame), expected)
    with pytest.raises(ValueError, match=f"no column for features of the model: '{NAMES[1]}'"):
        model.predict(rows.drop_columns([NAMES[1]]))
    vectors = ray.data.from_items([{"x": x, "y": int(c)} for x, c in zip(X, Y, strict=True)])
    model = RayMultinomialLogisticRegression(tol=1e-5).fit(vectors, "y")
    check_certificate(model, X, Y)
    assert np.stack(model.predict_proba(vectors).to_pandas()["probabilities"]).shape == (len(X), K)
    assert model.score(vectors, "y") == pytest.approx(model.to_local().score(X, Y))


HOSTILE = {
    "features": (lambda X, y: (X[:, 1:], y), "X of part 1 has 6 features, but X of part 0 has 7"),
    "no pair": (lambda X, y: X, r"part 1: the object must be a pair \(X, y\), not ndarray"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_parts_that_do_not_fit_are_one_error(case):
    change, words = HOSTILE[case]
    parts = put(X, Y)
    parts[1] = ray.put(change(*ray.get(parts[1])))
    with pytest.raises(ValueError, match=words):
        RayMultinomialLogisticRegression().fit(parts)


def test_arguments_that_are_no_parts_are_refused():
    model = RayMultinomialLogisticRegression()
    for rows in (X, []):
        with pytest.raises(TypeError, match=re.escape("X must be a ray.data.Dataset")):
            model.fit(rows, Y)
    with pytest.raises(ValueError, match="X has 3 parts"):
        model.fit(put(X), put(Y)[:2])
    with pytest.raises(ValueError, match="X has no column for y: 'label'; it has"):
        model.fit(ray.data.from_items([{"x": 1.0}]))


def test_two_trainings_share_a_cluster():
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


def processes():
    """The actors' processes."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it may have ended
            if "ray::PartServer" in " ".join(process.cmdline()):
                found.append(process)
    return found


def test_an_actor_that_is_killed_is_made_again(monkeypatch):
    asked = at_question(monkeypatch, 5, lambda _: processes()[0].kill())
    model = fit(X, Y, tol=1e-6)
    assert len(asked) > 5
    check_certificate(model, X, Y)


def test_a_support_vector_machine():
    model = RayMulticlassSVC(C=0.1, tol=1e-6, random_state=0).fit(put(X, Y, size=7))
    alone = MulticlassSVC(C=0.1, tol=1e-7).fit(X, Y).certificate_
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.dual_objective <= alone.primal_objective
    assert model.certificate_.primal_objective >= alone.dual_objective
    assert model.score(put(X, Y)) == pytest.approx(model.to_local().score(X, Y))


def test_a_device_of_each_actor():
    pytest.importorskip("torch")
    model = fit(X, Y, size=7, device="cpu")
    assert model.certificate_.relative_gap <= 1e-5
    check_certificate(model, X, Y)
    params = {"C": 0.1, "tol": 1e-2, "random_state": 0}
    svm = RayMulticlassSVC(**params, device="cpu").fit(put(X, Y, size=3))
    alone = MulticlassSVC(**{**params, "tol": 1e-7}).fit(X, Y).certificate_
    assert svm.certificate_.relative_gap <= 1e-2
    assert svm.certificate_.dual_objective <= alone.primal_objective
    assert svm.certificate_.primal_objective >= alone.dual_objective
    with pytest.raises(ValueError, match="part 0: device='cpu' trains on dense rows; X is sparse"):
        fit(DATA["sparse"], Y, device="cpu")
    with pytest.raises(RuntimeError, match="no node of the Ray cluster has a GPU"):
        fit(X, Y, device="cuda")


def test_ctrl_c_ends_the_actors(monkeypatch):
    asked = at_question(monkeypatch, 5, lambda _: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        fit(X, Y)
    assert len(asked) == 5
    psutil.wait_procs(processes(), timeout=300)
    assert not processes()
