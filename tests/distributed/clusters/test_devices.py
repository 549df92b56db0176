"""Rows on devices of the workers of Dask: the optimum of one process, errors, which device."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from manyclass.arrays import namespace
from manyclass.arrays.input_arrays import numbered
from manyclass.arrays.remote_rows import RemoteRows
from manyclass.distributed.clusters.mapped import on_disk
from manyclass.distributed.clusters.part import Part, Plan
from manyclass.distributed.rows.data import global_info
from manyclass.distributed.rows.svm_rows import COUNTS, TERMS
from tests.arrays.problems import asarray, strict
from tests.helpers.cases import each
from tests.helpers.parts import DATA, WEIGHTS, D, X, Y, check_certificate, ends, primal

pytest.importorskip(
    "distributed", reason="needs Dask: pip install 'dask[array,dataframe]' distributed"
)

import dask
import dask.array as da

from manyclass.dask import DaskMulticlassSVC, DaskMultinomialLogisticRegression
from manyclass.distributed.clusters.dask_parts import DaskParts, Where
from tests.helpers.dask import processes, threads

__all__ = ["asarray", "strict"]
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
HOSTS = {"logistic": DaskMultinomialLogisticRegression, "svm": DaskMulticlassSVC}
KEPT = WEIGHTS > 0


@pytest.fixture(scope="module", name="client")
def client_fixture():
    yield from threads(2)


def chunks(rows, size, *makes):
    """A dask array in parts, each of which one of the functions makes of its rows, in turn."""
    cuts = itertools.pairwise(ends(size))
    parts = [
        da.from_delayed(
            dask.delayed(make, pure=False)(rows[a:b]), (b - a, *rows.shape[1:]), rows.dtype
        )
        for (a, b), make in zip(cuts, itertools.cycle(makes or [np.asarray]), strict=False)
    ]
    return da.concatenate(parts)


def fit(kind, rows, y, weights=None, *, size=3, make=np.asarray, **params):
    """A fit on parts that are made of dense rows."""
    own = None if weights is None else chunks(weights, size)
    return HOSTS[kind](**params).fit(chunks(rows, size, make), chunks(y, size), own)


def check_svm(model, rows, y, weights, **params):
    """P in NumPy, and bounds of the optimum, which one process finds."""
    P = primal(model, rows[KEPT], y[KEPT], weights[KEPT])
    alone = MulticlassSVC(**{**params, "tol": 1e-7}).fit(rows, y, weights).certificate_
    found = model.certificate_
    assert found.relative_gap <= params["tol"]
    assert found.primal_objective == pytest.approx(P, rel=1e-12)
    assert alone.dual_objective <= found.primal_objective * (1 + 1e-12)
    assert found.dual_objective <= alone.primal_objective * (1 + 1e-12)
    assert found.zero_objective == pytest.approx(alone.zero_objective, rel=1e-12)


@each(("size", "free"), [(2, True), (7, False)])
def test_chunks_on_devices_reach_the_optimum_of_one_process(client, strict, size, free):
    params = {"tol": 1e-5, "regularize_intercept": not free}
    model = fit("logistic", X, Y, size=size, make=strict, **params)
    assert model.certificate_.relative_gap <= 1e-5
    check_certificate(model, X, Y, free=free)
    rows = chunks(X, size, strict)
    np.testing.assert_array_equal(model.predict(rows).compute(), model.predict(X))
    assert model.score(rows, chunks(Y, size, strict)) == model.to_local().score(X, Y)


@each("kind", ["dense", "float32"])
def test_a_device_of_each_worker(client, asarray, kind):
    params = {"tol": 1e-4, "class_weight": "balanced", "device": "cpu"}
    model = fit("logistic", DATA[kind], Y, WEIGHTS, size=7, **params)
    alone = MultinomialLogisticRegression(tol=1e-7, class_weight="balanced")
    best = alone.fit(DATA[kind].astype(np.float64), Y, WEIGHTS).certificate_
    assert model.coef_.dtype == DATA[kind].dtype
    assert model.certificate_.relative_gap <= 1e-4
    assert model.certificate_.dual_objective <= best.primal_objective * (1 + 1e-12)
    assert model.certificate_.primal_objective >= best.dual_objective * (1 - 1e-12)
    assert isinstance(model.to_local(), MultinomialLogisticRegression)


@each(("formulation", "n_classes"), [("one_vs_rest", 2), ("weston_watkins", 5)])
def test_squared_hinges(client, strict, formulation, n_classes):
    params = {"formulation": formulation, "loss": "squared_hinge", "C": 0.1, "tol": 1e-5}
    y = np.minimum(Y, n_classes - 1)
    model = fit("svm", X, y, WEIGHTS, size=7, make=strict, **params)
    check_svm(model, X, y, WEIGHTS, **params)


def test_hinges(client, strict):
    params = {"formulation": "one_vs_rest", "C": 0.1, "tol": 1e-2, "fit_intercept": False}
    model = fit("svm", X, Y, WEIGHTS, size=2, make=strict, **params)
    check_svm(model, X, Y, WEIGHTS, **params)


@each(
    ("formulation", "n_classes", "dtype"),
    [
        ("crammer_singer", 5, np.float32),
        ("weston_watkins", 2, np.float64),
        ("one_vs_rest", 5, np.float64),
    ],
)
def test_hinges_of_all_kinds(client, asarray, formulation, n_classes, dtype):
    params = {"formulation": formulation, "C": 0.1, "tol": 3e-3, "random_state": 0}
    rows, y = X.astype(dtype), np.minimum(Y, n_classes - 1)
    model = fit("svm", rows, y, WEIGHTS, size=2, device="cpu", **params)
    assert model.coef_.dtype == dtype
    check_svm(model, rows, y, WEIGHTS, **params)


def test_newton_steps_of_hinges_of_few_weights(client, asarray):
    params = {"C": 0.1, "tol": 1e-6, "random_state": 0, "fit_intercept": False}
    model = fit("svm", X, Y, WEIGHTS, size=2, make=asarray, **params)
    check_svm(model, X, Y, WEIGHTS, **params)


def test_costs_of_mistakes(client, strict):
    costs = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) / 4.0
    params = {"formulation": "ww", "loss": "squared_hinge", "C": 0.1, "tol": 1e-4, "costs": costs}
    model = fit("svm", X, Y, make=strict, **params)
    alone = MulticlassSVC(**{**params, "tol": 1e-7}).fit(X, Y).certificate_
    assert model.certificate_.relative_gap <= 1e-4
    assert model.certificate_.dual_objective <= alone.primal_objective
    assert model.certificate_.primal_objective >= alone.dual_objective


def test_certificates_of_devices_without_float64(client, strict, monkeypatch):
    monkeypatch.setattr(namespace, "LACKS_DOUBLE", True)
    rows = DATA["float32"]
    model = fit("logistic", rows, Y, make=strict, tol=1e-3)
    assert model.certificate_.relative_gap <= 1e-3
    check_certificate(model, rows, Y)
    params = {"formulation": "ovr", "loss": "squared_hinge", "C": 0.1, "tol": 1e-3}
    check_svm(fit("svm", rows, Y, WEIGHTS, make=strict, **params), rows, Y, WEIGHTS, **params)


def test_checkpoints_and_warm_starts(client, strict, tmp_path):
    stored = {"checkpoint": tmp_path / "kept", "C": 3.0, "tol": 1e-3, "make": strict}
    with pytest.warns(match="training stopped after 2 epoch"):
        fit("logistic", X, Y, max_iter=2, **stored)
    assert fit("logistic", X, Y, resume=True, **stored).n_iter_ > 2
    model = fit("logistic", X, Y, make=strict, warm_start=True)
    n_epochs = model.n_iter_
    assert model.fit(chunks(X, 2, strict), chunks(Y, 2)).n_iter_ < n_epochs


REFUSED = {
    "slack": (
        "svm",
        {"formulation": "ww", "costs": 2 - 2 * np.eye(5), "cost_scaling": "slack"},
        X,
        "cost_scaling must be 'margin'",
    ),
    "formulation": (
        "svm",
        {"loss": "squared_hinge", "formulation": "lee_lin_wahba"},
        X,
        "part 0: X is on the device .* formulation may be",
    ),
    "stopping": (
        "svm",
        {"loss": "squared_hinge", "formulation": "ovr", "stopping": "kkt"},
        X,
        "stopping must be 'gap'",
    ),
    "NaN": ("logistic", {}, X * np.nan, "part 0: Input X contains NaN"),
}


@each("case", REFUSED)
def test_what_is_not_trained_there_is_one_error(client, strict, case):
    kind, params, rows, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        fit(kind, rows, Y, make=strict, **params)


def test_parts_lie_on_devices_or_all_in_host_memory(client, strict):
    with pytest.raises(ValueError, match="part 0 is on a device, but X of part 1 in host memory"):
        DaskMultinomialLogisticRegression().fit(chunks(X, 3, strict, np.asarray), chunks(Y, 3))


def test_names_of_devices(client, asarray):
    with pytest.raises(ValueError, match="part 0: device='cpu' trains on dense rows"):
        fit("logistic", DATA["sparse"], Y, make=lambda rows: rows, device="cpu")
    with pytest.raises(ValueError, match="part 0: device='cuda:77' does not exist"):
        fit("logistic", X, Y, device="cuda:77")
    with pytest.raises(ValueError, match="'device' parameter"):
        fit("logistic", X, Y, device=["cpu", "cpu"])


def test_workers_of_a_machine_take_its_devices_in_turn(client, monkeypatch):
    torch = pytest.importorskip("torch")
    assert sorted(DaskParts(client, [], [])._numbers().values()) == [0, 1]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [numbered("cuda", n) for n in range(3)] == ["cuda:0", "cuda:1", "cuda:0"]
    assert numbered("cuda:1", 0) == "cuda:1"
    devices = {Where("cuda", {"known": 0}).device_of(name) for name in range(9)}
    assert devices == {"cuda:0", "cuda:1"}
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)  # as dask-cuda lets workers see
    assert numbered("cuda", 5) == "cuda"


def planned(model):
    """A part on a device, and its plan."""
    part = Part(0, X, Y, device="cpu")
    plan = Plan(global_info([part.about], None, 1.0), model, on_device=True)
    found = part.ready(plan)
    assert found.error is None
    assert part.__sizeof__() >= X.nbytes
    return part, plan.following([found])


def answers(part, plan, question, *given, into):
    """The answer of a part, and what it answers after it was written to disk."""
    found = []
    for one in (part, pickle.loads(pickle.dumps(part))):
        found.append([np.zeros(shape) for shape in into])
        one.add(plan, question, given, found[-1])
    for before, after in zip(*found, strict=True):
        np.testing.assert_allclose(before, after, rtol=1e-12)
    return found[0]


@each("loss", ["log_loss", "squared_hinge"])
def test_a_part_that_is_written_to_disk_answers_as_before(asarray, loss):
    svm = MulticlassSVC(formulation="ovr", loss="squared_hinge")
    part, plan = planned(svm if loss != "log_loss" else MultinomialLogisticRegression())
    W = np.random.default_rng(0).normal(size=(D + 1, 5))
    assert answers(part, plan, "gradient", W, False, into=[W.shape, 1])[1] > 0


def test_a_part_that_is_mapped_from_disk(asarray, tmp_path):
    part = on_disk(Part(0, X, Y, device="cpu"), str(tmp_path))
    plan = Plan(global_info([part.about], None, 1.0), MulticlassSVC(), on_device=True)
    plan = plan.following([part.ready(plan)])
    zero = np.zeros(1)
    part.add(plan, "count", [], [np.zeros(2, np.int64), np.zeros(D + 1, np.int64), zero])
    assert zero == pytest.approx(len(X))
    scale, into = np.ones((D + 1, 1)), [np.zeros((D + 1, 5)) for _ in range(2)]
    part.add(plan, "round", (1, 0 * into[0], scale, 1.0, 1.8, 0), [*into, np.zeros((1, COUNTS))])
    assert np.abs(into[1]).max() > 0


def test_lack_of_memory_on_a_worker(client, strict, monkeypatch):
    def fail(*_arguments):
        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")

    monkeypatch.setattr(RemoteRows, "curvature", fail)
    with pytest.raises(MemoryError, match="more memory than the device has; give fewer rows"):
        fit("logistic", X, Y, make=strict)


def test_dual_variables_stay_in_a_part_that_is_written_to_disk(asarray):
    part, plan = planned(MulticlassSVC())
    V, scale = np.zeros((D + 1, 5)), np.ones((D + 1, 1))
    shapes = [V.shape, V.shape, (1, COUNTS)]
    total, of_duals, counts = (np.zeros(shape) for shape in shapes)
    for number, rho in ((1, 1.0), (2, 2.0)):
        given = number, V, scale, rho, 1.8, 0
        part.add(plan, "round", given, [total, of_duals, counts])
    assert np.abs(of_duals).max() > 0
    answers(part, plan, "round", *given, into=shapes)
    norm = float(np.linalg.norm(V))
    terms = answers(part, plan, "inspect", V, scale, np.empty(0), norm, into=[(1, TERMS)])[0]
    assert terms[0, 1] == pytest.approx(len(X))  # losses at V = 0


def count_cpu():
    """Let tensors on the CPU count as arrays on a device, in a process of a worker."""
    namespace.CPU_COUNTS = True


@pytest.mark.slow
def test_workers_that_are_processes():
    pytest.importorskip("torch")
    for client in processes(2):
        client.run(count_cpu)
        model = fit("logistic", X, Y, size=7, tol=1e-5, device="cpu")
        check_certificate(model, X, Y)
        again = fit("logistic", X, Y, size=7, tol=1e-5, device="cpu")
        np.testing.assert_allclose(model.coef_, again.coef_, rtol=1e-12)
