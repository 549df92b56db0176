"""X in host memory that is trained on devices: copied whole, or streamed by blocks."""

from __future__ import annotations

import numpy as np
import pytest

from manyclass import MulticlassSVC, MultinomialLogisticRegression, MultinomialLogisticRegressionCV
from manyclass.arrays import namespace
from manyclass.arrays.dataset import DeviceDataset
from manyclass.arrays.engine import ArrayEngine
from manyclass.arrays.namespace import Place
from manyclass.arrays.places import memory
from manyclass.arrays.places.blocks import Copier
from manyclass.arrays.places.host_rows import HostRows
from manyclass.arrays.rows import plan_for
from manyclass.problem.base_scores import BaseScores
from manyclass.problem.dataset import Dataset
from manyclass.problem.formulations import LOGISTIC, named
from manyclass.problem.problem import Problem
from manyclass.training.epoch_loop import Options
from manyclass.training.train import train
from tests.arrays.problems import KINDS, asarray, primal, rows, strict
from tests.helpers.cases import each

__all__ = ["asarray", "strict"]
TOL = 1e-2
SMOOTH = [kind for kind in KINDS if kind[1] != "hinge"]


def problem(X, y, name, loss, *, offsets=None, **place):
    k, weights = int(y.max()) + 1, np.linspace(0.5, 2, len(y))
    data = (
        DeviceDataset.from_array(HostRows(X, **place), y, weights, n_classes=k, bias=1.0)
        if place
        else Dataset.from_matrix(X, y, n_classes=k, weights=weights, bias=1.0)
    )
    made = Problem(data, LOGISTIC if name == "logistic" else named(name), 0.05, loss)
    if offsets == "classes":
        return made.with_base(BaseScores.from_offsets(np.linspace(-0.5, 0.5, k), len(y)))
    if offsets == "rows":
        scores = np.random.default_rng(1).normal(size=(len(y), k)) / 3
        return made.with_base(BaseScores.from_scores(scores))
    return made


def solved(given, tol=TOL):
    return train(given, Options(tol=tol, regularize_intercept=True))


def check(there, here, tol=TOL):
    """Compare a solution with the objective of its W, and its bounds with the optimum."""
    found, best = solved(there, tol), solved(here, 1e-7).certificate
    claim, P = found.certificate, primal(here, found.weights)
    assert claim.relative_gap <= tol
    assert claim.dual_objective <= best.primal_objective * (1 + 1e-12)
    assert claim.primal_objective >= best.dual_objective * (1 - 1e-12)
    assert abs(P - claim.primal_objective) <= 1e-12 * P
    return found


@pytest.fixture
def few_rows_of_block(monkeypatch):
    """Let blocks have few rows, so that small problems have several."""
    monkeypatch.setattr(memory, "LEAST_ROWS", 16)
    monkeypatch.setattr(memory, "NUMBERS_AT_A_TIME", 16 * 8)


def bytes_of_plan(there, *, streams, on_host):
    """Return how many free bytes are just enough for a plan."""
    plan = plan_for(there)
    row = plan.per_row + memory.BLOCKS_OF_X * there.dataset.X[:1].X.nbytes * streams
    held = plan.rows * (not streams) + plan.numbers * (not on_host)
    return plan.fixed + held + row * memory.LEAST_ROWS


def check_plan(make, monkeypatch, name, loss, *, streams, on_host):
    """Train a problem under the plan that so much memory has for it."""
    X, y = rows(n=70, d=5, k=3)
    there = problem(X, y, name, loss, places=[Place(make(X))], offsets="classes")
    monkeypatch.setattr(namespace, "FREE_MEMORY", None)
    free = bytes_of_plan(there, streams=streams, on_host=on_host)
    monkeypatch.setattr(namespace, "FREE_MEMORY", free)
    plan = plan_for(there)
    assert (plan.streams, plan.numbers_on_host) == (streams, on_host)
    assert ("streamed" in str(plan)) == streams
    check(there, problem(X, y, name, loss, offsets="classes"), 0.1)


@each(("name", "loss"), [*KINDS[:1], *KINDS[3:]])
def test_training_where_all_is_streamed(strict, few_rows_of_block, monkeypatch, name, loss):
    check_plan(strict, monkeypatch, name, loss, streams=True, on_host=loss == "hinge")


@each(("name", "loss"), KINDS)
@each(("streams", "on_host"), [(False, False), (True, False), (False, True), (True, True)])
def test_training_wherever_rows_and_numbers_lie(
    asarray, few_rows_of_block, monkeypatch, name, loss, streams, on_host
):
    if on_host and loss != "hinge":
        return  # there are no numbers of rows and classes
    check_plan(asarray, monkeypatch, name, loss, streams=streams, on_host=on_host)


def test_lack_of_memory_says_how_many_bytes(strict, monkeypatch):
    X, y = rows(n=70, d=8, k=3)
    there = problem(X, y, "one_vs_rest", "hinge", places=[Place(strict(X))])
    monkeypatch.setattr(namespace, "FREE_MEMORY", 1000)
    with pytest.raises(MemoryError, match=r"needs [\d,]+ bytes on the device .*1,000 are free"):
        plan_for(there)


@each(("name", "loss"), SMOOTH)
@each("offsets", [None, "classes", "rows"])
def test_rows_on_several_devices(strict, few_rows_of_block, name, loss, offsets):
    X, y = rows(n=45, d=6, k=3)
    place = Place(strict(X))
    there = problem(X, y, name, loss, places=[place, place, place], offsets=offsets)
    found = check(there, problem(X, y, name, loss, offsets=offsets))
    alone = solved(problem(X, y, name, loss, places=[place], offsets=offsets))
    np.testing.assert_allclose(found.weights, alone.weights, atol=1e-9)


@each(("name", "loss"), KINDS)
def test_devices_without_float64(asarray, monkeypatch, name, loss):
    monkeypatch.setattr(namespace, "LACKS_DOUBLE", True)
    X, y = rows(n=80, d=8, k=3, dtype=np.float32)
    there = problem(X, y, name, loss, places=[Place(asarray(X))])
    here = problem(X, y, name, loss)
    found, best = solved(there), solved(here, 1e-6).certificate
    claim, P = found.certificate, primal(here, found.weights)
    assert claim.relative_gap <= TOL
    assert claim.dual_objective <= best.primal_objective * (1 + 1e-12)
    assert abs(P - claim.primal_objective) <= 1e-9 * P


def test_blank_and_chosen_rows(strict):
    X, _ = rows(n=10, d=3)
    given = HostRows(X, [Place(strict(X))])
    some = given[np.array([7, 2])].with_blank_rows(1)
    np.testing.assert_array_equal(some.read(slice(None)), [X[7], X[2], 0 * X[0]])
    np.testing.assert_array_equal(some[1:].read(slice(None)), [X[2], 0 * X[0]])
    np.testing.assert_array_equal(given[2:5][np.array([0, 2])].read(slice(None)), X[[2, 4]])
    assert [len(rows_) for _, rows_ in given.split()] == [10]


@pytest.fixture
def file(tmp_path):
    """Write rows to a file; return them mapped, and their labels."""
    X, y = rows(n=120, d=8, k=3, dtype=np.float32)
    np.save(tmp_path / "rows.npy", X)
    return np.load(tmp_path / "rows.npy", mmap_mode="r"), y


@each(
    "model",
    [
        MultinomialLogisticRegression(device="cpu", verbose=1),
        MultinomialLogisticRegression(device="cpu", regularize_intercept=False),
        MulticlassSVC(formulation="one_vs_rest", device="cpu"),
        MulticlassSVC(formulation="crammer_singer", device="cpu", tol=1e-2),
    ],
)
def test_mapped_files_are_streamed(asarray, few_rows_of_block, monkeypatch, capsys, file, model):
    X, y = file
    monkeypatch.setattr(namespace, "FREE_MEMORY", 11_000)
    model.set_params(random_state=0).fit(X, y)
    assert model.certificate_.relative_gap <= model.tol
    here = type(model)(**{**model.get_params(), "device": None, "verbose": 0}).fit(X, y)
    np.testing.assert_allclose(model.coef_, here.coef_, atol=0.1)
    if model.verbose:
        assert "X 3,840 bytes, in host memory, streamed" in capsys.readouterr().out


@pytest.mark.slow
def test_two_devices_of_an_estimator(asarray, file):
    X, y = file
    model = MultinomialLogisticRegression(device=["cpu", "cpu"], tol=1e-5).fit(X, y)
    here = MultinomialLogisticRegression(tol=1e-5).fit(X, y)
    np.testing.assert_allclose(model.coef_, here.coef_, atol=5e-3)
    weights = np.arange(len(y)) % 3
    model.fit(X, y, weights)
    np.testing.assert_allclose(model.coef_, here.fit(X, y, weights).coef_, atol=5e-3)
    with pytest.raises(ValueError, match="only the squared hinge and logistic"):
        MulticlassSVC(device=["cpu", "cpu"]).fit(X, y)
    squared = {"formulation": "weston_watkins", "loss": "squared_hinge", "random_state": 0}
    model = MulticlassSVC(**squared, device=["cpu", "cpu"]).fit(X, y)
    assert model.certificate_.relative_gap <= model.tol


@pytest.mark.slow
def test_folds_of_rows_that_go_to_a_device(asarray, file):
    X, y = file
    given = {"Cs": [0.01, 0.1], "cv": 3, "random_state": 0}
    there = MultinomialLogisticRegressionCV(**given, device="cpu").fit(X, y)
    here = MultinomialLogisticRegressionCV(**given).fit(X, y)
    found, wanted = (m.cv_results_["mean_test_score"] for m in (there, here))
    np.testing.assert_allclose(found, wanted, atol=0.02)


@pytest.mark.slow
def test_devices_that_are_refused(monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    X, y = rows()
    for device, match in (
        ([], "empty"),
        (["cpu", "cpu"], "the CPU cannot be"),
        ("nowhere", "not "),
    ):
        with pytest.raises(ValueError, match=match):
            MulticlassSVC(device=device).fit(X, y)


@each(("name", "loss"), SMOOTH)
def test_a_pass_copies_each_block_once(strict, few_rows_of_block, monkeypatch, name, loss):
    X, y = rows(n=70, d=5, k=3)
    there = problem(X, y, name, loss, places=[Place(strict(X))])
    monkeypatch.setattr(namespace, "FREE_MEMORY", None)
    free = bytes_of_plan(there, streams=True, on_host=False)
    monkeypatch.setattr(namespace, "FREE_MEMORY", free)
    sent, send = [], Copier.send
    monkeypatch.setattr(Copier, "send", lambda self, part: sent.append(part) or send(self, part))
    one = ArrayEngine(there, regularize_intercept=True)
    n_blocks = len(list(one.rows_of_parts[0].blocks()))
    assert n_blocks > 2
    product = one.new_weights()
    for passes in range(1, 4):
        one.curvature(one.new_weights() + 1, product)
        assert len(sent) <= passes * n_blocks + 1  # and the first block of the next pass
        assert len(sent) >= passes * n_blocks
